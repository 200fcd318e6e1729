package access

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

const day = 24 * time.Hour

// forgetAll erases everything whose retention has ended, as the loop does before it rests.
func forgetAll(t *testing.T, s *harness.Instance) {
	t.Helper()
	for {
		n, err := s.App.Privacy.Forget(ctx)
		harness.Must(t, err)
		if n == 0 {
			return
		}
	}
}

// countPlain counts the rows that hold one of the words in plain text, by table.
func countPlain(t *testing.T, s *harness.Instance, words ...string) (found map[string]int) {
	t.Helper()
	found = map[string]int{}
	seen := map[string]bool{}
	query, closeDB := s.Open(t)
	defer closeDB()
	for _, row := range query(columnsOf[strings.HasPrefix(s.Database, "postgres")]) {
		table, _, _ := strings.Cut(row, "\x1f")
		if seen[table] {
			continue
		}
		seen[table] = true
		for _, row := range query(`SELECT * FROM "` + table + `"`) {
			for _, w := range words {
				if strings.Contains(strings.ToLower(row), strings.ToLower(w)) {
					found[table]++
					break
				}
			}
		}
	}
	return found
}

// Rows that earlier rounds erased do not fill the pages of the next round.
func TestRetentionGoesOnBehindWhatIsErased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Shoppers: 100 * day} })
		o := s.NewShop(t)
		defer s.Log.Mute()
		body := `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`
		var shoppers sync.WaitGroup
		for range 10 { // 500 payments are a full page
			shoppers.Go(func() {
				for range 50 {
					o.Create(t, body)
				}
			})
		}
		shoppers.Wait()
		s.Clock.Advance(101 * day)
		forgetAll(t, s)
		if left := countPlain(t, s, "ines@mail.example"); left["payments"] != 0 {
			t.Fatalf("after the first round these tables still have the shopper: %v", left)
		}
		o.Create(t, body)
		s.Clock.Advance(101 * day) // a new round begins
		forgetAll(t, s)
		if left := countPlain(t, s, "ines@mail.example"); left["payments"] != 0 {
			t.Errorf("the loop rests, but a shopper is kept 101 days, want 100 at most: %v", left)
		}
	})
}

