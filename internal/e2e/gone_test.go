package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/jackc/pgx/v5"
)

// An endpoint that answered 410 is disabled together with the delivery that it refused: who sees it
// disabled, enables it and begins a replay, finds no delivery of it still on its way (EVT-17).
func TestGoneEndpointIsDisabledWithItsDelivery(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.Postgres(t), &clock{})
	o := s.shop(t)
	endpoint := s.receive(t)
	h := o.hook(t, endpoint.URL, `"payment.completed"`)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	endpoint.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusGone) })
	o.create(t, card)
	endpoint.await(t, 1)

	query, closeQuery := s.open(t)
	defer closeQuery()
	conn, err := pgx.Connect(ctx, s.database)
	must(t, err)
	defer func() { must(t, conn.Close(ctx)) }()
	tx, err := conn.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, "SELECT id FROM deliveries FOR UPDATE")
	must(t, err)
	release()
	eventually(t, "the outcome is being written", func() bool {
		return query("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")[0] != "0"
	})
	if status := o.get(t, h.path("")).text(t, "status"); status != "enabled" {
		t.Errorf("the webhook is %s before its delivery is a dead letter: who enables it now misses an event", status)
	}
	must(t, tx.Rollback(ctx))
	eventually(t, "the webhook is disabled", func() bool { return o.get(t, h.path("")).text(t, "status") == "disabled" })
	if n := h.log(t, "?status=dead_letter&limit=1").text(t, "pagination.total"); n != "1" {
		t.Errorf("%s deliveries are dead letters, want 1", n)
	}
}

// The address before said 410 of itself: what it had in hand is tried again at the one that the webhook
// has now. A replay that left it out, for it was on its way, misses nothing.
func TestGoneOfTheAddressBeforeIsTriedAtTheNewOne(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		before, after := s.receive(t), s.receive(t)
		h := o.hook(t, before.URL, `"payment.completed"`)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		before.answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusGone) })
		o.create(t, card)
		event := before.await(t, 1)[0].text("id")
		o.call(t, http.MethodPatch, h.path(""), fmt.Sprintf(`{"url":%q}`, after.URL), asJSON).want(t, http.StatusOK)
		from := s.clock.now().Add(-time.Hour).UTC().Format(time.RFC3339)
		begun := o.post(t, h.path("/replay"), fmt.Sprintf(`{"from":%q}`, from)).want(t, http.StatusOK)
		replay := h.path("/replays/" + begun.text(t, "id"))
		eventually(t, "the replay left out what was on its way", func() bool { return o.get(t, replay).text(t, "leftOut") == "1" })
		release()
		eventually(t, "the event has come", func() bool {
			s.clock.advance(10 * time.Second)
			_, err := s.App.Webhooks.Dispatch(ctx)
			must(t, err)
			return len(after.deliveries()) > 0 || h.log(t, "?status=dead_letter&limit=1").text(t, "pagination.total") != "0"
		})
		list := after.deliveries()
		if len(list) == 0 || list[0].text("id") != event {
			t.Fatalf("the event is a dead letter, and the replay is %s", o.get(t, replay))
		}
		eventually(t, "the replay is done", func() bool {
			s.clock.advance(time.Second)
			return o.get(t, replay).text(t, "status") == "done"
		})
		if status := o.get(t, h.path("")).text(t, "status"); status != "enabled" {
			t.Errorf("the webhook is %s for what another address said", status)
		}
	})
}

// A node that has not seen yet that a webhook was enabled gives nothing up that is for it.
func TestEventForAWebhookThatAnotherNodeEnabled(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &clock{}
	there := start(t, database, c)
	o := there.shop(t)
	endpoint := there.receive(t)
	h := o.hook(t, endpoint.URL, `"payment.completed"`)
	endpoint.answers(respond(http.StatusInternalServerError))
	o.create(t, card)
	eventually(t, "a try has failed", func() bool { return h.log(t, "?status=failed&limit=1").text(t, "pagination.total") == "1" })
	o.call(t, http.MethodPatch, h.path(""), `{"status":"disabled"}`, asJSON).want(t, http.StatusOK)
	c.freeze() // what a node knows stays as it is
	c.advance(15 * time.Second)
	eventually(t, "what was to be tried again is given up", func() bool {
		_, err := there.App.Webhooks.Dispatch(ctx)
		must(t, err)
		return h.log(t, "?status=dead_letter&limit=1").text(t, "pagination.total") == "1"
	})
	endpoint.answers(respond(http.StatusNoContent))
	here := o
	here.service = start(t, database, c)
	here.call(t, http.MethodPatch, h.path(""), `{"status":"enabled"}`, asJSON).want(t, http.StatusOK)
	o.create(t, card)
	eventually(t, "the event is delivered", func() bool {
		_, err := there.App.Webhooks.Dispatch(ctx)
		must(t, err)
		c.advance(time.Millisecond)
		log := h.log(t, "")
		if n := h.log(t, "?status=dead_letter&limit=1").text(t, "pagination.total"); n != "1" {
			t.Fatalf("an event for a webhook that is enabled was given up: %s", log)
		}
		return h.log(t, "?status=delivered&limit=1").text(t, "pagination.total") == "1"
	})
}
