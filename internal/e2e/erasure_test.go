package e2e

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
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

const day = 24 * time.Hour

// forgetAll erases what is kept no longer, as the loop does before it rests.
func (s *service) forgetAll(t *testing.T) {
	t.Helper()
	for {
		n, err := s.App.Privacy.Forget(ctx)
		must(t, err)
		if n == 0 {
			return
		}
	}
}

// clear counts the rows that hold one of the words in plain text, by table.
func (s *service) clear(t *testing.T, words ...string) (found map[string]int) {
	t.Helper()
	found = map[string]int{}
	seen := map[string]bool{}
	query, closeDB := s.open(t)
	defer closeDB()
	for _, row := range query(columnsOf[strings.HasPrefix(s.database, "postgres")]) {
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

// What was erased in rounds before does not use up the pages of the next one.
func TestRetentionGoesOnBehindWhatIsErased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Shoppers: 100 * day} })
		o := s.shop(t)
		defer s.log.mute()
		body := `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`
		var shoppers sync.WaitGroup
		for range 10 { // a page, of which commits carry many
			shoppers.Go(func() {
				for range 50 {
					o.create(t, body)
				}
			})
		}
		shoppers.Wait()
		s.clock.advance(101 * day)
		s.forgetAll(t)
		if left := s.clear(t, "ines@mail.example"); left["payments"] != 0 {
			t.Fatalf("the first round left %v", left)
		}
		o.create(t, body)
		s.clock.advance(101 * day) // a new round begins
		s.forgetAll(t)
		if left := s.clear(t, "ines@mail.example"); left["payments"] != 0 {
			t.Errorf("a payment is 101 days old, its shopper is kept 100, the loop went to rest: %v", left)
		}
	})
}

// Words that are also words of the event's own stay where they are such.
func TestErasingLeavesTheFormOfEvents(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		defer s.log.mute()
		in := s.receive(t)
		hook := o.subscribe(t, in.URL, `"*"`).text(t, "id")
		p := o.create(t, `{"amount":20,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`)
		o.refund(t, p, `{"amount":5,"reason":"refunded"}`).want(t, http.StatusOK)
		eventually(t, "the refund is made", func() bool { return o.claims(t, p) == "approved" })
		d := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`)
		s.notify(t, "sandbox-1", note(d, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).want(t, http.StatusOK)
		claim := o.get(t, "/claims?transactionId="+d).text(t, "data.0.id")
		for _, w := range []string{"claim.resolved", "chargeback", d} {
			o.post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"`+w+`"}`).want(t, http.StatusCreated)
		}
		o.rule(t, d, "won")
		eventually(t, "all is told", func() bool { return strings.Count(types(in.deliveries()), "claim.resolved") == 2 })
		_, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Merchant: o.Merchant.ID, Email: "ines@mail.example"}, false)
		must(t, err)
		for _, event := range []string{"payment.refunded", "claim.resolved"} {
			log := o.get(t, "/webhooks/"+hook+"/deliveries?event="+event).want(t, http.StatusOK)
			for i := range 2 {
				v, ok := log.at(t, fmt.Sprintf("data.%d.id", i))
				if !ok {
					continue
				}
				payload := string(o.get(t, fmt.Sprintf("/webhooks/%s/deliveries/%v", hook, v)).want(t, http.StatusOK).body)
				for _, field := range []string{"type", "status", "id", "transactionId"} {
					if strings.Contains(payload, `"`+field+`":"[erased]"`) {
						t.Errorf("an event %s has %s [erased]", event, field)
					}
				}
			}
		}
		s.clean(t)
	})
}

