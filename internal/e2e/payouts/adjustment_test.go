package payouts

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// desk is an operator's desk for one merchant's sandbox.
type desk struct {
	harness.Operator
	o harness.Client
	n int // references so far
}

// order is an adjustment with a reference of its own.
func (d *desk) order(amount, reason, about, more string) string {
	d.n++
	return fmt.Sprintf(`{"merchantId":%q,"environment":"sandbox","amount":%q,"reason":%q,"note":"by the recipe","about":%q,"reference":"ticket %d"%s}`,
		d.o.Merchant.ID, amount, reason, about, d.n, more)
}

func (d *desk) adjust(t *testing.T, amount, reason, about, more string) harness.Reply {
	t.Helper()
	return d.Post(t, "/adjustments", d.order(amount, reason, about, more))
}

func (d *desk) available(t *testing.T) string {
	t.Helper()
	return d.o.Get(t, "/me/balance").Text(t, "balance.available")
}

// An operator's adjustment moves the balance once, the merchant reads why, and a settlement lists it (ADJ-1 to ADJ-3, ADJ-5).
func TestAdjustmentIsBookedOnceAndTold(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := &desk{Operator: op, o: op.NewShop(t)}
		endpoint := op.Receive(t)
		d.o.Subscribe(t, endpoint.URL, `"balance.adjusted"`)
		payment := d.o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		order := d.order("12.50", "goodwill", payment, "")
		made := d.Post(t, "/adjustments", order).Want(t, http.StatusOK)
		if made.Text(t, "status") != "applied" || made.Text(t, "madeBy") != "ana" {
			t.Errorf("it is %s", made)
		}
		op.Did(t, audit.AdjustmentMade, made.Text(t, "id"), made)
		if again := d.Post(t, "/adjustments", order).Want(t, http.StatusOK); again.Text(t, "id") != made.Text(t, "id") {
			t.Errorf("the repeat is %s", again)
		}
		if got := d.available(t); got != "12.5" {
			t.Errorf("available is %s, want 12.5", got)
		}
		move := d.o.Get(t, "/me/balance/movements?limit=1")
		for field, want := range map[string]string{"type": "adjustment", "amount": "12.5", "bucket": "available", "balanceAfter": "12.5", "reason": "goodwill",
			"description": "by the recipe", "adjustmentId": made.Text(t, "id"), "transactionId": payment} {
			if got := move.Text(t, "data.0."+field); got != want {
				t.Errorf("the movement's %s is %s, want %s", field, got, want)
			}
		}
		event := d.o.Get(t, "/events?type=balance.adjusted")
		if event.Text(t, "data.0.data.object.amount") != "12.5" || event.Text(t, "data.0.data.object.reason") != "goodwill" || event.Text(t, "pagination.total") != "1" {
			t.Errorf("the events are %s", event)
		}
		op.Spec.CheckEvent(t, "balance.adjusted", endpoint.About(t, made.Text(t, "id"), 1)[0].Body)
		harness.MoveTestClock(t, d.o, "49h")
		list := harness.ClosedSettlements(t, d.o, 1)
		if got := list.Text(t, "data.0.adjustments"); got != "12.5" {
			t.Errorf("the settlement's adjustments are %s: %s", got, list)
		}
	})
}

// What an adjustment may not say is refused, and nothing moves (ADJ-2, ADJ-5).
func TestAdjustmentOfAnotherIsRefused(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d, other := &desk{Operator: op, o: op.NewShop(t)}, op.NewShop(t)
		foreign := other.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		d.adjust(t, "5", "goodwill", foreign, "").Refused(t, "400 invalid_request invalid_request_error param=about")
		d.adjust(t, "5", "goodwill", "TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "").Refused(t, "400 invalid_request invalid_request_error param=about")
		d.adjust(t, "-5", "goodwill", "", "").Refused(t, "400 amount_invalid invalid_request_error param=amount")
		d.adjust(t, "five", "goodwill", "", "").Refused(t, "400 amount_invalid invalid_request_error param=amount")
		d.adjust(t, "-5", "fee_correction", "", "").Refused(t, "422 balance_insufficient balance_error param=amount")
		d.Post(t, "/adjustments", `{"merchantId":"mer_nobody","amount":"5","reason":"goodwill","note":"x","reference":"x"}`).Refused(t, "404 merchant_not_found invalid_request_error")
		d.Get(t, "/adjustments/adj_0000000000AJ0Y3ZK9VQ4T4R1M").Refused(t, "404 not_found invalid_request_error")
		if got := d.available(t); got != "0" {
			t.Errorf("available is %s", got)
		}
		order := d.order("5", "goodwill", "", "")
		d.Post(t, "/adjustments", order).Want(t, http.StatusOK)
		d.n-- // the same reference, another amount
		d.adjust(t, "6", "goodwill", "", "").Refused(t, "409 conflict_state conflict_error param=reference from=applied action=adjust")
	})
}

