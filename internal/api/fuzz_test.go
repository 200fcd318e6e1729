package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// endpoints are those that read a query string, without what they do: each notes what it
// was asked for.
type endpoints struct {
	http http.Handler
	page lists.Page
	// Of the filter, whichever it is.
	span    lists.Span
	texts   []string
	country string
}

func newEndpoints() *endpoints {
	wire.Adopt()
	mux := wire.Mux{ServeMux: http.NewServeMux(), Refuse: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadRequest) }}
	l := &endpoints{http: mux}
	config := huma.DefaultConfig("Cascada", "1")
	config.OpenAPIPath, config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", "", nil
	config.Formats = wire.Formats()
	h := humago.New(mux, config)
	h.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithValue(ctx, callKey{}, Call{offer: all{}}))
	})
	listed(h, "payments", func(in *listIn) {
		f := in.filter
		l.page, l.span, l.country = f.Page, f.Span, f.Country
		l.texts = []string{string(f.Status), f.Rail, f.Method, f.OrderID, f.After, string(f.Amount.Currency)}
	})
	listed(h, "claims", func(in *claimsIn) {
		l.page, l.texts = in.Rows(), []string{string(in.Status), string(in.Type), in.TransactionID}
	})
	listed(h, "deliveries", func(in *deliveriesIn) {
		f := in.filter()
		l.page, l.span, l.texts = f.Page, f.Span, []string{string(f.Status), string(f.Type)}
	})
	listed(h, "settlements", func(in *settlementsIn) {
		f := in.filter()
		l.page, l.span, l.texts = f.Page, f.Span, []string{string(f.Status)}
	})
	listed(h, "withdrawals", func(in *withdrawalsIn) {
		f := in.filter()
		l.page, l.span, l.texts = f.Page, f.Span, []string{string(f.Status), f.Wallet}
	})
	listed(h, "wallets", func(in *walletsIn) { l.page, l.texts = in.Rows(), []string{string(in.Status)} })
	listed(h, "methods", func(in *methodsIn) {
		f := in.filter()
		l.page, l.country, l.texts = lists.Page{Limit: 2}, f.Country, []string{string(f.Channel)}
	})
	return l
}

// all offers every currency and method.
type all struct{}

func (all) Currencies() []money.Currency       { return []money.Currency{money.BRL, money.USD} }
func (all) CheckCurrency(money.Currency) error { return nil }
func (all) CheckSlug(string) error             { return nil }

// listed registers a list that is empty.
func listed[I any](h huma.API, name string, note func(*I)) {
	huma.Register(h, huma.Operation{OperationID: name, Method: http.MethodGet, Path: "/" + name}, func(_ context.Context, in *I) (*struct{}, error) {
		note(in)
		return &struct{}{}, nil
	})
}

// A query string is read into a filter that every database takes, or refused as the caller's
// mistake; what is read of one is read of its canonical form too.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"limit=50&offset=0", "limit=-1&offset=-1", "limit=99999999999999999999&offset=99999999999999999999", "limit=1.5", "limit=&limit=2", "limit=0x10", "limit=+5",
		"status=completed&country=BRA&method=pix", "amount=100&currency=BRL", "amount=1e-400&currency=CLP", "amount=1&currency=%00", "status=won", "status=pending&type=chargeback", "country=br", "country=%00", "merchantOrderId=%ff", "paymentMethodId=a%00b",
		"from=2026-11-21&to=2026-11-22T10:00:00-03:00", "from=2026-11-21T10:00", "from=0001-01-01", "from=0000-01-01T00:00:00%2B23:59", "to=9999-12-31T23:59:59.999999999Z", "from=tomorrow", "from=2026-11-21T10:00:00 03:00",
		"starting_after=TXN-01M7Z", "starting_after=x", "transactionId=%F0%9F%98%80", "walletId=%00", "event=payment.completed", "channel=ONLINE", "a;b", "%zz", "status=%0&status=0", "&&&", "paymentMethodId", "limit&status&walletId", "status=completed&status=failed", strings.Repeat("limit=1&", 500),
	} {
		f.Add("payments", query)
	}
	for _, name := range []string{"claims", "deliveries", "settlements", "withdrawals", "wallets", "methods"} {
		f.Add(name, "status=pending&limit=7&offset=3&from=2026-11-21&to=2026-11-22&country=BR")
		f.Add(name, "from=1969-12-31T23:59:59.5Z&transactionId=TXN-1&walletId=wal_1&event=payment.completed")
	}
	l := newEndpoints()
	f.Fuzz(func(t *testing.T, name, query string) {
		ask := func(query string) int {
			*l = endpoints{http: l.http}
			w := httptest.NewRecorder()
			l.http.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/" + name, RawQuery: query}, Header: http.Header{}, Body: http.NoBody, Host: "127.0.0.1"})
			return w.Code
		}
		status := ask(query)
		if status/100 == 4 || status/100 == 3 {
			return
		}
		if status/100 != 2 {
			t.Fatalf("%s?%s: %d", name, query, status)
		}
		got := *l
		if p := got.page; p.Limit < 2 || p.Limit > 101 || p.Offset < 0 || p.Offset > 1_000_000 { // one more than the page shows
			t.Errorf("%s?%s: a page of %d from %d", name, query, p.Limit-1, p.Offset)
		}
		for _, text := range append(got.texts, got.country) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("%s?%s: %q is for a database", name, query, text)
			}
		}
		if got.country != "" && len(got.country) != 3 {
			t.Errorf("%s?%s: the country %q", name, query, got.country)
		}
		if name == "payments" && (got.span.From.Unix() < 0 && !got.span.From.IsZero() || got.span.To.Unix() < 0 && !got.span.To.IsZero() || got.texts[0] != "" && !pay.Status(got.texts[0]).Valid()) {
			t.Errorf("%s?%s: from %s to %s, %s", name, query, got.span.From, got.span.To, got.texts[0])
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Errorf("%s?%s is read, and has no meaning: %v", name, query, err)
		}
		if again := ask(values.Encode()); again != status || !l.same(got) {
			t.Errorf("%s?%s is read as %+v, and %s as %+v", name, query, got, values.Encode(), *l)
		}
	})
}

