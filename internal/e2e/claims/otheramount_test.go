package claims

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// A provider answers that another amount was paid. The payment is then neither paid nor failed, and
// waits for the operator.
func TestAnswerOfAnotherAmountWaitsForTheOperator(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(harness.TellsOther)
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		for range 3 {
			d.Pass(t, 6*time.Minute)
		}
		if got := d.Live.Status(t, id); got != "processing" || d.Lines["acme-2"].ChargesAsked.Load() != 0 {
			t.Errorf("the payment is %s, want processing, and no call to the second provider", got)
		}
		if got := harness.Warnings(t, d.Live); got != "unmatched_confirmation 9.25" {
			t.Errorf("the balance warns of %q, want an unmatched confirmation of 9.25, the worth of 50 BRL", got)
		}
		story, err := d.App.Story(ctx, id)
		harness.Must(t, err)
		if strings.Count(story, "late acme-1/answer/"+strings.TrimPrefix(id, "TXN-")+"-1 50.00 BRL") != 1 {
			t.Errorf("the story does not have the mismatch exactly once:\n%s", story)
		}
		d.Clock.Advance(31 * 24 * time.Hour)
		d.Sweep(t, "the payment has ended", func() bool { return d.Live.Status(t, id) == "failed" })
		if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "failure.code") != "amount_mismatch" {
			t.Errorf("want the failure amount_mismatch: %s", r)
		}
		if got := harness.Warnings(t, d.Live); got != "unmatched_confirmation 9.25" {
			t.Errorf("after the payment's end the balance warns of %q, want the same as before", got)
		}
		if told, err := d.App.Notices.Notifications(ctx, id, 10); err != nil || len(told) != 1 || !strings.Contains(string(told[0].Body), "50.00 BRL were paid") {
			t.Errorf("the payment's notifications are %+v with the error %v, want the answer", told, err)
		}
		claim := d.Live.Get(t, "/payments/"+id).Text(t, "attention.claimId")
		byHand := claims.Resolution{ID: claim, Word: pay.Approve, Note: "sent back", ByHand: "PIX 17"}
		_, err = d.App.Claims.Resolve(ctx, d.App.Self(), byHand)
		harness.Must(t, err)
		if _, err := d.App.Claims.Resolve(ctx, d.App.Self(), byHand); err == nil {
			t.Error("the money was given back twice")
		}
		if got := harness.Warnings(t, d.Live); got != "" {
			t.Errorf("after the money was given back the balance warns of %q, want nothing", got)
		}
	})
}

// A provider answers that it refunded another amount. The refund stays pending, waits for the
// operator, and is not requested again. The next right answer ends it.
func TestAnswerOfAnotherRefundWaitsForTheOperator(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		first.Fails(harness.TellsOther)
		claim := d.Live.Post(t, "/payments/"+id+"/refund", `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		for range 3 {
			d.Clock.Advance(2 * time.Hour)
			_, err := d.App.Claims.Sweep(ctx)
			harness.Must(t, err)
		}
		if got := harness.ClaimStatus(t, d.Live, claim); got != "pending" {
			t.Errorf("the refund is %s, want pending", got)
		}
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if len(open) != 1 || open[0].Payment != id || !strings.Contains(string(open[0].Body), "50.00 BRL went back, not 54.00 BRL") {
			t.Errorf("%d notifications wait for the operator, want the one of this payment: %+v", len(open), open)
		}
		if got := harness.Warnings(t, d.Live); got != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q, want an unmatched confirmation of 10", got)
		}
		first.Fails(nil)
		harness.Eventually(t, "the refund is approved", func() bool {
			d.Clock.Advance(2 * time.Hour)
			_, err := d.App.Claims.Sweep(ctx)
			harness.Must(t, err)
			return harness.ClaimStatus(t, d.Live, claim) == "approved"
		})
		back := first.Charges()
		if ours := strings.TrimPrefix(claim, "CLM-") + "-1"; len(back) != 2 || back[ours] != "54 BRL paid" {
			t.Errorf("the provider has %v, want the charge and the refund %s", back, ours)
		}
	})
}

// If no right answer comes, the operator resolves the refund by force, as the provider's books say.
func TestOperatorEndsARefundOfAnotherAmount(t *testing.T) {
	for _, word := range []pay.ClaimVerb{pay.Approve, pay.Reject} {
		t.Run(string(word), func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				d.Pay(t, 1, 1)
				first.Fails(harness.TellsOther)
				claim := d.Live.Post(t, "/payments/"+d.IDs[0]+"/refund", `{}`).Want(t, http.StatusOK).Text(t, "refundId")
				d.Clock.Advance(time.Minute)
				says := claims.Resolution{ID: claim, Word: word, Note: "the provider's report of today"}
				if _, err := d.App.Claims.Resolve(ctx, d.App.Self(), says); err == nil {
					t.Error("without force the operator can contradict the provider")
				}
				says.Force = true
				ended, err := ruleClaim(d, says)
				harness.Must(t, err)
				if got := harness.ClaimStatus(t, d.Live, claim); got != string(ended.Status) || !ended.Status.Terminal() || (word == pay.Approve) != (got == "approved") {
					t.Errorf("the operator's word is %s, but the refund is %s, and the API shows %s", word, ended.Status, got)
				}
				if _, err := harness.DecideClaim(d.App, claim, pay.Approve, "again"); err == nil {
					t.Error("the refund was resolved twice")
				}
			})
		})
	}
}

// The operator rejects a refund. The query for that says that the provider refunded another amount.
// The rejection is refused without force.
func TestOperatorRejectsNothingThatWentBackAsAnotherAmount(t *testing.T) {
	s := newStage(t)
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
	b.OnQuery = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Approved, Local: money.New(2550, "USD")} }
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Unknown} }
	a := s.node(t, b)
	r := refunded(t, a)
	s.clock.Advance(time.Minute)
	if c, err := harness.DecideClaim(a, r.ID, pay.Reject, "not in their books"); err == nil {
		t.Errorf("the provider has just answered that 25.50 went back, but without force the claim is %s", c.Status)
	}
}
