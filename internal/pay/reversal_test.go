package pay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"pgregory.net/rapid"
)

// back is what a provider says of a charge of 100.00 of which it gave some back.
func back(total int64, refunds ...ProviderRefund) Outcome {
	o := Outcome{Kind: Reversed, ProviderRef: "ch_1", Local: usd(100_00), Back: &Reversal{Refunds: refunds}}
	if total > 0 {
		o.Back.Total = usd(total)
	}
	return o
}

func theirs(id string, amount int64) ProviderRefund {
	return ProviderRefund{ID: id, Kind: Approved, Local: usd(amount)}
}

// heard is a hearing's payment that waits for its shopper.
func heard(t testing.TB) *hearing {
	p := hundred(t)
	p, change := p.ApplyAnswer(Outcome{Kind: Awaiting, FormURL: "https://x", ProviderRef: "ch_1"}, routes, noon)
	h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
	h.apply(change)
	return h
}

// confirm applies a notice of the charge.
func (h *hearing) confirm(o Outcome, want Verdict) {
	h.t.Helper()
	if got := h.say(o); got != want {
		h.t.Errorf("%+v %+v is %s, want %s", o, o.Back, got, want)
	}
}

func (h *hearing) gave(shopper, merchant int64) {
	h.t.Helper()
	have := h.books[ledger.Pending] + h.books[ledger.Available] + h.books[ledger.Frozen] + h.books[ledger.Reserve] + h.books[ledger.Suspense]
	if got := h.books[ledger.Chargebacks] + h.books[ledger.Refunds]; got != shopper || have != merchant {
		h.t.Errorf("the shopper got %d back and the merchant has %d, want %d and %d", got, have, shopper, merchant)
	}
}

// What went back before we knew that it was paid is credited to nobody (PAY-37).
func TestMoneyThatWentBackCompletesNothing(t *testing.T) {
	paid := Outcome{Kind: Approved, ProviderRef: "ch_1", Local: usd(100_00)}
	t.Run("whole", func(t *testing.T) {
		h := heard(t)
		h.confirm(back(100_00, theirs("r1", 100_00)), Applied)
		if h.p.Status != Failed || h.p.End.Failure.Code != "reversed" || !slices.Contains(h.told, string(webhooks.PaymentFailed)) || !h.p.Work.DueAt.IsZero() {
			t.Errorf("the payment is %s, the events are %v", h.p, h.told)
		}
		h.confirm(back(100_00, theirs("r1", 100_00)), Ignored)
		h.confirm(paid, Mismatched) // older news, or the refund failed: the operator finds out
		h.gave(0, 0)
	})
	t.Run("whole, found by a query", func(t *testing.T) {
		h := heard(t)
		_, change := h.p.ApplyAnswer(back(100_00), routes, noon)
		if h.apply(change); h.p.Status != Failed || h.p.End.Failure.Code != "reversed" {
			t.Errorf("the payment is %s", h.p)
		}
	})
	t.Run("whole, after the end", func(t *testing.T) {
		h := heard(t)
		_, change := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
		h.apply(change)
		h.confirm(back(100_00), Applied)
		if h.p.Status != Failed || h.p.Looking() || len(h.claims) != 0 {
			t.Errorf("the payment is %s, with %d claims", h.p, len(h.claims))
		}
		h.confirm(paid, Mismatched)
		h.gave(0, 0)
	})
	for name, o := range map[string]Outcome{"in part": back(40_00, theirs("r1", 40_00)), "in an unknown part": back(0)} {
		t.Run(name, func(t *testing.T) {
			h := heard(t)
			h.confirm(o, Mismatched)
			if s, open := h.p.Strays.Attention(); !open || h.p.Status != Pending || s.Code != AmountMismatch || o.Back.Total.IsPositive() && s.Local != usd(60_00) {
				t.Errorf("the payment is %s and needs attention for %+v", h.p, s)
			}
			h.gave(0, 0)
			asked := heard(t)
			_, change := asked.p.ApplyAnswer(o, routes, noon)
			if asked.apply(change); asked.p.Status != Pending || len(change.Notices) != 1 || change.Notices[0].Verdict != Mismatched {
				t.Errorf("a query answers that: %s, notices %+v", asked.p, change.Notices)
			}
		})
	}
}

