package pay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"pgregory.net/rapid"
)

// hearing is a payment with its disputes, as providers report them, and all results.
type hearing struct {
	t      testing.TB
	p      Payment
	claims []Claim
	books  ledger.Balances
	told   []string // events, each with its claim's number
	now    time.Time
	ids    int
}

// hundred is a card payment of 100 USD whose call is in progress.
func hundred(t testing.TB) Payment {
	o := order(t, cardRail(), 10000)
	o.Local = o.Amount
	p, err := Create(o, noon)
	if err != nil {
		t.Fatal(err)
	}
	p, _ = p.Begin(routes, noon)
	return p
}

// completed returns a paid payment.
func completed(t testing.TB) *hearing {
	p := hundred(t)
	p, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
	h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
	h.apply(change)
	return h
}

func (h *hearing) apply(c Change) {
	h.t.Helper()
	for _, tr := range c.Transfers {
		if err := tr.Check(); err != nil {
			h.t.Fatal(err)
		}
		for _, line := range tr.Postings {
			h.books[line.Account] += line.Amount
		}
	}
	for _, claim := range c.Claims {
		at := -1
		for i := range h.claims {
			if h.claims[i].ID == claim.ID {
				at = i
			}
		}
		switch {
		case at < 0 && claim.Version == 1:
			h.claims = append(h.claims, claim)
		case at >= 0 && claim.Version == h.claims[at].Version+1:
			h.claims[at] = claim
		default:
			h.t.Fatalf("claim %s has version %d, it is number %d", claim.ID, claim.Version, at)
		}
	}
	for _, p := range c.Payments {
		if p.Version != h.p.Version+1 && len(h.told) > 0 {
			h.t.Fatalf("version %d after %d", p.Version, h.p.Version)
		}
		h.p = p
	}
	for _, e := range c.Events {
		name := string(e.Type)
		for i := range h.claims {
			if e.Object == h.claims[i].ID {
				name += fmt.Sprint(" ", i+1)
			}
		}
		h.told = append(h.told, name)
	}
}

// hear applies a notice, and checks the verdict.
func (h *hearing) hear(n Notice, want Verdict) {
	h.t.Helper()
	h.ids += 2
	if n.ID = fmt.Sprint("n", h.ids); n.Reference == "" {
		n.Reference = h.p.Reference(1)
	}
	n.Account = "one"
	n.Dispute = n.Ruling == ""
	_, change := n.ApplyDispute(h.p, h.claims, [2]string{fmt.Sprintf("CLM-%d", h.ids), fmt.Sprintf("CLM-%d", h.ids+1)}, h.now)
	h.apply(change)
	if got := change.Notices[len(change.Notices)-1]; got.Verdict != want || got.ID != "one/"+n.ID {
		h.t.Errorf("%+v: verdict %s of %s, want %s", n, got.Verdict, got.ID, want)
	}
}

// is checks the claims (status, frozen cents, fee cents), and what the merchant and the shopper
// have.
func (h *hearing) is(claims string, merchant, shopper int64) {
	h.t.Helper()
	var list []string
	for i, c := range h.claims {
		text := fmt.Sprintf("%s %d %d", c.Status, c.Frozen, c.Fee)
		for j := range h.claims {
			if c.Previous == h.claims[j].ID {
				text += fmt.Sprint(" after ", j+1)
			}
		}
		if c.Kind == Inquiry {
			text = "inquiry " + string(c.Status)
		}
		list = append(list, text)
		if open := !c.Status.Terminal(); c.Kind == ChargebackClaim && open != (h.p.disputeEntry(c.ID).Open && !c.DueAt.IsZero()) {
			h.t.Errorf("claim %d is %s, the payment has %+v, due %v", i+1, c.Status, h.p.disputeEntry(c.ID), c.DueAt)
		}
	}
	if got := strings.Join(list, ", "); got != claims {
		h.t.Errorf("the claims are %q, want %q", got, claims)
	}
	have := h.books[ledger.Pending] + h.books[ledger.Available] + h.books[ledger.Frozen] + h.books[ledger.Reserve] + h.books[ledger.Suspense]
	gave := h.books[ledger.Chargebacks] + h.books[ledger.Refunds]
	if have != merchant || gave != shopper {
		h.t.Errorf("the merchant has %d, the shopper got %d back; want %d and %d", have, gave, merchant, shopper)
	}
}

