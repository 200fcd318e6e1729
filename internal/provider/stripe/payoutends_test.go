package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestEndingsInOurWords(t *testing.T) {
	ctx := context.Background()
	for word, want := range map[string]pay.PayoutOutcome{
		"payout_method_does_not_exist": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "payout_method_holder_name_incorrect": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"payout_method_closed": {Kind: pay.PayoutRejected, Code: "account_closed"}, "review_rejected": {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		"payout_method_restricted": {Kind: pay.PayoutRejected, Code: "compliance_rejected"}, "payout_method_declined": {Kind: pay.PayoutRejected, Code: "rejected"},
		"payout_method_usage_frequency_limit_exceeded": {Kind: pay.PayoutRejected, Code: "limit_exceeded"},
		"payout_method_unsupported":                    {Kind: pay.PayoutUnavailable, Code: "unsupported"}, "unknown_failure": {Kind: pay.PayoutUnavailable, Code: "provider_error"},
		"fx_rate_drift_exceeded_after_review": {Kind: pay.PayoutUnavailable, Code: "provider_error"},
		"a_new_word":                          {Kind: pay.PayoutRejected, Code: "rejected"}, "Ana Gómez, RFC": {Kind: pay.PayoutRejected, Code: "rejected"},
	} {
		for _, back := range []bool{false, true} {
			p, f, line, r := paying(t)
			f.Next(payouttest.Slow)
			p.Send(ctx, r)
			if back {
				f.Complete(r.Reference)
				f.Return(r.Reference, payouttest.Refused)
				want.Kind = pay.PayoutReturned
			} else {
				f.Fail(r.Reference, payouttest.Refused)
			}
			f.Must(r.Reference).reason = word
			wantKind(t, word, p.Query(ctx, r), want.Kind, want.Code)
			list, err := p.Notices(ctx, f.Notify(r.Reference))
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %+v %v", word, list, err)
			}
			wantKind(t, word, list[0].Outcome, want.Kind, want.Code)
			_, known := endings[word]
			if words := line.Words(); (len(words) > 0) == known || strings.Contains(fmt.Sprint(words), "Ana") {
				t.Errorf("%s: reported to the operator: %q", word, words)
			}
		}
	}
}

// If somebody cancels a payout, it must not be sent by another account.
func TestACanceledPayoutIsRefused(t *testing.T) {
	p, f, _, r := paying(t)
	f.Next(payouttest.Slow)
	p.Send(context.Background(), r)
	f.Must(r.Reference).word = "canceled"
	wantKind(t, "canceled", p.Query(context.Background(), r), pay.PayoutRejected, "rejected")
}

func TestAPaymentIsLookedForAmongMany(t *testing.T) {
	for crowd, want := range map[int]pay.PayoutKind{0: pay.PayoutMissing, 20: pay.PayoutMissing, 21: pay.PayoutMissing, 1999: pay.PayoutMissing, 2001: pay.PayoutUnknown} {
		p, f, line, r := paying(t)
		f.crowd = crowd
		wantKind(t, "too early", p.Query(context.Background(), r), pay.PayoutUnknown, "")
		f.lists = 0
		r = later(line, r, settles)
		wantKind(t, fmt.Sprint(crowd), p.Query(context.Background(), r), want, "")
		if f.lists > mostPages {
			t.Errorf("%d payments: %d pages were requested", crowd, f.lists)
		}
		if want == pay.PayoutMissing {
			f.Enter(&fakePayment{number: 5, Entry: payouttest.Entry{Reference: r.Reference, Asked: r.Local}})
			o := p.Query(context.Background(), r)
			wantKind(t, fmt.Sprint(crowd), o, pay.PayoutAccepted, "")
			// The same, after the merchant's test clock was moved.
			r.Now, r.Sent = r.Now.Add(900*time.Hour), r.Sent.Add(900*time.Hour)
			wantKind(t, fmt.Sprint(crowd), p.Query(context.Background(), r), pay.PayoutAccepted, "")
		}
	}
}

func TestTheNextPageIsAtStripe(t *testing.T) {
	for _, next := range []string{`".evil.example/v2/money_management/outbound_payments?page=2"`, `"https://evil.example/"`, `"@evil.example/"`, `"/v2/core/accounts?page=2"`, `7`} {
		var calls atomic.Int64
		p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			_, _ = fmt.Fprintf(w, `{"data":[],"next_page_url":%s}`, next)
		}))
		r := payoutTo("spei", "MXN", "646180157000000004", 1)
		r.Reference, r.Sent, r.Now = "01M7ZBVYT4", providertest.Noon, providertest.Noon.Add(time.Hour)
		wantKind(t, next, p.Query(context.Background(), r), pay.PayoutUnknown, "")
		if calls.Load() != 1 {
			t.Errorf("%s: %d calls", next, calls.Load())
		}
	}
}

