package claims

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// funds returns the balance as "X to spend, Y frozen, Z in reserve". What is available and what is
// pending count as "to spend".
func funds(t *testing.T, o harness.Client) string {
	t.Helper()
	r := o.Get(t, "/me/balance").Want(t, http.StatusOK)
	var n [4]float64
	for i, bucket := range []string{"available", "pending", "frozen", "reserve"} {
		if _, err := fmt.Sscan(r.Text(t, "balance."+bucket), &n[i]); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%.2f to spend, %.2f frozen, %.2f in reserve", n[0]+n[1], n[2], n[3])
}

// lookAtClaims runs the loop of claims until done returns true.
func lookAtClaims(t *testing.T, s *harness.Instance, what string, done func() bool) {
	t.Helper()
	harness.Eventually(t, what, func() bool {
		_, err := s.App.Claims.Sweep(ctx)
		harness.Must(t, err)
		return done()
	})
}

func TestRefundIsOpenedAndPaid(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		endpoint := s.Receive(t)
		secret := o.Subscribe(t, endpoint.URL, `"*"`).Text(t, "secret")
		id := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_pix","documentId":"1","merchantOrderId":"order-1"}`, "Sandbox-Simulate: paid")
		r := o.Refund(t, id, `{"amount":135,"reason":"duplicate"}`, "Idempotency-Key: first")
		r.Is(t, http.StatusOK, fmt.Sprintf(`{"refundId":"<claim>","transactionId":%q,"amount":135,"amountUsd":25,"currency":"BRL",
			"status":"pending","reason":"duplicate","origin":"merchant","createdAt":"<time>"}`, id))
		claim := r.Text(t, "refundId")
		want := `{"id":"` + claim + `","type":"user_dispute","status":"approved","outcome":"approved","transactionId":"` + id + `","merchantOrderId":"order-1",
			"amount":135,"currency":"BRL","amountUsd":25,"frozenUsd":0,"feeUsd":0,"reason":"duplicate","networkReasonCode":null,"previousClaimId":null,"origin":"merchant","evidenceDueBy":null,
			"evidence":[],"timeline":[{"status":"pending","at":"<time>","actor":"merchant","note":null},{"status":"approved","at":"<time>","actor":"provider","note":null}],
			"createdAt":"<time>","updatedAt":"<time>","resolvedAt":"<time>"`
		o.Get(t, "/claims/"+claim).Is(t, http.StatusOK, want+"}")

		// 100, less 1.2 % platform fee, 0.99 % Pix fee and 5 % reserve, is 92.81. A quarter of each part
		// goes back.
		o.Get(t, "/me/balance").Is(t, http.StatusOK, harness.Balance(o, `{"available":0,"pending":69.6,"frozen":0,"reserve":3.75}`, `[]`,
			`{"grossVolume":100,"platformFees":0.9,"processingFees":0.75,"flatFees":0,"chargebackFees":0,"totalFees":1.65,"netBalance":73.35}`))
		p := o.Get(t, "/payments/"+id)
		if p.Text(t, "status") != "refunded" || p.Text(t, "refundedAmountLocal") != "135" || p.Text(t, "refundableAmountLocal") != "405" {
			t.Errorf("want 135 of 540 BRL refunded: %s", p)
		}
		p.Text(t, "timestamps.refunded")

		list := endpoint.About(t, id, 5)
		told := map[string]harness.Received{}
		for _, d := range list {
			told[d.Text("type")] = d
			d.Verify(t, s, secret)
		}
		for _, kind := range []string{"claim.opened", "payment.refunded", "claim.resolved"} {
			d := told[kind]
			if d.Text("request.id") != r.Header.Get("X-Request-Id") || d.Text("request.idempotencyKey") != "first" {
				t.Errorf("%s does not name the refund call: %s", kind, d.Body)
			}
		}
		for path, want := range map[string]string{"sequence": "3", "data.previous.status": "completed", "data.object.status": "refunded",
			"data.object.refund.refundId": claim, "data.object.refund.status": "pending", "data.object.refund.amount": "135"} {
			if got := told["payment.refunded"].Text(path); got != want {
				t.Errorf("payment.refunded: %s is %s, want %s", path, got, want)
			}
		}
		if d := told["claim.opened"]; d.Text("sequence") != "1" || d.Text("data.object.status") != "pending" || d.Text("data.object.frozenUsd") != "24.46" {
			t.Errorf("claim.opened: want it first, pending, with 24.46 frozen: %s", d.Body)
		}
		summary := fmt.Sprintf(`,"transaction":{"id":%q,"status":"refunded","amount":100,"currency":"USD","amountLocal":540,"currencyLocal":"BRL",
			"paymentMethodId":"sbx_pix","country":"BRA","merchantOrderId":"order-1"}}`, id)
		object, _ := harness.At(told["claim.resolved"].Event, "data.object")
		for _, difference := range harness.Compare("data.object", harness.Decode(t, []byte(want+summary)), object) {
			t.Errorf("claim.resolved: %s", difference)
		}
		if d := told["claim.resolved"]; d.Text("sequence") != "2" || d.Text("data.previous.status") != "pending" {
			t.Errorf("claim.resolved: want it second, after pending: %s", d.Body)
		}

		// The rest is refunded over the alias of the path, and without a body.
		rest := o.Call(t, http.MethodPost, "/transactions/"+id+"/refund", "", "Content-Type: ")
		rest.Is(t, http.StatusOK, fmt.Sprintf(`{"refundId":"<claim>","transactionId":%q,"amount":405,"amountUsd":75,"currency":"BRL",
			"status":"pending","reason":null,"origin":"merchant","createdAt":"<time>"}`, id))
		o.Get(t, "/me").Is(t, http.StatusOK, harness.Profile(o, harness.EmptyBuckets))
		if got := harness.Types(endpoint.About(t, id, 8)); strings.Count(got, "payment.refunded") != 2 || strings.Count(got, "claim.resolved") != 2 {
			t.Errorf("the endpoint got %q, want payment.refunded and claim.resolved twice", got)
		}
	})
}

func TestRefusedRefundLeavesNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		endpoint := s.Receive(t)
		o.Subscribe(t, endpoint.URL, `"payment.refunded","claim.opened"`)
		o.Create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)                               // so that the balance refuses nothing
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`, "Sandbox-Simulate: paid") // 183.5 MXN
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
			"more than 1 MiB": {harness.OneMiB(`{}`) + " ", "413 payload_too_large invalid_request_error"},
		} {
			t.Run(name, func(t *testing.T) {
				got := o.Refund(t, id, c.body).Problem(t)
				if name == "a list" {
					got, _, _ = strings.Cut(got, " issues")
				}
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		}
		above := o.Refund(t, id, `{"amount":183.51}`)
		if above.Text(t, "error.details.limit.max") != "183.5" || above.Text(t, "error.details.limit.currency") != "MXN" {
			t.Errorf("the error lacks the limit 183.5 MXN: %s", above)
		}
		o.Refund(t, id, `{}`, "Content-Type: text/plain").Refused(t, "415 content_type_required invalid_request_error")
		o.Refund(t, id, `{}`, "Idempotency-Key: "+strings.Repeat("k", 256)).Refused(t, "400 invalid_request invalid_request_error param=Idempotency-Key issues=Idempotency-Key")
		const unknown = "404 transaction_not_found invalid_request_error"
		for _, who := range []harness.Client{stranger, stranger.Production(), o.Production()} {
			who.Refund(t, id, `{}`).Refused(t, unknown)
		}
		for _, path := range []string{"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "x", "TXN-%00", "TXN-%ff"} {
			o.Refund(t, path, `{}`).Refused(t, unknown)
		}
		o.As(o.Sandbox.Publishable).Refund(t, id, `{}`).Refused(t, "403 key_kind_not_allowed permission_error")

		for _, stage := range harness.Stages {
			id := stage.Bring(t, o)
			before := o.Claims(t, id)
			want := "409 conflict_state conflict_error from=" + stage.Status + " action=refund"
			switch stage.Name {
			case "completed":
				continue
			case "refunded":
				want = "409 conflict_state conflict_error reason=fully_refunded from=refunded action=refund"
			case "disputed":
				want = "409 conflict_state conflict_error reason=open_dispute from=completed action=refund"
			case "charged back":
				want = "409 conflict_state conflict_error reason=open_dispute from=chargeback action=refund"
			}
			o.Refund(t, id, `{}`).Refused(t, want)
			o.Refund(t, id, `{"amount":1}`).Refused(t, want)
			if got := o.Claims(t, id); got != before {
				t.Errorf("a refused refund of a %s payment changed the claims from %q to %q", stage.Name, before, got)
			}
		}
		if got := o.Claims(t, id) + o.Status(t, id); got != "completed" || len(endpoint.About(t, id, 0)) > 0 {
			t.Errorf("after refused refunds the payment is %q, and the endpoint got %q; want completed and no events", got, harness.Types(endpoint.Deliveries()))
		}
		o.Refund(t, id, `{"amount":183.50,"reason":"`+strings.Repeat("é", 500)+`"}`).Want(t, http.StatusOK)
	})
}

// A refund's amount is in the payment's local currency, with its decimals.
func TestRefundCountsInTheLocalCurrency(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: paid")
		local := o.Get(t, "/payments/"+id).Text(t, "amountLocal") // COP
		o.Refund(t, id, `{"amount":0.001}`).Refused(t, "400 amount_invalid invalid_request_error param=amount")
		r := o.Refund(t, id, `{"amount":`+local+`e0}`).Want(t, http.StatusOK)
		if r.Text(t, "amount") != local || r.Text(t, "amountUsd") != "10" || r.Text(t, "currency") != "COP" {
			t.Errorf("want all %s COP back: %s", local, r)
		}
	})
}

func TestSimulatedRefundWantsABalanceToo(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback") // takes more than it brought
		o.Simulate(t, id, "refunded").Refused(t, "422 balance_insufficient balance_error")
		if status := o.Status(t, id); status != "completed" {
			t.Errorf("after a refused refund the payment is %s, want completed", status)
		}
	})
}

// A hundred refunds of one payment at once never exceed the payment.
func TestParallelRefundsNeverExceedCapture(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		o.Create(t, `{"amount":500,"paymentMethodId":"sbx_card"}`) // so that the balance is not the limit
		replies := make([]harness.Reply, 100)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.Refund(t, id, `{"amount":1.2}`) })
		}
		all.Wait()
		done := 0
		for _, r := range replies {
			if r.Status == http.StatusOK {
				done++
				continue
			}
			// 41 refunds of 1.20 leave 0.80 of 50.
			r.Refused(t, "400 amount_above_maximum invalid_request_error param=amount boundViolated=max")
		}
		p := o.Get(t, "/payments/"+id)
		if done != 41 || p.Text(t, "refundedAmountLocal") != "49.2" || p.Text(t, "refundableAmountLocal") != "0.8" {
			t.Errorf("%d of 100 refunds of 1.20 from 50 succeeded, want 41: %s", done, p)
		}
		if got := strings.Count(o.Claims(t, id), "approved"); got != 41 {
			t.Errorf("%d refunds are approved, want 41", got)
		}
	})
}

// A hundred refunds at once never exceed the balance, which a dispute has made smaller.
func TestParallelRefundsNeverExceedBalance(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		var ids []string
		for range 4 {
			ids = append(ids, o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)) // 45.10 each
		}
		disputed := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`, "Sandbox-Simulate: chargeback") // 90.51 in, 120 out
		replies := make([]harness.Reply, 100)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.Refund(t, ids[n%4], `{"amount":2}`) })
		}
		all.Wait()
		done := 0
		for _, r := range replies {
			if r.Status == http.StatusOK {
				done++
				continue
			}
			r.Refused(t, "422 balance_insufficient balance_error")
		}
		r := o.Get(t, "/me/balance")
		var pending, available float64
		fmt.Sscan(r.Text(t, "balance.pending"), &pending)
		fmt.Sscan(r.Text(t, "balance.available"), &available)
		// 180.40 + 90.51 − 120 = 150.91; one refund takes 1.80 or 1.81 of it.
		if done != 83 || available != -120 || pending+available < 0 || pending+available > 1.81 {
			t.Errorf("%d refunds succeeded and left %f pending and %f available, want 83: %s", done, pending, available, r)
		}
		if got := o.Claims(t, disputed); got != "needs_evidence" {
			t.Errorf("the dispute is %s, want needs_evidence", got)
		}
	})
}

