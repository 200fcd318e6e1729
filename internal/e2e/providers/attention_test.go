package providers

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
)

// The shopper paid another amount than the payment's. The API and one event for each amount say
// so, until the operator has handled every notification.
func TestAnotherAmountNeedsAttention(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		hook := s.Receive(t)
		secret := o.Subscribe(t, hook.URL, `"payment.attention"`).Text(t, "secret")
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		if got := o.Get(t, "/payments/"+id).Text(t, "attention"); got != "<nil>" {
			t.Fatalf("before any notification, attention is %s, want null", got)
		}
		for _, amount := range []string{"183", "183", "184"} { // the second one repeats the first
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"paid","amount":"`+amount+`","currency":"MXN"`)).Want(t, http.StatusOK)
		}
		r := o.Get(t, "/payments/"+id)
		if got := r.Text(t, "status") + " " + r.Text(t, "attention.code") + " " + r.Text(t, "attention.amountLocal") + " " +
			r.Text(t, "attention.currencyLocal"); got != "pending amount_mismatch 183 MXN" {
			t.Errorf("the payment has %s", got)
		}
		told := hook.About(t, id, 2)
		told[0].Verify(t, s, secret)
		if told[0].Text("data.object.attention.amountLocal") != "183" || told[0].Text("data.object.status") != "pending" {
			t.Errorf("payment.attention has %s", told[0].Body)
		}
		if told[1].Text("data.object.attention.claimId") != r.Text(t, "attention.claimId") {
			t.Errorf("payment.attention has %s", told[1].Body)
		}
		for n := range 2 {
			claim := o.Get(t, "/payments/"+id).Text(t, "attention.claimId")
			if claim == "<nil>" {
				t.Fatalf("with %d of 2 amounts decided, the payment needs no attention", n)
			}
			_, err := harness.DecideClaim(s.App, claim, pay.Reject, "the shop accepts it")
			harness.Must(t, err)
		}
		if got := o.Get(t, "/payments/"+id).Text(t, "attention"); got != "<nil>" {
			t.Errorf("with all money decided, attention is %s, want null", got)
		}
	})
}

// An amount in another currency has no worth in the books: it waits as a notification that does not fit, until the operator
// has handled it.
func TestAnotherCurrencyNeedsAttention(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		hook := s.Receive(t)
		o.Subscribe(t, hook.URL, `"payment.attention"`)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for range 2 {
			s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"paid","amount":"10","currency":"USD"`)).Want(t, http.StatusOK)
		}
		r := o.Get(t, "/payments/"+id)
		if got := r.Text(t, "attention.code") + " " + r.Text(t, "attention.currencyLocal") + " " + r.Text(t, "attention.claimId"); got != "amount_mismatch USD <nil>" {
			t.Errorf("the payment has %s", got)
		}
		open, err := s.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if len(open) != 2 {
			t.Fatalf("%d notifications wait for the operator, want 2", len(open))
		}
		for i, n := range open {
			if o.Get(t, "/payments/"+id).Text(t, "attention") == "<nil>" {
				t.Errorf("with %d of 2 notifications handled, the payment needs no attention", i)
			}
			harness.Must(t, s.App.Notices.CloseNotification(ctx, s.App.Notices.Self(), n.ID, "given back at the provider"))
		}
		if told := hook.About(t, id, 2); told[1].Text("data.object.attention") != "<nil>" {
			t.Errorf("the event after the last notification was handled has attention: %s", told[1].Body)
		}
	})
}

// Late money needs attention until its inquiry ends.
func TestLateMoneyNeedsAttentionUntilItsInquiryEnds(t *testing.T) {
	for word, end := range map[pay.ClaimVerb]string{pay.Approve: "given back", pay.Reject: "accepted"} {
		t.Run(end, func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				first.Next("open")
				d.Pay(t, 1, 1)
				id := d.IDs[0]
				d.Clock.Advance(d.Expires(t, id).Sub(d.Clock.Now()))
				d.Pass(t, time.Minute)
				d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush").Is(t, http.StatusOK, `{"ok":true}`)
				r := d.Live.Get(t, "/payments/"+id)
				claim := r.Text(t, "attention.claimId")
				if r.Text(t, "attention.code") != "late_payment" || r.Text(t, "attention.amountLocal") != r.Text(t, "amountLocal") {
					t.Errorf("want attention of a late payment: %s", r)
				}
				_, err := harness.DecideClaim(d.App, claim, word, "as the shop wishes")
				harness.Must(t, err)
				if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "attention") != "<nil>" {
					t.Errorf("the money is %s, but the payment still needs attention: %s", end, r)
				}
				d.Clean(t)
			})
		})
	}
}
