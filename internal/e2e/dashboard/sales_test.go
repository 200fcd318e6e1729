package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// order is a card payment of 25.50 USD with an order number and a customer.
func order(n int, email string) string {
	return fmt.Sprintf(`{"amount":25.5,"paymentMethodId":"sbx_card","merchantOrderId":"A-%d","userEmail":%q,"userName":"Ana Ruiz"}`, n, email)
}

// key is the key of the form on a page, which makes a second click harmless.
var key = regexp.MustCompile(`name="key" value="([^"]+)"`)

func keyOf(t *testing.T, page string) string {
	t.Helper()
	found := key.FindStringSubmatch(page)
	if found == nil {
		t.Fatal("the page has no form with a key")
	}
	return found[1]
}

func says(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, text)
		}
	}
}

func text(body string) string { return harness.Answer{Body: body}.Text() }

// The first page of a new shop says what to do first; then it counts what was sold, and shows what waits.
func TestHomeCountsAndAsks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Owner)
		says(t, "the home page of a new shop", text(u.Page(t, "/")), "First steps", "Take a test payment", "Add a webhook", "Invite your team", "Brand your checkout")
		for i := range 3 {
			o.Create(t, order(i, "ana@example.com"))
		}
		o.Create(t, harness.PaidByShopper)
		failed := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`)
		o.Simulate(t, failed, "failed").Want(t, http.StatusOK)
		home := text(u.Page(t, "/"))
		says(t, "the home page", home, "Volume today 76.50 USD", "Paid today 3 3 in 7 days", "Approval rate today 75.0%", "Pending 1 ", "Open disputes 0", "No webhook gets events", "Done: Take a test payment")
		o.Dispute(t, true)
		says(t, "the home page", text(u.Page(t, "/")), "Open disputes 1 answer in", "1 dispute needs your evidence", "Volume today 176.50 USD")
		viewer := o.Staff(t, people.Viewer)
		if page := viewer.Page(t, "/"); strings.Contains(page, "/payments/test") {
			t.Error("a viewer is offered a test payment")
		}
		u.Live = true
		says(t, "the home page of production", text(u.Page(t, "/")), "First steps", "Done: Take a test payment")
	})
}

// The list finds payments by what is typed and by its filters, goes on by cursor, and gives a file of the same.
func TestPaymentsListAndFile(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Viewer)
		says(t, "an empty list", text(u.Page(t, "/payments")), "No payments yet")
		var ids []string
		for i := range 53 {
			ids = append(ids, o.Create(t, order(i, fmt.Sprintf("c%d@example.com", i%7))))
		}
		pix := o.Create(t, harness.PaidByShopper)
		first := u.Page(t, "/payments")
		says(t, "the list", text(first), "1–50 of 54")
		_, rest, _ := strings.Cut(first, `rel="next" href="`)
		next, _, _ := strings.Cut(rest, `"`)
		if page := u.Page(t, next); strings.Count(page, "<tr>") != 5 || !strings.Contains(page, ids[0]) {
			t.Errorf("the second page has %d rows", strings.Count(page, "<tr>")-1)
		}
		for query, want := range map[string]int{
			"q=c3@example.com": 8, "q=C3@EXAMPLE.COM": 8, "q=A-7": 1, "q=25.5": 50, "q=25,50": 50, "q=137.70+BRL": 0, "q=54+BRL": 1, "q=BRL+54": 1, "q=nobody@example.com": 0,
			"status=pending": 1, "method=pix": 1, "country=BRA": 1, "method=card&status=failed": 0, "amount=10": 1, "amount=54&currency=BRL": 1, "from=2020-01-01&to=2020-02-01": 0,
		} {
			page := u.Page(t, "/payments?"+query)
			if n := max(0, strings.Count(page, "<tr>")-1); n != want {
				t.Errorf("%s finds %d payments, want %d", query, n, want)
			}
			if want == 0 {
				says(t, query, text(page), "No payment matches")
			}
		}
		for query, want := range map[string]string{"amount=much": "Write an amount", "from=yesterday": "This is not a day", "status=gone": "There is no such status"} {
			a := u.Ask(t, http.MethodGet, "/payments?"+query, nil)
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), want) {
				t.Errorf("%s gets %d: %s", query, a.Status, a.Text())
			}
		}
		if a := u.Ask(t, http.MethodGet, "/payments?cursor=TXN-NONE", nil); a.Status != http.StatusNotFound {
			t.Errorf("an unknown cursor gets %d", a.Status)
		}
		file := u.Ask(t, http.MethodGet, "/payments/export?method=pix", nil)
		if lines := strings.Split(strings.TrimSpace(file.Body), "\n"); file.Status != http.StatusOK || len(lines) != 2 || !strings.Contains(lines[1], pix+",Pending,10.00,USD,54.00,BRL,10.00,0.00,") {
			t.Errorf("the file is %d:\n%s", file.Status, file.Body)
		}
		if file := u.Ask(t, http.MethodGet, "/payments/export", nil); strings.Count(file.Body, "\n") != 55 {
			t.Errorf("the whole file has %d lines", strings.Count(file.Body, "\n"))
		}
		other := s.NewShop(t).Staff(t, people.Owner)
		if page := other.Page(t, "/payments?q="+ids[0]); !strings.Contains(page, "No payment matches") {
			t.Error("another shop finds the payment")
		}
	})
}

