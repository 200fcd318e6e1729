package claims_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
)

// late makes a voucher that is paid after it has expired, of which only a query tells. It returns the inquiry about the money
// (LATE-1, LATE-2).
func (s service) late(t *testing.T) pay.Claim {
	t.Helper()
	answer := pay.Outcome{Kind: pay.Lapsed}
	s.Till.OnQuery = func(provider.Request) pay.Outcome { return answer }
	p := s.create(t, "sbx_cash", 25_50)
	s.Clock.Advance(30 * 24 * time.Hour)
	s.Swept(t)
	if got := s.Read(t, p.ID); got.Status != pay.Expired {
		t.Fatalf("the payment is %s, want it expired", got)
	}
	answer = pay.Outcome{Kind: pay.Approved}
	s.Clock.Advance(2 * time.Hour)
	s.Swept(t)
	c := s.one(t, p.ID, pay.Inquiry)
	if got := s.Read(t, p.ID); got.Status != pay.Expired || s.balances(t)[ledger.Suspense] != 25_50 {
		t.Fatalf("the money is late, and the payment is %s", got)
	}
	return c
}

// A charge ended unpaid, and other money came for it: it is late money, in its own amount.
func TestOtherMoneyOfAnUnpaidChargeIsLate(t *testing.T) {
	s := open(t)
	half := pay.Money{Ref: "half", ProviderRef: "v1"}
	s.Till.OnQuery = func(provider.Request) pay.Outcome {
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "v1", Also: []pay.Money{half}}
	}
	p := s.create(t, "sbx_cash", 25_50)
	half.Local = money.New(p.Price.Local.Minor/2, p.Price.Local.Currency)
	s.Clock.Advance(30 * 24 * time.Hour)
	for range 5 {
		s.Clock.Advance(2 * time.Hour)
		s.Swept(t)
	}
	if c := s.one(t, p.ID, ""); c.Kind != pay.Inquiry || c.Local != half.Local || c.Status.Terminal() {
		t.Errorf("the claim is %s, want an inquiry of %s", c, half.Local)
	}
}

// The operator gives late money to the merchant or back to the shopper. A refund that the provider refused is decided again, and one
// without an answer is queried (LATE-3).
func TestLateMoneyGoesWhereTheOperatorSays(t *testing.T) {
	s := open(t)
	c := s.late(t)
	_, err := s.resolve(t, c.ID, pay.Withdraw)
	refusedAs(t, err, problem.ConflictState, "")
	_, err = s.claims.Accept(t.Context(), s.Scope, c.ID, s.Operator)
	refusedAs(t, err, problem.ConflictState, "")
	_, err = s.resolve(t, c.ID, pay.Reject)
	must(t, err)
	if got := s.claim(t, c.ID); got.Status != pay.ClaimRejected || s.funds(t) != "25.50 to spend, 0.00 frozen, 0.00 in reserve" || s.balances(t)[ledger.Suspense] != 0 {
		t.Errorf("after the merchant got late money, the claim is %s, and the balance has %s", got, s.funds(t))
	}
	c = s.late(t)
	must(t, s.Till.SetFault(sandbox.RefundDecline))
	if c, err = s.resolve(t, c.ID, pay.Approve); err != nil || c.Status != pay.ClaimPending || c.Calling() {
		t.Errorf("after the provider refused the refund the claim is %s, %v", c, err)
	}
	must(t, s.Till.SetFault(sandbox.RefundTimeout))
	if c, err = s.resolve(t, c.ID, pay.Approve); err != nil || c.Status != pay.ClaimPending || !c.Calling() {
		t.Errorf("without the provider's answer the claim is %s, %v", c, err)
	}
	s.sweep(t, 1, 31*time.Second)
	if got := s.claim(t, c.ID); got.Status != pay.ClaimApproved || s.funds(t) != "25.50 to spend, 0.00 frozen, 0.00 in reserve" || s.balances(t)[ledger.Suspense] != 0 {
		t.Errorf("after late money went back the claim is %s, and the balance has %s", got, s.funds(t))
	}
	if refs := s.Till.Refunds(); len(refs) != 2 || refs[0] == refs[1] {
		t.Errorf("the refunds are %v, want a second reference only after the refusal", refs)
	}
	must(t, s.Till.SetFault(sandbox.NoFault))
	c = s.late(t)
	if c, err = s.resolve(t, c.ID, pay.AskEvidence); err != nil || c.Status != pay.ClaimNeedsEvidence || c.DueBy.IsZero() {
		t.Errorf("the merchant is to answer, and the claim is %s, %v", c, err)
	}
	if s.sweep(t, 1, 8*24*time.Hour); s.claim(t, c.ID).Status != pay.ClaimExpired {
		t.Errorf("without evidence the claim is %s", s.claim(t, c.ID))
	}
}

