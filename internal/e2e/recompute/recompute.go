// Package recompute computes what merchants pay from price plans as files, and compares that with what the service charged, as its APIs
// say it. It imports nothing of the service: it has its own arithmetic, and reads files and replies by itself.
//
// A folder has what it reads. plans/gold.2.yaml is version 2 of a plan, plans/gold.json the reply of GET /plans/gold/versions, and rates.json
// that of GET /rates. Each merchant has a folder in merchants: see merchant.
package recompute

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Result is what was compared, and what differs.
type Result struct {
	Payments, Methods, Settlements, Lines, Disputes, Withdrawals, Payouts int
	Differences                                                           []string
}

// Folder compares all that is in a folder.
//
// Errors: what cannot be read.
func Folder(dir string) (Result, error) {
	var out Result
	b := books{plans: map[string][]version{}, rates: map[string]*big.Rat{"USD": big.NewRat(1, 1)}}
	if err := b.read(dir); err != nil {
		return out, err
	}
	list, err := filepath.Glob(filepath.Join(dir, "merchants", "*"))
	if err != nil {
		return out, err
	}
	for _, at := range list {
		m := merchant{books: b, dir: at, out: &out}
		if err := m.compare(); err != nil {
			return out, fmt.Errorf("%s: %w", filepath.Base(at), err)
		}
	}
	return out, nil
}

// tree is a value of JSON or YAML: a map, a list, or a scalar. Numbers are as they are written.
type tree struct{ any }

func jsonTree(path string) (tree, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tree{}, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var t tree
	err = decoder.Decode(&t.any)
	return t, err
}

func yamlTree(path string) (tree, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tree{}, err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return tree{}, err
	}
	return tree{plain(n.Content[0])}, nil
}

func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		fields := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			fields[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return fields
	case yaml.SequenceNode:
		list := []any{}
		for _, of := range n.Content {
			list = append(list, plain(of))
		}
		return list
	}
	return n.Value
}

// get is the value of a field; none if there is none.
func (t tree) get(path ...string) tree {
	for _, name := range path {
		fields, _ := t.any.(map[string]any)
		t = tree{fields[name]}
	}
	return t
}

func (t tree) none() bool { return t.any == nil }

func (t tree) list() (list []tree) {
	all, _ := t.any.([]any)
	for _, of := range all {
		list = append(list, tree{of})
	}
	return list
}

func (t tree) text(path ...string) string {
	if v := t.get(path...); !v.none() {
		return fmt.Sprint(v.any)
	}
	return ""
}

// number is a number, zero if there is none.
func (t tree) number(path ...string) *big.Rat {
	return rat(t.text(path...))
}

func rat(text string) *big.Rat {
	if n, ok := new(big.Rat).SetString(text); ok {
		return n
	}
	return new(big.Rat)
}

func (t tree) time(path ...string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, t.text(path...))
	if err != nil {
		return time.Time{}
	}
	return at
}

// version is a version of a plan, or a merchant's exceptions.
type version struct {
	number int64
	from   time.Time
	says   tree
}

// books are the plans with all their versions, and the rates.
type books struct {
	plans map[string][]version
	rates map[string]*big.Rat // of one USD
}

func (b *books) read(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "plans", "*.json"))
	if err != nil {
		return err
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		reply, err := jsonTree(path)
		if err != nil {
			return err
		}
		for _, of := range reply.get("data").list() {
			v := version{from: of.time("from")}
			v.number = of.number("version").Num().Int64()
			if v.says, err = yamlTree(filepath.Join(dir, "plans", fmt.Sprintf("%s.%d.yaml", name, v.number))); err != nil {
				return err
			}
			b.plans[name] = append(b.plans[name], v)
		}
		slices.SortFunc(b.plans[name], func(a, c version) int { return int(a.number - c.number) })
	}
	reply, err := jsonTree(filepath.Join(dir, "rates.json"))
	for _, of := range reply.get("data").list() {
		b.rates[of.text("currency")] = of.number("rate")
	}
	return err
}

// in is the newest version that is in force at a time.
func in(list []version, at time.Time) (best version) {
	for i, v := range list {
		if i == 0 || !v.from.After(at) {
			best = v
		}
	}
	return best
}

