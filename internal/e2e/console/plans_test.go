package console

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/statement/pdftest"
)

// planText is a plan as an operator sends it, read again here by other means than the service's.
type planText string

// rat is a number of the plan, zero if it does not say it.
func (p planText) rat(t *testing.T, path ...string) *big.Rat {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(p)))
	decoder.UseNumber()
	var at any
	harness.Must(t, decoder.Decode(&at))
	for _, name := range path {
		switch of := at.(type) {
		case map[string]any:
			at = of[name]
		case []any:
			at = of[int(name[0]-'0')]
		}
	}
	if at == nil {
		return new(big.Rat)
	}
	n, _ := new(big.Rat).SetString(fmt.Sprint(at))
	return n
}

// cents rounds an amount of USD half up.
func cents(usd *big.Rat) *big.Rat {
	n := new(big.Rat).Mul(usd, big.NewRat(100, 1))
	n.Add(n, big.NewRat(1, 2))
	return new(big.Rat).SetInt(new(big.Int).Quo(n.Num(), n.Denom()))
}

func usd(cents *big.Rat) string {
	return strings.TrimSuffix(strings.TrimSuffix(new(big.Rat).Quo(cents, big.NewRat(100, 1)).FloatString(2), "0"), ".0")
}

// price is the fees of a payment in cents: platform, provider, tax, and the sum. The plan's price is its number n; the provider's cost is
// percent and flat.
func (p planText) price(t *testing.T, n string, amount *big.Rat, percent, flat string, local bool) (platform, provider, tax, total *big.Rat) {
	share := func(of, percent *big.Rat) *big.Rat {
		if percent.Sign() == 0 {
			return new(big.Rat)
		}
		part := cents(new(big.Rat).Quo(new(big.Rat).Mul(of, percent), big.NewRat(100, 1)))
		if part.Sign() == 0 {
			part.SetInt64(1)
		}
		return part
	}
	number := func(text string) *big.Rat { r, _ := new(big.Rat).SetString(text); return r }
	platform = new(big.Rat).Add(share(amount, p.rat(t, "prices", n, "percent")), cents(p.rat(t, "prices", n, "flat")))
	if least := cents(p.rat(t, "prices", n, "minimum")); platform.Cmp(least) < 0 {
		platform = least
	}
	if local {
		platform.Add(platform, share(amount, p.rat(t, "fxMargin")))
	}
	provider = new(big.Rat).Add(share(amount, number(percent)), cents(number(flat)))
	fees := new(big.Rat).Add(platform, provider)
	tax = cents(new(big.Rat).Quo(new(big.Rat).Mul(new(big.Rat).Quo(fees, big.NewRat(100, 1)), p.rat(t, "tax", "percent")), big.NewRat(100, 1)))
	return platform, provider, tax, new(big.Rat).Add(fees, tax)
}

const (
	goldPlan = `{"prices":[{"rail":"sbx_pix","percent":0.99,"minimum":0.2,"providerCost":"included"},
		{"method":"card","percent":2.9,"flat":0.3,"providerCost":"1.5%+0.10"},{"percent":1.2}],
		"fxMargin":0.5,"reserve":{"percent":5,"days":30,"cap":12},"settlement":{"delay":"72h"},"withdrawal":{"fee":3,"minimum":20},
		"chargebackFee":20,"refundFee":0.25,"tax":{"name":"IVA","percent":16}}`
	dearPlan = `{"prices":[{"percent":4,"flat":0.5,"providerCost":"included"}],"settlement":{"delay":"24h"},"withdrawal":{"fee":1},"tax":{"name":"ISS","percent":5}}`
)

