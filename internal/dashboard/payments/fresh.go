package payments

import (
	"cmp"
	"context"
	"net/http"
	"net/mail"
	"slices"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// newView is the page that makes a test payment or a payment link.
type newView struct {
	form
	names names
	All   []money.Currency
}

// Currencies are the choices of the amount's currency.
func (n newView) Currencies() (list []frame.Option) {
	list = append(list, frame.Option{Value: string(money.USD), Label: string(money.USD)})
	for _, c := range n.All {
		if c != money.USD {
			list = append(list, frame.Option{Value: string(c), Label: string(c)})
		}
	}
	return list
}

// Rails are the methods that can be charged now.
func (n newView) Rails(p *frame.Page) (list []frame.Option) {
	for _, r := range n.names.list {
		if r.Unroutable == "" {
			list = append(list, frame.Option{Value: r.ID, Label: words(p, "rail_in", "rail", railName(p, r.Name), "country", p.Country(r.Country))})
		}
	}
	return list
}

// onPage is the outcome that whoever makes a test payment decides on its page, as a customer.
const onPage sandbox.SimulatedAction = "page"

// Outcomes are what the sandbox can play, first the way of production.
func (n newView) Outcomes(p *frame.Page) (list []frame.Option) {
	for _, a := range append([]sandbox.SimulatedAction{onPage}, sandbox.HeaderActions()...) {
		key := "play_" + string(a)
		list = append(list, frame.Option{Value: string(a), Label: words(p, key), Hint: words(p, key+"_about")})
	}
	return list
}

func (s *sales) newView(v *frame.Visit, f form) newView {
	return newView{form: f, names: s.names(v), All: s.Uses.Rates.Currencies()}
}

func (s *sales) newTest(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if v.Live { // there the same button makes a link
		s.Go(w, r, s.here(v)+"/payments/link")
		return nil
	}
	f := s.fresh("amount", plain(v.Language(), money.New(25_65, money.USD)), "amount_currency", "USD", "method", "sbx_card", "outcome", string(onPage), "email", v.User.Email)
	return s.room.Show(w, r, v, "test", s.newView(v, f))
}

// makeTest makes a payment in the sandbox, as a shop's server would.
func (s *sales) makeTest(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f := typed(r, "amount", "amount_currency", "method", "outcome", "email")
	if v.Live {
		return problem.New(problem.ProductionKeyRefused, testPaymentsInSandbox)
	}
	n := payments.NewPayment{PaymentMethodID: f.Typed["method"], OrderID: "", RequestID: v.RequestID, Idempotency: onceOf("POST /payments/test", f, "amount", "amount_currency", "method", "outcome", "email")}
	if action := sandbox.SimulatedAction(f.Typed["outcome"]); slices.Contains(sandbox.HeaderActions(), action) {
		n.Simulate = string(action)
	} else {
		strict := true
		n.Strict, n.Hosted = &strict, true
	}
	rail := s.names(v).rails[n.PaymentMethodID]
	n.Buyer = pay.Buyer{Email: f.Typed["email"], Name: v.User.Name, Document: document.Example(rail.Country, rail.Document), IP: v.Address}
	err := checkEmail(n.Buyer.Email)
	if err == nil {
		n.Amount, err = s.price(v, f, "amount")
	}
	var p pay.Payment
	if err == nil {
		p, _, err = s.Uses.Payments.Create(context.WithoutCancel(r.Context()), v.Principal, n)
	}
	if shown, ok := problemOf(err); ok && shown.Details.TransactionID != "" { // it was made, and did not end well
		p.ID, err = shown.Details.TransactionID, nil
	}
	if err != nil {
		status, err := s.refused(v, &f, err, map[string]string{"paymentMethodId": "method", "userEmail": "email", "currency": "amount", "country": "method"})
		if err != nil {
			return err
		}
		return s.room.ShowStatus(w, r, v, status, "test", s.newView(v, f))
	}
	if n.Simulate == "" {
		s.Flash(w, "test_made_page")
	} else {
		s.Flash(w, "test_made")
	}
	s.back(w, r, v, p.ID)
	return nil
}

// price is the amount in a field of a form, in the form's currency.
func (s *sales) price(v *frame.Visit, f form, field string) (money.Amount, error) {
	c, err := money.ParseCurrency(cmp.Or(f.Typed["amount_currency"], string(money.USD)))
	if err != nil {
		return money.Amount{}, message.FieldRefusal(problem.UnsupportedCurrency, "amount", s.room.Text(v, "wrong_currency"))
	}
	if err := s.Uses.Rates.CheckCurrency(c); err != nil {
		return money.Amount{}, err
	}
	a, ok := frame.Typed(v.Language(), f.Typed[field], c)
	if !ok {
		return money.Amount{}, message.FieldRefusal(problem.AmountInvalid, field, s.room.Text(v, "wrong_amount"))
	}
	return a, nil
}

// onceOf makes a form's request harmless to repeat. fields are those that it reads.
func onceOf(route string, f form, fields ...string) base.Idempotency {
	if f.Key == "" {
		return base.Idempotency{}
	}
	values := make([]string, len(fields))
	for i, field := range fields {
		values[i] = f.Typed[field]
	}
	return base.Idempotency{Route: "form of " + route, Key: f.Key, Hash: hash(values...)}
}

// checkEmail returns an error for a text that is not an e-mail address. An empty text is allowed.
func checkEmail(text string) error {
	if at, err := mail.ParseAddress(text); text != "" && (err != nil || at.Address != text || utf8.RuneCountInString(text) > pay.MaxEmail) {
		return problem.Field(problem.InvalidRequest, "email", people.NotAnAddress)
	}
	return nil
}
