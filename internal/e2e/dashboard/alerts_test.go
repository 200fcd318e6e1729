package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	appmails "github.com/cascadapay/cascada/internal/app/mails"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/mail/mailtest"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/pquerna/otp/totp"
)

// alerting runs a test on each engine, with a service that sends e-mails. come sends what is due, and returns the
// subjects of the e-mails to an address since it was asked last, without invitations.
func alerting(t *testing.T, test func(t *testing.T, s *harness.Instance, in *mailtest.Server, come func(to string) []string)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		s := harness.StartWith(t, database, &harness.Clock{}, func(config *daemon.Config) {
			config.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			config.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
		})
		s.Clock.Freeze()
		read := map[string]int{}
		test(t, s, in, func(to string) (subjects []string) {
			t.Helper()
			harness.Eventually(t, "no e-mail waits", func() bool {
				_, err := s.App.Mails.SendMails(ctx)
				harness.Must(t, err)
				n, err := s.App.Mails.WaitingMails(ctx)
				harness.Must(t, err)
				return n == 0
			})
			for _, m := range in.Accepted() {
				if m.To == to && !strings.HasPrefix(m.Subject, "You are invited") {
					subjects = append(subjects, m.Subject)
				}
			}
			slices.Sort(subjects[read[to]:]) // those of one moment have no order
			subjects, read[to] = subjects[read[to]:], len(subjects)
			return subjects
		})
	})
}

// heard fails the test unless exactly these e-mails came.
func heard(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%s: the e-mails are %q, want %q", when, got, want)
	}
}

// told returns the text of the newest e-mail with a subject. Invitations may arrive later than it.
func told(t *testing.T, in *mailtest.Server, subject string) (text string) {
	t.Helper()
	for _, m := range in.Accepted() {
		if strings.HasPrefix(m.Subject, subject) {
			text = m.Text
		}
	}
	return text
}

// enter signs a user in with a browser that calls itself so.
func enter(t *testing.T, u harness.Staff, password, agent string) (harness.Staff, harness.Answer) {
	t.Helper()
	a := stranger(u).Ask(t, http.MethodPost, "/dashboard/sign-in", url.Values{"email": {u.User.Email}, "password": {password}}, "User-Agent: "+agent)
	u.Cookie = cookieOf(a)
	return u, a
}

// A user hears of a sign-in with a new browser, once for each browser, and of a lock, once and not for each guess. The
// profile shows both.
func TestUserHearsOfSignIns(t *testing.T) {
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
	alerting(t, func(t *testing.T, s *harness.Instance, in *mailtest.Server, come func(string) []string) {
		u := s.NewShop(t).Staff(t, people.Support)
		heard(t, "the first sign-in", come(u.User.Email))
		signIn(t, u, harness.StaffPassword)
		heard(t, "a browser that is known", come(u.User.Email))
		enter(t, u, harness.StaffPassword, firefox)
		heard(t, "a new browser", come(u.User.Email), "A new sign-in to your account")
		text := told(t, in, "A new sign-in to your account")
		for _, want := range []string{u.User.Email, "127.0.0.1", "Firefox, Linux", s.Clock.Now().UTC().Format("2006-01-02 15:04 UTC"), "/dashboard/profile"} {
			if !strings.Contains(text, want) {
				t.Errorf("the e-mail does not tell %q:\n%s", want, text)
			}
		}
		enter(t, u, harness.StaffPassword, strings.ReplaceAll(firefox, "133.0", "134.0"))
		heard(t, "a newer version of it", come(u.User.Email))
		for range people.MostFailures + 5 {
			signIn(t, u, "wrong horse battery")
		}
		heard(t, "the lock", come(u.User.Email), "Your account is locked for 15 minutes")
		page := u.Page(t, "/dashboard/profile")
		if strings.Count(page, "Signed in with a new browser") != 1 || strings.Count(page, "Locked after 10 wrong") != 1 {
			t.Errorf("the profile does not show what happened once each:\n%s", harness.Answer{Body: page}.Text())
		}
		for range 12 { // somebody locks it again and again
			s.Clock.Advance(people.LockFor + time.Second)
			for range people.MostFailures {
				signIn(t, u, "wrong horse battery")
			}
		}
		if got := come(u.User.Email); len(got) != mails.AlertsADay-1 {
			t.Errorf("%d more e-mails tell of locks, want %d", len(got), mails.AlertsADay-1)
		}
		if page := u.Page(t, "/dashboard/profile"); !strings.Contains(page, "Signed in with a new browser") {
			t.Errorf("the locks hide the sign-in:\n%s", harness.Answer{Body: page}.Text())
		}
		last := slices.DeleteFunc(in.Accepted(), func(m mailtest.Mail) bool { return !strings.Contains(m.Text, "no more e-mails of this kind today") })
		if len(last) != 1 {
			t.Errorf("%d e-mails say that they are the last, want 1", len(last))
		}
		s.Clock.Advance(people.LockFor + time.Second)
		harness.Must(t, s.App.People.SignOut(ctx, audit.Actor{Kind: audit.ByOperator, ID: "op@host"}, u.User.Email))
		heard(t, "another kind, beyond the limit of locks", come(u.User.Email), "You were signed out")
	})
}

