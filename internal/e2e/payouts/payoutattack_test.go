package payouts

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// twoBanks returns the client of a merchant with two bank-file accounts: banco pays up to 60 USD,
// banco2 the rest. The wallet is active and 1,000 USD are available.
func twoBanks(t *testing.T, database string, configure ...func(*daemon.Config)) harness.Client {
	t.Helper()
	s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
		c.WalletCoolDown = time.Millisecond
		for _, f := range configure {
			f(c)
		}
	})
	s.Rate(t, "MXN 18.35", "BRL 5.4")
	csv := map[string]string{"layout": "csv"}
	s.PayOutBy(t, "bank-file", appaccounts.NewAccount{ID: "banco", Credentials: csv, Terms: []accounts.RailTerms{{Limits: []accounts.Limit{{Currency: "USD", Min: 1, Max: 60_00}}}}})
	s.PayOutBy(t, "bank-file", appaccounts.NewAccount{ID: "banco2", Credentials: csv, Priority: 9})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	s.Clock.Advance(time.Second)
	return o
}

func exported(t *testing.T, o harness.Client, account string) (pay.Batch, string) {
	t.Helper()
	made, err := o.App.Batches.Make(ctx, carla, account)
	harness.Must(t, err)
	if len(made) != 1 {
		t.Fatalf("the batches are %+v, want one", made)
	}
	_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
	harness.Must(t, err)
	file, b, err := o.App.Batches.Export(ctx, bruno, made[0].ID)
	harness.Must(t, err)
	return b, string(file)
}

// An answer about bank 2's file (pain.002: the whole file is refused) is imported for bank 1's account
// by mistake. It must not end what bank 1 pays.
func TestAnswerOfAnotherAccountsFileEndsNothing(t *testing.T) {
	t.Parallel()
	o := twoBanks(t, dbtest.SQLite(t))
	small, large := o.Withdraw(t, "50"), o.Withdraw(t, "100")
	o.Clock.Advance(pay.WithdrawalHold(true))
	o.PayOut(t, small, "processing")
	o.PayOut(t, large, "processing")
	exported(t, o, "banco")
	b2, _ := exported(t, o, "banco2")
	answer := `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"><CstmrPmtStsRpt><GrpHdr><MsgId>X1</MsgId><CreDtTm>2026-11-23T10:00:00</CreDtTm></GrpHdr><OrgnlGrpInfAndSts><OrgnlMsgId>` + strings.TrimPrefix(b2.ID, pay.BatchPrefix) + `</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.03</OrgnlMsgNmId><GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>AM04</Cd></Rsn></StsRsnInf></OrgnlGrpInfAndSts></CstmrPmtStsRpt></Document>`
	done, err := o.App.Batches.ImportAnswers(ctx, carla, "banco", []byte(answer))
	t.Logf("%+v %v", done, err)
	if r := o.Get(t, "/withdrawals/"+small); r.Text(t, "status") != "processing" {
		t.Errorf("bank 2 refused its file %s, but the withdrawal at bank 1 is %s", b2.ID, r)
	}
	if got := harness.Available(t, o); got != "850" {
		t.Errorf("%s USD are available, want 850", got)
	}
}

