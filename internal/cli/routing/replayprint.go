package routing

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/routing/replay"
)

// printReplay prints for people what would have been different.
func printReplay(out io.Writer, o routing.PastRoutes, r routing.Rerouted) {
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	line("payments of %s from %s to %s", merchants.EnvironmentOf(o.Live), o.Since.Format(cli.TimeForm), o.Until.Format(cli.TimeForm))
	inForce := whence(r.InForce)
	if !r.InForce.Applied {
		inForce += ", assumed to be " + string(r.InForce.Order)
	}
	line("in force: %s", inForce)
	for _, account := range r.Changed {
		line("assumed: %s, %s", account.ID, settingsOf(account))
	}
	line("")
	line("%d were replayed; %d begin at another account", r.Payments, r.Elsewhere)
	line("left out: %d with an unknown outcome, %d of the simulated providers", r.Open, r.Simulated)
	if r.Unexplained > 0 {
		line("%d began elsewhere than the rules in force say now: accounts or rules were different then, or a node knew less about them", r.Unexplained)
	}
	line("")
	line("\treally\treplayed")
	e := r.Estimated
	low, high := r.Range()
	line("approved\t%d\t%s", r.Real(), around(r.Replayed(), low, high, e.Payments > 0))
	line("  known\t%d of %d\t%d: what really happened there", r.Known.Accepted, r.Known.Payments, r.Known.Replayed)
	if e.Payments > 0 {
		line("  estimated\t%d of %d\t%.1f: at an account that never tried them", e.Accepted, e.Payments, e.Replayed)
	}
	line("tries a payment\t%s\t%s", per(float64(r.Tries.Real), r.Payments), per(r.Tries.Replayed, r.Payments))
	line("failovers\t%d\t%s", r.Failovers.Real, count(r.Failovers.Replayed))
	line("paid\t%s\t%s", r.Volume.Was(), split2(r.Volume))
	line("cost\t%s\t%s", r.Cost.Was(), split2(r.Cost))
	line("  of what was paid\t%s\t%s", share(r.Cost.Was(), r.Volume.Was()), share(r.Cost.Total(), r.Volume.Total()))
	unpriced(line, "really", r.Unpriced.Real)
	unpriced(line, "replayed", r.Unpriced.Replayed)
	tables(line, r)
	if len(r.Examples) > 0 {
		line("\nfor example")
	}
	for _, x := range r.Examples {
		line("%s %s by %s", x.ID, x.Amount, x.Rail)
		line("  really: %s", cmp.Or(strings.Join(x.Really, ", "), "no account served it"))
		line("  replayed: %s", cmp.Or(strings.Join(x.Replayed, ", "), "no account serves it"))
	}
}

func tables(line func(string, ...any), r routing.Rerouted) {
	if len(r.Rails) > 0 {
		line("\nRAIL\tPAYMENTS\tELSEWHERE\tAPPROVED\tREPLAYED\tCOST\tREPLAYED")
	}
	for _, s := range r.Rails {
		low, high := s.Range()
		line("%s\t%d\t%d\t%d\t%s\t%s\t%s", s.Rail, s.Payments, s.Elsewhere, s.Real(), around(s.Replayed(), low, high, s.Estimated.Payments > 0), s.Cost.Was(), s.Cost.Total())
	}
	if len(r.Rules) > 0 {
		line("\nRULE\tPAYMENTS\tELSEWHERE\tAPPROVED\tREPLAYED\tCOST\tREPLAYED")
	}
	for _, s := range r.Rules {
		low, high := s.Range()
		line("%s\t%d\t%d\t%d\t%s\t%s\t%s", cmp.Or(s.Decider, "(none of them)"), s.Payments, s.Elsewhere, s.Real(), around(s.Replayed(), low, high, s.Estimated.Payments > 0), s.Cost.Was(), s.Cost.Total())
	}
	if len(r.Accounts) > 0 {
		line("\nACCOUNT\tFIRST\tREPLAYED\tTRIES\tREPLAYED\tESTIMATED\tAPPROVED\tREPLAYED\tCOST\tREPLAYED")
	}
	for _, s := range r.Accounts {
		line("%s\t%d\t%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s", s.Account, s.First.Real, count(s.First.Replayed), s.Tries.Real, count(s.Tries.Replayed), count(s.Guessed),
			s.Accepted.Real, count(s.Accepted.Replayed), s.Cost.Was(), s.Cost.Total())
	}
}

