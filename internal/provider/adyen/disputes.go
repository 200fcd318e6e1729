package adyen

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// stance is where a dispute stands. The zero value: it is open in the first instance, and waits for the merchant.
type stance struct {
	instance  int // 2: after the first defense
	reviewing bool
	ruling    pay.Ruling
}

// disputes says where each event and its status, additionalData.disputeStatus, leave a dispute. Disputes of payments that were
// processed in Brazil have no status: "". The statuses of each event are those of docs.adyen.com, dispute webhooks and dispute flow
// (2026-09-15). All that follows the first defense is the second instance, so that a second chargeback ends the same claim as the
// ruling before it.
var disputes = map[string]map[string]stance{
	"NOTIFICATION_OF_CHARGEBACK": {"": {}, "Undefended": {}, "Pending": {reviewing: true}}, // Pending: Adyen defends it
	"CHARGEBACK": {
		"": {}, "Undefended": {}, "Pending": {reviewing: true}, "Lost": {ruling: pay.DisputeLost}, "Accepted": {ruling: pay.DisputeLost},
	},
	"INFORMATION_SUPPLIED": {"": {reviewing: true}, "Pending": {reviewing: true}},
	"DISPUTE_DEFENSE_PERIOD_ENDED": { // nobody can defend it any more
		"": {ruling: pay.DisputeLost}, "Undefended": {ruling: pay.DisputeLost}, "Lost": {ruling: pay.DisputeLost}, "Accepted": {ruling: pay.DisputeLost},
	},
	// The money is back in the account. Pending: the issuer may still go on to the next instance.
	"CHARGEBACK_REVERSED":               {"": {ruling: pay.DisputeWon}, "Pending": {ruling: pay.DisputeWon}, "Won": {ruling: pay.DisputeWon}},
	"ISSUER_RESPONSE_TIMEFRAME_EXPIRED": {"": {ruling: pay.DisputeWon}, "Won": {ruling: pay.DisputeWon}},

	"SECOND_CHARGEBACK":       {"": {2, false, pay.DisputeLost}, "Lost": {2, false, pay.DisputeLost}},
	"PREARBITRATION_OPEN":     {"": {instance: 2}, "Undefended": {instance: 2}, "Pending": {2, true, ""}},
	"PREARBITRATION_ACCEPTED": {"": {2, true, ""}, "Pending": {2, true, ""}, "Lost": {2, false, pay.DisputeLost}}, // perhaps in part: a second chargeback follows
	"PREARBITRATION_DECLINED": {"": {2, true, ""}, "Pending": {2, true, ""}},
	"PREARBITRATION_ISSUER_WITHDRAWN": { // Pending: the issuer may still open it again
		"": {2, false, pay.DisputeWithdrawn}, "Pending": {2, true, ""}, "Won": {2, false, pay.DisputeWithdrawn},
	},
	"PREARBITRATION_WON":      {"": {2, false, pay.DisputeWon}, "Won": {2, false, pay.DisputeWon}},
	"PREARBITRATION_LOST":     {"": {2, false, pay.DisputeLost}, "Lost": {2, false, pay.DisputeLost}},
	"SCHEME_ARBITRATION":      {"": {2, true, ""}, "Pending": {2, true, ""}},
	"SCHEME_ARBITRATION_WON":  {"": {2, false, pay.DisputeWon}, "Won": {2, false, pay.DisputeWon}},
	"SCHEME_ARBITRATION_LOST": {"": {2, false, pay.DisputeLost}, "Lost": {2, false, pay.DisputeLost}},
}

// nameless are the events that have neither the dispute's reference nor a payment's original one, unless the operator enables "Include
// the originalReference for CHARGEBACK_REVERSED events" in the webhook's settings. Then their reference is the payment's, as that
// setting's page implies.
var nameless = []string{"CHARGEBACK_REVERSED", "SECOND_CHARGEBACK", "PREARBITRATION_WON", "PREARBITRATION_LOST"}

// disputed reads what an item reports about a dispute. All items of a dispute carry its reference.
func (p *Provider) disputed(i item, n *pay.Notice) bool {
	status := i.more("disputeStatus")
	switch {
	case i.Success != "true":
		p.Strange(i.Event, i.Success)
		return false
	case i.inquiry(status):
		return false
	}
	s, known := disputes[i.Event][status]
	if !known { // it is open, until we know better
		p.Strange(i.Event, status)
		s = stance{disputes[i.Event][""].instance, true, ""}
	}
	n.Dispute, n.Instance, n.Reviewing, n.Ruling = s.ruling == "", s.instance, s.reviewing, s.ruling
	if n.DisputeID = i.Ref; i.Original == "" && slices.Contains(nameless, i.Event) {
		n.DisputeID = ""
	}
	n.Stage, n.Network = i.Event, provider.Printable(i.more("chargebackReasonCode"), 20)
	if status != "" {
		n.Stage += " " + provider.Printable(status, 20)
	}
	n.Outcome.Message, n.Outcome.MoneyRef = provider.Printable(i.Reason, 100), i.payment()
	n.Outcome.Local, _ = i.local()
	if until, err := time.Parse(time.RFC3339, i.more("defensePeriodEndsAt")); err == nil {
		n.RespondBy = until.UTC()
	}
	return true
}

// inquiry reports whether an item is about a request for information, in which nobody takes money: by its status, by its reason's
// code, or because documents were supplied and nothing speaks of a chargeback. Pix has only such requests, and Adyen answers them.
func (i item) inquiry(status string) bool {
	switch status {
	case "Unresponded", "Responded", "Expired":
		return true
	case "":
		return i.more("chargebackReasonCode") == "" && (i.more("rfiReasonCode") != "" || i.Event == "INFORMATION_SUPPLIED")
	}
	return false
}
