package dashboard

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/pquerna/otp/totp"
)

// again fails the test unless an action asks for the second factor first.
func again(t *testing.T, what string, a harness.Answer) {
	t.Helper()
	if a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/dashboard/again?next=%2Fdashboard") {
		t.Errorf("%s: without a fresh second factor it gets %d %s", what, a.Status, a.Header.Get("Location"))
	}
}

// Who stole the cookie of a user with a passkey adds no app of their own: it would stand in for the passkey.
func TestStolenCookieAddsNoFactor(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Finance)
	if a := addPasskey(t, u, newDevice(t, u), "My phone"); a.Status != http.StatusOK {
		t.Fatalf("the passkey gets %d: %s", a.Status, a.Text())
	}
	s.Clock.Advance(people.FactorFresh + time.Second)
	again(t, "the page of a new app", u.Ask(t, http.MethodGet, "/dashboard/profile/app", nil))
	secret, err := s.App.Factors.NewTOTP()
	harness.Must(t, err)
	code, err := totp.GenerateCode(secret, s.Clock.Now())
	harness.Must(t, err)
	again(t, "a new app", u.Ask(t, http.MethodPost, "/dashboard/profile/app", url.Values{"secret": {secret}, "code": {code}}))
	if got, err := s.App.Store.Users().Get(ctx, u.User.ID); err != nil || got.TOTP.Secret != "" {
		t.Errorf("the thief has a second factor (%v)", err)
	}
}

// Who stole the cookie of a user without a second factor adds none: it would be the thief's, and the way to the money. The
// password is asked for, and wrong ones lock as they do at the sign-in.
func TestStolenCookieAddsNoFirstFactor(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Owner)
		secret, err := s.App.Factors.NewTOTP()
		harness.Must(t, err)
		app := func(password string) harness.Answer {
			code, err := totp.GenerateCode(secret, s.Clock.Now())
			harness.Must(t, err)
			return u.Ask(t, http.MethodPost, "/dashboard/profile/app", url.Values{"secret": {secret}, "code": {code}, "old": {password}})
		}
		passkey := func(password string) harness.Answer {
			q := askPasskey(t, u, "/dashboard/profile/passkeys/challenge")
			return answerPasskey(t, u, "/dashboard/profile/passkeys", q, newDevice(t, u).create(q.challenge, q.user), "name", "Mine", "old", password)
		}
		for range people.MostFailures / 2 {
			for what, add := range map[string]func(string) harness.Answer{"an app": app, "a passkey": passkey} {
				if a := add("wrong horse battery"); a.Status == http.StatusOK || !strings.Contains(a.Text(), "present password") {
					t.Errorf("with a wrong password, %s gets %d: %s", what, a.Status, a.Text())
				}
			}
		}
		if a := app(harness.StaffPassword); a.Status == http.StatusOK {
			t.Error("after ten wrong passwords the right one is accepted")
		}
		if got, err := s.App.Store.Users().Get(ctx, u.User.ID); err != nil || got.HasFactor() {
			t.Errorf("the thief has a second factor (%v)", err)
		}
		s.Clock.Advance(people.LockFor)
		if a := app(harness.StaffPassword); a.Status != http.StatusOK {
			t.Errorf("with the password the app gets %d: %s", a.Status, a.Text())
		}
	})
}

