// Package books is the console's pages of exchange rates, of comparisons with providers' reports, and of the
// state of the service and its books.
package books

import (
	"cmp"
	"embed"
	"errors"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/store"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*desk.Pages
	Uses Uses
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	d, err := desk.New(site, files)
	if err != nil {
		return err
	}
	b := &pages{d, uses}
	site.HandleOperator("GET /console/rates", operators.View, b.rates)
	site.HandleOperator("POST /console/rates/import", operators.Rates, b.importRates, frame.Files(maxFile, fileWithin))
	site.HandleOperator("GET /console/rates/{currency}", operators.View, b.rate)
	site.HandleOperator("POST /console/rates/{currency}", operators.Rates, b.setRate)
	site.HandleOperator("GET /console/reconciliation", operators.View, b.comparisons)
	site.HandleOperator("POST /console/reconciliation", operators.Reconciliation, b.compare, frame.Calm(), frame.Files(maxFile, fileWithin))
	site.HandleOperator("GET /console/health", operators.View, b.health)
	site.HandleOperator("GET /console/check", operators.View, b.check)
	site.HandleOperator("GET /console/check/live", operators.View, b.checkLive)
	site.HandleOperator("POST /console/check/start", operators.Checks, b.startCheck)
	site.HandleOperator("POST /console/check/stop", operators.Checks, b.stopCheck)
	site.HandleOperator("GET /console/seals", operators.View, b.seals)
	site.HandleOperator("GET /console/seals/heads.txt", operators.View, b.heads)
	site.HandleOperator("POST /console/seals", operators.Checks, b.compareHeads, frame.Files(maxFile, fileWithin))
	return nil
}

// maxFile bounds a file that is handed in, in bytes.
const maxFile = reconcile.MaxReport

// fileWithin is how long a file may take to arrive.
const fileWithin = 2 * time.Minute

type ratesView struct {
	desk.Form
	Rates []apprates.RateStatus
	Jumps bool // the file may be sent again, although rates jump
}

func (pg *pages) rates(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.showRates(w, r, v, http.StatusOK, ratesView{})
}

func (pg *pages) showRates(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view ratesView) error {
	var err error
	if view.Rates, err = pg.Uses.Rates.RateList(r.Context()); err != nil {
		return err
	}
	return pg.Room.ShowStatus(w, r, v, status, "rates", view)
}

// jumped puts an error about rates into words for a form.
func jumped(err error, field string) (told error, jumps bool) {
	jump, jumps := errors.AsType[*apprates.JumpError](err)
	if jumps {
		return problem.Field(problem.ConflictState, field, ratesJump.With(jump.Rates, strconv.FormatInt(jump.Most, 10))), true
	}
	return desk.Shown(err, field), false
}

// importRates sets the rates of a file, all or none.
func (pg *pages) importRates(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	name, content, err := file(r, "file")
	var view ratesView
	var changes []apprates.RateChange
	if err == nil {
		changes, err = pg.Uses.Rates.ImportRates(r.Context(), v.Actor(), content, name, r.FormValue("force") != "")
		err, view.Jumps = jumped(err, "file")
	}
	if err == nil {
		set := 0
		for _, c := range changes {
			if c.Verdict == rates.Applied {
				set++
			}
		}
		return pg.Done(w, r, "rates", "rates_imported", "n", set, "all", len(changes))
	}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showRates(w, r, v, status, view)
}

// file reads a file that was handed in.
//
// Errors: invalid_request if there is none, or if it is too large.
func file(r *http.Request, field string) (name string, content []byte, err error) {
	in, header, err := r.FormFile(field)
	if err != nil {
		return "", nil, problem.Field(problem.InvalidRequest, field, chooseFile)
	}
	defer in.Close()
	content, err = io.ReadAll(in)
	return filepath.Base(header.Filename), content, err
}

