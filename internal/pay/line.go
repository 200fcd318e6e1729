package pay

import (
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

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
	Transfer   string
	Settlement string
	Scope            // without a shop
	Number     int64 // from 1 in the order of the report; 0: claimed, not listed
	Type       LineType
	Payment    string
	Claim      string
	OrderID    string       // known in reports
	Local      money.Amount // what the shopper saw
	At         time.Time
	Day        time.Time // whose reserve it holds or gives back; zero for none

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
func (l SettlementLine) Fees() Fees {
	return Fees{Platform: l.Platform, Provider: l.Provider, Network: l.Network}
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
func (t Totals) Fees() Fees {
	return Fees{Platform: t.Platform, Provider: t.Provider, Network: t.Network}
}

func (t Totals) add(l SettlementLine) Totals {
	return Totals{
		Lines: t.Lines + 1, Gross: t.Gross + l.Gross, Platform: t.Platform + l.Platform, Provider: t.Provider + l.Provider,
		Network: t.Network + l.Network, Refunds: t.Refunds + l.Refund, Chargebacks: t.Chargebacks + l.Chargeback,
		ChargebackFees: t.ChargebackFees + l.ChargebackFee, Held: t.Held + max(0, l.Reserve), Released: t.Released + max(0, -l.Reserve),
		Adjustments: t.Adjustments + l.Adjustment, Net: t.Net + l.Net,
	}
}
