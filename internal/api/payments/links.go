package payments

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/api/call"
	apppayments "github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// LinkBody makes a payment link (CHK-25).
type LinkBody struct {
	Amount          call.Amount     `json:"amount,omitempty" doc:"What each shopper pays, in major units of currency; leave it out if the shopper types it"`
	OpenAmount      *OpenAmountBody `json:"openAmount,omitempty" doc:"The shopper types the amount, within these bounds: instead of amount"`
	Currency        string          `json:"currency,omitempty" minLength:"1" maxLength:"3" example:"USD" doc:"ISO 4217, of amount and openAmount; USD by default"`
	Country         string          `json:"country,omitempty" doc:"ISO 3166 alpha-2 or alpha-3: offers the methods of one country alone"`
	MerchantOrderID string          `json:"merchantOrderId,omitempty" maxLength:"120" doc:"Of each of its payments"`
	ReturnURL       string          `json:"returnUrl,omitempty" maxLength:"2048" doc:"Where the shopper is led after paying: a page on the web, or an app whose scheme the shop registered"`
	Uses            int             `json:"uses,omitempty" minimum:"1" maximum:"10000" example:"1" doc:"How many payments may be paid; 1 by default"`
	ExpiresAt       string          `json:"expiresAt,omitempty" maxLength:"40" format:"date-time" doc:"Nobody can begin to pay from then on: at most 366 days from now, 30 days by default"`
	MerchantID      string          `json:"merchantId,omitempty" maxLength:"40"`
	ShopID          string          `json:"shopId,omitempty" maxLength:"40" doc:"With credentials of the whole merchant"`
	PurchaseBody
	Installments *InstallmentsBody `json:"installments,omitempty" doc:"How a shopper may pay by card in installments, within the merchant's terms"`

	asked, least, most money.Amount
	expires            time.Time
}

// OpenAmountBody is the bounds of an amount that the shopper types.
type OpenAmountBody struct {
	Min call.Amount `json:"min"`
	Max call.Amount `json:"max"`
}

// Resolve checks what a schema cannot say.
func (b *LinkBody) Resolve(ctx huma.Context, prefix *huma.PathBuffer) (issues []error) {
	add := func(err error) {
		if err != nil {
			issues = append(issues, err)
		}
	}
	if _, ok := geo.Parse(b.Country); b.Country != "" && !ok {
		add(wire.Coded(problem.InvalidRequest, prefix.With("country"), call.CountryIssue("country", b.Country)))
	}
	if !returnable(b.ReturnURL) {
		add(wire.Coded(problem.InvalidRequest, prefix.With("returnUrl"), returnIssue))
	}
	var err error
	b.expires, err = expiry(prefix.With("expiresAt"), b.ExpiresAt)
	add(err)
	in, err := call.Currency(ctx, "currency", prefix.With("currency"), cmp.Or(b.Currency, string(money.USD)))
	if err != nil {
		return append(append(issues, err), b.Metadata.check(prefix.With("metadata"))...)
	}
	open := b.OpenAmount
	switch sent := b.Amount != "" && b.Amount != "null"; {
	case open == nil:
		b.asked, err = b.Amount.In(prefix.With("amount"), in)
		add(err)
	case sent:
		add(wire.Coded(problem.InvalidRequest, prefix.With("openAmount"), "openAmount lets the shopper type the amount: send it or amount, not both"))
	default:
		b.least, err = open.Min.In(call.Below(prefix, "openAmount", "min"), in)
		add(err)
		var failed error
		b.most, failed = open.Max.In(call.Below(prefix, "openAmount", "max"), in)
		add(failed)
		if err == nil && failed == nil && b.least.Minor > b.most.Minor {
			add(wire.Coded(problem.InvalidRequest, call.Below(prefix, "openAmount", "max"), "openAmount.max must be at least openAmount.min, which is "+b.least.Decimal()))
		}
	}
	issues = append(issues, b.Installments.check(prefix)...)
	return append(issues, b.check(prefix, in)...)
}

// expiry reads the end of a payment link; zero for none.
func expiry(path, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, wire.Coded(problem.InvalidRequest, path, "expiresAt must be a time of RFC 3339, such as 2027-01-31T18:00:00Z")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

type linkIn struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the link that the first request made"`
	call.StrictHeader
	RawBody []byte
	Body    LinkBody
}

// Resolve checks the headers.
func (in *linkIn) Resolve(ctx huma.Context) []error {
	return append(call.CheckKey(in.IdempotencyKey), in.StrictHeader.Resolve(ctx)...)
}

type linkCreatedOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.PaymentLink
}

type linkOut struct{ Body view.PaymentLink }

type linksIn struct {
	wire.Page
	Status wire.Word[pay.LinkStatus] `query:"status"`
}

type linksOut struct {
	Body struct {
		Data       []view.PaymentLink `json:"data"`
		Pagination wire.Pagination    `json:"pagination"`
	}
}

