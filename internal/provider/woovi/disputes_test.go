package woovi

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func disputeEvent(name, number string) provider.Notification {
	return signed(providertest.JSON(map[string]any{"event": name, "dispute": map[string]any{"endToEndId": number, "value": 12345, "disputeReason": "Golpe"}}))
}

// The account's own answer counts, whatever the notification says: Woovi signs those of all customers.
func TestEachStateOfADisputeIsRead(t *testing.T) {
	ctx, f := context.Background(), newFake()
	c := connected(t, f, credentials())
	c.Charge(ctx, sample())
	f.Move(sample().Reference, providertest.Paid)
	charge := f.Charges[0]
	ids := map[string]bool{}
	for status, want := range map[string]pay.Notice{
		"CREATED": {Dispute: true}, "OPENED": {Dispute: true}, "IN_REVIEW": {Dispute: true}, "SLEEPING": {Dispute: true},
		"ACCEPTED": {Ruling: pay.DisputeLost}, "REJECTED": {Ruling: pay.DisputeWon}, "CANCELED": {Ruling: pay.DisputeWithdrawn},
	} {
		for _, kind := range []string{"MED", "CHARGEBACK"} {
			charge.dispute = charge.opened(kind, status)
			local, stage := money.Amount{}, kind+" "+status
			if kind == "CHARGEBACK" {
				local = money.New(12345, money.BRL)
			}
			list, err := c.Notices(ctx, disputeEvent("OPENPIX:DISPUTE_CREATED", charge.bank()))
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %+v %v", stage, list, err)
			}
			asked, known := c.QueryDispute(ctx, provider.DisputeRequest{ID: charge.bank(), Charge: sample()})
			if !known || asked.ID != list[0].ID {
				t.Errorf("%s, when asked: %+v %v, want %s", stage, asked, known, list[0].ID)
			}
			for how, n := range map[string]pay.Notice{"told": list[0], "asked": asked} {
				if n.Dispute != want.Dispute || n.Ruling != want.Ruling || n.Stage != stage || n.DisputeID != charge.bank() || n.Reference != charge.Reference || n.Outcome.Local != local || n.Outcome.Message == "" {
					t.Errorf("%s, %s: %+v", stage, how, n)
				}
			}
			ids[list[0].ID] = true
		}
	}
	if len(ids) != 14 {
		t.Errorf("want an id for each state: %v", ids)
	}
}

// Without the scope, or before Woovi's own answer has it, the event counts.
func TestADisputeThatCannotBeReadIsTakenFromItsEvent(t *testing.T) {
	ctx := context.Background()
	for _, lacks := range []string{readsDisputes, ""} {
		f := newFake()
		f.lacks = lacks
		c := connected(t, f, credentials())
		c.Charge(ctx, sample())
		f.Move(sample().Reference, providertest.Paid)
		for event, want := range map[string]pay.Notice{
			"woovi:DISPUTE_CREATED": {Dispute: true}, "woovi:DISPUTE_ACCEPTED": {Ruling: pay.DisputeLost}, "OPENPIX:DISPUTE_REJECTED": {Ruling: pay.DisputeWon}, "OPENPIX:DISPUTE_CANCELED": {Ruling: pay.DisputeWithdrawn},
		} {
			list, err := c.Notices(ctx, disputeEvent(event, f.Charges[0].bank()))
			if err != nil || len(list) != 1 || list[0].Dispute != want.Dispute || list[0].Ruling != want.Ruling || list[0].Reference != "01M7ZBVYT4-1" || list[0].Outcome.Message != "Golpe" {
				t.Errorf("%s: %+v %v, want %+v", event, list, err, want)
			}
		}
		if n, known := c.QueryDispute(ctx, provider.DisputeRequest{ID: f.Charges[0].bank(), Charge: sample()}); known {
			t.Errorf("there is no answer: %+v", n)
		}
		if c.CanQueryDispute(provider.DisputeRequest{}) {
			t.Error("a dispute without an id cannot be asked about")
		}
	}
}

// A dispute whose state is not known now is sent again.
func TestADisputeWaitsWhileTheProviderCannotBeAsked(t *testing.T) {
	f := newFake()
	c := connected(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/dispute/E01M7ZBVYT41" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		f.ServeHTTP(w, r)
	}), credentials())
	c.Charge(context.Background(), sample())
	if list, err := c.Notices(context.Background(), disputeEvent("OPENPIX:DISPUTE_ACCEPTED", "E01M7ZBVYT41")); len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("%+v %v, want ErrUnreachable", list, err)
	}
}
