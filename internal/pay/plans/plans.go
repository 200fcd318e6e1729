// Package plans is the operator's price plans: what a merchant pays for each payment and service, and under which terms it gets
// its money. It says which plan is in force when, and what it means for a payment. It is not the file of plans: that is in
// planfile. It reads no database and no clock.
package plans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Plan is what a plan says (PLAN-1). Shares are of 10,000. Amounts are minor units of the plan's currency, which is USD if it is
// empty.
type Plan struct {
	Name     string         `json:"name"`
	Currency money.Currency `json:"currency,omitempty"`
	Terms
}

// Terms is all that a plan says beside its name and currency.
type Terms struct {
	Prices        []Price    `json:"prices,omitempty"` // the first that fits a payment is its price; none: it is free
	FXMargin      int64      `json:"fxMargin,omitempty"`
	Reserve       Reserve    `json:"reserve,omitzero"`
	Settlement    Settlement `json:"settlement"`
	Withdrawal    Withdrawal `json:"withdrawal,omitzero"`
	ChargebackFee int64      `json:"chargebackFee,omitempty"`
	RefundFee     int64      `json:"refundFee,omitempty"`
	Payouts       Payouts    `json:"payouts,omitzero"`
	Tax           Tax        `json:"tax,omitzero"`
}

// Price is the price of the payments that it fits. Empty conditions fit all.
type Price struct {
	Rail    string           `json:"rail,omitempty"`    // of the catalog, such as card.MEX; card.* is a network's in all countries
	Method  string           `json:"method,omitempty"`  // such as pix
	Country string           `json:"country,omitempty"` // ISO 3166 alpha-3
	Channel accounts.Channel `json:"channel,omitempty"`

	Percent int64      `json:"percent,omitempty"`
	Flat    int64      `json:"flat,omitempty"`
	Minimum int64      `json:"minimum,omitempty"` // of the percentage and the flat part together
	Cost    Cost       `json:"cost,omitempty"`
	Own     *money.Fee `json:"own,omitempty"` // the cost, in USD, if Cost is Stated
}

// Cost says what a merchant pays for the provider beside the price.
type Cost string

// What a merchant pays for the provider.
const (
	Listed   Cost = ""         // what the catalog lists for the rail
	Included Cost = "included" // nothing: the price has it
	Stated   Cost = "stated"   // what the price says
)

// Reserve is the rolling reserve.
type Reserve struct {
	Percent int64 `json:"percent,omitempty"`
	Days    int   `json:"days,omitempty"` // 0: merchants.DefaultReserveDays
	Cap     int64 `json:"cap,omitempty"`  // 0: without a bound
}

// Settlement says when a merchant's money becomes available.
type Settlement struct {
	Delay    time.Duration      `json:"delay"`
	Weekdays merchants.Weekdays `json:"weekdays,omitempty"`
}

// Withdrawal is the price of a withdrawal, and the least that may be withdrawn.
type Withdrawal struct {
	Fee     int64 `json:"fee,omitempty"`
	Minimum int64 `json:"minimum,omitempty"`
}

// Payouts says when what settlements owe is paid out.
type Payouts struct {
	Schedule  Schedule            `json:"schedule,omitempty"`
	Weekdays  merchants.Weekdays  `json:"weekdays,omitempty"`
	Monthdays merchants.Monthdays `json:"monthdays,omitempty"`
	Minimum   int64               `json:"minimum,omitempty"` // automatic payouts of less wait
}

// Schedule says who begins payouts.
type Schedule string

// The schedules.
const (
	OnRequest Schedule = ""          // the merchant withdraws
	Automatic Schedule = "automatic" // settlements pay themselves
)

// Tax is a tax on the fees.
type Tax struct {
	Name    string `json:"name,omitempty"`
	Percent int64  `json:"percent,omitempty"`
}

// Exceptions are what differs from a plan for one merchant, in the plan's currency. Prices come before the plan's; what is nil
// is as the plan says.
type Exceptions struct {
	Prices        []Price     `json:"prices,omitempty"`
	FXMargin      *int64      `json:"fxMargin,omitempty"`
	Reserve       *Reserve    `json:"reserve,omitempty"`
	Settlement    *Settlement `json:"settlement,omitempty"`
	Withdrawal    *Withdrawal `json:"withdrawal,omitempty"`
	ChargebackFee *int64      `json:"chargebackFee,omitempty"`
	RefundFee     *int64      `json:"refundFee,omitempty"`
	Payouts       *Payouts    `json:"payouts,omitempty"`
	Tax           *Tax        `json:"tax,omitempty"`
}

