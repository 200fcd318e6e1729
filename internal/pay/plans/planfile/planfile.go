// Package planfile reads and writes price plans as YAML, of which JSON is a subset, and as the JSON of the API. It knows the
// words of the file; package plans knows their meaning.
package planfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/yamlfile"
	"go.yaml.in/yaml/v3"
)

// Number is a decimal number as it is written, such as 1.5. It is exact.
type Number string

// UnmarshalYAML implements yaml.Unmarshaler.
func (n *Number) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: this is not a number", node.Line)
	}
	*n = Number(node.Value)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (n Number) MarshalYAML() (any, error) {
	tag := "!!int"
	if strings.Contains(string(n), ".") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n), Tag: tag}, nil
}

// MarshalJSON writes a JSON number.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// UnmarshalJSON reads a JSON number, or a text with one.
func (n *Number) UnmarshalJSON(text []byte) error {
	*n = Number(strings.Trim(string(text), `"`))
	return nil
}

// PlanTerms is what plans and exceptions say, in the words of a file. What is nil is not said.
type PlanTerms struct {
	Prices        []PlanPrice     `yaml:"prices,omitempty" json:"prices,omitempty" maxItems:"200" doc:"The first that fits a payment is its price"`
	FXMargin      *Number         `yaml:"fxMargin,omitempty" json:"fxMargin,omitempty" doc:"Percent of a payment that the shopper pays in another currency than USD"`
	Reserve       *PlanReserve    `yaml:"reserve,omitempty" json:"reserve,omitempty"`
	Settlement    *PlanSettlement `yaml:"settlement,omitempty" json:"settlement,omitempty"`
	Withdrawal    *PlanWithdrawal `yaml:"withdrawal,omitempty" json:"withdrawal,omitempty"`
	ChargebackFee *Number         `yaml:"chargebackFee,omitempty" json:"chargebackFee,omitempty" doc:"For each dispute, whatever its outcome"`
	RefundFee     *Number         `yaml:"refundFee,omitempty" json:"refundFee,omitempty" doc:"For each refund"`
	Payouts       *PlanPayouts    `yaml:"payouts,omitempty" json:"payouts,omitempty"`
	Tax           *PlanTax        `yaml:"tax,omitempty" json:"tax,omitempty"`
}

// PlanText is a plan in the words of a file.
type PlanText struct {
	Name      string         `yaml:"plan" json:"plan" doc:"Its name: small letters, digits and hyphens" example:"gold"`
	Currency  money.Currency `yaml:"currency,omitempty" json:"currency,omitempty" doc:"Of all amounts of the plan; USD if it is left out" example:"USD"`
	PlanTerms `yaml:",inline"`
}

// PlanPrice is a price in the words of a file.
type PlanPrice struct {
	Rail         string           `yaml:"rail,omitempty" json:"rail,omitempty" example:"pix.BRA"`
	Method       string           `yaml:"method,omitempty" json:"method,omitempty" example:"card"`
	Country      string           `yaml:"country,omitempty" json:"country,omitempty" doc:"ISO 3166 alpha-3" example:"MEX"`
	Channel      accounts.Channel `yaml:"channel,omitempty" json:"channel,omitempty" enum:"ONLINE,CASH,CREDIT_CARD"`
	Percent      *Number          `yaml:"percent,omitempty" json:"percent,omitempty" example:"1.2"`
	Flat         *Number          `yaml:"flat,omitempty" json:"flat,omitempty" example:"0.1"`
	Minimum      *Number          `yaml:"minimum,omitempty" json:"minimum,omitempty" doc:"Of the percentage and the flat part together" example:"0.2"`
	ProviderCost string           `yaml:"providerCost,omitempty" json:"providerCost,omitempty" doc:"What the merchant pays for the provider beside it: listed (as the catalog lists the rail), included (nothing), or a cost such as 0.99%+0.10 in USD" example:"included"`
}

// String is the price in one line, such as card 2.9% + 0.30.
func (p PlanPrice) String() string {
	words := slices.DeleteFunc([]string{p.Rail, p.Method, p.Country, string(p.Channel)}, func(w string) bool { return w == "" })
	var parts []string
	if p.Percent != nil {
		parts = append(parts, string(*p.Percent)+"%")
	}
	if p.Flat != nil {
		parts = append(parts, string(*p.Flat))
	}
	price := strings.Join(parts, " + ")
	if price == "" {
		price = "0"
	}
	if p.Minimum != nil {
		price += ", at least " + string(*p.Minimum)
	}
	switch p.ProviderCost {
	case "":
		price += ", and the provider's cost"
	case "included":
	default:
		price += ", and " + p.ProviderCost + " for the provider"
	}
	return strings.Join(append(words, price), " ")
}

