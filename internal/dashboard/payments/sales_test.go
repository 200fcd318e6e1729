package payments

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/store"
)

// Every reason why a payment fails has a sentence in each language of the dashboard, so that no page shows the core's message.
func TestEveryFailureHasASentence(t *testing.T) {
	codes := []string{ // of pay.Failure, and the words that are no reasons of the vocabulary
		"expired", "outcome_unknown", "abandoned", "not_charged", "reversed", "canceled", "another_way", "amount_mismatch", "declined", "card_declined",
		"insufficient_funds", "expired_card", "fraud_blocked", "three_ds_failed", "cascade_exhausted", "document_irregular",
	}
	for _, r := range decline.Reasons() {
		codes = append(codes, string(r))
	}
	for _, language := range []string{"en", "es", "pt"} {
		body, err := os.ReadFile("text/" + language + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(body, &texts); err != nil {
			t.Fatal(err)
		}
		for _, code := range codes {
			if texts["why_"+code] == "" {
				t.Errorf("%s has no sentence for %s", language, code)
			}
		}
	}
}

// Where nobody knows whether it was done, the form comes back with its key: who sends it again, does it once.
func TestUnknownOutcomeKeepsTheForm(t *testing.T) {
	f := form{Key: "form_1", Typed: map[string]string{"amount": "5"}}
	status, err := f.refused(&frame.Visit{}, store.ErrUnknown, nil)
	if err != nil || status != http.StatusServiceUnavailable || f.Key != "form_1" || f.Error == "" {
		t.Errorf("the form is lost: %d, %v, %+v", status, err, f)
	}
}
