package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func (o shop) refund(t *testing.T, payment, body string, header ...string) reply {
	t.Helper()
	return o.post(t, "/payments/"+payment+"/refund", body, header...)
}

// claims lists the statuses of a payment's claims, newest first.
func (o shop) claims(t *testing.T, payment string) string {
	t.Helper()
	list, _ := o.get(t, "/claims?transactionId="+payment).want(t, http.StatusOK).at(t, "data")
	var statuses []string
	for _, c := range list.([]any) {
		statuses = append(statuses, fmt.Sprint(c.(map[string]any)["status"]))
	}
	return strings.Join(statuses, " ")
}

// funds tells what of the balance can be spent, sooner or later, and what not.
func (o shop) funds(t *testing.T) string {
	t.Helper()
	r := o.get(t, "/me/balance").want(t, http.StatusOK)
	var n [4]float64
	for i, bucket := range []string{"available", "pending", "frozen", "reserve"} {
		if _, err := fmt.Sscan(r.text(t, "balance."+bucket), &n[i]); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%.2f to spend, %.2f frozen, %.2f in reserve", n[0]+n[1], n[2], n[3])
}

// lookAtClaims lets the loop look at what is due until done says so.
func (s *service) lookAtClaims(t *testing.T, what string, done func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		_, err := s.App.Claims.SweepClaims(ctx)
		must(t, err)
		return done()
	})
}

func TestRefundIsOpenedAndPaid(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		secret := o.subscribe(t, endpoint.URL, `"*"`).text(t, "secret")
		id := o.create(t, `{"amount":100,"paymentMethodId":"sbx_pix","documentId":"1","merchantOrderId":"order-1"}`, "Sandbox-Simulate: paid")
		r := o.refund(t, id, `{"amount":135,"reason":"duplicate"}`, "Idempotency-Key: first")
		r.is(t, http.StatusOK, fmt.Sprintf(`{"refundId":"<claim>","transactionId":%q,"amount":135,"amountUsd":25,"currency":"BRL",
			"status":"pending","reason":"duplicate","createdAt":"<time>"}`, id))
		claim := r.text(t, "refundId")
		want := `{"id":"` + claim + `","type":"user_dispute","status":"approved","outcome":"approved","transactionId":"` + id + `","merchantOrderId":"order-1",
			"amount":135,"currency":"BRL","amountUsd":25,"frozenUsd":0,"feeUsd":0,"reason":"duplicate","networkReasonCode":null,"previousClaimId":null,"evidenceDueBy":null,
			"evidence":[],"timeline":[{"status":"pending","at":"<time>","actor":"merchant","note":null},{"status":"approved","at":"<time>","actor":"provider","note":null}],
			"createdAt":"<time>","updatedAt":"<time>","resolvedAt":"<time>"`
		o.get(t, "/claims/"+claim).is(t, http.StatusOK, want+"}")

		// 100 less 1.2 % platform, 0.99 % pix, 5 % reserve leaves 92.81; a quarter of each goes back.
		o.get(t, "/me/balance").is(t, http.StatusOK, balance(o, `{"available":0,"pending":69.6,"frozen":0,"reserve":3.75}`, `[]`,
			`{"grossVolume":100,"platformFees":0.9,"processingFees":0.75,"flatFees":0,"chargebackFees":0,"totalFees":1.65,"netBalance":73.35}`))
		p := o.get(t, "/payments/"+id)
		if p.text(t, "status") != "refunded" || p.text(t, "refundedAmountLocal") != "135" || p.text(t, "refundableAmountLocal") != "405" {
			t.Errorf("want 135 of 540 BRL refunded: %s", p)
		}
		p.text(t, "timestamps.refunded")

		list := endpoint.about(t, id, 5)
		told := map[string]received{}
		for _, d := range list {
			told[d.text("type")] = d
			d.verify(t, s, secret)
		}
		for _, kind := range []string{"claim.opened", "payment.refunded", "claim.resolved"} {
			d := told[kind]
			if d.text("request.id") != r.header.Get("X-Request-Id") || d.text("request.idempotencyKey") != "first" {
				t.Errorf("%s does not name the refund call: %s", kind, d.body)
			}
		}
		for path, want := range map[string]string{"sequence": "3", "data.previous.status": "completed", "data.object.status": "refunded",
			"data.object.refund.refundId": claim, "data.object.refund.status": "pending", "data.object.refund.amount": "135"} {
			if got := told["payment.refunded"].text(path); got != want {
				t.Errorf("payment.refunded: %s is %s, want %s", path, got, want)
			}
		}
		if d := told["claim.opened"]; d.text("sequence") != "1" || d.text("data.object.status") != "pending" || d.text("data.object.frozenUsd") != "24.46" {
			t.Errorf("claim.opened: want it first, pending, with 24.46 frozen: %s", d.body)
		}
		summary := fmt.Sprintf(`,"transaction":{"id":%q,"status":"refunded","amount":100,"currency":"USD","amountLocal":540,"currencyLocal":"BRL",
			"paymentMethodId":"sbx_pix","country":"BRA","merchantOrderId":"order-1"}}`, id)
		object, _ := at(told["claim.resolved"].event, "data.object")
		for _, difference := range compare("data.object", decode(t, []byte(want+summary)), object) {
			t.Errorf("claim.resolved: %s", difference)
		}
		if d := told["claim.resolved"]; d.text("sequence") != "2" || d.text("data.previous.status") != "pending" {
			t.Errorf("claim.resolved: want it second, after pending: %s", d.body)
		}

		// The rest, by the alias, with no body at all.
		rest := o.call(t, http.MethodPost, "/transactions/"+id+"/refund", "", "Content-Type: ")
		rest.is(t, http.StatusOK, fmt.Sprintf(`{"refundId":"<claim>","transactionId":%q,"amount":405,"amountUsd":75,"currency":"BRL",
			"status":"pending","reason":null,"createdAt":"<time>"}`, id))
		o.get(t, "/me").is(t, http.StatusOK, profile(o, emptyBuckets))
		if got := types(endpoint.about(t, id, 8)); strings.Count(got, "payment.refunded") != 2 || strings.Count(got, "claim.resolved") != 2 {
			t.Errorf("the endpoint was told %q", got)
		}
	})
}

func TestRefusedRefundLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"payment.refunded","claim.opened"`)
		o.create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)                               // the balance is not what refuses
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`, "Sandbox-Simulate: paid") // 183.5 MXN
		const invalid = "400 amount_invalid invalid_request_error param=amount"
		for name, c := range map[string]struct{ body, want string }{
			"zero":            {`{"amount":0}`, invalid + " issues=amount"},
			"minus zero":      {`{"amount":-0.0}`, invalid + " issues=amount"},
			"negative":        {`{"amount":-1}`, invalid + " issues=amount"},
			"text":            {`{"amount":"5"}`, invalid + " issues=amount"},
			"empty text":      {`{"amount":""}`, invalid + " issues=amount"},
			"null":            {`{"amount":null}`, invalid + " issues=amount"},
			"a boolean":       {`{"amount":true}`, invalid + " issues=amount"},
			"an object":       {`{"amount":{}}`, invalid + " issues=amount"},
			"nearly nothing":  {`{"amount":1e-400}`, invalid + " issues=amount"},
			"below any float": {`{"amount":-1e400}`, invalid + " issues=amount"},
			"half a centavo":  {`{"amount":0.005}`, invalid},
			"three decimals":  {`{"amount":1.001}`, invalid},
			"a centavo more":  {`{"amount":183.51}`, "400 amount_above_maximum invalid_request_error param=amount boundViolated=max"},
			"above any int":   {`{"amount":1e30}`, "400 amount_above_maximum invalid_request_error param=amount"},
			"above any float": {`{"amount":1e400}`, "400 amount_above_maximum invalid_request_error param=amount"},
			"a long reason":   {`{"reason":"` + strings.Repeat("é", 501) + `"}`, "400 invalid_request invalid_request_error param=reason issues=reason"},
			"a reason of 5":   {`{"reason":5}`, "400 invalid_request invalid_request_error param=reason issues=reason"},
			"an escape in it": {`{"reason":"a\u001b[2K"}`, "400 invalid_request invalid_request_error param=reason issues=reason"},
			"turned text":     {`{"reason":"a\u202eb"}`, "400 invalid_request invalid_request_error param=reason issues=reason"},
			"NUL in it":       {`{"reason":"a\u0000b"}`, "400 invalid_request invalid_request_error param=reason issues=reason"},
			"two wrong":       {`{"amount":0,"reason":5}`, "400 invalid_request invalid_request_error param=reason issues=reason,amount"},
			"a list":          {`[]`, "400 invalid_request invalid_request_error"},
			"half a body":     {`{"amount":1`, "400 invalid_json invalid_request_error"},
			"more than 1 MiB": {oneMiB(`{}`) + " ", "413 payload_too_large invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) {
				got := o.refund(t, id, c.body).problem(t)
				if name == "a list" {
					got, _, _ = strings.Cut(got, " issues")
				}
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		}
		above := o.refund(t, id, `{"amount":183.51}`)
		if above.text(t, "error.details.limit.max") != "183.5" || above.text(t, "error.details.limit.currency") != "MXN" {
			t.Errorf("the limit is not told: %s", above)
		}
		o.refund(t, id, `{}`, "Content-Type: text/plain").refused(t, "415 content_type_required invalid_request_error")
		o.refund(t, id, `{}`, "Idempotency-Key: "+strings.Repeat("k", 256)).refused(t, "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key")
		const unknown = "404 transaction_not_found invalid_request_error"
		for _, who := range []shop{stranger, stranger.live(), o.live()} {
			who.refund(t, id, `{}`).refused(t, unknown)
		}
		for _, path := range []string{"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "x", "TXN-%00", "TXN-%ff"} {
			o.refund(t, path, `{}`).refused(t, unknown)
		}
		o.as(o.Sandbox.Publishable).refund(t, id, `{}`).refused(t, "403 key_kind_not_allowed permission_error")

		for _, stage := range stages {
			id := stage.bring(t, o)
			before := o.claims(t, id)
			want := "409 conflict_state conflict_error from=" + stage.status + " action=refund"
			switch stage.name {
			case "completed":
				continue
			case "refunded":
				want = "409 conflict_state conflict_error reason=fully_refunded from=refunded action=refund"
			case "disputed":
				want = "409 conflict_state conflict_error reason=open_dispute from=completed action=refund"
			}
			o.refund(t, id, `{}`).refused(t, want)
			o.refund(t, id, `{"amount":1}`).refused(t, want)
			if got := o.claims(t, id); got != before {
				t.Errorf("a refused refund of a %s payment left the claims %q, before %q", stage.name, got, before)
			}
		}
		if got := o.claims(t, id) + o.status(t, id); got != "completed" || len(endpoint.about(t, id, 0)) > 0 {
			t.Errorf("after refused refunds: %q, told %q", got, types(endpoint.deliveries()))
		}
		o.refund(t, id, `{"amount":183.50,"reason":"`+strings.Repeat("é", 500)+`"}`).want(t, http.StatusOK)
	})
}

