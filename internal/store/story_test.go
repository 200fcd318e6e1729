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
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
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

// The life of a payment, as a failing test or an operator sees it; the same on both engines.
func TestStoryTellsAPaymentsLife(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "all", webhooks.AllEvents)
		p := stored(t, s, "A")
		p, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Unavailable, Decline: "unavailable"}, routes, noon.Add(time.Second))
		must(t, s.Commit(ctx, payload(change)))
		p, change = p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting, ProviderRef: "their-7"}, routes, noon.Add(2*time.Second))
		must(t, s.Commit(ctx, payload(change)))
		pending, err := s.Story(ctx, p.ID)
		must(t, err)
		golden(t, "story-pending.txt", pending)

		p, change = p.ApplyNotice(pay.Notice{
			ID: "ntf_1", Account: "two", Reference: p.Reference(2), Outcome: pay.Outcome{Kind: pay.Approved, Local: p.Price.Local},
		}, routes, "CLM-0", noon.Add(time.Minute))
		must(t, s.Commit(ctx, payload(change)))
		have := ledger.Balances{ledger.Pending: balance(t, s, ledger.Pending), ledger.Reserve: balance(t, s, ledger.Reserve)}
		p, claim, change, err := p.Refund(pay.NewRefund{ID: "CLM-1", Amount: money.New(5000, money.BRL), Reason: "requested_by_customer"}, have, noon.Add(time.Hour))
		must(t, err)
		must(t, s.Commit(ctx, payload(change)))
		_, change = claim.ApplyRefundOutcome(p, pay.Outcome{Kind: pay.Approved, ProviderRef: "their-refund-8"}, noon.Add(time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		due, err := s.Deliveries().Lease(ctx, noon.Add(2*time.Hour), noon.Add(3*time.Hour), 1)
		must(t, err)
		must(t, s.Commit(ctx, pay.Change{Deliveries: []webhooks.Delivery{
			due[0].Delivery.Tried(webhooks.Try{Code: 500, Error: "status", Again: time.Minute}, noon.Add(2*time.Hour)),
		}}))
		refunded, err := s.Story(ctx, p.ID)
		must(t, err)
		golden(t, "story-refunded.txt", refunded)
		if got, err := s.Story(ctx, "CLM-1"); err != nil || got != "CLM-1 is in the story of its payment, TXN-A\n\n"+refunded {
			t.Errorf("the story of a claim (%v) is\n%s\nwant its payment's", err, got)
		}
		if _, err := s.Story(ctx, "CLM-nobody"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the story of an unknown claim: %v, want ErrNotFound", err)
		}
	})
}

