package mercadopago

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// chargedBack is a payment of 300.00 by card whose issuer took the money back, and the id of its chargeback.
func chargedBack(t *testing.T) (a *account, f *fake, r provider.Request, id string) {
	t.Helper()
	a, f, _ = connect(t)
	r = request("card.MEX")
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Paid)
	r.ProviderRef = a.Query(context.Background(), r).ProviderRef
	r.MoneyRef = r.ProviderRef
	f.find(r.ProviderRef).set("charged_back", "in_process")
	return a, f, r, "77" + r.ProviderRef
}

// The document's states of a chargeback. While it waits for documents or reads them, "not covered" is not the end.
func TestAChargebackIsOverOnceItsDocumentsAre(t *testing.T) {
	for _, c := range []struct {
		covered, papers any
		open, reviewing bool
		ruling          pay.Ruling
	}{
		{nil, "pending", true, false, ""}, {nil, "review_pending", true, true, ""}, {nil, "not_supplied", true, false, ""}, {nil, nil, true, false, ""},
		{false, "pending", true, false, ""}, {"false", "review_pending", true, true, ""},
		{false, "invalid", false, false, pay.DisputeLost}, {"false", "not_supplied", false, false, pay.DisputeLost},
		{false, "valid", false, false, pay.DisputeLost}, {false, "not_applicable", false, false, pay.DisputeLost},
		{true, "valid", false, false, pay.DisputeWon}, {"true", "valid", false, false, pay.DisputeWon}, {true, "pending", false, false, pay.DisputeWon},
		{"", "pending", true, false, ""}, {"quux", "valid", true, false, ""},
	} {
		what := fmt.Sprintf("%v, documents %v", c.covered, c.papers)
		a, f, r, id := chargedBack(t)
		f.cases = map[string]any{"coverage_applied": c.covered, "documentation_status": c.papers}
		list, err := a.Notices(context.Background(), notification("topic_chargebacks_wh", id, 1, providertest.Noon.UnixMilli()))
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", what, list, err)
		}
		n := list[0]
		if n.Dispute != c.open || n.Ruling != c.ruling || n.Reviewing != c.reviewing || n.Reference != r.Reference || n.DisputeID != id || n.Stage == "" {
			t.Errorf("%s: %+v", what, n)
		}
		if n.Outcome.Local != r.Local || n.Outcome.MoneyRef != r.MoneyRef || n.Outcome.Message == "" {
			t.Errorf("%s: it is about %+v", what, n.Outcome)
		}
		if told := n.RespondBy.Equal(time.Date(2026, 12, 1, 16, 0, 0, 0, time.UTC)); told != c.open {
			t.Errorf("%s: documents until %s", what, n.RespondBy)
		}
		asked, ok := a.QueryDispute(context.Background(), provider.DisputeRequest{ID: id, Charge: r})
		if !ok || asked.Ruling != n.Ruling || asked.Dispute != n.Dispute || asked.Reference != r.Reference || asked.DisputeID != id {
			t.Errorf("%s: asked about it: %+v, %t", what, asked, ok)
		}
	}
}

