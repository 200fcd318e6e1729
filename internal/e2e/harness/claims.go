package harness

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Dispute makes a payment of 100 USD with an open chargeback, and returns the ids of both. If real,
// the provider notifies of the dispute; otherwise the dispute is a simulated action.
func (o Client) Dispute(t *testing.T, real bool) (payment, claim string) {
	t.Helper()
	payment = o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
	if real {
		o.Notify(t, "sandbox-1", NoticeBody(payment, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).Want(t, http.StatusOK)
	} else {
		o.Simulate(t, payment, "chargeback").Want(t, http.StatusOK)
	}
	return payment, o.Get(t, "/claims?transactionId="+payment+"&type=chargeback").Text(t, "data.0.id")
}

// RuleClaim sends the notification that the issuer ended the dispute of a payment. ruling is "won",
// "lost" or "withdrawn".
func RuleClaim(t *testing.T, o Client, payment, ruling string) {
	t.Helper()
	o.Notify(t, "sandbox-1", NoticeBody(payment, `"status":"dispute_`+ruling+`","reason":"the bank says so"`)).Is(t, http.StatusOK, `{"ok":true}`)
}

// DecideClaim is the operator's decision on a claim, at the machine and without force. If a query changes the claim at the same
// time, it tries again.
func DecideClaim(a *app.App, id string, word pay.ClaimVerb, note string) (pay.Claim, error) {
	for {
		c, err := a.Claims.Resolve(ctx, a.Self(), claims.Resolution{ID: id, Word: word, Note: note})
		if refused, ok := errors.AsType[*problem.Error](err); !ok || refused.Details.Reason != "changed_meanwhile" {
			return c, err
		}
	}
}

// ClaimStatus returns a claim's status.
func ClaimStatus(t *testing.T, o Client, claim string) string {
	t.Helper()
	return o.Get(t, "/claims/"+claim).Want(t, http.StatusOK).Text(t, "status")
}

// EvidenceWords is evidence without a file.
const EvidenceWords = `{"kind":"delivery_proof","text":"it was signed for"}`

// EvidenceFile returns the body of evidence that has a file. kind is the file's media type.
func EvidenceFile(kind, name string, content []byte) string {
	start := fmt.Sprintf(`{"kind":"receipt","file":{"name":%q,"contentType":%q,"content":"`, name, kind)
	return start + base64.StdEncoding.EncodeToString(content) + `"}}`
}

// Download reads a file, whose body is not JSON. It checks the reply against the OpenAPI document.
func Download(t *testing.T, o Client, path string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, o.URL+APIPath+path, nil)
	Must(t, err)
	req.Header.Set("Authorization", "Bearer "+o.Credential)
	res, err := http.DefaultTransport.RoundTrip(req)
	Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	Must(t, err)
	o.Spec.check(t, Reply{request: Request{Method: http.MethodGet, Path: APIPath + path}, Status: res.StatusCode, Header: res.Header, Body: body})
	return res.StatusCode, res.Header, body
}

// Refund requests a refund of a payment.
func (o Client) Refund(t *testing.T, payment, body string, header ...string) Reply {
	t.Helper()
	return o.Post(t, "/payments/"+payment+"/refund", body, header...)
}

// Claims lists the statuses of a payment's claims, newest first, with spaces between them.
func (o Client) Claims(t *testing.T, payment string) string {
	t.Helper()
	list, _ := o.Get(t, "/claims?transactionId="+payment).Want(t, http.StatusOK).At(t, "data")
	var statuses []string
	for _, c := range list.([]any) {
		statuses = append(statuses, fmt.Sprint(c.(map[string]any)["status"]))
	}
	return strings.Join(statuses, " ")
}
