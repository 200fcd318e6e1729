package payulatam

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestDeclinesAreToldApart(t *testing.T) {
	c := connected(t, http.NotFoundHandler(), credentials())
	var unmapped int
	c.account.Unmapped = func(string) { unmapped++ }
	for code, want := range map[string]struct {
		soft bool
		code problem.Code
	}{
		"ANTIFRAUD_REJECTED": {false, problem.FraudBlocked}, "BANK_FRAUD_REJECTED": {false, problem.FraudBlocked},
		"INSUFFICIENT_FUNDS": {false, problem.InsufficientFunds}, "EXPIRED_CARD": {false, problem.ExpiredCard},
		"ENTITY_DECLINED": {true, problem.CardDeclined}, "BANK_UNREACHABLE": {true, problem.CardDeclined}, "PAYMENT_NETWORK_NO_RESPONSE": {true, problem.CardDeclined},
		"WHO_KNOWS": {false, ""},
	} {
		o := c.account.Declined(declines, code, "")
		if o.Kind != pay.Declined || o.Soft != want.soft || o.Code != want.code || o.Decline == "" || o.Message == "" {
			t.Errorf("%s: %+v, want soft %t and code %q", code, o, want.soft, want.code)
		}
	}
	if unmapped != 1 {
		t.Errorf("%d codes were reported, want the unknown one", unmapped)
	}
	for code, d := range declines {
		if !d.Known() {
			t.Errorf("%s: %q is not in the vocabulary", code, d)
		}
	}
}

// Each transaction that was refused is a try, also of an order that was paid then, or of another order of the charge.
func TestEachRefusedTransactionIsATry(t *testing.T) {
	refused := func(id, code, at string) string {
		return `{"id":"` + id + `","type":"AUTHORIZATION_AND_CAPTURE","transactionResponse":{"state":"DECLINED","responseCode":"` + code + `","operationDate":` + at + `}}`
	}
	for name, c := range map[string]struct {
		transactions string
		kind         pay.OutcomeKind
		want         []decline.Try
	}{
		"refused": {refused("t1", "INSUFFICIENT_FUNDS", "1620064792953"), pay.Declined, []decline.Try{
			{ID: "t1", At: 1620064792953_000, Reason: decline.InsufficientFunds, Raw: "INSUFFICIENT_FUNDS"}}},
		"paid then": {refused("t1", "BANK_UNREACHABLE", "null") + "," + charged("100", "MXN") + "," + refused("t2", "", `"soon"`), pay.Approved, []decline.Try{
			{ID: "t1", Reason: decline.IssuerUnavailable, Raw: "BANK_UNREACHABLE", Soft: true}, {ID: "t2", Reason: decline.Declined, Raw: "DECLINED"}}},
		"paid at once": {charged("100", "MXN"), pay.Approved, nil},
	} {
		r := sample("cash.oxxo.MEX", 100_00)
		o := connected(t, providertest.Says(http.StatusOK, reported(r.Reference, "CAPTURED", c.transactions)), credentials()).Query(context.Background(), r)
		if o.Kind != c.kind || !slices.Equal(o.Tries, c.want) {
			t.Errorf("%s: %s, tries %+v, want %s, %+v", name, o.Kind, o.Tries, c.kind, c.want)
		}
	}
	f := newFake(signer(t, "", testSecret))
	a, r := connected(t, f, credentials("secretKey", testSecret)), sample("cash.oxxo.MEX", 100_00)
	f.Next(providertest.Declined)
	o := a.Charge(context.Background(), r)
	list, err := a.Notices(context.Background(), f.Notification(r.Reference))
	if err != nil || len(list) != 1 || len(o.Tries) != 1 || len(list[0].Outcome.Tries) != 1 {
		t.Fatalf("%+v, %v, the call %+v", list, err, o)
	}
	told, known := list[0].Outcome.Tries[0], a.Query(context.Background(), r).Tries[0]
	if told.ID != o.Tries[0].ID || known.ID != told.ID || told.Reason != known.Reason {
		t.Errorf("the call has the try %+v, the query %+v, the confirmation %+v", o.Tries[0], known, told)
	}
}
