package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/chromedp"
)

// mostSteps is how many clicks and fields together a usual task may take.
const mostSteps = 6

// hand works in a browser as a person does, and counts.
type hand struct {
	t              *testing.T
	tab            context.Context
	clicks, fields int
}

// begin opens the first page of a user.
func begin(t *testing.T, u harness.Staff, path string) *hand {
	t.Helper()
	h := &hand{t: t, tab: u.Tab(t, path)}
	harness.Must(t, chromedp.Do(h.tab, chromedp.EmulateViewport(1280, 900), chromedp.WaitVisible(`#main`)))
	return h
}

func (h *hand) sees(what string) {
	h.t.Helper()
	soon, cancel := context.WithTimeout(h.tab, harness.Patience/2)
	defer cancel()
	if err := chromedp.Do(soon, chromedp.WaitVisible(what)); err != nil {
		page, _ := chromedp.Run(h.tab, chromedp.Evaluate[string](`location.pathname + ": " + document.getElementById('main').innerText`))
		h.t.Fatalf("after %d clicks and %d fields %s does not appear: %v: %s", h.clicks, h.fields, what, err, page)
	}
}

// click clicks something, and waits for what appears then.
func (h *hand) click(what, then string) {
	h.t.Helper()
	h.sees(what)
	h.clicks++
	harness.Must(h.t, chromedp.Do(h.tab, chromedp.Click(what)))
	h.sees(then)
}

