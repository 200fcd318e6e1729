package claims_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	paymerchants "github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// service is a merchant's sandbox with its claims, and the notices that open and end them. The merchant gets the fees of a
// refunded payment back.
type service struct {
	*apptest.Service
	claims  *claims.Claims
	lists   *claims.Lists
	notices *notices.Notices
}

func open(t *testing.T) service {
	t.Helper()
	s := on(t, apptest.Open(t))
	_, err := s.Onboarding.Agree(t.Context(), s.Operator, s.Scope.Merchant, merchants.Agreement{Tier: paymerchants.Standard, RefundFees: paymerchants.FeesReturned})
	must(t, err)
	return s
}

// beside opens another node on the same database.
func (s service) beside(t *testing.T) service {
	t.Helper()
	return on(t, s.Beside(t))
}

func on(t *testing.T, below *apptest.Service) service {
	t.Helper()
	s := service{Service: below, claims: claims.New(below.Base, below.Providers, below.Cascade), lists: claims.NewLists(below.Base)}
	s.notices = notices.New(below.Base, below.Providers, below.Cascade, s.claims, nil)
	t.Cleanup(s.claims.Drain)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create creates a payment of an amount in cents: by card it is paid at once, and by cash a voucher waits for the shopper.
func (s service) create(t *testing.T, method string, cents int64) pay.Payment {
	t.Helper()
	p, _, err := s.Payments.Create(t.Context(), s.By, payments.NewPayment{Amount: money.New(cents, money.USD), PaymentMethodID: method})
	must(t, err)
	return p
}

func (s service) card(t *testing.T, cents int64) pay.Payment {
	t.Helper()
	p := s.create(t, "sbx_card", cents)
	if p.Status != pay.Completed {
		t.Fatalf("the payment is %s, want it paid", p)
	}
	return p
}

// refund requests a refund, in major units; "" is all that is left.
func (s service) refund(t *testing.T, payment, amount string) pay.Refund {
	t.Helper()
	r, _, err := s.claims.Refund(t.Context(), s.Scope, claims.NewRefund{Payment: payment, Amount: amount})
	must(t, err)
	return r
}

// refunded requests 20 of a card payment of 25.50.
func (s service) refunded(t *testing.T) pay.Refund {
	t.Helper()
	return s.refund(t, s.card(t, 25_50).ID, "20")
}

// resolve is the operator's decision on a claim, without force.
func (s service) resolve(t *testing.T, claim string, verb pay.ClaimVerb) (pay.Claim, error) {
	t.Helper()
	return s.claims.Resolve(t.Context(), s.Operator, claims.Resolution{ID: claim, Word: verb, Note: "the report of today"})
}

func (s service) claim(t *testing.T, id string) pay.Claim {
	t.Helper()
	c, err := s.claims.Get(t.Context(), s.Scope, id)
	must(t, err)
	return c
}

// of lists a payment's claims of a kind, oldest first; "" is every kind.
func (s service) of(t *testing.T, payment string, kind pay.ClaimKind) []pay.Claim {
	t.Helper()
	list, _, err := s.claims.List(t.Context(), s.Scope, lists.ClaimFilter{Page: lists.Page{Limit: 20}, Payment: payment, Kind: kind})
	must(t, err)
	slices.Reverse(list)
	return list
}

// one returns a payment's only claim of a kind.
func (s service) one(t *testing.T, payment string, kind pay.ClaimKind) pay.Claim {
	t.Helper()
	list := s.of(t, payment, kind)
	if len(list) != 1 {
		t.Fatalf("the payment has the claims %v, want one", list)
	}
	return list[0]
}

// sweep lets a time pass and sweeps once, as many times.
func (s service) sweep(t *testing.T, times int, every time.Duration) {
	t.Helper()
	for range times {
		s.Clock.Advance(every)
		_, err := s.claims.Sweep(t.Context())
		must(t, err)
	}
}

// funds returns the balance. What is available and what is pending count as "to spend".
func (s service) funds(t *testing.T) string {
	t.Helper()
	b := s.balances(t)
	usd := func(cents int64) float64 { return float64(cents) / 100 }
	return fmt.Sprintf("%.2f to spend, %.2f frozen, %.2f in reserve", usd(b[ledger.Available]+b[ledger.Pending]), usd(b[ledger.Frozen]), usd(b[ledger.Reserve]))
}

func (s service) balances(t *testing.T) ledger.Balances {
	t.Helper()
	b, err := s.Store.Books().Balances(t.Context(), s.Scope)
	must(t, err)
	return b
}

// waiting counts the notices of a payment that wait for the operator.
func (s service) waiting(t *testing.T, payment string) (n int) {
	t.Helper()
	list, err := s.notices.Notifications(t.Context(), payment, 20)
	must(t, err)
	for _, k := range list {
		if k.Verdict == pay.Mismatched {
			n++
		}
	}
	return n
}

// notify sends a notification of the account. Without an id it gets one of its content.
func (s service) notify(t *testing.T, n sandbox.Notification) {
	t.Helper()
	if n.ID == "" {
		n.ID = fmt.Sprint(n)
	}
	for _, signed := range s.Till.Send(n) {
		must(t, s.notices.Notify(t.Context(), "sandbox-1", signed))
	}
}

// events counts the events of a type that are committed from now on, by the claim or payment.
func (s service) events() func(object string) string {
	var mu sync.Mutex
	types := map[string][]string{}
	s.around(func(_ context.Context, change *pay.Change, commit func() error) error {
		err := commit()
		mu.Lock()
		defer mu.Unlock()
		for _, e := range change.Events {
			if err == nil && e.Payment != nil {
				types[e.Payment.ID] = append(types[e.Payment.ID], string(e.Type))
			}
		}
		return err
	})
	return func(payment string) string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(slices.Sorted(slices.Values(types[payment])), " ")
	}
}

