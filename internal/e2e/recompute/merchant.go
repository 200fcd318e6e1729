package recompute

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// merchant compares what is in a merchant's folder. merchant.json is the reply of GET /merchants/{id} of the admin API, and
// exceptions.2.yaml what differs from the plan of its second assignment. Of the merchants' API are clock.json, balance.json, methods.json, and
// listed.json (the methods as a publishable key reads them: with their list prices); payments, disputes, settlements and withdrawals are
// folders with one reply for each, settlements also with the report of each, as CSV in English.
type merchant struct {
	books
	dir     string
	out     *Result
	given   []assignment
	methods map[string]tree // as the catalog lists them
	paid    map[string]paid
	settled map[string]int // lines of charges, by payment
	payouts map[string]bool
}

type assignment struct {
	plan string
	from time.Time
	own  tree
}

// paid is a payment with what it should cost.
type paid struct {
	tree
	terms
	charge
}

func (m *merchant) compare() error {
	for _, step := range []func() error{m.readTerms, m.comparePayments, m.compareDisputes, m.compareSettlements, m.compareWithdrawals, m.compareNow} {
		if err := step(); err != nil {
			return err
		}
	}
	for id, p := range m.paid {
		if want := map[bool]int{true: 1}[p.text("timestamps", "completed") != ""]; m.settled[id] != want {
			m.differs("%s is in %d settlements, want %d", id, m.settled[id], want)
		}
	}
	return nil
}

func (m *merchant) differs(format string, args ...any) {
	m.out.Differences = append(m.out.Differences, filepath.Base(m.dir)+": "+fmt.Sprintf(format, args...))
}

// is compares USD of a reply with cents.
func (m *merchant) is(what string, got *big.Rat, want *big.Rat) {
	if cents := new(big.Rat).Mul(got, big.NewRat(100, 1)); cents.Cmp(want) != 0 {
		m.differs("%s is %s cents, want %s", what, cents.RatString(), want.RatString())
	}
}

func (m *merchant) readTerms() error {
	reply, err := jsonTree(filepath.Join(m.dir, "merchant.json"))
	if err != nil {
		return err
	}
	for i, of := range reply.get("assignments").list() {
		a := assignment{plan: of.text("plan"), from: of.time("from")}
		if own, err := yamlTree(filepath.Join(m.dir, fmt.Sprintf("exceptions.%d.yaml", i+1))); err == nil {
			a.own = own
		} else if !os.IsNotExist(err) {
			return err
		}
		m.given = append(m.given, a)
	}
	listed, err := jsonTree(filepath.Join(m.dir, "listed.json"))
	m.methods, m.paid, m.settled, m.payouts = map[string]tree{}, map[string]paid{}, map[string]int{}, map[string]bool{}
	for _, of := range listed.get("methods").list() {
		m.methods[of.text("paymentMethodId")] = of
	}
	return err
}

// terms are the merchant's at a time.
func (m *merchant) terms(at time.Time) (terms, error) {
	var now assignment
	for _, a := range m.given {
		if !a.from.After(at) {
			now = a
		}
	}
	v := in(m.plans[now.plan], at)
	t := terms{name: now.plan, plan: v.says, own: now.own, rate: m.rates["USD"]}
	if v.says.none() {
		return t, fmt.Errorf("no plan %q at %s", now.plan, at)
	}
	if in := v.says.text("currency"); in != "" {
		t.rate = m.rates[in]
	}
	if t.rate == nil || t.rate.Sign() == 0 {
		return t, fmt.Errorf("no rate of the plan %s", now.plan)
	}
	return t, nil
}