// A dispute that comes after the shopper was erased has words again, which go, too.
func TestWhatComesAfterAnErasureIsErased(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		defer s.log.mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		d := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"ines@mail.example"}`)
		_, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: d}, false)
		must(t, err)
		s.notify(t, "sandbox-1", note(d, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4","payer":{"name":"Ines Valadares"}`)).want(t, http.StatusOK)
		claim := o.get(t, "/claims?transactionId="+d).text(t, "data.0.id")
		o.post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"`+inesWords+`"}`).want(t, http.StatusCreated)
		o.rule(t, d, "won")
		done, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: d}, false)
		must(t, err)
		if c := o.get(t, "/claims/"+claim).text(t, "evidence.0.text"); c != "[erased]" {
			t.Errorf("the command says erased %v, kept %v; the evidence is %q", done.Payments, done.Kept, c)
		}
		list, err := s.App.Notices.Notifications(ctx, d, 100)
		must(t, err)
		for _, n := range list {
			if strings.Contains(string(n.Body), "Ines") {
				t.Errorf("notification %s has %s", n.ID, n.Body)
			}
		}
		s.clean(t)
	})
}

// Every table after an erasure of everything: also what operators wrote, and what endpoints said.
func TestNothingOfAShopperIsLeft(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		echo := s.receive(t)
		p := sells(t, s)
		defer s.log.mute()
		echo.answers(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(echo.deliveries()[len(echo.deliveries())-1].body)
		})
		p.subscribe(t, echo.URL, `"*"`)
		// another dispute, ended by the operator with a note
		d := p.create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`","userName":"`+inesName+`","hostedCheckout":true,"returnUrl":"https://shop.example/thanks?who=ines"}`)
		s.notify(t, "sandbox-1", note(d, `"status":"disputed","reason":"fraudulent","networkReasonCode":"10.4"`)).want(t, http.StatusOK)
		claim := p.get(t, "/claims?transactionId="+d).text(t, "data.0.id")
		p.post(t, "/claims/"+claim+"/evidence", `{"kind":"note","text":"`+inesName+`"}`).want(t, http.StatusCreated)
		_, err := s.App.Claims.RuleClaim(ctx, claim, pay.Reject, "spoke with "+inesName)
		must(t, err)
		eventually(t, "delivered", func() bool { return strings.Contains(fmt.Sprint(types(echo.deliveries())), "claim.resolved") })
		p.simulate(t, p.pending, "expired").want(t, http.StatusOK)
		s.over(t, p.pending)
		done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail}, false)
		must(t, err)
		if len(done.Kept) > 0 {
			t.Errorf("kept: %v", done.Kept)
		}
		if left := s.clear(t, inesMail, inesName, inesWords, "who=ines", "who%3Dines", "529.982", "52998224725"); len(left) > 0 {
			t.Errorf("left in the clear: %v", left)
		}
		left := s.traces(t, p, inesMail, inesName, inesWords, "who=ines", "198.51.100.7", "529.982")
		if len(left) > 0 {
			t.Errorf("left sealed: %v", left)
		}
		for _, id := range []string{p.paid, p.disputed, p.refunded, p.pending, d} {
			story, err := s.App.Story(ctx, id)
			must(t, err)
			if strings.Contains(story, inesName) {
				t.Errorf("the story of %s:\n%s", id, story)
			}
		}
		s.clean(t)
	})
}

// A text that nobody can open does not keep a shopper from being erased.
func TestDamagedTextDoesNotEndAnErasure(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := sells(t, s)
		defer s.log.mute()
		exec, closeDB := s.exec(t)
		defer closeDB()
		exec("UPDATE events SET payload = 'sealed:1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' WHERE object = $1 AND type = 'claim.resolved'", p.claim)
		done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Merchant: p.Merchant.ID, Email: inesMail}, false)
		if err != nil {
			t.Errorf("erased %v of 3, then: %v", done.Payments, err)
		}
	})
}

// Operators erase at once while money moves.
func TestErasuresRaceWithMoney(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		defer s.log.mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		for range 6 {
			p := o.create(t, `{"amount":100,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`","userName":"`+inesName+`"}`)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					_, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Merchant: o.Merchant.ID, Email: inesMail}, false)
					must(t, err)
				})
			}
			all.Go(func() { o.refund(t, p, `{"amount":5,"reason":"`+inesWhy+`"}`) })
			all.Go(func() { s.notify(t, "sandbox-1", note(p, `"status":"disputed","reason":"fraudulent"`)) })
			all.Wait()
			eventually(t, "erased", func() bool {
				done, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: p}, false)
				must(t, err)
				if len(done.Kept) > 0 {
					o.rule(t, p, "won")
				}
				return len(done.Kept) == 0
			})
		}
		s.clean(t)
	})
}

