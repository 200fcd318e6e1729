package conekta

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Accepts implements provider.Accepter.
func (a *account) Accepts(_ string, local money.Amount) bool { return refusal(local) == "" }

// refusal is why an amount is refused, or "".
func refusal(local money.Amount) string {
	switch {
	case local.Currency != money.MXN:
		return "currency_not_served"
	case !local.IsPositive():
		return "amount_not_positive"
	}
	return ""
}

// Charge makes an order, unless there is one already. No call has an idempotency key, so a reference
// is charged once at a time, and its order is looked for first.
func (a *account) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	missing := ""
	switch {
	case !slices.Contains(Adapter().Rails, r.Rail):
		missing = "rail_not_served"
	case refusal(r.Local) != "":
		missing = refusal(r.Local)
	case provider.Words(r.Buyer.Name, longest) == "":
		missing = "buyer_name_missing"
	case r.Buyer.Email == "":
		missing = "buyer_email_missing"
	case phone(r) == "":
		missing = "buyer_phone_missing"
	}
	if missing != "" {
		return pay.Outcome{Kind: pay.Errored, Decline: missing}
	}
	done, err := a.turns.Lock(ctx, r.Reference)
	if err != nil {
		return pay.Outcome{Kind: pay.Unavailable, Decline: "no_turn"}
	}
	defer done()
	made, lost := a.find(ctx, r)
	if lost == nil {
		return a.offered(ctx, made, r)
	}
	if lost.Kind != pay.Missing {
		return *lost
	}
	reply, lost := a.call(ctx, http.MethodPost, "/orders", a.request(r))
	if lost != nil {
		return *lost
	}
	made, lost = one(reply)
	switch {
	case lost != nil:
		return *lost
	case made.reference() != r.Reference:
		return pay.Outcome{Kind: pay.Unknown, Decline: "another_order"}
	}
	return a.offered(ctx, made, r)
}

// offered is the outcome of an order with what the shopper gets.
func (a *account) offered(ctx context.Context, made order, r provider.Request) pay.Outcome {
	out := a.outcome(made, r.Rail, r.PageURL)
	if _, here := made.cashAt(r.Rail); networks[r.Rail].products == nil || here || made.Status != "pending_payment" || out.Decline != "no_instructions" {
		return out
	}
	// No reference is of this network, and the shopper has seen none. If the order cannot be
	// canceled, it expires.
	a.cancel(ctx, string(made.ID))
	return pay.Outcome{Kind: pay.Errored, Decline: "network_not_enabled"}
}

// one reads an answer that is an order.
func one(reply provider.Reply) (order, *pay.Outcome) {
	var o order
	switch {
	case reply.Status != http.StatusOK && reply.Status != http.StatusCreated:
		return o, refused(reply)
	case read(reply.Body, &o) != nil || !isID(string(o.ID)):
		return o, provider.Broken()
	}
	o.answered, _ = http.ParseTime(reply.Header.Get("Date"))
	return o, nil
}

// Query reads the order by its id, or searches the list for our reference.
func (a *account) Query(ctx context.Context, r provider.Request) pay.Outcome {
	o, lost := a.ask(ctx, r)
	switch {
	case lost != nil && lost.Kind == pay.Missing && !isID(r.ProviderRef):
		return missing(r.Sent, r.Now)
	case lost != nil:
		return lost.AsQueried()
	}
	out := a.outcome(o, r.Rail, r.PageURL)
	if out.Kind == pay.Approved && o.lost(out.MoneyRef) { // it came and went
		return provider.Reversed(out, nil, out.Local, true)
	}
	return out
}

// settles is how long a list or an order may lack what was just made; the documents do not say.
const settles = 5 * time.Minute

// missing is the outcome of a search that found nothing. It proves nothing at first.
func missing(sent, now time.Time) pay.Outcome {
	if shown := sent.Add(settles); !sent.IsZero() && now.Before(shown) {
		o := provider.Unknown("too_early")
		o.CheckAt = shown
		return o
	}
	return pay.Outcome{Kind: pay.Missing}
}

// ask reads the order of a charge. The outcome is Missing if there is none.
func (a *account) ask(ctx context.Context, r provider.Request) (order, *pay.Outcome) {
	if !isID(r.ProviderRef) {
		return a.find(ctx, r)
	}
	o, lost := a.order(ctx, r.ProviderRef)
	if lost == nil && o.reference() != r.Reference {
		return order{}, &pay.Outcome{Kind: pay.Unknown, Decline: "another_order"}
	}
	return o, lost
}

