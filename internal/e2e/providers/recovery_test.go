package providers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/app/recovery"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// forgetful is a proxy in front of an upstream. It counts the charges and refunds by path. It can
// drop the upstream's answers, and it can deny what the upstream has.
type forgetful struct {
	*httptest.Server
	mu     sync.Mutex // guards the fields below
	calls  map[string]int
	loses  bool // drops the answers to charges and refunds
	denies bool // answers queries with 404
}

func newForgetful(t *testing.T, upstream *providertest.Upstream) *forgetful {
	f := &forgetful{calls: map[string]int{}}
	f.Server = providertest.StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// asked returns the number of charges and refunds since its last call.
func (f *forgetful) asked() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.calls {
		n += k
	}
	clear(f.calls)
	return n
}

// putBack begins a recovery, which closes the service: as if a backup of this moment was restored.
func putBack(t *testing.T, s *harness.Instance) {
	t.Helper()
	_, err := s.App.Recovery.BeginRecovery(ctx, s.App.Now().Add(-time.Second), s.App.Now())
	harness.Must(t, err)
}

const listColumns = "reference,provider_reference,refund_reference,refund_provider_reference,type,amount,currency\n"

// readList reads a provider's list of the lost time into the service; lines has no header.
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

// endRecovery marks the accounts without a list as covered and ends the recovery.
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

// A charge was on its way when the backup was made. The provider's list has it, but the provider's
// answers deny it. The shopper is not charged again, neither there nor elsewhere.
func TestChargeThatAListHasIsNotMadeAgain(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("paid")
		second.Next("paid")
		door := newForgetful(t, first)
		s.OpenAccount(t, "first", first, func(n *accounts.NewAccount) { n.Priority, n.BaseURL = 1, door.URL })
		s.OpenAccount(t, "second", second)
		live := s.NewShop(t).Production()
		door.is(true, true)
		live.Post(t, "/payments", live.PixOrder(t))
		id := live.Get(t, "/payments").Text(t, "data.0.id")
		if got := live.Get(t, "/payments/"+id).Text(t, "status"); got != "processing" || door.asked() != 1 {
			t.Fatalf("the payment is %s, want processing after one charge", got)
		}
		putBack(t, s)
		reference := strings.TrimPrefix(id, pay.PaymentPrefix) + "-1"
		if done := readList(t, s, "first", reference+",up-"+reference+",,,charge,54.00,BRL\n"); done.Known != 1 {
			t.Fatalf("reading the list returns %+v, want one known line", done)
		}
		endRecovery(t, s)
		for range 5 {
			s.Clock.Advance(10 * time.Minute)
			_, err := s.App.Cascade.Sweep(ctx)
			harness.Must(t, err)
		}
		if n := door.asked(); n > 0 || len(second.Charges()) > 0 {
			t.Errorf("the payment was charged %d times again, and at the second provider as %v", n, second.Charges())
		}
		door.is(false, false)
		s.Sweep(t, "the payment is completed", func() bool {
			s.Clock.Advance(10 * time.Minute)
			return live.Get(t, "/payments/"+id).Text(t, "status") == "completed"
		})
	})
}

