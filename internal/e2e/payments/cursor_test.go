package payments

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// walked reads all pages of a list by their cursors, and returns the ids of all rows. It uses both
// names of the parameter in turn.
func walked(t *testing.T, o harness.Client, path string, limit int) (all []string) {
	t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	query := fmt.Sprint(separator, "limit=", limit)
	for name := "startingAfter"; ; {
		r := o.Get(t, path+query)
		rows := harness.RowIDs(t, r)
		all = append(all, rows...)
		next, there := r.At(t, "pagination.nextCursor")
		if !there {
			t.Fatalf("%s: the page has no nextCursor: %s", path, r)
		}
		if next == nil {
			return all
		}
		if len(rows) != limit || next != rows[limit-1] {
			t.Fatalf("%s: the page is not full, or its cursor is not the last row: %s", path, r)
		}
		query = fmt.Sprint(separator, "limit=", limit, "&", name, "=", next)
		name = map[string]string{"startingAfter": "starting_after", "starting_after": "startingAfter"}[name]
	}
}

// Cursors lead through all rows of every list. The last page has no cursor.
func TestCursorsWalkEveryList(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		endpoint := s.Receive(t)
		hook := o.Hook(t, endpoint.URL, `"*"`)
		inbox := harness.Inbox(t, o, `"*"`)
		for i := range 4 {
			id := o.Create(t, fmt.Sprintf(`{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"o","userEmail":"Ana%d@example.com"}`, i%2))
			if i < 3 {
				o.Post(t, "/payments/"+id+"/refund", `{"amount":1}`).Want(t, http.StatusOK)
			}
			o.Post(t, "/wallets", fmt.Sprintf(`{"type":"bank_account","currency":"USD","network":"account","destination":"12345678%d"}`, i)).Want(t, http.StatusCreated)
			harness.Inbox(t, o, []string{`"payment.completed"`, `"payment.failed"`, `"payment.refunded"`, `"claim.opened"`}[i])
			s.Clock.Advance(2 * time.Millisecond)
		}
		for range 3 {
			o.Post(t, "/sandbox/clock", `{"advance":"4d"}`).Want(t, http.StatusOK)
			harness.Eventually(t, "the merchant has a settlement", func() bool {
				n := len(harness.RowIDs(t, o.Get(t, "/settlements")))
				return n >= 1
			})
			o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","merchantOrderId":"o"}`)
		}
		harness.Eventually(t, "a settlement is closed", func() bool { return len(harness.RowIDs(t, o.Get(t, "/settlements?status=closed"))) > 0 })
		for range 3 {
			o.Post(t, "/withdrawals", `{"amount":10}`).Want(t, http.StatusCreated)
		}
		harness.Eventually(t, "the inbox has 9 deliveries", func() bool { return len(harness.RowIDs(t, o.Get(t, inbox.Path("/inbox")))) >= 9 })
		harness.Eventually(t, "no delivery is pending", func() bool {
			return o.Get(t, hook.Path("/deliveries?status=pending")).Text(t, "pagination.total") == "0"
		})
		settlement, most := "", 0 // the test does not control which payments a settlement has
		for _, id := range harness.RowIDs(t, o.Get(t, "/settlements")) {
			if n := len(harness.RowIDs(t, o.Get(t, "/settlements/"+id+"/transactions"))); n > most {
				settlement, most = id, n
			}
		}
		for path, least := range map[string]int{
			"/payments": 7, "/payments?status=completed": 4, "/payments?method=card": 7, "/payments?merchantOrderId=o": 7, "/transactions": 7,
			"/payments?email=ana1@example.com": 2, "/payments?amount=100": 7, "/payments?amount=100.00&email=ANA0@EXAMPLE.COM&status=refunded": 2,
			"/claims": 3, "/claims?type=user_dispute": 3, "/wallets": 4, "/withdrawals": 3, "/settlements": 2, "/me/balance/movements": 20,
			"/settlements/" + settlement + "/transactions": 2, "/webhooks": 6, hook.Path("/deliveries"): 10, hook.Path("/deliveries?event=payment.completed"): 4,
			inbox.Path("/inbox"): 9, "/shops": 1, "/keys": 2,
		} {
			whole := harness.RowIDs(t, o.Get(t, path))
			if len(whole) < least {
				t.Errorf("%s has %d rows, want %d at least", path, len(whole), least)
			}
			for _, limit := range []int{1, 2, len(whole)} {
				got := walked(t, o, path, limit)
				for now := harness.RowIDs(t, o.Get(t, path)); !slices.Equal(now, whole); now = harness.RowIDs(t, o.Get(t, path)) {
					whole, got = now, walked(t, o, path, limit) // the service added a row during the walk
				}
				if !slices.Equal(got, whole) {
					t.Errorf("%s by %d: walked %v, want %v", path, limit, got, whole)
				}
			}
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			for _, id := range []string{"x", "TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6", "CLM-%00", "0", "99999999999999999999", "wd_%ff"} {
				r := o.Get(t, path+separator+"startingAfter="+id)
				if got := fmt.Sprint(r.Status, " ", r.Text(t, "error.code")); got != "400 invalid_request" {
					t.Errorf("%s with the cursor %s returns %s, want 400", path, id, r)
				}
			}
			r := o.Get(t, path+separator+"starting_after="+whole[0]+"&startingAfter="+whole[0])
			if got := harness.RowIDs(t, r); !slices.Equal(got, whole[1:]) && len(whole) <= 50 {
				t.Errorf("%s after its first row: %v, want %v", path, got, whole[1:])
			}
			o.Get(t, path+separator+"starting_after=a&startingAfter=b").Refused(t, "400 invalid_request invalid_request_error param=startingAfter issues=startingAfter")
		}
		// Another shop's row is no cursor.
		theirs := stranger.Create(t, harness.Card)
		o.Get(t, "/payments?starting_after="+theirs).Refused(t, "400 invalid_request invalid_request_error param=starting_after")
		// A new row does not shift the pages.
		first := o.Get(t, "/payments?limit=2")
		before := harness.RowIDs(t, o.Get(t, "/payments"))
		o.Create(t, harness.Card)
		next := harness.RowIDs(t, o.Get(t, "/payments?limit=2&startingAfter="+first.Text(t, "pagination.nextCursor")))
		if !slices.Equal(next, before[2:4]) {
			t.Errorf("the second page is %v, want %v", next, before[2:4])
		}
	})
}

