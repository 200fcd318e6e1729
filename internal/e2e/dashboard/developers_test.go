package dashboard

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/chromedp/chromedp"
)

// shown is the secret that the answer to a form shows.
func shown(t *testing.T, a harness.Answer) string {
	t.Helper()
	found := regexp.MustCompile(`<code>((?:sk|pk|rk|whsec)_[^<]+)</code>`).FindStringSubmatch(a.Body)
	if a.Status != http.StatusOK || found == nil {
		t.Fatalf("no secret is shown: %d %s", a.Status, a.Text())
	}
	return found[1]
}

// written is a log.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(line)
}

func (w *written) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// lastPart is the last part of the path of an address that a form leads to.
func lastPart(address string) string { return address[strings.LastIndex(address, "/")+1:] }

var keyLink = regexp.MustCompile(`/keys/(key_[0-9A-Za-z]+)"`)

// developersPages are the pages of the room without ids.
var developersPages = []string{"/keys", "/keys?show=ended", "/keys/new", "/webhooks", "/webhooks/new", "/events", "/events/live", "/requests", "/sandbox", "/api"}

// A developer makes a key, and rolls it with an overlap: both work until the old one's time is over. A key's text
// is in the answer to the form alone: in no other page, and not in the log of requests.
func TestDeveloperMakesAndRollsAKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var log written
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c.Access = c.Log
		})
		u := s.NewShop(t).Staff(t, people.Developer)
		raw := shown(t, u.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read", "payments"}}))
		works := func(key string) bool { return u.As(key).Get(t, "/me").Status == http.StatusOK }
		if !strings.HasPrefix(raw, "rk_test_") && !strings.HasPrefix(raw, "sk_test_") || !works(raw) {
			t.Fatalf("the new key %s does not work", raw[:8])
		}
		id := keyLink.FindStringSubmatch(u.Page(t, "/keys"))[1] // the newest first
		rolled := shown(t, u.Ask(t, http.MethodPost, "/keys/"+id+"/roll", url.Values{"grace": {"24h"}}))
		if !works(raw) || !works(rolled) {
			t.Error("the two keys do not work together")
		}
		if page := u.Page(t, "/keys/"+id); !strings.Contains(page, "This key was rolled") {
			t.Error("the old key's page does not say that it was rolled")
		}
		if a := u.Ask(t, http.MethodPost, "/keys/"+id+"/roll", url.Values{"grace": {"24h"}}); a.Status != http.StatusConflict {
			t.Errorf("a rolled key is rolled again: %d", a.Status)
		}
		s.Clock.Advance(24*time.Hour + time.Minute)
		u.Cookie, _ = signIn(t, u, harness.StaffPassword)
		if works(raw) || !works(rolled) {
			t.Error("after the overlap the old key works, or the new one does not")
		}
		next := keyLink.FindStringSubmatch(u.Page(t, "/keys"))[1]
		u.As(rolled).Get(t, "/payments/"+rolled) // whoever pastes a key in the wrong place
		for _, path := range append(developersPages, "/keys/"+id, "/keys/"+next, "/keys/"+next+"/roll", "/keys/"+next+"/revoke", "/requests.csv") {
			if page := u.Page(t, path); strings.Contains(page, raw) || strings.Contains(page, rolled) {
				t.Errorf("%s shows a key", path)
			}
		}
		u.Do(t, "/keys/"+next+"/revoke")
		if works(rolled) {
			t.Error("a revoked key works")
		}
		for _, e := range harness.AuditActs(t, u.Client) {
			if e.Act == audit.KeyCreated && e.By.Kind == audit.ByUser && e.By.ID != u.User.ID {
				t.Errorf("the audit log says that %s made the key", e.By.ID)
			}
		}
		if text := log.text(); !strings.Contains(text, "/api/v1/payments/{id}") || strings.Contains(text, rolled) || strings.Contains(text, raw) {
			t.Error("the log has a key")
		}
	})
}

