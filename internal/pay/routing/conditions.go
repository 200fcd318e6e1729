package routing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Conditions say for which payments a rule is. Those that are set must all hold, and of a list one value must. Conditions that are not
// set hold for every payment.
type Conditions struct {
	Rails         []string         `json:"rail,omitempty"` // catalog keys
	Amounts       []Span           `json:"amount,omitempty"`
	Currencies    []money.Currency `json:"currency,omitempty"` // in which the shopper pays
	Merchants     []string         `json:"merchant,omitempty"` // ids
	Shops         []string         `json:"shop,omitempty"`     // ids
	Countries     []string         `json:"country,omitempty"`  // of the payment method, ISO 3166 alpha-3
	CardCountries []string         `json:"card_country,omitempty"`
	Hours         []Hours          `json:"hours,omitempty"`
	Weekdays      []string         `json:"weekdays,omitempty"` // sun, mon, …
	Zone          Zone             `json:"zone,omitzero"`      // of Hours and Weekdays; zero: that of the Rules
	Installments  *Counts          `json:"installments,omitempty"`
	Attempt       Try              `json:"attempt,omitempty"`
}

// Try says which attempts a rule is for.
type Try string

// The values of Try. "" is both.
const (
	FirstTry Try = "first"
	LaterTry Try = "later"
)

// Traits are what a payment has that conditions are about.
type Traits struct {
	Rail           string
	Local, USD     money.Amount
	Merchant, Shop string
	Country        string
	CardCountry    string // ISO 3166 alpha-3; "" if no provider has reported it
	Created        time.Time
	Installments   int // the most that the shopper may choose; 1: pays at once
	Attempt        int // that comes next, from 1
}

// TraitsOf returns the traits of a payment on a rail with this key. They are those of its creation, except for what its attempts have
// shown since. So a decision is the same on every node, and when it is made again.
func TraitsOf(p *pay.Payment, rail string) Traits {
	t := Traits{
		Rail: rail, Local: p.Price.Local, USD: p.Price.Amount, Merchant: p.Merchant, Shop: p.Shop, Country: p.Way.Country, Created: p.Times.Created,
		Installments: max(1, p.Terms.Installments.Max), Attempt: len(p.Attempts) + 1,
	}
	for _, a := range p.Attempts {
		for _, try := range a.Tries {
			t.CardCountry = try.Country // of the latest card, "" if it is not known
		}
	}
	return t
}

// condition is the name of a condition in a file. "" is none.
type condition string

// The conditions, in the order in which they are checked: those that cost least first.
const (
	onRail       condition = "rail"
	ofAttempt    condition = "attempt"
	ofMerchant   condition = "merchant"
	ofShop       condition = "shop"
	inCountry    condition = "country"
	inCurrency   condition = "currency"
	ofAmount     condition = "amount"
	installments condition = "installments"
	ofCard       condition = "card_country"
	onWeekday    condition = "weekdays"
	atHour       condition = "hours"
)

// weekdays are the words for days, by time.Weekday.
var weekdays = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// local is when a payment was made on the clocks of the rule's zone.
func (c *Conditions) local(t *Traits, usual Zone) time.Time {
	if !c.Zone.IsZero() {
		usual = c.Zone
	}
	return t.Created.In(usual.location())
}

// fails returns the first condition that does not hold for a payment, "" if all hold. It allocates nothing: it runs for every rule and
// payment.
func (c *Conditions) fails(t *Traits, usual Zone) condition {
	switch {
	case !has(c.Rails, t.Rail):
		return onRail
	case c.Attempt == FirstTry && t.Attempt > 1, c.Attempt == LaterTry && t.Attempt == 1:
		return ofAttempt
	case !has(c.Merchants, t.Merchant):
		return ofMerchant
	case !has(c.Shops, t.Shop):
		return ofShop
	case !has(c.Countries, t.Country):
		return inCountry
	case !has(c.Currencies, t.Local.Currency):
		return inCurrency
	case len(c.Amounts) > 0 && c.span(t) < 0:
		return ofAmount
	case c.Installments != nil && !c.Installments.has(t.Installments):
		return installments
	case len(c.CardCountries) > 0 && (t.CardCountry == "" || !slices.Contains(c.CardCountries, t.CardCountry)):
		return ofCard
	case len(c.Weekdays)+len(c.Hours) == 0:
		return ""
	}
	at := c.local(t, usual)
	switch {
	case !has(c.Weekdays, weekdays[at.Weekday()]):
		return onWeekday
	case len(c.Hours) > 0 && c.hours(at) < 0:
		return atHour
	}
	return ""
}