// write fills in a field. A text that ends with a new line sends the form too.
func (h *hand) write(field, text, then string) {
	h.t.Helper()
	h.sees(field)
	h.fields++
	typed, sent := strings.CutSuffix(text, "\n")
	harness.Eventually(h.t, "the field has the text", func() bool { // a new page takes the focus for its heading meanwhile
		_, err := chromedp.Run(h.tab, chromedp.Evaluate[bool](fmt.Sprintf(`document.querySelector(%q).select(), true`, field)))
		harness.Must(h.t, err)
		harness.Must(h.t, chromedp.Do(h.tab, chromedp.SendKeys(field, typed)))
		value, err := chromedp.Run(h.tab, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q).value`, field)))
		harness.Must(h.t, err)
		return value == typed
	})
	if sent {
		harness.Must(h.t, chromedp.Do(h.tab, chromedp.SendKeys(field, "\n")))
	}
	h.sees(then)
}

// find types into the search box at the top.
func (h *hand) find(text, then string) {
	h.t.Helper()
	h.write(`#search`, text+"\n", then)
}

// goes opens a page by the navigation. The page before may have what the next one has too, such as a button.
func (h *hand) goes(page, then string) {
	h.t.Helper()
	link := `[data-nav="` + page + `"]`
	h.click(link, link+`[aria-current="page"]`)
	h.sees(then)
}

// saves clicks a link to a file, and checks that the file is there.
func (h *hand) saves(u harness.Staff, link string) {
	h.t.Helper()
	h.sees(link)
	at, err := chromedp.Run(h.tab, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q).getAttribute('href')`, link)))
	harness.Must(h.t, err)
	h.click(link, `#main`)
	if a := u.Ask(h.t, http.MethodGet, at, nil); a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") || a.Body == "" {
		h.t.Errorf("the file %s is %d: %s", at, a.Status, a.Header)
	}
}

const done = `#notices .notice.good`

// task is something that people often do, from the first page that they see.
type task struct {
	who, what string
	do        func(t *testing.T, s *harness.Instance) *hand
}

var tasks = []task{
	{"support", "find a payment by e-mail", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		id := o.Create(t, order(1, "ana@example.com"))
		h := begin(t, o.Staff(t, people.Support), "/")
		h.find("ana@example.com", `//main//code[.="`+id+`"] | //main//*[contains(@class,"timeline")]`)
		return h
	}},
	{"support", "find a payment by the end of a document", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
		h := begin(t, o.Staff(t, people.Support), "/")
		h.find("4725", `main .timeline`)
		return h
	}},
	{"support", "refund an order by e-mail", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		id := o.Create(t, order(1, "ana@example.com"))
		h := begin(t, o.Staff(t, people.Support), "/")
		h.find("ana@example.com", `[data-dialog="refund"]`)
		h.click(`[data-dialog="refund"]`, `#refund button.bad`)
		h.click(`#refund button.bad`, done)
		is(t, o, id, "refunded")
		return h
	}},
	{"support", "refund a part of an order", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		id := o.Create(t, order(1, "ana@example.com"))
		h := begin(t, o.Staff(t, people.Support), "/")
		h.find("A-1", `[data-dialog="refund"]`)
		h.click(`[data-dialog="refund"]`, `#refund button.bad`)
		h.write(`#f-amount`, "5.50", `#refund button.bad`)
		h.click(`#refund button.bad`, done)
		if got := o.Get(t, "/claims?transactionId="+id).Text(t, "data.0.amount"); got != "5.5" {
			t.Errorf("%s came back", got)
		}
		return h
	}},
	{"support", "cancel a payment that waits", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		id := o.Create(t, harness.PaidByShopper)
		h := begin(t, o.Staff(t, people.Support), "/")
		h.find(id, `[data-dialog="cancel"]`)
		h.click(`[data-dialog="cancel"]`, `#cancel button.bad`)
		h.click(`#cancel button.bad`, done)
		is(t, o, id, "failed")
		return h
	}},
	{"support", "send a customer a payment link", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		o.Create(t, harness.Card)
		h := begin(t, o.Staff(t, people.Support), "/")
		h.click(`main a[href$="/payments/link"]`, `#f-amount`)
		h.write(`#f-amount`, "25", `main form .primary`)
		h.click(`main form .primary`, `[data-copy]`)
		h.click(`main [data-copy]`, `.toast`)
		return h
	}},
	{"support", "close a payment link", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		newLink(t, u, "30", "")
		h := begin(t, u, "/")
		h.goes("payments", `main a[href$="/payments/links"]`)
		h.click(`main a[href$="/payments/links"]`, `main a[data-dialog]`)
		h.click(`main a[data-dialog]`, `dialog[open] button.bad`)
		h.click(`dialog[open] button.bad`, done)
		return h
	}},
	{"support", "answer a dispute", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		_, claim := o.Dispute(t, true)
		h := begin(t, o.Staff(t, people.Support), "/")
		h.click(`#attention a`, `main td a[href*="/disputes/"]`)
		h.click(`main td[data-label="Amount"] a`, `main .actions .primary`)
		h.click(`main .actions .primary`, `#f-text`)
		h.write(`#f-text`, "The customer has it.", `main form .primary`)
		h.click(`main form .primary`, done)
		if got := harness.ClaimStatus(t, o, claim); got != "under_review" {
			t.Errorf("the dispute is %s", got)
		}
		return h
	}},
	{"support", "accept a dispute", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		id, _ := o.Dispute(t, true)
		h := begin(t, o.Staff(t, people.Support), "/")
		h.click(`#attention a`, `main td a[href*="/disputes/"]`)
		h.click(`main td[data-label="Amount"] a`, `[data-dialog="accept"]`)
		h.click(`[data-dialog="accept"]`, `#accept button.bad`)
		h.click(`#accept button.bad`, done)
		is(t, o, id, "chargeback")
		return h
	}},
	{"finance", "download the payments as a file", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		o.Create(t, harness.Card)
		u := o.Staff(t, people.Finance)
		h := begin(t, u, "/")
		h.goes("payments", `main table`)
		h.saves(u, `a[href*="/payments/export"]:not([href*="decimal="])`)
		return h
	}},
	{"finance", "download the receipt of a settlement", func(t *testing.T, s *harness.Instance) *hand {
		o, settlement := month(t, s)
		u := o.Staff(t, people.Finance)
		h := begin(t, u, "/")
		h.goes("settlements", `main td a[href$="`+settlement+`"]`)
		h.click(`main td a[href$="`+settlement+`"]`, `main a[href$="receipt.pdf"]`)
		h.saves(u, `main a[href$="receipt.pdf"]`)
		return h
	}},
	{"finance", "see when the reserve comes back", func(t *testing.T, s *harness.Instance) *hand {
		o, _ := month(t, s)
		h := begin(t, o.Staff(t, people.Finance), "/")
		h.goes("balance", `main a[href$="/balance/reserve"]`)
		h.click(`main a[href$="/balance/reserve"]`, `td[data-label="Released on"]`)
		return h
	}},
	{"finance", "withdraw money", func(t *testing.T, s *harness.Instance) *hand {
		o, _ := month(t, s)
		o.Wallet(t)
		u := o.Staff(t, people.Finance)
		code := withApp(t, u)
		prove(t, &u, "/dashboard", code())
		h := begin(t, u, "/")
		h.goes("withdrawals", `main .actions .primary`)
		h.click(`main .actions .primary`, `#f-amount`)
		h.write(`#f-amount`, "60", `main form .primary`)
		h.click(`main form .primary`, `input[name="amount"][value="60"] ~ .buttons .primary`)
		h.click(`main form .primary`, `.timeline`)
		return h
	}},
	{"developer", "make a test payment", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		h := begin(t, o.Staff(t, people.Developer), "/")
		h.click(`main a[href$="/payments/test"]`, `main form .primary`)
		h.click(`main form .primary`, done)
		return h
	}},
	{"developer", "make an API key", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		h := begin(t, o.Staff(t, people.Developer), "/")
		h.goes("keys", `main .actions .primary`)
		h.click(`main .actions .primary`, `input[name="rights"][value="payments"]`)
		h.click(`input[name="rights"][value="payments"]`, `main form .primary`)
		h.click(`main form .primary`, `.code`)
		return h
	}},
	{"developer", "add a webhook", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		h := begin(t, o.Staff(t, people.Developer), "/")
		h.goes("webhooks", `main .actions .primary`)
		h.click(`main .actions .primary`, `#f-url`)
		h.write(`#f-url`, s.Receive(t).URL, `main form .primary`)
		h.click(`main form .primary`, `.code`)
		return h
	}},
	{"developer", "send a delivery that failed again", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		shop := s.Receive(t)
		shop.Answers(harness.Respond(http.StatusInternalServerError))
		o.Hook(t, shop.URL, `"payment.completed"`)
		id := o.Create(t, order(1, ""))
		u := o.Staff(t, people.Developer)
		harness.Eventually(t, "the delivery has failed", func() bool { return strings.Contains(text(u.Page(t, "/payments/"+id)), "HTTP 500") })
		shop.Answers(harness.Respond(http.StatusOK))
		h := begin(t, u, "/")
		h.find("A-1", `.timeline a[href*="/deliveries/"]`)
		h.click(`.timeline a[href*="/deliveries/"]`, `main .actions .primary`)
		h.click(`main .actions .primary`, done)
		harness.Eventually(t, "the shop has the event", func() bool { return strings.Contains(text(u.Page(t, "/payments/"+id)), "HTTP 200") })
		return h
	}},
	{"owner", "invite a colleague", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		h := begin(t, o.Staff(t, people.Owner), "/")
		h.goes("team", `main .actions .primary`)
		h.click(`main .actions .primary`, `#f-email`)
		h.write(`#f-email`, "bea@acme.example", `input[value="support"]`)
		h.click(`input[value="support"]`, `main form .primary`)
		h.click(`main form .primary`, `main pre code`)
		return h
	}},
	{"owner", "give a colleague another role", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		bea := o.Staff(t, people.Viewer)
		h := begin(t, o.Staff(t, people.Owner), "/")
		h.goes("team", `main a[href$="/team/members/`+bea.User.ID+`"]`)
		h.click(`main a[href$="/team/members/`+bea.User.ID+`"]`, `input[value="support"]`)
		h.click(`input[value="support"]`, `main form .primary`)
		h.click(`main form .primary`, done)
		return h
	}},
	{"owner", "see what a colleague did", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		bea := o.Staff(t, people.Support)
		bea.Do(t, "/payments/"+o.Create(t, harness.PaidByShopper)+"/cancel")
		h := begin(t, o.Staff(t, people.Owner), "/")
		h.goes("team", `main a[href$="/team/members/`+bea.User.ID+`"]`)
		h.click(`main a[href$="/team/members/`+bea.User.ID+`"]`, `main a[href*="/audit?"]`)
		h.click(`main a[href*="/audit?"]`, `td[data-label="What"]`)
		return h
	}},
	{"operator", "open a merchant's pages", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		h := begin(t, harness.OperatorUser(t, o), "/dashboard/console")
		h.find(o.Merchant.ID, `main a[href$="/merchants/`+o.Merchant.ID+`"], main button[name="environment"]`)
		h.click(`main button[value="production"]`, `.strip.visit`)
		return h
	}},
	{"operator", "approve a withdrawal", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		_, err := s.App.Payouts.LimitPayouts(ctx, s.App.Self(), o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.ApprovalAbove = 100_00 })
		harness.Must(t, err)
		o.Fund(t, false, 500_00)
		o.Wallet(t)
		id := o.Withdraw(t, "250")
		op := harness.OperatorUser(t, o)
		h := begin(t, op, "/dashboard/console")
		h.find(id, `#f-note`)
		h.write(`#f-note`, "the merchant called", `main form .primary`)
		h.click(`main form .primary`, done)
		return h
	}},
	{"operator", "pause a merchant", func(t *testing.T, s *harness.Instance) *hand {
		o := s.NewShop(t)
		h := begin(t, harness.OperatorUser(t, o), "/dashboard/console")
		h.find(o.Merchant.ID, `[data-dialog="pause"]`)
		h.click(`[data-dialog="pause"]`, `#f-reason`)
		h.write(`#f-reason`, "We wait for your papers", `form[action$="/pause"] .bad`)
		h.click(`form[action$="/pause"] .bad`, done)
		if m, err := s.App.AnyMerchant(ctx, o.Merchant.ID); err != nil || m.Paused != "We wait for your papers" {
			t.Errorf("the merchant is paused for %q (%v)", m.Paused, err)
		}
		return h
	}},
}

// is fails the test if a payment has another status.
func is(t *testing.T, o harness.Client, payment, status string) {
	t.Helper()
	if got := o.Get(t, "/payments/"+payment).Text(t, "status"); got != status {
		t.Errorf("the payment is %s, want %s", got, status)
	}
}

// The usual tasks take few clicks and fields from the first page, as many as the table in the docs says.
func TestUsualTasksTakeFewSteps(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/DASHBOARD.md")
	harness.Must(t, err)
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	for _, task := range tasks {
		t.Run(task.what, func(t *testing.T) {
			h := task.do(t, s)
			if h.clicks+h.fields > mostSteps {
				t.Errorf("it takes %d clicks and %d fields", h.clicks, h.fields)
			}
			if row := fmt.Sprintf("| %s | %s | %d | %d |\n", task.who, task.what, h.clicks, h.fields); !strings.Contains(string(doc), row) {
				t.Errorf("docs/DASHBOARD.md lacks the row %s", row)
			}
		})
	}
	_, table, _ := strings.Cut(string(doc), "| who | task | clicks | fields |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if rows := strings.Count(strings.TrimSpace(table), "\n") + 1; rows != len(tasks) {
		t.Errorf("the table has %d rows, and there are %d tasks", rows, len(tasks))
	}
}
