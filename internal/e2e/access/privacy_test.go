package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// The shopper of these tests, and texts with her name.
const (
	inesMail  = "ines.valadares@mail.example"
	inesName  = "Ines Valadares"
	inesWords = "Ines Valadares signed for it at Rua das Flores 7"
	inesWhy   = "Ines Valadares wants her money back"
	inesFile  = "Ines Valadares.txt"
	inesGift  = `"description":"A gift from Ines Valadares","metadata":{"erased":"no","sender":"Ines Valadares","Ines Valadares":"1"},` +
		`"lineItems":[{"name":"Cup of Ines Valadares","quantity":2,"unitAmount":5,"sku":"Ines Valadares 1"}]`
)

// ines is a shop with payments of the shopper Ines, and one payment of another shopper.
type ines struct {
	harness.Client
	paid, disputed, refunded, pending, others string
	claim, evidence, session                  string
	hook                                      harness.Subscribed
}

func sells(t *testing.T, s *harness.Instance) ines {
	t.Helper()
	s.Rate(t, "MXN 18.35")
	o := s.NewShop(t)
	p := ines{Client: o, hook: harness.Inbox(t, o, `"*"`)}
	with := func(amount, method, mail string) string {
		return fmt.Sprintf(`{"amount":%s,"paymentMethodId":"%s","userEmail":%q,"userName":%q,"userIp":"198.51.100.7","documentId":"529.982.247-25","returnUrl":"https://shop.example/thanks?who=ines",%s}`,
			amount, method, mail, inesName, inesGift)
	}
	p.paid = o.Create(t, with("10", "sbx_card", strings.ToUpper(inesMail)))
	p.disputed = o.Create(t, with("100", "sbx_card", inesMail))
	s.Notify(t, "sandbox-1", harness.NoticeBody(p.disputed, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4","payer":{"name":"`+inesName+`"}`)).Want(t, http.StatusOK)
	p.claim = o.Get(t, "/claims?transactionId="+p.disputed).Text(t, "data.0.id")
	path := "/claims/" + p.claim + "/evidence"
	o.Post(t, path, `{"kind":"note","text":"`+inesWords+`"}`).Want(t, http.StatusCreated)
	p.evidence = o.Post(t, path, harness.EvidenceFile("text/plain", inesFile, []byte(inesWords))).Want(t, http.StatusCreated).Text(t, "evidence.1.id")
	harness.RuleClaim(t, o, p.disputed, "won")
	p.refunded = o.Create(t, with("20", "sbx_card", inesMail))
	o.Refund(t, p.refunded, `{"amount":5,"reason":"`+inesWhy+`"}`).Want(t, http.StatusOK)
	harness.Eventually(t, "the refund is made", func() bool { return o.Claims(t, p.refunded) == "approved" })
	p.pending = o.Create(t, strings.Replace(with("30", "sbx_cash", inesMail), "{", `{"hostedCheckout":true,`, 1))
	p.others = o.Create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"other@mail.example","userName":"Other Person"}`)
	p.session = o.Session(t, `{"amount":10,"customer":{"firstName":"Ines","lastName":"Valadares","email":"`+inesMail+`","phone":"+5511999990000"},`+inesGift+`}`)
	harness.Eventually(t, "the inbox has claim.resolved with the evidence", func() bool {
		return strings.Contains(string(p.hook.Get(t, p.hook.Path("/inbox")).Body), inesWords)
	})
	return p
}

// traces counts the rows and replies that have one of the words, by table. It reads encrypted texts
// through the service, which decrypts them.
func traces(t *testing.T, s *harness.Instance, p ines, words ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	see := func(where, text string) {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), strings.ToLower(w)) {
				found[where]++
				return
			}
		}
	}
	query, closeDB := s.Open(t)
	defer closeDB()
	for _, table := range []string{"payments", "processing", "sessions", "claims", "events", "audit", "audit_addresses"} {
		for _, row := range query("SELECT * FROM " + table) {
			see(table, row)
		}
	}
	for _, payment := range []string{p.paid, p.disputed, p.refunded, p.pending} {
		list, err := s.App.Notices.Notifications(ctx, payment, 100)
		harness.Must(t, err)
		for _, n := range list {
			see("notifications", string(n.Body))
		}
		claims := p.Get(t, "/claims?transactionId="+payment).Want(t, http.StatusOK)
		see("claims", string(claims.Body))
	}
	see("inbox", string(p.hook.Get(t, p.hook.Path("/inbox")).Body))
	log := p.hook.Get(t, p.hook.Path("/deliveries?event=claim.resolved")).Want(t, http.StatusOK)
	see("deliveries", string(p.hook.Get(t, p.hook.Path("/deliveries/"+log.Text(t, "data.0.id"))).Body))
	if status, _, content := harness.Download(t, p.Client, "/claims/"+p.claim+"/evidence/"+p.evidence+"/file"); status == http.StatusOK {
		see("files", string(content))
	}
	return found
}

// A shopper's data is exported and then erased. The books do not change.
func TestShopperIsExportedAndErased(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		p := sells(t, s)
		defer s.Log.Mute() // the clock's jumps make deliveries fail
		who := privacy.Shopper{Merchant: p.Merchant.ID, Email: " " + inesMail, Document: "52998224725"}
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		found, err := s.App.Privacy.ExportShopper(ctx, by, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail})
		harness.Must(t, err)
		text, err := json.Marshal(found)
		harness.Must(t, err)
		all, files := string(text), ""
		for _, one := range found.Payments {
			for _, f := range one.Files {
				files += string(f.Content)
			}
		}
		if len(found.Payments) != 4 || len(found.Sessions) != 1 || strings.Contains(all, "other@mail.example") || files != inesWords {
			t.Errorf("the export has %d payments, %d sessions and the files %q, want 4, 1 and only those of the shopper", len(found.Payments), len(found.Sessions), files)
		}
		for _, want := range []string{inesMail, inesWhy, inesWords, "198.51.100.7", "529.982.247-25", "who=ines", "A gift from Ines", "Cup of Ines", "Ines Valadares 1"} {
			if !strings.Contains(all, want) {
				t.Errorf("the export lacks %q", want)
			}
		}
		harness.AuditEntry(t, p.Client, audit.ShopperExported, p.paid)

		before := map[string]string{}
		for _, path := range []string{"/me", "/payments/" + p.paid, "/payments/" + p.disputed, "/payments/" + p.refunded, "/payments/" + p.others, "/me/balance"} {
			before[path] = withoutPerson(t, p.Get(t, path).Want(t, http.StatusOK))
			if whose := strings.Contains(before[path], "Ines"); whose {
				t.Fatalf("%s has the shopper's name beside the personal fields: %s", path, before[path])
			}
		}
		dry, err := s.App.Privacy.EraseShopper(ctx, by, who, true)
		harness.Must(t, err)
		if len(dry.Payments) != 3 || traces(t, s, p, inesMail)["payments"] < 4 {
			t.Errorf("a dry run reports %+v or erases, want 3 payments and no change", dry)
		}
		done, err := s.App.Privacy.EraseShopper(ctx, by, who, false)
		harness.Must(t, err)
		if fmt.Sprint(done) != fmt.Sprint(dry) || len(done.Kept) != 1 || done.Kept[p.pending].None() || len(done.Sessions) != 0 {
			t.Errorf("the erasure reports %+v, the dry run reported %+v; want the same, with only the pending payment kept", done, dry)
		}
		done, err = s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail}, false)
		harness.Must(t, err)
		if len(done.Payments) != 0 || len(done.Sessions) != 1 || len(done.Kept) != 1 {
			t.Errorf("the second erasure reports %+v, want only the session", done)
		}
		for path, was := range before {
			if is := withoutPerson(t, p.Get(t, path).Want(t, http.StatusOK)); is != was {
				t.Errorf("the erasure changed %s from\n%s\nto\n%s", path, was, is)
			}
		}
		harness.AuditEntry(t, p.Client, audit.ShopperErased, p.disputed)
		p.Get(t, "/claims/"+p.claim+"/evidence/"+p.evidence+"/file").Refused(t, "404 not_found invalid_request_error")
		claim := p.Get(t, "/claims/"+p.claim).Want(t, http.StatusOK)
		if claim.Text(t, "evidence.0.text") != "[erased]" || claim.Text(t, "evidence.1.file.name") != "[erased]" || claim.Text(t, "reason") != "fraudulent" {
			t.Errorf("the claim shows %s", claim)
		}

		p.Simulate(t, p.pending, "expired").Want(t, http.StatusOK)
		awaitLetGo(t, s, p.pending)
		done, err = s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: p.pending}, false)
		harness.Must(t, err)
		if len(done.Payments) != 1 {
			t.Errorf("the erasure of the expired payment reports %+v, want one payment", done)
		}
		if found := traces(t, s, p, inesMail, inesName, inesWords, "who=ines", "198.51.100.7", "529.982"); len(found) > 0 {
			t.Errorf("the shopper is still in %v", found)
		}
		if found := traces(t, s, p, "other@mail.example"); found["payments"] != 1 {
			t.Errorf("the other shopper is in %v, want one payment", found)
		}
		// An erased payment can still be refunded.
		p.Refund(t, p.refunded, `{"amount":5}`).Want(t, http.StatusOK)
		harness.Eventually(t, "the second refund is made", func() bool { return p.Claims(t, p.refunded) == "approved approved" })
		found, err = s.App.Privacy.ExportShopper(ctx, by, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail})
		harness.Must(t, err)
		if len(found.Payments)+len(found.Sessions) != 0 {
			t.Errorf("after the erasure the export has %+v, want nothing", found)
		}
		s.Clean(t)
	})
}

// withoutPerson returns a reply's body without the fields of the shopper and the purchase.
func withoutPerson(t *testing.T, r harness.Reply) string {
	t.Helper()
	var body map[string]any
	harness.Must(t, json.Unmarshal(r.Body, &body))
	for _, field := range []string{"userName", "userEmail", "documentId", "description", "metadata", "lineItems"} {
		delete(body, field)
	}
	text, err := json.Marshal(body)
	harness.Must(t, err)
	return string(text)
}

// awaitLetGo moves the clock, and waits until an expired payment is no longer queried. Only then may
// it be erased.
func awaitLetGo(t *testing.T, s *harness.Instance, payment string) {
	t.Helper()
	is := func(that func(pay.Payment) bool) func() bool {
		return func() bool {
			found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, privacy.Shopper{Payment: payment})
			harness.Must(t, err)
			return that(found.Payments[0].Payment)
		}
	}
	harness.Eventually(t, "the payment has expired", is(func(p pay.Payment) bool { return !p.Status.Open() }))
	s.Clock.Advance(31 * 24 * time.Hour)
	harness.Eventually(t, "the payment is no longer queried", is(func(p pay.Payment) bool { return p.Work.DueAt.IsZero() }))
}

// An erasure must name the shopper and the merchant. It does not erase other shoppers.
func TestShopperOfNobodyIsNotErased(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		p := sells(t, s)
		other := s.NewShop(t)
		for name, who := range map[string]privacy.Shopper{
			"nobody":                     {Merchant: p.Merchant.ID},
			"no merchant":                {Email: inesMail},
			"a blank e-mail":             {Merchant: p.Merchant.ID, Email: "  "},
			"a document without digits":  {Merchant: p.Merchant.ID, Document: "--"},
			"a payment of another":       {Merchant: other.Merchant.ID, Payment: p.paid},
			"a payment of somebody else": {Payment: p.others, Email: inesMail},
			"no such merchant":           {Merchant: "mer_none", Email: inesMail},
		} {
			if done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{}, who, false); err == nil {
				t.Errorf("%s: the erasure reports %+v, want an error", name, done)
			}
		}
		for name, who := range map[string]privacy.Shopper{
			"another merchant's": {Merchant: other.Merchant.ID, Email: inesMail},
			"another document":   {Merchant: p.Merchant.ID, Email: inesMail, Document: "11144477735"},
			"a part of the name": {Merchant: p.Merchant.ID, Email: "ines"},
		} {
			done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{}, who, false)
			harness.Must(t, err)
			if len(done.Payments)+len(done.Sessions)+len(done.Kept) != 0 {
				t.Errorf("%s: the erasure reports %+v, want nothing", name, done)
			}
		}
	})
}

// Each kind of personal data is erased when its retention ends, and not earlier.
func TestPersonalDataEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.Retention = privacy.Retention{Shoppers: 100 * day, Evidence: 40 * day, Notifications: 10 * day, Addresses: 20 * day}
		})
		p := sells(t, s)
		defer s.Log.Mute() // the clock's jumps make deliveries fail
		harness.Must(t, s.App.Access.WriteKeyUses(ctx))
		addresses := func() (n int) {
			for _, e := range harness.AuditActs(t, p.Client) {
				if e.By.IP != "" {
					n++
				}
			}
			return n
		}
		forgetAll(t, s)
		at := func(when string, later time.Duration, want ...string) {
			t.Helper()
			s.Clock.Advance(later)
			forgetAll(t, s)
			found := traces(t, s, p, inesMail, inesName, inesWords)
			for _, where := range want {
				name, gone := strings.CutPrefix(where, "no ")
				if gone == (found[name] > 0) {
					t.Errorf("%s: want %s, found the shopper in %v", when, where, found)
				}
			}
			s.Clean(t)
		}
		if addresses() == 0 {
			t.Fatal("no entry of the audit log has an address")
		}
		at("at once", 0, "payments", "claims", "files", "notifications")
		at("after 11 days", 11*day, "payments", "claims", "files", "no notifications")
		if addresses() == 0 {
			t.Error("after 11 days the audit log has no address, want them for 20 days")
		}
		at("after 21 days", 10*day, "payments", "claims", "files")
		for _, e := range harness.AuditActs(t, p.Client) { // a loop may have written the use of a key since
			if e.By.IP != "" && e.At.Before(s.Clock.Now().Add(-20*day)) {
				t.Errorf("after 21 days the entry %s of %s has an address, want none", e.Act, e.ID)
			}
		}
		at("after 41 days", 20*day, "payments", "no files", "no claims")
		awaitLetGo(t, s, p.pending)
		at("after 132 days", 60*day, "no payments", "no claims")
		// Later payments are erased in a later round.
		fresh := p.Create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`"}`)
		at("a new payment", 99*day, "payments")
		at("a new payment a day later", 2*day, "no payments")
		if got := p.Status(t, fresh); got != "completed" {
			t.Errorf("the new payment is %s, want completed", got)
		}
	})
}

