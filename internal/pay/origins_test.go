package pay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"pgregory.net/rapid"
)

// A refund that the provider lists without an id, told twice.
func TestRefundWithoutAnIDToldTwice(t *testing.T) {
	h := kept(t)
	v1 := h.say(back(40_00, theirs("", 40_00)))
	v2 := h.say(back(40_00, theirs("", 40_00)))
	if h.wentBack() > 40_00 {
		t.Errorf("one refund of 40.00 without an id is booked as %d: %s, %s", h.wentBack(), v1, v2)
	}
}

// The operator books the provider's refund as "TED", then the list names it; and ours under way.
func TestBookWhileOursIsUnderWay(t *testing.T) {
	h := kept(t)
	_, c, change, _ := h.p.Refund(NewRefund{ID: "CLM-O", Amount: usd(30_00)}, h.balances(), noon)
	h.apply(change)
	c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Unknown}, noon)
	h.apply(change)
	_, _, change, err := NewBooking{ID: "CLM-B", Ref: "r1", Origin: ByProvider, Local: usd(30_00)}.Book(h.p, h.claims, noon)
	if err != nil {
		return
	}
	h.apply(change)
	_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r1", Local: c.Local}, noon)
	h.apply(change)
	if h.wentBack() != 30_00 && len(change.Notices) == 0 {
		t.Errorf("one refund, r1, is booked by two claims: %d, no notice", h.wentBack())
	}
}

