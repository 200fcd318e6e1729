package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/tenant"
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

// booking says what a kind of transfer is to the merchant it belongs to.
type booking struct {
	movement MovementType // what its postings are shown as, a capture's in parts; "" touches no bucket
	line     LineType     // how a settlement lists it; "" is claimed without being listed
	quiet    bool         // listed only where it changes what the merchant has
	apart    bool         // no settlement claims it: it moves money that was settled
	text     string       // for people
}

// bookings is the one table from a kind of transfer to what the merchant sees.
// A new kind needs a row here; a test says so.
var bookings = map[ledger.Kind]booking{
	ledger.Capture: {movement: MovedCharge, line: LineCharge, text: "Payment received"},

	// A refund takes its part of the reserve when it is frozen, and puts it back
	// when it comes to nothing.
	ledger.RefundFreeze:  {movement: MovedFreeze, line: LineRelease, quiet: true, text: "Held for a refund"},
	ledger.RefundPaid:    {movement: MovedRefund, line: LineRefund, text: "Refund paid"},
	ledger.RefundRelease: {movement: MovedUnfreeze, line: LineRelease, quiet: true, text: "A refund came to nothing"},

	ledger.ChargebackHold:    {movement: MovedFreeze, text: "Held for a dispute"},
	ledger.ChargebackFee:     {movement: MovedChargebackFee, line: LineChargebackFee, text: "Fee of a dispute"},
	ledger.ChargebackPaid:    {movement: MovedClaim, line: LineChargeback, text: "Dispute lost"},
	ledger.ChargebackRelease: {movement: MovedUnfreeze, text: "Dispute won"},

	ledger.ChargebackReversal: {movement: MovedFreeze, line: LineChargeback, text: "A lost dispute goes on"},

	// What comes late waits in suspense for the operator.
	ledger.LateCapture:  {},
	ledger.LateRefund:   {},
	ledger.LateAccepted: {movement: MovedAdjustment, line: LineAdjustment, text: "Payment received after its end"},

	ledger.ReserveRelease: {movement: MovedRelease, line: LineRelease, text: "Rolling reserve released"},
	ledger.Settled:        {movement: MovedSettlement, apart: true, text: "Settled"},

	// What is paid out had been settled.
	ledger.WithdrawalOpened:   {movement: MovedWithdrawal, apart: true, text: "Withdrawal"},
	ledger.WithdrawalPaid:     {apart: true},
	ledger.WithdrawalReversal: {movement: MovedReversal, apart: true, text: "Withdrawal given back"},
	ledger.WithdrawalReturn:   {movement: MovedReversal, apart: true, text: "Withdrawal sent back by the bank"},

	// A float is no merchant's.
	ledger.FloatEntered:  {apart: true},
	ledger.FloatSent:     {apart: true},
	ledger.FloatArrived:  {apart: true},
	ledger.FloatBack:     {apart: true},
	ledger.FloatReturned: {apart: true},
}

// SettledKinds lists the kinds of transfers that settlements claim, captures
// first, in a fixed order.
func SettledKinds() []ledger.Kind {
	var list []ledger.Kind
	for _, k := range ledger.Kinds() {
		if b, ok := bookings[k]; ok && !b.apart {
			list = append(list, k)
		}
	}
	return list
}

// MovingKinds lists the kinds of transfers that move what a merchant sees as
// its balance.
func MovingKinds() []ledger.Kind {
	var list []ledger.Kind
	for _, k := range ledger.Kinds() {
		if bookings[k].movement != "" {
			list = append(list, k)
		}
	}
	return list
}

// LineType says what a line of a settlement is about.
type LineType string

// Types of lines.
const (
	LineCharge        LineType = "charge"
	LineRefund        LineType = "refund"
	LineChargeback    LineType = "chargeback"
	LineChargebackFee LineType = "chargeback_fee"
	LineRelease       LineType = "reserve_release"
	LineAdjustment    LineType = "adjustment"
)

// LineTypes lists all types.
func LineTypes() []LineType {
	return []LineType{LineCharge, LineRefund, LineChargeback, LineChargebackFee, LineRelease, LineAdjustment}
}

// Unsettled is a transfer that no settlement has claimed.
type Unsettled struct {
	ledger.Transfer
	Captured time.Time // when its payment was captured; zero where it never was
}

