package pay

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"pgregory.net/rapid"
)

// trade is a merchant's payments with their books. Some decisions are written much later, if they
// are still valid then.
type trade struct {
	*books
	t       *rapid.T
	sales   map[string]*sale
	stalled []Change
	ids     int
}

// sale is a payment with its open refunds and all its disputes.
type sale struct {
	p        Payment
	refunds  map[string]Claim
	disputes map[string]Claim
}

func (w *trade) id(prefix string) string { w.ids++; return fmt.Sprintf("%s%04d", prefix, w.ids) }

// commit writes a change as the store does, and reports whether its guards held.
func (w *trade) commit(c Change) bool {
	for _, p := range c.Payments {
		if s := w.sales[p.ID]; s != nil && p.Version != s.p.Version+1 {
			return false
		}
	}
	for _, r := range c.Reserves {
		if r.Version != w.reserves[r.ID].Version+1 {
			return false
		}
	}
	for _, day := range c.Days {
		if w.reserves[day].Closed() {
			return false
		}
	}
	after := maps.Clone(w.balances)
	for _, tr := range c.Transfers {
		for _, line := range tr.Postings {
			after[line.Account] += line.Amount
		}
	}
	for _, f := range c.Floors {
		if after[f.Account] < f.Min {
			return false
		}
	}
	w.apply(c)
	for _, p := range c.Payments {
		if w.sales[p.ID] == nil {
			w.sales[p.ID] = &sale{refunds: map[string]Claim{}, disputes: map[string]Claim{}}
		}
		w.sales[p.ID].p = p
	}
	for _, claim := range c.Claims {
		w.keep(w.sales[claim.Payment], claim)
	}
	return true
}

func (w *trade) keep(s *sale, c Claim) {
	switch {
	case c.Kind == ChargebackClaim:
		s.disputes[c.ID] = c
	case c.Status.Terminal():
		delete(s.refunds, c.ID)
	default:
		s.refunds[c.ID] = c
	}
}

// any picks a sale.
func (w *trade) any() *sale {
	if len(w.sales) == 0 {
		return nil
	}
	return w.sales[rapid.SampledFrom(slices.Sorted(maps.Keys(w.sales))).Draw(w.t, "which")]
}

// anyTerms are those of a tier, or of a plan with prices of its own.
func anyTerms(t *rapid.T) merchants.Terms {
	terms := plans.OfTier(rapid.SampledFrom(merchants.Tiers()).Draw(t, "tier"))
	if rapid.Bool().Draw(t, "own plan") {
		terms.Price = merchants.Price{
			Bps: rapid.Int64Range(0, plans.MaxPercent).Draw(t, "percent"), Flat: rapid.Int64Range(0, 90).Draw(t, "flat price"), Least: rapid.Int64Range(0, 90).Draw(t, "least"),
			Cost: rapid.SampledFrom([]*money.Fee{nil, {}, {Bps: 99, Flat: 10}}).Draw(t, "cost"),
		}
		terms.FXMarginBps, terms.Taxed.Bps = rapid.Int64Range(0, 300).Draw(t, "margin"), rapid.Int64Range(0, 2500).Draw(t, "tax")
		terms.RefundFee, terms.ReserveDays = rapid.Int64Range(0, 100).Draw(t, "refund fee"), rapid.SampledFrom([]int{1, 30, 90, 180}).Draw(t, "days")
		terms.ReserveCap = rapid.SampledFrom([]int64{0, 500}).Draw(t, "cap")
	}
	return terms
}

