// Package analytics is the dashboard's pages about how payments end: the approval rate, volume and cost, over time and
// by method, amount, hour and more; how far checkouts come, and how long shoppers take to pay. The operator's console
// has them for all shops. All numbers come from totals.
package analytics

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	totals "github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

//go:embed all:templates text
var files embed.FS

type analytics struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files)
	if err != nil {
		return err
	}
	a := &analytics{site, uses, room}
	site.Handle("GET /analytics", merchants.RightRead, a.show)
	site.Handle("GET /analytics/days.csv", merchants.RightRead, a.days)
	site.Handle("GET /analytics/parts.csv", merchants.RightRead, a.parts)
	site.Handle("GET /analytics/checkouts", merchants.RightRead, a.checkouts)
	site.Handle("GET /analytics/checkouts.csv", merchants.RightRead, a.checkoutsFile)
	site.Handle("GET /analytics/waits", merchants.RightRead, a.waits)
	site.Handle("GET /analytics/waits.csv", merchants.RightRead, a.waitsFile)
	site.HandleOperator("GET /console/analytics", operators.View, a.show)
	site.HandleOperator("GET /console/analytics/days.csv", operators.View, a.days)
	site.HandleOperator("GET /console/analytics/parts.csv", operators.View, a.parts)
	return nil
}

// spans are the lengths that the page offers, in days.
var spans = []int{7, 30, 90, 365}

const usualSpan = 30

// days is the span that a query asks for.
type days struct {
	From, Last, To time.Time // Last is the last day, To the day after it
	Spans          []int
	Span           int // 0 if the days were chosen
}

// Before is the first of the days that these days are compared with: as many, just before them.
func (d days) Before() time.Time { return d.From.Add(d.From.Sub(d.To)) }

// DayBefore is the last of them.
func (d days) DayBefore() time.Time { return d.From.AddDate(0, 0, -1) }

// read reads the query: days=30, or from and to, which is the last day.
//
// Errors: invalid_request.
func (d *days) read(r *http.Request, now time.Time) error {
	chosen, err := frame.Days(r)
	if err != nil {
		return err
	}
	d.Spans = spans
	if d.To = chosen.To; d.To.IsZero() {
		d.To = now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	}
	d.Last = d.To.AddDate(0, 0, -1)
	if d.From = chosen.From; d.From.IsZero() {
		d.Span = usualSpan
		for _, n := range spans {
			if r.FormValue("days") == strconv.Itoa(n) {
				d.Span = n
			}
		}
		d.From = d.To.AddDate(0, 0, -d.Span)
	}
	return nil
}

// view is what the page shows.
type view struct {
	payments.Analysis
	On     days
	By     totals.Dimension
	Groups []totals.Dimension
	Tab    string // the page among those of the room
	All    bool   // of all shops
	Live   bool   // of All
	Weekly bool   // a point of the charts is a week
	Ended  frame.Chart
	Rate   frame.Chart
	Volume frame.Chart
}

// Counts reports whether the parts also count payments that are still open.
func (v view) Counts() bool {
	return !v.All && (v.By == totals.ByMethod || v.By == totals.ByCountry || v.By == totals.ByRail)
}

// Meanings are the numbers that the page explains: keys of texts.
func (view) Meanings() []string {
	return []string{"volume", "payments", "approval", "declined", "abandoned", "expired", "open", "average", "cost", "saved", "before"}
}

// Path is the page's, below the shop's or the console's.
func (view) Path() string { return "analytics" }

// named is a value of a dimension.
type named struct{ By, Name string }

// Account and Rest are the halves of a value of an account with something more.
func (n named) Account() string { account, _, _ := strings.Cut(n.Name, "/"); return account }

// Rest: see Account. A reason is named like any other.
func (n named) Rest() named { _, rest, _ := strings.Cut(n.Name, "/"); return named{"answer", rest} }

// Words is a code that nobody has translated, in words.
func (n named) Words() string { return strings.ReplaceAll(n.Name, "_", " ") }

// Named is a value of the view's dimension.
func (v view) Named(p payments.Part) named { return named{string(v.By), p.Name} }

// Reasons reports whether the parts are reasons, and Attempts whether they count attempts and not payments.
func (v view) Reasons() bool {
	return v.By == totals.ByAnswer || v.By == totals.ByRefusal || v.By == totals.ByAccountRefusal
}

// Attempts: see Reasons.
func (v view) Attempts() bool { return v.By == totals.ByAccount || v.By == totals.ByRoute }

// Lost is how many of the parts there are, of reasons.
func (v view) Lost() (n int64) {
	for _, p := range v.Parts {
		n += p.Now.All()
	}
	return n
}

// USD is an amount of US dollars.
func (view) USD(cents int64) money.Amount { return money.New(cents, money.USD) }

// read makes the analysis that the query asks for, of a shop or in the console of all of them.
func (a *analytics) read(r *http.Request, v *frame.Visit) (view, error) {
	q := r.URL.Query()
	out := view{By: totals.Dimension(q.Get("by")), Groups: payments.Groups(), All: v.Shop.ID == "", Live: q.Get("environment") != "sandbox"}
	if v.User.Operator != "" && v.Role == "" {
		out.Groups = append(out.Groups, payments.OperatorGroups()...)
	}
	if !slices.Contains(out.Groups, out.By) {
		out.By = totals.ByMethod
	}
	out.Tab = string(out.By)
	now := a.Uses.Now()
	if !out.All {
		now = a.Uses.TimeOf(v.Scope)
	}
	err := out.On.read(r, now)
	if err != nil {
		return out, err
	}
	out.Analysis, err = a.analyse(r.Context(), v, out)
	return out, err
}

func (a *analytics) analyse(ctx context.Context, v *frame.Visit, of view) (payments.Analysis, error) {
	if of.All {
		return a.Uses.Analytics.AnalyseAll(ctx, of.Live, of.On.From, of.On.To, of.By)
	}
	return a.Uses.Analytics.Analyse(ctx, v.Scope, of.On.From, of.On.To, of.By)
}

func (a *analytics) show(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.read(r, v)
	if err != nil {
		return err
	}
	a.charts(v, &out)
	return a.room.Show(w, r, v, "analytics", out)
}
