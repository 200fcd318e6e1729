package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// wait polls until done returns true.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(15 * time.Second); !done(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func TestWebhooksAreChangedAndRotated(t *testing.T) {
	api, ctx := shop(t), t.Context()
	made, err := api.CreateWebhook(ctx, client.NewWebhook{URL: "http://127.0.0.1:9/hook", Events: []client.EventType{client.EventPaymentFailed}})
	if err != nil {
		t.Fatal(err)
	}
	disabled, description := "disabled", "for now"
	w, err := api.UpdateWebhook(ctx, made.ID, client.WebhookChange{Status: &disabled, Description: &description, Events: []client.EventType{client.AllEvents}})
	if err != nil || w.Status != "disabled" || w.DisabledReason == "" || w.Description != description || w.Events[0] != "*" || w.URL != made.URL {
		t.Errorf("the changed webhook is %+v, %v", w, err)
	}
	key := client.WebhookAuthentication{Header: "X-Api-Key", Value: "hush"}
	if w, err = api.UpdateWebhook(ctx, made.ID, client.WebhookChange{Authentication: &key}); err != nil || w.Authentication == nil || *w.Authentication != (client.WebhookAuthentication{Header: "X-Api-Key"}) {
		t.Errorf("the webhook with a header is %+v, %v", w, err)
	}
	if w, err = api.UpdateWebhook(ctx, made.ID, client.WebhookChange{Authentication: &client.WebhookAuthentication{}}); err != nil || w.Authentication != nil {
		t.Errorf("the webhook without one is %+v, %v", w, err)
	}
	r, err := api.RotateWebhookSecret(ctx, made.ID)
	if err != nil || r.ID != made.ID || r.Secret == made.Secret || time.Until(r.PreviousSecretExpiresAt) < 23*time.Hour {
		t.Errorf("the rotation is %+v, %v", r, err)
	}
	if w, err = api.Webhook(ctx, made.ID); err != nil || !w.PreviousSecretExpiresAt.Equal(r.PreviousSecretExpiresAt) || w.Secret != "" {
		t.Errorf("the webhook is %+v, %v", w, err)
	}
	_, err = api.Webhook(ctx, "wh_nobody")
	refused(t, err, client.CodeWebhookNotFound, http.StatusNotFound)
}

func TestDeliveriesAreReadReplayedAndForwarded(t *testing.T) {
	api, ctx := shop(t), t.Context()
	dead, err := api.CreateWebhook(ctx, client.NewWebhook{URL: "http://127.0.0.1:1/refused", Events: []client.EventType{client.AllEvents}, EventsVersion: client.FirstEvents})
	if err != nil {
		t.Fatal(err)
	}
	box, err := api.CreateWebhook(ctx, client.NewWebhook{Events: []client.EventType{client.AllEvents}, EventsVersion: client.FirstEvents})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card"}); err != nil {
		t.Fatal(err)
	}
	var page client.DeliveryPage
	wait(t, "the delivery has failed", func() bool {
		page, err = api.Deliveries(ctx, dead.ID, client.DeliveryFilter{Status: "failed", Event: client.EventPaymentCompleted, Limit: 10})
		return err == nil && page.Pagination.Total == 1 && len(page.Data) == 1 // two reads
	})
	d, err := api.Delivery(ctx, dead.ID, page.Data[0].ID)
	if err != nil || d.LastError != "refused" || d.LastStatusCode != 0 || d.Attempts != 1 || len(d.AttemptLog) != 1 || len(d.Payload) == 0 {
		t.Errorf("the delivery is %+v, %v", d, err)
	}
	r, err := api.ReplayDelivery(ctx, dead.ID, d.ID)
	if err != nil || !r.OK || r.DeliveryID != d.ID || r.PreviousStatus != "failed" || r.NewStatus != "pending" || r.NextAttemptAt.IsZero() {
		t.Errorf("the replay is %+v, %v", r, err)
	}
	var inbox client.InboxPage
	wait(t, "the inbox has it", func() bool {
		inbox, err = api.Inbox(ctx, box.ID, client.Page{Limit: 1})
		return err == nil && len(inbox.Data) == 1
	})
	got := inbox.Data[0]
	if got.EventID != d.EventID || string(got.Payload) != string(d.Payload) {
		t.Errorf("the inbox got %+v, the other endpoint was sent %s", got, d.Payload)
	}
	if err := sender.Verify(got.Headers[sender.SignatureHeader], got.Payload, box.Secret, time.Now(), sender.Tolerance); err != nil {
		t.Errorf("the inbox's delivery does not verify: %v", err)
	}
	_, err = api.ReplayDelivery(ctx, box.ID, got.DeliveryID)
	refused(t, err, client.CodeConflictState, http.StatusConflict)
	_, err = api.Delivery(ctx, box.ID, d.ID)
	refused(t, err, client.CodeWebhookDeliveryNotFound, http.StatusNotFound)
}
