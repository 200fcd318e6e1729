package payouts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// A report of a payout account is compared with the books, line by line.
func TestPayoutsAreReconciled(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		var all []string
		for i := range 6 {
			all = append(all, o.Withdraw(t, fmt.Sprint(13+i)))
		}
		b.Behave(func(b *harness.Payer, r payouts.Request) pay.PayoutOutcome {
			if strings.HasPrefix(r.Reference, all[5][len(pay.WithdrawalPrefix):]) {
				return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: "account_closed"}
			}
			return b.Pay(r)
		}, nil)
		o.Clock.Advance(pay.WithdrawalHold(true))
		for _, id := range all[:5] {
			o.PayOut(t, id, "completed")
		}
		o.PayOut(t, all[5], "failed")
		if got := bankTells(t, o.Instance, "bank-1", "bank", pay.PayoutNotice{ID: "back", Reference: all[4][len(pay.WithdrawalPrefix):], Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "account_closed"}}); got != 200 {
			t.Errorf("the notification of the return gets %d, want 200", got)
		}
		row := func(i int, by, kind string, more float64) string {
			w, err := o.App.Payouts.Withdrawal(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID, Live: true}, all[i])
			harness.Must(t, err)
			ref := map[string]string{"ours": w.Reference(), "theirs": w.Payout.ProviderRef}[by]
			return fmt.Sprintf("%s,%s,%.2f,MXN,%s\n", ref, kind, float64(w.Local.Minor)/100+more, o.Clock.Now().Format(time.RFC3339))
		}
		from, to := o.Clock.Now().Add(-time.Hour), o.Clock.Now().Add(time.Hour)
		compare := func(dry bool, rows ...string) ([]string, reconciliation.Compared) {
			format, err := o.App.Reconciliation.ReportFormat(ctx, "bank-1")
			harness.Must(t, err)
			var told []string
			done, err := o.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{Account: "bank-1", Format: format, DryRun: dry, From: from, To: to,
				Reports: []reconciliation.Report{{Name: "bank.csv", Reader: strings.NewReader("reference,type,amount,currency,date\n" + strings.Join(rows, ""))}},
				Tell:    func(f reconcile.Finding) { told = append(told, string(f.Discrepancy)+" "+f.Withdrawal) }})
			harness.Must(t, err)
			slices.Sort(told)
			return told, done
		}
		clean := []string{row(0, "ours", "payout", 0), row(1, "theirs", "payout", 0), row(2, "ours", "payout", 0), row(3, "theirs", "payout", 0),
			row(4, "ours", "payout", 0), row(4, "ours", "return", 0)}
		if told, done := compare(false, clean...); len(told) > 0 || done.Charges != 5 || done.Refunds != 1 || !done.PaysOut || done.Lines != 6 {
			t.Errorf("a report that agrees has the discrepancies %v and the result %+v", told, done)
		}
		warned := func() string { return o.Get(t, "/me/balance").Text(t, "ledgerWarnings") }
		want := []string{
			"paid_out_twice " + all[0], "payout_amount " + all[1], "payout_missing_here ", "payout_missing_here " + all[5], "payout_missing_there " + all[2],
			"return_missing_there " + all[4],
		}
		wrong := []string{row(0, "ours", "payout", 0), row(0, "theirs", "payout", 0), row(1, "theirs", "payout", 1), row(3, "ours", "payout", 0),
			row(4, "theirs", "payout", 0), row(5, "ours", "payout", 0), strings.Replace(row(3, "ours", "payout", 0), "0", "9", 1)}
		slices.Sort(want)
		if told, _ := compare(true, wrong...); !slices.Equal(told, want) {
			t.Errorf("the discrepancies are\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
		}
		if got := warned(); strings.Contains(got, "provider_drift") {
			t.Errorf("after a dry run the balance warns: %s", got)
		}
		compare(false, wrong...)
		if got := warned(); !strings.Contains(got, "provider_drift") {
			t.Errorf("the balance does not warn of the drift: %s", got)
		}
		compare(false, clean...)
		if got := warned(); strings.Contains(got, "provider_drift") {
			t.Errorf("after a report that agrees the balance still warns: %s", got)
		}
		format, err := o.App.Reconciliation.ReportFormat(ctx, "bank-1")
		harness.Must(t, err)
		if _, err := o.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{Account: "bank-1", Format: format, DryRun: true,
			Reports: []reconciliation.Report{{Name: "bank.csv", Reader: strings.NewReader("reference,amount,currency,date\nx,1,MXN,2026-11-20T10:00:00Z\n")}}}); err == nil || !strings.Contains(message.Sentence(err), "give its period") {
			t.Errorf("a report whose lines have one time returns %v, want that the period must be given", err)
		}
		list, err := o.App.Reconciliation.Reconciliations(ctx, "bank-1", 10)
		harness.Must(t, err)
		if len(list) != 3 || !list[0].PaysOut || list[0].Charged["MXN"] == 0 {
			t.Errorf("the kept reconciliations are %+v, want three, the newest of payouts", list)
		}
	})
}

// A payout that came back in parts agrees with a statement that has a line for each. A part of another amount, and one that is
// only here or only there, are differences.
func TestReturnedPartsAreReconciled(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) {
		id := o.Withdraw(t, "103") // 100 USD are 1835 MXN
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		reference := id[len(pay.WithdrawalPrefix):]
		for i, pesos := range []int64{1000, 500} {
			notice := pay.PayoutNotice{ID: fmt.Sprint("part", i), Reference: reference, Outcome: pay.PayoutOutcome{Kind: pay.PayoutReturned, Code: "closed", Local: money.New(pesos*100, money.MXN)}}
			if got := bankTells(t, o.Instance, "bank-1", "bank", notice); got != 200 {
				t.Fatalf("the notification of a part gets %d", got)
			}
		}
		from, to := o.Clock.Now().Add(-time.Hour), o.Clock.Now().Add(time.Hour)
		for _, c := range []struct {
			name  string
			parts []string
			want  string
		}{
			{"each part", []string{"500", "1000"}, "[]"},
			{"another amount", []string{"500", "999"}, "[payout_amount here 1000.00 MXN there 999.00 MXN]"},
			{"one is missing there", []string{"1000"}, "[return_missing_there here 500.00 MXN there 0]"},
			{"another one there", []string{"1000", "335", "500"}, "[return_missing_here here 0 there 335.00 MXN]"},
		} {
			lines := fmt.Sprintf("reference,type,amount,currency,date\n%s,payout,1835,MXN,2026-11-28T00:00:00Z\n", reference)
			for _, part := range c.parts {
				lines += fmt.Sprintf("%s,return,%s,MXN,2026-11-28T00:00:00Z\n", reference, part)
			}
			format, err := o.App.Reconciliation.ReportFormat(ctx, "bank-1")
			harness.Must(t, err)
			told := []string{}
			done, err := o.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{Account: "bank-1", Format: format, DryRun: true, From: from, To: to,
				Reports: []reconciliation.Report{{Name: "bank.csv", Reader: strings.NewReader(lines)}},
				Tell: func(f reconcile.Finding) {
					told = append(told, fmt.Sprintf("%s here %s there %s", f.Discrepancy, sum(f.Here), sum(f.There)))
				}})
			harness.Must(t, err)
			if fmt.Sprint(told) != c.want || done.Charges != 1 {
				t.Errorf("%s: it finds %v, want %s, in %d payouts", c.name, told, c.want, done.Charges)
			}
		}
	})
}

// sum is an amount of a finding; without a currency it has none.
func sum(a money.Amount) string {
	if a.Currency == "" {
		return "0"
	}
	return a.String()
}
