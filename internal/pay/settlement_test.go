package pay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"pgregory.net/rapid"
)

// books has a merchant's transfers, balances, settlements and reserves, as a store would keep them.
type books struct {
	t         *rapid.T
	now       time.Time
	balances  ledger.Balances
	transfers []Unsettled
	claimed   map[string]string // transfer → settlement
	batch     Settlement        // the open settlement
	closed    []Settlement
	lines     map[string][]SettlementLine
	reserves  map[string]Reserve
	days      map[string]time.Time // of whose reserve a payment's part is
	settles   map[string]time.Time // when a payment settles by its own terms
	delay     time.Duration        // of the merchant's present terms
	withdrawn int64
	meanwhile func() // runs once while a settlement closes
}

func newBooks(t *rapid.T) *books {
	m := merchants.Merchant{ID: "mer_1", Tier: merchants.Standard, CreatedAt: noon}
	return &books{
		t: t, now: noon, balances: ledger.Balances{}, claimed: map[string]string{}, lines: map[string][]SettlementLine{},
		reserves: map[string]Reserve{}, days: map[string]time.Time{}, settles: map[string]time.Time{}, delay: plans.OfTier(m.Tier).Delay, batch: OpenSettlement(merchants.Scope{Merchant: m.ID}, m.CreatedAt, noon).Settlements[0],
	}
}

// apply books a change, as Commit would.
func (b *books) apply(c Change) {
	for _, transfer := range c.Transfers {
		if err := transfer.Check(); err != nil {
			b.t.Fatal(err)
		}
		if transfer.Kind == ledger.Capture {
			days, _ := strconv.Atoi(transfer.Memo)
			b.days[transfer.Payment], b.settles[transfer.Payment] = ReserveDay(transfer.At, cmp.Or(days, merchants.DefaultReserveDays)), transfer.Settles
		}
		for _, p := range transfer.Postings {
			b.balances[p.Account] += p.Amount
		}
		b.transfers = append(b.transfers, Unsettled{Transfer: transfer, Day: b.days[transfer.Payment]})
	}
	for _, f := range c.Floors {
		if b.balances[f.Account] < f.Min {
			b.t.Fatalf("%s is %d, below its floor of %d", f.Account, b.balances[f.Account], f.Min)
		}
	}
	for _, l := range c.Lines {
		if was, twice := b.claimed[l.Transfer]; twice {
			b.t.Fatalf("%s is in %s and in %s", l.Transfer, was, l.Settlement)
		}
		b.claimed[l.Transfer] = l.Settlement
		b.lines[l.Settlement] = append(b.lines[l.Settlement], l)
	}
	for _, r := range c.Reserves {
		b.reserves[r.ID] = r
	}
}

// unclaimed lists the transfers that the settlement may collect, at most limit after the cursor.
func (b *books) unclaimed(at Cursor, matured time.Time, limit int) ([]Unsettled, Cursor) {
	var list []Unsettled
	kinds := SettledKinds()
	for ; !at.Done(); at = at.Next() {
		var of []Unsettled
		for _, u := range b.transfers {
			if _, done := b.claimed[u.ID]; u.Kind == kinds[at.Kind] && !done && !b.settles[u.Payment].After(matured) {
				of = append(of, u)
			}
		}
		slices.SortFunc(of, func(x, y Unsettled) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.ID, y.ID)) })
		if len(list)+len(of) > limit {
			return append(list, of[:limit-len(list)]...), at
		}
		list = append(list, of...)
	}
	return list, at
}

// givenBack is what refunds that no settlement has collected took of a day's reserve.
func (b *books) givenBack(r Reserve) (given int64) {
	for _, u := range b.transfers {
		if _, done := b.claimed[u.ID]; !done && u.Kind != ledger.Capture && u.Payment != "" && u.Day.Equal(r.Day) {
			given -= u.Amount(ledger.Reserve)
		}
	}
	return given
}