// A user who has no second factor signs in again before what opens a way to the money or ends other sign-ins, unless
// that was in the last ten minutes. So does one without a password before the first credential.
func TestOldSignInIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u, nobody := o.Staff(t, people.Owner), o.Staff(t, people.Owner)
	present, err := s.App.Store.Users().Get(ctx, nobody.User.ID)
	harness.Must(t, err)
	harness.Must(t, s.App.Store.Commit(ctx, pay.Change{Users: []people.User{present.SetPassword("")}})) // as who signs in at the company
	nobody.Page(t, "/dashboard/profile/app")
	s.Clock.Advance(people.FactorFresh)
	u.Live = true
	form := url.Values{"kind": {"secret"}, "role": {"owner"}, "email": {"eve@evil.example"}, "password": {"a horse of another colour"}}
	for _, ask := range []struct {
		who          harness.Staff
		method, path string
	}{
		{u, http.MethodPost, "/keys"}, {u, http.MethodPost, "/team/invite"}, {u, http.MethodPost, "/dashboard/profile/sign-ins/end"},
		{nobody, http.MethodGet, "/dashboard/profile/app"}, {nobody, http.MethodPost, "/dashboard/profile/app"}, {nobody, http.MethodGet, "/dashboard/profile/passkeys/new"},
		{nobody, http.MethodPost, "/dashboard/profile/passkeys"}, {nobody, http.MethodPost, "/dashboard/profile/password"},
	} {
		if a := ask.who.Ask(t, ask.method, ask.path, form); a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/dashboard/again/sign-in?next=%2Fdashboard") {
			t.Errorf("%s %s gets %d %s", ask.method, ask.path, a.Status, a.Header.Get("Location"))
		}
	}
	next := "/dashboard/profile"
	u.Page(t, "/dashboard/again/sign-in?next="+next)
	if to := u.Do(t, "/dashboard/again/sign-in", "next", next); to != "/dashboard/sign-in?next=%2Fdashboard%2Fprofile" {
		t.Errorf("it leads to %s", to)
	}
	if a := u.Ask(t, http.MethodGet, next, nil); a.Status != http.StatusSeeOther {
		t.Errorf("the old sign-in still gets %d", a.Status)
	}
	u.Cookie, _ = signIn(t, u, harness.StaffPassword)
	if a := u.Ask(t, http.MethodPost, "/keys", form); a.Status != http.StatusOK {
		t.Errorf("after the new sign-in the key gets %d: %s", a.Status, a.Text())
	}
}

// Money cannot leave around the second factor: nobody gets a key with the right to withdraw, or gives somebody a role
// with it, without one that was given just now.
func TestStolenCookieGivesNoWayOut(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u, member := o.Staff(t, people.Owner), o.Staff(t, people.Viewer)
	code := withApp(t, u)
	s.Clock.Advance(people.FactorFresh + time.Second)
	u.Live = true
	withdraws := url.Values{"kind": {"restricted"}, "rights": {"read", "withdrawals"}}
	again(t, "a key that withdraws", u.Ask(t, http.MethodPost, "/keys", withdraws))
	again(t, "a secret key", u.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"secret"}}))
	if a := u.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}}); a.Status != http.StatusOK {
		t.Errorf("a key that only reads gets %d %s", a.Status, a.Header.Get("Location"))
	}
	for _, role := range []string{"owner", "finance"} {
		again(t, "the invitation as "+role, u.Ask(t, http.MethodPost, "/team/invite", url.Values{"email": {"eve@evil.example"}, "role": {role}}))
		again(t, "the role "+role, u.Ask(t, http.MethodPost, "/team/members/"+member.User.ID, url.Values{"role": {role}}))
	}
	if a := u.Ask(t, http.MethodPost, "/team/invite", url.Values{"email": {"bob@acme.example"}, "role": {"support"}}); a.Status != http.StatusOK {
		t.Errorf("an invitation to support gets %d %s", a.Status, a.Header.Get("Location"))
	}
	prove(t, &u, u.Home()+"/keys/new", code())
	a := u.Ask(t, http.MethodPost, "/keys", withdraws)
	if a.Status != http.StatusOK {
		t.Fatalf("with the code the key gets %d: %s", a.Status, a.Text())
	}
	s.Clock.Advance(people.FactorFresh + time.Second)
	list, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
	harness.Must(t, err)
	again(t, "rolling the key", u.Ask(t, http.MethodPost, "/keys/"+list[len(list)-1].ID+"/roll", url.Values{"grace": {"24h"}}))
}

