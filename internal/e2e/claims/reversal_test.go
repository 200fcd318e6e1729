package claims

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// refundsOf lists a payment's refunds, oldest first: status and origin.
func refundsOf(t *testing.T, o harness.Client, payment string) string {
	t.Helper()
	r := o.Get(t, "/claims?type=user_dispute&transactionId="+payment).Want(t, http.StatusOK)
	list, _ := r.At(t, "data")
	var words []string
	for i := len(list.([]any)) - 1; i >= 0; i-- {
		m := list.([]any)[i].(map[string]any)
		words = append(words, m["status"].(string)+" "+m["origin"].(string))
	}
	return strings.Join(words, ", ")
}

// What went back before it was known to be paid completes nothing (PAY-37).
func TestRefundAsTheFirstNews(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		whole, part := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`), o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		r := o.Get(t, "/payments/"+whole)
		for payment, amount := range map[string]string{whole: r.Text(t, "amountLocal"), part: "1.00"} {
			o.Notify(t, "sandbox-1", harness.NoticeBody(payment, `"status":"reversed","refund":"re_`+payment+`","currency":"`+r.Text(t, "currencyLocal")+`","amount":"`+amount+`"`)).Want(t, http.StatusOK)
		}
		if r := o.Get(t, "/payments/"+whole); r.Text(t, "status") != "failed" || r.Text(t, "failure.code") != "reversed" {
			t.Errorf("all went back: %s", r)
		}
		if r := o.Get(t, "/payments/"+part); r.Text(t, "status") != "pending" || r.Text(t, "attention.code") != "amount_mismatch" {
			t.Errorf("a part went back: %s", r)
		}
		if got := funds(t, o); got != "0.00 to spend, 0.00 frozen, 0.00 in reserve" {
			t.Errorf("the merchant has %s", got)
		}
	})
}

// A refund that fails after it was confirmed comes back to the merchant, who can refund again; the
// operator books what was given back by hand (REF-15, REF-16).
func TestRefundThatFailsAfterItsConfirmation(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		o.Create(t, `{"amount":500,"paymentMethodId":"sbx_card"}`)
		payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		before := funds(t, o)
		claim := o.Refund(t, payment, `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		if got := harness.ClaimStatus(t, o, claim); got != "approved" {
			t.Fatalf("the refund is %s", got)
		}
		failed := `{"id":"f1","reference":"` + strings.TrimPrefix(claim, "CLM-") + `-1","status":"refund_failed"}`
		for range 2 {
			o.Notify(t, "sandbox-1", failed).Want(t, http.StatusOK)
		}
		if got := refundsOf(t, o, payment); got != "approved merchant, rejected merchant" || o.Get(t, "/payments/"+payment).Text(t, "refundedAmountLocal") != "0" {
			t.Errorf("the refunds are %q", got)
		}
		spend := func(funds string) (usd float64) {
			var frozen, reserve float64
			if _, err := fmt.Sscanf(funds, "%f to spend, %f frozen, %f in reserve", &usd, &frozen, &reserve); err != nil {
				t.Fatal(err)
			}
			return usd + frozen + reserve
		}
		if got := funds(t, o); math.Abs(spend(got)-spend(before)) > 0.001 {
			t.Errorf("before the refund the merchant had %s, after it failed %s", before, got)
		}
		path := "/payments/" + payment + "/refunds"
		op.Ask(t, http.MethodPost, "/payments/TXN-NONE/refunds", `{"reference":"r","origin":"operator","note":"n"}`).Refused(t, "404 transaction_not_found invalid_request_error")
		r := op.Ask(t, http.MethodPost, path, `{"amount":"1","reference":"TED 0091","origin":"operator","note":"sent by hand"}`).Want(t, http.StatusOK)
		if e := harness.AuditEntry(t, o, audit.RefundBooked, r.Text(t, "id")); e.Details["reference"] != "TED 0091" || e.Details["note"] != "sent by hand" {
			t.Errorf("the entry is %+v", e)
		}
		op.Ask(t, http.MethodPost, path, `{"amount":"1","reference":"TED 0091","origin":"operator","note":"again"}`).Refused(t, "409 conflict_state conflict_error reason=known")
		o.Refund(t, payment, `{}`).Want(t, http.StatusOK)
		if got := refundsOf(t, o, payment); got != "approved merchant, rejected merchant, approved operator, approved merchant" {
			t.Errorf("the refunds are %q", got)
		}
		if r := o.Get(t, "/payments/"+payment); r.Text(t, "refundableAmountLocal") != "0" {
			t.Errorf("something is left: %s", r)
		}
		// The transfer by hand came back, too: no provider reports that.
		by := "/claims/" + r.Text(t, "id") + "/resolution"
		back := op.Ask(t, http.MethodPost, by, `{"outcome":"returned","note":"the bank's statement"}`).Want(t, http.StatusOK)
		if e := harness.AuditEntry(t, o, audit.ClaimResolved, r.Text(t, "id")); e.Details["word"] != "take_back" || back.Text(t, "status") != "approved" {
			t.Errorf("the entry is %+v, the answer %s", e, back)
		}
		op.Ask(t, http.MethodPost, by, `{"outcome":"returned","note":"again"}`).Refused(t, "409 conflict_state conflict_error from=approved action=take_back")
		op.Ask(t, http.MethodPost, "/claims/"+o.Get(t, "/claims?transactionId="+payment+"&status=rejected").Text(t, "data.0.id")+"/resolution",
			`{"outcome":"returned","note":"it was never made"}`).Refused(t, "409 conflict_state conflict_error from=rejected action=take_back")
		if got := o.Get(t, "/payments/"+payment).Text(t, "refundableAmountLocal"); got != "1" {
			t.Errorf("%s can be refunded again", got)
		}
	})
}

// After a dispute the rest can be refunded; the transaction says how the dispute ended (REF-13,
// CLAIM-16).
func TestTheRestIsRefundedAfterADispute(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, `{"amount":500,"paymentMethodId":"sbx_card"}`)
		payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		tellDispute(t, o, payment, `"status":"disputed","dispute":"dp_1"`)
		o.Refund(t, payment, `{}`).Refused(t, "409 conflict_state conflict_error reason=open_dispute from=chargeback action=refund")
		claim := o.Get(t, "/claims?type=chargeback&transactionId="+payment).Text(t, "data.0.id")
		r := o.Get(t, "/payments/"+payment)
		if r.Text(t, "disputes.0.claimId") != claim || r.Text(t, "disputes.0.status") != "needs_evidence" || r.Text(t, "disputes.0.amount") != r.Text(t, "amountLocal") {
			t.Errorf("the transaction's dispute is %s", r)
		}
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		if got := o.Get(t, "/payments/"+payment).Text(t, "disputes.0.status"); got != "under_review" {
			t.Errorf("with evidence the dispute is %s", got)
		}
		tellDispute(t, o, payment, `"status":"dispute_won","dispute":"dp_1"`)
		if r := o.Get(t, "/payments/"+payment); r.Text(t, "disputes.0.outcome") != "rejected" || r.Text(t, "status") != "chargeback" || r.Text(t, "refundableAmountLocal") != r.Text(t, "amountLocal") {
			t.Errorf("after it was won: %s", r)
		}
		o.Refund(t, payment, `{}`).Want(t, http.StatusOK)
		if r := o.Get(t, "/payments/"+payment); r.Text(t, "status") != "chargeback" || r.Text(t, "refundableAmountLocal") != "0" {
			t.Errorf("after the refund: %s", r)
		}
	})
}