// A shopper's words may equal words of an event's form, such as a status. Erasing them must not
// erase the form.
func TestErasingLeavesTheFormOfEvents(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		in := s.Receive(t)
		hook := o.Subscribe(t, in.URL, `"*"`).Text(t, "id")
		p := o.Create(t, `{"amount":20,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`)
		o.Refund(t, p, `{"amount":5,"reason":"refunded"}`).Want(t, http.StatusOK)
		harness.Eventually(t, "the refund is made", func() bool { return o.Claims(t, p) == "approved" })
		d := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(d, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).Want(t, http.StatusOK)
		claim := o.Get(t, "/claims?transactionId="+d).Text(t, "data.0.id")
		for _, w := range []string{"claim.resolved", "chargeback", d} {
			o.Post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"`+w+`"}`).Want(t, http.StatusCreated)
		}
		harness.RuleClaim(t, o, d, "won")
		harness.Eventually(t, "both claim.resolved events are delivered", func() bool { return strings.Count(harness.Types(in.Deliveries()), "claim.resolved") == 2 })
		_, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Merchant: o.Merchant.ID, Email: "ines@mail.example"}, false)
		harness.Must(t, err)
		for event, erased := range map[string][]string{ // newest first: the words that are erased in each
			"payment.refunded": {"data.object.refund.reason"},
			"claim.resolved":   {"data.object.evidence.2.text", "data.object.reason"},
		} {
			ids := harness.IDs(t, o.Get(t, "/webhooks/"+hook+"/deliveries?event="+event))
			if len(ids) != len(erased) {
				t.Fatalf("%d events %s were delivered, want %d", len(ids), event, len(erased))
			}
			for i, id := range ids {
				r := o.Get(t, "/webhooks/"+hook+"/deliveries/"+id).Want(t, http.StatusOK)
				if got := r.Text(t, "payload."+erased[i]); got != pay.ErasedText {
					t.Errorf("the shopper's words %s of an event %s are %q", erased[i], event, got)
				}
				for _, field := range []string{"type", "status", "id", "transactionId"} {
					if strings.Contains(string(r.Body), `"`+field+`":"`+pay.ErasedText+`"`) {
						t.Errorf("the field %s of an event %s is erased", field, event)
					}
				}
			}
		}
		s.Clean(t)
	})
}

// A dispute after an erasure brings new words of the shopper. A second erasure removes them too.
func TestWhatComesAfterAnErasureIsErased(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		defer s.Log.Mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		d := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`)
		_, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: d}, false)
		harness.Must(t, err)
		s.Notify(t, "sandbox-1", harness.NoticeBody(d, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4","payer":{"name":"Ines Valadares"}`)).Want(t, http.StatusOK)
		claim := o.Get(t, "/claims?transactionId="+d).Text(t, "data.0.id")
		o.Post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"`+inesWords+`"}`).Want(t, http.StatusCreated)
		harness.RuleClaim(t, o, d, "won")
		done, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: d}, false)
		harness.Must(t, err)
		if c := o.Get(t, "/claims/"+claim).Text(t, "evidence.0.text"); c != "[erased]" {
			t.Errorf("the evidence is %q, want [erased]; the erasure reports erased %v, kept %v", c, done.Payments, done.Kept)
		}
		list, err := s.App.Notices.Notifications(ctx, d, 100)
		harness.Must(t, err)
		for _, n := range list {
			if strings.Contains(string(n.Body), "Ines") {
				t.Errorf("the notification %s still names the shopper: %s", n.ID, n.Body)
			}
		}
		s.Clean(t)
	})
}

// After everything of a shopper is erased, no table has anything of him: neither what operators
// wrote nor what endpoints answered.
func TestNothingOfAShopperIsLeft(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		echo := s.Receive(t)
		p := sells(t, s)
		defer s.Log.Mute()
		echo.Answers(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(echo.Deliveries()[len(echo.Deliveries())-1].Body)
		})
		p.Subscribe(t, echo.URL, `"*"`)
		// The operator's note on this dispute names the shopper.
		d := p.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`","userName":"`+inesName+`","hostedCheckout":true,"returnUrl":"https://shop.example/thanks?who=ines"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(d, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).Want(t, http.StatusOK)
		claim := p.Get(t, "/claims?transactionId="+d).Text(t, "data.0.id")
		p.Post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"`+inesName+`"}`).Want(t, http.StatusCreated)
		_, err := harness.DecideClaim(s.App, claim, pay.Reject, "spoke with "+inesName)
		harness.Must(t, err)
		harness.Eventually(t, "claim.resolved is delivered", func() bool { return strings.Contains(fmt.Sprint(harness.Types(echo.Deliveries())), "claim.resolved") })
		p.Simulate(t, p.pending, "expired").Want(t, http.StatusOK)
		awaitLetGo(t, s, p.pending)
		done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail}, false)
		harness.Must(t, err)
		if len(done.Kept) > 0 {
			t.Errorf("the erasure keeps %v, want nothing", done.Kept)
		}
		if left := countPlain(t, s, inesMail, inesName, inesWords, "who=ines", "who%3Dines", "529.982", "52998224725"); len(left) > 0 {
			t.Errorf("these tables have the shopper in plain text: %v", left)
		}
		left := traces(t, s, p, inesMail, inesName, inesWords, "who=ines", "198.51.100.7", "529.982")
		if len(left) > 0 {
			t.Errorf("the shopper is still found, also after decryption, in %v", left)
		}
		for _, id := range []string{p.paid, p.disputed, p.refunded, p.pending, d} {
			story, err := s.App.Story(ctx, id)
			harness.Must(t, err)
			if strings.Contains(story, inesName) {
				t.Errorf("the story of %s names the shopper:\n%s", id, story)
			}
		}
		s.Clean(t)
	})
}

// A text that cannot be decrypted does not stop an erasure.
func TestDamagedTextDoesNotEndAnErasure(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		p := sells(t, s)
		defer s.Log.Mute()
		exec, closeDB := s.Exec(t)
		defer closeDB()
		query, closeQuery := s.Open(t)
		defer closeQuery()
		asText, fromText := "encode(payload, 'hex')", "decode($1, 'hex')"
		if strings.HasPrefix(s.Database, "sqlite:") {
			asText, fromText = "hex(payload)", "unhex($1)"
		}
		id, payload, _ := strings.Cut(query("SELECT id, " + asText + " FROM events WHERE object = '" + p.claim + "' AND type = 'claim.resolved'")[0], "\x1f")
		change := "UPDATE events SET payload = " + fromText + " WHERE id = $2"
		exec(change, payload[:len(payload)-8]+"00000000", id)
		namedBy(t, s, id)
		defer exec(change, payload, id)
		done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail}, false)
		if err != nil {
			t.Errorf("the erasure stops after %v, want 3 payments: %v", done.Payments, err)
		}
	})
}

// Several erasures of a shopper run at once, while a refund and a dispute change the payment.
func TestErasuresRaceWithMoney(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		defer s.Log.Mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		for range 6 {
			p := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`","userName":"`+inesName+`"}`)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					_, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Merchant: o.Merchant.ID, Email: inesMail}, false)
					harness.Must(t, err)
				})
			}
			all.Go(func() { o.Refund(t, p, `{"amount":5,"reason":"`+inesWhy+`"}`) })
			all.Go(func() { s.Notify(t, "sandbox-1", harness.NoticeBody(p, `"status":"disputed","reason":"fraudulent"`)) })
			all.Wait()
			harness.Eventually(t, "the shopper is erased", func() bool {
				done, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: p}, false)
				harness.Must(t, err)
				if len(done.Kept) > 0 {
					harness.RuleClaim(t, o, p, "won")
				}
				return len(done.Kept) == 0
			})
		}
		s.Clean(t)
	})
}