// work runs the loops once at a time.
func (b *books) work(chunk int) {
	for _, id := range slices.Sorted(maps.Keys(b.reserves)) {
		r := b.reserves[id]
		if r.DueAt.IsZero() || r.DueAt.After(b.now) {
			continue
		}
		if !r.Closed() {
			next, change := r.Close(b.now)
			b.apply(change)
			r = next
		}
		b.apply(r.Release(b.givenBack(r), b.balances, b.now))
	}
	if b.batch.DueAt.After(b.now) {
		return
	}
	var first time.Time
	for _, u := range b.transfers {
		due := u.At.Add(b.delay)
		if settles := b.settles[u.Payment]; u.Kind == ledger.Capture || settles.After(due) {
			due = settles
		}
		if _, done := b.claimed[u.ID]; !done && slices.Contains(SettledKinds(), u.Kind) && (first.IsZero() || due.Before(first)) {
			first = due
		}
	}
	s, closing := b.batch.Advance(first, b.delay, 0, b.now)
	b.batch = s
	for closing {
		list, at := b.unclaimed(b.batch.At, b.batch.Matured, chunk)
		gathered, lines := b.batch.Gather(list, at)
		switch {
		case !at.Done():
			next, change := gathered.Continue(lines, b.reserves, b.now, b.now)
			b.apply(change)
			b.batch = next
			continue
		case gathered.Lines == 0:
			change := gathered.Rest(lines, b.reserves, b.now)
			b.apply(change)
			b.batch = change.Settlements[0]
		default:
			if b.meanwhile != nil {
				b.meanwhile()
				b.meanwhile = nil
			}
			done, change := gathered.Close(lines, b.reserves, b.balances, Audience{Shops: []merchants.Shop{{ID: "shp_1"}}}, b.now)
			b.apply(change)
			b.closed = append(b.closed, done)
			b.batch = change.Settlements[1]
		}
		return
	}
}

// prove checks what must be true at any moment.
func (b *books) prove() {
	net := map[string]int64{}
	for id, lines := range b.lines {
		for i, l := range lines {
			want := l.Gross - l.Platform - l.Provider - l.Network - l.Tax - l.Refund - l.Chargeback - l.ChargebackFee - l.Reserve + l.Adjustment
			if l.Net != want {
				b.t.Fatalf("line %d of %s nets %d, its parts %d", i, id, l.Net, want)
			}
			net[id] += l.Net
		}
	}
	total := int64(0)
	for i, s := range b.closed {
		if s.Net != net[s.ID] {
			b.t.Fatalf("settlement %d nets %d, its lines %d", i+1, s.Net, net[s.ID])
		}
		if want := s.Gross - s.Fees().Total() - s.Refunds - s.Chargebacks - s.ChargebackFees - s.Held + s.Released + s.Adjustments; s.Net != want {
			b.t.Fatalf("settlement %d nets %d, its totals %d", i+1, s.Net, want)
		}
		if s.Moved < 0 {
			b.t.Fatalf("settlement %d moved %d", i+1, s.Moved)
		}
		total += s.Net
	}
	if b.balances[ledger.Pending] < 0 || b.balances[ledger.Reserve] < 0 {
		b.t.Fatalf("balances %v", b.balances)
	}
	// A payment is settled when its own terms say, whatever the merchant's are now.
	for _, u := range b.transfers {
		if u.Kind != ledger.Capture {
			continue
		}
		at := slices.IndexFunc(b.closed, func(s Settlement) bool { return s.ID == b.claimed[u.ID] })
		if at >= 0 && b.closed[at].Matured.Before(u.Settles) {
			b.t.Fatalf("%s is settled at %s, before %s", u.Payment, b.closed[at].Matured, u.Settles)
		}
		if last := len(b.closed) - 1; last >= 0 && b.claimed[u.ID] == "" && !u.Settles.After(b.closed[last].Matured) {
			b.t.Fatalf("%s was due at %s, and was left by the settlement of %s", u.Payment, u.Settles, b.closed[last].Matured)
		}
		if _, done := b.claimed[u.ID]; !done && b.batch.Number > 1 && b.batch.DueAt.After(u.Settles) && b.batch.DueAt.After(b.batch.CreatedAt.Add(settlementGap)) {
			b.t.Fatalf("%s is due at %s, and the settlement sleeps until %s", u.Payment, u.Settles, b.batch.DueAt)
		}
	}
	// All lines, settled or not, add up to all the money.
	for _, u := range b.transfers {
		if id, done := b.claimed[u.ID]; bookings[u.Kind].apart || done && id != b.batch.ID {
			continue
		}
		total += u.Amount(ledger.Pending) + u.Amount(ledger.Available) + u.Amount(ledger.Frozen)
	}
	if have := b.balances[ledger.Pending] + b.balances[ledger.Available] + b.balances[ledger.Frozen] + b.withdrawn; have != total {
		b.t.Fatalf("pending, available, frozen and withdrawn are %d, the lines add up to %d", have, total)
	}
}

