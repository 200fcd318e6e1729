package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// paidFrom closes a settlement of a shop, and makes a withdrawal of 60 USD that has arrived and covers a part of it.
func paidFrom(t *testing.T, o harness.Client) (settlement, withdrawal string) {
	t.Helper()
	settlement = monthOf(t, o)
	o.Wallet(t)
	withdrawal = o.Withdraw(t, "60")
	harness.MoveTestClock(t, o, "1m")
	o.PayOut(t, withdrawal, "completed")
	covered(t, o, settlement, "60")
	return settlement, withdrawal
}

// covered waits until withdrawals cover an amount of a settlement.
func covered(t *testing.T, o harness.Client, settlement, amount string) {
	t.Helper()
	harness.Eventually(t, "withdrawals cover "+amount+" of "+settlement, func() bool {
		_, err := o.App.Payouts.PayOut(ctx)
		harness.Must(t, err)
		return o.Get(t, "/settlements/"+settlement).Want(t, http.StatusOK).Text(t, "payout.amount") == amount
	})
}

// cameBack records that a part of a withdrawal came back, in the currency that arrived; "" is all that is left.
func cameBack(t *testing.T, o harness.Client, withdrawal, amount string) {
	t.Helper()
	_, _, err := o.App.Payouts.ResolveWithdrawal(ctx, o.App.Payouts.Self(), base.Resolution{ID: withdrawal, Word: pay.WordReturned, Note: "the statement", Amount: amount})
	harness.Must(t, err)
}

// The page of a withdrawal names the settlements that it pays out and what came back of it; the page of a settlement names
// the withdrawals, and how much of its net is left (SETTLE-11).
func TestWithdrawalsAndSettlementsNameEachOther(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		settlement, withdrawal := paidFrom(t, o)
		u := o.Staff(t, people.Viewer)
		page := u.Page(t, "/withdrawals/"+withdrawal)
		says(t, "the withdrawal", text(page), "Pays out", "60.00 USD")
		if !strings.Contains(page, `href="`+u.Home()+"/settlements/"+settlement+`"`) {
			t.Errorf("the withdrawal does not lead to its settlement: %s", text(page))
		}
		left := o.Get(t, "/settlements/"+settlement).Text(t, "payout.owed")
		page = u.Page(t, "/settlements/"+settlement)
		says(t, "the settlement", text(page), "Withdrawn −60.00 USD", "Not withdrawn yet "+left+" USD", "Arrived")
		if !strings.Contains(page, `href="`+u.Home()+"/withdrawals/"+withdrawal+`"`) {
			t.Errorf("the settlement does not lead to its withdrawal: %s", text(page))
		}
		says(t, "the list", text(u.Page(t, "/settlements")), "Withdrawn", "60.00 USD")
		file := u.Ask(t, http.MethodGet, "/settlements.csv", nil).Body
		says(t, "the file", file, "Withdrawn (USD),Not withdrawn yet (USD),Withdrawals", ",60.00,"+left+","+withdrawal)

		// 500 of 1045.95 pesos come back, and then the rest.
		cameBack(t, o, withdrawal, "500")
		r := o.Get(t, "/withdrawals/"+withdrawal)
		part := r.Text(t, "returnedAmount")
		says(t, "a part came back", text(u.Page(t, "/withdrawals/"+withdrawal)), "A part came back", "Came back "+part+" USD ( 500.00 MXN )", "The bank sent money back")
		says(t, "the file of withdrawals", u.Ask(t, http.MethodGet, "/withdrawals.csv", nil).Body, "Came back (USD)", ","+part+",")
		cameBack(t, o, withdrawal, "")
		covered(t, o, settlement, "3") // the fee is spent
		arrived, err := time.Parse(time.RFC3339, r.Text(t, "completedAt"))
		harness.Must(t, err)
		says(t, "all came back", text(u.Page(t, "/withdrawals/"+withdrawal)), "It arrived, and came back", "Came back 57.00 USD", "It arrived "+arrived.Format("2 Jan 2006"))
	})
}

// A withdrawal of another shop of the merchant covers the merchant's settlement too: the link leads to that shop.
func TestSettlementLeadsToAnotherShopsWithdrawal(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	second, err := s.App.Onboarding.CreateShop(ctx, s.App.Self(), o.Merchant.ID, "Second")
	harness.Must(t, err)
	settlement, withdrawal := paidFrom(t, o)
	owner := o.Staff(t, people.Owner)
	owner.Shop = second.Shop
	if page := owner.Page(t, "/settlements/"+settlement); !strings.Contains(page, "/"+o.Shop.ID+"/sandbox/withdrawals/"+withdrawal) {
		t.Errorf("the page does not lead to the other shop's withdrawal: %s", text(page))
	}
}

// The form says the smallest withdrawal of the merchant's terms and the fee, and so does its refusal (PAYOUT-11).
func TestFormSaysTheSmallestWithdrawal(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	for tier, want := range map[merchants.Tier][2]string{merchants.Starter: {"5.01", "5.00"}, merchants.Trusted: {"5.00", "0.50"}} {
		made, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Industry: "retail", Tier: tier})
		harness.Must(t, err)
		o := harness.Client{Onboarded: made, Instance: s, Credential: made.Sandbox.Secret}
		o.Fund(t, false, 500_00)
		wallet := o.Wallet(t)
		u := o.Staff(t, people.Finance)
		says(t, string(tier), text(u.Page(t, "/withdrawals/new")), "At least "+want[0]+" USD", "the fee of "+want[1]+" USD")
		a := u.Ask(t, http.MethodGet, "/withdrawals/new?wallet="+wallet+"&amount=4.99", nil)
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "at least "+want[0]+" USD") {
			t.Errorf("%s: less than that gets %d: %s", tier, a.Status, a.Text())
		}
	}
}
