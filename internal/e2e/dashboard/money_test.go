package dashboard

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
)

// withApp gives a user an app for codes, and returns what shows a new code.
func withApp(t *testing.T, u harness.Staff) (code func() string) {
	t.Helper()
	_, rest, _ := strings.Cut(u.Page(t, "/dashboard/profile/app"), `name="secret" value="`)
	secret, _, _ := strings.Cut(rest, `"`)
	code = func() string {
		u.Clock.Advance(time.Minute) // each code works once
		c, err := totp.GenerateCode(secret, u.Clock.Now())
		harness.Must(t, err)
		return c
	}
	if a := u.Ask(t, http.MethodPost, "/dashboard/profile/app", url.Values{"secret": {secret}, "code": {code()}, "old": {harness.StaffPassword}}); a.Status != http.StatusOK {
		t.Fatalf("the app is not added: %d %s", a.Status, a.Text())
	}
	return code
}

// prove gives the second factor again, and returns where that leads.
func prove(t *testing.T, u *harness.Staff, next, code string) string {
	t.Helper()
	a := u.Ask(t, http.MethodPost, "/dashboard/again", url.Values{"code": {code}, "next": {next}})
	if a.Status != http.StatusSeeOther {
		t.Fatalf("the code gets %d: %s", a.Status, a.Text())
	}
	u.Cookie = cookieOf(a)
	return a.Header.Get("Location")
}

// nextOf is the page to which the question for the second factor leads on.
func nextOf(t *testing.T, location string) string {
	t.Helper()
	at, err := url.Parse(location)
	harness.Must(t, err)
	if at.Path != "/dashboard/again" {
		t.Fatalf("it leads to %s, want the question for the second factor", location)
	}
	return at.Query().Get("next")
}

// between is the text between two others.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// A wallet is added with a second factor that was given just now, and removed. What was typed is kept.
func TestWalletIsAddedWithTheSecondFactor(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u, viewer := o.Staff(t, people.Finance), o.Staff(t, people.Viewer)
		form := url.Values{"network": {"spei"}, "destination": {harness.CLABE}, "currency": {"MXN"}, "label": {"Main"}, "holderName": {"Ana"}}
		if a := u.Ask(t, http.MethodPost, "/wallets", form); !strings.HasPrefix(a.Header.Get("Location"), "/dashboard/again") {
			t.Errorf("without a second factor a wallet gets %d %s", a.Status, a.Header.Get("Location"))
		}
		code := withApp(t, u)
		if a := u.Ask(t, http.MethodGet, "/wallets/new", nil); a.Status != http.StatusOK || !strings.Contains(a.Text(), "SPEI (Mexico)") {
			t.Errorf("the choice of a network is %d: %s", a.Status, a.Text())
		}
		a := u.Ask(t, http.MethodGet, "/wallets/new?network=spei", nil)
		if to := prove(t, &u, nextOf(t, a.Header.Get("Location")), code()); to != u.Home()+"/wallets/new?network=spei" {
			t.Errorf("the code leads to %s", to)
		}
		u.Page(t, "/wallets/new?network=spei")
		s.Clock.Advance(people.FactorFresh) // typing took long
		a = u.Ask(t, http.MethodPost, "/wallets", form)
		if a.Status != http.StatusUnauthorized || !strings.Contains(a.Body, harness.CLABE) || !strings.Contains(a.Body, `name="code"`) {
			t.Errorf("after ten minutes the form gets %d: %s", a.Status, a.Text())
		}
		form.Set("code", "000000")
		if a := u.Ask(t, http.MethodPost, "/wallets", form); a.Status != http.StatusUnauthorized || !strings.Contains(a.Text(), "wrong") {
			t.Errorf("a wrong code gets %d: %s", a.Status, a.Text())
		}
		form.Set("code", code())
		form.Set("destination", "032180000118359718")
		form.Set("holderEmail", "nobody")
		a = u.Ask(t, http.MethodPost, "/wallets", form)
		if u.Cookie = cookieOf(a); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "check each character") || !strings.Contains(a.Text(), "not an e-mail address") || !strings.Contains(a.Body, `value="Ana"`) {
			t.Errorf("a wrong check digit gets %d: %s", a.Status, a.Text())
		}
		form.Set("destination", harness.CLABE)
		form.Del("holderEmail")
		a = u.Ask(t, http.MethodPost, "/wallets", form)
		if a.Status != http.StatusSeeOther {
			t.Fatalf("the wallet gets %d: %s", a.Status, a.Text())
		}
		wallet := between(a.Header.Get("Location")+"|", "/wallets/", "|")
		if a := u.Ask(t, http.MethodPost, "/wallets", form); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "with this destination already") {
			t.Errorf("the same destination again gets %d: %s", a.Status, a.Text())
		}
		if page := u.Page(t, "/wallets/"+wallet); strings.Contains(page, harness.CLABE) || !strings.Contains(page, "032****9719") || !strings.Contains(page, "Main") {
			t.Error("the page of the wallet does not show it masked")
		}
		if !audited(t, u, audit.WalletCreated) {
			t.Error("the wallet is not in the audit log")
		}
		for _, path := range []string{"/wallets", "/wallets/" + wallet + "/remove", "/withdrawals", "/withdrawals/wdr_x/cancel"} {
			if a := viewer.Ask(t, http.MethodPost, path, form); a.Status != http.StatusForbidden {
				t.Errorf("a viewer gets %d from POST %s", a.Status, path)
			}
		}
		if list := viewer.Page(t, "/wallets"); strings.Contains(list, "wallets/new") || !strings.Contains(list, "032****9719") {
			t.Error("a viewer sees the button, or not the wallet")
		}
		if text := u.Ask(t, http.MethodGet, "/wallets/"+wallet+"/remove", nil).Text(); !strings.Contains(text, "Remove this wallet?") {
			t.Errorf("the question is %s", text)
		}
		u.Do(t, "/wallets/"+wallet+"/remove")
		if text := u.Ask(t, http.MethodGet, "/wallets", nil).Text(); !strings.Contains(text, "Removed") {
			t.Errorf("the list is %s", text)
		}
	})
}

