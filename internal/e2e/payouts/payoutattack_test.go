package payouts

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// twoBanks returns the client of a merchant with two bank-file accounts: banco pays up to 60 USD,
// banco2 the rest. The wallet is active and 1,000 USD are available.
func twoBanks(t *testing.T, database string, configure ...func(*daemon.Config)) harness.Client {
	t.Helper()
	s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
		c.WalletCoolDown = time.Millisecond
		for _, f := range configure {
			f(c)
		}
	})
	s.Rate(t, "MXN 18.35", "BRL 5.4")
	csv := map[string]string{"layout": "csv"}
	s.PayOutBy(t, "bank-file", appaccounts.NewAccount{ID: "banco", Credentials: csv, Terms: []accounts.RailTerms{{Limits: []accounts.Limit{{Currency: "USD", Min: 1, Max: 60_00}}}}})
	s.PayOutBy(t, "bank-file", appaccounts.NewAccount{ID: "banco2", Credentials: csv, Priority: 9})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	s.Clock.Advance(time.Second)
	return o
}

// After a rotation of the master key, holders and batches can be read without the old key.
func TestHoldersAndFilesSurviveAMasterKey(t *testing.T) {
	t.Parallel()
	database, c := dbtest.SQLite(t), &harness.Clock{}
	keys := func(seeds ...byte) func(*daemon.Config) {
		var list []string
		for _, seed := range seeds {
			list = append(list, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32)))
		}
		return func(c *daemon.Config) { c.MasterKey, c.WalletCoolDown = strings.Join(list, "\n"), time.Millisecond }
	}
	s := harness.StartWith(t, database, c, keys(1))
	s.End(t)
	s = harness.StartWith(t, database, c, keys(1, 2))
	s.Rate(t, "MXN 18.35")
	s.PayOutBy(t, "bank-file", appaccounts.NewAccount{ID: "banco", Credentials: map[string]string{"layout": "csv"}})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	c.Advance(time.Second)
	first := o.Withdraw(t, "50")
	c.Advance(pay.WithdrawalHold(true))
	o.PayOut(t, first, "processing")
	made, err := s.App.Batches.Make(ctx, carla, "banco")
	harness.Must(t, err)
	harness.Must(t, s.App.Secrets.RotateMasterKey(ctx, s.App.Self()))
	_, err = s.App.Secrets.Reencrypt(ctx)
	harness.Must(t, err)
	n, err := s.App.Secrets.Reencrypt(ctx)
	harness.Must(t, err)
	_, _, sealed, err := s.App.Secrets.MasterKeys(ctx)
	harness.Must(t, err)
	t.Logf("a second run encrypted %d secrets; secrets under each key: %v", n, sealed)
	s.End(t)
	s = harness.StartWith(t, database, c, keys(2)) // without the old key
	o.Instance = s
	if _, err := s.App.Batches.Approve(ctx, bruno, made[0].ID); err != nil {
		t.Error(err)
	}
	if _, _, err := s.App.Batches.Export(ctx, bruno, made[0].ID); err != nil {
		t.Errorf("the approved file cannot be exported: %v", err)
	}
	second := o.Withdraw(t, "60")
	c.Advance(pay.WithdrawalHold(true))
	for range 5 {
		_, err = s.App.Payouts.PayOut(ctx)
		harness.Must(t, err)
		c.Advance(2 * time.Minute)
	}
	if r := o.Get(t, "/withdrawals/"+second); r.Text(t, "status") != "processing" {
		t.Errorf("a withdrawal to a wallet with a holder is %s, want processing", r)
	}
}

// Two operators make batches while the merchant deletes the wallet: one writes the file, and the other
// one gives the money back. The file with that line must not be exported.
func TestWhatIsGivenBackIsInNoFile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		var hook atomic.Pointer[func(string)]
		o := twoBanks(t, database, func(c *daemon.Config) {
			now := c.Now
			c.Now = func() time.Time {
				if f := hook.Load(); f != nil {
					if harness.CalledBy(".makeBatch") {
						(*f)("make")
					} else if harness.CalledBy(".(*Batches).Make") && harness.CalledBy(".turnAway") {
						(*f)("resolve")
					}
				}
				return now()
			}
		})
		w := o.Get(t, "/wallets").Text(t, "data.0.id")
		id := o.Withdraw(t, "50")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		committed, reached, second := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		var once, once2 sync.Once
		f := func(at string) {
			switch at {
			case "make":
				once.Do(func() {
					o.Delete(t, "/wallets/"+w).Want(t, http.StatusOK)
					go func() {
						_, err := o.App.Batches.Make(ctx, bruno, "banco")
						second <- err
					}()
					harness.Soon(t, "the call that the test holds to begin", reached)
				})
			case "resolve":
				once2.Do(func() { close(reached); <-committed })
			}
		}
		hook.Store(&f)
		made, err := o.App.Batches.Make(ctx, carla, "banco")
		harness.Must(t, err)
		close(committed)
		harness.Must(t, <-second)
		hook.Store(nil)
		if len(made) != 1 {
			t.Fatalf("%d batches were made, want 1", len(made))
		}
		if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != "processing" {
			t.Errorf("a withdrawal in a batch was given back: %s", r)
		}
		_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
		harness.Must(t, err)
		var refused *problem.Error
		if file, _, err := o.App.Batches.Export(ctx, bruno, made[0].ID); !errors.As(err, &refused) || refused.Code != problem.ConflictState {
			t.Errorf("the wallet was deleted, and the export gets %v, want conflict_state: %s\n%s", err, o.Get(t, "/withdrawals/"+id), file)
		}
	})
}

// A provider's ids may be long: an id that cannot be stored is left out, and the payout goes on.
func TestLongIDsOfAPayoutProvider(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2_000, 3_000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
				long := random(n)
				b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
					out := b.Pay(r)
					out.ProviderRef = long
					return out
				}, nil)
				id := o.Withdraw(t, "100")
				o.Clock.Advance(pay.WithdrawalHold(true))
				for range 3 {
					_, err := o.App.Payouts.PayOut(ctx)
					harness.Must(t, err)
					o.Clock.Advance(10 * time.Minute)
				}
				if got := o.Get(t, "/withdrawals/"+id).Text(t, "status"); got != "completed" {
					t.Errorf("the bank paid under an id of %d characters, and the withdrawal is %s", n, got)
				}
				if got := bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "return:" + long, Reference: id[len(pay.WithdrawalPrefix):],
					Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned}}); got != http.StatusOK {
					t.Errorf("a return whose notice has an id of %d characters gets %d", n, got)
				}
			})
		})
	}
}

func random(n int) string {
	var b strings.Builder
	x := uint32(12345)
	for b.Len() < n {
		x = x*1664525 + 1013904223
		fmt.Fprintf(&b, "%08x", x)
	}
	return b.String()[:n]
}