// around puts a function around every commit.
func (s service) around(f func(ctx context.Context, change *pay.Change, commit func() error) error) {
	s.Base.Store.Around = f
}

// bank is how the account refunds: it pays each reference once, and remembers which.
type bank struct {
	answer func(call int, r provider.RefundRequest) (pays bool, o pay.Outcome)
	query  func(known bool) pay.Outcome

	mu      sync.Mutex       // owns what follows
	paid    map[string]int64 // minor units, by reference
	calls   int
	queries int
}

// bank makes the account refund as the functions say: answer to calls, counted from 1, and query to queries.
func (s service) bank(answer func(call int, r provider.RefundRequest) (bool, pay.Outcome), query func(known bool) pay.Outcome) *bank {
	b := &bank{answer: answer, query: query, paid: map[string]int64{}}
	s.Till.OnRefund = func(r provider.RefundRequest) pay.Outcome {
		b.mu.Lock()
		b.calls++
		call := b.calls
		b.mu.Unlock()
		pays, o := answer(call, r)
		if pays {
			b.pay(r)
		}
		return o
	}
	s.Till.OnQueryRefund = func(r provider.RefundRequest) pay.Outcome {
		b.mu.Lock()
		b.queries++
		_, known := b.paid[r.Reference]
		b.mu.Unlock()
		return query(known)
	}
	return b
}

func (b *bank) pay(r provider.RefundRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid[r.Reference] = r.Local.Minor
}

// total returns how much the bank paid, in how many refunds, and how often it was called.
func (b *bank) total() (sum int64, refunds, calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.paid {
		sum += n
	}
	return sum, len(b.paid), b.calls
}

// honest is a bank's answer to queries that is true.
func honest(known bool) pay.Outcome {
	if known {
		return pay.Outcome{Kind: pay.Approved}
	}
	return pay.Outcome{Kind: pay.Missing}
}

// always is an answer to queries that is always the same.
func always(o pay.Outcome) func(bool) pay.Outcome { return func(bool) pay.Outcome { return o } }

var unknown = pay.Outcome{Kind: pay.Unknown}
