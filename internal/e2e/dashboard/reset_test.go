package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store/empty"
	storemerchants "github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/chromedp/chromedp"
)

// What a reset leaves: tables in which a merchant's sandbox has settings or a history, and tables of the service.
var keptByReset = []string{
	"keys", "logins", "subscriptions", "audit", "blocks", "provider_accounts", "payout_controls", // of the sandbox
	"merchants", "shops", "logos", "key_uses", "audit_addresses", "audit_notes", "clocks", "resets",
	"users", "memberships", "signins", "links", "operators", "secrets", "rail_ids", "rates", "rate_history", "rate_feeds", "routing_rules", "plans", "dual_controls", "proposals", "reconciliations",
	"recoveries", "found", "payout_batches", "quarantined", "retention", "watermarks", "recounts", "nodes", "processes", "committers", "unsealed", "facts", "schema_version",
}

// books are rows by table, except those of tables that a reset leaves.
func books(t *testing.T, o harness.Client) (sandbox, others map[string][]string) {
	t.Helper()
	query, closeDB := o.Open(t)
	defer closeDB()
	names := "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()"
	if strings.HasPrefix(o.Database, "sqlite:") {
		names = "SELECT m.name || '.' || p.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS p WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
	}
	columns := map[string][]string{}
	for _, line := range query(names) {
		table, column, _ := strings.Cut(line, ".")
		columns[table] = append(columns[table], column)
	}
	shop, hooks := "'"+o.Shop.ID+"'", "(SELECT id FROM subscriptions WHERE NOT live AND merchant = '"+o.Merchant.ID+"')"
	special := map[string]string{
		"once":              "id LIKE 'sandbox|" + o.Shop.ID + "|%'",
		"delivery_counters": "subscription IN " + hooks,
		"receipts":          "payment IN (SELECT id FROM payments WHERE NOT live AND merchant = '" + o.Merchant.ID + "') OR payment NOT IN (SELECT id FROM payments UNION ALL SELECT id FROM processing UNION ALL SELECT id FROM withdrawals) AND payment <> ''",
	}
	sandbox, others = map[string][]string{}, map[string][]string{}
	for table, has := range columns {
		if slices.Contains(keptByReset, table) {
			continue
		}
		mine := special[table]
		switch {
		case mine != "":
		case slices.Contains(has, "merchant") && slices.Contains(has, "live"):
			mine = "NOT live AND merchant = '" + o.Merchant.ID + "'"
		case slices.Contains(has, "shop") && slices.Contains(has, "live"):
			mine = "NOT live AND shop = " + shop
		default:
			t.Errorf("nobody has decided what a reset does with the table %s", table)
			continue
		}
		if !slices.ContainsFunc(empty.Deletions(), func(text string) bool { return strings.HasPrefix(text, "DELETE FROM "+table+" ") }) {
			t.Errorf("a reset deletes nothing of the table %s", table) // also where the test has no rows in it
		}
		// Loops look at what is due at any time: leases are no change.
		has = slices.DeleteFunc(has, func(name string) bool { return name == "due_at" || name == "version" || name == "updated_at" })
		from := "SELECT " + strings.Join(has, ", ") + " FROM " + table + " WHERE "
		sandbox[table] = query(from + mine)
		others[table] = query(from + "NOT (" + mine + ")")
		if table == "rollups" { // those of all shops are lowered
			others[table] = query(from + "shop <> '' AND NOT (" + mine + ")")
		}
		slices.Sort(others[table])
	}
	return sandbox, others
}

// filled makes some of everything in a merchant's sandbox, and money in production.
func filled(t *testing.T, o harness.Client) (payment, hook string) {
	t.Helper()
	hook = o.Post(t, "/webhooks", `{"events":["*"],"eventsVersion":"2026-11-21"}`).Want(t, http.StatusCreated).Text(t, "id")
	payment = o.Create(t, harness.Card, "Idempotency-Key: reset-1")
	o.PixOrder(t)
	o.Dispute(t, false)
	o.Refund(t, payment, `{"amount":5,"reason":"requested"}`)
	o.Fund(t, false, 50_000)
	o.Fund(t, true, 70_000)
	harness.MoveTestClock(t, o, "72h")
	o.Settle(t, "a settlement is closed", func() bool { return o.Get(t, "/settlements?status=closed").Text(t, "pagination.total") != "0" })
	harness.Eventually(t, "the endpoint got its deliveries", func() bool {
		return o.Get(t, "/webhooks/"+hook+"/deliveries?status=delivered").Text(t, "pagination.total") != "0"
	})
	return payment, hook
}

