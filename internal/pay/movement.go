package pay

import (
	"fmt"
	"math"
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
		case ledger.PlatformFees, ledger.ProviderFees, ledger.FlatFees, ledger.NetworkFees:
			fees = 1
		}
	}
	return n + fees + held
}

func feesOf(t ledger.Transfer) int64 {
	return t.Amount(ledger.PlatformFees) + t.Amount(ledger.ProviderFees) + t.Amount(ledger.FlatFees) + t.Amount(ledger.NetworkFees)
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
	of := t
	if t == MovedFee || t == MovedHold {
		of = MovedCharge // of which they are parts
	}
	return slices.DeleteFunc(MovingKinds(), func(k ledger.Kind) bool { return t != "" && bookings[k].movement != of })
}

// LineType is the type of a settlement line.
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

// Unsettled is a transfer that no settlement has collected.
type Unsettled struct {
	ledger.Transfer
	Captured time.Time // when its payment was captured; zero if it was not
}

// SettlementLine is a transfer that a settlement has collected, in USD cents. Net is what it added
// to the merchant's money: pending, available and frozen together. So a freeze, which only moves
// money, adds nothing.
//
// Net is exactly Gross − Platform − Provider − Network − Refund − Chargeback − ChargebackFee −
// Reserve + Adjustment, because the postings sum to zero.
type SettlementLine struct {
	Transfer     string
	Settlement   string
	tenant.Scope       // without a shop
	Number       int64 // from 1 in the order of the report; 0: collected, not listed
	Type         LineType
	Payment      string
	Claim        string
	OrderID      string       // set in reports only
	Local        money.Amount // the shopper's amount
	At           time.Time
	Day          time.Time // the day whose reserve it holds or returns; zero for none

	Gross, Platform, Provider, Network, Refund, Chargeback, ChargebackFee int64

	Reserve    int64 // held; below zero: returned or released
	Adjustment int64
	Net        int64
	Pending    int64 // what it added to pending
}