// A user hears of each change of what signs them in, and of what others do to the account.
func TestUserHearsOfChangedCredentials(t *testing.T) {
	alerting(t, func(t *testing.T, s *harness.Instance, in *mailtest.Server, come func(string) []string) {
		o := s.NewShop(t)
		owner, u := o.Staff(t, people.Owner), o.Staff(t, people.Finance)
		page := u.Page(t, "/dashboard/profile/app")
		_, rest, _ := strings.Cut(page, `name="secret" value="`)
		secret, _, _ := strings.Cut(rest, `"`)
		code := func() string {
			c, err := totp.GenerateCode(secret, s.Clock.Now())
			harness.Must(t, err)
			return c
		}
		prove := func(code string) {
			t.Helper()
			a := u.Ask(t, http.MethodPost, "/dashboard/again", url.Values{"code": {code}})
			if a.Status != http.StatusSeeOther {
				t.Fatalf("the second factor gets %d: %s", a.Status, a.Text())
			}
			u.Cookie = cookieOf(a)
		}
		a := u.Ask(t, http.MethodPost, "/dashboard/profile/app", url.Values{"secret": {secret}, "code": {code()}, "old": {harness.StaffPassword}})
		_, rest, _ = strings.Cut(a.Body, "<code>")
		recovery, _, _ := strings.Cut(rest, "\n")
		heard(t, "an app", come(u.User.Email), "An app for codes was added")
		prove(recovery)
		heard(t, "a recovery code", come(u.User.Email), "A recovery code was used")
		u.Ask(t, http.MethodPost, "/dashboard/profile/recovery", url.Values{})
		heard(t, "new codes", come(u.User.Email), "You have new recovery codes")
		if _, a := enter(t, u, harness.StaffPassword, "Chrome/131 Windows"); a.Header.Get("Location") != "/dashboard/sign-in/code" {
			t.Fatalf("the password leads to %s", a.Header.Get("Location"))
		}
		heard(t, "the password alone", come(u.User.Email), "Somebody typed your password")
		u.Do(t, "/dashboard/profile/password", "old", harness.StaffPassword, "password", "another long horse")
		heard(t, "a new password", come(u.User.Email), "Your password was changed")
		s.Clock.Advance(30 * time.Second)
		prove(code())
		u.Do(t, "/dashboard/profile/app/remove")
		heard(t, "no app", come(u.User.Email), "Your app for codes was removed")

		by := audit.Actor{Kind: audit.ByUser, ID: owner.User.ID}
		harness.Must(t, s.App.Team.SetRole(ctx, by, people.Owner, o.Merchant.ID, u.User.ID, people.Owner))
		heard(t, "a role", come(u.User.Email), "Your role was changed")
		if text := told(t, in, "Your role was changed"); !strings.Contains(text, "Role: owner") || !strings.Contains(text, "By: "+owner.User.Email) || !strings.Contains(text, o.Merchant.Name) {
			t.Errorf("the e-mail about the role is:\n%s", text)
		}
		shown := u.Page(t, "/dashboard/profile")
		for _, want := range []string{"App for codes added", "Recovery code used", "New recovery codes", "The password was given", "New password", "App for codes removed", "Role changed", owner.User.Email} {
			if !strings.Contains(shown, want) {
				t.Errorf("the profile does not show %q", want)
			}
		}
		operator := audit.Actor{Kind: audit.ByOperator, ID: "op@host"}
		harness.Must(t, s.App.Team.Unlock(ctx, operator, u.User.Email))
		heard(t, "no factors", come(u.User.Email), "Your second factors were removed")
		harness.Must(t, s.App.Team.Remove(ctx, operator, u.User.Email))
		heard(t, "the end", come(u.User.Email), "Your account was removed")
		heard(t, "nobody else hears of it", come(owner.User.Email))
	})
}