// What is asked again after an erasure brings nothing back, and fails nowhere.
func TestWhatIsAskedAgainAfterAnErasure(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		defer s.log.mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		body := `{"amount":100,"paymentMethodId":"sbx_card","hostedCheckout":true,"userEmail":"` + inesMail + `","userName":"` + inesName + `","returnUrl":"https://shop.example/x?who=ines"}`
		first := o.post(t, "/payments", body, "Idempotency-Key: k1").want(t, http.StatusCreated)
		p := first.text(t, "transactionId")
		n := note(p, `"status":"paid","amount":"100","currency":"USD","payer":{"name":"`+inesName+`"}`)
		s.notify(t, "sandbox-1", n).want(t, http.StatusOK)
		s.rate(t, "MXN 18.35")
		failing := o.create(t, `{"amount":30,"paymentMethodId":"sbx_cash","hostedCheckout":true,"userEmail":"`+inesMail+`","returnUrl":"https://shop.example/x?who=ines"}`)
		o.simulate(t, failing, "failed")
		_, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Merchant: o.Merchant.ID, Email: inesMail}, false)
		must(t, err)
		s.notify(t, "sandbox-1", n).want(t, http.StatusOK)
		list, err := s.App.Notices.Notifications(ctx, p, 100)
		must(t, err)
		for _, r := range list {
			if strings.Contains(string(r.Body), inesName) {
				t.Errorf("the repeated notification brought it back: %s", r.Body)
			}
		}
		again := o.post(t, "/payments", body, "Idempotency-Key: k1").want(t, http.StatusCreated)
		if again.text(t, "transactionId") != p {
			t.Errorf("the repeat made another payment: %s", again)
		}
		for _, id := range []string{p, failing} {
			for _, path := range []string{"/c/", "/pay/", "/checkout/"} {
				r := s.send(t, request{method: http.MethodGet, path: path + id})
				if r.status >= 500 {
					t.Errorf("%s%s: %d", path, id, r.status)
				}
			}
			if _, err := s.App.Providers.Explain(ctx, id); err != nil {
				t.Errorf("explain: %v", err)
			}
			if _, err := s.App.Story(ctx, id); err != nil {
				t.Errorf("story: %v", err)
			}
		}
		_, err = s.App.Sessions.RetryPayment(ctx, failing)
		must(t, err)
		s.clean(t)
	})
}

// Two nodes forget at once.
func TestTwoNodesForgetAtOnce(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	keep := func(c *daemon.Config) {
		c.Retention = privacy.Retention{Notifications: 10 * day, Shoppers: 10 * day, Addresses: 10 * day}
	}
	one, two := startWith(t, database, &clock{}, keep), startWith(t, database, &clock{}, keep)
	exec, closeDB := one.exec(t)
	defer closeDB()
	exec(`INSERT INTO receipts (id, account, payment, verdict, body, at) SELECT 'x/' || md5(g::text), 'x', '', 'ignored', 'body', (random() * 1000000)::bigint FROM generate_series(1, 20000) AS g`)
	exec(`INSERT INTO key_uses (id, version, key_id, address, first_at, last_at) SELECT md5(g::text), 1, 'k', 'a', 1, (random() * 1000000)::bigint FROM generate_series(1, 5000) AS g`)
	var all sync.WaitGroup
	for _, s := range []*service{one, two, one, two} {
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
}

// Money that comes after an erasure is found and given back.
func TestLateMoneyAfterAnErasure(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		defer s.log.mute()
		by := audit.Actor{Kind: audit.ByOperator, ID: "ana"}
		s.rate(t, "MXN 18.35")
		p := o.create(t, `{"amount":30,"paymentMethodId":"sbx_cash","hostedCheckout":true,"userEmail":"`+inesMail+`"}`)
		o.simulate(t, p, "expired").want(t, http.StatusOK)
		s.over(t, p)
		done, err := s.App.Privacy.EraseShopper(ctx, by, privacy.Shopper{Payment: p}, false)
		must(t, err)
		if len(done.Payments) != 1 {
			t.Fatalf("%+v", done)
		}
		s.notify(t, "sandbox-1", note(p, `"status":"paid","amount":"550.5","currency":"MXN"`)).want(t, http.StatusOK)
		s.clean(t)
		claim := o.get(t, "/claims?transactionId="+p).text(t, "data.0.id")
		_, err = s.App.Claims.RuleClaim(ctx, claim, pay.Approve, "give it back")
		must(t, err)
		eventually(t, "it is over", func() bool { return o.claimStatus(t, claim) == "approved" })
		s.clean(t)
	})
}