// What is wrong is said at its field, what was typed is kept, and nobody gives rights that they do not have.
func TestKeyFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Developer)
	if page := u.Page(t, "/keys/new"); strings.Contains(page, `value="withdrawals"`) || !strings.Contains(page, `value="secret"`) {
		t.Error("a developer may choose withdrawals in the sandbox, or no secret key")
	}
	for _, c := range []struct {
		form url.Values
		want int
		says string
	}{
		{url.Values{"kind": {"restricted"}}, 400, "A restricted key needs rights"},
		{url.Values{"kind": {"restricted"}, "rights": {"withdrawals"}}, 403, "your role does not have: withdrawals"},
		{url.Values{"kind": {"publishable"}, "ends": {"2001-01-01"}}, 400, "hoose a later day"},
		{url.Values{"kind": {"publishable"}, "ends": {"soon"}}, 400, "This is not a day"},
		{url.Values{"kind": {"golden"}}, 400, "A key is publishable, secret or restricted"},
	} {
		a := u.Ask(t, http.MethodPost, "/keys", c.form)
		if a.Status != c.want || !strings.Contains(a.Body, c.says) {
			t.Errorf("%v gets %d %s", c.form, a.Status, a.Text())
		}
		if ends := c.form.Get("ends"); ends != "" && !strings.Contains(a.Body, `value="`+ends+`"`) {
			t.Errorf("%v is not kept", c.form)
		}
	}
	u.Live = true
	if page := u.Page(t, "/keys/new"); strings.Contains(page, `value="secret"`) || strings.Contains(page, `value="refunds"`) {
		t.Error("a developer may choose refunds, or a secret key, in production")
	}
}

// Whoever lacks the right sees no keys and no forms; what belongs to another shop does not exist.
func TestDevelopersPagesKeepToTheirRights(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	hook := o.Post(t, "/webhooks", `{"events":["*"]}`).Want(t, http.StatusCreated).Text(t, "id")
	developer := o.Staff(t, people.Developer)
	key := keyLink.FindStringSubmatch(developer.Page(t, "/keys"))[1]
	viewer := o.Staff(t, people.Viewer)
	for _, path := range []string{"/keys", "/keys/new", "/keys/" + key, "/keys/" + key + "/roll", "/keys/" + key + "/revoke", "/webhooks/new", "/webhooks/" + hook + "/edit", "/webhooks/" + hook + "/secret", "/sandbox"} {
		if a := viewer.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusForbidden {
			t.Errorf("a viewer gets %d for %s", a.Status, path)
		}
	}
	for _, path := range []string{"/keys", "/keys/" + key + "/roll", "/keys/" + key + "/revoke", "/webhooks", "/webhooks/" + hook, "/webhooks/" + hook + "/secret", "/webhooks/" + hook + "/delete", "/webhooks/" + hook + "/status", "/webhooks/" + hook + "/replays", "/sandbox/clock", "/sandbox/strict"} {
		if a := viewer.Ask(t, http.MethodPost, path, url.Values{}); a.Status != http.StatusForbidden {
			t.Errorf("a viewer gets %d for POST %s", a.Status, path)
		}
	}
	for _, path := range []string{"/webhooks", "/webhooks/" + hook, "/webhooks/" + hook + "/replays", "/requests", "/events"} {
		page := viewer.Page(t, path)
		for _, form := range []string{`/keys"`, "/webhooks/new", "/edit", "/secret", `action="/dashboard/` + o.Shop.ID + `/sandbox/webhooks/` + hook + "/"} {
			if strings.Contains(page, form) {
				t.Errorf("%s shows a viewer %s", path, form)
			}
		}
	}
	stranger := s.NewShop(t).Staff(t, people.Owner)
	for _, path := range []string{"/keys/" + key, "/keys/key_none", "/webhooks/" + hook, "/webhooks/" + hook + "/replays", "/webhooks/" + hook + "/inbox", "/events/evt_1", "/requests/req_1", "/webhooks/wh_1/deliveries/wd_1"} {
		if a := stranger.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("a stranger gets %d for %s", a.Status, path)
		}
	}
	if a := stranger.Ask(t, http.MethodPost, "/keys/"+key+"/revoke", url.Values{}); a.Status != http.StatusNotFound {
		t.Errorf("a stranger revokes the key: %d", a.Status)
	}
	developer.Live = true
	if a := developer.Ask(t, http.MethodGet, "/sandbox", nil); a.Status != http.StatusSeeOther && a.Status != http.StatusForbidden {
		t.Errorf("production has a page of the sandbox: %d", a.Status)
	}
}