// The operator approves that late money goes back. The call hangs, so he approves again. The second approval does not mean that the
// refund was made.
func TestApprovalOfLateMoneyRepeatedIsNoOther(t *testing.T) {
	for _, wait := range []time.Duration{2 * time.Second, time.Minute} {
		s := open(t)
		reached, answers := make(chan struct{}), make(chan struct{})
		s.bank(func(call int, _ provider.RefundRequest) (bool, pay.Outcome) { // no call arrives
			if call == 1 {
				close(reached)
				<-answers
			}
			return false, unknown
		}, honest)
		late := s.late(t)
		var first sync.WaitGroup
		first.Go(func() { _, _ = s.resolve(t, late.ID, pay.Approve) })
		<-reached
		s.Clock.Advance(wait)
		if wait > 30*time.Second { // the first call is over by then
			close(answers)
			first.Wait()
		}
		if _, err := s.resolve(t, late.ID, pay.Approve); err == nil {
			t.Errorf("after %s: the second approval succeeds, want an error", wait)
		}
		if wait < 30*time.Second {
			close(answers)
			first.Wait()
		}
		s.sweep(t, 50, 6*time.Hour)
		if got := s.claim(t, late.ID); got.Status.Pays() {
			t.Errorf("after %s: the claim is %s, but the provider never had the refund", wait, got.Status)
		}
	}
}

// Two operators approve at once that late money goes back. The second approval does not mean that the first one's refund was made.
func TestTwoApprovalsOfLateMoneyAreNoWordOfItsEnd(t *testing.T) {
	s := open(t)
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return false, unknown }, honest)
	late, other := s.late(t), s.beside(t)
	raced := false
	s.around(func(_ context.Context, _ *pay.Change, commit func() error) error {
		if !raced {
			raced = true
			_, err := other.resolve(t, late.ID, pay.Approve)
			must(t, err)
		}
		return commit()
	})
	c, err := s.resolve(t, late.ID, pay.Approve)
	if _, _, calls := b.total(); err == nil || !raced || calls != 1 {
		t.Errorf("the second approval gets %v after %d calls, and the claim is %s; want an error", err, calls, c.Status)
	}
}

// The operator approves again while a refund of late money is on its way, because he saw that the shopper has the money. The query
// before that says that the provider refused our refund. No second refund is sent.
func TestApprovalOfARefundUnderWaySendsNoOther(t *testing.T) {
	s := open(t)
	s.bank(func(call int, _ provider.RefundRequest) (bool, pay.Outcome) {
		return false, pay.Outcome{Kind: map[bool]pay.OutcomeKind{true: pay.Unknown, false: pay.Approved}[call == 1]}
	}, always(pay.Outcome{Kind: pay.Declined, Message: "given back by hand before"}))
	late := s.late(t)
	if c, err := s.resolve(t, late.ID, pay.Approve); err != nil || !c.Calling() {
		t.Fatalf("the claim's refund is not on its way: %s, %v", c, err)
	}
	s.Clock.Advance(10 * time.Minute)
	if c, err := s.resolve(t, late.ID, pay.Approve); err == nil || len(s.Till.Refunds()) > 1 {
		t.Errorf("the provider refused; the operator's approval (%v) sent %v, want one and an error; the claim is %s", err, s.Till.Refunds(), c)
	}
}

