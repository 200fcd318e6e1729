package stripe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// purse reads a Customer's cash balance. That takes several calls, and Stripe may move money between two of them. Then a transfer could
// be seen twice: as a payment's, and as money that no payment took. So the movements are read before and after the payments, and both
// must be the same. Nor may a payment have more than its movements. Otherwise nothing is known now, and the caller comes again.
func (p *Provider) purse(ctx context.Context, customer ident) (c purse, f *failure) {
	c.customer = customer
	if c.moves, f = p.moves(ctx, customer); f != nil {
		return c, f
	}
	named := map[string]bool{}
	for i, m := range c.moves {
		if m.Type != returned {
			continue
		}
		if m.given, f = p.refundOfReturn(ctx, customer, m, named); f != nil {
			return c, f
		}
		named[m.given.ID], c.moves[i] = true, m
	}
	f = walk(ctx, p, "/v1/payment_intents", url.Values{"customer": {string(customer)}}, func(i intent) bool {
		c.intents = append(c.intents, i)
		return false
	})
	if f != nil {
		return c, f
	}
	slices.Reverse(c.intents)
	after, f := p.moves(ctx, customer)
	same := func(a, b movement) bool { return a.ID == b.ID }
	if f == nil && (c.lacks() || !slices.EqualFunc(c.moves, after, same)) {
		f = &failure{outcome: provider.Unknown("balance_is_moving")}
	}
	return c, f
}

// moves reads the movements of a cash balance, oldest first.
func (p *Provider) moves(ctx context.Context, customer ident) (list []movement, f *failure) {
	f = walk(ctx, p, "/v1/customers/"+url.PathEscape(string(customer))+"/cash_balance_transactions", url.Values{}, func(m movement) bool {
		list = append(list, m)
		return false
	})
	slices.Reverse(list)
	return list, f
}

// refundOfReturn finds the refund with which we made a return; zero if somebody else did. A return does not name its refund, so it is one of
// the same customer, amount and minute, the nearest that no other return has.
func (p *Provider) refundOfReturn(ctx context.Context, customer ident, m movement, named map[string]bool) (made refund, f *failure) {
	at := func(seconds int64) []string { return []string{strconv.FormatInt(m.Created+seconds, 10)} }
	away := func(r refund) int64 { return max(r.Created-m.Created, m.Created-r.Created) }
	f = walk(ctx, p, "/v1/refunds", url.Values{"created[gte]": at(-60), "created[lte]": at(60)}, func(r refund) bool {
		ours := r.Customer == customer && r.Intent == "" && r.Amount == -m.Net && r.reference() != "" && !named[r.ID]
		if ours && (made.ID == "" || away(r) <= away(made)) { // of two in one second the older, which comes later in the list
			made = r
		}
		return false
	})
	return made, f
}

// withLoose adds to the outcome of a bank transfer that ended the money that lies in the cash balance because of it: what came too
// late, again, or too much of, and what came in part before it was canceled.
func (p *Provider) withLoose(ctx context.Context, i intent, o pay.Outcome) pay.Outcome {
	if !i.transfer() || o.Kind != pay.Approved && o.Kind != pay.Reversed && o.Kind != pay.Lapsed {
		return o
	}
	c, f := p.purse(ctx, i.Customer)
	if f != nil && o.Kind == pay.Lapsed {
		return f.queryFailed() // it does not prove that nobody paid
	}
	if f != nil {
		return o
	}
	for _, l := range c.loose(p.strangeMove) {
		said := c.outcome(l)
		whole := said.Kind == pay.Reversed && said.Back.Total == said.Local
		switch {
		case l.order.ID != i.ID, whole:
		case said.Kind == pay.Approved:
			o.Also = append(o.Also, pay.Money{Ref: said.MoneyRef, ProviderRef: said.ProviderRef, Local: said.Local})
		case o.Kind == pay.Lapsed: // a part of it went back
			said.Also = o.Also
			o = said
		}
	}
	return o
}

func (p *Provider) strangeMove(kind string) { p.Strange("cash balance", kind) }

// balanceNotice reports the money of a cash balance that an event is about. Events come in any order, so the end of each payment is
// reported first: loose money must not complete a payment, as it is not in the merchant's balance.
func (p *Provider) balanceNotice(ctx context.Context, e event, n pay.Notice) ([]pay.Notice, error) {
	var m movement // or the cash balance itself, which names its customer too
	if err := json.Unmarshal(e.Data.Object, &m); err != nil {
		return nil, fmt.Errorf("read the cash balance of an event: %w", err)
	}
	if !id(string(m.Customer)) { // of an Account, which we make none of
		return nil, nil
	}
	var of customer
	if f := p.get(ctx, "/v1/customers/"+url.PathEscape(string(m.Customer)), nil, &of); f != nil {
		return nil, provider.ErrUnreachable
	}
	if !of.ours() {
		return nil, nil
	}
	if m.Object != "customer_cash_balance_transaction" {
		m.ID = ""
	}
	c, f := p.purse(ctx, m.Customer)
	if f != nil {
		return nil, provider.ErrUnreachable
	}
	var list []pay.Notice
	tell := func(of string, i intent, o pay.Outcome) {
		told := n
		told.ID, told.Reference, told.Outcome = n.ID+"/"+of, i.reference(), o
		list = append(list, told)
	}
	ended := map[string]bool{}
	for _, l := range c.loose(p.strangeMove) {
		if m.ID == "" && l.left <= 0 || m.ID != "" && !l.touches(m.ID) {
			continue
		}
		end := p.intent(*l.order, provider.Request{})
		if !ended[l.order.ID] && (end.Kind == pay.Approved || end.Kind == pay.Lapsed) {
			tell(l.order.ID, *l.order, end)
		}
		ended[l.order.ID] = true
		tell(l.id, *l.order, c.outcome(l))
	}
	if m.Type == unfunded || m.Type == overdrawn {
		if i := c.lost(); i != nil {
			tell("lost", *i, pay.Outcome{Kind: pay.Reversed, ProviderRef: i.ID, MoneyRef: i.ID, Local: money.New(i.Received, money.MXN)})
		}
	}
	return list, nil
}
