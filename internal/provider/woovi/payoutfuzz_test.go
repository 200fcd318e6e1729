package woovi

import (
	"context"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Whatever Woovi signed and whatever it answers to queries is read, and never taken for more than an
// answer proves. Unsigned notifications are not read.
func FuzzPayoutNotices(f *testing.F) {
	paid := `{"payment":{"correlationID":"01M7ZFUZZ","status":"CONFIRMED","value":5000},"transaction":{"endToEndId":"E1","value":5000}}`
	for _, seed := range [][2]string{
		{`{"event":"OPENPIX:MOVEMENT_CONFIRMED","payment":{"correlationID":"01M7ZFUZZ"}}`, paid},
		{`{"event":"woovi:MOVEMENT_FAILED","payment":{"correlationID":"01M7ZFUZZ"},"error":{"code":"AC07"}}`, `{"payment":{"correlationID":"01M7ZFUZZ","status":"FAILED"}}`},
		{`{"event":"OPENPIX:MOVEMENT_REMOVED","payment":{"correlationID":"01M7ZFUZZ"}}`, `{"error":"Pagamento não encontrado"}`},
		{`{"event":"PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED","refundTransaction":{"endToEndId":"D1"},"originalTransaction":{"endToEndId":"E1","value":5}}`, `{"transaction":{"endToEndId":"D1","value":5}}`},
		{`{}`, ``},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	p, _ := payouttest.OpenAccount[*payer](f, PayoutAdapter(), credentials(), answer)
	f.Fuzz(func(t *testing.T, body, reply []byte) {
		ctx := context.Background()
		answer.Body = reply
		if list, err := p.Notices(ctx, provider.Notification{Header: http.Header{}, Body: body}); len(list) != 0 || err != provider.ErrUnsigned {
			t.Errorf("it is not signed, but read: %+v %v", list, err)
		}
		for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
			answer.Status = status
			list, err := p.Notices(ctx, signed(body))
			if err != nil && len(list) != 0 {
				t.Errorf("%d notices beside %v", len(list), err)
			}
			for _, n := range list {
				o := n.Outcome
				switch {
				case n.ID == "" || n.Reference+n.ProviderRef == "" || len(n.Body) == 0:
					t.Errorf("it is about nothing: %+v", n)
				case (o.Kind == pay.PayoutPaid || o.Kind == pay.PayoutReturned) && !o.Local.IsPositive():
					t.Errorf("an invalid amount: %+v", n)
				case status != http.StatusOK && o.Kind != pay.PayoutRejected:
					t.Errorf("an answer that proves nothing is believed: %+v", n)
				case !utf8.ValidString(n.ID + o.Code + o.Message + o.ProviderRef):
					t.Errorf("a text that no database accepts: %+v", n)
				}
			}
		}
	})
}
