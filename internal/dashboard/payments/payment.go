package payments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/receipt"
	"github.com/cascadapay/cascada/internal/view"
)

// paymentView is the page of a payment.
type paymentView struct {
	row
	Left     money.Amount // that can be refunded
	Life     payments.Life
	Moments  []moment
	JSON     string // as the API shows it
	Read     string // the commands that read and refund it
	Return   string
	Page     string // where the shopper pays, or paid; "" for none
	Plays    []sandbox.SimulatedAction
	Cancel   bool
	Receipt  bool // it has one, which can be sent
	Mails    bool // the service sends e-mails
	Operator bool
	GoesOn   bool // the next try of a shopper whose card was refused goes to another provider
	Form     form // of the refund
}

// paymentOf reads what all pages of a payment show.
func (s *sales) paymentOf(r *http.Request, v *frame.Visit) (paymentView, error) {
	p, err := s.Uses.Cascade.Payment(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return paymentView{}, err
	}
	n := s.names(v)
	return paymentView{row: row{p, n}, Left: p.Refundable(), Cancel: p.CheckCancel() == nil && !p.Canceling(), Operator: operator(v),
		Receipt: receipt.Check(p) == nil, Mails: s.Uses.Mails.Sends()}, nil
}

func (s *sales) payment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := s.paymentOf(r, v)
	if err != nil {
		return err
	}
	if view.Life, err = s.Uses.Payments.Life(r.Context(), v.Scope, view.Payment); err != nil {
		return err
	}
	if view.Moments, err = s.moments(r.Context(), v, view.Payment, view.Life); err != nil {
		return err
	}
	if view.JSON, err = s.json(view.Payment); err != nil {
		return err
	}
	view.Read = s.curl(v, "", "/payments/"+view.ID, "")
	if view.Left.IsPositive() {
		view.Return = s.curl(v, "POST", "/payments/"+view.ID+"/refund", `{"amount":`+view.Left.Decimal()+`,"reason":"requested_by_customer"}`)
	}
	view.Page, view.GoesOn = s.shopperPage(view.Payment), s.Uses.Sessions.GoesOn(view.Payment)
	if !v.Live && s.Uses.Providers.StoodIn(view.Payment) {
		view.Plays = plays(view.Payment)
	}
	view.Form = s.refundOf(v, view)
	return s.room.Show(w, r, v, "payment", view)
}

// shopperPage is our page on which the shopper pays, or paid.
func (s *sales) shopperPage(p pay.Payment) string {
	switch {
	case p.Page.Hosted:
		return view.CheckoutURL(s.Uses.CheckoutURL, &p)
	case p.Page.FormURL != "":
		return view.PageURL(s.Uses.CheckoutURL, p.ID)
	}
	return ""
}

// plays are the outcomes that the sandbox can play now.
func plays(p pay.Payment) []sandbox.SimulatedAction {
	switch {
	case p.Status == pay.Pending:
		return []sandbox.SimulatedAction{sandbox.Paid, sandbox.Failed, sandbox.Expired}
	case p.Status == pay.Completed && !p.Disputes.Any:
		return []sandbox.SimulatedAction{sandbox.Refunded, sandbox.Chargeback}
	case p.Status == pay.Completed:
		return []sandbox.SimulatedAction{sandbox.Refunded}
	}
	return nil
}

// json is the payment as the API shows it.
func (s *sales) json(p pay.Payment) (string, error) {
	shown := view.NewTransactionWithData(&p, s.Uses.CheckoutURL)
	text, err := json.Marshal(shown)
	if err != nil {
		return "", fmt.Errorf("show payment %s: %w", p.ID, err)
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, "", "  ")
	return b.String(), err
}

