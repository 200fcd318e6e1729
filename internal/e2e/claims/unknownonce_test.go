package claims

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	play "github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/verification"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// blind is a node whose database writes the first commit after armed, but reports its outcome as
// unknown.
type blind struct {
	*app.App
	who     base.Principal
	shop    appmerchants.Onboarded
	payment string // paid by card

	database string

	armed   bool
	commits []*pay.Change // written since armed was set
}

func newBlind(t *testing.T, database string) *blind {
	t.Helper()
	b := &blind{database: database}
	b.App = harness.NodeOf(t, database, &harness.Clock{}, &harness.Faults{}, func(c *app.Config) {
		c.Providers = map[string]provider.Provider{"sandbox-1": sandbox.New("sandbox-1", nil)}
		c.Sandbox, c.Adapters = []string{"sandbox-1"}, []provider.Adapter{providertest.Plain()}
		c.Client, c.SandboxPayout = provider.NewClient(), cashier{}
		c.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
			err := commit()
			if !b.armed || err != nil {
				return err
			}
			if b.commits = append(b.commits, change); len(b.commits) == 1 {
				return store.ErrUnknown
			}
			return nil
		}
	})
	var err error
	b.shop, err = b.Onboarding.CreateMerchant(ctx, b.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Standard, RefundFees: merchants.FeesReturned})
	harness.Must(t, err)
	b.who, err = b.Access.Authenticate(ctx, base.Principal{}, b.shop.Sandbox.Secret)
	harness.Must(t, err)
	p, _, err := b.Payments.Create(ctx, b.who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	harness.Must(t, err)
	b.payment = p.ID
	return b
}

// funded returns a withdrawal that the merchant's balance covers.
func (b *blind) funded(t *testing.T, n payouts.NewWallet) payouts.NewWithdrawal {
	t.Helper()
	fund(t, b.database, b.Vault, b.who.Scope, time.Now())
	w, err := b.Wallets.Add(ctx, b.who, b.who.Scope, n)
	harness.Must(t, err)
	return payouts.NewWithdrawal{Wallet: w.ID, Amount: money.New(50_00, money.USD)}
}

