package payouts

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
)

// sandboxes returns two merchants whose sandboxes withdraw by a payout account.
func sandboxes(t *testing.T, s *harness.Instance, account accounts.NewAccount) (list []harness.Client) {
	t.Helper()
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), account)
	harness.Must(t, err)
	s.Rate(t, "MXN 18.35")
	for range 2 {
		o := s.NewShop(t)
		o.Fund(t, false, 1_000_00)
		o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
		list = append(list, o)
	}
	s.Clock.Advance(time.Second)
	return list
}

// empty empties a merchant's sandbox. The books hold after each pass.
func empty(t *testing.T, o harness.Client) {
	t.Helper()
	_, err := o.App.Sandbox.Reset(ctx, o.App.Self(), merchants.Scope{Merchant: o.Merchant.ID})
	harness.Must(t, err)
	harness.Eventually(t, "the sandbox is empty", func() bool {
		o.Clock.Advance(merchants.ResetCloses)
		if err := o.App.Sandbox.EmptySandboxes(ctx); err != nil { // the service's own pass may have deleted what this one read
			t.Log(err)
			return false
		}
		o.Clean(t)
		r, err := o.App.Sandbox.ResetOf(ctx, o.Merchant.ID)
		harness.Must(t, err)
		return !r.Running()
	})
	o.Clock.Advance(6 * time.Second) // what nodes remember of it
}

// A sandbox that is emptied gives back what its withdrawals hold of the operator's float: of those that were paid, and of
// one that the provider has not answered, whose answer comes later and finds nothing. The other merchant's part stays.
func TestResetGivesTheFloatBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		b := harness.NewPayer()
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.Adapters, c.WalletCoolDown = append(c.Adapters, b.Adapter()), time.Millisecond
		})
		list := sandboxes(t, s, accounts.NewAccount{ID: "bank-1", Adapter: "bank"})
		mine, other := list[0], list[1]
		topUp(t, mine, "bank-1", "TED-1", money.New(10_000_00, "MXN"))
		paid, kept := mine.Withdraw(t, "103"), other.Withdraw(t, "53")
		s.Clock.Advance(pay.WithdrawalHold(false))
		mine.PayOut(t, paid, "completed")
		other.PayOut(t, kept, "completed")
		b.Behave(unknownPayer, func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		})
		open := mine.Withdraw(t, "53")
		s.Clock.Advance(pay.WithdrawalHold(false))
		mine.PayOut(t, open, "processing")
		float(t, mine, "bank-1", "MXN", "633000 free, 91750 committed, 275250 paid")
		empty(t, mine)
		float(t, mine, "bank-1", "MXN", "908250 free, 0 committed, 91750 paid")
		late := pay.PayoutNotice{ID: "late", Reference: open[len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid}}
		for range 2 {
			if got := bankTells(t, s, "bank-1", "bank", late); got != 200 && got != 404 {
				t.Errorf("a late notification gets %d", got)
			}
		}
		float(t, mine, "bank-1", "MXN", "908250 free, 0 committed, 91750 paid")
		other.PayOut(t, kept, "completed")
		empty(t, mine) // again, at once
		s.Clean(t)
	})
}

// An exported batch loses the lines of a sandbox that is emptied: what the bank answers for them finds nothing. A batch
// whose file has not left is dissolved, because the file has them: else payouts that are gone would leave with it.
func TestResetLeavesTheBatch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.WalletCoolDown = time.Millisecond })
		list := sandboxes(t, s, accounts.NewAccount{ID: "banco", Adapter: "bank-file", Credentials: map[string]string{"layout": "csv"}})
		mine, other := list[0], list[1]
		made := func(amount string, of ...harness.Client) pay.Batch {
			t.Helper()
			for _, o := range of {
				id := o.Withdraw(t, amount)
				s.Clock.Advance(pay.WithdrawalHold(false))
				o.PayOut(t, id, "processing")
			}
			batches, err := s.App.Batches.Make(ctx, carla, "banco")
			harness.Must(t, err)
			if len(batches) != 1 {
				t.Fatalf("the batches are %+v", batches)
			}
			return batches[0]
		}
		export := func(b pay.Batch) (file []byte, err error) {
			t.Helper()
			if _, err = s.App.Batches.Approve(ctx, bruno, b.ID); err == nil {
				file, _, err = s.App.Batches.Export(ctx, bruno, b.ID)
			}
			return file, err
		}
		sent := made("103", mine, other)
		file, err := export(sent)
		harness.Must(t, err)
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		harness.Must(t, err)
		shared := made("23", mine, other)
		empty(t, mine)
		for id, want := range map[string]string{sent.ID: "exported 1 1835.00 MXN", shared.ID: "dissolved 2 734.00 MXN"} {
			b, err := s.App.Store.Batches().Get(ctx, id)
			harness.Must(t, err)
			if got := fmt.Sprintf("%s %d %s", b.Status, b.Lines, b.Total); got != want {
				t.Errorf("batch %d is %s, want %s", b.Number, got, want)
			}
		}
		if file, err := export(shared); err == nil {
			t.Errorf("a file leaves with a payout that is gone:\n%s", file)
		}
		if file, err = export(made("23")); err != nil || strings.Count(string(file), "367.00") != 1 {
			t.Errorf("the next file (%v) is\n%s", err, file)
		}
		answer := "reference,status,amount,currency,bank_reference\n"
		for _, row := range rows[1:] {
			answer += row[0] + ",paid,1835.00,MXN,E-" + row[0] + "\n"
		}
		done, err := s.App.Batches.ImportAnswers(ctx, carla, "banco", []byte(answer))
		harness.Must(t, err)
		if done.Paid != 1 || len(done.Strange) != 1 {
			t.Errorf("the bank's answer does %+v", done)
		}
		s.Clean(t)
	})
}

