package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/mail/mailtest"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/pquerna/otp/totp"
)

// stranger is a browser in which nobody is signed in.
func stranger(u harness.Staff) harness.Staff {
	u.Cookie = ""
	return u
}

// signIn types e-mail and password and returns the browser's cookie and where it leads.
func signIn(t *testing.T, u harness.Staff, password string) (cookie string, a harness.Answer) {
	t.Helper()
	a = stranger(u).Ask(t, http.MethodPost, "/dashboard/sign-in", url.Values{"email": {strings.ToUpper(u.User.Email)}, "password": {password}})
	return cookieOf(a), a
}

func cookieOf(a harness.Answer) string {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == "cascada" {
			return c.Value
		}
	}
	return ""
}

// A user signs in with the password, is seen in the list of sign-ins, and signs out.
func TestUserSignsInAndOut(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Support)
		if _, a := signIn(t, u, "wrong horse battery"); a.Status != http.StatusUnauthorized || cookieOf(a) != "" {
			t.Errorf("a wrong password gets %d and the cookie %q", a.Status, cookieOf(a))
		}
		unknown := stranger(u)
		unknown.User.Email = "nobody@acme.example"
		if _, a := signIn(t, unknown, harness.StaffPassword); a.Status != http.StatusUnauthorized {
			t.Errorf("an unknown address gets %d", a.Status)
		}
		cookie, a := signIn(t, u, harness.StaffPassword)
		if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard" {
			t.Fatalf("the right password gets %d %s", a.Status, a.Header.Get("Location"))
		}
		second := u
		second.Cookie = cookie
		if page := second.Page(t, "/dashboard/profile"); strings.Count(page, `name="id"`) != 1 {
			t.Errorf("the profile shows %d other sign-ins, want 1", strings.Count(page, `name="id"`))
		}
		second.Do(t, "/dashboard/profile/sign-ins/end") // everywhere else
		if a := u.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("the ended sign-in gets %d", a.Status)
		}
		second.Do(t, "/dashboard/sign-out")
		if a := second.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "/dashboard/sign-in?next=%2Fdashboard%2Fprofile") {
			t.Errorf("after the sign-out: %d %s", a.Status, a.Header.Get("Location"))
		}
		for _, act := range []audit.Act{audit.UserSignedIn, audit.UserSignInRefused, audit.UserSignInEnded} {
			if !audited(t, u, act) {
				t.Errorf("%s is not in the merchant's audit log", act)
			}
		}
	})
}

// audited reports whether the merchant's audit log has an act.
func audited(t *testing.T, u harness.Staff, act audit.Act) bool {
	t.Helper()
	for _, e := range harness.AuditActs(t, u.Client) {
		if e.Act == act {
			return true
		}
	}
	return false
}

// A sign-in ends when nobody uses it, and after its longest time also if it is used.
func TestSignInEnds(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Viewer)
	in := func() bool { return u.Ask(t, http.MethodGet, "/dashboard/profile", nil).Status == http.StatusOK }
	s.Clock.Advance(people.SignInIdle - time.Minute)
	if !in() {
		t.Error("it ended although it was used in time")
	}
	s.Clock.Advance(people.SignInIdle - time.Minute)
	if !in() {
		t.Error("a use does not count")
	}
	s.Clock.Advance(people.SignInIdle + time.Minute)
	if in() {
		t.Error("it does not end although nobody uses it")
	}
	u = s.NewShop(t).Staff(t, people.Viewer)
	for range 28 {
		s.Clock.Advance(people.SignInIdle - time.Minute)
		in()
	}
	s.Clock.Advance(time.Hour)
	if in() {
		t.Error("it does not end after its longest time")
	}
}

