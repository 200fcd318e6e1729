package routing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/pay/routing/replay"
)

// PastRoutes says which payments are replayed, and with which rules.
type PastRoutes struct {
	Since, Until time.Time
	Live         bool
	Rail         string         // catalog key; "" for all
	Rules        *routing.Rules // nil: the rules in force
	// Accounts are hypothetical changes of provider accounts, by id.
	Accounts map[string]func(accounts.Account) (accounts.Account, error)
	Examples int
	// Progress is called after each page of payments. It must not block. nil: it is not called.
	Progress func(RerouteProgress)
}

// RerouteProgress is the progress of a replay.
type RerouteProgress struct {
	Payments int64 // read so far; each is read twice
	Permille int   // of the time that is read, of a thousand
}

// Rerouted is the result of a replay.
type Rerouted struct {
	replay.Report
	InForce   RulesVersion
	Changed   []accounts.Account // the accounts with their changes
	Simulated int64              // payments that stand-ins took: left out
}

const (
	replayPage = 1000
	// Payments from before the period are read too, to know the accounts' state at its start:
	// circuits forget within minutes, success rates within days.
	circuitsBefore = 15 * time.Minute
	scoresBefore   = 48 * time.Hour
)

// Replay runs past payments through other rules and changed accounts, and returns the differences.
// It reads the period twice, a page at a time.
//
// It returns an error if the rules or the accounts are invalid.
func (ru *Rules) Replay(ctx context.Context, o PastRoutes) (done Rerouted, err error) {
	if done.InForce, err = ru.Current(ctx); err != nil {
		return done, err
	}
	if o.Rail != "" && !ru.isRail(o.Rail) {
		return done, noRail.With(o.Rail)
	}
	c := replay.Config{Since: o.Since, Examples: o.Examples}
	c.InForce.Rules = done.InForce.Rules
	if c.Changed.Rules = c.InForce.Rules; o.Rules != nil {
		c.Changed.Rules = *o.Rules
	}
	list, err := ru.Store.Accounts().List(ctx)
	if err != nil {
		return done, err
	}
	c.InForce.Accounts = ru.withRails(list)
	var changed []accounts.Account
	changed, done.Changed, err = ru.otherwise(list, o.Accounts)
	if err != nil {
		return done, err
	}
	c.Changed.Accounts = ru.withRails(changed)
	if err := ru.check(ctx, c.Changed.Rules, changed); err != nil {
		return done, err
	}

	survey, far := replay.NewSurvey(), &distance{o: o}
	if err = ru.eachPast(ctx, o, far.pass(o.Since), survey.Add, nil); err != nil {
		return done, err
	}
	before := circuitsBefore
	if c.InForce.Rules.Rates() || c.Changed.Rules.Rates() {
		before = scoresBefore
	}
	r := replay.New(c, survey)
	err = ru.eachPast(ctx, o, far.pass(o.Since.Add(-before)), r.Add, func(p pay.Payment) {
		if !p.Times.Created.Before(o.Since) {
			done.Simulated++
		}
	})
	done.Report = r.Report()
	return done, err
}

// eachPast calls each with the payments from a time to the end of the period that went through the
// operator's accounts, in order of time. skipped, if not nil, is called with those that stand-ins
// took.
func (ru *Rules) eachPast(ctx context.Context, o PastRoutes, far *distance, each func(pay.Payment, accounts.Rail), skipped func(pay.Payment)) error {
	after, before := id.From(pay.PaymentPrefix, far.from), id.From(pay.PaymentPrefix, o.Until)
	for {
		page, err := ru.Store.Payments().Between(ctx, o.Live, after, before, replayPage)
		if err != nil {
			return err
		}
		for _, p := range page {
			after = p.ID
			rail := ru.providers.Catalog.ByID[p.Way.RailID]
			switch {
			case o.Rail != "" && rail.Key != o.Rail:
			case ru.played(p):
				if skipped != nil {
					skipped(p)
				}
			default:
				each(p, rail)
			}
		}
		far.read(page)
		if len(page) < replayPage {
			return nil
		}
	}
}

// distance is the progress of a replay, which goes over its period twice.
type distance struct {
	o    PastRoutes
	from time.Time // where this pass begins
	at   RerouteProgress
	over int // passes that have ended
}

// pass begins a pass.
func (d *distance) pass(from time.Time) *distance {
	if !d.from.IsZero() {
		d.over++
	}
	d.from = from
	return d
}

// read reports that a page was read.
func (d *distance) read(page []pay.Payment) {
	if d.o.Progress == nil || len(page) == 0 {
		return
	}
	const passes, whole = 2, 1000
	d.at.Payments += int64(len(page))
	span := max(d.o.Until.Sub(d.from), 1)
	share := page[len(page)-1].Times.Created.Sub(d.from) * whole / span
	d.at.Permille = (d.over*whole + int(min(max(share, 0), whole))) / passes
	d.o.Progress(d.at)
}

// played reports whether a payment went to stand-ins.
func (ru *Rules) played(p pay.Payment) bool {
	return p.Script.Action != "" || slices.ContainsFunc(p.Attempts, func(at pay.Attempt) bool { return ru.providers.StandIns[at.Provider] != nil })
}

// otherwise returns the accounts with the replay's changes, and those that differ.
func (ru *Rules) otherwise(list []accounts.Account, changes map[string]func(accounts.Account) (accounts.Account, error)) (all, changed []accounts.Account, err error) {
	all = slices.Clone(list)
	var wrong []error
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		i := slices.IndexFunc(all, func(of accounts.Account) bool { return of.ID == id && of.Status != accounts.Removed })
		if i < 0 {
			wrong = append(wrong, fmt.Errorf("accounts: there is no account %s", id))
			continue
		}
		account, err := changes[id](all[i])
		if err == nil {
			err = cmp.Or(account.Check(), ru.checkRails(account))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("accounts: %s: %w", id, err))
		}
		all[i] = account
		changed = append(changed, account)
	}
	return all, changed, errors.Join(wrong...)
}

// checkRails returns an error that lists the account's rails which its adapter lacks.
func (ru *Rules) checkRails(account accounts.Account) error {
	adapter, err := ru.providers.Adapter(account.Adapter)
	if err != nil {
		return err
	}
	return appaccounts.CheckRails(adapter, account)
}
