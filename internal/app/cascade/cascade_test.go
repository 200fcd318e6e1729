package cascade_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// service is a merchant's sandbox with two accounts, and the notices and claims of its payments.
type service struct {
	*apptest.Service
	claims   *claims.Claims
	notices  *notices.Notices
	one, two *apptest.Till // one is tried first
}

func open(t *testing.T) service {
	t.Helper()
	return on(apptest.OpenWith(t, "sandbox-1", "sandbox-2"))
}

// beside opens another node on the same database.
func (s service) beside(t *testing.T) service {
	t.Helper()
	return on(s.Beside(t))
}

func on(below *apptest.Service) service {
	s := service{Service: below, claims: claims.New(below.Base, below.Providers, below.Cascade), one: below.Tills["sandbox-1"], two: below.Tills["sandbox-2"]}
	s.notices = notices.New(below.Base, below.Providers, below.Cascade, s.claims, nil)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create creates a payment of 10 USD: by card, by cash, or by Pix, which are 54 BRL.
func (s service) create(t *testing.T, method string) (pay.Payment, error) {
	t.Helper()
	p, _, err := s.Payments.Create(t.Context(), s.By, s.order(method))
	return p, err
}

func (s service) order(method string) payments.NewPayment {
	return payments.NewPayment{Amount: money.New(10_00, money.USD), PaymentMethodID: method, Buyer: pay.Buyer{Document: "11144477735"}}
}

// created is create, for a payment that must exist.
func (s service) created(t *testing.T, method string) pay.Payment {
	t.Helper()
	p, err := s.create(t, method)
	must(t, err)
	return p
}

// underway requests a payment, and returns it when its call has reached the provider. answered waits until the request is answered.
func (s service) underway(t *testing.T, method string, reached <-chan struct{}) (p pay.Payment, answered func()) {
	t.Helper()
	var request sync.WaitGroup
	request.Go(func() { _, _, _ = s.Payments.Create(t.Context(), s.By, s.order(method)) })
	<-reached
	return s.last(t), request.Wait
}

// last returns the newest payment.
func (s service) last(t *testing.T) pay.Payment {
	t.Helper()
	list, _, err := s.Payments.List(t.Context(), s.Scope, lists.PaymentFilter{Page: lists.Page{Limit: 1}})
	must(t, err)
	if len(list) != 1 {
		t.Fatal("there is no payment")
	}
	return list[0]
}

// pass lets a time pass and does what is due, as many times.
func (s service) pass(t *testing.T, times int, every time.Duration) {
	t.Helper()
	for range times {
		s.Clock.Advance(every)
		s.Swept(t)
	}
}

// takeOver ends the leases of other nodes' calls, and queries their payments.
func (s service) takeOver(t *testing.T) {
	t.Helper()
	s.Clock.Advance(10 * time.Second)
	must(t, s.Cascade.ReleaseOrphans(t.Context()))
	s.Swept(t)
}

// suspense is the money that fits no payment, in cents.
func (s service) suspense(t *testing.T) int64 {
	t.Helper()
	b, err := s.Store.Books().Balances(t.Context(), s.Scope)
	must(t, err)
	return b[ledger.Suspense]
}

// of lists a payment's claims.
func (s service) of(t *testing.T, payment string) []pay.Claim {
	t.Helper()
	list, _, err := s.claims.List(t.Context(), s.Scope, lists.ClaimFilter{Page: lists.Page{Limit: 10}, Payment: payment})
	must(t, err)
	return list
}

// waiting lists the notices of a payment that wait for the operator.
func (s service) waiting(t *testing.T, payment string) (list []pay.KeptNotice) {
	t.Helper()
	all, err := s.notices.Notifications(t.Context(), payment, 20)
	must(t, err)
	for _, k := range all {
		if k.Verdict == pay.Mismatched {
			list = append(list, k)
		}
	}
	return list
}

// notify sends a notification of the first account.
func (s service) notify(t *testing.T, n sandbox.Notification) {
	t.Helper()
	n.ID = fmt.Sprint(n)
	for _, signed := range s.one.Send(n) {
		must(t, s.notices.Notify(t.Context(), "sandbox-1", signed))
	}
}

// attempts are the accounts of a payment's attempts, in their order.
func attempts(p pay.Payment) string {
	var list []string
	for _, a := range p.Attempts {
		list = append(list, a.Provider)
	}
	return strings.Join(list, " ")
}

// answer is an account's answer to each call and query: always the same.
func answer(kind pay.OutcomeKind) func(provider.Request) pay.Outcome {
	return func(provider.Request) pay.Outcome { return pay.Outcome{Kind: kind} }
}

// other is the answer that another amount was paid than the 54 BRL of a payment by Pix.
func other(provider.Request) pay.Outcome {
	return pay.Outcome{Kind: pay.Approved, ProviderRef: "up-1", MoneyRef: "money-1", Local: money.New(50_00, money.BRL)}
}

// The answer to the first call decides whether the second account is called. What is not known is never charged elsewhere.
func TestAnswerDecidesWhetherAnotherAccountIsCalled(t *testing.T) {
	for name, c := range map[string]struct {
		answer   pay.Outcome
		status   pay.Status
		attempts string
	}{
		"approved":       {pay.Outcome{Kind: pay.Approved}, pay.Completed, "sandbox-1"},
		"softly refused": {pay.Outcome{Kind: pay.Declined, Soft: true, Code: problem.CardDeclined, Decline: "issuer_unavailable"}, pay.Completed, "sandbox-1 sandbox-2"},
		"refused":        {pay.Outcome{Kind: pay.Declined, Code: problem.CardDeclined, Decline: "lost_card"}, pay.Failed, "sandbox-1"},
		"unavailable":    {pay.Outcome{Kind: pay.Unavailable}, pay.Completed, "sandbox-1 sandbox-2"},
		"an error":       {pay.Outcome{Kind: pay.Errored}, pay.Completed, "sandbox-1 sandbox-2"},
		"no answer":      {pay.Outcome{Kind: pay.Unknown}, pay.Processing, "sandbox-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			s.one.OnCharge = func(provider.Request) pay.Outcome { return c.answer }
			s.one.OnQuery = answer(pay.Unknown)
			p, err := s.create(t, "sbx_card")
			if refused, ok := errors.AsType[*problem.Error](err); ok {
				p = s.Read(t, refused.Details.TransactionID)
			}
			s.pass(t, 3, time.Minute) // queries without an answer change nothing
			if p = s.Read(t, p.ID); p.Status != c.status || attempts(p) != c.attempts || len(s.two.Charges()) != len(p.Attempts)-1 {
				t.Errorf("the payment is %s, want %s at %s", p, c.status, c.attempts)
			}
		})
	}
}

