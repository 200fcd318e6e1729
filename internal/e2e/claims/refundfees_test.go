package claims

import (
	"fmt"
	"net/http"
	"testing"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// keeper makes a merchant with the default terms: fees are kept when a payment is refunded.
func keeper(t *testing.T, s *harness.Instance) harness.Client {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Standard})
	harness.Must(t, err)
	return harness.Client{Onboarded: o, Instance: s, Credential: o.Sandbox.Secret}
}

// By default the operator keeps the fees of a refunded payment, so that the merchant pays the whole
// refund.
func TestRefundCostsTheMerchantTheFees(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := keeper(t, s)
		if got := o.Get(t, "/me/balance").Text(t, "refundFees"); got != "kept" {
			t.Errorf("the balance shows refund fees %s, want kept", got)
		}
		// 100, less 1.2 % platform fee, the card fee of 2.99 % and 0.30, and 5 % reserve, is 90.51 and 5
		// in reserve.
		id := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		const insufficient = "422 balance_insufficient balance_error"
		whole, part := o.Refund(t, id, `{}`), o.Refund(t, id, `{"amount":95.28}`)
		whole.Refused(t, insufficient) // the merchant has only 95.51
		whole.Tells(t, "error.details.balance", `{"available":95.51,"requested":100,"currency":"USD"}`)
		part.Refused(t, insufficient) // a part may use only its part of the reserve, 4.76
		part.Tells(t, "error.details.balance", `{"available":95.27,"requested":95.28,"currency":"USD"}`)
		o.Simulate(t, id, "refunded").Tells(t, "error.details.balance", `{"available":95.51,"requested":100,"currency":"USD"}`)
		if o.Claims(t, id) != "" || o.Status(t, id) != "completed" {
			t.Errorf("refused refunds left the claims %q and the payment %s, want none and completed", o.Claims(t, id), o.Status(t, id))
		}
		r := o.Refund(t, id, `{"amount":40}`).Want(t, http.StatusOK)
		claim := r.Text(t, "refundId")
		if got := funds(t, o); got != "52.51 to spend, 0.00 frozen, 3.00 in reserve" {
			t.Errorf("after a refund of 40.00 the balance has %s", got)
		}
		o.Get(t, "/claims/"+claim).Want(t, http.StatusOK)

		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`) // pays for the rest of the refund
		o.Refund(t, id, `{}`).Want(t, http.StatusOK)
		o.Get(t, "/me/balance").Is(t, http.StatusOK, fmt.Sprintf(`{"merchantId":%q,"currency":"USD","balance":{"available":0,"pending":86.02,"frozen":0,"reserve":5},
			"ledgerWarnings":[],"tier":"standard","trustScore":600,"rollingReservePct":5,"withdrawalFeeUsd":3,"payouts":{"schedule":"on_request","minimumUsd":0,"weekdays":[],"monthdays":[]},"refundFees":"kept",
			"feeSummary":{"grossVolume":200,"platformFees":2.4,"processingFees":5.98,"flatFees":0.6,"chargebackFees":0,"totalFees":8.98,"netBalance":91.02},
			"movements":"<list>","reserveSchedule":"<list>"}`, o.Merchant.ID))

		// The settlement gives no fee of the refund back.
		harness.MoveTestClock(t, o, "48h")
		list := harness.ClosedSettlements(t, o, 1)
		if got := list.Text(t, "data.0.refunds") + " " + list.Text(t, "data.0.fees.total") + " " + list.Text(t, "data.0.netAmount"); got != "100 8.98 86.02" {
			t.Errorf("the settlement has refunds, fees and net of %s, want 100 8.98 86.02: %s", got, list)
		}
	})
}

// A payment has the refund term of the moment it is made, whichever way it is made. A change of the
// merchant's term is only for later payments.
func TestRefundFeesAreFixedWhenThePaymentIsMade(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := keeper(t, op.Instance)
		path := "/merchants/" + o.Merchant.ID
		shown := func(term string) string {
			return fmt.Sprintf(`{"id":%q,"name":"Acme","email":"ops@acme.example","industry":"","language":"en","tier":"standard","trustScore":600,"plan":"standard","assignments":[],"refundFees":%q,"installments":[],"platformFeePct":1.2,"rollingReservePct":5,
				"settlementDelay":"48h","withdrawalFeeUsd":3,"chargebackFeeUsd":20,"createdAt":"<time>","paused":null,"pausedAt":null,"closed":null,"closedAt":null,"erasedAt":null,"sandbox":true}`, o.Merchant.ID, term)
		}
		op.Get(t, path).Is(t, http.StatusOK, shown("kept"))
		kept := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)

		changed := op.Patch(t, path, `{"refundFees":"returned"}`)
		changed.Is(t, http.StatusOK, shown("returned"))
		op.Did(t, audit.MerchantTermed, o.Merchant.ID, changed)
		op.Patch(t, path, `{"refundFees":"returned"}`).Is(t, http.StatusOK, shown("returned"))
		op.Patch(t, path, `{"refundFees":"lost"}`).Refused(t, "400 invalid_request invalid_request_error param=refundFees issues=refundFees")
		op.Patch(t, path, `{}`).Refused(t, "400 invalid_request invalid_request_error")
		op.Get(t, "/merchants/mer_nobody").Refused(t, "404 not_found invalid_request_error")
		op.Patch(t, "/merchants/mer_nobody", `{"refundFees":"kept"}`).Refused(t, "404 not_found invalid_request_error")
		if got := o.Get(t, "/me/balance").Text(t, "refundFees"); got != "returned" {
			t.Errorf("the balance shows refund fees %s, want returned at once on this node", got)
		}

		returned := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card"}`)
		hosted := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card","hostedCheckout":true}`)
		session := o.Post(t, "/checkout/sessions", `{"amount":10,"currency":"USD","country":"USA","customer":{"firstName":"A","lastName":"B","email":"a@b.co","phone":"1"}}`).Want(t, http.StatusCreated)
		chosen := o.Post(t, "/checkout/sessions/"+session.Text(t, "sessionId")+"/select", `{"paymentMethodId":"sbx_card"}`).Want(t, http.StatusCreated)
		for id, want := range map[string]merchants.RefundFees{
			kept: merchants.FeesKept, returned: merchants.FeesReturned, hosted: merchants.FeesReturned, chosen.Text(t, "transactionId"): merchants.FeesReturned,
		} {
			p, err := op.App.Cascade.Payment(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, id)
			harness.Must(t, err)
			if p.Terms.RefundFees != want {
				t.Errorf("%s has refund fees %q, want %q", id, p.Terms.RefundFees, want)
			}
		}
		op.Patch(t, path, `{"refundFees":"kept"}`).Is(t, http.StatusOK, shown("kept"))
		// 10, less the fees of 0.12, 0.30 and 0.30, is 9.28.
		for id, want := range map[string]int64{returned: 928, kept: 1000} {
			c, err := op.App.Claims.Any(ctx, o.Refund(t, id, `{}`).Want(t, http.StatusOK).Text(t, "refundId"))
			harness.Must(t, err)
			if got := c.Parts.Net + c.Parts.Reserve; got != want {
				t.Errorf("the refund of %s took %d from the merchant, want %d", id, got, want)
			}
		}
	})
}

// After a settlement found nothing to list, a payment that becomes due an hour later is settled in
// that hour, and not a whole delay later.
func TestSettlementIsNotLateByAnotherDelay(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		late := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(late, `"status":"declined"`)).Want(t, http.StatusOK)
		s.Notify(t, "sandbox-1", harness.NoticeBody(late, harness.Paid50)).Want(t, http.StatusOK) // late money is in suspense, so no settlement lists it
		harness.MoveTestClock(t, o, "1h")
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		harness.MoveTestClock(t, o, "47h")
		for range 3 { // the late money is 48 hours old, but there is nothing to list
			s.Work(t)
		}
		o.Get(t, "/settlements?status=closed").Is(t, http.StatusOK, `{"data":[],"pagination":{"total":0,"limit":50,"offset":0,"pages":0,"nextCursor":null}}`)
		harness.MoveTestClock(t, o, "1h")
		if list := harness.ClosedSettlements(t, o, 1); list.Text(t, "data.0.transactionCount") != "1" {
			t.Errorf("want the card payment settled 48 hours after it was made: %s", list)
		}
	})
}
