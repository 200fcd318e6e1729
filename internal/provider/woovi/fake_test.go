package woovi

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testAppID  = "Q2xpZW50X0lkXzEyMzQ6c2VjcmV0"
	testSecret = "openpix_hmac"
)

// signer is the fake's key.
var signer = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func publicPEM(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&signer().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// fake is Woovi as its documentation has it.
type fake struct {
	mu       sync.Mutex // owns what follows
	next     providertest.Ending
	refuse   string // the sentence that refunds are refused with, or ""
	charges  []*fakeCharge
	customer *customerRequest // of the last charge
	expires  int64            // of the last charge
}

type fakeCharge struct {
	reference string
	value     int64
	ending    providertest.Ending
	deleted   bool
	refunds   []fakeRefund
}

type fakeRefund struct {
	reference, status string
	value             int64
}

func newFake() *fake { return &fake{next: providertest.Open} }

func (f *fake) Next(e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = e
}

func (f *fake) Move(reference string, e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(reference).ending = e
}

func (f *fake) RefuseRefunds() { f.refuseWith("O valor do reembolso é maior que o disponível") }

func (f *fake) refuseWith(sentence string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = sentence
}

func (f *fake) Books() []providertest.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []providertest.Entry
	for _, c := range f.charges {
		e := providertest.Entry{Reference: c.reference, Local: money.New(c.value, money.BRL), Ending: c.ending}
		for _, r := range c.refunds {
			e.Refunds = append(e.Refunds, money.New(r.value, money.BRL))
		}
		list = append(list, e)
	}
	return list
}

// find is a charge that is not deleted; the caller holds the lock.
func (f *fake) find(reference string) *fakeCharge {
	for _, c := range f.charges {
		if c.reference == reference && !c.deleted {
			return c
		}
	}
	return nil
}

func (c *fakeCharge) status() string {
	switch c.ending {
	case providertest.Paid, providertest.Disputed:
		return "COMPLETED"
	case providertest.Expired:
		return "EXPIRED"
	case providertest.Nonsense:
		return "SLEEPING"
	}
	return "ACTIVE"
}

func (c *fakeCharge) bank() string { return "E" + strings.ReplaceAll(c.reference, "-", "") }

func (c *fakeCharge) json() map[string]any {
	return map[string]any{
		"value": c.value, "status": c.status(), "correlationID": c.reference, "type": "DYNAMIC", "comment": "",
		"identifier": "id" + c.reference, "transactionID": "id" + c.reference, "discount": 0, "valueWithDiscount": c.value,
		"paymentLinkID": "788c8d0d-182b-468e-942e-546be6a621c2", "globalID": "Q2hhcmdlOjY4ZDQwOTQz", "expiresIn": 86400,
		"brCode":      "00020101021226980014br.gov.bcb.pix2576api.woovi-sandbox.com/api/testaccount/qr/v1/" + c.reference,
		"qrCodeImage": "https://api.woovi-sandbox.com/openpix/charge/brcode/image/788c8d0d.png", "customer": nil,
	}
}

