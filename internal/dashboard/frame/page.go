package frame

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// Page is what templates get.
type Page struct {
	Visit *Visit // nil on a page of nobody
	Data  any    // of the room
	Now   time.Time
	Query url.Values // of the present address
	Frame Layout
	room  *Pages
	lang  string
	path  string    // of the present address, without the root
	open  *[]opened // parts that are open
}

// Language is the language of a request's page: the visitor's own, or what the browser asks for.
func Language(r *http.Request, v *Visit) merchants.Language {
	if v != nil {
		return v.Language()
	}
	return merchants.Language(languageOf(r))
}

// page is the value for a request's templates.
func (pg *Pages) page(req *http.Request, v *Visit, data any) *Page {
	p := &Page{
		Visit: v, Data: data, Now: pg.frame.Now(), Query: req.URL.Query(), room: pg, lang: spoken(Language(req, v)), path: req.URL.Path, open: &[]opened{},
	}
	if v != nil {
		p.Frame.Console = v.User.Operator != "" && v.Shop.ID == "" && !v.NoConsole
		if pg.clock != nil && v.Shop.ID != "" {
			p.Now = pg.clock(v)
		}
	}
	return p
}

// On is the page with other data, for a template that shows one of many things:
// {{template "row" ($.On .)}}.
func (p *Page) On(data any) *Page {
	other := *p
	other.Data = data
	return &other
}

// Lang is the language of the page: en, es or pt.
func (p *Page) Lang() string { return p.lang }

// T is a sentence of the texts, with each {name} replaced by its value: {{.T "paid_on" "day" (.Date .Paid)}}.
func (p *Page) T(key string, args ...any) template.HTML {
	sentence, known := p.room.text(p.lang, key)
	if !known {
		sentence = key
	}
	return fill(p.lang, sentence, args)
}

// Has reports whether there is a text.
func (p *Page) Has(key string) bool {
	_, known := p.room.text(p.lang, key)
	return known
}

// Status is the text of a status: status_<name>, or the name itself in words.
func (p *Page) Status(status any) template.HTML {
	name := fmt.Sprint(status)
	if p.Has("status_" + name) {
		return p.T("status_" + name)
	}
	return template.HTML(template.HTMLEscapeString(strings.ReplaceAll(name, "_", " "))) //nolint:gosec // escaped
}

// Money writes an amount as the language does, with the currency's code.
func (p *Page) Money(a money.Amount) template.HTML { return moneyHTML(p.lang, a) }

// Rate writes an exchange rate as the language does.
func (p *Page) Rate(r money.Rate) string { return rateText(p.lang, r) }

// Took writes how long something took, given in milliseconds. Less than one is written as "< 1 ms", never as
// 0.
func (p *Page) Took(ms any) (string, error) {
	n, err := integer(ms)
	if n == 0 {
		return "<\u00a01\u00a0ms", err
	}
	return grouped(p.lang, n) + "\u00a0ms", err
}

// Number writes a whole number as the language does.
func (p *Page) Number(n any) (string, error) {
	i, err := integer(n)
	return grouped(p.lang, i), err
}

// Percent writes a share with one decimal, or a dash if the whole is 0.
func (p *Page) Percent(part, whole any) (string, error) {
	a, err := integer(part)
	if err != nil {
		return "", err
	}
	b, err := integer(whole)
	return percent(p.lang, a, b), err
}

// Share writes a share in basis points.
func (p *Page) Share(bps any) (string, error) {
	n, err := integer(bps)
	return Share(merchants.Language(p.lang), n), err
}

func integer(n any) (int64, error) {
	switch n := n.(type) {
	case int:
		return int64(n), nil
	case int64:
		return n, nil
	case int32:
		return int64(n), nil
	case money.Amount:
		return n.Minor, nil
	}
	return 0, fmt.Errorf("%v (%T) is no whole number", n, n)
}

// Time is a moment: "26 Nov 2026, 14:05 UTC", or a dash for none.
func (p *Page) Time(t time.Time) template.HTML { return timeHTML(p.lang, t) }

