package console

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/chromedp/chromedp"
)

// In a browser an operator checks the books and watches the result come without loading the page, makes a batch for a
// bank, and opens a dispute with its evidence. Each of these pages is accessible, and no wider than a phone.
func TestConsoleOfMoneyInABrowser(t *testing.T) {
	t.Parallel()
	o := fileShop(t, dbtest.SQLite(t))
	waitsForAFile(t, o, "103")
	box := o.As(o.Sandbox.Secret)
	_, claim := box.Dispute(t, true)
	box.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
	box.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceFile("image/png", "signed.png", []byte("\x89PNG\r\n\x1a\nsigned"))).Want(t, http.StatusCreated)
	kyc := box.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	op := harness.OperatorUser(t, o)
	op.Do(t, consolePath+"merchants/"+o.Merchant.ID+"/pause", "reason", "We wait for your papers")
	harness.OperatorUser(t, o) // the page of operators has what can be done with another one
	op.Do(t, consolePath+"payouts/limits", "approvalAbove", "500", "daily", "7000")
	op.Do(t, consolePath+"payouts/floats", "account", "banco", "way", "in", "amount", "10000", "currency", "MXN", "reference", "ref-1", "note", "from our bank")
	tab := op.Tab(t, consolePath+"check")
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		harness.Must(t, chromedp.Do(tab, steps...))
	}
	do(chromedp.Click(`form[action$="/check/start"] button.primary`), chromedp.WaitVisible(`#check .notice.good`), chromedp.WaitVisible(`#check .badge.good`))
	harness.CheckPage(t, tab, "console-check")
	do(chromedp.Navigate(op.URL+consolePath+"payouts/batches"), chromedp.Click(`form[action$="/payouts/batches"] button.primary`), chromedp.WaitVisible(`form[action$="/dissolve"] button`))
	harness.CheckPage(t, tab, "console-batch")
	for name, path := range map[string]string{
		"console-batches": "payouts/batches", "console-limits": "payouts", "console-floats": "payouts/floats", "console-seals": "seals", "console-no-replay": "routing/replay",
		"console-claim": "claims/" + claim, "console-verification": "verifications/" + kyc, "console-operators": "operators", "console-machine": "machine", "console-merchant": "merchants/" + o.Merchant.ID,
	} {
		do(chromedp.Navigate(op.URL+consolePath+path), chromedp.WaitVisible("main h1"))
		harness.CheckPage(t, tab, name)
	}
}