func usd(minor int64) money.Amount { return money.New(minor, money.USD) }

const (
	net = 9560 // the merchant's part of 100.00, with the reserve
	fee = 2000
)

// Notices about disputes, in any order in which providers may send them.
func TestDisputesAreEntities(t *testing.T) {
	dispute := func(id string, minor int64) Notice {
		return Notice{DisputeID: id, Outcome: Outcome{Local: usd(minor)}}
	}
	ruling := func(id string, r Ruling, instance int) Notice {
		return Notice{DisputeID: id, Ruling: r, Instance: instance}
	}
	type news struct {
		n    Notice
		want Verdict
	}
	for name, c := range map[string]struct {
		news              []news
		claims            string
		merchant, shopper int64
		told              string // after payment.completed
	}{
		"a part": {[]news{{dispute("a", 1000), Applied}}, "needs_evidence 1000 2000", net - fee, 0, "chargeback.created 1, claim.opened 1"},
		"a part, lost": {[]news{{dispute("a", 1000), Applied}, {ruling("a", DisputeLost, 0), Applied}},
			"approved 0 2000", net - fee - 1000, 1000, "chargeback.created 1, claim.opened 1, claim.resolved 1"},
		"told again":       {[]news{{dispute("a", 1000), Applied}, {dispute("a", 1000), Ignored}}, "needs_evidence 1000 2000", net - fee, 0, ""},
		"no amount":        {[]news{{Notice{DisputeID: "a"}, Applied}}, "needs_evidence 10000 2000", net - fee, 0, ""},
		"another currency": {[]news{{Notice{DisputeID: "a", Outcome: Outcome{Local: money.New(500, money.BRL)}}, Mismatched}}, "needs_evidence 10000 2000", net - fee, 0, ""},
		"below zero":       {[]news{{dispute("a", -100), Mismatched}}, "needs_evidence 10000 2000", net - fee, 0, ""},
		"more than all":    {[]news{{dispute("a", 10001), Mismatched}}, "needs_evidence 10000 2000", net - fee, 0, ""},
		"a ruling of another amount": {[]news{{dispute("a", 1000), Applied}, {Notice{DisputeID: "a", Ruling: DisputeLost, Outcome: Outcome{Local: usd(2000)}}, Mismatched}},
			"needs_evidence 1000 2000", net - fee, 0, ""},
		"two at once": {[]news{{dispute("a", 1000), Applied}, {dispute("b", 9000), Applied}, {ruling("a", DisputeWon, 0), Applied}, {ruling("b", DisputeLost, 0), Applied}},
			"rejected 0 2000, approved 0 2000", net - 2*fee - 9000, 9000, ""},
		"two of all": {[]news{{dispute("a", 10000), Applied}, {dispute("b", 10000), Mismatched}, {ruling("b", DisputeLost, 0), Applied}, {ruling("a", DisputeWon, 0), Applied}},
			"rejected 0 2000, approved 0 2000", net - 2*fee - 10000, 10000, ""},
		"lost, never opened": {[]news{{ruling("a", DisputeLost, 0), Applied}, {dispute("a", 10000), Ignored}},
			"approved 0 2000", net - fee - 10000, 10000, "chargeback.created 1, claim.opened 1, claim.resolved 1"},
		"won, never opened": {[]news{{ruling("a", DisputeWon, 0), Applied}, {dispute("a", 10000), Ignored}},
			"rejected 0 2000", net - fee, 0, "chargeback.created 1, claim.opened 1, claim.resolved 1"},
		"without an id: its end, then its beginning, then another": {[]news{{Notice{Ruling: DisputeWon}, Applied}, {Notice{}, Ignored}, {Notice{}, Mismatched}},
			"rejected 0 2000", net - fee, 0, ""},
		"a second instance, lost": {[]news{{dispute("a", 1000), Applied}, {ruling("a", DisputeWon, 1), Applied}, {ruling("a", DisputeLost, 2), Applied}},
			"rejected 0 2000, approved 0 0 after 1", net - fee - 1000, 1000,
			"chargeback.created 1, claim.opened 1, claim.resolved 1, chargeback.created 2, claim.opened 2, claim.resolved 2"},
		"a second instance overtakes the first's end": {[]news{{dispute("a", 1000), Applied}, {ruling("a", DisputeLost, 2), Applied}, {ruling("a", DisputeWon, 1), Ignored}},
			"rejected 0 2000, approved 0 0 after 1", net - fee - 1000, 1000, ""},
		"only a second instance is reported": {[]news{{ruling("a", DisputeLost, 2), Applied}, {dispute("a", 10000), Ignored}, {ruling("a", DisputeWon, 1), Ignored}},
			"approved 0 2000", net - fee - 10000, 10000, ""},
		"a second instance after losing": {[]news{{dispute("a", 1000), Applied}, {ruling("a", DisputeLost, 1), Applied}, {Notice{DisputeID: "a", Instance: 2}, Applied}},
			"approved 0 2000, needs_evidence 1000 0 after 1", net - fee, 0, ""},
		"lost, then won after all": {[]news{{dispute("a", 1000), Applied}, {ruling("a", DisputeLost, 0), Applied}, {ruling("a", DisputeWon, 0), Applied}, {ruling("a", DisputeWon, 0), Ignored}},
			"approved 0 2000, rejected 0 0 after 1", net - fee, 0, ""},
		"won, then lost, no instance reported": {[]news{{dispute("a", 1000), Applied}, {ruling("a", DisputeWon, 0), Applied}, {ruling("a", DisputeLost, 0), Applied}, {ruling("a", DisputeLost, 0), Ignored}},
			"rejected 0 2000, approved 0 0 after 1", net - fee - 1000, 1000, ""},
		"the id is reported later": {[]news{{Notice{}, Applied}, {dispute("a", 10000), Applied}, {ruling("a", DisputeLost, 0), Applied}},
			"approved 0 2000", net - fee - 10000, 10000, ""},
		"a ruling that fits two disputes": {[]news{{dispute("a", 1000), Applied}, {dispute("b", 1000), Applied}, {Notice{Ruling: DisputeLost}, Mismatched}},
			"needs_evidence 1000 2000, needs_evidence 1000 2000", net - 2*fee, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := completed(t)
			for _, n := range c.news {
				h.hear(n.n, n.want)
			}
			h.is(c.claims, c.merchant, c.shopper)
			if told := strings.Join(h.told[1:], ", "); c.told != "" && told != c.told {
				t.Errorf("events %s, want %s", told, c.told)
			}
			if h.p.Status != Chargeback {
				t.Errorf("the payment is %s", h.p.Status)
			}
		})
	}
}