func TestSettlementsAndBalancesAgreeToTheCent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(t)
		var paid []Payment
		open := map[int][]Claim{} // refunds that wait for their provider, by payment
		refund := func(claim string) {
			if len(paid) == 0 {
				return
			}
			at := rapid.IntRange(0, len(paid)-1).Draw(t, "which")
			left := paid[at].Refundable()
			if !left.IsPositive() {
				return
			}
			amount := money.New(rapid.Int64Range(1, left.Minor).Draw(t, "refund"), left.Currency)
			p, opened, change, err := paid[at].Refund(NewRefund{ID: claim, Amount: amount, Released: b.reserves[ReserveOf(paid[at])].Closed()}, b.balances, b.now)
			if refused := new(problem.Error); errors.As(err, &refused) {
				return
			}
			b.apply(change)
			paid[at], open[at] = p, append(open[at], opened)
		}
		// The provider pays a refund now or later, or does not.
		end := func(at int, to ClaimStatus) {
			for _, claim := range open[at] {
				p, change := claim.endRefund(paid[at], to, b.now)
				b.apply(change)
				paid[at] = p
			}
			delete(open, at)
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			b.now = b.now.Add(time.Duration(rapid.IntRange(0, 20*3600).Draw(t, "seconds")) * time.Second)
			b.now = b.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 0, 45 * day}).Draw(t, "later"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2:
				o := order(t, cardRail(), rapid.Int64Range(1, 50_000).Draw(t, "cents"))
				o.ID, o.Terms = fmt.Sprintf("TXN-%03d", i), anyTerms(t)
				p, err := Create(o, b.now)
				if err != nil {
					t.Fatal(err)
				}
				p, _ = p.Begin(routes, b.now)
				p, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, b.now)
				b.apply(change)
				paid = append(paid, p)
			case 3, 4:
				refund(fmt.Sprintf("CLM-%03d", i))
			case 5: // so that refunds draw from pending; and the merchant gets another tier
				b.delay = plans.OfTier(rapid.SampledFrom(merchants.Tiers()).Draw(t, "new tier")).Delay
				b.withdrawn += b.balances[ledger.Available]
				b.balances[ledger.Available] = 0
			case 6, 7:
				for _, at := range slices.Sorted(maps.Keys(open)) {
					end(at, rapid.SampledFrom([]ClaimStatus{ClaimApproved, ClaimRejected}).Draw(t, "outcome"))
				}
			case 8:
				b.meanwhile = func() { refund(fmt.Sprintf("CLM-%03dM", i)) }
				b.work(rapid.IntRange(1, 5).Draw(t, "chunk"))
			default:
				b.work(rapid.IntRange(1, 5).Draw(t, "chunk"))
			}
			b.prove()
		}
		b.meanwhile = nil
		for _, at := range slices.Sorted(maps.Keys(open)) {
			end(at, ClaimApproved)
		}
		// Nothing more happens: all money becomes available, and the reserve is released.
		for range 220 {
			b.now = b.now.Add(day)
			b.work(3)
			b.prove()
		}
		if b.balances[ledger.Pending] != 0 || b.balances[ledger.Reserve] != 0 || b.batch.Carry+b.batch.Pending != 0 {
			t.Fatalf("at the end pending is %d, reserve %d, carried %d; want nothing",
				b.balances[ledger.Pending], b.balances[ledger.Reserve], b.batch.Carry+b.batch.Pending)
		}
		net := int64(0)
		for _, s := range b.closed {
			net += s.Net
		}
		if net != b.balances[ledger.Available]+b.withdrawn {
			t.Fatalf("the settlements add up to %d, available is %d and %d was withdrawn", net, b.balances[ledger.Available], b.withdrawn)
		}
	})
}

