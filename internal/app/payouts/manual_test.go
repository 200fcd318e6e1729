package payouts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	payaccounts "github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// A withdrawal that the operator pays by hand waits until he resolves it, with the bank's reference. He does so once, and is shown
// what must not be paid any more (PAYOUT-2, PAYOUT-12).
func TestOperatorPaysByHand(t *testing.T) {
	s := open(t)
	_, err := s.request(100_00, s.wallet)
	refused(t, err, "service_unavailable no_payout_account")
	s.account(accounts.NewAccount{ID: "by-hand", Adapter: "manual", Terms: []payaccounts.RailTerms{{Limits: []payaccounts.Limit{{Currency: "USD", Min: 10_00, Max: 500_00}}}}})
	_, err = s.request(600_00, s.wallet)
	refused(t, err, "amount_above_maximum amount")
	_, err = s.request(12_00, s.wallet)
	refused(t, err, "amount_below_minimum amount")

	id := s.withdraw(100_00)
	s.due()
	s.is(id, "processing")
	shown := func(hold pay.Unpayable) {
		t.Helper()
		to, err := s.payouts.RevealWithdrawal(t.Context(), s.Self(), id)
		if err != nil || to.Destination != clabe || to.Payout.Provider != "by-hand" || to.Hold != hold {
			t.Errorf("the operator sees %q at %s, held by %q, %v, want %q", to.Destination, to.Payout.Provider, to.Hold, err, hold)
		}
	}
	shown(pay.Payable)
	s.stop("a key was stolen") // after it was handed out
	shown(pay.WaitsStopped)
	s.stop("")
	resolve := func(r base.Resolution) (pay.Withdrawal, error) {
		w, _, err := s.payouts.ResolveWithdrawal(t.Context(), s.Self(), r)
		return w, err
	}
	paid := base.Resolution{ID: id, Word: pay.WordPaid, Note: "statement of today", Reference: "SPEI-77"}
	if w, err := resolve(paid); err != nil || w.Status != pay.WithdrawalDone || w.Payout.BankRef != "SPEI-77" {
		t.Errorf("after the operator's word the withdrawal is %v with the reference %q, %v", w, w.Payout.BankRef, err)
	}
	_, err = resolve(paid)
	refused(t, err, "conflict_state")
	not := s.withdraw(50_00)
	s.due()
	s.is(not, "processing")
	s.Clock.Advance(time.Hour)
	_, err = resolve(base.Resolution{ID: not, Word: pay.WordNotPaid, Note: "the account is closed"})
	s.must(err)
	s.has(900_00) // the withdrawal that was not paid is back
	// The operator enters days later that the first payout was returned. He can do so only once.
	s.Clock.Advance(48 * time.Hour)
	back := base.Resolution{ID: id, Word: pay.WordReturned, Note: "today's statement", Reference: "SPEI-99"}
	_, err = resolve(back)
	s.must(err)
	s.is(id, "failed returned")
	_, err = resolve(back)
	refused(t, err, "conflict_state")
	s.has(997_00) // all but the fee
	log, err := s.Store.Audit().List(t.Context(), s.scope.Merchant, "", 100)
	s.must(err)
	for _, act := range []audit.Act{audit.WalletRevealed, audit.WithdrawalResolved} {
		if !slices.ContainsFunc(log, func(e audit.Entry) bool { return e.Act == act }) {
			t.Errorf("the audit log lacks %s", act)
		}
	}
}
