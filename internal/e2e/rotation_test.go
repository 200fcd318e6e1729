package e2e

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestRotationKeepsWhatIsUnderWay(t *testing.T) {
	plainly(t, func(t *testing.T, s *service) {
		u := providertest.NewUpstream(t, "key-1", "key-2")
		o := s.shop(t)
		live := o.live()
		s.account(t, "bank", u)
		before, after := live.create(t, o.pix(t)), live.create(t, o.pix(t))
		asked, release := u.Hold()
		held := make(chan reply)
		order := o.pix(t)
		go func() { held <- live.post(t, "/payments", order) }()
		soon(t, "the provider to be asked", asked)
		_, err := s.App.Accounts.Rotate(ctx, s.App.Self(), "bank", map[string]string{"apiKey": "key-2", "webhookSecret": "bank-new"})
		must(t, err)
		_, err = s.App.Accounts.Rotate(ctx, s.App.Self(), "bank", map[string]string{"merchantNumber": "77"}) // the one before it still counts
		must(t, err)
		release()
		during := soon(t, "the payment to be answered", held).want(t, http.StatusCreated).text(t, "transactionId")
		u.Revoke("key-1")
		s.told(t, u, before, 1, "paid", "bank-hush").is(t, http.StatusOK, `{"ok":true}`)
		s.told(t, u, during, 1, "paid", "bank-new").is(t, http.StatusOK, `{"ok":true}`)
		kept := func() bool {
			must(t, s.App.Accounts.ForgetCredentials(ctx))
			a, err := s.App.Providers.ProviderAccount(ctx, "bank")
			must(t, err)
			return len(a.Before) > 0
		}
		if !kept() {
			t.Error("the credentials of before were forgotten while they count")
		}
		s.told(t, u, after, 1, "paid", "bank-other").refused(t, "401 invalid_token authentication_error")
		s.clock.advance(acquirer.AccountGrace)
		if kept() {
			t.Error("the credentials of before are kept though they count no more")
		}
		s.told(t, u, after, 1, "paid", "bank-hush").refused(t, "401 invalid_token authentication_error")
		s.told(t, u, after, 1, "paid", "bank-new").is(t, http.StatusOK, `{"ok":true}`)
		for _, id := range []string{before, during, after} {
			if got := live.status(t, id); got != "completed" {
				t.Errorf("%s is %s, want completed", id, got)
			}
		}
		if id := live.create(t, o.pix(t)); live.status(t, id) != "pending" {
			t.Errorf("the new key takes no payment")
		}
	})
}
