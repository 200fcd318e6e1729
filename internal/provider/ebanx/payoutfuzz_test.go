package ebanx

import (
	"context"
	"crypto"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const fuzzedPayout = `{"type":"success","payout":{"uid":"0f28f5b2bf60536d78b2dbf003c13886dd452d926","external_reference":"01M7ZBVYT4","status":"PA","paid_date":null,` +
	`"request_amount":"123.45","request_currency":"BRL","local_amount_total":"123.45","local_currency":"BRL","payee":{"document":"52998224725","bank_info":null}}}`

// soundPayout fails the test if an outcome claims more than the answer can prove.
func soundPayout(t *testing.T, o pay.PayoutOutcome, status int) {
	t.Helper()
	switch {
	case o.Kind == pay.PayoutReturned:
		t.Errorf("a return, which no answer reports: %+v", o)
	case o.Kind == pay.PayoutPaid && (!o.Local.IsPositive() || o.ProviderRef == "" || status != http.StatusOK):
		t.Errorf("an invalid amount, with status %d: %+v", status, o)
	case (o.Kind == pay.PayoutRejected || o.Kind == pay.PayoutUnavailable) && (o.Code == "" || o.Message == ""):
		t.Errorf("it has no reason: %+v", o)
	case o.Local.Minor < 0 || len(o.ProviderRef) > 50 || !utf8.ValidString(o.Code+o.Message+o.ProviderRef):
		t.Errorf("a text that no database accepts: %+v", o)
	}
}

// Whatever EBANX answers, calls and queries report no more than it proves, and a notification counts only
// as far as the answer to the query about it.
func FuzzPayouts(f *testing.F) {
	hash := "operation=payout_status_change&notification_type=update&hash_codes=0f28f5b2bf60536d78b2dbf003c13886dd452d926"
	for _, seed := range [][2]string{
		{hash, fuzzedPayout}, {hash + ",1", strings.Replace(fuzzedPayout, `"PA"`, `"OP"`, 1)}, {hash, strings.Replace(fuzzedPayout, `"PA"`, `"PE"`, 1)},
		{hash, strings.Replace(fuzzedPayout, `"PA"`, `"CA","error":{"code":"HIGH_RISK","message":""}`, 1)},
		{hash, strings.ReplaceAll(fuzzedPayout, "123.45", "-1")}, {hash, strings.Replace(fuzzedPayout, `"PA"`, `"\u0000"`, 1)},
		{hash, `{"type":"invalid_request_error","code":"HP-ZZ-40","message":"Payout not found"}`},
		{hash, `{"type":"invalid_request_error","code":"HP-CM-03","message":"You already have a payout"}`}, {hash, `{"type":"authentication_error"}`},
		{"hash_codes=" + strings.Repeat(",", 200), fuzzedPayout}, {"operation=payment_status_change", ""}, {"%zz", ""}, {"", ""},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	answer := &providertest.Answer{}
	p := &payer{account: providertest.Offline(f, Adapter(), credentials, answer).(*account)}
	r := samplePayout()
	r.Reference, r.Sent, r.Now = "01M7ZBVYT4", providertest.Noon, providertest.Noon.Add(time.Hour)
	f.Fuzz(func(t *testing.T, body, reply []byte) {
		ctx := context.Background()
		answer.Body = reply
		for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusInternalServerError} {
			answer.Status = status
			asked, sent := p.Query(ctx, r), p.Send(ctx, r)
			for _, o := range []pay.PayoutOutcome{asked, sent} {
				soundPayout(t, o, status)
				if status == http.StatusInternalServerError && o.Kind != pay.PayoutUnknown {
					t.Errorf("status %d proves something: %+v", status, o)
				}
			}
			if asked.Kind == pay.PayoutUnavailable && asked.ProviderRef == "" || sent.Kind == pay.PayoutMissing || sent.Kind == pay.PayoutUnsent {
				t.Errorf("the query returns %+v, and the call %+v", asked, sent)
			}
			n := notification(string(body))
			list, err := p.Notices(ctx, n)
			if errors.Is(err, provider.ErrUnsigned) != (len(body) == 0 || len(body) > maxBody) || err != nil && len(list) != 0 {
				t.Errorf("EBANX's own signature: %+v %v", list, err)
			}
			for _, told := range list {
				soundPayout(t, told.Outcome, status)
				if told.ID == "" || told.Reference == "" || told.ProviderRef == "" || len(told.Body) == 0 || !utf8.ValidString(told.ID) || status != http.StatusOK {
					t.Errorf("with status %d, it is about nothing: %+v", status, told)
				}
			}
			n.Body = append(body[:len(body):len(body)], '&')
			if list, err := p.Notices(ctx, n); !errors.Is(err, provider.ErrUnsigned) || len(list) != 0 || providertest.IsSigned(crypto.SHA1, n.Body, n.Header.Get("X-SignatureContent")) {
				t.Errorf("it is not signed, but read: %+v %v", list, err)
			}
		}
	})
}
