package providers

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
	"github.com/cascadapay/cascada/internal/e2e/harness"
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
func putBack(t *testing.T, s *harness.Instance) {
	t.Helper()
	_, err := s.App.Recovery.BeginRecovery(ctx, s.App.Now().Add(-time.Second), s.App.Now())
	harness.Must(t, err)
}

const listColumns = "reference,provider_reference,refund_reference,refund_provider_reference,type,amount,currency\n"

// readList reads a provider's list of the lost time.
func readList(t *testing.T, s *harness.Instance, account, lines string) recovery.Listed {
	t.Helper()
	format, err := s.App.Reconciliation.ReportFormat(ctx, account)
	harness.Must(t, err)
	done, err := s.App.Recovery.ReadListing(ctx, recovery.Listing{
		Account: account, Reports: []reconciliation.Report{{Name: account + ".csv", Reader: strings.NewReader(listColumns + lines)}}, Format: format,
	})
	harness.Must(t, err)
	return done
}

// endRecovery covers what no list was read of, and ends the recovery.
func endRecovery(t *testing.T, s *harness.Instance) {
	t.Helper()
	found, err := s.App.Recovery.Recovery(ctx)
	harness.Must(t, err)
	for _, account := range found.Uncovered {
		harness.Must(t, s.App.Recovery.CoverAccount(ctx, account, "it did nothing"))
	}
	_, err = s.App.Recovery.EndRecovery(ctx, false, "")
	harness.Must(t, err)
}

// A charge was under way when the copy was made. The provider's list has it, and the provider's
// answers deny it: nobody is charged again, there or elsewhere.
func TestChargeThatAListHasIsNotMadeAgain(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("paid")
		second.Next("paid")
		door := newForgetful(t, first)
		s.OpenAccount(t, "first", first, func(n *acquiring.NewAccount) { n.Priority, n.BaseURL = 1, door.URL })
		s.OpenAccount(t, "second", second)
		live := s.NewShop(t).Production()
		door.is(true, true)
		live.Post(t, "/payments", live.PixOrder(t))
		id := live.Get(t, "/payments").Text(t, "data.0.id")
		if got := live.Get(t, "/payments/"+id).Text(t, "status"); got != "processing" || door.asked() != 1 {
			t.Fatalf("the payment is %s", got)
		}
		putBack(t, s)
		reference := strings.TrimPrefix(id, pay.PaymentPrefix) + "-1"
		if done := readList(t, s, "first", reference+",up-"+reference+",,,charge,54.00,BRL\n"); done.Known != 1 {
			t.Fatalf("the list told %+v", done)
		}
		endRecovery(t, s)
		for range 5 {
			s.Clock.Advance(10 * time.Minute)
			_, err := s.App.Cascade.Sweep(ctx)
			harness.Must(t, err)
		}
		if n := door.asked(); n > 0 || len(second.Charges()) > 0 {
			t.Errorf("it was charged %d times again, and elsewhere %v", n, second.Charges())
		}
		door.is(false, false)
		s.Sweep(t, "the payment is known to be paid", func() bool {
			s.Clock.Advance(10 * time.Minute)
			return live.Get(t, "/payments/"+id).Text(t, "status") == "completed"
		})
	})
}

// A refund was made in the lost time. The provider's list has it, and its answers deny it.
func TestRefundThatAListHasIsNotMadeAgain(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		upstream := providertest.NewUpstream(t, "key-1")
		upstream.Next("paid")
		door := newForgetful(t, upstream)
		s.OpenAccount(t, "first", upstream, func(n *acquiring.NewAccount) { n.BaseURL = door.URL })
		live := s.NewShop(t).Production()
		id := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		suffix := strings.TrimPrefix(id, pay.PaymentPrefix)
		other := "01M87MNA0QAZ0TKKXMKBXETPR4" // of its claim
		putBack(t, s)
		door.asked()
		door.is(false, true)
		if done := readList(t, s, "first", suffix+"-1,,"+other+"-1,up-refund,refund,10.00,BRL\n"); done.Regained != 1 {
			t.Fatalf("the list told %+v", done)
		}
		endRecovery(t, s)
		for range 5 {
			s.Clock.Advance(2 * time.Hour)
			_, err := s.App.Claims.SweepClaims(ctx)
			harness.Must(t, err)
		}
		if n := door.asked(); n > 0 {
			t.Errorf("it was refunded %d times again", n)
		}
		if got := live.Claims(t, id); got != "pending" {
			t.Errorf("its claim is %q", got)
		}
	})
}