// Owners hear of a production key that is made, rolled or revoked, without the key, and of none of the sandbox.
func TestOwnersHearOfKeys(t *testing.T) {
	alerting(t, func(t *testing.T, s *harness.Instance, in *mailtest.Server, come func(string) []string) {
		o := s.NewShop(t)
		owner, developer := o.Staff(t, people.Owner), o.Staff(t, people.Developer)
		key := func() string { return keyLink.FindStringSubmatch(developer.Page(t, "/keys"))[1] }
		shown(t, developer.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}}))
		heard(t, "a key of the sandbox", come(owner.User.Email))
		developer.Live = true
		raw := shown(t, developer.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}}, "User-Agent: Firefox/1 Linux"))
		heard(t, "a key", come(owner.User.Email), "A production API key was made for "+o.Merchant.Name)
		text := told(t, in, "A production API key was made for")
		for _, want := range []string{raw[len(raw)-4:], "By: " + developer.User.Email, "127.0.0.1", "Firefox, Linux", "/dashboard/" + o.Shop.ID + "/production/keys"} {
			if !strings.Contains(text, want) {
				t.Errorf("the e-mail does not tell %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, raw) {
			t.Errorf("the e-mail has the key:\n%s", text)
		}
		shown(t, developer.Ask(t, http.MethodPost, "/keys/"+key()+"/roll", url.Values{"grace": {"24h"}}))
		heard(t, "a roll", come(owner.User.Email), "A production API key of "+o.Merchant.Name+" was rolled")
		text = told(t, in, "A production API key of "+o.Merchant.Name+" was rolled")
		if want := s.Clock.Now().Add(24 * time.Hour).UTC().Format("2006-01-02 15:04 UTC"); !strings.Contains(text, "The old key works until: "+want) {
			t.Errorf("the e-mail does not tell the overlap until %s:\n%s", want, text)
		}
		developer.Do(t, "/keys/"+key()+"/revoke")
		heard(t, "an end", come(owner.User.Email), "A production API key of "+o.Merchant.Name+" was revoked")
		heard(t, "who is no owner", come(developer.User.Email))

		ends := s.Clock.Now().AddDate(0, 0, 2).UTC().Truncate(24 * time.Hour) // the key works through the day before
		shown(t, developer.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}, "ends": {ends.AddDate(0, 0, -1).Format(time.DateOnly)}}))
		list, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
		harness.Must(t, err)
		at := slices.IndexFunc(list, func(k merchants.Key) bool { return k.EndsAt.Equal(ends) && k.Live })
		rolled := developer.Ask(t, http.MethodPost, "/keys/"+list[at].ID+"/roll", url.Values{"grace": {"168h"}})
		if shown(t, rolled); !strings.Contains(rolled.Text(), ends.Format("2 Jan 2006")) {
			t.Errorf("the page says of the old key: %s", rolled.Text())
		}
		heard(t, "a key that ends soon", come(owner.User.Email), "A production API key was made for "+o.Merchant.Name, "A production API key of "+o.Merchant.Name+" was rolled")
		text = told(t, in, "A production API key of "+o.Merchant.Name+" was rolled")
		if want := ends.Format("2006-01-02 15:04 UTC"); !strings.Contains(text, "The old key works until: "+want) {
			t.Errorf("the old key expires at %s, and the e-mail says:\n%s", want, text)
		}
	})
}

