package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/jackc/pgx/v5"
)

// A 410 disables the webhook and makes the refused delivery a dead letter at the same time. A shop
// that sees the webhook disabled, enables it and begins a replay finds no delivery still on its way
// (EVT-17).
func TestGoneEndpointIsDisabledWithItsDelivery(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.Postgres(t), &harness.Clock{})
	o := s.NewShop(t)
	endpoint := s.Receive(t)
	h := o.Hook(t, endpoint.URL, `"payment.completed"`)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	endpoint.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusGone) })
	o.Create(t, harness.Card)
	endpoint.Await(t, 1)

	query, closeQuery := s.Open(t)
	defer closeQuery()
	conn, err := pgx.Connect(ctx, s.Database)
	harness.Must(t, err)
	defer func() { harness.Must(t, conn.Close(ctx)) }()
	tx, err := conn.Begin(ctx)
	harness.Must(t, err)
	_, err = tx.Exec(ctx, "SELECT id FROM deliveries FOR UPDATE")
	harness.Must(t, err)
	release()
	harness.Eventually(t, "the commit of the outcome waits for the lock", func() bool {
		return query("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")[0] != "0"
	})
	if status := o.Get(t, h.Path("")).Text(t, "status"); status != "enabled" {
		t.Errorf("the webhook is %s before its delivery is a dead letter: a shop that enables it now misses an event", status)
	}
	harness.Must(t, tx.Rollback(ctx))
	harness.Eventually(t, "the webhook is disabled", func() bool { return o.Get(t, h.Path("")).Text(t, "status") == "disabled" })
	if n := h.Log(t, "?status=dead_letter&limit=1").Text(t, "pagination.total"); n != "1" {
		t.Errorf("%s deliveries are dead letters, want 1", n)
	}
}

// The webhook's old address answers 410 after the webhook got a new one. The delivery is tried again
// at the new address. So a replay that left the delivery out, because it was on its way, misses
// nothing.
func TestGoneOfTheAddressBeforeIsTriedAtTheNewOne(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		before, after := s.Receive(t), s.Receive(t)
		h := o.Hook(t, before.URL, `"payment.completed"`)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		before.Answers(func(w http.ResponseWriter, _ *http.Request) { <-held; w.WriteHeader(http.StatusGone) })
		o.Create(t, harness.Card)
		event := before.Await(t, 1)[0].Text("id")
		o.Call(t, http.MethodPatch, h.Path(""), fmt.Sprintf(`{"url":%q}`, after.URL), harness.AsJSON).Want(t, http.StatusOK)
		from := s.Clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		begun := o.Post(t, h.Path("/replay"), fmt.Sprintf(`{"from":%q}`, from)).Want(t, http.StatusOK)
		replay := h.Path("/replays/" + begun.Text(t, "id"))
		harness.Eventually(t, "the replay has left out the delivery on its way", func() bool { return o.Get(t, replay).Text(t, "leftOut") == "1" })
		release()
		harness.Eventually(t, "the event is at the new address, or a dead letter", func() bool {
			s.Clock.Advance(10 * time.Second)
			_, err := s.App.Webhooks.Dispatch(ctx)
			harness.Must(t, err)
			return len(after.Deliveries()) > 0 || h.Log(t, "?status=dead_letter&limit=1").Text(t, "pagination.total") != "0"
		})
		list := after.Deliveries()
		if len(list) == 0 || list[0].Text("id") != event {
			t.Fatalf("the new address does not have the event; the replay is %s", o.Get(t, replay))
		}
		harness.Eventually(t, "the replay is done", func() bool {
			s.Clock.Advance(time.Second)
			return o.Get(t, replay).Text(t, "status") == "done"
		})
		if status := o.Get(t, h.Path("")).Text(t, "status"); status != "enabled" {
			t.Errorf("the webhook is %s after a 410 of its old address, want enabled", status)
		}
	})
}

