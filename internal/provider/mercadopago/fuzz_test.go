package mercadopago

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const fuzzedPayment = `{"id":2001,"status":"approved","status_detail":"accredited","external_reference":"01M7ZFUZZ-1","transaction_amount":50.00,"currency_id":"BRL",` +
	`"transaction_details":{"total_paid_amount":50.00},"date_last_updated":"2026-11-21T08:00:00.000-04:00","payment_method_id":"pix","payment_type_id":"bank_transfer"}`

// fuzzedPage is a payment on a page of 100.00 that two cards paid, and the answer to each call that is made about it.
func fuzzedPage() string {
	other := strings.Replace(fuzzedPayment, "2001", "2002", 1)
	return strings.Replace(fuzzedPayment, "{", `{"order":{"id":"7"},"paging":{"total":2},"results":[`+fuzzedPayment+`,`+other+`],"total":1,`+
		`"elements":[{"id":"2001","external_reference":"01M7ZFUZZ-1"}],"items":[{"quantity":1,"currency_id":"BRL","unit_price":100}],"init_point":"https://mp.test/",`, 1)
}

// Whatever the headers, the address and the body are: without a MAC of the id, the
// request and the time, nothing is read.
func FuzzForgedNotices(f *testing.F) {
	good := notification("payment", "2001", 7, providertest.Noon.UnixMilli())
	f.Add(good.Header.Get("X-Signature"), good.Header.Get("X-Request-Id"), "2001", good.Body)
	f.Add(good.Header.Get("X-Signature"), good.Header.Get("X-Request-Id"), "2002", good.Body)
	f.Add(good.Header.Get("X-Signature"), "", "2001;request-id:"+good.Header.Get("X-Request-Id"), good.Body)
	f.Add(good.Header.Get("X-Signature"), " "+good.Header.Get("X-Request-Id"), "2001", good.Body) // servers trim headers
	f.Add("ts=1795262400000,v1=", "", "", []byte{})
	f.Add("ts=,v1=00,ts=1", "r", "2001", good.Body)
	answer := &providertest.Answer{Body: []byte(fuzzedPayment)}
	a := providertest.Offline(f, Adapter(), credentials(), answer)
	f.Fuzz(func(t *testing.T, signature, request, id string, body []byte) {
		n := provider.Notification{Header: http.Header{"X-Signature": {signature}, "X-Request-Id": {request}}, Query: url.Values{"data.id": {id}}, Body: body}
		list, err := a.Notices(context.Background(), n)
		// The signature does not cover the body: the body of a valid notification may be anything, and adds nothing.
		if fmt.Sprintf("%q %q", strings.TrimSpace(request), id) != fmt.Sprintf("%q %q", good.Header.Get("X-Request-Id"), "2001") {
			if err == nil || len(list) != 0 {
				t.Errorf("it is not signed, but read: %+v, %v", list, err)
			}
		}
		providertest.Sound(t, list, err)
		for _, told := range list {
			if told.Reference != "01M7ZFUZZ-1" {
				t.Errorf("the payment is of another charge: %+v", told)
			}
		}
	})
}

// Whatever Mercado Pago signed and whatever it answers to queries is read, and never as an invalid
// amount.
func FuzzSignedNotices(f *testing.F) {
	for _, seed := range [][3]string{
		{"payment", "2001", fuzzedPayment},
		{"payment", "2001", strings.Replace(fuzzedPayment, `"approved"`, `"charged_back"`, 1)},
		{"payment", "2001", strings.Replace(fuzzedPayment, `"approved"`, `"rejected"`, 1)},
		{"payment", "2001", strings.ReplaceAll(fuzzedPayment, "50.00", "-50.00")},
		{"payment", "2001", strings.Replace(fuzzedPayment, "{", `{"refunds":[{"id":9,"payment_id":2001,"amount":1.5,"status":"approved","metadata":{"reference":"CLM1-1"}}],`, 1)},
		{"topic_chargebacks_wh", "2001", `{"id":"2001","payments":[2001],"amount":50,"currency":"BRL","coverage_applied":null,"date_documentation_deadline":"2026-12-09T12:00:00Z","external_reference":"01M7ZFUZZ-1"}`},
		{"chargebacks", "2001", `{"id":2001,"payments":[2001],"amount":-1,"currency":"BRL","external_reference":"0-1"}`},
		{"chargebacks", "2001", `{"id":2001,"payments":[2001,2001],"amount":-50,"currency":"BRL","coverage_applied":true,"external_reference":"01M7ZFUZZ-1","status":"approved","currency_id":"BRL"}`},
		{"payment", "2001", fuzzedPage()},
		{"payment", "2001", strings.ReplaceAll(fuzzedPage(), `"approved"`, `"refunded"`)},
		{"payment", "2001", strings.Replace(fuzzedPage(), `"approved"`, `"in_mediation"`, 2)},
		{"claim", "2001", strings.Replace(fuzzedPage(), "{", `{"resource":"payment","resource_id":2001,`, 1)},
		{"merchant_order", "2001", ""},
	} {
		f.Add(seed[0], seed[1], []byte(seed[2]))
	}
	answer := &providertest.Answer{}
	a := providertest.Offline(f, Adapter(), credentials(), answer)
	f.Fuzz(func(t *testing.T, kind, id string, asked []byte) {
		answer.Body = asked
		n := notification(kind, id, 7, providertest.Noon.UnixMilli())
		list, err := a.Notices(context.Background(), n)
		providertest.Sound(t, list, err)
		// The time is signed too: a notification cannot be given a newer time.
		ts := providertest.Noon.UnixMilli() + 1
		v1 := providertest.MAC(sha256.New, testSecret, fmt.Sprintf("id:%s;request-id:%s;ts:%d;", strings.ToLower(id), n.Header.Get("X-Request-Id"), ts-1))
		n.Header.Set("X-Signature", fmt.Sprintf("ts=%d,v1=%x", ts, v1))
		list, err = a.Notices(context.Background(), n)
		providertest.Refused(t, list, err)
	})
}
