package payments

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	apppayments "github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// PaymentBody creates a payment (PAY-1).
type PaymentBody struct {
	Amount          call.Amount         `json:"amount"`
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
		add(wire.Coded(problem.InvalidRequest, prefix.With("country"), call.CountryIssue("country", b.Country)))
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
	in, err := call.Currency(ctx, "currency", prefix.With("currency"), cmp.Or(b.Currency, string(money.USD)))
	if err != nil {
		return append([]error{err}, b.Metadata.check(prefix.With("metadata"))...)
	}
	asked, err := b.Amount.In(prefix.With("amount"), in)
	if err != nil {
		issues = append(issues, err)
	}
	b.asked = asked
	issues = append(issues, b.Installments.check(prefix)...)
	return append(issues, b.check(prefix, in)...)
}

const (
	// returnIssue is urlIssue where a shop may have apps too.
	returnIssue = call.URLIssue + ", or the address of an app whose scheme the shop registered, such as com.example.shop://thanks"
	emailIssue  = " must be an e-mail address, such as ana@example.com"
)

// returnable reports whether a shopper could be sent back to an address: a page on the web, or an app. Whether the shop has the
// app's scheme is known later.
func returnable(address string) bool {
	return address == "" || call.WebURL(address) || merchants.AppScheme(address) != ""
}

// CreateHeader holds the headers of a request that creates a payment.
type CreateHeader struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the first reply"`
	Simulate       string `header:"Sandbox-Simulate" doc:"Sandbox only: paid, failed, expired, chargeback or slow_payment"`
	call.StrictHeader
	actions []string // that the header Sandbox-Simulate may name
}

type createIn struct {
	CreateHeader
	RawBody []byte
	Body    PaymentBody
}

// Resolve checks the headers.
func (h *CreateHeader) Resolve(ctx huma.Context) (issues []error) {
	issues = call.CheckKey(h.IdempotencyKey)
	h.actions = call.OfferOf(ctx).SimulatedActions()
	if h.Simulate != "" && !slices.Contains(h.actions, h.Simulate) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, "Sandbox-Simulate", wire.OneOf("Sandbox-Simulate", h.Simulate, h.actions)))
	}
	// Huma skips resolvers inside a part that has its own.
	return append(issues, h.StrictHeader.Resolve(ctx)...)
}

type createOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.Created
}

// Filter chooses payments of a shop.
type Filter struct {
	Status          wire.Word[pay.Status] `query:"status" doc:"One of the seven statuses"`
	PaymentMethodID string                `query:"paymentMethodId"`
	call.Catalog
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
		Status: pay.Status(f.Status), Rail: f.PaymentMethodID, Method: f.Method, Country: f.Alpha3(), OrderID: f.MerchantOrderID, Email: f.Email,
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
	c, err := call.Currency(ctx, "currency", "currency", cmp.Or(f.Currency, string(money.USD)))
	if err != nil {
		return []error{err}
	}
	if err := call.OfferOf(ctx).CheckCurrency(c); err != nil {
		return []error{call.AsFieldIssue(err)}
	}
	if f.Amount == "" {
		return []error{wire.Coded(problem.InvalidRequest, "currency", "currency says what amount is in: send amount too, or leave currency out")}
	}
	f.filter.Amount, err = money.Parse(f.Amount, c)
	if err != nil || !f.filter.Amount.IsPositive() {
		return []error{wire.Coded(problem.InvalidRequest, "amount", "amount must be above 0, "+call.Written(c)+"; you sent "+call.Clip(f.Amount))}
	}
	return nil
}

type listOut struct {
	Body struct {
		Data       []view.Transaction `json:"data"`
		Pagination wire.Pagination    `json:"pagination"`
	}
}

type getOut struct {
	Body view.Transaction
}

// paymentRoutes registers each endpoint under its name and its legacy alias,
// which behave identically (PAY-1).
func (a *api) paymentRoutes() {
	call.Handle(a.API, huma.Operation{OperationID: "exportPayments", Method: http.MethodGet, Path: "/payments/export", Tags: []string{"Payments"},
		Summary: "Export payments as CSV: everything that the filter selects, newest first", Responses: file("text/csv")}, call.ToRead, call.InShop(a.API, a.exportPayments))
	for _, alias := range []struct{ path, suffix string }{{"/payments", "Payment"}, {"/transactions", "Transaction"}} {
		legacy := alias.path == "/transactions"
		tags := []string{"Payments"}
		call.Handle(a.API, huma.Operation{OperationID: "create" + alias.suffix, Method: http.MethodPost, Path: alias.path, Tags: tags, Deprecated: legacy,
			Summary: "Take a payment", DefaultStatus: http.StatusCreated, Metadata: map[string]any{wire.OwnKey: wire.OwnIgnored}}, call.ToCharge, a.createPayment)
		call.Handle(a.API, huma.Operation{OperationID: "list" + alias.suffix + "s", Method: http.MethodGet, Path: alias.path, Tags: tags, Deprecated: legacy,
			Summary: "List payments, newest first"}, call.ToRead, call.InShop(a.API, a.listPayments))
		call.Handle(a.API, huma.Operation{OperationID: "get" + alias.suffix, Method: http.MethodGet, Path: alias.path + "/{id}", Tags: tags, Deprecated: legacy,
			Summary: "Read a payment", Metadata: map[string]any{call.ReadKey: true}}, call.ToRead, call.InShop(a.API, a.getPayment))
		call.Handle(a.API, huma.Operation{OperationID: "cancel" + alias.suffix, Method: http.MethodPost, Path: alias.path + "/{id}/cancel", Tags: tags, Deprecated: legacy,
			Summary: "Cancel a pending payment", DefaultStatus: http.StatusOK}, call.ToCharge, call.InShop(a.API, a.cancelPayment))
	}
}

