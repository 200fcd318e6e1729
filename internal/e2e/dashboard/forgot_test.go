package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/mailtest"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
)

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
		return len(in.Taken()) == 1
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
