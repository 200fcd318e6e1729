package claims

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// cashier is a payout provider whose answers come from the test.
type cashier struct {
	send, query func() pay.PayoutOutcome
	meter       base.Meter
}

func (c cashier) Send(context.Context, providerpayouts.Request) pay.PayoutOutcome { return c.send() }

func (c cashier) Query(context.Context, providerpayouts.Request) pay.PayoutOutcome { return c.query() }

// fund gives a merchant 100 USD in available.
func fund(t *testing.T, database string, secrets *vault.Vault, scope merchants.Scope, at time.Time) {
	t.Helper()
	db, err := store.Open(ctx, database, store.Options{SealKey: secrets.Key("blocks")})
	harness.Must(t, err)
	harness.Must(t, db.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{{
		ID: "tr_fund", Merchant: scope.Merchant, Kind: "funding", Local: money.New(100_00, money.USD), At: at,
		Postings: []ledger.Posting{{Account: ledger.Receivable, Amount: -100_00}, {Account: ledger.Available, Amount: 100_00}},
	}}}))
	db.Close()
}

// withdrawal returns a node that pays out through the cashier, and a withdrawal that is due.
func (c cashier) withdrawal(t *testing.T) (stage, *app.App, pay.Withdrawal) {
	t.Helper()
	s := newStage(t)
	a := harness.NodeOf(t, s.database, s.clock, s.log, func(config *app.Config) { config.SandboxPayout, config.Meter = c, c.meter })
	who := harness.Acme(t, a)
	scope, err := a.Narrow(ctx, who, "", "")
	harness.Must(t, err)
	fund(t, s.database, a.Vault, scope, s.clock.Now())
	wallet, err := a.Wallets.Add(ctx, who, scope, payouts.NewWallet{Destination: destination.Destination{
		Type: "bank_account", Network: "spei", Currency: "MXN", Account: harness.CLABE, Masked: "…9719",
	}})
	harness.Must(t, err)
	w, _, err := a.Payouts.Withdraw(ctx, who, scope, payouts.NewWithdrawal{Wallet: wallet.ID, Amount: money.New(50_00, money.USD)})
	harness.Must(t, err)
	s.clock.Advance(time.Minute)
	return s, a, w
}

// The operator resolves a withdrawal as paid while its call is on its way. Then the call is rejected.
// The log must report the contradiction.
func TestRejectionAfterTheOperatorsPaidIsLogged(t *testing.T) {
	reached, answers := make(chan struct{}), make(chan struct{})
	s, a, w := cashier{
		send: func() pay.PayoutOutcome {
			close(reached)
			<-answers
			return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
		},
		query: func() pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutUnknown} },
	}.withdrawal(t)
	var all sync.WaitGroup
	all.Go(func() { _, _ = a.Payouts.PayOut(ctx) })
	harness.Soon(t, "the call that the test holds to begin", reached)
	_, _, err := a.Payouts.ResolveWithdrawal(ctx, ana, base.Resolution{ID: w.ID, Word: pay.WordPaid, Note: "it is in their list"})
	harness.Must(t, err)
	close(answers)
	all.Wait()
	got, err := a.Payouts.Withdrawal(ctx, w.Scope, w.ID)
	harness.Must(t, err)
	if got.Status != pay.WithdrawalDone || s.log.Empty() {
		t.Errorf("the provider rejected the withdrawal after the operator's word; it is %s, want completed and an error in the log", got.Status)
	}
}

// The payout provider accepts a withdrawal, and then does not answer a query. It still counts as
// accepted, so the operator cannot resolve it as not paid.
func TestSilenceDoesNotUndoThatAPayoutWasTaken(t *testing.T) {
	asked := 0
	s, a, w := cashier{
		send: func() pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "po_1"} },
		query: func() pay.PayoutOutcome {
			if asked++; asked == 1 {
				return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
			}
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "po_1"}
		},
	}.withdrawal(t)
	_, err := a.Payouts.PayOut(ctx)
	harness.Must(t, err)
	s.clock.Advance(time.Minute)
	err = notPaid(ctx, a, w)
	if err == nil {
		t.Error("the operator resolves a withdrawal as not paid that the provider accepted")
	}
	for range 50 {
		s.clock.Advance(6 * time.Hour)
		_, err = a.Payouts.PayOut(ctx)
		harness.Must(t, err)
	}
	if got, err := a.Payouts.Withdrawal(ctx, w.Scope, w.ID); err != nil || got.Status != pay.WithdrawalDone {
		t.Errorf("the provider paid, but the withdrawal is %s with the error %v", got.Status, err)
	}
}

// The operator's question counts like a sweep's: in the metric, and for whether the account answers.
func TestOperatorsQuestionAboutAPayoutIsMeasured(t *testing.T) {
	counted := map[string]int{}
	_, a, w := cashier{
		send:  func() pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "po_1"} },
		query: func() pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutUnknown} },
		meter: base.Meter{Called: func(account, operation, outcome string, _ time.Duration) {
			counted[account+" "+operation+" "+outcome]++
		}},
	}.withdrawal(t)
	_, err := a.Payouts.PayOut(ctx)
	harness.Must(t, err)
	for range 5 {
		if err = notPaid(ctx, a, w); err == nil {
			t.Fatal("the operator resolves a withdrawal as not paid that the provider accepted")
		}
	}
	if counted["simulated query_payout unknown"] != 5 || a.Payouts.Silent() != 1 {
		t.Errorf("five questions without an answer are counted as %v, and %d accounts are silent, want 1", counted, a.Payouts.Silent())
	}
}

// An operator who leaves before the answer proves nothing about the account: other withdrawals are still asked about.
func TestQuestionThatNobodyWaitsForProvesNothing(t *testing.T) {
	leave := func() {}
	_, a, w := cashier{
		send: func() pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "po_1"} },
		query: func() pay.PayoutOutcome {
			leave()
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		},
	}.withdrawal(t)
	_, err := a.Payouts.PayOut(ctx)
	harness.Must(t, err)
	for range 5 {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		leave = cancel
		if err = notPaid(asking, a, w); err == nil {
			t.Fatal("the operator resolves a withdrawal as not paid that the provider accepted")
		}
	}
	if n := a.Payouts.Silent(); n != 0 {
		t.Errorf("%d accounts count as silent after five questions whose askers left, want 0", n)
	}
}
