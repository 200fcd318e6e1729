package claims_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// dispute sends a notification about a dispute of a payment.
func (s service) dispute(t *testing.T, p pay.Payment, n sandbox.Notification) {
	t.Helper()
	n.Reference = p.Reference(1)
	s.notify(t, n)
}

// disputes lists a payment's chargebacks, sorted: status, amount, what is frozen, fee, and the status of the claim before.
func (s service) disputes(t *testing.T, payment string) string {
	t.Helper()
	list := s.of(t, payment, pay.ChargebackClaim)
	var all []string
	for _, c := range list {
		text := fmt.Sprintf("%s %d holds %d fee %d", c.Status, c.USD, c.Frozen, c.Fee)
		for _, before := range list {
			if before.ID == c.Previous {
				text += " after " + string(before.Status)
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// refusedAs fails the test unless an error is a conflict of a claim or a payment with the reason.
func refusedAs(t *testing.T, err error, code problem.Code, reason string) {
	t.Helper()
	if refused, ok := errors.AsType[*problem.Error](err); !ok || refused.Code != code || refused.Details.Reason != reason {
		t.Errorf("got %v, want %s %q", err, code, reason)
	}
}

// A dispute freezes its money and takes the fee. Lost, accepted or expired it is the shopper's money, and won or withdrawn the
// merchant's. While it is open, and after it was lost, nothing can be refunded. It ends once (CLAIM-3, CLAIM-5, REF-13).
func TestDisputeEnds(t *testing.T) {
	evidence := claims.NewEvidence{Kind: "receipt", Text: "it was signed for"}
	ruled := func(ruling string) func(*testing.T, service, pay.Payment, string) {
		return func(t *testing.T, s service, p pay.Payment, _ string) {
			s.dispute(t, p, sandbox.Notification{Status: "dispute_" + ruling, Reason: "the bank says so"})
		}
	}
	for name, c := range map[string]struct {
		status pay.ClaimStatus
		end    func(t *testing.T, s service, p pay.Payment, claim string)
	}{
		"lost":      {pay.ClaimApproved, ruled("lost")},
		"won":       {pay.ClaimRejected, ruled("won")},
		"withdrawn": {pay.ClaimWithdrawn, ruled("withdrawn")},
		"accepted": {pay.ClaimApproved, func(t *testing.T, s service, _ pay.Payment, claim string) {
			_, err := s.claims.Accept(t.Context(), s.Scope, claim, s.Operator)
			must(t, err)
		}},
		"won in review": {pay.ClaimRejected, func(t *testing.T, s service, p pay.Payment, claim string) {
			_, err := s.claims.SubmitEvidence(t.Context(), s.Scope, claim, evidence)
			must(t, err)
			if got := s.claim(t, claim); got.Status != pay.ClaimUnderReview {
				t.Errorf("with evidence the claim is %s", got)
			}
			ruled("won")(t, s, p, claim)
		}},
		"by the operator": {pay.ClaimApproved, func(t *testing.T, s service, _ pay.Payment, claim string) {
			_, err := s.resolve(t, claim, pay.Approve)
			must(t, err)
		}},
		"expired": {pay.ClaimExpired, func(t *testing.T, s service, _ pay.Payment, claim string) {
			if s.sweep(t, 1, 7*24*time.Hour-time.Minute); s.claim(t, claim).Status != pay.ClaimNeedsEvidence {
				t.Errorf("a minute before its deadline the claim is %s", s.claim(t, claim))
			}
			s.sweep(t, 1, time.Minute)
		}},
	} {
		for _, played := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " played ", played), func(t *testing.T) {
				s := open(t)
				events, p := s.events(), s.card(t, 100_00)
				s.dispute(t, p, sandbox.Notification{Status: "disputed", Reason: "fraudulent", Code: "10.4", Simulated: played})
				claim := s.one(t, p.ID, pay.ChargebackClaim)
				if got := s.funds(t); got != "-29.49 to spend, 100.00 frozen, 5.00 in reserve" || claim.Network != "10.4" {
					t.Errorf("during the dispute the balance has %s, and the claim is %s", got, claim)
				}
				_, _, err := s.claims.Refund(t.Context(), s.Scope, claims.NewRefund{Payment: p.ID})
				refusedAs(t, err, problem.ConflictState, "open_dispute")
				c.end(t, s, p, claim.ID)
				got := s.claim(t, claim.ID)
				if got.Status != c.status || got.Frozen != 0 || got.Fee != 20_00 {
					t.Errorf("the claim is %s, want %s, nothing frozen and the fee", got, c.status)
				}
				want, status := "70.51 to spend, 0.00 frozen, 5.00 in reserve", pay.Chargeback
				if c.status.Pays() {
					want = "-29.49 to spend, 0.00 frozen, 5.00 in reserve"
				} else if played {
					status = pay.Completed
				}
				if p = s.Read(t, p.ID); s.funds(t) != want || p.Status != status {
					t.Errorf("the balance has %s, want %s; the payment is %s, want %s", s.funds(t), want, p.Status, status)
				}
				// Nothing changes a resolved claim.
				_, err = s.claims.SubmitEvidence(t.Context(), s.Scope, claim.ID, evidence)
				refusedAs(t, err, problem.ClaimAlreadyResolved, "")
				_, err = s.claims.Accept(t.Context(), s.Scope, claim.ID, s.Operator)
				refusedAs(t, err, problem.ClaimAlreadyResolved, "")
				if again := s.claim(t, claim.ID); again.Version != got.Version || s.funds(t) != want || strings.Count(events(p.ID), "claim.resolved") != 1 {
					t.Errorf("after its end the claim is %s, the balance has %s, and the events were %s", again, s.funds(t), events(p.ID))
				}
				_, _, err = s.claims.Refund(t.Context(), s.Scope, claims.NewRefund{Payment: p.ID})
				if c.status.Pays() {
					refusedAs(t, err, problem.ConflictState, "fully_refunded")
				} else { // the merchant may give it back, but the fees took a part of it
					refusedAs(t, err, problem.BalanceInsufficient, "")
				}
			})
		}
	}
}

// Each dispute of a payment is a claim with its own amount. Each instance of a dispute is another claim (CLAIM-7, CLAIM-8).
func TestEachDisputeIsAClaim(t *testing.T) {
	const opened, resolved = "chargeback.created claim.opened", "chargeback.created claim.opened claim.resolved"
	for name, c := range map[string]struct {
		news                  []sandbox.Notification
		claims, funds, events string
	}{
		"a tenth": {[]sandbox.Notification{{Status: "disputed", Dispute: "dp_1", Amount: "10", Currency: "USD"}},
			"needs_evidence 1000 holds 1000 fee 2000", "60.51 to spend, 10.00 frozen, 5.00 in reserve", opened},
		"a tenth, lost": {[]sandbox.Notification{{Status: "disputed", Dispute: "dp_1", Amount: "10", Currency: "USD"}, {Status: "dispute_lost", Dispute: "dp_1"}},
			"approved 1000 holds 0 fee 2000", "60.51 to spend, 0.00 frozen, 5.00 in reserve", resolved},
		"two": {[]sandbox.Notification{{Status: "disputed", Dispute: "dp_1", Amount: "10", Currency: "USD"}, {Status: "disputed", Dispute: "dp_2", Amount: "30", Currency: "USD"}, {Status: "dispute_won", Dispute: "dp_1"}},
			"needs_evidence 3000 holds 3000 fee 2000, rejected 1000 holds 0 fee 2000", "20.51 to spend, 30.00 frozen, 5.00 in reserve", "chargeback.created chargeback.created claim.opened claim.opened claim.resolved"},
		"lost, never opened": {[]sandbox.Notification{{Status: "dispute_lost", Dispute: "dp_1"}, {Status: "disputed", Dispute: "dp_1"}},
			"approved 10000 holds 0 fee 2000", "-29.49 to spend, 0.00 frozen, 5.00 in reserve", resolved},
		"won, never opened": {[]sandbox.Notification{{Status: "dispute_won", Dispute: "dp_1"}, {Status: "disputed", Dispute: "dp_1"}},
			"rejected 10000 holds 0 fee 2000", "70.51 to spend, 0.00 frozen, 5.00 in reserve", resolved},
		"a second instance": {[]sandbox.Notification{{Status: "disputed", Dispute: "dp_1"}, {Status: "dispute_won", Dispute: "dp_1"}, {Status: "dispute_lost", Dispute: "dp_1", Instance: 2}},
			"approved 10000 holds 0 fee 0 after rejected, rejected 10000 holds 0 fee 2000", "-29.49 to spend, 0.00 frozen, 5.00 in reserve",
			"chargeback.created chargeback.created claim.opened claim.opened claim.resolved claim.resolved"},
		"lost, and won after all": {[]sandbox.Notification{{Status: "disputed", Dispute: "dp_1"}, {Status: "dispute_lost", Dispute: "dp_1"}, {Status: "dispute_won", Dispute: "dp_1"}},
			"approved 10000 holds 0 fee 2000, rejected 10000 holds 0 fee 0 after approved", "70.51 to spend, 0.00 frozen, 5.00 in reserve",
			"chargeback.created chargeback.created claim.opened claim.opened claim.resolved claim.resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			p := s.card(t, 100_00)
			events := s.events()
			for _, n := range c.news {
				s.dispute(t, p, n)
				s.dispute(t, p, n) // twice, and applied once
			}
			if got := s.disputes(t, p.ID); got != c.claims {
				t.Errorf("the claims are %q, want %q", got, c.claims)
			}
			if got := s.funds(t); got != c.funds {
				t.Errorf("the balance has %s, want %s", got, c.funds)
			}
			if got := events(p.ID); got != c.events {
				t.Errorf("the events are %q, want %q", got, c.events)
			}
			if got := s.Read(t, p.ID).Status; got != pay.Chargeback || s.waiting(t, p.ID) != 0 {
				t.Errorf("the payment is %s, want chargeback; %d notifications wait", got, s.waiting(t, p.ID))
			}
		})
	}
}

