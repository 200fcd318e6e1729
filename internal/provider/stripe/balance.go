package stripe

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// movement is the part of a cash balance's transaction that we read.
type movement struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Type     string `json:"type"`
	Created  int64  `json:"created"`
	Currency string `json:"currency"`
	Net      int64  `json:"net_amount"` // below zero: it left the balance
	Customer ident  `json:"customer"`
	Applied  struct {
		Intent ident `json:"payment_intent"`
	} `json:"applied_to_payment"`
	Unapplied struct {
		Intent ident `json:"payment_intent"`
	} `json:"unapplied_from_payment"`
	Refunded struct {
		Refund ident `json:"refund"`
	} `json:"refunded_from_payment"`

	given refund // of a return that we made: its refund
}

func (m movement) key() string       { return m.ID }
func (m movement) reference() string { return "" }
func (m movement) mxn() bool         { return strings.EqualFold(m.Currency, string(money.MXN)) }

// The types of movements (docs.stripe.com/payments/customer-balance#types, stripe-node 23.1.0,
// CustomerCashBalanceTransactions.d.ts; read on 2026-11-28).
const (
	funded     = "funded"                 // a transfer arrived
	applied    = "applied_to_payment"     // a payment took it
	unapplied  = "unapplied_from_payment" // a payment that it paid in part was canceled
	unrefunded = "refunded_from_payment"  // a refund ended in the balance and not at the shopper's bank
	returned   = "return_initiated"       // it goes back to the shopper's bank
	unreturned = "return_canceled"        // it did not
	swept      = "transferred_to_balance" // Stripe gave it to the merchant, after 90 days
	unfunded   = "funding_reversed"       // the shopper's bank took a transfer back
	overdrawn  = "adjusted_for_overdraft" // the merchant paid for that
)

// purse is a Customer's cash balance.
//
// Stripe divides the money in it (docs.stripe.com/payments/customer-balance/reconciliation, MX; read on 2026-11-28). A transfer
// with the reference of an incomplete payment pays that payment. Otherwise it pays one to five payments of exactly its amount, the
// fewest and then the oldest. Otherwise it pays the oldest ones, the last in part. What is left lies in the balance until the next
// payment, which it pays at once. If a payment that was paid in part is canceled or changed, its part is divided in the same way.
// After 75 days Stripe sends the rest back to the shopper's bank, and after 90 days gives what it could not send to the merchant.
//
// So the intent of a payment says how much of the balance is that payment's, however many were open. This file assigns only the rest.
type purse struct {
	customer ident
	moves    []movement // oldest first
	intents  []intent   // oldest first
}

// lot is money that came into a cash balance, less what went on to payments that were open then.
type lot struct {
	id    string  // of the movement that brought it
	kind  string  // the movement's type
	came  int64   // minor units
	left  int64   // what is still in the balance
	at    int64   // when it came
	order *intent // the payment that it is about; nil: none of ours
	outs  []out
}

// out is a part of a lot that left the balance.
type out struct {
	movement
	minor  int64
	undone string // the movement that undid it, or ""
}

// intent finds a payment; nil if the customer has no such payment.
func (pu *purse) intent(of ident) *intent {
	at := slices.IndexFunc(pu.intents, func(i intent) bool { return i.ID == string(of) })
	if at < 0 {
		return nil
	}
	return &pu.intents[at]
}

// waits reports whether a payment is open: then Stripe gives it what is in the balance.
func (pu *purse) waits() bool {
	return slices.ContainsFunc(pu.intents, func(i intent) bool {
		return i.transfer() && (i.Status == "requires_action" || i.Status == "processing")
	})
}

// lacks reports whether a paid payment has more than its movements, so that one of them is not shown yet. A payment made by hand that
// may be paid in other ways too, as by card, says nothing here.
func (pu *purse) lacks() bool {
	took := map[ident]int64{}
	for _, m := range pu.moves {
		took[m.Applied.Intent] -= m.Net
		took[m.Unapplied.Intent] -= m.Net
	}
	return slices.ContainsFunc(pu.intents, func(i intent) bool {
		return i.transfer() && len(i.Types) == 1 && i.Status == "succeeded" && i.Received > took[ident(i.ID)]
	})
}

// lots divides the movements. Stripe does not say which money a movement takes, so the oldest goes first, unless it is a return of
// ours, which names its money.
func (pu *purse) lots(unknown func(kind string)) (lots []lot) {
	for _, m := range pu.moves {
		if !m.mxn() || m.Net == 0 {
			continue
		}
		came := lot{id: m.ID, kind: m.Type, came: m.Net, left: m.Net, at: m.Created, order: pu.intent(m.Unapplied.Intent)}
		switch m.Type {
		case overdrawn:
			continue
		case unreturned:
			if putBack(lots, m) {
				continue
			}
		case funded, applied, unapplied, unrefunded, returned, swept, unfunded:
		default:
			unknown(m.Type)
		}
		if m.Net > 0 {
			lots = append(lots, came)
		} else {
			pu.spend(lots, m)
		}
	}
	for i := range lots {
		if l := &lots[i]; l.order == nil {
			l.order = pu.about(*l)
		}
	}
	return lots
}

