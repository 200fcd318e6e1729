package dlocal

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const fuzzedPayment = `{"id":"D-4-1","order_id":"01M7ZFUZZ-1","amount":50.00,"currency":"BRL","status":"PAID","status_code":"200","status_detail":"The payment was paid."}`

// Whatever the headers are: without a MAC of login, date and body, nothing is read.
func FuzzForgedNotices(f *testing.F) {
	good := "V2-HMAC-SHA256, Signature: " + signature(noon, []byte(fuzzedPayment))
	f.Add(good, noon, []byte(fuzzedPayment+" "))
	f.Add(good, noon, []byte(fuzzedPayment))
	f.Add(good, "2026-11-21T12:00:01.000Z", []byte(fuzzedPayment))
	f.Add("V2-HMAC-SHA256, Signature: ", noon, []byte(fuzzedPayment))
	f.Add("", "", []byte{})
	a := providertest.Offline(f, Adapter(), credentials, &providertest.Answer{Status: 500})
	f.Fuzz(func(t *testing.T, authorization, date string, body []byte) {
		n := provider.Notification{Header: http.Header{"Authorization": {authorization}, "X-Date": {date}}, Body: body}
		list, err := a.Notices(context.Background(), n)
		if !strings.HasSuffix(authorization, signature(date, body)) {
			providertest.Refused(t, list, err)
		}
		providertest.Sound(t, list, err)
	})
}

// Whatever dLocal signed and whatever it answers to queries is read, and never as an invalid
// amount.
func FuzzSignedNotices(f *testing.F) {
	for _, seed := range [][2]string{
		{fuzzedPayment, ""},
		{strings.Replace(fuzzedPayment, "PAID", "REJECTED", 1), ""},
		{strings.Replace(fuzzedPayment, "50.00", "-50.00", 1), ""},
		{`{"id":"REF1","payment_id":"D-4-1","order_refund_id":"CLM1-1","amount":1.00,"currency":"BRL","status":"SUCCESS","status_code":"200"}`, ""},
		{`{"id":"REF1","payment_id":"D-4-1","status":"SUCCESS"}`, `{"id":"REF1","payment_id":"D-4-1","order_refund_id":"CLM1-1","amount":1.00,"currency":"BRL","status":"REJECTED"}`},
		{`{"id":"CHAR1","payment_id":"D-4-1","amount":50,"currency":"BRL","status":"COMPLETED","reason_code":"10.4"}`, fuzzedPayment},
		{`{"id":"CHAR1","payment_id":"D-4-1","order_id":"01M7ZFUZZ-1","amount":50,"currency":"BRL","status":"DISPUTE_LOST"}`, ""},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	a := providertest.Offline(f, Adapter(), credentials, answer)
	f.Fuzz(func(t *testing.T, body, asked []byte) {
		answer.Body = asked
		header := http.Header{"Authorization": {"V2-HMAC-SHA256, Signature: " + signature(noon, body)}, "X-Date": {noon}}
		list, err := a.Notices(context.Background(), provider.Notification{Header: header, Body: body})
		providertest.Sound(t, list, err)
		// The date is signed too: a notification cannot be given a newer date.
		header.Set("X-Date", "2026-11-21T12:00:00.001Z")
		list, err = a.Notices(context.Background(), provider.Notification{Header: header, Body: body})
		providertest.Refused(t, list, err)
	})
}
