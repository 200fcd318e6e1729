package claims

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
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

// A refund that the provider made by itself is a refund of the payment, once, even if it takes the
// balance below zero; if it fails later, the money is the merchant's again (REF-14, REF-15).
func TestProvidersOwnRefundIsARefund(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		payment := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		local := o.Get(t, "/payments/"+payment)
		currency := local.Text(t, "currencyLocal")
		back := func(fields string) {
			t.Helper()
			o.Notify(t, "sandbox-1", harness.NoticeBody(payment, `"status":"reversed","currency":"`+currency+`",`+fields)).Want(t, http.StatusOK)
		}
		back(`"refund":"re_1","amount":"30.00"`)
		back(`"refund":"re_1","amount":"30.00"`)
		r := o.Get(t, "/payments/"+payment)
		if got := refundsOf(t, o, payment); got != "approved provider" || r.Text(t, "status") != "refunded" || r.Text(t, "refundedAmountLocal") != "30" {
			t.Errorf("the refunds are %q, and the payment is %s", got, r)
		}
		if got := harness.Warnings(t, o); !strings.Contains(got, "negative_available") {
			t.Errorf("the balance warns of %q, want that it is below zero", got)
		}
		claim := o.Get(t, "/claims?transactionId="+payment).Text(t, "data.0.id")
		back(`"refund":"re_1","amount":"30.00","reason":"failed"`)
		if got := refundsOf(t, o, payment); got != "approved provider, rejected provider" || o.Get(t, "/payments/"+payment).Text(t, "refundedAmountLocal") != "0" {
			t.Errorf("after it failed the refunds are %q", got)
		}
		if got := o.Get(t, "/claims?transactionId="+payment).Text(t, "data.0.previousClaimId"); got != claim {
			t.Errorf("the claim names %s, want %s", got, claim)
		}
		back(`"refund":"re_2","amount":"999.00"`) // more than was paid
		if open, err := s.App.Notices.Notifications(ctx, "", 10); err != nil || len(open) == 0 || open[0].Payment != payment {
			t.Errorf("more than was paid went back, and the operator has %+v, %v", open, err)
		}
	})
}

// Somebody made a refund at the provider, under a reference of their own: the notice names the charge beside it (REF-14). It may
// fail, and be made after all: then the operator has to take it.
func TestRefundByHandNamesItsCharge(t *testing.T) {
	s := newStage(t)
	speaks := &harness.Teller{Provider: &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}}
	a := s.node(t, speaks)
	scope, payment := harness.PaidCard(t, a)
	p, err := a.Cascade.Payment(ctx, scope, payment)
	harness.Must(t, err)
	tell := func(id string, kind pay.OutcomeKind) {
		t.Helper()
		speaks.Tells = pay.Notice{ID: id, Refund: "for ana-1", Reference: p.Reference(1), Body: []byte("x"),
			Outcome: pay.Outcome{Kind: kind, ProviderRef: "by hand", MoneyRef: p.Attempts[0].MoneyRef, Local: p.Price.Local}}
		harness.Must(t, a.Notices.Notify(ctx, "sandbox-1", provider.Notification{}))
	}
	is := func(what string, left money.Amount, tasks int) {
		t.Helper()
		now, err := a.Cascade.Payment(ctx, scope, payment)
		harness.Must(t, err)
		told, err := a.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if now.Refundable() != left || len(told) != tasks {
			t.Errorf("%s: %s is left, want %s; the operator has %d tasks, want %d", what, now.Refundable(), left, len(told), tasks)
		}
	}
	tell("n1", pay.Approved)
	is("refunded", money.New(0, p.Price.Local.Currency), 0)
	tell("n2", pay.Declined)
	is("it failed", p.Price.Local, 0)
	tell("n3", pay.Approved)
	is("it was made after all", p.Price.Local, 1)
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

// A provider that can be asked decides before our own deadline does: without its answer, and while it
// calls the dispute open, the claim does not expire.
func TestOwnDeadlineDoesNotDecideForTheProvider(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		c, log := &harness.Clock{}, &harness.Faults{}
		bank := &issuer{Provider: sandbox.New("sandbox-1", func() []byte { return []byte("secret") })}
		a := harness.Node(t, database, c, bank, log)
		_, payment := harness.PaidCard(t, a)
		bank.send(t, a.Notices, payment, `"status":"disputed"`)
		look := func(says *pay.Notice, after time.Duration) pay.ClaimStatus {
			t.Helper()
			bank.says = says
			c.Advance(after)
			_, err := a.Claims.Sweep(ctx)
			harness.Must(t, err)
			return disputeOf(t, a.Claims, payment).Status
		}
		if got := look(nil, 8*24*time.Hour); got != pay.ClaimNeedsEvidence {
			t.Errorf("without an answer the claim is %s", got)
		}
		if got := look(&pay.Notice{Dispute: true}, 8*24*time.Hour); got != pay.ClaimNeedsEvidence {
			t.Errorf("the provider calls it open, and the claim is %s", got)
		}
		// Its news of the payment, without a word about the dispute, makes us ask.
		bank.says = &pay.Notice{Ruling: pay.DisputeWon}
		bank.send(t, a.Notices, payment, `"status":"paid","amount":"25.50","currency":"USD"`)
		if got := disputeOf(t, a.Claims, payment).Status; got != pay.ClaimRejected {
			t.Errorf("the provider says that the seller won, and the claim is %s", got)
		}
		harness.Sound(t, a, log)
	})
}
