package payouts

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// The automatic payout of a settlement waits for the end of a pause.
func TestPauseHoldsAutomaticPayouts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		b, u := harness.NewPayer(), providertest.NewUpstream(t, "key-1")
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.Adapters, c.WalletCoolDown = []provider.Adapter{providertest.Plain(), b.Adapter()}, time.Millisecond
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		})
		s.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-1"})
		s.OpenAccount(t, "acme-1", u)
		s.Rate(t, "MXN 18.35", "BRL 5.4")
		o := s.NewShop(t).Production()
		v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
		o.Wallet(t)
		_, err := s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Schedule = pay.PayoutsAutomatic })
		harness.Must(t, err)
		id := o.Create(t, strings.Replace(o.PixOrder(t), `"amount":10,`, `"amount":100,`, 1))
		s.TellUpstream(t, u, id, 1, "paid", "acme-1-hush").Want(t, http.StatusOK)
		_, err = s.App.Onboarding.Pause(ctx, carla, o.Merchant.ID, "We wait for your papers")
		harness.Must(t, err)
		until := func(what, path, want string) {
			t.Helper()
			harness.Eventually(t, what, func() bool {
				s.Clock.Advance(6 * time.Hour)
				s.Work(t)
				_, err := s.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
				got, _ := o.Get(t, path).At(t, "data.0.payoutReason")
				status, _ := o.Get(t, path).At(t, "data.0.status")
				return fmt.Sprint(status, " ", got) == want
			})
		}
		until("the payout waits for the end of the pause", "/settlements?status=closed", "closed merchant_paused")
		_, err = s.App.Onboarding.Resume(ctx, carla, o.Merchant.ID, appmerchants.AnyReason)
		harness.Must(t, err)
		until("the settlement is paid out", "/settlements?status=paid", "paid <nil>")
	})
}
