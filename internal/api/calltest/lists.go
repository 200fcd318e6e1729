// Package calltest has what the tests of the rooms of the merchants' API share.
package calltest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Query is what was read of a query string.
type Query struct {
	Page lists.Page
	// Of the filter, whichever it is.
	Span    lists.Span
	Texts   []string
	Country string
	Wrong   string // what the list's own filter may not be, "" if it is as it should be
}

func (q Query) same(other Query) bool {
	return q.Page == other.Page && q.Span.From.Equal(other.Span.From) && q.Span.To.Equal(other.Span.To) &&
		q.Country == other.Country && strings.Join(q.Texts, "\n") == strings.Join(other.Texts, "\n")
}

// Lists are endpoints that read a query string, without what they do: each records what it was asked for.
type Lists struct {
	http  http.Handler
	api   huma.API
	names []string
	read  Query
}

// NewLists returns none yet.
func NewLists() *Lists {
	wire.Adopt()
	mux := wire.Mux{ServeMux: http.NewServeMux(), Refuse: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadRequest) }}
	config := huma.DefaultConfig("Cascada", "1")
	config.OpenAPIPath, config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", "", nil
	config.Formats = wire.Formats()
	l := &Lists{http: mux, api: humago.New(mux, config)}
	l.api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		next(call.With(ctx, call.Caller{Offer: all{}}))
	})
	return l
}

// all offers every currency and method.
type all struct{}

func (all) Currencies() []money.Currency       { return []money.Currency{money.BRL, money.USD} }
func (all) CheckCurrency(money.Currency) error { return nil }
func (all) CheckSlug(string) error             { return nil }
func (all) SimulatedActions() []string         { return nil }

// Add registers a list that is empty.
func Add[I any](l *Lists, name string, query func(*I) Query) {
	l.names = append(l.names, name)
	huma.Register(l.api, huma.Operation{OperationID: name, Method: http.MethodGet, Path: "/" + name}, func(_ context.Context, in *I) (*struct{}, error) {
		l.read = query(in)
		return &struct{}{}, nil
	})
}

// queries are where the fuzzing begins.
var queries = []string{
	"limit=50&offset=0", "limit=-1&offset=-1", "limit=99999999999999999999&offset=99999999999999999999", "limit=1.5", "limit=&limit=2", "limit=0x10", "limit=+5",
	"status=completed&country=BRA&method=pix", "amount=100&currency=BRL", "amount=1e-400&currency=CLP", "amount=1&currency=%00", "status=won", "status=pending&type=chargeback", "country=br", "country=%00", "merchantOrderId=%ff", "paymentMethodId=a%00b",
	"from=2026-11-21&to=2026-11-22T10:00:00-03:00", "from=2026-11-21T10:00", "from=0001-01-01", "from=0000-01-01T00:00:00%2B23:59", "to=9999-12-31T23:59:59.999999999Z", "from=tomorrow", "from=2026-11-21T10:00:00 03:00",
	"starting_after=TXN-01M7Z", "starting_after=x", "transactionId=%F0%9F%98%80", "walletId=%00", "event=payment.completed", "channel=ONLINE", "a;b", "%zz", "status=%0&status=0", "&&&", "paymentMethodId", "limit&status&walletId", "status=completed&status=failed", strings.Repeat("limit=1&", 500),
	"status=pending&limit=7&offset=3&from=2026-11-21&to=2026-11-22&country=BR",
	"from=1969-12-31T23:59:59.5Z&transactionId=TXN-1&walletId=wal_1&event=payment.completed",
}

// Fuzz checks that a query string is read into a filter that every database accepts, or refused as the caller's
// mistake; what is read of one is read of its canonical form too.
func (l *Lists) Fuzz(f *testing.F) {
	for _, name := range l.names {
		for _, query := range queries {
			f.Add(name, query)
		}
	}
	f.Fuzz(func(t *testing.T, name, query string) {
		status := l.ask(name, query)
		if status/100 == 4 || status/100 == 3 {
			return
		}
		if status/100 != 2 {
			t.Fatalf("%s?%s: %d", name, query, status)
		}
		got := l.read
		if p := got.Page; p.Limit < 2 || p.Limit > 101 || p.Offset < 0 || p.Offset > 1_000_000 { // one more than the page shows
			t.Errorf("%s?%s: a page of %d from %d", name, query, p.Limit-1, p.Offset)
		}
		for _, text := range append(got.Texts, got.Country) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("%s?%s: %q is for a database", name, query, text)
			}
		}
		if got.Country != "" && len(got.Country) != 3 {
			t.Errorf("%s?%s: the country %q", name, query, got.Country)
		}
		if got.Span.From.Unix() < 0 && !got.Span.From.IsZero() || got.Span.To.Unix() < 0 && !got.Span.To.IsZero() || got.Wrong != "" {
			t.Errorf("%s?%s: from %s to %s, %s", name, query, got.Span.From, got.Span.To, got.Wrong)
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Errorf("%s?%s is read, and has no meaning: %v", name, query, err)
		}
		if again := l.ask(name, values.Encode()); again != status || !l.read.same(got) {
			t.Errorf("%s?%s is read as %+v, and %s as %+v", name, query, got, values.Encode(), l.read)
		}
	})
}

// ask sends a query string to a list and returns the status of the reply.
func (l *Lists) ask(name, query string) int {
	l.read = Query{}
	w := httptest.NewRecorder()
	l.http.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/" + name, RawQuery: query}, Header: http.Header{}, Body: http.NoBody, Host: "127.0.0.1"})
	return w.Code
}
