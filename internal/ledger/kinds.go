package ledger

// Kinds of transfers that no payment makes.
const (
	Settled        Kind = "settlement"      // a batch closed: pending to available
	ReserveRelease Kind = "reserve_release" // a day's reserve is free: reserve to available
)

// Kinds lists every kind of transfer. A test holds it against the constants.
func Kinds() []Kind {
	return []Kind{
		Capture, RefundFreeze, RefundPaid, RefundRelease, ChargebackHold, ChargebackFee, ChargebackPaid, ChargebackRelease, ChargebackReversal,
		LateCapture, LateRefund, LateAccepted,
		Settled, ReserveRelease, WithdrawalOpened, WithdrawalPaid, WithdrawalReversal, WithdrawalReturn,
	}
}