// SettlementLine is a transfer that a settlement has claimed, in USD cents. Net
// is what it added to the merchant's money: pending, available and frozen
// together, so that a freeze, which only moves it, adds nothing.
//
// Net is exactly Gross − Platform − Provider − Network − Refund − Chargeback −
// ChargebackFee − Reserve + Adjustment, for the postings sum to zero.
type SettlementLine struct {
	Transfer     string
	Settlement   string
	tenant.Scope       // without a shop
	Number       int64 // from 1 in the order of the report; 0: claimed, not listed
	Type         LineType
	Payment      string
	Claim        string
	OrderID      string       // known in reports
	Local        money.Amount // what the shopper saw
	At           time.Time
	Day          time.Time // whose reserve it holds or gives back; zero for none

	Gross, Platform, Provider, Network, Refund, Chargeback, ChargebackFee int64

	Reserve    int64 // held; below zero: given back or released
	Adjustment int64
	Net        int64
	Pending    int64 // what it added to pending alone
}

// line is the transfer as the settlement lists it.
func (u Unsettled) line(s Settlement) SettlementLine {
	t := u.Transfer
	l := SettlementLine{
		Transfer: t.ID, Settlement: s.ID, Scope: s.Scope, Type: bookings[t.Kind].line,
		Payment: t.Payment, Claim: t.Claim, Local: t.Local, At: t.At,
		Gross: -t.Amount(ledger.Receivable), Platform: t.Amount(ledger.PlatformFees),
		Provider: t.Amount(ledger.ProviderFees) + t.Amount(ledger.FlatFees), Network: t.Amount(ledger.NetworkFees),
		Refund: t.Amount(ledger.Refunds), Chargeback: t.Amount(ledger.Chargebacks), ChargebackFee: t.Amount(ledger.ChargebackFees),
		Reserve: t.Amount(ledger.Reserve), Pending: t.Amount(ledger.Pending),
		Net: t.Amount(ledger.Pending) + t.Amount(ledger.Available) + t.Amount(ledger.Frozen),
	}
	l.Adjustment = l.Net - (l.Gross - l.Platform - l.Provider - l.Network - l.Refund - l.Chargeback - l.ChargebackFee - l.Reserve)
	switch {
	case l.Net == 0 && bookings[t.Kind].quiet:
		l.Type = ""
	case l.Net != 0 && l.Type == "":
		l.Type = LineAdjustment // nothing that changes what a merchant has is hidden
	}
	if l.Reserve != 0 && t.Kind != ledger.ReserveRelease {
		l.Day = DayOf(t.At)
		if !u.Captured.IsZero() {
			l.Day = DayOf(u.Captured)
		}
	}
	return l
}

func (l SettlementLine) listed() bool { return l.Type != "" }

// Amount is what the line is about: what the shopper paid, or, below zero, got
// back.
func (l SettlementLine) Amount() int64 { return l.Gross - l.Refund - l.Chargeback }

// Fees is the price of a payment as its settlement shows it, below zero where
// a refund gave it back.
func (l SettlementLine) Fees() tenant.Fees {
	return tenant.Fees{Platform: l.Platform, Provider: l.Provider, Network: l.Network}
}

// Totals is the sums of a settlement's lines, in USD cents (SETTLE-10).
type Totals struct {
	Lines          int64
	Gross          int64
	Platform       int64
	Provider       int64
	Network        int64
	Refunds        int64
	Chargebacks    int64
	ChargebackFees int64
	Held           int64 // of the reserve, from charges
	Released       int64 // of the reserve, also what refunds gave back
	Adjustments    int64
	Net            int64
}

// Fees is what the payments cost.
func (t Totals) Fees() tenant.Fees {
	return tenant.Fees{Platform: t.Platform, Provider: t.Provider, Network: t.Network}
}

func (t Totals) add(l SettlementLine) Totals {
	return Totals{
		Lines: t.Lines + 1, Gross: t.Gross + l.Gross, Platform: t.Platform + l.Platform, Provider: t.Provider + l.Provider,
		Network: t.Network + l.Network, Refunds: t.Refunds + l.Refund, Chargebacks: t.Chargebacks + l.Chargeback,
		ChargebackFees: t.ChargebackFees + l.ChargebackFee, Held: t.Held + max(0, l.Reserve), Released: t.Released + max(0, -l.Reserve),
		Adjustments: t.Adjustments + l.Adjustment, Net: t.Net + l.Net,
	}
}