// calm are the actions of the console that ask for no second factor, with the reason.
var calm = map[string]string{
	"/console/merchants/{id}/withdraw": "takes an invitation back", "/console/operators/withdraw": "takes an invitation back",
	"/console/merchants/{id}/visit": "reads, and the merchant's audit log has it", "/console/visit/end": "ends that",
	"/console/accounts/{id}/check": "asks the provider, and changes nothing", "/console/accounts/{id}/disable": "stops charges, and must be quick",
	"/console/reconciliation": "compares, and moves nothing", "/console/routing/edit": "reads and tries rules; applying them asks in the form",
	"/console/operators/tokens/remove": "ends a token, and must be quick", "/console/proposals/{id}/reject": "changes nothing",
	"/console/claims/{id}/ask": "asks the merchant for evidence", "/console/payouts/stop": "holds payouts back, and must be quick",
}

// Every action of the console asks an operator for a second factor from the last ten minutes, unless there is a reason
// not to. It leads to a page that there is, and back.
func TestConsoleAsksAgain(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := harness.OperatorUser(t, o)
	withApp(t, u)
	s.Clock.Advance(people.FactorFresh + time.Second)
	all := routes(t, s)
	page := func(path string) bool {
		return slices.ContainsFunc(all, func(r frame.Route) bool {
			return r.Method == http.MethodGet && frame.Base+hole.ReplaceAllString(r.Path, "x") == path
		})
	}
	for _, r := range all {
		if r.Kind != frame.OfOperator {
			continue
		}
		why, free := calm[r.Path]
		a := open(t, u, r)
		asked := strings.HasPrefix(a.Header.Get("Location"), "/dashboard/again?next=")
		if asked != r.Afresh {
			t.Errorf("%s %s: it asks is %t, and gets %d %s", r.Method, r.Path, r.Afresh, a.Status, a.Header.Get("Location"))
		}
		if asked && !page(nextOf(t, a.Header.Get("Location"))) {
			t.Errorf("%s %s leads on to %s, which is no page", r.Method, r.Path, nextOf(t, a.Header.Get("Location")))
		}
		if r.Method != http.MethodGet && asked == free {
			t.Errorf("%s %s: it asks is %t, and the reason not to is %q", r.Method, r.Path, asked, why)
		}
	}
	before, err := s.App.Rules.History(ctx, 10)
	harness.Must(t, err)
	typed := "# mine\nversion: 1"
	a := u.Ask(t, http.MethodPost, "/dashboard/console/routing/edit", url.Values{"do": {"apply"}, "file": {typed}})
	if a.Status != http.StatusForbidden || !strings.Contains(a.Body, "# mine") || !strings.Contains(a.Text(), "/dashboard/again") {
		t.Errorf("applying rules gets %d: %s", a.Status, a.Text())
	}
	if after, err := s.App.Rules.History(ctx, 10); err != nil || len(after) != len(before) {
		t.Errorf("the rules were applied (%v)", err)
	}
}

// An operator gives no role, and approves no withdrawal, without the second factor either.
func TestStolenCookieOfAnOperator(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := harness.OperatorUser(t, o)
	withApp(t, u)
	s.Clock.Advance(people.FactorFresh + time.Second)
	for path, form := range map[string]url.Values{
		"/dashboard/console/merchants/" + o.Merchant.ID + "/invite": {"email": {"eve@evil.example"}, "role": {"owner"}},
		"/dashboard/console/operators/invite":                       {"email": {"eve@evil.example"}, "role": {"admin"}},
		"/dashboard/console/withdrawals/wdr_x/approve":              {"note": {"a good reason"}},
		"/dashboard/console/adjustments/new":                        {"amount": {"1000000"}},
		"/dashboard/console/adjustments/adj_x/approve":              {},
		"/dashboard/console/operators/remove":                       {"user": {"usr_x"}},
		"/dashboard/console/operators/sign-out":                     {"user": {"usr_x"}},
		"/dashboard/console/operators/unlock":                       {"user": {"usr_x"}},
		"/dashboard/console/payouts/limits":                         {"daily": {"1000000"}},
		"/dashboard/console/payouts/resume":                         {},
		"/dashboard/console/payouts/batches/bat_x/approve":          {},
		"/dashboard/console/payouts/batches/bat_x/file":             {},
		"/dashboard/console/payouts/answers":                        {},
		"/dashboard/console/payouts/floats":                         {"amount": {"1000000"}},
		"/dashboard/console/withdrawals/wdr_x/resolve":              {"note": {"a good reason"}, "outcome": {"returned"}},
	} {
		again(t, path, u.Ask(t, http.MethodPost, path, form))
	}
}

