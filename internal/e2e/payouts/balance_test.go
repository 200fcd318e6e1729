package payouts

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

const noFees = `{"grossVolume":0,"platformFees":0,"processingFees":0,"flatFees":0,"chargebackFees":0,"totalFees":0,"netBalance":0}`

func TestMerchantGetsAmountLessFeesAndReserve(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, harness.EmptyBuckets, `[]`, noFees))
		// 100, less 1.2 % platform fee, the card fee of 2.99 % and 0.30, and 5 % reserve.
		card := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, `{"available":0,"pending":90.51,"frozen":0,"reserve":5}`, `[]`,
			`{"grossVolume":100,"platformFees":1.2,"processingFees":2.99,"flatFees":0.3,"chargebackFees":0,"totalFees":4.49,"netBalance":95.51}`))
		// A pending payment moves nothing. Paid, it is 50, less 1.2 % platform fee, 0.99 % Pix fee and 5 %
		// reserve.
		pix := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"1"}`)
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":90.51,"frozen":0,"reserve":5}`))
		o.Simulate(t, pix, "paid").Want(t, http.StatusOK)
		both := `{"available":0,"pending":136.91,"frozen":0,"reserve":7.5}`
		o.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, both, `[]`,
			`{"grossVolume":150,"platformFees":1.8,"processingFees":3.49,"flatFees":0.3,"chargebackFees":0,"totalFees":5.59,"netBalance":144.41}`))

		// Production and other merchants have their own balances.
		live := o.Production()
		live.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, harness.EmptyBuckets, `[]`, noFees))
		stranger := s.NewShop(t)
		stranger.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(stranger, harness.EmptyBuckets, `[]`, noFees))

		// A refund reverses everything.
		o.Simulate(t, card, "refunded").Want(t, http.StatusOK)
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, `{"available":0,"pending":46.4,"frozen":0,"reserve":2.5}`))
		o.Simulate(t, pix, "refunded").Want(t, http.StatusOK)
		o.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, harness.EmptyBuckets, `[]`,
			`{"grossVolume":150,"platformFees":0,"processingFees":0,"flatFees":0,"chargebackFees":0,"totalFees":0,"netBalance":0}`))
		r := o.Get(t, "/payments/"+pix)
		if r.Text(t, "refundedAmountLocal") != "270" || r.Text(t, "refundableAmountLocal") != "0" {
			t.Errorf("want all 270 BRL refunded: %s", r)
		}
		for _, id := range []string{card, pix} {
			o.Simulate(t, id, "refunded").Refused(t, "409 conflict_state conflict_error from=refunded action=refunded")
		}
	})
}

// Fees are never larger than the payment, and a refund reverses everything.
func TestSmallestPaymentsBalance(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, amount := range []string{"0.01", "0.02", "0.29", "0.3", "0.31", "0.33", "1.99"} {
			for _, method := range []string{"sbx_card", "sbx_pse"} {
				body := `{"amount":` + amount + `,"paymentMethodId":"` + method + `"}`
				r := o.Post(t, "/payments", body, "Sandbox-Simulate: paid")
				if r.Status == http.StatusUnprocessableEntity { // below the rail's limit
					continue
				}
				id := r.Want(t, http.StatusCreated).Text(t, "transactionId")
				o.Simulate(t, id, "refunded").Want(t, http.StatusOK)
				o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, harness.EmptyBuckets))
			}
		}
	})
}

func TestDisputeTakesAvailableBelowZero(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"*"`)
		id := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"disputed"}`)
		o.Simulate(t, id, "chargeback").Is(t, http.StatusOK,
			fmt.Sprintf(`{"id":%q,"status":"completed","eventsFired":["chargeback.created","claim.opened"]}`, id))
		o.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, `{"available":-120,"pending":90.51,"frozen":100,"reserve":5}`,
			`[{"code":"negative_available","message":"<text>","amountUsd":-120,"since":null}]`, // the disputed amount and the fee
			`{"grossVolume":100,"platformFees":1.2,"processingFees":2.99,"flatFees":0.3,"chargebackFees":20,"totalFees":24.49,"netBalance":75.51}`))
		list := endpoint.About(t, id, 3)
		if got := harness.Types(list); got != "payment.completed chargeback.created claim.opened" {
			t.Fatalf("the endpoint got %q", got)
		}
		want := fmt.Sprintf(`{"id":"<claim>","type":"chargeback","status":"needs_evidence","outcome":null,"transactionId":%q,"merchantOrderId":"disputed",
			"amount":100,"currency":"USD","amountUsd":100,"frozenUsd":100,"feeUsd":20,"reason":"<text>","networkReasonCode":null,"previousClaimId":null,"origin":null,"evidenceDueBy":"<time>",
			"evidence":[],"timeline":[{"status":"needs_evidence","at":"<time>","actor":"issuer","note":null}],"createdAt":"<time>","updatedAt":"<time>",
			"resolvedAt":null,"transaction":{"id":%[1]q,"status":"completed","amount":100,"currency":"USD","amountLocal":100,"currencyLocal":"USD",
			"paymentMethodId":"sbx_card","country":"USA","merchantOrderId":"disputed"}}`, id)
		for i, d := range list[1:] {
			object, _ := harness.At(d.Event, "data.object")
			for _, difference := range harness.Compare("data.object", harness.Decode(t, []byte(want)), object) {
				t.Errorf("%s: %s: %s", d.Text("type"), difference, d.Body)
			}
			if d.Text("sequence") != fmt.Sprint(i+1) || d.Text("data.object.id") != list[1].Text("data.object.id") {
				t.Errorf("%s is not event %d of the same claim %s: %s", d.Text("type"), i+1, list[1].Text("data.object.id"), d.Body)
			}
		}
		// A real dispute also freezes its amount, and changes the payment's status.
		real := o.Create(t, `{"amount":40,"paymentMethodId":"sbx_card"}`)
		for range 2 { // two notifications of one dispute
			s.Notify(t, "sandbox-1", harness.NoticeBody(real, `"status":"disputed","reason":"fraudulent"`)).Want(t, http.StatusOK)
		}
		r := o.Get(t, "/payments/"+real)
		if _, ok := r.At(t, "timestamps.chargeback"); !ok || r.Text(t, "status") != "chargeback" || r.Text(t, "refundableAmountLocal") != "0" {
			t.Errorf("want the status chargeback with its time, and nothing refundable: %s", r)
		}
		if got := harness.Types(endpoint.About(t, real, 3)); got != "payment.completed chargeback.created claim.opened" {
			t.Errorf("the endpoint got %q", got)
		}
		if w := harness.Warnings(t, o); w != "negative_available -180" {
			t.Errorf("the balance warns of %q, want negative_available -180", w)
		}
	})
}
