package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// PaymentBody creates a payment (PAY-1).
type PaymentBody struct {
	Amount          Amount              `json:"amount"`
	Currency        string              `json:"currency,omitempty" minLength:"1" maxLength:"3" example:"USD" doc:"ISO 4217: the currency of amount, USD by default. The transaction's amount is its worth in USD; a shopper who pays in this currency pays exactly the amount"`
	PaymentMethodID string              `json:"paymentMethodId,omitempty" maxLength:"40" example:"sbx_card" doc:"From the catalog; required unless paymentMethod is given"`
	PaymentMethod   string              `json:"paymentMethod,omitempty" maxLength:"40" deprecated:"true" doc:"Legacy slug, used when paymentMethodId is absent"`
	Country         string              `json:"country,omitempty" doc:"ISO 3166 alpha-2 or alpha-3; the method's by default"`
	UserEmail       string              `json:"userEmail,omitempty" maxLength:"254"`
	UserName        string              `json:"userName,omitempty" maxLength:"120"`
	UserPhone       string              `json:"userPhone,omitempty" text:"number" maxLength:"40" example:"+5511987654321" doc:"With the country code. Some providers take no payment without it"`
	UserIP          string              `json:"userIp,omitempty" maxLength:"45"`
	DocumentID      string              `json:"documentId,omitempty" text:"number" maxLength:"40" doc:"The buyer's document, where the method needs one"`
	Customer        PaymentCustomerBody `json:"customer,omitempty" doc:"The shopper, named as in a checkout session: it supplies userEmail, userName, userPhone and documentId if they are absent"`
	MerchantOrderID string              `json:"merchantOrderId,omitempty" maxLength:"120"`
	HostedCheckout  bool                `json:"hostedCheckout,omitempty"`
	ReturnURL       string              `json:"returnUrl,omitempty" maxLength:"2048" doc:"With hostedCheckout only: a page on the web, or an app whose scheme the shop registered"`
	MerchantID      string              `json:"merchantId,omitempty" maxLength:"40"`
	ShopID          string              `json:"shopId,omitempty" maxLength:"40" doc:"With credentials of the whole merchant"`
	PurchaseBody
	Installments *InstallmentsBody `json:"installments,omitempty" doc:"How a shopper may pay by card in installments, within the merchant's terms, which apply where it says nothing"`

	Expand []string `json:"expand,omitempty" maxItems:"10" doc:"Parts to include in the reply: paymentData, what the shopper needs to pay"`
	asked  money.Amount
}

// Resolve checks what a schema cannot say.
func (b *PaymentBody) Resolve(ctx huma.Context, prefix *huma.PathBuffer) (issues []error) {
	add := func(err error) {
		if err != nil {
			issues = append(issues, err)
		}
	}
	if issues = checkCustomer(prefix.With("customer"), b.Customer.fields()); len(issues) == 0 {
		b.adopt()
	}
	for _, issue := range b.price(ctx, prefix) {
		add(issue)
	}
	add(checkExpand(prefix.With("expand"), b.Expand))
	if b.PaymentMethodID == "" && b.PaymentMethod == "" {
		add(wire.Coded(problem.MissingField, prefix.With("paymentMethodId"), "paymentMethodId is required"))
	}
	if _, ok := geo.Parse(b.Country); b.Country != "" && !ok {
		add(wire.Coded(problem.InvalidRequest, prefix.With("country"), countryIssue("country", b.Country)))
	}
	if b.UserEmail != "" && !isEmail(b.UserEmail) {
		add(wire.Coded(problem.InvalidRequest, prefix.With("userEmail"), "userEmail"+emailIssue))
	}
	// A zone, as in fe80::1%eth0, is any text, and has a meaning only on its own machine.
	if ip, err := netip.ParseAddr(b.UserIP); b.UserIP != "" && (err != nil || ip.Zone() != "") {
		add(wire.Coded(problem.InvalidRequest, prefix.With("userIp"), "userIp must be an IP address, such as 203.0.113.7"))
	}
	if !returnable(b.ReturnURL) {
		add(wire.Coded(problem.InvalidRequest, prefix.With("returnUrl"), returnIssue))
	}
	return issues
}

