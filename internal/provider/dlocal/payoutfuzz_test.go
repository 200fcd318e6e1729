package dlocal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// local calls a handler instead of a network.
type local struct{ upstream http.Handler }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	l.upstream.ServeHTTP(w, r)
	return w.Result(), nil
}

// Whatever dLocal answers, to a call or to a query that a notification caused: it is never
// taken for more than it proves.
func FuzzPayoutAnswers(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"id":"PO-4-1","external_id":"01M7ZFUZZ","status":"PAID","status_code":"200","amount":5.00,"currency":"BRL"}`, `{"external_id":"01M7ZFUZZ"}`},
		{`{"id":"PO-4-1","external_id":"01M7ZFUZZ","status":"REJECTED","status_code":300}`, `{"external_id":"01M7ZFUZZ","status":"PAID"}`},
		{`{"id":"PO-4-1","external_id":"01M7ZFUZZ","status":"PAID","amount":1,"currency":"USD","currency_to_pay":"BRL","amount_details":{"amount_to_pay":5.4}}`, `{"external_id":"01M7ZFUZZ-2"}`},
		{`{"code":5011,"message":"External id already used","param":"external_id"}`, `{}`},
		{`{"code":5009}`, `{"external_id":"01M7ZFUZZ"}`}, {`{"code":3000,"param":"amount"}`, `[]`}, {``, ``},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), 200)
		f.Add([]byte(seed[0]), []byte(seed[1]), 400)
	}
	r := samplePayouts()["pix.BRL"]
	r.Reference, r.Calls, r.Sent, r.Now = "01M7ZFUZZ", 1, providertest.Noon, providertest.Noon.Add(time.Hour)
	f.Fuzz(func(t *testing.T, reply, told []byte, status int) {
		if status < 200 || status > 599 {
			status = http.StatusOK
		}
		p, err := PayoutAdapter().OpenPayouts(provider.Account{
			ID: "acc", BaseURL: "https://upstream.test", Credentials: payoutCredentials, NotificationURL: providertest.Notifications,
			Client: &http.Client{Transport: local{upstream(status, string(reply))}}, Now: func() time.Time { return providertest.Noon },
		})
		if err != nil {
			t.Fatal(err)
		}
		s, ctx := p.(*sender), context.Background()
		good := status == http.StatusOK || status == http.StatusCreated
		sound := func(what string, o pay.PayoutOutcome) {
			switch {
			case o.Kind == pay.PayoutPaid && (!good || !o.Local.IsPositive() || o.ProviderRef == ""):
				t.Errorf("%s: an invalid amount: %+v", what, o)
			case !good && o.Kind == pay.PayoutAccepted, good && o.Kind == pay.PayoutUnavailable, o.Kind == pay.PayoutReturned:
				t.Errorf("%s: it is %+v, by status %d", what, o, status)
			case o.Kind == pay.PayoutRejected && !good && (what != "the call" || status != http.StatusBadRequest):
				t.Errorf("%s: it is rejected by status %d", what, status)
			case o.Kind == pay.PayoutMissing && status != http.StatusBadRequest:
				t.Errorf("%s: it is missing by status %d", what, status)
			case o.Local != (money.Amount{}) && !o.Local.IsPositive(), !utf8.ValidString(o.Code + o.Message + o.ProviderRef):
				t.Errorf("%s: a text that no database accepts: %+v", what, o)
			}
		}
		sound("the call", s.Send(ctx, r))
		sound("the question", s.Query(ctx, r))
		again := r
		again.Calls = 2
		if o := s.Send(ctx, again); !good && o.Kind != pay.PayoutUnknown {
			t.Errorf("the refusal of a second call proves something: %+v", o)
		}
		list, err := s.Notices(ctx, provider.Notification{Header: http.Header{}, Body: told})
		if err != nil && len(list) != 0 {
			t.Errorf("%d notices beside %v", len(list), err)
		}
		for _, n := range list {
			sound("the notice", n.Outcome)
			if n.ID == "" || n.Reference == "" || len(n.Body) == 0 || n.Outcome.Kind != pay.PayoutPaid && n.Outcome.Kind != pay.PayoutRejected {
				t.Errorf("it is about nothing: %+v", n)
			}
		}
	})
}
