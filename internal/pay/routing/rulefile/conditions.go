package rulefile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// Conditional is a rule with conditions in the words of a file.
type Conditional struct {
	Name string `yaml:"name" json:"name"`
	When *When  `yaml:"when,omitempty" json:"when,omitempty"`
	Rail `yaml:",inline"`
}

// When is the conditions of a rule in the words of a file.
type When struct {
	Rail         Words       `yaml:"rail,omitempty,flow" json:"rail,omitempty"`
	Amount       Words       `yaml:"amount,omitempty,flow" json:"amount,omitempty"`
	Currency     Words       `yaml:"currency,omitempty,flow" json:"currency,omitempty"`
	Merchant     Words       `yaml:"merchant,omitempty,flow" json:"merchant,omitempty"`
	Shop         Words       `yaml:"shop,omitempty,flow" json:"shop,omitempty"`
	Country      Words       `yaml:"country,omitempty,flow" json:"country,omitempty"`
	CardCountry  Words       `yaml:"card_country,omitempty,flow" json:"card_country,omitempty"`
	Hours        Words       `yaml:"hours,omitempty,flow" json:"hours,omitempty"`
	Weekdays     Words       `yaml:"weekdays,omitempty,flow" json:"weekdays,omitempty"`
	Zone         string      `yaml:"zone,omitempty" json:"zone,omitempty"`
	Installments string      `yaml:"installments,omitempty" json:"installments,omitempty"`
	Attempt      routing.Try `yaml:"attempt,omitempty" json:"attempt,omitempty"`
}

// conditional reads the i-th rule with conditions.
func (r *reader) conditional(i int, t Conditional) routing.Conditional {
	rule := routing.Conditional{Name: t.Name, Rule: t.Rail.read()}
	if t.When == nil {
		return rule
	}
	w, path, of := *t.When, fmt.Sprintf("rules[%d].when", i), "rule "+t.Name
	if t.Name == "" {
		of = fmt.Sprintf("rule number %d", i+1)
	}
	rule.When = routing.Conditions{
		Rails: list(w.Rail, strings.Clone), Merchants: list(w.Merchant, strings.Clone), Shops: list(w.Shop, strings.Clone),
		Currencies:    list(w.Currency, func(word string) money.Currency { return money.Currency(strings.ToUpper(word)) }),
		Countries:     list(w.Country, alpha3),
		CardCountries: list(w.CardCountry, alpha3),
		Weekdays:      list(w.Weekdays, strings.ToLower),
		Attempt:       w.Attempt,
	}
	lists := w.lists()
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if words := lists[name]; words != nil && len(words) == 0 {
			r.bad(path+"."+name, fmt.Errorf("%s: %s: the list is empty: write a value, or remove it", of, name))
		}
	}
	for n, word := range w.Amount {
		rule.When.Amounts = append(rule.When.Amounts, parsed(r, fmt.Sprintf("%s.amount[%d]", path, n), of+": amount", word, routing.ParseSpan))
	}
	for n, word := range w.Hours {
		rule.When.Hours = append(rule.When.Hours, parsed(r, fmt.Sprintf("%s.hours[%d]", path, n), of+": hours", word, routing.ParseHours))
	}
	if w.Zone != "" {
		rule.When.Zone = parsed(r, path+".zone", of+": zone", w.Zone, routing.ParseZone)
	}
	if w.Installments != "" {
		rule.When.Installments = new(parsed(r, path+".installments", of+": installments", w.Installments, routing.ParseCounts))
	}
	return rule
}

// list turns words into values; none is nil.
func list[T any](words Words, value func(string) T) (values []T) {
	for _, word := range words {
		values = append(values, value(word))
	}
	return values
}

// alpha3 is a country's code of three letters. What is no country stays as it is.
func alpha3(word string) string {
	if country, known := geo.Parse(word); known {
		return country.Alpha3
	}
	return word
}

func newConditional(c routing.Conditional) Conditional {
	w := &When{
		Rail: c.When.Rails, Merchant: c.When.Merchants, Shop: c.When.Shops, Country: c.When.Countries, CardCountry: c.When.CardCountries, Weekdays: c.When.Weekdays,
		Zone: c.When.Zone.String(), Attempt: c.When.Attempt,
		Amount: texts(c.When.Amounts), Hours: texts(c.When.Hours),
	}
	for _, of := range c.When.Currencies {
		w.Currency = append(w.Currency, string(of))
	}
	if c.When.Installments != nil {
		w.Installments = c.When.Installments.String()
	}
	if w.isZero() {
		w = nil
	}
	return Conditional{Name: c.Name, When: w, Rail: newRail(c.Rule)}
}

// lists are the conditions that are lists, by name.
func (w *When) lists() map[string]Words {
	return map[string]Words{
		"rail": w.Rail, "amount": w.Amount, "currency": w.Currency, "merchant": w.Merchant, "shop": w.Shop, "country": w.Country,
		"card_country": w.CardCountry, "hours": w.Hours, "weekdays": w.Weekdays,
	}
}

// isZero reports whether there are no conditions.
func (w *When) isZero() bool {
	for _, words := range w.lists() {
		if len(words) > 0 {
			return false
		}
	}
	return w.Zone+w.Installments+string(w.Attempt) == ""
}

func texts[T fmt.Stringer](values []T) (words Words) {
	for _, v := range values {
		words = append(words, v.String())
	}
	return words
}
