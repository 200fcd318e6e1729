package routing

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay"
)

// The limits of rules.
const (
	// MaxConditional is the most rules with conditions. Every payment is compared with them.
	MaxConditional = 200
	maxWeight      = 10_000
	maxRetries     = 5
	maxAttempts    = 20
	leastTime      = time.Second // of a budget
	longestTime    = 5 * time.Minute
	leastWithin    = time.Minute // of retries
)

// ruleName matches the names of rules.
var ruleName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,47}$`)

// Mistake is what is wrong with a part of rules.
type Mistake struct {
	Path string // of the part, in the words of a file: rails.pix.BRA.accounts, rules[0].when.hours
	Err  error
}

func (m Mistake) Error() string { return m.Err.Error() }

// Unwrap returns the error, so that it is shown as a sentence.
func (m Mistake) Unwrap() error { return m.Err }

// checker collects what is wrong with rules.
type checker struct{ wrong []error }

func (ch *checker) bad(path, format string, args ...any) {
	ch.wrong = append(ch.wrong, Mistake{path, fmt.Errorf(format, args...)})
}

// Check says what is wrong with rules, without knowing the accounts.
//
// Errors: Mistakes.
func (r Rules) Check() error {
	c := &checker{}
	if _, err := ParseOrder(string(r.Order)); err != nil {
		c.bad("order", "order: %w", err)
	}
	if r.Order == Listed {
		c.bad("order", "order: listed is for a rail that lists accounts")
	}
	c.explored("explored", r.Explored, "explored")
	c.budget(r.Budget)
	c.retry(r.Retry)
	for _, rail := range slices.Sorted(maps.Keys(r.Rails)) {
		c.rule("rails."+rail, rail, r.Rails[rail], r.For(rail).Order)
	}
	if n := len(r.Conditional); n > MaxConditional {
		c.bad("rules", "rules: %d rules: want at most %d", n, MaxConditional)
		return errors.Join(c.wrong...)
	}
	names := map[string]bool{}
	for i, of := range r.Conditional {
		path, name := fmt.Sprintf("rules[%d]", i), "rule "+of.Name
		switch {
		case of.Name == "":
			name = fmt.Sprintf("rule number %d", i+1)
			c.bad(path, "%s has no name", name)
		case !ruleName.MatchString(of.Name):
			c.bad(path+".name", "%q is no name of a rule: want small letters, digits and hyphens, up to 48", of.Name)
		case names[of.Name]:
			c.bad(path+".name", "there are two rules %s", of.Name)
		}
		names[of.Name] = true
		c.rule(path, name, of.Rule, r.complete(of.Rule).Order)
		c.conditions(path+".when", name, of.When)
	}
	return errors.Join(c.wrong...)
}

func (ch *checker) budget(of pay.Budget) {
	if b := of.Attempts; b < 0 || b > maxAttempts {
		ch.bad("budget.attempts", "budget: %d attempts: want 1 to %d", b, maxAttempts)
	}
	if b := of.Time; b != 0 && (b < leastTime || b > longestTime) {
		ch.bad("budget.time", "budget: a time of %s: want %s to %s", b, leastTime, longestTime)
	}
}

func (ch *checker) retry(of Retry) {
	if n := of.Times; n != nil && (*n < 0 || *n > maxRetries) {
		ch.bad("retry.times", "retry: %d times: want 0 to %d", *n, maxRetries)
	}
	if b := of.Within; b < 0 || b != 0 && b < leastWithin {
		ch.bad("retry.within", "retry: within %s: want 1m or more", b)
	}
	for i, reason := range of.Reasons {
		if !reason.Known() {
			ch.bad(fmt.Sprintf("retry.reasons[%d]", i), "retry: there is no reason %q: docs/DECLINES.md lists them", reason)
		}
	}
}

// rule checks what a rule for a rail or for conditions says about accounts. order is its complete one.
func (ch *checker) rule(path, name string, of Rule, order Order) {
	if _, err := ParseOrder(string(of.Order)); err != nil {
		ch.bad(path+".order", "%s: order: %w", name, err)
	}
	if of.Order == Listed && len(of.Accounts) == 0 {
		ch.bad(path+".order", "%s: order listed wants a list of accounts", name)
	}
	ch.explored(path+".explored", of.Explored, name+": explored")
	switch {
	case of.Explored == nil:
	case len(of.Weights) > 0:
		ch.bad(path+".explored", "%s: explored is for the order success_rate, but the accounts are drawn by weights", name)
	case order != SuccessRate:
		ch.bad(path+".explored", "%s: explored is for the order success_rate, but it is ordered by %s", name, order)
	}
	seen := map[string]bool{}
	for i, id := range of.Accounts {
		if at := fmt.Sprintf("%s.accounts[%d]", path, i); seen[id] {
			ch.bad(at, "%s lists %s twice", name, id)
		} else if of.Weights[id] != 0 {
			ch.bad(at, "%s lists %s twice: an account with a weight is listed by it", name, id)
		}
		seen[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(of.Weights)) {
		if n := of.Weights[id]; n < 1 || n > maxWeight {
			ch.bad(path+".weights."+id, "%s: a weight of %d for %s: want 1 to %d", name, n, id, maxWeight)
		}
	}
}

func (ch *checker) explored(path string, n *int, name string) {
	if n != nil && (*n < 0 || *n > 50) {
		ch.bad(path, "%s: %d of 100 payments: want 0 to 50", name, *n)
	}
}

func (ch *checker) conditions(path, name string, of Conditions) {
	ch.each(path, name, onRail, of.Rails, filled, "it is empty")
	ch.each(path, name, ofMerchant, of.Merchants, filled, "it is empty")
	ch.each(path, name, ofShop, of.Shops, filled, "it is empty")
	ch.each(path, name, inCountry, of.Countries, isCountry, "there is no country %q: want such as BRA")
	ch.each(path, name, ofCard, of.CardCountries, isCountry, "there is no country %q: want such as BRA")
	isDay := func(v string) bool { return slices.Contains(weekdays[:], v) }
	ch.each(path, name, onWeekday, of.Weekdays, isDay, "there is no day %q: want "+strings.Join(weekdays[:], ", "))
	for i, v := range of.Currencies {
		if !v.Valid() {
			ch.bad(fmt.Sprintf("%s.currency[%d]", path, i), "%s: currency: there is no currency %q", name, v)
		}
	}
	if of.Attempt != "" && of.Attempt != FirstTry && of.Attempt != LaterTry {
		ch.bad(path+".attempt", "%s: attempt: %q: want first or later", name, of.Attempt)
	}
	if !of.Zone.IsZero() && len(of.Hours)+len(of.Weekdays) == 0 {
		ch.bad(path+".zone", "%s: zone is for hours and weekdays, and there are none", name)
	}
}

// each checks the values of a condition. why may have a place for the value.
func (ch *checker) each(path, name string, of condition, values []string, right func(string) bool, why string) {
	for i, v := range values {
		if right(v) {
			continue
		}
		text := why
		if strings.Contains(why, "%q") {
			text = fmt.Sprintf(why, v)
		}
		ch.bad(fmt.Sprintf("%s.%s[%d]", path, of, i), "%s: %s: %s", name, of, text)
	}
}

func filled(text string) bool { return text != "" }

func isCountry(code string) bool {
	country, known := geo.Parse(code)
	return known && country.Alpha3 == code
}
