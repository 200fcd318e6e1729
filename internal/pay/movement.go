package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
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

// Buckets lists the accounts that a merchant sees as the balance, in the order in which the
// movements of one transfer are shown.
func Buckets() []ledger.Account {
	return []ledger.Account{ledger.Pending, ledger.Available, ledger.Frozen, ledger.Reserve}
}

// Movement is one line of a merchant's balance: what one transfer changed in one bucket, and why.
type Movement struct {
	ID           string // mov_…, made from the transfer's id
	Type         MovementType
	Amount       int64 // USD cents
	Bucket       ledger.Account
	BalanceAfter int64 // USD cents, of the bucket; set in lists only
	Payment      string
	Claim        string
	Settlement   string
	Withdrawal   string
	Adjustment   string           // the adjustment that it is of, or ""
	Reason       AdjustmentReason // of its adjustment; set in lists only, as Text then is its note
	Text         string
	At           time.Time
}

// Movements shows a transfer as its merchant sees it, oldest first. For each bucket, the movements
// add up to exactly the postings. A capture is shown as the charge, its fees, and the reserve that
// is held back. Any other transfer has one movement for each bucket that it changes.
func Movements(t ledger.Transfer) []Movement {
	kind := bookings[t.Kind]
	var list []Movement
	add := func(of MovementType, bucket ledger.Account, amount int64, text string) {
		if amount == 0 {
			return
		}
		m := Movement{
			ID: fmt.Sprintf("mov_%s-%d", strings.TrimPrefix(t.ID, ledger.TransferPrefix), len(list)+1), Type: of, Amount: amount,
			Bucket: bucket, Payment: t.Payment, Claim: t.Claim, Text: text, At: t.At,
		}
		// A transfer of a settlement or a withdrawal is named after it.
		suffix, _, _ := strings.Cut(strings.TrimPrefix(t.ID, ledger.TransferPrefix), "-")
		m.Adjustment, _ = AdjustmentOf(t)
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
		add(MovedCharge, ledger.Pending, t.Gross(), kind.text)
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

// Explained returns a movement with the reason, the note and the object of its adjustment.
func (m Movement) Explained(a Adjustment) Movement {
	m.Reason, m.Text = a.Reason, a.Note
	switch {
	case strings.HasPrefix(a.About, PaymentPrefix):
		m.Payment = a.About
	case strings.HasPrefix(a.About, ClaimPrefix):
		m.Claim = a.About
	case strings.HasPrefix(a.About, WithdrawalPrefix):
		m.Withdrawal = a.About
	case strings.HasPrefix(a.About, SettlementPrefix):
		m.Settlement = a.About
	}
	return m
}

// MovementCount is the number of a transfer's Movements.
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
		case ledger.PlatformFees, ledger.ProviderFees, ledger.FlatFees, ledger.NetworkFees, ledger.FeeTaxes:
			fees = 1
		}
	}
	return n + fees + held
}

func feesOf(t ledger.Transfer) int64 {
	return t.Amount(ledger.PlatformFees) + t.Amount(ledger.ProviderFees) + t.Amount(ledger.FlatFees) + t.Amount(ledger.NetworkFees) + t.Amount(ledger.FeeTaxes)
}

// booking is how the merchant sees a kind of transfer.
type booking struct {
	movement MovementType // type of its movements, for a capture in parts; "": it changes no bucket
	line     LineType     // type of its settlement line; "": collected, but not listed
	quiet    bool         // listed only if it changes the merchant's total
	apart    bool         // no settlement collects it: it moves settled money
	text     string       // for people
}

