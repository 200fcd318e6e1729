package claims

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
)

// reason is what a dispute is about, which decides what to send against it. Its texts are says_<reason>, what
// the shopper says; tell_<reason>, what an answer should tell; and why_<reason>_<kind> for each kind of
// evidence.
type reason string

// The reasons.
const (
	fraud          reason = "fraud"
	notReceived    reason = "not_received"
	notAsDescribed reason = "not_as_described"
	duplicate      reason = "duplicate"
	canceled       reason = "canceled"
	notCredited    reason = "not_credited"
	general        reason = "general"
	late           reason = "late" // of an inquiry: the money came after the payment had ended
)

// wanted are the kinds of evidence that banks look for, the most convincing first.
var wanted = map[reason][]string{
	fraud:          {"buyer_identity", "delivery_proof", "access_log", "customer_communication"},
	notReceived:    {"delivery_proof", "access_log", "customer_communication", "receipt"},
	notAsDescribed: {"product_description", "customer_communication", "refund_policy", "delivery_proof"},
	duplicate:      {"separate_purchase", "receipt", "customer_communication"},
	canceled:       {"refund_policy", "cancellation", "access_log", "customer_communication"},
	notCredited:    {"receipt", "refund_policy", "customer_communication"},
	general:        {"receipt", "delivery_proof", "customer_communication", "refund_policy"},
	late:           {"delivery_proof", "customer_communication"},
}

// codes are the beginnings of the card networks' codes, the longest first where one begins another.
var codes = []struct {
	begin string
	reason
}{
	{"12.6", duplicate}, {"10", fraud}, {"13.1", notReceived}, {"13.2", canceled}, {"13.3", notAsDescribed}, {"13.4", notAsDescribed}, {"13.5", notAsDescribed},
	{"13.6", notCredited}, {"13.7", canceled}, {"13.9", notReceived},
	{"4837", fraud}, {"4849", fraud}, {"4863", fraud}, {"4870", fraud}, {"4871", fraud}, {"4834", duplicate}, {"4855", notReceived}, {"4853", notAsDescribed},
	{"4841", canceled}, {"4860", notCredited},
	{"F", fraud}, {"C08", notReceived}, {"C31", notAsDescribed}, {"C14", duplicate}, {"C28", canceled}, {"C05", canceled}, {"C02", notCredited}, {"P08", duplicate},
}

// words are parts of the words in which networks and providers tell a reason.
var words = []struct {
	part string
	reason
}{
	{"fraud", fraud}, {"unrecogni", fraud}, {"unauthori", fraud}, {"no_auth", fraud}, {"not_received", notReceived}, {"non_receipt", notReceived}, {"not_as_described", notAsDescribed},
	{"unacceptable", notAsDescribed}, {"defective", notAsDescribed}, {"counterfeit", notAsDescribed}, {"duplicate", duplicate}, {"paid_by_other", duplicate},
	{"credit_not", notCredited}, {"refund_not", notCredited}, {"subscription", canceled}, {"cancel", canceled}, {"recurring", canceled},
}

// reasonOf finds what a claim is about, by the network's code or the words of its reason.
func reasonOf(c pay.Claim) reason {
	if c.Kind == pay.Inquiry {
		return late
	}
	code := strings.ToUpper(strings.TrimSpace(c.Network))
	for _, known := range codes {
		if strings.HasPrefix(code, known.begin) && (known.begin != "F" || len(code) == 3) && (known.begin != "10" || strings.HasPrefix(code, "10.")) {
			return known.reason
		}
	}
	text := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(c.Reason))
	for _, known := range words {
		if strings.Contains(text, known.part) {
			return known.reason
		}
	}
	return general
}