// A shop finds its payments by e-mail, in any case of letters, and by amount. It never finds another
// shop's.
func TestPaymentsAreFoundByShopperAndAmount(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		ana := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_card","userEmail":"Ana.O'Neill+x&y@Example.com"}`)
		s.Clock.Advance(2 * time.Millisecond)
		unsure := o.Create(t, `{"amount":10.96,"paymentMethodId":"sbx_card","userEmail":"ana.o'neill+x&y@example.com"}`)
		s.Clock.Advance(2 * time.Millisecond)
		other := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","userEmail":"ana@example.com"}`)
		stranger.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_card","userEmail":"ana@example.com"}`)
		for query, want := range map[string][]string{
			"email=ana@example.com": {other}, "email=ANA@EXAMPLE.COM": {other}, "email=ana.o'neill%2Bx%26y@example.com": {unsure, ana},
			"email=nobody@example.com": nil, "amount=25.5": {other, ana}, "amount=25.50": {other, ana}, "amount=10.96": {unsure}, "amount=25.51": nil,
			"amount=25.5&status=pending": {other}, "amount=25.5&method=card": {ana}, "email=ana@example.com&amount=25.5": {other},
			"email=ana@example.com&amount=1": nil, "email=ana@example.com&country=BR": nil,
		} {
			r := o.Get(t, "/payments?"+query)
			if got := harness.RowIDs(t, r); !slices.Equal(got, want) || r.Text(t, "pagination.total") != fmt.Sprint(len(want)) {
				t.Errorf("%s: found %v, want %v: %s", query, got, want, r)
			}
		}
		for query, param := range map[string]string{
			"email=ana": "email", "email=%25": "email", "amount=x": "amount", "amount=0": "amount", "amount=-1": "amount", "amount=1.234": "amount",
			"amount=1&currency=XYZ": "currency", "amount=1.5&currency=CLP": "amount", "currency=BRL": "currency", "method=gold": "method", "method=sbx_pix": "method",
			"from=2026-11-02&to=2026-11-01": "from",
		} {
			for _, path := range []string{"/payments?", "/transactions?", "/payments/export?"} {
				o.Get(t, path+query).Refused(t, "400 invalid_request invalid_request_error param="+param+" issues="+param)
			}
		}
		o.Get(t, "/payments/export?amount=1&currency=KWD").Refused(t, "400 unsupported_currency invalid_request_error param=currency issues=currency")
		o.Get(t, "/payments?amount=1&currency=KWD").Refused(t, "400 unsupported_currency invalid_request_error param=currency issues=currency")
		o.Get(t, "/payment-methods?method=gold").Refused(t, "400 invalid_request invalid_request_error param=method issues=method")
		for _, path := range []string{"/events", "/settlements", "/withdrawals", "/webhooks/" + o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id") + "/deliveries"} {
			o.Get(t, path+"?from=2026-11-02&to=2026-11-01").Refused(t, "400 invalid_request invalid_request_error param=from issues=from")
			o.Get(t, path+"?from=2026-11-02&to=2026-11-02").Want(t, http.StatusOK)
		}
	})
}

