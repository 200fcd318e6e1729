package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// rulesHold is the invariant of routing rules: they decide by what a payment is, and weights by its id, on every node and after every crash.
const rulesHold = "a payment goes where the operator's rules say"

// The rules of a world. Large payments are spread by weights. Others are, in the first hour of a day, for the last account first. Once an account
// refused, one rule is about all others.
const (
	large      = "large"
	largeFrom  = 120_00 // USD cents
	atNight    = "at-night"
	nightUntil = 60 // minutes after midnight, UTC
)

var largeShares = map[string]int{"first": 30, "second": 70}

// rules applies routing rules with conditions and weights, before anything happens.
func (w *world) rules() error {
	ctx := lane(context.Background(), "rules")
	_, _, err := w.nodes[0].app.Rules.Apply(ctx, w.nodes[0].app.Self(), routing.Rules{Conditional: []routing.Conditional{
		{Name: large, When: routing.Conditions{Amounts: []routing.Span{{Currency: money.USD, Min: largeFrom}}}, Rule: routing.Rule{Weights: maps.Clone(largeShares)}},
		{Name: atNight, When: routing.Conditions{Hours: []routing.Hours{{From: 0, To: nightUntil}}, Attempt: routing.FirstTry}, Rule: routing.Rule{Accounts: []string{"third", "first"}}},
		{Name: "again", When: routing.Conditions{Attempt: routing.LaterTry}, Rule: routing.Rule{Accounts: []string{"second", "third", "first"}}},
	}})
	for _, n := range w.nodes[1:] {
		if err == nil {
			err = n.app.Rules.Read(ctx)
		}
	}
	w.ruled = err == nil
	return err
}

// checkRules compares where payments went with what the rules say.
func (w *world) checkRules(all *books) {
	if !w.ruled {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(all.payments)) {
		p := all.payments[id]
		if _, known := w.madeAt[id]; !known || len(p.Attempts) == 0 { // it is older than the rules
			continue
		}
		want, first := "", p.Attempts[0]
		switch created := p.Times.Created.UTC(); {
		case p.Price.Amount.Minor >= largeFrom:
			want = large
		case created.Hour()*60+created.Minute() < nightUntil:
			want = atNight
		}
		if rule, decided := strings.CutPrefix(first.Why, "rule "); decided != (want != "") || want != "" && !strings.HasPrefix(rule, want+" (") {
			w.find(rulesHold, id, "%s of %s, made at %s, began at %s because of %q, want the rule %q", id, p.Price.Amount, p.Times.Created, first.Provider, first.Why, want)
		}
		w.count("payments by the rule " + want)
		if want == large {
			w.checkShares(p)
		}
	}
}

// checkShares checks a payment whose accounts are drawn.
func (w *world) checkShares(p pay.Payment) {
	for _, a := range p.Attempts {
		if largeShares[a.Provider] == 0 {
			w.find(rulesHold, p.ID, "attempt %d of %s went to %s, which its rule does not list", a.Order, p.ID, a.Provider)
		}
	}
	first := p.Attempts[0]
	if slices.ContainsFunc(first.Passed, func(why string) bool { return strings.HasPrefix(why, "first") || strings.HasPrefix(why, "second") }) {
		return // it failed at that time
	}
	if drawn := drawnFor(p.ID); first.Provider != drawn {
		w.find(rulesHold, p.ID, "%s began at %s (%s), and its id draws %s", p.ID, first.Provider, first.Why, drawn)
	}
}

// drawnFor is the account that a payment's id draws: that with the smallest exponential variate, whose rate is the account's weight.
func drawnFor(payment string) (best string) {
	least := math.Inf(1)
	for _, account := range slices.Sorted(maps.Keys(largeShares)) {
		sum := sha256.Sum256([]byte(payment + " " + account))
		u := (float64(binary.BigEndian.Uint64(sum[:8])) + 1) / (1 << 63) / 2
		if drawn := -math.Log2(u) / float64(largeShares[account]); drawn < least {
			best, least = account, drawn
		}
	}
	return best
}