// Late money that was given back comes back, twice: the shopper's account was closed. Each time it is in suspense again, with an
// inquiry.
func TestLateMoneyMayComeBackTwice(t *testing.T) {
	s := open(t)
	s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, pay.Outcome{Kind: pay.Approved} }, honest)
	c := s.late(t)
	for i := range 2 {
		given, err := s.resolve(t, c.ID, pay.Approve)
		must(t, err)
		if s.balances(t)[ledger.Suspense] != 0 {
			t.Errorf("it was given back, and %d cents are in suspense", s.balances(t)[ledger.Suspense])
		}
		s.notify(t, sandbox.Notification{Reference: given.Reference(), Status: "refund_failed", Reason: "account_closed"})
		list := s.of(t, c.Payment, "")
		next := slices.IndexFunc(list, func(other pay.Claim) bool { return other.Previous == c.ID })
		if len(list) != i+2 || next < 0 || list[next].Status != pay.ClaimPending || s.balances(t)[ledger.Suspense] != 25_50 {
			t.Fatalf("it came back, and the claims are %v", list)
		}
		c = list[next]
	}
}

// The merchant gives late money back, and the database goes down while the provider does it. The error must not say that nothing
// was done.
func TestMerchantIsNotToldThatNothingWasGivenBack(t *testing.T) {
	s := open(t)
	s.Log.Expect("a refund's outcome was not written; it is queried again")
	away := false
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { // the refund is made, and then the database goes down
		away = true
		return true, pay.Outcome{Kind: pay.Approved}
	}, honest)
	late := s.late(t)
	_, err := s.resolve(t, late.ID, pay.AskEvidence)
	must(t, err)
	s.around(func(_ context.Context, _ *pay.Change, commit func() error) error {
		if away {
			return store.ErrDown
		}
		return commit()
	})
	_, err = s.claims.Accept(t.Context(), late.Scope, late.ID, s.Operator)
	if got := s.claim(t, late.ID); !away || !got.Calling() {
		t.Fatalf("the refund was not made: %s", got)
	}
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Details.Reason == "" {
		t.Errorf("the refund is made, but the merchant gets the error %q", err)
	}
	away = false
	s.sweep(t, 2, time.Hour)
	if _, _, calls := b.total(); calls != 1 || s.claim(t, late.ID).Status != pay.ClaimApproved {
		t.Errorf("after %d calls the claim is %s", calls, s.claim(t, late.ID))
	}
}

// The operator resolves a refund of late money whose account was removed.
func TestOperatorEndsARefundOfLateMoneyThatNobodyTellsOf(t *testing.T) {
	for _, verb := range []pay.ClaimVerb{pay.Approve, pay.Reject} {
		t.Run(string(verb), func(t *testing.T) {
			s := open(t)
			s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return false, unknown }, always(unknown))
			late := s.late(t)
			if c, err := s.resolve(t, late.ID, pay.Approve); err != nil || !c.Calling() {
				t.Fatalf("the claim's refund is not on its way: %s, %v", c, err)
			}
			s.Clock.Advance(time.Minute)
			delete(s.Providers.StandIns, "sandbox-1")
			if c, err := s.resolve(t, late.ID, verb); err != nil || !c.Status.Terminal() || c.Status.Pays() != (verb == pay.Approve) {
				t.Errorf("the operator's decision is %s: the claim is %s with the error %v", verb, c, err)
			}
		})
	}
}