// An answer about bank 2's batch has a line with the reference of bank 1's batch. Imported for bank 1's
// account, it must not end that withdrawal.
func TestAnswerOfAnotherBatchEndsNothing(t *testing.T) {
	t.Parallel()
	o := twoBanks(t, dbtest.SQLite(t))
	small, large := o.Withdraw(t, "50"), o.Withdraw(t, "100")
	o.Clock.Advance(pay.WithdrawalHold(true))
	o.PayOut(t, small, "processing")
	o.PayOut(t, large, "processing")
	b1, _ := exported(t, o, "banco")
	small1 := b1.LineReference(1)
	b2, _ := exported(t, o, "banco2")
	answer := `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"><CstmrPmtStsRpt><GrpHdr><MsgId>X1</MsgId><CreDtTm>2026-11-23T10:00:00</CreDtTm></GrpHdr><OrgnlGrpInfAndSts><OrgnlMsgId>` + strings.TrimPrefix(b2.ID, pay.BatchPrefix) + `</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.03</OrgnlMsgNmId></OrgnlGrpInfAndSts><OrgnlPmtInfAndSts><OrgnlPmtInfId>1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>` + small1 + `</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts></OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
	done, err := o.App.Batches.ImportAnswers(ctx, carla, "banco", []byte(answer))
	t.Logf("%+v %v", done, err)
	if r := o.Get(t, "/withdrawals/"+small); r.Text(t, "status") != "processing" {
		t.Errorf("the answer is about batch %s, but the withdrawal in bank 1's batch is %s", b2.ID, r)
	}
}

// After a rotation of the master key, holders and batches can be read without the old key.
func TestHoldersAndFilesSurviveAMasterKey(t *testing.T) {
	t.Parallel()
	database, c := dbtest.SQLite(t), &harness.Clock{}
	keys := func(seeds ...byte) func(*daemon.Config) {
		var list []string
		for _, seed := range seeds {
			list = append(list, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32)))
		}
		return func(c *daemon.Config) { c.MasterKey, c.WalletCoolDown = strings.Join(list, "\n"), time.Millisecond }
	}
	s := harness.StartWith(t, database, c, keys(1))
	s.End(t)
	s = harness.StartWith(t, database, c, keys(1, 2))
	s.Rate(t, "MXN 18.35")
	s.PayOutBy(t, "bank-file", appaccounts.NewAccount{ID: "banco", Credentials: map[string]string{"layout": "csv"}})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	c.Advance(time.Second)
	first := o.Withdraw(t, "50")
	c.Advance(pay.WithdrawalHold(true))
	o.PayOut(t, first, "processing")
	made, err := s.App.Batches.Make(ctx, carla, "banco")
	harness.Must(t, err)
	harness.Must(t, s.App.Secrets.RotateMasterKey(ctx, s.App.Self()))
	_, err = s.App.Secrets.Reencrypt(ctx)
	harness.Must(t, err)
	n, err := s.App.Secrets.Reencrypt(ctx)
	harness.Must(t, err)
	_, _, sealed, err := s.App.Secrets.MasterKeys(ctx)
	harness.Must(t, err)
	t.Logf("a second run encrypted %d secrets; secrets under each key: %v", n, sealed)
	s.End(t)
	s = harness.StartWith(t, database, c, keys(2)) // without the old key
	o.Instance = s
	if _, err := s.App.Batches.Approve(ctx, bruno, made[0].ID); err != nil {
		t.Error(err)
	}
	if _, _, err := s.App.Batches.Export(ctx, bruno, made[0].ID); err != nil {
		t.Errorf("the approved file cannot be exported: %v", err)
	}
	second := o.Withdraw(t, "60")
	c.Advance(pay.WithdrawalHold(true))
	for range 5 {
		_, err = s.App.Payouts.PayOut(ctx)
		harness.Must(t, err)
		c.Advance(2 * time.Minute)
	}
	if r := o.Get(t, "/withdrawals/"+second); r.Text(t, "status") != "processing" {
		t.Errorf("a withdrawal to a wallet with a holder is %s, want processing", r)
	}
}

// Two operators make batches while the merchant deletes the wallet: one writes the file, and the other
// one gives the money back. The file with that line must not be exported.
func TestWhatIsGivenBackIsInNoFile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		var hook atomic.Pointer[func(string)]
		o := twoBanks(t, database, func(c *daemon.Config) {
			now := c.Now
			c.Now = func() time.Time {
				if f := hook.Load(); f != nil {
					if harness.CalledBy(".makeBatch") {
						(*f)("make")
					} else if harness.CalledBy(".(*Batches).Make") && harness.CalledBy(".turnAway") {
						(*f)("resolve")
					}
				}
				return now()
			}
		})
		w := o.Get(t, "/wallets").Text(t, "data.0.id")
		id := o.Withdraw(t, "50")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		committed, reached, second := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		var once, once2 sync.Once
		f := func(at string) {
			switch at {
			case "make":
				once.Do(func() {
					o.Delete(t, "/wallets/"+w).Want(t, http.StatusOK)
					go func() {
						_, err := o.App.Batches.Make(ctx, bruno, "banco")
						second <- err
					}()
					harness.Soon(t, "the call that the test holds to begin", reached)
				})
			case "resolve":
				once2.Do(func() { close(reached); <-committed })
			}
		}
		hook.Store(&f)
		made, err := o.App.Batches.Make(ctx, carla, "banco")
		harness.Must(t, err)
		close(committed)
		harness.Must(t, <-second)
		hook.Store(nil)
		if len(made) != 1 {
			t.Fatalf("%d batches were made, want 1", len(made))
		}
		if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != "processing" {
			t.Errorf("a withdrawal in a batch was given back: %s", r)
		}
		_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
		harness.Must(t, err)
		var refused *problem.Error
		if file, _, err := o.App.Batches.Export(ctx, bruno, made[0].ID); !errors.As(err, &refused) || refused.Code != problem.ConflictState {
			t.Errorf("the wallet was deleted, and the export gets %v, want conflict_state: %s\n%s", err, o.Get(t, "/withdrawals/"+id), file)
		}
	})
}

// A notification says late that the first of many rounds was paid after all. It waits for the
// operator.
func TestLatePaidOfAnOldRoundIsForTheOperator(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		b.Behave(func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: "insufficient_float"}
		}, nil)
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		for range 24 {
			harness.Eventually(t, "the withdrawal waits after another try", func() bool {
				_, err := o.App.Payouts.PayOut(ctx)
				harness.Must(t, err)
				w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, id)
				harness.Must(t, err)
				return w.Waiting == "payout_delayed"
			})
			o.Clock.Advance(61 * time.Minute)
		}
		b.Behave(nil, nil)
		o.PayOut(t, id, "completed")
		reference := id[len(pay.WithdrawalPrefix):]
		got := bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "late", Reference: reference, Outcome: pay.PayoutOutcome{Kind: pay.PayoutPaid}})
		list, err := o.App.Notices.Notifications(ctx, id, 10)
		harness.Must(t, err)
		if len(list) == 0 {
			t.Errorf("round 1 was paid after all, so the withdrawal was paid twice; the notification gets %d, and nothing waits for the operator", got)
		}
	})
}

// A payout is returned before the service knows that it was paid. The notification has only the
// provider's own reference, as Woovi's has, so the service cannot match it yet. It must be refused, so
// that the provider sends it again. Until the bank has a number for a payout, a provider may have only our reference.
func TestReturnBeforeTheAnswerComesAgain(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]func(payouts.Request) pay.PayoutOutcome{
		"no answer": func(payouts.Request) pay.PayoutOutcome { return pay.PayoutOutcome{Kind: pay.PayoutUnknown} }, // it pays, but the answer is lost
		"our reference": func(r payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: r.Reference}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
				b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome { return sent(r) }, func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
					return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "E2E-1"}
				})
				id := o.Withdraw(t, "100")
				o.Clock.Advance(pay.WithdrawalHold(true))
				o.PayOut(t, id, "processing")
				n := pay.PayoutNotice{ID: "return:1", ProviderRef: "E2E-1", Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, ProviderRef: "E2E-1", Code: "returned"}}
				got := bankTells(t, o.Instance, "bank-1", "bank", n)
				o.Clock.Advance(10 * time.Minute)
				o.PayOut(t, id, "completed")
				again := bankTells(t, o.Instance, "bank-1", "bank", n)
				if got != http.StatusServiceUnavailable || again != http.StatusOK { // after a 200 the provider does not send it again
					t.Errorf("the return is answered %d, and %d after the payout is known, want 503 and 200", got, again)
				}
				r := o.Get(t, "/withdrawals/"+id).Want(t, http.StatusOK)
				if have := harness.Available(t, o); r.Text(t, "failureCode") != "returned" || r.Text(t, "status") != "failed" || have != "997" {
					t.Errorf("after the return %s of 1000 USD are available, want all but the fee of 3, and a failed withdrawal: %s", have, r)
				}
			})
		})
	}
}

// A part of a payout is returned before the service knows that it was paid. That waits for the
// operator.
func TestPartThatComesBackIsForTheOperator(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutAccepted, ProviderRef: "E2E-1"}
		}, func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: "E2E-1"}
		})
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
		// This is how the adapter of Woovi reports a part (cameBack).
		n := pay.PayoutNotice{ID: "return:1", ProviderRef: "E2E-1", Outcome: pay.PayoutOutcome{Kind: pay.PayoutUnknown, ProviderRef: "E2E-1", Message: "a part of the payout was sent back: 5.00 MXN"}}
		got := bankTells(t, o.Instance, "bank-1", "bank", n)
		o.Clock.Advance(10 * time.Minute)
		o.PayOut(t, id, "completed")
		again := bankTells(t, o.Instance, "bank-1", "bank", n)
		list, err := o.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if len(list) == 0 {
			t.Errorf("a part was returned, its notifications got %d and %d, and nothing waits for the operator", got, again)
		}
	})
}

// A line may no longer fit the account's layout, because the settings changed or a crash left out the
// check. It must not block the other lines.
func TestLineThatDoesNotFitBlocksNoOther(t *testing.T) {
	t.Parallel()
	o := fileShop(t, dbtest.SQLite(t), map[string]string{"layout": "csv"})
	w := o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"012180000118359713","holderName":"Eva"}`) // at BBVA itself
	o.Clock.Advance(time.Second)
	id := o.Post(t, "/withdrawals", `{"amount":20,"walletId":"`+w+`"}`).Want(t, http.StatusCreated).Text(t, "id")
	waitingPayouts(t, o, "103")
	o.PayOut(t, id, "processing")
	_, err := o.App.Accounts.Rotate(ctx, carla, "banco", map[string]string{"layout": "spei-bbva", "account": "0123456789"})
	harness.Must(t, err)
	made, err := o.App.Batches.Make(ctx, carla, "banco")
	if err != nil || len(made) != 1 || made[0].Lines != 1 {
		t.Errorf("the batches are %v with the error %v, want one with the line that fits", made, err)
	}
}

