package claims_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// The operator approves a refund as made, but a query proves that the provider never had it. The claim must not end as paid.
func TestOperatorApprovesNoRefundThatTheProviderNeverHad(t *testing.T) {
	s := open(t)
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return false, unknown }, honest)
	r := s.refunded(t)
	s.Clock.Advance(time.Minute)
	_, err := s.resolve(t, r.ID, pay.Approve)
	s.sweep(t, 100, 6*time.Hour)
	refused, ok := errors.AsType[*problem.Error](err)
	if got := s.claim(t, r.ID); !ok || refused.Code != problem.ConflictState || got.Status != pay.ClaimPending {
		t.Errorf("the operator gets %v and the claim is %s, want conflict_state and pending", err, got.Status)
	}
	if sum, _, calls := b.total(); sum != 0 || calls < 2 {
		t.Errorf("the bank paid %d after %d calls, want nothing after more than one", sum, calls)
	}
}

// The operator approves a refund that the provider has made in the meantime. The provider is queried first: that is the answer, and
// no error.
func TestProviderConfirmsWhatTheOperatorApproves(t *testing.T) {
	s := open(t)
	var sent provider.RefundRequest
	b := s.bank(func(_ int, r provider.RefundRequest) (bool, pay.Outcome) {
		sent = r
		return false, pay.Outcome{Kind: pay.Awaiting, ProviderRef: "their-8"}
	}, honest)
	r := s.refunded(t)
	s.Clock.Advance(time.Minute)
	b.pay(sent)
	c, err := s.resolve(t, r.ID, pay.Approve)
	must(t, err)
	if last := c.Timeline[len(c.Timeline)-1]; c.Status != pay.ClaimApproved || last.Actor != pay.PartyProvider {
		t.Errorf("the claim is %s, want approved by the provider", c)
	}
	if _, err := s.resolve(t, r.ID, pay.Approve); err == nil {
		t.Error("an ended claim is decided again")
	}
}

// The operator cannot reject a refund that the provider has accepted, made, or made in another amount, also while it is silent.
func TestOperatorRejectsNothingThatTheProviderHasTaken(t *testing.T) {
	for name, c := range map[string]struct{ call, query pay.Outcome }{
		"accepted":         {pay.Outcome{Kind: pay.Awaiting}, pay.Outcome{Kind: pay.Awaiting}},
		"then silent":      {pay.Outcome{Kind: pay.Awaiting}, unknown},
		"another amount":   {unknown, pay.Outcome{Kind: pay.Approved, Local: money.New(25_50, money.USD)}},
		"nothing is known": {unknown, pay.Outcome{Kind: pay.Awaiting}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, c.call }, always(c.query))
			r := s.refunded(t)
			s.Clock.Advance(10 * time.Minute)
			if c, err := s.resolve(t, r.ID, pay.Reject); err == nil {
				t.Errorf("the claim is %s", c)
			}
		})
	}
}

// The operator approves a refund as made while its last call is on its way. With two calls, the provider did not accept the first
// one. Then the provider notifies that the refund failed. The contradiction must wait for the operator.
func TestFailureToldAfterTheOperatorsApprovalIsKept(t *testing.T) {
	for _, calls := range []int{1, 2} {
		s := open(t)
		s.bank(func(call int, _ provider.RefundRequest) (bool, pay.Outcome) {
			if call < calls {
				return false, pay.Outcome{Kind: pay.Unavailable}
			}
			return false, unknown
		}, always(unknown))
		r := s.refunded(t)
		if calls == 2 {
			s.sweep(t, 1, time.Minute)
		}
		s.Clock.Advance(time.Second)
		c, err := s.resolve(t, r.ID, pay.Approve)
		must(t, err)
		s.Clock.Advance(time.Second)
		s.notify(t, sandbox.Notification{Reference: c.Reference(), Status: "refund_failed", Reason: "account_closed"})
		s.sweep(t, 50, 6*time.Hour)
		if got := s.claim(t, r.ID); got.Status != c.Status || !c.Status.Pays() || s.waiting(t, r.Payment) != 1 {
			t.Errorf("%d calls: after the failure at the provider the approved claim is %s, and %d notifications wait for the operator, want 1",
				calls, got.Status, s.waiting(t, r.Payment))
		}
	}
}