// Repeated requests, notifications and page loads after an erasure succeed, and bring no personal
// data back.
func TestWhatIsAskedAgainAfterAnErasure(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		defer s.Log.Mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		body := `{"amount":100,"paymentMethodId":"sbx_card","hostedCheckout":true,"userEmail":"` + inesMail + `","userName":"` + inesName + `","returnUrl":"https://shop.example/x?who=ines"}`
		first := o.Post(t, "/payments", body, "Idempotency-Key: k1").Want(t, http.StatusCreated)
		p := first.Text(t, "transactionId")
		n := harness.NoticeBody(p, `"status":"paid","amount":"100","currency":"USD","payer":{"name":"`+inesName+`"}`)
		s.Notify(t, "sandbox-1", n).Want(t, http.StatusOK)
		s.Rate(t, "MXN 18.35")
		failing := o.Create(t, `{"amount":30,"paymentMethodId":"sbx_cash","hostedCheckout":true,"userEmail":"`+inesMail+`","returnUrl":"https://shop.example/x?who=ines"}`)
		o.Simulate(t, failing, "failed")
		_, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Merchant: o.Merchant.ID, Email: inesMail}, false)
		harness.Must(t, err)
		s.Notify(t, "sandbox-1", n).Want(t, http.StatusOK)
		list, err := s.App.Notices.Notifications(ctx, p, 100)
		harness.Must(t, err)
		for _, r := range list {
			if strings.Contains(string(r.Body), inesName) {
				t.Errorf("the repeated notification brought the name back: %s", r.Body)
			}
		}
		again := o.Post(t, "/payments", body, "Idempotency-Key: k1").Want(t, http.StatusCreated)
		if again.Text(t, "transactionId") != p {
			t.Errorf("the repeated request made another payment: %s", again)
		}
		for _, id := range []string{p, failing} {
			for _, path := range []string{"/c/", "/pay/", "/checkout/"} {
				r := s.Send(t, harness.Request{Method: http.MethodGet, Path: path + id})
				if r.Status >= 500 {
					t.Errorf("GET %s%s returns %d", path, id, r.Status)
				}
			}
			if _, err := s.App.Rules.Explain(ctx, id); err != nil {
				t.Errorf("explain: %v", err)
			}
			if _, err := s.App.Story(ctx, id); err != nil {
				t.Errorf("story: %v", err)
			}
		}
		_, err = s.App.Sessions.RetryPayment(ctx, failing)
		harness.Must(t, err)
		s.Clean(t)
	})
}

