package payments

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/jackc/pgx/v5"
)

// kind is a kind of payment of the benchmark's merchant: perMille of all payments, in the part of the
// year from from to to.
type kind struct {
	rail, method, country, currency string
	status                          pay.Status
	perMille                        int
	from, to                        float64
}

// kinds are a merchant's payments of a year. Some methods are common, one was given up long ago, one
// was used for a while, and some statuses are rare.
var kinds = []kind{
	{"sbx_card", "card", "USA", "USD", pay.Completed, 450, 0, 1},
	{"sbx_card", "card", "USA", "USD", pay.Failed, 120, 0, 1},
	{"sbx_card", "card", "USA", "USD", pay.Refunded, 20, 0, 1},
	{"sbx_card", "card", "USA", "USD", pay.Chargeback, 1, 0, 1},
	{"sbx_pix", "pix", "BRA", "BRL", pay.Completed, 200, 0, 1},
	{"sbx_pix", "pix", "BRA", "BRL", pay.Expired, 60, 0, 1},
	{"sbx_pix", "pix", "BRA", "BRL", pay.Pending, 5, 0.99, 1},
	{"sbx_spei", "spei", "MEX", "MXN", pay.Completed, 80, 0.2, 1},
	{"sbx_spei", "spei", "MEX", "MXN", pay.Expired, 20, 0.2, 1},
	{"sbx_pse", "bank_transfer", "COL", "COP", pay.Completed, 30, 0, 0.2},
	{"sbx_pse", "bank_transfer", "COL", "COP", pay.Failed, 10, 0, 0.2},
	{"sbx_cash", "cash", "MEX", "MXN", pay.Completed, 3, 0.4, 0.6},
	{"sbx_cash", "cash", "COL", "COP", pay.Expired, 1, 0, 0.01},
}

const year = 365 * 24 * time.Hour

// BenchmarkLists measures GET /payments of a merchant with a million payments, over HTTP on
// PostgreSQL. CASCADA_BENCH_PAYMENTS sets another number. It reports the minimum, the 50th and the
// 99th percentile of each query. Requests run one after another.
//
//	go test ./internal/e2e/payments -run '^$' -bench Lists -benchtime 1000x
func BenchmarkLists(b *testing.B) {
	n := 1_000_000
	if text := os.Getenv("CASCADA_BENCH_PAYMENTS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	database := dbtest.Postgres(b)
	now := time.Now()
	service, err := daemon.Start(ctx, daemon.Config{
		Listen: "127.0.0.1:0", Database: database, MasterKey: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
		Log: slog.New(slog.DiscardHandler),
	})
	orEnd(b, err)
	defer service.Shutdown()
	o, err := service.App.Onboarding.CreateMerchant(ctx, service.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted})
	orEnd(b, err)
	ids := load(b, database, o, now, n)
	any := func() string { return ids[rand.IntN(len(ids))] }
	day := func(ago time.Duration) string { return now.Add(-ago).UTC().Format(time.DateOnly) }
	for _, q := range []struct {
		name  string
		query func() string
	}{
		{"first page", func() string { return "" }},
		{"limit=100", func() string { return "limit=100" }},
		{"status=completed", func() string { return "status=completed" }},
		{"status=chargeback", func() string { return "status=chargeback" }},
		{"merchantOrderId", func() string { return "merchantOrderId=order-" + strconv.Itoa(rand.IntN(n)) }},
		{"paymentMethodId, everyday", func() string { return "paymentMethodId=sbx_pix" }},
		{"paymentMethodId, given up long ago", func() string { return "paymentMethodId=sbx_pse" }},
		{"method, rare", func() string { return "method=cash" }},
		{"country, everyday", func() string { return "country=MX" }},
		{"country, given up long ago", func() string { return "country=CO" }},
		{"country and method, very rare", func() string { return "country=CO&method=cash" }},
		{"status and method", func() string { return "status=refunded&method=card" }},
		{"status and method, none", func() string { return "status=chargeback&method=pix" }},
		{"from and to, a day", func() string { return "from=" + day(100*24*time.Hour) + "&to=" + day(99*24*time.Hour) }},
		{"from and to, half a year", func() string { return "from=" + day(200*24*time.Hour) + "&to=" + day(20*24*time.Hour) }},
		{"from and to, to the minute", func() string {
			return "from=" + now.Add(-200*24*time.Hour).UTC().Format("2006-01-02T15:04Z") + "&to=" + now.Add(-20*24*time.Hour).UTC().Format("2006-01-02T15:04Z")
		}},
		{"from and to, with a method", func() string { return "method=spei&from=" + day(200*24*time.Hour) + "&to=" + day(20*24*time.Hour) }},
		{"starting_after, anywhere", func() string { return "starting_after=" + any() }},
		{"starting_after, with a method", func() string { return "method=pix&starting_after=" + any() }},
		{"offset=1000", func() string { return "offset=1000" }},
	} {
		b.Run(q.name, func(b *testing.B) {
			var took []time.Duration
			for i := range b.N + 20 {
				at := time.Now()
				get(b, service.URL+harness.APIPath+"/payments?"+q.query(), o.Sandbox.Secret)
				if i >= 20 { // after the warm-up
					took = append(took, time.Since(at))
				}
			}
			slices.Sort(took)
			ms := func(p float64) float64 { return took[int(p*float64(len(took)-1))].Seconds() * 1000 }
			b.ReportMetric(ms(0), "ms-min")
			b.ReportMetric(ms(0.5), "ms-p50")
			b.ReportMetric(ms(0.99), "ms-p99")
			b.ReportMetric(0, "ns/op") // removed, because it includes the warm-up
		})
	}
}