// The end of the customer's document finds payments, with or without its punctuation. An order and an amount that the
// shop has come first. The list does not show the document, and another shop finds nothing.
func TestPaymentsAreFoundByTheEndOfADocument(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		buy := func(document, more string) string {
			return o.Create(t, fmt.Sprintf(`{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":%q%s}`, document, more))
		}
		one := buy("529.982.247-25", `,"userEmail":"ana@example.com"`)
		buy("11144477735", "")
		buy("11144477735", `,"merchantOrderId":"8821"`)
		for typed, want := range map[string]string{
			"4725": "/payments/" + one, "247-25": "/payments/" + one, "529.982.247-25": "/payments/" + one, "52998224725": "/payments/" + one, "7735": "/payments?q=7735", "8821": "",
		} {
			a := u.Ask(t, http.MethodGet, "/search?q="+url.QueryEscape(typed), nil)
			if got := a.Header.Get("Location"); want != "" && got != u.At(want) || want == "" && got == u.At("/payments/"+one) {
				t.Errorf("%s leads to %d %s, want %s", typed, a.Status, got, want)
			}
		}
		list := u.Page(t, "/payments?q=7735")
		if n := strings.Count(list, "<tr>") - 1; n != 2 {
			t.Errorf("the list has %d payments, want 2", n)
		}
		says(t, "the list", text(list), "Payments of customers whose document ends with 7735")
		if strings.Contains(list, "11144477735") {
			t.Error("the list shows the whole document")
		}
		o.Create(t, `{"amount":4725,"paymentMethodId":"sbx_card"}`)
		both := u.Page(t, "/payments?q=4725")
		says(t, "the list of an amount", text(both), "4,725.00", "Search for a document that ends with 4725")
		if page := u.Page(t, "/payments?document=4725"); strings.Count(page, "<tr>")-1 != 1 || !strings.Contains(page, one) {
			t.Error("the link to the document's payments leads to others")
		}
		if file := u.Ask(t, http.MethodGet, "/payments/export?document=7735&status=pending", nil); strings.Count(file.Body, "\n") != 3 {
			t.Errorf("the file has %d lines:\n%s", strings.Count(file.Body, "\n"), file.Body)
		}
		for _, short := range []string{"725", "47'25", "%25%25%25%25"} {
			if a := u.Ask(t, http.MethodGet, "/payments?document="+short, nil); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "at least the last 4") {
				t.Errorf("%s gets %d: %s", short, a.Status, a.Text())
			}
		}
		if page := s.NewShop(t).Staff(t, people.Owner).Page(t, "/payments?document=4725"); !strings.Contains(page, "No payment matches") {
			t.Error("another shop finds the payment")
		}
	})
}