// Date is a day: "26 Nov 2026", or a dash for none.
func (p *Page) Date(t time.Time) template.HTML {
	if t.IsZero() {
		return none
	}
	return timed(t.UTC().Format(time.DateOnly), dateText(p.lang, t))
}

// Ago is how long ago something was: "5 minutes ago". After 30 days it is the day.
func (p *Page) Ago(t time.Time) template.HTML { return p.distance(t, p.Now.Sub(t), "ago") }

// In is how long it takes until something happens: "in 3 days".
func (p *Page) In(t time.Time) template.HTML { return p.distance(t, t.Sub(p.Now), "in") }

func (p *Page) distance(t time.Time, d time.Duration, way string) template.HTML {
	unit, n := span(d)
	switch {
	case t.IsZero():
		return none
	case unit == "day" && n > 30:
		return p.Date(t)
	case unit == "now":
		return timed(t.UTC().Format(time.RFC3339), string(p.T("time_"+way+"_now")))
	}
	key := "time_" + way + "_" + unit + "_many"
	if n == 1 {
		key = "time_" + way + "_" + unit + "_one"
	}
	return timed(t.UTC().Format(time.RFC3339), string(p.T(key, "n", n)))
}

// Link is the address of a page of the visit's shop, or of the console, with pairs of names and values for
// its query: {{.Link "payments" "status" "paid"}}.
func (p *Page) Link(path string, query ...any) string {
	home := "/dashboard"
	switch {
	case p.Frame.Console:
		home = "/dashboard/console"
	case p.Visit != nil && p.Visit.Shop.ID != "":
		home = p.Visit.Home()
	}
	return p.To(strings.TrimSuffix(home+"/"+strings.TrimPrefix(path, "/"), "/"), query...)
}

// To is an address on this host, with the root before it: {{.To "/dashboard/profile"}}.
func (p *Page) To(path string, query ...any) string {
	values := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if value := fmt.Sprint(query[i+1]); value != "" {
			values.Add(fmt.Sprint(query[i]), value)
		}
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return p.room.frame.Root + path
}

// With is the present address with one value of its query changed, or dropped if it is "". The cursor is
// dropped: another list begins at its first page.
func (p *Page) With(name string, value any) string {
	values := url.Values{}
	for key, all := range p.Query {
		if key != "cursor" && key != name {
			values[key] = all
		}
	}
	if text := fmt.Sprint(value); text != "" {
		values.Set(name, text)
	}
	if len(values) == 0 {
		return p.room.frame.Root + p.path
	}
	return p.room.frame.Root + p.path + "?" + values.Encode()
}

// Here is the present address without its query.
func (p *Page) Here() string { return p.room.frame.Root + p.path }

// May reports whether the visitor has a right: at the merchant, or on the console's pages as an operator (OPR-1). It decides what a page
// shows, and nothing else: each page and action asks again.
func (p *Page) May(right string) bool {
	switch {
	case p.Visit == nil:
		return false
	case p.Frame.Console:
		return p.Visit.User.Operator.May(operators.Right(right))
	}
	return p.Visit.May(merchants.Right(right))
}

// DocsLink is the address of a place in the docs: an anchor, or a path with one.
func (p *Page) DocsLink(anchor string) string {
	docs := p.room.frame.Root + strings.TrimSuffix(p.room.frame.Docs, "/")
	if strings.ContainsAny(anchor, "/#") || anchor == "" {
		return strings.TrimSuffix(docs+"/"+strings.TrimPrefix(anchor, "/"), "/")
	}
	return docs + "#" + anchor
}

// Filters is how many filters the present address has.
func (p *Page) Filters() int {
	n := 0
	for name, values := range p.Query {
		if name != "cursor" && name != "sort" && name != "limit" && name != "lang" && len(values) > 0 && values[0] != "" {
			n++
		}
	}
	return n
}

// Sorting is how a column of a table is sorted now (ascending, descending or none), and the address that
// sorts by it.
func (p *Page) Sorting(column string) (s struct{ Now, URL string }) {
	s.Now, s.URL = "none", p.With("sort", "-"+column)
	switch p.Query.Get("sort") {
	case column:
		s.Now = "ascending"
	case "-" + column:
		s.Now, s.URL = "descending", p.With("sort", column)
	}
	return s
}