// Payments of the lost time are found by the requests that are repeated, and nobody is charged again: a payment, and one that
// a shopper chose in a checkout.
func TestLostPaymentIsFoundByItsRequest(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		upstream := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "first", upstream)
		live := s.NewShop(t).Production()
		mark := func(about string) string { return string(base.MarkAbout(s.Vault, about)) }
		lost := func(about string) string {
			return id.Marked(s.App.NewID("", s.App.Now().Add(-time.Second)), mark(about))
		}
		in := "production|" + live.Shop.ID + "|"
		direct := lost(in + "POST /payments|order-1")
		chosen := lost("chosen|" + mark(in+"POST /checkout/sessions|order-2"))
		putBack(t, s)
		if done := readList(t, s, "first", direct+"-1,up-1,,,charge,54.00,BRL\n"+chosen+"-1,up-2,,,charge,54.00,BRL\n"); len(done.Found) != 2 {
			t.Fatalf("reading the list returns %+v, want two charges that are not known", done)
		}
		endRecovery(t, s)
		if got := live.Post(t, "/payments", live.PixOrder(t), "Idempotency-Key: order-1").Text(t, "transactionId"); got != pay.PaymentPrefix+direct {
			t.Errorf("the repeated request made %s, want %s", got, pay.PaymentPrefix+direct)
		}
		session := live.Post(t, "/checkout/sessions", `{"amount":10,"country":"BRA","customer":{"firstName":"Ana","lastName":"Lima","email":"ana@shopper.example","phone":"+5511987654321"}}`, "Idempotency-Key: order-2").Text(t, "checkoutUrl")
		token := session[strings.LastIndex(session, "/")+1:]
		got := harness.Client{Instance: s}.Post(t, "/checkout/sessions/"+token+"/select", `{"paymentMethodId":"`+harness.Method(t, live, "BRA", "pix")+`","customer":{"email":"ana@shopper.example","fullName":"Ana Lima","documentId":"52998224725"}}`)
		if got := got.Text(t, "transactionId"); got != pay.PaymentPrefix+chosen {
			t.Errorf("the customer's choice made %s, want %s", got, pay.PaymentPrefix+chosen)
		}
		if n := len(upstream.Charges()); n > 0 {
			t.Errorf("%d more charges were made", n)
		}
	})
}

// A refund was made in the lost time. The provider's list has it, but its answers deny it.
func TestRefundThatAListHasIsNotMadeAgain(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		upstream := providertest.NewUpstream(t, "key-1")
		upstream.Next("paid")
		door := newForgetful(t, upstream)
		s.OpenAccount(t, "first", upstream, func(n *accounts.NewAccount) { n.BaseURL = door.URL })
		live := s.NewShop(t).Production()
		id := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		suffix := strings.TrimPrefix(id, pay.PaymentPrefix)
		other := "01M87MNA0QAZ0TKKXMKBXETPR4" // id of the refund's claim
		putBack(t, s)
		door.asked()
		door.is(false, true)
		if done := readList(t, s, "first", suffix+"-1,,"+other+"-1,up-refund,refund,10.00,BRL\n"); done.Regained != 1 {
			t.Fatalf("reading the list returns %+v, want one regained refund", done)
		}
		endRecovery(t, s)
		for range 5 {
			s.Clock.Advance(2 * time.Hour)
			_, err := s.App.Claims.Sweep(ctx)
			harness.Must(t, err)
		}
		if n := door.asked(); n > 0 {
			t.Errorf("the payment was refunded %d times again", n)
		}
		if got := live.Claims(t, id); got != "pending" {
			t.Errorf("the payment's claims are %q, want pending", got)
		}
	})
}

// The operator gave late money back in the lost time. In the backup the inquiry is still pending.
// The operator resolves it again, and the shopper does not get the money twice.
func TestLateMoneyThatAListHasGivenBackIsNotGivenBackAgain(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("soft")
		second.Next("paid")
		door := newForgetful(t, first)
		s.OpenAccount(t, "first", first, func(n *accounts.NewAccount) { n.Priority, n.BaseURL = 1, door.URL })
		s.OpenAccount(t, "second", second)
		live := s.NewShop(t).Production()
		id := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		s.TellUpstream(t, first, id, 1, "paid", "first-hush").Want(t, http.StatusOK)
		list, err := s.App.Claims.AnyList(ctx, pay.ClaimPending, pay.Inquiry, 10)
		harness.Must(t, err)
		if len(list) != 1 {
			t.Fatalf("want one inquiry, got %v", list)
		}
		putBack(t, s)
		door.asked()
		suffix, claim := strings.TrimPrefix(id, pay.PaymentPrefix), strings.TrimPrefix(list[0].ID, pay.ClaimPrefix)
		readList(t, s, "first", suffix+"-1,,"+claim+"-1,up-refund,refund,54.00,BRL\n")
		endRecovery(t, s)
		s.Clock.Advance(2 * time.Minute) // no call is on its way any more
		c, err := harness.DecideClaim(s.App, list[0].ID, pay.Approve, "paid twice")
		harness.Must(t, err)
		if c.Status != pay.ClaimApproved {
			t.Errorf("the operator approved the inquiry, and it is %s", c)
		}
		for range 5 {
			s.Clock.Advance(2 * time.Hour)
			_, err := s.App.Claims.Sweep(ctx)
			harness.Must(t, err)
		}
		if n := door.asked(); n > 0 {
			t.Errorf("the payment was refunded %d times again", n)
		}
	})
}

