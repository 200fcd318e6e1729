package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/app/recovery"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// forgetful stands before an upstream. It counts what that is asked to do, by reference, and can
// lose its answers and deny what it has.
type forgetful struct {
	*httptest.Server
	mu     sync.Mutex // owns what follows
	calls  map[string]int
	loses  bool // answers to charges and refunds
	denies bool // that it has what it is asked about
}

func newForgetful(t *testing.T, upstream *providertest.Upstream) *forgetful {
	f := &forgetful{calls: map[string]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer := httptest.NewRecorder()
		switch upstream.ServeHTTP(answer, r); {
		case r.Method == http.MethodPost:
			f.calls[r.URL.Path]++
			if f.loses {
				answer = httptest.NewRecorder()
				answer.Code = http.StatusBadGateway
			}
		case f.denies && r.URL.Path != "/me":
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *forgetful) is(loses, denies bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loses, f.denies = loses, denies
}

// asked is how often it was asked to charge or to refund since the last time.
func (f *forgetful) asked() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.calls {
		n += k
	}
	clear(f.calls)
	return n
}

// putBack closes the service, as after a restore to this moment.
func (s *service) putBack(t *testing.T) {
	t.Helper()
	_, err := s.App.Recovery.BeginRecovery(ctx, s.App.Now().Add(-time.Second), s.App.Now())
	must(t, err)
}

const listColumns = "reference,provider_reference,refund_reference,refund_provider_reference,type,amount,currency\n"

// lists reads a provider's list of the lost time.
func (s *service) lists(t *testing.T, account, lines string) recovery.Listed {
	t.Helper()
	format, err := s.App.Reconciliation.ReportFormat(ctx, account)
	must(t, err)
	done, err := s.App.Recovery.ReadListing(ctx, recovery.Listing{
		Account: account, Reports: []reconciliation.Report{{Name: account + ".csv", Reader: strings.NewReader(listColumns + lines)}}, Format: format,
	})
	must(t, err)
	return done
}

// opens covers what no list was read of, and ends the recovery.
func (s *service) opens(t *testing.T) {
	t.Helper()
	found, err := s.App.Recovery.Recovery(ctx)
	must(t, err)
	for _, account := range found.Uncovered {
		must(t, s.App.Recovery.CoverAccount(ctx, account, "it did nothing"))
	}
	_, err = s.App.Recovery.EndRecovery(ctx, false, "")
	must(t, err)
}

// A charge was under way when the copy was made. The provider's list has it, and the provider's
// answers deny it: nobody is charged again, there or elsewhere.
func TestChargeThatAListHasIsNotMadeAgain(t *testing.T) {
	plainly(t, func(t *testing.T, s *service) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("paid")
		second.Next("paid")
		door := newForgetful(t, first)
		s.account(t, "first", first, func(n *acquiring.NewAccount) { n.Priority, n.BaseURL = 1, door.URL })
		s.account(t, "second", second)
		live := s.shop(t).live()
		door.is(true, true)
		live.post(t, "/payments", live.pix(t))
		id := live.get(t, "/payments").text(t, "data.0.id")
		if got := live.get(t, "/payments/"+id).text(t, "status"); got != "processing" || door.asked() != 1 {
			t.Fatalf("the payment is %s", got)
		}
		s.putBack(t)
		reference := strings.TrimPrefix(id, pay.PaymentPrefix) + "-1"
		if done := s.lists(t, "first", reference+",up-"+reference+",,,charge,54.00,BRL\n"); done.Known != 1 {
			t.Fatalf("the list told %+v", done)
		}
		s.opens(t)
		for range 5 {
			s.clock.advance(10 * time.Minute)
			_, err := s.App.Cascade.Sweep(ctx)
			must(t, err)
		}
		if n := door.asked(); n > 0 || len(second.Charges()) > 0 {
			t.Errorf("it was charged %d times again, and elsewhere %v", n, second.Charges())
		}
		door.is(false, false)
		s.sweep(t, "the payment is known to be paid", func() bool {
			s.clock.advance(10 * time.Minute)
			return live.get(t, "/payments/"+id).text(t, "status") == "completed"
		})
	})
}

