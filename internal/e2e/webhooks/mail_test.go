package webhooks

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appmails "github.com/cascadapay/cascada/internal/app/mails"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/mail/mailtest"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// withMail runs a test on each engine, with a service that sends its e-mails to the server in.
func withMail(t *testing.T, o mailtest.Options, test func(t *testing.T, s *harness.Instance, in *mailtest.Server)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, o)
		test(t, mailing(t, database, &harness.Clock{}, in), in)
	})
}

// mailing starts a service that sends its e-mails to the server in.
func mailing(t *testing.T, database string, c *harness.Clock, in *mailtest.Server, configure ...func(*daemon.Config)) *harness.Instance {
	t.Helper()
	return harness.StartWith(t, database, c, func(config *daemon.Config) {
		config.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		config.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
		for _, change := range configure {
			change(config)
		}
	})
}

// mailed waits until the server has accepted n e-mails and none waits, and returns the accepted
// ones.
func mailed(t *testing.T, s *harness.Instance, in *mailtest.Server, n int) []mailtest.Mail {
	t.Helper()
	mailsUntil(t, s, fmt.Sprintf("the server has accepted %d e-mails", n), func() bool { return len(in.Accepted()) >= n && waitingMails(t, s) == 0 })
	return in.Accepted()
}

// mailsUntil sends the e-mails that are due, again and again, until done returns true.
func mailsUntil(t *testing.T, s *harness.Instance, what string, done func() bool) {
	t.Helper()
	harness.Eventually(t, what, func() bool {
		_, err := s.App.Mails.SendMails(ctx)
		harness.Must(t, err)
		return done()
	})
}

func waitingMails(t *testing.T, s *harness.Instance) int64 {
	t.Helper()
	n, err := s.App.Mails.WaitingMails(ctx)
	harness.Must(t, err)
	return n
}

// An e-mail in the merchant's language reports a new payout destination: a thief with a stolen key
// can add one.
func TestNewWalletIsToldByEmail(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "cascada", Password: "a secret"})
		s := mailing(t, database, &harness.Clock{}, in, func(c *daemon.Config) {
			c.Mail.URL, c.Mail.Password, c.Mail.Roots = "smtp://cascada@"+mailtest.Host, "a secret", in.Roots
			c.Mail.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if address != mailtest.Host+":587" {
					t.Errorf("e-mails go to %s, want %s:587", address, mailtest.Host)
				}
				return new(net.Dialer).DialContext(ctx, network, in.Address)
			}
		})
		o := mailMerchant(t, s, "Café Ñandú", "ops@acme.example", merchants.Spanish)
		harness.Sibling(t, o) // a merchant with two shops gets one e-mail
		const body = `{"label":"Win a prize","type":"bank_account","currency":"MXN","destination":"` + harness.CLABE + `"}`
		wallet := o.Production().Post(t, "/wallets", body).Want(t, http.StatusCreated)
		id, added := wallet.Text(t, "id"), wallet.Text(t, "createdAt")
		o.Production().Post(t, "/wallets", body).Want(t, http.StatusConflict)
		o.Wallet(t) // no e-mail: a sandbox wallet can get no money
		m := mailed(t, s, in, 1)[0]
		if m.From != "no-reply@pay.example.com" || m.To != "ops@acme.example" || !m.Encrypted || m.Login != "cascada" {
			t.Errorf("the envelope is %s to %s, encrypted %t, by %q", m.From, m.To, m.Encrypted, m.Login)
		}
		if want := "Se agregó un nuevo destino de retiros a Café Ñandú"; m.Subject != want {
			t.Errorf("the subject is %q, want %q", m.Subject, want)
		}
		if got := m.Header.Get("Message-ID"); got != "<mail_"+strings.TrimPrefix(id, "wal_")+"@pay.example.com>" || m.Header.Get("Auto-Submitted") != "auto-generated" {
			t.Errorf("Message-ID is %s, Auto-Submitted %s", got, m.Header.Get("Auto-Submitted"))
		}
		at, err := time.Parse(time.RFC3339, added)
		harness.Must(t, err)
		for _, want := range []string{
			"Café Ñandú", "032****9719", "spei, MXN", "sk_live_…" + o.Live.Secret[len(o.Live.Secret)-4:], at.Format("2006-01-02 15:04 UTC"),
			at.Add(24 * time.Hour).Format("2006-01-02 15:04 UTC"), "DELETE " + s.URL + "/api/v1/wallets/" + id, "revoque",
		} {
			if !strings.Contains(m.Text, want) {
				t.Errorf("the e-mail does not have %q:\n%s", want, m.Text)
			}
		}
		if strings.Contains(m.Raw, harness.CLABE) || strings.Contains(m.Text, o.Live.Secret) || strings.Contains(m.Raw, "prize") {
			t.Errorf("the e-mail has the account number, the key or the label:\n%s", m.Text)
		}
		// No second e-mail follows.
		s.Clock.Advance(mails.Life)
		_, err = s.App.Mails.SendMails(ctx)
		harness.Must(t, err)
		if n := len(in.Came()); n != 1 {
			t.Errorf("the server got %d e-mails, want 1", n)
		}
	})
}