// sell creates a payment of any amount, price, tier and term, in a currency with 0, 2 or 3 decimals
// and any value.
func (w *trade) sell() {
	local := money.New(rapid.Int64Range(1, 3_000_000).Draw(w.t, "local"), rapid.SampledFrom([]money.Currency{"CLP", "BRL", "KWD", "USD"}).Draw(w.t, "currency"))
	o := order(w.t, cardRail(), rapid.OneOf(rapid.Int64Range(1, 300), rapid.Int64Range(300, 100_000_00)).Draw(w.t, "cents"))
	o.ID, o.Local = w.id(PaymentPrefix), local
	o.Rail.Limits = []accounts.Limit{{Currency: local.Currency, Min: 1, Max: 1 << 40}}
	o.Rail.Fee = money.Fee{Bps: rapid.Int64Range(0, 600).Draw(w.t, "bps"), Flat: rapid.Int64Range(0, 60).Draw(w.t, "flat")}
	o.Terms = anyTerms(w.t)
	o.Terms.RefundFees = rapid.SampledFrom([]merchants.RefundFees{merchants.FeesKept, merchants.FeesReturned}).Draw(w.t, "refund fees")
	p, err := Create(o, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	p, _ = p.Begin(routes, w.now)
	_, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, w.now)
	w.commit(change)
}

// refund decides a refund. It may be written later, or never.
func (w *trade) refund(s *sale, amount money.Amount, stall bool) bool {
	n := NewRefund{ID: w.id(ClaimPrefix), Amount: amount, Released: w.reserves[ReserveOf(s.p)].Closed()}
	_, claim, change, err := s.p.Refund(n, w.balances, w.now)
	if err != nil {
		return false
	}
	for _, part := range []int64{claim.Parts.USD, claim.Parts.Net, claim.Parts.Reserve, claim.Parts.Provider, claim.Parts.Flat,
		claim.Parts.Network, claim.Parts.platform(), claim.Freed, claim.Parts.Reserve - claim.Freed} {
		if part < 0 {
			w.t.Fatalf("a refund of %s gives %+v with %d freed", amount, claim.Parts, claim.Freed)
		}
	}
	if stall {
		w.stalled = append(w.stalled, change)
		return true
	}
	return w.commit(change)
}

// answer makes the provider end a refund.
func (w *trade) answer(s *sale, kind OutcomeKind) {
	for _, id := range slices.Sorted(maps.Keys(s.refunds)) {
		_, change := s.refunds[id].ApplyRefundOutcome(s.p, Outcome{Kind: kind}, w.now)
		w.commit(change)
		return
	}
}

// argue opens a dispute, or ends the open one.
func (w *trade) argue(s *sale, ruling Ruling) {
	n := Notice{ID: w.id("n"), Account: "one", Reference: s.p.Reference(1)}
	if s.p.Disputes.OpenOnCapture() != "" {
		n.Ruling = ruling
	} else {
		n.Dispute, n.Outcome.Played = true, rapid.Bool().Draw(w.t, "played")
		n.Outcome.Local = s.p.Price.Local // the refund in progress may be refused, so its money is disputed too
	}
	var claims []Claim
	for _, id := range slices.Sorted(maps.Keys(s.disputes)) {
		claims = append(claims, s.disputes[id])
	}
	_, change := n.ApplyDispute(s.p, claims, [2]string{w.id(ClaimPrefix), w.id(ClaimPrefix)}, w.now)
	w.commit(change)
}

// release begins to release a day's reserve, and ends the release now or later.
func (w *trade) release(stall bool) {
	for _, id := range slices.Sorted(maps.Keys(w.reserves)) {
		r := w.reserves[id]
		if r.DueAt.IsZero() || r.DueAt.After(w.now) {
			continue
		}
		if !r.Closed() {
			_, change := r.Close(w.now)
			w.commit(change)
			if r = w.reserves[id]; stall {
				return
			}
		}
		change := r.Release(w.givenBack(r), w.balances, w.now)
		if stall {
			w.stalled = append(w.stalled, change)
			return
		}
		w.commit(change)
	}
}