// Above the limit for approvals another operator decides (ADJ-4); an adjustment is reversed once (ADJ-6).
func TestAdjustmentNeedsASecondOperatorAndIsReversedOnce(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d, bo := &desk{Operator: op, o: op.NewShop(t)}, op.Operator(t, "bo", op.Log)
		_, err := op.App.Payouts.LimitPayouts(ctx, op.App.Self(), d.o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.ApprovalAbove = 50_00 })
		harness.Must(t, err)
		large := d.adjust(t, "50.01", "goodwill", "", "").Want(t, http.StatusOK)
		path := "/adjustments/" + large.Text(t, "id")
		if large.Text(t, "status") != "pending" || d.available(t) != "0" {
			t.Errorf("before the approval it is %s, available is %s", large, d.available(t))
		}
		d.Post(t, path+"/approve", "").Refused(t, "409 conflict_state conflict_error reason=same_operator from=pending action=approve")
		if done := bo.Post(t, path+"/approve", "").Want(t, http.StatusOK); done.Text(t, "status") != "applied" || done.Text(t, "decidedBy") != "bo" || d.available(t) != "50.01" {
			t.Errorf("after the approval it is %s, available is %s", done, d.available(t))
		}
		bo.Post(t, path+"/approve", "").Refused(t, "409 conflict_state conflict_error from=applied action=approve")

		rejected := d.adjust(t, "60", "goodwill", "", "").Want(t, http.StatusOK).Text(t, "id")
		bo.Post(t, "/adjustments/"+rejected+"/reject", `{"note":"too much"}`).Want(t, http.StatusOK)
		bo.Post(t, "/adjustments/"+rejected+"/approve", "").Refused(t, "409 conflict_state conflict_error from=rejected action=approve")
		d.n-- // the same reference, another amount
		d.adjust(t, "61", "goodwill", "", "").Refused(t, "409 conflict_state conflict_error param=reference from=rejected action=adjust")
		if list := d.Get(t, "/adjustments?status=rejected&merchantId="+d.o.Merchant.ID); list.Text(t, "data.0.id") != rejected {
			t.Errorf("rejected are %s", list)
		}

		small := d.adjust(t, "10", "goodwill", "", "").Want(t, http.StatusOK).Text(t, "id")
		undo := d.Post(t, "/adjustments/"+small+"/reverse", `{"note":"it was another merchant's"}`).Want(t, http.StatusOK)
		if again := d.Post(t, "/adjustments/"+small+"/reverse", `{"note":"it was another merchant's"}`).Want(t, http.StatusOK); again.Text(t, "id") != undo.Text(t, "id") {
			t.Errorf("the repeat is %s", again)
		}
		if seen := d.Get(t, "/adjustments/"+small); seen.Text(t, "reversedBy") != undo.Text(t, "id") || undo.Text(t, "reverses") != small || undo.Text(t, "amount") != "-10" {
			t.Errorf("%s is reversed by %s", seen, undo)
		}
		if got := d.available(t); got != "50.01" {
			t.Errorf("available is %s, want 50.01", got)
		}
		const note = `{"note":"x"}`
		for _, verb := range []string{"approve", "reject", "reverse"} {
			d.Post(t, "/adjustments/adj_0000000000AJ0Y3ZK9VQ4T4R1M/"+verb, map[bool]string{false: note}[verb == "approve"]).Refused(t, "404 not_found invalid_request_error")
		}
		bo.Post(t, path+"/reject", note).Refused(t, "409 conflict_state conflict_error from=applied action=reject")
		d.Post(t, "/adjustments/"+rejected+"/reverse", note).Refused(t, "409 conflict_state conflict_error from=rejected action=reverse")
		d.adjust(t, "-50.02", "fee_correction", "", "").Refused(t, "422 balance_insufficient balance_error param=amount") // nobody could approve it
		debit := d.adjust(t, "-50.01", "fee_correction", "", "").Want(t, http.StatusOK).Text(t, "id")
		credit := d.adjust(t, "10", "goodwill", "", "").Want(t, http.StatusOK).Text(t, "id")
		d.adjust(t, "-50", "fee_correction", "", "").Want(t, http.StatusOK)
		d.adjust(t, "-10.01", "fee_correction", "", "").Want(t, http.StatusOK)
		bo.Post(t, "/adjustments/"+debit+"/approve", "").Refused(t, "422 balance_insufficient balance_error param=amount")
		d.Post(t, "/adjustments/"+credit+"/reverse", note).Refused(t, "422 balance_insufficient balance_error param=amount")
	})
}

// A sandbox that was emptied takes an old reference again, under another id (ADJ-1): the first transfer stays sealed.
func TestAdjustmentAfterAReset(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := &desk{Operator: op, o: op.NewShop(t)}
		order := d.order("5", "goodwill", "", "")
		d.Post(t, "/adjustments", order).Want(t, http.StatusOK)
		empty(t, d.o)
		d.Post(t, "/adjustments", order).Want(t, http.StatusOK)
		if got := d.available(t); got != "5" {
			t.Errorf("available is %s, want 5", got)
		}
		d.o.Clean(t)
	})
}