// Nobody knows whether the first account made the charge. Only when a query proves that it did not, another account is called,
// although the shopper's request ended long ago. If it did, the payment is paid, and no other is called.
func TestVoucherIsMadeElsewhereOnceTheFirstIsProvedMissing(t *testing.T) {
	for _, made := range []bool{false, true} {
		s := open(t)
		s.one.OnCharge, s.one.OnQuery = answer(pay.Unknown), answer(pay.Unknown)
		p := s.created(t, "sbx_pix")
		s.pass(t, 2, 10*time.Minute)
		if got := s.Read(t, p.ID); got.Status != pay.Processing || len(s.two.Charges()) != 0 {
			t.Errorf("before a query has an answer, the payment is %s, and the second account has %v", got, s.two.Charges())
		}
		want, calls := pay.Pending, 1
		if s.one.OnQuery = answer(pay.Missing); made {
			s.one.OnQuery = answer(pay.Approved)
			want, calls = pay.Completed, 0
		}
		s.pass(t, 2, 10*time.Minute)
		if got := s.Read(t, p.ID); got.Status != want || len(s.two.Charges()) != calls {
			t.Errorf("the first account made it: %v; the payment is %s, and the second account has %v", made, got, s.two.Charges())
		}
	}
}

// A provider that answers late leaves no time for the next attempt.
func TestBudgetOfTimeEndsThePayment(t *testing.T) {
	for late, want := range map[time.Duration]string{30*time.Second - time.Second: "sandbox-1 sandbox-2", 30 * time.Second: "sandbox-1"} {
		s := open(t)
		s.one.OnCharge = func(provider.Request) pay.Outcome {
			s.Clock.Advance(late)
			return pay.Outcome{Kind: pay.Declined, Soft: true, Code: problem.CardDeclined, Decline: "issuer_unavailable"}
		}
		_, _ = s.create(t, "sbx_pix") // an error if no account accepts it
		p := s.last(t)
		stop := p.Attempts[len(p.Attempts)-1].Stop
		if attempts(p) != want || (stop == "budget: no attempt begins later than 30s after the payment was made") != (want == "sandbox-1") {
			t.Errorf("with an answer after %s the payment was tried at %s, want %s; it was stopped by %q", late, attempts(p), want, stop)
		}
	}
}