// After wrong passwords an account is locked for a while, also for the right password.
func TestWrongPasswordsLock(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Viewer)
	for range people.MostFailures {
		signIn(t, u, "wrong horse battery")
	}
	if _, a := signIn(t, u, harness.StaffPassword); a.Status != http.StatusUnauthorized {
		t.Errorf("a locked account lets the password in: %d", a.Status)
	}
	s.Clock.Advance(people.LockFor + time.Second)
	if _, a := signIn(t, u, harness.StaffPassword); a.Status != http.StatusSeeOther {
		t.Errorf("the lock does not open: %d", a.Status)
	}
}

// With an app for codes, a password alone opens nothing. A code works once; a recovery code too.
func TestSecondFactor(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		u := s.NewShop(t).Staff(t, people.Finance)
		page := u.Page(t, "/dashboard/profile/app")
		_, rest, _ := strings.Cut(page, `name="secret" value="`)
		secret, _, _ := strings.Cut(rest, `"`)
		code := func() string {
			c, err := totp.GenerateCode(secret, s.Clock.Now())
			harness.Must(t, err)
			return c
		}
		if a := u.Ask(t, http.MethodPost, "/dashboard/profile/app", url.Values{"secret": {secret}, "code": {"000000"}, "old": {harness.StaffPassword}}); a.Status != http.StatusBadRequest {
			t.Errorf("a wrong code adds the app: %d", a.Status)
		}
		a := u.Ask(t, http.MethodPost, "/dashboard/profile/app", url.Values{"secret": {secret}, "code": {code()}, "old": {harness.StaffPassword}})
		if a.Status != http.StatusOK || !strings.Contains(a.Text(), "Recovery codes") {
			t.Fatalf("the app is not added: %d %s", a.Status, a.Text())
		}
		_, rest, _ = strings.Cut(a.Body, "<code>")
		recovery, _, _ := strings.Cut(rest, "\n")
		cookie, a := signIn(t, u, harness.StaffPassword)
		half := u
		half.Cookie = cookie
		if a.Header.Get("Location") != "/dashboard/sign-in/code" {
			t.Errorf("the password leads to %s", a.Header.Get("Location"))
		}
		if a := half.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("the password alone opens a page: %d", a.Status)
		}
		prove := func(code string) harness.Answer {
			return half.Ask(t, http.MethodPost, "/dashboard/sign-in/code", url.Values{"code": {code}})
		}
		if a := prove(code()); a.Status != http.StatusUnauthorized {
			t.Errorf("the code that added the app works again: %d", a.Status)
		}
		s.Clock.Advance(30 * time.Second)
		a = prove(code())
		if a.Status != http.StatusSeeOther || cookieOf(a) == cookie {
			t.Fatalf("the code gets %d; the token is new: %t", a.Status, cookieOf(a) != cookie)
		}
		half.Cookie = cookieOf(a)
		half.Page(t, "/dashboard/profile")
		old := half
		old.Cookie = cookie
		if a := old.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("the token from before the code still works: %d", a.Status)
		}
		for i, want := range []int{http.StatusSeeOther, http.StatusUnauthorized} {
			half.Cookie, _ = signIn(t, u, harness.StaffPassword)
			if a := prove(recovery); a.Status != want {
				t.Errorf("use %d of a recovery code gets %d, want %d", i+1, a.Status, want)
			}
		}
	})
}

// A one-time link works once, opening it does not use it up, and nobody else's form can.
func TestLinksWorkOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Owner)
		told, err := s.App.Links.LinkTo(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, u.User.Email, people.PasswordReset)
		harness.Must(t, err)
		link := strings.TrimPrefix(told.Address, s.URL)
		someone := stranger(u)
		for range 2 {
			someone.Page(t, link)
		}
		if a := someone.Ask(t, http.MethodPost, link, url.Values{"password": {"a new horse battery"}}, "Sec-Fetch-Site: cross-site"); a.Status != http.StatusForbidden {
			t.Errorf("another site's form gets %d", a.Status)
		}
		other, err := s.App.Links.LinkTo(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, u.User.Email, people.SignInLink)
		harness.Must(t, err)
		if a := someone.Ask(t, http.MethodPost, link, url.Values{"password": {"short"}}); a.Status != http.StatusBadRequest {
			t.Errorf("a short password gets %d", a.Status)
		}
		someone.Do(t, link, "password", "a new horse battery")
		if a := someone.Ask(t, http.MethodGet, link, nil); a.Status != http.StatusNotFound {
			t.Errorf("a used link gets %d", a.Status)
		}
		if a := u.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("a sign-in from before the new password still works: %d", a.Status)
		}
		if a := someone.Ask(t, http.MethodPost, strings.TrimPrefix(other.Address, s.URL), url.Values{}); a.Status != http.StatusNotFound {
			t.Errorf("a link from before the new password still signs in: %d", a.Status)
		}
		if _, a := signIn(t, u, "a new horse battery"); a.Status != http.StatusSeeOther {
			t.Errorf("the new password gets %d", a.Status)
		}
	})
}