// With the first second factor, sign-ins that a password alone opened end.
func TestFirstFactorEndsOtherSignIns(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	for name, add := range map[string]func(harness.Staff){
		"an app":    func(u harness.Staff) { withApp(t, u) },
		"a passkey": func(u harness.Staff) { addPasskey(t, u, newDevice(t, u), "My phone") },
	} {
		u := s.NewShop(t).Staff(t, people.Owner)
		thief := u
		thief.Cookie, _ = signIn(t, u, harness.StaffPassword)
		thief.Page(t, "/dashboard/profile")
		add(u)
		u.Page(t, "/dashboard/profile")
		if a := thief.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("%s was added; the sign-in with the password alone still gets %d", name, a.Status)
		}
	}
}

// Who is removed, or has a lesser role now, does not come back by an invitation from before.
func TestInvitationEndsWithItsGiver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	owner := o.Staff(t, people.Owner)
	for _, role := range []people.Role{people.Admin, people.Viewer, ""} {
		giver := o.Staff(t, people.Owner)
		link := invite(t, giver, "eve@evil.example", people.Owner)
		stranger(owner).Page(t, link)
		harness.Must(t, s.App.Team.SetRole(ctx, audit.Actor{Kind: audit.ByUser, ID: owner.User.ID}, people.Owner, o.Merchant.ID, giver.User.ID, role))
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if a := stranger(owner).Ask(t, method, link, url.Values{"name": {"Eve"}, "password": {"a horse of another colour"}}); a.Status != http.StatusNotFound {
				t.Errorf("the giver is %q now; %s of the invitation as owner gets %d", role, method, a.Status)
			}
		}
	}
	operator := harness.OperatorUser(t, o)
	var links []string
	for _, n := range []users.Invitee{{Email: "eve@evil.example", Operator: operators.Admin}, {Email: "eve@evil.example", Merchant: o.Merchant.ID, Role: people.Owner}} {
		told, err := s.App.Links.Invite(ctx, audit.Actor{Kind: audit.ByUser, ID: operator.User.ID}, "", n)
		harness.Must(t, err)
		links = append(links, strings.TrimPrefix(told.Address, s.URL))
		stranger(owner).Page(t, links[len(links)-1])
	}
	harness.Must(t, s.App.Team.Remove(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, operator.User.Email))
	for i, link := range links {
		if a := stranger(owner).Ask(t, http.MethodGet, link, nil); a.Status != http.StatusNotFound {
			t.Errorf("the operator was removed; invitation %d gets %d", i, a.Status)
		}
	}
}

// An admin neither withdraws an owner's invitation, nor replaces it by another one.
func TestAdminLeavesInvitationsOfOwners(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	owner, admin := o.Staff(t, people.Owner), o.Staff(t, people.Admin)
	link := invite(t, owner, "bea@acme.example", people.Owner)
	id := regexp.MustCompile(`/team/invitations/(lnk_\w+)`).FindStringSubmatch(owner.Page(t, "/team"))[1]
	if a := admin.Ask(t, http.MethodPost, "/team/invitations/"+id+"/withdraw", url.Values{}); a.Status != http.StatusForbidden {
		t.Errorf("an admin withdraws the invitation of an owner: %d", a.Status)
	}
	if a := admin.Ask(t, http.MethodPost, "/team/invite", url.Values{"email": {"bea@acme.example"}, "role": {"viewer"}}); a.Status != http.StatusForbidden {
		t.Errorf("an admin replaces the invitation of an owner: %d", a.Status)
	}
	stranger(owner).Page(t, link)
}