// mailMerchant makes a merchant with an e-mail address and a language.
func mailMerchant(t *testing.T, s *harness.Instance, name, email string, language merchants.Language) harness.Client {
	t.Helper()
	o, err := s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: name, Email: email, Industry: "retail", Tier: merchants.Standard, Language: language})
	harness.Must(t, err)
	return harness.Client{Onboarded: o, Instance: s, Credential: o.Sandbox.Secret}
}

// mailTries returns the counts of the service's tries to send an e-mail, by outcome, and whether they
// are as given.
func mailTries(s *harness.Instance, sent, retried, failed int64) (told string, as bool) {
	n := s.App.Mails.MailTries()
	return fmt.Sprintf("%v", n), n[appmails.Sent] == sent && n[appmails.Retried] == retried && n[appmails.Failed] == failed
}

func TestEmailIsTriedUntilItIsTaken(t *testing.T) {
	withMail(t, mailtest.Options{}, func(t *testing.T, s *harness.Instance, in *mailtest.Server) {
		in.Answers(func(mailtest.Mail) error { return mailtest.Reply(451, "greylisted, try again") })
		s.NewShop(t).Production().Wallet(t)
		for i, pause := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute} {
			mailsUntil(t, s, "the e-mail was tried once more", func() bool { _, as := mailTries(s, 0, int64(i+1), 0); return as })
			s.Clock.Advance(pause - 10*time.Second)
			if _, err := s.App.Mails.SendMails(ctx); err != nil || len(in.Came()) != i+1 {
				t.Fatalf("before a pause of %s is over the server got %d e-mails (%v), want %d", pause, len(in.Came()), err, i+1)
			}
			if i == 2 {
				in.Answers(nil)
			}
			s.Clock.Advance(10 * time.Second)
		}
		mailsUntil(t, s, "the e-mail is sent", func() bool { _, as := mailTries(s, 1, 3, 0); return as })
		if n := len(in.Came()); n != 4 || waitingMails(t, s) != 0 {
			t.Errorf("the server got %d e-mails and %d wait, want 4 and 0", n, waitingMails(t, s))
		}
	})
}

// An e-mail that the server refuses for good is not tried again, and the log says so.
func TestRefusedEmailIsGivenUp(t *testing.T) {
	withMail(t, mailtest.Options{}, func(t *testing.T, s *harness.Instance, in *mailtest.Server) {
		in.Refuses(func(string) error { return mailtest.Reply(550, "no such user ops@acme.example") })
		s.NewShop(t).Production().Wallet(t)
		mailsUntil(t, s, "the e-mail is given up", func() bool { _, as := mailTries(s, 0, 0, 1); return as })
		s.Log.Mu.Lock()
		lines := strings.Join(s.Log.Lines, "\n")
		s.Log.Mu.Unlock()
		if strings.Contains(lines, "acme.example") {
			t.Errorf("the log has the merchant's address: %s", lines)
		}
		s.Log.Extract(t, "an e-mail is given up")
		in.Refuses(nil)
		s.Clock.Advance(mails.Life)
		_, err := s.App.Mails.SendMails(ctx)
		harness.Must(t, err)
		if told, as := mailTries(s, 0, 0, 1); !as || len(in.Came()) != 0 {
			t.Errorf("the server got %d e-mails, want 0; the service counts the tries %s", len(in.Came()), told)
		}
	})
}

