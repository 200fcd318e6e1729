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
			"amount":100,"currency":"USD","amountUsd":100,"frozenUsd":100,"feeUsd":20,"reason":"<text>","networkReasonCode":null,"previousClaimId":null,"evidenceDueBy":"<time>",
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
			s.Notify(t, "sandbox-1", harness.Note(real, `"status":"disputed","reason":"fraudulent"`)).Want(t, http.StatusOK)
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

func TestCatalogIsWhatCanBeCharged(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		r := o.Get(t, "/payment-methods").Want(t, http.StatusOK)
		for field, want := range map[string]string{
			"shop.id": o.Shop.ID, "shop.name": "Acme", "environment": "sandbox", "count": "5", "totalAvailable": "5", "routableCount": "5",
			"filters.country": "<nil>", "filters.channel": "<nil>", "filters.method": "<nil>", "methods.0.paymentMethodId": "sbx_pix",
			"methods.0.country": "BR", "methods.0.countryIso3": "BRA", "methods.0.channel": "ONLINE", "methods.0.routable": "true",
			"methods.3.channel": "CREDIT_CARD", "methods.4.channel": "CASH", "methods.4.method": "cash", "methods.4.unroutableReason": "<nil>",
		} {
			if got := r.Text(t, field); got != want {
				t.Errorf("%s is %s, want %s: %s", field, got, want, r)
			}
		}
		for query, want := range map[string]string{
			"country=MX": "2", "country=mex": "2", "country=MX&channel=CASH": "1", "channel=ONLINE": "3", "method=pix": "1", "method=oxxo": "0", "country=FR": "0",
		} {
			r := o.Get(t, "/payment-methods?"+query).Want(t, http.StatusOK)
			if r.Text(t, "count") != want || r.Text(t, "totalAvailable") != "5" || r.Text(t, "routableCount") != want {
				t.Errorf("%s: want %s of 5: %s", query, want, r)
			}
		}
		r = o.Get(t, "/payment-methods?country=mx&channel=CASH&method=cash").Want(t, http.StatusOK)
		if r.Text(t, "filters.country") != "MEX" || r.Text(t, "filters.channel") != "CASH" || r.Text(t, "filters.method") != "cash" {
			t.Errorf("the reply does not show the filters: %s", r)
		}
		o.Get(t, "/payment-methods?country=xx").Refused(t, "400 invalid_request invalid_request_error param=country issues=country")
		o.Get(t, "/payment-methods?channel=online").Refused(t, "400 invalid_request invalid_request_error param=channel issues=channel")
		o.Get(t, "/payment-methods?country=xx&channel=x").Refused(t, "400 invalid_request invalid_request_error param=channel issues=channel,country")

		live := o.Production().Get(t, "/payment-methods").Want(t, http.StatusOK)
		rows, _ := live.At(t, "methods")
		seen := map[string]bool{}
		for _, row := range rows.([]any) {
			method := row.(map[string]any)
			id := fmt.Sprint(method["paymentMethodId"])
			if len(id) != 4 || id < "1001" || seen[id] || method["routable"] != false || method["unroutableReason"] == nil {
				t.Errorf("want a unique id of four digits, and not routable without a provider: %v", method)
			}
			seen[id] = true
		}
		if live.Text(t, "routableCount") != "0" || live.Text(t, "count") != fmt.Sprint(len(seen)) || len(seen) == 0 {
			t.Errorf("in production %s of %s methods are routable, want 0 of %d", live.Text(t, "routableCount"), live.Text(t, "count"), len(seen))
		}
	})
}