func (w *trade) step() {
	stall := rapid.IntRange(0, 3).Draw(w.t, "stalls") == 0
	switch what := rapid.SampledFrom([]string{"sale", "sale", "refund", "refund", "refund", "refund", "answer", "answer", "dispute",
		"write", "withdraw", "release", "release", "loops", "loops"}).Draw(w.t, "what"); what {
	case "sale":
		w.sell()
	case "refund":
		s := w.any()
		if s == nil || !s.p.Refundable().IsPositive() {
			return
		}
		left := s.p.Refundable().Minor
		part := rapid.OneOf(rapid.Just(left), rapid.Just(int64(1)), rapid.Int64Range(1, left), rapid.Int64Range(max(1, left-2), left)).Draw(w.t, "part")
		w.refund(s, money.New(part, s.p.Price.Local.Currency), stall)
	case "answer":
		if s := w.any(); s != nil {
			w.answer(s, rapid.SampledFrom([]OutcomeKind{Approved, Declined}).Draw(w.t, "answer"))
		}
	case "dispute":
		if s := w.any(); s != nil {
			w.argue(s, rapid.SampledFrom([]Ruling{DisputeLost, DisputeWon, DisputeWithdrawn}).Draw(w.t, "ruling"))
		}
	case "write":
		w.write()
	case "withdraw": // so that refunds draw from pending; debts stay
		w.pay(max(0, w.balances[ledger.Available]))
	case "release":
		w.release(stall)
	case "loops":
		w.work(rapid.IntRange(1, 5).Draw(w.t, "chunk"))
	}
}

// write commits the stalled decisions whose guards still hold.
func (w *trade) write() {
	for _, change := range w.stalled {
		w.commit(change)
	}
	w.stalled = nil
}

// pay pays the merchant out; below zero, the merchant pays in.
func (w *trade) pay(amount int64) {
	w.withdrawn += amount
	w.balances[ledger.Available] -= amount
}

// sums adds up a payment's transfers by account.
func (w *trade) sums(p Payment) ledger.Balances {
	b := ledger.Balances{}
	for _, u := range w.transfers {
		if u.Payment == p.ID && u.Kind != ledger.ChargebackFee && u.Kind != ledger.RefundFee {
			for _, line := range u.Postings {
				b[line.Account] += line.Amount
			}
		}
	}
	return b
}

// check checks what must be true at any moment: nobody gives more than they had, and no day's
// reserve is used twice.
func (w *trade) check() {
	w.prove()
	unclaimed := map[time.Time]int64{}
	for _, u := range w.transfers {
		if _, done := w.claimed[u.ID]; !done && u.Payment != "" {
			unclaimed[u.Day] += u.Amount(ledger.Reserve)
		}
	}
	for _, r := range w.reserves {
		if left := r.Remaining() + unclaimed[r.Day]; left < 0 {
			w.t.Fatalf("of the reserve of %s %d is left: %+v", r.Day.Format(time.DateOnly), left, r)
		}
	}
	for _, s := range w.sales {
		b := w.sums(s.p)
		for account, fee := range feesByAccount(s.p) {
			least := int64(0)
			if s.p.Terms.RefundFees == merchants.FeesKept {
				least = fee
			}
			if b[account] < least || b[account] > fee {
				w.t.Fatalf("%s: %s is left with %d of %d\n%s", s.p.Terms.RefundFees, account, b[account], fee, s.p)
			}
		}
		if back := b[ledger.Refunds] + b[ledger.Chargebacks]; back < 0 || back > s.p.Price.Amount.Minor {
			w.t.Fatalf("the shopper got %d of %s\n%s", back, s.p.Price.Amount, s.p)
		}
		if s.p.Terms.RefundFees == merchants.FeesReturned && !s.p.Disputes.Any && merchantHas(b) < 0 {
			w.t.Fatalf("the merchant gave %d more than they got\n%s", -merchantHas(b), s.p)
		}
	}
}

func merchantHas(b ledger.Balances) int64 {
	return b[ledger.Pending] + b[ledger.Available] + b[ledger.Frozen] + b[ledger.Reserve]
}

