package pay

import (
	"errors"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

func adjustment(amount int64) Adjustment {
	reason := ForOther
	return Adjustment{ID: "adj_1", Scope: merchants.Scope{Merchant: "mer_1", Live: true}, Amount: amount, Reason: reason, Note: "why", Reference: "ticket 1", MadeBy: "ana as root@host"}
}

var oneShop = []merchants.Shop{{ID: "shp_1"}}

func TestAdjustmentMovesItsAmountOnce(t *testing.T) {
	for amount, negative := range map[int64]bool{50_00: false, -50_00: false, -80_00: true} {
		a := adjustment(amount)
		a.Negative = negative
		a, change, err := a.Make(0, ledger.Balances{ledger.Available: 60_00}, oneShop, noon)
		if err != nil || a.Status != AdjustmentApplied || len(change.Transfers) != 1 || len(change.Events) != 1 || change.Events[0].Adjustment.ID != a.ID {
			t.Fatalf("%d: %+v, %+v, %v", amount, a, change, err)
		}
		moved := change.Transfers[0]
		if err := moved.Check(); err != nil || moved.Amount(ledger.Available) != amount || moved.Amount(ledger.Adjustments) != -amount {
			t.Errorf("%d moves %s (%v)", amount, moved, err)
		}
		if id, ok := AdjustmentOf(moved); !ok || id != a.ID {
			t.Errorf("the transfer is of %q", id)
		}
		if guarded := len(change.Floors) == 1; guarded != (amount < 0 && !negative) {
			t.Errorf("%d, below zero allowed: %v; guarded by a floor: %v", amount, negative, guarded)
		}
	}
	sandbox, never := merchants.Scope{Merchant: "mer_1"}, time.Time{}
	if AdjustmentID(sandbox, never, "a") == AdjustmentID(merchants.Scope{Merchant: "mer_1", Live: true}, never, "a") {
		t.Error("the sandbox and production share a reference")
	}
	if AdjustmentID(sandbox, never, "a") == AdjustmentID(sandbox, noon, "a") {
		t.Error("a sandbox that was emptied makes the id of an adjustment that is gone")
	}
}

func TestAdjustmentIsRefused(t *testing.T) {
	with := func(amount int64, change func(*Adjustment)) Adjustment {
		a := adjustment(amount)
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		a    Adjustment
		code problem.Code
	}{
		"of nothing":               {adjustment(0), problem.AmountInvalid},
		"of too much":              {adjustment(MaxAdjustment + 1), problem.AmountInvalid},
		"without a note":           {with(1, func(a *Adjustment) { a.Note = " " }), problem.MissingField},
		"without a reference":      {with(1, func(a *Adjustment) { a.Reference = "" }), problem.MissingField},
		"for no reason":            {with(1, func(a *Adjustment) { a.Reason = "" }), problem.InvalidRequest},
		"a reversal of nothing":    {with(1, func(a *Adjustment) { a.Reason = ForReversal }), problem.InvalidRequest},
		"a write-off that takes":   {with(-1, func(a *Adjustment) { a.Reason = ForWriteOff }), problem.AmountInvalid},
		"a provider's credit":      {with(1, func(a *Adjustment) { a.Reason = ForProviderRefund }), problem.AmountInvalid},
		"a credit below zero":      {with(1, func(a *Adjustment) { a.Negative = true }), problem.InvalidRequest},
		"of more than there is":    {adjustment(-60_01), problem.BalanceInsufficient},
		"of more, in several ones": {with(-60_01, func(a *Adjustment) { a.Reason = ForFees }), problem.BalanceInsufficient},
	} {
		_, change, err := c.a.Make(0, ledger.Balances{ledger.Available: 60_00}, oneShop, noon)
		if codeOf(err) != c.code || len(change.Transfers) > 0 {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// Above the limit nothing moves before another operator has approved it.
func TestSecondOperatorApprovesAnAdjustment(t *testing.T) {
	have := ledger.Balances{ledger.Available: 60_00}
	a, change, err := adjustment(-50_01).Make(50_00, have, oneShop, noon)
	if err != nil || a.Status != AdjustmentPending || len(change.Transfers)+len(change.Events) > 0 {
		t.Fatalf("%+v, %+v, %v", a, change, err)
	}
	for _, same := range []string{"ana as admin@other", " Ana", "ANA ", "Ana\u00a0@other", "ana  as root@host", "\tAna AS root@host"} {
		_, _, err = a.Approve(same, have, oneShop, noon)
		if refused := new(problem.Error); !errors.As(err, &refused) || refused.Details.Reason != "same_operator" {
			t.Errorf("%q approves what ana made: %v", same, err)
		}
	}
	if _, _, err := a.Approve("bo", ledger.Balances{}, oneShop, noon); codeOf(err) != problem.BalanceInsufficient {
		t.Errorf("approved when the money is gone: %v", err)
	}
	applied, change, err := a.Approve("bo", have, oneShop, noon)
	if err != nil || applied.Status != AdjustmentApplied || applied.DecidedBy != "bo" || len(change.Transfers) != 1 {
		t.Errorf("%+v, %+v, %v", applied, change, err)
	}
	rejected, change, err := a.Reject("ana", noon)
	if err != nil || rejected.Status != AdjustmentRejected || len(change.Transfers) > 0 {
		t.Errorf("%+v, %+v, %v", rejected, change, err)
	}
	for _, decided := range []Adjustment{applied, rejected} {
		if _, _, err := decided.Approve("bo", have, oneShop, noon); codeOf(err) != problem.ConflictState {
			t.Errorf("a decided adjustment is approved: %v", err)
		}
		if _, _, err := decided.Reject("bo", noon); codeOf(err) != problem.ConflictState {
			t.Errorf("a decided adjustment is rejected: %v", err)
		}
	}
	if _, err := rejected.Reversal("why", "ana", false, 0); codeOf(err) != problem.ConflictState {
		t.Errorf("a rejected adjustment is reversed: %v", err)
	}
	if again, _, err := rejected.Make(0, have, oneShop, noon); err != nil || again.Status != AdjustmentApplied || again.Version != rejected.Version+1 {
		t.Errorf("made again: %+v, %v", again, err)
	}
}

func TestAdjustmentIsReversedByItsOpposite(t *testing.T) {
	a, _, err := adjustment(50_00).Make(0, ledger.Balances{}, oneShop, noon)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Reversal("it was another merchant's", "ana", false, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, change, err := r.Make(0, ledger.Balances{ledger.Available: 50_00}, oneShop, noon)
	if err != nil || r.Amount != -a.Amount || r.Reverses != a.ID || r.Scope != a.Scope || change.Transfers[0].Amount(ledger.Available) != -50_00 {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := a.Reversal("again", "bo", true, 0); err != nil || again.Reference != r.Reference {
		t.Errorf("a second reversal is another one: %+v, %v", again, err)
	}
	if _, err := r.Reversal("back", "ana", false, 0); codeOf(err) != problem.ConflictState {
		t.Errorf("a reversal is reversed: %v", err)
	}
}