func TestSettlementIsOpenedOnce(t *testing.T) {
	books := merchants.Scope{Merchant: "mer_1"}
	one, two := OpenSettlement(books, noon, noon), OpenSettlement(books, noon, noon.Add(time.Hour))
	if one.Settlements[0].ID != two.Settlements[0].ID || one.Once.Key != two.Once.Key {
		t.Errorf("two nodes open %s and %s, want the same", one.Settlements[0].ID, two.Settlements[0].ID)
	}
	if live := OpenSettlement(merchants.Scope{Merchant: "mer_1", Live: true}, noon, noon); live.Settlements[0].ID == one.Settlements[0].ID {
		t.Errorf("the sandbox and production share %s", one.Settlements[0].ID)
	}
}

func TestSettlementWaitsForItsFirstLine(t *testing.T) {
	first := Settlement{Number: 1, Status: BatchOpen, CreatedAt: noon}
	later := Settlement{Number: 2, Status: BatchOpen, CreatedAt: noon}
	delay := 48 * time.Hour
	for _, c := range []struct {
		name    string
		batch   Settlement
		line    time.Duration // since noon, when it is due; below zero: none
		now     time.Duration
		closing bool
		due     time.Duration
	}{
		{"nothing to settle", first, -1, time.Hour, false, 25 * time.Hour},
		{"not due", first, 48 * time.Hour, 47 * time.Hour, false, 48 * time.Hour},
		{"not due for long: a payment of other terms may be due before", first, 48 * time.Hour, time.Hour, false, 25 * time.Hour},
		{"due", first, 48 * time.Hour, 48 * time.Hour, true, 0},
		{"due, a day after the last", later, 48 * time.Hour, 48 * time.Hour, true, 0},
		{"overdue, but the last was today", later, time.Hour, 2 * time.Hour, false, 24 * time.Hour},
	} {
		line := time.Time{}
		if c.line != -1 {
			line = noon.Add(c.line)
		}
		next, closing := c.batch.Advance(line, delay, 0, noon.Add(c.now))
		if closing != c.closing || !closing && !next.DueAt.Equal(noon.Add(c.due)) {
			t.Errorf("%s: closing %v, due %v; want %v, %v", c.name, closing, next.DueAt.Sub(noon), c.closing, c.due)
		}
		if closing && !next.PeriodEnd.Equal(noon.Add(c.now-delay)) {
			t.Errorf("%s: the period ends %v", c.name, next.PeriodEnd)
		}
	}
}