// PlanReserve is the rolling reserve in the words of a file.
type PlanReserve struct {
	Percent *Number `yaml:"percent,omitempty" json:"percent,omitempty"`
	Days    *int    `yaml:"days,omitempty" json:"days,omitempty"`
	Cap     *Number `yaml:"cap,omitempty" json:"cap,omitempty" doc:"The reserve grows up to this"`
}

// PlanSettlement is when money becomes available, in the words of a file.
type PlanSettlement struct {
	Delay    string   `yaml:"delay,omitempty" json:"delay,omitempty" example:"48h"`
	Weekdays []string `yaml:"weekdays,omitempty,flow" json:"weekdays,omitempty" maxItems:"7" doc:"On which settlements close, in UTC; all if it is left out" example:"[\"mon\",\"thu\"]"`
}

// PlanWithdrawal is the price of a withdrawal in the words of a file.
type PlanWithdrawal struct {
	Fee     *Number `yaml:"fee,omitempty" json:"fee,omitempty"`
	Minimum *Number `yaml:"minimum,omitempty" json:"minimum,omitempty"`
}

// PlanPayouts is when what settlements owe is paid out, in the words of a file.
type PlanPayouts struct {
	Schedule  string   `yaml:"schedule" json:"schedule" enum:"automatic,on_request" doc:"automatic: settlements pay themselves; on_request: the merchant withdraws"`
	Weekdays  []string `yaml:"weekdays,omitempty,flow" json:"weekdays,omitempty" maxItems:"7" doc:"On which days of the week, in UTC; all if neither these nor monthdays are named" example:"[\"mon\",\"thu\"]"`
	Monthdays []int    `yaml:"monthdays,omitempty,flow" json:"monthdays,omitempty" maxItems:"31" doc:"On which days of the month, in UTC, instead of weekdays. In a month without the day, on its last one" example:"[1,15]"`
	Minimum   *Number  `yaml:"minimum,omitempty" json:"minimum,omitempty" doc:"A smaller payout waits for the next settlement" example:"100"`
}

// PlanTax is a tax on fees in the words of a file.
type PlanTax struct {
	Name    string  `yaml:"name" json:"name" example:"IVA"`
	Percent *Number `yaml:"percent" json:"percent" example:"16"`
}

// MaxSize is the most bytes of a file.
const MaxSize = 128 << 10

// Read reads a plan from a file.
//
// Errors: which lines are wrong, and why.
func Read(text []byte) (plans.Plan, error) {
	var file PlanText
	lines, err := decode(text, &file)
	if err != nil {
		return plans.Plan{}, err
	}
	p, err := file.Plan()
	if err == nil {
		err = p.Check()
	}
	return p, atLines(err, lines)
}

// ReadExceptions reads a merchant's exceptions from a plan.
//
// Errors: which lines are wrong, and why.
func ReadExceptions(text []byte, of plans.Plan) (plans.Exceptions, error) {
	var file PlanTerms
	lines, err := decode(text, &file)
	if err != nil {
		return plans.Exceptions{}, err
	}
	e, err := file.Exceptions(of)
	if err == nil {
		err = e.Check(of)
	}
	return e, atLines(err, lines)
}

// decode reads YAML into a value, and returns the lines of its fields.
func decode(text []byte, into any) (*yamlfile.Lines, error) {
	if err := yamlfile.Decode(text, MaxSize, into); err != nil {
		return nil, err
	}
	lines := yamlfile.NewLines(text)
	if lines.Alias > 0 {
		return nil, fmt.Errorf("line %d: aliases are not read: write it out", lines.Alias)
	}
	return lines, nil
}

// LineError is what is wrong with a line of a file.
type LineError struct {
	Line   int
	Path   string
	Reason problem.Reason
}

func (e LineError) Error() string {
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Path, e.Reason.Error())
}

// Unwrap returns the reason, so that it is shown as a sentence.
func (e LineError) Unwrap() error { return e.Reason }

// atLines is an error of Check with the lines of its fields.
func atLines(err error, lines *yamlfile.Lines) error {
	wrong, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	var list []error
	for _, i := range wrong.Details.Issues {
		path := i.Path
		if path == "name" {
			path = "plan"
		}
		list = append(list, LineError{lines.Of(path), path, i.Reason})
	}
	return errors.Join(list...)
}

// reader turns words into values, and collects what is wrong.
type reader struct {
	in     money.Currency
	issues []problem.Issue
}

