package access

import (
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"net/http"
	"testing"
)

func TestRotationKeepsWhatIsUnderWay(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1", "key-2")
		o := s.NewShop(t)
		live := o.Production()
		s.OpenAccount(t, "bank", u)
		before, after := live.Create(t, o.PixOrder(t)), live.Create(t, o.PixOrder(t))
		asked, release := u.Hold()
		held := make(chan harness.Reply)
		order := o.PixOrder(t)
		go func() { held <- live.Post(t, "/payments", order) }()
		harness.Soon(t, "the provider to be asked", asked)
		_, err := s.App.Accounts.Rotate(ctx, s.App.Self(), "bank", map[string]string{"apiKey": "key-2", "webhookSecret": "bank-new"})
		harness.Must(t, err)
		_, err = s.App.Accounts.Rotate(ctx, s.App.Self(), "bank", map[string]string{"merchantNumber": "77"}) // key-1's grace goes on after a second rotation
		harness.Must(t, err)
		release()
		during := harness.Soon(t, "the payment to be answered", held).Want(t, http.StatusCreated).Text(t, "transactionId")
		u.Revoke("key-1")
		s.TellUpstream(t, u, before, 1, "paid", "bank-hush").Is(t, http.StatusOK, `{"ok":true}`)
		s.TellUpstream(t, u, during, 1, "paid", "bank-new").Is(t, http.StatusOK, `{"ok":true}`)
		kept := func() bool {
			harness.Must(t, s.App.Accounts.ForgetCredentials(ctx))
			a, err := s.App.Providers.ProviderAccount(ctx, "bank")
			harness.Must(t, err)
			return len(a.Before) > 0
		}
		if !kept() {
			t.Error("the old credentials were deleted during their grace")
		}
		s.TellUpstream(t, u, after, 1, "paid", "bank-other").Refused(t, "401 invalid_token authentication_error")
		s.Clock.Advance(accounts.Grace)
		if kept() {
			t.Error("the old credentials are kept after their grace")
		}
		s.TellUpstream(t, u, after, 1, "paid", "bank-hush").Refused(t, "401 invalid_token authentication_error")
		s.TellUpstream(t, u, after, 1, "paid", "bank-new").Is(t, http.StatusOK, `{"ok":true}`)
		for _, id := range []string{before, during, after} {
			if got := live.Status(t, id); got != "completed" {
				t.Errorf("%s is %s, want completed", id, got)
			}
		}
		if id := live.Create(t, o.PixOrder(t)); live.Status(t, id) != "pending" {
			t.Errorf("a payment with the new key is not pending")
		}
	})
}