// A refund was made in the lost time. The provider's list has it, and its answers deny it.
func TestRefundThatAListHasIsNotMadeAgain(t *testing.T) {
	plainly(t, func(t *testing.T, s *service) {
		upstream := providertest.NewUpstream(t, "key-1")
		upstream.Next("paid")
		door := newForgetful(t, upstream)
		s.account(t, "first", upstream, func(n *acquiring.NewAccount) { n.BaseURL = door.URL })
		live := s.shop(t).live()
		id := live.post(t, "/payments", live.pix(t)).want(t, http.StatusCreated).text(t, "transactionId")
		suffix := strings.TrimPrefix(id, pay.PaymentPrefix)
		other := "01M87MNA0QAZ0TKKXMKBXETPR4" // of its claim
		s.putBack(t)
		door.asked()
		door.is(false, true)
		if done := s.lists(t, "first", suffix+"-1,,"+other+"-1,up-refund,refund,10.00,BRL\n"); done.Regained != 1 {
			t.Fatalf("the list told %+v", done)
		}
		s.opens(t)
		for range 5 {
			s.clock.advance(2 * time.Hour)
			_, err := s.App.Claims.SweepClaims(ctx)
			must(t, err)
		}
		if n := door.asked(); n > 0 {
			t.Errorf("it was refunded %d times again", n)
		}
		if got := live.claims(t, id); got != "pending" {
			t.Errorf("its claim is %q", got)
		}
	})
}

// The operator gave late money back in the lost time. Its inquiry is in the copy, undecided. He decides
// again: the shopper gets nothing a second time.
func TestLateMoneyThatAListHasGivenBackIsNotGivenBackAgain(t *testing.T) {
	plainly(t, func(t *testing.T, s *service) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("soft")
		second.Next("paid")
		door := newForgetful(t, first)
		s.account(t, "first", first, func(n *acquiring.NewAccount) { n.Priority, n.BaseURL = 1, door.URL })
		s.account(t, "second", second)
		live := s.shop(t).live()
		id := live.post(t, "/payments", live.pix(t)).want(t, http.StatusCreated).text(t, "transactionId")
		s.told(t, first, id, 1, "paid", "first-hush").want(t, http.StatusOK)
		list, err := s.App.Claims.AnyClaims(ctx, pay.ClaimPending, pay.Inquiry, 10)
		must(t, err)
		if len(list) != 1 {
			t.Fatalf("want one inquiry, got %v", list)
		}
		s.putBack(t)
		door.asked()
		suffix, claim := strings.TrimPrefix(id, pay.PaymentPrefix), strings.TrimPrefix(list[0].ID, pay.ClaimPrefix)
		s.lists(t, "first", suffix+"-1,,"+claim+"-1,up-refund,refund,54.00,BRL\n")
		s.opens(t)
		_, _ = s.App.Claims.RuleClaim(ctx, list[0].ID, pay.Approve, "paid twice")
		for range 5 {
			s.clock.advance(2 * time.Hour)
			_, err := s.App.Claims.SweepClaims(ctx)
			must(t, err)
		}
		if n := door.asked(); n > 0 {
			t.Errorf("it was refunded %d times again", n)
		}
	})
}

