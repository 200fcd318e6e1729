package books

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	appbooks "github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// pastChecks is how many checks the page lists; shownBroken is how many of the broken rules' rows.
const pastChecks, shownBroken = 20, 200

// checkView is the page of the check of the books on this node: the one that runs, or else the last one.
type checkView struct {
	Mark     string // changes with anything that is live
	Running  bool
	Stopping bool
	By       string
	Began    time.Time
	Progress appbooks.CheckProgress
	Percent  int
	Left     time.Duration // 0: not known
	Last     bool          // one has ended on this node
	Ended    time.Time
	Stopped  bool
	Failed   string
	Broken   []store.Broken
	More     int // broken ones that are not shown
	Past     []pastCheck
}

// pastCheck is a check that has ended, by the audit log.
type pastCheck struct {
	At     time.Time
	By     string
	What   string // everything, seals
	Result string // ended, stopped, failed
	Broken int
	Took   string
}

// checking is what the check does on this node now.
func (pg *pages) checking(ctx context.Context) (checkView, error) {
	s := pg.Uses.Checks.State()
	view := checkView{Mark: fmt.Sprint(s.Changes), Running: s.Running, Stopping: s.Stopping}
	by := s.By
	switch {
	case s.Running:
		now := s.Progress.Now
		view.Began, view.Progress, view.Broken = s.Began, s.Progress, now.Broken
		if now.Total > 0 {
			view.Percent = int(min(now.Done, now.Total) * 100 / now.Total)
		}
		if now.Done > 0 && now.Done < now.Total && now.Took > time.Second {
			view.Left = (now.Took * time.Duration(now.Total-now.Done) / time.Duration(now.Done)).Round(time.Second)
		}
	case s.Last != nil:
		by = s.Last.By
		view.Last, view.Began, view.Ended, view.Stopped, view.Broken = true, s.Last.Began, s.Last.At, s.Last.Stopped, s.Last.Result.Broken
		if s.Last.Err != nil {
			view.Failed = desk.Sentence(message.Sentence(s.Last.Err))
		}
	default:
		return view, nil
	}
	if view.More = len(view.Broken) - shownBroken; view.More > 0 {
		view.Broken = view.Broken[:shownBroken]
	}
	var err error
	view.By, err = pg.Who(ctx, map[string]string{}, by.ID)
	return view, err
}

// check is the page of the check. The last results are of all nodes.
func (pg *pages) check(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := pg.checking(r.Context())
	if err != nil {
		return err
	}
	if view.Past, err = pg.past(r.Context()); err != nil {
		return err
	}
	return pg.Room.Show(w, r, v, "check", view)
}

// past lists the last checks of all nodes.
func (pg *pages) past(ctx context.Context) (list []pastCheck, err error) {
	past, err := pg.Uses.Checks.Past(ctx, pastChecks)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, e := range past {
		one := pastCheck{At: e.At, What: e.Details["what"], Result: e.Details["result"], Took: e.Details["took"]}
		one.Broken, _ = strconv.Atoi(e.Details["broken"]) // the service wrote a number
		if one.By, err = pg.Who(ctx, names, e.By.ID); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// checkLive sends how far the check is.
func (pg *pages) checkLive(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.Stream(w, r, v, func(ctx context.Context) (string, func() (string, error), error) {
		view, err := pg.checking(ctx)
		return view.Mark, func() (string, error) {
			if view.Past, err = pg.past(ctx); err != nil {
				return "", err
			}
			return pg.Room.Block(r, v, "check", "state", view)
		}, err
	})
}

// startCheck starts a check on this node.
func (pg *pages) startCheck(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := pg.Uses.Checks.Start(v.Actor(), appbooks.CheckOptions{Seals: r.FormValue("only") == "seals"}); err != nil {
		return err
	}
	return pg.Done(w, r, "check", "check_started")
}

func (pg *pages) stopCheck(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	if !pg.Uses.Checks.Stop() {
		return problem.New(problem.ConflictState, noCheckRuns)
	}
	return pg.Done(w, r, "check", "check_stopping")
}

// sealsView is the page of the seals.
type sealsView struct {
	desk.Form
	Chains   []chain // at most shownChains
	Count    int
	Blocks   int64
	Newest   time.Time
	Waiting  time.Time // since when the oldest row waits to be sealed; zero: none waits
	Compared int       // heads of a file that were compared; 0: none was
	Broken   []store.Broken
}

// chain is a chain of seals with its newest block.
type chain struct {
	store.Newest
	Page bool // its owner is a merchant, and no float
}

// shownChains is how many chains the page lists; the file of heads has all.
const shownChains = 100

func (pg *pages) seals(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := pg.ReadMuch(w, v); err != nil {
		return err
	}
	return pg.showSeals(w, r, v, http.StatusOK, sealsView{})
}

func (pg *pages) showSeals(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view sealsView) error {
	err := pg.Uses.Checks.Heads(r.Context(), func(n store.Newest) error {
		if view.Count++; view.Count <= shownChains {
			view.Chains = append(view.Chains, chain{n, strings.HasPrefix(n.Merchant, merchants.MerchantPrefix)})
		}
		view.Blocks += n.N
		if n.At.After(view.Newest) {
			view.Newest = n.At
		}
		return nil
	})
	if err != nil {
		return err
	}
	due, err := pg.Uses.OldestDue(r.Context())
	if err != nil {
		return err
	}
	view.Waiting = due["seals"]
	return pg.Room.ShowStatus(w, r, v, status, "seals", view)
}

// heads is the file of the newest blocks, as cascada seal head prints it.
func (pg *pages) heads(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := pg.ReadMuch(w, v); err != nil {
		return err
	}
	var file strings.Builder
	err := pg.Uses.Checks.Heads(r.Context(), func(n store.Newest) error {
		fmt.Fprintln(&file, n.String())
		return nil
	})
	if err != nil {
		return err
	}
	frame.Foreign(w, "heads-"+pg.Uses.Now().UTC().Format("20060102-150405")+".txt", "text/plain; charset=utf-8", []byte(file.String()), false)
	return nil
}

// compareHeads proves that the chains continue from a file of heads, as cascada check --heads does.
func (pg *pages) compareHeads(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := pg.ReadMuch(w, v); err != nil {
		return err
	}
	_, content, err := file(r, "heads")
	var view sealsView
	if err == nil {
		view.Broken, view.Compared, err = pg.Uses.Checks.CheckHeads(r.Context(), strings.NewReader(string(content)))
		err = desk.Shown(err, "heads")
	}
	if err == nil {
		return pg.showSeals(w, r, v, http.StatusOK, view)
	}
	view = sealsView{}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showSeals(w, r, v, status, view)
}