// If the outcome of a commit is unknown, the service does not decide again, and the caller gets
// store.ErrUnknown. This is true of every request.
func TestWhatNobodyKnowsIsNotDecidedAgain(t *testing.T) {
	wallet := payouts.NewWallet{Destination: destination.Destination{Type: "bank_account", Network: "spei", Currency: "MXN", Account: harness.CLABE, Masked: "…9719"}}
	subscribe := func(t *testing.T, b *blind) string {
		sub, err := b.Webhooks.Subscribe(ctx, b.who, b.who.Scope, appwebhooks.NewSubscription{URL: "https://shop.example/", Events: []string{webhooks.AllEvents}})
		harness.Must(t, err)
		return sub.ID
	}
	account := func(t *testing.T, b *blind) (string, appaccounts.NewAccount) {
		n := appaccounts.NewAccount{Adapter: "plain", ID: "bank", Live: true, BaseURL: providertest.NewUpstream(t, "key-1").URL,
			Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": "hush"}}
		return n.ID, n
	}
	added := func(t *testing.T, b *blind) string {
		id, n := account(t, b)
		_, err := b.Accounts.Add(ctx, ana, n)
		harness.Must(t, err)
		return id
	}
	for name, prepare := range map[string]func(t *testing.T, b *blind) (do func() error){
		"evidence": func(t *testing.T, b *blind) func() error {
			_, _, err := b.Sandbox.Simulate(ctx, b.who.Scope, b.payment, play.Chargeback, view.Cause{})
			harness.Must(t, err)
			list, _, err := b.Claims.List(ctx, b.who.Scope, lists.ClaimFilter{Page: lists.Page{Limit: 10}})
			harness.Must(t, err)
			return func() error {
				_, err := b.Claims.SubmitEvidence(ctx, b.who.Scope, list[0].ID, claims.NewEvidence{Kind: "receipt", Text: "here", By: b.who.Actor()})
				return err
			}
		},
		"a wallet": func(_ *testing.T, b *blind) func() error {
			return func() error { _, err := b.Wallets.Add(ctx, b.who, b.who.Scope, wallet); return err }
		},
		"the end of a wallet": func(t *testing.T, b *blind) func() error {
			w, err := b.Wallets.Add(ctx, b.who, b.who.Scope, wallet)
			harness.Must(t, err)
			return func() error { return b.Wallets.Delete(ctx, b.who.Actor(), b.who.Scope, w.ID) }
		},
		"a withdrawal": func(t *testing.T, b *blind) func() error {
			w := b.funded(t, wallet)
			return func() error { _, _, err := b.Payouts.Withdraw(ctx, b.who, b.who.Scope, w); return err }
		},
		"a withdrawal given up": func(t *testing.T, b *blind) func() error {
			w, _, err := b.Payouts.Withdraw(ctx, b.who, b.who.Scope, b.funded(t, wallet))
			harness.Must(t, err)
			return func() error { _, err := b.Payouts.CancelWithdrawal(ctx, b.who, b.who.Scope, w.ID); return err }
		},
		"routing rules": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, _, err := b.Rules.Apply(ctx, ana, routing.Rules{Order: routing.LeastCost})
				return err
			}
		},
		"a webhook": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, err := b.Webhooks.Subscribe(ctx, b.who, b.who.Scope, appwebhooks.NewSubscription{URL: "https://shop.example/", Events: []string{webhooks.AllEvents}})
				return err
			}
		},
		"another URL": func(t *testing.T, b *blind) func() error {
			id, url := subscribe(t, b), "https://shop.example/new"
			return func() error {
				_, err := b.Webhooks.EditSubscription(ctx, b.who, b.who.Scope, id, appwebhooks.SubscriptionEdit{SubscriptionEdit: webhooks.SubscriptionEdit{URL: &url}})
				return err
			}
		},
		"another secret": func(t *testing.T, b *blind) func() error {
			id := subscribe(t, b)
			return func() error { _, _, err := b.Webhooks.RotateSecret(ctx, b.who, b.who.Scope, id); return err }
		},
		"the end of a webhook": func(t *testing.T, b *blind) func() error {
			id := subscribe(t, b)
			return func() error { return b.Webhooks.Unsubscribe(ctx, b.who.Actor(), b.who.Scope, id) }
		},
		"a provider account": func(t *testing.T, b *blind) func() error {
			_, n := account(t, b)
			return func() error { _, err := b.Accounts.Add(ctx, ana, n); return err }
		},
		"an account's priority": func(t *testing.T, b *blind) func() error {
			id := added(t, b)
			return func() error {
				_, err := b.Accounts.Edit(ctx, ana, id, func(a accounts.Account) (accounts.Account, error) {
					a.Priority++
					return a, nil
				})
				return err
			}
		},
		"an account's credentials": func(t *testing.T, b *blind) func() error {
			id := added(t, b)
			return func() error {
				_, err := b.Accounts.Rotate(ctx, ana, id, map[string]string{"apiKey": "key-1", "webhookSecret": "new"})
				return err
			}
		},
		"an account that rests": func(t *testing.T, b *blind) func() error {
			id := added(t, b)
			return func() error { _, err := b.Accounts.Enable(ctx, ana, id, false); return err }
		},
		"a merchant's terms": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, err := b.Onboarding.Agree(ctx, ana, b.shop.Merchant.ID, appmerchants.Agreement{RefundFees: merchants.FeesKept})
				return err
			}
		},
		"a shop": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, err := b.Onboarding.CreateShop(ctx, b.Self(), b.shop.Merchant.ID, "Second")
				return err
			}
		},
		"a shop's colour": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, err := b.Onboarding.Rebrand(ctx, ana, b.shop.Shop.ID, func(x merchants.Brand) merchants.Brand { x.Color = "#1a2b3c"; return x }, nil)
				return err
			}
		},
		"a key": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, err := b.Keys.Create(ctx, b.Self(), auth.NewKey{Scope: b.who.Scope, Kind: merchants.Secret})
				return err
			}
		},
		"a key's end": func(_ *testing.T, b *blind) func() error {
			return func() error { _, err := b.Keys.RevokeRaw(ctx, b.Self(), b.shop.Live.Secret); return err }
		},
		"an operator": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, _, err := b.Operators.Add(ctx, ana, auth.Newcomer{Name: "bia", Role: operators.Admin})
				return err
			}
		},
		"a rate": func(t *testing.T, b *blind) func() error {
			rate, err := money.ParseRate("5.5")
			harness.Must(t, err)
			return func() error {
				_, err := b.Rates.SetRates(ctx, b.Rates.Self(), []rates.Reading{{Currency: money.BRL, Rate: rate, Source: "a test", At: time.Now()}}, true)
				return err
			}
		},
		"a checkout": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, _, _, err := b.Sessions.Create(ctx, b.who, payments.NewSession{Amount: money.New(25_50, money.USD),
					Customer: pay.Customer{FirstName: "Ana", LastName: "Souza", Email: "ana@example.com", Phone: "+5511999990000"}})
				return err
			}
		},
		"a verification": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, _, err := b.Verifications.Start(ctx, b.who, verification.NewVerification{Level: merchants.KYCBasic, Subject: merchants.Company})
				return err
			}
		},
		"the clock": func(_ *testing.T, b *blind) func() error {
			return func() error { _, _, err := b.Sandbox.MoveClock(ctx, b.who, time.Hour); return err }
		},
		"a login": func(_ *testing.T, b *blind) func() error {
			return func() error {
				_, err := b.Access.Login(ctx, base.Principal{}, b.shop.Sandbox.Publishable, b.shop.Sandbox.Secret)
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBlind(t, dbtest.SQLite(t))
			do := prepare(t, b)
			b.armed = true
			err := do()
			b.armed = false
			if !errors.Is(err, store.ErrUnknown) {
				t.Errorf("the caller gets %v, want store.ErrUnknown", err)
			}
			if len(b.commits) != 1 {
				t.Errorf("%d changes were written, want 1", len(b.commits))
			}
		})
	}
}