// A new wallet of production waits for a day, and says so.
func TestNewWalletOfProductionWaits(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Owner)
	u.Live = true
	wallet := o.Production().Wallet(t)
	for path, want := range map[string]string{"/wallets": "Can receive in 23 hours", "/wallets/" + wallet: "It can receive money from", "/withdrawals/new": "Can receive in 23 hours"} {
		if text := u.Ask(t, http.MethodGet, path, nil).Text(); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", path, want, text)
		}
	}
}

// A withdrawal is quoted, confirmed with the second factor, made once, and canceled.
func TestMoneyIsWithdrawn(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u, other := o.Staff(t, people.Finance), s.NewShop(t).Staff(t, people.Owner)
		o.Fund(t, false, 500_00)
		wallet := o.Wallet(t)
		code := withApp(t, u)
		for amount, want := range map[string]string{"": "above 0", "x": "above 0", "-1": "above 0", "1.005": "above 0", "0.01": "at least 3.01 USD", "500.01": "more than the available"} {
			a := u.Ask(t, http.MethodGet, "/withdrawals/new?wallet="+wallet+"&amount="+amount, nil)
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), want) || !strings.Contains(a.Body, `value="`+amount+`"`) {
				t.Errorf("the amount %q gets %d: %s", amount, a.Status, a.Text())
			}
		}
		quote := u.Ask(t, http.MethodGet, "/withdrawals/new?wallet="+wallet+"&amount=100", nil)
		if !strings.Contains(quote.Text(), "Is this right?") || !strings.Contains(quote.Text(), "MXN") || !strings.Contains(quote.Text(), "100.00") {
			t.Errorf("the quote is %s", quote.Text())
		}
		key := between(quote.Body, `name="key" value="`, `"`)
		form := url.Values{"wallet": {wallet}, "amount": {"100"}, "key": {key}}
		a := u.Ask(t, http.MethodPost, "/withdrawals", form)
		back := prove(t, &u, nextOf(t, a.Header.Get("Location")), code())
		again := u.Ask(t, http.MethodGet, back, nil)
		if between(again.Body, `name="key" value="`, `"`) != key || !strings.Contains(again.Text(), "100.00") {
			t.Errorf("after the code the page is %s", again.Text())
		}
		first := u.Do(t, "/withdrawals", "wallet", wallet, "amount", "100", "key", key)
		if second := u.Do(t, "/withdrawals", "wallet", wallet, "amount", "100", "key", key); second != first || harness.Available(t, o) != "400" {
			t.Errorf("a double click makes %s and %s, and leaves %s", first, second, harness.Available(t, o))
		}
		form.Set("amount", "50")
		if a := u.Ask(t, http.MethodPost, "/withdrawals", form); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "Begin anew") {
			t.Errorf("the key with another amount gets %d: %s", a.Status, a.Text())
		}
		id := between(first+"|", "/withdrawals/", "|")
		page := u.Ask(t, http.MethodGet, "/withdrawals/"+id, nil)
		for _, want := range []string{"Withdrawal of 100.00", "Pending", "out of the available balance", "032****9719", "Cancel the withdrawal"} {
			if !strings.Contains(page.Text(), want) {
				t.Errorf("the page does not tell %q: %s", want, page.Text())
			}
		}
		for path, want := range map[string]int{"/withdrawals/" + id: 404, "/wallets/" + wallet: 404, "/withdrawals/" + id + "/cancel": 404} {
			if a := other.Ask(t, http.MethodGet, path, nil); a.Status != want {
				t.Errorf("another merchant's user gets %d from %s", a.Status, path)
			}
		}
		u.Page(t, "/withdrawals/"+id+"/cancel")
		u.Do(t, "/withdrawals/"+id+"/cancel")
		if text := u.Ask(t, http.MethodGet, "/withdrawals/"+id, nil).Text(); !strings.Contains(text, "It was canceled") || harness.Available(t, o) != "500" {
			t.Errorf("after it was canceled: %s", text)
		}
		if a := u.Ask(t, http.MethodPost, "/withdrawals/"+id+"/cancel", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("a canceled one is canceled again: %d", a.Status)
		}
		list := u.Ask(t, http.MethodGet, "/withdrawals?status=canceled&wallet="+wallet, nil).Text()
		file := u.Ask(t, http.MethodGet, "/withdrawals.csv", nil).Body
		if !strings.Contains(list, "Canceled") || strings.Count(file, "\n") != 2 || !strings.Contains(file, id) {
			t.Errorf("the list is %s, the file %s", list, file)
		}
	})
}