// The shopper pays one code three times. Each money is a money of its own, in whatever state the payment is, and each notification
// may come twice. The operator gives one back by hand, one goes to the merchant, and the payment is paid once (LATE-9).
func TestEachMoneyOfOneCodeIsBooked(t *testing.T) {
	s := open(t)
	p := s.create(t, "sbx_cash", 10_00)
	for i, id := range []string{"spei-1", "spei-1", "spei-2", "spei-1", "spei-3", "spei-2"} {
		s.notify(t, sandbox.Notification{ID: fmt.Sprint("n", i), Reference: p.Reference(1), Status: "paid", Amount: "183.50", Currency: "MXN", Money: id})
	}
	p = s.Read(t, p.ID)
	stray, open := p.Strays.Attention()
	list := s.of(t, p.ID, pay.Inquiry)
	if p.Status != pay.Completed || !open || stray.Code != pay.PaidTwice || stray.Local.Decimal() != "183.5" || s.balances(t)[ledger.Suspense] != 20_00 || len(list) != 2 {
		t.Fatalf("the payment is %s with %d cents in suspense and the inquiries %v", p, s.balances(t)[ledger.Suspense], list)
	}
	byHand, err := s.claims.Resolve(t.Context(), s.Operator, claims.Resolution{ID: list[0].ID, Word: pay.Approve, Note: "sent back", ByHand: "TED 0091"})
	must(t, err)
	if byHand.Status != pay.ClaimApproved || byHand.Call.ByHand != "TED 0091" || byHand.Call.Round != 0 || len(s.Till.Refunds()) != 0 {
		t.Errorf("given back by hand: %s", byHand)
	}
	before := s.balances(t)[ledger.Available]
	_, err = s.resolve(t, list[1].ID, pay.Reject)
	must(t, err)
	p = s.Read(t, p.ID)
	if _, open := p.Strays.Attention(); open || p.Status != pay.Completed || s.balances(t)[ledger.Suspense] != 0 || s.balances(t)[ledger.Available] != before+10_00 {
		t.Errorf("after both decisions the payment is %s, and the balance has %s", p, s.funds(t))
	}
}

// A shopper pays another amount. The operator decides about that money: it goes to the merchant, back by hand, back in part, or it
// completes the payment and the rest goes back (LATE-4).
func TestOperatorDecidesOnMoneyOfAnotherAmount(t *testing.T) {
	s := open(t)
	pays := func(amount string) (string, pay.Claim) {
		p := s.create(t, "sbx_cash", 10_00)
		s.notify(t, sandbox.Notification{Reference: p.Reference(1), Status: "paid", Amount: amount, Currency: "MXN"})
		p = s.Read(t, p.ID)
		if stray, open := p.Strays.Attention(); p.Status != pay.Pending || !open || stray.Code != pay.AmountMismatch || stray.Claim == "" {
			t.Fatalf("after %s: %s", amount, p)
		}
		return p.ID, s.one(t, p.ID, pay.Inquiry)
	}
	decide := func(c pay.Claim, r claims.Resolution) pay.Claim {
		r.ID, r.Note = c.ID, "as the shop wishes"
		c, err := s.claims.Resolve(t.Context(), s.Operator, r)
		must(t, err)
		return c
	}
	less, c := pays("165.15")
	if c.USD != 900 || c.Local.Decimal() != "165.15" {
		t.Errorf("165.15 of 183.50 are worth %d cents", c.USD)
	}
	if c = decide(c, claims.Resolution{Word: pay.Reject}); c.Status != pay.ClaimRejected || s.Read(t, less).Status != pay.Pending {
		t.Errorf("accepted: %s, the payment is %s", c, s.Read(t, less))
	}
	_, c = pays("165.15")
	if c = decide(c, claims.Resolution{Word: pay.Approve, ByHand: "SPEI 88"}); c.Status != pay.ClaimApproved {
		t.Errorf("given back by hand: %s", c)
	}
	_, c = pays("165.15")
	if c = decide(c, claims.Resolution{Word: pay.Approve, Keep: "100"}); c.Status != pay.ClaimApproved || c.Local.Decimal() != "65.15" || c.USD != 900-544 {
		t.Errorf("given back in part: %s", c)
	}
	more, c := pays("201.85")
	for _, part := range []string{"201.85", "0", "x", "150"} {
		if _, err := s.claims.Resolve(t.Context(), s.Operator, claims.Resolution{ID: c.ID, Word: pay.Approve, Note: "x", Keep: part, Complete: part == "150"}); err == nil {
			t.Errorf("%s of 201.85 are kept", part)
		}
	}
	if c = decide(c, claims.Resolution{Word: pay.Approve, Keep: "183.50", Complete: true}); c.Status != pay.ClaimApproved || c.USD != 100 {
		t.Errorf("completed: %s", c)
	}
	p := s.Read(t, more)
	if _, open := p.Strays.Attention(); open || p.Status != pay.Completed || p.Refundable().Decimal() != "183.5" {
		t.Errorf("completed: %s", p)
	}
}