// Two nodes erase old rows at the same time, without an error.
func TestTwoNodesForgetAtOnce(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	keep := func(c *daemon.Config) {
		c.Retention = privacy.Retention{Notifications: 10 * day, Shoppers: 10 * day, Addresses: 10 * day}
	}
	one, two := harness.StartWith(t, database, &harness.Clock{}, keep), harness.StartWith(t, database, &harness.Clock{}, keep)
	exec, closeDB := one.Exec(t)
	defer closeDB()
	exec(`INSERT INTO receipts (id, account, payment, verdict, body, at, row_hash) SELECT 'x/' || md5(g::text), 'x', '', 'ignored', 'body', (random() * 1000000)::bigint, '' FROM generate_series(1, 20000) AS g`)
	defer exec(`DELETE FROM receipts WHERE account = 'x'`) // nobody wrote them, as the check would find
	exec(`INSERT INTO key_uses (id, version, key_id, address, first_at, last_at) SELECT md5(g::text), 1, 'k', 'a', 1, (random() * 1000000)::bigint FROM generate_series(1, 5000) AS g`)
	query, closeQuery := one.Open(t)
	defer closeQuery()
	left := func() string {
		return query(`SELECT (SELECT count(*) FROM receipts WHERE body <> '') || ' bodies, ' || (SELECT count(*) FROM key_uses WHERE address <> '') || ' addresses'`)[0]
	}
	var bodies, addresses int
	_, err := fmt.Sscanf(left(), "%d bodies, %d addresses", &bodies, &addresses)
	harness.Must(t, err)
	if bodies < 10000 || addresses < 2500 { // a job of the nodes themselves may have begun
		t.Fatalf("%d bodies and %d addresses are left to erase", bodies, addresses)
	}
	var all sync.WaitGroup
	for _, s := range []*harness.Instance{one, two, one, two} {
		all.Go(func() {
			for {
				n, err := s.App.Privacy.Forget(ctx)
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				if n == 0 {
					return
				}
			}
		})
	}
	all.Wait()
	// A job of the nodes themselves may still hold some of them.
	harness.Eventually(t, "nothing is left", func() bool { return left() == "0 bodies, 0 addresses" })
}

// Late money after an erasure still gets an inquiry, and can be given back.
func TestLateMoneyAfterAnErasure(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		defer s.Log.Mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		s.Rate(t, "MXN 18.35")
		p := o.Create(t, `{"amount":30,"paymentMethodId":"sbx_cash","hostedCheckout":true,"userEmail":"`+inesMail+`"}`)
		o.Simulate(t, p, "expired").Want(t, http.StatusOK)
		awaitLetGo(t, s, p)
		done, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: p}, false)
		harness.Must(t, err)
		if len(done.Payments) != 1 {
			t.Fatalf("the erasure reports %+v, want one payment", done)
		}
		s.Notify(t, "sandbox-1", harness.NoticeBody(p, `"status":"paid","amount":"550.5","currency":"MXN"`)).Want(t, http.StatusOK)
		s.Clean(t)
		claim := o.Get(t, "/claims?transactionId="+p).Text(t, "data.0.id")
		_, err = harness.DecideClaim(s.App, claim, pay.Approve, "give it back")
		harness.Must(t, err)
		harness.Eventually(t, "the inquiry is approved", func() bool { return harness.ClaimStatus(t, o, claim) == "approved" })
		s.Clean(t)
	})
}