// A settlement that collected only unlisted lines is due again at once. Otherwise a payment that is old
// enough a moment later would wait for another delay.
func TestSettlementWithoutLinesIsDueAgain(t *testing.T) {
	o := order(t, cardRail(), 10000)
	p, err := Create(o, noon)
	if err != nil {
		t.Fatal(err)
	}
	p, _ = p.Begin(routes, noon)
	p, _ = p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
	_, change := Notice{Account: "one", Reference: p.Reference(1), Dispute: true}.ApplyDispute(p, nil, [2]string{"CLM-1", "CLM-2"}, noon)
	hold, captured := change.Transfers[0], noon.Add(time.Hour)
	delay := 48 * time.Hour

	batch, closing := OpenSettlement(merchants.Scope{Merchant: "mer_1"}, noon, noon).Settlements[0].Advance(hold.At.Add(delay), delay, 0, noon.Add(delay))
	if !closing {
		t.Fatal("a hold as old as the delay is not collected")
	}
	gathered, lines := batch.Gather([]Unsettled{{Transfer: hold, Day: noon}}, Cursor{Kind: len(SettledKinds())})
	now := noon.Add(delay)
	change = gathered.Rest(lines, nil, now)
	rested := change.Settlements[0]
	if gathered.Lines != 0 || len(change.Lines) != 1 || rested.DueAt.After(now) {
		t.Fatalf("%d lines are listed of %d collected, and it is due again %v later, want at once", gathered.Lines, len(change.Lines), rested.DueAt.Sub(now))
	}
	if next, closing := rested.Advance(captured.Add(delay), delay, 0, rested.DueAt); closing || !next.DueAt.Equal(captured.Add(delay)) {
		t.Errorf("then it waits until %s, want until the capture is old enough, %s", next.DueAt, captured.Add(delay))
	}
	if next, _ := rested.Advance(time.Time{}, delay, 0, rested.DueAt); !next.DueAt.Equal(now.Add(merchants.ShortestDelay)) {
		t.Errorf("with nothing left it waits until %s", next.DueAt)
	}
	// If there was nothing to collect, it does not loop without a pause.
	if again := gathered.Rest(nil, nil, now).Settlements[0].DueAt; !again.After(now) || again.After(now.Add(time.Hour)) {
		t.Errorf("nothing collected: it is due again %v later", again.Sub(now))
	}
}

func TestReserveIsReleasedByTheDay(t *testing.T) {
	at := time.Date(2026, 11, 21, 23, 59, 59, 0, time.UTC)
	want := time.Date(2027, 2, 20, 0, 0, 0, 0, time.UTC)
	if got := ReleaseOf(at); !got.Equal(want) {
		t.Errorf("the reserve of %s is released at %s, want %s, after 90 whole days", at, got, want)
	}
	if got := ReleaseOf(at.Add(-23 * time.Hour)); !got.Equal(want) {
		t.Errorf("another reserve of the same day is released at %s", got)
	}
	r := Reserve{}.hold(merchants.Scope{Merchant: "mer_1"}, DayOf(at), 500, at)
	r = r.hold(r.Scope, r.Day, 300, at)
	if r.Remaining() != 800 || r.Version != 2 || r.DueAt.Before(want) {
		t.Errorf("held %+v", r)
	}
	r, shut := r.Close(want)
	if len(shut.Transfers) != 0 || len(shut.Floors) != 1 || !r.Closed() || r.DueAt.After(want) {
		t.Errorf("closing moves %v with the floors %v and leaves %+v", shut.Transfers, shut.Floors, r)
	}
	change := r.Release(100, ledger.Balances{ledger.Reserve: 700}, want.Add(time.Hour)) // a refund that is not settled yet
	if got := change.Transfers[0].Amount(ledger.Available); got != 700 || change.Reserves[0].DueAt.IsZero() {
		t.Errorf("released %d of 800 with 100 given back, due %v; want 700, and a later release", got, change.Reserves[0].DueAt)
	}
	r = change.Reserves[0].hold(r.Scope, r.Day, -100, want.Add(2*time.Hour))
	if !r.DueAt.IsZero() || r.Remaining() != 0 {
		t.Errorf("after the refund is settled %d is left, due %v", r.Remaining(), r.DueAt)
	}
}

