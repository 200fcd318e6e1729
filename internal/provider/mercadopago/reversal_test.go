package mercadopago

import (
	"context"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// waiting is a payment of 300.00 whose shopper has the code of a Pix.
func waiting(t *testing.T, a *account) (pay.Payment, provider.Request, pay.Cascade) {
	t.Helper()
	return waitingFor(t, a, "pix.BRA")
}

// waitingFor is a payment of 300.00 over a rail.
func waitingFor(t *testing.T, a *account, key string) (pay.Payment, provider.Request, pay.Cascade) {
	t.Helper()
	r := request(key)
	routes := pay.Cascade{Routes: []pay.Route{{Provider: a.ID}}}
	rail := accounts.Rail{ID: "1001", Key: r.Rail, Method: "pix", Country: r.Country, Window: day,
		Limits: []accounts.Limit{{Currency: r.Local.Currency, Min: 1, Max: 1 << 50}}}
	rate, err := money.ParseRate("5")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pay.Create(pay.Order{ID: "TXN-01M7ZTEST", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, Amount: money.New(60_00, money.USD),
		Local: r.Local, Rate: rate, Rail: rail, Country: r.Country, Buyer: r.Buyer, Terms: plans.OfTier(merchants.Standard)}, providertest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	p, _ = p.Begin(routes, providertest.Noon)
	r.Reference = p.Reference(1)
	p, _ = p.ApplyAnswer(a.Charge(context.Background(), r), routes, providertest.Noon)
	if p.Status != pay.Pending {
		t.Fatal(p)
	}
	return p, r, routes
}

// tell makes Mercado Pago notify of the charge, and returns the notices about it.
func tell(t *testing.T, a *account, f *fake, reference string) []pay.Notice {
	t.Helper()
	list, err := a.Notices(context.Background(), f.Notification(reference))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for i := range list {
		list[i].Account = a.ID
	}
	return list
}

// If the first news of a payment is that it was refunded, nobody has the money.
func TestAPaymentThatWasGivenBackDoesNotComplete(t *testing.T) {
	a, f, _ := connect(t)
	p, r, routes := waiting(t, a)
	f.Charges[0].payments[0].set("refunded", "refunded")
	p, change := p.ApplyNotice(tell(t, a, f, r.Reference)[0], routes, "CLM-1", providertest.Noon)
	if p.Status != pay.Failed || p.End.Failure.Code != "reversed" || len(change.Transfers) > 0 {
		t.Errorf("the payment is %s, with %d transfers", p, len(change.Transfers))
	}
	if o := a.Query(context.Background(), r); o.Kind != pay.Reversed || o.Back.Total != r.Local {
		t.Errorf("a query answers %+v", o)
	}
}

// A refund in the panel is booked, in part and then in whole, once.
func TestARefundInThePanelIsBooked(t *testing.T) {
	a, f, _ := connect(t)
	p, r, routes := waiting(t, a)
	f.Move(r.Reference, providertest.Paid)
	p, _ = p.ApplyNotice(tell(t, a, f, r.Reference)[0], routes, "CLM-1", providertest.Noon)
	var claims []pay.Claim
	for i, part := range []int64{100_00, 200_00} {
		f.Charges[0].Refunds = append(f.Charges[0].Refunds, providertest.Refund{Local: money.New(part, r.Local.Currency)})
		if i == 1 {
			f.Charges[0].payments[0].set("refunded", "refunded")
		}
		for _, want := range []pay.Verdict{pay.Applied, pay.Ignored} {
			n := tell(t, a, f, r.Reference)[0]
			if !n.OfRefunds(p) {
				t.Fatalf("the notice lists no refunds: %+v", n)
			}
			next, change := n.ApplyRefundList(p, claims, []string{"CLM-A" + string(rune('0'+i)), "CLM-B", "CLM-C"}, providertest.Noon)
			if got := change.Notices[0].Verdict; got != want {
				t.Errorf("part %d is %s, want %s", i+1, got, want)
			}
			p, claims = next, append(claims, change.Claims...)
		}
	}
	if p.Status != pay.Refunded || p.Refundable().IsPositive() || len(claims) != 2 || claims[0].Origin != pay.ByProvider || claims[1].Local.Minor != 200_00 {
		t.Errorf("%s is left of %s; the claims are %v", p.Refundable(), p, claims)
	}
}

// Its maker may have given a refund a name in the form of ours: the charge is named beside it, so that the core books it.
func TestARefundOfThePanelWithANameLikeOurs(t *testing.T) {
	a, f, _ := connect(t)
	_, r, _ := waiting(t, a)
	f.Move(r.Reference, providertest.Paid)
	f.Charges[0].Refunds = append(f.Charges[0].Refunds, providertest.Refund{Reference: "pedido-17", Local: money.New(100_00, r.Local.Currency), Ending: providertest.Paid})
	list := tell(t, a, f, r.Reference)
	if n := list[len(list)-1]; len(list) != 2 || n.Refund != "pedido-17" || n.Reference != r.Reference || n.Outcome.Kind != pay.Approved {
		t.Errorf("%+v", list)
	}
}

// A mediation is over when the payment is approved again, or refunded: that is all that Mercado Pago
// says.
func TestAMediationEndsWithThePayment(t *testing.T) {
	for status, want := range map[string]pay.ClaimStatus{"approved": pay.ClaimRejected, "refunded": pay.ClaimApproved} {
		a, f, _ := connect(t)
		p, r, routes := waiting(t, a)
		f.Move(r.Reference, providertest.Paid)
		p, _ = p.ApplyNotice(tell(t, a, f, r.Reference)[0], routes, "CLM-1", providertest.Noon)
		f.Charges[0].payments[0].set("in_mediation", "in_process")
		p, change := tell(t, a, f, r.Reference)[0].ApplyDispute(p, nil, [2]string{"CLM-2", "CLM-3"}, providertest.Noon)
		c := change.Claims[0]
		r.ProviderRef = p.Attempts[0].ProviderRef
		asked := provider.DisputeRequest{Charge: r}
		if n, known := a.QueryDispute(context.Background(), asked); !known || !n.Dispute || !a.CanQueryDispute(asked) {
			t.Errorf("during the mediation the answer is %+v, %t", n, known)
		}
		f.Charges[0].payments[0].set(status, "accredited")
		n, known := a.QueryDispute(context.Background(), asked)
		if !known {
			t.Fatalf("%s: the query has no answer", status)
		}
		_, change = c.ApplyDisputeAnswer(p, []pay.Claim{c}, &n, [2]string{"CLM-4", "CLM-5"}, providertest.Noon)
		if got := change.Claims[0].Status; got != want {
			t.Errorf("%s: the claim is %s, want %s", status, got, want)
		}
	}
}
