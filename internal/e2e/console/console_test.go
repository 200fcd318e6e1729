package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// accountForm is the form that opens an account at the plain provider.
func accountForm(id string, u *providertest.Upstream) url.Values {
	return url.Values{
		"adapter": {"plain"}, "id": {id}, "environment": {"production"}, "priority": {"100"}, "enabled": {"true"}, "baseUrl": {u.URL}, "all": {"all"},
		"credentials.apiKey": {"key-1"}, "credentials.webhookSecret": {id + "-hush"}, "credentials.merchantNumber": {"4711"},
		"row": {"", "pix.BRA", "spei.MEX"}, "price": {"2.9%+0.30", "0.99%", ""}, "limits": {"", "BRL:1-5000", ""},
	}
}

// secretless fails the test if a page has a credential.
func secretless(t *testing.T, what string, a harness.Answer) {
	t.Helper()
	if strings.Contains(a.Body, "key-1") || strings.Contains(a.Body, "-hush") {
		t.Errorf("%s shows a credential", what)
	}
}

var versionField = regexp.MustCompile(`name="version" value="(\d+)"`)

// An operator opens an account, checks and changes it, replaces its credentials and removes it. No page shows a
// credential, and an edit of a version that is not the present one is refused.
func TestOperatorKeepsAProviderAccount(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		op := harness.OperatorUser(t, s.NewShop(t))
		ask := func(method, path string, form url.Values) harness.Answer {
			a := op.Ask(t, method, "/dashboard/console/"+path, form)
			secretless(t, method+" "+path, a)
			return a
		}
		if page := ask(http.MethodGet, "accounts/new?adapter=plain", nil); !strings.Contains(page.Body, "credentials.webhookSecret") {
			t.Errorf("the form does not ask for the adapter's credentials: %s", page.Text())
		}
		wrong := accountForm("plain-1", u)
		wrong.Set("credentials.apiKey", "xkey-1")
		wrong["price"][1] = "much"
		if a := ask(http.MethodPost, "accounts", wrong); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "much") || !strings.Contains(a.Body, `value="4711"`) {
			t.Errorf("a wrong price gets %d: %s", a.Status, a.Text())
		}
		wrong["price"][1] = "0.99%"
		if a := ask(http.MethodPost, "accounts", wrong); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "begins with key-") {
			t.Errorf("a wrong credential gets %d: %s", a.Status, a.Text())
		}
		if a := ask(http.MethodPost, "accounts", accountForm("plain-1", u)); a.Status != http.StatusSeeOther {
			t.Fatalf("opening the account answers %d: %s", a.Status, a.Text())
		}
		if a := ask(http.MethodPost, "accounts", accountForm("plain-1", u)); a.Status != http.StatusConflict {
			t.Errorf("opening it twice answers %d", a.Status)
		}
		for _, want := range []string{"0.99%", "BRL:1-5000", "apiKey", u.URL} {
			if page := ask(http.MethodGet, "accounts/plain-1", nil); !strings.Contains(page.Body, want) {
				t.Errorf("the account's page does not have %s: %s", want, page.Text())
			}
		}
		ask(http.MethodGet, "accounts", nil)
		if a := ask(http.MethodPost, "accounts/plain-1/check", url.Values{}); a.Status != http.StatusOK {
			t.Errorf("the check answers %d: %s", a.Status, a.Text())
		}
		version := versionField.FindStringSubmatch(ask(http.MethodGet, "accounts/plain-1/edit", nil).Body)[1]
		edit := url.Values{"version": {version}, "priority": {"7"}, "all": {"some"}, "rail": {"pix.BRA"}, "row": {"", "pix.BRA", "spei.MEX"}, "price": {"", "1.5%", ""}, "limits": {"", "", ""}}
		if a := ask(http.MethodPost, "accounts/plain-1/edit", edit); a.Status != http.StatusSeeOther {
			t.Errorf("the change answers %d: %s", a.Status, a.Text())
		}
		if a := ask(http.MethodPost, "accounts/plain-1/edit", edit); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "changed meanwhile") {
			t.Errorf("a stale edit answers %d: %s", a.Status, a.Text())
		}
		if got, err := s.App.Providers.ProviderAccount(ctx, "plain-1"); err != nil || got.Priority != 7 || fmt.Sprint(got.Account.Rails) != "[pix.BRA]" {
			t.Errorf("the account is %+v (%v)", got.Account, err)
		}
		if a := ask(http.MethodPost, "accounts/plain-1/credentials", url.Values{"credentials.webhookSecret": {"new-hush"}}); a.Status != http.StatusSeeOther {
			t.Errorf("the rotation answers %d: %s", a.Status, a.Text())
		}
		ask(http.MethodGet, "accounts/plain-1/credentials", nil)
		for _, turn := range []string{"disable", "enable"} {
			op.Do(t, "/dashboard/console/accounts/plain-1/"+turn)
		}
		if a := ask(http.MethodPost, "accounts/plain-1/remove", url.Values{"confirm": {"plain"}}); a.Status != http.StatusBadRequest {
			t.Errorf("removing it without its name answers %d", a.Status)
		}
		op.Do(t, "/dashboard/console/accounts/plain-1/remove", "confirm", "plain-1")
		ask(http.MethodGet, "accounts/plain-1", nil)
		for _, act := range []audit.Act{audit.ProviderAdded, audit.ProviderChanged, audit.ProviderRotated, audit.ProviderDisabled, audit.ProviderEnabled, audit.ProviderRemoved} {
			op.Did(t, act, "plain-1")
		}
		if a := ask(http.MethodGet, "audit?object=plain-1", nil); !strings.Contains(a.Body, op.User.Email) || !strings.Contains(a.Text(), "Replaced a payment provider's credentials plain-1") {
			t.Errorf("the audit log's page has %s", a.Text())
		}
	})
}