// A refund that the provider made by itself is booked once, whichever way it is reported (REF-14).
func TestTheProvidersOwnRefundIsBooked(t *testing.T) {
	h := completed(t)
	h.p.Terms.RefundFees = merchants.FeesKept
	h.confirm(back(40_00, theirs("r1", 40_00)), Applied)
	h.confirm(back(40_00, theirs("r1", 40_00)), Ignored)
	h.confirm(back(0, theirs("r1", 40_00)), Ignored)
	h.gave(40_00, net-40_00)
	c := h.claims[0]
	if c.Kind != UserDispute || c.Status != ClaimApproved || c.Origin != ByProvider || c.Call.Ref != "r1" || c.Key() != "refund/r1" || c.Local != usd(40_00) {
		t.Errorf("its claim is %+v", c)
	}
	if want := []string{"payment.completed", "claim.opened 1", "payment.refunded", "claim.resolved 1"}; !slices.Equal(h.told, want) {
		t.Errorf("the events are %v, want %v", h.told, want)
	}
	if h.p.Status != Refunded || h.p.Refundable() != usd(60_00) || h.books[ledger.Available] >= 0 {
		t.Errorf("%s can be refunded of %s, the balances are %v", h.p.Refundable(), h.p, h.books)
	}
	h.refund(10_00)
	h.claims[1].Call.Ref = "r2"
	h.confirm(back(70_00, theirs("r1", 40_00), theirs("r2", 10_00), ProviderRefund{ID: "r3", Kind: Awaiting, Local: usd(20_00)}), Ignored)
	h.confirm(back(70_00, theirs("r2", 10_00), theirs("r3", 20_00), theirs("r1", 40_00)), Applied)
	h.confirm(back(100_00), Applied) // only a total: our refund and the two are not counted again
	h.confirm(back(100_00), Ignored)
	h.gave(100_00, net-100_00)
	h.confirm(back(0, theirs("r9", 1)), Mismatched) // more than is left
	if h.p.Refundable().IsPositive() || len(h.claims) != 4 {
		t.Errorf("%s is left, and there are %d claims", h.p.Refundable(), len(h.claims))
	}
}

// A refund that may be ours waits for the answer to our call; if that does not come, for the operator.
func TestRefundThatMayBeOursIsNotBookedTwice(t *testing.T) {
	h := completed(t)
	h.p.Terms.RefundFees = merchants.FeesKept
	_, c, change, err := h.p.Refund(NewRefund{ID: "CLM-O", Amount: usd(30_00), Caller: Caller{Node: "a", At: noon}}, h.balances(), noon)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	n := Notice{Account: "one", Reference: h.p.Reference(1), Outcome: back(30_00, theirs("r1", 30_00))}
	if !n.Waits(h.p, h.claims, noon.Add(time.Second)) || n.Waits(h.p, h.claims, noon.Add(time.Hour)) {
		t.Error("it waits as long as our call may arrive, and no longer")
	}
	h.confirm(n.Outcome, Mismatched)
	named := theirs("r1", 30_00)
	named.Reference = c.Reference()
	h.confirm(back(30_00, named), Ignored)
	h.confirm(back(30_00), Ignored) // a total that ours under way explains
	h.confirm(back(50_00), Applied) // the 20.00 beyond it are the provider's
	_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r1", Local: c.Local}, noon)
	h.apply(change)
	h.confirm(n.Outcome, Ignored)
	h.gave(50_00, net-50_00)
}