// A reset deletes everything in one merchant's sandbox, and no row of production or of another merchant. Meanwhile the
// sandbox is closed; afterwards it works, at real time, with its keys and endpoints (SBX-16).
func TestResetEmptiesTheSandboxAlone(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		payment, hook := filled(t, o)
		filled(t, other)
		before, _ := books(t, o)
		for _, table := range []string{"payments", "claims", "events", "deliveries", "inbox", "receipts", "transfers", "balances", "counters", "delivery_counters", "settlements", "settlement_lines", "once", "rollups"} {
			if len(before[table]) == 0 {
				t.Errorf("the test has nothing in %s", table)
			}
		}
		u := o.Staff(t, people.Developer)
		if a := u.Ask(t, http.MethodPost, "/sandbox/reset", url.Values{"confirm": {"no"}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `value="no"`) {
			t.Errorf("a wrong confirmation gets %d", a.Status)
		}
		s.Clock.Freeze() // the loop makes no pass yet
		u.Do(t, "/sandbox/reset", "confirm", o.Merchant.Name)
		refused := o.Get(t, "/payments").Want(t, http.StatusServiceUnavailable)
		if refused.Text(t, "error.details.reason") != "sandbox_reset" || refused.Header.Get("Retry-After") == "" {
			t.Errorf("while it is emptied the sandbox says %s", refused)
		}
		if status, _, _ := s.Visit(t, "/pay/"+payment); status != http.StatusServiceUnavailable {
			t.Errorf("a page of a payment gets %d", status)
		}
		if page := u.Page(t, "/payments"); !strings.Contains(page, "It is being emptied") {
			t.Error("a page does not say that the sandbox is closed")
		}
		first, err := s.App.Sandbox.ResetOf(t.Context(), o.Merchant.ID)
		harness.Must(t, err)
		again, err := s.App.Sandbox.Reset(t.Context(), audit.Actor{Kind: audit.BySystem}, merchants.Scope{Merchant: o.Merchant.ID})
		harness.Must(t, err)
		if !again.StartedAt.Equal(first.StartedAt) {
			t.Error("a second reset began beside the first")
		}
		o.Production().Get(t, "/payments").Want(t, http.StatusOK)
		other.Create(t, harness.With(`"orderId":"beside"`))
		foreign := quiet(t, o)
		brokenOff(t, o)
		// The node that ended has the lease: another goes on when it is over.
		harness.Must(t, s.App.Store.Commit(t.Context(), pay.Change{Resets: []merchants.Reset{again.Lease(s.Clock.Now())}}))
		emptied(t, o)

		after, others := books(t, o)
		for table, rows := range after {
			if len(rows) > 0 {
				t.Errorf("%s has %d rows: %q", table, len(rows), rows[0])
			}
			if !slices.Equal(others[table], foreign[table]) {
				t.Errorf("rows of others in %s changed: %d, were %d", table, len(others[table]), len(foreign[table]))
			}
		}
		s.Clean(t)
		o.Get(t, "/payments/"+payment).Want(t, http.StatusNotFound)
		if status, _, _ := s.Visit(t, "/pay/"+payment); status != http.StatusNotFound {
			t.Errorf("the page of a payment that is gone gets %d", status)
		}
		if page := u.Page(t, "/sandbox"); !strings.Contains(page, "it shows the real time") || strings.Contains(page, "It is being emptied") {
			t.Error("the test clock is not at real time")
		}
		if next := o.Create(t, harness.Card, "Idempotency-Key: reset-1"); next == payment {
			t.Error("the key of a request that is gone still answers it")
		}
		harness.Eventually(t, "the kept endpoint gets the new payment's events", func() bool {
			return o.Get(t, "/webhooks/"+hook+"/deliveries?status=delivered").Text(t, "pagination.total") != "0"
		})
		u.Did(t, audit.SandboxReset, o.Merchant.ID)
		harness.AuditEntry(t, o, audit.SandboxEmptied, o.Merchant.ID)
	})
}

