package conekta

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// paidCard is an account whose only order was paid by card.
func paidCard(t *testing.T) (*account, *fake, *providertest.Line, provider.Request) {
	t.Helper()
	a, f, line := connect(t)
	r := request(card)
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	f.Move(r.Reference, providertest.Paid)
	return a, f, line, r
}

// states are the documented states of a chargeback, as its order's charge has them.
var states = map[string]pay.Notice{
	"action_required": {Dispute: true}, "rt": {Dispute: true},
	"pending_review": {Dispute: true, Reviewing: true}, "under_review": {Dispute: true, Reviewing: true}, "represented": {Dispute: true, Reviewing: true},
	"rt_sent": {Dispute: true, Reviewing: true}, "covered": {Dispute: true, Reviewing: true},
	"won": {Ruling: pay.DisputeWon}, "lost": {Ruling: pay.DisputeLost},
}

func TestEachStateOfAChargebackIsSeen(t *testing.T) {
	ctx := context.Background()
	a, f, line, r := paidCard(t)
	charge := fmt.Sprint(f.Charges[0].charges[0]["id"])
	ids := map[string]bool{}
	for status, want := range states {
		own := f.contest(r.Reference, "updated", status)
		for how, n := range map[string]provider.Notification{
			"its own event":         own,
			"an event of its order": event("1", "order.updated", map[string]any{"object": "order", "id": f.Charges[0].id}),
			"one of its charge":     event("2", "charge.paid", map[string]any{"object": "charge", "id": charge, "order_id": f.Charges[0].id}),
		} {
			list, err := a.Notices(ctx, n)
			if err != nil || len(list) != 1 {
				t.Errorf("%s, by %s: %+v %v", status, how, list, err)
				continue
			}
			got := list[0]
			if got.Dispute != want.Dispute || got.Ruling != want.Ruling || got.Reviewing != want.Reviewing || got.Stage != status || got.DisputeID != "chbk_"+charge ||
				got.Reference != r.Reference || got.Outcome.MoneyRef != charge || got.Outcome.Local != (money.Amount{}) || got.Outcome.Message == "" || !got.RespondBy.Equal(due) {
				t.Errorf("%s, by %s: %+v", status, how, got)
			}
			ids[got.ID] = true
		}
		asked, known := a.QueryDispute(ctx, provider.DisputeRequest{ID: "chbk_" + charge, Charge: r})
		if !known || asked.Dispute != want.Dispute || asked.Ruling != want.Ruling || asked.Reviewing != want.Reviewing || asked.Stage != status || asked.Reference != r.Reference {
			t.Errorf("%s, when asked: %+v %v", status, asked, known)
		}
	}
	if len(ids) != len(states) || len(line.Unmapped()) != 0 {
		t.Errorf("want %d ids and no unknown word: %v, %v", len(states), ids, line.Unmapped())
	}
}

// A new state holds the money until we know it.
func TestAnUnknownStateOfAChargebackIsADispute(t *testing.T) {
	a, f, line, r := paidCard(t)
	list, err := a.Notices(context.Background(), f.contest(r.Reference, "updated", "arbitration"))
	if err != nil || len(list) != 1 || !list[0].Dispute || list[0].Reviewing || list[0].Stage != "arbitration" || len(line.Unmapped()) != 1 {
		t.Errorf("%+v %v, reported %v", list, err, line.Unmapped())
	}
}

// A chargeback names its charge alone. The search of charges may not cover ids; then the orders of that time have it.
func TestTheOrderOfAChargebackIsFound(t *testing.T) {
	ctx := context.Background()
	for how, c := range map[string]struct {
		blind bool
		add   map[string]any
		moved time.Duration // the charge's time in its id
		found bool
	}{
		"by the search": {found: true}, "by the time in its id": {blind: true, found: true}, "by the order that the event names": {blind: true, moved: -720 * time.Hour, add: map[string]any{"order_id": ""}, found: true},
		"not at all": {blind: true, moved: -720 * time.Hour},
	} {
		a, f, line, r := paidCard(t)
		f.blind = c.blind
		e := f.Charges[0]
		e.charges[0]["id"] = fmt.Sprintf("%08x%016x", providertest.Noon.Add(c.moved).Unix(), 7)
		for i := range perPage + 1 {
			f.Charges = append(f.Charges, &entry{id: fmt.Sprintf("other_%d", i), made: providertest.Noon.Add(-time.Minute), Entry: providertest.Entry{Local: r.Local}})
		}
		f.contest(r.Reference, "created", "action_required")
		object := maps.Clone(chargebackOf(e.charges[0], "action_required"))
		for name := range c.add {
			object[name] = e.id
		}
		list, err := a.Notices(ctx, event("1", "charge.chargeback.created", object))
		if err != nil || (len(list) == 1) != c.found || (len(line.Unmapped()) == 1) == c.found {
			t.Errorf("%s: %+v %v, reported %v", how, list, err, line.Unmapped())
		}
	}
}