type rateView struct {
	desk.Form
	apprates.RateStatus
	History []store.PastReading
	Chart   frame.Chart
	Jumps   bool
}

func (pg *pages) rate(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.showRate(w, r, v, http.StatusOK, rateView{})
}

func (pg *pages) showRate(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view rateView) error {
	list, err := pg.Uses.Rates.RateList(r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(s apprates.RateStatus) bool { return string(s.Currency) == r.PathValue("currency") })
	if i < 0 {
		return problem.New(problem.NotFound, noCurrency)
	}
	view.RateStatus = list[i]
	if view.History, err = pg.Uses.Rates.RateHistory(r.Context(), list[i].Currency); err != nil {
		return err
	}
	view.Chart = charted(view.History, pg.Room.Text(v, "rate_of", "currency", list[i].Currency))
	return pg.Room.ShowStatus(w, r, v, status, "rate", view)
}

// charted draws the readings that were used.
func charted(history []store.PastReading, name string) frame.Chart {
	const decimals = 4
	chart := frame.Chart{ByHour: true, Decimals: decimals}
	var values []int64
	for _, past := range slices.Backward(history) {
		at, err := strconv.ParseFloat(past.Rate.Decimal(), 64)
		if past.Verdict != rates.Applied || err != nil {
			continue
		}
		if n := len(chart.Times); n > 0 && !past.DecidedAt.After(chart.Times[n-1]) {
			continue
		}
		chart.Times = append(chart.Times, past.DecidedAt)
		values = append(values, int64(math.Round(at*math.Pow10(decimals))))
	}
	chart.Series = []frame.Series{{Name: name, Values: values}}
	return chart
}

// setRate sets the rate of a currency.
func (pg *pages) setRate(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := rateView{Form: desk.Typed(r, "rate", "source")}
	currency, err := money.ParseCurrency(r.PathValue("currency"))
	if err != nil {
		return problem.New(problem.NotFound, noCurrency)
	}
	rate, err := money.ParseRate(view.Value("rate"))
	if err != nil {
		err = problem.Field(problem.InvalidRequest, "rate", rateUnreadable)
	} else {
		_, err = pg.Uses.Rates.SetRates(r.Context(), v.Actor(), []rates.Reading{{Currency: currency, Rate: rate, Source: cmp.Or(view.Value("source"), "console"), At: pg.Uses.Now()}}, r.FormValue("force") != "")
		err, view.Jumps = jumped(err, "rate")
	}
	if err == nil {
		return pg.Done(w, r, "rates/"+string(currency), "rate_set", "currency", currency, "rate", rate.Decimal())
	}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showRate(w, r, v, status, view)
}

type healthView struct {
	Silent []silent
	Mails  int64 // that wait
	Open   int   // circuits
	Pools  []pool
	Engine string
	Dead   int64 // deliveries that were given up
}

type silent struct {
	Kind string
	N    int
}

type pool struct {
	Name              string
	InUse, Idle, Most int
	Waits             int64
	Waited            time.Duration
}

// health shows the state of this node and its database.
func (pg *pages) health(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := healthView{Open: pg.Uses.Providers.OpenCircuits(), Engine: pg.Uses.Engine()}
	var err error
	if view.Mails, err = pg.Uses.Mails.WaitingMails(r.Context()); err != nil {
		return err
	}
	for kind, n := range pg.Uses.SilentAccounts() {
		view.Silent = append(view.Silent, silent{kind, n})
	}
	slices.SortFunc(view.Silent, func(x, y silent) int { return cmp.Compare(x.Kind, y.Kind) })
	for _, p := range pg.Uses.Pools() {
		view.Pools = append(view.Pools, pool{p.Name, p.InUse, p.Idle, p.Most, p.Waits, p.Waited.Round(time.Millisecond)})
	}
	for _, n := range pg.Uses.DeadLetters() {
		view.Dead += n
	}
	return pg.Room.Show(w, r, v, "health", view)
}
