package pay_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

var payday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// taken is a withdrawal of 100 USD with a fee of 3.
func taken(t *testing.T) (pay.Withdrawal, pay.Change) {
	t.Helper()
	w, _ := pay.Wallet{ID: "wal_A", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}}.Open(0, nil, nil, payday)
	out, change, err := w.Withdraw("wdr_A", money.New(100_00, money.USD), merchants.Terms{WithdrawalFee: 300}, rates.Conversion{}, ledger.Balances{ledger.Available: 100_00}, payday)
	if err != nil {
		t.Fatal(err)
	}
	return out, change
}

// However a withdrawal ends, its money is in one place and none is left in transit.
func TestWithdrawalBalancesHoweverItEnds(t *testing.T) {
	at := payday.Add(time.Minute)
	for _, c := range []struct {
		name  string
		end   func(pay.Withdrawal) (pay.Withdrawal, []pay.Change)
		want  pay.WithdrawalStatus
		books ledger.Balances
	}{
		{"cancelled", func(w pay.Withdrawal) (pay.Withdrawal, []pay.Change) {
			w, c, err := w.Cancel(at)
			if err != nil {
				t.Fatal(err)
			}
			return w, []pay.Change{c}
		}, pay.WithdrawalCanceled, ledger.Balances{}},
		{"refused", func(w pay.Withdrawal) (pay.Withdrawal, []pay.Change) {
			w, c := w.Refuse("wallet_disabled", "", at)
			return w, []pay.Change{c}
		}, pay.WithdrawalRefused, ledger.Balances{}},
		{"rejected", func(w pay.Withdrawal) (pay.Withdrawal, []pay.Change) {
			w, sent := w.Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{}, at)
			w, c, _ := w.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutRejected}, at)
			return w, []pay.Change{sent, c}
		}, pay.WithdrawalRefused, ledger.Balances{}},
		{"paid", func(w pay.Withdrawal) (pay.Withdrawal, []pay.Change) {
			w, sent := w.Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{}, at)
			w, unknown, _ := w.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutUnknown}, at)
			w, c, _ := w.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutPaid}, at)
			return w, []pay.Change{sent, unknown, c}
		}, pay.WithdrawalDone, ledger.Balances{ledger.Available: -100_00, ledger.PaidOut: 97_00, ledger.WithdrawalFees: 300}},
	} {
		w, opened := taken(t)
		w, changes := c.end(w)
		books := ledger.Balances{}
		events := 0
		for _, change := range append([]pay.Change{opened}, changes...) {
			events += len(change.Events)
			for _, transfer := range change.Transfers {
				if err := transfer.Check(); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				if id, ok := pay.WithdrawalOf(transfer); !ok || id != w.ID {
					t.Errorf("%s: %s belongs to %q", c.name, transfer, id)
				}
				for _, p := range transfer.Postings {
					books[p.Account] += p.Amount
				}
			}
		}
		for _, account := range ledger.Accounts() {
			if books[account] != c.books[account] {
				t.Errorf("%s: %s holds %d, want %d", c.name, account, books[account], c.books[account])
			}
		}
		if wantEvents := 1; w.Status != c.want || w.DueAt.IsZero() == (c.want == pay.WithdrawalDone) || (c.want != pay.WithdrawalCanceled && events != wantEvents) || events != int(w.Sequence) {
			t.Errorf("%s: %s with %d events, due %v, want %s", c.name, w, events, w.DueAt, c.want)
		}
		// An ended withdrawal cannot end again.
		if _, _, ok := w.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutPaid}, at); ok {
			t.Errorf("%s: it was paid after its end", c.name)
		}
		if _, _, err := w.Cancel(at); err == nil {
			t.Errorf("%s: it was cancelled after its end", c.name)
		}
	}
}

// Only the provider's answer ends a withdrawal that was sent.
func TestUnknownPayoutIsQueried(t *testing.T) {
	w, _ := taken(t)
	w, _ = w.Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{}, payday)
	if _, _, err := w.Cancel(payday); err == nil {
		t.Error("a withdrawal that was sent was cancelled")
	}
	now := payday
	for i, kind := range slices.Repeat([]pay.PayoutKind{pay.PayoutUnknown, pay.PayoutAccepted, pay.PayoutMissing}, 20) {
		next, change, ok := w.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: kind}, now)
		wait := next.DueAt.Sub(now)
		if !ok || next.Status != pay.WithdrawalProcessing || len(change.Transfers)+len(change.Events) != 0 || wait < 15*time.Second || wait > 5*time.Minute {
			t.Fatalf("answer %d, %s: %s, again in %s, %d transfers", i, kind, next, wait, len(change.Transfers))
		}
		w, now = next, next.DueAt
	}
	if next, _, _ := w.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutAccepted, CheckAt: now.Add(time.Second)}, now); !next.DueAt.Equal(now.Add(time.Second)) {
		t.Errorf("the provider knows more in a second, it is queried at %s", next.DueAt)
	}
}