// terms are a plan with a merchant's exceptions.
type terms struct {
	name      string
	plan, own tree
	rate      *big.Rat
}

// says is a field of the plan, or of the exceptions, which replace the whole field.
func (t terms) says(field string) tree {
	if own := t.own.get(field); !own.none() {
		return own
	}
	return t.plan.get(field)
}

func (t terms) prices() []tree {
	return append(t.own.get("prices").list(), t.plan.get("prices").list()...)
}

// cents is an amount of the plan in USD cents, rounded half up.
func (t terms) cents(amount *big.Rat) *big.Rat {
	return half(new(big.Rat).Quo(new(big.Rat).Mul(amount, big.NewRat(100, 1)), t.rate))
}

// half rounds half up to a whole number that is not below zero.
func half(n *big.Rat) *big.Rat {
	n = new(big.Rat).Add(n, big.NewRat(1, 2))
	return new(big.Rat).SetInt(new(big.Int).Quo(n.Num(), n.Denom()))
}

// share is a percentage of cents, rounded half up: at least a cent if one is agreed and least says so.
func share(cents, percent *big.Rat, least bool) *big.Rat {
	part := half(new(big.Rat).Quo(new(big.Rat).Mul(cents, percent), big.NewRat(100, 1)))
	if least && percent.Sign() > 0 && part.Sign() == 0 {
		part.SetInt64(1)
	}
	return part
}

func sum(list ...*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, n := range list {
		total.Add(total, n)
	}
	return total
}

func larger(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// fits reports whether a price is for a method of the catalog.
func fits(price, method tree) bool {
	rail, id := price.text("rail"), method.text("paymentMethodId")
	network, all := strings.CutSuffix(rail, "*")
	if rail != "" && rail != id && !(all && strings.HasPrefix(id, network)) {
		return false
	}
	for field, of := range map[string]string{"method": "method", "country": "countryIso3", "channel": "channel"} {
		if want := price.text(field); want != "" && want != method.text(of) {
			return false
		}
	}
	return true
}

// cost is what a price has of the provider's cost: percent, and USD.
func cost(price, method tree) (percent, flat *big.Rat) {
	switch text := price.text("providerCost"); text {
	case "", "listed":
		return method.number("fee", "percent"), method.number("fee", "flat")
	case "included":
		return new(big.Rat), new(big.Rat)
	default:
		percent = new(big.Rat)
		if before, after, ok := strings.Cut(text, "%"); ok {
			percent, text = rat(before), strings.TrimPrefix(after, "+")
		}
		return percent, rat(text)
	}
}

// charge is what a payment costs, in USD cents.
type charge struct{ platform, provider, tax, reserve *big.Rat }

func (c charge) total() *big.Rat { return sum(c.platform, c.provider, c.tax) }

// price is the first that fits a method; none if there is none.
func (t terms) price(method tree) tree {
	for _, p := range t.prices() {
		if fits(p, method) {
			return p
		}
	}
	return tree{}
}

// charge computes what a payment costs. No part takes more than the others left of it.
func (t terms) charge(method tree, cents *big.Rat, converted bool) charge {
	p := t.price(method)
	platform := sum(share(cents, p.number("percent"), true), t.cents(p.number("flat")))
	platform = larger(platform, t.cents(p.number("minimum")))
	if converted {
		platform = sum(platform, share(cents, t.says("fxMargin").number(), true))
	}
	percent, flat := cost(p, method)
	if p.none() {
		percent, flat = new(big.Rat), new(big.Rat)
	}
	left := new(big.Rat).Set(cents)
	part := func(want *big.Rat) *big.Rat {
		if want.Cmp(left) > 0 {
			want = left
		}
		left = new(big.Rat).Sub(left, want)
		return want
	}
	c := charge{platform: part(platform)}
	c.provider = sum(part(share(cents, percent, true)), part(new(big.Rat).Mul(flat, big.NewRat(100, 1))))
	c.tax = part(t.tax(sum(c.platform, c.provider)))
	c.reserve = part(share(cents, t.says("reserve").number("percent"), false))
	return c
}

// tax is the tax on fees.
func (t terms) tax(cents *big.Rat) *big.Rat {
	return share(cents, t.says("tax").number("percent"), false)
}