// The same order twice at the same time is booked once, and both get the same answer (ADJ-1); so it is with a reversal (ADJ-6).
func TestAdjustmentTwiceAtOnce(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := &desk{Operator: op, o: op.NewShop(t)}
		atOnce := func(path, body string) {
			t.Helper()
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					if r := d.Post(t, path, body); r.Status != http.StatusOK {
						t.Errorf("one of eight at once: %d %s", r.Status, r.Body)
					}
				})
			}
			wait.Wait()
		}
		for range 5 {
			atOnce("/adjustments", d.order("10", "goodwill", "", ""))
		}
		if got := d.available(t); got != "50" {
			t.Errorf("available is %s, want 50", got)
		}
		made := d.adjust(t, "10", "goodwill", "", "").Want(t, http.StatusOK).Text(t, "id")
		atOnce("/adjustments/"+made+"/reverse", `{"note":"x"}`)
		if got := d.available(t); got != "50" {
			t.Errorf("available is %s, want 50", got)
		}
	})
}

// Each recipe of docs/ADJUSTMENTS.md leaves what it says (ADJ-7).
func TestRecipesForWhatNoCommandBooks(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		d := &desk{Operator: op, o: op.NewShop(t)}
		is := func(what, want string) {
			t.Helper()
			if got := d.available(t); got != want {
				t.Errorf("%s: available is %s, want %s", what, got, want)
			}
		}
		late := func() string {
			payment := d.o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			d.o.Notify(t, "sandbox-1", harness.NoticeBody(payment, `"status":"declined"`)).Want(t, http.StatusOK)
			d.o.Notify(t, "sandbox-1", harness.NoticeBody(payment, harness.Paid50)).Want(t, http.StatusOK)
			return d.o.Get(t, "/claims?type=inquiry&transactionId="+payment).Text(t, "data.0.id")
		}
		d.Post(t, "/claims/"+late()+"/resolution", `{"outcome":"approved","byHand":"transfer 0091","note":"by hand"}`).Want(t, http.StatusOK)
		is("late cash was given back by bank transfer", "0")
		// Late money went to the merchant, and then back to the shopper.
		claim := late()
		d.Post(t, "/claims/"+claim+"/resolution", `{"outcome":"rejected","note":"the order is wanted"}`).Want(t, http.StatusOK)
		is("late money went to the merchant", "10")
		d.adjust(t, "-10", "late_cash_returned", claim, "").Want(t, http.StatusOK)
		is("and then back to the shopper", "0")
		// A provider, and an operator, gave a payment back; then more than it has left.
		card := d.o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		given := func(body string) harness.Reply { return d.Post(t, "/payments/"+card+"/refunds", body) }
		given(`{"origin":"provider","reference":"re_1","amount":"1","note":"its panel"}`).Want(t, http.StatusOK)
		given(`{"origin":"operator","reference":"transfer 0092","note":"by hand"}`).Want(t, http.StatusOK)
		given(`{"origin":"provider","reference":"re_2","amount":"1","note":"its panel"}`).Refused(t, "409 conflict_state conflict_error reason=fully_refunded from=refunded action=refund")
		owed := d.available(t)
		if !strings.HasPrefix(owed, "-") {
			t.Errorf("all was given back, and %s are available", owed)
		}
		d.adjust(t, "-50", "provider_refund", card, "").Refused(t, "422 balance_insufficient balance_error param=amount")
		d.adjust(t, "-50", "provider_refund", card, `,"allowNegative":true`).Want(t, http.StatusOK)
		if w := harness.Warnings(t, d.o); w == "" {
			t.Error("a balance below zero warns of nothing")
		}
		d.adjust(t, "50", "other", card, "").Want(t, http.StatusOK)
		d.adjust(t, strings.TrimPrefix(owed, "-"), "goodwill", card, "").Want(t, http.StatusOK)
		// Money that cannot be booked came; a settlement from before was paid twice.
		d.adjust(t, "5.40", "wrong_amount", card, "").Want(t, http.StatusOK)
		d.adjust(t, "-35.40", "other", "", `,"allowNegative":true`).Want(t, http.StatusOK)
		is("what came was credited, and what was paid was taken", "-30")
		// A merchant who stopped pays a part, and the rest is given up.
		d.adjust(t, "10", "debt_paid_in", "", "").Want(t, http.StatusOK)
		d.adjust(t, "20", "write_off", "", "").Want(t, http.StatusOK)
		is("the debt is over", "0")
		if w := harness.Warnings(t, d.o); w != "" {
			t.Errorf("the balance still warns of %s", w)
		}
	})
}
