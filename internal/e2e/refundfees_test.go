package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// keeper makes a merchant on the default terms: fees are kept.
func (s *service) keeper(t *testing.T) shop {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: tenant.Standard})
	must(t, err)
	return shop{Onboarded: o, service: s, credential: o.Sandbox.Secret}
}

// By default the fees stay where they are, and the merchant pays the whole refund.
func TestRefundCostsTheMerchantTheFees(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.keeper(t)
		if got := o.get(t, "/me/balance").text(t, "refundFees"); got != "kept" {
			t.Errorf("the balance shows refund fees %s, want kept", got)
		}
		// 100 less 1.2 % platform, 2.99 % and 0.30 card, 5 % reserve leaves 90.51 and 5.
		id := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		const insufficient = "422 balance_insufficient balance_error"
		whole, part := o.refund(t, id, `{}`), o.refund(t, id, `{"amount":95.28}`)
		whole.refused(t, insufficient) // there is 95.51 of it
		whole.tells(t, "error.details.balance", `{"available":95.51,"requested":100,"currency":"USD"}`)
		part.refused(t, insufficient) // and of the reserve its part, 4.76
		part.tells(t, "error.details.balance", `{"available":95.27,"requested":95.28,"currency":"USD"}`)
		o.simulate(t, id, "refunded").tells(t, "error.details.balance", `{"available":95.51,"requested":100,"currency":"USD"}`)
		if o.claims(t, id) != "" || o.status(t, id) != "completed" {
			t.Errorf("a refused refund left %q, the payment is %s", o.claims(t, id), o.status(t, id))
		}
		r := o.refund(t, id, `{"amount":40}`).want(t, http.StatusOK)
		claim := r.text(t, "refundId")
		if got := o.funds(t); got != "52.51 to spend, 0.00 frozen, 3.00 in reserve" {
			t.Errorf("after a refund of 40.00: %s", got)
		}
		o.get(t, "/claims/"+claim).want(t, http.StatusOK)

		o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`) // brings the rest
		o.refund(t, id, `{}`).want(t, http.StatusOK)
		o.get(t, "/me/balance").is(t, http.StatusOK, fmt.Sprintf(`{"merchantId":%q,"currency":"USD","balance":{"available":0,"pending":86.02,"frozen":0,"reserve":5},
			"ledgerWarnings":[],"tier":"standard","trustScore":600,"rollingReservePct":5,"withdrawalFeeUsd":3,"refundFees":"kept",
			"feeSummary":{"grossVolume":200,"platformFees":2.4,"processingFees":5.98,"flatFees":0.6,"chargebackFees":0,"totalFees":8.98,"netBalance":91.02},
			"movements":"<list>","reserveSchedule":"<list>"}`, o.Merchant.ID))

		// The settlement lists the refund with no fee given back.
		o.forward(t, "48h")
		list := o.closed(t, 1)
		if got := list.text(t, "data.0.refunds") + " " + list.text(t, "data.0.fees.total") + " " + list.text(t, "data.0.netAmount"); got != "100 8.98 86.02" {
			t.Errorf("the settlement has refunds, fees and net of %s: %s", got, list)
		}
	})
}

// The term is the payment's from the moment it is made, by whichever way; a change
// of the merchant's term is for the payments to come.
func TestRefundFeesAreFixedWhenThePaymentIsMade(t *testing.T) {
	operated(t, func(t *testing.T, op operator) {
		o := op.keeper(t)
		path := "/merchants/" + o.Merchant.ID
		shown := func(term string) string {
			return fmt.Sprintf(`{"id":%q,"name":"Acme","tier":"standard","refundFees":%q,"platformFeePct":1.2,"rollingReservePct":5,
				"settlementDelay":"48h","withdrawalFeeUsd":3,"chargebackFeeUsd":20,"createdAt":"<time>"}`, o.Merchant.ID, term)
		}
		op.get(t, path).is(t, http.StatusOK, shown("kept"))
		kept := o.create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)

		changed := op.patch(t, path, `{"refundFees":"returned"}`)
		changed.is(t, http.StatusOK, shown("returned"))
		op.did(t, audit.MerchantTermed, o.Merchant.ID, changed)
		op.patch(t, path, `{"refundFees":"returned"}`).is(t, http.StatusOK, shown("returned"))
		op.patch(t, path, `{"refundFees":"lost"}`).refused(t, "400 invalid_request invalid_request_error param=refundFees issues=refundFees")
		op.patch(t, path, `{}`).refused(t, "400 missing_field invalid_request_error param=refundFees issues=refundFees missing=refundFees")
		op.get(t, "/merchants/mer_nobody").refused(t, "404 not_found invalid_request_error")
		op.patch(t, "/merchants/mer_nobody", `{"refundFees":"kept"}`).refused(t, "404 not_found invalid_request_error")
		if got := o.get(t, "/me/balance").text(t, "refundFees"); got != "returned" {
			t.Errorf("the balance shows refund fees %s, want returned at once on this node", got)
		}

		returned := o.create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		hosted := o.create(t, `{"amount":10,"paymentMethodId":"sbx_card","hostedCheckout":true}`)
		session := o.post(t, "/checkout/sessions", `{"amount":10,"currency":"USD","country":"USA","customer":{"firstName":"A","lastName":"B","email":"a@b.co","phone":"1"}}`).want(t, http.StatusCreated)
		chosen := o.post(t, "/checkout/sessions/"+session.text(t, "sessionId")+"/select", `{"paymentMethodId":"sbx_card"}`).want(t, http.StatusCreated)
		for id, want := range map[string]tenant.RefundFees{
			kept: tenant.FeesKept, returned: tenant.FeesReturned, hosted: tenant.FeesReturned, chosen.text(t, "transactionId"): tenant.FeesReturned,
		} {
			p, err := op.App.Cascade.Payment(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, id)
			must(t, err)
			if p.Terms.RefundFees != want {
				t.Errorf("%s has refund fees %q, want %q", id, p.Terms.RefundFees, want)
			}
		}
		op.patch(t, path, `{"refundFees":"kept"}`).is(t, http.StatusOK, shown("kept"))
		// 10 less 0.12, 0.30 and 0.30 is 9.28.
		for id, want := range map[string]int64{returned: 928, kept: 1000} {
			c, err := op.App.Claims.AnyClaim(ctx, o.refund(t, id, `{}`).want(t, http.StatusOK).text(t, "refundId"))
			must(t, err)
			if got := c.Parts.Net + c.Parts.Reserve; got != want {
				t.Errorf("the refund of %s took %d from the merchant, want %d", id, got, want)
			}
		}
	})
}

// A settlement that had nothing to list does not wait a whole delay more: what comes
// of age an hour later is settled then.
func TestSettlementIsNotLateByAnotherDelay(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		late := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.notify(t, "sandbox-1", note(late, `"status":"declined"`)).want(t, http.StatusOK)
		s.notify(t, "sandbox-1", note(late, paid50)).want(t, http.StatusOK) // in suspense: no line of a settlement
		o.forward(t, "1h")
		o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.forward(t, "47h")
		for range 3 { // the late money is 48 hours old: looked at, and nothing to list
			s.work(t)
		}
		o.get(t, "/settlements?status=closed").is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		o.forward(t, "1h")
		if list := o.closed(t, 1); list.text(t, "data.0.transactionCount") != "1" {
			t.Errorf("want the card payment settled 48 hours after it was made: %s", list)
		}
	})
}