// month makes a shop with a closed settlement.
func month(t *testing.T, s *harness.Instance) (o harness.Client, settlement string) {
	t.Helper()
	o = s.NewShop(t)
	return o, monthOf(t, o)
}

// monthOf closes a settlement of a shop, and returns its id.
func monthOf(t *testing.T, o harness.Client) string {
	t.Helper()
	o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"=SUM(A1)"}`)
	refunded := o.Create(t, `{"amount":40,"paymentMethodId":"sbx_card"}`)
	o.Refund(t, refunded, `{"amount":10}`).Want(t, http.StatusOK)
	o.Settle(t, "a settlement is open", func() bool {
		return o.Get(t, "/settlements?status=open").Want(t, http.StatusOK).Text(t, "pagination.total") == "1"
	})
	harness.MoveTestClock(t, o, "49h")
	return harness.ClosedSettlements(t, o, 1).Text(t, "data.0.id")
}

// The balance tells its four parts and every movement; filters and files agree with it. A settlement has the
// receipt and the lines that the API has.
func TestBalanceAndSettlementsAreSeen(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, settlement := month(t, s)
		u, other := o.Staff(t, people.Viewer), s.NewShop(t).Staff(t, people.Owner)
		page := u.Ask(t, http.MethodGet, "/balance", nil).Text()
		for _, want := range []string{"Available", "You can withdraw it now", "2 days after the payment", "5% of each payment", "Next releases", "Settled", "Balance after"} {
			if !strings.Contains(page, want) {
				t.Errorf("the balance does not tell %q: %s", want, page)
			}
		}
		// The merchant withdraws by itself: nothing is on its way to it, though a settlement is closed and not paid.
		if home := u.Ask(t, http.MethodGet, "/", nil).Text(); !strings.Contains(home, "Next settlement") || strings.Contains(home, "On its way") {
			t.Errorf("the first page says of settlements: %s", home)
		}
		if text := other.Ask(t, http.MethodGet, "/balance", nil).Text(); !strings.Contains(text, "Nothing has moved yet") {
			t.Errorf("an empty balance is %s", text)
		}
		fees := u.Ask(t, http.MethodGet, "/balance?type=fee", nil).Text()
		if strings.Contains(fees, "Balance after") || !strings.Contains(fees, "TXN-") {
			t.Errorf("the fees are %s", fees)
		}
		day := s.Clock.Now().UTC().Format(time.DateOnly)
		for path, want := range map[string]int{
			"/balance?from=" + day + "&to=" + day: 200, "/balance?from=nonsense": 400, "/balance?type=nonsense": 400, "/balance?type=fee&cursor=x": 400, "/balance?cursor=mov_x": 400,
			"/balance/reserve": 200, "/settlements?status=closed": 200, "/settlements?from=x": 400,
		} {
			if a := u.Ask(t, http.MethodGet, path, nil); a.Status != want {
				t.Errorf("%s gets %d, want %d: %s", path, a.Status, want, a.Text())
			}
		}
		whole := u.Ask(t, http.MethodGet, "/balance.csv", nil).Body
		if total := o.Get(t, "/me/balance/movements").Text(t, "pagination.total"); strconv.Itoa(strings.Count(whole, "\n")-1) != total {
			t.Errorf("the file has %d rows, the API %s", strings.Count(whole, "\n")-1, total)
		}
		first := o.Get(t, "/me/balance/movements?limit=1")
		if line := strings.Split(whole, "\n")[1]; !strings.Contains(line, first.Text(t, "data.0.id")) {
			t.Errorf("the first row is %s, the API has %s", line, first)
		}
		for path, kind := range map[string]string{"receipt.pdf": "pdf", "lines.csv": "csv"} {
			sheet := ""
			if kind == "csv" {
				sheet = "&decimal=point"
			}
			_, want := harness.ReportFile(t, o, "/settlements/"+settlement+"/report?format="+kind+sheet)
			a := u.Ask(t, http.MethodGet, "/settlements/"+settlement+"/"+path, nil)
			if html.UnescapeString(string(want)) != a.Body || !strings.Contains(a.Header.Get("Content-Disposition"), settlement+"."+kind) {
				t.Errorf("%s has %d bytes, the API's has %d", path, len(a.Body), len(want))
			}
			if a := other.Ask(t, http.MethodGet, "/settlements/"+settlement+"/"+path, nil); a.Status != http.StatusNotFound {
				t.Errorf("another merchant's user gets %d", a.Status)
			}
		}
		text := u.Ask(t, http.MethodGet, "/settlements/"+settlement, nil).Text()
		for _, want := range []string{"Settlement of", "Receipt (PDF)", "140.00", "Refund", "Net"} {
			if !strings.Contains(text, want) {
				t.Errorf("the settlement does not tell %q: %s", want, text)
			}
		}
		if file := u.Ask(t, http.MethodGet, "/settlements.csv", nil).Body; !strings.Contains(file, settlement) {
			t.Errorf("the file is %s", file)
		}
	})
}

// In the browser: finance closes a month. It looks at the balance and the settlement, and withdraws with the
// second factor.
func TestFinanceClosesAMonthInTheBrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o, settlement := month(t, s)
	o.Wallet(t)
	u := o.Staff(t, people.Finance)
	code := withApp(t, u)
	tab := u.Tab(t, "/balance")
	harness.CheckPage(t, tab, "balance")
	visit := func(path, name string) {
		harness.Must(t, chromedp.Do(tab, chromedp.Navigate(u.URL+u.At(path))))
		harness.CheckPage(t, tab, name)
	}
	visit("/balance/reserve", "reserve")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`[data-nav="settlements"]`), chromedp.WaitVisible(`a[href$="`+settlement+`"]`)))
	harness.CheckPage(t, tab, "settlements")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`a[href$="`+settlement+`"]`), chromedp.WaitVisible(`a[href$="receipt.pdf"]`)))
	harness.CheckPage(t, tab, "settlement")
	visit("/wallets", "wallets")
	visit("/wallets/new", "networks")
	visit("/withdrawals", "withdrawals-empty")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`main .actions .primary`), chromedp.WaitVisible(`#f-amount`)))
	harness.CheckPage(t, tab, "withdraw")
	harness.Must(t, chromedp.Do(tab, chromedp.SendKeys(`#f-amount`, "60"), chromedp.Click(`main form .primary`), chromedp.WaitVisible(`input[name="amount"][value="60"] ~ .buttons .primary`)))
	harness.CheckPage(t, tab, "quote")
	harness.Must(t, chromedp.Do(tab, chromedp.Click(`main form .primary`), chromedp.WaitVisible(`#f-code`), chromedp.SendKeys(`#f-code`, code()), chromedp.Click(`form .primary`),
		chromedp.WaitVisible(`input[name="amount"][value="60"] ~ .buttons .primary`), chromedp.Click(`main form .primary`), chromedp.WaitVisible(`.timeline`)))
	harness.CheckPage(t, tab, "withdrawal")
	text := mainText(t, tab)
	if !strings.Contains(text, "Withdrawal of 60.00") {
		t.Errorf("the page is %s", text)
	}
	id := o.Get(t, "/withdrawals").Text(t, "data.0.id")
	s.Clock.Advance(time.Minute)
	o.PayOut(t, id, "completed")
	covered(t, o, settlement, "60")
	cameBack(t, o, id, "500")
	visit("/withdrawals/"+id, "withdrawal-done")
	visit("/settlements/"+settlement, "settlement-withdrawn")
	visit("/settlements", "settlements-withdrawn")
	visit("/withdrawals", "withdrawals")
	visit("/wallets/new?network=spei", "newwallet")
	text = mainText(t, tab)
	if !strings.Contains(text, "CLABE") {
		t.Errorf("the form is %s", text)
	}
	visit("/wallets/"+o.Get(t, "/wallets").Text(t, "data.0.id"), "wallet")
	for _, language := range []string{"es", "pt"} {
		harness.Must(t, s.App.People.Introduce(ctx, u.User.ID, "Ana", merchants.Language(language)))
		for path, name := range map[string]string{"/balance": "balance", "/settlements/" + settlement: "settlement", "/withdrawals": "withdrawals", "/withdrawals/new?amount=10": "quote", "/disputes": "disputes"} {
			visit(path, name+"-"+language)
		}
	}
}

