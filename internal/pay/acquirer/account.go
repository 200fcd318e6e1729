package acquirer

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// AccountPrefix begins the id of a provider account that the operator gave no
// name.
const AccountPrefix = "acc_"

// Account is the operator's account at a provider, in one environment,
// for one merchant or for all.
type Account struct {
	ID       string // acc_…, or the operator's own word; it is in the notification URL
	Version  int64
	Adapter  string // "stripe"
	Live     bool   // production; else the provider's own test environment
	Merchant string // whose payments it takes; "" for all merchants'
	Status   AccountStatus
	BaseURL  string      // in place of the provider's own address, "" for that
	Rails    []string    // catalog keys that it takes payments by; none: all that the adapter has
	Terms    []RailTerms // the operator's contract, by rail; the one of "" is for all others
	Priority int         // of two accounts the lower one is tried first
	// Credentials are sealed. Those of before are kept for a while after a
	// rotation, for notifications that the provider still signs with them.
	Credentials []byte
	Before      []byte
	RotatedAt   time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// AccountStatus says what an account is used for.
type AccountStatus string

// The statuses. A disabled account takes no new charges; it is still asked about
// those it took, and refunds them. A removed one is gone, except for its id.
const (
	AccountEnabled  AccountStatus = "enabled"
	AccountDisabled AccountStatus = "disabled"
	AccountRemoved  AccountStatus = "removed"
)

// RailTerms is what a provider asks for a rail, and takes at a time.
type RailTerms struct {
	Rail   string     `json:"rail,omitempty"` // catalog key; "" for every rail
	Fee    *money.Fee `json:"fee,omitempty"`  // nil: not known
	Limits []Limit    `json:"limits,omitempty"`
}

// DefaultPriority is an account's where the operator gives none.
const DefaultPriority = 100

// AccountGrace is how long notifications are taken that are signed with
// credentials which a rotation has replaced.
const AccountGrace = 24 * time.Hour

// accountID is what an account may be called: it stands in a URL.
var accountID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{1,63}$`)

// Environment names the account's environment.
func (a Account) Environment() tenant.Environment { return tenant.EnvironmentOf(a.Live) }

// Scope is whose audit log the account's acts stand in.
func (a Account) Scope() tenant.Scope {
	return tenant.Scope{Merchant: a.Merchant, Live: a.Live}
}

// Check says what is wrong with an account, as the operator wrote it.
//
// Errors: invalid_request.
func (a Account) Check() error {
	var wrong []problem.Issue
	add := func(path, format string, args ...any) {
		wrong = append(wrong, problem.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if !accountID.MatchString(a.ID) {
		add("id", "%q cannot be an account's id: want 2 to 64 letters, digits, - and _", a.ID)
	}
	if a.Priority < 0 || a.Priority > 1_000_000 {
		add("priority", "priority %d: want 0 to 1000000", a.Priority)
	}
	seen := map[string]bool{}
	for i, t := range a.Terms {
		path := fmt.Sprintf("terms[%d]", i)
		if seen[t.Rail] {
			add(path+".rail", "%s has terms twice", t.where())
		}
		seen[t.Rail] = true
		if t.Rail != "" && len(a.Rails) > 0 && !RailIn(a.Rails, t.Rail) {
			add(path+".rail", "%s has terms and is not on", t.Rail)
		}
		if t.Fee != nil && (t.Fee.Bps < 0 || t.Fee.Bps > 100_00 || t.Fee.Flat < 0 || t.Fee.Flat > MaxAmount) {
			add(path+".price", "the price of %s is not one: %s", t.where(), t.Fee)
		}
		for n, l := range t.Limits {
			at := fmt.Sprintf("%s.limits[%d]", path, n)
			if l.Min < 0 || l.Max < max(l.Min, 1) {
				add(at, "the limits of %s are none: %s", t.where(), l)
			}
			if slices.ContainsFunc(t.Limits[:n], func(o Limit) bool { return o.Currency == l.Currency }) {
				add(at, "%s has limits in %s twice", t.where(), l.Currency)
			}
		}
	}
	return problem.Invalid(wrong...)
}

func (t RailTerms) where() string { return cmp.Or(t.Rail, "all rails") }

// next is the account with one more version.
func (a Account) next(now time.Time) Account {
	a.Version++
	a.UpdatedAt = now
	if a.Version == 1 {
		a.CreatedAt = now
	}
	return a
}

// Present reports whether an account was not removed.
//
// Errors: conflict_state.
func (a Account) Present() error {
	if a.Status == AccountRemoved {
		return problem.Conflict("removed", "account "+a.ID+" was removed")
	}
	return nil
}

// Unchanged reports whether an account is as it was when somebody read it, so that
// of two operators neither undoes what the other has just done.
//
// Errors: conflict_state.
func (a Account) Unchanged(version int64) error {
	if a.Version != version {
		return problem.Conflict("version", fmt.Sprintf("account %s has version %d and not %d: it was changed meanwhile; read it again", a.ID, a.Version, version))
	}
	return nil
}

// Save is the next version of an account that is new or was edited.
//
// Errors: invalid_request, conflict_state for one that was removed.
func (a Account) Save(now time.Time) (Account, error) {
	if err := a.Present(); err != nil {
		return a, err
	}
	if err := a.Check(); err != nil {
		return a, err
	}
	return a.next(now), nil
}

// Rotate puts other credentials in place of the present ones, which join those of
// before. All are sealed.
func (a Account) Rotate(credentials, before []byte, now time.Time) (Account, error) {
	a.Credentials, a.Before, a.RotatedAt = credentials, before, now
	return a.Save(now)
}

// Forget gives up the credentials of before, which count no more at that time.
// false: there are none, or they still count.
func (a Account) Forget(now time.Time) (Account, bool) {
	if len(a.Before) == 0 || now.Before(a.RotatedAt.Add(AccountGrace)) {
		return a, false
	}
	a.Before = nil
	return a.next(now), true
}

// Remove takes an account and its credentials out of use for good. Its id is
// never used again, since old payments name it. open is how many payments it has
// that are not decided yet: nobody could learn any more how they end, so only
// force removes it then.
//
// Errors: conflict_state.
func (a Account) Remove(open int, force bool, now time.Time) (Account, error) {
	if err := a.Present(); err != nil {
		return a, err
	}
	if open > 0 && !force {
		return a, problem.Conflict("open_payments", fmt.Sprintf("account %s has %d open payments: disable it and wait, or remove it by force", a.ID, open))
	}
	a.Status, a.Credentials, a.Before = AccountRemoved, nil, nil
	return a.next(now), nil
}

// fee is what the provider asks for a rail, nil where nobody said.
func (a Account) fee(rail string) *money.Fee {
	for t := range a.termsFor(rail) {
		if t.Fee != nil {
			return t.Fee
		}
	}
	return nil
}

// limit is what the account takes of a rail at a time in a currency, false for
// no more than the rail itself says.
func (a Account) limit(rail string, c money.Currency) (Limit, bool) {
	for t := range a.termsFor(rail) {
		for _, l := range t.Limits {
			if l.Currency == c {
				return l, true
			}
		}
	}
	return Limit{}, false
}

// termsFor are the terms that count for a rail, the closest first: its own, its network's
// ("account.*"), those of all rails.
func (a Account) termsFor(rail string) iter.Seq[RailTerms] {
	return func(yield func(RailTerms) bool) {
		for _, key := range []string{rail, networkOf(rail), ""} {
			for _, t := range a.Terms {
				if t.Rail == key && !yield(t) {
					return
				}
			}
		}
	}
}

// networkOf stands for all rails of a rail's network.
func networkOf(rail string) string {
	network, _, _ := strings.Cut(rail, ".")
	return network + ".*"
}

// limits are the rail's limits as far as the account goes along.
func (a Account) limits(rail Rail) []Limit {
	var list []Limit
	for _, l := range rail.Limits {
		if own, ok := a.limit(rail.Key, l.Currency); ok {
			l.Min, l.Max = max(l.Min, own.Min), min(l.Max, own.Max)
		}
		if l.Min <= l.Max {
			list = append(list, l)
		}
	}
	return list
}

// Accounts are provider accounts that rails are on at: Rails lists them all.
type Accounts []Account

// Serving selects the accounts that a shop's payments over a rail may go to.
func (list Accounts) Serving(s tenant.Scope, rail Rail) Accounts {
	var serving Accounts
	for _, a := range list {
		if a.Refuses(s, rail) == "" {
			serving = append(serving, a)
		}
	}
	return serving
}

// Refuses says why a shop's payments over a rail cannot go to the account, "" when
// they can.
func (a Account) Refuses(s tenant.Scope, rail Rail) string {
	switch {
	case a.Live != s.Live:
		return "is for the " + string(a.Environment())
	case a.Merchant != "" && a.Merchant != s.Merchant:
		return "is another merchant's"
	case a.Status != AccountEnabled:
		return "is " + string(a.Status)
	case !RailIn(a.Rails, rail.Key):
		return "does not serve " + rail.Key
	case len(a.limits(rail)) == 0:
		return "has limits that leave nothing of the rail's"
	}
	return ""
}

// RailIn reports whether a list of rails has one. "account.*" stands for all of a network.
func RailIn(list []string, rail string) bool {
	return slices.Contains(list, rail) || slices.Contains(list, networkOf(rail))
}

// Taking selects the accounts that take an amount over a rail, and says of the
// others why they do not.
func (list Accounts) Taking(rail Rail, local money.Amount) (taking Accounts, passed []string) {
	for _, a := range list {
		if l, bounded := a.limit(rail.Key, local.Currency); bounded && l.Check(local) != nil {
			passed = append(passed, a.ID+": takes "+l.String())
			continue
		}
		taking = append(taking, a)
	}
	return taking, passed
}

// Narrow bounds a rail by what the accounts that serve it take at a time: from
// the smallest to the largest that one of them takes.
func (list Accounts) Narrow(rail Rail) Rail {
	if len(list) == 0 {
		return rail
	}
	var narrow []Limit
	for _, of := range rail.Limits {
		widest, found := Limit{Currency: of.Currency}, false
		for _, a := range list {
			if l, ok := (Rail{Limits: a.limits(rail)}).LimitIn(of.Currency); ok {
				if !found {
					widest, found = l, true
				}
				widest.Min, widest.Max = min(widest.Min, l.Min), max(widest.Max, l.Max)
			}
		}
		if found {
			narrow = append(narrow, widest)
		}
	}
	rail.Limits = narrow
	return rail
}

// Cost is what the provider asks for a payment, false where nobody said. It is
// rounded, for people.
func (a Account) Cost(rail string, usd money.Amount) (money.Amount, bool) {
	f := a.fee(rail)
	if f == nil {
		return money.Amount{}, false
	}
	return usd.Share(f.Bps, money.HalfEven).Add(money.New(f.Flat, money.USD)), true
}

// CompareCost orders two accounts by what they ask for a payment, without rounding.
// One whose price nobody knows comes after those that are known.
func CompareCost(a, b Account, rail string, usd money.Amount) int {
	x, y := a.fee(rail), b.fee(rail)
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	return cmp.Compare(x.Exact(usd), y.Exact(usd))
}

// PayoutRail is what an account pays out over: to a network, in a currency. Its amounts are in USD.
func PayoutRail(network, currency string) Rail {
	return Rail{Key: network + "." + currency, Limits: []Limit{{Currency: money.USD, Min: 1, Max: math.MaxInt64}}}
}

// RefusePayout says why none of the accounts pays out an amount of USD, after the fee.
//
// Errors: amount_above_maximum, amount_below_minimum; in a gap between what two accounts pay out,
// the nearer end.
func (list Accounts) RefusePayout(rail Rail, net money.Amount) error {
	least, most := int64(math.MaxInt64), int64(0) // the next above, and the next below
	for _, a := range list {
		l, bounded := a.limit(rail.Key, money.USD)
		switch {
		case bounded && l.Min > net.Minor:
			least = min(least, l.Min)
		case bounded && l.Max < net.Minor:
			most = max(most, l.Max)
		}
	}
	if most > 0 && (least == math.MaxInt64 || net.Minor-most <= least-net.Minor) {
		return problem.Field(problem.AmountAboveMaximum, "amount", fmt.Sprintf("at most %s are paid out to this wallet at a time, and the fee comes on top", money.New(most, money.USD)))
	}
	return problem.Field(problem.AmountBelowMinimum, "amount", fmt.Sprintf("at least %s are paid out to this wallet, and the fee comes on top", money.New(least, money.USD)))
}

// First is the account that is tried first with an amount: by priority, then by what it asks, then
// by id.
func (list Accounts) First(rail Rail, usd money.Amount) Account {
	return slices.MinFunc(list, func(a, b Account) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), CompareCost(a, b, rail.Key, usd), cmp.Compare(a.ID, b.ID))
	})
}