// A filter by an amount in a currency finds payments whose shopper pays that amount, or whose shop
// requested it.
func TestPaymentsAreFoundByTheAmountInTheirCurrency(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		made := map[string]string{}
		add := func(name, body string) {
			t.Helper()
			made[o.Create(t, body)] = name
			s.Clock.Advance(2 * time.Millisecond)
		}
		add("pix", `{"amount":108,"currency":"BRL","paymentMethodId":"sbx_pix","documentId":"52998224725","merchantOrderId":"a","userEmail":"ana@example.com"}`)
		add("spei", `{"amount":108,"currency":"BRL","paymentMethodId":"sbx_spei","documentId":"GODE561231GR8","merchantOrderId":"a"}`) // 367 MXN
		add("card", `{"amount":108,"currency":"BRL","paymentMethodId":"sbx_card"}`)                                                    // 20 USD
		add("dollars", `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"ana@example.com"}`)
		add("local", `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`) // 137.7 BRL
		add("pesos", `{"amount":50000,"currency":"CLP","paymentMethodId":"sbx_cash"}`)
		add("unsure", `{"amount":5.94,"currency":"BRL","paymentMethodId":"sbx_card","merchantOrderId":"b"}`)   // 1.10 USD
		add("unknown", `{"amount":59.19,"currency":"BRL","paymentMethodId":"sbx_card","merchantOrderId":"b"}`) // 10.96 USD: its outcome is not known
		for query, want := range map[string]string{
			"amount=108&currency=BRL": "card spei pix", "amount=108.00&currency=brl": "card spei pix", "amount=100": "dollars", "amount=100&currency=USD": "dollars",
			"amount=100&currency=MXN": "", "amount=367&currency=MXN": "spei", "amount=137.7&currency=BRL": "local", "amount=20": "card spei pix",
			"amount=20&currency=BRL": "", "amount=50000&currency=CLP": "pesos", "amount=59.19&currency=BRL": "unknown", "amount=5.94&currency=BRL": "unsure",
			"amount=108&currency=BRL&method=pix": "pix", "amount=108&currency=BRL&status=completed": "card", "amount=108&currency=BRL&merchantOrderId=a": "spei pix",
			"amount=367&currency=MXN&merchantOrderId=a": "spei", "amount=367&currency=BRL&merchantOrderId=a": "", "amount=20&merchantOrderId=a": "spei pix",
			"amount=108&currency=BRL&email=ana@example.com": "pix", "amount=100&email=ana@example.com": "dollars", "amount=1&currency=BRL&email=ana@example.com": "",
			"amount=108&currency=BRL&limit=2": "card spei", "amount=108&currency=BRL&limit=2&offset=2": "pix",
		} {
			r := o.Get(t, "/payments?"+query)
			var got []string
			for _, id := range harness.RowIDs(t, r) {
				got = append(got, made[id])
			}
			if strings.Join(got, " ") != want || !strings.Contains(query, "limit") && r.Text(t, "pagination.total") != fmt.Sprint(len(got)) {
				t.Errorf("%s: found %v, want %s: %s", query, got, want, r)
			}
			if strings.Contains(query, "limit") && r.Text(t, "pagination.total") != "3" {
				t.Errorf("%s: want the total 3: %s", query, r)
			}
		}
	})
}

