package pay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"pgregory.net/rapid"
)

// life is a payment with its books and its shopper's view.
type life struct {
	p       Payment
	now     time.Time
	books   ledger.Balances
	written map[string]bool // transfers
	named   bool            // the provider reports an id of each money
	paid    map[taken]bool  // what the shopper paid
	proved  map[int]bool    // attempts that a dispute or the operator proves
	claims  map[string]Claim
	told    map[string]int64 // events of each claim
	kept    map[string]bool  // receipts
	events  int64
	ids     int

	unfounded int64 // cents that the operator took back, because they never came
}

// taken is money that an attempt took, by the provider's id of it.
type taken struct {
	order int
	ref   string
}

// pays draws the money that a provider reports of an attempt: one of several, of the right amount or
// of another one.
func (l *life) pays(t *rapid.T, order int) Outcome {
	o := Outcome{Kind: Approved, Local: l.p.Price.Local}
	wrong := rapid.IntRange(0, 4).Draw(t, "wrong amount") == 0
	if wrong {
		o.Local.Minor++
	}
	if l.named {
		o.MoneyRef = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "money")
		if wrong {
			o.MoneyRef += "+"
		}
	}
	if !wrong || l.named {
		l.paid[taken{order, o.MoneyRef}] = true
	}
	return o
}

func (l *life) id() string { l.ids++; return fmt.Sprintf("CLM-%d", l.ids) }

// apply books a change as the store would, and checks its invariants.
func (l *life) apply(t *rapid.T, next Payment, c Change) {
	for _, tr := range c.Transfers {
		if err := tr.Check(); err != nil {
			t.Fatal(err)
		}
		if l.written[tr.ID] {
			t.Fatalf("transfer %s is written twice\n%s", tr.ID, next)
		}
		l.written[tr.ID] = true
		for _, line := range tr.Postings {
			l.books[line.Account] += line.Amount
		}
	}
	for _, e := range c.Events {
		if e.Type.Optional() { // it precedes the numbered events
			if l.events > 0 || l.written[e.ID] || e.Sequence != 0 {
				t.Fatalf("event %s comes after %d others, or again, or with number %d", e.ID, l.events, e.Sequence)
			}
			l.written[e.ID] = true
			continue
		}
		if e.Object == next.ID {
			if l.events++; e.Sequence != l.events {
				t.Fatalf("event %s is number %d, want %d", e.ID, e.Sequence, l.events)
			}
			continue
		}
		if l.told[e.Object]++; e.Sequence != l.told[e.Object] {
			t.Fatalf("event %s is number %d, want %d", e.ID, e.Sequence, l.told[e.Object])
		}
	}
	for _, r := range c.Notices { // a repeated one would make the whole change fail
		if l.kept[r.ID] {
			t.Fatalf("receipt %q is written twice\n%s", r.ID, next)
		}
		l.kept[r.ID] = true
	}
	for _, claim := range c.Claims {
		if claim.Version != l.claims[claim.ID].Version+1 {
			t.Fatalf("claim %s has version %d after %d", claim.ID, claim.Version, l.claims[claim.ID].Version)
		}
		l.claims[claim.ID] = claim
	}
	if len(c.Payments) == 0 {
		return
	}
	if len(c.Payments) != 1 || c.Payments[0].Version != l.p.Version+1 || c.Payments[0].Stored != l.p.Status {
		t.Fatalf("the change does not follow version %d (%s): %s", l.p.Version, l.p.Status, c.Payments[0])
	}
	l.p = c.Payments[0]
}

// Whatever providers answer and report, in any order: the books balance, the payment is captured at
// most once, all the shopper's money is accounted for, and an open payment is due again.
func TestBooksHoldThroughAnyLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rail := cardRail()
		if rapid.Bool().Draw(t, "local rail") {
			rail = pixRail()
		}
		p, err := Create(order(t, rail, rapid.Int64Range(100, 18_000_00).Draw(t, "cents")), noon)
		if err != nil {
			t.Fatal(err)
		}
		l := &life{now: noon, books: ledger.Balances{}, written: map[string]bool{}, named: rapid.Bool().Draw(t, "named"), paid: map[taken]bool{}, proved: map[int]bool{},
			claims: map[string]Claim{}, told: map[string]int64{}, kept: map[string]bool{}}
		p, _ = p.Begin(routes, noon)
		l.p = p
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			l.now = l.now.Add(time.Minute)
			l.step(t)
			l.check(t)
		}
	})
}