// A withdrawal that waits in the copy was paid in the lost time. The bank's list has it, and its
// answers deny it: it is not paid again.
func TestPayoutThatAListHasIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		id := o.withdraw(t, "100")
		w, err := o.App.Payouts.Withdrawal(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		must(t, err)
		reference := strings.TrimPrefix(id, pay.WithdrawalPrefix)
		o.putBack(t)
		b.behave(nil, func(*payer, payout.Request) pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutMissing} })
		if done := o.lists(t, "bank-1", reference+",bank-1,,,payout,"+w.Local.Decimal()+",MXN\n"); done.Regained != 1 {
			t.Fatalf("the list told %+v", done)
		}
		o.opens(t)
		for range 5 {
			o.clock.advance(2 * time.Hour)
			_, err := o.App.Payouts.PayOut(ctx)
			must(t, err)
		}
		if sends, _, _ := b.told(id); sends > 0 {
			t.Errorf("it was paid %d times again", sends)
		}
		b.behave(nil, func(b *payer, r payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-1"}
		})
		o.clock.advance(2 * time.Hour)
		o.payOut(t, id, "completed")
	})
}

// A withdrawal is with one bank in the copy. In the lost time that proved not to pay, and another one
// paid: the list of that one has it, and it pays once.
func TestPayoutThatWentOnInTheLostTimeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	eachPayer(t, func(t *testing.T, o shop, b *payer) {
		o.payOutBy(t, "bank", acquiring.NewAccount{ID: "bank-2", Priority: 9})
		silent := func(*payer, payout.Request) pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutUnknown} }
		b.behave(silent, silent)
		id := o.withdraw(t, "100")
		o.clock.advance(pay.WithdrawalHold(true))
		o.payOut(t, id, "processing")
		w, err := o.App.Payouts.Withdrawal(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		must(t, err)
		reference := strings.TrimPrefix(id, pay.WithdrawalPrefix)
		o.putBack(t)
		sent := 0
		b.behave(func(*payer, payout.Request) pay.PayoutOutcome {
			sent++
			return pay.PayoutOutcome{Kind: pay.PayoutPaid}
		}, func(_ *payer, r payout.Request) pay.PayoutOutcome {
			if r.Reference == reference {
				return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
			}
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-2"}
		})
		if done := o.lists(t, "bank-2", reference+"-2,bank-2,,,payout,"+w.Local.Decimal()+",MXN\n"); done.Regained != 1 {
			t.Errorf("the list told %+v", done)
		}
		o.opens(t)
		o.clock.advance(2 * time.Hour)
		o.payOut(t, id, "completed")
		if w, err = o.App.Payouts.Withdrawal(ctx, w.Scope, id); err != nil || w.Provider != "bank-2" || sent > 0 {
			t.Errorf("it is with %s (%v), and was sent %d times again", w.Provider, err, sent)
		}
	})
}

// The copy that is put back was made while the service was closed, and lists were read already. It
// opened after that, and charged: nothing of that time is known.
func TestCopyOfAClosedServiceKnowsNothingOfWhatFollowed(t *testing.T) {
	plainly(t, func(t *testing.T, s *service) {
		s.account(t, "first", providertest.NewUpstream(t, "key-1"))
		for _, putBackAgain := range []func() error{
			func() error { _, _, err := s.App.Recovery.Restored(ctx); return err },
			func() error {
				_, err := s.App.Recovery.BeginRecovery(ctx, s.App.Now().Add(-time.Second), time.Time{})
				return err
			},
		} {
			before, err := s.App.Recovery.Recovery(ctx)
			must(t, err)
			if before.State != pay.RecoveryClosed {
				s.putBack(t)
				before, err = s.App.Recovery.Recovery(ctx)
				must(t, err)
			}
			must(t, s.App.Recovery.CoverAccount(ctx, "first", "it did nothing"))
			s.clock.advance(time.Hour)
			must(t, putBackAgain())
			now, err := s.App.Recovery.Recovery(ctx)
			must(t, err)
			if now.State != pay.RecoveryClosed || len(now.Uncovered) != 1 || now.From.After(before.From) || !now.To.After(before.To) {
				t.Errorf("put back once more it is %s from %s to %s (before %s to %s), not known: %v", now.State, now.From, now.To, before.From, before.To, now.Uncovered)
			}
			if _, err := s.App.Recovery.EndRecovery(ctx, false, ""); err == nil {
				t.Error("it opens")
			}
		}
		s.opens(t)
	})
}