// settingsOf writes an account's settings for people.
func settingsOf(a accounts.Account) string {
	words := []string{string(a.Status), fmt.Sprintf("priority %d", a.Priority)}
	if len(a.Rails) > 0 {
		words = append(words, "rails "+strings.Join(a.Rails, " "))
	}
	for _, t := range a.Terms {
		text := cmp.Or(t.Rail, "every other rail")
		if t.Fee != nil {
			text += " " + t.Fee.String()
		}
		for _, l := range t.Limits {
			text += " " + l.String()
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

// count writes a number that may be an estimate; whole numbers have no decimals.
func count(n float64) string {
	if n == math.Trunc(n) {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

func around(n, low, high float64, estimated bool) string {
	if !estimated {
		return count(n)
	}
	return fmt.Sprintf("about %.0f (%.0f to %.0f)", n, math.Floor(low), math.Ceil(high))
}

func per(n float64, of int64) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3f", n/float64(of))
}

// split2 writes an amount with the part of it that is estimated.
func split2(m replay.Money) string {
	if m.Estimated().IsZero() {
		return m.Total().String()
	}
	return fmt.Sprintf("about %s (%s of it estimated)", m.Total(), m.Estimated())
}

func share(cost, of money.Amount) string {
	if of.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(cost.Minor)/float64(of.Minor))
}

func unpriced(line func(string, ...any), which string, at map[string]float64) {
	for _, account := range slices.Sorted(maps.Keys(at)) {
		line("  %s without a price\t\t%s at %s: they count as free of charge", which, count(at[account]), account)
	}
}

// replayJSON is the shape of route replay --json. Money is USD text.
type replayJSON struct {
	Since       string                `json:"since"`
	Until       string                `json:"until"`
	Environment merchants.Environment `json:"environment"`
	InForce     int64                 `json:"rulesInForce"` // version; 0: none
	Simulated   int64                 `json:"simulated"`
	Open        int64                 `json:"open"`
	Unexplained int64                 `json:"beganElsewhereThanRulesInForce"`
	All         sumsJSON              `json:"all"`
	Unpriced    unpricedJSON          `json:"withoutPrice"`
	Rails       map[string]sumsJSON   `json:"rails"`
	Rules       []ruleSumsJSON        `json:"rules"` // with conditions, in their order; last those about which none decides
	Accounts    []accountSumsJSON     `json:"accounts"`
	Examples    []exampleJSON         `json:"examples"`
}

type sumsJSON struct {
	Payments  int64      `json:"payments"`
	Elsewhere int64      `json:"beginElsewhere"`
	Approved  bothJSON   `json:"approved"`
	Range     [2]float64 `json:"approvedRange"`
	Known     groupJSON  `json:"known"`
	Estimated groupJSON  `json:"estimated"`
	Failovers bothJSON   `json:"failovers"`
	Tries     bothJSON   `json:"tries"`
	Paid      moneyJSON  `json:"paid"`
	Cost      moneyJSON  `json:"cost"`
}

type ruleSumsJSON struct {
	Rule string `json:"rule"` // "" of the payments about which none decides
	sumsJSON
}

type bothJSON struct {
	Real     int64   `json:"real"`
	Replayed float64 `json:"replayed"`
}

type groupJSON struct {
	Payments int64 `json:"payments"`
	bothJSON
}

type moneyJSON struct {
	Real      string `json:"real"`
	Replayed  string `json:"replayed"`
	Estimated string `json:"estimated"` // of it
}

type unpricedJSON struct {
	Real     map[string]float64 `json:"real"`
	Replayed map[string]float64 `json:"replayed"`
}

type accountSumsJSON struct {
	Account   string    `json:"account"`
	First     bothJSON  `json:"first"`
	Tries     bothJSON  `json:"tries"`
	Estimated float64   `json:"triesEstimated"`
	Approved  bothJSON  `json:"approved"`
	Cost      moneyJSON `json:"cost"`
}

type exampleJSON struct {
	ID       string   `json:"id"`
	Rail     string   `json:"rail"`
	Amount   string   `json:"amount"`
	Really   []string `json:"real"`
	Replayed []string `json:"replayed"`
}

// tenth rounds an estimate to one decimal.
func tenth(n float64) float64 { return math.Round(10*n) / 10 }

func both(p replay.Pair) bothJSON { return bothJSON{p.Real, tenth(p.Replayed)} }

func newMoneyJSON(m replay.Money) moneyJSON {
	return moneyJSON{m.Was().Decimal(), m.Total().Decimal(), m.Estimated().Decimal()}
}

func newSumsJSON(s replay.Sums) sumsJSON {
	low, high := s.Range()
	return sumsJSON{
		Payments: s.Payments, Elsewhere: s.Elsewhere, Approved: bothJSON{s.Real(), tenth(s.Replayed())}, Range: [2]float64{tenth(low), tenth(high)},
		Known:     groupJSON{s.Known.Payments, bothJSON{s.Known.Accepted, float64(s.Known.Replayed)}},
		Estimated: groupJSON{s.Estimated.Payments, bothJSON{s.Estimated.Accepted, tenth(s.Estimated.Replayed)}},
		Failovers: both(s.Failovers), Tries: both(s.Tries), Paid: newMoneyJSON(s.Volume), Cost: newMoneyJSON(s.Cost),
	}
}

func newReplayJSON(o routing.PastRoutes, r routing.Rerouted) replayJSON {
	told := replayJSON{
		Since: o.Since.Format(cli.TimeForm), Until: o.Until.Format(cli.TimeForm), Environment: merchants.EnvironmentOf(o.Live), InForce: r.InForce.Version,
		Simulated: r.Simulated, Open: r.Open, Unexplained: r.Unexplained, All: newSumsJSON(r.Sums), Unpriced: unpricedJSON(r.Unpriced),
		Rails: map[string]sumsJSON{}, Rules: []ruleSumsJSON{}, Accounts: []accountSumsJSON{}, Examples: []exampleJSON{},
	}
	for _, s := range r.Rails {
		told.Rails[s.Rail] = newSumsJSON(s.Sums)
	}
	for _, s := range r.Rules {
		told.Rules = append(told.Rules, ruleSumsJSON{s.Decider, newSumsJSON(s.Sums)})
	}
	for _, s := range r.Accounts {
		told.Accounts = append(told.Accounts, accountSumsJSON{s.Account, both(s.First), both(s.Tries), tenth(s.Guessed), both(s.Accepted), newMoneyJSON(s.Cost)})
	}
	for _, x := range r.Examples {
		told.Examples = append(told.Examples, exampleJSON{x.ID, x.Rail, x.Amount.Decimal(), x.Really, x.Replayed})
	}
	return told
}