// A query that was on its way when a notice said "paid" answers that the money came back, or that a part of it did: nothing of that is
// dropped.
func TestAQueryAnswersThatMoneyCameBack(t *testing.T) {
	at := payday.Add(time.Minute)
	w, _ := taken(t)
	w.Local = money.New(500_00, money.BRL)
	asked, _ := w.Send(pay.PayoutRoute{Account: "bank"}, pay.Caller{}, at)
	done, _, _ := asked.ApplyPayoutOutcome(pay.PayoutOutcome{Kind: pay.PayoutPaid}, at)
	whole := pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}
	part := pay.PayoutOutcome{Kind: pay.PayoutReturned, Local: money.New(200_00, money.BRL)}
	for name, c := range map[string]struct {
		w pay.Withdrawal
		o pay.PayoutOutcome
	}{"all, after its end": {done, whole}, "a part, after its end": {done, part}, "a part, before its end": {asked, part}} {
		change, known := c.w.Contradiction(asked, c.o, at)
		if !known || len(change.Notices) != 1 || change.Notices[0].Verdict != pay.Mismatched || len(change.Withdrawals) != 0 {
			t.Errorf("%s: %+v %t", name, change, known)
		}
	}
	if _, known := asked.Contradiction(asked, whole, at); known {
		t.Error("it decides about a payout that has not ended")
	}
}

func TestWithdrawalNeedsAWalletAndFunds(t *testing.T) {
	w, _ := pay.Wallet{ID: "wal_A"}.Open(time.Hour, nil, nil, payday)
	disabled, _ := w.Disable(payday)
	later := payday.Add(time.Hour)
	for _, c := range []struct {
		name      string
		wallet    pay.Wallet
		amount    int64
		available int64
		now       time.Time
		want      problem.Code
	}{
		{"all of it", w, 100, 100, later, ""},
		{"a cent above the fee", w, 4, 100, later, ""},
		{"in the cool-down", w, 100, 100, later.Add(-time.Microsecond), problem.ConflictState},
		{"a disabled wallet", disabled.Wallets[0], 100, 100, later, problem.ConflictState},
		{"the fee alone", w, 3, 100, later, problem.AmountBelowMinimum},
		{"a cent too much", w, 101, 100, later, problem.BalanceInsufficient},
		{"a negative balance", w, 4, -1, later, problem.BalanceInsufficient},
	} {
		_, change, err := c.wallet.Withdraw("wdr_A", money.New(c.amount, money.USD), merchants.Terms{WithdrawalFee: 3}, rates.Conversion{}, ledger.Balances{ledger.Available: c.available}, c.now)
		var e *problem.Error
		errors.As(err, &e)
		if c.want == "" && (err != nil || len(change.Floors) != 1) || c.want != "" && (e == nil || e.Code != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestVerificationLifeCycle(t *testing.T) {
	all := []merchants.VerificationStatus{merchants.KYCRequiresInput, merchants.KYCProcessing, merchants.KYCVerified, merchants.KYCRejected, merchants.KYCExpired}
	allowed := map[merchants.VerificationStatus][]merchants.VerificationStatus{
		merchants.KYCRequiresInput: {merchants.KYCProcessing, merchants.KYCVerified, merchants.KYCRejected, merchants.KYCExpired},
		merchants.KYCProcessing:    {merchants.KYCVerified, merchants.KYCRejected},
	}
	for _, from := range all {
		for _, to := range all {
			v := merchants.Verification{ID: "kyc_A"}.Start(payday)
			v.Status = from
			next, err := v.Move(to, "code", "message", payday)
			if ok := slices.Contains(allowed[from], to); ok != (err == nil) || ok && (next.Status != to || !next.DueAt.IsZero() || next.Version != 2) {
				t.Errorf("%s to %s: %v, allowed %v", from, to, err, ok)
			}
		}
	}
	v := merchants.Verification{ID: "kyc_A"}.Start(payday)
	if _, err := v.Move(merchants.KYCProcessing, "", "", v.ExpiresAt); err == nil {
		t.Error("documents were accepted after the deadline")
	}
	if !merchants.KYCEnhanced.Covers(merchants.KYCBasic) || merchants.KYCBasic.Covers(merchants.KYCEnhanced) {
		t.Error("enhanced includes basic, and not the reverse")
	}
}