func fail(w http.ResponseWriter, status int, sentence string) {
	answer(w, status, map[string]any{"error": sentence})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != testAppID {
		fail(w, http.StatusUnauthorized, "appID inválido")
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	switch route := r.Method + " " + parts[0]; {
	case route == "POST charge" && len(parts) == 1:
		f.create(w, r)
	case route == "GET charge" && len(parts) == 1:
		answer(w, http.StatusOK, map[string]any{"charges": []any{}, "pageInfo": map[string]any{"hasNextPage": false}})
	case route == "GET transaction" && len(parts) == 2:
		f.transaction(w, parts[1])
	case parts[0] == "charge" && len(parts) >= 2 && f.find(parts[1]) == nil:
		fail(w, http.StatusBadRequest, "Cobrança não encontrada")
	case route == "GET charge" && len(parts) == 2:
		answer(w, http.StatusOK, map[string]any{"charge": f.find(parts[1]).json()})
	case route == "DELETE charge" && len(parts) == 2:
		f.remove(w, f.find(parts[1]))
	case route == "POST charge" && len(parts) == 3 && parts[2] == "refund":
		f.refund(w, r, f.find(parts[1]))
	case route == "GET charge" && len(parts) == 3 && parts[2] == "refund":
		list := []any{}
		for _, refund := range f.find(parts[1]).refunds {
			list = append(list, refund.json())
		}
		answer(w, http.StatusOK, map[string]any{"refunds": list})
	default:
		fail(w, http.StatusNotFound, "no such route")
	}
}

// strict reads a body that has nothing but what the documentation knows.
func strict(r *http.Request, into any) error {
	if r.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("content type")
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	var q chargeRequest
	if err := strict(r, &q); err != nil || q.CorrelationID == "" || q.Value < 1 || q.ExpiresIn < 300 || q.Type != "DYNAMIC" ||
		q.Customer != nil && (q.Customer.Name == "" || q.Customer.TaxID == "" && q.Customer.Email == "" && q.Customer.Phone == "") {
		fail(w, http.StatusBadRequest, "Dados inválidos")
		return
	}
	c := f.find(q.CorrelationID)
	switch {
	case c != nil && r.URL.Query().Get("return_existing") != "true":
		fail(w, http.StatusBadRequest, "Já existe uma cobrança com o correlationID fornecido")
		return
	case c == nil:
		c = &fakeCharge{reference: q.CorrelationID, value: q.Value, ending: f.next}
		f.charges = append(f.charges, c)
		f.customer, f.expires = q.Customer, q.ExpiresIn
	}
	body := c.json()
	answer(w, http.StatusOK, map[string]any{"charge": body, "correlationID": c.reference, "brCode": body["brCode"]})
}

func (f *fake) remove(w http.ResponseWriter, c *fakeCharge) {
	if c.status() != "ACTIVE" {
		fail(w, http.StatusBadRequest, "A cobrança não pode ser excluída")
		return
	}
	c.deleted, c.ending = true, providertest.Canceled
	answer(w, http.StatusOK, map[string]any{"status": "OK", "id": c.reference})
}

func (f *fake) transaction(w http.ResponseWriter, number string) {
	for _, c := range f.charges {
		if c.bank() == number {
			answer(w, http.StatusOK, map[string]any{"transaction": map[string]any{
				"charge": c.json(), "value": c.value, "endToEndId": number, "type": "PAYMENT",
			}})
			return
		}
	}
	fail(w, http.StatusBadRequest, "Transaction not found")
}

func (r fakeRefund) json() map[string]any {
	return map[string]any{
		"status": r.status, "value": r.value, "correlationID": r.reference,
		"endToEndId": "D" + r.reference, "time": "2026-11-21T12:00:00.000Z",
	}
}

func (f *fake) refund(w http.ResponseWriter, r *http.Request, c *fakeCharge) {
	var q refundRequest
	if err := strict(r, &q); err != nil || q.CorrelationID == "" || q.CorrelationID == c.reference || q.Value < 1 || len(q.Comment) > 140 {
		fail(w, http.StatusBadRequest, "Dados inválidos")
		return
	}
	left := c.value
	for _, refund := range c.refunds {
		if refund.reference == q.CorrelationID {
			fail(w, http.StatusBadRequest, "Já existe um reembolso com o correlationID fornecido")
			return
		}
		left -= refund.value
	}
	if f.refuse != "" || c.status() != "COMPLETED" || q.Value > left {
		fail(w, http.StatusBadRequest, f.refuse)
		return
	}
	refund := fakeRefund{reference: q.CorrelationID, status: "IN_PROCESSING", value: q.Value}
	c.refunds = append(c.refunds, refund)
	answer(w, http.StatusOK, map[string]any{"refund": refund.json()})
}

func (f *fake) Notification(reference string) provider.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.find(reference)
	body := map[string]any{"charge": c.json(), "company": map[string]any{"name": "Woovi"}}
	switch c.ending {
	case providertest.Disputed:
		body = map[string]any{"event": "OPENPIX:DISPUTE_CREATED", "dispute": map[string]any{
			"status": "OPENED", "endToEndId": c.bank(), "value": c.value, "disputeReason": "Golpe",
		}}
	case providertest.Expired:
		body["event"] = "OPENPIX:CHARGE_EXPIRED"
	case providertest.Open:
		body["event"] = "OPENPIX:CHARGE_CREATED"
	default:
		body["event"] = "OPENPIX:CHARGE_COMPLETED"
		body["pix"] = map[string]any{"value": c.value, "endToEndId": c.bank(), "status": "CONFIRMED"}
	}
	text, _ := json.Marshal(body)
	return signed(text)
}

// signed is a notification with both signatures.
func signed(body []byte) provider.Notification {
	sum := sha256.Sum256(body)
	signature, err := rsa.SignPKCS1v15(rand.Reader, signer(), crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha1.New, []byte(testSecret))
	mac.Write(body)
	header := http.Header{"Content-Type": {"application/json"}}
	header.Set(signatureHeader, base64.StdEncoding.EncodeToString(signature))
	header.Set(hmacHeader, base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return provider.Notification{Header: header, Body: bytes.Clone(body)}
}
