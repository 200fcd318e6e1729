package claims

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// A month in which others act by themselves, once each: a shopper pays twice, one pays too much, the provider gives money
// back before and after it was known to be paid, its own refund fails, a refund of the shop's fails after it was confirmed, the
// bank sends a part of a payout back, and the operator adjusts the balance. The merchant's story has each of them, and goes
// from nothing to the balance, to the cent.
func TestMonthInWhichOthersAct(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Wallet(t)
		note := func(payment, fields string) {
			t.Helper()
			s.Notify(t, "sandbox-1", harness.NoticeBody(payment, fields)).Want(t, http.StatusOK)
		}
		resolve := func(r claims.Resolution) {
			t.Helper()
			r.Note = "the report of the month"
			_, err := s.App.Claims.Resolve(ctx, s.App.Self(), r)
			harness.Must(t, err)
		}
		cash := func() string { return o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`) }
		const whole = `"amount":"183.50","currency":"MXN"` // 10 USD at 18.35
		card := o.Create(t, `{"amount":200,"paymentMethodId":"sbx_card"}`)

		twice := cash() // 10.00 come twice; the second is given back by hand
		note(twice, `"status":"paid",`+whole+`,"money":"m1"`)
		note(twice, `"status":"paid",`+whole+`,"money":"m2"`)
		resolve(claims.Resolution{ID: o.Get(t, "/payments/"+twice).Text(t, "attention.claimId"), Word: pay.Approve, ByHand: "SPEI 1"})

		more := cash() // 11.00 come: 10.00 complete the payment, 1.00 is given back
		note(more, `"status":"paid","amount":"201.85","currency":"MXN","money":"m3"`)
		resolve(claims.Resolution{ID: o.Get(t, "/payments/"+more).Text(t, "attention.claimId"), Word: pay.Approve, Keep: "183.50", Complete: true})

		gone := cash() // it came and went
		note(gone, `"status":"reversed","refund":"re_0",`+whole)

		note(card, `"status":"reversed","refund":"re_1","amount":"30.00","currency":"USD"`) // the provider gives 30.00 back, and 20.00 that fail
		note(card, `"status":"reversed","refund":"re_2","amount":"20.00","currency":"USD"`)
		note(card, `"status":"reversed","refund":"re_2","amount":"20.00","currency":"USD","reason":"failed"`)

		o.Fund(t, false, 100_00)
		refund := o.Refund(t, card, `{"amount":50}`).Want(t, http.StatusOK).Text(t, "refundId") // confirmed, and sent back by the shopper's bank
		s.Notify(t, "sandbox-1", `{"id":"late failure","reference":"`+strings.TrimPrefix(refund, "CLM-")+`-1","status":"refund_failed"}`).Want(t, http.StatusOK)

		paid := o.Withdraw(t, "40") // the bank pays it, and sends 100 MXN of it back
		harness.MoveTestClock(t, o, "1m")
		o.PayOut(t, paid, "processing")
		harness.MoveTestClock(t, o, "1m")
		o.PayOut(t, paid, "completed")
		_, _, err := s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), base.Resolution{ID: paid, Word: pay.WordReturned, Amount: "100", Note: "on the statement"})
		harness.Must(t, err)

		_, err = s.App.Adjustments.Make(ctx, s.App.Self(), settlements.NewAdjustment{Merchant: o.Merchant.ID, Amount: money.New(-1_50, money.USD),
			Reason: pay.ForFees, Note: "the fee of a wire", Reference: "wire 1"})
		harness.Must(t, err)
		harness.MoveTestClock(t, o, fmt.Sprint(30*24*time.Hour))

		var story, now string
		harness.Eventually(t, "the month is settled", func() bool {
			o.Work(t)
			now = o.Get(t, "/me/balance").Text(t, "balance.pending")
			var err error
			story, err = s.App.Settlements.Story(ctx, merchants.Scope{Merchant: o.Merchant.ID}, lists.Span{}, false)
			harness.Must(t, err)
			return now == "0"
		})
		for _, kind := range []string{"capture", "late_capture", "late_refund", "late_applied", "refund_freeze", "refund_return", "withdrawal_return", "adjustment", "settlement"} {
			if !regexp.MustCompile(`(?m)^  ` + kind + ` +\d+ `).MatchString(story) {
				t.Errorf("the month has no %s:\n%s", kind, story)
			}
		}
		balance := o.Get(t, "/me/balance")
		cents := func(bucket string) string {
			var usd float64
			_, err := fmt.Sscan(balance.Text(t, "balance."+bucket), &usd)
			harness.Must(t, err)
			return fmt.Sprintf("%.2f", usd)
		}
		end := fmt.Sprintf(`(?m)^at the end +%s +%s +%s +%s +0\.00 +0\.00 `, cents("pending"), regexp.QuoteMeta(cents("available")), cents("frozen"), regexp.QuoteMeta(cents("reserve")))
		if !regexp.MustCompile(`(?m)^at the start( +0\.00){7}$`).MatchString(story) || !regexp.MustCompile(end).MatchString(story) {
			t.Errorf("the story does not go from nothing to the balance, %s:\n%s", balance, story)
		}
	})
}
