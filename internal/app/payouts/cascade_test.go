package payouts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
)

// If an account proves that it did not pay, another account gets the withdrawal with another reference. The first account is tried
// again later. If no account pays, the withdrawal waits and can be canceled (PAYOUT-6).
func TestAccountThatDoesNotPayIsFollowedByAnother(t *testing.T) {
	s := openBank(t)
	s.account(accounts.NewAccount{ID: "bank-2", Adapter: "bank", Priority: 9})
	short := answers(pay.PayoutUnavailable, "insufficient_float")
	s.bank.OnSend = func(r providerpayouts.Request) pay.PayoutOutcome {
		if strings.Contains(r.Reference, "-") {
			return s.bank.Pay(r)
		}
		return short(r)
	}
	id := s.withdraw(100_00)
	s.due()
	s.after(0)
	w := s.is(id, "completed")
	if w.Reference() != reference(id)+"-2" || w.Payout.Provider != "bank-2" || w.Payout.Why != "the only one" ||
		len(w.Tried) != 1 || w.Tried[0].Account != "bank-1" || w.Tried[0].Code != "insufficient_float" ||
		len(w.Payout.Passed) != 1 || !strings.HasPrefix(w.Payout.Passed[0], "bank-1: did not pay it, rests until ") {
		t.Errorf("the withdrawal was paid as %s by %+v; tried %+v", w.Reference(), w.Payout, w.Tried)
	}

	s.bank.OnSend = short
	id, other := s.withdraw(200_00), s.withdraw(50_00)
	s.due()
	s.every(0, 2)
	s.is(id, "pending payout_delayed")
	s.is(other, "pending payout_delayed")
	_, err := s.payouts.CancelWithdrawal(t.Context(), s.by, s.scope, other)
	s.must(err)
	s.bank.OnSend = nil
	s.after(0)
	s.is(id, "pending payout_delayed") // its accounts rest
	s.after(5 * time.Minute)
	s.is(id, "completed")
	s.wasSent(id, 3, true)
	s.wasSent(other, 2, false)
	s.has(700_00)
}

// A withdrawal of unknown outcome is only queried: no other account gets it, however long it takes (PAYOUT-6).
func TestUnknownOutcomeIsNotHandedOn(t *testing.T) {
	s := openBank(t)
	s.account(accounts.NewAccount{ID: "bank-2", Adapter: "bank", Priority: 9})
	s.bank.OnSend, s.bank.OnQuery = silent, silent
	id := s.withdraw(10_00)
	s.due()
	s.every(6*time.Hour, 20)
	if w := s.is(id, "processing"); w.Payout.Provider != "bank-1" {
		t.Errorf("it is at %s", w.Payout.Provider)
	}
	s.wasSent(id, 1, false)
}

// A returned payout goes back to the merchant, without the fee, once. A notification that contradicts the withdrawal waits for the
// operator, and one of an account that never had it moves nothing (PAYOUT-8).
func TestReturnedPayoutComesBack(t *testing.T) {
	s := openBank(t)
	id := s.withdraw(100_00)
	s.due()
	s.is(id, "completed")
	s.Clock.Advance(3 * 24 * time.Hour)
	returned := pay.PayoutNotice{ID: "n1", ProviderRef: "bank-" + reference(id), // it has only the bank's own reference
		Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed", Message: "the account is closed"}}
	refused(t, s.notifyAt("bank-1", "thief", returned), "invalid_token")
	elsewhere := returned
	elsewhere.ID, elsewhere.Reference = "n0", reference(id)
	s.account(accounts.NewAccount{ID: "bank-2", Adapter: "bank", Priority: 9})
	s.must(s.notifyAt("bank-2", "bank", elsewhere)) // an account that never had it
	s.must(s.notify(pay.PayoutNotice{ID: "n0", Reference: "NONE"}))
	s.must(s.notify(pay.PayoutNotice{ID: "n0", ProviderRef: "bank-NONE"}))
	s.has(900_00)
	for _, n := range []string{"n1", "n1", "n2"} { // twice, and once more under another id
		returned.ID = n
		s.must(s.notify(returned))
	}
	if w := s.is(id, "failed account_closed"); w.CompletedAt.IsZero() || w.FailedAt.IsZero() || w.Returned != 97_00 {
		t.Errorf("after its return the withdrawal is %+v", w)
	}
	s.has(997_00)
	moved, err := s.payouts.Movements(t.Context(), s.is(id, "failed account_closed"))
	s.must(err)
	back := 0
	for _, m := range moved {
		if m.Bucket == ledger.Available && m.Amount == 97_00 {
			back++
		}
	}
	if back != 1 {
		t.Errorf("the movements have %d returns, want one: %+v", back, moved)
	}

	// The bank says that a failed withdrawal is paid, and that another one is paid in another amount.
	s.rate("MXN", "18.35")
	s.bank.OnSend = answers(pay.PayoutRejected, "invalid_account")
	failed := s.withdraw(20_00)
	s.due()
	s.is(failed, "failed invalid_account")
	s.bank.OnSend = answers(pay.PayoutAccepted, "")
	other := s.withdraw(30_00)
	s.due()
	s.is(other, "processing")
	for id, n := range map[string]pay.PayoutNotice{
		failed: {ID: "n3", Reference: reference(failed), Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid}},
		other:  {ID: "n4", Reference: reference(other), Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid, Local: money.New(1, "MXN")}},
	} {
		s.must(s.notify(n))
		if len(s.waiting(id)) != 1 {
			t.Errorf("for the operator wait %v about %s, want one", s.waiting(id), id)
		}
	}
	s.is(failed, "failed invalid_account")
	s.is(other, "processing")
	s.has(967_00)
}