// A search leads straight to what was typed.
func TestSearchLeadsToTheObject(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		one := o.Create(t, order(1, "ana@example.com"))
		o.Create(t, order(2, "bea@example.com"))
		o.Create(t, order(3, "bea@example.com"))
		_, dispute := o.Dispute(t, true)
		refund := o.Refund(t, one, `{"amount":1}`).Text(t, "refundId")
		for typed, want := range map[string]string{
			one: "/payments/" + one, strings.ToLower(one): "/payments/" + one, strings.TrimPrefix(one, "TXN-"): "/payments/" + one, "ana@example.com": "/payments/" + one, "A-1": "/payments/" + one,
			"bea@example.com": "/payments?q=bea%40example.com", "25.50": "/payments?q=25.50", dispute: "/disputes/" + dispute, refund: "/refunds/" + refund,
		} {
			a := u.Ask(t, http.MethodGet, "/search?q="+url.QueryEscape(typed), nil)
			if got := a.Header.Get("Location"); a.Status != http.StatusSeeOther || got != u.At(want) {
				t.Errorf("%s leads to %d %s, want %s", typed, a.Status, got, want)
			}
		}
		for _, typed := range []string{"", "nobody@example.com", "TXN-01ARZ3NDEKTSV4RRFFQ69G5FAV", "wdr_1", "wd_1-2", "STL-1", "CLM-1", "evt_1", "wh_1", "\x00", "%ff", "99999999999999999999"} {
			if a := u.Ask(t, http.MethodGet, "/search?q="+url.QueryEscape(typed), nil); a.Status != http.StatusOK {
				t.Errorf("%q gets %d %s", typed, a.Status, a.Header.Get("Location"))
			}
		}
		stranger := s.NewShop(t).Staff(t, people.Owner)
		if a := stranger.Ask(t, http.MethodGet, "/search?q="+one, nil); a.Status != http.StatusOK {
			t.Errorf("another shop's search for the id gets %d", a.Status)
		}
	})
}

// The page of a payment tells its whole story in the order of time. Merchants never see the names of providers.
func TestPaymentTellsItsStory(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		receiver := s.Receive(t)
		o.Hook(t, receiver.URL, `"payment.completed"`)
		u := o.Staff(t, people.Support)
		id := o.Create(t, order(7, "ana@example.com"))
		receiver.Awaits(t, 1)
		harness.Eventually(t, "the page shows the delivery", func() bool { return strings.Contains(text(u.Page(t, "/payments/"+id)), "HTTP 204") })
		page := u.Page(t, "/payments/"+id)
		says(t, "the page", text(page), "25.50 USD", "Completed", "ana@example.com", "Payment of 25.50 USD created", "Order A-7", "Webhook took payment.completed", "Attempt 1: approved", "Paid", "Booked in your balance", "Event payment.completed", "You get", "deliver the order")
		if strings.Contains(page, "sandbox-1") {
			t.Error("a merchant sees the name of a provider account")
		}
		boss := harness.OperatorUser(t, o)
		harness.Must(t, s.App.People.Visit(ctx, users.From{Address: "127.0.0.1"}, boss.Cookie, o.Merchant.ID))
		boss.Shop = u.Shop
		says(t, "the page that an operator sees", text(boss.Page(t, "/payments/"+id)), "Account sandbox-1")
		if page := boss.Page(t, "/payments/"+id); strings.Contains(page, "/refund") && strings.Contains(page, `id="refund"`) {
			t.Error("an operator, who only looks, is offered a refund")
		}
		if !strings.Contains(page, `"id": "`+id+`"`) || !strings.Contains(page, "curl http") {
			t.Error("the page has no JSON or no command")
		}
		order := []string{"Payment of", "Attempt 1", "Paid", "Booked", "Event payment.completed"}
		_, story, _ := strings.Cut(text(page), "What happened")
		for at, i := 0, 0; i < len(order); i++ {
			found := strings.Index(story[at:], order[i])
			if found < 0 {
				t.Fatalf("%q does not come after %v in the story:\n%s", order[i], order[:i], story)
			}
			at += found
		}
		for _, path := range []string{"/payments/TXN-01ARZ3NDEKTSV4RRFFQ69G5FAV", "/payments/x"} {
			if a := u.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
				t.Errorf("%s gets %d", path, a.Status)
			}
		}
		stranger := s.NewShop(t).Staff(t, people.Owner)
		for _, do := range []harness.Answer{
			stranger.Ask(t, http.MethodGet, "/payments/"+id, nil), stranger.Ask(t, http.MethodPost, "/payments/"+id+"/refund", url.Values{"amount": {"1"}, "key": {"k"}}),
			stranger.Ask(t, http.MethodPost, "/payments/"+id+"/cancel", url.Values{}), stranger.Ask(t, http.MethodPost, "/payments/"+id+"/simulate", url.Values{"action": {"refunded"}}),
		} {
			if do.Status != http.StatusNotFound {
				t.Errorf("another shop gets %d: %s", do.Status, do.Text())
			}
		}
	})
}