// A notification that does not fit waits on the overview until an operator closes it with a note.
func TestOperatorClosesANotice(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		if page := op.Page(t, "/dashboard/console"); !strings.Contains(page, "Nothing needs a decision") {
			t.Error("the overview of a new service is not quiet")
		}
		if gone := op.Ask(t, http.MethodGet, consolePath+"payments/TXN-01", nil); gone.Status != http.StatusNotFound || !strings.Contains(gone.Text(), "Search for its id") {
			t.Errorf("a payment that does not exist gets %d: %s", gone.Status, gone.Text())
		}
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"paid","amount":"183","currency":"USD"`)).Want(t, http.StatusOK)
		if page := op.Page(t, "/dashboard/console"); !strings.Contains(page, "Notifications that do not fit") {
			t.Error("the overview does not show the notification")
		}
		open, err := s.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		if page := op.Page(t, "/dashboard/console/payments/"+id); !strings.Contains(page, "sandbox-1") || !strings.Contains(page, open[0].ID) {
			t.Error("the payment's page names neither its account nor the notification")
		}
		if page := op.Page(t, "/dashboard/console/decisions?kind=notices"); !strings.Contains(page, open[0].ID) {
			t.Error("the list of notifications does not have it")
		}
		op.Page(t, "/dashboard/console/notices?id="+url.QueryEscape(open[0].ID))
		if a := op.Ask(t, http.MethodPost, "/dashboard/console/notices/close", url.Values{"id": {open[0].ID}}); a.Status != http.StatusBadRequest {
			t.Errorf("closing it without a note answers %d", a.Status)
		}
		op.Do(t, "/dashboard/console/notices/close", "id", open[0].ID, "note", "given back at the provider")
		if a := op.Ask(t, http.MethodPost, "/dashboard/console/notices/close", url.Values{"id": {open[0].ID}, "note": {"again"}}); a.Status != http.StatusBadRequest {
			t.Errorf("closing it twice answers %d", a.Status)
		}
		op.Did(t, audit.NotificationClosed, open[0].ID)
		if page := op.Page(t, "/dashboard/console"); !strings.Contains(page, "Nothing needs a decision") {
			t.Error("the overview still shows the notification")
		}
		// One about an object that the books do not have names no payment.
		unknown := pay.UnknownNotice{ID: "n9", Reference: "01KAJ0Y3ZK9VQ4T4R1M2N3P5Q1-1", Body: []byte("paid")}.KeptWhole("bank", s.Clock.Now())
		unknown.Verdict = pay.Mismatched
		harness.Must(t, s.App.Notices.Store.Commit(ctx, pay.Change{Notices: []pay.KeptNotice{unknown}}))
		for _, path := range []string{"decisions?kind=notices", "notices?id=" + url.QueryEscape(unknown.ID)} {
			if page := op.Page(t, consolePath+path); !strings.Contains(page, "Nothing in these books") {
				t.Errorf("%s does not say that the books lack the object", path)
			}
		}
		op.Do(t, consolePath+"notices/close", "id", unknown.ID, "note", "a test service shares the account")
		if page := op.Page(t, consolePath+"notices?id="+url.QueryEscape(unknown.ID)); strings.Contains(page, "notices/close") {
			t.Error("a closed notification can be closed again")
		}
	})
}

// A withdrawal above the limit waits until an operator approves it. The destination is shown when it is asked for,
// and the audit log has that.
func TestOperatorApprovesAWithdrawal(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) {
		op := harness.OperatorUser(t, o)
		_, err := o.App.Payouts.LimitPayouts(ctx, o.App.Self(), o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.ApprovalAbove = 100_00 })
		harness.Must(t, err)
		id := o.Withdraw(t, "250")
		o.Clock.Advance(pay.WithdrawalHold(true))
		harness.Eventually(t, "the withdrawal waits", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return strings.Contains(op.Page(t, "/dashboard/console"), "Withdrawals to approve")
		})
		if page := op.Page(t, "/dashboard/console/decisions"); !strings.Contains(page, id) {
			t.Error("the list does not have the withdrawal")
		}
		path := "/dashboard/console/withdrawals/" + id
		if page := op.Page(t, path); strings.Contains(page, harness.CLABE) {
			t.Error("the page shows the destination without being asked")
		}
		if a := op.Ask(t, http.MethodPost, path+"/reveal", url.Values{}); a.Status != http.StatusOK || !strings.Contains(a.Body, harness.CLABE) {
			t.Errorf("the destination is not shown: %d", a.Status)
		}
		if a := op.Ask(t, http.MethodPost, path+"/approve", url.Values{"note": {" "}}); a.Status != http.StatusBadRequest {
			t.Errorf("approving it without a note answers %d", a.Status)
		}
		op.Do(t, path+"/approve", "note", "the merchant called")
		op.Did(t, audit.WithdrawalApproved, id)
		o.PayOut(t, id, "completed")
	})
}

// An operator looks at a merchant: reads its pages, changes nothing, and the audit log has the visit.
func TestOperatorVisitsAMerchant(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		path := "/dashboard/console/merchants/" + o.Merchant.ID
		if page := op.Page(t, "/dashboard/console/merchants?q="+url.QueryEscape(o.Merchant.Name)); !strings.Contains(page, o.Merchant.ID) {
			t.Error("the merchant is not found by its name")
		}
		to := op.Do(t, path+"/visit", "shop", o.Shop.ID, "environment", "sandbox")
		if to != "/dashboard/"+o.Shop.ID+"/sandbox" {
			t.Errorf("the visit leads to %s", to)
		}
		op.Did(t, audit.MerchantVisited, o.Merchant.ID)
		if page := op.Page(t, path); !strings.Contains(page, "End the visit") {
			t.Error("the merchant's page does not say that it is visited")
		}
		if to := op.Do(t, "/dashboard/console/visit/end"); to != path {
			t.Errorf("the end of the visit leads to %s", to)
		}
		if page := op.Page(t, path); strings.Contains(page, "End the visit") {
			t.Error("the visit has not ended")
		}
	})
}

// An operator makes a merchant, sees its keys once, invites its owner and changes its terms.
func TestOperatorMakesAMerchant(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		op := harness.OperatorUser(t, s.NewShop(t))
		form := url.Values{"name": {"Bodega"}, "email": {"bodega"}, "tier": {"standard"}, "language": {"es"}, "refundFees": {"kept"}}
		if a := op.Ask(t, http.MethodPost, "/dashboard/console/merchants", form); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `value="Bodega"`) || strings.Contains(a.Text(), "--email") {
			t.Errorf("a wrong address gets %d: %s", a.Status, a.Text())
		}
		form.Set("email", "pay@bodega.example")
		a := op.Ask(t, http.MethodPost, "/dashboard/console/merchants", form)
		if a.Status != http.StatusOK || !strings.Contains(a.Body, "sk_test_") || !strings.Contains(a.Body, "sk_live_") {
			t.Fatalf("the merchant is not made: %d %s", a.Status, a.Text())
		}
		id := regexp.MustCompile(`mer_[A-Z0-9]+`).FindString(a.Body)
		path := "/dashboard/console/merchants/" + id
		if page := op.Page(t, path); strings.Contains(page, "sk_live_") {
			t.Error("the keys are shown twice")
		}
		a = op.Ask(t, http.MethodPost, path+"/invite", url.Values{"email": {"eva@bodega.example"}, "role": {"owner"}, "language": {"es"}})
		if a.Status != http.StatusOK || !strings.Contains(a.Body, "/dashboard/link/") {
			t.Errorf("the invitation answers %d: %s", a.Status, a.Text())
		}
		form = url.Values{"version": {versionField.FindStringSubmatch(op.Page(t, path))[1]}, "tier": {"premium"}, "refundFees": {"returned"}}
		if a := op.Ask(t, http.MethodPost, path+"/terms", form); a.Status != http.StatusSeeOther {
			t.Errorf("new terms get %d: %s", a.Status, a.Text())
		}
		form.Set("tier", "starter")
		form.Set("refundFees", "kept")
		a = op.Ask(t, http.MethodPost, path+"/terms", form)
		if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "changed meanwhile") {
			t.Errorf("terms of an older version get %d: %s", a.Status, a.Text())
		}
		if !strings.Contains(a.Body, `value="premium" selected`) || !strings.Contains(a.Body, `value="returned" selected`) {
			t.Error("to save the form once more would undo what another operator agreed")
		}
		if m, err := s.App.AnyMerchant(ctx, id); err != nil || m.Tier != merchants.Premium || m.RefundFees != merchants.FeesReturned || m.TrustScore != 750 {
			t.Errorf("the merchant is %+v (%v)", m, err)
		}
		op.Do(t, path+"/email", "address", "new@bodega.example", "addressBefore", "pay@bodega.example")
		op.Do(t, path+"/email", "address", "pay@bodega.example", "addressBefore", "pay@bodega.example") // saved in a page from before
		if a := op.Ask(t, http.MethodPost, path+"/email", url.Values{"address": {"bodega"}, "addressBefore": {"new@bodega.example"}}); a.Status != http.StatusBadRequest || !regexp.MustCompile(`name="address"[^>]*aria-invalid="true"`).MatchString(a.Body) {
			t.Errorf("a wrong address gets %d, and the error is not at its field: %s", a.Status, a.Text())
		}
		for _, act := range []audit.Act{audit.MerchantCreated, audit.MerchantTermed, audit.MerchantMoved} {
			op.Did(t, act, id)
		}
		if page := op.Page(t, path); !strings.Contains(page, "eva@bodega.example") || !strings.Contains(page, `name="addressBefore" value="new@bodega.example"`) {
			t.Error("the page does not show what was changed")
		}
		a = op.Ask(t, http.MethodPost, "/dashboard/console/operators/invite", url.Values{"email": {"nora@ops.example"}, "role": {"admin"}})
		if a.Status != http.StatusOK || !strings.Contains(a.Body, "/dashboard/link/") {
			t.Errorf("the operator's invitation answers %d: %s", a.Status, a.Text())
		}
	})
}

// Clicks at the same time make one merchant, and one answer has its keys. The same form with something else in it says that
// it was sent before, and makes another merchant if it is sent again.
func TestMerchantIsMadeOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		op := harness.OperatorUser(t, s.NewShop(t))
		count := func() int64 {
			n, err := s.App.Store.Merchants().Count(ctx)
			harness.Must(t, err)
			return n
		}
		before, keyField := count(), regexp.MustCompile(`name="key" value="([^"]+)"`)
		form := url.Values{
			"key": {keyField.FindStringSubmatch(op.Page(t, consolePath+"merchants/new"))[1]}, "name": {"Bodega"}, "email": {"pay@bodega.example"},
			"tier": {"standard"}, "language": {"es"}, "refundFees": {"kept"},
		}
		answers := make([]harness.Answer, 8)
		var clicks sync.WaitGroup
		for i := range answers {
			clicks.Go(func() { answers[i] = op.Ask(t, http.MethodPost, consolePath+"merchants", form) })
		}
		clicks.Wait()
		keys, made := 0, ""
		for _, a := range answers {
			switch {
			case a.Status == http.StatusOK && strings.Contains(a.Body, "sk_live_"):
				keys, made = keys+1, regexp.MustCompile(`mer_[A-Z0-9]+`).FindString(a.Body)
			case a.Status != http.StatusSeeOther:
				t.Errorf("a click gets %d: %s", a.Status, a.Text())
			}
		}
		for _, a := range answers {
			if to := a.Header.Get("Location"); a.Status == http.StatusSeeOther && to != consolePath+"merchants/"+made {
				t.Errorf("a click leads to %s, want the merchant %s", to, made)
			}
		}
		if n := count(); n != before+1 || keys != 1 {
			t.Errorf("the clicks make %d merchants, and %d answers have keys", n-before, keys)
		}
		form.Set("name", "Almacén")
		a := op.Ask(t, http.MethodPost, consolePath+"merchants", form)
		if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "sent before") || !strings.Contains(a.Body, `value="Almacén"`) {
			t.Fatalf("another merchant in the same form gets %d: %s", a.Status, a.Text())
		}
		form.Set("key", keyField.FindStringSubmatch(a.Body)[1])
		if a := op.Ask(t, http.MethodPost, consolePath+"merchants", form); a.Status != http.StatusOK || count() != before+2 {
			t.Errorf("the form that is sent again gets %d: %s", a.Status, a.Text())
		}
	})
}

