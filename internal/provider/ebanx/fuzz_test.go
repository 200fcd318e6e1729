package ebanx

import (
	"context"
	"crypto"
	"errors"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	fuzzedForm    = "operation=payment_status_change&notification_type=update&hash_codes=592db57ad6933455efbb62a48d1dfa091dd7cd092109db99"
	fuzzedPayment = `{"status":"SUCCESS","payment":{"hash":"592db57ad6933455efbb62a48d1dfa091dd7cd092109db99","merchant_payment_code":"01M7ZFUZZ-1","order_number":"01M7ZFUZZ-1",` +
		`"status":"CO","currency_ext":"BRL","amount_ext":"50.00","amount_br":"50.00","transaction_status":{"code":"OK","description":"Accepted"},` +
		`"refunds":[]}}`
)

// Whatever the headers are: without a signature of the body, nothing is read.
func FuzzForgedNotices(f *testing.F) {
	good := notification(fuzzedForm).Header.Get("X-SignatureContent")
	f.Add(good, "", []byte(fuzzedForm+"&"))
	f.Add("", good, []byte(fuzzedForm+",0"))
	f.Add("", "", []byte(fuzzedForm))
	f.Add("AAAA", good, []byte{})
	a := providertest.Offline(f, Adapter(), credentials, &providertest.Answer{Body: []byte(fuzzedPayment)})
	f.Fuzz(func(t *testing.T, signature, older string, body []byte) {
		n := providertest.Notify("application/x-www-form-urlencoded", body, "X-SignatureContent", signature, "X-Signature-Content", older)
		list, err := a.Notices(context.Background(), n)
		if !providertest.IsSigned(crypto.SHA1, body, signature) && !providertest.IsSigned(crypto.SHA1, body, older) {
			providertest.Refused(t, list, err)
		}
		providertest.Sound(t, list, err)
	})
}

// Whatever EBANX signed and whatever it answers to queries is read, and never as an invalid
// amount.
func FuzzSignedNotices(f *testing.F) {
	refunds := `[{"id":"21","merchant_refund_code":"` + refundCode("CLM1-1") + `","status":"CO","amount_ext":"10.00","description":"` + described + `CLM1-1"}]`
	for _, seed := range [][2]string{
		{fuzzedForm, fuzzedPayment},
		{strings.Replace(fuzzedForm, "update", "chargeback", 1), fuzzedPayment},
		{strings.Replace(fuzzedForm, "update", "chargeback_credit", 1), fuzzedPayment},
		{strings.Replace(fuzzedForm, "update", "refund", 1), strings.Replace(fuzzedPayment, "[]", refunds, 1)},
		{fuzzedForm, strings.Replace(fuzzedPayment, `"CO"`, `"CA"`, 1)},
		{fuzzedForm, strings.ReplaceAll(fuzzedPayment, "50.00", "-50.00")},
		{fuzzedForm + "," + strings.Repeat(",", 200), fuzzedPayment},
		{"operation=enrollment", ""}, {"%zz", ""},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	a := providertest.Offline(f, Adapter(), credentials, answer)
	f.Fuzz(func(t *testing.T, body, asked []byte) {
		answer.Body = asked
		n := notification(string(body))
		list, err := a.Notices(context.Background(), n)
		providertest.Sound(t, list, err)
		if errors.Is(err, provider.ErrUnsigned) != (len(body) == 0 || len(body) > maxBody) {
			t.Errorf("EBANX's own signature: %v", err)
		}
		n.Body = append(body[:len(body):len(body)], '&')
		list, err = a.Notices(context.Background(), n)
		providertest.Refused(t, list, err)
	})
}
