package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

// completedAt writes a payment whose event goes to endpoints.
func completedAt(t *testing.T, s *store.Store, name string, at time.Time) {
	t.Helper()
	p := stored(t, s, name)
	_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, at)
	must(t, s.Commit(ctx, payload(change)))
}

// A parked delivery is never due: it takes no place in leases of others, and
// is leased only for its endpoint.
func TestParkedDeliveryWaitsForItsEndpointAlone(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "dead", webhooks.AllEvents)
		subscribe(t, s, "well", webhooks.AllEvents)
		completedAt(t, s, "A", noon)
		late := noon.Add(time.Hour)
		due, err := s.Deliveries().Lease(ctx, late, late.Add(time.Minute), 10)
		must(t, err)
		var parking []storewebhooks.Parking
		for _, d := range due {
			if d.Delivery.Subscription == "wh_dead" {
				parking = append(parking, storewebhooks.Parking{ID: d.Delivery.ID, Version: d.Delivery.Version}, storewebhooks.Parking{ID: d.Delivery.ID, Version: 99})
			}
		}
		must(t, s.Deliveries().Park(ctx, parking))
		again, err := s.Deliveries().Lease(ctx, late.Add(time.Hour), late.Add(2*time.Hour), 10)
		must(t, err)
		if len(again) != 1 || again[0].Delivery.Subscription != "wh_well" {
			t.Errorf("%d deliveries came due, want that of wh_well alone: %v", len(again), again)
		}
		stalled, err := s.Subscriptions().Stalled(ctx)
		must(t, err)
		if len(stalled) != 1 || stalled[0].ID != "wh_dead" || !stalled[0].Parked {
			t.Fatalf("stalled are %v, want wh_dead", stalled)
		}
		// The deliveries of an endpoint with an open circuit are parked from the start.
		paused := stalled[0].Subscription
		paused, _ = paused.Record(false, webhooks.CircuitAfter, noon)
		must(t, s.Commit(ctx, pay.Change{Subscriptions: []webhooks.Subscription{paused}}))
		completedAt(t, s, "B", noon)
		clean(t, s)

		var mu sync.Mutex // owns taken
		taken := map[string]int{}
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				list, err := s.Deliveries().Unpark(ctx, "wh_dead", late, 1)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, d := range list {
					taken[d.Delivery.ID]++
					if string(d.Payload) == "" || d.Delivery.Parked || !d.Delivery.DueAt.Equal(late) {
						t.Errorf("taken %+v with payload %q", d.Delivery, d.Payload)
					}
				}
			})
		}
		takers.Wait()
		for id, n := range taken {
			if n != 1 {
				t.Errorf("%s was leased %d times at once", id, n)
			}
		}
		rest, err := s.Deliveries().Unpark(ctx, "wh_dead", late, 10)
		must(t, err)
		if len(taken)+len(rest) != 2 {
			t.Errorf("%d deliveries were leased, want both", len(taken)+len(rest))
		}
		if stalled, err = s.Subscriptions().Stalled(ctx); err != nil || len(stalled) != 1 || stalled[0].Parked || !stalled[0].Circuit.Open {
			t.Errorf("stalled are %+v (%v), want wh_dead with its circuit open and nothing parked", stalled, err)
		}
	})
}