// keepsItsCredentials edits an endpoint that has a password: an empty one keeps it, and another host needs it again.
func keepsItsCredentials(t *testing.T, u harness.Staff, server *harness.Receiver, path string) {
	t.Helper()
	form := url.Values{"url": {server.URL + "/a"}, "which": {"some"}, "events": {"payment.completed"}, "description": {"the till"},
		"authentication": {"basic"}, "authentication.username": {"the gateway"}}
	if page := u.Page(t, path+"/edit"); !strings.Contains(page, "the gateway") || strings.Contains(page, "a-secret") {
		t.Errorf("the form shows %s", page)
	}
	if a := u.Ask(t, http.MethodPost, path, form); a.Status != http.StatusSeeOther || !strings.Contains(u.Page(t, path+"/settings"), "the gateway") {
		t.Errorf("an edit without the password gets %d %s", a.Status, a.Text())
	}
	form.Set("url", "http://127.0.0.2:1/a")
	if a := u.Ask(t, http.MethodPost, path, form); a.Status != 400 || !strings.Contains(a.Body, `id="f-authentication.password-error"`) {
		t.Errorf("an edit to another host without the password gets %d %s", a.Status, a.Text())
	}
}

// A developer adds an endpoint that fails, sees each try, sends one delivery again, and then a span of time.
func TestDeveloperReplaysWebhooks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Developer)
		server := s.Receive(t)
		server.Answers(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out of <order>", http.StatusBadGateway) })
		if a := u.Ask(t, http.MethodPost, "/webhooks", url.Values{"where": {"own"}, "url": {"gopher://x"}, "which": {"some"}}); a.Status != 400 || !strings.Contains(a.Body, "gopher://x") || strings.Count(a.Body, `class="error"`) != 2 {
			t.Errorf("a wrong webhook gets %d %s", a.Status, a.Text())
		}
		if a := u.Ask(t, http.MethodPost, "/webhooks", url.Values{"where": {"own"}, "which": {"all"}}); a.Status != 400 {
			t.Errorf("a webhook without an address gets %d", a.Status)
		}
		if a := u.Ask(t, http.MethodPost, "/webhooks", url.Values{
			"where": {"own"}, "url": {server.URL}, "which": {"all"}, "authentication": {"header"}, "authentication.header": {"Host"}, "authentication.value": {"a-secret"},
		}); a.Status != 400 || !strings.Contains(a.Body, `id="f-authentication.header-error"`) || strings.Contains(a.Body, "a-secret") {
			t.Errorf("a header that is ours gets %d %s", a.Status, a.Text())
		}
		secret := shown(t, u.Ask(t, http.MethodPost, "/webhooks", url.Values{"where": {"own"}, "url": {server.URL}, "which": {"some"}, "events": {"payment.completed"}, "description": {"the till"},
			"authentication": {"basic"}, "authentication.username": {"the gateway"}, "authentication.password": {"a-secret"}}))
		hook := regexp.MustCompile(`/webhooks/(wh_[0-9A-Z]+)"`).FindStringSubmatch(u.Page(t, "/webhooks"))[1]
		payment := u.Create(t, harness.Card)
		server.Await(t, 1)
		path := "/webhooks/" + hook
		keepsItsCredentials(t, u, server, path)
		delivery := ""
		harness.Eventually(t, "the failed try is shown", func() bool {
			page := u.Page(t, path+"?status=failed&type=payment.completed")
			found := regexp.MustCompile(`/deliveries/(wd_[^"]+)"`).FindStringSubmatch(page)
			if found != nil {
				delivery = found[1]
			}
			return found != nil && strings.Contains(page, "HTTP 502")
		})
		page := u.Page(t, path+"/deliveries/"+delivery)
		for _, want := range []string{"out of <order>", payment, "Send again"} {
			if !strings.Contains(page, want) {
				t.Errorf("the delivery's page lacks %q", want)
			}
		}
		server.Answers(harness.Respond(http.StatusNoContent))
		u.Do(t, path+"/deliveries/"+delivery+"/replay")
		harness.Eventually(t, "it is delivered", func() bool { return strings.Contains(u.Page(t, path+"?status=delivered"), delivery) })
		if a := u.Ask(t, http.MethodPost, path+"/deliveries/"+delivery+"/replay", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("a delivered one is sent again: %d", a.Status)
		}
		if page := u.Page(t, "/events/"+"evt_"+strings.TrimPrefix(payment, "TXN-")+"-1"); !strings.Contains(page, delivery) || !strings.Contains(page, "payment.completed") {
			t.Error("the event's page lacks its delivery")
		}
		for _, form := range []url.Values{{}, {"since": {"yesterday"}}, {"since": {"2100-01-01T00:00"}}} {
			if a := u.Ask(t, http.MethodPost, path+"/replays", form); a.Status != 400 {
				t.Errorf("a replay of %v gets %d", form, a.Status)
			}
		}
		before := len(server.Deliveries())
		from := s.Clock.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")
		replay := lastPart(u.Do(t, path+"/replays", "since", from))
		harness.Eventually(t, "the replay is done", func() bool {
			a := u.Ask(t, http.MethodGet, path+"/replays/"+replay, nil, "HX-Request: true", "HX-Target: div#progress")
			return strings.Contains(a.Body, "Done") && !strings.Contains(a.Body, "<html")
		})
		if n := len(server.Deliveries()) - before; n != 1 {
			t.Errorf("the replay sent %d events", n)
		}
		if a := u.Ask(t, http.MethodPost, path+"/replays/"+replay+"/stop", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("a replay that is done is stopped: %d", a.Status)
		}
		rolled := shown(t, u.Ask(t, http.MethodPost, path+"/secret", url.Values{}))
		for _, page := range []string{path, path + "/settings", path + "/edit", path + "/replays", path + "/deliveries.csv", "/webhooks"} {
			if text := u.Page(t, page); strings.Contains(text, secret) || strings.Contains(text, rolled) {
				t.Errorf("%s shows a secret", page)
			}
		}
		u.Do(t, path, "url", server.URL+"/other", "which", "all")
		u.Do(t, path+"/status", "status", "disabled")
		if page := u.Page(t, path); !strings.Contains(page, "Disabled") {
			t.Error("the page does not say that the endpoint is disabled")
		}
		u.Do(t, path+"/status", "status", "enabled")
		u.Do(t, path+"/delete")
		if a := u.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("a deleted endpoint gets %d", a.Status)
		}
	})
}

