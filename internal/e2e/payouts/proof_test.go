package payouts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	providerpayouts "github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
)

// Somebody changes a payout in the database before it leaves: what arrives, the fee, the rate, the wallet, or the wallet's
// destination. Nothing is sent. The operator reads why, and the check names the row. The row stays as it is; once it is put
// right, the payout leaves with its own amount.
func TestPayoutIsProvedBeforeItLeaves(t *testing.T) {
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		exec, closeDB := o.Exec(t)
		defer closeDB()
		query, closeQuery := o.Open(t)
		defer closeQuery()
		other := o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"002115016003269411"}`)
		o.Clock.Advance(time.Second)
		for _, c := range []struct{ table, column, change string }{
			{"withdrawals", "doc", "replace(doc, '\"local\":', '\"local\":67')"},
			{"withdrawals", "doc", "replace(doc, '\"rate\":\"1', '\"rate\":\"8')"},
			{"withdrawals", "doc", "replace(doc, '\"currency\":\"MXN\"', '\"currency\":\"USD\"')"},
			{"withdrawals", "amount", "amount + 1"},
			{"withdrawals", "fee", "fee - 1"},
			{"withdrawals", "wallet", "'" + other + "'"},
			{"withdrawals", "row_hash", "''"},
			{"wallets", "fingerprint", "fingerprint || 'x'"},
			{"wallets", "doc", "(SELECT o.doc FROM wallets AS o WHERE o.id = '" + other + "')"},
		} {
			id := o.Withdraw(t, "37")
			row := id
			if c.table == "wallets" {
				row = query("SELECT wallet FROM withdrawals WHERE id = '" + id + "'")[0]
			}
			was := query(fmt.Sprintf("SELECT %s FROM %s WHERE id = '%s'", c.column, c.table, row))[0]
			exec(fmt.Sprintf("UPDATE %s SET %s = %s WHERE id = '%s'", c.table, c.column, c.change, row))
			if is := query(fmt.Sprintf("SELECT %s FROM %s WHERE id = '%s'", c.column, c.table, row))[0]; is == was {
				t.Fatalf("%s.%s is still %s", c.table, c.column, was)
			}
			o.Clock.Advance(pay.WithdrawalHold(true))
			for range 2 {
				_, err := o.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
			}
			if sends, _, _ := b.Sent(id); sends != 0 {
				t.Errorf("%s.%s was changed to %s, and the payout was sent", c.table, c.column, c.change)
			}
			if c.table == "withdrawals" && c.column != "wallet" { // nor is anything given back
				before := harness.Available(t, o)
				scope := merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}
				_, canceled := o.App.Payouts.CancelWithdrawal(ctx, base.Principal{}, scope, id)
				_, approved := o.App.Payouts.ApproveWithdrawal(ctx, carla, id, "it looks right")
				if !errors.Is(canceled, store.ErrNotProved) || !errors.Is(approved, store.ErrNotProved) || harness.Available(t, o) != before {
					t.Errorf("%s.%s was changed, and it may be canceled (%v) and approved (%v)", c.table, c.column, canceled, approved)
				}
			}
			list, err := o.App.Payouts.WaitingWithdrawals(ctx, 10)
			harness.Must(t, err)
			if !slices.ContainsFunc(list, func(w pay.Withdrawal) bool { return w.ID == id && w.Waiting == string(pay.WaitsProof) }) {
				t.Errorf("%s.%s was changed, and the operator reads %+v", c.table, c.column, list)
			}
			broken, err := o.App.Check(ctx)
			harness.Must(t, err)
			named := map[string]bool{}
			for _, f := range broken {
				named[strings.TrimPrefix(f.ID, "withdrawals ")] = true
			}
			if !named[row] || !named[id] {
				t.Errorf("%s.%s was changed, and the check finds %v", c.table, c.column, broken)
			}
			o.Log.Extract(t, "rows of due work cannot be")
			value := any(was)
			if c.column == "amount" || c.column == "fee" {
				var n int64
				_, err := fmt.Sscan(was, &n)
				harness.Must(t, err)
				value = n
			}
			exec(fmt.Sprintf("UPDATE %s SET %s = $1 WHERE id = $2", c.table, c.column), value, row)
			o.Clock.Advance(time.Hour)
			r := o.PayOut(t, id, "completed")
			if _, paid, _ := b.Sent(id); paid.Local.String() != r.Text(t, "payout.amount")+" MXN" && paid.Local.Minor == 0 {
				t.Errorf("the withdrawal says %s, and %s was paid", r, paid.Local)
			}
		}
	})
}

// The cool-down of a wallet ends while withdrawals to it wait for their turn at the account. They are sent all the same, and do not
// wait for the end of their leases.
func TestWalletThatChangesMeanwhileDelaysNoPayout(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		const count = 20 // more than an account gets at a time
		b, clock, log := harness.NewPayer(), &harness.Clock{}, &harness.Faults{}
		a := harness.NodeOf(t, database, clock, log, func(config *app.Config) { config.SandboxPayout = b })
		who := harness.Acme(t, a)
		scope, err := a.Narrow(ctx, who, "", "")
		harness.Must(t, err)
		_, err = a.Adjustments.Make(ctx, a.Self(), settlements.NewAdjustment{
			Merchant: scope.Merchant, Amount: money.New(1_000_00, money.USD), Reason: pay.ForGoodwill, Note: "a test", Reference: "funds",
		})
		harness.Must(t, err)
		_, err = a.Wallets.Add(ctx, who, scope, payouts.NewWallet{CoolDown: true, Destination: destination.Destination{
			Type: "bank_account", Network: "spei", Currency: "MXN", Account: harness.CLABE, Masked: "…9719",
		}})
		harness.Must(t, err)
		clock.Advance(pay.WalletCoolDown)
		for range count {
			_, _, err := a.Payouts.Withdraw(ctx, who, scope, payouts.NewWithdrawal{Amount: money.New(20_00, money.USD)})
			harness.Must(t, err)
		}
		clock.Advance(pay.WithdrawalHold(false))
		hold := make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		defer release() // the node waits for its calls when it ends
		b.Behave(func(b *harness.Payer, r providerpayouts.Request) pay.PayoutOutcome {
			<-hold
			return b.Pay(r)
		}, nil)
		var begun sync.WaitGroup
		leased, err := a.Payouts.HandOut(ctx, &begun)
		harness.Must(t, err)
		if leased != count {
			t.Fatalf("%d withdrawals are handed out, want %d", leased, count)
		}
		with := func(status pay.WithdrawalStatus) (n int) {
			list, _, err := a.Payouts.Withdrawals(ctx, scope, lists.WithdrawalFilter{Page: lists.Page{Limit: count}})
			harness.Must(t, err)
			for _, w := range list {
				if w.Status == status {
					n++
				}
			}
			return n
		}
		harness.Eventually(t, "the first withdrawals are sent", func() bool { return with(pay.WithdrawalProcessing) >= 8 })
		if n := with(pay.WithdrawalPending); n == 0 {
			t.Fatal("no withdrawal waits for its turn")
		}
		ended, err := a.Wallets.Activate(ctx)
		harness.Must(t, err)
		if ended != 1 {
			t.Fatalf("%d cool-downs end, want 1", ended)
		}
		release()
		begun.Wait()
		if n := with(pay.WithdrawalDone); n != count {
			t.Errorf("%d of %d withdrawals have arrived", n, count)
		}
		harness.Sound(t, a, log)
	})
}
