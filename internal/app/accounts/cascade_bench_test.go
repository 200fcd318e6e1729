package accounts

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// BenchmarkCascade measures the cost of a payment's cascade, without the provider's calls and
// the database: choosing among three accounts with circuits and success rates, the intent, the
// bookkeeping around the call, a soft decline by the first account, the same steps again, and the
// approval by the second. CPU is the time of the whole process, including garbage collection.
//
//	go test ./internal/app/accounts -run '^$' -bench Cascade
func BenchmarkCascade(b *testing.B) {
	for _, order := range []routing.Order{routing.Priority, routing.SuccessRate} {
		b.Run(string(order), func(b *testing.B) { cascades(b, order) })
	}
}

func cascades(b *testing.B, order routing.Order) {
	rail := accounts.Rail{ID: "1001", Key: "card.BRA", Method: "card", Country: "BRA", Sync: true, Window: time.Hour,
		Limits: []accounts.Limit{{Currency: money.BRL, Min: 1, Max: 10_000_00}}}
	fee := money.Fee{Bps: 250, Flat: 10}
	d := &connectors{byID: map[string]Connector{}}
	for i := range 3 {
		account := accounts.Account{
			ID: fmt.Sprintf("acme-%d", i+1), Live: true, Status: accounts.Enabled, Priority: i, Rails: []string{rail.Key},
			Terms: []accounts.RailTerms{{Fee: &fee, Limits: []accounts.Limit{{Currency: money.BRL, Min: 1, Max: 9_000_00}}}},
		}
		d.serving = append(d.serving, account)
	}
	ground, rails := base.New(base.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)}), &Catalog{ByID: map[string]accounts.Rail{rail.ID: rail}}
	a := NewProviders(ground, ProvidersConfig{}, rails)
	a.connectors.Store(d)
	a.Rules.Store(&routing.Rules{Order: order})
	made, err := pay.Create(pay.Order{
		ID: "TXN-01M7ZRA8ZHVY5AWQ46ER5SNKND", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, Amount: money.New(25_00, money.USD),
		Local: money.New(135_00, money.BRL), Rail: rail, Country: "BRA", Terms: plans.OfTier(merchants.Standard),
	}, a.Now())
	if err != nil {
		b.Fatal(err)
	}
	answers := []pay.Outcome{{Kind: pay.Declined, Soft: true, Decline: "try_elsewhere"}, {Kind: pay.Approved, ProviderRef: "their-1", Local: made.Price.Local}}
	runtime.GC()
	before := cpu(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		made.Times.Created = a.Now()
		routes := a.Routes(made)
		p, _ := made.Begin(routes, made.Times.Created)
		for _, answer := range answers {
			attempt, _ := p.Attempts.Current()
			o := a.Watched(context.Background(), p, attempt.Provider, func() pay.Outcome { return answer })
			p, _ = p.ApplyAnswer(o, routes, a.Now())
		}
		if p.Status != pay.Completed || len(p.Attempts) != 2 {
			b.Fatalf("a cascade ended in %s", p)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1000/float64(b.N), "µs-cpu/payment")
}

// cpu returns the CPU time of the process so far.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