// One row that cannot be read does not end retention for everybody.
func TestUnreadableRowDoesNotEndRetention(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Shoppers: 100 * day} })
		defer s.log.mute()
		bad, good := s.shop(t), s.shop(t)
		p := bad.create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"x@mail.example"}`)
		good.create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`"}`)
		exec, closeDB := s.exec(t)
		defer closeDB()
		var doc string
		query, closeQuery := s.open(t)
		doc = query("SELECT doc FROM payments WHERE id = '" + p + "'")[0]
		closeQuery()
		exec("UPDATE payments SET doc = '{' WHERE id = $1", p)
		defer exec("UPDATE payments SET doc = $1 WHERE id = $2", doc, p)
		s.clock.advance(101 * day)
		_, err := s.App.Privacy.Forget(ctx)
		if left := s.clear(t, inesMail); len(left) > 0 {
			t.Errorf("another merchant's shopper is not erased (%v): %v", left, err)
		}
		// Whose it is nobody knows: whoever asks about a shopper is told so, and gets the rest.
		again := bad.create(t, `{"amount":10,"paymentMethodId":"sbx_card","userEmail":"`+inesMail+`"}`)
		who := privacy.Shopper{Merchant: bad.Merchant.ID, Email: inesMail}
		if found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who); !errors.Is(err, privacy.ErrUnread) || !strings.Contains(err.Error(), p) || len(found.Payments) != 1 {
			t.Errorf("the export has %+v, %v", found.Payments, err)
		}
		bad.post(t, "/payments/"+again+"/refund", `{"reason":"x"}`).want(t, http.StatusOK)
		query, closeQuery = s.open(t)
		claim := query("SELECT doc FROM claims WHERE payment = '" + again + "'")[0]
		closeQuery()
		exec("UPDATE claims SET doc = '{' WHERE payment = $1", again)
		found, err := s.App.Privacy.ExportShopper(ctx, audit.Actor{}, who)
		if !errors.Is(err, privacy.ErrUnread) || !strings.Contains(err.Error(), again) || len(found.Payments) != 1 || found.Payments[0].Buyer.Email != inesMail {
			t.Errorf("what was told cannot be read, and the export has %+v, %v", found.Payments, err)
		}
		exec("UPDATE claims SET doc = $1 WHERE payment = $2", claim, again)
		if done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{}, who, false); !errors.Is(err, privacy.ErrUnread) || len(done.Payments) != 1 || done.Payments[0] != again {
			t.Errorf("erased are %v, %v", done.Payments, err)
		}
	})
}

// A notification that waits for the operator keeps its body.
func TestNotificationThatWaitsKeepsItsBody(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Notifications: 10 * day} })
		defer s.log.mute()
		s.rate(t, "MXN 18.35")
		o := s.shop(t)
		p := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		s.notify(t, "sandbox-1", note(p, `"status":"paid","amount":"1","currency":"MXN"`)).want(t, http.StatusOK)
		s.clock.advance(11 * day)
		_, err := s.App.Privacy.Forget(ctx)
		must(t, err)
		list, err := s.App.Notices.Notifications(ctx, p, 100)
		must(t, err)
		for _, n := range list {
			if n.Verdict == pay.Mismatched && len(n.Body) == 0 {
				_, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{}, privacy.Shopper{Payment: p}, true)
				t.Errorf("notification %s waits for the operator and has no body any more (erase: %v)", n.ID, err)
			}
		}
	})
}

// A dormant key is used by a thief after its uses were forgotten.
func TestDormantKeyIsToldOf(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.Retention = privacy.Retention{Addresses: 20 * day} })
		o := s.shop(t)
		from := func(address string) {
			t.Helper()
			c := s.dialFrom(t, address)
			defer c.Close()
			_, err := fmt.Fprintf(c, "GET %s/ping HTTP/1.1\r\nHost: cascada\r\nAuthorization: Bearer %s\r\n\r\n", apiPath, o.credential)
			must(t, err)
			status(t, c)
			must(t, s.App.Access.WriteKeyUses(ctx))
		}
		from("127.0.0.1")
		s.clock.advance(21 * day)
		s.forgetAll(t)
		from("127.0.0.66")
		told := false
		for _, e := range o.acts(t) {
			told = told || e.Act == audit.KeyUsedAnew
		}
		if !told {
			t.Error("a key that slept for 21 days was used from an address that it was never used from, and nobody is told")
		}
	})
}

// Who types it twice ends no other key that is shown alike.
func TestKeyIsNotRevokedByWhatSeveralAreShownAs(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		mine, other := s.shop(t), s.shop(t)
		exec, closeDB := s.exec(t)
		defer closeDB()
		preview := "sk_test_…" + mine.Sandbox.Secret[len(mine.Sandbox.Secret)-4:]
		_, err := s.App.Keys.Revoke(ctx, preview)
		must(t, err)
		exec("UPDATE keys SET preview = $1 WHERE merchant = $2 AND kind = 'secret'", preview, other.Merchant.ID) // chance: 1 in 16 million a pair
		exec("UPDATE keys SET preview = 'sk_live_…xxxx' WHERE merchant = $1 AND live AND kind = 'secret'", other.Merchant.ID)
		_, err = s.App.Keys.Revoke(ctx, preview) // typed again
		if err == nil {
			t.Error("typed twice, the second one revoked another merchant's key")
		}
	})
}
