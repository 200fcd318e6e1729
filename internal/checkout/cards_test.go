package checkout

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a provider adds to the address to which it sends a shopper back is not refused: no page reads it.
func TestWhatNoPageReadsIsNotRefused(t *testing.T) {
	for _, c := range []struct {
		method, target, form string
		refused              bool
	}{
		{http.MethodGet, "/pay/TXN-1?payment_id=4242424242424242&4242424242424242=1", "", false},
		{http.MethodPost, "/pay/TXN-1?payment_id=4242424242424242", "method=pix", false},
		{http.MethodGet, "/pay/TXN-1?lang=4242424242424242", "", true},
		{http.MethodGet, "/pay/TXN-1?note=4242+4242+4242+4242", "", true},
		{http.MethodGet, "/pay/4242424242424242", "", true},
		{http.MethodPost, "/pay/TXN-1", "other=4242424242424242", true},
		{http.MethodPost, "/pay/TXN-1", "4242424242424242=1", true},
		{http.MethodPost, "/pay/TXN-1", "document-a=4242424242424242", true},
		{http.MethodPost, "/pay/TXN-1", "document-a=x4242424242424242", false},
	} {
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if err := noCard(r); errors.Is(err, errCard) != c.refused || err != nil && !c.refused {
			t.Errorf("%s %s with %q: %v", c.method, c.target, c.form, err)
		}
	}
}
