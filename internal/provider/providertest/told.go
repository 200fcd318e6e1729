package providertest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// people are documents of a person and of a company, by country.
var people = map[string][2]string{
	"ARG": {"27332162", "30712345671"}, "BRA": {"52998224725", "11222333000181"}, "COL": {"1020304050", "9003731153"},
	"MEX": {"GODE561231GR8", "ABC561231GR8"}, "PER": {"27662162", "20100047218"},
}

// toldOf are the columns of the document's table of what a provider is told, each with a change of a request that shows in the fields of that
// column alone.
var toldOf = map[string]func(*provider.Request){
	"order":    func(r *provider.Request) { r.OrderID = "order-8413" },
	"title":    func(r *provider.Request) { r.Purchase.Description = "Three tickets" },
	"items":    func(r *provider.Request) { r.Purchase.Items = things(r.Local, "Sombrero") },
	"shop":     func(r *provider.Request) { r.Shop = "Tienda de la Luna" },
	"language": func(r *provider.Request) { r.Lang = "pt" },
	"document": func(r *provider.Request) { r.Buyer.Document = next(r.Buyer.Document) },
	kind:       func(r *provider.Request) { r.Buyer.Document = people[r.Country][1] },
	"phone":    func(r *provider.Request) { r.Buyer.Phone = next(r.Buyer.Phone) },
	"IP":       func(r *provider.Request) { r.Buyer.IP = next(r.Buyer.IP) },
}

// kind is the column of a document's type, and of what else depends on whose it is.
const kind = "type, person"

// next is a text with another digit at its end, or near it.
func next(text string) string {
	at := strings.LastIndexFunc(text, unicode.IsDigit)
	if at < 0 {
		return text
	}
	return text[:at] + strconv.Itoa((int(text[at]-'0')+1)%10) + text[at+1:]
}

// things make up an amount.
func things(sum money.Amount, name string) []pay.LineItem {
	const sweets = 50
	return []pay.LineItem{
		{Name: name, Quantity: 1, Unit: money.New(sum.Minor-sweets, sum.Currency), SKU: "S-" + name}, {Name: "Sweets", Quantity: sweets, Unit: money.New(1, sum.Currency)},
	}
}

// whole is a request of a rail with everything that a shop can say.
func (s Suite) whole(rail string) provider.Request {
	r := s.request(rail, "01M7ZWHOLE-1")
	r.Country = rail[len(rail)-3:]
	r.Merchant, r.OrderID, r.Shop, r.Lang = "mer_1", "order-8412", "Tienda del Sol", "en"
	r.Purchase = pay.Purchase{Description: "Two tickets", Items: things(r.Local, "Ticket")}
	r.Buyer.Phone, r.Buyer.IP = "+55 11 98765-4321", "203.0.113.9"
	if known, ok := people[r.Country]; ok {
		r.Buyer.Document = known[0]
	}
	return r
}

// fieldsAreDocumented fails the test unless the document's table names the fields by which the adapter tells the provider of a purchase and its shopper,
// and no others.
func (s Suite) fieldsAreDocumented(t *testing.T) {
	row, told := Rows(t, "told")[s.Adapter.Name], map[string]map[string]bool{}
	for column := range toldOf {
		told[column] = map[string]bool{}
	}
	for _, rail := range s.Adapter.Rails {
		whole := s.whole(rail)
		all := s.sent(t, whole)
		for column, change := range toldOf {
			r, before := whole, all
			if column == "title" { // it may be the only item
				r.Purchase.Items = nil
				before = s.sent(t, r)
			}
			other := r
			if change(&other); other.Buyer.Document == "" {
				continue // a country whose companies have no number of their own
			}
			for field, value := range s.sent(t, other) {
				if before[field] != value {
					told[column][field] = true
				}
			}
		}
	}
	for field := range told["document"] {
		delete(told[kind], field)
	}
	for column, fields := range told {
		var named []string
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[column], -1) {
			named = append(named, quoted[1])
		}
		slices.Sort(named)
		want := slices.Sorted(maps.Keys(fields))
		if len(s.Adapter.Rails) < len(Table(t, s.Adapter.Name)) { // the others have fields of their own
			named = slices.DeleteFunc(named, func(field string) bool { return !fields[field] })
		}
		if !slices.Equal(named, want) {
			t.Errorf("%s names %q for what %s is told of %s, and it is told in %q", providers, named, s.Adapter.Name, column, want)
		}
	}
}

