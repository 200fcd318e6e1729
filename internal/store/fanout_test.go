package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

// spread makes the deliveries of all events that wait for fan-out, and returns the number of steps.
func spread(t *testing.T, s *store.Store) (steps int) {
	t.Helper()
	for {
		list, err := s.Deliveries().LeaseFanOuts(ctx, noon.Add(time.Hour), noon.Add(2*time.Hour), 10)
		must(t, err)
		if len(list) == 0 {
			return steps
		}
		for _, f := range list {
			for {
				next, err := s.Deliveries().NextStep(ctx, f)
				must(t, err)
				must(t, s.Commit(ctx, pay.Change{FanOuts: []webhooks.FanOut{next}}))
				steps++
				if next.Over {
					break
				}
				f, f.After = next, next.Through
			}
		}
	}
}

// The deliveries of a shop with many endpoints are made in steps, once for each endpoint, whatever
// happens to the process in between.
func TestWideEventFansOutByStepsOnceEach(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var mu sync.Mutex
		told := map[string]int{} // deliveries by event, as the node heard of them
		widened := 0
		s, err := store.Open(ctx, database, store.Options{
			Delivered: func(list []storewebhooks.Dispatch) {
				mu.Lock()
				defer mu.Unlock()
				for _, d := range list {
					told[d.Delivery.Event]++
					if len(d.Payload) == 0 {
						t.Errorf("the delivery %s has no body", d.Delivery.ID)
					}
				}
			},
			Widened: func() { mu.Lock(); defer mu.Unlock(); widened++ },
		})
		must(t, err)
		defer s.Close()
		must(t, s.Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{{ID: acme.Merchant, Version: 1, Name: "Acme", Tier: merchants.Standard, CreatedAt: noon}},
			Shops:     []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Name: "Acme", Slug: "acme", CreatedAt: noon}},
		}))
		const endpoints = 40
		for i := range endpoints {
			subscribe(t, s, fmt.Sprint(i), webhooks.AllEvents)
		}
		completedAt(t, s, "first", noon) // nobody knows yet how many endpoints it has
		completedAt(t, s, "second", noon)
		eventually(t, "it is told of one event's deliveries, and of the other's steps", func() bool { // after the commit
			mu.Lock()
			defer mu.Unlock()
			return len(told) == 1 && widened == 1
		})

		list, err := s.Deliveries().LeaseFanOuts(ctx, noon, noon.Add(time.Minute), 10)
		if must(t, err); len(list) != 1 {
			t.Fatalf("%d events wait for their deliveries, want 1", len(list))
		}
		if again, err := s.Deliveries().LeaseFanOuts(ctx, noon, noon.Add(time.Minute), 10); err != nil || len(again) != 0 {
			t.Errorf("another node gets it too: %v %v", again, err)
		}
		// Two nodes have the same step: one was slow, and its lease ended.
		next, err := s.Deliveries().NextStep(ctx, list[0])
		must(t, err)
		must(t, s.Commit(ctx, pay.Change{FanOuts: []webhooks.FanOut{next}}))
		if err := s.Commit(ctx, pay.Change{FanOuts: []webhooks.FanOut{next}}); !errors.Is(err, store.ErrStale) {
			t.Errorf("a step that was done is done again: %v", err)
		}
		spread(t, s)
		mu.Lock()
		defer mu.Unlock()
		for event, n := range told {
			if n != endpoints {
				t.Errorf("%s has %d deliveries, want %d", event, n, endpoints)
			}
		}
		if len(told) != 2 {
			t.Errorf("deliveries by event: %v, want two events", told)
		}
		clean(t, s)
	})
}

// While others write, steps are so small that they hardly notice.
func TestStepsAreSmallInCompany(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		const endpoints = 40
		for i := range endpoints {
			subscribe(t, s, fmt.Sprint(i), webhooks.AllEvents)
		}
		completedAt(t, s, "first", noon)
		completedAt(t, s, "alone", noon)
		if steps := spread(t, s); steps != 1 {
			t.Errorf("alone, %d endpoints take %d steps, want 1", endpoints, steps)
		}
		other := stored(t, s, "other")
		other.Merchant, other.Shop = "mer_other", "shp_other"
		must(t, s.Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{{ID: other.Merchant, Version: 1, Name: "Other", Tier: merchants.Standard, CreatedAt: noon}},
			Shops:     []merchants.Shop{{ID: other.Shop, Version: 1, Merchant: other.Merchant, Name: "Other", Slug: "other", CreatedAt: noon}},
		}))
		_, change := other.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
		must(t, s.Commit(ctx, payload(change)))
		completedAt(t, s, "beside", noon)
		if steps := spread(t, s); steps != 3 {
			t.Errorf("in company, %d endpoints take %d steps, want 3", endpoints, steps)
		}
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("this did not happen: %s", what)
		}
	}
}

