package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// A payment of which another amount was paid says so to the merchant, in the API and by
// an event, once for each amount, until the operator has dealt with all of it.
func TestAnotherAmountNeedsAttention(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		hook := s.receive(t)
		secret := o.subscribe(t, hook.URL, `"payment.attention"`).text(t, "secret")
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		if got := o.get(t, "/payments/"+id).text(t, "attention"); got != "<nil>" {
			t.Fatalf("before anything came it needs attention: %s", got)
		}
		for _, amount := range []string{"183", "183", "184"} { // the second one tells the same
			s.notify(t, "sandbox-1", note(id, `"status":"paid","amount":"`+amount+`","currency":"MXN"`)).want(t, http.StatusOK)
		}
		r := o.get(t, "/payments/"+id)
		if got := r.text(t, "status") + " " + r.text(t, "attention.code") + " " + r.text(t, "attention.amountLocal") + " " + r.text(t, "attention.currencyLocal") +
			" " + r.text(t, "attention.claimId"); got != "pending amount_mismatch 183 MXN <nil>" {
			t.Errorf("the payment says %s", got)
		}
		told := hook.about(t, id, 2)
		told[0].verify(t, s, secret)
		if told[0].text("data.object.attention.amountLocal") != "183" || told[0].text("data.object.status") != "pending" {
			t.Errorf("payment.attention tells %s", told[0].body)
		}
		open, err := s.App.Notices.Notifications(ctx, "", 10)
		must(t, err)
		if len(open) != 3 {
			t.Fatalf("%d notifications wait for the operator, want 3", len(open))
		}
		for i, n := range open {
			if o.get(t, "/payments/"+id).text(t, "attention") == "<nil>" {
				t.Errorf("with %d of 3 dealt with it needs no attention", i)
			}
			must(t, s.App.Notices.CloseNotification(ctx, n.ID, "given back at the provider"))
		}
		if got := o.get(t, "/payments/"+id).text(t, "attention"); got != "<nil>" {
			t.Errorf("the operator has dealt with everything, and it needs attention: %s", got)
		}
		if told := hook.about(t, id, 3); told[2].text("data.object.attention") != "<nil>" {
			t.Errorf("that it is dealt with is told as %s", told[2].body)
		}
	})
}

// Late money needs attention until its inquiry ends.
func TestLateMoneyNeedsAttentionUntilItsInquiryEnds(t *testing.T) {
	for word, end := range map[pay.ClaimVerb]string{pay.Approve: "given back", pay.Reject: "accepted"} {
		t.Run(end, func(t *testing.T) {
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				first.Next("open")
				d.pay(t, 1, 1)
				id := d.ids[0]
				d.clock.advance(d.expires(t, id).Sub(d.clock.now()))
				d.pass(t, time.Minute)
				d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`)
				r := d.live.get(t, "/payments/"+id)
				claim := r.text(t, "attention.claimId")
				if r.text(t, "attention.code") != "late_payment" || r.text(t, "attention.amountLocal") != r.text(t, "amountLocal") {
					t.Errorf("the payment says %s", r)
				}
				_, err := d.App.Claims.RuleClaim(ctx, claim, word, "as the shop wishes")
				must(t, err)
				if r := d.live.get(t, "/payments/"+id); r.text(t, "attention") != "<nil>" {
					t.Errorf("its money is %s: %s", end, r)
				}
				d.clean(t)
			})
		})
	}
}