// An e-mail that the server does not accept for two days is given up.
func TestEmailIsGivenUpAfterTwoDays(t *testing.T) {
	withMail(t, mailtest.Options{User: "somebody", Password: "else"}, func(t *testing.T, s *harness.Instance, in *mailtest.Server) {
		s.NewShop(t).Production().Wallet(t) // the server wants a login: the operator can mend that, so the e-mail is not refused for good
		mailsUntil(t, s, "the e-mail was tried", func() bool { _, as := mailTries(s, 0, 1, 0); return as })
		s.Clock.Advance(mails.Life - time.Minute)
		mailsUntil(t, s, "the e-mail is given up", func() bool { _, as := mailTries(s, 0, 1, 1); return as })
		s.Log.Extract(t, "an e-mail is given up")
		if told, as := mailTries(s, 0, 1, 1); !as || len(in.Came()) != 0 {
			t.Errorf("the server got %d e-mails, want 0; the service counts the tries %s", len(in.Came()), told)
		}
	})
}

// When the server's answer never comes, it is unknown whether the server has the e-mail. So the
// service sends it again, byte for byte, and the receiver can see that it is the same.
func TestEmailWithoutAnAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		in.Answers(in.Hang)
		s := mailing(t, database, &harness.Clock{}, in, func(c *daemon.Config) { c.Mail.Timeout = 200 * time.Millisecond })
		s.NewShop(t).Production().Wallet(t)
		mailsUntil(t, s, "the e-mail was tried", func() bool {
			told, _ := mailTries(s, 0, 0, 0)
			return len(in.Came()) > 0 && strings.Contains(told, "retried:1")
		})
		in.Answers(nil)
		s.Clock.Advance(time.Minute)
		mailed(t, s, in, 1)
		if came := in.Came(); len(came) != 2 || came[0].Raw != came[1].Raw {
			t.Errorf("the server got %d e-mails, want the same one twice: %+v", len(came), came)
		}
	})
}

// A node ends after the server got an e-mail and before the outcome is written. Another node sends
// the e-mail again.
func TestEmailOfANodeThatEndedIsSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		in.Answers(in.Hang)
		s := mailing(t, database, &harness.Clock{}, in)
		s.NewShop(t).Production().Wallet(t)
		harness.Eventually(t, "the server has the e-mail", func() bool { return len(in.Came()) == 1 })
		s.End(t)
		if told, as := mailTries(s, 0, 0, 0); !as {
			t.Errorf("the node counted the tries %s, want none", told)
		}
		in.Answers(nil)
		s.Clock.Advance(4 * time.Minute) // the lease ends
		next := mailing(t, database, s.Clock, in)
		mailed(t, next, in, 1)
		if came := in.Came(); len(came) != 2 || came[0].Header.Get("Message-ID") != came[1].Header.Get("Message-ID") {
			t.Errorf("the server got %d e-mails, want the same one twice: %+v", len(came), came)
		}
	})
}

// Two nodes send each e-mail once, whichever of them wrote it.
func TestNodesSendAnEmailOnce(t *testing.T) {
	t.Parallel()
	const wallets = 20 // as many e-mails as a merchant gets in a day
	in, database, c := mailtest.Start(t, mailtest.Options{}), dbtest.Postgres(t), &harness.Clock{}
	nodes := []*harness.Instance{mailing(t, database, c, in), mailing(t, database, c, in)}
	o := nodes[0].NewShop(t)
	var all sync.WaitGroup
	for i := range wallets {
		all.Go(func() {
			o := o
			o.Instance = nodes[i%2]
			o.Production().Wallet(t, fmt.Sprintf(`{"type":"bank_account","currency":"USD","destination":"ACCOUNT%d"}`, i))
			for _, s := range nodes {
				_, err := s.App.Mails.SendMails(ctx)
				harness.Must(t, err)
			}
		})
	}
	all.Wait()
	mailed(t, nodes[0], in, wallets)
	of := map[string]bool{}
	for _, m := range in.Came() {
		of[m.Header.Get("Message-ID")] = true
	}
	if n := len(in.Came()); n != wallets || len(of) != wallets {
		t.Errorf("the server got %d e-mails, %d of them different, want %d", n, len(of), wallets)
	}
}