// curl is the command of a request to the API.
func (s *sales) curl(v *frame.Visit, method, path, body string) string {
	key := "sk_test_…"
	if v.Live {
		key = "sk_live_…"
	}
	command := "curl " + s.Uses.CheckoutURL + view.Base + path + ` \` + "\n" + `  -H "Authorization: Bearer ` + key + `"`
	if body != "" {
		command += ` \` + "\n" + `  -H "Idempotency-Key: ` + s.Uses.NewID("", s.Uses.Now()) + `" \` + "\n" + `  -H "Content-Type: application/json" \` + "\n" + `  -d '` + body + `'`
	}
	if method != "" && body == "" {
		command += " -X " + method
	}
	return command
}

// Brings reports whether the payment has brought the merchant money, or still may.
func (p paymentView) Brings() bool { return p.Status != pay.Failed && p.Status != pay.Expired }

// Next tells what the payment's status means and what comes next: the key of the text next_<state>.
func (p paymentView) Next() string {
	switch state := p.State(); {
	case p.Payment.Canceling():
		return "next_canceling"
	case p.Disputes.OpenOnCapture() != "":
		return "next_disputed"
	case p.Status == pay.Chargeback && p.Disputes.Won():
		return "next_dispute_kept"
	case len(p.Late()) > 0:
		return "next_late"
	case p.Status == pay.Refunded && slices.ContainsFunc(p.Life.Claims, func(c pay.Claim) bool { return c.Kind == pay.UserDispute && !c.Status.Terminal() }):
		return "next_refunding"
	case state == "pending" && p.Way.Sync:
		if _, refused := p.Attempts.Refusal(); refused {
			switch {
			case p.GoesOn:
				return "next_pending_goes_on"
			case pay.CheckRetry(p.Payment) != nil:
				return "next_pending_over"
			}
			return "next_pending_refused"
		}
		return "next_pending_card"
	case state == "completed" && p.Settlement == pay.BatchClosed:
		return "next_settled"
	case state == "completed" && p.Settlement == pay.BatchPaid:
		return "next_paid"
	default:
		return "next_" + state
	}
}

// Tone is that of the notice about the status.
func (p paymentView) Tone() string {
	switch p.State() {
	case "completed":
		return "good"
	case "pending", "processing":
		return "waiting"
	case "failed", "chargeback", "disputed", "refund_failed":
		return "bad"
	}
	return "info"
}

// Platform is the share of the platform, in US dollars.
func (p paymentView) Platform() money.Amount { return money.New(p.Terms.Fees.Platform, money.USD) }

// Provider is the share of the provider, fixed part included.
func (p paymentView) Provider() money.Amount {
	return money.New(p.Terms.Fees.Provider+p.Terms.Fees.Flat, money.USD)
}

// Network is the share of the scheme or the network.
func (p paymentView) Network() money.Amount { return money.New(p.Terms.Fees.Network, money.USD) }

// Tax is the tax on the fees.
func (p paymentView) Tax() money.Amount { return money.New(p.Terms.Fees.Tax, money.USD) }

// Reserve is held back for a while.
func (p paymentView) Reserve() money.Amount { return money.New(p.Terms.Reserve, money.USD) }

// Net is what the merchant gets when the payment is settled.
func (p paymentView) Net() money.Amount {
	return money.New(p.Price.Amount.Minor-p.Terms.Fees.Total()-p.Terms.Reserve, money.USD)
}

// Folded is how many moments the page folds away.
func (p paymentView) Folded() (n int) {
	for _, m := range p.Moments {
		if m.Quiet() {
			n++
		}
	}
	return n
}

// deduction is what refunds and disputes took of a payment.
type deduction struct {
	Name   string // key of its text
	Amount money.Amount
}

// Deductions lists what refunds, disputes and returned fees changed after the payment was booked.
func (p paymentView) Deductions() (list []deduction) {
	sums := map[pay.MovementType]int64{}
	for _, m := range p.Life.Movements {
		sums[m.Type] += m.Amount
	}
	if p.Pays() {
		sums[pay.MovedFee] += p.Terms.Fees.Total()
	}
	for _, what := range []pay.MovementType{pay.MovedRefund, pay.MovedClaim, pay.MovedChargebackFee, pay.MovedFee, pay.MovedAdjustment} {
		if cents := sums[what]; cents != 0 {
			list = append(list, deduction{"took_" + string(what), money.New(cents, money.USD)})
		}
	}
	return list
}

// Kept is what is left of the payment for the merchant, the reserve and what is held included.
func (p paymentView) Kept() money.Amount {
	return p.moved(func(pay.Movement) bool { return true })
}

// Frozen is the part of it that is held for claims.
func (p paymentView) Frozen() money.Amount {
	return p.moved(func(m pay.Movement) bool { return m.Bucket == ledger.Frozen })
}

// moved adds up some of the payment's movements.
func (p paymentView) moved(which func(pay.Movement) bool) money.Amount {
	sum := int64(0)
	for _, m := range p.Life.Movements {
		if which(m) {
			sum += m.Amount
		}
	}
	return money.New(sum, money.USD)
}

// Converted reports whether the shop's currency is not the shopper's, or not US dollars.
func (p paymentView) Converted() bool {
	return p.Price.Local.Currency != money.USD || p.Asked().Currency != money.USD
}

// Back is what went back to the shopper.
func (p paymentView) Back() money.Amount { return money.New(p.Refunds.Local, p.Price.Local.Currency) }

// Delay is the number of hours until the payment is settled.
func (p paymentView) Delay() int { return int(p.Terms.Delay.Hours()) }

// Pays reports whether the payment was paid.
func (p paymentView) Pays() bool { return !p.Times.Completed.IsZero() }

// Open lists the payment's open disputes.
func (p paymentView) Open() []pay.Claim {
	return slices.DeleteFunc(slices.Clone(p.Life.Claims), func(c pay.Claim) bool { return c.Kind != pay.ChargebackClaim || c.Status.Terminal() })
}

// Late lists the claims about money that came after the payment had ended without it.
func (p paymentView) Late() []pay.Claim {
	if p.Pays() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Life.Claims), func(c pay.Claim) bool { return c.Kind != pay.Inquiry })
}

// Settled is the key of the text about the payment's settlement.
func (p paymentView) Settled() string {
	switch p.Settlement {
	case pay.BatchClosed:
		return "settled_closed"
	case pay.BatchPaid:
		return "settled_paid"
	case pay.BatchOpen:
	}
	return "settled_not_yet"
}

// Why is the reason of a failure; "" if the sentence about the status says it already.
func (p paymentView) Why(page *frame.Page) template.HTML {
	if p.End.Canceled() || p.Status == pay.Expired && p.End.Failure.Code == string(pay.Expired) {
		return ""
	}
	return why(*p.End.Failure)(page)
}

// Items are what was bought, as the shop described it.
func (p paymentView) Items() []pay.LineItem { return p.Order.Purchase.Items }

// ItemPrice is what one of an item costs: as the language writes money, or as the shop wrote what is no amount of the currency.
func (p paymentView) ItemPrice(page *frame.Page, item pay.LineItem) template.HTML {
	if item.Told != nil {
		return template.HTML(template.HTMLEscapeString(item.Price())) //nolint:gosec // escaped
	}
	return page.Money(item.Unit)
}

// Meta are the shop's own values, by name.
func (p paymentView) Meta() (list []struct{ Name, Value string }) {
	for _, name := range slices.Sorted(maps.Keys(p.Order.Purchase.Metadata)) {
		list = append(list, struct{ Name, Value string }{name, p.Order.Purchase.Metadata[name]})
	}
	return list
}
