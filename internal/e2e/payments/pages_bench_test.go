package payments

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	users "github.com/cascadapay/cascada/internal/app/people"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// BenchmarkPages measures pages of the dashboard for a shop with a million payments, over HTTP, on both engines.
// CASCADA_BENCH_PAYMENTS sets another number. It reports the 50th and the 99th percentile of each page, and its size
// as it is and compressed, in kilobytes.
//
//	go test ./internal/e2e/payments -run '^$' -bench Pages -benchtime 50x
func BenchmarkPages(b *testing.B) {
	eachLarge(b, measurePages)
}

// eachLarge measures something with a service on each engine, and says how many payments it has.
func eachLarge(b *testing.B, measure func(b *testing.B, service *daemon.Service, database string, n int)) {
	b.Helper()
	n := 1_000_000
	if text := os.Getenv("CASCADA_BENCH_PAYMENTS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	for engine, database := range map[string]string{"sqlite": dbtest.SQLite(b), "postgres": dbtest.Postgres(b)} {
		b.Run(engine, func(b *testing.B) {
			service, err := daemon.Start(ctx, daemon.Config{
				Listen: "127.0.0.1:0", Database: database, MasterKey: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
				Log: slog.New(slog.DiscardHandler),
			})
			orEnd(b, err)
			defer service.Shutdown()
			measure(b, service, database, n)
		})
	}
}

func measurePages(b *testing.B, service *daemon.Service, database string, n int) {
	b.Helper()
	now := time.Now()
	a := service.App
	o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted})
	orEnd(b, err)
	ids := load(b, database, o, now, n)
	orEnd(b, a.Store.Rollups().Recount(ctx)) // the rows were not written by commits
	counting := time.Now()
	for end := "?"; end != ""; {
		_, err := a.Store.Rollups().AddUp(ctx)
		orEnd(b, err)
		end, err = a.Store.Rollups().RecountEnd(ctx)
		orEnd(b, err)
	}
	b.Logf("analytics of %d payments were counted in %s", n, time.Since(counting).Round(time.Second))
	scope := merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
	sub, err := a.Webhooks.Subscribe(ctx, base.Principal{Scope: scope}, scope, appwebhooks.NewSubscription{Events: []string{webhooks.AllEvents}})
	orEnd(b, err)
	tell(b, database, sub.ID)
	told, err := a.Links.Invite(ctx, audit.Actor{Kind: audit.ByOperator, ID: "bench"}, "", users.Invitee{Email: "ana@acme.example", Merchant: o.Merchant.ID, Role: people.Owner})
	orEnd(b, err)
	e, err := a.Links.Accept(ctx, users.From{}, told.Address[len(service.URL)+len("/dashboard/link/"):], "", users.NewUser{Name: "Ana", Password: "correct horse battery"})
	orEnd(b, err)
	home := service.URL + "/dashboard/" + o.Shop.ID + "/sandbox"
	for _, path := range []string{
		"", "/payments", "/payments?status=chargeback", "/payments?method=cash", "/payments?q=order-5000", "/payments?q=ana@example.com", "/payments/" + ids[len(ids)/2],
		"/refunds", "/disputes", "/balance", "/settlements", "/withdrawals", "/analytics", "/analytics?days=365", "/analytics?days=365&by=hour", "/analytics/checkouts?days=365", "/analytics/waits?days=365", "/keys", "/webhooks", "/webhooks/" + sub.ID, "/webhooks/" + sub.ID + "?status=failed",
		"/webhooks/" + sub.ID + "?type=payment.refunded", "/webhooks/" + sub.ID + "/replays", "/events", "/events?type=chargeback.created", "/events?object=" + ids[len(ids)/2], "/events/evt_" + ids[len(ids)/2][4:] + "-1", "/requests", "/shop", "/team", "/audit",
	} {
		b.Run("page"+path, func(b *testing.B) {
			var took []time.Duration
			var body []byte
			for i := range b.N + 3 {
				at := time.Now()
				body = page(b, home+path, e.Token)
				if i >= 3 { // after the warm-up
					took = append(took, time.Since(at))
				}
			}
			slices.Sort(took)
			ms := func(p float64) float64 { return took[int(p*float64(len(took)-1))].Seconds() * 1000 }
			b.ReportMetric(ms(0.5), "ms-p50")
			b.ReportMetric(ms(0.99), "ms-p99")
			b.ReportMetric(float64(len(body))/1000, "kB")
			b.ReportMetric(float64(compressed(body))/1000, "kB-gz")
			b.ReportMetric(0, "ns/op") // removed, because it includes the warm-up
		})
	}
}

