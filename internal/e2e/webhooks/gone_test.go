package webhooks

import (
	"net/http"
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
