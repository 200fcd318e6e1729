package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
)

// MovementType says why a balance moved (BAL-5).
type MovementType string

// Types of movements.
const (
	MovedCharge        MovementType = "charge"
	MovedFee           MovementType = "fee"
	MovedRefund        MovementType = "refund"
	MovedFreeze        MovementType = "claim_freeze"
	MovedUnfreeze      MovementType = "claim_release"
	MovedClaim         MovementType = "claim_debit"
	MovedChargebackFee MovementType = "chargeback_fee"
	MovedHold          MovementType = "reserve_hold"
	MovedRelease       MovementType = "reserve_release"
	MovedSettlement    MovementType = "settlement"
	MovedWithdrawal    MovementType = "withdrawal"
	MovedReversal      MovementType = "withdrawal_reversal"
	MovedAdjustment    MovementType = "adjustment"
)

// MovementTypes lists all types in the order of BAL-5.
func MovementTypes() []MovementType {
	return []MovementType{
		MovedCharge, MovedFee, MovedRefund, MovedFreeze, MovedUnfreeze, MovedClaim, MovedChargebackFee,
		MovedHold, MovedRelease, MovedSettlement, MovedWithdrawal, MovedReversal, MovedAdjustment,
	}
}

// Buckets lists the accounts that a merchant sees as its balance, in the order
// in which one transfer's movements are shown.
func Buckets() []ledger.Account {
	return []ledger.Account{ledger.Pending, ledger.Available, ledger.Frozen, ledger.Reserve}
}

// Movement is one line of a merchant's account: what one transfer did to one
// bucket, and why.
type Movement struct {
	ID           string // mov_…, made from the transfer's
	Type         MovementType
	Amount       int64 // USD cents
	Bucket       ledger.Account
	BalanceAfter int64 // USD cents, of the bucket; known in lists
	Payment      string
	Claim        string
	Settlement   string
	Withdrawal   string
	Text         string
	At           time.Time
}

// Movements shows a transfer as its merchant sees it, oldest first. What the
// movements add to a bucket is exactly what the postings do. A capture is
// shown as the charge, the fees taken from it, and the reserve held back from
// it; anything else as a movement for each bucket that it touches.
func Movements(t ledger.Transfer) []Movement {
	kind := bookings[t.Kind]
	var list []Movement
	add := func(of MovementType, bucket ledger.Account, amount int64, text string) {
		if amount == 0 {
			return
		}
		m := Movement{
			ID: fmt.Sprintf("mov_%s-%d", strings.TrimPrefix(t.ID, "tr_"), len(list)+1), Type: of, Amount: amount,
			Bucket: bucket, Payment: t.Payment, Claim: t.Claim, Text: text, At: t.At,
		}
		// A transfer of a settlement or a withdrawal is named after it.
		suffix, _, _ := strings.Cut(strings.TrimPrefix(t.ID, "tr_"), "-")
		switch of {
		case MovedSettlement:
			m.Settlement = SettlementPrefix + suffix
		case MovedWithdrawal, MovedReversal:
			m.Withdrawal = WithdrawalPrefix + suffix
		}
		list = append(list, m)
	}
	if t.Kind == ledger.Capture {
		held := t.Amount(ledger.Reserve)
		add(MovedCharge, ledger.Pending, -t.Amount(ledger.Receivable), kind.text)
		add(MovedFee, ledger.Pending, -feesOf(t), "Fees of the payment")
		add(MovedHold, ledger.Pending, -held, "Rolling reserve held back")
		add(MovedHold, ledger.Reserve, held, "Rolling reserve held back")
		return list
	}
	for _, bucket := range Buckets() {
		add(kind.movement, bucket, t.Amount(bucket), kind.text)
	}
	return list
}

// MovementCount is how many Movements a transfer has.
func MovementCount(t ledger.Transfer) int64 {
	n := int64(0)
	if t.Kind != ledger.Capture {
		for _, p := range t.Postings {
			if slices.Contains(Buckets(), p.Account) {
				n++
			}
		}
		return n
	}
	fees, held := int64(0), int64(0)
	for _, p := range t.Postings {
		switch p.Account {
		case ledger.Receivable:
			n++
		case ledger.Reserve:
			held = 2
		case ledger.PlatformFees, ledger.ProviderFees, ledger.FlatFees, ledger.NetworkFees:
			fees = 1
		}
	}
	return n + fees + held
}

func feesOf(t ledger.Transfer) int64 {
	return t.Amount(ledger.PlatformFees) + t.Amount(ledger.ProviderFees) + t.Amount(ledger.FlatFees) + t.Amount(ledger.NetworkFees)
}