// adopt copies customer fields that a payment names differently.
func (b *PaymentBody) adopt() {
	c := b.Customer
	b.UserEmail = cmp.Or(b.UserEmail, c.Email)
	b.UserName = cmp.Or(b.UserName, fullName(c.FirstName, c.LastName))
	b.UserPhone = cmp.Or(b.UserPhone, c.Phone)
	b.DocumentID = cmp.Or(b.DocumentID, c.DocumentID)
}

// price reads the amount and everything else in its currency, and returns the issues.
func (b *PaymentBody) price(ctx huma.Context, prefix *huma.PathBuffer) (issues []error) {
	in, err := currency(ctx, "currency", prefix.With("currency"), cmp.Or(b.Currency, string(money.USD)))
	if err != nil {
		return append([]error{err}, b.Metadata.check(prefix.With("metadata"))...)
	}
	asked, err := b.Amount.in(prefix.With("amount"), in)
	if err != nil {
		issues = append(issues, err)
	}
	b.asked = asked
	issues = append(issues, b.Installments.check(prefix)...)
	return append(issues, b.check(prefix, in)...)
}

// returnable reports whether a shopper could be sent back to an address: a page on the web, or an app. Whether the shop has the
// app's scheme is known later.
func returnable(address string) bool {
	return address == "" || webURL(address) || merchants.AppScheme(address) != ""
}

func webURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// CreateHeader holds the headers of a request that creates a payment.
type CreateHeader struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the first reply"`
	Simulate       string `header:"Sandbox-Simulate" doc:"Sandbox only: paid, failed, expired, chargeback or slow_payment"`
	StrictHeader
}

type createIn struct {
	CreateHeader
	RawBody []byte
	Body    PaymentBody
}

// Resolve checks the headers.
func (c *CreateHeader) Resolve(ctx huma.Context) (issues []error) {
	issues = checkKey(c.IdempotencyKey)
	if c.Simulate != "" && !slices.Contains(sandbox.HeaderActions(), sandbox.SimulatedAction(c.Simulate)) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, "Sandbox-Simulate", wire.OneOf("Sandbox-Simulate", c.Simulate, sandbox.HeaderActions())))
	}
	// Huma skips resolvers inside a part that has its own.
	return append(issues, c.StrictHeader.Resolve(ctx)...)
}

type createOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.Created
}

// Catalog is the query string's choice of methods.
type Catalog struct {
	Country string `query:"country" doc:"ISO 3166 alpha-2 or alpha-3"`
	Method  string `query:"method" doc:"Slug"`
	alpha3  string
}

// Resolve reads the country and looks up the method. A type that embeds this one and has its own Resolve
// calls it.
func (ca *Catalog) Resolve(ctx huma.Context) (issues []error) {
	if ca.Country != "" {
		country, ok := geo.Parse(ca.Country)
		if !ok {
			issues = append(issues, wire.Coded(problem.InvalidRequest, "country", countryIssue("country", ca.Country)))
		}
		ca.alpha3 = country.Alpha3
	}
	if ca.Method != "" {
		if err := offerOf(ctx).CheckSlug(ca.Method); err != nil {
			issues = append(issues, asFieldIssue(err))
		}
	}
	return issues
}

// Filter chooses payments of a shop.
type Filter struct {
	Status          wire.Word[pay.Status] `query:"status" doc:"One of the seven statuses"`
	PaymentMethodID string                `query:"paymentMethodId"`
	Catalog
	MerchantOrderID string `query:"merchantOrderId"`
	Email           string `query:"email" doc:"The shopper's complete e-mail address, in any case"`
	Amount          string `query:"amount" doc:"Major units of currency" example:"25.5"`
	Currency        string `query:"currency" doc:"ISO 4217: the currency of amount. USD, the default, finds amount; another one finds amountLocal or amountRequested" example:"BRL"`
	wire.Span
	filter lists.PaymentFilter
}