// each reads the replies of a folder.
func (m *merchant) each(folder string, compare func(tree) error) error {
	list, err := filepath.Glob(filepath.Join(m.dir, folder, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range list {
		reply, err := jsonTree(path)
		if err != nil {
			return err
		}
		if err := compare(reply); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func (m *merchant) comparePayments() error {
	return m.each("payments", func(p tree) error {
		m.out.Payments++
		id := p.text("id")
		t, err := m.terms(p.time("timestamps", "created"))
		method, known := m.methods[p.text("paymentMethodId")]
		if err != nil || !known {
			return fmt.Errorf("the method is known: %t, %w", known, err)
		}
		c := t.charge(method, new(big.Rat).Mul(p.number("amount"), big.NewRat(100, 1)), p.text("currencyLocal") != "USD")
		m.is(id+" platform", p.number("fees", "platform"), c.platform)
		m.is(id+" provider", p.number("fees", "provider"), c.provider)
		m.is(id+" network", p.number("fees", "network"), new(big.Rat))
		m.is(id+" total", p.number("fees", "total"), c.total())
		m.taxed(id, t, p.get("fees"), c.tax)
		if got, want := p.text("settlement", "delay"), t.says("settlement").text("delay"); got != want {
			m.differs("%s settles after %s, want %s", id, got, want)
		}
		m.paid[id] = paid{p, t, c}
		return nil
	})
}

// taxed compares fees with their tax.
func (m *merchant) taxed(what string, t terms, fees tree, cents *big.Rat) {
	m.is(what+" tax", fees.number("tax"), cents)
	name, percent := t.says("tax").text("name"), t.says("tax").number("percent")
	if cents.Sign() != 0 && (fees.text("taxName") != name || fees.number("taxPercent").Cmp(percent) != 0) {
		m.differs("%s is taxed by %s %s%%, want %s %s%%", what, fees.text("taxName"), fees.text("taxPercent"), name, percent.RatString())
	}
}

// costs compares a fee, which has its tax in it, and the tax.
func (m *merchant) costs(what string, t terms, of tree, fee string, cents *big.Rat) {
	tax := t.tax(cents)
	m.is(what, of.number(fee), sum(cents, tax))
	m.is(what+" tax", of.number(strings.TrimSuffix(fee, "Usd")+"Tax", "amount"), tax)
	if by := of.get(strings.TrimSuffix(fee, "Usd") + "Tax"); tax.Sign() != 0 && (by.text("name") != t.says("tax").text("name") || by.number("percent").Cmp(t.says("tax").number("percent")) != 0) {
		m.differs("%s is taxed by %v", what, by)
	}
}

func (m *merchant) compareDisputes() error {
	return m.each("disputes", func(d tree) error {
		m.out.Disputes++
		p, known := m.paid[d.text("transactionId")]
		if !known {
			return fmt.Errorf("no payment %s", d.text("transactionId"))
		}
		m.costs(d.text("id"), p.terms, d, "feeUsd", p.cents(p.says("chargebackFee").number()))
		return nil
	})
}

func (m *merchant) compareWithdrawals() error {
	return m.each("withdrawals", func(w tree) error {
		m.out.Withdrawals++
		at := w.time("createdAt")
		t, err := m.terms(at)
		if err != nil {
			return err
		}
		m.costs(w.text("id"), t, w, "feeUsd", t.cents(t.says("withdrawal").number("fee")))
		if into := w.get("payout"); !into.none() { // what arrives is the net amount, at the withdrawal's rate
			off := new(big.Rat).Mul(w.number("netAmount"), into.number("rate"))
			off.Sub(off, into.number("amount")).Abs(off)
			most := big.NewRat(1, 100)
			if slices.Contains([]string{"CLP", "PYG"}, into.text("currency")) {
				most = big.NewRat(1, 1)
			}
			if off.Cmp(most) > 0 {
				m.differs("%s sends %s %s of a net amount of %s USD at %s", w.text("id"), into.text("amount"), into.text("currency"), w.text("netAmount"), into.text("rate"))
			}
		}
		least := t.cents(t.says("withdrawal").number("minimum"))
		if m.payouts[w.text("id")] {
			m.out.Payouts++
			agreed := t.says("payouts")
			least = larger(least, t.cents(agreed.number("minimum")))
			if agreed.text("schedule") != "automatic" || !payoutDay(agreed, at) {
				m.differs("%s paid settlements out at %s, which the plan does not say", w.text("id"), at)
			}
		}
		if new(big.Rat).Mul(w.number("amount"), big.NewRat(100, 1)).Cmp(least) < 0 {
			m.differs("%s has %s, which is less than %s cents", w.text("id"), w.text("amount"), least.RatString())
		}
		return nil
	})
}

// payoutDay reports whether a plan pays out on the day.
func payoutDay(agreed tree, at time.Time) bool {
	at = at.UTC()
	is := func(list tree, word string) bool {
		return list.none() || slices.ContainsFunc(list.list(), func(t tree) bool { return fmt.Sprint(t.any) == word })
	}
	return is(agreed.get("weekdays"), strings.ToLower(at.Weekday().String()[:3])) && is(agreed.get("monthdays"), fmt.Sprint(at.Day()))
}

// sums are a settlement's, in USD cents.
type sums map[string]*big.Rat

func (s sums) add(name string, cents *big.Rat) { s[name] = sum(s.of(name), cents) }

func (s sums) of(name string) *big.Rat {
	if s[name] == nil {
		return new(big.Rat)
	}
	return s[name]
}

func (m *merchant) compareSettlements() error {
	return m.each("settlements", func(s tree) error {
		m.out.Settlements++
		id := s.text("id")
		if payout := s.text("payoutId"); payout != "" {
			m.payouts[payout] = true
		}
		lines, err := report(filepath.Join(m.dir, "settlements", id+".csv"))
		if err != nil {
			return err
		}
		total := sums{}
		for _, l := range lines {
			m.out.Lines++
			if err := m.compareLine(id+" line "+l["No."], l, total); err != nil {
				return err
			}
		}
		for name, got := range map[string]*big.Rat{
			"platform": s.number("fees", "platform"), "provider": s.number("fees", "provider"), "tax": s.number("fees", "tax"), "refunds": s.number("refunds"),
			"total": s.number("fees", "total"), "chargebackFees": s.number("chargebackFees"), "chargebacks": s.number("chargebacks"),
			"gross": s.number("grossVolume"), "held": s.number("reserveHeld"), "net": s.number("netAmount"),
		} {
			m.is(id+" "+name, got, total.of(name))
		}
		for _, tax := range s.get("taxes").list() {
			name := "tax " + tax.text("name") + " " + tax.number("percent").RatString()
			m.is(id+" "+name, tax.number("amount"), total.of(name))
			delete(total, name)
		}
		for name, cents := range total {
			if strings.HasPrefix(name, "tax ") && cents.Sign() != 0 {
				m.differs("%s does not have %s of %s cents", id, name, cents.RatString())
			}
		}
		return nil
	})
}

// compareLine compares a line of a report with what the payment's terms say, and adds what they say to the sums.
func (m *merchant) compareLine(what string, l map[string]string, total sums) error {
	p, known := m.paid[l["Transaction"]]
	if l["Type"] == "Reserve release" { // no fee: it gives back what was held
		m.is(what+" net", rat(l["Net (USD)"]), new(big.Rat).Mul(rat(l["Reserve (USD)"]), big.NewRat(-100, 1)))
		total.add("net", new(big.Rat).Mul(rat(l["Net (USD)"]), big.NewRat(100, 1)))
		return nil
	}
	if !known {
		return fmt.Errorf("%s is about no payment: %v", what, l)
	}
	none := new(big.Rat)
	want := charge{none, none, none, none}
	dispute := none
	amount := new(big.Rat).Mul(rat(l["Amount (USD)"]), big.NewRat(100, 1))
	switch l["Type"] {
	case "Charge":
		want = p.charge
		m.settled[l["Transaction"]]++
		m.is(what+" amount", p.number("amount"), amount)
		total.add("gross", amount)
		total.add("held", want.reserve)
	case "Refund fee":
		want.platform = p.cents(p.says("refundFee").number())
		want.tax = p.terms.tax(want.platform)
	case "Chargeback fee":
		dispute = p.cents(p.says("chargebackFee").number())
		want.tax = p.terms.tax(dispute)
	case "Refund":
		total.add("refunds", new(big.Rat).Neg(amount))
	case "Chargeback":
		total.add("chargebacks", new(big.Rat).Neg(amount))
	default:
		return fmt.Errorf("%s has the type %s", what, l["Type"])
	}
	m.is(what+" platform", rat(l["Platform fee (USD)"]), want.platform)
	m.is(what+" provider", rat(l["Provider fee (USD)"]), want.provider)
	m.is(what+" network", rat(l["Network fee (USD)"]), none)
	m.is(what+" chargeback fee", rat(l["Chargeback fee (USD)"]), dispute)
	m.taxed(what, p.terms, tree{map[string]any{"tax": l["Tax on fees (USD)"], "taxName": l["Tax"], "taxPercent": l["Tax in percent"]}}, want.tax)
	reserve := new(big.Rat).Mul(rat(l["Reserve (USD)"]), big.NewRat(100, 1))
	if l["Type"] == "Charge" && reserve.Cmp(want.reserve) != 0 {
		m.differs("%s holds %s cents, want %s", what, reserve.RatString(), want.reserve.RatString())
	}
	net := sum(amount, new(big.Rat).Neg(want.total()), new(big.Rat).Neg(dispute), new(big.Rat).Neg(reserve))
	m.is(what+" net", rat(l["Net (USD)"]), net)
	for name, cents := range map[string]*big.Rat{"platform": want.platform, "provider": want.provider, "tax": want.tax, "total": want.total(), "chargebackFees": dispute, "net": net} {
		total.add(name, cents)
	}
	if want.tax.Sign() != 0 {
		total.add("tax "+p.says("tax").text("name")+" "+p.says("tax").number("percent").RatString(), want.tax)
	}
	return nil
}

// report reads a report, by the headings of its columns.
func report(path string) (lines []map[string]string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff"))).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%d rows: %w", len(rows), err)
	}
	for _, row := range rows[1:] {
		line := map[string]string{}
		for i, name := range rows[0] {
			line[name] = row[i]
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// compareNow compares what the merchant is shown of the prices that are in force: of methods, of withdrawals, and when it is paid out.
func (m *merchant) compareNow() error {
	clock, err := jsonTree(filepath.Join(m.dir, "clock.json"))
	if err != nil {
		return err
	}
	t, err := m.terms(clock.time("now"))
	if err != nil {
		return err
	}
	shown, err := jsonTree(filepath.Join(m.dir, "methods.json"))
	if err != nil {
		return err
	}
	for _, of := range shown.get("methods").list() {
		m.out.Methods++
		id := of.text("paymentMethodId")
		p := t.price(m.methods[id])
		percent, flat := cost(p, m.methods[id])
		percent = sum(percent, p.number("percent"))
		if of.get("currencies").list()[0].any != "USD" {
			percent = sum(percent, t.says("fxMargin").number())
		}
		if of.number("fee", "percent").Cmp(percent) != 0 {
			m.differs("%s is shown at %s percent, want %s", id, of.text("fee", "percent"), percent.RatString())
		}
		m.is(id+" flat", of.number("fee", "flat"), sum(t.cents(p.number("flat")), new(big.Rat).Mul(flat, big.NewRat(100, 1))))
		m.is(id+" minimum", of.number("fee", "platform", "minimum"), t.cents(p.number("minimum")))
		if of.text("fee", "taxName") != t.says("tax").text("name") || of.number("fee", "taxPercent").Cmp(t.says("tax").number("percent")) != 0 {
			m.differs("%s is shown with the tax %s", id, of.text("fee", "taxName"))
		}
	}
	balance, err := jsonTree(filepath.Join(m.dir, "balance.json"))
	m.costs("a withdrawal", t, balance, "withdrawalFeeUsd", t.cents(t.says("withdrawal").number("fee")))
	if got, want := balance.text("payouts", "schedule"), t.says("payouts").text("schedule"); got != want && !(want == "" && got == "on_request") {
		m.differs("payouts are %s, want %s", got, want)
	}
	return err
}