// Every kind of transfer has its row in bookings.
func TestEveryKindIsBooked(t *testing.T) {
	for _, k := range ledger.Kinds() {
		b, ok := bookings[k]
		if !ok {
			t.Errorf("the kind %s has no row in bookings", k)
		}
		if b.movement != "" && (b.text == "" || !slices.Contains(MovementTypes(), b.movement)) {
			t.Errorf("the kind %s is booked as %+v", k, b)
		}
		if b.line != "" && (b.apart || !slices.Contains(LineTypes(), b.line)) {
			t.Errorf("the kind %s is listed as %q", k, b.line)
		}
	}
	if len(bookings) != len(ledger.Kinds()) {
		t.Errorf("bookings has %d rows for %d kinds", len(bookings), len(ledger.Kinds()))
	}
	if SettledKinds()[0] != ledger.Capture {
		t.Errorf("settlements collect %v, want captures first", SettledKinds())
	}
}

func TestMovementsAreWhatThePostingsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(ledger.Kinds()).Draw(t, "kind")
		transfer := ledger.Transfer{ID: "tr_X-step", Kind: kind, Payment: "TXN-X"}
		if kind == ledger.Capture {
			o := order(t, cardRail(), rapid.Int64Range(1, 100_000).Draw(t, "cents"))
			o.Terms = plans.OfTier(rapid.SampledFrom(merchants.Tiers()).Draw(t, "tier"))
			p, err := Create(o, noon)
			if err != nil {
				t.Fatal(err)
			}
			transfer = p.capture(noon)
		} else if bookings[kind].movement != "" {
			for _, account := range ledger.Accounts() {
				amount := rapid.Int64Range(-3, 3).Draw(t, string(account))
				transfer.Postings = append(transfer.Postings, ledger.Post(ledger.Posting{Account: account, Amount: amount})...)
			}
		}
		sums := ledger.Balances{}
		ids := map[string]bool{}
		list := Movements(transfer)
		for _, m := range list {
			sums[m.Bucket] += m.Amount
			ids[m.ID] = true
		}
		for _, bucket := range Buckets() {
			if sums[bucket] != transfer.Amount(bucket) {
				t.Fatalf("the movements add %d to %s, want %d:\n%s", sums[bucket], bucket, transfer.Amount(bucket), transfer)
			}
		}
		if int(MovementCount(transfer)) != len(list) || len(ids) != len(list) {
			t.Fatalf("%d movements with %d ids, counted %d:\n%s", len(list), len(ids), MovementCount(transfer), transfer)
		}
	})
}

// A settlement sleeps and looks back by these bounds.
func TestEveryTiersDelayIsWithinTheBounds(t *testing.T) {
	for _, tier := range merchants.Tiers() {
		if d := plans.OfTier(tier).Delay; d < merchants.ShortestDelay || d > merchants.LongestDelay {
			t.Errorf("%s settles after %s", tier, d)
		}
	}
}

// A settlement closes on the days of the plan, and is looked at every day: the plan may change.
func TestSettlementClosesOnItsDays(t *testing.T) {
	tuesday := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	batch, on := OpenSettlement(merchants.Scope{Merchant: "mer_1"}, tuesday, tuesday).Settlements[0], merchants.Weekdays(0).With(time.Friday)
	waits, closing := batch.Advance(tuesday, time.Hour, on, tuesday)
	if closing || !waits.DueAt.Equal(tuesday.Add(merchants.ShortestDelay)) {
		t.Errorf("on a Tuesday it closes: %t, is due at %s", closing, waits.DueAt)
	}
	thursday := tuesday.AddDate(0, 0, 2)
	if waits, closing = batch.Advance(tuesday, time.Hour, on, thursday); closing || !waits.DueAt.Equal(DayOf(thursday).AddDate(0, 0, 1)) {
		t.Errorf("on a Thursday it closes: %t, is due at %s", closing, waits.DueAt)
	}
	if _, closing = batch.Advance(tuesday, time.Hour, on, thursday.AddDate(0, 0, 1)); !closing {
		t.Error("on a Friday it does not close")
	}
}
