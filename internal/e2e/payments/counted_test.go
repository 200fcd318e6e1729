package payments

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// addUp adds all facts up.
func addUp(t *testing.T, s *harness.Instance) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = s.App.Store.Rollups().AddUp(ctx)
		harness.Must(t, err)
	}
}

// totals are the totals of a shop's sandbox along dimensions, in the days around now.
func totals(t *testing.T, o harness.Client, dimensions ...analytics.Dimension) map[string]analytics.Total {
	t.Helper()
	now := o.Clock.Now()
	all := map[string]analytics.Total{}
	for _, d := range dimensions {
		list, err := o.App.Store.Rollups().Values(ctx, o.Shop.ID, false, d, now.AddDate(0, 0, -90), now.AddDate(0, 0, -90), now.AddDate(0, 0, 90))
		harness.Must(t, err)
		for _, v := range list {
			key := fmt.Sprint(d, " ", v.Value, " ", v.Outcome)
			all[key] = all[key].Plus(v.Total)
		}
	}
	return all
}

// byHand counts the payments that the API lists.
func byHand(t *testing.T, o harness.Client) map[string]analytics.Total {
	t.Helper()
	list, err := o.App.Store.Payments().List(ctx, harness.SandboxScope(o), lists.PaymentFilter{Page: lists.Page{Limit: 10_000}})
	harness.Must(t, err)
	all := map[string]analytics.Total{}
	for _, p := range list {
		one, outcome := analytics.Total{N: 1, Amount: p.Price.Amount.Minor}, analytics.Paid
		switch p.Status {
		case pay.Processing, pay.Pending:
			continue
		case pay.Failed:
			if outcome = analytics.Declined; p.End.GaveUp() {
				outcome = analytics.Abandoned
			}
		case pay.Expired:
			outcome = analytics.Expired
		default:
			one.Fees = p.Terms.Fees.Total()
		}
		for _, value := range []string{"all ", "method " + p.Way.Method, "country " + p.Way.Country, "rail " + p.Way.RailID} {
			key := value + " " + string(outcome)
			all[key] = all[key].Plus(one)
		}
	}
	return all
}

// payAt chooses cash in a session, as a browser does, and pays.
func payAt(t *testing.T, o harness.Client, session string) {
	t.Helper()
	session, _, _ = strings.Cut(session, "?")
	_, _, h := o.Browse(t, http.MethodPost, session, url.Values{"method": {"sbx_cash"}}.Encode())
	id := strings.TrimPrefix(h.Get("Location"), "/c/")
	o.AtBank(t, id, "pay")
	if o.Status(t, id) != "completed" {
		t.Fatalf("the payment is %s", o.Status(t, id))
	}
}

// pressed is where a button on a payment's page leads.
func pressed(t *testing.T, o harness.Client, payment, button string) string {
	t.Helper()
	_, _, h := o.Browse(t, http.MethodPost, "/pay/"+payment+"/"+button, "")
	if !strings.HasPrefix(h.Get("Location"), "/checkout/cs_") {
		t.Fatalf("the button %s leads to %q", button, h.Get("Location"))
	}
	return h.Get("Location")
}

func same(t *testing.T, what string, got, want map[string]analytics.Total) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: there is nothing to compare", what)
	}
	if maps.Equal(got, want) {
		return
	}
	t.Errorf("%s: the totals are\n%v\nwant\n%v", what, got, want)
}