// A sandbox that cannot be emptied holds up no other, and each that fails is named.
func TestABrokenSandboxHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.WalletCoolDown = time.Millisecond })
		list := sandboxes(t, s, accounts.NewAccount{ID: "banco", Adapter: "bank-file", Credentials: map[string]string{"layout": "csv"}})
		broken, well := list, s.NewShop(t)
		well.Fund(t, false, 1_000_00)
		exec, closeDB := s.Exec(t)
		defer closeDB()
		s.Log.Expect("empty the sandbox of ")
		s.Log.Expect("rows of due work cannot be read") // the payouts' loop may find them before they are hashed again
		s.Clock.Freeze()                                // the loop makes no pass yet
		for i, o := range broken {
			id := o.Withdraw(t, "53")
			exec(fmt.Sprintf("UPDATE withdrawals SET batch = 'bat_gone%d' WHERE id = '%s'", i, id))
		}
		harness.Rehash(t, s, "withdrawals")
		for _, o := range append(broken, well) { // in this order
			s.Clock.Advance(time.Millisecond)
			_, err := s.App.Sandbox.Reset(ctx, s.App.Self(), merchants.Scope{Merchant: o.Merchant.ID})
			harness.Must(t, err)
		}
		running := func(o harness.Client) bool {
			r, err := s.App.Sandbox.ResetOf(ctx, o.Merchant.ID)
			harness.Must(t, err)
			return r.Running()
		}
		named := false
		harness.Eventually(t, "the sandbox that is well is empty, and an error names both that failed", func() bool {
			s.Clock.Advance(merchants.ResetLease)
			err := fmt.Sprint(s.App.Sandbox.EmptySandboxes(ctx))
			named = named || strings.Contains(err, broken[0].Merchant.ID) && strings.Contains(err, broken[1].Merchant.ID)
			return named && !running(well)
		})
		if !running(broken[0]) || !running(broken[1]) {
			t.Error("a sandbox that cannot be emptied says that it is")
		}
		exec("UPDATE withdrawals SET batch = ''") // the operator mends it
		for _, o := range broken {
			empty(t, o)
		}
		s.Clean(t)
	})
}

// ofOperators are what operators do to a sandbox: decisions on a payment, a dispute and withdrawals, and batches.
func ofOperators(s *harness.Instance, o harness.Client, payment, claim, withdrawal, waits, verification string) map[string]func() error {
	rule := func(id string, word pay.Word) base.Resolution {
		return base.Resolution{ID: id, Word: word, Note: "their books", Force: true}
	}
	return map[string]func() error{
		"resolve a payment": func() error { _, _, err := s.App.Payments.Resolve(ctx, carla, rule(payment, pay.WordPaid)); return err },
		"resolve a dispute": func() error {
			_, err := s.App.Claims.Resolve(ctx, carla, claims.Resolution{ID: claim, Word: pay.Approve, Note: "lost"})
			return err
		},
		"resolve a withdrawal": func() error {
			_, _, err := s.App.Payouts.ResolveWithdrawal(ctx, carla, rule(withdrawal, pay.WordNotPaid))
			return err
		},
		"show a withdrawal":    func() error { _, err := s.App.Payouts.RevealWithdrawal(ctx, carla, waits); return err },
		"approve a withdrawal": func() error { _, err := s.App.Payouts.ApproveWithdrawal(ctx, carla, waits, "known"); return err },
		"decide on papers": func() error {
			return s.App.Verifications.Decide(ctx, carla, verification, merchants.KYCVerified, "", "")
		},
		"limit its payouts": func() error {
			_, err := s.App.Payouts.LimitPayouts(ctx, carla, o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.Days = "" })
			return err
		},
		"make a batch": func() error {
			made, err := s.App.Batches.Make(ctx, carla, "banco")
			for _, b := range made {
				if _, _, err := s.App.Batches.Get(ctx, b.ID); err != nil {
					return err
				}
			}
			return err
		},
	}
}