// Every payment has the fees of the plan that was in force when it was made, and its settlement has them to the cent (PLAN-1, PLAN-2).
func TestFeesAreThoseOfThePlan(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		path := "/merchants/" + o.Merchant.ID
		op.Ask(t, http.MethodPut, "/plans/gold", goldPlan).Want(t, http.StatusOK).Tells(t, "version", "1")
		op.Ask(t, http.MethodPut, "/plans/gold", goldPlan).Want(t, http.StatusOK).Tells(t, "version", "1") // a repeat changes nothing
		op.Ask(t, http.MethodPut, "/plans/dear", dearPlan).Want(t, http.StatusOK)
		op.Get(t, "/plans").Want(t, http.StatusOK).Tells(t, "data.1.plan", `"gold"`)
		op.Get(t, "/plans/gold").Want(t, http.StatusOK).Tells(t, "tax.percent", "16")
		op.Get(t, "/plans/gold/versions").Want(t, http.StatusOK).Tells(t, "data.0.version", "1")
		given := op.Patch(t, path, `{"plan":{"name":"gold"},"refundFees":"kept","reason":"a contract"}`).Want(t, http.StatusOK)
		given.Tells(t, "plan", `"gold/1"`)
		op.Did(t, audit.PlanAssigned, o.Merchant.ID, given)
		if got := o.Get(t, "/me").Text(t, "plan"); got != "gold" {
			t.Errorf("the profile has the plan %s", got)
		}

		// In half a month the merchant's price for everything else changes.
		later := op.App.Now().Add(15 * 24 * time.Hour).UTC().Format(time.RFC3339)
		op.Patch(t, path, `{"plan":{"name":"dear","from":"`+later+`","exceptions":{"refundFee":1}}}`).Want(t, http.StatusOK).Tells(t, "plan", `"gold/1"`)

		sums := map[string]*big.Rat{"platform": {}, "provider": {}, "tax": {}, "total": {}}
		sell := func(plan planText, n, body, percent, flat string, local bool) string {
			r := o.Post(t, "/payments", body).Want(t, http.StatusCreated)
			id := r.Text(t, "transactionId")
			amount, _ := new(big.Rat).SetString(r.Text(t, "amount"))
			platform, provider, tax, total := plan.price(t, n, amount, percent, flat, local)
			for name, want := range map[string]*big.Rat{"platform": platform, "provider": provider, "tax": tax, "total": total} {
				got := "0"
				if _, listed := r.At(t, "fees."+name); listed {
					got = r.Text(t, "fees."+name)
				}
				if got != usd(want) {
					t.Errorf("%s has a fee %s of %s, want %s: %s", body, name, got, usd(want), r)
				}
				sums[name].Add(sums[name], want)
			}
			if r.Text(t, "status") != "completed" {
				o.Simulate(t, id, "paid").Want(t, http.StatusOK)
			}
			return id
		}
		refunded := sell(goldPlan, "1", `{"amount":100,"paymentMethodId":"sbx_card"}`, "1.5", "0.1", false)
		sell(goldPlan, "1", `{"amount":0.5,"paymentMethodId":"sbx_card"}`, "1.5", "0.1", false)
		sell(goldPlan, "0", `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, "0", "0", true)
		sell(goldPlan, "2", `{"amount":200,"paymentMethodId":"sbx_cash"}`, "3.5", "0", true)
		if got := o.Get(t, "/me/balance").Text(t, "balance.reserve"); got != "12" {
			t.Errorf("the reserve has %s, want its cap of 12", got)
		}
		if got := o.Get(t, "/me/balance").Text(t, "withdrawalFeeUsd"); got != "3.48" { // with the tax
			t.Errorf("a withdrawal costs %s, want 3.48", got)
		}
		harness.MoveTestClock(t, o, "71h")
		op.Work(t)
		o.Get(t, "/settlements?status=closed").Tells(t, "pagination.total", "0")
		harness.MoveTestClock(t, o, "1h")
		settled := harness.ClosedSettlements(t, o, 1)
		for name, want := range sums {
			if got := settled.Text(t, "data.0.fees."+name); got != usd(want) {
				t.Errorf("the settlement has a fee %s of %s, want %s", name, got, usd(want))
			}
		}
		available := o.Get(t, "/me/balance").Text(t, "balance.available")

		// A refund costs what its payment's terms say, with the tax: 0.25 and 0.04.
		o.Refund(t, refunded, `{"amount":10}`).Want(t, http.StatusOK)
		was, _ := new(big.Rat).SetString(available)
		is, _ := new(big.Rat).SetString(o.Get(t, "/me/balance").Text(t, "balance.available"))
		if took := new(big.Rat).Sub(was, is).FloatString(2); took != "9.79" { // 0.50 of it is from the reserve
			t.Errorf("a refund of 10 took %s from the balance, want 9.79", took)
		}
		harness.MoveTestClock(t, o, "73h")
		costs := harness.ClosedSettlements(t, o, 2)
		if got := costs.Text(t, "data.0.fees.platform") + " " + costs.Text(t, "data.0.fees.tax") + " " + costs.Text(t, "data.0.refunds"); got != "0.25 0.04 10" {
			t.Errorf("the settlement of the refund has a fee, a tax and refunds of %s, want 0.25 0.04 10", got)
		}

		// From the day on, the other plan is in force.
		for name := range sums {
			sums[name] = new(big.Rat)
		}
		harness.MoveTestClock(t, o, "239h")
		sell(dearPlan, "0", `{"amount":100,"paymentMethodId":"sbx_card"}`, "0", "0", false)
		if got := o.Get(t, "/me").Text(t, "plan"); got != "dear" {
			t.Errorf("the profile has the plan %s", got)
		}
		harness.MoveTestClock(t, o, "24h")
		settled = harness.ClosedSettlements(t, o, 3)
		for name, want := range sums {
			if _, listed := settled.At(t, "data.0.fees."+name); (listed || want.Sign() != 0) && settled.Text(t, "data.0.fees."+name) != usd(want) {
				t.Errorf("the settlement under the other plan has a fee %s of %s, want %s", name, settled.Text(t, "data.0.fees."+name), usd(want))
			}
		}

		// The reserve of the first payments is held for 30 days, not 90.
		harness.MoveTestClock(t, o, "360h")
		op.Settle(t, "the reserve is released after 30 days", func() bool {
			return o.Get(t, "/me/balance").Text(t, "balance.reserve") == "0"
		})

		// A replay of what is in force finds no difference, and of another plan the one that its prices say.
		replay := op.Post(t, "/plan-replays", `{"environment":"sandbox","from":"2020-01-01T00:00:00Z","to":"2100-01-01T00:00:00Z","merchantIds":["`+o.Merchant.ID+`"],"plan":{"plan":"free","settlement":{"delay":"48h"}}}`).Want(t, http.StatusOK)
		replay.Tells(t, "total.payments", "5")
		replay.Tells(t, "total.is.platform", "0")
	})
}

// A plan that cannot be is refused with each field that is wrong, and nothing is applied (PLAN-3).
func TestWrongPlansAreRefused(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		for body, want := range map[string]string{
			`{"prices":[{"percent":1.234}],"settlement":{"delay":"48h"}}`:                              "400 invalid_request invalid_request_error param=prices[0].percent issues=prices[0].percent",
			`{"prices":[{"percent":60}],"settlement":{"delay":"48h"}}`:                                 "400 invalid_request invalid_request_error param=prices[0].percent issues=prices[0].percent",
			`{"prices":[{"percent":1},{"method":"card","percent":2}],"settlement":{"delay":"48h"}}`:    "400 invalid_request invalid_request_error param=prices[1] issues=prices[1],prices[1]",
			`{"prices":[{"rail":"gold.ATL","percent":1},{"percent":1}],"settlement":{"delay":"48h"}}`:  "400 invalid_request invalid_request_error param=prices[0] issues=prices[0]",
			`{"prices":[{"percent":1}],"settlement":{"delay":"1h"}}`:                                   "400 invalid_request invalid_request_error param=settlement.delay issues=settlement.delay",
			`{"prices":[{"percent":1}]}`:                                                               "400 invalid_request invalid_request_error param=settlement.delay issues=settlement.delay",
			`{"currency":"CHF","prices":[{"percent":1}],"settlement":{"delay":"48h"}}`:                 "400 invalid_request invalid_request_error param=currency",
			`{"prices":[{"percent":1,"providerCost":"dear"}],"settlement":{"delay":"48h"}}`:            "400 invalid_request invalid_request_error param=prices[0].providerCost issues=prices[0].providerCost",
			`{"prices":[{"percent":1}],"settlement":{"delay":"48h"},"from":"2001-01-01T00:00:00Z"}`:    "400 invalid_request invalid_request_error param=from",
			`{"prices":[{"percent":1}],"settlement":{"delay":"48h"},"tax":{"name":"","percent":1}}`:    "400 invalid_request invalid_request_error param=tax.name issues=tax.name",
			`{"prices":[{"percent":1}],"settlement":{"delay":"48h"},"reserve":{"percent":1,"days":0}}`: "400 invalid_request invalid_request_error param=reserve.days issues=reserve.days",
		} {
			op.Ask(t, http.MethodPut, "/plans/wrong", body).Refused(t, want)
		}
		op.Get(t, "/plans/wrong").Refused(t, "404 not_found invalid_request_error")
		op.Get(t, "/plans/wrong/versions").Refused(t, "404 not_found invalid_request_error")
		op.Patch(t, "/merchants/"+o.Merchant.ID, `{"plan":{"name":"wrong"}}`).Refused(t, "400 invalid_request invalid_request_error param=plan")
		// A plan keeps its currency, in which exceptions are, and cannot be assigned before it is in force.
		later := op.App.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
		op.Ask(t, http.MethodPut, "/plans/late", `{"prices":[{"percent":1}],"settlement":{"delay":"48h"},"from":"`+later+`"}`).Want(t, http.StatusOK)
		op.Patch(t, "/merchants/"+o.Merchant.ID, `{"plan":{"name":"late"}}`).Refused(t, "400 invalid_request invalid_request_error param=from")
		op.Ask(t, http.MethodPut, "/plans/late", `{"currency":"MXN","prices":[{"percent":1}],"settlement":{"delay":"48h"}}`).Refused(t, "400 invalid_request invalid_request_error param=currency")
		op.Patch(t, "/merchants/"+o.Merchant.ID, `{"trustScore":5}`).Refused(t, "400 missing_field invalid_request_error param=reason")
		op.Patch(t, "/merchants/"+o.Merchant.ID, `{"trustScore":5,"reason":"chargebacks"}`).Tells(t, "trustScore", "5")
	})
}

// Merchants see each tax with its name, its percent and its amount: over the API, in events, on the receipt, on pages and in files. After a
// change of plan a settlement has several (PLAN-6).
func TestTaxesHaveNames(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		plan := func(name, percent string) {
			t.Helper()
			op.Ask(t, http.MethodPut, "/plans/taxed", `{"prices":[{"percent":10,"providerCost":"included"}],"settlement":{"delay":"24h"},"withdrawal":{"fee":2},"chargebackFee":10,
				"refundFee":1,"tax":{"name":"`+name+`","percent":`+percent+`}}`).Want(t, http.StatusOK)
		}
		tells := func(r harness.Reply, pairs ...string) {
			t.Helper()
			for i := 0; i < len(pairs); i += 2 {
				r.Tells(t, pairs[i], pairs[i+1])
			}
		}
		plan("IVA", "16")
		op.Patch(t, "/merchants/"+o.Merchant.ID, `{"plan":{"name":"taxed"}}`).Want(t, http.StatusOK)
		first := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		plan("ISS", "2.5")
		second := o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`)
		tells(o.Get(t, "/payments/"+first), "fees.tax", "1.6", "fees.taxName", `"IVA"`, "fees.taxPercent", "16", "fees.total", "11.6")
		tells(o.Get(t, "/payments/"+second), "fees.taxName", `"ISS"`, "fees.taxPercent", "2.5")
		o.Simulate(t, first, "chargeback").Want(t, http.StatusOK)
		claim := o.Get(t, "/claims?type=chargeback").Text(t, "data.0.id")
		tells(o.Get(t, "/claims/"+claim), "feeUsd", "11.6", "feeTax.name", `"IVA"`, "feeTax.percent", "16", "feeTax.amount", "1.6")
		harness.MoveTestClock(t, o, "25h")
		s := harness.ClosedSettlements(t, o, 1)
		tells(s, "data.0.taxes.0.name", `"IVA"`, "data.0.taxes.0.amount", "3.2", "data.0.taxes.1.name", `"ISS"`, "data.0.taxes.1.amount", "0.5")
		tells(s, "data.0.fees.tax", "3.7")
		settlement := s.Text(t, "data.0.id")
		lines := o.Get(t, "/settlements/"+settlement+"/transactions").Want(t, http.StatusOK)
		tells(lines, "data.0.fees.taxName", `"IVA"`, "data.1.fees.taxPercent", "2.5")
		_, csv := harness.ReportFile(t, o, "/settlements/"+settlement+"/report?format=csv")
		_, pdf := harness.ReportFile(t, o, "/settlements/"+settlement+"/report?format=pdf")
		receipt := pdftest.Text(pdf)
		o.Wallet(t)
		tells(o.Get(t, "/me/balance"), "withdrawalFeeUsd", "2.05", "withdrawalFeeTax.amount", "0.05", "withdrawalFeeTax.name", `"ISS"`)
		tells(o.Get(t, "/withdrawals/quote?amount=20"), "feeTax.percent", "2.5")
		withdrawal := o.Withdraw(t, "20")
		tells(o.Get(t, "/withdrawals/"+withdrawal), "feeUsd", "2.05", "feeTax.name", `"ISS"`, "feeTax.amount", "0.05")
		staff := o.Staff(t, people.Owner)
		for what, text := range map[string]string{
			"the report": string(csv), "the receipt": receipt, "the page of the settlement": staff.Page(t, "/settlements/"+settlement),
			"the file of settlements": staff.Page(t, "/settlements.csv"),
		} {
			for _, want := range []string{"IVA", "16", "ISS", "2.5"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q: %s", what, want, text)
				}
			}
		}
		for path, want := range map[string]string{
			"payments/" + first: "IVA 16%", "payments/export": "IVA,16", "disputes/" + claim: "IVA 16%", "disputes.csv": "IVA,16", "withdrawals/" + withdrawal: "ISS 2.5%",
			"withdrawals.csv": "ISS,2.5", "withdrawals/new?wallet=&amount=20": "ISS 2.5%", "shop": "ISS 2.5%",
		} {
			if text := staff.Page(t, "/"+path); !strings.Contains(text, want) {
				t.Errorf("%s lacks %q: %s", path, want, text)
			}
		}
	})
}
