package pay

import (
	"testing"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// A withdrawal of a sandbox that is emptied gives its part of the float back, from where it is, and its line of the
// batch (SBX-16).
func TestDroppedWithdrawalLeavesItsFloatAndBatch(t *testing.T) {
	for status, from := range map[WithdrawalStatus]ledger.Account{WithdrawalProcessing: ledger.FloatCommitted, WithdrawalDone: ledger.FloatPaid} {
		w := Withdrawal{ID: "wdr_1", Version: 3, Status: status, Payout: Payout{Provider: "bank", Batch: "bat_1", Float: money.New(500, money.MXN)}}
		w.Local = money.New(500, money.MXN)
		change := w.Drop(&Batch{ID: "bat_1", Version: 2, Lines: 2, Total: money.New(900, money.MXN)}, noon)
		if len(change.Transfers) != 1 || change.Transfers[0].Check() != nil || change.Transfers[0].Live {
			t.Fatalf("%s: it books %v", status, change.Transfers)
		}
		for _, p := range change.Transfers[0].Postings {
			if want := map[ledger.Account]int64{from: -500, ledger.Float: 500}[p.Account]; p.Amount != want {
				t.Errorf("%s: %s gets %d, want %d", status, p.Account, p.Amount, want)
			}
		}
		if b := change.Batches[0]; b.Version != 3 || b.Lines != 1 || b.Total.Minor != 400 {
			t.Errorf("%s: the batch is left as %+v", status, b)
		}
		if left := change.Withdrawals[0]; left.Version != 4 || left.Payout.Batch != "" || left.Payout.Float != (money.Amount{}) || len(change.Events) > 0 {
			t.Errorf("%s: it is left as %v, and told as %v", status, left, change.Events)
		}
	}
	plain := Withdrawal{ID: "wdr_2", Version: 1, Status: WithdrawalPending}.Drop(nil, noon)
	if len(plain.Transfers)+len(plain.Batches) > 0 {
		t.Errorf("one that holds nothing gives back %+v", plain)
	}
}