// An owner of two merchants sees both, and nothing of a third; the last owner cannot go.
func TestInvitationsAndRoles(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		owner, other := s.NewShop(t).Staff(t, people.Owner), s.NewShop(t).Staff(t, people.Owner)
		by := audit.Actor{Kind: audit.ByUser, ID: owner.User.ID}
		set := func(giver people.Role, user string, role people.Role) error {
			return s.App.Team.SetRole(ctx, by, giver, owner.Merchant.ID, user, role)
		}
		if err := set(people.Owner, owner.User.ID, ""); err == nil {
			t.Error("the last owner left")
		}
		if err := set(people.Owner, other.User.ID, people.Owner); err == nil {
			t.Error("another merchant's user got a role")
		}
		member := owner.Staff(t, people.Developer)
		if err := set(people.Admin, member.User.ID, people.Finance); err == nil {
			t.Error("an admin gave a role with rights that admins do not have")
		}
		harness.Must(t, set(people.Admin, member.User.ID, people.Support))
		harness.Must(t, set(people.Owner, member.User.ID, people.Owner))
		harness.Must(t, set(people.Owner, owner.User.ID, ""))
		if a := owner.Ask(t, http.MethodGet, "/", nil); a.Status != http.StatusNotFound {
			t.Errorf("a removed user gets %d", a.Status)
		}
	})
}

// Who asks for a link to choose a password gets the same answer for a user's address and for another one, before the
// database was read or written: neither the answer nor its time says who is a user. The link is sent afterwards.
func TestForgottenPasswordTellsNothing(t *testing.T) {
	t.Parallel()
	line, in := dbtest.Behind(t, dbtest.Postgres(t)), mailtest.Start(t, mailtest.Options{})
	s := harness.StartWith(t, line.Address, &harness.Clock{}, func(config *daemon.Config) {
		config.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		config.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
	})
	u := s.NewShop(t).Staff(t, people.Owner)
	forgot := func(email string) harness.Answer {
		return stranger(u).Ask(t, http.MethodPost, "/dashboard/forgot", url.Values{"email": {email}})
	}
	line.Part(true)
	known, unknown := forgot(u.User.Email), forgot("nobody@acme.example")
	line.Part(false)
	if known.Status != http.StatusOK || strings.ReplaceAll(known.Text(), u.User.Email, "nobody@acme.example") != unknown.Text() {
		t.Errorf("a user's address gets %d: %s, another one %d: %s", known.Status, known.Text(), unknown.Status, unknown.Text())
	}
	harness.Eventually(t, "the link is sent to the user alone", func() bool {
		_, err := s.App.Mails.SendMails(ctx)
		harness.Must(t, err)
		links := slices.DeleteFunc(in.Accepted(), func(m mailtest.Mail) bool { return m.Subject != "Choose a new password" })
		return len(links) == 1 && links[0].To == u.User.Email
	})
}