// A dispute whose amount contradicts the books freezes the whole payment, and its notification waits for the operator (CLAIM-10).
func TestDisputeThatContradictsTheBooksWarns(t *testing.T) {
	for _, n := range []sandbox.Notification{
		{Status: "disputed", Dispute: "dp_1", Amount: "100.01", Currency: "USD"}, {Status: "disputed", Dispute: "dp_1", Amount: "5", Currency: "BRL"},
	} {
		s := open(t)
		p := s.card(t, 100_00)
		s.dispute(t, p, n)
		if got := s.disputes(t, p.ID); got != "needs_evidence 10000 holds 10000 fee 2000" || s.waiting(t, p.ID) != 1 {
			t.Errorf("%v: the claims are %s, want one of the whole payment; %d notifications wait", n, got, s.waiting(t, p.ID))
		}
	}
}

// A dispute in full proves that the shopper was charged, even if the payment is not completed yet. A dispute of a part waits until
// the payment is. One without an amount proves nothing, and the provider is queried (CLAIM-11).
func TestDisputeBeforeCompletion(t *testing.T) {
	s := open(t)
	proved := s.create(t, "sbx_cash", 10_00)
	s.dispute(t, proved, sandbox.Notification{Status: "disputed", Dispute: "dp_1", Amount: "183.5", Currency: "MXN"})
	if got := s.disputes(t, proved.ID); got != "needs_evidence 1000 holds 1000 fee 2000" || s.Read(t, proved.ID).Status != pay.Chargeback {
		t.Errorf("disputed in full, the claims are %s and the payment is %s", got, s.Read(t, proved.ID))
	}
	held := s.create(t, "sbx_cash", 10_00)
	s.dispute(t, held, sandbox.Notification{Status: "disputed", Dispute: "dp_1", Amount: "45.25", Currency: "MXN"})
	if got := s.disputes(t, held.ID); got != "" || s.Read(t, held.ID).Status != pay.Pending || s.waiting(t, held.ID) != 1 {
		t.Errorf("disputed in part, the payment is %s, the claims are %q, and %d notifications wait", s.Read(t, held.ID), got, s.waiting(t, held.ID))
	}
	s.dispute(t, held, sandbox.Notification{Status: "paid", Amount: "183.5", Currency: "MXN"})
	if got := s.disputes(t, held.ID); got != "needs_evidence 246 holds 246 fee 2000" || s.Read(t, held.ID).Status != pay.Chargeback {
		t.Errorf("once it is paid, the claims are %s and the payment is %s", got, s.Read(t, held.ID))
	}
	for _, paid := range []bool{false, true} {
		s.Till.OnCharge = func(provider.Request) pay.Outcome { return unknown }
		s.Till.OnQuery = func(provider.Request) pay.Outcome {
			return pay.Outcome{Kind: map[bool]pay.OutcomeKind{true: pay.Approved, false: pay.Unknown}[paid]}
		}
		p := s.create(t, "sbx_card", 10_00)
		s.dispute(t, p, sandbox.Notification{Status: "disputed", Dispute: "dp_1"})
		if got := s.disputes(t, p.ID); (got != "needs_evidence 1000 holds 1000 fee 2000" || s.Read(t, p.ID).Status != pay.Chargeback) == paid || paid == (got == "") {
			t.Errorf("the provider says that it was paid: %v; the claims are %q and the payment is %s", paid, got, s.Read(t, p.ID))
		}
	}
}