// The deadline passed without evidence, and the shopper was paid. Then the issuer decides for the
// merchant.
func TestWonAfterOurOwnLapse(t *testing.T) {
	h := completed(t)
	h.hear(Notice{DisputeID: "a"}, Applied)
	h.now = h.claims[0].DueBy
	_, change, err := h.claims[0].Resolve(h.p, Lapse, PartySystem, "", h.now)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(change)
	h.is("expired 0 2000", net-fee-10000, 10000)
	h.hear(Notice{DisputeID: "a", Ruling: DisputeWon}, Applied)
	h.is("expired 0 2000, rejected 0 0 after 1", net-fee, 0)
	if got := strings.Join(h.told[4:], ", "); got != "chargeback.created 2, claim.opened 2, claim.resolved 2" {
		t.Errorf("events %s", got)
	}
}

// A refund is in progress when the issuer takes the whole amount back. The provider refuses the
// refund before or after the dispute is lost.
func TestDisputeWhileARefundIsUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		refund OutcomeKind
		first  bool // before the ruling
	}{
		"refused, then lost":  {Declined, true},
		"lost, then refused":  {Declined, false},
		"refunded, then lost": {Approved, true},
		"lost, then refunded": {Approved, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := completed(t)
			p, refund, change, err := h.p.Refund(NewRefund{ID: "CLM-1", Amount: usd(5000)}, ledger.Balances{ledger.Available: 1_000_000}, h.now)
			if err != nil {
				t.Fatal(err)
			}
			h.p = p
			h.p.Version--
			h.apply(change)
			h.hear(Notice{DisputeID: "a", Outcome: Outcome{Local: h.p.Price.Local}}, Mismatched)
			end := func() {
				_, change := refund.ApplyRefundOutcome(h.p, Outcome{Kind: c.refund}, h.now)
				h.apply(change)
			}
			if c.first {
				end()
			}
			h.hear(Notice{DisputeID: "a", Ruling: DisputeLost}, Applied)
			if !c.first {
				end()
			}
			status := map[OutcomeKind]string{Declined: "rejected", Approved: "approved"}[c.refund]
			merchant := int64(net - fee - 10000)
			for _, a := range []ledger.Account{ledger.PlatformFees, ledger.ProviderFees, ledger.FlatFees, ledger.NetworkFees, ledger.FeeTaxes} {
				merchant -= h.books[a] // the refund's part of each account
			}
			h.is(status+" 0 0, approved 0 2000", merchant+10000-net, 10000)
			if left := h.p.uncontested(""); left != 0 {
				t.Errorf("%d of the capture is left", left)
			}
		})
	}
}

