package payments_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/view"
)

// says makes the provider answer with an outcome to whatever it is asked about a charge.
func (s *service) says(o pay.Outcome) {
	answer := func(provider.Request) pay.Outcome { return o }
	s.Till.OnCancel, s.Till.OnQuery = answer, answer
}

func (s *service) cancel(t *testing.T, id string) (pay.Payment, error) {
	t.Helper()
	return s.Payments.Cancel(t.Context(), s.Scope, id, view.Cause{})
}

// A cancel asks the provider to end the charge. The provider may do it, refuse, say that money came, or not answer: money that was
// paid is never canceled (CANCEL-1).
func TestProviderIsToldToEndACanceledCharge(t *testing.T) {
	for name, c := range map[string]struct {
		said   pay.Outcome
		answer string // the refusal of the cancel
		then   pay.Status
	}{
		"it ends it":             {pay.Outcome{Kind: pay.Lapsed}, "", pay.Failed},
		"the shopper was faster": {pay.Outcome{Kind: pay.Approved}, "conflict_state", pay.Completed},
		"it cannot":              {pay.Outcome{Kind: pay.Awaiting}, "", pay.Failed},
		"it refuses the charge":  {pay.Outcome{Kind: pay.Declined, Decline: "do_not_honor"}, "", pay.Failed},
		"another amount came":    {pay.Outcome{Kind: pay.Approved, Local: money.New(50_00, "BRL")}, "conflict_state payment_received", pay.Pending},
		"nobody answers":         {pay.Outcome{Kind: pay.Unknown}, "service_unavailable outcome_unknown", pay.Pending},
		"it answers nonsense":    {pay.Outcome{Kind: pay.Errored}, "service_unavailable outcome_unknown", pay.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			p := s.Pending(t, "10")
			asked := 0
			s.Till.OnCancel = func(provider.Request) pay.Outcome { asked++; return c.said }
			s.Till.OnQuery = func(provider.Request) pay.Outcome { return c.said }
			if _, err := s.cancel(t, p.ID); refusal(err) != c.answer {
				t.Errorf("the cancel gets %q, want %q", refusal(err), c.answer)
			}
			after := s.Read(t, p.ID)
			if after.Status != c.then || after.End.Canceled() != (c.then == pay.Failed) || asked != 1 {
				t.Errorf("after the cancel, for which the provider was asked %d times, the payment is %s, want %s", asked, after, c.then)
			}
			if c.then == pay.Failed {
				if again, err := s.cancel(t, p.ID); err != nil || again.Version != after.Version || asked != 1 {
					t.Errorf("a second cancel gets %s, %v, and the provider is asked %d times", again, err, asked)
				}
				if _, err := s.sessions.RetryPayment(t.Context(), p.ID); err == nil {
					t.Error("the shopper of a canceled payment can try again")
				}
			}
		})
	}
}

// Only a pending payment is canceled. What has ended stays as it is, and so does what may have been paid (CANCEL-1).
func TestWhatIsNotPendingIsNotCanceled(t *testing.T) {
	s := open(t)
	unknown := func(provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown} }
	create := func() pay.Payment {
		p, _, err := s.Payments.Create(t.Context(), s.By, s.New(t, "10"))
		must(t, err)
		return p
	}
	paid, expired := s.Paid(t, "10"), s.Pending(t, "10")
	s.Clock.Advance(expired.Times.Expires.Sub(s.Clock.Now()))
	s.says(pay.Outcome{Kind: pay.Lapsed})
	s.Swept(t)
	s.Till.OnCharge = unknown
	processing := create()
	s.Till.OnCharge = func(provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Declined} }
	for want, id := range map[pay.Status]string{pay.Completed: paid.ID, pay.Expired: expired.ID, pay.Processing: processing.ID, pay.Failed: create().ID} {
		before := s.Read(t, id)
		if before.Status != want {
			t.Fatalf("the payment is %s, want it %s", before.Status, want)
		}
		if _, err := s.cancel(t, id); refusal(err) != "conflict_state" {
			t.Errorf("a cancel of a payment that is %s gets %v, want a conflict", want, err)
		}
		if after := s.Read(t, id); after.Version != before.Version {
			t.Errorf("a refused cancel changed %s to %s", before, after)
		}
	}
}

