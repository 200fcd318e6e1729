package pay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func TestTheLargestEvidenceFileIsTheSameForPeople(t *testing.T) {
	if got := fmt.Sprintf("%d MiB", MaxEvidenceFile>>20); MaxEvidenceFile%(1<<20) != 0 || got != MaxEvidenceText {
		t.Errorf("MaxEvidenceText is %s, want %s", MaxEvidenceText, got)
	}
}

// paidClaim returns a completed payment with a claim of a kind on it.
func paidClaim(t *testing.T, kind ClaimKind) (Payment, Claim) {
	t.Helper()
	p := sent(t, cardRail(), 10000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
	var change Change
	switch kind {
	case UserDispute:
		var err error
		p, _, change, err = p.Refund(NewRefund{ID: "CLM-1"}, ledger.Balances{ledger.Pending: p.net(), ledger.Reserve: p.Terms.Reserve}, noon)
		if err != nil {
			t.Fatal(err)
		}
	case ChargebackClaim:
		p, change = p.ApplyNotice(Notice{ID: "1", Account: "one", Reference: p.Reference(1), Dispute: true, Outcome: Outcome{Message: "fraudulent", Played: true}},
			routes, "CLM-1", noon)
	case Inquiry:
		p, change = p.late(1, Outcome{Kind: Approved}, "CLM-1", noon)
	}
	return p, change.Claims[0]
}

// All of status × verb × kind. A move that is not listed is refused, and does not change the claim.
func TestClaimMatrix(t *testing.T) {
	const resolved, conflict = "claim_already_resolved", "conflict_state"
	always := map[ClaimStatus]map[ClaimVerb]string{}
	for _, s := range []ClaimStatus{ClaimApproved, ClaimRejected, ClaimExpired, ClaimWithdrawn} {
		always[s] = map[ClaimVerb]string{}
		for _, v := range ClaimVerbs() {
			always[s][v] = resolved
		}
	}
	table := map[ClaimKind]map[ClaimStatus]map[ClaimVerb]string{
		UserDispute: {
			ClaimPending:       {Approve: "approved", Reject: "rejected", Withdraw: "withdrawn"},
			ClaimNeedsEvidence: {Approve: "approved", Reject: "rejected", Withdraw: "withdrawn"},
			ClaimUnderReview:   {Approve: "approved", Reject: "rejected", Withdraw: "withdrawn"},
		},
		ChargebackClaim: {
			ClaimPending: {Approve: "approved", Reject: "rejected", Withdraw: "withdrawn"},
			ClaimNeedsEvidence: {Submit: "under_review", Accept: "approved", Approve: "approved", Reject: "rejected",
				Withdraw: "withdrawn", Lapse: "expired"},
			ClaimUnderReview: {Submit: "under_review", Accept: "approved", Approve: "approved", Reject: "rejected", Withdraw: "withdrawn"},
		},
		Inquiry: {
			ClaimPending:       {AskEvidence: "needs_evidence", Approve: "approved", Reject: "rejected"},
			ClaimNeedsEvidence: {Submit: "under_review", Accept: "approved", Approve: "approved", Reject: "rejected", Lapse: "expired"},
			ClaimUnderReview:   {Submit: "under_review", Accept: "approved", Approve: "approved", Reject: "rejected"},
		},
	}
	for _, kind := range ClaimKinds() {
		for _, status := range ClaimStatuses() {
			for _, v := range ClaimVerbs() {
				t.Run(fmt.Sprintf("%s %s %s", kind, status, v), func(t *testing.T) {
					p, c := paidClaim(t, kind)
					c.Status = status
					want, ok := table[kind][status][v]
					if always[status] != nil {
						want = always[status][v]
					} else if !ok {
						want = conflict
					}
					next, change, err := move(c, p, v)
					got := string(next.Status)
					if e, ok := err.(*problem.Error); ok {
						got = string(e.Code)
						if len(change.Claims)+len(change.Payments)+len(change.Transfers)+len(change.Events) > 0 || next.Version != c.Version {
							t.Errorf("a refused %s writes %+v", v, change)
						}
						if e.Details.From != string(status) || e.Details.Action != string(v) {
							t.Errorf("the conflict tells from %q and action %q", e.Details.From, e.Details.Action)
						}
					}
					if got != want {
						t.Errorf("%s of a %s that is %s returns %s, want %s", v, kind, status, got, want)
					}
					if err == nil && next.Status.Terminal() {
						checkResolved(t, c, next, change)
					}
				})
			}
		}
	}
}

// move applies v, with the provider's answer if that is needed.
func move(c Claim, p Payment, v ClaimVerb) (next Claim, change Change, err error) {
	switch v {
	case Submit:
		return c.Submit(Payment{}, Evidence{ID: "ev_1"}, nil, noon)
	case AskEvidence:
		return c.Ask("why so late?", noon)
	}
	next, change, err = c.Resolve(p, v, PartyOperator, "a note", noon)
	if err == nil && next.Calling() {
		next, change = next.ApplyRefundOutcome(p, Outcome{Kind: Approved}, noon)
	}
	return next, change, err
}

// checkResolved checks that a resolution releases the held money, pays the shopper the right
// amount, and makes one event.
func checkResolved(t *testing.T, before, after Claim, change Change) {
	t.Helper()
	held, paid, back := int64(0), int64(0), int64(0)
	for _, tr := range change.Transfers {
		if err := tr.Check(); err != nil {
			t.Error(err)
		}
		held -= tr.Amount(ledger.Frozen) + tr.Amount(ledger.Suspense)
		paid += tr.Amount(ledger.Refunds) + tr.Amount(ledger.Chargebacks)
		back += tr.Amount(ledger.Available) + tr.Amount(ledger.Reserve)
	}
	want := before.Frozen
	if before.Kind == Inquiry {
		want = before.USD
	}
	if held != want || after.Frozen != 0 || !after.DueAt.IsZero() || after.Resolved != noon {
		t.Errorf("released %d of %d; after it: frozen %d, due %v, resolved %v", held, want, after.Frozen, after.DueAt, after.Resolved)
	}
	if after.Status.Pays() && (paid != before.USD || back != 0) || !after.Status.Pays() && (paid != 0 || back != want) {
		t.Errorf("%s: the shopper got %d of %d, the merchant %d", after.Status, paid, before.USD, back)
	}
	var told []webhooks.EventType
	for _, e := range change.Events {
		told = append(told, e.Type)
	}
	if fmt.Sprint(told) != "[claim.resolved]" {
		t.Errorf("events %v, want claim.resolved once", told)
	}
}

func TestChargebackThatIsLostTakesThePaymentAlong(t *testing.T) {
	for _, c := range []struct {
		verb ClaimVerb
		want Status
	}{{Approve, Chargeback}, {Accept, Chargeback}, {Lapse, Chargeback}, {Reject, Completed}, {Withdraw, Completed}} {
		p, claim := paidClaim(t, ChargebackClaim)
		if left := p.Refundable(); !left.IsZero() {
			t.Errorf("%s can be refunded while it is disputed", left)
		}
		_, change, err := claim.Resolve(p, c.verb, PartyIssuer, "", noon)
		if err != nil {
			t.Fatal(err)
		}
		p = change.Payments[0]
		if p.Status != c.want || p.Disputes.OpenOnCapture() != "" || p.Refundable().IsPositive() != (c.want == Completed) {
			t.Errorf("after %s the payment is %s, %s refundable, want %s", c.verb, p.Status, p.Refundable(), c.want)
		}
	}
}

func TestRefundIsRefusedWhileDisputed(t *testing.T) {
	p, _ := paidClaim(t, ChargebackClaim)
	_, _, change, err := p.Refund(NewRefund{ID: "CLM-2"}, ledger.Balances{ledger.Available: 1_000_000}, noon)
	e, ok := err.(*problem.Error)
	if !ok || e.Code != problem.ConflictState || e.Details.Reason != "open_dispute" || len(change.Claims) != 0 {
		t.Errorf("refund under dispute: %v, %d claims; want conflict_state, open_dispute", err, len(change.Claims))
	}
	// The simulator's table has no disputes. Still, nobody may be paid twice.
	p, refund, _, err := p.Refund(NewRefund{ID: "CLM-2", Played: true}, ledger.Balances{ledger.Available: 1_000_000}, noon)
	if err != nil {
		t.Fatal(err)
	}
	_, paid := refund.ApplyRefundOutcome(p, Outcome{Kind: Approved}, noon)
	_, dispute := paidClaim(t, ChargebackClaim)
	_, change, err = dispute.Resolve(p, Approve, PartyIssuer, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	out := int64(0)
	for _, tr := range append(paid.Transfers, change.Transfers...) {
		out += tr.Amount(ledger.Refunds) + tr.Amount(ledger.Chargebacks)
	}
	if out != p.Price.Amount.Minor {
		t.Errorf("a refund and a lost dispute gave back %d of %d", out, p.Price.Amount.Minor)
	}
}

// A refund never ends without the provider's answer, and is never requested twice.
func TestUnknownRefundIsQueriedNotRepeated(t *testing.T) {
	p, c := paidClaim(t, UserDispute)
	if c.Reference() != "1-1" || !c.Unanswered() || c.DueAt != noon.Add(callLease) {
		t.Fatalf("the intent: reference %s, state %s, due %v", c.Reference(), c.Call.State, c.DueAt)
	}
	now := noon
	for _, step := range []struct {
		kind  OutcomeKind
		ask   bool // next: query, do not call
		pause time.Duration
	}{
		{Unknown, true, 30 * time.Second},
		{Unknown, true, time.Minute},
		{Awaiting, true, 5 * time.Minute},
		{Missing, false, 0},
		{Errored, false, 8 * time.Minute},
		{Unavailable, false, 16 * time.Minute},
		{Unknown, true, 32 * time.Minute},
		{Unknown, true, time.Hour},
		{Unknown, true, time.Hour},
	} {
		c, _ = c.ApplyRefundOutcome(p, Outcome{Kind: step.kind, ProviderRef: "theirs"}, now)
		if c.Status != ClaimPending || c.Unanswered() != step.ask || c.DueAt.Sub(now) != step.pause || c.Reference() != "1-1" || c.Call.Ref != "theirs" {
			t.Errorf("after %s: %s, ask %v, in %s as %s", step.kind, c.Status, c.Unanswered(), c.DueAt.Sub(now), c.Reference())
		}
		if now = now.Add(step.pause); !step.ask {
			var change Change
			if c, change = c.Resend(now); !c.Unanswered() || len(change.Claims) != 1 {
				t.Errorf("resend leaves %s", c.Call.State)
			}
		}
	}
	c, change := c.ApplyRefundOutcome(p, Outcome{Kind: Approved}, now)
	if c.Status != ClaimApproved || len(change.Events) != 1 {
		t.Errorf("confirmed: %s with %d events", c.Status, len(change.Events))
	}
	if again, change := c.ApplyRefundOutcome(p, Outcome{Kind: Declined}, now); again.Status != ClaimApproved || len(change.Claims) != 0 {
		t.Errorf("an answer after the end: %s, %+v", again.Status, change)
	}
}

// A notice about a refund of another amount is for the operator, and does not end the refund.
func TestNewsOfAnotherRefundIsNotApplied(t *testing.T) {
	p, c := paidClaim(t, UserDispute)
	for paid, want := range map[money.Amount]Verdict{
		money.New(c.Local.Minor-1, c.Local.Currency): Mismatched, money.New(c.Local.Minor, "MXN"): Mismatched, c.Local: Applied, {}: Applied,
	} {
		next, change := c.ApplyRefundNotice(p, Notice{ID: "1", Refund: c.Reference(), Outcome: Outcome{Kind: Approved, Local: paid}}, "CLM-2", noon)
		if got := change.Notices[0].Verdict; got != want || (next.Status == ClaimApproved) != (want == Applied) {
			t.Errorf("%s of %s went back: %s, and the refund is %s; want %s", paid, c.Local, got, next.Status, want)
		}
	}
}

// An answer with another amount ends nothing: the operator gets one notice, and the provider is
// still queried.
func TestAnswerOfAnotherRefundIsHeld(t *testing.T) {
	for _, short := range []bool{true, false} { // by a cent, or wholly: the provider has the money for the shopper
		p, c := paidClaim(t, UserDispute)
		went := money.New(0, c.Local.Currency)
		if short {
			went.Minor = c.Local.Minor - 1
		}
		heldRefund(t, p, c, went)
	}
}

func heldRefund(t *testing.T, p Payment, c Claim, went money.Amount) {
	t.Helper()
	wrong := Outcome{Kind: Approved, ProviderRef: "theirs", Local: went}
	now := noon
	for i, receipts := range []int{1, 0, 0} {
		next, change := c.ApplyRefundOutcome(p, wrong, now)
		if next.Status != ClaimPending || !next.Calling() || !next.Unanswered() || next.Call.Ref != "theirs" || !next.DueAt.After(now) ||
			len(change.Notices) != receipts || len(change.Transfers)+len(change.Events) != 0 {
			t.Fatalf("answer %d: %s, calling %v, due %v, %d receipts, %d transfers", i+1, next.Status, next.Calling(), next.DueAt, len(change.Notices), len(change.Transfers))
		}
		if receipts > 0 && (change.Notices[0].Verdict != Mismatched || !strings.Contains(string(change.Notices[0].Body), c.Local.String())) {
			t.Errorf("the receipt is %+v", change.Notices[0])
		}
		c, now = next, next.DueAt
	}
	for _, kind := range []OutcomeKind{Declined, Missing, Errored, Unavailable, Awaiting, Unknown} {
		next, change := c.ApplyRefundOutcome(p, Outcome{Kind: kind}, now)
		if next.Status != ClaimPending || !next.Unanswered() || !next.DueAt.After(now) || len(change.Notices)+len(change.Transfers)+len(change.Events) != 0 {
			t.Errorf("%s after it: %s, unanswered %v, due %v", kind, next.Status, next.Unanswered(), next.DueAt)
		}
	}
	if c, _ = c.ApplyRefundOutcome(p, Outcome{Kind: Approved, Local: c.Local}, now); c.Status != ClaimApproved {
		t.Errorf("when the amount fits: %s", c.Status)
	}
}

// A refund that the provider refuses returns its money to the merchant, and its amount to what can
// be refunded. The status is terminal and stays.
func TestRefusedRefundCanBeRequestedAgain(t *testing.T) {
	p, c := paidClaim(t, UserDispute)
	c, change := c.ApplyRefundOutcome(p, Outcome{Kind: Declined, Message: "account closed"}, noon)
	p = change.Payments[0]
	if c.Status != ClaimRejected || p.Status != Refunded || p.Refunds.Local != 0 || p.Refundable() != p.Price.Local || p.Refunds.USD != (Parts{}) {
		t.Errorf("refused: claim %s, payment %s with %d refunded, %+v", c.Status, p.Status, p.Refunds.Local, p.Refunds.USD)
	}
	if last := c.Timeline[len(c.Timeline)-1]; last.Actor != PartyProvider || last.Note != "account closed" {
		t.Errorf("the timeline says %+v", last)
	}
	if _, _, _, err := p.Refund(NewRefund{ID: "CLM-2"}, ledger.Balances{ledger.Available: p.net(), ledger.Reserve: p.Terms.Reserve}, noon); err != nil {
		t.Errorf("the second refund: %v", err)
	}
}

// Late money that a provider does not send back stays where it is. The operator may try again; for
// the provider that is another refund.
func TestRefusedRefundOfLateMoneyGoesBackToTheOperator(t *testing.T) {
	p, c := paidClaim(t, Inquiry)
	for round := 1; round <= 2; round++ {
		next, change, err := c.Resolve(p, Approve, PartyOperator, "send it back", noon)
		if err != nil || next.Status != ClaimPending || !next.Calling() || next.Reference() != fmt.Sprintf("1-%d", round) || len(change.Transfers) != 0 {
			t.Fatalf("round %d: %v, %s %s, %d transfers", round, err, next.Status, next.Reference(), len(change.Transfers))
		}
		if _, _, err := next.Resolve(p, Reject, PartyOperator, "", noon); err == nil {
			t.Error("the money was given to the merchant while the provider was sending it back")
		}
		c, change = next.ApplyRefundOutcome(p, Outcome{Kind: Declined}, noon)
		if c.Status != ClaimPending || c.Calling() || !c.DueAt.IsZero() || len(change.Transfers)+len(change.Events) != 0 {
			t.Errorf("refused: %s, calling %v, due %v", c.Status, c.Calling(), c.DueAt)
		}
	}
}

func TestRefundDrawsOnAvailableThenOnPending(t *testing.T) {
	for _, c := range []struct {
		available, pending int64 // of a refund of 9060 cents net
		fromAvailable      int64
		insufficient       bool
	}{
		{20000, 0, 9060, false},
		{9060, 0, 9060, false},
		{9059, 1, 9059, false},
		{0, 9060, 0, false},
		{9059, 0, 0, true},
		{0, 9059, 0, true},
		{-1, 9061, 0, false},
		{-1, 9060, 0, true}, // that cent is owed already
		{-9060, 9060, 0, true},
	} {
		p := sent(t, cardRail(), 10000)
		p, _ = p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
		if p.net() != 9060 {
			t.Fatalf("the net is %d", p.net())
		}
		_, _, change, err := p.Refund(NewRefund{ID: "CLM-1"},
			ledger.Balances{ledger.Available: c.available, ledger.Pending: c.pending, ledger.Reserve: p.Terms.Reserve}, noon)
		e, refused := err.(*problem.Error)
		if refused != c.insufficient || refused && e.Code != problem.BalanceInsufficient {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if !refused && (-change.Transfers[0].Amount(ledger.Available) != c.fromAvailable || -change.Transfers[0].Amount(ledger.Pending) != 9060-c.fromAvailable) {
			t.Errorf("%+v: %s", c, change.Transfers[0])
		}
		for _, f := range change.Floors {
			have := map[ledger.Account]int64{ledger.Available: c.available, ledger.Pending: c.pending, ledger.Reserve: p.Terms.Reserve}[f.Account]
			if after := have + change.Transfers[0].Amount(f.Account); after < f.Min {
				t.Errorf("%+v: the floor of %s is %d, it would hold %d", c, f.Account, f.Min, after)
			}
		}
	}
}
