package pay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"pgregory.net/rapid"
)

// Two or three moneys of one charge, each with refunds of the provider's (with ids), refunds by inquiries, returns and
// disputes that name the money. Whatever happens, each money gives back at most what it is, by the books, and what the
// provider tells is booked or is the operator's.
func TestSeveralMoneys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := sent(rt, pixRail(), rapid.Int64Range(100, 20000).Draw(rt, "cents"))
		p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting, ProviderRef: "page-1", FormURL: "https://x"}, routes, noon)
		h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
		written, now := map[string]bool{}, noon
		apply := func(c Change) {
			for _, tr := range c.Transfers {
				if written[tr.ID] {
					rt.Fatalf("transfer %s twice", tr.ID)
				}
				written[tr.ID] = true
			}
			h.apply(c)
		}
		id := 0
		next := func() string { id++; return fmt.Sprintf("CLM-%d", id) }
		lists := map[string][]ProviderRefund{}
		price := p.Price.Local
		amounts := map[string]money.Amount{"A": price, "B": price, "C": money.New(price.Minor*11/10+1, price.Currency)}
		refs := []string{"A", "B", "C"}
		for range rapid.IntRange(1, 16).Draw(rt, "steps") {
			now = now.Add(time.Minute)
			h.now = now
			ref := rapid.SampledFrom(refs).Draw(rt, "money")
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0, 1:
				n := paidAs(h.p, 1, ref, amounts[ref])
				n.ID = next()
				_, change := h.p.ApplyNotice(n, routes, next(), now)
				apply(change)
			case 2:
				if h.p.Status == Pending && rapid.Bool().Draw(rt, "expires") {
					now = now.Add(25 * time.Hour)
					_, change := h.p.Expire(Outcome{Kind: Awaiting}, now)
					apply(change)
				}
			case 3: // the provider's own refund of a known money
				d := newDocket(h.p, h.claims, now)
				if _, seen := d.money(1, ref); !seen || h.p.Attempts[0].Status != Approved || ref == "C" {
					continue
				}
				part := money.New(rapid.Int64Range(1, price.Minor).Draw(rt, "part"), price.Currency)
				if rapid.Bool().Draw(rt, "whole") {
					part = amounts[ref]
				}
				lists[ref] = append(lists[ref], ProviderRefund{ID: next(), Kind: Approved, Local: part})
				fallthrough
			case 4:
				if len(lists[ref]) == 0 {
					continue
				}
				if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
					i := rapid.IntRange(0, len(lists[ref])-1).Draw(rt, "which")
					lists[ref][i].Kind = Declined
				}
				ids := []string{}
				for range len(lists[ref]) + 1 {
					ids = append(ids, next())
				}
				n := Notice{ID: next(), Account: "one", Reference: h.p.Reference(1), Outcome: Outcome{Kind: Reversed, ProviderRef: ref, MoneyRef: ref, Local: amounts[ref], Back: &Reversal{Refunds: slices.Clone(lists[ref])}}}
				if n.OfRefunds(h.p) {
					_, change := n.ApplyRefundList(h.p, h.claims, ids, now)
					apply(change)
					verdict := change.Notices[len(change.Notices)-1].Verdict
					for _, r := range lists[ref] {
						at := slices.IndexFunc(h.claims, func(c Claim) bool { return c.Call.Ref == r.ID })
						switch {
						case r.Kind == Approved && at < 0 && verdict != Mismatched:
							rt.Fatalf("%+v is dropped: %s", r, verdict)
						case r.Kind == Declined && at >= 0 && h.claims[at].Status.Pays() && h.claims[at].Call.Returned == "" && verdict != Mismatched:
							rt.Fatalf("the failure of %+v is dropped: %s, %s", r, verdict, h.claims[at])
						}
					}
				}
			case 5: // ours
				have := h.balances()
				left := h.p.Refundable()
				if !left.IsPositive() {
					continue
				}
				_, c, change, err := h.p.Refund(NewRefund{ID: next(), Amount: money.New(rapid.Int64Range(1, left.Minor).Draw(rt, "ours"), left.Currency)}, have, now)
				if err != nil {
					continue
				}
				apply(change)
				_ = c
			case 6, 7: // claims move
				if len(h.claims) == 0 {
					continue
				}
				c := h.claims[rapid.IntRange(0, len(h.claims)-1).Draw(rt, "claim")]
				switch {
				case c.Calling():
					kind := rapid.SampledFrom([]OutcomeKind{Approved, Declined, Unknown, Awaiting}).Draw(rt, "kind")
					_, change := c.ApplyRefundOutcome(h.p, Outcome{Kind: kind, ProviderRef: "o" + c.ID, Local: c.Local}, now)
					apply(change)
				case c.Kind == Inquiry && !c.Status.Terminal():
					switch rapid.IntRange(0, 3).Draw(rt, "do") {
					case 0:
						_, change, err := c.Resolve(h.p, Approve, PartyOperator, "", now)
						if err == nil {
							apply(change)
						}
					case 1:
						_, change, err := c.Resolve(h.p, Reject, PartyOperator, "", now)
						if err == nil {
							apply(change)
						}
					case 2:
						if c.Local.Minor > 1 {
							_, _, change, err := Disposition{At: now}.Keep(c, h.p, money.New(rapid.Int64Range(1, c.Local.Minor-1).Draw(rt, "keep"), c.Local.Currency), false)
							if err == nil {
								apply(change)
							}
						}
					case 3:
						_, change, err := Disposition{At: now}.GiveByHand(c, h.p, "TED"+c.ID)
						if err == nil {
							apply(change)
						}
					}
				case c.Kind != ChargebackClaim && c.Status.Pays() && c.Call.Returned == "" && c.Call.Ref != "" && c.Origin != ByProvider && c.Origin != ByOperator:
					_, change := c.ApplyRefundNotice(h.p, Notice{ID: next(), Account: "one", Refund: c.Reference(), Outcome: Outcome{Kind: Declined, ProviderRef: c.Call.Ref}}, next(), now)
					apply(change)
				}
			case 8, 9:
				dp := "dp" + ref + fmt.Sprint(rapid.IntRange(1, 2).Draw(rt, "number"))
				n := Notice{ID: next(), Account: "one", Reference: h.p.Reference(1), DisputeID: dp, Ruling: rapid.SampledFrom([]Ruling{"", DisputeLost, DisputeWon}).Draw(rt, "ruling"), Outcome: Outcome{MoneyRef: ref}}
				n.Dispute = n.Ruling == ""
				if rapid.Bool().Draw(rt, "of an amount") {
					n.Outcome.Local = money.New(rapid.Int64Range(1, amounts[ref].Minor).Draw(rt, "of"), price.Currency)
				}
				d := newDocket(h.p, h.claims, now)
				if _, seen := d.money(1, ref); !seen {
					continue
				}
				_, change := n.ApplyDispute(h.p, h.claims, [2]string{next(), next()}, now)
				apply(change)
			}
			// Each money gives back at most what it is.
			frozen, suspense, refunded := int64(0), int64(0), int64(0)
			given := map[string]int64{} // by money, local
			worth := map[string]int64{}
			usdBack := map[string]int64{}
			for _, c := range h.claims {
				frozen += c.Frozen
				if c.Kind == Inquiry && !c.Status.Terminal() {
					suspense += c.USD
				}
				stands := (!c.Status.Terminal() || c.Status.Pays()) && c.Call.Returned == ""
				if c.Kind == UserDispute && stands {
					refunded += c.Local.Minor
				}
				m := ""
				if c.Kind == UserDispute || c.inquiry() == "" {
					m = h.p.Attempts[0].MoneyRef
				} else if at := slices.IndexFunc(h.p.Strays, func(s Stray) bool { return s.Claim == c.inquiry() }); at >= 0 {
					m = h.p.Strays[at].MoneyRef
				} else {
					rt.Fatalf("claim %s has no stray %q", c.ID, c.inquiry())
				}
				switch {
				case c.Kind == ChargebackClaim:
					usdBack[m] += h.p.disputeEntry(c.ID).USD
				case stands && c.Status.Pays():
					given[m] += c.Local.Minor
					usdBack[m] += c.USD
				}
			}
			for m, u := range usdBack {
				worth[m] = h.p.Price.Amount.Minor
				if m == "C" {
					worth[m] = h.p.share(amounts["C"])
				}
				if u > worth[m] {
					rt.Fatalf("%s gave back %d of %d", m, u, worth[m])
				}
			}
			if h.books[ledger.Frozen] != frozen || h.books[ledger.Suspense] != suspense || h.p.Refunds.Local != refunded {
				rt.Fatalf("frozen %d want %d, suspense %d want %d, refunds %d want %d", h.books[ledger.Frozen], frozen, h.books[ledger.Suspense], suspense, h.p.Refunds.Local, refunded)
			}
			if out := h.wentBack(); out > -h.books[ledger.Receivable] || out < 0 {
				rt.Fatalf("%d went back of %d", out, -h.books[ledger.Receivable])
			}
			opens := 0
			for _, s := range h.p.Strays {
				if s.Claim != "" && s.End == "" {
					opens++
				}
			}
			for _, c := range h.claims {
				if c.Kind == Inquiry && !c.Status.Terminal() {
					opens--
				}
			}
			if opens != 0 {
				rt.Fatalf("strays and inquiries differ by %d: %+v", opens, h.p.Strays)
			}
		}
	})
}