type changeLinkIn struct {
	ID   string `path:"id"`
	Body struct {
		Status    string `json:"status,omitempty" enum:"open,closed" doc:"closed: nobody can begin to pay from then on, while payments under way go on; open: opens a closed or expired link again"`
		ExpiresAt string `json:"expiresAt,omitempty" maxLength:"40" format:"date-time" doc:"Its new end, at most 366 days from now"`
	}
	expires time.Time
}

// Resolve reads the time.
func (in *changeLinkIn) Resolve(huma.Context) []error {
	var err error
	if in.expires, err = expiry("body.expiresAt", in.Body.ExpiresAt); err != nil {
		return []error{err}
	}
	if in.Body.Status == "" && in.expires.IsZero() {
		return []error{wire.Coded(problem.InvalidRequest, "body.status", "send status, expiresAt, or both")}
	}
	if in.Body.Status == string(pay.LinkClosed) && !in.expires.IsZero() {
		return []error{wire.Coded(problem.InvalidRequest, "body.expiresAt", "a link that is closed needs no expiresAt: leave it out, or send status open")}
	}
	return nil
}

func (a *api) linkRoutes() {
	tags := []string{"Payment links"}
	call.Handle(a.API, huma.Operation{OperationID: "createPaymentLink", Method: http.MethodPost, Path: "/payment-links", Tags: tags,
		Summary: "Make a payment link", DefaultStatus: http.StatusCreated, Metadata: map[string]any{wire.OwnKey: wire.OwnRefused}, Description: "An address at which shoppers pay, once or up to a number of times. Each of them chooses the method on our page."},
		call.ToCharge, a.createLink)
	call.Handle(a.API, huma.Operation{OperationID: "listPaymentLinks", Method: http.MethodGet, Path: "/payment-links", Tags: tags,
		Summary: "List payment links, newest first"}, call.ToRead, call.InShop(a.API, a.links))
	call.Handle(a.API, huma.Operation{OperationID: "getPaymentLink", Method: http.MethodGet, Path: "/payment-links/{id}", Tags: tags,
		Summary: "Read a payment link"}, call.ToRead, call.InShop(a.API, a.link))
	call.Handle(a.API, huma.Operation{OperationID: "updatePaymentLink", Method: http.MethodPatch, Path: "/payment-links/{id}", Tags: tags,
		Summary: "Close a payment link, open it again, or set its end", Description: "Doing so twice changes nothing."}, call.ToCharge, call.InShop(a.API, a.changeLink))
}

func (a *api) showLink(l pay.PaymentLink) view.PaymentLink {
	return view.NewPaymentLink(l, a.uses.PaymentLinks.TimeOf(l.Scope), a.uses.CheckoutURL)
}

func (a *api) createLink(ctx context.Context, caller call.Caller, in *linkIn) (*linkCreatedOut, error) {
	if err := in.SandboxOnly(caller); err != nil {
		return nil, err
	}
	b := &in.Body
	country, _ := geo.Parse(b.Country)
	n := apppayments.NewPaymentLink{
		Amount: b.asked, Least: b.least, Most: b.most, Country: country.Alpha3, OrderID: b.MerchantOrderID, Purchase: b.purchase(), ReturnURL: b.ReturnURL,
		Installments: b.Installments.request(), Uses: b.Uses, Expires: b.expires, MerchantID: b.MerchantID, ShopID: b.ShopID, Strict: in.Chosen(),
	}
	if in.IdempotencyKey != "" {
		n.Idempotency = call.OnceFor("POST /payment-links", in.IdempotencyKey, in.RawBody, in.StrictHeader.Strict)
	}
	l, replayed, err := a.uses.PaymentLinks.Create(ctx, caller.Principal, n)
	if err != nil {
		return nil, err
	}
	return &linkCreatedOut{call.Repeated(replayed), a.showLink(l)}, nil
}

func (a *api) links(ctx context.Context, caller call.Caller, in *linksIn) (*linksOut, error) {
	list, total, err := a.uses.PaymentLinks.List(ctx, caller.Scope, pay.LinkStatus(in.Status), in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &linksOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(l pay.PaymentLink) string { return l.ID }, a.showLink)
	return out, nil
}

func (a *api) link(ctx context.Context, caller call.Caller, in *call.IDPath) (*linkOut, error) {
	l, err := a.uses.PaymentLinks.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &linkOut{a.showLink(l)}, nil
}

func (a *api) changeLink(ctx context.Context, caller call.Caller, in *changeLinkIn) (*linkOut, error) {
	l, err := a.uses.PaymentLinks.Update(ctx, caller.Actor(), caller.Scope, in.ID, apppayments.LinkChange{Status: pay.LinkStatus(in.Body.Status), Expires: in.expires})
	if err != nil {
		return nil, err
	}
	return &linkOut{a.showLink(l)}, nil
}