func feesByAccount(p Payment) map[ledger.Account]int64 {
	return map[ledger.Account]int64{ledger.PlatformFees: p.Terms.Fees.Platform, ledger.ProviderFees: p.Terms.Fees.Provider,
		ledger.FlatFees: p.Terms.Fees.Flat, ledger.NetworkFees: p.Terms.Fees.Network, ledger.FeeTaxes: p.Terms.Fees.Tax}
}

// finish ends everything that is open, and refunds all that is left.
func (w *trade) finish() {
	w.write()
	w.pay(-1 << 40) // there is balance for all of it
	for _, id := range slices.Sorted(maps.Keys(w.sales)) {
		s := w.sales[id]
		for len(s.refunds) > 0 {
			w.answer(s, Approved)
		}
		if s.p.Disputes.OpenOnCapture() != "" {
			w.argue(s, DisputeLost)
		}
		if left := s.p.Refundable(); left.IsPositive() && !w.refund(s, left, false) {
			w.t.Fatalf("%s is left and cannot be refunded\n%s", left, s.p)
		}
		for len(s.refunds) > 0 {
			w.answer(s, Approved)
		}
	}
	for range 220 {
		w.now = w.now.Add(day)
		w.work(100)
	}
	w.check()
	if w.balances[ledger.Pending] != 0 || w.balances[ledger.Reserve] != 0 || w.balances[ledger.Frozen] != 0 {
		w.t.Fatalf("at the end %v is left", w.balances)
	}
}

// A payment is refunded in any parts and order, with settlements, releases of the reserve, disputes
// and refused refunds in between, and with commits that stall. The shopper gets what they paid. The
// merchant gives what they got, or all of it if the fees are kept. And each fee ends as the term
// says.
func TestRefundsTogetherAreTheCapture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &trade{books: newBooks(t), t: t, sales: map[string]*sale{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 20 * time.Hour, 30 * day}).Draw(t, "later"))
			w.step()
			w.check()
		}
		w.finish()
		for _, s := range w.sales {
			p, b := s.p, w.sums(s.p)
			back := b[ledger.Refunds] + b[ledger.Chargebacks]
			if p.Status != Chargeback && back != p.Price.Amount.Minor || b[ledger.Chargebacks] != 0 && back != p.Price.Amount.Minor {
				t.Fatalf("the shopper paid %s and got %d\n%s", p.Price.Amount, back, p)
			}
			if p.Refunds.Local < p.Price.Local.Minor {
				continue // a dispute took the rest, or ended it
			}
			gave := p.net() + p.Terms.Reserve - merchantHas(b)
			want := p.net() + p.Terms.Reserve
			if p.Terms.RefundFees == merchants.FeesKept {
				want = p.Price.Amount.Minor
			}
			if gave != want {
				t.Fatalf("%q: the merchant got %d and gave %d, want %d\n%s", p.Terms.RefundFees, p.net()+p.Terms.Reserve, gave, want, p)
			}
			for account, fee := range feesByAccount(p) {
				if p.Terms.RefundFees == merchants.FeesReturned {
					fee = 0
				}
				if b[account] != fee {
					t.Fatalf("%q: %s ends with %d, want %d\n%s", p.Terms.RefundFees, account, b[account], fee, p)
				}
			}
		}
	})
}