// An agent refunds a part and then the rest. A form that is sent twice refunds once; what was wrong is told at its
// field; a viewer may not.
func TestRefundFromThePage(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		id := o.Create(t, order(1, "ana@example.com"))
		at := "/payments/" + id + "/refund"
		k := keyOf(t, u.Page(t, at))
		for amount, want := range map[string]string{"99": "amount", "0": "amount", "ten": "amount", "1.234": "amount"} {
			a := u.Ask(t, http.MethodPost, at, url.Values{"amount": {amount}, "reason": {"duplicate"}, "key": {k}})
			if a.Status < 400 || a.Status >= 500 || !strings.Contains(a.Body, `value="`+amount+`"`) || !strings.Contains(a.Body, `id="f-`+want+`-error"`) || !strings.Contains(a.Body, `value="duplicate" selected`) {
				t.Errorf("a refund of %s gets %d: %s", amount, a.Status, a.Text())
			}
		}
		for range 2 {
			u.Do(t, at, "amount", "5,50", "reason", "duplicate", "key", k)
		}
		says(t, "the page after a part", text(u.Page(t, "/payments/"+id)), "Partly refunded", "The customer got 5.50 USD back", "20.00 USD can still be refunded", "5.50 USD refunded", "Paid twice")
		if a := u.Ask(t, http.MethodPost, at, url.Values{"amount": {"6"}, "key": {k}}); a.Status != http.StatusConflict {
			t.Errorf("another refund with the same key gets %d", a.Status)
		}
		u.Do(t, at, "amount", "20", "key", keyOf(t, u.Page(t, at)))
		says(t, "the page after all", text(u.Page(t, "/payments/"+id)), "Refunded", "The customer got all of it back: 25.50 USD")
		says(t, "the form with nothing left", text(u.Page(t, at)), "Nothing of this payment can be refunded now")
		if !audited(t, u, audit.RefundOpened) {
			t.Error("the audit log has no refund")
		}
		viewer := o.Staff(t, people.Viewer)
		if a := viewer.Ask(t, http.MethodPost, at, url.Values{"amount": {"1"}, "key": {"k"}}); a.Status != http.StatusForbidden {
			t.Errorf("a viewer's refund gets %d", a.Status)
		}
		if page := viewer.Page(t, "/payments/"+o.Create(t, order(2, ""))); strings.Contains(page, "/refund\"") {
			t.Error("a viewer is offered a refund")
		}
	})
}

// Pending payments can be canceled, and the sandbox plays what comes next.
func TestCancelAndSimulate(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		id := o.Create(t, harness.PaidByShopper)
		says(t, "the page", text(u.Page(t, "/payments/"+id)), "The customer has not paid yet", "Cancel the payment", "Simulate", "Waits for the customer")
		u.Do(t, "/payments/"+id+"/cancel")
		says(t, "the canceled page", text(u.Page(t, "/payments/"+id)), "Canceled", "The payment was canceled")
		if !audited(t, u, audit.PaymentCanceled) {
			t.Error("the audit log has no cancellation")
		}
		if a := u.Ask(t, http.MethodPost, "/payments/"+o.Create(t, order(1, ""))+"/cancel", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("to cancel a completed payment gets %d", a.Status)
		}
		id = o.Create(t, harness.PaidByShopper)
		for action, want := range map[string]string{"paid": "Completed"} {
			u.Do(t, "/payments/"+id+"/simulate?action="+action)
			says(t, action, text(u.Page(t, "/payments/"+id)), want)
		}
		u.Do(t, "/payments/"+id+"/simulate", "action", "chargeback")
		says(t, "the disputed page", text(u.Page(t, "/payments/"+id)), "Dispute of")
	})
}

// An agent refunds an order by the customer's e-mail from the home page with at most four clicks and fields. The
// home page shows a new payment by itself.
func TestAgentRefundsInFourSteps(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	id := o.Create(t, order(1, "ana@example.com"))
	o.Create(t, order(2, "bea@example.com"))
	u := o.Staff(t, people.Support)
	tab := u.Tab(t, "/")
	harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(1280, 900)))
	steps := 0
	step := func(err error) {
		t.Helper()
		steps++
		harness.Must(t, err)
	}
	harness.Must(t, chromedp.Do(tab, chromedp.WaitVisible(`#search`)))
	o.Create(t, order(3, "new@example.com"))
	harness.Eventually(t, "the home page shows the new payment", func() bool {
		shown, err := chromedp.Run(tab, chromedp.Text("#feed"))
		harness.Must(t, err)
		return strings.Contains(shown, "new@example.com")
	})
	harness.Accessible(t, tab, "the home page")
	step(chromedp.Do(tab, chromedp.SendKeys(`#search`, "ana@example.com\n"), chromedp.WaitVisible(`[data-dialog="refund"]`)))
	harness.Accessible(t, tab, "the page of a payment")
	step(chromedp.Do(tab, chromedp.Click(`[data-dialog="refund"]`), chromedp.WaitVisible(`#refund button.bad`)))
	step(chromedp.Do(tab, chromedp.Click(`#refund button.bad`), chromedp.WaitVisible(`#notices .notice.good`)))
	if steps > 4 {
		t.Errorf("it takes %d clicks and fields", steps)
	}
	if got := o.Get(t, "/payments/"+id).Text(t, "status"); got != "refunded" {
		t.Errorf("the payment is %s", got)
	}
}