// A notification says late that the first of many rounds was paid after all. It waits for the operator.
func TestLatePaidOfAnOldRoundIsForTheOperator(t *testing.T) {
	s := openBank(t)
	s.bank.OnSend = answers(pay.PayoutUnavailable, "insufficient_float")
	id := s.withdraw(100_00)
	s.due()
	s.every(61*time.Minute, 24)
	s.bank.OnSend = nil
	s.after(61 * time.Minute)
	s.is(id, "completed")
	s.must(s.notify(pay.PayoutNotice{ID: "late", Reference: reference(id), Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid}}))
	if len(s.waiting(id)) != 1 {
		t.Errorf("the first round was paid after all, and for the operator wait %v", s.waiting(id))
	}
}

// A payout is returned before the service knows that it was paid. The notification has only the provider's own reference, so the
// service cannot match it yet: it is refused, so that the provider sends it again. Until the bank has a number for a payout, a
// provider may have only our reference.
func TestReturnBeforeTheAnswerComesAgain(t *testing.T) {
	for name, sent := range map[string]func(providerpayouts.Request) pay.PayoutOutcome{
		"no answer": silent,
		"our reference": func(r providerpayouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: r.Reference}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openBank(t)
			s.bank.OnSend = sent
			s.bank.OnQuery = func(providerpayouts.Request) pay.PayoutOutcome {
				return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "E2E-1"}
			}
			id := s.withdraw(100_00)
			s.due()
			s.is(id, "processing")
			n := pay.PayoutNotice{ID: "return:1", ProviderRef: "E2E-1", Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, ProviderRef: "E2E-1", Code: "returned"}}
			refused(t, s.notify(n), "service_unavailable")
			s.after(10 * time.Minute)
			s.is(id, "completed")
			s.must(s.notify(n))
			s.is(id, "failed returned")
			s.has(997_00)
		})
	}
}

// A part of a payout is returned before the service knows that it was paid. That waits for the operator.
func TestPartThatComesBackIsForTheOperator(t *testing.T) {
	s := openBank(t)
	s.bank.OnSend = func(providerpayouts.Request) pay.PayoutOutcome {
		return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "E2E-1"}
	}
	s.bank.OnQuery = func(providerpayouts.Request) pay.PayoutOutcome {
		return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "E2E-1"}
	}
	id := s.withdraw(100_00)
	s.due()
	s.is(id, "processing")
	// This is how Woovi's adapter reports a part.
	n := pay.PayoutNotice{ID: "return:1", ProviderRef: "E2E-1", Outcome: pay.PayoutOutcome{Kind: pay.PayoutUnknown, ProviderRef: "E2E-1", Message: "a part of the payout was sent back: 5.00 MXN"}}
	s.must(s.notify(n))
	s.after(10 * time.Minute)
	s.must(s.notify(n))
	s.is(id, "completed")
	if len(s.waiting(id)) != 1 {
		t.Errorf("for the operator wait %v, want one", s.waiting(id))
	}
	s.has(900_00)
}

// A return that does not fit the payout is for the operator, of a token too (PAYOUT-8).
func TestReturnThatDoesNotFitATokenIsForTheOperator(t *testing.T) {
	s := openBank(t)
	bitcoin := s.addWalletTo(destination.Destination{Type: "crypto", Network: "bitcoin", Currency: "BTC", Account: "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Masked: "…vfNa"}, pay.Beneficiary{})
	for name, local := range map[string]money.Amount{
		"more than was paid": money.New(5_000_00, money.USD), "in another currency": money.New(1, money.BRL), "below zero": money.New(-5_00, money.USD), "of nothing": money.New(0, money.USD),
	} {
		w, err := s.request(100_00, bitcoin.ID)
		s.must(err)
		s.due()
		before := s.available()
		s.must(s.notify(pay.PayoutNotice{ID: name, Reference: reference(w.ID), Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Local: local}}))
		s.is(w.ID, "completed")
		s.has(before)
		if len(s.waiting(w.ID)) != 1 {
			t.Errorf("%s: for the operator wait %v", name, s.waiting(w.ID))
		}
	}
}