// After a reset the same days are settled again, and the same reserve is released again: nothing new has the id of what
// is gone, which the seals still name (SBX-16).
func TestASandboxSettlesAgainAfterAReset(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 3 {
			o.Create(t, harness.Card)
			for _, wait := range []string{"72h", "2400h"} { // until the settlement, and until its reserve
				harness.MoveTestClock(t, o, wait)
				o.Settle(t, "what is due was moved", func() bool {
					b := o.Get(t, "/me/balance")
					return b.Text(t, "balance.pending") == "0" && (wait == "72h" || b.Text(t, "balance.reserve") == "0")
				})
			}
			s.Clean(t)
			o.Staff(t, people.Developer).Do(t, "/sandbox/reset", "confirm", o.Merchant.Name)
			emptied(t, o)
			s.Clean(t)
		}
	})
}

// quiet waits until nothing is under way, and returns the rows of others.
func quiet(t *testing.T, o harness.Client) (others map[string][]string) {
	t.Helper()
	query, closeDB := o.Open(t)
	defer closeDB()
	harness.Eventually(t, "deliveries are sent, and facts added up", func() bool {
		_, err := o.App.Store.Rollups().AddUp(t.Context()) // the clock stands still, and so does the loop
		harness.Must(t, err)
		return query("SELECT (SELECT count(*) FROM facts) + (SELECT count(*) FROM deliveries WHERE status = 'pending')")[0] == "0"
	})
	_, others = books(t, o)
	return others
}

// brokenOff ends passes a few steps later each time, as a crash does, while late work still writes: the books hold after
// each.
func brokenOff(t *testing.T, o harness.Client) {
	t.Helper()
	crash := errors.New("the node ends here")
	for most := 1; ; most += 3 {
		steps := 0
		_, err := o.App.Store.EmptySandbox(t.Context(), o.Merchant.ID, o.Clock.Now(), func() error {
			if steps++; steps > most {
				return crash
			}
			return nil
		})
		o.Clean(t)
		if most < 30 {
			o.Clock.Advance(time.Millisecond) // which names the transfer
			o.Fund(t, false, int64(100+most))
		}
		if err == nil {
			return
		}
		if !errors.Is(err, crash) {
			t.Fatal(err)
		}
	}
}

// emptied waits until a reset is over.
func emptied(t *testing.T, o harness.Client) {
	t.Helper()
	harness.Eventually(t, "the sandbox is empty", func() bool {
		o.Clock.Advance(merchants.ResetCloses)
		harness.Must(t, o.App.Sandbox.EmptySandboxes(t.Context()))
		r, err := o.App.Sandbox.ResetOf(t.Context(), o.Merchant.ID)
		harness.Must(t, err)
		return !r.Running()
	})
	o.Clock.Advance(6 * time.Second) // what nodes remember of it
}

// An endpoint answers when the sandbox that sent the delivery is empty already: nothing is left to write, and no fault is
// logged (SBX-16). The test ends when the service has shut down, which waits for the answer.
func TestAnswerAfterAResetIsNoFault(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		c := s.Receive(t)
		asked, answer := make(chan struct{}, 1), make(chan struct{})
		c.Answers(func(w http.ResponseWriter, _ *http.Request) {
			select {
			case asked <- struct{}{}:
				<-answer
			default:
			}
			w.WriteHeader(http.StatusNoContent)
		})
		o.Subscribe(t, c.URL, `"payment.completed"`)
		o.Create(t, harness.Card)
		<-asked
		_, err := s.App.Sandbox.Reset(t.Context(), audit.Actor{Kind: audit.BySystem}, merchants.Scope{Merchant: o.Merchant.ID})
		harness.Must(t, err)
		emptied(t, o)
		close(answer)
		s.Clean(t)
	})
}

// Only who may make keys empties the sandbox, and nobody of another merchant.
func TestResetIsForWhoMayMakeKeys(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, role := range []people.Role{people.Viewer, people.Support, people.Finance} {
			u := o.Staff(t, role)
			if a := u.Ask(t, http.MethodPost, "/sandbox/reset", url.Values{"confirm": {o.Merchant.Name}}); a.Status != http.StatusForbidden {
				t.Errorf("%s gets %d", role, a.Status)
			}
		}
		stranger := s.NewShop(t).Staff(t, people.Owner)
		path := fmt.Sprintf("/dashboard/%s/sandbox/sandbox/reset", o.Shop.ID)
		if a := stranger.Ask(t, http.MethodPost, path, url.Values{"confirm": {o.Merchant.Name}}); a.Status != http.StatusNotFound {
			t.Errorf("a stranger gets %d", a.Status)
		}
		if r, err := s.App.Sandbox.ResetOf(t.Context(), o.Merchant.ID); err != nil || r.Version != 0 {
			t.Errorf("a reset began: %+v, %v", r, err)
		}
	})
}