// A row that cannot be read does not stop the erasure of other shoppers.
func TestUnreadableRowDoesNotEndRetention(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Shoppers: 100 * day} })
		defer s.Log.Mute()
		bad, good := s.NewShop(t), s.NewShop(t)
		p := bad.Create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"x@mail.example"}`)
		good.Create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`"}`)
		exec, closeDB := s.Exec(t)
		defer closeDB()
		var doc string
		query, closeQuery := s.Open(t)
		doc = query("SELECT doc FROM payments WHERE id = '" + p + "'")[0]
		closeQuery()
		exec("UPDATE payments SET doc = '{' WHERE id = $1", p)
		defer exec("UPDATE payments SET doc = $1 WHERE id = $2", doc, p)
		s.Clock.Advance(101 * day)
		_, err := s.App.Privacy.Forget(ctx)
		if left := countPlain(t, s, inesMail); len(left) > 0 {
			t.Errorf("another merchant's shopper is still in %v: %v", left, err)
		}
		// An unreadable row may belong to any shopper. So every export and erasure of the merchant
		// reports it, and handles the other rows.
		again := bad.Create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`"}`)
		who := privacy.Shopper{Merchant: bad.Merchant.ID, Email: inesMail}
		if found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who); !errors.Is(err, privacy.ErrUnread) || !strings.Contains(message.Sentence(err), p) || len(found.Payments) != 1 {
			t.Errorf("the export has %+v with the error %v, want one payment and the unreadable id", found.Payments, err)
		}
		bad.Post(t, "/payments/"+again+"/refund", `{"reason":"x"}`).Want(t, http.StatusOK)
		query, closeQuery = s.Open(t)
		claim := query("SELECT doc FROM claims WHERE payment = '" + again + "'")[0]
		closeQuery()
		exec("UPDATE claims SET doc = '{' WHERE payment = $1", again)
		found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who)
		if !errors.Is(err, privacy.ErrUnread) || !strings.Contains(message.Sentence(err), again) || len(found.Payments) != 1 || found.Payments[0].Order.Buyer.Email != inesMail {
			t.Errorf("beside an unreadable claim the export has %+v with the error %v", found.Payments, err)
		}
		exec("UPDATE claims SET doc = $1 WHERE payment = $2", claim, again)
		if done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{}, who, false); !errors.Is(err, privacy.ErrUnread) || len(done.Payments) != 1 || done.Payments[0] != again {
			t.Errorf("the erasure reports %v with the error %v, want %s and the unreadable id", done.Payments, err, again)
		}
	})
}

// A notification that waits for the operator keeps its body.
func TestNotificationThatWaitsKeepsItsBody(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Notifications: 10 * day} })
		s.Rate(t, "MXN 18.35")
		o := s.NewShop(t)
		p := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.Notify(t, "sandbox-1", harness.NoticeBody(p, `"status":"paid","amount":"1","currency":"USD"`)).Want(t, http.StatusOK)
		s.Clock.Advance(11 * day)
		_, err := s.App.Privacy.Forget(ctx)
		harness.Must(t, err)
		list, err := s.App.Notices.Notifications(ctx, p, 100)
		harness.Must(t, err)
		if len(list) != 1 || list[0].Verdict != pay.Mismatched || len(list[0].Body) == 0 {
			t.Errorf("want one notification that waits for the operator, with its body, got %+v", list)
		}
	})
}

// The addresses of an unused key are erased after some time. A use from a new address is still
// reported, because it may be a thief.
func TestDormantKeyIsToldOf(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Addresses: 20 * day} })
		o := s.NewShop(t)
		from := func(address string) {
			t.Helper()
			c := dialFrom(t, s, address)
			defer c.Close()
			_, err := fmt.Fprintf(c, "GET %s/ping HTTP/1.1\r\nHost: cascada\r\nAuthorization: Bearer %s\r\n\r\n", harness.APIPath, o.Credential)
			harness.Must(t, err)
			status(t, c)
			harness.Must(t, s.App.Access.WriteKeyUses(ctx))
		}
		from("127.0.0.1")
		s.Clock.Advance(21 * day)
		forgetAll(t, s)
		from("127.0.0.66")
		told := false
		for _, e := range harness.AuditActs(t, o) {
			told = told || e.Act == audit.KeyUsedAnew
		}
		if !told {
			t.Error("after 21 days without use, a key's use from a new address is not in the audit log")
		}
	})
}