// The log of requests shows what was asked and what was wrong, and no one's data.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Viewer)
	payment := o.Create(t, harness.Card)
	o.Get(t, "/payments/"+payment).Want(t, http.StatusOK)
	bad := o.Post(t, "/payments", `{"amount":"maria@example.com","paymentMethodId":"sbx_card","userEmail":"maria@example.com"}`)
	o.Get(t, "/payments/cs_test_abcdefghijklmn")
	o.As("sk_test_stranger").Get(t, "/payments/stranger")
	page := u.Page(t, "/requests")
	for _, want := range []string{"GET /payments/:id", "POST /payments", "sk_test_…", "4 in all"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	id := bad.Text(t, "error.requestId")
	detail := u.Page(t, "/requests/"+id)
	for _, want := range []string{bad.Text(t, "error.code"), "amount", id} {
		if !strings.Contains(detail, want) {
			t.Errorf("the request's page lacks %q", want)
		}
	}
	if failed := u.Page(t, "/requests?result=failed"); !strings.Contains(failed, "2 in all") || !strings.Contains(failed, id) {
		t.Error("the filter does not select the failed ones")
	}
	for _, path := range []string{"/requests", "/requests/" + id, "/requests.csv"} {
		if text := u.Page(t, path); strings.Contains(text, "maria") || strings.Contains(text, "cs_test_") {
			t.Errorf("%s shows somebody's data", path)
		}
	}
	other := s.NewShop(t).Staff(t, people.Owner)
	if text := other.Page(t, "/requests"); strings.Contains(text, payment) || !strings.Contains(text, "No requests yet") {
		t.Error("another shop sees the requests")
	}
	u.Live = true
	if text := u.Page(t, "/requests"); !strings.Contains(text, "No requests yet") {
		t.Error("production shows requests of the sandbox")
	}
}

// A developer moves the test clock, and makes the sandbox strict.
func TestSandboxTools(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Developer)
		u.Do(t, "/sandbox/clock", "advance", "7d")
		if page := u.Page(t, "/sandbox"); !strings.Contains(page, "7 days, 0 hours") {
			t.Error("the page does not show the moved clock")
		}
		if a := u.Ask(t, http.MethodPost, "/sandbox/clock", url.Values{"advance": {"a while"}}); a.Status != 400 || !strings.Contains(a.Body, `value="a while"`) {
			t.Errorf("a wrong duration gets %d %s", a.Status, a.Text())
		}
		if a := u.Ask(t, http.MethodPost, "/sandbox/clock", url.Values{"advance": {"9999d"}}); a.Status != 400 {
			t.Errorf("too long a time gets %d", a.Status)
		}
		u.Do(t, "/sandbox/strict", "strict", "true")
		if page := u.Page(t, "/sandbox"); !strings.Contains(page, "Make it lenient") {
			t.Error("the sandbox is not strict")
		}
		for _, act := range []audit.Act{audit.ClockMoved, audit.SandboxChanged} {
			if !audited(t, u, act) {
				t.Errorf("%s is not in the audit log", act)
			}
		}
		u.Live = true
		if a := u.Ask(t, http.MethodPost, "/sandbox/clock", url.Values{"advance": {"7d"}}); a.Status < 400 {
			t.Errorf("production's clock moves: %d", a.Status)
		}
	})
}