// The provider's answer to a call comes late: a query, or the operator, has ended the refund. Another amount, or a refusal, waits
// for the operator, and changes nothing.
func TestAnswerAfterTheEndOfARefundIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		pays int64
		late pay.Outcome
		end  func(t *testing.T, s service, claim string)
	}{
		"another amount after a query": {25_50, pay.Outcome{Kind: pay.Approved, Local: money.New(25_50, money.USD)},
			func(t *testing.T, s service, _ string) { s.sweep(t, 1, 46*time.Second) }}, // the answer is that it was made, without an amount
		"a refusal after the operator": {0, pay.Outcome{Kind: pay.Declined, Message: "the charge is disputed"},
			func(t *testing.T, s service, claim string) {
				_, err := s.resolve(t, claim, pay.Approve)
				must(t, err)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			called, answers := make(chan struct{}), make(chan struct{})
			b := s.bank(nil, honest)
			s.Till.OnRefund = func(r provider.RefundRequest) pay.Outcome {
				if r.Local.Minor = c.pays; c.pays > 0 {
					b.pay(r)
				}
				close(called)
				<-answers
				return c.late
			}
			p := s.card(t, 25_50)
			var request sync.WaitGroup
			request.Go(func() {
				if _, _, err := s.claims.Refund(t.Context(), s.Scope, claims.NewRefund{Payment: p.ID, Amount: "20"}); err != nil {
					t.Error(err)
				}
			})
			<-called
			c.end(t, s, s.one(t, p.ID, "").ID)
			close(answers)
			request.Wait()
			if got := s.one(t, p.ID, ""); !got.Status.Pays() || got.Local.Minor != 20_00 || s.waiting(t, p.ID) != 1 {
				t.Errorf("the claim is %s, and %d notifications wait for the operator, want one that pays 20.00, and 1", got, s.waiting(t, p.ID))
			}
		})
	}
}

// A notification says that the provider refunded another amount than requested, and a query does not find the refund. The service
// must not call again: the operator decides.
func TestRefundOfWhichAnotherAmountWasToldIsNotToldAgain(t *testing.T) {
	s := open(t)
	b := s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return false, unknown }, always(pay.Outcome{Kind: pay.Missing}))
	speaks := &teller{Provider: s.Till}
	s.Providers.StandIns["sandbox-1"] = speaks
	r := s.refunded(t)
	c := s.claim(t, r.ID)
	s.Clock.Advance(time.Second)
	speaks.notice = pay.Notice{ID: "n1", Refund: c.Reference(), Outcome: pay.Outcome{Kind: pay.Approved, Local: money.New(25_50, c.Local.Currency)}, Body: []byte("x")}
	must(t, s.notices.Notify(t.Context(), "sandbox-1", provider.Notification{}))
	s.sweep(t, 20, 2*time.Hour)
	if _, _, calls := b.total(); calls != 1 || s.waiting(t, r.Payment) != 1 {
		t.Errorf("the provider was called %d times, want once; the claim is %s, and %d notifications wait", calls, s.claim(t, r.ID), s.waiting(t, r.Payment))
	}
}