// What operators do to a sandbox while it is emptied, between any two steps, is done or refused, and is never a fault. It
// holds nothing up, goes with the sandbox, and finds nothing afterwards. A batch takes no withdrawal of that sandbox, and
// those of other merchants leave (SBX-16).
func TestOperatorsWorkWhileASandboxIsEmptied(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.WalletCoolDown = time.Millisecond })
		list := sandboxes(t, s, accounts.NewAccount{ID: "banco", Adapter: "bank-file", Credentials: map[string]string{"layout": "csv"}})
		mine, other := list[0], list[1]
		withdrawn := func(o harness.Client) string {
			t.Helper()
			id := o.Withdraw(t, "53")
			s.Clock.Advance(pay.WithdrawalHold(false))
			o.PayOut(t, id, "processing")
			return id
		}
		_, claim := mine.Dispute(t, false)
		pix := mine.Create(t, `{"amount":10,"documentId":"52998224725","paymentMethodId":"sbx_pix"}`)
		papers := mine.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		first, theirs := withdrawn(mine), withdrawn(other)
		acts := ofOperators(s, mine, pix, claim, first, mine.Withdraw(t, "23"), papers)
		_, err := s.App.Sandbox.Reset(ctx, s.App.Self(), merchants.Scope{Merchant: mine.Merchant.ID})
		harness.Must(t, err)
		names, step := slices.Sorted(maps.Keys(acts)), 0
		done := map[string]bool{}
		act := func() error {
			name := names[step%len(names)]
			step++
			switch err := acts[name](); {
			case err == nil:
				done[name] = true
			case !refused(err):
				t.Errorf("to %s while the sandbox is emptied is a fault: %v", name, err)
			}
			return nil
		}
		for range names { // before the first pass
			harness.Must(t, act())
		}
		for _, name := range []string{"resolve a payment", "resolve a dispute", "make a batch"} {
			if !done[name] {
				t.Errorf("to %s before the first pass is refused", name)
			}
		}
		b, err := s.App.Payouts.Store.Withdrawals().Any(ctx, theirs)
		harness.Must(t, err)
		if batched, _, err := s.App.Batches.Get(ctx, b.Payout.Batch); err != nil || batched.Lines != 1 {
			t.Errorf("the batch of the other merchant's withdrawal is %+v (%v), want its line alone", batched, err)
		}
		harness.Eventually(t, "the sandbox is empty", func() bool {
			_, err := s.App.Store.EmptySandbox(ctx, mine.Merchant.ID, s.Clock.Now(), act)
			harness.Must(t, err)
			s.Clean(t)
			s.Clock.Advance(merchants.ResetCloses)
			harness.Must(t, s.App.Sandbox.EmptySandboxes(ctx))
			r, err := s.App.Sandbox.ResetOf(ctx, mine.Merchant.ID)
			harness.Must(t, err)
			return !r.Running()
		})
		for _, name := range names {
			if err := acts[name](); err == nil && name != "make a batch" && name != "limit its payouts" {
				t.Errorf("to %s after the reset is done", name)
			} else if err != nil && !refused(err) {
				t.Errorf("to %s after the reset is a fault: %v", name, err)
			}
		}
		query, closeDB := s.Open(t)
		defer closeDB()
		for _, table := range []string{"payments", "claims", "transfers", "balances", "withdrawals", "wallets", "events", "verifications"} {
			if n := query("SELECT count(*) FROM " + table + " WHERE NOT live AND merchant = '" + mine.Merchant.ID + "'")[0]; n != "0" {
				t.Errorf("%s has %s rows of the sandbox after the reset", table, n)
			}
		}
		other.PayOut(t, theirs, "processing")
		s.Clean(t)
	})
}

// refused reports whether an operator is told why nothing was done: it is no fault.
func refused(err error) bool {
	_, shown := errors.AsType[*problem.Error](err)
	return shown || errors.Is(err, store.ErrNotFound)
}