// has reports whether a list has a value, or is not set.
func has[T comparable](list []T, value T) bool { return len(list) == 0 || slices.Contains(list, value) }

// span is the place of the amounts that a payment's is among, -1 if there are none.
func (c *Conditions) span(t *Traits) int {
	return slices.IndexFunc(c.Amounts, func(s Span) bool { return s.has(t.Local) || s.Currency == money.USD && s.has(t.USD) })
}

// hours is the place of the hours that a time of day is in, -1 if there are none.
func (c *Conditions) hours(at time.Time) int {
	return slices.IndexFunc(c.Hours, func(h Hours) bool { return h.has(at) })
}

// describe says for people what holds for a payment that meets the conditions: for each the value that decided.
func (c *Conditions) describe(t *Traits, usual Zone) string {
	var list []string
	for _, of := range []condition{onRail, ofAmount, inCurrency, ofMerchant, ofShop, inCountry, ofCard, onWeekday, atHour, installments, ofAttempt} {
		if text := c.describeOne(of, t, usual); text != "" {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return "it is for every payment"
	}
	return strings.Join(list, ", ")
}

// describeOne says how a condition holds, "" if it is not set.
func (c *Conditions) describeOne(of condition, t *Traits, usual Zone) string {
	name := string(of) + " "
	switch {
	case of == onRail && c.Rails != nil:
		return name + t.Rail
	case of == ofAmount && c.Amounts != nil:
		s := c.Amounts[max(0, c.span(t))]
		return fmt.Sprintf("%s%s (it is %s)", name, s, s.of(t))
	case of == inCurrency && c.Currencies != nil:
		return name + string(t.Local.Currency)
	case of == ofMerchant && c.Merchants != nil:
		return name + t.Merchant
	case of == ofShop && c.Shops != nil:
		return name + t.Shop
	case of == inCountry && c.Countries != nil:
		return name + t.Country
	case of == ofCard && c.CardCountries != nil:
		return name + t.CardCountry
	case of == onWeekday && c.Weekdays != nil:
		return name + weekdays[c.local(t, usual).Weekday()]
	case of == atHour && c.Hours != nil:
		at := c.local(t, usual)
		return fmt.Sprintf("%s%s (it was %s in %s)", name, c.Hours[max(0, c.hours(at))], at.Format("15:04"), at.Location())
	case of == installments && c.Installments != nil:
		return fmt.Sprintf("%s%s (up to %d)", name, c.Installments, t.Installments)
	case of == ofAttempt && c.Attempt != "":
		return name + string(c.Attempt)
	}
	return ""
}

// failsFor says for people why a condition does not hold.
func (c *Conditions) failsFor(of condition, t *Traits, usual Zone) string {
	var is string
	switch of {
	case onRail:
		is = t.Rail
	case ofAmount:
		is = t.Local.String()
		if slices.ContainsFunc(c.Amounts, func(s Span) bool { return s.Currency == money.USD }) && t.Local.Currency != money.USD {
			is += ", worth " + t.USD.String()
		}
	case inCurrency:
		is = string(t.Local.Currency)
	case ofMerchant:
		is = t.Merchant
	case ofShop:
		is = t.Shop
	case inCountry:
		is = t.Country
	case ofCard:
		if is = t.CardCountry; is == "" {
			return string(of) + ": it is not known"
		}
	case onWeekday:
		at := c.local(t, usual)
		is = fmt.Sprintf("%s in %s", weekdays[at.Weekday()], at.Location())
	case atHour:
		at := c.local(t, usual)
		is = fmt.Sprintf("%s in %s", at.Format("15:04"), at.Location())
	case installments:
		is = fmt.Sprintf("up to %d", t.Installments)
	case ofAttempt:
		is = fmt.Sprintf("number %d", t.Attempt)
	}
	return fmt.Sprintf("%s: it is %s", of, is)
}

// possible reports whether the conditions can hold for payments of a shop over a rail.
func (c *Conditions) possible(merchant, shop, rail string) bool {
	return has(c.Rails, rail) && has(c.Merchants, merchant) && has(c.Shops, shop)
}