func mainText(t *testing.T, tab context.Context) string {
	t.Helper()
	text, err := chromedp.Run(tab, chromedp.Text(`main`))
	harness.Must(t, err)
	return text
}

// A second click on the button that adds a wallet changes nothing: it would come with a code that the first click used,
// and with a cookie that the first click replaced.
func TestSecondClickAddsTheWalletOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Finance)
	code := withApp(t, u)
	prove(t, &u, u.Home(), code())
	tab := u.Tab(t, "/wallets/new?network=spei")
	do(t, tab, chromedp.SendKeys(`[name=destination]`, harness.CLABE), chromedp.SendKeys(`[name=holderName]`, "Ana"))
	s.Clock.Advance(people.FactorFresh) // typing took long
	do(t, tab, chromedp.Click(`main form button.primary`), chromedp.WaitVisible(`[name=code]`), chromedp.SendKeys(`[name=code]`, code()))
	_, err := chromedp.Call(tab, runtime.Evaluate, runtime.EvaluateParams{Expression: "{ const b = document.querySelector('main form button.primary'); b.click(); setTimeout(() => b.click(), 30); }"})
	harness.Must(t, err)
	shows(t, tab, "the page", "/\\/wallets\\/[a-z]+_\\w+$/.test(location.pathname) ? 'the wallet' : location.pathname", "the wallet")
}

