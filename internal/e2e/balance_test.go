package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// balance is what /me/balance shows of a shop on the standard tier. Movements
// and the reserve have tests of their own.
func balance(o shop, buckets, warnings, fees string) string {
	return fmt.Sprintf(`{"merchantId":%q,"currency":"USD","balance":%s,"ledgerWarnings":%s,"tier":"standard","trustScore":600,
		"rollingReservePct":5,"withdrawalFeeUsd":3,"refundFees":"returned","feeSummary":%s,"movements":"<list>","reserveSchedule":"<list>"}`, o.Merchant.ID, buckets, warnings, fees)
}

const (
	emptyBuckets = `{"available":0,"pending":0,"frozen":0,"reserve":0}`
	noFees       = `{"grossVolume":0,"platformFees":0,"processingFees":0,"flatFees":0,"chargebackFees":0,"totalFees":0,"netBalance":0}`
)

func TestMerchantGetsAmountLessFeesAndReserve(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.get(t, "/me/balance").is(t, http.StatusOK, balance(o, emptyBuckets, `[]`, noFees))
		// 100 less 1.2 % platform, 2.99 % and 0.30 card, 5 % reserve.
		card := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		o.get(t, "/me/balance").is(t, http.StatusOK, balance(o, `{"available":0,"pending":90.51,"frozen":0,"reserve":5}`, `[]`,
			`{"grossVolume":100,"platformFees":1.2,"processingFees":2.99,"flatFees":0.3,"chargebackFees":0,"totalFees":4.49,"netBalance":95.51}`))
		// A pending payment moves nothing. 50 less 1.2 % platform, 0.99 % pix, 5 % reserve.
		pix := o.create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"1"}`)
		o.get(t, "/me").is(t, http.StatusOK, profile(o, `{"available":0,"pending":90.51,"frozen":0,"reserve":5}`))
		o.simulate(t, pix, "paid").want(t, http.StatusOK)
		both := `{"available":0,"pending":136.91,"frozen":0,"reserve":7.5}`
		o.get(t, "/me/balance").is(t, http.StatusOK, balance(o, both, `[]`,
			`{"grossVolume":150,"platformFees":1.8,"processingFees":3.49,"flatFees":0.3,"chargebackFees":0,"totalFees":5.59,"netBalance":144.41}`))

		// Production and other merchants have books of their own.
		live := o.live()
		live.get(t, "/me/balance").is(t, http.StatusOK, balance(o, emptyBuckets, `[]`, noFees))
		stranger := s.shop(t)
		stranger.get(t, "/me/balance").is(t, http.StatusOK, balance(stranger, emptyBuckets, `[]`, noFees))

		// What is given back leaves nothing behind.
		o.simulate(t, card, "refunded").want(t, http.StatusOK)
		o.get(t, "/me").is(t, http.StatusOK, profile(o, `{"available":0,"pending":46.4,"frozen":0,"reserve":2.5}`))
		o.simulate(t, pix, "refunded").want(t, http.StatusOK)
		o.get(t, "/me/balance").is(t, http.StatusOK, balance(o, emptyBuckets, `[]`,
			`{"grossVolume":150,"platformFees":0,"processingFees":0,"flatFees":0,"chargebackFees":0,"totalFees":0,"netBalance":0}`))
		r := o.get(t, "/payments/"+pix)
		if r.text(t, "refundedAmountLocal") != "270" || r.text(t, "refundableAmountLocal") != "0" {
			t.Errorf("want all 270 BRL refunded: %s", r)
		}
		for _, id := range []string{card, pix} {
			o.simulate(t, id, "refunded").refused(t, "409 conflict_state conflict_error from=refunded action=refunded")
		}
	})
}

// Fees never take more than there is, and a refund gives all of it back.
func TestSmallestPaymentsBalance(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, amount := range []string{"0.01", "0.02", "0.29", "0.3", "0.31", "0.33", "1.99"} {
			for _, method := range []string{"sbx_card", "sbx_pse"} {
				body := `{"amount":` + amount + `,"paymentMethodId":"` + method + `"}`
				r := o.post(t, "/payments", body, "Sandbox-Simulate: paid")
				if r.status == http.StatusUnprocessableEntity { // below the rail's limit
					continue
				}
				id := r.want(t, http.StatusCreated).text(t, "transactionId")
				o.simulate(t, id, "refunded").want(t, http.StatusOK)
				o.get(t, "/me").is(t, http.StatusOK, profile(o, emptyBuckets))
			}
		}
	})
}

func TestDisputeTakesAvailableBelowZero(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"*"`)
		id := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"disputed"}`)
		o.simulate(t, id, "chargeback").is(t, http.StatusOK,
			fmt.Sprintf(`{"id":%q,"status":"completed","eventsFired":["chargeback.created","claim.opened"]}`, id))
		o.get(t, "/me/balance").is(t, http.StatusOK, balance(o, `{"available":-120,"pending":90.51,"frozen":100,"reserve":5}`,
			`[{"code":"negative_available","message":"<text>","amountUsd":-120,"since":null}]`, // what is disputed and the fee
			`{"grossVolume":100,"platformFees":1.2,"processingFees":2.99,"flatFees":0.3,"chargebackFees":20,"totalFees":24.49,"netBalance":75.51}`))
		list := endpoint.about(t, id, 3)
		if got := types(list); got != "payment.completed chargeback.created claim.opened" {
			t.Fatalf("the endpoint was told %q", got)
		}
		want := fmt.Sprintf(`{"id":"<claim>","type":"chargeback","status":"needs_evidence","outcome":null,"transactionId":%q,"merchantOrderId":"disputed",
			"amount":100,"currency":"USD","amountUsd":100,"frozenUsd":100,"feeUsd":20,"reason":"<text>","networkReasonCode":null,"previousClaimId":null,"evidenceDueBy":"<time>",
			"evidence":[],"timeline":[{"status":"needs_evidence","at":"<time>","actor":"issuer","note":null}],"createdAt":"<time>","updatedAt":"<time>",
			"resolvedAt":null,"transaction":{"id":%[1]q,"status":"completed","amount":100,"currency":"USD","amountLocal":100,"currencyLocal":"USD",
			"paymentMethodId":"sbx_card","country":"USA","merchantOrderId":"disputed"}}`, id)
		for i, d := range list[1:] {
			object, _ := at(d.event, "data.object")
			for _, difference := range compare("data.object", decode(t, []byte(want)), object) {
				t.Errorf("%s: %s: %s", d.text("type"), difference, d.body)
			}
			if d.text("sequence") != fmt.Sprint(i+1) || d.text("data.object.id") != list[1].text("data.object.id") {
				t.Errorf("%s is not event %d of the claim %s: %s", d.text("type"), i+1, list[1].text("data.object.id"), d.body)
			}
		}
		// A real dispute moves the payment; this one too freezes what it is about.
		real := o.create(t, `{"amount":40,"paymentMethodId":"sbx_card"}`)
		for range 2 { // told twice, disputed once
			s.notify(t, "sandbox-1", note(real, `"status":"disputed","reason":"fraudulent"`)).want(t, http.StatusOK)
		}
		r := o.get(t, "/payments/"+real)
		if _, ok := r.at(t, "timestamps.chargeback"); !ok || r.text(t, "status") != "chargeback" || r.text(t, "refundableAmountLocal") != "0" {
			t.Errorf("want it charged back, with the time: %s", r)
		}
		if got := types(endpoint.about(t, real, 3)); got != "payment.completed chargeback.created claim.opened" {
			t.Errorf("the endpoint was told %q", got)
		}
		if w := o.warnings(t); w != "negative_available -180" {
			t.Errorf("the balance warns of %q, want negative_available -180", w)
		}
	})
}

func TestCatalogIsWhatCanBeCharged(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		r := o.get(t, "/payment-methods").want(t, http.StatusOK)
		for field, want := range map[string]string{
			"shop.id": o.Shop.ID, "shop.name": "Acme", "environment": "sandbox", "count": "5", "totalAvailable": "5", "routableCount": "5",
			"filters.country": "<nil>", "filters.channel": "<nil>", "filters.method": "<nil>", "methods.0.paymentMethodId": "sbx_pix",
			"methods.0.country": "BR", "methods.0.countryIso3": "BRA", "methods.0.channel": "ONLINE", "methods.0.routable": "true",
			"methods.3.channel": "CREDIT_CARD", "methods.4.channel": "CASH", "methods.4.method": "cash", "methods.4.unroutableReason": "<nil>",
		} {
			if got := r.text(t, field); got != want {
				t.Errorf("%s is %s, want %s: %s", field, got, want, r)
			}
		}
		for query, want := range map[string]string{
			"country=MX": "2", "country=mex": "2", "country=MX&channel=CASH": "1", "channel=ONLINE": "3", "method=pix": "1", "method=oxxo": "0", "country=FR": "0",
		} {
			r := o.get(t, "/payment-methods?"+query).want(t, http.StatusOK)
			if r.text(t, "count") != want || r.text(t, "totalAvailable") != "5" || r.text(t, "routableCount") != want {
				t.Errorf("%s: want %s of 5: %s", query, want, r)
			}
		}
		r = o.get(t, "/payment-methods?country=mx&channel=CASH&method=cash").want(t, http.StatusOK)
		if r.text(t, "filters.country") != "MEX" || r.text(t, "filters.channel") != "CASH" || r.text(t, "filters.method") != "cash" {
			t.Errorf("the filters are not told: %s", r)
		}
		o.get(t, "/payment-methods?country=xx").refused(t, "400 invalid_request invalid_request_error param=country issues=country")
		o.get(t, "/payment-methods?channel=online").refused(t, "400 invalid_request invalid_request_error param=channel issues=channel")
		o.get(t, "/payment-methods?country=xx&channel=x").refused(t, "400 invalid_request invalid_request_error param=channel issues=channel,country")

		live := o.live().get(t, "/payment-methods").want(t, http.StatusOK)
		rows, _ := live.at(t, "methods")
		seen := map[string]bool{}
		for _, row := range rows.([]any) {
			method := row.(map[string]any)
			id := fmt.Sprint(method["paymentMethodId"])
			if len(id) != 4 || id < "1001" || seen[id] || method["routable"] != false || method["unroutableReason"] == nil {
				t.Errorf("want a new id of four digits, not routable without a provider: %v", method)
			}
			seen[id] = true
		}
		if live.text(t, "routableCount") != "0" || live.text(t, "count") != fmt.Sprint(len(seen)) || len(seen) == 0 {
			t.Errorf("production counts %s routable of %s, want 0 of %d", live.text(t, "routableCount"), live.text(t, "count"), len(seen))
		}
	})
}