func (a *api) createPayment(ctx context.Context, caller call.Caller, in *createIn) (*createOut, error) {
	// A payment has one route for idempotency, whichever name was called.
	p, replayed, err := a.orderPayment(ctx, caller, "POST /payments", in.CreateHeader, in.RawBody, &in.Body)
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
func (a *api) orderPayment(ctx context.Context, caller call.Caller, route string, in CreateHeader, raw []byte, b *PaymentBody) (p pay.Payment, replayed string, err error) {
	if err := in.SandboxOnly(caller); err != nil {
		return p, "", err
	}
	n := apppayments.NewPayment{
		Amount: b.asked, Purchase: b.purchase(), PaymentMethodID: b.PaymentMethodID, PaymentMethod: b.PaymentMethod, Country: b.Country,
		Buyer:   pay.Buyer{Email: b.UserEmail, Name: b.UserName, Phone: document.Clean(b.UserPhone), IP: b.UserIP, Document: document.Clean(b.DocumentID)},
		OrderID: b.MerchantOrderID, Hosted: b.HostedCheckout, ReturnURL: b.ReturnURL, MerchantID: b.MerchantID, ShopID: b.ShopID,
		Installments: b.Installments.request(), Simulate: in.Simulate, Strict: in.Chosen(), Idempotency: in.idempotency(route, raw), RequestID: caller.RequestID,
	}
	if !b.HostedCheckout && n.Buyer.IP == "" { // with one the caller is the shop's server, not the shopper (CHK-21)
		n.Buyer.IP = caller.ClientIP
	}
	p, again, err := a.uses.Payments.Create(ctx, caller.Principal, n)
	if err != nil {
		return p, "", err
	}
	refusal := p.Refusal()
	if refusal != nil && again {
		refusal = huma.ErrorWithHeaders(wire.Show(ctx, a.Log, refusal), http.Header{"Idempotency-Replayed": {"true"}})
	}
	return p, call.Repeated(again), refusal
}

// SandboxOnly refuses the sandbox's headers in production.
func (h CreateHeader) SandboxOnly(caller call.Caller) error {
	switch {
	case !caller.Live:
		return nil
	case h.Simulate != "":
		return merchants.NoSimulation("Sandbox-Simulate")
	}
	return h.StrictHeader.SandboxOnly(caller)
}

func (h CreateHeader) idempotency(route string, raw []byte) base.Idempotency {
	if h.IdempotencyKey == "" {
		return base.Idempotency{}
	}
	i := call.OnceFor(route, h.IdempotencyKey, raw, h.Simulate+h.Strict)
	i.Headers = func(hash string) []string { return h.differ(hash, raw) }
	return i
}

// differ lists the headers that explain why a request with the same body has another hash.
func (h CreateHeader) differ(hash string, raw []byte) (headers []string) {
	for _, simulate := range append(h.actions, "") {
		for _, strict := range []string{"", "true", "false"} {
			if call.BodyHash(raw, simulate+strict) != hash {
				continue
			}
			if simulate != h.Simulate {
				headers = append(headers, "Sandbox-Simulate")
			}
			if strict != h.Strict {
				headers = append(headers, "Sandbox-Strict")
			}
			return headers
		}
	}
	return nil
}

func (a *api) listPayments(ctx context.Context, caller call.Caller, in *listIn) (*listOut, error) {
	list, total, err := a.uses.Payments.List(ctx, caller.Scope, in.filter)
	if err != nil {
		return nil, in.Named(err)
	}
	out := &listOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(p pay.Payment) string { return p.ID },
		func(p pay.Payment) view.Transaction { return view.NewTransaction(&p, a.uses.CheckoutURL) })
	out.Body.Pagination.TotalCapped = total == lists.MostCounted && in.filter.Capped()
	return out, nil
}

func (a *api) getPayment(ctx context.Context, caller call.Caller, in *call.IDPath) (*getOut, error) {
	p, err := a.uses.Cascade.Payment(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &getOut{a.shown(p)}, nil
}

// shown is a payment as GET shows it.
func (a *api) shown(p pay.Payment) view.Transaction {
	return view.NewTransactionWithData(&p, a.uses.CheckoutURL)
}

// cancelPayment cancels a pending payment (CANCEL-1).
func (a *api) cancelPayment(ctx context.Context, caller call.Caller, in *call.IDPath) (*getOut, error) {
	p, err := a.uses.Payments.Cancel(ctx, caller.Scope, in.ID, view.Cause{RequestID: caller.RequestID})
	if err != nil {
		return nil, err
	}
	return &getOut{a.shown(p)}, nil
}