// An operator pauses a merchant with a reason that its team reads on every page, changes it, and ends the pause.
func TestOperatorPausesAMerchant(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op, owner := harness.OperatorUser(t, o), o.Staff(t, people.Owner)
		path := "/dashboard/console/merchants/" + o.Merchant.ID
		for _, wrong := range []string{" ", strings.Repeat("x", merchants.MostReason+1), "two\nlines"} {
			if a := op.Ask(t, http.MethodPost, path+"/pause", url.Values{"reason": {wrong}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "The reason has") {
				t.Errorf("the reason %q gets %d: %s", wrong, a.Status, a.Text())
			}
		}
		if page := op.Page(t, path); !strings.Contains(page, "within 5 seconds") || strings.Contains(page, `/resume"`) {
			t.Error("the page does not say when nodes obey, or ends a pause that there is not")
		}
		if page := op.Page(t, path); strings.Contains(page[:strings.Index(page, `<dialog id="pause"`)], `name="reason"`) {
			t.Error("the merchant's page pauses without asking")
		}
		for _, reason := range []string{"papers", "Your papers & contract"} {
			if page := op.Page(t, path+"/pause"); !strings.Contains(page, `name="reason"`) || !strings.Contains(page, o.Merchant.Name) {
				t.Error("the page for browsers without a script does not ask")
			}
			op.Do(t, path+"/pause", "reason", reason)
			for _, page := range []string{op.Page(t, path), owner.Page(t, "/payments"), owner.Page(t, "/dashboard/"+o.Shop.ID+"/production/withdrawals")} {
				if !strings.Contains(page, reason) {
					t.Errorf("a page does not say why: %s", harness.Answer{Body: page}.Text())
				}
			}
		}
		if page := op.Page(t, "/dashboard/console/merchants"); !strings.Contains(page, "Paused") {
			t.Error("the list does not show who is paused")
		}
		if file := op.Ask(t, http.MethodGet, "/dashboard/console/merchants.csv", nil); !strings.Contains(file.Body, "Your papers & contract") {
			t.Errorf("the file is %q", file.Body)
		}
		op.Did(t, audit.MerchantPaused, o.Merchant.ID)
		if page := owner.Page(t, "/audit"); !strings.Contains(page, "Paused the merchant") {
			t.Error("the merchant's audit log does not have the pause")
		}
		if a := op.Ask(t, http.MethodPost, path+"/resume", url.Values{"seen": {"papers"}}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "changed meanwhile") || !strings.Contains(a.Body, "Your papers & contract") {
			t.Errorf("a page from before the newest reason gets %d: %s", a.Status, a.Text())
		}
		if m, err := s.App.AnyMerchant(ctx, o.Merchant.ID); err != nil || m.Paused == "" {
			t.Errorf("a page from before the newest reason ended the pause (%v)", err)
		}
		op.Do(t, path+"/resume", "seen", "Your papers & contract")
		op.Do(t, path+"/resume", "seen", "Your papers & contract") // a second click changes nothing
		op.Did(t, audit.MerchantResumed, o.Merchant.ID)
		if page := owner.Page(t, "/payments"); strings.Contains(page, "Your papers") {
			t.Error("the strip stays after the pause")
		}
	})
}

