package reconcile

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// disputeLag is how long after the end of a dispute a report may still have a line of it.
const disputeLag = 30 * 24 * time.Hour

// chargeback matches a line about money that was taken back for a dispute. A line does not say which dispute it is about, so one that is
// open, or was not long ago, explains it. Some providers tell of a second dispute of a payment nowhere else.
func (m *Matcher) chargeback(l Line, sale *Sale) {
	m.Totals.Chargebacks++
	note := "there is no dispute here"
	if sale.Payment.Disputes.Any {
		if note = "each dispute of it had ended long before"; !sale.settledBefore(m.From.Add(-disputeLag)) {
			return
		}
	}
	m.report(m.about(l, sale, Finding{Discrepancy: ChargebackMissingHere, USD: sale.Payment.Price.Amount.Minor, Note: note}))
}

// settledBefore reports whether all disputes of a sale had ended by a time.
func (s *Sale) settledBefore(at time.Time) bool {
	disputes := slices.DeleteFunc(slices.Clone(s.Claims), func(c pay.Claim) bool { return c.Kind != pay.ChargebackClaim })
	return len(disputes) > 0 && !slices.ContainsFunc(disputes, func(c pay.Claim) bool {
		return !c.Status.Terminal() || c.Resolved.IsZero() || !c.Resolved.Before(at)
	})
}