// Resolve reads the filter. A type that embeds this one and has its own Resolve calls it.
func (f *Filter) Resolve(ctx huma.Context) (issues []error) {
	issues = f.Catalog.Resolve(ctx)
	f.filter = lists.PaymentFilter{
		Status: pay.Status(f.Status), Rail: f.PaymentMethodID, Method: f.Method, Country: f.alpha3, OrderID: f.MerchantOrderID, Email: f.Email,
	}
	if f.Email != "" && !isEmail(f.Email) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, "email", "email"+emailIssue))
	}
	issues = append(issues, f.price(ctx)...)
	issues = append(issues, f.Span.Resolve(ctx)...)
	f.filter.Span = f.Time()
	return issues
}

type listIn struct {
	wire.Page
	Filter
}

// Resolve reads the filter and the page.
func (in *listIn) Resolve(ctx huma.Context) []error {
	issues := slices.Concat(in.Page.Resolve(ctx), in.Filter.Resolve(ctx))
	in.filter.Page = in.Rows()
	return append(issues, checkCursor(in.CursorParam(), in.filter.After)...)
}

// checkCursor returns an issue if a cursor is no id of a payment.
func checkCursor(param, after string) []error {
	if after == "" || strings.HasPrefix(after, pay.PaymentPrefix) {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, param, param+" must be the id of a payment: send the nextCursor of the page before")}
}

// price reads the amount and its currency.
func (f *Filter) price(ctx huma.Context) []error {
	if f.Amount == "" && f.Currency == "" {
		return nil
	}
	c, err := currency(ctx, "currency", "currency", cmp.Or(f.Currency, string(money.USD)))
	if err != nil {
		return []error{err}
	}
	if err := offerOf(ctx).CheckCurrency(c); err != nil {
		return []error{asFieldIssue(err)}
	}
	if f.Amount == "" {
		return []error{wire.Coded(problem.InvalidRequest, "currency", "currency says what amount is in: send amount too, or leave currency out")}
	}
	f.filter.Amount, err = money.Parse(f.Amount, c)
	if err != nil || !f.filter.Amount.IsPositive() {
		return []error{wire.Coded(problem.InvalidRequest, "amount", "amount must be above 0, "+written(c)+"; you sent "+clip(f.Amount))}
	}
	return nil
}

type listOut struct {
	Body struct {
		Data       []view.Transaction `json:"data"`
		Pagination wire.Pagination    `json:"pagination"`
	}
}

type getIn struct {
	ID string `path:"id"`
}

type getOut struct {
	Body view.Transaction
}

type simulateIn struct {
	ID   string `path:"id"`
	Body struct {
		Action sandbox.SimulatedAction `json:"action" enum:"paid,failed,expired,refunded,chargeback"`
	}
}

type simulateOut struct {
	Body struct {
		ID          string               `json:"id"`
		Status      pay.Status           `json:"status"`
		EventsFired []webhooks.EventType `json:"eventsFired"`
	}
}