// An open dispute takes the deadline, stage and review from later notices.
func TestOpenDisputeContinues(t *testing.T) {
	h := completed(t)
	h.hear(Notice{DisputeID: "a", Stage: "NOTIFICATION", RespondBy: noon.Add(3 * day)}, Applied)
	h.hear(Notice{DisputeID: "a", Stage: "CHARGEBACK", RespondBy: noon.Add(5 * day), Network: "10.4"}, Applied)
	if c := h.claims[0]; c.Case.Stage != "CHARGEBACK" || !c.DueBy.Equal(noon.Add(5*day)) || c.Network != "10.4" || c.Status != ClaimNeedsEvidence {
		t.Errorf("after the second news: %s", c)
	}
	h.hear(Notice{DisputeID: "a", Stage: "CHARGEBACK", RespondBy: noon.Add(5 * day), Network: "10.4"}, Ignored)
	h.hear(Notice{DisputeID: "a", Reviewing: true}, Applied)
	if c := h.claims[0]; c.Status != ClaimUnderReview || c.Overdue(noon.Add(6*day)) || c.DueAt.IsZero() {
		t.Errorf("in review: %s", c)
	}
	if !strings.Contains(h.claims[0].String(), "a, at one, stage CHARGEBACK") {
		t.Errorf("the operator reads %s", h.claims[0])
	}
	h = completed(t)
	h.hear(Notice{DisputeID: "b", Reviewing: true}, Applied) // it was answered before we heard of it
	if c := h.claims[0]; c.Status != ClaimUnderReview || h.p.disputeEntry(c.ID).Status != ClaimUnderReview || c.Version != 1 || c.Overdue(noon.Add(400*day)) {
		t.Errorf("in review from the first: %s", c)
	}
}

