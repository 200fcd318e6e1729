package adyen

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// dispute is an item about a dispute, as it comes without the setting that adds original references to rulings.
func dispute(event, status string) object {
	i := object{"eventCode": event, "pspReference": "D1", "originalReference": "PAID1", "reason": "Goods not received"}
	more := object{"chargebackReasonCode": "13.1"}
	switch event {
	case "CHARGEBACK_REVERSED", "SECOND_CHARGEBACK", "PREARBITRATION_WON", "PREARBITRATION_LOST":
		i["pspReference"], i["originalReference"] = "PAID1", ""
	}
	if status != "" {
		more["disputeStatus"] = status
	}
	i["additionalData"] = more
	return i
}

// Each event and its status leave a dispute where Adyen's pages about disputes say.
func TestDisputesByEventAndStatus(t *testing.T) {
	const open, review, lost, won, withdrawn = "open", "review", "lost", "won", "withdrawn"
	for of, want := range map[string]string{
		"NOTIFICATION_OF_CHARGEBACK": open, "NOTIFICATION_OF_CHARGEBACK Undefended": open, "NOTIFICATION_OF_CHARGEBACK Pending": review,
		"CHARGEBACK": open, "CHARGEBACK Undefended": open, "CHARGEBACK Pending": review, "CHARGEBACK Lost": lost, "CHARGEBACK Accepted": lost,
		"INFORMATION_SUPPLIED": review, "INFORMATION_SUPPLIED Pending": review,
		"DISPUTE_DEFENSE_PERIOD_ENDED": lost, "DISPUTE_DEFENSE_PERIOD_ENDED Undefended": lost, "DISPUTE_DEFENSE_PERIOD_ENDED Lost": lost,
		"DISPUTE_DEFENSE_PERIOD_ENDED Accepted": lost,
		"CHARGEBACK_REVERSED":                   won, "CHARGEBACK_REVERSED Pending": won, "CHARGEBACK_REVERSED Won": won,
		"ISSUER_RESPONSE_TIMEFRAME_EXPIRED": won, "ISSUER_RESPONSE_TIMEFRAME_EXPIRED Won": won,
		"SECOND_CHARGEBACK": "2 " + lost, "SECOND_CHARGEBACK Lost": "2 " + lost,
		"PREARBITRATION_OPEN": "2 " + open, "PREARBITRATION_OPEN Undefended": "2 " + open, "PREARBITRATION_OPEN Pending": "2 " + review,
		"PREARBITRATION_ACCEPTED": "2 " + review, "PREARBITRATION_ACCEPTED Pending": "2 " + review, "PREARBITRATION_ACCEPTED Lost": "2 " + lost,
		"PREARBITRATION_DECLINED": "2 " + review, "PREARBITRATION_DECLINED Pending": "2 " + review,
		"PREARBITRATION_ISSUER_WITHDRAWN": "2 " + withdrawn, "PREARBITRATION_ISSUER_WITHDRAWN Pending": "2 " + review,
		"PREARBITRATION_ISSUER_WITHDRAWN Won": "2 " + withdrawn,
		"PREARBITRATION_WON":                  "2 " + won, "PREARBITRATION_WON Won": "2 " + won,
		"PREARBITRATION_LOST": "2 " + lost, "PREARBITRATION_LOST Lost": "2 " + lost,
		"SCHEME_ARBITRATION": "2 " + review, "SCHEME_ARBITRATION Pending": "2 " + review,
		"SCHEME_ARBITRATION_WON": "2 " + won, "SCHEME_ARBITRATION_WON Won": "2 " + won,
		"SCHEME_ARBITRATION_LOST": "2 " + lost, "SCHEME_ARBITRATION_LOST Lost": "2 " + lost,
		"NOTIFICATION_OF_FRAUD": "", "ISSUER_COMMENTS": "",
		// Requests for information take no money, whatever they say.
		"REQUEST_FOR_INFORMATION": "", "REQUEST_FOR_INFORMATION Unresponded": "", "REQUEST_FOR_INFORMATION Responded": "",
		"REQUEST_FOR_INFORMATION Expired": "", "INFORMATION_SUPPLIED Responded": "", "DISPUTE_DEFENSE_PERIOD_ENDED Expired": "",
	} {
		event, status, _ := strings.Cut(of, " ")
		b := connect(t)
		n := b.tell(t, dispute(event, status))
		got := string(n.Ruling)
		switch {
		case n.Dispute && n.Ruling != "":
			t.Errorf("%s is open and has ended", of)
		case n.Dispute && n.Reviewing:
			got = review
		case n.Dispute:
			got = open
		}
		if n.Instance == 2 {
			got = "2 " + got
		}
		if got != want || len(b.line.Unmapped()) != 0 || want != "" && (n.Outcome.Local != money.New(5000, "BRL") || n.Network != "13.1" || n.Stage != of) {
			t.Errorf("%s: %q at %q, want %q; the operator is told of %q", of, got, n.Stage, want, b.line.Unmapped())
		}
	}
}

