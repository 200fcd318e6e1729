package plans

import (
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// Limits of a plan.
const (
	MostPrices      = 200
	MaxPercent      = 50_00     // of 10,000: of a price, the margin, the reserve, and a tax
	MaxFixed        = 1_000_000 // major units of the plan's currency
	MaxReserveDays  = 540
	LongestTaxName  = 40
	LongestPlanName = 40
)

var planName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// Check says what is wrong with a plan, without knowing the catalog.
//
// Errors: invalid_request with every field that is wrong.
func (p Plan) Check() error {
	var c checker
	if !planName.MatchString(p.Name) || len(p.Name) > LongestPlanName {
		c.add("name", planNameMalformed.With(LongestPlanName))
	}
	in := p.In()
	if !in.Valid() {
		c.add("currency", planCurrencyUnknown.With(in))
		in = money.USD
	}
	c.prices(p.Prices, in)
	if n := len(p.Prices); n > 0 && !p.Prices[n-1].all() {
		c.add(fmt.Sprintf("prices[%d]", n-1), lastPriceFitsAll)
	}
	c.percent("fxMargin", p.FXMargin)
	c.reserve(p.Reserve, in)
	c.settlement(p.Settlement)
	c.withdrawal(p.Withdrawal, in)
	c.fixed("chargebackFee", p.ChargebackFee, in)
	c.fixed("refundFee", p.RefundFee, in)
	c.payouts(p.Payouts, in)
	c.tax(p.Tax)
	return problem.Invalid(c.issues...)
}

// Check says what is wrong with exceptions from a plan.
//
// Errors: invalid_request with every field that is wrong.
func (e Exceptions) Check(p Plan) error {
	var c checker
	in := p.In()
	c.prices(e.Prices, in)
	if e.FXMargin != nil {
		c.percent("fxMargin", *e.FXMargin)
	}
	if e.Reserve != nil {
		c.reserve(*e.Reserve, in)
	}
	if e.Settlement != nil {
		c.settlement(*e.Settlement)
	}
	if e.Withdrawal != nil {
		c.withdrawal(*e.Withdrawal, in)
	}
	if e.ChargebackFee != nil {
		c.fixed("chargebackFee", *e.ChargebackFee, in)
	}
	if e.RefundFee != nil {
		c.fixed("refundFee", *e.RefundFee, in)
	}
	if e.Payouts != nil {
		c.payouts(*e.Payouts, in)
	}
	if e.Tax != nil {
		c.tax(*e.Tax)
	}
	return problem.Invalid(c.issues...)
}

type checker struct{ issues []problem.Issue }

func (c *checker) add(path string, why problem.Reason) {
	c.issues = append(c.issues, problem.Issue{Path: path, Reason: why})
}

func (c *checker) percent(path string, bps int64) {
	if bps < 0 || bps > MaxPercent {
		c.add(path, planPercentOutOfRange.With(MaxPercent/100))
	}
}

func (c *checker) fixed(path string, minor int64, in money.Currency) {
	most := money.New(MaxFixed, in)
	for range in.Exponent() {
		most.Minor *= 10
	}
	if minor < 0 || minor > most.Minor {
		c.add(path, planAmountOutOfRange.With(most))
	}
}

func (c *checker) prices(list []Price, in money.Currency) {
	if len(list) > MostPrices {
		c.add("prices", tooManyPrices.With(MostPrices))
		return
	}
	for i, p := range list {
		at := fmt.Sprintf("prices[%d]", i)
		c.percent(at+".percent", p.Percent)
		c.fixed(at+".flat", p.Flat, in)
		c.fixed(at+".minimum", p.Minimum, in)
		if p.Cost != Listed && p.Cost != Included && (p.Cost != Stated || p.Own == nil) {
			c.add(at+".providerCost", providerCostMalformed)
		}
		if p.Cost == Stated && p.Own != nil && (p.Own.Bps < 0 || p.Own.Bps > MaxPercent || p.Own.Flat < 0 || p.Own.Flat > accounts.MaxAmount) {
			c.add(at+".providerCost", providerCostMalformed)
		}
		if p.Channel != "" && !slices.Contains([]accounts.Channel{accounts.Online, accounts.Cash, accounts.CreditCard}, p.Channel) {
			c.add(at+".channel", planChannelUnknown)
		}
		if slices.ContainsFunc(list[:i], func(before Price) bool { return before.all() }) {
			c.add(at, priceNeverFits)
			return
		}
	}
}

// all reports whether the price fits every payment.
func (p Price) all() bool {
	return p.Rail == "" && p.Method == "" && p.Country == "" && p.Channel == ""
}

func (c *checker) reserve(r Reserve, in money.Currency) {
	c.percent("reserve.percent", r.Percent)
	if r.Days < 0 || r.Days > MaxReserveDays {
		c.add("reserve.days", reserveDaysOutOfRange.With(MaxReserveDays))
	}
	c.fixed("reserve.cap", r.Cap, in)
}

func (c *checker) settlement(s Settlement) {
	if s.Delay < merchants.ShortestDelay || s.Delay > merchants.LongestDelay || s.Delay%time.Hour != 0 {
		c.add("settlement.delay", planDelayOutOfRange.With(int(merchants.ShortestDelay.Hours()), int(merchants.LongestDelay.Hours())))
	}
}

func (c *checker) withdrawal(w Withdrawal, in money.Currency) {
	c.fixed("withdrawal.fee", w.Fee, in)
	c.fixed("withdrawal.minimum", w.Minimum, in)
}

func (c *checker) payouts(p Payouts, in money.Currency) {
	c.fixed("payouts.minimum", p.Minimum, in)
	switch {
	case p.Schedule == OnRequest && p != (Payouts{}):
		c.add("payouts.schedule", payoutsOnRequest)
	case p.Schedule != OnRequest && p.Schedule != Automatic:
		c.add("payouts.schedule", payoutScheduleUnknown)
	case p.Weekdays != 0 && p.Monthdays != 0:
		c.add("payouts.monthdays", payoutDaysOfTwoKinds)
	}
}

func (c *checker) tax(t Tax) {
	c.percent("tax.percent", t.Percent)
	if n := utf8.RuneCountInString(t.Name); t.Percent != 0 && n == 0 || n > LongestTaxName || slices.ContainsFunc([]rune(t.Name), printable.Unprintable) {
		c.add("tax.name", taxNameLength.With(LongestTaxName))
	}
}