// Whatever comes after a payment's end, refunds, disputes or late money, the totals say what the rows say, and
// counting again from the rows changes none.
func TestTotalsSayWhatTheRowsSay(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 5 { // money for what is given back
			o.Create(t, harness.Card)
		}
		for _, stage := range harness.Stages {
			stage.Bring(t, o)
		}
		late := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: expired")
		o.Notify(t, "sandbox-1", harness.NoticeBody(late, `"status":"paid","amount":"41205.00","currency":"COP"`)).Want(t, http.StatusOK)
		o.Refund(t, o.Create(t, harness.Card), `{"amount":5}`).Want(t, http.StatusOK)
		lost, _ := o.Dispute(t, true)
		harness.RuleClaim(t, o, lost, "lost")
		o.Post(t, "/payments/"+o.Create(t, harness.PaidByShopper)+"/cancel", "").Want(t, http.StatusOK)
		s.Clock.Advance(30 * time.Hour)
		s.Sweep(t, "a payment that nobody paid expires", func() bool { return o.Total(t, url.Values{"status": {"expired"}}) == "3" })
		addUp(t, s)
		same(t, "added up", totals(t, o, analytics.ByAll, analytics.ByMethod, analytics.ByCountry, analytics.ByRail), byHand(t, o))
		every := []analytics.Dimension{
			analytics.ByAll, analytics.ByMethod, analytics.ByCountry, analytics.ByRail, analytics.ByBand, analytics.ByHour, analytics.ByAnswer,
			analytics.ByTries, analytics.ByWait, analytics.ByAccount, analytics.ByRoute, analytics.ByRefusal, analytics.ByAccountRefusal,
		}
		before := totals(t, o, every...)
		harness.Must(t, s.App.Store.Rollups().Recount(ctx))
		addUp(t, s)
		same(t, "counted again", totals(t, o, every...), before)
	})
}

// A checkout in which the shopper tries again is one checkout, paid once. A payment that the shop made with its
// method opens no checkout: not even when its shopper chooses another method and pays.
func TestFunnelCountsNoCheckoutTwice(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		shot := o.Create(t, harness.HostedVoucher)
		o.AtBank(t, shot, "timeout")
		payAt(t, o, pressed(t, o, shot, "again"))
		if got := totals(t, o, analytics.ByStep); len(got) != 0 {
			t.Errorf("nobody opened a checkout, and the funnel has %v", got)
		}
		c := o.Shopper(o.Session(t, harness.CheckoutBody))
		c.Read(t).Want(t, http.StatusOK)
		first := c.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
		payAt(t, o, pressed(t, o, first, "change"))
		same(t, "one checkout", totals(t, o, analytics.ByStep), map[string]analytics.Total{
			"step opened ": {N: 1}, "step visited ": {N: 1}, "step chosen ": {N: 1}, "step paid ": {N: 1, Amount: 2550},
		})
	})
}

// A checkout over midnight counts on the day on which it was opened, at every step: as it happens, and when payments are
// counted again. A shop with a page of its own chooses without reading ours: its shopper has seen the methods too.
func TestFunnelIsOfTheDayThatOpenedTheCheckout(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		noon := s.Clock.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
		s.Clock.Advance(noon.Sub(s.Clock.Now()))
		c := o.Shopper(o.Session(t, harness.CheckoutBody))
		harness.MoveTestClock(t, o, "13h")
		o.Simulate(t, c.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId"), "paid").Want(t, http.StatusOK)
		steps := func() map[string]analytics.Total {
			got := map[string]analytics.Total{}
			for day := range 2 {
				from := noon.Truncate(24*time.Hour).AddDate(0, 0, day)
				list, err := o.App.Store.Rollups().Values(ctx, o.Shop.ID, false, analytics.ByStep, from, from, from.AddDate(0, 0, 1))
				harness.Must(t, err)
				for _, v := range list {
					got[fmt.Sprint("day ", day, " ", v.Value)] = v.Total
				}
			}
			return got
		}
		want := map[string]analytics.Total{"day 0 opened": {N: 1}, "day 0 visited": {N: 1}, "day 0 chosen": {N: 1}, "day 0 paid": {N: 1, Amount: 2550}}
		same(t, "a checkout over midnight", steps(), want)
		harness.Must(t, o.App.Store.Rollups().Recount(ctx))
		addUp(t, s)
		same(t, "a checkout over midnight, counted again", steps(), want)
	})
}

