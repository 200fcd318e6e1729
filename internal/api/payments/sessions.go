package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	apppayments "github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// CustomerBody is the shopper of a session. Texts are trimmed before they are checked, so the schema that
// validates requests is looser than the published one.
type CustomerBody struct {
	FirstName  string `json:"firstName,omitempty"`
	LastName   string `json:"lastName,omitempty"`
	Email      string `json:"email,omitempty"`
	Phone      string `json:"phone,omitempty" text:"number" doc:"With the country code" example:"+5511987654321"`
	DocumentID string `json:"documentId,omitempty" text:"number" doc:"Where the method needs one"`
}

// field is a customer's text with its maximum length in characters.
type field struct {
	name     string
	text     *string
	max      int
	required bool
}

func (c *CustomerBody) fields() []field {
	return []field{
		{"firstName", &c.FirstName, pay.MaxFirstName, true}, {"lastName", &c.LastName, pay.MaxLastName, true}, {"email", &c.Email, pay.MaxEmail, true},
		{"phone", &c.Phone, pay.MaxPhone, true}, {"documentId", &c.DocumentID, pay.MaxDocument, false},
	}
}

// fullName joins names. The two longest together have one letter more than a buyer's name may have: it is cut off.
func fullName(first, last string) string {
	name := []rune(strings.TrimSpace(first + " " + last))
	return string(name[:min(len(name), pay.MaxBuyerName)])
}

// PaymentCustomerBody is the shopper of a payment, named as in a session. All fields are optional.
type PaymentCustomerBody CustomerBody

func (c *PaymentCustomerBody) fields() []field {
	all := (*CustomerBody)(c).fields()
	for i := range all {
		all[i].required = false
	}
	return all
}

// checkCustomer trims the fields of a customer at path and returns the issues.
func checkCustomer(path string, fields []field) (issues []error) {
	for _, f := range fields {
		bad := func(code problem.Code, what string) {
			issues = append(issues, wire.Coded(code, path+"."+f.name, "customer."+f.name+" "+what))
		}
		*f.text = strings.TrimSpace(*f.text)
		if f.name == "phone" || f.name == "documentId" {
			*f.text = document.Clean(*f.text)
		}
		switch n := utf8.RuneCountInString(*f.text); {
		case n == 0 && f.required:
			bad(problem.MissingField, "is required")
		case n > f.max:
			bad(problem.InvalidRequest, fmt.Sprintf("must have at most %d characters", f.max))
		case n > 0 && f.name == "email" && !isEmail(*f.text):
			bad(problem.InvalidRequest, strings.TrimPrefix(emailIssue, " "))
		}
	}
	return issues
}

func isEmail(text string) bool {
	at, err := mail.ParseAddress(text)
	return err == nil && at.Address == text
}

// SessionBody opens a checkout (CHK-4, CHK-6): with a paymentMethodId it is the body of a payment, without
// one it is an amount and a customer.
type SessionBody struct {
	PaymentBody
	Customer CustomerBody `json:"customer,omitempty" doc:"Required unless paymentMethodId is given; with it, it supplies userEmail, userName, userPhone and documentId if they are absent"`
}

