package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
)

// The primary is killed, or it hangs and comes back and does not know that its standby was
// promoted. The service moves to the new primary by itself. Every acknowledged payment exists
// once, and the service neither reads from the old primary nor writes to it.
func TestServiceFollowsThePrimary(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(old *dbtest.Server){
		"killed": func(old *dbtest.Server) { old.Kill() },
		"frozen": func(old *dbtest.Server) { old.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := dbtest.Alone(t)
			standby := old.Standby()
			old.WaitFor("*")
			s := harness.Start(t, dbtest.Address(old, standby), &harness.Clock{})
			o := s.NewShop(t)
			o.Post(t, "/payments", harness.Card).Want(t, http.StatusCreated)

			const clients = 4
			var (
				all    sync.WaitGroup
				enough atomic.Bool
				mu     sync.Mutex // guards ids
				ids    = map[string]string{}
				told   atomic.Int64
			)
			for c := range clients {
				all.Go(func() {
					for i := 0; !enough.Load(); i++ {
						key := fmt.Sprintf("%d-%d", c, i)
						harness.Eventually(t, "payment "+key+" is accepted", func() bool {
							r := o.Post(t, "/payments", harness.Card, "Idempotency-Key: "+key)
							switch r.Status {
							case http.StatusCreated:
							case http.StatusServiceUnavailable, http.StatusConflict:
								return false
							default:
								t.Errorf("while the database is down, a payment is answered %s", r)
								return true
							}
							mu.Lock()
							defer mu.Unlock()
							ids[key] = r.Text(t, "transactionId")
							told.Add(1)
							return true
						})
					}
				})
			}
			more := func(what string, n int64) {
				from := told.Load()
				harness.Eventually(t, what, func() bool { return told.Load() >= from+n })
			}
			more("50 payments are accepted", 50)
			fail(old)
			standby.Promote()
			more("50 payments are accepted at the new primary", 50)
			if name == "frozen" {
				old.Thaw()
				more("100 payments are accepted while the old primary is back", 100)
			}
			enough.Store(true)
			all.Wait()
			for key, id := range ids {
				if r := o.Get(t, "/payments/"+id); r.Status != http.StatusOK {
					t.Errorf("payment %s was acknowledged, but reading it returns %s", key, r)
				}
				if r := o.Post(t, "/payments", harness.Card, "Idempotency-Key: "+key); r.Text(t, "transactionId") != id {
					t.Errorf("payment %s was %s, but repeating it returns %s", key, id, r)
				}
			}
			if got := o.Get(t, "/payments?limit=1").Text(t, "pagination.total"); got != fmt.Sprint(len(ids)+1) {
				t.Errorf("there are %s payments, want %d: one for each key and the first one", got, len(ids)+1)
			}
			s.Clean(t)
			s.Log.Forget() // errors while the database was down
		})
	}
}

// The database hangs after the provider was called, so the outcome is not written. The node itself
// finishes the payment when the database is back: nobody waits for the sweep.
func TestNodeFinishesWhatTheDatabaseInterrupted(t *testing.T) {
	t.Parallel()
	database, clock := dbtest.Alone(t), &harness.Clock{}
	approved := func(context.Context, provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Approved} }
	p := &harness.Till{Provider: sandbox.New("sandbox-1", nil), OnQuery: approved}
	p.OnCharge = func(ctx context.Context, r provider.Request) pay.Outcome {
		database.Freeze()
		return approved(ctx, r)
	}
	a := harness.NodeAt(t, dbtest.Address(database), clock, clock.Now, p, &harness.Faults{}) // its loops do not run
	o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Standard})
	harness.Must(t, err)
	who, err := a.Access.Authenticate(ctx, base.Principal{}, o.Sandbox.Secret)
	harness.Must(t, err)
	create := func() (pay.Payment, error) {
		made, _, err := a.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card",
			Idempotency: base.Idempotency{Route: "POST /payments", Key: "key", Hash: "hash"}})
		return made, err
	}
	_, err = create()
	if shown, ok := errors.AsType[*problem.Error](err); !ok || shown.Details.Reason != store.OutcomeUnknown || shown.Details.TransactionID == "" {
		t.Fatalf("the outcome could not be written; the caller gets %v, want reason %s and a transaction id", err, store.OutcomeUnknown)
	}
	database.Thaw()
	harness.Eventually(t, "a repeated request returns the completed payment", func() bool {
		made, err := create()
		return err == nil && made.Status == pay.Completed
	})
}