// spend takes a movement's money from the lots. What an open payment took of a lot was never loose.
func (pu *purse) spend(lots []lot, m movement) {
	rest, to := -m.Net, pu.intent(m.Applied.Intent)
	from := func(l *lot) {
		n := min(rest, l.left)
		if n <= 0 {
			return
		}
		rest, l.left = rest-n, l.left-n
		if to != nil && to.Created <= l.at {
			if l.came -= n; l.kind != unapplied {
				l.order = to
			}
			return
		}
		l.outs = append(l.outs, out{movement: m, minor: n})
	}
	for i := range lots {
		if named := m.given.Metadata[moneyKey]; named != "" && lots[i].id == named {
			from(&lots[i])
		}
	}
	for i := range lots {
		from(&lots[i])
	}
}

// putBack undoes the last return of a movement's amount; false if there is none. A return may have taken parts of several lots.
func putBack(lots []lot, m movement) bool {
	whole, last := map[string]int64{}, out{}
	for _, l := range lots {
		for _, o := range l.outs {
			if o.Type == returned && o.undone == "" {
				whole[o.ID] += o.minor
			}
		}
	}
	for _, l := range lots {
		for _, o := range l.outs {
			if whole[o.ID] == m.Net && o.Created >= last.Created {
				last = o
			}
		}
	}
	for i := range lots {
		for j := range lots[i].outs {
			if o := &lots[i].outs[j]; last.ID != "" && o.ID == last.ID {
				o.undone, lots[i].left = m.ID, lots[i].left+o.minor
			}
		}
	}
	return last.ID != ""
}

// about is the payment that money is about which no payment took: the last one of its amount that the shopper had been shown when it
// came, or else the last one. It does not change when later payments are made.
func (pu *purse) about(l lot) (last *intent) {
	for i := range slices.Backward(pu.intents) {
		switch shown := &pu.intents[i]; {
		case shown.reference() == "" || shown.Created > l.at || !shown.transfer():
		case shown.Amount == l.came:
			return shown
		case last == nil:
			last = shown
		}
	}
	return last
}

// gone reports whether a part left to the shopper or to another payment of ours: it cannot stay in the books as money of this one.
// A payment that was made at Stripe by hand, and Stripe itself, take money for the merchant.
func (pu *purse) gone(o out) bool {
	switch o.Type {
	case swept:
		return false
	case applied:
		to := pu.intent(o.Applied.Intent)
		return to != nil && to.reference() != ""
	}
	return true
}

// loose lists the money that is about payments of ours and that none of them took. While a payment is open, Stripe is about to give
// it what is in the balance. A refund that ended there is the shopper's, and booked as a refund.
func (pu *purse) loose(unknown func(kind string)) (list []lot) {
	for _, l := range pu.lots(unknown) {
		told := slices.ContainsFunc(l.outs, pu.gone)
		if l.kind != unrefunded && l.came > 0 && l.order != nil && l.order.reference() != "" && (told || !pu.waits()) {
			list = append(list, l)
		}
	}
	return list
}

// outcome is the outcome of a lot, as another money of its payment, with what went back of it.
func (pu *purse) outcome(l lot) pay.Outcome {
	local := func(minor int64) money.Amount { return money.New(minor, money.MXN) }
	var back []pay.ProviderRefund
	for _, o := range l.outs {
		made, kind := o.given, pay.Approved
		switch {
		case !pu.gone(o):
			continue
		case o.undone != "":
			kind = pay.Declined
		case made.ID != "":
			kind = made.kind()
		}
		if made.ID == "" {
			made = refund{ID: o.ID}
		}
		back = append(back, provider.RefundOf(made.ID, made.reference(), kind, local(o.minor)))
	}
	o := pay.Outcome{Kind: pay.Approved, ProviderRef: l.order.ID, MoneyRef: l.id, Local: local(l.came)}
	return provider.Reversed(o, back, money.Amount{}, false)
}

// lost is the last payment of ours that was paid from a balance which is below zero since: the shopper's bank took back what the
// payment had. Which payment it was is not said, so the operator has to find out. nil if the balance is not short.
func (pu *purse) lost() *intent {
	var sum int64
	for _, m := range pu.moves {
		if m.Type != overdrawn && m.mxn() {
			sum += m.Net
		}
	}
	for i := range slices.Backward(pu.intents) {
		if paid := &pu.intents[i]; sum < 0 && paid.transfer() && paid.reference() != "" && paid.Received > 0 {
			return paid
		}
	}
	return nil
}

// touches reports whether a movement is of the lot.
func (l lot) touches(m string) bool {
	return l.id == m || slices.ContainsFunc(l.outs, func(o out) bool { return o.ID == m || o.undone == m })
}
