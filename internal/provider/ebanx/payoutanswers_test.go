package ebanx

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
)

func TestOrdersThatAreNotTaken(t *testing.T) {
	ctx := context.Background()
	for code, want := range map[string]pay.PayoutOutcome{
		"HP-BR-03": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "HP-BR-04": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"HP-CM-27": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "HP-CF-01": {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		"HP-CM-28": {Kind: pay.PayoutRejected, Code: "compliance_rejected"}, "HP-BR-01": {Kind: pay.PayoutUnavailable, Code: "not_permitted"},
		"HP-CM-06": {Kind: pay.PayoutUnavailable, Code: "not_permitted"}, "HP-CM-30": {Kind: pay.PayoutUnavailable, Code: "insufficient_funds"},
		"HP-CM-10": {Kind: pay.PayoutUnavailable, Code: "refused"}, "HP-XX-77": {Kind: pay.PayoutUnavailable, Code: "refused"},
		"HP-CM-03": {Kind: pay.PayoutUnknown}, "BP-DR-1": {Kind: pay.PayoutUnknown}, "": {Kind: pay.PayoutUnknown},
	} {
		p, f, line, r := paying(t)
		f.says = denial(code, "No")
		wantPayout(t, code, p.Send(ctx, r), want.Kind, want.Code)
		if _, known := refusals[code]; (len(line.Words()) > 0) == (known || want.Kind == pay.PayoutUnknown) {
			t.Errorf("%s: reported to the operator: %q", code, line.Words())
		}
		// A later call may follow a first call that succeeded.
		r.Calls = 2
		wantPayout(t, code+", the second call", p.Send(ctx, r), want.Kind, want.Code)
		f.absent = denial("HP-ZZ-41", "Not found")
		wantPayout(t, code+", and whether there is one is not known", p.Send(ctx, r), pay.PayoutUnknown, "")
		f.says, f.absent = nil, nil
		p.Send(ctx, r)
		f.says = denial(code, "No")
		o := p.Send(ctx, r)
		if want.Kind != pay.PayoutUnknown || code == "HP-CM-03" {
			wantPayout(t, code+", and it is there", o, pay.PayoutPaid, "")
		}
	}
	p, f, _, r := paying(t)
	r.Destination, f.says = testRandom, denial("HP-BR-03", "Invalid PIX key")
	wantPayout(t, "a random key", p.Send(ctx, r), pay.PayoutUnavailable, "unsupported")
	for _, kind := range []string{"api_error", "request_error", "success", "", "strange"} {
		p, f, _, r := hostile(t)
		f.says = map[string]any{"type": kind, "code": "HP-CM-06", "message": "No"}
		wantPayout(t, kind, p.Send(ctx, r), pay.PayoutUnknown, "")
	}
	p, r = saying(t, http.StatusInternalServerError, `{"type":"invalid_request_error","code":"HP-CM-06","message":"No"}`)
	o := p.Send(ctx, r)
	if wantPayout(t, "status 500", o, pay.PayoutUnknown, ""); !strings.Contains(o.Message, "500") {
		t.Errorf("the status is not reported to the operator: %q", o.Message)
	}
}

func TestCancellationsInOurWords(t *testing.T) {
	ctx := context.Background()
	for word, want := range map[string]pay.PayoutOutcome{
		"TAX_ID_MISMATCH": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "BANK_INFO": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"ACCOUNT_DOESNT_EXISTS": {Kind: pay.PayoutRejected, Code: "account_closed"}, "ACCOUNT_BLOCKED": {Kind: pay.PayoutRejected, Code: "rejected"},
		"HIGH_RISK": {Kind: pay.PayoutRejected, Code: "limit_exceeded"}, "SERVICE_UNAVAILABLE": {Kind: pay.PayoutUnavailable, Code: "provider_error"},
		"NEW_WORD": {Kind: pay.PayoutRejected, Code: "rejected"},
	} {
		p, f, line, r := paying(t)
		f.Next(payouttest.Slow)
		p.Send(ctx, r)
		f.Fail(r.Reference, payouttest.Refused)
		f.Must(r.Reference).word = word
		wantPayout(t, word, p.Query(ctx, r), want.Kind, want.Code)
		if _, known := cancellations[word]; (len(line.Words()) > 0) == known {
			t.Errorf("%s: reported to the operator: %q", word, line.Words())
		}
	}
	p, f, line, r := paying(t)
	f.Next(payouttest.Slow)
	p.Send(ctx, r)
	f.Fail(r.Reference, "by a person")
	wantPayout(t, "without a reason", p.Query(ctx, r), pay.PayoutRejected, "rejected")
	f.where = "answer"
	f.Must(r.Reference).Why = payouttest.OverLimit
	wantPayout(t, "the reason stands beside the payout", p.Query(ctx, r), pay.PayoutRejected, "limit_exceeded")
	f.Must(r.Reference).paidBefore = true
	wantPayout(t, "after it was paid", p.Query(ctx, r), pay.PayoutUnknown, "")
	list, err := p.Notices(ctx, f.Notify(r.Reference))
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.PayoutUnknown {
		t.Errorf("after it was paid: %+v %v", list, err)
	}
	if words := line.Words(); len(words) != 0 {
		t.Errorf("reported to the operator: %q", words)
	}
}

func TestAbsenceIsEBANXsOwnWord(t *testing.T) {
	for says, want := range map[string]pay.PayoutKind{
		"Payout not found": pay.PayoutMissing, "payout with this external_reference was not found": pay.PayoutMissing,
		"Payee invalid or not found": pay.PayoutUnknown, "Country not found": pay.PayoutUnknown, "Parameter integration_key not found": pay.PayoutUnknown,
		"Payout is not available for this account": pay.PayoutUnknown, "": pay.PayoutUnknown,
	} {
		p, f, line, r := paying(t)
		f.absent = denial("HP-ZZ-42", says)
		wantPayout(t, says, p.Query(context.Background(), r), pay.PayoutUnknown, "")
		r.Now = r.Now.Add(settles)
		wantPayout(t, says, p.Query(context.Background(), r), want, "")
		if told := slices.Contains(line.Words(), "question: HP-ZZ-42"); told == (want == pay.PayoutMissing) {
			t.Errorf("%s: reported to the operator: %q", says, line.Words())
		}
	}
	for _, text := range []string{`{"type":"api_error","code":"HP-ZZ-42","message":"Payout not found"}`, `{"type":"invalid_request_error","message":"Payout not found"}`} {
		p, r := saying(t, http.StatusOK, text)
		wantPayout(t, text, p.Query(context.Background(), r), pay.PayoutUnknown, "")
	}
}

func TestAnswersOfPayoutsAreNotTrusted(t *testing.T) {
	for _, body := range []string{
		`{"type":"success","payout":{"uid":"f0","external_reference":"another","status":"PA","local_amount_total":"123.45","local_currency":"BRL"}}`,
		`{"type":"success","payout":{"uid":"f0","external_reference":"01M7ZBVYT4","status":"PA"}}`,
		`{"type":"success","payout":{"uid":"f0","external_reference":"01M7ZBVYT4","status":"PA","local_amount_total":"-5","local_currency":"BRL"}}`,
		`{"type":"success","payout":{"uid":"f0","external_reference":"01M7ZBVYT4","status":"PA","local_amount_total":"1.234","local_currency":"BRL"}}`,
		`{"type":"success","payout":{"uid":"f 0","external_reference":"01M7ZBVYT4","status":"PA","local_amount_total":"123.45","local_currency":"BRL"}}`,
		`{"type":"success","payout":{"uid":["f0"],"external_reference":"01M7ZBVYT4","status":"CA"}}`,
		`{"type":"api_error","payout":{"uid":"f0","external_reference":"01M7ZBVYT4","status":"CA"}}`,
		`{"type":"success","payout":{"external_reference":"01M7ZBVYT4","status":"CA"}}`,
		`{"type":"success","payout":[]}`, `{"type":"success","payout":null}`, `{"type":"success"}`, `{}`, `[]`, `null`, ``,
	} {
		p, r := saying(t, http.StatusOK, body)
		wantPayout(t, body, p.Query(context.Background(), r), pay.PayoutUnknown, "")
		wantPayout(t, body, p.Send(context.Background(), r), pay.PayoutUnknown, "")
	}
	p, r := saying(t, http.StatusOK, `{"type":"success","payout":{"uid":"f0","external_reference":"01M7ZBVYT4","status":"PA","local_amount_total":"123.45","local_currency":"BRL"}}`)
	r.ProviderRef = "f1"
	wantPayout(t, "another uid", p.Query(context.Background(), r), pay.PayoutUnknown, "")
	wantPayout(t, "another uid", p.Send(context.Background(), r), pay.PayoutUnknown, "")
	p, f, _, r := paying(t)
	f.Next(payouttest.Slow)
	p.Send(context.Background(), r)
	r.Calls, r.ProviderRef = 2, "f1"
	wantPayout(t, "another uid under a used reference", p.Send(context.Background(), r), pay.PayoutUnknown, "")
}

func TestNotificationsOfManyPayouts(t *testing.T) {
	ctx := context.Background()
	p, f, line, r := paying(t)
	first := f.Enter(&fakePayout{uid: "f0", Entry: payouttest.Entry{Reference: "01M7ZFIRST", Asked: r.Local}})
	second := f.Enter(&fakePayout{uid: "f1", Entry: payouttest.Entry{Reference: "01M7ZSECOND-2", Asked: r.Local}})
	foreign := f.Enter(&fakePayout{uid: "f2", Entry: payouttest.Entry{Reference: "payroll-may", Asked: r.Local}})
	for _, e := range []*fakePayout{first, second, foreign} {
		f.Complete(e.Reference)
	}
	list, err := p.Notices(ctx, payoutNotice("f0,f1,f2,f9"))
	if err != nil || len(list) != 2 || list[0].Reference != first.Reference || list[1].Reference != second.Reference || list[0].ID == list[1].ID {
		t.Errorf("%+v %v", list, err)
	}
	if list, err = p.Notices(ctx, notification("operation=x&payout_hashes=f0")); err != nil || len(list) != 1 {
		t.Errorf("another field name: %+v %v", list, err)
	}
	if list, err = p.Notices(ctx, notification("operation=payout_x")); err != nil || len(list) != 0 || !slices.Contains(line.Words(), "notification: payout_x") {
		t.Errorf("no hash: %+v %v, reported to the operator: %q", list, err, line.Words())
	}
	open := f.Enter(&fakePayout{uid: "f3", committed: true, Entry: payouttest.Entry{Reference: "01M7ZOPEN", Asked: r.Local}})
	if list, err = p.Notices(ctx, f.Notify(open.Reference)); err != nil || len(list) != 0 {
		t.Errorf("on its way: %+v %v", list, err)
	}
	line.Fail(payouttest.NoFault, 0)
	if list, err = p.Notices(ctx, notification("operation=payment_status_change&hash_codes=f0")); err != nil || len(list) != 0 || line.Count() != 0 {
		t.Errorf("of a charge: %+v %v after %d queries", list, err, line.Count())
	}
	f.absent = denial("HP-ZZ-43", "No")
	if list, err = p.Notices(ctx, payoutNotice("f0,f9")); !errors.Is(err, provider.ErrUnreachable) || len(list) != 0 {
		t.Errorf("an unknown payout: %+v %v", list, err)
	}
	for _, hashes := range []string{"f0,", "f0,%%", strings.Repeat("f", 51), "f0" + strings.Repeat(",f0", maxHashes)} {
		if list, err := p.Notices(ctx, payoutNotice(hashes)); err == nil || len(list) != 0 {
			t.Errorf("%s: %+v %v, want an error", hashes, list, err)
		}
	}
}

func TestTheBalance(t *testing.T) {
	p, _, line, _ := paying(t)
	if left, err := p.Balance(context.Background()); err != nil || left != money.New(49050, money.BRL) {
		t.Errorf("%s %v", left, err)
	}
	line.Fail(payouttest.Unauthorized, 0)
	if err := p.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "key is refused") {
		t.Errorf("%v, want the key named", err)
	}
	for body, want := range map[string]string{
		`{"type":"success","currency_code":"USD","balance":0}`: "0.00 USD", `{"type":"success","currency_code":"USD","balance":"-1.50"}`: "-1.50 USD",
		`{"type":"success","currency_code":"USD"}`: "", `{"type":"success","currency_code":"XXY","balance":1}`: "", `{"type":"success","currency_code":"USD","balance":1.005}`: "",
		`{"type":"authentication_error","currency_code":"USD","balance":1}`: "", `{"type":"invalid_request_error","code":"HP-BA-01","message":"No"}`: "", `{}`: "",
	} {
		p, _ := saying(t, http.StatusOK, body)
		if left, err := p.Balance(context.Background()); (err == nil) != (want != "") || err == nil && left.String() != want {
			t.Errorf("%s: %s %v, want %q", body, left, err, want)
		}
	}
}

func TestReferencesHaveTheLengthThatEBANXTakes(t *testing.T) {
	for reference, want := range map[string]pay.PayoutKind{
		"12345": pay.PayoutUnavailable, "123456": pay.PayoutAccepted, strings.Repeat("1", 40): pay.PayoutAccepted, strings.Repeat("1", 41): pay.PayoutUnavailable,
	} {
		p, _, _, r := paying(t)
		r.Reference = reference
		if o := p.Send(context.Background(), r); o.Kind != want {
			t.Errorf("%s: %+v, want %s", reference, o, want)
		}
	}
}

func TestPayoutsHaveHostsOfTheirOwn(t *testing.T) {
	for live, want := range map[bool]string{false: "https://sandbox.ebanxpay.com", true: "https://api.ebanxpay.com"} {
		p, err := openPayouts(provider.Account{Live: live, Credentials: credentials})
		if err != nil || p.(*payer).account.base != want {
			t.Errorf("live %t: %+v %v, want %s", live, p, err, want)
		}
	}
}
