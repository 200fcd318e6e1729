package providers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// faultsOf returns the sorted names of the findings, separated by spaces.
func faultsOf(found []reconcile.Finding) string {
	var names []string
	for _, f := range found {
		names = append(names, string(f.Discrepancy))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The shopper paid one payment at two providers. Reconciliation finds it at both, until the
// operator has given one charge back.
func TestPaymentThatWasPaidTwiceIsFoundAtBothProviders(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		first, second := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		first.Next("soft")
		second.Next("paid")
		s.OpenAccount(t, "first", first, func(n *accounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "second", second)
		live := s.NewShop(t).Production()
		id := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		harness.Reconciled(t, s, "first", first)
		harness.Reconciled(t, s, "second", second)

		// The shopper pays at the first provider too, and the notification is lost.
		first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "")
		if _, found := harness.CompareReport(t, s, "first", first.Report()); faultsOf(found) != "charged_twice" || found[0].Payment != id || found[0].Merchant != live.Merchant.ID {
			t.Errorf("before the notification, reconciliation finds %v, want charged_twice of the payment", found)
		}
		if got := harness.Warnings(t, live); !strings.Contains(got, "provider_drift") {
			t.Errorf("the merchant is warned of %q, want provider_drift", got)
		}
		s.TellUpstream(t, first, id, 1, "paid", "first-hush").Is(t, http.StatusOK, `{"ok":true}`)
		for account, u := range map[string]*providertest.Upstream{"first": first, "second": second} {
			if done := harness.Reconciled(t, s, account, u, reconcile.ChargedTwice); done.Count != 1 {
				t.Errorf("reconciliation of %s finds %d differences, want 1", account, done.Count)
			}
		}
		claims, err := s.App.Claims.AnyList(ctx, pay.ClaimPending, pay.Inquiry, 10)
		harness.Must(t, err)
		if len(claims) != 1 {
			t.Fatalf("want one inquiry, got %v", claims)
		}
		_, err = harness.DecideClaim(s.App, claims[0].ID, pay.Approve, "paid twice")
		harness.Must(t, err)
		s.Sweep(t, "the second charge is given back", func() bool {
			c, err := s.App.Claims.Any(ctx, claims[0].ID)
			harness.Must(t, err)
			return c.Status == pay.ClaimApproved
		})
		if done := harness.Reconciled(t, s, "first", first); done.Charges != 1 || done.Refunds != 1 {
			t.Errorf("at the first provider %d charges and %d refunds agree, want 1 and 1", done.Charges, done.Refunds)
		}
		harness.Reconciled(t, s, "second", second)
		if got := harness.Warnings(t, live); strings.Contains(got, "provider_drift") {
			t.Errorf("the books agree, but the merchant is warned of %q", got)
		}
	})
}

// Reconciliation finds each way in which a provider's report can differ. The merchant is warned
// until a comparison of the same period finds no difference.
func TestReconciliationFindsWhatDiffers(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		u.Next("paid")
		s.OpenAccount(t, "bank", u)
		live, other := s.NewShop(t).Production(), s.NewShop(t).Production()
		paid := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		back := live.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated).Text(t, "transactionId")
		other.Post(t, "/payments", live.PixOrder(t)).Want(t, http.StatusCreated)
		live.Post(t, "/payments/"+back+"/refund", `{"amount":14}`).Want(t, http.StatusOK)
		u.Next("open")
		open := live.Create(t, live.PixOrder(t))
		report := u.Report()
		reference := strings.TrimPrefix(paid, "TXN-") + "-1"
		line, refund := "", ""
		for _, l := range strings.Split(report, "\n") {
			if strings.HasPrefix(l, reference) {
				line = l + "\n"
			}
			if strings.Contains(l, ",refund,") {
				refund = l + "\n"
			}
		}
		alter := func(of, old, fresh string) string {
			return strings.Replace(report, of, strings.Replace(of, old, fresh, 1), 1)
		}
		for name, c := range map[string]struct{ report, want string }{
			"a charge less":          {strings.Replace(report, line, "", 1), "missing_there"},
			"a refund less":          {strings.Replace(report, refund, "", 1), "refund_missing_there"},
			"a charge more":          {report + "ORDER-1,up-1,charge,5,BRL\n", "missing_here"},
			"a charge we think open": {report + strings.TrimPrefix(open, "TXN-") + "-1,up-2,charge,54,BRL\n", "missing_here"},
			"a refund more":          {report + "ORDER-1,up-1,refund,5,BRL\n", "refund_missing_here"},
			"a refund of the charge": {report + reference + ",up-3,refund,5,BRL\n", "refund_missing_here"},
			"a charge twice":         {report + line, "charged_twice"},
			"a refund twice":         {report + refund, "refunded_twice"},
			"an amount":              {alter(line, ",54,", ",54.01,"), "amount"},
			"a refund's amount":      {alter(refund, ",14,", ",15,"), "refund_amount"},
			"a currency":             {alter(line, ",BRL", ",MXN"), "currency"},
			"a chargeback":           {report + reference + ",up-3,chargeback,54,BRL\n", "chargeback_missing_here"},
			"a line that is none":    {report + reference + ",up-3,charge,five,BRL\n", "unreadable"},
			"no references of ours":  {alter(line, reference+",", ","), ""},
		} {
			done, found := harness.CompareReport(t, s, "bank", c.report)
			if faultsOf(found) != c.want {
				t.Errorf("%s: found %v, want %s", name, found, c.want)
			}
			alien := name == "a charge more" || name == "a refund more" || name == "a line that is none" // belongs to no merchant
			if drifts := strings.Contains(harness.Warnings(t, live), "provider_drift"); drifts != (c.want != "" && !alien) {
				t.Errorf("%s: the merchant is warned: %t, want %t; the totals are %+v", name, drifts, !drifts, done.Totals.Merchants)
			}
			if got := harness.Warnings(t, other); got != "" {
				t.Errorf("%s: another merchant is warned of %s", name, got)
			}
			harness.Reconciled(t, s, "bank", u)
			if got := harness.Warnings(t, live); got != "" {
				t.Errorf("%s: after an equal report the merchant is warned of %s", name, got)
			}
		}
		list, err := s.App.Reconciliation.Reconciliations(ctx, "bank", 100)
		harness.Must(t, err)
		if len(list) != 28 || list[0].Count != 0 || list[0].Lines != 4 || list[0].Reports[0] != "bank.csv" {
			t.Errorf("there are %d comparisons, want 28; the last one is %+v, want 4 equal lines of bank.csv", len(list), list[0])
		}
	})
}