func (a *account) order(ctx context.Context, id string) (order, *pay.Outcome) {
	reply, lost := a.call(ctx, http.MethodGet, "/orders/"+url.PathEscape(id), nil)
	if lost != nil {
		return order{}, lost
	}
	if absent(reply, id) {
		return order{}, &pay.Outcome{Kind: pay.Missing}
	}
	o, lost := one(reply)
	if lost == nil && string(o.ID) != id {
		return order{}, provider.Broken()
	}
	return o, lost
}

// A list is read in the largest pages that Conekta gives, up to a limit.
const (
	perPage  = 250
	maxPages = 20
)

// lead is how far Conekta's clock may be behind ours.
const lead = 10 * time.Minute

type page struct {
	Data    *[]json.RawMessage `json:"data"`
	HasMore bool               `json:"has_more"`
	Next    text               `json:"next_page_url"`
}

// tooMany is the reason of a search that was given up.
const tooMany = "too_many_orders"

// find searches the orders since the payment was made for our reference. The outcome is
// Missing if the list ends without it.
func (a *account) find(ctx context.Context, r provider.Request) (order, *pay.Outcome) {
	until := r.Expires
	if !until.IsZero() {
		until = until.Add(lead)
	}
	return a.search(ctx, r.Sent.Add(-lead), until, func(raw json.RawMessage) bool {
		var some struct { // others' orders may be malformed
			Metadata json.RawMessage `json:"metadata"`
		}
		return read(raw, &some) == nil && (order{Metadata: some.Metadata}).reference() == r.Reference
	})
}

// search reads the orders of a time span, the newest first, until one is ours. until may be zero.
// The outcome is Missing if the list ends without it.
func (a *account) search(ctx context.Context, from, until time.Time, ours func(json.RawMessage) bool) (order, *pay.Outcome) {
	query := url.Values{"limit": {fmt.Sprint(perPage)}, "created_at.gte": {fmt.Sprint(from.Unix())}}
	if !until.IsZero() {
		query.Set("created_at.lte", fmt.Sprint(until.Unix()))
	}
	for range maxPages {
		reply, lost := a.call(ctx, http.MethodGet, "/orders?"+query.Encode(), nil)
		if lost != nil {
			return order{}, lost
		}
		if reply.Status != http.StatusOK {
			return order{}, refused(reply)
		}
		var list page
		if read(reply.Body, &list) != nil || list.Data == nil {
			return order{}, provider.Broken()
		}
		for _, raw := range *list.Data {
			if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
				return order{}, provider.Broken()
			}
			if !ours(raw) {
				continue
			}
			var o order
			if read(raw, &o) != nil || !isID(string(o.ID)) {
				return order{}, provider.Broken()
			}
			o.answered, _ = http.ParseTime(reply.Header.Get("Date"))
			return o, nil
		}
		if !list.HasMore {
			return order{}, &pay.Outcome{Kind: pay.Missing}
		}
		next, err := url.Parse(string(list.Next)) // use only its cursor: we do not follow an address from outside
		if err != nil || next.Query().Get("next") == "" || next.Query().Get("next") == query.Get("next") {
			return order{}, provider.Broken()
		}
		query.Set("next", next.Query().Get("next"))
	}
	return order{}, &pay.Outcome{Kind: pay.Unknown, Decline: tooMany}
}

// Doubts implements provider.Doubted: see the package's comment on cards.
func (a *account) Doubts(rail string) string {
	if rail == card {
		return "no document says that a page ends with its order"
	}
	return ""
}

// Cancel ends an unpaid order.
func (a *account) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	o, lost := a.ask(ctx, r)
	switch {
	case lost != nil && lost.Kind == pay.Missing:
		if o := missing(r.Sent, r.Now); o.Kind == pay.Unknown && !isID(r.ProviderRef) {
			return o
		}
		return pay.Outcome{Kind: pay.Lapsed, Decline: "canceled"}
	case lost != nil:
		return pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	case a.outcome(o, "", r.PageURL).Kind == pay.Awaiting: // whatever there is to pay with
		refused := a.cancel(ctx, string(o.ID))
		if o, lost = a.order(ctx, string(o.ID)); lost != nil {
			return pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
		}
		if refused {
			return provider.RefusedCancel(a.outcome(o, "", r.PageURL))
		}
	}
	return provider.Ended(a.outcome(o, "", r.PageURL))
}

// cancel requests the end of an order; the order's state shows whether it ended. refused
// reports that this order cannot be canceled.
func (a *account) cancel(ctx context.Context, id string) (refused bool) {
	reply, failed := a.call(ctx, http.MethodPost, "/orders/"+url.PathEscape(id)+"/cancel", nil)
	return failed == nil && reply.Status >= http.StatusBadRequest && provider.Refused(reply.Status).Kind == pay.Errored
}