// Currencies have their own decimals.
func TestRefundCountsInTheLocalCurrency(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: paid")
		local := o.get(t, "/payments/"+id).text(t, "amountLocal") // COP
		o.refund(t, id, `{"amount":0.001}`).refused(t, "400 amount_invalid invalid_request_error param=amount")
		r := o.refund(t, id, `{"amount":`+local+`e0}`).want(t, http.StatusOK)
		if r.text(t, "amount") != local || r.text(t, "amountUsd") != "10" || r.text(t, "currency") != "COP" {
			t.Errorf("want all %s COP back: %s", local, r)
		}
	})
}

func TestPartialRefundsAddUpExactly(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, c := range []struct {
			method string
			parts  []string
		}{
			{"sbx_cash", []string{"0.01", "0.01", "61.16", "33.33", "0.99", "88"}}, // 183.5 MXN
			{"sbx_card", []string{"3.33", "3.33", "3.33", "0.01"}},
			{"sbx_pix", []string{"0.07", "17.93", "18", "18"}}, // 54 BRL
		} {
			id := o.create(t, `{"amount":10,"paymentMethodId":"`+c.method+`","documentId":"1"}`, "Sandbox-Simulate: paid")
			cents := 0.0
			for _, part := range c.parts {
				r := o.refund(t, id, `{"amount":`+part+`}`).want(t, http.StatusOK)
				var usd float64
				fmt.Sscan(r.text(t, "amountUsd"), &usd)
				cents += 100 * usd
			}
			if fmt.Sprintf("%.4f", cents) != "1000.0000" || o.get(t, "/payments/"+id).text(t, "refundableAmountLocal") != "0" {
				t.Errorf("%s in parts gave %f cents of 1000 back", c.method, cents)
			}
			o.get(t, "/me").is(t, http.StatusOK, profile(o, emptyBuckets))
		}
	})
}