func (r *reader) bad(path string, why problem.Reason) {
	r.issues = append(r.issues, problem.Issue{Path: path, Reason: why})
}

// percent reads hundredths of a percent.
func (r *reader) percent(path string, n *Number) int64 {
	if n == nil {
		return 0
	}
	a, err := money.Parse(string(*n), money.USD) // two decimals, as cents have
	if err != nil {
		r.bad(path, percentUnreadable)
	}
	return a.Minor
}

func (r *reader) amount(path string, n *Number) int64 {
	if n == nil {
		return 0
	}
	a, err := money.Parse(string(*n), r.in)
	if err != nil {
		r.bad(path, amountUnreadable.With(r.in))
	}
	return a.Minor
}

// Plan is the plan that the text says. It does not check it.
//
// Errors: invalid_request with every field that cannot be read.
func (t PlanText) Plan() (plans.Plan, error) {
	p := plans.Plan{Name: t.Name, Currency: t.Currency}
	if t.Currency == money.USD {
		p.Currency = ""
	}
	r := reader{in: money.USD}
	if t.Currency.Valid() {
		r.in = t.Currency
	}
	e := r.terms(t.PlanTerms)
	p = p.With(e)
	return p, problem.Invalid(r.issues...)
}

// Exceptions are the exceptions from a plan that the text says. It does not check them.
//
// Errors: invalid_request with every field that cannot be read.
func (t PlanTerms) Exceptions(of plans.Plan) (plans.Exceptions, error) {
	r := reader{in: of.In()}
	e := r.terms(t)
	return e, problem.Invalid(r.issues...)
}

func (r *reader) terms(t PlanTerms) (e plans.Exceptions) {
	for i, p := range t.Prices {
		e.Prices = append(e.Prices, r.price(fmt.Sprintf("prices[%d]", i), p))
	}
	if t.FXMargin != nil {
		e.FXMargin = new(r.percent("fxMargin", t.FXMargin))
	}
	if of := t.Reserve; of != nil {
		e.Reserve = &plans.Reserve{Percent: r.percent("reserve.percent", of.Percent), Cap: r.amount("reserve.cap", of.Cap)}
		if of.Days != nil {
			if e.Reserve.Days = *of.Days; *of.Days == 0 {
				e.Reserve.Days = -1 // none is no number of days; the check says so
			}
		}
	}
	if of := t.Settlement; of != nil {
		e.Settlement = r.settlement(*of)
	}
	if of := t.Withdrawal; of != nil {
		e.Withdrawal = &plans.Withdrawal{Fee: r.amount("withdrawal.fee", of.Fee), Minimum: r.amount("withdrawal.minimum", of.Minimum)}
	}
	if t.ChargebackFee != nil {
		e.ChargebackFee = new(r.amount("chargebackFee", t.ChargebackFee))
	}
	if t.RefundFee != nil {
		e.RefundFee = new(r.amount("refundFee", t.RefundFee))
	}
	if of := t.Payouts; of != nil {
		e.Payouts = r.payouts(*of)
	}
	if of := t.Tax; of != nil {
		e.Tax = &plans.Tax{Name: of.Name, Percent: r.percent("tax.percent", of.Percent)}
	}
	return e
}

func (r *reader) price(path string, t PlanPrice) plans.Price {
	p := plans.Price{
		Rail: t.Rail, Method: t.Method, Country: t.Country, Channel: t.Channel,
		Percent: r.percent(path+".percent", t.Percent), Flat: r.amount(path+".flat", t.Flat), Minimum: r.amount(path+".minimum", t.Minimum),
	}
	switch t.ProviderCost {
	case "", "listed":
	case "included":
		p.Cost = plans.Included
	default:
		own, err := money.ParseFee(t.ProviderCost)
		if err != nil {
			r.bad(path+".providerCost", providerCostUnreadable)
			return p
		}
		p.Cost, p.Own = plans.Stated, &own
	}
	return p
}

func (r *reader) settlement(t PlanSettlement) *plans.Settlement {
	delay, err := time.ParseDuration(t.Delay)
	if err != nil {
		r.bad("settlement.delay", delayUnreadable)
		delay = merchants.ShortestDelay
	}
	return &plans.Settlement{Delay: delay, Weekdays: r.weekdays("settlement.weekdays", t.Weekdays)}
}

func (r *reader) weekdays(path string, words []string) (days merchants.Weekdays) {
	for i, word := range words {
		n := slices.Index(merchants.WeekdayWords(), strings.ToLower(word))
		if n < 0 {
			r.bad(fmt.Sprintf("%s[%d]", path, i), weekdayUnreadable)
			continue
		}
		days = days.With(time.Weekday(n))
	}
	return days
}