func TestDeliveryCountersFollowEveryMove(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "all", webhooks.AllEvents)
		for i := range 4 {
			completedAt(t, s, string(rune('A'+i)), noon)
		}
		count := func(status webhooks.DeliveryStatus) int64 {
			t.Helper()
			n, err := s.Deliveries().Count(ctx, "wh_all", lists.DeliveryFilter{Status: status})
			must(t, err)
			return n
		}
		expect := func(pending, delivered, failed, dead int64) {
			t.Helper()
			got := []int64{count(webhooks.DeliveryPending), count(webhooks.DeliveryDelivered), count(webhooks.DeliveryFailed), count(webhooks.DeadLetter)}
			if want := []int64{pending, delivered, failed, dead}; fmt.Sprint(got) != fmt.Sprint(want) || count("") != 4 {
				t.Errorf("pending, delivered, failed and dead are %v of %d, want %v of 4", got, count(""), want)
			}
			clean(t, s)
		}
		expect(4, 0, 0, 0)
		due, err := s.Deliveries().Lease(ctx, noon.Add(time.Hour), noon.Add(2*time.Hour), 10)
		must(t, err)
		for i, try := range []webhooks.Try{{Code: 200}, {Error: "dns", Again: time.Hour}, {Error: "dns", GiveUp: true}} {
			must(t, s.Commit(ctx, pay.Change{Deliveries: []webhooks.Delivery{due[i].Delivery.Tried(try, noon.Add(time.Hour))}}))
		}
		expect(1, 1, 1, 1)
		dead, err := s.Deliveries().Get(ctx, acme, "wh_all", due[2].Delivery.ID)
		must(t, err)
		next, err := dead.Delivery.Replay(noon.Add(3 * time.Hour))
		must(t, err)
		change := pay.Change{Deliveries: []webhooks.Delivery{next}}
		must(t, s.Commit(ctx, change))
		expect(2, 1, 1, 0)
		if err := s.Commit(ctx, change); err == nil {
			t.Error("a replay is written twice")
		}
		failed, err := s.Deliveries().Get(ctx, acme, "wh_all", due[1].Delivery.ID)
		must(t, err)
		must(t, s.Commit(ctx, pay.Change{Deliveries: []webhooks.Delivery{failed.Delivery.Tried(webhooks.Try{Error: "tls", Again: time.Hour}, noon)}}))
		expect(2, 1, 1, 0)
		sub, err := s.Subscriptions().Get(ctx, acme, "wh_all")
		must(t, err)
		if !sub.LastDelivery.Equal(noon.Add(time.Hour)) {
			t.Errorf("the last try was at %s, want %s", sub.LastDelivery, noon.Add(time.Hour))
		}
	})
}

func TestInboxKeepsItsNewestThousand(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "box", webhooks.AllEvents)
		subscribe(t, s, "other", webhooks.AllEvents)
		put := func(sub string, n int) {
			t.Helper()
			at := noon.Add(time.Duration(n) * time.Second)
			must(t, s.Commit(ctx, pay.Change{Inbox: []webhooks.Received{{
				ID: id.New(webhooks.InboxPrefix, at), Scope: acme, Subscription: sub, Delivery: fmt.Sprint(n), EventType: webhooks.PaymentCompleted,
				At: at, Header: map[string]string{"X-Service-Event": "payment.completed"}, Body: []byte(`{"n":1}`),
			}}}))
		}
		var puts sync.WaitGroup
		for n := range webhooks.InboxKept + 20 {
			puts.Go(func() { put("wh_box", n) })
		}
		puts.Wait()
		put("wh_other", 1)
		list, total, err := s.Subscriptions().Inbox(ctx, acme, "wh_box", lists.Page{Limit: 100, Offset: webhooks.InboxKept - 1})
		must(t, err)
		if total != webhooks.InboxKept || len(list) != 1 || list[0].Delivery != "20" {
			t.Errorf("before it is trimmed the inbox shows %d, the last %v", total, list)
		}
		boxes, err := s.Subscriptions().Inboxes(ctx)
		must(t, err)
		if len(boxes) != 2 {
			t.Errorf("%d inboxes have deliveries, want 2", len(boxes))
		}
		for i, want := range []int{15, 5, 0} {
			if n, err := s.Subscriptions().TrimInbox(ctx, "wh_box", "", 15); err != nil || n != want {
				t.Errorf("trim %d deleted %d (%v), want %d", i, n, err, want)
			}
		}
		if n, err := s.Subscriptions().TrimInbox(ctx, "wh_box", id.From(webhooks.InboxPrefix, noon.Add(30*time.Second)), 100); err != nil || n != 10 {
			t.Errorf("%d were too old (%v), want 10", n, err)
		}
		for _, sub := range []string{"wh_box", "wh_other"} {
			_, total, err := s.Subscriptions().Inbox(ctx, acme, sub, lists.Page{Limit: 1})
			if want := map[string]int64{"wh_box": webhooks.InboxKept - 10, "wh_other": 1}[sub]; err != nil || total != want {
				t.Errorf("%s has %d (%v), want %d", sub, total, err, want)
			}
		}
		stranger := acme
		stranger.Live = !stranger.Live
		if _, total, err := s.Subscriptions().Inbox(ctx, stranger, "wh_box", lists.Page{Limit: 1}); err != nil || total != 0 {
			t.Errorf("the other environment sees %d (%v)", total, err)
		}
		clean(t, s)
	})
}