func TestEventFansOutToTheEndpointsThatWantIt(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "all", webhooks.AllEvents)
		subscribe(t, s, "completed", string(webhooks.PaymentRefunded), string(webhooks.PaymentCompleted))
		subscribe(t, s, "failed", string(webhooks.PaymentFailed))
		p := stored(t, s, "A")
		_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
		must(t, s.Commit(ctx, payload(change)))

		due, err := s.Deliveries().Lease(ctx, noon.Add(29*time.Second), noon, 10)
		must(t, err)
		if len(due) != 0 {
			t.Errorf("%d deliveries could be leased while their maker's lease was valid", len(due))
		}
		due, err = s.Deliveries().Lease(ctx, noon.Add(time.Minute), noon.Add(2*time.Minute), 10)
		must(t, err)
		got := map[string]bool{}
		for _, d := range due {
			got[d.Delivery.Subscription] = true
			if string(d.Payload) != `{"id":"evt_A-1"}` {
				t.Errorf("payload %s", d.Payload)
			}
		}
		if len(due) != 2 || !got["wh_all"] || !got["wh_completed"] {
			t.Errorf("deliveries for %v, want wh_all and wh_completed", got)
		}
		again, err := s.Deliveries().Lease(ctx, noon.Add(time.Minute), noon.Add(2*time.Minute), 10)
		must(t, err)
		if len(again) != 0 {
			t.Errorf("%d deliveries were leased twice", len(again))
		}
		done := due[0].Delivery.Tried(webhooks.Try{Code: 200}, noon)
		must(t, s.Commit(ctx, pay.Change{Deliveries: []webhooks.Delivery{done}}))
		if err := s.Commit(ctx, pay.Change{Deliveries: []webhooks.Delivery{done}}); !errors.Is(err, store.ErrStale) {
			t.Errorf("the outcome of one try written twice: %v, want ErrStale", err)
		}
	})
}

// The payload of an event that nobody wanted a moment ago is made only if the commit finds an endpoint that wants it, one of
// another node too. A change whose payload cannot be made is not written, and the others of its batch are.
func TestPayloadIsMadeForWhoWantsIt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		must(t, s.Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{{ID: acme.Merchant, Version: 1, Name: "Acme", Tier: merchants.Standard, CreatedAt: noon}},
			Shops:     []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Name: "Acme", Slug: "acme", CreatedAt: noon}},
		}))
		event := func(id string, payload []byte, write func() ([]byte, error)) error {
			return s.Commit(ctx, pay.Change{Events: []pay.Event{{
				ID: id, Type: webhooks.PaymentCreated, Scope: acme, Object: "TXN-" + id, At: noon, Payload: payload, Write: write,
			}}})
		}
		made := 0
		make := func() ([]byte, error) { made++; return []byte(`{"made":true}`), nil }
		if store.Unwanted(s, acme) {
			t.Error("nobody wants the events of a shop that had none")
		}
		must(t, event("evt_1", []byte("{}"), nil))
		eventually(t, "an event that nobody wanted is noted", func() bool { return store.Unwanted(s, acme) }) // after the commit
		must(t, event("evt_2", nil, make))
		if _, err := s.Events().Get(ctx, acme, "evt_2"); !errors.Is(err, store.ErrNotFound) || made > 0 {
			t.Errorf("an event that nobody wants: %v, its payload was made %d times", err, made)
		}

		other, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer other.Close()
		subscribe(t, other, "new", string(webhooks.PaymentCreated))
		if !store.Unwanted(s, acme) {
			t.Fatal("this node knows of another node's endpoint: the test proves nothing")
		}
		cannot := errors.New("cannot be made")
		if err := event("evt_3", nil, func() ([]byte, error) { return nil, cannot }); !errors.Is(err, cannot) {
			t.Errorf("an event whose payload cannot be made: %v", err)
		}
		must(t, event("evt_4", nil, make))
		e, err := s.Events().Get(ctx, acme, "evt_4")
		must(t, err)
		due, err := s.Deliveries().Lease(ctx, noon.Add(time.Minute), noon.Add(2*time.Minute), 10)
		must(t, err)
		if string(e.Payload) != `{"made":true}` || made != 1 || len(due) != 1 || due[0].Delivery.Event != "evt_4" {
			t.Errorf("payload %s, made %d times, deliveries %v", e.Payload, made, due)
		}
		eventually(t, "an event that somebody wants is noted", func() bool { return !store.Unwanted(s, acme) })
	})
}