// paymentRoutes registers each endpoint under its name and its legacy alias,
// which behave identically (PAY-1).
func (a *API) paymentRoutes() {
	handle(a, huma.Operation{OperationID: "exportPayments", Method: http.MethodGet, Path: "/payments/export", Tags: []string{"Payments"},
		Summary: "Export payments as CSV: everything that the filter selects, newest first", Responses: file("text/csv")}, toRead, inShop(a, a.exportPayments))
	for _, alias := range []struct{ path, suffix string }{{"/payments", "Payment"}, {"/transactions", "Transaction"}} {
		legacy := alias.path == "/transactions"
		tags := []string{"Payments"}
		handle(a, huma.Operation{OperationID: "create" + alias.suffix, Method: http.MethodPost, Path: alias.path, Tags: tags, Deprecated: legacy,
			Summary: "Take a payment", DefaultStatus: http.StatusCreated, Metadata: map[string]any{wire.OwnKey: wire.OwnIgnored}}, toCharge, a.createPayment)
		handle(a, huma.Operation{OperationID: "list" + alias.suffix + "s", Method: http.MethodGet, Path: alias.path, Tags: tags, Deprecated: legacy,
			Summary: "List payments, newest first"}, toRead, inShop(a, a.listPayments))
		handle(a, huma.Operation{OperationID: "get" + alias.suffix, Method: http.MethodGet, Path: alias.path + "/{id}", Tags: tags, Deprecated: legacy,
			Summary: "Read a payment", Metadata: map[string]any{readKey: true}}, toRead, inShop(a, a.getPayment))
		handle(a, huma.Operation{OperationID: "cancel" + alias.suffix, Method: http.MethodPost, Path: alias.path + "/{id}/cancel", Tags: tags, Deprecated: legacy,
			Summary: "Cancel a pending payment", DefaultStatus: http.StatusOK}, toCharge, inShop(a, a.cancelPayment))
		handle(a, huma.Operation{OperationID: "simulate" + alias.suffix, Method: http.MethodPost, Path: alias.path + "/{id}/simulate",
			Tags: []string{"Sandbox"}, Deprecated: legacy, Summary: "Move a sandbox payment to another status"}, toPlay, a.simulate)
	}
}

func (a *API) createPayment(ctx context.Context, call Call, in *createIn) (*createOut, error) {
	// A payment has one route for idempotency, whichever name was called.
	p, replayed, err := a.orderPayment(ctx, call, "POST /payments", in.CreateHeader, in.RawBody, &in.Body)
	if err != nil {
		return nil, err
	}
	created := view.NewCreated(&p, a.uses.CheckoutURL, base.PageKey(a.uses.Vault, p.ID))
	if len(in.Body.Expand) > 0 {
		created = created.WithData(&p, a.uses.CheckoutURL)
	}
	return &createOut{replayed, created}, nil
}

// orderPayment creates a payment. replayed is the header of that name; the error is the refusal if the shopper
// cannot go on.
func (a *API) orderPayment(ctx context.Context, call Call, route string, in CreateHeader, raw []byte, b *PaymentBody) (p pay.Payment, replayed string, err error) {
	if err := in.sandboxOnly(call); err != nil {
		return p, "", err
	}
	n := payments.NewPayment{
		Amount: b.asked, Purchase: b.purchase(), PaymentMethodID: b.PaymentMethodID, PaymentMethod: b.PaymentMethod, Country: b.Country,
		Buyer:   pay.Buyer{Email: b.UserEmail, Name: b.UserName, Phone: document.Clean(b.UserPhone), IP: b.UserIP, Document: document.Clean(b.DocumentID)},
		OrderID: b.MerchantOrderID, Hosted: b.HostedCheckout, ReturnURL: b.ReturnURL, MerchantID: b.MerchantID, ShopID: b.ShopID,
		Installments: b.Installments.request(), Simulate: in.Simulate, Strict: in.strict(), Idempotency: in.idempotency(route, raw), RequestID: call.RequestID,
	}
	if !b.HostedCheckout && n.Buyer.IP == "" { // with one the caller is the shop's server, not the shopper (CHK-21)
		n.Buyer.IP = call.ClientIP
	}
	p, again, err := a.uses.Payments.Create(ctx, call.Principal, n)
	if err != nil {
		return p, "", err
	}
	refusal := p.Refusal()
	if refusal != nil && again {
		refusal = huma.ErrorWithHeaders(wire.Show(ctx, a.log, refusal), http.Header{"Idempotency-Replayed": {"true"}})
	}
	return p, repeated(again), refusal
}