// If late money is disputed, the issuer decides about it, and not the operator. So nobody is paid twice (CLAIM-11).
func TestDisputeOfLateMoney(t *testing.T) {
	for ruling, want := range map[string]string{
		"lost": "-20.00 to spend, 0.00 frozen, 0.00 in reserve", "won": "-10.00 to spend, 0.00 frozen, 0.00 in reserve", // with the fee of 20
	} {
		s := open(t)
		p := s.create(t, "sbx_cash", 10_00)
		s.dispute(t, p, sandbox.Notification{Status: "declined"})
		s.dispute(t, p, sandbox.Notification{Status: "paid", Amount: "183.5", Currency: "MXN"})
		inquiry := s.one(t, p.ID, pay.Inquiry)
		s.dispute(t, p, sandbox.Notification{Status: "disputed", Dispute: "dp_1"})
		if got := s.disputes(t, p.ID); got != "needs_evidence 1000 holds 1000 fee 2000" || s.claim(t, inquiry.ID).Status != pay.ClaimRejected {
			t.Errorf("during the dispute the claims are %s and the inquiry is %s, want rejected", got, s.claim(t, inquiry.ID))
		}
		if _, err := s.resolve(t, inquiry.ID, pay.Approve); err == nil || len(s.Till.Refunds()) != 0 {
			t.Error("the shopper was refunded during the dispute")
		}
		s.dispute(t, p, sandbox.Notification{Status: "dispute_" + ruling, Dispute: "dp_1"})
		if got := s.funds(t); got != want || s.Read(t, p.ID).Status != pay.Failed || s.balances(t)[ledger.Suspense] != 0 {
			t.Errorf("%s: the balance has %s, want %s; the payment is %s, want failed", ruling, got, want, s.Read(t, p.ID))
		}
	}
}