// An operator writes rules in the form, sees what they would have done with past payments, and applies them. Rules
// that were changed meanwhile are not overwritten.
func TestOperatorChangesTheRouting(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		u := providertest.NewUpstream(t, "key-1")
		o := s.NewShop(t)
		op, live := harness.OperatorUser(t, o), o.Production()
		s.OpenAccount(t, "bank-1", u, func(n *accounts.NewAccount) { n.Priority = 1 })
		s.OpenAccount(t, "bank-2", u)
		id := live.Create(t, o.PixOrder(t))
		s.TellUpstream(t, u, id, 1, "paid", "bank-1-hush").Want(t, http.StatusOK)
		work := func(do string, form url.Values) harness.Answer {
			form.Set("do", do)
			a := op.Ask(t, http.MethodPost, "/dashboard/console/routing/edit", form)
			secretless(t, do, a)
			return a
		}
		op.Page(t, "/dashboard/console/routing")
		op.Page(t, "/dashboard/console/routing/edit")
		form := func() url.Values {
			return url.Values{
				"version": {"0"}, "order": {"least_cost"}, "attempts": {"3"}, "since": {"7"}, "environment": {"production"},
				"rail": {"pix.BRA", ""}, "rail-order": {"", ""}, "rail-accounts": {"bank-2", ""}, "rail-explored": {"", ""},
			}
		}
		a := work("write", form())
		file := regexp.MustCompile(`(?s)<textarea id="f-file"[^>]*>(.*?)</textarea>`).FindStringSubmatch(a.Body)
		if len(file) < 2 || !strings.Contains(file[1], "accounts: [bank-2]") || !strings.Contains(file[1], "order: least_cost") {
			t.Fatalf("the form is not written into the file: %d %s", a.Status, a.Text())
		}
		wrong := form()
		wrong.Set("file", "ordr: priority\n")
		if a := work("read", wrong); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), `no field "ordr"`) || !strings.Contains(a.Body, "ordr: priority") {
			t.Errorf("a wrong file gets %d: %s", a.Status, a.Text())
		}
		wrong.Set("file", "rails: {pix.BRA: {accounts: [bank-3]}}\n")
		if a := work("apply", wrong); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "there is no such account") {
			t.Errorf("an unknown account gets %d: %s", a.Status, a.Text())
		}
		right := form()
		right.Set("file", file[1])
		s.Clock.Advance(time.Minute)
		many := form()
		many.Set("file", file[1])
		many.Set("since", "1000")
		if a := work("replay", many); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "from 1 to 366 days") {
			t.Errorf("a replay of 1000 days gets %d: %s", a.Status, a.Text())
		}
		if page := op.Page(t, "/dashboard/console/routing/replay"); !strings.Contains(page, "Nothing was replayed on this node") {
			t.Error("the page of a new service has a replay")
		}
		if a := op.Ask(t, http.MethodPost, "/dashboard/console/routing/replay/stop", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("stopping no replay answers %d", a.Status)
		}
		if a := work("replay", right); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard/console/routing/replay" {
			t.Fatalf("the replay answers %d: %s", a.Status, a.Text())
		}
		var page string
		harness.Eventually(t, "the replay ends", func() bool {
			page = op.Page(t, "/dashboard/console/routing/replay")
			return strings.Contains(page, `value="apply"`)
		})
		if text := (harness.Answer{Body: page}).Text(); !strings.Contains(text, "1 payments were replayed; 1 begin at another account") || !strings.Contains(page, id) || !strings.Contains(page, "<progress") {
			t.Errorf("the replay shows %s", text)
		}
		if a := work("apply", right); a.Status != http.StatusSeeOther {
			t.Fatalf("applying the rules answers %d: %s", a.Status, a.Text())
		}
		op.Did(t, audit.RoutingApplied, "routing")
		if page := op.Page(t, "/dashboard/console/routing/replay"); strings.Contains(page, `value="apply"`) {
			t.Error("a replay against rules that are no longer in force can be applied")
		}
		right.Set("file", "order: priority\n")
		if a := work("apply", right); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "ersion 1 of the rules is in force") {
			t.Errorf("stale rules get %d: %s", a.Status, a.Text())
		}
		id = live.Create(t, o.PixOrder(t))
		if page := op.Page(t, "/dashboard/console/payments/"+id); !strings.Contains(page, "1. <a href=\"/dashboard/console/accounts/bank-2\"") {
			t.Error("the next payment does not go to bank-2")
		}
		op.Do(t, "/dashboard/console/routing/reset")
		op.Did(t, audit.RoutingReset, "routing")
	})
}

// Merchants and the audit log are files too.
func TestConsoleExportsItsLists(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		op.Do(t, consolePath+"merchants/"+o.Merchant.ID+"/visit")
		for path, want := range map[string]string{
			"merchants.csv?q=" + o.Merchant.Name: o.Merchant.ID + "," + o.Merchant.Name + ",",
			"audit.csv?object=" + op.User.ID:     "," + op.User.ID + ",",
		} {
			file := op.Ask(t, http.MethodGet, consolePath+path, nil)
			if file.Status != http.StatusOK || !strings.HasPrefix(file.Header.Get("Content-Type"), "text/csv") || !strings.Contains(file.Body, want) {
				t.Errorf("%s is %d %s, want %q in it", path, file.Status, file.Body, want)
			}
		}
		if page := op.Page(t, consolePath+"merchants"); !strings.Contains(page, "merchants.csv") {
			t.Error("the list of merchants does not lead to its file")
		}
	})
}