// Without a mail server the service writes no e-mails. E-mails that wait when the server is removed
// from the configuration are given up after two days.
func TestEmailsWithoutAServerAreNotKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		in.Answers(func(mailtest.Mail) error { return mailtest.Reply(451, "later") })
		silent := harness.Start(t, database, &harness.Clock{})
		silent.NewShop(t).Production().Wallet(t)
		if n := waitingMails(t, silent); n != 0 {
			t.Errorf("without a mail server %d e-mails wait, want 0", n)
		}
		silent.End(t)
		s := mailing(t, database, silent.Clock, in)
		o := s.NewShop(t)
		o.Production().Wallet(t)
		mailsUntil(t, s, "the e-mail was tried", func() bool { _, as := mailTries(s, 0, 1, 0); return as })
		s.End(t)
		after := harness.Start(t, database, silent.Clock)
		after.Clock.Advance(mails.Life - time.Hour)
		if _, err := after.App.Mails.SendMails(ctx); err != nil || waitingMails(t, after) != 1 {
			t.Errorf("an e-mail that another node can still send was given up (%v)", err)
		}
		after.Clock.Advance(2 * time.Hour)
		mailsUntil(t, after, "the e-mail is given up", func() bool { _, as := mailTries(after, 0, 0, 1); return as })
		after.Log.Extract(t, "an e-mail is given up")
		if waiting := waitingMails(t, after); waiting != 0 || len(in.Accepted()) != 0 {
			t.Errorf("the server accepted %d e-mails and %d wait, want 0 and 0", len(in.Accepted()), waiting)
		}
	})
}

// A merchant's name and address cannot inject headers, text or recipients into an e-mail, not even if one
// got past the service's checks.
func TestEmailHoldsNothingThatWasPutIn(t *testing.T) {
	withMail(t, mailtest.Options{}, func(t *testing.T, s *harness.Instance, in *mailtest.Server) {
		exec, closeDB := s.Exec(t)
		defer closeDB()
		named := mailMerchant(t, s, "Acme", "ops@acme.example", merchants.English)
		exec("UPDATE merchants SET name = $1 WHERE id = $2", "Acme\r\nBcc: all@example.com\r\n\r\nCall +1 555", named.Merchant.ID)
		named.Production().Wallet(t)
		m := mailed(t, s, in, 1)[0]
		if want := "A new payout destination was added to Acme Bcc: all@example.com Call +1 555"; m.Subject != want || m.Header.Get("Bcc") != "" || m.To != "ops@acme.example" {
			t.Errorf("the e-mail goes to %s with the subject %q, want ops@acme.example and %q; the headers are %v", m.To, m.Subject, want, m.Header)
		}
		if first, _, _ := strings.Cut(m.Text, "\n"); first != "Acme Bcc: all@example.com Call +1 555," {
			t.Errorf("the first line is %q, want the name on one line", first)
		}
		for i, address := range []string{"ops@acme.example\r\nRCPT TO:<all@example.com>", `"ops> ORCPT=rfc822;all@example.com"@acme.example`, "ops@acme.example, all@example.com"} {
			o := mailMerchant(t, s, "Acme", "ops@acme.example", merchants.English)
			exec("UPDATE merchants SET email = $1 WHERE id = $2", address, o.Merchant.ID)
			o.Production().Wallet(t)
			mailsUntil(t, s, "the e-mail is given up", func() bool { _, as := mailTries(s, 1, 0, int64(i+1)); return as })
		}
		s.Log.Extract(t, "an e-mail is given up")
		if n := len(in.Came()); n != 1 {
			t.Errorf("the server got %d e-mails, want 1", n)
		}
		harness.Rehash(t, s, "merchants")
	})
}

