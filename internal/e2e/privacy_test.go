package e2e

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
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// The shopper of these tests, and words of hers.
const (
	inesMail  = "ines.valadares@mail.example"
	inesName  = "Ines Valadares"
	inesWords = "Ines Valadares signed for it at Rua das Flores 7"
	inesWhy   = "Ines Valadares wants her money back"
	inesFile  = "Ines Valadares.txt"
	inesGift  = `"description":"A gift from Ines Valadares","metadata":{"erased":"no","sender":"Ines Valadares","Ines Valadares":"1"},` +
		`"lineItems":[{"name":"Cup of Ines Valadares","quantity":2,"unitAmount":5,"sku":"Ines Valadares 1"}]`
)

// ines is a shop with payments of one shopper, and one of another.
type ines struct {
	shop
	paid, disputed, refunded, pending, others string
	claim, evidence, session                  string
	hook                                      subscribed
}

func sells(t *testing.T, s *service) ines {
	t.Helper()
	s.rate(t, "MXN 18.35")
	o := s.shop(t)
	p := ines{shop: o, hook: o.inbox(t, `"*"`)}
	with := func(amount, method, mail string) string {
		return fmt.Sprintf(`{"amount":%s,"paymentMethodId":"%s","userEmail":%q,"userName":%q,"userIp":"198.51.100.7","documentId":"529.982.247-25","returnUrl":"https://shop.example/thanks?who=ines",%s}`,
			amount, method, mail, inesName, inesGift)
	}
	p.paid = o.create(t, with("10", "sbx_card", strings.ToUpper(inesMail)))
	p.disputed = o.create(t, with("100", "sbx_card", inesMail))
	s.notify(t, "sandbox-1", note(p.disputed, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4","payer":{"name":"`+inesName+`"}`)).want(t, http.StatusOK)
	p.claim = o.get(t, "/claims?transactionId="+p.disputed).text(t, "data.0.id")
	path := "/claims/" + p.claim + "/evidence"
	o.post(t, path, `{"kind":"note","text":"`+inesWords+`"}`).want(t, http.StatusCreated)
	p.evidence = o.post(t, path, file("text/plain", inesFile, []byte(inesWords))).want(t, http.StatusCreated).text(t, "evidence.1.id")
	o.rule(t, p.disputed, "won")
	p.refunded = o.create(t, with("20", "sbx_card", inesMail))
	o.refund(t, p.refunded, `{"amount":5,"reason":"`+inesWhy+`"}`).want(t, http.StatusOK)
	eventually(t, "the refund is made", func() bool { return o.claims(t, p.refunded) == "approved" })
	p.pending = o.create(t, strings.Replace(with("30", "sbx_cash", inesMail), "{", `{"hostedCheckout":true,`, 1))
	p.others = o.create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"other@mail.example","userName":"Other Person"}`)
	p.session = o.session(t, `{"amount":10,"customer":{"firstName":"Ines","lastName":"Valadares","email":"`+inesMail+`","phone":"+5511999990000"},`+inesGift+`}`)
	eventually(t, "the inbox has the claim's end", func() bool {
		return strings.Contains(string(p.hook.get(t, p.hook.path("/inbox")).body), inesWords)
	})
	return p
}

// traces counts the rows in which somebody finds the shopper, by table. Texts at rest are opened.
func (s *service) traces(t *testing.T, p ines, words ...string) map[string]int {
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
	query, closeDB := s.open(t)
	defer closeDB()
	for _, table := range []string{"payments", "processing", "sessions", "claims", "events", "audit", "audit_addresses"} {
		for _, row := range query("SELECT * FROM " + table) {
			see(table, row)
		}
	}
	for _, payment := range []string{p.paid, p.disputed, p.refunded, p.pending} {
		list, err := s.App.Notices.Notifications(ctx, payment, 100)
		must(t, err)
		for _, n := range list {
			see("notifications", string(n.Body))
		}
		claims := p.get(t, "/claims?transactionId="+payment).want(t, http.StatusOK)
		see("claims", string(claims.body))
	}
	see("inbox", string(p.hook.get(t, p.hook.path("/inbox")).body))
	log := p.hook.get(t, p.hook.path("/deliveries?event=claim.resolved")).want(t, http.StatusOK)
	see("deliveries", string(p.hook.get(t, p.hook.path("/deliveries/"+log.text(t, "data.0.id"))).body))
	if status, _, content := p.download(t, "/claims/"+p.claim+"/evidence/"+p.evidence+"/file"); status == http.StatusOK {
		see("files", string(content))
	}
	return found
}

// A shopper asks for all that is kept, and then that it goes. The books stay as they are.
func TestShopperIsExportedAndErased(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := sells(t, s)
		defer s.log.mute() // deliveries that the clock outran
		who := privacy.Shopper{Merchant: p.Merchant.ID, Email: " " + inesMail, Document: "52998224725"}
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		found, err := s.App.Privacy.ExportShopper(ctx, by, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail})
		must(t, err)
		text, err := json.Marshal(found)
		must(t, err)
		all, files := string(text), ""
		for _, one := range found.Payments {
			for _, f := range one.Files {
				files += string(f.Content)
			}
		}
		if len(found.Payments) != 4 || len(found.Sessions) != 1 || strings.Contains(all, "other@mail.example") || files != inesWords {
			t.Errorf("%d payments and %d sessions are exported, with files %q", len(found.Payments), len(found.Sessions), files)
		}
		for _, want := range []string{inesMail, inesWhy, inesWords, "198.51.100.7", "529.982.247-25", "who=ines", "A gift from Ines", "Cup of Ines", "Ines Valadares 1"} {
			if !strings.Contains(all, want) {
				t.Errorf("the export lacks %q", want)
			}
		}
		p.act(t, audit.ShopperExported, p.paid)

		before := map[string]string{}
		for _, path := range []string{"/me", "/payments/" + p.paid, "/payments/" + p.disputed, "/payments/" + p.refunded, "/payments/" + p.others, "/me/balance"} {
			before[path] = p.get(t, path).want(t, http.StatusOK).books(t)
			if whose := strings.Contains(before[path], "Ines"); whose {
				t.Fatalf("the books tell of the shopper: %s", before[path])
			}
		}
		dry, err := s.App.Privacy.EraseShopper(ctx, by, who, true)
		must(t, err)
		if len(dry.Payments) != 3 || s.traces(t, p, inesMail)["payments"] < 4 {
			t.Errorf("a look at what would be erased: %+v", dry)
		}
		done, err := s.App.Privacy.EraseShopper(ctx, by, who, false)
		must(t, err)
		if fmt.Sprint(done) != fmt.Sprint(dry) || len(done.Kept) != 1 || done.Kept[p.pending] == "" || len(done.Sessions) != 0 {
			t.Errorf("erased: %+v, said before: %+v; only the pending payment is kept", done, dry)
		}
		done, err = s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail}, false)
		must(t, err)
		if len(done.Payments) != 0 || len(done.Sessions) != 1 || len(done.Kept) != 1 {
			t.Errorf("erased the second time: %+v, want the checkout alone", done)
		}
		for path, was := range before {
			if is := p.get(t, path).want(t, http.StatusOK).books(t); is != was {
				t.Errorf("%s was\n%s\nand is\n%s", path, was, is)
			}
		}
		p.act(t, audit.ShopperErased, p.disputed)
		p.get(t, "/claims/"+p.claim+"/evidence/"+p.evidence+"/file").refused(t, "404 not_found invalid_request_error")
		claim := p.get(t, "/claims/"+p.claim).want(t, http.StatusOK)
		if claim.text(t, "evidence.0.text") != "[erased]" || claim.text(t, "evidence.1.file.name") != "[erased]" || claim.text(t, "reason") != "fraudulent" {
			t.Errorf("the claim shows %s", claim)
		}

		p.simulate(t, p.pending, "expired").want(t, http.StatusOK)
		s.over(t, p.pending)
		done, err = s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: p.pending}, false)
		must(t, err)
		if len(done.Payments) != 1 {
			t.Errorf("the payment that is over now: %+v", done)
		}
		if found := s.traces(t, p, inesMail, inesName, inesWords, "who=ines", "198.51.100.7", "529.982"); len(found) > 0 {
			t.Errorf("the shopper is still in %v", found)
		}
		if found := s.traces(t, p, "other@mail.example"); found["payments"] != 1 {
			t.Errorf("another shopper is in %v", found)
		}
		// Money goes on to move.
		p.refund(t, p.refunded, `{"amount":5}`).want(t, http.StatusOK)
		eventually(t, "the second refund is made", func() bool { return p.claims(t, p.refunded) == "approved approved" })
		found, err = s.App.Privacy.ExportShopper(ctx, by, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail})
		must(t, err)
		if len(found.Payments)+len(found.Sessions) != 0 {
			t.Errorf("after all was erased the export has %+v", found)
		}
		s.clean(t)
	})
}

// books is a body without what it tells of the shopper and the purchase.
func (r reply) books(t *testing.T) string {
	t.Helper()
	var body map[string]any
	must(t, json.Unmarshal(r.body, &body))
	for _, field := range []string{"userName", "userEmail", "documentId", "description", "metadata", "lineItems"} {
		delete(body, field)
	}
	text, err := json.Marshal(body)
	must(t, err)
	return string(text)
}

// over waits until nobody asks any more whether a payment that expired was paid.
func (s *service) over(t *testing.T, payment string) {
	t.Helper()
	is := func(that func(pay.Payment) bool) func() bool {
		return func() bool {
			found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, privacy.Shopper{Payment: payment})
			must(t, err)
			return that(found.Payments[0].Payment)
		}
	}
	eventually(t, "the payment has expired", is(func(p pay.Payment) bool { return !p.Status.Open() }))
	s.clock.advance(31 * 24 * time.Hour)
	eventually(t, "nobody asks about the payment", is(func(p pay.Payment) bool { return p.DueAt.IsZero() }))
}

// Whoever asks about a shopper says which merchant's, and who.
func TestShopperOfNobodyIsNotErased(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := sells(t, s)
		other := s.shop(t)
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
				t.Errorf("%s: %+v", name, done)
			}
		}
		for name, who := range map[string]privacy.Shopper{
			"another merchant's": {Merchant: other.Merchant.ID, Email: inesMail},
			"another document":   {Merchant: p.Merchant.ID, Email: inesMail, Document: "11144477735"},
			"a part of the name": {Merchant: p.Merchant.ID, Email: "ines"},
		} {
			done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{}, who, false)
			must(t, err)
			if len(done.Payments)+len(done.Sessions)+len(done.Kept) != 0 {
				t.Errorf("%s: %+v", name, done)
			}
		}
	})
}

// Each kind of data is kept as long as the operator says, and no longer.
func TestPersonalDataEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := startWith(t, database, &clock{}, func(c *daemon.Config) {
			c.Retention = privacy.Retention{Shoppers: 100 * day, Evidence: 40 * day, Notifications: 10 * day, Addresses: 20 * day}
		})
		p := sells(t, s)
		defer s.log.mute() // deliveries that the clock outran
		must(t, s.App.Access.WriteKeyUses(ctx))
		addresses := func() (n int) {
			for _, e := range p.acts(t) {
				if e.By.IP != "" {
					n++
				}
			}
			return n
		}
		s.forgetAll(t)
		at := func(when string, later time.Duration, want ...string) {
			t.Helper()
			s.clock.advance(later)
			s.forgetAll(t)
			found := s.traces(t, p, inesMail, inesName, inesWords)
			for _, where := range want {
				name, gone := strings.CutPrefix(where, "no ")
				if gone == (found[name] > 0) {
					t.Errorf("%s: %s in %v", when, where, found)
				}
			}
			s.clean(t)
		}
		if addresses() == 0 {
			t.Fatal("no entry of the audit log has an address")
		}
		at("at once", 0, "payments", "claims", "files", "notifications")
		at("after 11 days", 11*day, "payments", "claims", "files", "no notifications")
		if addresses() == 0 {
			t.Error("after 11 days the addresses are gone")
		}
		at("after 21 days", 10*day, "payments", "claims", "files")
		if n := addresses(); n != 0 {
			t.Errorf("after 21 days %d entries have an address", n)
		}
		at("after 41 days", 20*day, "payments", "no files", "no claims")
		s.over(t, p.pending)
		at("after 132 days", 60*day, "no payments", "no claims")
		// A round that is over begins anew after a month.
		fresh := p.create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`"}`)
		at("a new payment", 99*day, "payments")
		at("a new payment a day later", 2*day, "no payments")
		if got := p.status(t, fresh); got != "completed" {
			t.Errorf("the new payment is %s", got)
		}
	})
}