// The CSV file has all payments that the filter selects, with a column for each field. It has no
// formula that a spreadsheet would run.
func TestPaymentsAreExported(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for i, order := range []string{"=1+1", "@x", "-2", "José, \\\"x\\\"", "plain"} {
			o.Create(t, fmt.Sprintf(`{"amount":%d,"paymentMethodId":"sbx_card","merchantOrderId":"%s"}`, i+1, order))
			s.Clock.Advance(2 * time.Millisecond)
		}
		o.Create(t, `{"amount":9,"paymentMethodId":"sbx_pse"}`)
		file := func(query string) [][]string {
			t.Helper()
			status, header, body := harness.Download(t, o, "/payments/export?"+query)
			if status != http.StatusOK || header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.Contains(header.Get("Content-Disposition"), "payments.csv") {
				t.Fatalf("want a CSV file, got %d %v: %s", status, header, body)
			}
			rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
			harness.Must(t, err)
			return rows
		}
		all := harness.IDs(t, o.Get(t, "/payments"))
		rows := file("")
		if len(rows) != len(all)+1 {
			t.Fatalf("the file has %d rows, want %d payments and a header", len(rows), len(all))
		}
		column := func(name string) int {
			t.Helper()
			i := slices.Index(rows[0], name)
			if i < 0 {
				t.Fatalf("the file has no column %s, only %v", name, rows[0])
			}
			return i
		}
		var orders []string
		for i, row := range rows[1:] {
			r := o.Get(t, "/payments?limit=1&offset="+fmt.Sprint(i))
			for _, name := range []string{"id", "status", "amount", "currencyLocal", "paymentMethodId", "country", "fees.total", "settlement.status", "timestamps.created", "fxRate", "expiresAt"} {
				if got, want := row[column(name)], r.Text(t, "data.0."+name); got != want {
					t.Errorf("%s of row %d is %q, want %q", name, i, got, want)
				}
			}
			orders = append(orders, row[column("merchantOrderId")])
		}
		if want := []string{"", "plain", `José, "x"`, "'-2", "'@x", "'=1+1"}; !slices.Equal(orders, want) {
			t.Errorf("the orders are %q, want %q", orders, want)
		}
		if failure := rows[1][column("failure.code")]; failure != "" {
			t.Errorf("a payment that did not fail has the failure %q", failure)
		}
		for decimal, separator := range map[string]string{"point": ",", "comma": ";"} {
			_, _, body := harness.Download(t, o, "/payments/export?merchantOrderId=plain&decimal="+decimal)
			sheet := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(body), "\ufeff")))
			sheet.Comma = rune(separator[0])
			read, err := sheet.ReadAll()
			harness.Must(t, err)
			want := o.Get(t, "/payments?merchantOrderId=plain").Text(t, "data.0.fees.total")
			if decimal == "comma" {
				want = strings.Replace(want, ".", ",", 1)
			}
			if got := read[1][column("fees.total")]; got != want || !strings.HasPrefix(string(body), "\ufeffid"+separator) {
				t.Errorf("with a decimal %s the fees are %s, want %s: %.40q", decimal, got, want, body)
			}
		}
		o.Get(t, "/payments/export?decimal=tab").Refused(t, "400 invalid_request invalid_request_error param=decimal issues=decimal")
		if n := len(file("status=pending")); n != 2 {
			t.Errorf("the file of pending payments has %d rows, want one payment and a header", n)
		}
		if n := len(file("startingAfter=" + all[2])); n != 4 {
			t.Errorf("the file after the third payment has %d rows, want 3 payments and a header", n)
		}
		o.Get(t, "/payments/export?startingAfter=evt_1").Refused(t, "400 invalid_request invalid_request_error param=startingAfter issues=startingAfter")
		o.Get(t, "/payments/export?startingAfter=TXN-1").Refused(t, "400 invalid_request invalid_request_error param=startingAfter")
	})
}