func TestSimulatedRefundWantsABalanceToo(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		o.create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback") // takes more than it brought
		o.simulate(t, id, "refunded").refused(t, "422 balance_insufficient balance_error")
		if status := o.status(t, id); status != "completed" {
			t.Errorf("the payment is %s", status)
		}
	})
}

// A hundred at a time, drawn on one payment.
func TestParallelRefundsNeverExceedCapture(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		o.create(t, `{"amount":500,"paymentMethodId":"sbx_card"}`) // there would be balance for more
		replies := make([]reply, 100)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.refund(t, id, `{"amount":1.2}`) })
		}
		all.Wait()
		done := 0
		for _, r := range replies {
			if r.status == http.StatusOK {
				done++
				continue
			}
			// 41 of 1.20 leave 0.80.
			r.refused(t, "400 amount_above_maximum invalid_request_error param=amount boundViolated=max")
		}
		p := o.get(t, "/payments/"+id)
		if done != 41 || p.text(t, "refundedAmountLocal") != "49.2" || p.text(t, "refundableAmountLocal") != "0.8" {
			t.Errorf("%d of 100 refunds of 1.20 from 50 went through: %s", done, p)
		}
		if got := strings.Count(o.claims(t, id), "approved"); got != 41 {
			t.Errorf("%d refunds are approved, want 41", got)
		}
	})
}

// A hundred at a time, drawn on a balance that a dispute has eaten into.
func TestParallelRefundsNeverExceedBalance(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		var ids []string
		for range 4 {
			ids = append(ids, o.create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)) // 45.10 each
		}
		disputed := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback") // 90.51 in, 120 out
		replies := make([]reply, 100)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.refund(t, ids[n%4], `{"amount":2}`) })
		}
		all.Wait()
		done := 0
		for _, r := range replies {
			if r.status == http.StatusOK {
				done++
				continue
			}
			r.refused(t, "422 balance_insufficient balance_error")
		}
		r := o.get(t, "/me/balance")
		var pending, available float64
		fmt.Sscan(r.text(t, "balance.pending"), &pending)
		fmt.Sscan(r.text(t, "balance.available"), &available)
		// 180.40 + 90.51 − 120 = 150.91; one refund takes 1.80 or 1.81 of it.
		if done != 83 || available != -120 || pending+available < 0 || pending+available > 1.81 {
			t.Errorf("%d refunds went through and left %f beside %f: %s", done, pending, available, r)
		}
		if got := o.claims(t, disputed); got != "needs_evidence" {
			t.Errorf("the dispute is %s", got)
		}
	})
}

func TestRefundIsIdempotent(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		id, other := o.create(t, card), o.create(t, card)
		const key, conflict = "Idempotency-Key: refund-1", "409 idempotency_conflict idempotency_error reason=body_differs"
		// What was refused has not used the key.
		o.refund(t, id, `{"amount":99}`, key).want(t, http.StatusBadRequest)
		o.refund(t, id, `{"amount":0}`, key).want(t, http.StatusBadRequest)
		first := o.refund(t, id, `{"amount":10,"reason":"other"}`, key).want(t, http.StatusOK)
		same(t, first, o.refund(t, id, "{ \"reason\":\"other\",\n\"amount\":10}", key)) // approved by now, told as it was
		same(t, first, o.post(t, "/transactions/"+id+"/refund", `{"amount":10,"reason":"other"}`, key))
		for _, body := range []string{`{"amount":10.5,"reason":"other"}`, `{"amount":10}`, `{}`, ``, `{"amount":99,"reason":"other"}`} {
			o.refund(t, id, body, key).refused(t, conflict)
		}
		// A payment has its own keys, so has a payment call, so has another shop.
		if r := o.refund(t, other, `{"amount":10,"reason":"other"}`, key).want(t, http.StatusOK); r.text(t, "transactionId") != other || r.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("another payment got this one's refund: %s", r)
		}
		o.post(t, "/payments", card, key).want(t, http.StatusCreated)
		stranger.refund(t, id, `{"amount":10,"reason":"other"}`, key).refused(t, "404 transaction_not_found invalid_request_error")
		// A repeat is answered where a new refund could not be: nothing is left.
		rest := o.refund(t, id, ``, "Idempotency-Key: rest").want(t, http.StatusOK)
		same(t, rest, o.refund(t, id, `{}`, "Idempotency-Key: rest"))
		same(t, first, o.refund(t, id, `{"amount":10,"reason":"other"}`, key))
		if got := o.claims(t, id); got != "approved approved" {
			t.Errorf("the payment has the claims %q, want two", got)
		}

		third := o.create(t, card)
		replies := make([]reply, 30)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.refund(t, third, `{"amount":1}`, "Idempotency-Key: race") })
		}
		all.Wait()
		fresh := 0
		for _, r := range replies {
			if r.want(t, http.StatusOK).header.Get("Idempotency-Replayed") == "" {
				fresh++
			}
			if r.text(t, "refundId") != replies[0].text(t, "refundId") {
				t.Errorf("one key, two refunds: %s %s", r, replies[0])
			}
		}
		if got := o.claims(t, third); fresh != 1 || got != "approved" {
			t.Errorf("%d of 30 requests were the first; the claims are %q", fresh, got)
		}
	})
}

