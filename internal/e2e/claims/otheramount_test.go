package claims

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// A provider answers that the amount that was paid differs from the payment's: that is neither
// the payment nor nothing, and is the operator's to look at.
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
			t.Errorf("the payment is %s, want processing, and nobody else to be asked", got)
		}
		if got := harness.Warnings(t, d.Live); got != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q", got)
		}
		story, err := d.App.Story(ctx, id)
		harness.Must(t, err)
		if strings.Count(story, "mismatched acme-1/answer/"+strings.TrimPrefix(id, "TXN-")+"-1 50.00 BRL") != 1 {
			t.Errorf("the story tells it otherwise than once:\n%s", story)
		}
		d.Clock.Advance(31 * 24 * time.Hour)
		d.Sweep(t, "the payment has ended", func() bool { return d.Live.Status(t, id) == "failed" })
		if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "failure.code") != "amount_mismatch" {
			t.Errorf("it failed otherwise: %s", r)
		}
		if got := harness.Warnings(t, d.Live); got != "unmatched_confirmation 10" {
			t.Errorf("after its end the balance warns of %q", got)
		}
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if len(open) != 1 || open[0].Payment != id || !strings.Contains(string(open[0].Body), "50.00 BRL were paid, not 54.00 BRL") {
			t.Fatalf("%d wait for the operator: %+v", len(open), open)
		}
		harness.Must(t, d.App.Notices.CloseNotification(ctx, open[0].ID, "given back at the provider"))
		if err := d.App.Notices.CloseNotification(ctx, open[0].ID, "again"); err == nil {
			t.Error("it was closed twice")
		}
		if got := harness.Warnings(t, d.Live); got != "" {
			t.Errorf("once it is closed the balance warns of %q", got)
		}
		if told, err := d.App.Notices.Notifications(ctx, id, 10); err != nil || len(told) != 2 || string(told[1].Body) != "given back at the provider" {
			t.Errorf("of the payment it is kept that %+v, %v", told, err)
		}
	})
}

// So does a refund of which a provider answers that another amount went back: it is
// not done, and not asked for again. The next right answer ends it.
func TestAnswerOfAnotherRefundWaitsForTheOperator(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		first.Fails(harness.TellsOther)
		claim := d.Live.Post(t, "/payments/"+id+"/refund", `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		for range 3 {
			d.Clock.Advance(2 * time.Hour)
			_, err := d.App.Claims.SweepClaims(ctx)
			harness.Must(t, err)
		}
		if got := harness.ClaimStatus(t, d.Live, claim); got != "pending" {
			t.Errorf("the refund is %s, want pending", got)
		}
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if len(open) != 1 || open[0].Payment != id || !strings.Contains(string(open[0].Body), "50.00 BRL went back, not 54.00 BRL") {
			t.Errorf("%d wait for the operator: %+v", len(open), open)
		}
		if got := harness.Warnings(t, d.Live); got != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q", got)
		}
		first.Fails(nil)
		harness.Eventually(t, "the refund is done", func() bool {
			d.Clock.Advance(2 * time.Hour)
			_, err := d.App.Claims.SweepClaims(ctx)
			harness.Must(t, err)
			return harness.ClaimStatus(t, d.Live, claim) == "approved"
		})
		back := first.Charges()
		if ours := strings.TrimPrefix(claim, "CLM-") + "-1"; len(back) != 2 || back[ours] != "54 BRL paid" {
			t.Errorf("the provider has %v, want the charge and the refund %s", back, ours)
		}
	})
}

// Where no right answer ever comes, the operator ends the refund as the provider's
// books say.
func TestOperatorEndsARefundOfAnotherAmount(t *testing.T) {
	for _, word := range []pay.ClaimVerb{pay.Approve, pay.Reject} {
		t.Run(string(word), func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				d.Pay(t, 1, 1)
				first.Fails(harness.TellsOther)
				claim := d.Live.Post(t, "/payments/"+d.IDs[0]+"/refund", `{}`).Want(t, http.StatusOK).Text(t, "refundId")
				d.Clock.Advance(time.Minute)
				says := claims.RuledClaim{ID: claim, Word: word, Note: "the provider's report of today"}
				if _, err := d.App.Claims.RuleClaimAs(ctx, d.App.Self(), says); err == nil {
					t.Error("the operator is not told that the provider says otherwise")
				}
				says.Force = true
				ended, err := ruleClaim(d, says)
				harness.Must(t, err)
				if got := harness.ClaimStatus(t, d.Live, claim); got != string(ended.Status) || !ended.Status.Terminal() || (word == pay.Approve) != (got == "approved") {
					t.Errorf("the operator's word is %s, the refund is %s and shown as %s", word, ended.Status, got)
				}
				if _, err := d.App.Claims.RuleClaim(ctx, claim, pay.Approve, "again"); err == nil {
					t.Error("it was ended twice")
				}
			})
		})
	}
}

// Asked for the operator who rejects a refund, the provider answers that another amount
// went back.
func TestOperatorRejectsNothingThatWentBackAsAnotherAmount(t *testing.T) {
	database := dbtest.SQLite(t)
	clock, log := &harness.Clock{}, &harness.Faults{}
	clock.Freeze()
	b := &harness.Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
	b.OnQuery = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Approved, Local: money.New(2550, "USD")} }
	b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Unknown} }
	a := harness.Node(t, database, clock, b, log)
	scope, payment := harness.PaidCard(t, a)
	r, _, err := a.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
	harness.Must(t, err)
	clock.Advance(time.Minute)
	if c, err := a.Claims.RuleClaim(ctx, r.ID, pay.Reject, "not in their books"); err == nil {
		t.Errorf("the provider has just answered that 25.50 went back, and by the operator's word, without force, the claim is %s", c.Status)
	}
}
