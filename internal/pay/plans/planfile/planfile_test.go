package planfile

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

const gold = `# what small shops pay
plan: gold
currency: MXN
prices:
  - rail: pix.BRA
    percent: 0.99
    minimum: 2
    providerCost: included
  - method: card
    country: MEX
    percent: 2.9
    flat: 3
    providerCost: 1.5%+0.10
  - percent: 1.2
fxMargin: 0.5
reserve: {percent: 5, days: 120, cap: 100000}
settlement: {delay: 72h, weekdays: [tue, fri]}
withdrawal: {fee: 30, minimum: 500}
chargebackFee: 200
refundFee: 2.5
tax: {name: IVA, percent: 16}
payouts: {schedule: automatic, monthdays: [1, 15], minimum: 2000}
`

// What is written is read again as the same plan.
func TestAPlanComesBack(t *testing.T) {
	p, err := Read([]byte(gold))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Write(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(text)
	if err != nil || !again.Same(p) || strings.Contains(string(text), "!!") {
		t.Errorf("%v: %s is read as %s", err, text, again.Text())
	}
}

// A mistake is shown with its line (PLAN-3).
func TestMistakesHaveLines(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"percent: 2.9", "percent: 2.999"}:              "line 11: prices[1].percent: plan.percent_unreadable",
		{"percent: 2.9", "percent: 99"}:                 "line 11: prices[1].percent: plan.percent_out_of_range",
		{"delay: 72h", "delay: 72"}:                     "line 17: settlement.delay: plan.delay_unreadable",
		{"[tue, fri]", "[tue, someday]"}:                "line 17: settlement.weekdays[1]: plan.weekday_unreadable",
		{"  - percent: 1.2\n", ""}:                      "line 9: prices[1]: plan.last_price_conditions",
		{"fxMargin: 0.5", "fxMargin: 0.5\nfxMargin: 1"}: `line 16: "fxMargin" is in line 15 already`,
		{"currency: MXN", "currency: MXZ"}:              "line 3: currency: plan.currency_unknown",
		{"refundFee: 2.5", "refundFees: 2.5"}:           `line 20: there is no field "refundFees" here`,
		{"plan: gold", "plan: Gold"}:                    "line 2: plan: plan.name_form",
		{"tax: {name: IVA,", "tax: {name: '',"}:         "line 21: tax.name: plan.tax_name_length",
		{"[1, 15]", "[0, 15]"}:                          "line 22: payouts.monthdays[0]: plan.monthday_unreadable",
		{"[1, 15]", "[1], weekdays: [mon]"}:             "line 22: payouts.monthdays: plan.payout_days_of_two_kinds",
		{"[1, 15]", "[1], weekdays: [noday]"}:           "line 22: payouts.weekdays[0]: plan.weekday_unreadable",
		{"schedule: automatic, ", ""}:                   "payouts.schedule: plan.payout_schedule_required",
		{"automatic", "sometimes"}:                      "line 22: payouts.schedule: plan.payout_schedule_unknown",
		{"automatic", "on_request"}:                     "line 22: payouts.schedule: plan.payouts_on_request",
		{"minimum: 2000", "minimum: 2.001"}:             "line 22: payouts.minimum: plan.amount_unreadable",
	} {
		text := strings.Replace(gold, change[0], change[1], 1)
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", change[1], err, want)
		}
	}
}

// Exceptions are in the plan's currency, and say only what differs.
func TestExceptionsComeBack(t *testing.T) {
	p, err := Read([]byte(gold))
	if err != nil {
		t.Fatal(err)
	}
	e, err := ReadExceptions([]byte("refundFee: 0\nprices:\n  - method: card\n    percent: 2.5\n"), p)
	if err != nil {
		t.Fatal(err)
	}
	own := p.With(e)
	if own.RefundFee != 0 || own.ChargebackFee != p.ChargebackFee || len(own.Prices) != 4 || own.Prices[0].Percent != 250 {
		t.Errorf("the plan with exceptions is %s", own.Text())
	}
	text, err := WriteExceptions(e, p)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ReadExceptions(text, p); err != nil || again.Text() != e.Text() {
		t.Errorf("%v: %s is read as %s", err, text, again.Text())
	}
}

// A file is read or refused, and what is read can be written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(gold))
	f.Add([]byte("plan: a\nsettlement: {delay: 48h}\n"))
	f.Add([]byte("plan: *a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(text)
		if err != nil {
			if strings.Contains(err.Error(), "planfile.") || strings.Contains(err.Error(), "plans.") {
				t.Errorf("%q: the names of our types are in %v", text, err)
			}
			return
		}
		written, err := Write(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Read(written); err != nil || !again.Same(p) {
			t.Fatalf("%v: %s is read as %s", err, written, again.Text())
		}
	})
}

// A file costs no more than its size.
func TestAFileCostsNoMoreThanItsSize(t *testing.T) {
	for name, input := range map[string]func(int) string{
		"unknown names": growth.Numbered("", "x%d: 1\n", ""), "prices": growth.Numbered("plan: a\nprices:\n", "  - {percent: %d}\n", ""),
		"wrong values": growth.Repeated("plan: a\nprices:\n", "  - x\n", ""), "weekdays": growth.Repeated("plan: a\nsettlement: {delay: 1h, weekdays: [", "x, ", "x]}"),
		"brackets": growth.Repeated("prices: ", "[", ""), "aliases": growth.Repeated("prices:\n  - &a {percent: 1}\n", "  - *a\n", ""),
		"a long text": growth.Repeated("plan: ", "x", "\n"), "dashes": growth.Repeated("", "- ", ""),
	} {
		growth.Of(t, name, MaxSize-16<<10, input, func(text string) int {
			_, err := Read([]byte(text))
			if err != nil {
				return len(err.Error())
			}
			return 0
		})
	}
}