// A withdrawal that waits in the backup was paid in the lost time. The bank's list has it, but its
// answers deny it. It is not paid again.
func TestPayoutThatAListHasIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		id := o.Withdraw(t, "100")
		w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		harness.Must(t, err)
		reference := strings.TrimPrefix(id, pay.WithdrawalPrefix)
		putBack(t, o.Instance)
		b.Behave(nil, func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutMissing}
		})
		if done := readList(t, o.Instance, "bank-1", reference+",bank-1,,,payout,"+w.Local.Decimal()+",MXN\n"); done.Regained != 1 {
			t.Fatalf("reading the list returns %+v, want one regained payout", done)
		}
		endRecovery(t, o.Instance)
		for range 5 {
			o.Clock.Advance(2 * time.Hour)
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
		}
		if sends, _, _ := b.Sent(id); sends > 0 {
			t.Errorf("the withdrawal was sent %d times again", sends)
		}
		b.Behave(nil, func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-1"}
		})
		o.Clock.Advance(2 * time.Hour)
		o.PayOut(t, id, "completed")
	})
}

// In the backup a withdrawal is with one bank. In the lost time that bank did not pay, and another
// one paid. The other bank's list has the payout, so it is not sent again.
func TestPayoutThatWentOnInTheLostTimeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		o.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-2", Priority: 9})
		silent := func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		}
		b.Behave(silent, silent)
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
		harness.Must(t, err)
		reference := strings.TrimPrefix(id, pay.WithdrawalPrefix)
		putBack(t, o.Instance)
		sent := 0
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			sent++
			return pay.PayoutOutcome{Kind: pay.PayoutPaid}
		}, func(_ *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			if r.Reference == reference {
				return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
			}
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "bank-2"}
		})
		if done := readList(t, o.Instance, "bank-2", reference+"-2,bank-2,,,payout,"+w.Local.Decimal()+",MXN\n"); done.Regained != 1 {
			t.Errorf("reading the list returns %+v, want one regained payout", done)
		}
		endRecovery(t, o.Instance)
		o.Clock.Advance(2 * time.Hour)
		o.PayOut(t, id, "completed")
		if w, err = o.App.Payouts.Withdrawal(ctx, w.Scope, id); err != nil || w.Payout.Provider != "bank-2" || sent > 0 {
			t.Errorf("the withdrawal is with %s (%v), want bank-2; it was sent %d times again", w.Payout.Provider, err, sent)
		}
	})
}

// The restored backup was made while the service was closed for a recovery and an account was
// covered already. Later the service opened and made charges: nothing of that time is known, so the
// account is uncovered again.
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
				t.Errorf("after the second restore the service is %s, want closed; the lost time is %s to %s (before: %s to %s); uncovered are %v, want the one account", now.State, now.From, now.To, before.From, before.To, now.Uncovered)
			}
			if _, err := s.App.Recovery.EndRecovery(ctx, false, ""); err == nil {
				t.Error("the recovery ended with an uncovered account")
			}
		}
		endRecovery(t, s)
	})
}
