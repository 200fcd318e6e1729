package store_test

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// BenchmarkPayment writes the two changes of a card payment for 64 callers at
// once, without HTTP. CASCADA_BENCH_DATABASE names the database; the default
// is an SQLite file.
func BenchmarkPayment(b *testing.B) {
	database := os.Getenv("CASCADA_BENCH_DATABASE")
	if database == "" {
		database = "sqlite:" + b.TempDir() + "/bench.db"
	}
	committers, _ := strconv.Atoi(os.Getenv("CASCADA_BENCH_COMMITTERS")) // 0: as in service
	s, err := store.Open(ctx, database, store.Options{Committers: committers})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, merchants := range []int{100, 1} {
		b.Run(fmt.Sprintf("merchants=%d", merchants), func(b *testing.B) {
			var next atomic.Int64
			b.SetParallelism(32) // two processors: 64 callers
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := next.Add(1)
					p, change := create(b, id.New("", noon)[:26])
					p.Merchant, p.Shop = fmt.Sprintf("mer_%d", n%int64(merchants)), fmt.Sprintf("shp_%d", n%int64(merchants))
					change.Payments[0] = p
					change.Once = &pay.Once{Key: p.ID, Hash: p.ID, Object: p.ID, At: noon}
					if err := s.Commit(ctx, change); err != nil {
						b.Error(err)
						return
					}
					_, change = p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
					change.Events[0].Payload = benchPayload
					if err := s.Commit(ctx, change); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "payments/s")
			stats := s.Stats()
			b.ReportMetric(float64(stats.Changes)/float64(stats.Commits), "changes/commit")
		})
	}
}

// BenchmarkSeal seals rows of the ledger and proves them. The results are in rows
// per second.
func BenchmarkSeal(b *testing.B) {
	database := os.Getenv("CASCADA_BENCH_DATABASE")
	if database == "" {
		database = "sqlite:" + b.TempDir() + "/bench.db"
	}
	s, err := store.Open(ctx, database, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for written := 0; written < b.N; {
		var change pay.Change
		for range min(30, b.N-written) { // as many as a busy commit has
			t := transfer(id.New("tr_", noon)+"-capture", ledger.Posting{Account: ledger.Pending, Amount: 2000},
				ledger.Posting{Account: ledger.PlatformFees, Amount: 550}, ledger.Posting{Account: ledger.Receivable, Amount: -2550})
			t.Merchant = fmt.Sprintf("mer_%d", written%20)
			change.Transfers = append(change.Transfers, t)
			written++
		}
		if err := s.Commit(ctx, change); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for more := true; more; {
		if more, err = s.Seal(ctx, noon); err != nil {
			b.Fatal(err)
		}
	}
	sealed := b.Elapsed()
	if broken, err := s.Check(ctx); err != nil || len(broken) > 0 {
		b.Fatal(err, broken)
	}
	b.ReportMetric(float64(b.N)/sealed.Seconds(), "sealed/s")
	b.ReportMetric(float64(b.N)/(b.Elapsed()-sealed).Seconds(), "checked/s")
}

// benchPayload is about as long as an event.
var benchPayload = make([]byte, 0, 1024)

func init() {
	for len(benchPayload) < 1024 {
		benchPayload = append(benchPayload, `{"k":"0123456789"} `...)
	}
}