// Money that did not come is booked like the provider's own refund, in the provider's words. If it comes after all, it comes back;
// if it fails once more, or a refund is made that had failed, the operator finds out: its id has been used. A list that shows an
// older state is no news.
func TestMoneyThatComesAndGoes(t *testing.T) {
	h := completed(t)
	news := func(kind OutcomeKind, note string) Outcome {
		r := theirs("capture", 100_00)
		r.Kind, r.Note, r.News = kind, note, true
		if kind == Declined {
			return Outcome{Kind: Approved, ProviderRef: "ch_1", Local: usd(100_00), Back: &Reversal{Refunds: []ProviderRefund{r}}}
		}
		return back(100_00, r)
	}
	h.confirm(news(Approved, "the capture failed"), Applied)
	h.confirm(news(Approved, "the capture failed"), Ignored)
	h.gave(100_00, 0)
	h.confirm(news(Declined, "it was captured again"), Applied)
	h.confirm(news(Declined, "it was captured again"), Ignored)
	h.gave(0, net)
	h.confirm(back(100_00, theirs("capture", 100_00)), Ignored)
	h.confirm(news(Approved, "the capture failed"), Mismatched)
	h.gave(0, net)
	if h.claims[0].Reason != "the capture failed" || h.claims[1].Reason != "it was captured again" || h.claims[1].Status != ClaimRejected {
		t.Errorf("the merchant reads %q and %q", h.claims[0].Reason, h.claims[1].Reason)
	}
}

// A refund that fails after it was confirmed gives the money back to the merchant, who can refund
// again (REF-15). If it is made after all, the operator has to take it.
func TestRefundFailsAfterItWasConfirmed(t *testing.T) {
	for _, terms := range []merchants.RefundFees{merchants.FeesKept, merchants.FeesReturned} {
		t.Run(string(terms), func(t *testing.T) {
			h := completed(t)
			h.p.Terms.RefundFees = terms
			h.refund(0)
			h.claims[0].Call.Ref = "r1"
			failed := func(o Outcome, want Verdict) {
				t.Helper()
				h.ids++
				o.Kind = Declined
				n := Notice{ID: fmt.Sprint("f", h.ids), Account: "one", Refund: h.claims[0].Reference(), Outcome: o}
				_, change := h.claims[0].ApplyRefundNotice(h.p, n, fmt.Sprintf("CLM-F%d", h.ids), h.now)
				h.apply(change)
				if got := change.Notices[0].Verdict; got != want {
					t.Errorf("%+v is %s, want %s", o, got, want)
				}
			}
			failed(Outcome{ProviderRef: "another"}, Mismatched)
			failed(Outcome{ProviderRef: "r1", Message: "the bank sent it back"}, Applied)
			failed(Outcome{ProviderRef: "r1"}, Ignored)
			made := Notice{ID: "made", Account: "one", Refund: h.claims[0].Reference(), Outcome: Outcome{Kind: Approved, ProviderRef: "r1"}}
			if _, change := h.claims[0].ApplyRefundNotice(h.p, made, "CLM-M", h.now); change.Notices[0].Verdict != Mismatched || len(change.Transfers) != 0 {
				t.Errorf("a refund that failed was made: %+v", change)
			}
			h.gave(0, net)
			first, again := h.claims[0], h.claims[1]
			if first.Status != ClaimApproved || first.Call.Returned != again.ID || again.Previous != first.ID || again.Status != ClaimRejected || again.Origin != ByMerchant {
				t.Errorf("the claims are\n%s\n%s", first, again)
			}
			if h.p.Refundable() != usd(100_00) || h.p.Refunds != (Refunds{}) {
				t.Errorf("%s can be refunded; refunds are %+v", h.p.Refundable(), h.p.Refunds)
			}
			if n := len(h.told); !slices.Equal(h.told[n-2:], []string{"claim.opened 2", "claim.resolved 2"}) {
				t.Errorf("the events are %v", h.told)
			}
			h.refund(0)
			_, c, change, err := NewBooking{ID: "CLM-B", Ref: "TED 0091", Origin: ByOperator}.Book(h.p, h.claims, noon)
			if err == nil {
				t.Errorf("all went back, and another %s is booked: %d transfers", c.Local, len(change.Transfers))
			}
			want := int64(net)
			if terms == merchants.FeesKept {
				want -= 100_00
			} else {
				want = 0
			}
			h.gave(100_00, want)
		})
	}
}