// asStored repeats each charge after the shop was renamed: the request is the same, or it is not made. Otherwise a provider would refuse it
// under the same key.
func (s Suite) asStored(t *testing.T) {
	for _, rail := range s.Adapter.Rails {
		b := s.tapped(t)
		r := s.whole(rail)
		want(t, rail, b.Charge(within(t), r), pay.Awaiting)
		first := b.tap.posted()
		r.Shop = "Tienda de la Luna"
		want(t, rail+", again", b.Charge(within(t), r), pay.Awaiting)
		r.Shop = "" // as a query has it
		want(t, rail+", queried", b.Query(within(t), r), pay.Awaiting)
		for _, later := range b.tap.posted()[len(first):] {
			same := func(one posting) bool { return one.path == later.path }
			if slices.ContainsFunc(first, same) && !slices.Contains(first, later) {
				t.Errorf("%s: the shop was renamed, and the repeated call is\n%s\nafter\n%s", rail, later, first)
			}
		}
	}
}

// odd charges with texts that people write, too long and with characters that some providers refuse. The gate before the fake knows what the
// provider takes.
func (s Suite) odd(t *testing.T) {
	const text = "🎫 Ñandú & Cía «1»"
	long := text + "\x00\u202e\n" + strings.Repeat(" niño", 2_000)
	for _, rail := range s.Adapter.Rails {
		r := s.whole(rail)
		r.OrderID, r.Purchase.Description, r.Buyer.Name = long[:130], long, "Zoë\x07 "+long[:110]
		r.Purchase.Items = things(r.Local, long)
		r.Purchase.Items[0].SKU = long
		r.Buyer.Phone = "+55 11 98765-4321 ext. 5 " + text
		seen := ""
		for field, value := range s.sent(t, r) {
			seen += value + "\n"
			if !utf8.ValidString(value) || strings.ContainsFunc(value, func(c rune) bool { return unicode.IsControl(c) || c > 0xFFFF || c == utf8.RuneError || c == '\u202e' }) {
				t.Errorf("%s: %s is %q", rail, field, value)
			}
		}
		if Rows(t, "told")[s.Adapter.Name]["title"] != "no" && !strings.Contains(seen, "Ñandú & Cía «1»") {
			t.Errorf("%s: the provider is told only\n%s", rail, seen)
		}
	}
}

// bare charges with the least, and without one thing after the other.
func (s Suite) bare(t *testing.T) {
	for _, rail := range s.Adapter.Rails {
		s.sent(t, s.request(rail, "01M7ZBARE-1"))
		for _, drop := range []func(*provider.Request){
			func(r *provider.Request) { r.OrderID = "" }, func(r *provider.Request) { r.Purchase = pay.Purchase{} }, func(r *provider.Request) { r.Purchase.Description = "" },
			func(r *provider.Request) { r.Buyer.Document = "" }, func(r *provider.Request) { r.Buyer.Phone = "" }, func(r *provider.Request) { r.Buyer.IP = "" },
			func(r *provider.Request) { r.Buyer.Name = "Ana" }, func(r *provider.Request) { r.Buyer.Name = "" }, func(r *provider.Request) { r.Buyer.Email = "" },
			func(r *provider.Request) { r.Purchase.Items[0].SKU = "" },
		} {
			r := s.whole(rail)
			drop(&r)
			b := s.tapped(t)
			b.Charge(within(t), r) // it may lack something
			b.tap.read(t)
		}
	}
}