// A dispute of an undocumented status is open until we know better, whatever its event usually means.
func TestADisputeOfAnUnknownStatus(t *testing.T) {
	for _, event := range []string{"CHARGEBACK", "DISPUTE_DEFENSE_PERIOD_ENDED", "CHARGEBACK_REVERSED", "SECOND_CHARGEBACK"} {
		b := connect(t)
		n := b.tell(t, dispute(event, "Quantum"))
		if !n.Dispute || n.Ruling != "" || !n.Reviewing || (n.Instance == 2) != (event == "SECOND_CHARGEBACK") || len(b.line.Unmapped()) != 1 {
			t.Errorf("%s: %+v; the operator is told of %q", event, n, b.line.Unmapped())
		}
		i := dispute(event, "")
		i["success"] = "false"
		if n := b.tell(t, i); n.ID != "" || len(b.line.Unmapped()) != 2 {
			t.Errorf("%s, success false: %+v; the operator is told of %q", event, n, b.line.Unmapped())
		}
	}
}

// Payments of Brazil have no status. What is about a request for information has that request's code, or none.
func TestRequestsForInformationWithoutAStatus(t *testing.T) {
	for _, c := range []struct {
		event string
		codes object
		says  bool
	}{
		{"INFORMATION_SUPPLIED", object{"rfiReasonCode": "28"}, false}, {"INFORMATION_SUPPLIED", object{}, false},
		{"INFORMATION_SUPPLIED", object{"chargebackReasonCode": "10.4"}, true},
		{"DISPUTE_DEFENSE_PERIOD_ENDED", object{"rfiReasonCode": "28"}, false}, {"DISPUTE_DEFENSE_PERIOD_ENDED", object{}, true},
		{"CHARGEBACK", object{}, true},
	} {
		i := dispute(c.event, "")
		i["additionalData"] = c.codes
		if n := connect(t).tell(t, i); n.OfDispute() != c.says {
			t.Errorf("%s with %v: %+v, want a dispute %t", c.event, c.codes, n, c.says)
		}
	}
}

// A ruling's reference is the payment's unless the operator has enabled the setting: then it says which dispute it is.
func TestTheReferenceOfARuling(t *testing.T) {
	for _, event := range nameless {
		i := dispute(event, "")
		if n := connect(t).tell(t, i); n.DisputeID != "" || n.Outcome.MoneyRef != "" {
			t.Errorf("%s: dispute %q of money %q", event, n.DisputeID, n.Outcome.MoneyRef)
		}
		i["pspReference"], i["originalReference"] = "D1", "PAID1"
		if n := connect(t).tell(t, i); n.DisputeID != "D1" || n.Outcome.MoneyRef != "PAID1" {
			t.Errorf("%s with the setting: dispute %q of money %q", event, n.DisputeID, n.Outcome.MoneyRef)
		}
	}
	i := dispute("PREARBITRATION_OPEN", "Undefended")
	i["originalReference"] = ""
	if n := connect(t).tell(t, i); n.DisputeID != "D1" {
		t.Errorf("another event has the dispute's reference: %q", n.DisputeID)
	}
}

func TestTheDeadlineOfADispute(t *testing.T) {
	i := dispute("CHARGEBACK", "Undefended")
	i["additionalData"].(object)["defensePeriodEndsAt"] = "2026-12-09T12:00:00+01:00"
	if n := connect(t).tell(t, i); !n.RespondBy.Equal(time.Date(2026, 12, 9, 11, 0, 0, 0, time.UTC)) || n.Outcome.Message != "Goods not received" {
		t.Errorf("until %s: %s", n.RespondBy, n.Outcome.Message)
	}
}
