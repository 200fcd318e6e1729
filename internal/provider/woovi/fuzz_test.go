package woovi

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const fuzzedCharge = `{"correlationID":"01M7ZFUZZ-1","status":"COMPLETED","value":5000,"brCode":"0002"}`

// Whatever the headers are: without Woovi's signature and our webhook's MAC of the body,
// nothing is read.
func FuzzForgedNotices(f *testing.F) {
	body := []byte(`{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"01M7ZFUZZ-1","status":"COMPLETED","value":5000}}`)
	good := signed(body).Header
	f.Add(good.Get(signatureHeader), good.Get(hmacHeader), append(body, ' '))
	f.Add(exampleSignature, good.Get(hmacHeader), body)
	f.Add(exampleSignature, "", []byte(exampleBody))
	f.Add("", good.Get(hmacHeader), body)
	f.Add("", "", []byte{})
	c := providertest.Offline(f, Adapter(), credentials(), &providertest.Answer{Body: []byte(`{"charge":` + fuzzedCharge + `}`)})
	f.Fuzz(func(t *testing.T, signature, mac string, body []byte) {
		n := provider.Notification{Header: http.Header{signatureHeader: {signature}, hmacHeader: {mac}}, Body: body}
		list, err := c.Notices(context.Background(), n)
		given, err64 := base64.StdEncoding.DecodeString(mac)
		if err64 != nil || !providertest.IsSigned(crypto.SHA256, body, signature) || !bytes.Equal(given, providertest.MAC(sha1.New, testSecret, string(body))) {
			providertest.Refused(t, list, err)
		}
		providertest.Sound(t, list, err)
	})
}

// Whatever Woovi signed and whatever it answers to queries is read, and never as an invalid
// amount.
func FuzzSignedNotices(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"01M7ZFUZZ-1"}}`, `{"charge":` + fuzzedCharge + `}`},
		{`{"event":"woovi:CHARGE_EXPIRED","charge":{"correlationID":"01M7ZFUZZ-1"}}`, `{"charge":` + strings.Replace(fuzzedCharge, "COMPLETED", "EXPIRED", 1) + `}`},
		{`{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"01M7ZFUZZ-1"}}`, `{"charge":` + strings.Replace(fuzzedCharge, "5000", "-5000", 1) + `}`},
		{`{"event":"OPENPIX:DISPUTE_CREATED","dispute":{"endToEndId":"E1","value":5000,"disputeReason":"Golpe"}}`, `{"transaction":{"charge":{"correlationID":"01M7ZFUZZ-1"}}}`},
		{`{"event":"OPENPIX:DISPUTE_ACCEPTED","dispute":{"endToEndId":"E1","value":-1}}`, `{"transaction":{"charge":{"correlationID":"01M7ZFUZZ-1"}}}`},
		{`{"event":"PIX_TRANSACTION_REFUND_SENT_CONFIRMED","refundTransaction":{"endToEndId":"D1"},"originalTransaction":{"endToEndId":"E1"}}`,
			`{"transaction":{"charge":{"correlationID":"01M7ZFUZZ-1"}},"charge":` + fuzzedCharge + `,"refunds":[{"correlationID":"CLM1-1","endToEndId":"D1","status":"CONFIRMED","value":100}]}`},
		{`{"event":"TRANSACTION_REFUND_RECEIVED","charge":{"correlationID":"01M7ZFUZZ-1"},"pix":{"endToEndId":"D1"}}`, `{"refunds":[{"correlationID":"CLM1-1","endToEndId":"D1","status":"REJECTED","value":100}]}`},
		{`{"event":"OPENPIX:TRANSACTION_RECEIVED","charge":{"correlationID":"01M7ZFUZZ-1"}}`,
			`{"charge":` + fuzzedCharge + `,"transactions":[{"endToEndId":"E1","value":5000,"type":"PAYMENT","time":"2026-11-21T12:00:00Z","charge":{"correlationID":"01M7ZFUZZ-1"}},{"endToEndId":"E2","value":7,"type":"PAYMENT","charge":{"correlationID":"01M7ZFUZZ-1"}}],"refunds":[]}`},
		{`{"event":"OPENPIX:DISPUTE_CREATED","dispute":{"endToEndId":"E1"}}`,
			`{"transaction":{"charge":{"correlationID":"01M7ZFUZZ-1"}},"dispute":{"type":"MED","status":"REJECTED","endToEndId":"E1","value":"5000"}}`},
		{`{"data_criacao":"2024-01-23T20:32:14.429Z","event":"OPENPIX:CHARGE_COMPLETED"}`, ""},
		{exampleBody, ""},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	c := providertest.Offline(f, Adapter(), credentials(), answer)
	f.Fuzz(func(t *testing.T, body, asked []byte) {
		answer.Body = asked
		n := signed(body)
		list, err := c.Notices(context.Background(), n)
		providertest.Sound(t, list, err)
		if errors.Is(err, provider.ErrUnsigned) != (len(body) == 0) {
			t.Errorf("Woovi's own signature: %v", err)
		}
		// Woovi also signs the webhooks of its other customers.
		n.Header.Set(hmacHeader, base64.StdEncoding.EncodeToString(providertest.MAC(sha1.New, "another's", string(body))))
		list, err = c.Notices(context.Background(), n)
		providertest.Refused(t, list, err)
	})
}
