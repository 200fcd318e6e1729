package pay

import "github.com/cascadapay/cascada/internal/ledger"

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