// Refunds before and after the release of the reserve: such refunds once took 104.25 from a
// merchant who had received 95.30.
func TestRefundsAroundTheReleaseTakeWhatWasGot(t *testing.T) {
	for _, c := range []struct {
		term  merchants.RefundFees
		parts [3]int64 // of 100.00; the first one before the release
		want  int64
	}{
		{merchants.FeesReturned, [3]int64{100, 9800, 100}, 9530},
		{merchants.FeesReturned, [3]int64{0, 9500, 500}, 9530},
		{merchants.FeesReturned, [3]int64{5000, 4000, 1000}, 9530},
		{merchants.FeesKept, [3]int64{100, 9800, 100}, 10000},
		{merchants.FeesKept, [3]int64{5000, 4000, 1000}, 10000},
		{merchants.FeesKept, [3]int64{10000, 0, 0}, 10000},
	} {
		o := order(t, cardRail(), 10000)
		o.Terms = plans.OfTier(merchants.Starter)
		o.Terms.RefundFees = c.term
		p, err := Create(o, noon)
		if err != nil {
			t.Fatal(err)
		}
		p, _ = p.Begin(routes, noon)
		p, _ = p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
		gave, back, fees := int64(0), int64(0), p.Terms.Fees.Total()
		for i, part := range c.parts {
			if part == 0 {
				continue
			}
			n := NewRefund{ID: fmt.Sprint("CLM-", i), Amount: money.New(part*p.Price.Local.Minor/10000, p.Price.Local.Currency), Released: i > 0}
			next, claim, change, err := p.Refund(n, ledger.Balances{ledger.Available: 1_000_000, ledger.Reserve: 1_000_000}, noon)
			if err != nil {
				t.Fatal(err)
			}
			if drawn := -change.Transfers[0].Amount(ledger.Reserve); n.Released && drawn != 0 || !n.Released && drawn != part*p.Terms.Reserve/10000 {
				t.Errorf("%s %v: refund %d draws %d on the reserve", c.term, c.parts, i+1, drawn)
			}
			_, done := claim.ApplyRefundOutcome(next, Outcome{Kind: Approved}, noon)
			for _, tr := range append(change.Transfers, done.Transfers...) {
				gave -= merchantHas(ledger.Balances{ledger.Pending: tr.Amount(ledger.Pending), ledger.Available: tr.Amount(ledger.Available),
					ledger.Frozen: tr.Amount(ledger.Frozen), ledger.Reserve: tr.Amount(ledger.Reserve)})
				back += tr.Amount(ledger.Refunds)
				fees += feesOf(tr)
			}
			p = next
		}
		if want := p.Terms.Fees.Total() - (10000 - c.want); gave != c.want || back != 10000 || fees != want {
			t.Errorf("%q %v: the merchant gave %d, want %d; the shopper got %d; %d of the fees is left", c.term, c.parts, gave, c.want, back, fees)
		}
	}
}

// A failed refund returns the money to where it came from: the reserve's part to the reserve,
// unless it was taken from the balance.
func TestRefusedRefundGoesBackWhereItCameFrom(t *testing.T) {
	for _, c := range []struct {
		released         bool
		reserve          int64 // the merchant's part in it
		toReserve, freed int64
	}{{false, 500, 500, 0}, {true, 500, 0, 500}, {false, 200, 200, 300}, {false, -1, 0, 500}} {
		p := sent(t, cardRail(), 10000)
		p, _ = p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
		have := ledger.Balances{ledger.Available: 1_000_000, ledger.Reserve: c.reserve}
		p, claim, change, err := p.Refund(NewRefund{ID: "CLM-1", Released: c.released}, have, noon)
		if err != nil {
			t.Fatal(err)
		}
		freeze := change.Transfers[0]
		if claim.Freed != c.freed || -freeze.Amount(ledger.Reserve) != c.toReserve || (len(change.Days) == 1) != (c.toReserve > 0) {
			t.Errorf("%+v: freed %d, guarded by %v:\n%s", c, claim.Freed, change.Days, freeze)
		}
		_, done := claim.ApplyRefundOutcome(p, Outcome{Kind: Declined}, noon)
		for _, account := range []ledger.Account{ledger.Available, ledger.Reserve, ledger.Frozen} {
			if back := done.Transfers[0].Amount(account); back != -freeze.Amount(account) {
				t.Errorf("%+v: %s gets %d back, it gave %d", c, account, back, -freeze.Amount(account))
			}
		}
		if done.Payments[0].Refunds.USD != (Parts{}) {
			t.Errorf("%+v: the payment says that %+v is given", c, done.Payments[0].Refunds.USD)
		}
	}
}