// A dispute is queried with growing pauses until it ends.
func TestOpenDisputeIsAskedAbout(t *testing.T) {
	h := completed(t)
	h.hear(Notice{DisputeID: "a", RespondBy: noon.Add(90 * day)}, Applied)
	ask := func(n *Notice) {
		t.Helper()
		h.ids += 2
		_, change := h.claims[0].ApplyDisputeAnswer(h.p, h.claims, n, [2]string{fmt.Sprintf("CLM-%d", h.ids), ""}, h.now)
		h.apply(change)
		for _, r := range change.Notices {
			if r.Verdict != Mismatched {
				t.Errorf("an answer left the receipt %+v", r)
			}
			h.told = append(h.told, "receipt")
		}
	}
	for _, hours := range []int{6, 12, 24, 48, 96, 168, 168} {
		if got := h.claims[0].DueAt.Sub(h.now); got != time.Duration(hours)*time.Hour {
			t.Errorf("queried again in %s, want %d hours", got, hours)
		}
		h.now = h.claims[0].DueAt
		ask(nil)
	}
	if h.claims[0].Stale(h.now) || !h.claims[0].Stale(noon.Add(90*day+disputePatience+1)) {
		t.Error("six weeks after its deadline it is stale")
	}
	if before := h.claims[0].UpdatedAt; !before.Equal(noon) {
		t.Errorf("queries changed it at %v", before)
	}
	news := Notice{ID: "q", Account: "one", Reference: h.p.Reference(1), DisputeID: "a", Dispute: true}
	ask(&news)
	odd := news
	odd.Outcome.Local = usd(1)
	ask(&odd)
	ask(&odd)
	lost := news
	lost.Dispute, lost.Ruling = false, DisputeLost
	ask(&lost)
	h.is("approved 0 2000", net-fee-10000, 10000)
	if got := strings.Join(h.told[3:], ", "); got != "receipt, claim.resolved 1" {
		t.Errorf("events %s: a contradiction is reported once", got)
	}
}

// Parts of a payment that are refunded and disputed in any order add up to at most the whole, and
// to exactly the whole once nothing is left.
func TestRefundsAndDisputesAddUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cents := rapid.Int64Range(100, 5000).Draw(r, "cents")
		p, err := Create(order(r, pixRail(), cents), noon)
		if err != nil {
			r.Fatal(err)
		}
		p, _ = p.Begin(routes, noon)
		p, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
		h := &hearing{t: t, p: p, books: ledger.Balances{}, now: noon}
		h.apply(change)
		var refunds []Claim
		for range rapid.IntRange(0, 3).Draw(r, "refunds") {
			left := h.p.Refundable()
			if !left.IsPositive() {
				break
			}
			h.ids += 2
			part := money.New(rapid.Int64Range(1, left.Minor).Draw(r, "refund"), left.Currency)
			_, claim, change, err := h.p.Refund(NewRefund{ID: fmt.Sprintf("CLM-%d", h.ids), Amount: part}, ledger.Balances{ledger.Available: 1_000_000}, noon)
			if err != nil {
				r.Fatal(err)
			}
			h.apply(change)
			refunds = append(refunds, claim)
		}
		for _, claim := range refunds {
			o := rapid.SampledFrom([]OutcomeKind{Approved, Declined}).Draw(r, "ends")
			_, change := claim.ApplyRefundOutcome(h.p, Outcome{Kind: o}, noon)
			h.apply(change)
		}
		for i := range rapid.IntRange(1, 5).Draw(r, "disputes") {
			d := newDocket(h.p, h.claims, noon)
			left := d.localLeft(&opening{})
			if left == 0 {
				break
			}
			part := money.New(rapid.Int64Range(1, left).Draw(r, "disputed"), h.p.Price.Local.Currency)
			n := Notice{DisputeID: fmt.Sprint("d", i), Outcome: Outcome{Local: part}}
			h.hear(n, Applied)
			n.Ruling = rapid.SampledFrom([]Ruling{DisputeLost, DisputeLost, DisputeWon, ""}).Draw(r, "ruling")
			if n.Ruling != "" {
				h.hear(n, Applied)
			}
		}
		out := h.books[ledger.Refunds] + h.books[ledger.Chargebacks]
		held := int64(0)
		for _, t := range h.p.Disputes.Entries {
			if t.Open {
				held += t.USD
			}
		}
		if out+held > cents {
			r.Fatalf("%d went back and %d is held, of %d", out, held, cents)
		}
		h.hear(Notice{DisputeID: "rest", Ruling: DisputeLost}, map[bool]Verdict{true: Applied, false: Mismatched}[newDocket(h.p, h.claims, noon).localLeft(&opening{}) > 0])
		if out = h.books[ledger.Refunds] + h.books[ledger.Chargebacks]; out+held != cents {
			r.Fatalf("%d went back and %d is held, of %d: all of it was disputed", out, held, cents)
		}
	})
}