// The lock counts for guesses that waited for their turn to be hashed, too: else all that are sent at once are tried.
func TestLockHoldsForGuessesThatWait(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	for round := range 5 { // on a busy machine the right one may come before most of the others, and is let in
		u := o.Staff(t, people.Viewer)
		var all sync.WaitGroup
		for range 4 * people.MostFailures {
			all.Go(func() { _, _ = s.App.People.Enter(ctx, usersFrom, u.User.Email, "wrong horse battery") })
		}
		time.Sleep(time.Duration(round+1) * 20 * time.Millisecond) // most of them wait
		_, err := s.App.People.Enter(ctx, usersFrom, u.User.Email, harness.StaffPassword)
		all.Wait()
		if err != nil {
			return
		}
	}
	t.Errorf("behind %d wrong passwords the right one is let in each time", 4*people.MostFailures)
}

// A stream tells nothing more once its user has signed out, or has left the team.
func TestStreamEndsWithItsReader(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	owner := o.Staff(t, people.Owner)
	for name, end := range map[string]func(harness.Staff){
		"signed out": func(u harness.Staff) { u.Do(t, "/dashboard/sign-out") },
		"left": func(u harness.Staff) {
			harness.Must(t, s.App.Team.SetRole(ctx, audit.Actor{Kind: audit.ByUser, ID: owner.User.ID}, people.Owner, o.Merchant.ID, u.User.ID, ""))
		},
	} {
		u := o.Staff(t, people.Viewer)
		wait, stop := context.WithTimeout(ctx, 8*time.Second)
		defer stop()
		req, err := http.NewRequestWithContext(wait, http.MethodGet, u.URL+u.At("/live"), nil)
		harness.Must(t, err)
		req.AddCookie(&http.Cookie{Name: "cascada", Value: u.Cookie})
		res, err := http.DefaultTransport.RoundTrip(req)
		harness.Must(t, err)
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		end(u)
		payment := o.Create(t, harness.Card)
		for lines.Scan() {
			if strings.Contains(lines.Text(), payment) {
				t.Errorf("who has %s is told of a payment", name)
				break
			}
		}
		if wait.Err() != nil {
			t.Errorf("the stream of who has %s does not end", name)
		}
	}
}

