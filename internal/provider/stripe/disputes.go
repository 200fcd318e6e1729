package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// dispute is the part of a Dispute that we read.
type dispute struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
	Reason   string            `json:"reason"`
	Intent   expanded[intent]  `json:"payment_intent"`
	Metadata map[string]string `json:"metadata"`
	Evidence struct {
		DueBy     int64 `json:"due_by"`   // 0: the bank takes no answer
		Late      bool  `json:"past_due"` // the last submission
		Submitted int   `json:"submission_count"`
		Enhanced  struct {
			Visa       toll `json:"visa_compliance"`
			Mastercard toll `json:"mastercard_compliance"`
		} `json:"enhanced_eligibility"`
	} `json:"evidence_details"`
	Moved []struct {
		Amount int64 `json:"amount"` // below zero: withdrawn
	} `json:"balance_transactions"`
	Method struct {
		Card struct {
			Code string `json:"network_reason_code"`
		} `json:"card"`
	} `json:"payment_method_details"`
}

func (d dispute) key() string       { return d.ID }
func (d dispute) reference() string { return "" }

// stage is what a status means for a claim.
type stage struct {
	open, reviewing bool
	ruling          pay.Ruling
}

// stages are by the status of a dispute (docs.stripe.com/api/disputes/object, stripe-node 23.1.0, Disputes.d.ts;
// docs.stripe.com/disputes/arbitration; read on 2026-11-28). A status that is not here is reported.
//
// Stripe withdraws the money when it opens a dispute, and gives it back if the dispute is won. An inquiry (warning) withdraws nothing:
// it is answered at Stripe, and if it becomes a dispute, its status changes. A dispute that was prevented was ended before it was
// filed, some by giving the money back: its balance transactions tell.
//
// An appeal continues a dispute that the issuer has decided for the shopper. It is not another instance for us: nothing in a later
// won or lost tells whether there was one. If the decision was reported as lost before, the appeal changes nothing until it is won,
// which is news that contradicts the first ruling, and is booked as that.
var stages = map[string]stage{
	"needs_response":         {open: true},
	"under_review":           {open: true, reviewing: true},
	"appeal_needs_response":  {open: true},
	"appeal_under_review":    {open: true, reviewing: true},
	"won":                    {ruling: pay.DisputeWon},
	"lost":                   {ruling: pay.DisputeLost},
	"warning_needs_response": {},
	"warning_under_review":   {},
	"warning_closed":         {},
	"prevented":              {},
}

// disputeNotice reports the state of a dispute. Every event of it leads to a query.
func (p *Provider) disputeNotice(ctx context.Context, e event, n pay.Notice) ([]pay.Notice, error) {
	var then dispute
	if err := json.Unmarshal(e.Data.Object, &then); err != nil || !id(then.ID) {
		return nil, errors.New("the event's dispute cannot be read")
	}
	d, ok := p.dispute(ctx, then.ID)
	if !ok {
		return nil, provider.ErrUnreachable
	}
	if !p.disputed(d, &n) {
		return nil, nil
	}
	return []pay.Notice{n}, nil
}

// CanQueryDispute implements provider.DisputeQuerier: a dispute is found by its own id, or by its payment. One that we simulate for a
// test key has no id, and Stripe does not know it.
func (p *Provider) CanQueryDispute(r provider.DisputeRequest) bool {
	return id(r.ID) || r.ID == "" && p.Live
}

// QueryDispute returns the state of a dispute; without an id, of the last one of its payment.
func (p *Provider) QueryDispute(ctx context.Context, r provider.DisputeRequest) (n pay.Notice, known bool) {
	if id(r.ID) {
		d, ok := p.dispute(ctx, r.ID)
		return n, ok && p.disputed(d, &n)
	}
	of, o := p.payer(ctx, r.Charge)
	if r.ID != "" || o != nil {
		return n, false
	}
	var last dispute
	f := walk(ctx, p, "/v1/disputes", url.Values{"payment_intent": {of}, "expand[]": {"data.payment_intent"}}, func(d dispute) bool {
		last = d
		return true
	})
	return n, f == nil && last.Object == "dispute" && id(last.ID) && p.disputed(last, &n)
}

// dispute reads a dispute with its payment; false if Stripe gives no usable answer.
func (p *Provider) dispute(ctx context.Context, id string) (d dispute, ok bool) {
	f := p.get(ctx, "/v1/disputes/"+url.PathEscape(id), url.Values{"expand[]": {"payment_intent"}}, &d)
	return d, f == nil && d.Object == "dispute" && d.ID == id
}

// disputed writes the state of a dispute to n; false if it is not ours, or if no money moved.
func (p *Provider) disputed(d dispute, n *pay.Notice) bool {
	if d.Intent.value == nil { // a charge older than payment intents: not ours
		return false
	}
	if n.Reference = d.Intent.value.reference(); n.Reference == "" {
		return false
	}
	n.DisputeID, n.Stage, n.Network = d.ID, provider.Printable(d.Status, 40), provider.Printable(d.Method.Card.Code, 20)
	n.Outcome.Message, n.Outcome.MoneyRef = provider.Printable(d.Reason, 100), d.Intent.value.ID
	if currency, err := money.ParseCurrency(strings.ToUpper(d.Currency)); err == nil && d.Amount > 0 {
		n.Outcome.Local = money.New(d.Amount, currency)
	}
	if d.Evidence.DueBy > 0 {
		n.RespondBy = time.Unix(d.Evidence.DueBy, 0).UTC()
	}
	at, known := stages[d.Status]
	if !known {
		p.Strange("dispute", d.Status)
	}
	if d.Status == "prevented" && d.withdrawn() {
		at.ruling = pay.DisputeLost
	}
	n.Dispute, n.Reviewing, n.Ruling = at.open, at.reviewing, at.ruling
	return at != stage{}
}

// withdrawn reports whether the dispute's money is gone.
func (d dispute) withdrawn() bool {
	var sum int64
	for _, moved := range d.Moved {
		sum += moved.Amount
	}
	return sum < 0
}
