package sales

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/store"
)

// Where nobody knows whether it was done, the form comes back with its key: who sends it again, does it once.
func TestUnknownOutcomeKeepsTheForm(t *testing.T) {
	f := form{Key: "form_1", Typed: map[string]string{"amount": "5"}}
	status, err := f.refused(store.ErrUnknown, nil)
	if err != nil || status != http.StatusServiceUnavailable || f.Key != "form_1" || f.Error == "" {
		t.Errorf("the form is lost: %d, %v, %+v", status, err, f)
	}
}