// None reports whether nothing differs.
func (e Exceptions) None() bool {
	return len(e.Prices) == 0 && e.FXMargin == nil && e.Reserve == nil && e.Settlement == nil && e.Withdrawal == nil &&
		e.ChargebackFee == nil && e.RefundFee == nil && e.Payouts == nil && e.Tax == nil
}

// With is the plan with a merchant's exceptions.
func (p Plan) With(e Exceptions) Plan {
	p.Prices = append(slices.Clone(e.Prices), p.Prices...)
	replace(&p.FXMargin, e.FXMargin)
	replace(&p.Reserve, e.Reserve)
	replace(&p.Settlement, e.Settlement)
	replace(&p.Withdrawal, e.Withdrawal)
	replace(&p.ChargebackFee, e.ChargebackFee)
	replace(&p.RefundFee, e.RefundFee)
	replace(&p.Payouts, e.Payouts)
	replace(&p.Tax, e.Tax)
	return p
}

func replace[T any](old, by *T) {
	if by != nil {
		*old = *by
	}
}

// Version is a plan as it was applied, in force from a time on until the next version is.
type Version struct {
	Plan
	Number int64 // from 1 in each plan; 0: built in
	From   time.Time
	At     time.Time // when it was applied
}

// Label names the plan and its version, such as gold/3. A built-in plan has no version.
func (v Version) Label() string {
	if v.Number == 0 {
		return v.Name
	}
	return fmt.Sprintf("%s/%d", v.Name, v.Number)
}

// Book is all plans, in all versions: those that were applied, and the built-in ones.
type Book struct {
	plans map[string][]Version // by number
}

// NewBook returns the built-in plans with those that were applied. A plan that is named like a built-in one replaces it.
func NewBook(applied []Version) *Book {
	b := &Book{map[string][]Version{}}
	for _, p := range BuiltIn() {
		b.plans[p.Name] = []Version{{Plan: p}}
	}
	for _, v := range applied {
		b.plans[v.Name] = append(b.plans[v.Name], v)
	}
	for _, list := range b.plans {
		slices.SortFunc(list, func(a, b Version) int { return cmp.Compare(a.Number, b.Number) })
	}
	return b
}

