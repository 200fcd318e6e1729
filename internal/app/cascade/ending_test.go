package cascade_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// A provider answers that another amount was paid. The payment is then neither paid nor failed, no other account is called, and the
// money waits for the operator, who gives it back once (LATE-4, LATE-5).
func TestAnswerOfAnotherAmountWaitsForTheOperator(t *testing.T) {
	s := open(t)
	s.one.OnCharge, s.one.OnQuery = other, other
	p := s.created(t, "sbx_pix")
	s.pass(t, 3, 6*time.Minute)
	if got := s.Read(t, p.ID); got.Status != pay.Processing || len(s.two.Charges()) != 0 || s.suspense(t) != 9_25 || len(got.Strays) != 1 {
		t.Errorf("the payment is %s, with %d cents in suspense and the strays %+v; the second account has %v", got, s.suspense(t), got.Strays, s.two.Charges())
	}
	s.pass(t, 1, 31*24*time.Hour)
	got := s.Read(t, p.ID)
	if got.Status != pay.Failed || got.End.Failure.Code != "amount_mismatch" || s.suspense(t) != 9_25 {
		t.Errorf("after its window the payment is %s, with %d cents in suspense", got, s.suspense(t))
	}
	if all, err := s.notices.Notifications(t.Context(), p.ID, 10); err != nil || len(all) != 1 || !strings.Contains(string(all[0].Body), "50.00 BRL were paid") {
		t.Errorf("the payment's notifications are %+v with the error %v, want the answer", all, err)
	}
	stray, _ := got.Strays.Attention()
	byHand := claims.Resolution{ID: stray.Claim, Word: pay.Approve, Note: "sent back", ByHand: "PIX 17"}
	_, err := s.claims.Resolve(t.Context(), s.Operator, byHand)
	must(t, err)
	if _, err := s.claims.Resolve(t.Context(), s.Operator, byHand); err == nil || s.suspense(t) != 0 {
		t.Errorf("the money was given back twice: %v, and %d cents are in suspense", err, s.suspense(t))
	}
}

// A query answers with another amount, the next one fails, and the third answers with that amount again. The payment still ends
// with its window, and the money is booked once (LATE-5).
func TestOtherAmountAroundATimeoutEnds(t *testing.T) {
	for status, charge := range map[pay.Status]func(provider.Request) pay.Outcome{pay.Processing: other, pay.Pending: answer(pay.Awaiting)} {
		t.Run(string(status), func(t *testing.T) {
			s := open(t)
			s.one.OnCharge = charge
			p := s.created(t, "sbx_pix")
			for range 2 {
				s.one.OnQuery = other
				s.pass(t, 1, 6*time.Minute)
				s.one.OnQuery = answer(pay.Unknown)
				s.pass(t, 1, 6*time.Minute)
			}
			s.one.OnQuery = other
			s.pass(t, 1, 6*time.Minute)
			if got := s.Read(t, p.ID); got.Status != status {
				t.Fatalf("within its window the payment is %s, want %s", got, status)
			}
			s.pass(t, 3, 31*24*time.Hour)
			if got := s.Read(t, p.ID); got.Status != pay.Failed && got.Status != pay.Expired || got.End.Failure.Code != "amount_mismatch" || len(got.Strays) != 1 || len(s.two.Charges()) != 0 {
				t.Errorf("after 93 days the payment has not ended with amount_mismatch: %s, %+v", got, got.Strays)
			}
		})
	}
}