// Late money whose refund failed is in suspense again, for the operator.
func TestRefundOfLateMoneyFailsAfterItWasConfirmed(t *testing.T) {
	h := heard(t)
	_, change := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
	h.apply(change)
	h.confirm(Outcome{Kind: Approved, ProviderRef: "ch_1", Local: usd(100_00)}, Late)
	c, change, err := h.claims[0].Resolve(h.p, Approve, PartyOperator, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: "r1"}, noon)
	h.apply(change)
	h.gave(100_00, 0)
	_, change = h.claims[0].ApplyRefundNotice(h.p, Notice{ID: "f", Account: "one", Refund: c.Reference(), Outcome: Outcome{Kind: Declined, ProviderRef: "r1"}}, "CLM-AGAIN", noon)
	h.apply(change)
	h.gave(0, 100_00)
	if _, _, err := (Disposition{"", noon}).Returned(h.claims[1], h.p, "CLM-X"); err == nil {
		t.Error("money that is in suspense came back again")
	}
	if s, open := h.p.Strays.Attention(); !open || s.Claim != "CLM-AGAIN" || h.claims[1].Status != ClaimPending || h.claims[1].Previous != h.claims[0].ID {
		t.Errorf("attention is %+v, the claim %s", s, h.claims[1])
	}
}

// Late money that the provider gave back by itself ends its inquiry; a mediation without an id that
// ended by a refund is lost, and the refund is not booked besides.
func TestRefundOfTheProvidersEndsWhatItIsAbout(t *testing.T) {
	h := heard(t)
	_, change := h.p.Expire(Outcome{Kind: Awaiting}, noon.Add(25*time.Hour))
	h.apply(change)
	h.confirm(Outcome{Kind: Approved, ProviderRef: "ch_1", Local: usd(100_00)}, Late)
	h.confirm(back(30_00, theirs("r1", 30_00)), Mismatched)
	h.confirm(back(100_00, theirs("r2", 100_00)), Applied)
	h.confirm(back(100_00, theirs("r2", 100_00)), Ignored)
	h.gave(100_00, 0)
	for _, ruled := range []bool{false, true} {
		h := completed(t)
		h.hear(Notice{}, Applied)
		if ruled {
			h.hear(Notice{Ruling: DisputeLost}, Applied)
		}
		want := Applied
		if ruled {
			want = Ignored
		}
		h.confirm(back(100_00, theirs("r1", 100_00)), want)
		h.confirm(back(100_00, theirs("r1", 100_00)), Ignored)
		h.gave(100_00, net-100_00-fee)
		if len(h.claims) != 1 || h.claims[0].Status != ClaimApproved {
			t.Errorf("the claims are %v", h.claims)
		}
	}
}

// The operator books a refund once; the provider's list then knows it.
func TestOperatorBooksARefund(t *testing.T) {
	h := completed(t)
	h.p.Terms.RefundFees = merchants.FeesKept
	book := func(n NewBooking) error {
		h.ids++
		n.ID = fmt.Sprintf("CLM-B%d", h.ids)
		_, _, change, err := n.Book(h.p, h.claims, noon)
		h.apply(change)
		return err
	}
	for _, wrong := range []NewBooking{{Local: usd(1_00)}, {Ref: "r1", Local: usd(100_01)}, {Ref: "r1", Local: usd(-1)}} {
		if err := book(wrong); err == nil {
			t.Errorf("%+v is booked", wrong)
		}
	}
	if err := book(NewBooking{Ref: "r1", Origin: ByProvider, Local: usd(25_00)}); err != nil {
		t.Fatal(err)
	}
	if err := book(NewBooking{Ref: "r1", Origin: ByProvider, Local: usd(25_00)}); err == nil {
		t.Error("r1 is booked twice")
	}
	h.confirm(back(25_00, theirs("r1", 25_00)), Ignored)
	if err := book(NewBooking{Ref: "TED 1", Origin: ByOperator}); err != nil || h.claims[1].Origin != ByOperator || h.claims[1].Timeline[0].Actor != PartyOperator {
		t.Errorf("%v: %v", err, h.claims[1:])
	}
	h.gave(100_00, net-100_00)
}