// Every page of the room is there in every language, also where there is nothing yet, and a wrong filter is an error
// that is shown.
func TestDevelopersPagesInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	empty, full := s.NewShop(t).Staff(t, people.Owner), s.NewShop(t).Staff(t, people.Owner)
	hook := full.Post(t, "/webhooks", `{"events":["*"],"eventsVersion":"2026-11-21"}`).Want(t, http.StatusCreated).Text(t, "id")
	payment := full.Create(t, harness.Card)
	event := "evt_" + strings.TrimPrefix(payment, "TXN-") + "-1"
	failed := full.Post(t, "/payments", `{}`).Text(t, "error.requestId")
	path, delivery := "/webhooks/"+hook, "wd_"+strings.TrimPrefix(event, "evt_")+"-"+strings.TrimPrefix(hook, "wh_")
	harness.Eventually(t, "the inbox has the event", func() bool { return strings.Contains(full.Page(t, path+"/inbox"), delivery) })
	replay := lastPart(full.Do(t, path+"/replays", "since", s.Clock.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")))
	key := keyLink.FindStringSubmatch(full.Page(t, "/keys"))[1]
	titles := map[string]string{"es": "Claves de API", "pt": "Chaves de API", "en": "API keys"}
	for _, language := range []string{"es", "pt", "en"} {
		for _, u := range []harness.Staff{empty, full} {
			u.Do(t, "/dashboard/profile", "name", "Ana", "language", language)
			for _, live := range []bool{false, true} {
				u.Live = live
				for _, page := range developersPages {
					if !live || page != "/sandbox" {
						u.Page(t, page)
					}
				}
			}
			u.Live = false
			if !strings.Contains(u.Page(t, "/keys"), titles[language]) {
				t.Errorf("the keys are not in %s", language)
			}
		}
		for _, page := range []string{
			path, path + "?status=failed", path + "/settings", path + "/edit", path + "/status", path + "/secret", path + "/delete", path + "/inbox", path + "/replays", path + "/replays/" + replay,
			path + "/deliveries/" + delivery, "/events/" + event, "/events?object=" + payment, "/requests/" + failed, "/requests?key=" + key, "/keys/" + key, "/keys/" + key + "/roll", "/keys/" + key + "/revoke",
		} {
			full.Page(t, page)
		}
	}
	for _, page := range []string{"/events?type=nonsense", "/events?from=monday", "/requests?result=nonsense", path + "?status=nonsense", path + "?cursor=wd_none", "/events?cursor=evt_none"} {
		if a := full.Ask(t, http.MethodGet, page, nil); a.Status != http.StatusBadRequest {
			t.Errorf("%s gets %d", page, a.Status)
		}
	}
	for file, row := range map[string]string{path + "/deliveries.csv": delivery, "/events.csv": event, "/requests.csv": failed} {
		if a := full.Ask(t, http.MethodGet, file, nil); a.Status != http.StatusOK || !strings.Contains(a.Body, row) {
			t.Errorf("%s gets %d and lacks %s", file, a.Status, row)
		}
	}
}

// In the browser, a developer rolls a key with an overlap, and replays the events of a span of time.
func TestDeveloperWorksInTheBrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Developer)
	server := s.Receive(t)
	hook := u.Subscribe(t, server.URL+"/hooks/till", `"*"`).Text(t, "id")
	for range 3 {
		u.Create(t, harness.Card)
	}
	server.Await(t, 3)
	tab := u.Tab(t, "/keys/new")
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		harness.Must(t, chromedp.Do(tab, actions...))
	}
	do(chromedp.Click(`input[value="restricted"]`), chromedp.Click(`input[name="rights"][value="read"]`))
	harness.Accessible(t, tab, "the form of a key")
	do(chromedp.Click(`main form button.primary`), chromedp.WaitVisible(`.code`))
	harness.Accessible(t, tab, "the new key")
	do(chromedp.Click(`main a.button.primary`), chromedp.WaitVisible(`table`), chromedp.Click(`tbody tr:first-child a`), chromedp.WaitVisible(`a[href$="/roll"]`))
	harness.Accessible(t, tab, "a key")
	do(chromedp.Click(`a[href$="/roll"]`), chromedp.WaitVisible(`select[name="grace"]`), chromedp.Click(`main form button.primary`), chromedp.WaitVisible(`.code`))
	do(chromedp.Click(`main a.button.primary`), chromedp.WaitVisible(`table .badge.waiting`))
	harness.Accessible(t, tab, "the keys")
	do(chromedp.Click(`tbody tr:first-child a`), chromedp.WaitVisible(`[data-dialog="revoke"]`), chromedp.Click(`[data-dialog="revoke"]`), chromedp.WaitVisible(`dialog[open] button.bad`))
	harness.Accessible(t, tab, "the question before a key is revoked")
	do(chromedp.Click(`dialog[open] button.bad`), chromedp.WaitVisible(`#notices .notice.good`))
	do(chromedp.Navigate(u.URL+u.At("/webhooks")), chromedp.WaitVisible(`table`))
	harness.Accessible(t, tab, "the webhooks")
	do(chromedp.Click(`tbody a`), chromedp.WaitVisible(`.stats`))
	harness.Accessible(t, tab, "an endpoint")
	do(chromedp.Click(`.tabs a[href$="/replays"]`), chromedp.WaitVisible(`input[name="since"]`))
	harness.Accessible(t, tab, "the replays")
	do(chromedp.Click(`main form button.primary`), chromedp.WaitVisible(`#progress .badge.good`))
	harness.Accessible(t, tab, "a replay")
	if n := len(server.Deliveries()); n < 6 {
		t.Errorf("the endpoint has %d deliveries, want each of 3 payments' twice", n)
	}
	do(chromedp.Click(`a[href$="/webhooks/`+hook+`"]`), chromedp.WaitVisible(`.stats`), chromedp.Click(`tbody a`), chromedp.WaitVisible(`.timeline`))
	harness.Accessible(t, tab, "a delivery")
	for page, part := range map[string]string{"/events": "table", "/requests": "table", "/sandbox": "form", "/api": ".facts", "/webhooks/new": "form", "/events/live": "#feed"} {
		do(chromedp.Navigate(u.URL+u.At(page)), chromedp.WaitVisible(`main `+part))
		harness.Accessible(t, tab, page)
	}
	u.Create(t, harness.Card) // the list that is open renews itself
	do(chromedp.Navigate(u.URL+u.At("/events/live")), chromedp.WaitVisible(`#feed table`))
	before, err := chromedp.Run(tab, chromedp.Evaluate[int](`document.querySelectorAll('#feed tbody tr').length`))
	harness.Must(t, err)
	u.Create(t, harness.Card)
	harness.Eventually(t, "the new event appears", func() bool {
		now, err := chromedp.Run(tab, chromedp.Evaluate[int](`document.querySelectorAll('#feed tbody tr').length`))
		harness.Must(t, err)
		return now > before
	})
}

