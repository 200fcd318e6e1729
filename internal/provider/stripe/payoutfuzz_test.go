package stripe

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func accountOf(credentials map[string]string) provider.Account {
	return provider.Account{ID: "acc", Credentials: credentials, Client: http.DefaultClient}
}

// Whatever Stripe signed and whatever it answers to queries, nothing is taken for more than
// an answer proves. Unsigned notifications are not read.
func FuzzPayoutAnswers(f *testing.F) {
	const paid = `{"id":"obp_1","object":"v2.money_management.outbound_payment","status":"posted","metadata":{"cascada_reference":"01M7ZFUZZ"},"expected_arrival_date":"2020-01-01T00:00:00Z","to":{"credited":{"value":5000,"currency":"mxn"}}}`
	for _, seed := range [][2]string{
		{string(thinEvent("evt_1", "v2.money_management.outbound_payment.posted", "obp_1", false)), paid},
		{string(thinEvent("evt_1", "v2.money_management.outbound_payment.returned", "obp_1", false)), `{"id":"obp_1","object":"v2.money_management.outbound_payment","status":"returned","metadata":{"cascada_reference":"01M7ZFUZZ"},"status_details":{"returned":{"reason":"recalled"}}}`},
		{string(thinEvent("evt_1", "v2.money_management.outbound_payment.failed", "obp_1", false)), `{"id":"obp_1","object":"v2.money_management.outbound_payment","status":"failed","metadata":{"cascada_reference":"01M7ZFUZZ"}}`},
		{`{}`, `{"data":[` + paid + `],"next_page_url":null}`}, {`{}`, `{"error":{"type":"insufficient_funds","code":"x"}}`}, {``, ``},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	p, _ := payouttest.OpenAccount[*payer](f, PayoutAdapter(), payoutCredentials(), answer)
	r := payoutTo("spei", "MXN", "646180157000000004", 5000)
	r.Reference, r.Sent, r.Now = "01M7ZFUZZ", providertest.Noon, providertest.Noon.Add(1000*day)
	f.Fuzz(func(t *testing.T, body, reply []byte) {
		ctx := context.Background()
		answer.Body = reply
		if list, err := p.Notices(ctx, provider.Notification{Header: http.Header{}, Body: body}); len(list) != 0 || !errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("it is not signed, but read: %+v %v", list, err)
		}
		for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
			answer.Status = status
			list, err := p.Notices(ctx, provider.Notification{Body: body, Header: http.Header{signatureHeader: {signature(body, testSecret, providertest.Noon.Unix())}}})
			if err != nil && len(list) != 0 || status != http.StatusOK && len(list) != 0 {
				t.Errorf("%d notices beside %v", len(list), err)
			}
			var outcomes []pay.PayoutOutcome
			for _, n := range list {
				outcomes = append(outcomes, n.Outcome)
				if n.ID == "" || n.Reference == "" || n.ProviderRef == "" || len(n.Body) == 0 {
					t.Errorf("it is about nothing: %+v", n)
				}
			}
			asked := p.Query(ctx, r)
			if status != http.StatusOK && asked.Kind != pay.PayoutUnknown {
				t.Errorf("an answer that proves nothing is believed: %+v", asked)
			}
			for _, o := range append(outcomes, asked) {
				switch {
				case o.Kind == pay.PayoutPaid && (!o.Local.IsPositive() || o.ProviderRef == ""):
					t.Errorf("an invalid amount: %+v", o)
				case !utf8.ValidString(o.Code + o.Message + o.ProviderRef):
					t.Errorf("a text that no database accepts: %+v", o)
				}
			}
		}
	})
}
