package providers

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	appplans "github.com/cascadapay/cascada/internal/app/plans"
	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
)

// The conditions of a replay are applied to what each past payment had: the report counts for every rule what the payments' amounts and
// hours say (ROUTE-6). CASCADA_REPLAY sets the number of payments; the log says how long the replay took.
//
//	CASCADA_REPLAY=100000 go test ./internal/e2e/providers -run ReplayOfMany -v
func TestReplayOfManyPayments(t *testing.T) {
	n := 1000
	if text := os.Getenv("CASCADA_REPLAY"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		harness.Must(t, err)
	}
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		since := s.Clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		live := s.NewShop(t).Production()
		banks(t, s, 3)
		priced(t, s, map[string]string{"bank-1": "3%", "bank-2": "1%", "bank-3": "2%"})
		const days = 30
		apart := days * 24 * time.Hour / time.Duration(n)
		began := time.Now()
		fill(t, s, live, since, apart, n)
		filled := time.Since(began)
		s.Clock.Advance(since.Add((days + 1) * 24 * time.Hour).Sub(s.Clock.Now()))

		file, err := rulefile.Read([]byte(`
zone: America/Sao_Paulo
rules:
  - name: large
    when: {rail: pix.BRA, amount: "BRL:1500-", country: BRA}
    weights: {bank-2: 70, bank-3: 30}
  - name: night
    when: {hours: 22-6, weekdays: [fri, sat], currency: BRL}
    accounts: [bank-3, bank-1]
  - name: merchant
    when: {merchant: ` + live.Merchant.ID + `, amount: "USD:-20", attempt: first}
    order: success_rate
`))
		harness.Must(t, err)
		want := map[string]int64{}
		zone, err := time.LoadLocation("America/Sao_Paulo")
		harness.Must(t, err)
		for i := range n {
			at := since.Add(time.Duration(i) * apart).In(zone)
			dark := at.Hour() >= 22 || at.Hour() < 6
			switch cents := worth(i); {
			case cents*54/10 >= 1500_00:
				want["large"]++
			case dark && (at.Weekday() == time.Friday || at.Weekday() == time.Saturday):
				want["night"]++
			case cents <= 20_00:
				want["merchant"]++
			default:
				want[""]++
			}
		}
		o := approuting.PastRoutes{Since: since, Until: s.Clock.Now(), Live: true, Rules: &file.Rules, Examples: 5}
		t.Logf("%d payments of %d days were written in %.1f s", n, days, filled.Seconds())
		done := timed(t, s, "three rules with conditions", o)
		o.Rules = &routing.Rules{}
		timed(t, s, "no rules", o)
		for _, of := range done.Rules {
			t.Logf("rule %q: %d payments, %d begin elsewhere, approved %d really and %.0f replayed, cost %s really and %s replayed",
				of.Decider, of.Payments, of.Elsewhere, of.Real(), of.Replayed(), of.Cost.Was(), of.Cost.Total())
			if of.Payments != want[of.Decider] {
				t.Errorf("rule %q decides about %d payments, want %d", of.Decider, of.Payments, want[of.Decider])
			}
		}
		if done.Payments != int64(n) || done.Unexplained != 0 || len(done.Rules) != 4 {
			t.Errorf("%d payments were replayed, %d unexplained, by %d rules; want %d, 0 and 4", done.Payments, done.Unexplained, len(done.Rules), n)
		}
	})
}

