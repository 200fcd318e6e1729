package mercadopago

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Whatever a notification contains and whatever an answer is: nothing is reported that no answer proves,
// and no invalid amount.
func FuzzPayoutAnswers(f *testing.F) {
	paid := `{"id":"1-01","status":"processed","external_reference":"01M7ZFUZZ","transaction":{"to":{"accounts":[{"amount":"50,00","status_detail":"approved"}]},"refunded_amount":0,"total_amount":50}}`
	told := `{"type":"transaction_intent","data":{"id":"1-01"}}`
	for _, seed := range [][2]string{
		{told, paid}, {`{"id":"1-01","external_reference":"01M7ZFUZZ"}`, paid},
		{told, `{"id":"1-01","status":"failed","external_reference":"01M7ZFUZZ","transaction":{"from":{"accounts":[{"amount":5,"status_detail":"by_bank"}]}}}`},
		{told, `{"id":"1-01","status":"refunded","external_reference":"01M7ZFUZZ","transaction":{"refunded_amount":"50,00","total_amount":50.00}}`},
		{told, `{"message":"not_found","error":"not_found","status":404}`}, {`{"type":"payment","data":{"id":"1"}}`, `{"message":"Client not allowed"}`}, {`{}`, ``},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	p, _ := payouttest.OpenAccount[*payer](f, PayoutAdapter(), payoutCredentials("BR"), answer)
	sound := func(t *testing.T, o pay.PayoutOutcome, status int, may ...pay.PayoutKind) {
		switch {
		case !slices.Contains(append(may, pay.PayoutUnknown), o.Kind):
			t.Errorf("the answer cannot prove that: %+v", o)
		case o.Kind == pay.PayoutPaid && (!o.Local.IsPositive() || o.ProviderRef == ""), o.Local.IsNegative():
			t.Errorf("an invalid amount: %+v", o)
		case status != http.StatusOK && (o.Kind == pay.PayoutPaid || o.Kind == pay.PayoutReturned || o.Kind == pay.PayoutAccepted):
			t.Errorf("an error that is believed: %+v", o)
		case !utf8.ValidString(o.Code + o.Message + o.ProviderRef):
			t.Errorf("a text that no database accepts: %+v", o)
		}
	}
	asked := []pay.PayoutKind{pay.PayoutPaid, pay.PayoutAccepted, pay.PayoutReturned, pay.PayoutRejected, pay.PayoutUnavailable}
	f.Fuzz(func(t *testing.T, body, reply []byte) {
		ctx := context.Background()
		answer.Body = reply
		for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound} {
			answer.Status = status
			list, err := p.Notices(ctx, provider.Notification{Header: http.Header{}, Body: body})
			if err != nil && len(list) != 0 || status != http.StatusOK && len(list) != 0 {
				t.Errorf("%d: %d notices beside %v", status, len(list), err)
			}
			for _, n := range list {
				if n.ID == "" || n.Reference == "" || n.ProviderRef == "" || !utf8.ValidString(n.ID+n.Reference) {
					t.Errorf("it is about nothing: %+v", n)
				}
				sound(t, n.Outcome, status, asked...)
			}
			r := samplePayout()
			r.Reference, r.Calls = "01M7ZFUZZ", 2
			again := p.Send(ctx, r)
			sound(t, again, status, asked...)
			if status != http.StatusOK && again.Kind != pay.PayoutUnknown {
				t.Errorf("the answer to a second call proves nothing: %+v", again)
			}
			r.ProviderRef = "1-01"
			question := p.Query(ctx, r)
			sound(t, question, status, asked...)
			if status != http.StatusOK && question.Kind != pay.PayoutUnknown {
				t.Errorf("a refused query proves nothing: %+v", question)
			}
		}
	})
}