// Refunds of all origins, returns and disputes of a payment in any currency, never more than was paid, and all
// of it at the end.
func TestAnyOrderInLocalCurrency(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rail := cardRail()
		rail.Limits = []accounts.Limit{{Currency: money.CLP, Min: 1, Max: 1_000_000_00}}
		o := order(rt, cardRail(), 10000)
		o.Rail = rail
		o.Amount = usd(rapid.Int64Range(1, 300).Draw(rt, "cents"))
		o.Local = money.New(rapid.Int64Range(1, 500).Draw(rt, "local"), money.CLP)
		o.Rate = money.Rate{}
		p, err := Create(o, noon)
		if err != nil {
			rt.Skip(err)
		}
		p.Terms.RefundFees = rapid.SampledFrom([]merchants.RefundFees{merchants.FeesKept, merchants.FeesReturned}).Draw(rt, "terms")
		if p.net() < 0 {
			rt.Skip("fees")
		}
		p, _ = p.Begin(routes, noon)
		p, change := p.ApplyAnswer(Outcome{Kind: Approved, MoneyRef: "A", ProviderRef: "ch_1"}, routes, noon)
		h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
		written := map[string]bool{}
		apply := func(c Change) {
			for _, tr := range c.Transfers {
				if written[tr.ID] {
					rt.Fatalf("transfer %s twice", tr.ID)
				}
				written[tr.ID] = true
			}
			h.apply(c)
		}
		apply(change)
		cents := p.Price.Amount.Minor
		var list []ProviderRefund
		id, opens := 0, []string{}
		say := func() {
			ids := make([]string, len(list)+1)
			for i := range ids {
				id++
				ids[i] = fmt.Sprintf("CLM-L%d", id)
			}
			total := int64(0)
			for _, r := range list {
				if r.Kind == Approved {
					total += r.Local.Minor
				}
			}
			n := Notice{ID: fmt.Sprint("l", id), Account: "one", Reference: h.p.Reference(1), Outcome: Outcome{Kind: Reversed, MoneyRef: "A", Local: p.Price.Local, Back: &Reversal{Refunds: slices.Clone(list)}}}
			_, change := n.ApplyRefundList(h.p, h.claims, ids, noon)
			apply(change)
		}
		for range rapid.IntRange(1, 14).Draw(rt, "steps") {
			id++
			left := newDocket(h.p, h.claims, noon).localLeft(&opening{})
			amount := money.New(rapid.Int64Range(1, max(1, p.Price.Local.Minor)).Draw(rt, "amount"), money.CLP)
			if left > 0 && rapid.Bool().Draw(rt, "fits") {
				amount.Minor = min(left, amount.Minor)
			}
			switch rapid.IntRange(0, 6).Draw(rt, "step") {
			case 0:
				list = append(list, ProviderRefund{ID: fmt.Sprint("r", id), Kind: Approved, Local: amount})
				say()
			case 1:
				_, c, change, err := h.p.Refund(NewRefund{ID: fmt.Sprintf("CLM-X%d", id), Amount: amount}, h.balances(), noon)
				if err != nil {
					continue
				}
				apply(change)
				if rapid.Bool().Draw(rt, "answered") {
					kind := rapid.SampledFrom([]OutcomeKind{Approved, Declined}).Draw(rt, "kind")
					_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: kind, ProviderRef: fmt.Sprint("o", id), Local: c.Local}, noon)
					apply(change)
				}
			case 2: // one under way ends
				for _, c := range h.claims {
					if c.Kind == UserDispute && c.Calling() {
						kind := rapid.SampledFrom([]OutcomeKind{Approved, Declined}).Draw(rt, "kind")
						_, change := c.ApplyRefundOutcome(h.p, Outcome{Kind: kind, ProviderRef: fmt.Sprint("o", id), Local: c.Local}, noon)
						apply(change)
						break
					}
				}
			case 3: // one fails after all
				for i := range list {
					if rapid.Bool().Draw(rt, "fails") {
						list[i].Kind = Declined
					}
				}
				say()
			case 4:
				for _, c := range h.claims {
					if c.Kind == UserDispute && c.Origin == ByMerchant && c.Status.Pays() && c.Call.Returned == "" && rapid.Bool().Draw(rt, "ours fails") {
						_, change := c.ApplyRefundNotice(h.p, Notice{ID: fmt.Sprint("f", id), Refund: c.Reference(), Outcome: Outcome{Kind: Declined, ProviderRef: c.Call.Ref}}, fmt.Sprintf("CLM-F%d", id), noon)
						apply(change)
						break
					}
				}
			case 5:
				d := fmt.Sprint("d", id)
				n := Notice{ID: d, Account: "one", Reference: h.p.Reference(1), DisputeID: d, Dispute: true, Outcome: Outcome{MoneyRef: "A", Local: amount}}
				_, change := n.ApplyDispute(h.p, h.claims, [2]string{fmt.Sprintf("CLM-D%d", id), fmt.Sprintf("CLM-E%d", id)}, noon)
				apply(change)
				opens = append(opens, d)
			case 6:
				if len(opens) == 0 {
					continue
				}
				d := rapid.SampledFrom(opens).Draw(rt, "dispute")
				n := Notice{ID: d + "e", Account: "one", Reference: h.p.Reference(1), DisputeID: d, Ruling: rapid.SampledFrom([]Ruling{DisputeLost, DisputeWon, DisputeWithdrawn}).Draw(rt, "ruling"), Outcome: Outcome{MoneyRef: "A"}}
				_, change := n.ApplyDispute(h.p, h.claims, [2]string{fmt.Sprintf("CLM-G%d", id), fmt.Sprintf("CLM-H%d", id)}, noon)
				apply(change)
			}
			went := h.wentBack()
			stands, frozen := int64(0), int64(0)
			for _, c := range h.claims {
				frozen += c.Frozen
				if c.Kind == UserDispute && (c.Status.Pays() && c.Call.Returned == "" || !c.Status.Terminal()) {
					stands += c.Local.Minor
				}
			}
			if went < 0 || went > cents || stands != h.p.Refunds.Local || h.books[ledger.Frozen] != frozen || h.books[ledger.Reserve] < 0 {
				rt.Fatalf("went %d of %d, stands %d, refunds %d, frozen %d want %d, reserve %d", went, cents, stands, h.p.Refunds.Local, h.books[ledger.Frozen], frozen, h.books[ledger.Reserve])
			}
			for _, a := range []ledger.Account{ledger.PlatformFees, ledger.ProviderFees, ledger.FlatFees, ledger.NetworkFees, ledger.FeeTaxes} {
				if h.books[a] < 0 {
					rt.Fatalf("%s is %d", a, h.books[a])
				}
			}
			g := h.p.Refunds.USD
			if w := h.p.whole(); g.Net > w.Net || g.Reserve > w.Reserve || g.USD > w.USD || g.Net < 0 || g.USD < 0 || g.platform() < 0 {
				rt.Fatalf("given %+v of %+v", g, w)
			}
			if u := h.p.uncontested(""); u < 0 {
				rt.Fatalf("uncontested %d: takings %+v, given %+v", u, h.p.Disputes.Entries, g)
			}
		}
		// In the end all that is left is refunded: then all went back.
		for _, d := range opens {
			id++
			n := Notice{ID: d + "end", Account: "one", Reference: h.p.Reference(1), DisputeID: d, Ruling: DisputeWon, Outcome: Outcome{MoneyRef: "A"}}
			if h.p.Disputes.OpenOnCapture() == "" {
				break
			}
			_, change := n.ApplyDispute(h.p, h.claims, [2]string{fmt.Sprintf("CLM-G%d", id), fmt.Sprintf("CLM-H%d", id)}, noon)
			apply(change)
		}
		for _, c := range h.claims {
			if c.Kind == UserDispute && c.Calling() {
				_, change := c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "e" + c.ID, Local: c.Local}, noon)
				apply(change)
			}
		}
		if left := h.p.Refundable(); left.IsPositive() {
			_, c, change, err := h.p.Refund(NewRefund{ID: "CLM-END"}, h.balances(), noon)
			if err != nil {
				rt.Fatal(err)
			}
			apply(change)
			_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "end", Local: c.Local}, noon)
			apply(change)
			if h.wentBack() != cents {
				rt.Fatalf("all was refunded, and %d of %d went back: %+v %+v", h.wentBack(), cents, h.p.Disputes.Entries, h.p.Refunds.USD)
			}
		}
	})
}

// A second return: the inquiry of the return is refunded again and comes back again.
func TestReturnedTwice(t *testing.T) {
	h := expiredPaid(t)
	at := 0
	for i := range 3 {
		c, change, err := h.claims[at].Resolve(h.p, Approve, PartyOperator, "", noon)
		if err != nil {
			t.Fatal(err)
		}
		h.apply(change)
		c, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: fmt.Sprint("r", i)}, noon)
		h.apply(change)
		h.gave(100_00, 0)
		h.fails(c)
		h.gave(0, 100_00)
		at = len(h.claims) - 1
	}
	h2 := kept(t)
	var last Claim
	for i := range 3 {
		last = h2.ours(100_00, fmt.Sprint("r", i))
		h2.fails(last)
		h2.fails(last)
		h2.gave(0, net)
	}
	_ = time.Now
}