// line returns the transfer as the settlement lists it.
func (u Unsettled) line(s Settlement) SettlementLine {
	t := u.Transfer
	l := SettlementLine{
		Transfer: t.ID, Settlement: s.ID, Scope: s.Scope, Type: bookings[t.Kind].line,
		Payment: t.Payment, Claim: t.Claim, Local: t.Local, At: t.At,
		Gross: t.Gross(), Platform: t.Amount(ledger.PlatformFees),
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
		l.Type = LineAdjustment // every change of the merchant's money must be listed
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

// Amount is the amount that the shopper paid, in USD cents, or, below zero, got back.
func (l SettlementLine) Amount() int64 { return l.Gross - l.Refund - l.Chargeback }

// Fees is the price of a payment as its settlement shows it, below zero if a refund returned it.
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
	Held           int64 // reserve held back from charges
	Released       int64 // reserve released, including what refunds returned
	Adjustments    int64
	Net            int64
}

// Fees is the sum of the payments' fees.
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

const day = 24 * time.Hour

// ReservePeriod is how long the rolling reserve of a payment is held. It is the same for all tiers,
// which differ only in how much is held. So a change of tier cannot move a promised release.
const ReservePeriod = 90 * day

// ReleasesShown is how many days of the reserve a balance shows: the next ones (BAL-4). The calendar of the reserve has all.
const ReleasesShown = 3

// DayOf is the start of a time's day, in UTC.
func DayOf(t time.Time) time.Time { return t.UTC().Truncate(day) }

// ReleaseOf is when the reserve of a payment captured at a time is released. All payments of a day
// are released together, once each was held for the period.
func ReleaseOf(captured time.Time) time.Time { return DayOf(captured).Add(day + ReservePeriod) }

// ReserveOf is the id of the reserve that holds the payment's part.
func ReserveOf(p Payment) string {
	return ReserveID(p.Scope, DayOf(p.Times.Completed))
}

// Reserve is the money held back from the payments of one day, one row for each merchant,
// environment and day.
type Reserve struct {
	ID string // rsv_…, made from the merchant, the environment and the day
	tenant.Scope
	Version   int64
	Day       time.Time // when the payments were captured
	ReleaseAt time.Time
	Held      int64     // USD cents, less what refunds gave back
	Released  int64     // USD cents
	ClosedAt  time.Time // when the release began: after it, refunds draw nothing from it
	DueAt     time.Time // zero if nothing is left to release
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Closed reports whether the release has begun.
func (r Reserve) Closed() bool { return !r.ClosedAt.IsZero() }

// Left is what is not released yet, in USD cents.
func (r Reserve) Left() int64 { return r.Held - r.Released }

// ReserveID is the id of a day's reserve.
func ReserveID(s tenant.Scope, day time.Time) string {
	return derivedID("rsv_", day, s.Merchant, string(s.Environment()), day.Format(time.DateOnly))
}

// hold adds what settled lines hold of the day's reserve, or subtracts what they give back. A zero
// r is a day without a row.
func (r Reserve) hold(s tenant.Scope, day time.Time, amount int64, now time.Time) Reserve {
	if r.Version == 0 {
		r = Reserve{
			ID: ReserveID(s, day), Scope: tenant.Scope{Merchant: s.Merchant, Live: s.Live}, Day: day,
			ReleaseAt: ReleaseOf(day), CreatedAt: now,
		}
	}
	r.Version++
	r.Held += amount
	r.UpdatedAt = now
	return r.wait()
}

// wait sets the time of the release. There is none if refunds took the day's whole reserve.
func (r Reserve) wait() Reserve {
	r.DueAt = time.Time{}
	if r.Left() > 0 {
		r.DueAt = r.ReleaseAt
	}
	return r
}

// Close begins the release. Whether a refund draws from the reserve must not depend on a clock: a
// commit may take any length of time, and the same money could be released and given back. So the
// day is closed first, and refunds that are written later draw from the merchant's balance. Only
// then are the earlier refunds counted.
//
// The floor can never be violated. It makes this Change and changes that draw from the reserve wait
// for each other.
func (r Reserve) Close(now time.Time) (Reserve, Change) {
	r.Version++
	r.ClosedAt, r.UpdatedAt = now, now
	r = r.wait()
	return r, Change{
		Reserves: []Reserve{r},
		Floors:   []ledger.Floor{{Merchant: r.Merchant, Live: r.Live, Account: ledger.Reserve, Min: math.MinInt64}},
	}
}

// Release releases what is left of a closed day, but not more than the merchant's reserve holds.
// given is what refunds that no settlement has collected yet gave back of it, in USD cents, read
// after it was closed. It is not released.
func (r Reserve) Release(given int64, have ledger.Balances, now time.Time) Change {
	free := max(0, min(r.Left()-max(0, given), have[ledger.Reserve]))
	r.Version++
	r.Released += free
	r.UpdatedAt = now
	r = r.wait()
	if r.Left() > 0 {
		r.DueAt = now.Add(day) // the next settlement collects those refunds
	}
	change := Change{Reserves: []Reserve{r}}
	if free > 0 {
		change.Transfers = []ledger.Transfer{{
			// After a reset of the sandbox the day has another row with the same id: its time tells them apart.
			ID: fmt.Sprintf("tr_%s-%x-release-%d", r.ID[len("rsv_"):], r.CreatedAt.UnixMicro(), r.Version), Merchant: r.Merchant, Live: r.Live,
			Kind: ledger.ReserveRelease, Local: money.New(free, money.USD), At: now,
			Postings: []ledger.Posting{{Account: ledger.Reserve, Amount: -free}, {Account: ledger.Available, Amount: free}},
		}}
		change.Floors = []ledger.Floor{{Merchant: r.Merchant, Live: r.Live, Account: ledger.Reserve}}
	}
	return change
}