func TestTheBalanceIsOfItsCurrency(t *testing.T) {
	ctx := context.Background()
	for currency, want := range map[string]money.Amount{"": money.New(129400, "USD"), "usd": money.New(129400, "USD"), "GBP": money.New(30, "GBP"), "EUR": {}} {
		p, f, line, r := paying(t, func(c map[string]string) { c["currency"] = currency })
		left, err := p.Balance(ctx)
		if left != want || (err == nil) != want.IsPositive() {
			t.Errorf("%q: %s %v, want %s", currency, left, err, want)
		}
		if !want.IsPositive() {
			continue
		}
		wantKind(t, currency, p.Send(ctx, r), pay.PayoutPaid, "")
		line.Fail(payouttest.Forbidden, 2)
		if err := p.Check(ctx); err == nil || !strings.Contains(err.Error(), "Outbound Payments") {
			t.Errorf("%v, want the right named", err)
		}
		line.Fail(payouttest.NoFault, 0)
		if f.closed = true; p.Check(ctx) == nil {
			t.Error("the financial account is closed, and the check passes")
		}
	}
	for _, body := range []string{`{}`, `{"id":"fa_test_65Fake","status":"open"}`, `{"id":"fa_other","status":"open","balance":{"available":{"usd":{"value":5,"currency":"usd"}}}}`,
		`{"id":"fa_test_65Fake","status":"open","balance":{"available":{"usd":{"currency":"usd"}}}}`, `{"id":"fa_test_65Fake","status":"open","balance":{"available":{"usd":{"value":5,"currency":"eur"}}}}`, `[]`} {
		p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials(), providertest.Says(http.StatusOK, body))
		if left, err := p.Balance(ctx); err == nil {
			t.Errorf("%s: %s, want an error", body, left)
		}
	}
}

func TestAnswersOfPayoutsAreNotTrusted(t *testing.T) {
	const good = `"object":"v2.money_management.outbound_payment","metadata":{"cascada_reference":"01M7ZBVYT4"},"expected_arrival_date":"2020-01-01T00:00:00Z"`
	for _, body := range []string{
		`{"id":"obp_1","status":"posted",` + strings.Replace(good, "01M7ZBVYT4", "another", 1) + `,"to":{"credited":{"value":5,"currency":"mxn"}}}`,
		`{"id":"obp_1","status":"posted",` + strings.Replace(good, "payment", "transfer", 1) + `,"to":{"credited":{"value":5,"currency":"mxn"}}}`,
		`{"id":"obp_1","status":"posted",` + good + `}`,
		`{"id":"obp_1","status":"posted",` + good + `,"to":{"credited":{"value":-5,"currency":"mxn"}}}`,
		`{"id":"obp_1","status":"posted",` + good + `,"to":{"credited":{"value":12.5,"currency":"mxn"}}}`,
		`{"id":"obp_1","status":"posted",` + good + `,"to":{"credited":{"value":5,"currency":"mx"}}}`,
		`{"id":"","status":"failed",` + good + `}`, `{"id":["obp_1"],"status":"failed",` + good + `}`,
		`{"data":{}}`, `{"data":null}`, `{}`, `[]`, `null`, ``,
	} {
		for _, ref := range []string{"", "obp_1"} {
			answer := body
			if ref == "" && strings.Contains(body, "obp_1") {
				answer = `{"data":[` + body + `],"next_page_url":"/elsewhere"}`
			}
			p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials(), providertest.Says(http.StatusOK, answer))
			r := payoutTo("spei", "MXN", "646180157000000004", 5)
			r.Reference, r.ProviderRef, r.Sent, r.Now = "01M7ZBVYT4", ref, providertest.Noon, providertest.Noon.Add(time.Hour)
			wantKind(t, answer, p.Query(context.Background(), r), pay.PayoutUnknown, "")
			wantKind(t, answer, p.Send(context.Background(), r), pay.PayoutUnknown, "")
		}
	}
}

func TestInvalidPayoutCredentialsAreRefused(t *testing.T) {
	for name, wrong := range map[string]string{"secretKey": "sk_live_1", "webhookSecret": "secret", "financialAccount": "ba_1", "currency": "MXN", "recipients": "both"} {
		c := payoutCredentials()
		c[name] = wrong
		_, err := PayoutAdapter().OpenPayouts(accountOf(c))
		if err == nil || !strings.HasPrefix(err.Error(), name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The kind of a recipient follows from a Mexican tax id, or else from the account.
func TestRecipientsAreWhatTheyAreSaidToBe(t *testing.T) {
	for _, c := range []struct{ account, document, want string }{
		{"", "", "company"}, {"company", "GOMA800101AB1", "individual"}, {"individual", "", "individual"}, {"individual", "ABC010203XY1", "company"}, {"", "123", "company"},
	} {
		p, f, _, r := paying(t, func(with map[string]string) { with["recipients"], with["currency"] = c.account, "gbp" })
		r.Name, r.Document = "Ana Gómez", c.document
		wantKind(t, "the call", p.Send(context.Background(), r), pay.PayoutPaid, "")
		if !slices.Equal(f.entities, []string{c.want}) || !slices.Equal(f.debited, []string{"gbp"}) {
			t.Errorf("%q %q: it is %q of %q, want %s", c.account, c.document, f.entities, f.debited, c.want)
		}
	}
}

func TestAnEventIsOfThePaymentThatItNames(t *testing.T) {
	p, f, _, r := paying(t)
	p.Send(context.Background(), r)
	about := f.Must(r.Reference).json()
	answers, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials(), providertest.Says(http.StatusOK, string(providertest.JSON(about))))
	for id, known := range map[string]bool{f.Must(r.Reference).id(): true, "obp_another": false} {
		n := f.signed(thinEvent("evt_1", "v2.money_management.outbound_payment.posted", id, false))
		list, err := answers.Notices(context.Background(), n)
		if (len(list) == 1) != known || known != (err == nil) || !known && !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("%s: %+v %v", id, list, err)
		}
	}
}