// The check finds an address of the audit log that was changed. An erased address is no error.
func TestAddressOfTheAuditLogIsProved(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		login(t, o)
		entry := harness.AuditEntry(t, o, audit.LoginCreated, loginOf(t, s, o))
		if entry.By.IP != "127.0.0.1" {
			t.Fatalf("the login came from %q", entry.By.IP)
		}
		s.Clean(t)
		exec, closeDB := s.Exec(t)
		defer closeDB()
		exec("UPDATE audit_addresses SET address = '192.0.2.1' WHERE id = $1", entry.ID)
		broken, err := s.App.Check(ctx)
		harness.Must(t, err)
		if len(broken) != 1 || !strings.Contains(fmt.Sprint(broken), entry.ID) {
			t.Errorf("the check finds %v, want the entry %s", broken, entry.ID)
		}
		exec("DELETE FROM audit_addresses WHERE id = $1", entry.ID)
		s.Clean(t)
		if got := harness.AuditEntry(t, o, audit.LoginCreated, loginOf(t, s, o)); got.By.IP != "" {
			t.Errorf("the entry still has the address %q", got.By.IP)
		}
	})
}

// When a shopper chooses another method, the new session has the shopper's IP address and no name.
// It is exported and erased with the payment before it.
func TestCheckoutOfTheSecondChoiceIsErased(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":30,"paymentMethodId":"sbx_cash","hostedCheckout":true,"userEmail":"`+inesMail+`","returnUrl":"https://shop.example/x?who=ines"}`)
		s.AtBank(t, id, "decline")
		stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := stay.Post(strings.Replace(s.PageOf(id), "?", "/again?", 1), "application/x-www-form-urlencoded", nil)
		harness.Must(t, err)
		res.Body.Close()
		where := res.Header.Get("Location")
		r, err := http.NewRequest(http.MethodGet, s.URL+where[strings.Index(where, "/checkout/"):], nil)
		harness.Must(t, err)
		r.Header.Set("X-Forwarded-For", "198.51.100.123")
		res, err = stay.Do(r)
		harness.Must(t, err)
		res.Body.Close()
		s.Clock.Advance(8 * day)
		for _, who := range []privacy.Shopper{{Merchant: o.Merchant.ID, Email: inesMail}, {Payment: id}} {
			found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who)
			harness.Must(t, err)
			if len(found.Sessions) != 1 || found.Sessions[0].IP != "198.51.100.123" {
				t.Errorf("the export of %+v has the sessions %+v, want one with the address", who, found.Sessions)
			}
		}
		done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Payment: id}, false)
		harness.Must(t, err)
		query, end := s.Open(t)
		defer end()
		if left := query("SELECT doc FROM sessions WHERE doc LIKE '%198.51.100.123%' OR doc LIKE '%ines%'"); len(left) > 0 || len(done.Sessions) != 1 || len(done.Payments) != 1 {
			t.Errorf("the erasure reports %+v and leaves %v, want one session, one payment and nothing left", done, left)
		}
	})
}