// Who has a second factor gives it again to empty the sandbox, and who has none signs in again: a stolen cookie empties
// nothing. The question leads back to the page.
func TestResetAsksForTheSecondFactor(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		form := url.Values{"confirm": {o.Merchant.Name}}
		begun := func(what string, want bool) {
			t.Helper()
			if r, err := s.App.Sandbox.ResetOf(t.Context(), o.Merchant.ID); err != nil || r.Running() != want {
				t.Errorf("%s: the reset is %+v, %v", what, r, err)
			}
		}
		u, plain := o.Staff(t, people.Developer), o.Staff(t, people.Developer)
		code := withApp(t, u)
		s.Clock.Advance(people.FactorFresh + time.Second)
		for who, at := range map[string]string{u.Cookie: "/dashboard/again", plain.Cookie: "/dashboard/again/sign-in"} {
			thief := u
			thief.Cookie = who
			a := thief.Ask(t, http.MethodPost, "/sandbox/reset", form)
			if to, _, _ := strings.Cut(a.Header.Get("Location"), "?"); a.Status != http.StatusSeeOther || to != at {
				t.Errorf("a stolen cookie gets %d %s, want %s", a.Status, a.Header.Get("Location"), at)
			}
			begun("a stolen cookie", false)
		}
		a := u.Ask(t, http.MethodPost, "/sandbox/reset", form)
		wrong := u.Ask(t, http.MethodPost, "/dashboard/again", url.Values{"code": {"000000"}, "next": {nextOf(t, a.Header.Get("Location"))}})
		if wrong.Status == http.StatusSeeOther {
			t.Errorf("a wrong code leads to %s", wrong.Header.Get("Location"))
		}
		u.Ask(t, http.MethodPost, "/sandbox/reset", form)
		begun("a wrong code", false)
		if to := prove(t, &u, nextOf(t, a.Header.Get("Location")), code()); to != u.Home()+"/sandbox" {
			t.Errorf("the code leads to %s", to)
		}
		u.Do(t, "/sandbox/reset", "confirm", o.Merchant.Name)
		begun("the second factor", true)
		emptied(t, o)
	})
}

// Every statement of a reset that deletes says that it is not about production, and that the reset runs.
func TestResetDeletesNothingOfProduction(t *testing.T) {
	not := regexp.MustCompile(`NOT (\w\.)?live\b|'sandbox\|'`)
	list := empty.Deletions()
	if len(list) < 25 {
		t.Fatalf("only %d statements", len(list))
	}
	for _, text := range list {
		if !not.MatchString(text) && !strings.HasPrefix(text, "DELETE FROM receipts ") { // of what is gone: see below
			t.Errorf("it may reach production: %s", text)
		}
		if strings.HasPrefix(text, "DELETE FROM receipts ") && strings.Count(text, "NOT EXISTS (SELECT 1 FROM ") != 3 {
			t.Errorf("it may reach what is there: %s", text)
		}
		if !strings.Contains(text, storemerchants.SandboxesBeingEmptied) && !strings.Contains(text, "n = 0 AND amount = 0 AND fees = 0") { // totals of nothing
			t.Errorf("it deletes after the reset, too: %s", text)
		}
	}
}

// A developer empties the sandbox by hand, and sees that it runs.
func TestDeveloperEmptiesTheSandboxInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	tab := o.Staff(t, people.Developer).Tab(t, "/sandbox")
	harness.Accessible(t, tab, "the sandbox's tools")
	harness.Shoot(t, tab, "sandbox-tools")
	harness.Must(t, chromedp.Do(tab, chromedp.SendKeys(`input[name="confirm"]`, o.Merchant.Name), chromedp.Click(`form[action$="/sandbox/reset"] button.bad`),
		chromedp.WaitVisible(`#notices .notice`), chromedp.WaitVisible(`main .card .notice`)))
	harness.Accessible(t, tab, "a sandbox that is being emptied")
	harness.Shoot(t, tab, "sandbox-emptied")
	emptied(t, o)
}
