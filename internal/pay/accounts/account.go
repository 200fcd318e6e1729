package accounts

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
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Prefix begins the id of a provider account for which the operator chose no id.
const Prefix = "acc_"

// MaxBaseURL is the longest address that overrides a provider's own, in characters.
const MaxBaseURL = 500

// Account is the operator's account at a provider, in one environment, for one merchant or for all.
type Account struct {
	ID       string // acc_…, or an id that the operator chose; it is part of the notification URL
	Version  int64
	Adapter  string // "stripe"
	Live     bool   // production; otherwise the provider's own test environment
	Merchant string // the merchant whose payments it takes; "" for all merchants
	Status   Status
	BaseURL  string      // overrides the provider's own address; "" for the provider's own
	Rails    []string    // catalog keys of the rails that are on; none: all rails of the adapter
	Terms    []RailTerms // the operator's contract, by rail; the terms with rail "" are for all other rails
	Priority int         // the account with the lower number is tried first
	// Credentials are encrypted. After a rotation the previous ones are kept for a while, because
	// the provider may still sign notifications with them.
	Credentials []byte
	Before      []byte
	RotatedAt   time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Status says what an account is used for.
type Status string

// The statuses. A disabled account takes no new charges, but its earlier charges are still queried
// and refunded. Of a removed account only the id is kept.
const (
	Enabled  Status = "enabled"
	Disabled Status = "disabled"
	Removed  Status = "removed"
)

// RailTerms is the provider's price for a rail and the limits of one payment.
type RailTerms struct {
	Rail   string     `json:"rail,omitempty"` // catalog key; "" for every rail
	Fee    *money.Fee `json:"fee,omitempty"`  // nil: not known
	Limits []Limit    `json:"limits,omitempty"`
}

// DefaultPriority is the priority of an account for which the operator sets none.
const DefaultPriority = 100

// Grace is how long after a rotation notifications may still be signed with the previous
// credentials.
const Grace = 24 * time.Hour

// accountID matches the ids that an account may have. The id is part of a URL.
var accountID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{1,63}$`)

// Environment names the account's environment.
func (a Account) Environment() merchants.Environment { return merchants.EnvironmentOf(a.Live) }

// Scope is the scope of the audit entries about the account.
func (a Account) Scope() merchants.Scope {
	return merchants.Scope{Merchant: a.Merchant, Live: a.Live}
}

// Check validates an account as the operator wrote it.
//
// Errors: invalid_request.
func (a Account) Check() error {
	var wrong []problem.Issue
	add := func(path string, why problem.Reason) {
		wrong = append(wrong, problem.Issue{Path: path, Reason: why})
	}
	if !accountID.MatchString(a.ID) {
		add("id", idMalformed.With(a.ID))
	}
	if a.Priority < 0 || a.Priority > 1_000_000 {
		add("priority", priorityOutOfRange.With(a.Priority))
	}
	seen := map[string]bool{}
	for i, t := range a.Terms {
		path := fmt.Sprintf("terms[%d]", i)
		if seen[t.Rail] {
			add(path+".rail", termsTwice.With(t.where()))
		}
		seen[t.Rail] = true
		if t.Rail != "" && len(a.Rails) > 0 && !RailIn(a.Rails, t.Rail) {
			add(path+".rail", termsOfRailOff.With(t.Rail))
		}
		if t.Fee != nil && (t.Fee.Bps < 0 || t.Fee.Bps > 100_00 || t.Fee.Flat < 0 || t.Fee.Flat > MaxAmount) {
			add(path+".price", priceInvalid.With(t.where(), t.Fee))
		}
		for n, l := range t.Limits {
			at := fmt.Sprintf("%s.limits[%d]", path, n)
			if l.Min < 0 || l.Max < max(l.Min, 1) {
				add(at, limitsInvalid.With(t.where(), l))
			}
			if slices.ContainsFunc(t.Limits[:n], func(o Limit) bool { return o.Currency == l.Currency }) {
				add(at, limitsTwice.With(t.where(), l.Currency))
			}
		}
	}
	return problem.Invalid(wrong...)
}

func (t RailTerms) where() string { return cmp.Or(t.Rail, "all rails") }

// next returns the account with its version raised by one.
func (a Account) next(now time.Time) Account {
	a.Version++
	a.UpdatedAt = now
	if a.Version == 1 {
		a.CreatedAt = now
	}
	return a
}

// Present returns an error if the account was removed.
//
// Errors: conflict_state.
func (a Account) Present() error {
	if a.Status == Removed {
		return problem.Conflict("removed", accountRemoved.With(a.ID))
	}
	return nil
}

// Unchanged returns an error if the account has changed since somebody read it, so that two
// operators do not undo each other's changes.
//
// Errors: conflict_state.
func (a Account) Unchanged(version int64) error {
	if a.Version != version {
		return problem.Conflict("version", accountChanged.With(a.ID, a.Version, version))
	}
	return nil
}

// Save returns the next version of an account that is new or was edited.
//
// Errors: invalid_request; conflict_state for a removed account.
func (a Account) Save(now time.Time) (Account, error) {
	if err := a.Present(); err != nil {
		return a, err
	}
	if err := a.Check(); err != nil {
		return a, err
	}
	return a.next(now), nil
}

// Rotate replaces the credentials. before are the previous ones, which stay valid for Grace.
// All are encrypted.
func (a Account) Rotate(credentials, before []byte, now time.Time) (Account, error) {
	a.Credentials, a.Before, a.RotatedAt = credentials, before, now
	return a.Save(now)
}

// Forget deletes the previous credentials once their grace period is over. It returns false if
// there are none, or if they are still valid.
func (a Account) Forget(now time.Time) (Account, bool) {
	if len(a.Before) == 0 || now.Before(a.RotatedAt.Add(Grace)) {
		return a, false
	}
	a.Before = nil
	return a.next(now), true
}

// Remove deletes an account and its credentials for good. Its id is never used again, because old
// payments name it. open is the number of its payments whose outcome is still open: after the
// removal their provider cannot be queried any more, so with open payments only force removes it.
//
// Errors: conflict_state.
func (a Account) Remove(open int, force bool, now time.Time) (Account, error) {
	if err := a.Present(); err != nil {
		return a, err
	}
	if open > 0 && !force {
		return a, problem.Conflict("open_payments", accountBusy.With(a.ID, open))
	}
	a.Status, a.Credentials, a.Before = Removed, nil, nil
	return a.next(now), nil
}

// fee is the provider's fee for a rail, nil if it is not known.
func (a Account) fee(rail string) *money.Fee {
	for t := range a.termsFor(rail) {
		if t.Fee != nil {
			return t.Fee
		}
	}
	return nil
}

// limit is the account's own limit for a rail and a currency. It returns false if only the rail's
// own limit applies.
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

// termsFor yields the terms that apply to a rail, the most specific first: the rail's own, its
// network's ("account.*"), those of all rails.
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

// networkOf returns the pattern for all rails of the rail's network.
func networkOf(rail string) string {
	network, _, _ := strings.Cut(rail, ".")
	return network + ".*"
}

// limits are the rail's limits, narrowed to the account's.
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

// Accounts are provider accounts. Each lists all rails that are on in Rails.
type Accounts []Account

// Serving selects the accounts that may take a shop's payments over a rail.
func (ac Accounts) Serving(s merchants.Scope, rail Rail) Accounts {
	var serving Accounts
	for _, a := range ac {
		if a.Refuses(s, rail) == "" {
			serving = append(serving, a)
		}
	}
	return serving
}

// Refuses says why a shop's payments over a rail cannot go to the account, "" if they can.
func (a Account) Refuses(s merchants.Scope, rail Rail) string {
	switch {
	case a.Live != s.Live:
		return "is for the " + string(a.Environment())
	case a.Merchant != "" && a.Merchant != s.Merchant:
		return "is another merchant's"
	case a.Status != Enabled:
		return "is " + string(a.Status)
	case !RailIn(a.Rails, rail.Key):
		return "does not serve " + rail.Key
	case len(a.limits(rail)) == 0:
		return "has limits outside the rail's"
	}
	return ""
}

// RailIn reports whether a list of rails contains a rail. "account.*" stands for all rails of a
// network.
func RailIn(list []string, rail string) bool {
	return slices.Contains(list, rail) || slices.Contains(list, networkOf(rail))
}

// Accepting selects the accounts that accept an amount over a rail. passed says why the others do not.
func (ac Accounts) Accepting(rail Rail, local money.Amount) (accepting Accounts, passed []string) {
	for _, a := range ac {
		if l, bounded := a.limit(rail.Key, local.Currency); bounded && l.Check(local) != nil {
			passed = append(passed, a.ID+": takes "+l.String())
			continue
		}
		accepting = append(accepting, a)
	}
	return accepting, passed
}

// Narrow limits a rail to the range from the smallest to the largest payment that one of its
// accounts accepts.
func (ac Accounts) Narrow(rail Rail) Rail {
	if len(ac) == 0 {
		return rail
	}
	var narrow []Limit
	for _, of := range rail.Limits {
		widest, found := Limit{Currency: of.Currency}, false
		for _, a := range ac {
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

// Cost is the provider's fee for a payment, in USD cents, rounded for display. It returns false if
// the fee is not known.
func (a Account) Cost(rail string, usd money.Amount) (money.Amount, bool) {
	f := a.fee(rail)
	if f == nil {
		return money.Amount{}, false
	}
	return usd.Share(f.Bps, money.HalfEven).Add(money.New(f.Flat, money.USD)), true
}

// CompareCost orders two accounts by their fee for a payment, without rounding. An account whose
// fee is not known comes last.
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

// PayoutRail is the rail for payouts to a network in a currency. Its limits are in USD.
func PayoutRail(network, currency string) Rail {
	return Rail{Key: network + "." + currency, Limits: []Limit{{Currency: money.USD, Min: 1, Max: math.MaxInt64}}}
}

// RefusePayout says why none of the accounts pays out an amount of USD. The amount is without our
// fee.
//
// Errors: amount_above_maximum, amount_below_minimum. If the amount is in a gap between two
// accounts' limits, the error names the nearer limit.
func (ac Accounts) RefusePayout(rail Rail, net money.Amount) error {
	least, most := int64(math.MaxInt64), int64(0) // the nearest limits above and below the amount
	for _, a := range ac {
		l, bounded := a.limit(rail.Key, money.USD)
		switch {
		case bounded && l.Min > net.Minor:
			least = min(least, l.Min)
		case bounded && l.Max < net.Minor:
			most = max(most, l.Max)
		}
	}
	if most > 0 && (least == math.MaxInt64 || net.Minor-most <= least-net.Minor) {
		return problem.Field(problem.AmountAboveMaximum, "amount", payoutTooLarge.With(money.New(most, money.USD)))
	}
	return problem.Field(problem.AmountBelowMinimum, "amount", payoutTooSmall.With(money.New(least, money.USD)))
}

// First is the account that is tried first for an amount: ordered by priority, then by fee, then by
// id.
func (ac Accounts) First(rail Rail, usd money.Amount) Account {
	return slices.MinFunc(ac, func(a, b Account) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), CompareCost(a, b, rail.Key, usd), cmp.Compare(a.ID, b.ID))
	})
}