// What a shop wrote on a link for one shopper goes with the shopper, in its events too. A link for several says nothing of one of them.
func TestPaymentLinkIsErasedWithItsShopper(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		query, end := s.Open(t)
		defer end()
		for _, c := range []struct {
			uses string
			left int
		}{{"1", 0}, {"2", 2}} {
			id := o.Post(t, "/payment-links", `{"amount":30,"uses":`+c.uses+`,"returnUrl":"https://shop.example/x?who=ines",`+inesGift+`}`).Want(t, http.StatusCreated).Text(t, "id")
			_, _, h := s.Browse(t, http.MethodPost, "/l/"+id, "name=Ines+Valadares&email="+inesMail)
			token := strings.TrimPrefix(h.Get("Location"), "/checkout/")
			payment := o.Post(t, "/checkout/sessions/"+strings.Split(token, "?")[0]+"/select", `{"paymentMethodId":"sbx_card"}`).Want(t, http.StatusCreated).Text(t, "transactionId")
			harness.Eventually(t, "the link knows that it was paid", func() bool { return strings.Contains(string(o.Get(t, "/payment-links/"+id).Body), `"paid":1`) })
			before := o.Get(t, "/payment-links/"+id).Want(t, http.StatusOK)
			done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "bea"}, privacy.Shopper{Payment: payment}, false)
			harness.Must(t, err)
			link, events := query("SELECT * FROM payment_links WHERE id = '"+id+"'"), string(o.Get(t, "/events?objectId="+id).Want(t, http.StatusOK).Body)
			found := 0
			for _, row := range []string{strings.Join(link, ""), events} {
				if strings.Contains(row, "Ines") {
					found++
				}
			}
			if len(done.Payments) != 1 || len(link) != 1 || !strings.Contains(events, "payment_link.paid") || found != c.left {
				t.Errorf("of a link for %s: the erasure reports %+v, and leaves %v and %s", c.uses, done, link, events)
			}
			after := o.Get(t, "/payment-links/"+id).Want(t, http.StatusOK)
			if withoutPerson(t, after) != strings.Replace(withoutPerson(t, before), `"returnUrl":"https://shop.example/x?who=ines"`, `"returnUrl":null`, 1-c.left/2) {
				t.Errorf("of a link for %s the erasure changed\n%s\nto\n%s", c.uses, before, after)
			}
		}
		s.Clean(t)
	})
}