func (l *endpoints) same(other endpoints) bool {
	return l.page == other.page && l.span.From.Equal(other.span.From) && l.span.To.Equal(other.span.To) &&
		l.country == other.country && strings.Join(l.texts, "\n") == strings.Join(other.texts, "\n")
}

// An amount that is taken is exactly the number that the caller wrote, above zero and within
// what one payment may be.
func FuzzAmount(f *testing.F) {
	for _, text := range []string{"25.5", "25.50", "100000", "100000.01", "0", "-1", "0.001", "1e2", "1E+5", "1e-2", "1e400", `"25"`, "null", "", "true", "{}", "007", "99999999999999999999", "0.10000000000000000001", "25.500000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a Amount
		if json.Unmarshal([]byte(text), &a) != nil {
			return // it never gets here
		}
		usd, err := a.in("amount", money.USD)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(string(a))
		if !ok || exact.Cmp(big.NewRat(usd.Minor, 100)) != 0 {
			t.Fatalf("%q is taken, as %v", text, usd)
		}
		if usd.Minor < 1 || usd.Minor > accounts.MaxAmount {
			t.Errorf("%q is taken: %v", text, usd)
		}
	})
}

// A file of evidence that is taken is of the type that it is said to be, and its name leads
// nowhere.
func FuzzEvidence(f *testing.F) {
	for _, c := range [][3]string{
		{"receipt.pdf", "application/pdf", "%PDF-1.7\n"}, {"a.png", "image/png", "\x89PNG\r\n\x1a\n"}, {"a.jpg", "image/jpeg", "\xff\xd8\xff"}, {"a.txt", "text/plain", "caf\u00e9\n"},
		{"../a.txt", "text/plain", "x"}, {`C:\a.txt`, "text/plain", "x"}, {"a\x00.txt", "text/plain", "\x00"}, {"a.txt", "text/plain", "\x1b[31m"}, {"a.html", "image/png", "<script>"}, {"a.txt", "text/plain", "\xff"},
	} {
		f.Add(c[0], c[1], base64.StdEncoding.EncodeToString([]byte(c[2])))
	}
	f.Add("a.txt", "text/plain", "eA")
	f.Add("a.txt", "text/plain", "e\nA==")
	f.Fuzz(func(t *testing.T, name, kind, content string) {
		known := slices.Contains(evidence.Types(), kind)
		file := EvidenceUpload{Name: name, ContentType: kind, Content: content}
		if issues := file.check("file"); len(issues) > 0 || content == "" || !known {
			return
		}
		if strings.ContainsAny(name, "/\\\x00\r\n") {
			t.Errorf("the name %q is taken", name)
		}
		bytes, err := base64.StdEncoding.DecodeString(content)
		if err != nil || string(bytes) != string(file.content) || len(bytes) > pay.MaxEvidenceFile || !evidence.Is(kind, bytes) {
			t.Errorf("%q is taken as %s: %q, %v", content, kind, file.content, err)
		}
		if kind == "text/plain" && strings.ContainsAny(string(bytes), "\x00\x1b\x7f") {
			t.Errorf("%q is taken as text", bytes)
		}
		if d := file.described(); d.Size != int64(len(bytes)) || d.Type != kind || len(d.SHA256) != 64 {
			t.Errorf("%q is described as %+v", content, d)
		}
	})
}
