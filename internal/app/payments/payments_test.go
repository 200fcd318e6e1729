package payments_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/apptest"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// service creates payments in a merchant's sandbox, also through checkouts and payment links.
type service struct {
	*apptest.Service
	sessions *payments.Sessions
	links    *payments.PaymentLinks
}

func open(t *testing.T) *service {
	t.Helper()
	s := &service{Service: apptest.Open(t)}
	s.sessions = payments.NewSessions(s.Base, s.Rates, s.Providers, s.Methods, s.Plans, s.Cascade, s.Catalog)
	s.links = payments.NewPaymentLinks(s.Base, s.sessions)
	return s
}

// keyed is a request with an Idempotency-Key and the hash of its body.
func (s *service) keyed(t *testing.T, key, usd string) payments.NewPayment {
	t.Helper()
	n := s.New(t, usd)
	n.Idempotency = base.Idempotency{Route: "payments", Key: key, Hash: usd}
	return n
}

// count is the number of the shop's payments.
func (s *service) count(t *testing.T) int64 {
	t.Helper()
	_, n, err := s.Payments.List(t.Context(), s.Scope, lists.PaymentFilter{Page: lists.Page{Limit: 1}})
	must(t, err)
	return n
}

// apply applies what the provider says of the latest attempt of a payment.
func (s *service) apply(t *testing.T, id string, o pay.Outcome) {
	t.Helper()
	p := s.Read(t, id)
	attempt, _ := p.Attempts.Current()
	_, _, err := s.Cascade.ApplyAnswer(context.Background(), p, attempt, o, time.Time{}, s.Providers.Routes(p), view.Cause{})
	must(t, err)
}

// due moves the clock to when a payment is due, and lets the loop do what is due then.
func (s *service) due(t *testing.T, id string) pay.Payment {
	t.Helper()
	if wait := s.Read(t, id).Work.DueAt.Sub(s.Clock.Now()); wait > 0 {
		s.Clock.Advance(wait)
	}
	s.Swept(t)
	return s.Read(t, id)
}

// refusal is the code of an error that callers see, with its reason if it has one.
func refusal(err error) string {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return strings.TrimSpace(string(shown.Code) + " " + string(shown.Details.Reason))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Of many requests at once with one Idempotency-Key one makes a payment and a charge, whatever becomes of it. The others wait for it,
// and get the same payment (IDEM-1, IDEM-6).
func TestOnceUnderManyAtATime(t *testing.T) {
	s := open(t)
	for i, said := range []pay.OutcomeKind{pay.Awaiting, pay.Declined, pay.Errored} {
		s.Till.OnCharge = func(provider.Request) pay.Outcome { return pay.Outcome{Kind: said, ProviderRef: "c1"} }
		ids, replays := make([]string, 12), make([]bool, 12)
		var all sync.WaitGroup
		for n := range ids {
			asked := s.keyed(t, fmt.Sprint("race-", i), "10")
			all.Go(func() {
				p, replayed, err := s.Payments.Create(context.Background(), s.By, asked)
				if ids[n], replays[n] = p.ID, replayed; err != nil {
					t.Errorf("a request gets %v", err)
				}
			})
		}
		all.Wait()
		first := 0
		for n := range ids {
			if ids[n] != ids[0] {
				t.Errorf("two requests with one key get the payments %s and %s", ids[0], ids[n])
			}
			if !replays[n] {
				first++
			}
		}
		if charges := len(s.Till.Charges()); first != 1 || charges != i+1 || s.count(t) != int64(i+1) {
			t.Errorf("after %d keys there are %d payments and %d charges, and %d replies of the last key are no replays", i+1, s.count(t), charges, first)
		}
	}
}

// Of two bodies with one key at the same time one makes a payment, and the other one is a conflict (IDEM-3).
func TestOfTwoBodiesOneWins(t *testing.T) {
	s := open(t)
	var mu sync.Mutex // guards the two below
	made, conflicts := map[string]int{}, 0
	var all sync.WaitGroup
	for n := range 16 {
		asked := s.keyed(t, "two", []string{"10", "11"}[n%2])
		all.Go(func() {
			p, _, err := s.Payments.Create(context.Background(), s.By, asked)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made[p.ID]++
			case refusal(err) == "idempotency_conflict body_differs":
				conflicts++
			default:
				t.Errorf("a request gets %v", err)
			}
		})
	}
	all.Wait()
	if s.count(t) != 1 || len(made) != 1 || conflicts != 8 || len(s.Till.Charges()) != 1 {
		t.Errorf("there are %d payments, %d charges and %d conflicts, and the replies have %v", s.count(t), len(s.Till.Charges()), conflicts, made)
	}
}