// /metrics counts e-mails by outcome. The label has few values, so the number of series is bounded.
func TestMetricsTellOfEmails(t *testing.T) {
	t.Parallel()
	in := mailtest.Start(t, mailtest.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	address := l.Addr().String()
	harness.Must(t, l.Close())
	s := mailing(t, dbtest.SQLite(t), &harness.Clock{}, in, func(c *daemon.Config) { c.Metrics = address })
	s.NewShop(t).Production().Wallet(t)
	mailsUntil(t, s, "the e-mail is sent", func() bool { _, as := mailTries(s, 1, 0, 0); return as })
	r, err := http.Get("http://" + address + "/metrics")
	harness.Must(t, err)
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	harness.Must(t, err)
	for _, line := range []string{
		`cascada_mails_total{outcome="sent"} 1`, `cascada_mails_total{outcome="retried"} 0`, `cascada_mails_total{outcome="failed"} 0`,
		"cascada_mails_waiting 0", `cascada_work_oldest_due_seconds{work="mails"} 0`,
	} {
		if !strings.Contains(string(page), line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// clabeOf returns the CLABE of a Mexican bank's nth account, with its check digit.
func clabeOf(n int) string {
	text := fmt.Sprintf("032180%011d", n)
	sum := 0
	for i, d := range text {
		sum += int(d-'0') * []int{3, 7, 1}[i%3] % 10
	}
	return text + fmt.Sprint((10-sum%10)%10)
}

// A merchant that adds very many wallets is told of each, but of twenty a day at once, so that it does not delay other
// merchants' e-mails.
func TestEveryWalletIsToldAndOthersDoNotWait(t *testing.T) {
	withMail(t, mailtest.Options{}, func(t *testing.T, s *harness.Instance, in *mailtest.Server) {
		flood := mailMerchant(t, s, "Flood", "flood@flood.example", merchants.English).Production()
		victim := mailMerchant(t, s, "Victim", "ops@victim.example", merchants.English).Production()
		add := func(o harness.Client, i int) {
			o.Post(t, "/wallets", fmt.Sprintf(`{"label":"x","type":"bank_account","currency":"MXN","destination":"%s"}`, clabeOf(i))).Want(t, http.StatusCreated)
		}
		for i := range 30 {
			add(flood, i)
		}
		add(victim, 100)
		count := func() (flooded, victims int) {
			for _, m := range in.Accepted() {
				if m.To == "ops@victim.example" {
					victims++
				} else {
					flooded++
				}
			}
			return flooded, victims
		}
		harness.Eventually(t, "the other merchant has its e-mail", func() bool { _, n := count(); return n == 1 })
		mailsUntil(t, s, "the merchant with many wallets has the first e-mails", func() bool { n, _ := count(); return n >= 20 })
		if n, _ := count(); n != 20 {
			t.Errorf("the merchant with many wallets has %d e-mails at once, want 20", n)
		}
		s.Clock.Advance(6 * time.Minute)
		mailsUntil(t, s, "the merchant is told of every wallet", func() bool { n, _ := count(); return n == 30 })
	})
}

// The warnings about money that may leave cannot be sent elsewhere: another address for the merchant is confirmed, the
// address before and the owners are told, and the owners are told of new wallets, too.
func TestWarningsAreNotDiverted(t *testing.T) {
	withMail(t, mailtest.Options{}, func(t *testing.T, s *harness.Instance, in *mailtest.Server) {
		o := mailMerchant(t, s, "Acme", "ops@acme.example", merchants.Spanish).Production()
		owner, admin := o.Staff(t, people.Owner), o.Staff(t, people.Admin)
		waits := func(about string, to ...string) {
			t.Helper()
			mailsUntil(t, s, about, func() bool {
				var told []string
				for _, m := range in.Accepted() {
					if strings.Contains(m.Subject, about) {
						told = append(told, m.To)
					}
				}
				slices.Sort(told)
				slices.Sort(to)
				return slices.Equal(told, to)
			})
		}
		moved := url.Values{"email": {"thief@evil.example"}, "emailBefore": {"ops@acme.example"}, "language": {"es"}, "languageBefore": {"es"}}
		s.Clock.Advance(11 * time.Minute)
		if a := admin.Ask(t, http.MethodPost, "/shop/merchant", moved); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "/again") {
			t.Errorf("an old sign-in gets %d to %q, want to be asked again", a.Status, a.Header.Get("Location"))
		}
		if m, err := s.App.Onboarding.AnyMerchant(ctx, o.Merchant.ID); err != nil || m.Email != "ops@acme.example" {
			t.Errorf("the address is %s: %v", m.Email, err)
		}
		admin = o.Staff(t, people.Admin)
		if a := admin.Ask(t, http.MethodPost, "/shop/merchant", moved); a.Status != http.StatusSeeOther || strings.Contains(a.Header.Get("Location"), "/again") {
			t.Errorf("a new sign-in gets %d to %q: %s", a.Status, a.Header.Get("Location"), a.Text())
		}
		waits("Acme was changed", owner.User.Email)
		waits("Se cambió la dirección de correo de Acme", "ops@acme.example")
		o.Post(t, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`"}`).Want(t, http.StatusCreated)
		waits("A new payout destination", owner.User.Email)
		waits("Se agregó un nuevo destino", "thief@evil.example")
		command, err := daemon.Open(ctx, daemon.Config{
			Database: s.Database, MasterKey: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", Existing: true, Operator: "ana@desk", Now: s.Clock.Now,
		})
		harness.Must(t, err)
		defer command.Close()
		for i := range 7 { // as often as it happens, by a command that sends no e-mails itself
			harness.Must(t, command.Onboarding.SetEmail(ctx, command.Self(), o.Merchant.ID, fmt.Sprintf("ops%d@acme.example", i)))
		}
		mailsUntil(t, s, "the owner is told of each change", func() bool {
			n := 0
			for _, m := range in.Accepted() {
				if m.To == owner.User.Email && strings.Contains(m.Subject, "Acme was changed") {
					n++
				}
			}
			return n == 8
		})
	})
}