// A provider answers that it refunded another amount. The refund stays pending, waits for the operator, and is not requested
// again. The next right answer ends it.
func TestAnswerOfAnotherRefundWaitsForTheOperator(t *testing.T) {
	s := open(t)
	other := pay.Outcome{Kind: pay.Approved, Local: money.New(19_00, money.USD)}
	answer := other
	s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, other }, func(bool) pay.Outcome { return answer })
	r := s.refunded(t)
	s.sweep(t, 3, 2*time.Hour)
	if c := s.claim(t, r.ID); c.Status != pay.ClaimPending || s.waiting(t, r.Payment) != 1 {
		t.Errorf("the refund is %s, and %d notifications wait for the operator, want pending and 1", c, s.waiting(t, r.Payment))
	}
	if list, err := s.notices.Notifications(t.Context(), r.Payment, 10); err != nil || !strings.Contains(fmt.Sprintf("%s", list), "19.00 USD went back, not 20.00 USD") {
		t.Errorf("the operator reads %s, %v", list, err)
	}
	answer = pay.Outcome{Kind: pay.Approved, Local: money.New(20_00, money.USD)}
	s.sweep(t, 5, 2*time.Hour)
	if c := s.claim(t, r.ID); c.Status != pay.ClaimApproved || len(s.Till.Refunds()) != 1 {
		t.Errorf("the refund is %s after the calls %v, want approved after one", c, s.Till.Refunds())
	}
}

// If no right answer comes, the operator resolves the refund by force, as the provider's books say, and once.
func TestOperatorEndsARefundOfAnotherAmount(t *testing.T) {
	for _, verb := range []pay.ClaimVerb{pay.Approve, pay.Reject} {
		t.Run(string(verb), func(t *testing.T) {
			s := open(t)
			other := pay.Outcome{Kind: pay.Approved, Local: money.New(19_00, money.USD)}
			s.bank(func(int, provider.RefundRequest) (bool, pay.Outcome) { return true, other }, always(other))
			r := s.refunded(t)
			s.Clock.Advance(time.Minute)
			if _, err := s.resolve(t, r.ID, verb); err == nil {
				t.Error("without force the operator can contradict the provider")
			}
			c, err := s.claims.Resolve(t.Context(), s.Operator, claims.Resolution{ID: r.ID, Word: verb, Note: "n", Force: true})
			must(t, err)
			if !c.Status.Terminal() || c.Status.Pays() != (verb == pay.Approve) {
				t.Errorf("the operator's decision is %s, but the refund is %s", verb, c.Status)
			}
			if _, err := s.resolve(t, r.ID, pay.Approve); err == nil {
				t.Error("the refund was resolved twice")
			}
		})
	}
}

// repeater is a provider like Adyen: the only query for a refund is to repeat the call (internal/provider/adyen/refund.go,
// QueryRefund).
type repeater struct {
	provider.Provider
	arrives, answers bool // calls arrive; their answers do
	paid             map[string]int64
	calls            int
}

func (p *repeater) Refund(_ context.Context, r provider.RefundRequest) pay.Outcome {
	if p.calls++; !p.arrives {
		return unknown
	}
	if p.paid[r.Reference] = r.Local.Minor; !p.answers {
		return unknown
	}
	return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "psp1"}
}

func (p *repeater) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	if r.RefundRef != "" {
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: r.RefundRef}
	}
	if provider.OnlyLooks(ctx) {
		return unknown
	}
	return p.Refund(ctx, r).AsQueried()
}

// The operator saw in the provider's books that a refund never arrived, and rejects it. The service does not query this provider,
// because the query would make the refund.
func TestAskingForTheOperatorMakesNoRefund(t *testing.T) {
	s := open(t)
	p := &repeater{Provider: s.Till, paid: map[string]int64{}}
	s.Providers.StandIns["sandbox-1"] = p
	r := s.refunded(t)
	s.Clock.Advance(10 * time.Minute)
	p.arrives = true
	c, err := s.resolve(t, r.ID, pay.Reject)
	must(t, err)
	p.answers = true
	s.sweep(t, 50, 6*time.Hour)
	if c.Status != pay.ClaimRejected || len(p.paid) != 0 || p.calls != 1 {
		t.Errorf("the operator rejected the claim, which is %s; the provider paid %v after %d calls, want nothing after one call", c.Status, p.paid, p.calls)
	}
}
