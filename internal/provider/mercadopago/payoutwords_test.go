package mercadopago

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestAPayoutThatIsNotTaken(t *testing.T) {
	for says, want := range map[string]pay.PayoutOutcome{
		"Financial identity not found": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "Invalid identification number": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"Account is disabled": {Kind: pay.PayoutUnavailable, Code: notPermitted}, "client_not_allowed": {Kind: pay.PayoutUnavailable, Code: notPermitted},
		"Compliance not processed": {Kind: pay.PayoutUnavailable, Code: notPermitted}, "Many Requests": {Kind: pay.PayoutUnavailable, Code: "busy"},
		"Participant is not available": {Kind: pay.PayoutUnavailable, Code: "refused"}, "Invalid amount": {Kind: pay.PayoutUnavailable, Code: "refused"},
		"Invalid type point_of_interaction": {Kind: pay.PayoutUnavailable, Code: "refused"}, "Flow not specified": {Kind: pay.PayoutUnavailable, Code: "refused"},
		"Unrecognized key format": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "Invalid chave_type": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"Invalid identity source":    {Kind: pay.PayoutUnavailable, Code: "refused"},
		"Invalid external_reference": {Kind: pay.PayoutUnknown}, "Invalid Body: external_reference": {Kind: pay.PayoutUnknown}, "Invalid site": {Kind: pay.PayoutUnknown},
	} {
		p, f, _, r := paying(t, "the status page")
		f.says = says
		wantKind(t, says, p.Send(context.Background(), r), want.Kind, want.Code)
		r.Calls = 2
		wantKind(t, says+", again", p.Send(context.Background(), r), pay.PayoutUnknown, "")
	}
}

func TestStatusesInOurWords(t *testing.T) {
	ctx := context.Background()
	for word, want := range map[string]pay.PayoutOutcome{
		"processed/": {Kind: pay.PayoutPaid}, "processed/approved": {Kind: pay.PayoutPaid}, "approved/approved": {Kind: pay.PayoutPaid}, "success/accredited": {Kind: pay.PayoutPaid},
		"approved/": {Kind: pay.PayoutAccepted}, "new/": {Kind: pay.PayoutAccepted}, "pending/": {Kind: pay.PayoutAccepted}, "created/": {Kind: pay.PayoutAccepted},
		"in_process/pending_bank": {Kind: pay.PayoutAccepted}, "partially_processed/": {Kind: pay.PayoutAccepted},
		"success/": {Kind: pay.PayoutUnknown}, "processed/pending_bank": {Kind: pay.PayoutUnknown}, "canceled/": {Kind: pay.PayoutUnknown}, "approved/strange": {Kind: pay.PayoutUnknown}, "/": {Kind: pay.PayoutUnknown},
		"rejected/by_bank": {Kind: pay.PayoutRejected, Code: "rejected"}, "error/failed": {Kind: pay.PayoutRejected, Code: "rejected"}, "rejected/": {Kind: pay.PayoutRejected, Code: "rejected"},
		"failed/invalid_destination_account": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "failed/by_caps": {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		"failed/by_high_risk": {Kind: pay.PayoutRejected, Code: "compliance_rejected"}, "rejected/review_manual": {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		"rejected/insufficient_funds": {Kind: pay.PayoutUnavailable, Code: "insufficient_funds"}, "failed/by_provider": {Kind: pay.PayoutUnavailable, Code: "provider_error"},
		"rejected/other_reason": {Kind: pay.PayoutUnavailable, Code: "provider_error"}, "failed/zzz": {Kind: pay.PayoutRejected, Code: "rejected"},
		"refunded/refunded": {Kind: pay.PayoutReturned, Code: "returned"}, "reverted/": {Kind: pay.PayoutReturned, Code: "returned"},
	} {
		p, f, line, r := paying(t, "the test guide")
		f.Next(payouttest.Slow)
		r.ProviderRef = p.Send(ctx, r).ProviderRef
		f.Must(r.Reference).word = word
		o := p.Query(ctx, r)
		wantKind(t, word, o, want.Kind, want.Code)
		if o.ProviderRef != r.ProviderRef || o.Kind == pay.PayoutPaid && o.Local != r.Local {
			t.Errorf("%s: %+v", word, o)
		}
		strange := want.Kind == pay.PayoutUnknown || word == "rejected/" || word == "failed/zzz"
		if words := line.Words(); (len(words) > 0) != strange {
			t.Errorf("%s: reported to the operator: %q", word, words)
		}
	}
}

func TestPartialReturnIsForTheOperator(t *testing.T) {
	ctx := context.Background()
	for _, word := range []string{"", "approved/partially_refunded", "partially_reverted/partially_refunded", "refunded/refunded"} {
		p, f, _, r := paying(t, "the guide")
		p.Send(ctx, r)
		made := f.Must(r.Reference)
		made.word, made.refunded = word, 340
		list, err := p.Notices(ctx, f.Notify(r.Reference))
		if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.PayoutUnknown || list[0].Outcome.Local != money.New(340, money.BRL) || !strings.Contains(list[0].Outcome.Message, "a part") {
			t.Fatalf("%q: %+v %v", word, list, err)
		}
		made.refunded = 350
		if more, err := p.Notices(ctx, f.Notify(r.Reference)); err != nil || more[0].ID == list[0].ID {
			t.Errorf("%q: another part has the same id: %+v %v", word, more, err)
		}
	}
}

func TestAnswersOfPayoutsAreNotTrusted(t *testing.T) {
	paid := `{"id":"1-01","status":"processed","external_reference":"01M7ZBVYT4","transaction":{"to":{"accounts":[{"amount":"123,45","status_detail":"approved"}]},"total_amount":123.45}}`
	for _, body := range []string{
		strings.Replace(paid, "01M7ZBVYT4", "01M7ZOTHER", 1), strings.Replace(paid, `"1-01"`, `"../process"`, 1), strings.Replace(paid, `"1-01"`, `""`, 1),
		strings.Replace(paid, "123,45", "-1", 1), strings.Replace(paid, "123,45", "1,2345", 1), strings.Replace(paid, "123,45", "1.234,50", 1), strings.Replace(paid, "123,45", "0", 1),
		`{"id":"1-01","status":"processed","external_reference":"01M7ZBVYT4"}`, `{"id":["1-01"],"status":"processed"}`, `[]`, `null`, ``,
	} {
		for _, ref := range []string{"", "1-01"} {
			p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials("BR"), providertest.Says(http.StatusOK, body))
			r := samplePayout()
			r.Reference, r.ProviderRef, r.Calls, r.Sent, r.Now = "01M7ZBVYT4", ref, 1, providertest.Noon, providertest.Noon.Add(time.Hour)
			if o := p.Send(context.Background(), r); o.Kind != pay.PayoutUnknown {
				t.Errorf("%s: %+v", body, o)
			}
		}
	}
	p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials("BR"), providertest.Says(http.StatusAccepted, paid))
	r := samplePayout()
	r.Reference, r.Calls = "01M7ZBVYT4", 1
	wantKind(t, "the good one", p.Send(context.Background(), r), pay.PayoutPaid, "")
}