// Without an answer of the search the charge may be of an order that the list of that time does not have.
func TestAChargebackWaitsWhileTheSearchFails(t *testing.T) {
	ctx := context.Background()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnprocessableEntity, http.StatusOK} { // without a list
		for id, found := range map[string]bool{fmt.Sprintf("%08x%016x", providertest.Noon.Unix(), 7): true, fmt.Sprintf("%08x%016x", providertest.Noon.Add(-720*time.Hour).Unix(), 7): false, "ch_7": false} {
			f, failing := newFake(), true
			a, line := providertest.OpenAccount[*account](t, Adapter(), credentials(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if failing && r.URL.Path == "/charges" {
					w.WriteHeader(status)
					fmt.Fprint(w, `{"object":"error"}`)
					return
				}
				f.ServeHTTP(w, r)
			}))
			r := request(card)
			a.Charge(ctx, r)
			f.Move(r.Reference, providertest.Paid)
			f.Charges[0].charges[0]["id"] = id
			n := f.contest(r.Reference, "created", "action_required")
			list, err := a.Notices(ctx, n)
			if (len(list) == 1) != found || errors.Is(err, provider.ErrUnreachable) == found || len(line.Unmapped()) != 0 {
				t.Errorf("%d, %s: %+v %v, reported %v", status, id, list, err, line.Unmapped())
			}
			failing = false
			if list, err := a.Notices(ctx, n); err != nil || len(list) != 1 || !list[0].Dispute {
				t.Errorf("%d, %s, sent again: %+v %v", status, id, list, err)
			}
		}
	}
}

// What the order does not show yet, its signed event tells.
func TestAChargebackIsTakenFromItsEventIfTheOrderHasNone(t *testing.T) {
	ctx := context.Background()
	a, f, line, r := paidCard(t)
	for stage, want := range map[string]pay.Notice{
		"created": {Dispute: true}, "updated": {Dispute: true}, "under_review": {Dispute: true, Reviewing: true}, "won": {Ruling: pay.DisputeWon}, "lost": {Ruling: pay.DisputeLost},
	} {
		object := map[string]any{"object": "chargeback", "id": "dis_1", "charge_id": "1", "order_id": f.Charges[0].id}
		list, err := a.Notices(ctx, event("1", "charge.chargeback."+stage, object))
		if err != nil || len(list) != 1 || list[0].Dispute != want.Dispute || list[0].Ruling != want.Ruling || list[0].Reviewing != want.Reviewing ||
			list[0].Stage != stage || list[0].DisputeID != "dis_1" || list[0].Reference != r.Reference {
			t.Errorf("%s: %+v %v", stage, list, err)
		}
	}
	if len(line.Unmapped()) != 0 {
		t.Errorf("known words were counted: %v", line.Unmapped())
	}
}

func TestALostChargebackTookTheMoneyBack(t *testing.T) {
	ctx := context.Background()
	a, f, _, r := paidCard(t)
	for status := range states {
		f.contest(r.Reference, "updated", status)
		want := pay.Approved
		if status == "lost" {
			want = pay.Reversed
		}
		o := a.Query(ctx, r)
		if o.Kind != want || o.Local != r.Local || want == pay.Reversed && o.Back.Total != r.Local {
			t.Errorf("%s: %+v, want %s", status, o, want)
		}
	}
}

// The money of a charge without a usable id is known by being the only one. A card that was declined is no money.
func TestALostChargebackOfTheOnlyPaidCharge(t *testing.T) {
	for contested, want := range map[string]pay.OutcomeKind{"ch 1": pay.Reversed, "ch_0": pay.Approved} {
		charges := ""
		for id, status := range map[string]string{"ch 1": "paid", "ch_0": "declined"} {
			back := "null"
			if id == contested {
				back = `{"id":"chbk_1","status":"lost"}`
			}
			charges += fmt.Sprintf(`,{"id":%q,"amount":30000,"currency":"MXN","status":%q,"chargeback":%s}`, id, status, back)
		}
		a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials(), providertest.Says(200, `{"id":"ord_1","payment_status":"paid","metadata":{"cascada_reference":"01M7ZTEST-1"},"charges":{"data":[`+charges[1:]+`]}}`))
		r := request(card)
		r.ProviderRef = "ord_1"
		if o := a.Query(context.Background(), r); o.Kind != want || o.MoneyRef != "" || o.Local != r.Local {
			t.Errorf("of %s: %+v, want %s", contested, o, want)
		}
	}
}

// An order that was charged back, by an older version of the API, which shows no chargeback.
func TestAChargedBackOrderIsADispute(t *testing.T) {
	ctx := context.Background()
	a, f, _, r := paidCard(t)
	f.Move(r.Reference, providertest.Disputed)
	delete(f.Charges[0].charges[0], "chargeback")
	list, err := a.Notices(ctx, f.Notification(r.Reference))
	if err != nil || len(list) != 1 || !list[0].Dispute || list[0].DisputeID != "" || list[0].Stage != "charged_back" {
		t.Errorf("%+v %v", list, err)
	}
	if n, known := a.QueryDispute(ctx, provider.DisputeRequest{Charge: r}); !known || !n.Dispute || n.Stage != "charged_back" {
		t.Errorf("%+v %v", n, known)
	}
}