// balances are enough for any refund of the hearing's payment.
func (h *hearing) balances() ledger.Balances {
	have := ledger.Balances{}
	for account, amount := range h.books {
		have[account] = amount
	}
	have[ledger.Available] += 1_000_00
	return have
}

// refund refunds an amount; zero is all that is left. The provider confirms at once.
func (h *hearing) refund(amount int64) {
	h.t.Helper()
	h.ids++
	before := h.p.Times.Chargeback
	_, c, change, err := h.p.Refund(NewRefund{ID: fmt.Sprintf("CLM-R%d", h.ids), Amount: usd(amount)}, h.balances(), h.now)
	if err != nil {
		h.t.Fatalf("refund of %s: %v", usd(amount), err)
	}
	h.apply(change)
	_, change = c.ApplyRefundOutcome(h.p, Outcome{Kind: Approved, Local: c.Local}, h.now)
	h.apply(change)
	if !h.p.Times.Chargeback.Equal(before) {
		h.t.Errorf("the refund moved the time of the chargeback from %v to %v", before, h.p.Times.Chargeback)
	}
}

// What a dispute did not take, or gave back, can be refunded to the cent; the status stays
// chargeback (REF-13).
func TestTheRestIsRefundedAfterADispute(t *testing.T) {
	for name, c := range map[string]struct {
		ruling   Ruling
		disputed int64 // zero: all
		back     []int64
		outcome  ClaimStatus
		shopper  int64
	}{
		"won":          {DisputeWon, 0, []int64{30_00, 0}, ClaimRejected, 100_00},
		"withdrawn":    {DisputeWithdrawn, 0, []int64{0}, ClaimWithdrawn, 100_00},
		"lost in part": {DisputeLost, 1_00, []int64{33_33, 33_33, 0}, ClaimApproved, 100_00},
	} {
		t.Run(name, func(t *testing.T) {
			h := completed(t)
			var local money.Amount
			if c.disputed > 0 {
				local = usd(c.disputed)
			}
			h.hear(Notice{DisputeID: "d1", Outcome: Outcome{Local: local}}, Applied)
			_, _, _, err := h.p.Refund(NewRefund{ID: "CLM-9"}, h.balances(), noon)
			if refused, ok := err.(*problem.Error); !ok || refused.Code != problem.ConflictState || refused.Details.Reason != "open_dispute" {
				t.Errorf("during the dispute: %v", err)
			}
			if left := h.p.Refundable(); left.IsPositive() {
				t.Errorf("%s can be refunded during the dispute", left)
			}
			h.hear(Notice{DisputeID: "d1", Ruling: c.ruling}, Applied)
			left := int64(100_00)
			if c.ruling == DisputeLost {
				left -= c.disputed
			}
			for _, amount := range c.back {
				if got := h.p.Refundable(); got != usd(left) {
					t.Errorf("%s can be refunded, want %s", got, usd(left))
				}
				h.refund(amount)
				left -= amount
			}
			if got := h.books[ledger.Refunds] + h.books[ledger.Chargebacks]; got != c.shopper || h.p.Status != Chargeback || h.p.Refundable().IsPositive() {
				t.Errorf("the shopper got %d back, want %d; %s is left of %s", got, c.shopper, h.p.Refundable(), h.p)
			}
			if list := h.p.Disputes.Entries; len(list) != 1 || list[0].Status != c.outcome || list[0].Disputed(h.p.Price).IsZero() {
				t.Errorf("the payment's disputes are %+v, want one that is %s", list, c.outcome)
			}
			_, _, _, err = h.p.Refund(NewRefund{ID: "CLM-9"}, h.balances(), noon)
			if refused, ok := err.(*problem.Error); !ok || refused.Details.Reason != "fully_refunded" {
				t.Errorf("once all went back: %v", err)
			}
		})
	}
}
