package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// tellsOther does what was asked for, and says that it was of 50 BRL.
func tellsOther(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	_, _ = io.WriteString(w, `{"status":"paid","amount":"50","currency":"BRL"}`)
}

// A provider answers that the amount that was paid differs from the payment's: that is neither
// the payment nor nothing, and is the operator's to look at.
func TestAnswerOfAnotherAmountWaitsForTheOperator(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.fails(tellsOther)
		d.pay(t, 1, 1)
		id := d.ids[0]
		for range 3 {
			d.pass(t, 6*time.Minute)
		}
		if got := d.live.status(t, id); got != "processing" || d.lines["acme-2"].charges.Load() != 0 {
			t.Errorf("the payment is %s, want processing, and nobody else to be asked", got)
		}
		if got := d.live.warnings(t); got != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q", got)
		}
		story, err := d.App.Story(ctx, id)
		must(t, err)
		if strings.Count(story, "mismatched acme-1/answer/"+strings.TrimPrefix(id, "TXN-")+"-1 50.00 BRL") != 1 {
			t.Errorf("the story tells it otherwise than once:\n%s", story)
		}
		d.clock.advance(31 * 24 * time.Hour)
		d.sweep(t, "the payment has ended", func() bool { return d.live.status(t, id) == "failed" })
		if r := d.live.get(t, "/payments/"+id); r.text(t, "failure.code") != "amount_mismatch" {
			t.Errorf("it failed otherwise: %s", r)
		}
		if got := d.live.warnings(t); got != "unmatched_confirmation 10" {
			t.Errorf("after its end the balance warns of %q", got)
		}
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		must(t, err)
		if len(open) != 1 || open[0].Payment != id || !strings.Contains(string(open[0].Body), "50.00 BRL were paid, not 54.00 BRL") {
			t.Fatalf("%d wait for the operator: %+v", len(open), open)
		}
		must(t, d.App.Notices.CloseNotification(ctx, open[0].ID, "given back at the provider"))
		if err := d.App.Notices.CloseNotification(ctx, open[0].ID, "again"); err == nil {
			t.Error("it was closed twice")
		}
		if got := d.live.warnings(t); got != "" {
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
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		d.pay(t, 1, 1)
		id := d.ids[0]
		first.fails(tellsOther)
		claim := d.live.post(t, "/payments/"+id+"/refund", `{}`).want(t, http.StatusOK).text(t, "refundId")
		for range 3 {
			d.clock.advance(2 * time.Hour)
			_, err := d.App.Claims.SweepClaims(ctx)
			must(t, err)
		}
		if got := d.live.claimStatus(t, claim); got != "pending" {
			t.Errorf("the refund is %s, want pending", got)
		}
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		must(t, err)
		if len(open) != 1 || open[0].Payment != id || !strings.Contains(string(open[0].Body), "50.00 BRL went back, not 54.00 BRL") {
			t.Errorf("%d wait for the operator: %+v", len(open), open)
		}
		if got := d.live.warnings(t); got != "unmatched_confirmation 10" {
			t.Errorf("the balance warns of %q", got)
		}
		first.fails(nil)
		eventually(t, "the refund is done", func() bool {
			d.clock.advance(2 * time.Hour)
			_, err := d.App.Claims.SweepClaims(ctx)
			must(t, err)
			return d.live.claimStatus(t, claim) == "approved"
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
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				d.pay(t, 1, 1)
				first.fails(tellsOther)
				claim := d.live.post(t, "/payments/"+d.ids[0]+"/refund", `{}`).want(t, http.StatusOK).text(t, "refundId")
				d.clock.advance(time.Minute)
				says := claims.RuledClaim{ID: claim, Word: word, Note: "the provider's report of today"}
				if _, err := d.App.Claims.RuleClaimAs(ctx, d.App.Self(), says); err == nil {
					t.Error("the operator is not told that the provider says otherwise")
				}
				says.Force = true
				ended, err := d.ruleClaim(says)
				must(t, err)
				if got := d.live.claimStatus(t, claim); got != string(ended.Status) || !ended.Status.Terminal() || (word == pay.Approve) != (got == "approved") {
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
	clock, log := &clock{}, &faults{}
	clock.freeze()
	b := &bank{Provider: sandbox.New("sandbox-1", nil), paid: map[string]int64{}}
	b.query = func(bool) pay.Outcome { return pay.Outcome{Kind: pay.Approved, Local: money.New(2550, "USD")} }
	b.answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Unknown} }
	a := node(t, database, clock, b, log)
	scope, payment := paidCard(t, a)
	r, _, err := a.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
	must(t, err)
	clock.advance(time.Minute)
	if c, err := a.Claims.RuleClaim(ctx, r.ID, pay.Reject, "not in their books"); err == nil {
		t.Errorf("the provider has just answered that 25.50 went back, and by the operator's word, without force, the claim is %s", c.Status)
	}
}