// bookings has one row for each kind of transfer. A new kind needs a row here; a test checks that.
var bookings = map[ledger.Kind]booking{
	ledger.Capture: {movement: MovedCharge, line: LineCharge, text: "Payment received"},

	// A refund takes its part of the reserve when it is frozen, and returns it if the refund fails.
	ledger.RefundFreeze:  {movement: MovedFreeze, line: LineRelease, quiet: true, text: "Held for a refund"},
	ledger.RefundPaid:    {movement: MovedRefund, line: LineRefund, text: "Refund paid"},
	ledger.RefundRelease: {movement: MovedUnfreeze, line: LineRelease, quiet: true, text: "A refund was not made"},

	ledger.RefundFee:    {movement: MovedFee, line: LineRefundFee, text: "Fee of a refund"},
	ledger.RefundReturn: {movement: MovedRefund, line: LineRefund, text: "A refund came back"},

	ledger.ChargebackHold:    {movement: MovedFreeze, text: "Held for a dispute"},
	ledger.ChargebackFee:     {movement: MovedChargebackFee, line: LineChargebackFee, text: "Fee of a dispute"},
	ledger.ChargebackPaid:    {movement: MovedClaim, line: LineChargeback, text: "Dispute lost"},
	ledger.ChargebackRelease: {movement: MovedUnfreeze, text: "Dispute won"},

	ledger.ChargebackReversal: {movement: MovedFreeze, line: LineChargeback, text: "A lost dispute goes on"},

	// Late money waits in suspense for the operator.
	ledger.LateCapture:  {},
	ledger.LateRefund:   {},
	ledger.LateReturn:   {},
	ledger.LateReversal: {},
	ledger.LateApplied:  {}, // the capture that follows is the payment's
	ledger.LateKept:     {movement: MovedAdjustment, line: LineAdjustment, text: "Part of a payment of another amount"},
	ledger.LateAccepted: {movement: MovedAdjustment, line: LineAdjustment, text: "Payment received after its end"},

	ledger.Adjusted:       {movement: MovedAdjustment, line: LineAdjustment, text: "Adjustment"},
	ledger.ReserveRelease: {movement: MovedRelease, line: LineRelease, text: "Rolling reserve released"},
	ledger.Settled:        {movement: MovedSettlement, apart: true, text: "Settled"},

	// Withdrawals move money that was settled.
	ledger.WithdrawalOpened:   {movement: MovedWithdrawal, apart: true, text: "Withdrawal"},
	ledger.WithdrawalPaid:     {apart: true},
	ledger.WithdrawalReversal: {movement: MovedReversal, apart: true, text: "Withdrawal given back"},
	ledger.WithdrawalReturn:   {movement: MovedReversal, apart: true, text: "Withdrawal sent back by the bank"},

	// A float belongs to no merchant.
	ledger.FloatEntered:  {apart: true},
	ledger.FloatSent:     {apart: true},
	ledger.FloatArrived:  {apart: true},
	ledger.FloatBack:     {apart: true},
	ledger.FloatReturned: {apart: true},
}

// SettledKinds lists the kinds of transfers that settlements collect, captures first, in a fixed
// order.
func SettledKinds() []ledger.Kind {
	var list []ledger.Kind
	for _, k := range ledger.Kinds() {
		if b, ok := bookings[k]; ok && !b.apart {
			list = append(list, k)
		}
	}
	return list
}

// MovingKinds lists the kinds of transfers that change what a merchant sees as the balance.
func MovingKinds() []ledger.Kind {
	var list []ledger.Kind
	for _, k := range ledger.Kinds() {
		if bookings[k].movement != "" {
			list = append(list, k)
		}
	}
	return list
}

// KindsOf lists the kinds of transfers that have movements of a type; all that have some for "".
func KindsOf(t MovementType) []ledger.Kind {
	part := t == MovedFee || t == MovedHold // of a charge
	return slices.DeleteFunc(MovingKinds(), func(k ledger.Kind) bool {
		of := bookings[k].movement
		return t != "" && of != t && !(part && of == MovedCharge)
	})
}

// LineType is the type of a settlement line.
type LineType string

// Types of lines.
const (
	LineCharge        LineType = "charge"
	LineRefund        LineType = "refund"
	LineRefundFee     LineType = "refund_fee"
	LineChargeback    LineType = "chargeback"
	LineChargebackFee LineType = "chargeback_fee"
	LineRelease       LineType = "reserve_release"
	LineAdjustment    LineType = "adjustment"
)

// LineTypes lists all types.
func LineTypes() []LineType {
	return []LineType{LineCharge, LineRefund, LineRefundFee, LineChargeback, LineChargebackFee, LineRelease, LineAdjustment}
}

// Unsettled is a transfer that no settlement has collected.
type Unsettled struct {
	ledger.Transfer
	Day   time.Time         // whose reserve its payment's part is in (ReserveDay); zero if it was not captured
	Taxed merchants.TaxRate // on the fees of its payment; zero if it moves no tax
}

// SettlementLine is a transfer that a settlement has collected, in USD cents. Net is what it added
// to the merchant's money: pending, available and frozen together. So a freeze, which only moves
// money, adds nothing.
//
// Net is exactly Gross − Platform − Provider − Network − Tax − Refund − Chargeback − ChargebackFee −
// Reserve + Adjustment, because the postings sum to zero.
type SettlementLine struct {
	Transfer        string
	Settlement      string
	merchants.Scope       // without a shop
	Number          int64 // from 1 in the order of the report; 0: collected, not listed
	Type            LineType
	Payment         string
	Claim           string
	OrderID         string            // set in reports only
	Taxed           merchants.TaxRate // on its fees: of its payment, read with the line
	Local           money.Amount      // the shopper's amount
	At              time.Time
	Day             time.Time // the day whose reserve it holds or returns; zero for none

	Gross, Platform, Provider, Network, Tax, Refund, Chargeback, ChargebackFee int64

	Reserve    int64 // held; below zero: returned or released
	Adjustment int64
	Net        int64
	Pending    int64 // what it added to pending
}