// A batch is neither made nor exported while payouts are stopped. It is not exported if a wallet in it
// was deleted.
func TestFileOfWhatIsStoppedDoesNotLeave(t *testing.T) {
	t.Parallel()
	o := fileShop(t, dbtest.SQLite(t), map[string]string{"layout": "csv"})
	w := o.Get(t, "/wallets").Text(t, "data.0.id")
	waitingPayouts(t, o, "103")
	stop := func(why string) {
		t.Helper()
		_, err := o.App.Payouts.LimitPayouts(ctx, bruno, "", true, func(l *pay.PayoutLimits) { l.Stopped = why })
		harness.Must(t, err)
	}
	stop("a key was stolen")
	if made, err := o.App.Batches.Make(ctx, carla, "banco"); err != nil || len(made) != 0 {
		t.Errorf("payouts are stopped, but the batches are %v with the error %v, want none", made, err)
	}
	stop("")
	made, err := o.App.Batches.Make(ctx, carla, "banco")
	harness.Must(t, err)
	_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
	harness.Must(t, err)
	stop("a key was stolen")
	if _, _, err := o.App.Batches.Export(ctx, bruno, made[0].ID); err == nil || !strings.Contains(message.Sentence(err), "payouts_stopped") {
		t.Errorf("payouts are stopped, but the export returns %v, want payouts_stopped", err)
	}
	stop("")
	o.Delete(t, "/wallets/"+w).Want(t, http.StatusOK)
	if _, _, err := o.App.Batches.Export(ctx, bruno, made[0].ID); err == nil || !strings.Contains(message.Sentence(err), "wallet_disabled") {
		t.Errorf("the wallet is deleted, but the export returns %v, want wallet_disabled", err)
	}
}

