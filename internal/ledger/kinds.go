package ledger

// Kinds of transfers that do not come from a payment.
const (
	Settled        Kind = "settlement"      // a batch closed: pending to available
	ReserveRelease Kind = "reserve_release" // a day's reserve is released: reserve to available
	Adjusted       Kind = "adjustment"      // an operator's adjustment: adjustments to available, or back
)

// Kinds of transfers in a float.
const (
	FloatEntered  Kind = "float_entry"  // the operator's entry: funding to float, or back
	FloatSent     Kind = "float_sent"   // a payout is sent: float to committed
	FloatArrived  Kind = "float_paid"   // it arrived: committed to paid
	FloatBack     Kind = "float_back"   // it was not paid: committed to float
	FloatReturned Kind = "float_return" // it had arrived and came back: paid to float
)

// Kinds lists every kind of transfer. A test compares it with the constants.
func Kinds() []Kind {
	return []Kind{
		Capture, RefundFreeze, RefundPaid, RefundFee, RefundRelease, RefundReturn, ChargebackHold, ChargebackFee, ChargebackPaid, ChargebackRelease, ChargebackReversal,
		LateCapture, LateRefund, LateReturn, LateAccepted, LateKept, LateReversal, LateApplied,
		Settled, ReserveRelease, Adjusted, WithdrawalOpened, WithdrawalPaid, WithdrawalReversal, WithdrawalReturn,
		FloatEntered, FloatSent, FloatArrived, FloatBack, FloatReturned,
	}
}
