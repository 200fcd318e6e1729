package store_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with testdata/NAME; go test -update writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("the text is\n%s\nwant, as in %s,\n%s", got, path, want)
	}
}

// How a failing test or an operator sees a payment, the same on both engines.
func TestStoryTellsAPaymentsLife(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "all", pay.AllEvents)
		p := stored(t, s, "A")
		p, change := p.Resolve(pay.Outcome{Kind: pay.Unavailable, Decline: "unavailable"}, routes, noon.Add(time.Second))
		must(t, s.Commit(ctx, payload(change)))
		p, change = p.Resolve(pay.Outcome{Kind: pay.Awaiting, ProviderRef: "their-7"}, routes, noon.Add(2*time.Second))
		must(t, s.Commit(ctx, payload(change)))
		pending, err := s.Story(ctx, p.ID)
		must(t, err)
		golden(t, "story-pending.txt", pending)

		p, change = p.Confirm(pay.Notice{
			ID: "ntf_1", Account: "two", Reference: p.Reference(2), Outcome: pay.Outcome{Kind: pay.Approved, Local: p.Local},
		}, routes, "CLM-0", noon.Add(time.Minute))
		must(t, s.Commit(ctx, payload(change)))
		have := ledger.Balances{ledger.Pending: balance(t, s, ledger.Pending)}
		p, claim, change, err := p.Refund(pay.NewRefund{ID: "CLM-1", Amount: money.New(5000, money.BRL), Reason: "requested_by_customer"}, have, noon.Add(time.Hour))
		must(t, err)
		must(t, s.Commit(ctx, payload(change)))
		_, change = claim.Called(p, pay.Outcome{Kind: pay.Approved}, noon.Add(time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		due, err := s.LeaseDeliveries(ctx, noon.Add(2*time.Hour), noon.Add(3*time.Hour), 1)
		must(t, err)
		must(t, s.Commit(ctx, pay.Change{Deliveries: []pay.Delivery{
			due[0].Delivery.Tried(pay.Try{Code: 500, Error: "status", Again: time.Minute}, noon.Add(2*time.Hour)),
		}}))
		refunded, err := s.Story(ctx, p.ID)
		must(t, err)
		golden(t, "story-refunded.txt", refunded)
	})
}

// A story is pasted into tickets and test logs.
func TestStoryNamesNoShopper(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p, _ := create(t, "A")
		p.Buyer = pay.Buyer{Email: "ana@example.com", Name: "Ana", IP: "192.0.2.7", Document: "52998224725"}
		p.Data.QRCode = "00020126"
		must(t, s.Commit(ctx, pay.Change{Payments: []pay.Payment{p}}))
		story, err := s.Story(ctx, p.ID)
		must(t, err)
		for _, secret := range []string{p.Buyer.Email, p.Buyer.Name, p.Buyer.IP, p.Buyer.Document, p.Data.QRCode} {
			if strings.Contains(story, secret) {
				t.Errorf("the story names %q:\n%s", secret, story)
			}
		}
		if _, err := s.Story(ctx, "TXN-nobody"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the story of nobody: %v, want ErrNotFound", err)
		}
	})
}