// When a limit is removed, the withdrawals that it held go on.
func TestLiftedLimitLetsGo(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		start := o.Clock.Now()
		o.Clock.Advance(start.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute).Sub(start))
		limit := func(daily int64) {
			_, err := o.App.Payouts.LimitPayouts(ctx, carla, "", true, func(l *pay.PayoutLimits) { l.Daily = daily })
			harness.Must(t, err)
		}
		limit(50_00)
		id := o.Withdraw(t, "100")
		o.Clock.Advance(pay.WithdrawalHold(true))
		harness.Eventually(t, "the withdrawal waits for the daily limit", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return o.Get(t, "/withdrawals/"+id).Text(t, "pendingReason") == "daily_limit"
		})
		limit(0)
		for range 20 {
			o.Clock.Advance(15 * time.Minute)
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
		}
		if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != "completed" {
			t.Errorf("5 hours after the limit was removed the withdrawal is %s, %s, want completed", r.Text(t, "status"), r.Text(t, "pendingReason"))
		}
	})
}

// A provider's ids may be long: an id that cannot be stored is left out, and the payout goes on.
func TestLongIDsOfAPayoutProvider(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2_000, 3_000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
				long := random(n)
				b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
					out := b.Pay(r)
					out.ProviderRef = long
					return out
				}, nil)
				id := o.Withdraw(t, "100")
				o.Clock.Advance(pay.WithdrawalHold(true))
				for range 3 {
					_, err := o.App.Payouts.PayOut(ctx)
					harness.Must(t, err)
					o.Clock.Advance(10 * time.Minute)
				}
				if got := o.Get(t, "/withdrawals/"+id).Text(t, "status"); got != "completed" {
					t.Errorf("the bank paid under an id of %d characters, and the withdrawal is %s", n, got)
				}
				if got := bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "return:" + long, Reference: id[len(pay.WithdrawalPrefix):],
					Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned}}); got != http.StatusOK {
					t.Errorf("a return whose notice has an id of %d characters gets %d", n, got)
				}
			})
		})
	}
}

func random(n int) string {
	var b strings.Builder
	x := uint32(12345)
	for b.Len() < n {
		x = x*1664525 + 1013904223
		fmt.Fprintf(&b, "%08x", x)
	}
	return b.String()[:n]
}