// Many keys of a day do not hide the one that takes money out.
func TestOwnersAlwaysHearOfAWayOut(t *testing.T) {
	alerting(t, func(t *testing.T, s *harness.Instance, _ *mailtest.Server, come func(string) []string) {
		o := s.NewShop(t)
		owner := o.Staff(t, people.Owner)
		owner.Live = true
		make := func(rights ...string) []string {
			shown(t, owner.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": rights}))
			return come(owner.User.Email)
		}
		for range mails.AlertsADay {
			make("read")
		}
		heard(t, "one more key that reads", make("read"))
		heard(t, "a key that withdraws", make("read", "withdrawals"), "A production API key was made for "+o.Merchant.Name)
	})
}

// Owners hear that the operator has paused their production, and that it goes on: each once, and not why, because that is
// a text which the dashboard shows.
func TestOwnersHearOfAPause(t *testing.T) {
	alerting(t, func(t *testing.T, s *harness.Instance, in *mailtest.Server, come func(string) []string) {
		o := s.NewShop(t)
		owner, developer := o.Staff(t, people.Owner), o.Staff(t, people.Developer)
		by := audit.Actor{Kind: audit.BySystem}
		for _, reason := range []string{"a contract is missing", "two contracts are missing"} {
			_, err := s.App.Onboarding.Pause(t.Context(), by, o.Merchant.ID, reason)
			harness.Must(t, err)
		}
		heard(t, "a pause", come(owner.User.Email), "Your production is paused: "+o.Merchant.Name)
		if text := told(t, in, "Your production is paused"); !strings.Contains(text, "By: whoever runs the service") || strings.Contains(text, "contract") {
			t.Errorf("the e-mail says:\n%s", text)
		}
		for range 2 {
			_, err := s.App.Onboarding.Resume(t.Context(), by, o.Merchant.ID, appmerchants.AnyReason)
			harness.Must(t, err)
		}
		heard(t, "the end of the pause", come(owner.User.Email), "Your production is no longer paused: "+o.Merchant.Name)
		heard(t, "who is no owner", come(developer.User.Email))
	})
}

// Who may invite cannot send e-mails to strangers without end, at whatever address (DASH-4). The operator can.
func TestInvitationsOfADayAreBounded(t *testing.T) {
	alerting(t, func(t *testing.T, s *harness.Instance, in *mailtest.Server, come func(string) []string) {
		o, other := s.NewShop(t), s.NewShop(t)
		owner, stranger := o.Staff(t, people.Owner), other.Staff(t, people.Owner)
		invite := func(u harness.Staff, n int) harness.Answer {
			return u.Ask(t, http.MethodPost, "/team/invite", url.Values{"email": {fmt.Sprintf("guest%d@example.com", n%3)}, "role": {"support"}})
		}
		before, err := s.App.Store.Mails().Count(ctx, o.Merchant.ID, people.LinkPrefix, s.Clock.Now().Add(-time.Hour))
		harness.Must(t, err)
		n := int(before)
		for ; n < appmails.InvitationsADay; n++ {
			if a := invite(owner, n); a.Status >= http.StatusBadRequest {
				t.Fatalf("invitation %d gets %d: %s", n, a.Status, a.Text())
			}
		}
		if a := invite(owner, n); a.Status != http.StatusTooManyRequests || !strings.Contains(a.Text(), "Your team has sent enough invitations for today. Try again tomorrow.") {
			t.Errorf("one more gets %d: %s", a.Status, a.Text())
		}
		come(owner.User.Email) // all are sent
		sent := len(slices.DeleteFunc(in.Accepted(), func(m mailtest.Mail) bool { return !strings.HasPrefix(m.To, "guest") }))
		if sent != appmails.InvitationsADay-int(before) {
			t.Errorf("%d invitations were sent, want %d", sent, appmails.InvitationsADay-int(before))
		}
		if a := invite(stranger, 0); a.Status >= http.StatusBadRequest {
			t.Errorf("another merchant's gets %d: %s", a.Status, a.Text())
		}
		_, err = s.App.Links.Invite(ctx, audit.Actor{Kind: audit.ByOperator, ID: "op@host"}, "", users.Invitee{Email: "late@example.com", Merchant: o.Merchant.ID, Role: people.Owner})
		harness.Must(t, err)
		op := harness.OperatorUser(t, o)
		for path, role := range map[string]string{"operators": "admin", "merchants/" + o.Merchant.ID: "owner"} {
			a := op.Ask(t, http.MethodPost, "/dashboard/console/"+path+"/invite", url.Values{"email": {"boss@psp.example"}, "role": {role}})
			if a.Status != http.StatusSeeOther || !strings.HasSuffix(a.Header.Get("Location"), "/dashboard/console/"+path) || strings.Contains(a.Body, "/dashboard/link/") {
				t.Errorf("%s: an operator gets with %d the link that an e-mail brings, which proves the address: %s", path, a.Status, a.Text())
			}
		}
		s.Clock.Advance(24*time.Hour + time.Second)
		fresh := o.Staff(t, people.Owner)
		if a := invite(fresh, n); a.Status >= http.StatusBadRequest {
			t.Errorf("the next day one gets %d: %s", a.Status, a.Text())
		}
	})
}

// In the browser: the profile shows what happened, in the reader's language, without a mail server.
func TestProfileTellsWhatHappened(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	owner, u := o.Staff(t, people.Owner), o.Staff(t, people.Finance)
	enter(t, u, harness.StaffPassword, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Mobile/15E148 Safari/604.1")
	harness.Must(t, s.App.Team.SetRole(ctx, audit.Actor{Kind: audit.ByUser, ID: owner.User.ID}, people.Owner, o.Merchant.ID, u.User.ID, people.Owner))
	tab := u.Tab(t, "/dashboard/profile")
	harness.CheckPage(t, tab, "profile-news")
	for language, want := range map[string][]string{
		"en": {"What happened to your account", "Safari, iPhone", "Acme: Owner"}, "es": {"Qué pasó con tu cuenta", "Rol cambiado", "Acme: Propietario"},
		"pt": {"O que aconteceu com a sua conta", "Função alterada", "Acme: Proprietário"},
	} {
		u.Do(t, "/dashboard/profile", "name", "Ana", "language", language)
		text := u.Ask(t, http.MethodGet, "/dashboard/profile", nil).Text()
		for _, want := range append(want, owner.User.Email) {
			if !strings.Contains(text, want) {
				t.Errorf("the profile in %s does not say %q: %s", language, want, text)
			}
		}
		if strings.Count(text, "Safari, iPhone") != 2 || strings.Contains(text, "AppleWebKit") {
			t.Errorf("the profile in %s does not name the browser of a sign-in as it names that of the news: %s", language, text)
		}
	}
}

// A browser that calls itself by a long name, or by characters that no database stores, signs in like any other, and its
// next sign-in is no news.
func TestOddBrowserIsFamiliarToo(t *testing.T) {
	const long = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
	alerting(t, func(t *testing.T, s *harness.Instance, _ *mailtest.Server, come func(string) []string) {
		for name, agent := range map[string]string{
			"long":    long + strings.Repeat("Inside/1.0 ", 12) + "Chrome/131.0 Mobile Safari/537.36 EdgA/131.0",
			"cut":     long + strings.Repeat("é", 100),
			"no text": "Firefox/133.0 \xff\xfe",
		} {
			u := s.NewShop(t).Staff(t, people.Support)
			for i, want := range [][]string{{"A new sign-in to your account"}, nil} {
				u, a := enter(t, u, harness.StaffPassword, agent)
				if a.Status != http.StatusSeeOther {
					t.Fatalf("%s: the sign-in gets %d: %s", name, a.Status, a.Text())
				}
				if page := u.Ask(t, http.MethodGet, "/dashboard/profile", nil, "User-Agent: "+agent); page.Status != http.StatusOK {
					t.Errorf("%s: the profile gets %d", name, page.Status)
				}
				heard(t, name+", "+[]string{"first", "again"}[i], come(u.User.Email), want...)
			}
		}
	})
}