// Refunds of ours and of the provider's, their failures and disputes, in any order, never give the
// shopper more than the payment, and end with what each gave.
func TestRefundsOfAnyOriginAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := completed(t)
		h.p.Terms.RefundFees = merchants.FeesReturned
		var list []ProviderRefund
		id := 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			id++
			amount := rapid.Int64Range(1, 60_00).Draw(rt, "amount")
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				list = append(list, theirs(fmt.Sprint("r", id), amount))
			case 2:
				_, c, change, err := h.p.Refund(NewRefund{ID: fmt.Sprintf("CLM-X%d", id), Amount: usd(amount)}, h.balances(), noon)
				if err != nil {
					continue
				}
				h.apply(change)
				_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, ProviderRef: fmt.Sprint("r", id), Local: c.Local}, noon)
				h.apply(change)
				list = append(list, theirs(fmt.Sprint("r", id), amount))
			case 3:
				for i, r := range list {
					if rapid.Bool().Draw(rt, "fails") {
						list[i].Kind = Declined
					}
					for _, c := range h.claims {
						if c.Call.Ref == r.ID && c.Origin == ByMerchant && list[i].Kind == Declined {
							_, change := c.ApplyRefundNotice(h.p, Notice{ID: fmt.Sprint("f", id, i), Refund: c.Reference(), Outcome: Outcome{Kind: Declined, ProviderRef: r.ID}}, fmt.Sprintf("CLM-F%d-%d", id, i), noon)
							h.apply(change)
						}
					}
				}
			case 4:
				n := Notice{ID: fmt.Sprint("d", id), Account: "one", Reference: h.p.Reference(1), DisputeID: fmt.Sprint("d", id), Dispute: true, Outcome: Outcome{Local: usd(amount)}}
				_, change := n.ApplyDispute(h.p, h.claims, [2]string{fmt.Sprintf("CLM-D%d", id), fmt.Sprintf("CLM-E%d", id)}, noon)
				h.apply(change)
				n.ID, n.Dispute, n.Ruling = n.ID+"e", false, rapid.SampledFrom([]Ruling{DisputeLost, DisputeWon, DisputeWithdrawn}).Draw(rt, "ruling")
				_, change = n.ApplyDispute(h.p, h.claims, [2]string{fmt.Sprintf("CLM-G%d", id), fmt.Sprintf("CLM-H%d", id)}, noon)
				h.apply(change)
			}
			ids := make([]string, len(list)+1)
			for i := range ids {
				ids[i] = fmt.Sprintf("CLM-L%d-%d", id, i)
			}
			n := Notice{ID: fmt.Sprint("l", id), Account: "one", Reference: h.p.Reference(1), Outcome: Outcome{Kind: Reversed, Local: usd(100_00), Back: &Reversal{Refunds: slices.Clone(list)}}}
			_, change := n.ApplyRefundList(h.p, h.claims, ids, noon)
			h.apply(change)
			went := h.books[ledger.Refunds] + h.books[ledger.Chargebacks]
			stands := int64(0)
			for _, c := range h.claims {
				if c.Kind == UserDispute && c.Status.Pays() && c.Call.Returned == "" {
					stands += c.Local.Minor
				}
			}
			if went < 0 || went > 100_00 || stands != h.p.Refunds.Local || h.books[ledger.Frozen] != 0 || h.books[ledger.Reserve] < 0 {
				rt.Fatalf("the shopper got %d, refunds of %d stand, the payment says %d; frozen %d, reserve %d", went, stands, h.p.Refunds.Local, h.books[ledger.Frozen], h.books[ledger.Reserve])
			}
			if left := h.p.Refundable(); !left.IsPositive() && h.p.lost() == 0 && went != 100_00 {
				rt.Fatalf("nothing is left and %d went back", went)
			}
		}
	})
}

// A refund of nobody's is known by its charge, which tells whether it may be ours.
func TestUnknownRefundIsOfItsCharge(t *testing.T) {
	for _, c := range []struct{ refund, charge, want string }{{"for ana-1", "01M7ZLOST-1", "01M7ZLOST-1"}, {"01M7ZCLAIM-1", "", "01M7ZCLAIM-1"}} {
		u := Notice{Refund: c.refund, Reference: c.charge, Outcome: Outcome{Kind: Approved}}.Unknown()
		if u.Reference != c.want || u.Says != "refund approved" {
			t.Errorf("%s of %s: %+v", c.refund, c.charge, u)
		}
	}
}