// Names lists the plans' names.
func (b *Book) Names() []string {
	list := make([]string, 0, len(b.plans))
	for name := range b.plans {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Versions lists a plan's versions, oldest first.
func (b *Book) Versions(name string) []Version { return b.plans[name] }

// At is the version of a plan that is in force at a time: the newest of those whose time has come. Before the first of them, that
// one is. false: there is no such plan.
func (b *Book) At(name string, at time.Time) (Version, bool) {
	list := b.plans[name]
	if len(list) == 0 {
		return Version{}, false
	}
	best := list[0]
	for _, v := range list[1:] {
		if !v.From.After(at) {
			best = v
		}
	}
	return best, true
}

// ErrUnknown: the book does not have a plan that a merchant has.
var ErrUnknown = errors.New("plans: unknown plan")

// Of is the plan of a merchant at a time, with the merchant's exceptions. A merchant without an assignment has the built-in
// plan of its tier.
//
// Errors: ErrUnknown; another if the exceptions cannot be read.
func (b *Book) Of(m merchants.Merchant, at time.Time) (Version, error) {
	a, assigned := m.AssignmentAt(at)
	name := a.Plan
	if !assigned {
		name = tierPlan(m.Tier)
	}
	v, known := b.At(name, at)
	if !known {
		return v, fmt.Errorf("%w: %q, of merchant %s", ErrUnknown, name, m.ID)
	}
	if a.Own == "" {
		return v, nil
	}
	own, err := ParseExceptions(a.Own)
	v.Plan = v.With(own)
	return v, err
}

// ParseExceptions reads the text of Exceptions.Text.
func ParseExceptions(text string) (e Exceptions, err error) {
	if text == "" {
		return e, nil
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, fmt.Errorf("plans: exceptions of a merchant: %w", err)
	}
	return e, nil
}

// Text is the exceptions for merchants.Assignment; "" for none.
func (e Exceptions) Text() string {
	if e.None() {
		return ""
	}
	text, err := json.Marshal(e)
	if err != nil { // a plan has no value that JSON cannot hold
		panic(err)
	}
	return string(text)
}

// LongestDelay is the longest settlement delay that a payment of the merchant can have.
func (b *Book) LongestDelay(m merchants.Merchant) time.Duration {
	longest := time.Duration(0)
	for _, list := range b.plans {
		for _, v := range list {
			longest = max(longest, v.Settlement.Delay)
		}
	}
	for _, a := range m.Assignments {
		if own, err := ParseExceptions(a.Own); err == nil && own.Settlement != nil {
			longest = max(longest, own.Settlement.Delay)
		}
	}
	return longest
}

// LongestReserve is the most days for which the reserve of a payment of the merchant can be held.
func (b *Book) LongestReserve(m merchants.Merchant) int {
	longest := merchants.DefaultReserveDays
	for _, a := range m.Assignments {
		if own, err := ParseExceptions(a.Own); err == nil && own.Reserve != nil {
			longest = max(longest, own.Reserve.Days)
		}
	}
	for _, list := range b.plans {
		for _, v := range list {
			longest = max(longest, v.Reserve.Days)
		}
	}
	return longest
}

// Converter converts an amount of a plan's currency into USD cents.
type Converter func(money.Amount) (int64, error)

// General is what the plan says for all payments, in USD. Its Price is the last of the plan: that of payments for which no other
// price is meant.
//
// Errors: those of the Converter.
func (v Version) General(m merchants.Merchant, usd Converter) (merchants.Terms, error) {
	return v.terms(m, len(v.Prices)-1, usd)
}

// For is what the plan says for a payment over a rail, in USD.
//
// Errors: those of the Converter.
func (v Version) For(m merchants.Merchant, rail accounts.Rail, usd Converter) (merchants.Terms, error) {
	return v.terms(m, slices.IndexFunc(v.Prices, func(p Price) bool { return p.Fits(rail) }), usd)
}

// terms is what the plan says, with its price number i; below zero: it has none, and is free.
func (v Version) terms(m merchants.Merchant, i int, usd Converter) (t merchants.Terms, err error) {
	t = merchants.Terms{
		Plan: v.Label(), FXMarginBps: v.FXMargin,
		ReserveBps: v.Reserve.Percent, ReserveDays: cmp.Or(v.Reserve.Days, merchants.DefaultReserveDays),
		Delay: v.Settlement.Delay, Weekdays: v.Settlement.Weekdays,
		Payouts:    merchants.Payouts{Automatic: v.Payouts.Schedule == Automatic, Days: merchants.PayoutDays{Weekdays: v.Payouts.Weekdays, Monthdays: v.Payouts.Monthdays}},
		RefundFees: m.RefundFees,
	}
	if v.Tax.Percent != 0 {
		t.Taxed = merchants.TaxRate{Name: v.Tax.Name, Bps: v.Tax.Percent}
	}
	if t.Price = (merchants.Price{Cost: &money.Fee{}}); i >= 0 {
		if t.Price, err = v.price(i, usd); err != nil {
			return t, err
		}
	}
	return t, v.convert(usd,
		part{&t.ReserveCap, v.Reserve.Cap}, part{&t.WithdrawalFee, v.Withdrawal.Fee}, part{&t.MinWithdrawal, v.Withdrawal.Minimum},
		part{&t.ChargebackFee, v.ChargebackFee}, part{&t.RefundFee, v.RefundFee}, part{&t.Payouts.Minimum, v.Payouts.Minimum})
}

func (v Version) price(i int, usd Converter) (merchants.Price, error) {
	p := v.Prices[i]
	of := merchants.Price{Bps: p.Percent}
	switch p.Cost {
	case Included:
		of.Cost = &money.Fee{}
	case Stated:
		of.Cost = p.Own
	}
	return of, v.convert(usd, part{&of.Flat, p.Flat}, part{&of.Least, p.Minimum})
}

type part struct {
	into *int64
	from int64
}

func (v Version) convert(usd Converter, parts ...part) (err error) {
	for _, p := range parts {
		switch {
		case p.from == 0:
			*p.into = 0
		case v.In() == money.USD:
			*p.into = p.from
		default:
			if *p.into, err = usd(money.New(p.from, v.In())); err != nil {
				return err
			}
		}
	}
	return nil
}

// In is the plan's currency.
func (p Plan) In() money.Currency { return cmp.Or(p.Currency, money.USD) }

// Fits reports whether the price is for payments over the rail.
func (p Price) Fits(r accounts.Rail) bool {
	network, all := strings.CutSuffix(p.Rail, "*")
	return (p.Rail == "" || p.Rail == r.Key || all && strings.HasPrefix(r.Key, network)) &&
		(p.Method == "" || p.Method == r.Method) && (p.Country == "" || p.Country == r.Country) && (p.Channel == "" || p.Channel == r.Channel)
}

// Text is the plan as JSON, for the database and the audit log.
func (p Plan) Text() string {
	text, err := json.Marshal(p)
	if err != nil { // a plan has no value that JSON cannot hold
		panic(err)
	}
	return string(text)
}

// Same reports whether two plans say the same.
func (p Plan) Same(o Plan) bool { return p.Text() == o.Text() }