// While payments are counted again, every page of analytics says that its numbers are not whole.
func TestUnfinishedCountIsTold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		till := &harness.Till{Provider: sandbox.New("sandbox-1", nil), OnCharge: func(context.Context, provider.Request) pay.Outcome {
			return pay.Outcome{Kind: pay.Approved, ProviderRef: "1"}
		}}
		a := harness.Node(t, database, &harness.Clock{}, till, &harness.Faults{})
		scope, _ := harness.PaidCard(t, a)
		to := a.Now()
		for _, unfinished := range []bool{false, true} {
			if unfinished {
				harness.Must(t, a.Store.Rollups().Recount(ctx))
			}
			analysis, err := a.Analytics.Analyse(ctx, scope, to.AddDate(0, 0, -7), to, analytics.ByMethod)
			harness.Must(t, err)
			funnel, err := a.Analytics.Funnel(ctx, scope, to.AddDate(0, 0, -7), to)
			harness.Must(t, err)
			waits, err := a.Analytics.Waits(ctx, scope, to.AddDate(0, 0, -7), to)
			harness.Must(t, err)
			if analysis.Partial != unfinished || funnel.Partial != unfinished || waits.Partial != unfinished {
				t.Errorf("unfinished is %v: payments say %v, checkouts %v, waits %v", unfinished, analysis.Partial, funnel.Partial, waits.Partial)
			}
		}
	})
}

// A total that is wrong along one dimension alone, or in an amount alone, is found and mended.
func TestEachWrongTotalIsFound(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, harness.Card)
		o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`, "Sandbox-Simulate: failed")
		addUp(t, s)
		every := []analytics.Dimension{
			analytics.ByAll, analytics.ByMethod, analytics.ByCountry, analytics.ByRail, analytics.ByBand, analytics.ByHour, analytics.ByAnswer, analytics.ByTries,
		}
		want := totals(t, o, every...)
		exec, closeDB := s.Exec(t)
		defer closeDB()
		for _, d := range every {
			for _, change := range []string{"n = n + 1", "amount = amount + 7", "fees = fees - 1"} {
				exec("UPDATE rollups SET " + change + " WHERE dimension = '" + string(d) + "'")
				if broken, err := s.App.Check(ctx); err != nil || len(broken) == 0 {
					t.Errorf("the check does not find %s of %s (%v)", change, d, err)
				}
				if mended, err := s.App.Store.RepairCounters(ctx); err != nil || len(mended) == 0 {
					t.Errorf("the repair of %s of %s mends %v (%v)", change, d, mended, err)
				}
				same(t, change+" of "+string(d)+", mended", totals(t, o, every...), want)
			}
		}
	})
}

// A payment is open until its end is known: those that wait for the shopper, and those that no provider has answered.
func TestAnalyticsCountEveryOpenPayment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		waits := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		unknown := o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card"}`)
		if got := o.Status(t, waits) + " " + o.Status(t, unknown); got != "pending processing" {
			t.Fatalf("the payments are %s", got)
		}
		day := s.Clock.Now().UTC().Truncate(24 * time.Hour)
		for _, by := range []analytics.Dimension{analytics.ByMethod, analytics.ByCountry, analytics.ByRail} {
			a, err := s.App.Analytics.Analyse(ctx, harness.SandboxScope(o), day, day.AddDate(0, 0, 1), by)
			harness.Must(t, err)
			if a.Now.Open != 2 || a.Days[0].Open != 2 || len(a.Parts) != 2 || a.Parts[0].Now.Open != 1 || a.Parts[1].Now.Open != 1 {
				t.Errorf("by %s two open payments are %+v, of the day %+v, apart %+v", by, a.Now, a.Days[0], a.Parts)
			}
		}
		other := s.NewShop(t)
		if a, err := s.App.Analytics.Analyse(ctx, harness.SandboxScope(other), day, day.AddDate(0, 0, 1), analytics.ByMethod); err != nil || a.Now.All() != 0 {
			t.Errorf("another shop has %+v (%v)", a.Now, err)
		}
		if a, err := s.App.Analytics.Analyse(ctx, harness.SandboxScope(o), day.AddDate(0, 0, 1), day.AddDate(0, 0, 2), analytics.ByMethod); err != nil || a.Now.All() != 0 || a.Before.Open != 2 {
			t.Errorf("the next day has %+v, before it %+v (%v)", a.Now, a.Before, err)
		}
	})
}