// A delivery that was given up before its first try does not say that it is sent in a moment.
func TestDeliveryThatWasNeverTriedSaysSo(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Developer)
		server := s.Receive(t)
		server.Answers(harness.Respond(http.StatusBadGateway))
		path := "/webhooks/" + o.Hook(t, server.URL, `"payment.completed"`).ID
		for range webhooks.CircuitAfter {
			o.Create(t, harness.Card)
		}
		harness.Eventually(t, "the endpoint is paused", func() bool {
			return strings.Contains(u.Page(t, path), "Deliveries are paused")
		})
		o.Create(t, harness.Card)
		waiting := ""
		harness.Eventually(t, "its delivery waits", func() bool {
			found := regexp.MustCompile(`/deliveries/(wd_[^"]+)"`).FindStringSubmatch(u.Page(t, path+"?status=pending"))
			if found != nil {
				waiting = found[1]
			}
			return found != nil
		})
		says(t, "a delivery that waits", text(u.Page(t, path+"/deliveries/"+waiting)), "Not tried yet")
		u.Do(t, path+"/status", "status", "disabled")
		harness.Eventually(t, "it is given up", func() bool {
			return strings.Contains(text(u.Page(t, path+"/deliveries/"+waiting)), "Given up")
		})
		says(t, "a delivery that was given up", text(u.Page(t, path+"/deliveries/"+waiting)), "Never tried", "Enable the endpoint")
	})
}