// The queue of such requests is bounded, and neither one address nor one account fills it.
func TestForgottenPasswordsAreBounded(t *testing.T) {
	t.Parallel()
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s := harness.Start(t, line.Address, &harness.Clock{})
	u := s.NewShop(t).Staff(t, people.Owner)
	line.Part(true)
	defer line.Part(false)
	refused := 0
	for range 64 {
		if a := stranger(u).Ask(t, http.MethodPost, "/dashboard/forgot", url.Values{"email": {u.User.Email}}); a.Status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 30 {
		t.Errorf("%d of 64 requests about one account are refused, want at least 30", refused)
	}
	from := usersFrom
	from.Address = "198.51.100.7"
	if err := s.App.Links.Forgot(ctx, from, "other@acme.example"); err != nil {
		t.Errorf("another one gets %v", err)
	}
}

// A password is not one that many people use, nor made of the merchant's name, or the user's name or address: neither
// that of an invitation, nor of a link, nor a new one in the profile.
func TestPasswordsAreNotGuessedFromTheirUser(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		owner := s.NewShop(t).Staff(t, people.Owner)
		bad := []string{"basketball1", strings.ToLower(owner.Merchant.Name) + " 2026!", "Clementine2026", "clem@acme.example"}
		link := invite(t, owner, "clem@acme.example", people.Viewer)
		for _, password := range bad {
			if a := stranger(owner).Ask(t, http.MethodPost, link, url.Values{"name": {"Clementine"}, "password": {password}}); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "choose another one") {
				t.Errorf("%q of an invitation gets %d: %s", password, a.Status, a.Text())
			}
		}
		reset, err := s.App.Links.LinkTo(ctx, audit.Actor{Kind: audit.ByOperator, ID: "test"}, owner.User.Email, people.PasswordReset)
		harness.Must(t, err)
		local, _, _ := strings.Cut(owner.User.Email, "@")
		for _, password := range []string{bad[0], bad[1], local + "1"} {
			if a := stranger(owner).Ask(t, http.MethodPost, strings.TrimPrefix(reset.Address, s.URL), url.Values{"password": {password}}); a.Status != http.StatusBadRequest {
				t.Errorf("%q of a link gets %d: %s", password, a.Status, a.Text())
			}
			if a := owner.Ask(t, http.MethodPost, "/dashboard/profile/password", url.Values{"old": {harness.StaffPassword}, "password": {password}}); a.Status != http.StatusBadRequest {
				t.Errorf("%q in the profile gets %d: %s", password, a.Status, a.Text())
			}
		}
	})
}

// An operator ends all sign-ins of a user, in every browser.
func TestOperatorSignsAUserOut(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Owner)
		other := u
		other.Cookie, _ = signIn(t, u, harness.StaffPassword)
		harness.Must(t, s.App.People.SignOut(ctx, audit.Actor{Kind: audit.ByOperator, ID: "test"}, u.User.Email))
		for _, browser := range []harness.Staff{u, other} {
			if a := browser.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
				t.Errorf("after the operator ended the sign-ins one gets %d", a.Status)
			}
		}
	})
}

// A database that was restored has forgotten which sign-ins ended and which links were used since the copy was made. So none from before
// the restore works: everybody signs in again.
func TestRestoreEndsSignInsAndLinks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Owner)
		told, err := s.App.Links.LinkTo(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, u.User.Email, people.SignInLink)
		harness.Must(t, err)
		s.Clock.Advance(time.Second)
		_, err = s.App.Recovery.BeginRecovery(ctx, s.Clock.Now().Add(-time.Second), time.Time{})
		harness.Must(t, err)
		s.Clock.Advance(time.Second)
		if a := u.Ask(t, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusSeeOther {
			t.Errorf("a sign-in from before the restore gets %d", a.Status)
		}
		if a := stranger(u).Ask(t, http.MethodPost, strings.TrimPrefix(told.Address, s.URL), url.Values{}); a.Status != http.StatusNotFound {
			t.Errorf("a link from before the restore gets %d", a.Status)
		}
		u.Cookie, _ = signIn(t, u, harness.StaffPassword)
		u.Page(t, "/dashboard/profile")
	})
}
