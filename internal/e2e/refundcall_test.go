package e2e

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/vault"
	"github.com/cascadapay/cascada/internal/webhook"
)

// Bank is a provider that keeps what it paid back, by reference, as a real one
// does. What it answers is up to the test.
type Bank struct {
	*sandbox.Provider
	Answer  func(r provider.RefundRequest, known bool) (does bool, o pay.Outcome)
	OnQuery func(known bool) pay.Outcome

	mu    sync.Mutex // owns what follows
	Paid  map[string]int64
	calls int
}

func (b *Bank) Refund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	b.mu.Lock()
	b.calls++
	_, known := b.Paid[r.Reference]
	b.mu.Unlock()
	does, o := b.Answer(r, known)
	if does {
		b.Pay(r)
	}
	return o
}

// pay pays once, however often it is asked.
func (b *Bank) Pay(r provider.RefundRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Paid[r.Reference] = r.Local.Minor
}

func (b *Bank) QueryRefund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.Paid[r.Reference]
	return b.OnQuery(known)
}

func (b *Bank) Total() (sum int64, refunds, calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.Paid {
		sum += n
	}
	return sum, len(b.Paid), b.calls
}

// Honest answers a question with what was done.
func Honest(known bool) pay.Outcome {
	if known {
		return pay.Outcome{Kind: pay.Approved}
	}
	return pay.Outcome{Kind: pay.Missing}
}

// Node is one of the service's nodes on a database, without its listener and
// loops, with one provider.
func Node(t *testing.T, database string, c *Clock, b provider.Provider, log *Faults) *app.App {
	t.Helper()
	return NodeAt(t, database, c, c.Now, b, log)
}

// NodeAt is node with a clock of the leases of its own.
func NodeAt(t *testing.T, database string, c *Clock, lease func() time.Time, b provider.Provider, log *Faults) *app.App {
	t.Helper()
	return NodeOf(t, database, c, log, func(config *app.Config) {
		config.LeaseClock, config.Providers, config.Sandbox = lease, map[string]provider.Provider{"sandbox-1": b}, []string{"sandbox-1"}
	})
}

// NodeOf is a node that is configured by the test.
func NodeOf(t *testing.T, database string, c *Clock, log *Faults, configure func(*app.Config)) *app.App {
	t.Helper()
	secrets, err := vault.New(bytes.Repeat([]byte{7}, vault.KeySize))
	Must(t, err)
	config := app.Config{
		Config:     base.Config{Log: slog.New(log), Vault: secrets, Now: c.Now, NewID: id.New, CheckoutURL: "http://127.0.0.1"},
		LeaseClock: c.Now, InboxURL: "http://127.0.0.1/inbox",
		Sender: webhook.NewSender(webhook.Config{Now: c.Now}),
	}
	configure(&config)
	a, err := app.Open(ctx, database, config)
	Must(t, err)
	t.Cleanup(a.Close)
	return a
}

// Acme is a new merchant's sandbox key.
func Acme(t *testing.T, a *app.App) base.Principal {
	t.Helper()
	o, err := a.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: tenant.Standard, RefundFees: tenant.FeesReturned})
	Must(t, err)
	who, err := a.Access.Authenticate(ctx, o.Sandbox.Secret)
	Must(t, err)
	return who
}

