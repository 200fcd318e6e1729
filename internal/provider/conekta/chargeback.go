package conekta

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// chargeback is the part of a chargeback that we read: of an order's charge, or of its event.
type chargeback struct {
	ID     text  `json:"id"`
	Status text  `json:"status"`
	Reason text  `json:"reason"`
	Charge text  `json:"charge_id"`
	Due    int64 `json:"evidence_due_by"`
}

// Statuses of a chargeback, and the last words of the names of its events.
var (
	waiting   = []text{"action_required", "rt", "created", "updated"}                         // for evidence
	reviewing = []text{"pending_review", "under_review", "represented", "rt_sent", "covered"} // not for the merchant
	rulings   = map[text]pay.Ruling{"won": pay.DisputeWon, "lost": pay.DisputeLost}           // ended
	outcomes  = map[pay.Ruling]string{pay.DisputeWon: "for the seller", pay.DisputeLost: "for the shopper"}
)

// chargedBack is the stage of an order whose chargeback is not shown.
const chargedBack = "charged_back"

// dispute is the notice of a chargeback.
func (a *account) dispute(o order, c chargeback) pay.Notice {
	n := pay.Notice{
		// The id is of the chargeback's state in its order, not of an event.
		ID:      strings.Join([]string{"chargeback", provider.Exact(string(c.ID), 64), provider.Exact(string(c.Status), 32), fmt.Sprint(o.Updated)}, "/"),
		Account: a.ID, Reference: o.reference(), DisputeID: provider.Exact(string(c.ID), 64), Stage: provider.Exact(string(c.Status), 32),
		Ruling: rulings[c.Status], Reviewing: slices.Contains(reviewing, c.Status),
	}
	if c.Due > 0 {
		n.RespondBy = time.Unix(c.Due, 0).UTC()
	}
	if isID(string(c.Charge)) {
		n.Outcome.MoneyRef = string(c.Charge)
	}
	if n.Ruling != "" {
		n.Outcome.Message = "the dispute was decided " + outcomes[n.Ruling]
		return n
	}
	n.Dispute, n.Outcome.Message = true, "the card's issuer took the money back"
	if why := provider.Printable(strings.ReplaceAll(string(c.Reason), "_", " "), 64); why != "" {
		n.Outcome.Message += ": " + why
	}
	if !n.Reviewing && !slices.Contains(waiting, c.Status) { // it is open until we know better
		a.Strange("chargeback", string(c.Status))
	}
	return n
}

// chargebacks are those of an order's charges.
func (o order) chargebacks() (list []chargeback) {
	for _, c := range o.charges() {
		if back := c.Chargeback; back != nil && back.ID != "" {
			back.Charge = cmp.Or(c.ID, back.Charge)
			list = append(list, *back)
		}
	}
	return list
}

// disputes are the notices of an order's chargebacks. told is the one of an event, if it is of one:
// it counts if the order does not show it.
func (a *account) disputes(o order, told *chargeback) (list []pay.Notice) {
	all := o.chargebacks()
	if told != nil && !slices.ContainsFunc(all, func(c chargeback) bool { return c.ID == told.ID }) {
		all = append(all, *told)
	}
	for _, c := range all {
		list = append(list, a.dispute(o, c))
	}
	if len(all) == 0 && o.Status == chargedBack { // reported once, however often the order changes
		n := a.dispute(o, chargeback{Status: "created"})
		n.ID, n.Stage = string(o.ID)+"/"+chargedBack, chargedBack
		list = append(list, n)
	}
	return list
}

// lost reports whether the money of an order went back in a chargeback.
func (o order) lost(ref string) bool {
	paid := o.paidCharges()
	return slices.ContainsFunc(o.chargebacks(), func(c chargeback) bool {
		only := len(paid) == 1 && paid[0].Chargeback != nil && paid[0].Chargeback.ID == c.ID
		return rulings[c.Status] == pay.DisputeLost && (string(c.Charge) == ref || only)
	})
}

// CanQueryDispute implements provider.DisputeQuerier: an order shows its chargebacks.
func (a *account) CanQueryDispute(provider.DisputeRequest) bool { return true }

// QueryDispute implements provider.DisputeQuerier.
func (a *account) QueryDispute(ctx context.Context, r provider.DisputeRequest) (pay.Notice, bool) {
	o, lost := a.ask(ctx, r.Charge)
	if lost != nil || o.Livemode != a.Live {
		return pay.Notice{}, false
	}
	list := a.disputes(o, nil)
	at := slices.IndexFunc(list, func(n pay.Notice) bool { return n.DisputeID == r.ID })
	if at < 0 && r.ID == "" && len(list) == 1 {
		at = 0
	}
	if at < 0 {
		return pay.Notice{}, false
	}
	return list[at], true
}

// tries is how long after its order's a charge may be made: a page's life, with some to spare.
const tries = 8 * 24 * time.Hour

// orderOf finds the order of a charge, "" if it is not found: by the search of charges, of which it
// is not documented that it covers ids, or among the orders of that time. Without an answer of that
// search it is not known that there is none.
func (a *account) orderOf(ctx context.Context, charge string) (id string, lost *pay.Outcome) {
	query := url.Values{"limit": {fmt.Sprint(perPage)}, "search": {charge}}
	reply, lost := a.call(ctx, http.MethodGet, "/charges?"+query.Encode(), nil)
	if lost != nil {
		return "", lost
	}
	var found struct {
		Data *[]struct {
			ID      text `json:"id"`
			OrderID text `json:"order_id"`
		} `json:"data"`
	}
	var unsearched *pay.Outcome
	switch {
	case reply.Status != http.StatusOK:
		unsearched = refused(reply)
	case read(reply.Body, &found) != nil || found.Data == nil:
		unsearched = provider.Broken()
	default:
		for _, c := range *found.Data {
			if string(c.ID) == charge && isID(string(c.OrderID)) {
				return string(c.OrderID), nil
			}
		}
	}
	at, ok := made(charge)
	if !ok {
		return "", unsearched
	}
	o, lost := a.search(ctx, at.Add(-tries), at.Add(lead), func(raw json.RawMessage) bool {
		var some struct {
			Charges *struct {
				Data []struct {
					ID text `json:"id"`
				} `json:"data"`
			} `json:"charges"`
		}
		return read(raw, &some) == nil && some.Charges != nil && slices.ContainsFunc(some.Charges.Data, func(c struct {
			ID text `json:"id"`
		}) bool {
			return string(c.ID) == charge
		})
	})
	if lost != nil && (lost.Kind == pay.Missing || lost.Decline == tooMany) {
		return "", unsearched
	}
	return string(o.ID), lost
}

// made is when a charge was made: its id has 24 hex digits, of which the first eight are the time,
// as in all examples of the documentation.
func made(charge string) (at time.Time, ok bool) {
	if len(charge) != 24 {
		return at, false
	}
	seconds, err := strconv.ParseInt(charge[:8], 16, 64)
	return time.Unix(seconds, 0), err == nil
}