func (l *life) step(t *rapid.T) {
	kinds := []OutcomeKind{Approved, Awaiting, Declined, Unavailable, Errored, Unknown, Missing, Lapsed}
	switch rapid.SampledFrom([]string{"answer", "notice", "expire", "cancel", "look", "look", "rule", "refund", "dispute", "claim", "claim"}).Draw(t, "step") {
	case "answer":
		if l.p.Status.Open() {
			o := Outcome{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Soft: rapid.Bool().Draw(t, "soft")}
			if o.Kind == Approved {
				o = l.pays(t, len(l.p.Attempts))
				for l.named && rapid.IntRange(0, 2).Draw(t, "another") == 0 {
					m := l.pays(t, len(l.p.Attempts))
					o.Also = append(o.Also, Money{Ref: m.MoneyRef, Local: m.Local, Claim: l.id()})
				}
			}
			c := routes
			c.Claim = l.id()
			c.Budget = Budget{Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"), Time: time.Duration(rapid.IntRange(0, 5).Draw(t, "minutes")) * time.Minute}
			next, change := l.p.ApplyAnswer(o, c, l.now)
			l.apply(t, next, change)
		}
	case "notice":
		order := rapid.IntRange(1, len(l.p.Attempts)).Draw(t, "attempt")
		o := Outcome{Kind: rapid.SampledFrom([]OutcomeKind{Approved, Declined, Lapsed}).Draw(t, "kind"), Played: rapid.Bool().Draw(t, "played")}
		if o.Kind == Approved {
			played := o.Played
			o = l.pays(t, order)
			o.Played = played
		}
		l.ids++
		n := Notice{ID: fmt.Sprint(l.ids), Account: "one", Reference: l.p.Reference(order), Outcome: o}
		next, change := l.p.ApplyNotice(n, routes, l.id(), l.now)
		l.apply(t, next, change)
	case "expire":
		if l.p.Status == Pending {
			l.now = l.now.Add(rapid.SampledFrom([]time.Duration{0, unknownLimit}).Draw(t, "later"))
			next, change := l.p.Expire(Outcome{Kind: rapid.SampledFrom([]OutcomeKind{Awaiting, Lapsed, Missing, Unknown}).Draw(t, "last word")}, l.now)
			l.apply(t, next, change)
		}
	case "cancel":
		if l.p.CheckCancel() != nil && !l.p.Canceling() {
			return
		}
		asked, change := l.p.AskCancel(l.now)
		if len(change.Payments) > 0 {
			l.apply(t, asked, change)
		}
		next, change := l.p.Cancel(Outcome{Kind: rapid.SampledFrom([]OutcomeKind{Awaiting, Lapsed, Missing, Unknown}).Draw(t, "of the cancel")}, l.now)
		l.apply(t, next, change)
	case "look":
		o := Outcome{Kind: rapid.SampledFrom([]OutcomeKind{Approved, Awaiting, Declined, Missing, Unknown}).Draw(t, "kind")}
		if !l.p.Looking() {
			return
		}
		if o.Kind == Approved {
			o = l.pays(t, len(l.p.Attempts))
		}
		l.now = l.now.Add(rapid.SampledFrom([]time.Duration{0, 24 * time.Hour}).Draw(t, "later"))
		next, change := l.p.ApplyLook(o, l.id(), l.now)
		l.apply(t, next, change)
	case "rule":
		word := rapid.SampledFrom([]Word{WordPaid, WordNotCharged}).Draw(t, "word")
		next, change, err := word.Resolve(l.p, Outcome{}, l.id(), l.now)
		if err != nil {
			return
		}
		if word == WordPaid {
			l.proved[len(l.p.Attempts)] = true
		}
		l.apply(t, next, change)
	case "refund":
		played := rapid.Bool().Draw(t, "played refund")
		left := l.p.Refundable()
		if played {
			left = l.p.unrefunded()
		}
		if !left.IsPositive() {
			return
		}
		part := money.New(rapid.Int64Range(1, left.Minor).Draw(t, "part"), left.Currency)
		next, _, change, err := l.p.Refund(NewRefund{ID: l.id(), Amount: part, Played: played}, l.books, l.now)
		if e, ok := err.(*problem.Error); ok && e.Code == problem.BalanceInsufficient {
			return // a dispute took the balance
		}
		if err != nil {
			t.Fatal(err)
		}
		l.apply(t, next, change)
	case "claim":
		l.stepClaim(t)
	case "dispute":
		l.contest(t)
	}
}

// contest makes a provider report one of three disputes, in any order.
func (l *life) contest(t *rapid.T) {
	l.ids++
	order := rapid.IntRange(1, len(l.p.Attempts)).Draw(t, "disputed attempt")
	n := Notice{
		ID: fmt.Sprint(l.ids), Account: l.p.Attempts[order-1].Provider, Reference: l.p.Reference(order), Outcome: Outcome{Played: rapid.Bool().Draw(t, "played")},
		DisputeID: rapid.SampledFrom([]string{"", "dp_1", "dp_2", "dp_3"}).Draw(t, "dispute"), Instance: rapid.IntRange(0, 2).Draw(t, "instance"),
		Ruling: rapid.SampledFrom([]Ruling{"", "", DisputeLost, DisputeWon, DisputeWithdrawn}).Draw(t, "ruling"),
	}
	n.Dispute = n.Ruling == ""
	switch rapid.IntRange(0, 4).Draw(t, "disputed") {
	case 0, 1:
		n.Outcome.Local = l.p.Price.Local
	case 2, 3:
		n.Outcome.Local = money.New(rapid.Int64Range(1, l.p.Price.Local.Minor+l.p.Price.Local.Minor/8+1).Draw(t, "of"), l.p.Price.Local.Currency)
	}
	if rapid.IntRange(0, 9).Draw(t, "another currency") == 0 {
		n.Outcome.Local.Currency = money.CLP
	}
	var claims []Claim // ids of the same millisecond are in no order
	for _, id := range rapid.Permutation(slices.Sorted(maps.Keys(l.claims))).Draw(t, "claims") {
		claims = append(claims, l.claims[id])
	}
	if n.Outcome.Local == l.p.Price.Local {
		l.proved[order] = true // now, or once the place of the money is known
	}
	next, change := n.ApplyDispute(l.p, claims, [2]string{l.id(), l.id()}, l.now)
	l.apply(t, next, change)
	if verdict := change.Notices[0].Verdict; verdict == Ignored && len(change.Transfers) > 0 {
		t.Fatalf("an ignored notice moved money: %v", change.Transfers)
	}
}

// stepClaim moves one of the claims.
func (l *life) stepClaim(t *rapid.T) {
	if len(l.claims) == 0 {
		return
	}
	c := l.claims[rapid.SampledFrom(slices.Sorted(maps.Keys(l.claims))).Draw(t, "claim")]
	if c.Calling() && rapid.Bool().Draw(t, "the provider answers") {
		kinds := []OutcomeKind{Approved, Approved, Declined, Awaiting, Unknown, Missing, Errored, Unavailable}
		_, change := c.ApplyRefundOutcome(l.p, Outcome{Kind: rapid.SampledFrom(kinds).Draw(t, "refund")}, l.now)
		l.apply(t, l.p, change)
		return
	}
	if c.Kind == Inquiry && rapid.IntRange(0, 9).Draw(t, "it never came") == 0 {
		if _, change, err := (Disposition{At: l.now}).Unfounded(c, l.p); err == nil {
			l.apply(t, l.p, change)
			l.unfounded += c.USD
		}
		return
	}
	if c.Kind == Inquiry && rapid.IntRange(0, 3).Draw(t, "a part is kept") == 0 && c.Local.Minor > 1 {
		part := money.New(rapid.Int64Range(1, c.Local.Minor-1).Draw(t, "kept"), c.Local.Currency)
		complete := l.p.Status.Open() && c.Local.Minor > l.p.Price.Local.Minor
		if complete {
			part = l.p.Price.Local
		}
		_, next, change, err := Disposition{At: l.now}.Keep(c, l.p, part, complete)
		if _, refused := c.After(Approve); (err == nil) != (refused == nil) {
			t.Fatalf("keep %s of a %s claim of %s: %v", part, c.Status, c.Local, err)
		}
		l.apply(t, next, change)
		return
	}
	v := rapid.SampledFrom(ClaimVerbs()).Draw(t, "verb")
	var change Change
	var err error
	switch v {
	case Submit:
		_, change, err = c.Submit(l.p, Evidence{ID: l.id()}, nil, l.now)
	case AskEvidence:
		_, change, err = c.Ask("", l.now)
	case Approve:
		if c.Kind == Inquiry && rapid.Bool().Draw(t, "by hand") {
			_, change, err = Disposition{At: l.now}.GiveByHand(c, l.p, "TED 1")
			break
		}
		fallthrough
	default:
		_, change, err = c.Resolve(l.p, v, PartyOperator, "", l.now)
	}
	if _, want := c.After(v); (err == nil) != (want == nil) {
		t.Fatalf("%s of a %s %s: %v, want %v", v, c.Status, c.Kind, err, want)
	}
	l.apply(t, l.p, change)
}

// checkClaims checks that the claims and the books agree.
func (l *life) checkClaims(t *rapid.T) {
	frozen, suspense, refunded := int64(0), int64(0), int64(0)
	for _, c := range l.claims {
		frozen += c.Frozen
		if c.Kind == Inquiry && !c.Status.Terminal() {
			suspense += c.USD
		}
		if c.Kind == UserDispute && (!c.Status.Terminal() || c.Status.Pays()) {
			refunded += c.Local.Minor
		}
		if c.Status.Terminal() && (c.Frozen != 0 || !c.DueAt.IsZero() || c.Resolved.IsZero()) {
			t.Fatalf("claim %s is %s and holds %d until %v", c.ID, c.Status, c.Frozen, c.DueAt)
		}
		if waits := c.Calling() || c.Status == ClaimNeedsEvidence || c.Kind == ChargebackClaim; !c.Status.Terminal() && waits == c.DueAt.IsZero() {
			t.Fatalf("claim %s is %s, calling %v, due at %v", c.ID, c.Status, c.Calling(), c.DueAt)
		}
	}
	if l.books[ledger.Frozen] != frozen || l.books[ledger.Suspense] != suspense || l.p.Refunds.Local != refunded {
		t.Fatalf("frozen %d, want %d; suspense %d, want %d; refunded %d, want %d:\n%s",
			l.books[ledger.Frozen], frozen, l.books[ledger.Suspense], suspense, l.p.Refunds.Local, refunded, l.p)
	}
	l.checkDisputes(t)
	// All money that reached shoppers: at most what they paid.
	if out := l.books[ledger.Refunds] + l.books[ledger.Chargebacks]; out > -l.books[ledger.Receivable] {
		t.Fatalf("%d went back of %d:\n%s", out, -l.books[ledger.Receivable], l.p)
	}
}

// checkDisputes checks that the payment records what its disputes hold and took, and that they took
// no more than there was.
func (l *life) checkDisputes(t *rapid.T) {
	open, taken := 0, int64(0)
	for _, c := range l.claims {
		if c.Kind != ChargebackClaim {
			continue
		}
		if !c.Status.Terminal() {
			open++
			if got := l.p.disputeEntry(c.ID); !got.Open || got.USD != c.Frozen {
				t.Fatalf("claim %s holds %d, the payment knows of %+v", c.ID, c.Frozen, got)
			}
		}
		if before, ok := l.claims[c.Previous]; c.Previous != "" && (!ok || !before.Status.Terminal() || before.Kind != ChargebackClaim) {
			t.Fatalf("claim %s follows %q", c.ID, c.Previous)
		}
	}
	for _, d := range l.p.Disputes.Entries {
		if taken += d.USD; d.USD < 0 || d.Short < 0 {
			t.Fatalf("a dispute holds %+v", d)
		}
	}
	if len(l.p.Disputes.Open()) != open || taken != l.books[ledger.Chargebacks]+l.held() {
		t.Fatalf("%d open disputes took %d, the payment knows %+v; the books say %d and %d", open, l.held(), l.p.Disputes.Entries, l.books[ledger.Chargebacks], taken)
	}
}

// held is the amount that open disputes hold.
func (l *life) held() (usd int64) {
	for _, c := range l.claims {
		if c.Kind == ChargebackClaim {
			usd += c.Frozen
		}
	}
	return usd
}

func (l *life) check(t *rapid.T) {
	l.checkClaims(t)

	p := l.p
	last, _ := p.Attempts.Current()
	may := p.Status == Failed || p.Status == Expired || last.open()
	if p.Status.Open() && p.Work.DueAt.IsZero() || !may && !p.Status.Open() && !p.Work.DueAt.IsZero() || !p.Work.DueAt.IsZero() && p.Work.DueAt.Before(p.Times.Created) {
		t.Fatalf("due at %v:\n%s", p.Work.DueAt, p)
	}
	// Late money waits for the operator as long as its inquiry is open.
	open := 0
	for _, s := range p.Strays {
		if s.Claim != "" && s.End == "" {
			open++
		}
	}
	for _, c := range l.claims {
		if c.Kind == Inquiry && !c.Status.Terminal() {
			open--
		}
	}
	if open != 0 {
		t.Fatalf("%d open strays more than inquiries:\n%s", open, p)
	}
	if captured := l.written["tr_"+p.suffix()+"-capture"]; captured != !p.Times.Completed.IsZero() {
		t.Fatalf("captured %v:\n%s", captured, p)
	}
	if p.Refunds.Local < 0 || p.Refunds.Local > p.Price.Local.Minor {
		t.Fatalf("refunded %d of %d:\n%s", p.Refunds.Local, p.Price.Local.Minor, p)
	}
	// All money is booked once: one on the payment, the others in suspense.
	whole := int64(0)
	if !p.Times.Completed.IsZero() {
		whole += p.Price.Amount.Minor
	}
	for _, s := range p.Strays {
		if s.Claim != "" {
			whole += p.worth(s.Claim)
		}
	}
	for _, c := range l.claims {
		if c.Kind == Inquiry && c.Attempt == p.End.Captured && l.written["tr_"+c.suffix()+"-apply-"+fmt.Sprint(p.Price.Local.Minor)] {
			whole -= p.Price.Amount.Minor
		}
	}
	if whole -= l.unfounded; l.books[ledger.Receivable] != -whole {
		t.Fatalf("receivable %d, want %d:\n%s\n%+v", l.books[ledger.Receivable], -whole, p, p.Strays)
	}
	for money := range l.paid {
		a, booked := p.Attempts[money.order-1], 0
		if a.Status == Approved && a.MoneyRef == money.ref {
			booked++
		}
		for _, s := range p.Strays {
			if s.Order == money.order && s.MoneyRef == money.ref && s.Claim != "" && money.ref != "" {
				booked++
			}
		}
		// Another amount than that of money without an id may be the same money: the operator is told.
		unclear := strings.HasSuffix(money.ref, "+") && slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.Order == money.order && s.Code == AmountMismatch && s.Claim == "" })
		if unclear {
			continue
		}
		applied := a.MoneyRef == money.ref && p.strayed(money.order, money.ref) >= 0 // it completed the payment, and a rest is left
		if booked != 1 && !(applied && booked == 2) && !(money.ref == "" && a.Status == Approved) {
			t.Fatalf("%+v is booked %d times:\n%s\n%+v", money, booked, p, p.Strays)
		}
	}
	for order := 1; order <= len(p.Attempts); order++ {
		took := p.Attempts[order-1].Status == Approved
		known := l.proved[order]
		for money := range l.paid {
			known = known || money.order == order
		}
		if took && !known {
			t.Fatalf("attempt %d is booked; paid %v, proved %v:\n%s", order, l.paid, l.proved, p)
		}
	}
	if !p.Status.Open() && p.Work.Answered == "" {
		t.Fatalf("it ended without an answer to the create call:\n%s", p)
	}
}
