package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// tellsOther does what was asked for, and says that it was of 50 BRL.
func tellsOther(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	_, _ = io.WriteString(w, `{"status":"paid","amount":"50","currency":"BRL"}`)
}

// A provider answers that another amount was paid than was asked for: that is neither
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
		open, err := d.App.Notifications(ctx, "", 10)
		must(t, err)
		if len(open) != 1 || open[0].Payment != id || !strings.Contains(string(open[0].Body), "50.00 BRL were paid, not 54.00 BRL") {
			t.Fatalf("%d wait for the operator: %+v", len(open), open)
		}
		must(t, d.App.CloseNotification(ctx, open[0].ID, "given back at the provider"))
		if err := d.App.CloseNotification(ctx, open[0].ID, "again"); err == nil {
			t.Error("it was closed twice")
		}
		if got := d.live.warnings(t); got != "" {
			t.Errorf("once it is closed the balance warns of %q", got)
		}
		if told, err := d.App.Notifications(ctx, id, 10); err != nil || len(told) != 2 || string(told[1].Body) != "given back at the provider" {
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
			_, err := d.App.SweepClaims(ctx)
			must(t, err)
		}
		if got := d.live.claimStatus(t, claim); got != "pending" {
			t.Errorf("the refund is %s, want pending", got)
		}
		open, err := d.App.Notifications(ctx, "", 10)
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
			_, err := d.App.SweepClaims(ctx)
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
				ended, err := d.App.RuleClaim(ctx, claim, word, "the provider's report of today")
				must(t, err)
				if got := d.live.claimStatus(t, claim); got != string(ended.Status) || !ended.Status.Terminal() || (word == pay.Approve) != (got == "approved") {
					t.Errorf("the operator's word is %s, the refund is %s and shown as %s", word, ended.Status, got)
				}
				if _, err := d.App.RuleClaim(ctx, claim, pay.Approve, "again"); err == nil {
					t.Error("it was ended twice")
				}
			})
		})
	}
}