// What the provider says or does not say decides; nobody is refunded twice or
// told so twice.
func TestRefundGoesByTheProvidersWord(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		endpoint := s.receive(t)
		o.subscribe(t, endpoint.URL, `"claim.resolved"`)
		const well = sandbox.NoFault
		for _, c := range []struct {
			fault sandbox.Fault
			then  string // at once
			later string // asked again, with the fault gone
		}{
			{sandbox.RefundTimeout, "pending", "approved"},
			{sandbox.RefundSlow, "pending", "approved"},
			{sandbox.RefundError, "pending", "approved"},
			{sandbox.Down, "pending", "approved"},
			{sandbox.RefundDecline, "rejected", "rejected"},
		} {
			t.Run(string(c.fault), func(t *testing.T) {
				id := o.create(t, card)
				before := o.funds(t)
				s.upstream(t, c.fault, well, well)
				defer s.upstream(t, well, well, well)
				r := o.refund(t, id, `{"amount":20}`).want(t, http.StatusOK)
				if got := r.text(t, "status"); got != "pending" {
					t.Errorf("the reply says %s, want pending", got)
				}
				if got := o.claims(t, id); got != c.then {
					t.Fatalf("the claim is %s, want %s", got, c.then)
				}
				if c.then == "pending" {
					if got := o.get(t, "/claims/"+r.text(t, "refundId")).text(t, "frozenUsd"); got == "0" {
						t.Error("nothing is frozen while nobody knows")
					}
					s.clock.advance(5*time.Minute + time.Second) // asked while the fault lasts, then without it
					_, err := s.App.Claims.SweepClaims(ctx)
					must(t, err)
					s.upstream(t, well, well, well)
					s.clock.advance(time.Hour)
					s.lookAtClaims(t, "the provider has answered", func() bool { return o.claims(t, id) == c.later })
				}
				endpoint.about(t, id, 1)
				p := o.get(t, "/payments/"+id)
				if c.later == "approved" && p.text(t, "refundableAmountLocal") != "5.5" {
					t.Errorf("want 20 of 25.50 refunded: %s", p)
				}
				if c.later == "rejected" {
					if p.text(t, "status") != "refunded" || p.text(t, "refundedAmountLocal") != "0" || p.text(t, "refundableAmountLocal") != "25.5" {
						t.Errorf("want nothing refunded: %s", p)
					}
					if now := o.funds(t); now != before {
						t.Errorf("the balance is %s after a refund that came to nothing, before it was %s", now, before)
					}
					s.upstream(t, well, well, well)
					o.refund(t, id, `{}`).want(t, http.StatusOK) // again, and this time it goes
					if got := o.claims(t, id); got != "approved rejected" {
						t.Errorf("the claims are %q", got)
					}
				}
			})
		}
	})
}

// A merchant's test clock brings deadlines and questions about (SBX-12).
func TestTestClockMovesClaims(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		o.create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
		_, disputed := o.dispute(t, false)
		_, others := stranger.dispute(t, false)
		s.upstream(t, sandbox.RefundTimeout, sandbox.NoFault, sandbox.NoFault)
		refund := o.refund(t, o.create(t, card), `{}`).want(t, http.StatusOK).text(t, "refundId")
		s.upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		o.post(t, "/sandbox/clock", `{"advance":"8d"}`).want(t, http.StatusOK)
		s.lookAtClaims(t, "the deadline has passed and the provider was asked", func() bool {
			return o.claimStatus(t, disputed) == "expired" && o.claimStatus(t, refund) == "approved"
		})
		if got := stranger.claimStatus(t, others); got != "needs_evidence" {
			t.Errorf("the clock of one merchant made another's claim %s", got)
		}
	})
}
