package conekta

import (
	"context"
	"crypto"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	fuzzedEvent = `{"id":"1","object":"event","type":"order.paid","livemode":false,"data":{"object":{"object":"order","id":"ord_1"}}}`
	fuzzedOrder = `{"id":"ord_1","object":"order","livemode":false,"amount":5000,"currency":"MXN","payment_status":"paid","updated_at":1795262400,` +
		`"metadata":{"cascada_reference":"01M7ZFUZZ-1"},"charges":{"object":"list","has_more":false,"data":[{"id":"ch_1","object":"charge","status":"paid","amount":5000,"currency":"MXN","payment_method":{"object":"bank_transfer_payment","type":"spei"}}]}}`
)

// Whatever the header is: without a signature of the body, nothing is read.
func FuzzForgedNotices(f *testing.F) {
	good := sign([]byte(fuzzedEvent)).Header.Get("Digest")
	f.Add(good, []byte(fuzzedEvent+" "))
	f.Add("", []byte(fuzzedEvent))
	f.Add("AAAA", []byte(fuzzedEvent))
	f.Add(good, []byte{})
	a := providertest.Offline(f, Adapter(), credentials(), &providertest.Answer{Body: []byte(fuzzedOrder)})
	f.Fuzz(func(t *testing.T, digest string, body []byte) {
		list, err := a.Notices(context.Background(), provider.Notification{Header: http.Header{"Digest": {digest}}, Body: body})
		if !providertest.IsSigned(crypto.SHA256, body, digest) {
			providertest.Refused(t, list, err)
		}
		providertest.Sound(t, list, err)
	})
}

// Whatever Conekta signed and whatever it answers to queries is read, and never as an invalid
// amount.
func FuzzSignedNotices(f *testing.F) {
	for _, seed := range [][2]string{
		{fuzzedEvent, fuzzedOrder},
		{fuzzedEvent, strings.Replace(fuzzedOrder, `"payment_status":"paid"`, `"payment_status":"charged_back"`, 1)},
		{fuzzedEvent, strings.Replace(fuzzedOrder, `"payment_status":"paid"`, `"payment_status":"expired"`, 1)},
		{fuzzedEvent, strings.ReplaceAll(fuzzedOrder, "5000", "-5000")},
		{fuzzedEvent, strings.ReplaceAll(fuzzedOrder, "5000", "9223372036854775807")},
		{strings.Replace(strings.Replace(fuzzedEvent, "order.paid", "charge.chargeback.created", 1), `"object":"order","id":"ord_1"`, `"object":"chargeback","id":"chb_1","order_id":"ord_1"`, 1), fuzzedOrder},
		{strings.Replace(strings.Replace(fuzzedEvent, "order.paid", "charge.chargeback.lost", 1), `"object":"order","id":"ord_1"`, `"object":"charge","id":7,"order_id":"ord_1"`, 1), fuzzedOrder},
		{`{"object":"event","type":"charge.chargeback.updated","data":{"object":{"object":"chargeback","id":"chbk_1","status":"lost","charge_id":"ch_1","order_id":"ord_1","evidence_due_by":1795262400}}}`,
			strings.Replace(fuzzedOrder, `"amount":5000,"currency":"MXN","payment_method"`, `"amount":5000,"currency":"MXN","chargeback":{"id":"chbk_1","status":"lost","reason":"unrecognized","evidence_due_by":1795262400},"payment_method"`, 1)},
		{`{"object":"event","type":"charge.reversed","data":{"object":{"object":"charge","id":"ch_1","order_id":"ord_1"}}}`, strings.ReplaceAll(fuzzedOrder, `"paid"`, `"reversed"`)},
		{`{"object":"event","type":"charge.chargeback.created","data":{"object":{"object":"chargeback","id":"chbk_1","charge_id":"6b0187c000000000000003ea"}}}`,
			`{"data":[` + strings.Replace(fuzzedOrder, `"ch_1"`, `"6b0187c000000000000003ea"`, 1) + `],"has_more":false}`},
		{`{"type":"webhook_ping"}`, ""},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	a := providertest.Offline(f, Adapter(), credentials(), answer)
	f.Fuzz(func(t *testing.T, body, asked []byte) {
		answer.Body = asked
		n := sign(body)
		list, err := a.Notices(context.Background(), n)
		providertest.Sound(t, list, err)
		if errors.Is(err, provider.ErrUnsigned) != (len(body) == 0) {
			t.Errorf("Conekta's own signature: %v", err)
		}
		n.Body = append(body[:len(body):len(body)], ' ')
		list, err = a.Notices(context.Background(), n)
		providertest.Refused(t, list, err)
	})
}