// The operator gave late money back in the lost time. Its inquiry is in the copy, undecided. He decides
// again: the shopper gets nothing a second time.
func TestLateMoneyThatAListHasGivenBackIsNotGivenBackAgain(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("soft")
		second.Next("paid")
		door := newForgetful(t, first)
		s.OpenAccount(t, "first", first, func(n *acquiring.NewAccount) { n.Priority, n.BaseURL = 1, door.URL })
		s.OpenAccount(t, "second", second)
		live := s.NewShop(t).Production()
		id := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		s.TellUpstream(t, first, id, 1, "paid", "first-hush").Want(t, http.StatusOK)
		list, err := s.App.Claims.AnyClaims(ctx, pay.ClaimPending, pay.Inquiry, 10)
		harness.Must(t, err)
		if len(list) != 1 {
			t.Fatalf("want one inquiry, got %v", list)
		}
		putBack(t, s)
		door.asked()
		suffix, claim := strings.TrimPrefix(id, pay.PaymentPrefix), strings.TrimPrefix(list[0].ID, pay.ClaimPrefix)
		readList(t, s, "first", suffix+"-1,,"+claim+"-1,up-refund,refund,54.00,BRL\n")
		endRecovery(t, s)
		_, _ = s.App.Claims.RuleClaim(ctx, list[0].ID, pay.Approve, "paid twice")
		for range 5 {
			s.Clock.Advance(2 * time.Hour)
			_, err := s.App.Claims.SweepClaims(ctx)
			harness.Must(t, err)
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
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		id := o.Withdraw(t, "100")
		w, err := o.App.Payouts.Withdrawal(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		harness.Must(t, err)
		reference := strings.TrimPrefix(id, pay.WithdrawalPrefix)
		putBack(t, o.Instance)
		b.Behave(nil, func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutMissing}
		})
		if done := readList(t, o.Instance, "bank-1", reference+",bank-1,,,payout,"+w.Local.Decimal()+",MXN\n"); done.Regained != 1 {
			t.Fatalf("the list told %+v", done)
		}
		endRecovery(t, o.Instance)
		for range 5 {
			o.Clock.Advance(2 * time.Hour)
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
		}
		if sends, _, _ := b.Told(id); sends > 0 {
			t.Errorf("it was paid %d times again", sends)
		}
		b.Behave(nil, func(b *harness.Payer, r payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-1"}
		})
		o.Clock.Advance(2 * time.Hour)
		o.PayOut(t, id, "completed")
	})
}

// A withdrawal is with one bank in the copy. In the lost time that proved not to pay, and another one
// paid: the list of that one has it, and it pays once.
func TestPayoutThatWentOnInTheLostTimeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		o.PayOutBy(t, "bank", acquiring.NewAccount{ID: "bank-2", Priority: 9})
		silent := func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		}
		b.Behave(silent, silent)
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		w, err := o.App.Payouts.Withdrawal(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		harness.Must(t, err)
		reference := strings.TrimPrefix(id, pay.WithdrawalPrefix)
		putBack(t, o.Instance)
		sent := 0
		b.Behave(func(*harness.Payer, payout.Request) pay.PayoutOutcome {
			sent++
			return pay.PayoutOutcome{Kind: pay.PayoutPaid}
		}, func(_ *harness.Payer, r payout.Request) pay.PayoutOutcome {
			if r.Reference == reference {
				return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
			}
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-2"}
		})
		if done := readList(t, o.Instance, "bank-2", reference+"-2,bank-2,,,payout,"+w.Local.Decimal()+",MXN\n"); done.Regained != 1 {
			t.Errorf("the list told %+v", done)
		}
		endRecovery(t, o.Instance)
		o.Clock.Advance(2 * time.Hour)
		o.PayOut(t, id, "completed")
		if w, err = o.App.Payouts.Withdrawal(ctx, w.Scope, id); err != nil || w.Provider != "bank-2" || sent > 0 {
			t.Errorf("it is with %s (%v), and was sent %d times again", w.Provider, err, sent)
		}
	})
}

// The copy that is put back was made while the service was closed, and lists were read already. It
// opened after that, and charged: nothing of that time is known.
func TestCopyOfAClosedServiceKnowsNothingOfWhatFollowed(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.OpenAccount(t, "first", providertest.NewUpstream(t, "key-1"))
		for _, putBackAgain := range []func() error{
			func() error { _, _, err := s.App.Recovery.Restored(ctx); return err },
			func() error {
				_, err := s.App.Recovery.BeginRecovery(ctx, s.App.Now().Add(-time.Second), time.Time{})
				return err
			},
		} {
			before, err := s.App.Recovery.Recovery(ctx)
			harness.Must(t, err)
			if before.State != pay.RecoveryClosed {
				putBack(t, s)
				before, err = s.App.Recovery.Recovery(ctx)
				harness.Must(t, err)
			}
			harness.Must(t, s.App.Recovery.CoverAccount(ctx, "first", "it did nothing"))
			s.Clock.Advance(time.Hour)
			harness.Must(t, putBackAgain())
			now, err := s.App.Recovery.Recovery(ctx)
			harness.Must(t, err)
			if now.State != pay.RecoveryClosed || len(now.Uncovered) != 1 || now.From.After(before.From) || !now.To.After(before.To) {
				t.Errorf("put back once more it is %s from %s to %s (before %s to %s), not known: %v", now.State, now.From, now.To, before.From, before.To, now.Uncovered)
			}
			if _, err := s.App.Recovery.EndRecovery(ctx, false, ""); err == nil {
				t.Error("it opens")
			}
		}
		endRecovery(t, s)
	})
}