// unread are fields of a payment that were sent without a paymentMethodId: the customer's are in customer.
func (b *SessionBody) unread() (names []string) {
	for name, sent := range map[string]bool{
		"documentId": b.DocumentID != "", "userEmail": b.UserEmail != "", "userIp": b.UserIP != "", "userName": b.UserName != "", "userPhone": b.UserPhone != "",
	} {
		if sent {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Resolve checks what a schema cannot say.
func (b *SessionBody) Resolve(ctx huma.Context, prefix *huma.PathBuffer) (issues []error) {
	add := func(err error) {
		if err != nil {
			issues = append(issues, err)
		}
	}
	if b.PaymentMethodID != "" {
		b.PaymentBody.Customer = PaymentCustomerBody(b.Customer)
		return b.PaymentBody.Resolve(ctx, prefix)
	}
	issues = b.price(ctx, prefix)
	if len(b.Expand) > 0 {
		add(wire.Coded(problem.InvalidRequest, prefix.With("expand"), "expand is for a session with a paymentMethodId: without one there is no payment yet"))
	}
	if b.PaymentMethod != "" {
		add(wire.Coded(problem.InvalidRequest, prefix.With("paymentMethod"), "paymentMethod chooses nothing here: send a paymentMethodId from GET /payment-methods, or leave both out and the customer chooses"))
	}
	if _, ok := geo.Parse(b.Country); b.Country != "" && !ok {
		add(wire.Coded(problem.InvalidRequest, prefix.With("country"), call.CountryIssue("country", b.Country)))
	}
	if !returnable(b.ReturnURL) {
		add(wire.Coded(problem.InvalidRequest, prefix.With("returnUrl"), returnIssue))
	}
	return append(issues, checkCustomer(prefix.With("customer"), b.Customer.fields())...)
}

type sessionIn struct {
	CreateHeader
	RawBody []byte
	Body    SessionBody
}

type sessionOut struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true on a repeat"`
	Body     view.SessionCreated
}

// TokenPath is a session's token in a path.
type TokenPath struct {
	Token string `path:"token" doc:"The sessionId"`
}

type readSessionOut struct{ Body view.Session }

type expiredSessionOut struct{ Body view.EndedSession }

// SelectBody is a customer's choice (CHK-9).
type SelectBody struct {
	PaymentMethodID string             `json:"paymentMethodId,omitempty" maxLength:"40" example:"sbx_card" doc:"A routable method of the catalog"`
	Customer        SelectCustomerBody `json:"customer,omitempty" doc:"The customer's corrections; absent fields keep the session's values"`
}

// SelectCustomerBody is the customer's corrections.
type SelectCustomerBody struct {
	Email      string `json:"email,omitempty"`
	FullName   string `json:"fullName,omitempty" doc:"Or firstName and lastName"`
	FirstName  string `json:"firstName,omitempty" doc:"With lastName"`
	LastName   string `json:"lastName,omitempty" doc:"With firstName"`
	Phone      string `json:"phone,omitempty" text:"number" doc:"With the country code" example:"+5511987654321"`
	DocumentID string `json:"documentId,omitempty" text:"number" doc:"Where the method needs one and the session has none"`
}

func (c *SelectCustomerBody) fields() []field {
	named := c.FirstName != "" || c.LastName != ""
	return []field{
		{"email", &c.Email, pay.MaxEmail, false}, {"fullName", &c.FullName, pay.MaxBuyerName, false}, {"firstName", &c.FirstName, pay.MaxFirstName, named},
		{"lastName", &c.LastName, pay.MaxLastName, named}, {"phone", &c.Phone, pay.MaxPhone, false}, {"documentId", &c.DocumentID, pay.MaxDocument, false},
	}
}

// typed is the shopper as the corrections say.
func (c *SelectCustomerBody) typed() pay.Buyer {
	return pay.Buyer{Email: c.Email, Name: cmp.Or(c.FullName, fullName(c.FirstName, c.LastName)), Phone: c.Phone, Document: c.DocumentID}
}

// Resolve checks what a schema cannot say.
func (b *SelectBody) Resolve(_ huma.Context, prefix *huma.PathBuffer) (issues []error) {
	if b.PaymentMethodID == "" {
		issues = append(issues, wire.Coded(problem.MissingField, prefix.With("paymentMethodId"), "paymentMethodId is required"))
	}
	return append(issues, checkCustomer(prefix.With("customer"), b.Customer.fields())...)
}

type selectIn struct {
	TokenPath
	Body SelectBody
}

type selectOut struct{ Body view.Selected }

func (a *api) sessionRoutes() {
	tags := []string{"Checkout"}
	call.Handle(a.API, huma.Operation{OperationID: "createCheckoutSession", Method: http.MethodPost, Path: "/checkout/sessions", Tags: tags,
		Summary: "Open a hosted checkout", DefaultStatus: http.StatusCreated, Metadata: map[string]any{wire.OwnKey: wire.OwnIgnored},
		Description: "Without a paymentMethodId the customer chooses the method on our page (selector mode). With one this is POST /payments with hostedCheckout (one-shot mode)."},
		call.ToCharge, a.createSession)
	call.Handle(a.API, huma.Operation{OperationID: "getCheckoutSession", Method: http.MethodGet, Path: "/checkout/sessions/{token}", Tags: tags,
		Summary: "Read a checkout session", Description: "The token is the credential. While the customer may choose, methods lists what can be chosen.", Metadata: map[string]any{call.BrowserKey: true}}, call.Open, a.readSession)
	call.Handle(a.API, huma.Operation{OperationID: "selectCheckoutMethod", Method: http.MethodPost, Path: "/checkout/sessions/{token}/select", Tags: tags,
		Summary: "Choose the method of a checkout session, once", DefaultStatus: http.StatusCreated, Description: "The token is the credential.", Metadata: map[string]any{wire.OwnKey: wire.OwnIgnored, call.BrowserKey: true}},
		call.Open, a.selectMethod)
	call.Handle(a.API, huma.Operation{OperationID: "expireCheckoutSession", Method: http.MethodPost, Path: "/checkout/sessions/{token}/expire", Tags: tags,
		Summary: "End what a shopper may still choose in a checkout session", Description: "Doing so twice changes nothing."}, call.ToCharge, call.InShop(a.API, a.expireSession))
}

// sessionRoute is part of the idempotency key in both modes.
const sessionRoute = "POST /checkout/sessions"

func (a *api) createSession(ctx context.Context, caller call.Caller, in *sessionIn) (*sessionOut, error) {
	b := &in.Body
	if b.PaymentMethodID != "" {
		b.HostedCheckout = true
		p, replayed, err := a.orderPayment(ctx, caller, sessionRoute, in.CreateHeader, in.RawBody, &b.PaymentBody)
		if err != nil {
			return nil, err
		}
		created := view.NewOneShot(&p, a.uses.CheckoutURL, base.PageKey(a.uses.Vault, p.ID))
		if len(b.Expand) > 0 {
			created = created.WithData(&p, a.uses.CheckoutURL)
		}
		return &sessionOut{replayed, created}, nil
	}
	if err := in.SandboxOnly(caller); err != nil {
		return nil, err
	}
	wire.TellIgnored(caller.Reply, b.unread())
	country, _ := geo.Parse(b.Country)
	s, token, replayed, err := a.uses.Sessions.Create(ctx, caller.Principal, apppayments.NewSession{
		Amount: b.asked, Country: country.Alpha3, OrderID: b.MerchantOrderID, Purchase: b.purchase(), ReturnURL: b.ReturnURL,
		Customer: pay.Customer{
			FirstName: b.Customer.FirstName, LastName: b.Customer.LastName, Email: b.Customer.Email,
			Phone: b.Customer.Phone, Document: b.Customer.DocumentID,
		},
		Installments: b.Installments.request(), MerchantID: b.MerchantID, ShopID: b.ShopID, Strict: in.Chosen(), Idempotency: in.idempotency(sessionRoute, in.RawBody),
	})
	if err != nil {
		return nil, err
	}
	return &sessionOut{call.Repeated(replayed), view.NewSessionCreated(s, token, a.uses.CheckoutURL)}, nil
}

func (a *api) readSession(ctx context.Context, caller call.Caller, in *TokenPath) (*readSessionOut, error) {
	s, p, err := a.uses.Sessions.ReadSession(ctx, in.Token, caller.ClientIP)
	if err != nil {
		return nil, err
	}
	shown := view.NewSession(s, in.Token, p)
	if shown.CompletedTxID == nil {
		shown.Methods = a.sessionMethods(s)
	}
	return &readSessionOut{shown}, nil
}

// sessionMethods shows what a session's customer may choose.
func (a *api) sessionMethods(s pay.Session) []view.SessionMethod {
	list := []view.SessionMethod{}
	for _, rail := range a.uses.Sessions.SessionMethods(s) {
		local, payable := a.uses.Sessions.SessionAmount(s, rail)
		if local.Currency == "" { // no rate is known
			continue
		}
		country, _ := geo.Parse(rail.Country)
		list = append(list, view.NewSessionMethod(rail, country.Alpha2, local, payable, document.Lacks(rail.Country, rail.Document, s.Customer.Document)))
	}
	return list
}

func (a *api) selectMethod(ctx context.Context, caller call.Caller, in *selectIn) (*selectOut, error) {
	typed := in.Body.Customer.typed()
	typed.IP = caller.ClientIP
	_, p, err := a.uses.Sessions.SelectMethod(ctx, in.Token, apppayments.Choice{
		PaymentMethodID: in.Body.PaymentMethodID, RequestID: caller.RequestID, Typed: typed,
	})
	if needed, ok := errors.AsType[*problem.Error](err); ok && needed.Param == "documentId" {
		return nil, customerLacks("customer.documentId", needed.Reason)
	}
	if err != nil {
		return nil, err
	}
	// A challenge is not a refusal here: the customer's next page leads to it.
	if refusal := p.Refusal(); refusal != nil && p.Work.Answered == pay.Failed {
		return nil, refusal
	}
	return &selectOut{view.NewSelected(&p, in.Token, a.uses.CheckoutURL, base.PageKey(a.uses.Vault, p.ID))}, nil
}

func (a *api) expireSession(ctx context.Context, caller call.Caller, in *TokenPath) (*expiredSessionOut, error) {
	s, err := a.uses.Sessions.ExpireSession(ctx, caller.Scope, in.Token, view.Cause{RequestID: caller.RequestID})
	if err != nil {
		return nil, err
	}
	return &expiredSessionOut{view.NewEndedSession(s, in.Token)}, nil
}

// customerLacks is the error of a missing customer field (CHK-5).
func customerLacks(path string, why problem.Reason) error {
	return &problem.Error{Code: problem.InvalidRequest, Param: path, Reason: why, Details: problem.Details{
		Issues: []problem.Issue{{Path: path, Reason: why}}, MissingFields: []string{path},
	}}
}

// publishSessions adds to the published document what the validated one cannot say.
func publishSessions(schemas map[string]any) {
	body, _ := schemas["SessionBody"].(map[string]any)
	properties, _ := body["properties"].(map[string]any)
	properties["amount"] = call.AmountSchema(call.AmountDoc, 25.5)
	if back, ok := properties["returnUrl"].(map[string]any); ok {
		back["description"] = "Where the shopper is sent back to: a page on the web, or an app whose scheme the shop registered"
	}
	if method, ok := properties["paymentMethodId"].(map[string]any); ok {
		method["description"] = "From the catalog, for one-shot mode; if absent, the customer chooses"
	}
	for name, fields := range map[string][]field{
		"CustomerBody": new(CustomerBody).fields(), "PaymentCustomerBody": new(PaymentCustomerBody).fields(), "SelectCustomerBody": new(SelectCustomerBody).fields(),
	} {
		customer, _ := schemas[name].(map[string]any)
		properties, _ := customer["properties"].(map[string]any)
		required := []string{}
		for _, f := range fields {
			property, _ := properties[f.name].(map[string]any)
			property["maxLength"] = f.max
			if f.name == "email" {
				property["format"] = "email"
			}
			if f.required {
				property["minLength"] = 1
				required = append(required, f.name)
			}
		}
		if len(required) > 0 {
			customer["required"] = required
		}
	}
	if choice, ok := schemas["SelectBody"].(map[string]any); ok {
		choice["required"] = []string{"paymentMethodId"}
	}
}