// The money of a payment adds up: what is left of it after a refund and a lost dispute is what the balance has.
func TestMoneyOfAPaymentAddsUp(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		paid := func(o harness.Client) string { return o.Create(t, order(1, "ana@example.com")) }
		for name, c := range map[string]struct {
			make func(o harness.Client) (payment string)
			want []string
		}{
			"paid": {paid, nil},
			"refunded": {func(o harness.Client) string {
				o.Fund(t, false, 100_00)
				id := paid(o)
				o.Refund(t, id, "").Want(t, http.StatusOK)
				return id
			}, []string{"Your part of refunds −24.13 USD", "Customer got back 25.50 USD"}},
			"disputed": {func(o harness.Client) string {
				id, _ := o.Dispute(t, true)
				return id
			}, []string{"Dispute fee −20.00 USD", "Held for a claim 100.00 USD"}},
			"lost": {func(o harness.Client) string {
				id, claim := o.Dispute(t, true)
				o.Post(t, "/claims/"+claim+"/accept", "").Want(t, http.StatusOK)
				return id
			}, []string{"Dispute lost −100.00 USD", "Dispute fee −20.00 USD"}},
		} {
			o := s.NewShop(t)
			id := c.make(o)
			page := text(o.Staff(t, people.Finance).Page(t, "/payments/"+id))
			says(t, name, page, c.want...)
			have, err := s.App.Settlements.Balances(ctx, merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID})
			harness.Must(t, err)
			left := have[ledger.Pending] + have[ledger.Available] + have[ledger.Reserve] + have[ledger.Frozen]
			if name == "refunded" {
				left -= 100_00
			}
			want := strings.Replace(fmt.Sprintf("Left for you %.2f USD with the reserve", float64(left)/100), "-", "−", 1)
			if strings.Contains(page, want) != (name != "paid") {
				t.Errorf("%s: the page should say %q: %s", name, want, page)
			}
		}
	})
}
