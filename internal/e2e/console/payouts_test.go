package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// fileShop returns the production client of a merchant whose withdrawals leave in files of the account banco.
func fileShop(t *testing.T, database string) harness.Client {
	t.Helper()
	s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
		c.WalletCoolDown = time.Millisecond
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
	})
	s.Rate(t, "MXN 18.35", "BRL 5.4")
	s.PayOutBy(t, "bank-file", accounts.NewAccount{ID: "banco", Credentials: map[string]string{"layout": "csv"}})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	s.Clock.Advance(time.Second)
	return o
}

// invitedBy makes it so that an operator was invited by another one, now.
func invitedBy(t *testing.T, op, by harness.Staff) harness.Staff {
	t.Helper()
	u, err := op.App.Store.Users().Get(ctx, op.User.ID)
	harness.Must(t, err)
	harness.Must(t, op.App.Store.Commit(ctx, pay.Change{Users: []people.User{u.Next().Appoint(people.Link{By: by.User.ID, Operator: u.Operator}, op.App.Now())}}))
	return op
}

// waitsForAFile makes a withdrawal that waits for a batch.
func waitsForAFile(t *testing.T, o harness.Client, amount string) string {
	t.Helper()
	id := o.Withdraw(t, amount)
	o.Clock.Advance(pay.WithdrawalHold(true))
	o.PayOut(t, id, "processing")
	return id
}

// Two operators bring payouts to a bank: one makes the batch, the other approves it, and the bank's answer ends them.
func TestOperatorsPayOutByFile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		o := fileShop(t, database)
		arrives, refused := waitsForAFile(t, o, "103"), waitsForAFile(t, o, "53")
		first, second := harness.OperatorUser(t, o), harness.OperatorUser(t, o)
		if page := first.Page(t, consolePath+"payouts/batches"); !strings.Contains(page, "No batches yet") || !strings.Contains(page, "banco") {
			t.Error("the page of no batches does not offer the account")
		}
		if a := first.Ask(t, http.MethodPost, consolePath+"payouts/batches", url.Values{"account": {"nobody"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "obody is not an account") {
			t.Errorf("a batch of an unknown account gets %d: %s", a.Status, a.Text())
		}
		path := first.Do(t, consolePath+"payouts/batches", "account", "banco")
		if to := first.Do(t, consolePath+"payouts/batches", "account", "banco"); to != consolePath+"payouts/batches" {
			t.Errorf("a batch of nothing leads to %s", to)
		}
		page := first.Page(t, path)
		if !strings.Contains(page, arrives) || !strings.Contains(page, refused) || strings.Contains(page, path+"/approve") || !strings.Contains(page, "another operator must approve it") {
			t.Errorf("who made the batch reads %s", harness.Answer{Body: page}.Text())
		}
		for act, says := range map[string]string{"approve": "another operator must", "file": "approved"} {
			if a := first.Ask(t, http.MethodPost, path+"/"+act, url.Values{}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), says) {
				t.Errorf("who made the batch gets for %s %d: %s", act, a.Status, a.Text())
			}
		}
		invited := invitedBy(t, harness.OperatorUser(t, o), first)
		between := invitedBy(t, harness.OperatorUser(t, o), first)
		chained := invitedBy(t, harness.OperatorUser(t, o), between)
		harness.Must(t, o.App.Team.Remove(ctx, o.App.Team.Self(), between.User.Email)) // who is removed was invited all the same
		for whose, op := range map[string]harness.Staff{"of whoever invited him": invited, "of whoever invited the one who invited him": chained} {
			if a := op.Ask(t, http.MethodPost, path+"/approve", url.Values{}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "one person") {
				t.Errorf("an operator approves the batch %s: %d %s", whose, a.Status, a.Text())
			}
		}
		second.Do(t, path+"/approve")
		a := second.Ask(t, http.MethodPost, path+"/file", url.Values{})
		if a.Status != http.StatusOK || !strings.Contains(a.Body, harness.CLABE) || !strings.Contains(a.Header.Get("Content-Disposition"), ".csv") {
			t.Fatalf("the file is %d %s %q", a.Status, a.Header, a.Body)
		}
		if a := second.Ask(t, http.MethodPost, path+"/dissolve", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("dissolving an exported batch answers %d", a.Status)
		}
		if page := second.Page(t, consolePath+"payouts/batches"); !strings.Contains(page, first.User.Email) || !strings.Contains(page, "Exported") {
			t.Error("the list does not have the batch with its operator")
		}
		lines := strings.Split(strings.TrimSpace(a.Body), "\n")
		answer := "reference,status,amount,currency,bank_reference\n"
		for i, line := range lines[1:] {
			words := strings.Split(line, ",")
			answer += words[0] + "," + []string{"paid", "rejected"}[i] + "," + words[2] + ",MXN,spei-" + words[0] + "\n"
		}
		if status, body := uploadFile(t, second, "payouts/answers", "answer", "nothing\n", "answered", "banco"); status != http.StatusBadRequest {
			t.Errorf("a wrong answer gets %d: %s", status, harness.Answer{Body: body}.Text())
		}
		if status, body := uploadFile(t, second, "payouts/answers", "answer", answer, "answered", "banco"); status != http.StatusOK || !strings.Contains(body, "Paid 1, refused 1") {
			t.Errorf("the answer gets %d: %s", status, harness.Answer{Body: body}.Text())
		}
		if got := o.Get(t, "/withdrawals/"+arrives).Text(t, "status") + " " + o.Get(t, "/withdrawals/"+refused).Text(t, "status"); got != "completed failed" {
			t.Errorf("after the answer the withdrawals are %s", got)
		}
		batch := path[strings.LastIndex(path, "/")+1:]
		first.Did(t, audit.BatchCreated, batch)
		second.Did(t, audit.BatchAgreed, batch)
		second.Did(t, audit.BatchTaken, batch)
		waitsForAFile(t, o, "23")
		path = invited.Do(t, consolePath+"payouts/batches", "account", "banco")
		if a := invitedBy(t, harness.OperatorUser(t, o), first).Ask(t, http.MethodPost, path+"/approve", url.Values{}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "one person") {
			t.Errorf("of two whom one operator invited, one approves what the other made: %d %s", a.Status, a.Text())
		}
		second.Do(t, path+"/dissolve")
		if page := second.Page(t, path); !strings.Contains(page, "Dissolved") {
			t.Error("the batch is not dissolved")
		}
		if a := second.Ask(t, http.MethodGet, consolePath+"payouts/batches/bat_x", nil); a.Status != http.StatusNotFound {
			t.Errorf("an unknown batch answers %d", a.Status)
		}
	})
}

