package harness

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Dispute brings a chargeback onto a new payment of 100 USD, a real one or the
// simulator's, and returns the payment and the claim.
func (o Client) Dispute(t *testing.T, real bool) (payment, claim string) {
	t.Helper()
	payment = o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
	if real {
		o.Notify(t, "sandbox-1", Note(payment, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).Want(t, http.StatusOK)
	} else {
		o.Simulate(t, payment, "chargeback").Want(t, http.StatusOK)
	}
	return payment, o.Get(t, "/claims?transactionId="+payment+"&type=chargeback").Text(t, "data.0.id")
}

// RuleClaim lets the issuer end a dispute.
func RuleClaim(t *testing.T, o Client, payment, ruling string) {
	t.Helper()
	o.Notify(t, "sandbox-1", Note(payment, `"status":"dispute_`+ruling+`","reason":"the bank says so"`)).Is(t, http.StatusOK, `{"ok":true}`)
}

// ClaimStatus reads where a claim stands.
func ClaimStatus(t *testing.T, o Client, claim string) string {
	t.Helper()
	return o.Get(t, "/claims/"+claim).Want(t, http.StatusOK).Text(t, "status")
}

// EvidenceWords is evidence without a file.
const EvidenceWords = `{"kind":"delivery_proof","text":"it was signed for"}`

// EvidenceFile is a body of evidence with a file.
func EvidenceFile(kind, name string, content []byte) string {
	start := fmt.Sprintf(`{"kind":"receipt","file":{"name":%q,"contentType":%q,"content":"`, name, kind)
	return start + base64.StdEncoding.EncodeToString(content) + `"}}`
}

// Download reads a file, which is no JSON.
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

// Refund asks for a refund.
func (o Client) Refund(t *testing.T, payment, body string, header ...string) Reply {
	t.Helper()
	return o.Post(t, "/payments/"+payment+"/refund", body, header...)
}

// Claims lists the statuses of a payment's claims, newest first.
func (o Client) Claims(t *testing.T, payment string) string {
	t.Helper()
	list, _ := o.Get(t, "/claims?transactionId="+payment).Want(t, http.StatusOK).At(t, "data")
	var statuses []string
	for _, c := range list.([]any) {
		statuses = append(statuses, fmt.Sprint(c.(map[string]any)["status"]))
	}
	return strings.Join(statuses, " ")
}