func orEnd(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func get(b *testing.B, url, key string) {
	b.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	orEnd(b, err)
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	orEnd(b, err)
	body, err := io.ReadAll(res.Body)
	orEnd(b, err)
	orEnd(b, res.Body.Close())
	if res.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %s", url, res.StatusCode, body)
	}
}

// sampleDoc is a payment's doc column, as Create and ApplyAnswer write it.
const sampleDoc = `{"buyer":{"name":"Ana Souza","ip":"203.0.113.7"},` +
	`"fees":{"Platform":31,"Provider":25,"Network":0,"Flat":0},"reserve":128,"delay":172800000000000,"window":86400000000000,` +
	`"formUrl":"https://pay.example.com/pay/TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6","data":{"QRCode":"00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-426655440000"},` +
	`"attempts":[{"Provider":"sandbox-1","Status":"approved"}],"answered":"pending"}`

// columns are those of the payments that the benchmarks write.
var columns = []string{"id", "merchant", "shop", "live", "version", "status", "amount", "amount_local", "currency_local", "rate", "rail", "method",
	"country", "order_id", "email", "document", "refunded", "sequence", "due_at", "created_at", "updated_at", "doc",
	"owner", "currency_asked", "amount_asked", "unsure_at", "erased_at", "row_hash"}

// load writes n payments of the last year and their counters. It returns every thousandth id.
func load(b *testing.B, database string, o appmerchants.Onboarded, now time.Time, n int) (ids []string) {
	b.Helper()
	var thousand []kind
	for _, k := range kinds {
		for range k.perMille {
			thousand = append(thousand, k)
		}
	}
	due := now.Add(year).UnixMicro()
	row := func(i int) []any {
		k := thousand[rand.IntN(len(thousand))]
		share := k.from + rand.Float64()*(k.to-k.from)
		at := now.Add(-year + time.Duration(share*float64(year))).Truncate(time.Microsecond)
		p := id.New(pay.PaymentPrefix, at)
		if i%1000 == 0 {
			ids = append(ids, p)
		}
		return []any{p, o.Merchant.ID, o.Shop.ID, false, 2, string(k.status), 2550, 13770, k.currency, "5.4", k.rail, k.method,
			k.country, "order-" + strconv.Itoa(i), "ana@example.com", "52998224725", 0, 1, due, at.UnixMicro(), at.UnixMicro(), sampleDoc,
			"", "", 0, 0, 0, ""}
	}
	if path, found := strings.CutPrefix(database, "sqlite:"); found {
		loadSQLite(b, path, n, row)
		return ids
	}
	conn, err := pgx.Connect(ctx, database)
	orEnd(b, err)
	defer conn.Close(ctx)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"payments"}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) { return row(i), nil }))
	orEnd(b, err)
	for _, text := range append(benchCounters, "VACUUM (ANALYZE)") {
		if _, err := conn.Exec(ctx, text); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
	return ids
}

// loadSQLite writes the rows in one transaction, and counts them.
func loadSQLite(b *testing.B, path string, n int, row func(int) []any) {
	b.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	orEnd(b, err)
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	orEnd(b, err)
	insert, err := tx.PrepareContext(ctx, "INSERT INTO payments ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")")
	orEnd(b, err)
	for i := range n {
		_, err := insert.ExecContext(ctx, row(i)...)
		orEnd(b, err)
	}
	for _, text := range benchCounters {
		_, err := tx.ExecContext(ctx, text)
		orEnd(b, err)
	}
	orEnd(b, tx.Commit())
	_, err = db.ExecContext(ctx, "ANALYZE")
	orEnd(b, err)
}

// benchCounters counts the loaded payments as Commit does.
var benchCounters = []string{
	`INSERT INTO counters (shop, live, day, rail, country, status, method, n, rolled)
	 SELECT shop, live, -1, rail, country, status, method, count(*), 0 FROM payments GROUP BY 1, 2, 4, 5, 6, 7`,
	`INSERT INTO counters (shop, live, day, rail, country, status, method, n, rolled)
	 SELECT shop, live, created_at / 86400000000, rail, country, status, method, count(*), count(*) FROM payments GROUP BY 1, 2, 3, 4, 5, 6, 7`,
}