func TestRefundIsIdempotent(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		id, other := o.Create(t, harness.Card), o.Create(t, harness.Card)
		const key, conflict = "Idempotency-Key: refund-1", "409 idempotency_conflict idempotency_error reason=body_differs"
		// Refused requests have not used the key up.
		o.Refund(t, id, `{"amount":99}`, key).Want(t, http.StatusBadRequest)
		o.Refund(t, id, `{"amount":0}`, key).Want(t, http.StatusBadRequest)
		first := o.Refund(t, id, `{"amount":10,"reason":"other"}`, key).Want(t, http.StatusOK)
		harness.Same(t, first, o.Refund(t, id, "{ \"reason\":\"other\",\n\"amount\":10}", key)) // the refund is approved by now, but the replay is the first reply
		harness.Same(t, first, o.Post(t, "/transactions/"+id+"/refund", `{"amount":10,"reason":"other"}`, key))
		for _, body := range []string{`{"amount":10.5,"reason":"other"}`, `{"amount":10}`, `{}`, ``, `{"amount":99,"reason":"other"}`} {
			o.Refund(t, id, body, key).Refused(t, conflict)
		}
		// The same key for another payment, another route or another shop is another key.
		if r := o.Refund(t, other, `{"amount":10,"reason":"other"}`, key).Want(t, http.StatusOK); r.Text(t, "transactionId") != other || r.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("another payment got this payment's refund: %s", r)
		}
		o.Post(t, "/payments", harness.Card, key).Want(t, http.StatusCreated)
		stranger.Refund(t, id, `{"amount":10,"reason":"other"}`, key).Refused(t, "404 transaction_not_found invalid_request_error")
		// A repeated request is replayed even if nothing is left to refund.
		rest := o.Refund(t, id, ``, "Idempotency-Key: rest").Want(t, http.StatusOK)
		harness.Same(t, rest, o.Refund(t, id, `{}`, "Idempotency-Key: rest"))
		harness.Same(t, first, o.Refund(t, id, `{"amount":10,"reason":"other"}`, key))
		if got := o.Claims(t, id); got != "approved approved" {
			t.Errorf("the payment has the claims %q, want two", got)
		}

		third := o.Create(t, harness.Card)
		replies := make([]harness.Reply, 30)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n] = o.Refund(t, third, `{"amount":1}`, "Idempotency-Key: race") })
		}
		all.Wait()
		fresh := 0
		for _, r := range replies {
			if r.Want(t, http.StatusOK).Header.Get("Idempotency-Replayed") == "" {
				fresh++
			}
			if r.Text(t, "refundId") != replies[0].Text(t, "refundId") {
				t.Errorf("one key made two refunds: %s %s", r, replies[0])
			}
		}
		if got := o.Claims(t, third); fresh != 1 || got != "approved" {
			t.Errorf("%d of 30 requests were not replays, want 1; the claims are %q", fresh, got)
		}
	})
}

// A merchant's test clock makes claims expire and queries due, for this merchant only (SBX-12).
func TestTestClockMovesClaims(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		o.Create(t, `{"amount":5000,"paymentMethodId":"sbx_card"}`)
		_, disputed := o.Dispute(t, false)
		_, others := stranger.Dispute(t, false)
		s.Upstream(t, sandbox.RefundTimeout, sandbox.NoFault, sandbox.NoFault)
		refund := o.Refund(t, o.Create(t, harness.Card), `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		o.Post(t, "/sandbox/clock", `{"advance":"8d"}`).Want(t, http.StatusOK)
		lookAtClaims(t, s, "the dispute is expired and the refund is approved", func() bool {
			return harness.ClaimStatus(t, o, disputed) == "expired" && harness.ClaimStatus(t, o, refund) == "approved"
		})
		if got := harness.ClaimStatus(t, stranger, others); got != "needs_evidence" {
			t.Errorf("one merchant's test clock made another merchant's claim %s", got)
		}
	})
}