var stopField = regexp.MustCompile(`name="stop" value="([^"]+)"`)

// An operator sets limits, stops payouts and sends them again. A form of limits that is older than the stop does not
// end it.
func TestOperatorLimitsPayouts(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		control := func(merchant string) pay.PayoutLimits {
			c, err := s.App.Payouts.Control(ctx, merchant, true)
			harness.Must(t, err)
			return c.PayoutLimits
		}
		if page := op.Page(t, consolePath+"payouts"); !strings.Contains(page, "No limits are set") {
			t.Error("a new service has limits")
		}
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/limits", url.Values{"hourly": {"much"}, "daily": {"7000"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `value="much"`) || !strings.Contains(a.Body, `value="7000"`) {
			t.Errorf("a wrong limit gets %d: %s", a.Status, a.Text())
		}
		op.Do(t, consolePath+"payouts/limits", "approvalAbove", "500", "hourly", "1,000.50", "daily", "7000")
		if got := control(""); got != (pay.PayoutLimits{ApprovalAbove: 500_00, Hourly: 1_000_50, Daily: 7_000_00}) {
			t.Errorf("the limits are %+v", got)
		}
		// Two operators have the form open. Whoever saves second does not bring the limits of before back.
		seen := regexp.MustCompile(`name="seen" value="([^"]*)"`)
		opened := seen.FindStringSubmatch(op.Page(t, consolePath+"payouts"))
		if opened == nil || opened[1] == "" {
			t.Fatalf("the form does not say which limits it was made from: %q", opened)
		}
		op.Do(t, consolePath+"payouts/limits", "seen", opened[1], "approvalAbove", "500", "hourly", "1,000.50", "daily", "70")
		late := op.Ask(t, http.MethodPost, consolePath+"payouts/limits", url.Values{"seen": {opened[1]}, "approvalAbove": {"600"}, "hourly": {"1,000.50"}, "daily": {"7000"}})
		if late.Status != http.StatusConflict || !strings.Contains(late.Text(), "omebody has changed these limits") || !strings.Contains(late.Body, `value="600"`) || control("").Daily != 70_00 {
			t.Errorf("a form of other limits gets %d, and the limit is %d: %s", late.Status, control("").Daily, late.Text())
		}
		op.Do(t, consolePath+"payouts/limits", "seen", seen.FindStringSubmatch(late.Body)[1], "approvalAbove", "600", "hourly", "1,000.50", "daily", "7000")
		if got := control(""); got.ApprovalAbove != 600_00 || got.Daily != 7_000_00 {
			t.Errorf("saved again, the limits are %+v", got)
		}
		of := []string{"merchant", o.Merchant.ID, "environment", "production"}
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/limits", url.Values{"merchant": {o.Merchant.ID}, "days": {"someday"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `value="someday"`) {
			t.Errorf("a wrong day gets %d: %s", a.Status, a.Text())
		}
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/stop", url.Values{"merchant": {o.Merchant.ID}}); a.Status != http.StatusBadRequest {
			t.Errorf("a stop without a reason answers %d", a.Status)
		}
		op.Do(t, consolePath+"payouts/stop", append(of, "reason", "their wallet was stolen")...)
		op.Do(t, consolePath+"payouts/limits", append(of, "schedule", "automatic", "minimum", "50", "days", "mon,thu")...)
		if got := control(o.Merchant.ID); got != (pay.PayoutLimits{Stopped: "their wallet was stolen", Schedule: pay.PayoutsAutomatic, Minimum: 50_00, Days: "mon,thu"}) {
			t.Errorf("the merchant's limits are %+v", got)
		}
		if page := op.Page(t, consolePath+"payouts?merchant="+o.Merchant.ID); !strings.Contains(page, "their wallet was stolen") || !strings.Contains(page, "mon,thu") || !strings.Contains(page, o.Merchant.Name) {
			t.Error("the page does not have the merchant's limits")
		}
		op.Do(t, consolePath+"payouts/stop", append(of, "reason", "and their phone")...)
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/resume", url.Values{"merchant": {o.Merchant.ID}, "environment": {"production"}, "stop": {"their wallet was stolen"}}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "another reason") || control(o.Merchant.ID).Stopped != "and their phone" {
			t.Errorf("a page from before the newest stop gets %d: %s", a.Status, a.Text())
		}
		op.Do(t, consolePath+"payouts/resume", append(of, "stop", stopField.FindStringSubmatch(op.Page(t, consolePath+"payouts?environment=production&merchant="+o.Merchant.ID))[1])...)
		if got := control(o.Merchant.ID).Stopped; got != "" {
			t.Errorf("payouts are still stopped: %s", got)
		}
		op.Did(t, audit.PayoutsLimited, pay.PayoutControlID(o.Merchant.ID, true))
		if a := op.Ask(t, http.MethodGet, consolePath+"payouts?merchant=mer_x", nil); a.Status != http.StatusNotFound {
			t.Errorf("limits of an unknown merchant answer %d", a.Status)
		}
	})
}