// The replay of a plan counts every completed payment, and finds the fees that its prices say (PLAN-5).
//
//	CASCADA_REPLAY=100000 go test ./internal/e2e/providers -run PlanReplayOfMany -v
func TestPlanReplayOfManyPayments(t *testing.T) {
	n := 1000
	if text := os.Getenv("CASCADA_REPLAY"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		harness.Must(t, err)
	}
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		since := s.Clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		live := s.NewShop(t).Production()
		banks(t, s, 2)
		fill(t, s, live, since, 30*24*time.Hour/time.Duration(n), n)
		s.Clock.Advance(since.AddDate(0, 0, 31).Sub(s.Clock.Now()))
		p, err := planfile.Read([]byte(`
plan: new
prices:
  - {method: card, percent: 2.9, flat: 0.30}
  - {rail: pix.BRA, percent: 1.1, minimum: 0.5, providerCost: included}
  - {percent: 2}
fxMargin: 0.4
settlement: {delay: 48h}
tax: {name: IVA, percent: 16}
`))
		harness.Must(t, err)
		var payments, platform, taxes int64
		half := func(n, of int64) int64 { return (2*n + of) / (2 * of) } // rounded half up
		for i := range n {
			if i%10 != 3 && i%25 == 1 {
				continue // it was declined
			}
			fee := max(half(worth(i)*110, 10_000), 50) + half(worth(i)*40, 10_000)
			payments, platform, taxes = payments+1, platform+fee, taxes+half(fee*16, 100)
		}
		began, before := time.Now(), processor(t)
		done, err := s.App.Plans.Replay(ctx, appplans.Replay{Plan: p, Live: true, From: since, To: s.Clock.Now()})
		harness.Must(t, err)
		t.Logf("a plan was replayed over %d payments in %.2f s, %.2f s of CPU", n, time.Since(began).Seconds(), (processor(t) - before).Seconds())
		if got := done.Total; got.Payments != payments || got.Is.Platform != platform || got.Is.Tax != taxes || got.Is.Cost != 0 || done.Unpriced != 0 {
			t.Errorf("a replay finds %+v and %d without a price, want %d payments, and fees and taxes of %d and %d", got, done.Unpriced, payments, platform, taxes)
		}
	})
}

// timed replays payments, and logs how long that took. CPU is the whole process's, and not that of a database server.
func timed(t *testing.T, s *harness.Instance, what string, o approuting.PastRoutes) approuting.Rerouted {
	t.Helper()
	began, before := time.Now(), processor(t)
	done, err := s.App.Rules.Replay(ctx, o)
	harness.Must(t, err)
	t.Logf("%s were replayed over %d payments in %.2f s, %.2f s of CPU", what, done.Payments, time.Since(began).Seconds(), (processor(t) - before).Seconds())
	return done
}

// processor is the CPU time of the process so far.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	harness.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// worth is the USD cents of the i-th payment: from 5 to 500 USD.
func worth(i int) int64 { return 5_00 + int64(i*7919%49500) }

// fill writes payments by pix that began at bank-1. One of ten was declined there, and paid at bank-2.
func fill(t *testing.T, s *harness.Instance, o harness.Client, since time.Time, apart time.Duration, n int) {
	t.Helper()
	const writers = 32 // they share transactions
	var all sync.WaitGroup
	rail := s.App.Providers.Catalog.ByID[harness.Method(t, o, "BRA", "pix")]
	rate, err := money.ParseRate("5.4")
	harness.Must(t, err)
	for w := range writers {
		all.Go(func() {
			for i := w; i < n; i += writers {
				if err := write(ctx, s, o, rail, rate, i, since.Add(time.Duration(i)*apart)); err != nil {
					t.Errorf("payment %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func write(ctx context.Context, s *harness.Instance, o harness.Client, rail accounts.Rail, rate money.Rate, i int, at time.Time) error {
	usd := money.New(worth(i), money.USD)
	p, err := pay.Create(pay.Order{
		ID: id.New(pay.PaymentPrefix, at), Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, Amount: usd,
		Local: money.New(usd.Minor*54/10, money.BRL), Rate: rate, RateSource: "test", RateAt: at, Rail: rail, Country: "BRA",
		Buyer: pay.Buyer{Document: "52998224725"}, Terms: plans.OfTier(merchants.Standard),
	}, at)
	if err != nil {
		return err
	}
	cascade := pay.Cascade{Routes: []pay.Route{{Provider: "bank-1", Why: "by priority: 1"}, {Provider: "bank-2", Why: "by priority: 2"}}}
	p, change := p.Begin(cascade, at)
	err = s.App.Rules.Store.Commit(ctx, change)
	for _, outcome := range outcomes(i, p) {
		if err != nil {
			return err
		}
		at = at.Add(300 * time.Millisecond)
		p, change = p.ApplyAnswer(outcome, cascade, at)
		err = s.App.Rules.Store.Commit(ctx, change)
	}
	return err
}

func outcomes(i int, p pay.Payment) []pay.Outcome {
	paid := func(name string) pay.Outcome {
		ref := fmt.Sprintf("%s-%s", name, p.ID)
		return pay.Outcome{Kind: pay.Approved, ProviderRef: ref, MoneyRef: ref, Local: p.Price.Local}
	}
	switch {
	case i%10 == 3:
		return []pay.Outcome{{Kind: pay.Declined, Soft: true, Decline: "do_not_honor"}, paid("two")}
	case i%25 == 1:
		return []pay.Outcome{{Kind: pay.Declined, Decline: "stolen_card"}}
	}
	return []pay.Outcome{paid("one")}
}
