package evidence_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
)

func TestReasonIsFound(t *testing.T) {
	for _, c := range []struct {
		network, words string
		want           evidence.Reason
	}{
		{"10.4", "", evidence.Fraud}, {"13.1", "", evidence.NotReceived}, {"12.6.1", "", evidence.Duplicate}, {"12.5", "", evidence.General}, {"4853", "", evidence.NotAsDescribed}, {"F29", "", evidence.Fraud}, {"1040", "", evidence.General},
		{"", "fraudulent", evidence.Fraud}, {"", "Product Not Received", evidence.NotReceived}, {"", "product_unacceptable", evidence.NotAsDescribed}, {"", "subscription_canceled", evidence.Canceled},
		{"", "credit_not_processed", evidence.NotCredited}, {"", "duplicate", evidence.Duplicate}, {"", "", evidence.General}, {"99", "who knows", evidence.General},
	} {
		if got := evidence.ReasonOf(pay.Claim{Kind: pay.ChargebackClaim, Network: c.network, Reason: c.words}); got != c.want {
			t.Errorf("%q %q is %s, want %s", c.network, c.words, got, c.want)
		}
	}
	if got := evidence.ReasonOf(pay.Claim{Kind: pay.Inquiry, Reason: "fraudulent"}); got != evidence.Late {
		t.Errorf("an inquiry is %s", got)
	}
}
