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
