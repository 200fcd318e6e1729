package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Whatever the header is: without a MAC of the body in it, nothing is read.
func FuzzForgedNotices(f *testing.F) {
	body := []byte(`{"id":"evt_1","object":"event","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","object":"payment_intent","status":"succeeded","amount_received":5000,"currency":"brl","metadata":{"cascada_reference":"01M7ZFUZZ-1"}}}}`)
	good := signature(body, testSecret, providertest.Noon.Unix())
	f.Add(good, append([]byte(" "), body...))
	f.Add(good, body)
	f.Add(signature(body, "whsec_other", providertest.Noon.Unix()), body)
	f.Add("t=1795262400,v1=", body)
	f.Add("t=,v1=00", []byte{})
	f.Add(strings.Repeat("v1=00,", 20)+"t=1795262400", body)
	p := providertest.Offline(f, Adapter(), credentials(), &providertest.Answer{Status: 500})
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		list, err := p.Notices(ctx(), provider.Notification{Header: http.Header{signatureHeader: {header}}, Body: body})
		if !errors.Is(err, provider.ErrUnsigned) && !held(header, body) {
			t.Errorf("it is not signed, but read: %+v, %v", list, err)
		}
		providertest.Sound(t, list, err)
	})
}

// held reports whether the header has a MAC of the body with one of its times.
func held(header string, body []byte) bool {
	for _, at := range strings.Split(header, ",") {
		at, found := strings.CutPrefix(strings.TrimSpace(at), "t=")
		want := providertest.MAC(sha256.New, testSecret, at+".", string(body))
		for _, mac := range strings.Split(header, ",") {
			mac, ok := strings.CutPrefix(strings.TrimSpace(mac), "v1=")
			if got, err := hex.DecodeString(mac); found && ok && err == nil && hmac.Equal(got, want) {
				return true
			}
		}
	}
	return false
}

// Whatever Stripe signed and whatever it answers to queries is read, and never as an invalid
// amount.
func FuzzSignedNotices(f *testing.F) {
	intent := `{"id":"pi_1","object":"payment_intent","status":"succeeded","amount_received":5000,"amount":5000,"currency":"brl","metadata":{"cascada_reference":"01M7ZFUZZ-1"}}`
	for _, seed := range [][3]string{
		{"payment_intent.succeeded", intent, ""},
		{"payment_intent.canceled", strings.Replace(intent, "succeeded", "canceled", 1), ""},
		{"checkout.session.completed", `{"id":"cs_1","object":"checkout.session","metadata":{"cascada_reference":"01M7ZFUZZ-1"}}`, `{"id":"cs_1","object":"checkout.session","status":"complete","payment_intent":` + intent + `,"metadata":{"cascada_reference":"01M7ZFUZZ-1"}}`},
		{"charge.dispute.created", `{"id":"du_1"}`, `{"id":"du_1","object":"dispute","status":"needs_response","amount":5000,"currency":"brl","reason":"fraudulent","payment_intent":` + intent + `,"evidence_details":{"due_by":1795262400}}`},
		{"refund.updated", `{"id":"re_1","object":"refund","status":"succeeded","amount":100,"currency":"brl","metadata":{"cascada_reference":"CLM1-1"}}`, ""},
		{"customer_cash_balance_transaction.created", `{"id":"ccsbtxn_1","object":"customer_cash_balance_transaction","customer":"cus_1","type":"funded"}`, `{"metadata":{"cascada_shopper":"a"},"object":"list","has_more":false,"data":[` +
			`{"id":"ccsbtxn_1","object":"customer_cash_balance_transaction","type":"funded","currency":"mxn","net_amount":900,"created":20},` +
			strings.Replace(intent, `"pi_1"`, `"pi_1","created":10,"customer":"cus_1","payment_method_types":["customer_balance"]`, 1) + `]}`},
		{"cash_balance.funds_available", `{"object":"cash_balance","customer":"cus_1"}`, `{"metadata":{"cascada_shopper":"a"},"object":"list","has_more":false,"data":[` +
			`{"id":"ccsbtxn_1","object":"customer_cash_balance_transaction","type":"return_initiated","currency":"mxn","net_amount":-900,"created":20}]}`},
		{"charge.refund.updated", `{"id":"re_1","object":"refund","status":"failed","amount":-100,"currency":"brl","metadata":{"cascada_reference":"CLM1-1"}}`, ""},
	} {
		f.Add([]byte(`{"id":"evt_1","object":"event","type":"`+seed[0]+`","data":{"object":`+seed[1]+`}}`), []byte(seed[2]))
	}
	answer := &providertest.Answer{}
	p := providertest.Offline(f, Adapter(), credentials(), answer)
	f.Fuzz(func(t *testing.T, body, asked []byte) {
		answer.Body = asked
		n := provider.Notification{Body: body, Header: http.Header{signatureHeader: {signature(body, testSecret, providertest.Noon.Unix())}}}
		list, err := p.Notices(ctx(), n)
		if errors.Is(err, provider.ErrUnsigned) {
			t.Error("Stripe's own signature was refused")
		}
		providertest.Sound(t, list, err)
		n.Header = http.Header{signatureHeader: {signature(body, "whsec_other", providertest.Noon.Unix())}}
		list, err = p.Notices(ctx(), n)
		providertest.Refused(t, list, err)
	})
}