// Every page is good for everybody, on each screen, in each language. ARTIFACTS keeps pictures.
func TestSalesPagesForEverybody(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	empty := s.NewShop(t).Staff(t, people.Owner)
	o := s.NewShop(t)
	u := o.Staff(t, people.Owner)
	for i, st := range harness.Stages {
		st.Bring(t, o)
		o.Create(t, order(1000+i, []string{"maria.fernandez@example.com", "joao.da.silva.junior@longdomain.example", ""}[i%3]))
	}
	full := o.Create(t, `{"amount":137.7,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725","userEmail":"maria@example.com","userName":"Maria Fernández","merchantOrderId":"CAMISA-2026-00118","description":"Two shirts","metadata":{"cart":"c-311"}}`)
	o.Simulate(t, full, "paid").Want(t, http.StatusOK)
	o.Refund(t, full, `{"amount":37.7,"reason":"duplicate"}`).Want(t, http.StatusOK)
	disputed, _ := o.Dispute(t, true)
	newLink(t, u, "1200.50", "Mesa de centro de roble, 120 × 60 cm")
	chosen := newLink(t, u, "35", "Two tickets")
	choose(t, o, visit(t, u, chosen), "sbx_card").Want(t, http.StatusCreated)
	pages := map[string]string{
		"home": "/", "payments": "/payments", "filtered": "/payments?q=25.5&method=card", "nothing": "/payments?q=nobody@example.com", "payment": "/payments/" + full, "disputed": "/payments/" + disputed,
		"refund": "/payments/" + full + "/refund", "receipt": "/payments/" + full + "/receipt", "test": "/payments/test", "link": "/payments/link", "links": "/payments/links", "search": "/search?q=nothing",
	}
	shoot := os.Getenv("ARTIFACTS") != ""
	for name, path := range pages {
		tab := u.Tab(t, path)
		harness.Accessible(t, tab, name)
		for _, wide := range []int64{390, 1280} {
			for _, colours := range []string{"light", "dark"} {
				if !shoot && colours == "dark" {
					continue
				}
				_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
				harness.Must(t, err)
				harness.Must(t, chromedp.Do(tab, chromedp.EmulateViewport(wide, 900)))
				wider, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
				if harness.Must(t, err); wider {
					t.Errorf("%s is wider than %d", name, wide)
				}
				harness.Shoot(t, tab, fmt.Sprintf("sales-%s-%d-%s", name, wide, colours))
			}
		}
	}
	tab := empty.Tab(t, "/")
	harness.Accessible(t, tab, "first steps")
	harness.Shoot(t, tab, "sales-first-1280-light")
	for _, lang := range []string{"es", "pt"} {
		u.Do(t, "/dashboard/profile", "name", "Ana", "language", lang)
		for _, path := range pages {
			u.Page(t, path)
		}
		harness.Shoot(t, u.Tab(t, "/payments/"+full), "sales-payment-"+lang)
		harness.Shoot(t, u.Tab(t, "/"), "sales-home-"+lang)
	}
}

// A page that watches ends when the service does, so that a stop takes no longer for it.
func TestWatchingPagesEndAtShutdown(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Viewer)
	o.Create(t, order(1, ""))
	ended, begun := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		req, err := http.NewRequest(http.MethodGet, s.URL+u.At("/live"), nil)
		if err != nil {
			return
		}
		req.AddCookie(&http.Cookie{Name: "cascada", Value: u.Cookie})
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		close(begun)
		buffer := make([]byte, 4096)
		for err == nil {
			_, err = res.Body.Read(buffer)
		}
	}()
	<-begun
	start := time.Now()
	s.End(t)
	<-ended
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
}