// Whoever answers the merchant's questions has only the story: who gave money back or decided a claim, for whom, when, and how
// much; the provider's ids, to find it in its panel; what became of late money.
func TestStoryAnswersTheMerchantsQuestions(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := stored(t, s, "A")
		p, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Unavailable, Decline: "unavailable"}, routes, noon.Add(time.Second))
		must(t, s.Commit(ctx, payload(change)))
		p, change = p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting, ProviderRef: "their-7"}, routes, noon.Add(2*time.Second))
		must(t, s.Commit(ctx, payload(change)))
		p, change = p.ApplyNotice(pay.Notice{ID: "ntf_1", Account: "two", Reference: p.Reference(2), Outcome: pay.Outcome{Kind: pay.Lapsed}}, routes, "CLM-0", noon.Add(time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		p, change = p.ApplyNotice(pay.Notice{ID: "ntf_2", Account: "two", Reference: p.Reference(2), Outcome: pay.Outcome{
			Kind: pay.Approved, Local: p.Price.Local, MoneyRef: "their-money-9",
		}}, routes, "CLM-9", noon.Add(2*time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		_, change, err := pay.Disposition{Note: "the shopper Ana called", At: noon.Add(3 * time.Hour)}.GiveByHand(change.Claims[0], p, "BANK-77")
		must(t, err)
		must(t, s.Commit(ctx, payload(change)))
		late, err := s.Story(ctx, p.ID)
		must(t, err)
		golden(t, "story-late.txt", late)
		if strings.Contains(late, "Ana") {
			t.Errorf("the story has what somebody wrote:\n%s", late)
		}
	})
}

// The story of a withdrawal is like that of a payment.
func TestStoryTellsAWithdrawalsLife(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		subscribe(t, s, "all", webhooks.AllEvents)
		funded(t, s, 100_00)
		w, change := openedWallet("A", "one", 0, nil)
		w.Label, change.Wallets[0].Label = "Ana Souza", "Ana Souza"
		must(t, s.Commit(ctx, change))
		out := map[string]pay.Withdrawal{}
		for _, id := range []string{"wdr_A", "wdr_A2"} { // the second id begins like the first
			have, err := s.Books().Balances(ctx, acme)
			must(t, err)
			made, change, err := w.Withdraw(id, money.New(25_00, money.USD), merchants.Terms{WithdrawalFee: 300}, rates.Conversion{}, have, noon)
			must(t, err)
			must(t, s.Commit(ctx, change))
			out[id] = made
		}
		pending, err := s.Story(ctx, "wdr_A2")
		must(t, err)
		golden(t, "story-withdrawal-pending.txt", pending)

		sent, change := out["wdr_A"].Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{}, noon.Add(time.Minute))
		must(t, s.Commit(ctx, change))
		sent, change, _ = sent.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "their-7"}, noon.Add(time.Minute))
		must(t, s.Commit(ctx, change))
		_, change, _ = sent.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed", Message: "032180000118359719 of Ana Souza is closed"}, noon.Add(time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		failed, err := s.Story(ctx, "wdr_A")
		must(t, err)
		golden(t, "story-withdrawal-failed.txt", failed)
		if strings.Contains(failed, "Ana") || strings.Contains(failed, "032180000118359719") {
			t.Errorf("the story contains a person or a bank account:\n%s", failed)
		}

		sent, change = out["wdr_A2"].Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{}, noon.Add(time.Minute))
		must(t, s.Commit(ctx, change))
		sent, change, _ = sent.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "their-8", Local: sent.Local}, noon.Add(2*time.Minute))
		must(t, s.Commit(ctx, change))
		back := pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}
		_, change, _ = sent.ApplyPayoutNotice(pay.PayoutNotice{ID: "ntf_1", Reference: sent.Reference(), Outcome: back}, "bank", back, noon.Add(48*time.Hour))
		must(t, s.Commit(ctx, payload(change)))
		returned, err := s.Story(ctx, "wdr_A2")
		must(t, err)
		golden(t, "story-withdrawal-returned.txt", returned)
		if _, err := s.Story(ctx, "wdr_nobody"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the story of an unknown withdrawal: %v, want ErrNotFound", err)
		}
	})
}

// Stories are pasted into tickets and test logs.
func TestStoryNamesNoShopper(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p, _ := create(t, "A")
		p.Order.Buyer = pay.Buyer{Email: "ana@example.com", Name: "Ana", IP: "192.0.2.7", Document: "52998224725"}
		p.Page.Data.QRCode = "00020126"
		must(t, s.Commit(ctx, pay.Change{Payments: []pay.Payment{p}}))
		story, err := s.Story(ctx, p.ID)
		must(t, err)
		for _, secret := range []string{p.Order.Buyer.Email, p.Order.Buyer.Name, p.Order.Buyer.IP, p.Order.Buyer.Document, p.Page.Data.QRCode} {
			if strings.Contains(story, secret) {
				t.Errorf("the story contains %q:\n%s", secret, story)
			}
		}
		if _, err := s.Story(ctx, "TXN-nobody"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the story of an unknown payment: %v, want ErrNotFound", err)
		}
	})
}