func (r *reader) payouts(t PlanPayouts) *plans.Payouts {
	p := plans.Payouts{Schedule: plans.Schedule(t.Schedule), Weekdays: r.weekdays("payouts.weekdays", t.Weekdays), Minimum: r.amount("payouts.minimum", t.Minimum)}
	switch t.Schedule {
	case onRequest:
		p.Schedule = plans.OnRequest
	case "":
		r.bad("payouts.schedule", payoutScheduleRequired)
	}
	for i, day := range t.Monthdays {
		if day < 1 || day > 31 {
			r.bad(fmt.Sprintf("payouts.monthdays[%d]", i), monthdayUnreadable)
			continue
		}
		p.Monthdays = p.Monthdays.With(day)
	}
	return &p
}

// onRequest is the word for plans.OnRequest.
const onRequest = "on_request"

// New is a plan in the words of a file.
func New(p plans.Plan) PlanText {
	e := plans.Exceptions{Prices: p.Prices, Settlement: &p.Settlement}
	setUnlessZero(&e.FXMargin, &p.FXMargin)
	setUnlessZero(&e.Reserve, &p.Reserve)
	setUnlessZero(&e.Withdrawal, &p.Withdrawal)
	setUnlessZero(&e.ChargebackFee, &p.ChargebackFee)
	setUnlessZero(&e.RefundFee, &p.RefundFee)
	setUnlessZero(&e.Payouts, &p.Payouts)
	setUnlessZero(&e.Tax, &p.Tax)
	return PlanText{Name: p.Name, Currency: p.Currency, PlanTerms: NewTerms(e, p)}
}

// setUnlessZero sets a field to a value that is not zero.
func setUnlessZero[T comparable](field **T, value *T) {
	if *value != *new(T) {
		*field = value
	}
}

// NewTerms is a merchant's exceptions from a plan in the words of a file.
func NewTerms(e plans.Exceptions, of plans.Plan) PlanTerms {
	in := of.In()
	amount := func(minor int64) *Number { return new(Number(money.New(minor, in).Decimal())) }
	some := func(n int64, write func(int64) *Number) *Number {
		if n == 0 {
			return nil
		}
		return write(n)
	}
	var t PlanTerms
	for _, p := range e.Prices {
		line := PlanPrice{Rail: p.Rail, Method: p.Method, Country: p.Country, Channel: p.Channel,
			Percent: some(p.Percent, percent), Flat: some(p.Flat, amount), Minimum: some(p.Minimum, amount)}
		switch p.Cost {
		case plans.Included:
			line.ProviderCost = "included"
		case plans.Stated:
			line.ProviderCost = p.Own.String()
		}
		t.Prices = append(t.Prices, line)
	}
	if e.FXMargin != nil {
		t.FXMargin = percent(*e.FXMargin)
	}
	if of := e.Reserve; of != nil {
		t.Reserve = &PlanReserve{Percent: percent(of.Percent), Cap: some(of.Cap, amount)}
		if of.Days != 0 {
			t.Reserve.Days = &of.Days
		}
	}
	if of := e.Settlement; of != nil {
		t.Settlement = &PlanSettlement{Delay: strconv.Itoa(int(of.Delay.Hours())) + "h", Weekdays: of.Weekdays.Words()}
	}
	if of := e.Withdrawal; of != nil {
		t.Withdrawal = &PlanWithdrawal{Fee: some(of.Fee, amount), Minimum: some(of.Minimum, amount)}
	}
	if e.ChargebackFee != nil {
		t.ChargebackFee = amount(*e.ChargebackFee)
	}
	if e.RefundFee != nil {
		t.RefundFee = amount(*e.RefundFee)
	}
	if of := e.Payouts; of != nil {
		t.Payouts = &PlanPayouts{cmp.Or(string(of.Schedule), onRequest), of.Weekdays.Words(), of.Monthdays.List(), some(of.Minimum, amount)}
	}
	if of := e.Tax; of != nil {
		t.Tax = &PlanTax{Name: of.Name, Percent: percent(of.Percent)}
	}
	return t
}

func percent(bps int64) *Number { return new(Number(money.New(bps, money.USD).Decimal())) }

// Write returns the text for Read.
func Write(p plans.Plan) ([]byte, error) { return write(New(p)) }

// WriteExceptions returns the text for ReadExceptions.
func WriteExceptions(e plans.Exceptions, of plans.Plan) ([]byte, error) {
	return write(NewTerms(e, of))
}

func write(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}