// Two deliveries are on their way to a webhook. The answer 410 to the first one disables it, and its owner enables
// it again. Then the second one is answered 410. The webhook stays enabled: that answer is older than the owner's
// decision. The delivery is tried again.
func TestGoneFromBeforeTheWebhookWasEnabledDoesNotDisableIt(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		h := o.Hook(t, endpoint.URL, `"payment.completed"`)
		first, second := make(chan struct{}), make(chan struct{})
		early, late := sync.OnceFunc(func() { close(first) }), sync.OnceFunc(func() { close(second) })
		t.Cleanup(early)
		t.Cleanup(late)
		answer := func(after chan struct{}) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { <-after; w.WriteHeader(http.StatusGone) }
		}
		endpoint.Answers(answer(first))
		o.Create(t, harness.Card)
		endpoint.Await(t, 1)
		endpoint.Answers(answer(second))
		o.Create(t, harness.Card)
		event := endpoint.Await(t, 2)[1].Text("id")
		early()
		harness.Eventually(t, "the webhook is disabled", func() bool { return o.Get(t, h.Path("")).Text(t, "status") == "disabled" })
		o.Call(t, http.MethodPatch, h.Path(""), `{"status":"enabled"}`, harness.AsJSON).Want(t, http.StatusOK)
		endpoint.Answers(harness.Respond(http.StatusNoContent))
		late()
		tried := ""
		harness.Eventually(t, "the second answer is written", func() bool {
			tried = h.Log(t, "?status=failed").String() + h.Log(t, "?status=dead_letter").String()
			return strings.Count(tried, `"attempts":1`) == 2
		})
		if status := o.Get(t, h.Path("")).Text(t, "status"); status != "enabled" {
			t.Fatalf("the webhook is %s after a 410 from before it was enabled: %s", status, tried)
		}
		s.Clock.Advance(15 * time.Second)
		if got := endpoint.Await(t, 3)[2].Text("id"); got != event {
			t.Errorf("the third call is about %s, want %s again", got, event)
		}
	})
}

// A node that does not know yet that a webhook was enabled gives up none of its deliveries.
func TestEventForAWebhookThatAnotherNodeEnabled(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	c := &harness.Clock{}
	there := harness.Start(t, database, c)
	o := there.NewShop(t)
	endpoint := there.Receive(t)
	h := o.Hook(t, endpoint.URL, `"payment.completed"`)
	endpoint.Answers(harness.Respond(http.StatusInternalServerError))
	o.Create(t, harness.Card)
	harness.Eventually(t, "a try has failed", func() bool { return h.Log(t, "?status=failed&limit=1").Text(t, "pagination.total") == "1" })
	o.Call(t, http.MethodPatch, h.Path(""), `{"status":"disabled"}`, harness.AsJSON).Want(t, http.StatusOK)
	c.Freeze() // so that the nodes do not read the webhooks again
	c.Advance(15 * time.Second)
	harness.Eventually(t, "the failed delivery is a dead letter", func() bool {
		_, err := there.App.Webhooks.Dispatch(ctx)
		harness.Must(t, err)
		return h.Log(t, "?status=dead_letter&limit=1").Text(t, "pagination.total") == "1"
	})
	endpoint.Answers(harness.Respond(http.StatusNoContent))
	here := o
	here.Instance = harness.Start(t, database, c)
	here.Call(t, http.MethodPatch, h.Path(""), `{"status":"enabled"}`, harness.AsJSON).Want(t, http.StatusOK)
	o.Create(t, harness.Card)
	harness.Eventually(t, "the event is delivered", func() bool {
		_, err := there.App.Webhooks.Dispatch(ctx)
		harness.Must(t, err)
		c.Advance(time.Millisecond)
		log := h.Log(t, "")
		if n := h.Log(t, "?status=dead_letter&limit=1").Text(t, "pagination.total"); n != "1" {
			t.Fatalf("a delivery to an enabled webhook is a dead letter: %s", log)
		}
		return h.Log(t, "?status=delivered&limit=1").Text(t, "pagination.total") == "1"
	})
}