// A merchant sees its shops and its keys, but never the full text of a key.
func TestMerchantSeesItsKeysAndShops(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		second, err := s.App.Onboarding.CreateShop(ctx, s.App.Self(), o.Merchant.ID, "Second")
		harness.Must(t, err)
		whole := o.Whole(t, false)
		want := func(r harness.Reply, status string, n int) {
			t.Helper()
			if r.Want(t, http.StatusOK).Text(t, "pagination.total") != fmt.Sprint(n) {
				t.Errorf("%s: want %d: %s", status, n, r)
			}
			for _, secret := range []string{o.Sandbox.Secret, o.Sandbox.Publishable, o.Live.Secret, whole.Credential, second.Sandbox.Secret, stranger.Merchant.ID} {
				if strings.Contains(string(r.Body), secret) {
					t.Errorf("the reply has a key's full text, or names another merchant: %s", r)
				}
			}
		}
		want(o.Get(t, "/shops"), "a shop sees itself", 1)
		want(whole.Get(t, "/shops"), "the merchant sees its shops", 2)
		want(whole.Get(t, "/shops?shopId="+second.Shop.ID), "one of them", 1)
		want(o.Get(t, "/keys"), "a shop sees its test keys", 2)
		want(o.Production().Get(t, "/keys"), "and its live keys", 2)
		want(whole.Get(t, "/keys"), "the merchant sees those of all shops, and its own", 5)
		want(whole.Get(t, "/keys?shopId="+o.Shop.ID), "and of one", 2)
		r := o.Get(t, "/keys")
		if got := r.Text(t, "data.0.kind") + r.Text(t, "data.1.kind"); got != "publishablesecret" && got != "secretpublishable" {
			t.Errorf("the kinds are %s", got)
		}
		_, err = s.App.Keys.RevokeRaw(ctx, s.App.Self(), whole.Credential)
		harness.Must(t, err)
		want(o.Get(t, "/keys?status=ended"), "none of the shop's has ended", 0)
		again := o.Whole(t, false)
		want(again.Get(t, "/keys?status=ended"), "the merchant's one has", 1)
		want(again.Get(t, "/keys?status=active"), "the others have not", 5)
		o.As(o.Sandbox.Publishable).Get(t, "/keys").Refused(t, "403 key_kind_not_allowed permission_error")
		o.As(o.Sandbox.Publishable).Get(t, "/shops").Refused(t, "403 key_kind_not_allowed permission_error")
		stranger.Get(t, "/keys?shopId="+o.Shop.ID).Refused(t, "403 forbidden permission_error param=shopId")
	})
}

// A key of the whole merchant can read everything of a shop that the request names. If it names
// none, the error says how to.
func TestWholeMerchantsKeysRead(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		whole := o.Whole(t, false)
		payment := o.Create(t, harness.Card)
		o.Post(t, "/payments/"+payment+"/refund", `{"amount":1}`).Want(t, http.StatusOK)
		claim := o.Get(t, "/claims").Text(t, "data.0.id")
		inbox := harness.Inbox(t, o, `"*"`)
		wallet := o.Post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"032180000118359719"}`).Want(t, http.StatusCreated).Text(t, "id")
		for _, path := range []string{
			"/payments", "/transactions", "/payments/" + payment, "/claims", "/claims/" + claim, "/webhooks", inbox.Path(""), inbox.Path("/deliveries"),
			inbox.Path("/inbox"), "/wallets", "/wallets/" + wallet, "/withdrawals", "/payment-methods",
		} {
			r := whole.Get(t, path)
			r.Refused(t, "401 shop_required authentication_error")
			if !strings.Contains(r.Text(t, "error.message"), "?shopId=shp_…") {
				t.Errorf("%s does not say how to name the shop: %s", path, r)
			}
			whole.Get(t, path+"?shopId="+o.Shop.ID).Want(t, http.StatusOK)
		}
		for _, path := range []string{"/me", "/me/balance", "/me/balance/movements", "/settlements", "/sandbox/clock", "/ping", "/shops", "/keys"} {
			whole.Get(t, path).Want(t, http.StatusOK)
			whole.Get(t, path+"?shopId="+o.Shop.ID).Want(t, http.StatusOK)
		}
	})
}