// sent charges, and returns what the provider was told, by field.
func (s Suite) sent(t *testing.T, r provider.Request) map[string]string {
	t.Helper()
	return SentFields(t, s.Adapter, s.Credentials, s.New(t), r)
}

// SentFields charges at a fake, and returns the fields of all that it was told: of an object in a list, lines[].name. A field that is there more than once has
// its values after one another, each with "; ". It fails the test if a field has no value.
func SentFields(t *testing.T, a provider.Adapter, credentials map[string]string, fake Fake, r provider.Request) map[string]string {
	t.Helper()
	b := Suite{Adapter: a, Credentials: credentials, New: func(*testing.T) Fake { return fake }}.tapped(t)
	want(t, "a charge on "+r.Rail, b.Charge(within(t), r), pay.Awaiting)
	return b.tap.read(t)
}

// listening is a bench whose requests are kept.
type listening struct {
	*bench
	tap *tap
}

func (s Suite) tapped(t *testing.T) listening {
	t.Helper()
	heard := &tap{Fake: s.New(t)}
	b := &bench{Fake: heard, suite: s, t: t}
	b.Provider, b.line = OpenAccount[provider.Provider](t, s.Adapter, s.Credentials, heard)
	return listening{b, heard}
}

// tap is a fake whose requests are kept.
type tap struct {
	Fake
	mu  sync.Mutex // guards what follows
	all []posting
}

// posting is a request.
type posting struct{ path, body string }

// Published implements published.Publisher.
func (ta *tap) Published() published.Table {
	if p, ok := ta.Fake.(published.Publisher); ok {
		return p.Published()
	}
	return published.Table{}
}

// ServeHTTP implements http.Handler.
func (ta *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method == http.MethodPost && len(body) > 0 {
		ta.mu.Lock()
		ta.all = append(ta.all, posting{r.URL.Path, string(body)})
		ta.mu.Unlock()
	}
	ta.Fake.ServeHTTP(w, r)
}

func (ta *tap) posted() []posting {
	ta.mu.Lock()
	defer ta.mu.Unlock()
	return slices.Clone(ta.all)
}

// read returns all fields of all requests. It fails the test if one is there without a value.
func (ta *tap) read(t *testing.T) map[string]string {
	t.Helper()
	told := map[string]string{}
	var note func(field string, value any)
	note = func(field string, value any) {
		switch value := value.(type) {
		case map[string]any:
			if len(value) == 0 {
				t.Errorf("%s is empty", field)
			}
			for _, name := range slices.Sorted(maps.Keys(value)) {
				note(strings.TrimPrefix(field+"."+name, "."), value[name])
			}
		case []any:
			if len(value) == 0 {
				t.Errorf("%s is empty", field)
			}
			for _, one := range value {
				note(field+"[]", one)
			}
		case nil:
			t.Errorf("%s is null", field)
		default:
			if value == "" {
				t.Errorf("%s is empty", field)
			}
			told[field] += fmt.Sprint(value) + "; "
		}
	}
	for _, one := range ta.posted() {
		if fields := Fields([]byte(one.body)); fields != nil {
			note("", fields)
			continue
		}
		form, err := url.ParseQuery(one.body)
		if err != nil {
			t.Errorf("the body is neither JSON nor a form: %s", one.body)
		}
		for _, name := range slices.Sorted(maps.Keys(form)) {
			for _, value := range form[name] {
				note(plainName(name), value)
			}
		}
	}
	return told
}

// plainName is the name of a form's field as JSON would have it: a[b][0] is a.b[].
func plainName(name string) string {
	name = regexp.MustCompile(`\[\d*\]`).ReplaceAllString(name, "..")
	name = strings.ReplaceAll(strings.ReplaceAll(name, "[", "."), "]", "")
	return strings.ReplaceAll(name, "..", "[]")
}