// The shopper paid, the notification is lost, and the provider is down when the window ends. The payment does not expire for that
// reason alone: the provider is queried first, and for some days.
func TestPaidWhileTheProviderIsAwayAtExpiry(t *testing.T) {
	for away, want := range map[time.Duration]pay.Status{2 * time.Minute: pay.Completed, 47 * time.Hour: pay.Completed, 10 * 24 * time.Hour: pay.Expired} {
		t.Run(away.String(), func(t *testing.T) {
			s := open(t)
			p := s.created(t, "sbx_pix")
			s.Clock.Advance(p.Times.Expires.Sub(s.Clock.Now()) - time.Minute)
			queries := 0
			s.one.OnQuery = func(provider.Request) pay.Outcome { queries++; return pay.Outcome{Kind: pay.Unknown} }
			for end := s.Clock.Now().Add(away); s.Clock.Now().Before(end); {
				s.pass(t, 1, min(time.Hour, away))
			}
			if queries < 1 || queries > 90 {
				t.Errorf("the provider was queried %d times while it was down, want 1 to 90", queries)
			}
			s.one.OnQuery = answer(pay.Approved)
			s.pass(t, 30, 24*time.Hour)
			late := map[bool]int{true: 1}[want == pay.Expired]
			if got := s.Read(t, p.ID); got.Status != want || len(s.of(t, p.ID)) != late || s.suspense(t) != int64(late)*10_00 {
				t.Errorf("the payment is %s, want %s; %d cents are in suspense", got, want, s.suspense(t))
			}
		})
	}
}

// The service queries an expired payment for some days more: the shopper may have paid at the last moment, and the notification may
// be lost. Its money is late money (LATE-1, LATE-2).
func TestMoneyOfAnExpiredPaymentIsFoundWithoutANotification(t *testing.T) {
	s := open(t)
	p := s.created(t, "sbx_pix")
	s.one.OnQuery = answer(pay.Awaiting) // also when it is asked to end the charge
	s.pass(t, 1, p.Times.Expires.Sub(s.Clock.Now())+time.Minute)
	s.pass(t, 1, 2*time.Hour)
	if got := s.Read(t, p.ID); got.Status != pay.Expired {
		t.Fatalf("the payment is %s, want expired", got)
	}
	queries := 0
	s.one.OnQuery = func(provider.Request) pay.Outcome { queries++; return pay.Outcome{Kind: pay.Approved} }
	s.pass(t, 40, 24*time.Hour)
	got := s.Read(t, p.ID)
	if stray, open := got.Strays.Attention(); got.Status != pay.Expired || !open || stray.Code != pay.LatePayment || stray.Claim == "" || s.suspense(t) != 10_00 || queries > 2 {
		t.Errorf("the payment does not show its late money: %s, %+v, after %d queries", got, got.Strays, queries)
	}
}

// The service stops querying an expired payment when the provider never has news of it (LATE-2).
func TestExpiredPaymentIsLetGo(t *testing.T) {
	s := open(t)
	p := s.created(t, "sbx_pix")
	queries := 0
	s.one.OnQuery = func(provider.Request) pay.Outcome { queries++; return pay.Outcome{Kind: pay.Lapsed} }
	s.pass(t, 1, p.Times.Expires.Sub(s.Clock.Now())+time.Minute)
	if got := s.Read(t, p.ID); got.Status != pay.Expired || queries != 1 {
		t.Fatalf("after %d queries the payment is %s, want it expired after one", queries, got)
	}
	s.pass(t, 24, time.Hour)
	s.pass(t, 60, 24*time.Hour)
	if p = s.Read(t, p.ID); queries != 6 || p.Looking() {
		t.Errorf("the provider was queried %d times after the payment expired, want 5", queries-1)
	}
}

// The service queries an unknown outcome at longer and longer intervals.
func TestUnknownOutcomeIsAskedAboutLessAndLess(t *testing.T) {
	s := open(t)
	queries := 0
	s.one.OnCharge = answer(pay.Unknown)
	s.one.OnQuery = func(provider.Request) pay.Outcome { queries++; return pay.Outcome{Kind: pay.Unknown} }
	p := s.created(t, "sbx_pix")
	if s.pass(t, 48, time.Hour/2); queries < 20 || queries > 34 {
		t.Errorf("on the first day the provider was queried %d times, want 20 to 34", queries)
	}
	queries = 0
	if s.pass(t, 24*4, time.Hour); queries < 12 || queries > 30 {
		t.Errorf("in the next four days the provider was queried %d times, want 12 to 30", queries)
	}
	s.one.OnQuery = answer(pay.Approved)
	if s.pass(t, 1, 7*time.Hour); s.Read(t, p.ID).Status != pay.Completed || len(s.two.Charges()) != 0 {
		t.Errorf("the payment is %s", s.Read(t, p.ID))
	}
}