// sandboxOnly refuses the sandbox's headers in production.
func (c CreateHeader) sandboxOnly(call Call) error {
	switch {
	case !call.Live:
		return nil
	case c.Simulate != "":
		return merchants.NoSimulation("Sandbox-Simulate")
	}
	return c.StrictHeader.sandboxOnly(call)
}

// repeated is the value of the replay header.
func repeated(replayed bool) string {
	if replayed {
		return "true"
	}
	return ""
}

func (c CreateHeader) idempotency(route string, raw []byte) base.Idempotency {
	if c.IdempotencyKey == "" {
		return base.Idempotency{}
	}
	i := onceFor(route, c.IdempotencyKey, raw, c.Simulate+c.Strict)
	i.Headers = func(hash string) []string { return c.differ(hash, raw) }
	return i
}

// onceFor is the key of a request with a body and the values of headers that change the outcome.
func onceFor(route, key string, body []byte, headers string) base.Idempotency {
	return base.Idempotency{Route: route, Key: key, Hash: bodyHash(body, headers)}
}

// differ lists the headers that explain why a request with the same body has another hash.
func (c CreateHeader) differ(hash string, raw []byte) (headers []string) {
	for _, simulate := range append(sandbox.HeaderActions(), "") {
		for _, strict := range []string{"", "true", "false"} {
			if bodyHash(raw, string(simulate)+strict) != hash {
				continue
			}
			if string(simulate) != c.Simulate {
				headers = append(headers, "Sandbox-Simulate")
			}
			if strict != c.Strict {
				headers = append(headers, "Sandbox-Strict")
			}
			return headers
		}
	}
	return nil
}

// bodyHash is the SHA-256 of the canonical body. It includes headers that change the outcome.
func bodyHash(body []byte, headers string) string {
	sum := sha256.Sum256(slices.Concat(wire.Canonical(body), []byte{'\n'}, []byte(headers)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (a *API) listPayments(ctx context.Context, call Call, in *listIn) (*listOut, error) {
	list, total, err := a.uses.Payments.List(ctx, call.Scope, in.filter)
	if err != nil {
		return nil, in.Named(err)
	}
	out := &listOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(p pay.Payment) string { return p.ID },
		func(p pay.Payment) view.Transaction { return view.NewTransaction(&p, a.uses.CheckoutURL) })
	out.Body.Pagination.TotalCapped = total == lists.MostCounted && in.filter.Capped()
	return out, nil
}

func (a *API) getPayment(ctx context.Context, call Call, in *getIn) (*getOut, error) {
	p, err := a.uses.Cascade.Payment(ctx, call.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &getOut{a.shown(p)}, nil
}

// shown is a payment as GET shows it.
func (a *API) shown(p pay.Payment) view.Transaction {
	return view.NewTransactionWithData(&p, a.uses.CheckoutURL)
}

// cancelPayment cancels a pending payment (CANCEL-1).
func (a *API) cancelPayment(ctx context.Context, call Call, in *getIn) (*getOut, error) {
	p, err := a.uses.Payments.Cancel(ctx, call.Scope, in.ID, view.Cause{RequestID: call.RequestID})
	if err != nil {
		return nil, err
	}
	return &getOut{a.shown(p)}, nil
}

func (a *API) simulate(ctx context.Context, call Call, in *simulateIn) (*simulateOut, error) {
	if call.Live {
		return nil, merchants.NoSimulation("")
	}
	scope, err := a.uses.Narrow(ctx, call.Principal, "", "")
	if err != nil {
		return nil, err
	}
	p, fired, err := a.uses.Sandbox.Simulate(ctx, scope, in.ID, in.Body.Action, view.Cause{RequestID: call.RequestID})
	if err != nil {
		return nil, err
	}
	out := &simulateOut{}
	out.Body.ID, out.Body.Status, out.Body.EventsFired = p.ID, p.Status, fired
	return out, nil
}
