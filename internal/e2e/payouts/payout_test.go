package payouts

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
)

// bankTells sends a notification with one notice to an account of a harness.Payer, and returns the
// reply's status. The right signature is "bank".
func bankTells(t *testing.T, s *harness.Instance, account, signature string, n pay.PayoutNotice) int {
	t.Helper()
	body, err := json.Marshal([]pay.PayoutNotice{n})
	harness.Must(t, err)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+harness.APIPath+"/providers/"+account+"/notifications", bytes.NewReader(body))
	harness.Must(t, err)
	request.Header.Set("Signature", signature)
	reply, err := http.DefaultClient.Do(request)
	harness.Must(t, err)
	harness.Must(t, reply.Body.Close())
	return reply.StatusCode
}