// line returns the transfer as the settlement lists it.
func (u Unsettled) line(s Settlement) SettlementLine {
	t := u.Transfer
	l := SettlementLine{
		Transfer:      t.ID,
		Settlement:    s.ID,
		Scope:         s.Scope,
		Type:          bookings[t.Kind].line,
		Payment:       t.Payment,
		Claim:         t.Claim,
		Local:         t.Local,
		At:            t.At,
		Gross:         t.Gross(),
		Platform:      t.Amount(ledger.PlatformFees),
		Provider:      t.Amount(ledger.ProviderFees) + t.Amount(ledger.FlatFees),
		Network:       t.Amount(ledger.NetworkFees),
		Tax:           t.Amount(ledger.FeeTaxes),
		Refund:        t.Amount(ledger.Refunds),
		Chargeback:    t.Amount(ledger.Chargebacks),
		ChargebackFee: t.Amount(ledger.ChargebackFees),
		Taxed:         u.Taxed,
		Reserve:       t.Amount(ledger.Reserve),
		Pending:       t.Amount(ledger.Pending),
		Net:           t.Amount(ledger.Pending) + t.Amount(ledger.Available) + t.Amount(ledger.Frozen),
	}
	l.Adjustment = l.Net - (l.Gross - l.Platform - l.Provider - l.Network - l.Tax - l.Refund - l.Chargeback - l.ChargebackFee - l.Reserve)
	switch {
	case l.Net == 0 && bookings[t.Kind].quiet:
		l.Type = ""
	case l.Net != 0 && l.Type == "":
		l.Type = LineAdjustment // every change of the merchant's money must be listed
	}
	if l.Reserve != 0 && t.Kind != ledger.ReserveRelease {
		if l.Day = u.Day; u.Day.IsZero() {
			l.Day = DayOf(t.At)
		}
	}
	return l
}

func (l SettlementLine) listed() bool { return l.Type != "" }

// Amount is the amount that the shopper paid, in USD cents, or, below zero, got back.
func (l SettlementLine) Amount() int64 { return l.Gross - l.Refund - l.Chargeback }

// Fees is the price of a payment as its settlement shows it, below zero if a refund returned it.
func (l SettlementLine) Fees() merchants.Fees {
	return merchants.Fees{Platform: l.Platform, Provider: l.Provider, Network: l.Network, Tax: l.Tax}
}

// Totals is the sums of a settlement's lines, in USD cents (SETTLE-10).
type Totals struct {
	Lines          int64
	Gross          int64
	Platform       int64
	Provider       int64
	Network        int64
	Tax            int64 // on the fees
	Refunds        int64
	Chargebacks    int64
	ChargebackFees int64
	Held           int64 // reserve held back from charges
	Released       int64 // reserve released, including what refunds returned
	Adjustments    int64
	Net            int64
}

// Fees is the sum of the payments' fees.
func (t Totals) Fees() merchants.Fees {
	return merchants.Fees{Platform: t.Platform, Provider: t.Provider, Network: t.Network, Tax: t.Tax}
}

func (t Totals) add(l SettlementLine) Totals {
	return Totals{
		Lines: t.Lines + 1, Gross: t.Gross + l.Gross, Platform: t.Platform + l.Platform, Provider: t.Provider + l.Provider,
		Network: t.Network + l.Network, Tax: t.Tax + l.Tax, Refunds: t.Refunds + l.Refund, Chargebacks: t.Chargebacks + l.Chargeback,
		ChargebackFees: t.ChargebackFees + l.ChargebackFee, Held: t.Held + max(0, l.Reserve), Released: t.Released + max(0, -l.Reserve),
		Adjustments: t.Adjustments + l.Adjustment, Net: t.Net + l.Net,
	}
}

// TaxSum is what a settlement has of one tax, in USD cents. After a change of plan it may have several.
type TaxSum struct {
	merchants.TaxRate
	Amount int64
}

// withTax adds a line's tax to the sums, which it does not change.
func withTax(sums []TaxSum, l SettlementLine) []TaxSum {
	if l.Tax == 0 {
		return sums
	}
	sums = slices.Clone(sums)
	for i := range sums {
		if sums[i].TaxRate == l.Taxed {
			sums[i].Amount += l.Tax
			return sums
		}
	}
	return append(sums, TaxSum{l.Taxed, l.Tax})
}