// issuer is a provider that can be queried about a dispute.
type issuer struct {
	provider.Provider
	answer  *pay.Notice // nil: it does not know
	queries []string    // ids of the disputes
}

func (i *issuer) CanQueryDispute(provider.DisputeRequest) bool { return true }

func (i *issuer) QueryDispute(_ context.Context, r provider.DisputeRequest) (pay.Notice, bool) {
	i.queries = append(i.queries, r.ID)
	if i.answer == nil {
		return pay.Notice{}, false
	}
	n := *i.answer
	n.ID, n.Reference, n.DisputeID = "answer", r.Charge.Reference, r.ID
	return n, true
}

// queried opens a dispute of a card payment at an account that can be queried about it. The result lets a time pass, with an answer.
func queried(t *testing.T, dispute string) (service, pay.Payment, *issuer, func(answer *pay.Notice, after time.Duration) pay.Claim) {
	t.Helper()
	s := open(t)
	bank := &issuer{Provider: s.Till}
	s.Providers.StandIns["sandbox-1"] = bank
	p := s.card(t, 25_50)
	s.dispute(t, p, sandbox.Notification{Status: "disputed", Dispute: dispute})
	return s, p, bank, func(answer *pay.Notice, after time.Duration) pay.Claim {
		t.Helper()
		bank.answer = answer
		s.sweep(t, 1, after)
		return s.one(t, p.ID, pay.ChargebackClaim)
	}
}