// An address that somebody changes is found out; one that has gone is not missed.
func TestAddressOfTheAuditLogIsProved(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.login(t)
		entry := o.act(t, audit.LoginCreated, s.loginOf(t, o))
		if entry.By.IP != "127.0.0.1" {
			t.Fatalf("the login came from %q", entry.By.IP)
		}
		s.clean(t)
		exec, closeDB := s.exec(t)
		defer closeDB()
		exec("UPDATE audit_addresses SET address = '192.0.2.1' WHERE id = $1", entry.ID)
		broken, err := s.App.Check(ctx)
		must(t, err)
		if len(broken) != 1 || !strings.Contains(fmt.Sprint(broken), entry.ID) {
			t.Errorf("a check finds %v", broken)
		}
		exec("DELETE FROM audit_addresses WHERE id = $1", entry.ID)
		s.clean(t)
		if got := o.act(t, audit.LoginCreated, s.loginOf(t, o)); got.By.IP != "" {
			t.Errorf("the entry has the address %q", got.By.IP)
		}
	})
}

// The checkout in which a shopper chose anew has his address, and not his name: it goes with the
// payment before it.
func TestCheckoutOfTheSecondChoiceIsErased(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, `{"amount":30,"paymentMethodId":"sbx_cash","hostedCheckout":true,"userEmail":"`+inesMail+`","returnUrl":"https://shop.example/x?who=ines"}`)
		s.atBank(t, id, "decline")
		stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := stay.Post(s.URL+"/pay/"+id+"/again", "application/x-www-form-urlencoded", nil)
		must(t, err)
		res.Body.Close()
		where := res.Header.Get("Location")
		r, err := http.NewRequest(http.MethodGet, s.URL+where[strings.Index(where, "/checkout/"):], nil)
		must(t, err)
		r.Header.Set("X-Forwarded-For", "198.51.100.123")
		res, err = stay.Do(r)
		must(t, err)
		res.Body.Close()
		s.clock.advance(8 * day)
		for _, who := range []privacy.Shopper{{Merchant: o.Merchant.ID, Email: inesMail}, {Payment: id}} {
			found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who)
			must(t, err)
			if len(found.Sessions) != 1 || found.Sessions[0].IP != "198.51.100.123" {
				t.Errorf("of %+v the export has the checkouts %+v", who, found.Sessions)
			}
		}
		done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Payment: id}, false)
		must(t, err)
		query, end := s.open(t)
		defer end()
		if left := query("SELECT doc FROM sessions WHERE doc LIKE '%198.51.100.123%' OR doc LIKE '%ines%'"); len(left) > 0 || len(done.Sessions) != 1 || len(done.Payments) != 1 {
			t.Errorf("erased are %+v, and left is %v", done, left)
		}
	})
}