// A key is kept for seven days (IDEM-8).
func TestKeyIsKeptForSevenDays(t *testing.T) {
	s := open(t)
	create := func(usd string) (string, error) {
		p, _, err := s.Payments.Create(t.Context(), s.By, s.keyed(t, "weekly", usd))
		return p.ID, err
	}
	first, err := create("10")
	must(t, err)
	s.Clock.Advance(7*24*time.Hour - time.Minute)
	must(t, s.PurgeKeys(t.Context()))
	if again, err := create("10"); err != nil || again != first {
		t.Errorf("in its last minute the key gets %s, %v, want %s", again, err, first)
	}
	s.Clock.Advance(2 * time.Minute)
	must(t, s.PurgeKeys(t.Context()))
	if other, err := create("11"); err != nil || other == first {
		t.Errorf("after seven days the key gets %s, %v, want another payment than %s", other, err, first)
	}
}

// The commit of a payment's intent may have been written or not: its caller gets an error. What was written goes on, with one charge,
// and a repeat with the same key gets it. What was not written does not exist, and a repeat makes it.
func TestPaymentWhoseCommitIsUnknownIsAdopted(t *testing.T) {
	for name, written := range map[string]bool{"written": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			s.Store.Around = func(_ context.Context, _ *pay.Change, commit func() error) error {
				s.Store.Around = nil
				if written {
					must(t, commit())
				}
				return store.ErrUnknown
			}
			if _, _, err := s.Payments.Create(t.Context(), s.By, s.keyed(t, "lost", "10")); !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("the caller gets %v", err)
			}
			if len(s.Till.Charges()) != 0 {
				t.Error("the provider was called although it is not known whether the intent was written")
			}
			p, replayed, err := s.Payments.Create(t.Context(), s.By, s.keyed(t, "lost", "10"))
			if err != nil || replayed != written || p.Status != pay.Pending {
				t.Errorf("the repeat gets %s, %t, %v", p, replayed, err)
			}
			if charges := s.Till.Charges(); len(charges) != 1 || s.count(t) != 1 {
				t.Errorf("there are %d payments and the charges %v, want one of each", s.count(t), charges)
			}
		})
	}
}

// A provider that does not answer may have charged the shopper: the payment is open, nothing is charged a second time, and what the
// provider says later decides (PAY-26).
func TestChargeOfUnknownOutcomeIsMadeOnce(t *testing.T) {
	for said, want := range map[pay.OutcomeKind]pay.Status{
		pay.Approved: pay.Completed, pay.Declined: pay.Failed, pay.Awaiting: pay.Pending, pay.Unknown: pay.Processing,
	} {
		t.Run(string(said), func(t *testing.T) {
			s := open(t)
			s.Till.OnCharge = func(provider.Request) pay.Outcome { return pay.Outcome{Kind: pay.Unknown, Decline: "timeout"} }
			p, _, err := s.Payments.Create(t.Context(), s.By, s.New(t, "10"))
			must(t, err)
			if p.Status != pay.Processing {
				t.Errorf("without an answer the payment is %s", p.Status)
			}
			s.Till.OnQuery = func(provider.Request) pay.Outcome { return pay.Outcome{Kind: said, ProviderRef: "c1"} }
			if p = s.due(t, p.ID); p.Status != want {
				t.Errorf("once the provider says %s the payment is %s, want %s", said, p.Status, want)
			}
			if want == pay.Completed { // it says so again
				s.apply(t, p.ID, pay.Outcome{Kind: pay.Approved, ProviderRef: "c1"})
				if again := s.Read(t, p.ID); again.Status != pay.Completed || again.Sequence != p.Sequence {
					t.Errorf("what is said twice makes the payment %s, with %d events after %d", again.Status, again.Sequence, p.Sequence)
				}
			}
			if n := len(s.Till.Charges()); n != 1 {
				t.Errorf("the shopper was charged %d times", n)
			}
		})
	}
}

// A payment is its shop's alone (PAY-33, AUTH-19).
func TestPaymentIsItsShopsAlone(t *testing.T) {
	s := open(t)
	p := s.Pending(t, "10")
	live, stranger := s.Scope, s.Scope
	live.Live, stranger.Merchant, stranger.Shop = true, "mer_other", "shp_other"
	for what, by := range map[string]base.Principal{"production": {Scope: live}, "another shop": {Scope: stranger}} {
		if _, err := s.Payments.Cancel(t.Context(), by.Scope, p.ID, view.Cause{}); refusal(err) != string(problem.TransactionNotFound) {
			t.Errorf("%s cancels the payment: %v", what, err)
		}
		if list, n, err := s.Payments.List(t.Context(), by.Scope, lists.PaymentFilter{Page: lists.Page{Limit: 10}}); err != nil || n != 0 || len(list) != 0 {
			t.Errorf("%s sees %d payments, %v", what, n, err)
		}
	}
	other := s.keyed(t, "one", "10")
	other.ShopID = "shp_other"
	if _, _, err := s.Payments.Create(t.Context(), s.By, other); refusal(err) != string(problem.Forbidden) {
		t.Errorf("a payment for another shop gets %v", err)
	}
	if got := s.Read(t, p.ID); got.Status != pay.Pending {
		t.Errorf("the payment is %s", got.Status)
	}
}