// While it is not known whether the charge has ended, a canceled payment stays pending: what the provider says later ends it
// (CANCEL-1).
func TestUnknownCancelEndsByWhatTheProviderSays(t *testing.T) {
	for said, want := range map[pay.OutcomeKind]pay.Status{pay.Approved: pay.Completed, pay.Lapsed: pay.Failed, pay.Declined: pay.Failed, pay.Missing: pay.Failed} {
		t.Run(string(said), func(t *testing.T) {
			s := open(t)
			p := s.Pending(t, "10")
			s.says(pay.Outcome{Kind: pay.Unknown})
			for range 2 {
				if _, err := s.cancel(t, p.ID); refusal(err) != "service_unavailable outcome_unknown" {
					t.Errorf("a cancel of unknown outcome gets %v", err)
				}
			}
			if got := s.due(t, p.ID); got.Status != pay.Pending || !got.Canceling() {
				t.Fatalf("after a cancel of unknown outcome the payment is %s", got)
			}
			s.says(pay.Outcome{Kind: said})
			after := s.due(t, p.ID) // the loop goes on with the cancel
			if after.Status != want || after.End.Canceled() != (want == pay.Failed) || after.Sequence != 1 {
				t.Errorf("once the provider says %s the payment is %s with %d events, want %s with one", said, after, after.Sequence, want)
			}
		})
	}
}

// If the shopper pays during a cancel, the payment is completed, whatever the provider answers to the cancel (CANCEL-1).
func TestPaidWhileBeingCanceled(t *testing.T) {
	for name, ended := range map[string]pay.OutcomeKind{
		"and the provider says that it ended it": pay.Lapsed, "and the provider says so": pay.Approved, "and nobody answers": pay.Unknown,
		"and it cannot be ended": pay.Awaiting,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			p := s.Pending(t, "10")
			s.Till.OnCancel = func(provider.Request) pay.Outcome {
				s.apply(t, p.ID, pay.Outcome{Kind: pay.Approved})
				return pay.Outcome{Kind: ended}
			}
			if _, err := s.cancel(t, p.ID); refusal(err) != "conflict_state" {
				t.Errorf("the cancel gets %v, want a conflict", err)
			}
			if got := s.Read(t, p.ID); got.Status != pay.Completed || got.Sequence != 1 {
				t.Errorf("the payment is %s with %d events, want it completed with one", got, got.Sequence)
			}
		})
	}
}

// Money that comes after a cancel is late money. The payment stays canceled, and an inquiry has the money. A query finds the money
// without a notification too (CANCEL-1, LATE-1).
func TestMoneyAfterACancelIsLate(t *testing.T) {
	for name, asked := range map[string]bool{"told": false, "found": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			p := s.Pending(t, "10")
			s.says(pay.Outcome{Kind: pay.Lapsed})
			_, err := s.cancel(t, p.ID)
			must(t, err)
			paid := pay.Outcome{Kind: pay.Approved}
			if s.says(paid); asked {
				s.due(t, p.ID)
			} else {
				s.apply(t, p.ID, paid)
			}
			claims, err := s.Store.Claims().Of(t.Context(), []string{p.ID})
			must(t, err)
			got := s.Read(t, p.ID)
			stray, open := got.Strays.Attention()
			if !got.End.Canceled() || len(claims) != 1 || claims[0].Kind != pay.Inquiry || !open || stray.Code != pay.LatePayment {
				t.Errorf("the claims are %v and the payment is %s, want one inquiry, and canceled", claims, got)
			}
		})
	}
}

// A canceled payment without money is queried for a week, and then no more (CANCEL-1).
func TestCanceledPaymentIsLetGo(t *testing.T) {
	s := open(t)
	p := s.Pending(t, "10")
	s.says(pay.Outcome{Kind: pay.Lapsed})
	_, err := s.cancel(t, p.ID)
	must(t, err)
	queries := 0
	s.Till.OnQuery = func(r provider.Request) pay.Outcome {
		if strings.HasPrefix(r.Reference, p.Reference(1)) {
			queries++
		}
		return pay.Outcome{Kind: pay.Lapsed}
	}
	for range 24 {
		s.Clock.Advance(time.Hour)
		s.Swept(t)
	}
	for range 60 {
		s.Clock.Advance(24 * time.Hour)
		s.Swept(t)
	}
	if queries != 5 {
		t.Errorf("after the cancel the payment was queried %d times, want 5", queries)
	}
}