// No id of one merchant opens anything at another one's pages, and none of the sandbox in production.
func TestNobodyOpensWhatIsElsewhere(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o, settlement := month(t, s)
	owner, foreign := o.Staff(t, people.Owner), s.NewShop(t).Staff(t, people.Owner)
	_, dispute := o.Dispute(t, true)
	if a := upload(t, owner, "/disputes/"+dispute+"/answer", "it was sent", [3]string{"file_other", "a.png", pngFile}); a.Status != http.StatusSeeOther {
		t.Fatalf("the answer gets %d: %s", a.Status, a.Text())
	}
	find := func(page, what string) string {
		found := regexp.MustCompile(what).FindStringSubmatch(owner.Page(t, page))
		if found == nil {
			t.Fatalf("%s has no %s", page, what)
		}
		return found[1]
	}
	payment := o.Create(t, harness.Card)
	refund := o.Refund(t, payment, `{"amount":1}`).Want(t, http.StatusOK).Text(t, "refundId")
	o.Fund(t, false, 100_00)
	wallet := o.Wallet(t)
	withdrawal := o.Withdraw(t, "20")
	hook := o.Subscribe(t, s.Receive(t).URL, `"*"`).Text(t, "id")
	o.Create(t, harness.Card)
	harness.Eventually(t, "there is a delivery", func() bool { return strings.Contains(owner.Page(t, "/webhooks/"+hook), "/deliveries/wd_") })
	since := s.Clock.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")
	replay := owner.Do(t, "/webhooks/"+hook+"/replays", "since", since)
	invite(t, owner, "bea@acme.example", people.Viewer)
	newLink(t, owner, "30", "")
	ids := map[string][]string{
		"payments": {payment}, "payments/links": {find("/payments/links", `/payments/links/(lnk_\w+)/close`)}, "refunds": {refund}, "disputes": {dispute, find("/disputes/"+dispute, `/files/([^"?]+)`)}, "settlements": {settlement},
		"wallets": {wallet}, "withdrawals": {withdrawal}, "webhooks": {hook, find("/webhooks/"+hook, `/deliveries/(wd_[^"]+)"`)},
		"keys": {find("/keys", `/keys/(key_[0-9A-Za-z]+)"`)}, "events": {find("/events", `/events/(evt_[^"?]+)"`)}, "requests": {find("/requests", `/requests/(req_[^"?]+)"`)},
		"team/invitations": {find("/team", `/team/invitations/(lnk_\w+)`)}, "team/members": {owner.User.ID},
	}
	form := url.Values{
		"since": {since}, "grace": {"24h"}, "role": {"viewer"}, "amount": {"1"}, "reason": {"fraudulent"}, "which": {"all"}, "url": {"https://evil.example"},
		"status": {"disabled"}, "action": {"refunded"},
	}
	production := owner
	production.Live = true
	for _, r := range routes(t, s) {
		if r.Kind != frame.OfShop || !strings.Contains(r.Path, "{") {
			continue
		}
		at, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/{")
		own := ids[at]
		if strings.Contains(r.Path, "{replay}") {
			own = []string{hook, lastPart(replay)}
		}
		if len(own) < strings.Count(r.Path, "{") {
			t.Errorf("no id of %s is tried", r.Path)
			continue
		}
		path := r.Path
		for _, id := range own {
			if where := hole.FindString(path); where != "" {
				path = strings.Replace(path, where, id, 1)
			}
		}
		sent := form
		if r.Method == http.MethodGet {
			sent = nil
			if a := owner.Ask(t, r.Method, path, nil); a.Status != http.StatusOK && a.Status != http.StatusSeeOther {
				t.Errorf("the owner gets %d from %s", a.Status, path)
			}
		}
		if a := foreign.Ask(t, r.Method, path, sent); a.Status != http.StatusNotFound {
			t.Errorf("%s %s: at another merchant's pages it gets %d: %s", r.Method, path, a.Status, a.Text())
		}
		if strings.HasPrefix(at, "team/") || strings.HasSuffix(path, "/simulate") { // the team is the merchant's; nothing is simulated there
			continue
		}
		if a := production.Ask(t, r.Method, path, sent); a.Status != http.StatusNotFound {
			t.Errorf("%s %s: in production it gets %d: %s", r.Method, path, a.Status, a.Text())
		}
	}
}

// Answers of several merchants that arrive slowly do not keep another one's from being read.
func TestSlowAnswersHoldNobodyElseUp(t *testing.T) {
	harness.Each(t, holdUpOthers)
}

func holdUpOthers(t *testing.T, s *harness.Instance) {
	quick := s.NewShop(t)
	u := quick.Staff(t, people.Owner)
	_, dispute := quick.Dispute(t, true)
	for range 4 {
		slow := s.NewShop(t)
		attacker := slow.Staff(t, people.Owner)
		_, held := slow.Dispute(t, true)
		body, end := io.Pipe()
		req, err := http.NewRequest(http.MethodPost, attacker.URL+attacker.At("/disputes/"+held+"/answer"), body)
		harness.Must(t, err)
		req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.AddCookie(&http.Cookie{Name: "cascada", Value: attacker.Cookie})
		var sent sync.WaitGroup
		sent.Go(func() {
			if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
				res.Body.Close()
			}
		})
		_, err = io.WriteString(end, "--x\r\n")
		harness.Must(t, err)
		defer sent.Wait()
		defer end.CloseWithError(io.ErrUnexpectedEOF)
	}
	time.Sleep(200 * time.Millisecond) // all of them are read, or wait
	done := make(chan int, 1)
	go func() { done <- upload(t, u, "/disputes/"+dispute+"/answer", "it was sent").Status }()
	select {
	case status := <-done:
		if status != http.StatusSeeOther {
			t.Errorf("the answer gets %d", status)
		}
	case <-time.After(5 * time.Second):
		t.Error("the answer waits for those of another merchant")
	}
}