// An operator books money at a payout account, and insists where the books would go below zero.
func TestOperatorKeepsAFloat(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) {
		op := harness.OperatorUser(t, o)
		if page := op.Page(t, consolePath+"payouts/floats"); !strings.Contains(page, "No float is kept") {
			t.Error("a new service has a float")
		}
		form := url.Values{"account": {"bank-1"}, "way": {"in"}, "amount": {"1,000"}, "currency": {"mxn"}, "reference": {"ref-1"}, "note": {"from our bank"}}
		with := func(field, value string) url.Values {
			other := url.Values{}
			for name, values := range form {
				other[name] = values
			}
			other.Set(field, value)
			return other
		}
		for field, value := range map[string]string{"amount": "much", "currency": "XX", "way": "", "note": "", "account": "", "reference": ""} {
			if a := op.Ask(t, http.MethodPost, consolePath+"payouts/floats", with(field, value)); a.Status != http.StatusBadRequest {
				t.Errorf("a float with the %s %q gets %d: %s", field, value, a.Status, a.Text())
			}
		}
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/floats", with("amount", "10000")); a.Status != http.StatusSeeOther {
			t.Fatalf("the entry gets %d: %s", a.Status, a.Text())
		}
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/floats", with("amount", "10000")); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "booked already") {
			t.Errorf("the same reference gets %d: %s", a.Status, a.Text())
		}
		out := with("way", "out")
		out.Set("amount", "20000")
		out.Set("reference", "ref-2")
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/floats", out); a.Status/100 != 4 || !strings.Contains(a.Body, `name="force"`) {
			t.Errorf("taking out more than is there gets %d: %s", a.Status, a.Text())
		}
		out.Set("force", "true")
		if a := op.Ask(t, http.MethodPost, consolePath+"payouts/floats", out); a.Status != http.StatusSeeOther {
			t.Errorf("insisting gets %d: %s", a.Status, a.Text())
		}
		list, err := o.App.Floats.List(ctx)
		harness.Must(t, err)
		if len(list) != 1 || list[0].Free != -10_000_00 {
			t.Errorf("the floats are %+v", list)
		}
		if page := op.Page(t, consolePath+"payouts/floats"); !strings.Contains(page, "bank-1") || !strings.Contains(page, "the bank does not tell") {
			t.Error("the page does not have the float")
		}
		op.Did(t, audit.FloatEntered, "bank-1")
	})
}