// tell writes an event for each loaded payment, and its delivery to an endpoint.
func tell(b *testing.B, database, subscription string) {
	b.Helper()
	bytesOf := "CAST(%s AS BLOB)"
	if !strings.HasPrefix(database, "sqlite:") {
		bytesOf = "convert_to(%s, 'UTF8')"
	}
	texts := []string{
		`INSERT INTO events (id, merchant, shop, live, type, object, sequence, at, payload, row_hash)
		 SELECT 'evt_' || substr(id, 5) || '-1', merchant, shop, live, CASE status WHEN 'completed' THEN 'payment.completed' WHEN 'refunded' THEN 'payment.refunded' WHEN 'chargeback' THEN 'chargeback.created' ELSE 'payment.failed' END,
		 id, 1, created_at, ` + fmt.Sprintf(bytesOf, `'{"id":"evt_' || substr(id, 5) || '","data":{"object":' || doc || '}}'`) + `, '' FROM payments`,
		`INSERT INTO deliveries (id, merchant, shop, live, version, event, type, subscription, status, attempts, budget, due_at, created_at, doc, parked)
		 SELECT 'wd_' || substr(id, 5) || '-` + subscription[3:] + `', merchant, shop, live, 2, id, type, '` + subscription + `', CASE WHEN at % 1000 = 0 THEN 'dead_letter' WHEN at % 1000 < 3 THEN 'failed' ELSE 'delivered' END,
		 1, 11, 9000000000000000, at, '{"lastCode":200,"lastMs":120}', FALSE FROM events`,
		`INSERT INTO delivery_counters (subscription, status, type, n, last_at) SELECT subscription, status, type, count(*), 0 FROM deliveries GROUP BY 1, 2, 3`,
	}
	driver, name, last := "pgx", database, "VACUUM (ANALYZE)"
	if path, found := strings.CutPrefix(database, "sqlite:"); found {
		driver, name, last = "sqlite", path+"?_pragma=busy_timeout(60000)", "ANALYZE"
	}
	db, err := sql.Open(driver, name)
	orEnd(b, err)
	defer db.Close()
	for _, text := range append(texts, last) {
		if _, err := db.ExecContext(ctx, text); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
}

func compressed(body []byte) int {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // to memory
	_ = w.Close()
	return out.Len()
}

func page(b *testing.B, url, cookie string) []byte {
	b.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	orEnd(b, err)
	req.AddCookie(&http.Cookie{Name: "cascada", Value: cookie})
	res, err := http.DefaultTransport.RoundTrip(req)
	orEnd(b, err)
	body, err := io.ReadAll(res.Body)
	orEnd(b, err)
	orEnd(b, res.Body.Close())
	if res.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %s", url, res.StatusCode, body)
	}
	return body
}

// BenchmarkReset measures how long it takes to empty a sandbox with a million payments, their events and deliveries, on both
// engines, and how many payments another merchant makes meanwhile, compared with before. CASCADA_BENCH_PAYMENTS sets another
// number. The 15 seconds before the first pass and the 10 before the last are in the time.
//
//	go test ./internal/e2e/payments -run '^$' -bench Reset -benchtime 1x -timeout 1h
func BenchmarkReset(b *testing.B) {
	eachLarge(b, measureReset)
}

func measureReset(b *testing.B, service *daemon.Service, database string, n int) {
	b.Helper()
	a := service.App
	var list []appmerchants.Onboarded
	for _, name := range []string{"Acme", "Other"} {
		o, err := a.Onboarding.CreateMerchant(ctx, a.Onboarding.Self(), appmerchants.NewMerchant{Name: name, Email: "ops@acme.example", Tier: merchants.Trusted})
		orEnd(b, err)
		list = append(list, o)
	}
	scope := merchants.Scope{Merchant: list[0].Merchant.ID, Shop: list[0].Shop.ID}
	load(b, database, list[0], time.Now(), n)
	sub, err := a.Webhooks.Subscribe(ctx, base.Principal{Scope: scope}, scope, appwebhooks.NewSubscription{Events: []string{webhooks.AllEvents}})
	orEnd(b, err)
	tell(b, database, sub.ID)
	var done, failed atomic.Int64
	stop := busy(service.URL, list[1].Sandbox.Secret, &done, &failed)
	rate := func(during func()) float64 {
		from, at := done.Load(), time.Now()
		during()
		return float64(done.Load()-from) / time.Since(at).Seconds()
	}
	const calm = 20 * time.Second
	rate(func() { time.Sleep(calm / 2) }) // until it is warm
	before := rate(func() { time.Sleep(calm) })
	began := time.Now()
	_, err = a.Sandbox.Reset(ctx, a.Self(), scope)
	orEnd(b, err)
	time.Sleep(merchants.ResetCloses)
	var r merchants.Reset
	meanwhile := rate(func() {
		for r, err = a.Sandbox.ResetOf(ctx, scope.Merchant); err == nil && r.Running() && r.SweptAt.IsZero(); r, err = a.Sandbox.ResetOf(ctx, scope.Merchant) {
			time.Sleep(100 * time.Millisecond)
		}
	})
	for ; err == nil && r.Running(); r, err = a.Sandbox.ResetOf(ctx, scope.Merchant) {
		time.Sleep(100 * time.Millisecond)
	}
	orEnd(b, err)
	took := time.Since(began)
	after := rate(func() { time.Sleep(calm) })
	stop()
	if failed.Load() > 0 {
		b.Errorf("%d payments of the other merchant failed", failed.Load())
	}
	b.ReportMetric(took.Seconds(), "s")
	b.ReportMetric(float64(r.Deleted)/1000, "krows")
	b.ReportMetric((before+after)/2, "payments/s-without")
	b.ReportMetric(meanwhile, "payments/s-meanwhile")
	b.ReportMetric(meanwhile/((before+after)/2), "ratio")
	b.ReportMetric(0, "ns/op") // removed, because it includes the loading
}

// busy makes payments from 16 clients, one after another each, until stop.
func busy(url, key string, done, failed *atomic.Int64) (stop func()) {
	var clients sync.WaitGroup
	end := make(chan struct{})
	for range 16 {
		clients.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if pays(url, key) {
					done.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	return func() { close(end); clients.Wait() }
}

// pays makes a payment, and reports whether it was made.
func pays(url, key string) bool {
	req, err := http.NewRequest(http.MethodPost, url+harness.APIPath+"/payments", strings.NewReader(`{"amount":20,"paymentMethodId":"sbx_card"}`))
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.Body.Close() == nil && err == nil && res.StatusCode == http.StatusCreated
}