// The service queries open disputes, so that it learns of a ruling whose notification was lost. A dispute without a ruling becomes
// stale (CLAIM-12).
func TestOpenDisputeIsAskedAbout(t *testing.T) {
	s, _, bank, after := queried(t, "dp_1")
	if after(nil, 5*time.Hour); len(bank.queries) != 0 {
		t.Errorf("after 5 hours these disputes were queried: %v, want none", bank.queries)
	}
	if got := after(nil, time.Hour+time.Second); len(bank.queries) != 1 || bank.queries[0] != "dp_1" || got.Status != pay.ClaimNeedsEvidence {
		t.Errorf("after 6 hours these disputes were queried: %v, want dp_1; the claim is %s", bank.queries, got.Status)
	}
	// The merchant sent evidence to the provider itself, so the claim does not expire at the deadline.
	if got := after(&pay.Notice{Dispute: true, Reviewing: true, Stage: "under_review"}, 8*24*time.Hour); got.Status != pay.ClaimUnderReview || got.Case.Stage != "under_review" {
		t.Errorf("at the deadline the claim is %s, %s; want under_review", got.Status, got.Case)
	}
	if got := after(nil, 9*7*24*time.Hour); got.Status != pay.ClaimUnderReview || !got.Stale(s.Clock.Now()) || got.DueAt.IsZero() {
		t.Errorf("after two months the claim is %s, due %v; want under_review, stale and due", got.Status, got.DueAt)
	}
	if got := after(&pay.Notice{Ruling: pay.DisputeWon}, 8*24*time.Hour); got.Status != pay.ClaimRejected {
		t.Errorf("once the provider says that the dispute is won, the claim is %s, want rejected", got.Status)
	}
}

// A provider that can be queried decides before our own deadline does: without its answer, and while it calls the dispute open, the
// claim does not expire (CLAIM-17).
func TestOwnDeadlineDoesNotDecideForTheProvider(t *testing.T) {
	s, p, bank, after := queried(t, "")
	if got := after(nil, 8*24*time.Hour); got.Status != pay.ClaimNeedsEvidence {
		t.Errorf("without an answer the claim is %s", got)
	}
	if got := after(&pay.Notice{Dispute: true}, 8*24*time.Hour); got.Status != pay.ClaimNeedsEvidence {
		t.Errorf("the provider calls it open, and the claim is %s", got)
	}
	// Its news of the payment, without a word about the dispute, makes us query it.
	bank.answer = &pay.Notice{Ruling: pay.DisputeWon}
	s.dispute(t, p, sandbox.Notification{Status: "paid", Amount: "25.50", Currency: "USD"})
	if got := s.one(t, p.ID, pay.ChargebackClaim); got.Status != pay.ClaimRejected {
		t.Errorf("the provider says that the seller won, and the claim is %s", got)
	}
}
