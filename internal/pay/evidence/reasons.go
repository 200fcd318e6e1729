package evidence

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
)

// Reason is what a dispute is about, which decides what to send against it.
type Reason string

// The reasons.
const (
	Fraud          Reason = "fraud"
	NotReceived    Reason = "not_received"
	NotAsDescribed Reason = "not_as_described"
	Duplicate      Reason = "duplicate"
	Canceled       Reason = "canceled"
	NotCredited    Reason = "not_credited"
	General        Reason = "general"
	Late           Reason = "late" // of an inquiry: the money came after the payment had ended
)

// Reasons lists them all.
func Reasons() []Reason {
	return []Reason{Fraud, NotReceived, NotAsDescribed, Duplicate, Canceled, NotCredited, General, Late}
}

// Wanted lists the kinds of evidence that banks look for with the reason, the most convincing first.
func (r Reason) Wanted() []string { return slices.Clone(wanted[r]) }

var wanted = map[Reason][]string{
	Fraud:          {"buyer_identity", "delivery_proof", "access_log", "customer_communication"},
	NotReceived:    {"delivery_proof", "access_log", "customer_communication", "receipt"},
	NotAsDescribed: {"product_description", "customer_communication", "refund_policy", "delivery_proof"},
	Duplicate:      {"separate_purchase", "receipt", "customer_communication"},
	Canceled:       {"refund_policy", "cancellation", "access_log", "customer_communication"},
	NotCredited:    {"receipt", "refund_policy", "customer_communication"},
	General:        {"receipt", "delivery_proof", "customer_communication", "refund_policy"},
	Late:           {"delivery_proof", "customer_communication"},
}

// codes are prefixes of the card networks' codes. If one is a prefix of another, the longer one comes first.
var codes = []struct {
	begin  string
	reason Reason
}{
	{"12.6", Duplicate}, {"10", Fraud}, {"13.1", NotReceived}, {"13.2", Canceled}, {"13.3", NotAsDescribed}, {"13.4", NotAsDescribed}, {"13.5", NotAsDescribed},
	{"13.6", NotCredited}, {"13.7", Canceled}, {"13.9", NotReceived},
	{"4837", Fraud}, {"4849", Fraud}, {"4863", Fraud}, {"4870", Fraud}, {"4871", Fraud}, {"4834", Duplicate}, {"4855", NotReceived}, {"4853", NotAsDescribed},
	{"4841", Canceled}, {"4860", NotCredited},
	{"F", Fraud}, {"C08", NotReceived}, {"C31", NotAsDescribed}, {"C14", Duplicate}, {"C28", Canceled}, {"C05", Canceled}, {"C02", NotCredited}, {"P08", Duplicate},
}

// words are parts of the words that networks and providers use for a reason.
var words = []struct {
	part   string
	reason Reason
}{
	{"fraud", Fraud}, {"unrecogni", Fraud}, {"unauthori", Fraud}, {"no_auth", Fraud}, {"not_received", NotReceived}, {"non_receipt", NotReceived}, {"not_as_described", NotAsDescribed},
	{"unacceptable", NotAsDescribed}, {"defective", NotAsDescribed}, {"counterfeit", NotAsDescribed}, {"duplicate", Duplicate}, {"paid_by_other", Duplicate},
	{"credit_not", NotCredited}, {"refund_not", NotCredited}, {"subscription", Canceled}, {"cancel", Canceled}, {"recurring", Canceled},
}

// ReasonOf finds what a claim is about, by the network's code or the words of its reason.
func ReasonOf(c pay.Claim) Reason {
	if c.Kind == pay.Inquiry {
		return Late
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
	return General
}