// Each change of a chargeback is another news.
func TestEachStateOfAChargebackIsToldOnce(t *testing.T) {
	a, f, _, id := chargedBack(t)
	seen := map[string]bool{}
	for i, change := range []map[string]any{nil, {"documentation_status": "review_pending"}, {"documentation_status": "valid", "coverage_applied": true}} {
		f.cases = change
		for range 2 {
			list, err := a.Notices(context.Background(), notification("topic_chargebacks_wh", id, int64(i), providertest.Noon.UnixMilli()))
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			seen[list[0].ID] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("the news are %v", seen)
	}
}

// The payments of a chargeback are numbers in the guide, objects in the OpenAPI document, and one field in the SDKs.
func TestAChargebackNamesItsPaymentInThreeForms(t *testing.T) {
	for form, change := range map[string]func(id string) map[string]any{
		"texts":   func(id string) map[string]any { return map[string]any{"payments": []string{id}} },
		"objects": func(id string) map[string]any { return map[string]any{"payments": []any{map[string]string{"id": id}}} },
		"a field": func(id string) map[string]any {
			return map[string]any{"payments": nil, "payment_id": json.Number(id), "currency": nil, "currency_id": "MXN"}
		},
		"a string": func(string) map[string]any { return map[string]any{"amount": "300.00"} },
	} {
		a, f, r, id := chargedBack(t)
		f.cases = change(r.ProviderRef)
		list, err := a.Notices(context.Background(), notification("topic_chargebacks_wh", id, 1, providertest.Noon.UnixMilli()))
		if err != nil || len(list) != 1 || !list[0].Dispute || list[0].Outcome.Local != r.Local {
			t.Errorf("%s: %+v, %v", form, list, err)
		}
	}
}

// If only the payment is notified of, its chargeback is searched for. A token that may not search gets a dispute without an id, whose
// end Mercado Pago does not tell by the payment: its documents contradict each other about those words.
func TestTheNoticeOfAPaymentNamesItsChargeback(t *testing.T) {
	a, f, r, id := chargedBack(t)
	ctx := context.Background()
	n := tell(t, a, f, r.Reference)[0]
	if n.DisputeID != id || n.Outcome.Local != r.Local || !n.Dispute {
		t.Errorf("%+v", n)
	}
	f.barred = true
	for _, detail := range []string{"in_process", "settled", "reimbursed"} {
		f.find(r.ProviderRef).set("charged_back", detail)
		n := tell(t, a, f, r.Reference)[0]
		if n.DisputeID != "" || !n.Dispute || n.Ruling != "" || n.Stage != "charged_back "+detail {
			t.Errorf("%s: %+v", detail, n)
		}
		if asked, ok := a.QueryDispute(ctx, provider.DisputeRequest{Charge: r}); !ok || !asked.Dispute || asked.Ruling != "" {
			t.Errorf("%s, asked about it: %+v", detail, asked)
		}
	}
	f.barred = false
	if asked, ok := a.QueryDispute(ctx, provider.DisputeRequest{Charge: r}); !ok || asked.DisputeID != id {
		t.Errorf("asked about the payment's: %+v", asked)
	}
}

// Only Mercado Pago's own words say that there is no chargeback.
func TestAMissingChargebackIsInMercadoPagosWords(t *testing.T) {
	for body, gone := range map[string]bool{
		`{"message":"Case for 7799 doesn't exist","error":"not_found","status":404}`: true,
		`{"message":"resource not found","error":"not_found","status":404}`:          false,
		`<html>`: false,
	} {
		a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials(), providertest.Says(http.StatusNotFound, body))
		list, err := a.Notices(context.Background(), notification("topic_chargebacks_wh", "7799", 1, providertest.Noon.UnixMilli()))
		if len(list) != 0 || gone != (err == nil) || !gone && !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("%s: %v, %v", body, list, err)
		}
	}
}

// A mediation that Mercado Pago paid for is nobody's victory: what the seller lost, the operator finds out.
func TestACoveredMediationIsTheOperators(t *testing.T) {
	for _, state := range []string{"refunded/bpp_refunded", "refunded/bpp_covered", "approved/partially_bpp_refunded", "approved/partially_bpp_covered"} {
		a, f, _ := connect(t)
		p, r, routes := waiting(t, a)
		f.Move(r.Reference, providertest.Paid)
		p, _ = p.ApplyNotice(tell(t, a, f, r.Reference)[0], routes, "CLM-1", providertest.Noon)
		f.Charges[0].payments[0].set("in_mediation", "pending")
		p, change := tell(t, a, f, r.Reference)[0].ApplyDispute(p, nil, [2]string{"CLM-2", "CLM-3"}, providertest.Noon)
		status, detail, _ := strings.Cut(state, "/")
		f.Charges[0].Refunds = append(f.Charges[0].Refunds, providertest.Refund{Local: money.New(100_00, r.Local.Currency)})
		f.Charges[0].payments[0].set(status, detail)
		r.ProviderRef = p.Attempts[0].ProviderRef
		if n, known := a.QueryDispute(context.Background(), provider.DisputeRequest{Charge: r}); known {
			t.Errorf("%s: the dispute is decided: %+v", state, n)
		}
		n := tell(t, a, f, r.Reference)[0]
		_, change = n.ApplyRefundList(p, change.Claims, []string{"CLM-4", "CLM-5"}, providertest.Noon)
		if got := change.Notices[0].Verdict; got != pay.Mismatched || len(change.Claims) != 0 {
			t.Errorf("%s: it is %s, with %d claims", state, got, len(change.Claims))
		}
	}
}