// PaidCard takes a card payment of 25.50 for a new merchant.
func PaidCard(t *testing.T, a *app.App) (tenant.Scope, string) {
	t.Helper()
	p, _, err := a.Payments.Create(ctx, Acme(t, a), payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card"})
	Must(t, err)
	return p.Scope, p.ID
}

// Whatever a call and the questions after it come to, the shopper gets the
// money once.
func TestShopperIsRefundedOnce(t *testing.T) {
	t.Parallel()
	lost := pay.Outcome{Kind: pay.Unknown}
	done := pay.Outcome{Kind: pay.Approved}
	for name, c := range map[string]struct {
		calls     []bool // whether the provider does it, call by call; it answers the last one alone
		unhelpful int    // questions that it does not answer
	}{
		"answered":                             {[]bool{true}, 0},
		"done and not answered":                {[]bool{true, true}, 0},
		"done and not answered, nor the query": {[]bool{true, true}, 3},
		"never arrived":                        {[]bool{false, true}, 0},
		"never arrived, twice":                 {[]bool{false, false, true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				clock, log := &Clock{}, &Faults{}
				b := &Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}}
				call, question := 0, 0
				b.Answer = func(provider.RefundRequest, bool) (bool, pay.Outcome) {
					does, last := c.calls[call], call == len(c.calls)-1
					call++
					if last {
						return does, done
					}
					return does, lost
				}
				b.OnQuery = func(known bool) pay.Outcome {
					if question++; question <= c.unhelpful {
						return lost
					}
					return Honest(known)
				}
				a := Node(t, database, clock, b, log)
				scope, payment := PaidCard(t, a)
				r, _, err := a.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment, Amount: "20"})
				Must(t, err)
				Eventually(t, "the refund is approved", func() bool {
					clock.Advance(2 * time.Hour)
					_, err := a.Claims.SweepClaims(ctx)
					Must(t, err)
					got, err := a.Claims.Get(ctx, scope, r.ID)
					Must(t, err)
					return got.Status == pay.ClaimApproved
				})
				if sum, n, _ := b.Total(); sum != 2000 || n != 1 {
					t.Errorf("the bank paid %d in %d refunds, want 2000 in one", sum, n)
				}
				Sound(t, a, log)
			})
		})
	}
}

func Sound(t *testing.T, a *app.App, log *Faults) {
	t.Helper()
	broken, err := a.Check(ctx)
	Must(t, err)
	for _, b := range broken {
		t.Errorf("broken: %s", b)
	}
	log.report(t)
}

// A node that dies in the provider's call leaves an intent. Another one finds
// out what came of it once the lease has ended, and not before.
func TestRefundOfADeadNodeIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	for _, reached := range []bool{true, false} {
		dbtest.Each(t, func(t *testing.T, database string) {
			clock, log := &Clock{}, &Faults{}
			b := &Bank{Provider: sandbox.New("sandbox-1", nil), Paid: map[string]int64{}, OnQuery: Honest}
			called, died := make(chan struct{}), make(chan struct{})
			b.Answer = func(r provider.RefundRequest, _ bool) (bool, pay.Outcome) {
				if _, _, calls := b.Total(); calls > 1 {
					return true, pay.Outcome{Kind: pay.Approved}
				}
				if reached {
					b.Pay(r)
				}
				close(called)
				<-died // the other node goes on meanwhile
				return reached, pay.Outcome{Kind: pay.Approved}
			}
			first, second := Node(t, database, clock, b, log), Node(t, database, clock, b, log)
			scope, payment := PaidCard(t, first)
			var all sync.WaitGroup
			all.Go(func() {
				if _, _, err := first.Claims.Refund(ctx, scope, claims.NewRefund{Payment: payment}); err != nil {
					t.Error(err)
				}
			})
			Soon(t, "the call that the test holds to begin", called)
			list, _, err := second.Claims.List(ctx, scope, ClaimsOf(payment))
			Must(t, err)
			if len(list) != 1 || list[0].Status != pay.ClaimPending || list[0].Call.State != pay.Sending {
				t.Fatalf("in the middle of the call: %+v", list)
			}
			clock.Advance(44 * time.Second)
			if n, err := second.Claims.SweepClaims(ctx); n != 0 || err != nil {
				t.Errorf("%d claims were taken from a node that may be alive (%v)", n, err)
			}
			clock.Advance(2 * time.Second)
			Eventually(t, "the other node has finished it", func() bool {
				clock.Advance(time.Minute)
				_, err := second.Claims.SweepClaims(ctx)
				Must(t, err)
				c, err := second.Claims.Get(ctx, scope, list[0].ID)
				Must(t, err)
				return c.Status == pay.ClaimApproved
			})
			close(died) // and now the first one's call returns after all
			all.Wait()
			c, err := second.Claims.Get(ctx, scope, list[0].ID)
			Must(t, err)
			if sum, n, _ := b.Total(); c.Status != pay.ClaimApproved || sum != 2550 || n != 1 {
				t.Errorf("the claim is %s, the bank paid %d in %d refunds, want 2550 in one", c.Status, sum, n)
			}
			Sound(t, second, log)
		})
	}
}

func ClaimsOf(payment string) pay.ClaimFilter {
	return pay.ClaimFilter{Page: pay.Page{Limit: 10}, Payment: payment}
}
