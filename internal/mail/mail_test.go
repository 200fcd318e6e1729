package mail_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/mail/mailtest"
)

var message = mail.Message{
	ID: "mail_1", To: "ops@acme.example", Subject: "A subject", Text: "One line.\n.\nAnother one, after a dot.\n",
	At: time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC),
}

// sender sends to a server, which it finds under the name in its certificate.
func sender(t *testing.T, s *mailtest.Server, c mail.Config) *mail.Sender {
	t.Helper()
	c.From, c.Roots = "Cascada <no-reply@pay.example.com>", s.Roots
	c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Address)
	}
	made, err := mail.NewSender(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestMailArrives(t *testing.T) {
	for name, c := range map[string]struct {
		server    mailtest.Options
		url       string
		encrypted bool
	}{
		"STARTTLS":     {mailtest.Options{StartTLS: true, User: "cascada", Password: "secret"}, "smtp://cascada@" + mailtest.Host, true},
		"TLS":          {mailtest.Options{Implicit: true, User: "cascada", Password: "secret"}, "smtps://cascada@" + mailtest.Host + ":465", true},
		"on loopback":  {mailtest.Options{User: "cascada", Password: "secret"}, "smtp://cascada@localhost:25", false},
		"without user": {mailtest.Options{}, "smtp://127.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.Start(t, c.server)
			to := sender(t, s, mail.Config{URL: c.url, Password: c.server.Password})
			for range 2 {
				if err := to.Send(t.Context(), message); err != nil {
					t.Fatal(err)
				}
			}
			got := s.Accepted()
			if len(got) != 2 || got[0].Raw != got[1].Raw {
				t.Fatalf("two tries of one e-mail are %d, and differ: %+v", len(got), got)
			}
			m := got[0]
			if m.From != "no-reply@pay.example.com" || m.To != "ops@acme.example" || m.Encrypted != c.encrypted || m.Login != c.server.User || m.Text != message.Text {
				t.Errorf("what came is %+v", m)
			}
			for header, want := range map[string]string{
				"From": `"Cascada" <no-reply@pay.example.com>`, "To": "<ops@acme.example>", "Subject": "A subject",
				"Message-Id": "<mail_1@pay.example.com>", "Date": "Fri, 20 Nov 2026 15:04:05 +0000", "Auto-Submitted": "auto-generated",
				"Content-Type": "text/plain; charset=utf-8",
			} {
				if got := m.Header[header]; len(got) != 1 || got[0] != want {
					t.Errorf("%s is %q, want %q once", header, got, want)
				}
			}
		})
	}
}

// What is not encrypted, or not by the server that was meant, is not told anything.
func TestMailIsToldToItsServerAlone(t *testing.T) {
	open := mailtest.Start(t, mailtest.Options{User: "cascada", Password: "secret"})
	other := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "cascada", Password: "secret"})
	for name, c := range map[string]struct {
		server *mailtest.Server
		url    string
	}{
		"no STARTTLS":            {open, "smtp://cascada@" + mailtest.Host},
		"no TLS":                 {open, "smtps://cascada@" + mailtest.Host},
		"another's certificate":  {other, "smtp://cascada@elsewhere.example.com"},
		"no certificate we know": {&mailtest.Server{Address: other.Address}, "smtp://cascada@" + mailtest.Host},
	} {
		t.Run(name, func(t *testing.T) {
			var failure *mail.Failure
			err := sender(t, c.server, mail.Config{URL: c.url, Password: "secret"}).Send(t.Context(), message)
			if !errors.As(err, &failure) || failure.Final || strings.Contains(err.Error(), "secret") {
				t.Errorf("sending: %v, want it tried again", err)
			}
		})
	}
	if n := len(open.Came()) + len(other.Came()); n != 0 {
		t.Errorf("%d e-mails came", n)
	}
}

// Only what the server says about this e-mail, for good, ends it.
func TestRefusalsAreToldApart(t *testing.T) {
	s := mailtest.Start(t, mailtest.Options{User: "cascada", Password: "secret"})
	answer := func(err error) {
		s.Refuses(nil)
		s.Answers(func(mailtest.Mail) error { return err })
	}
	recipient := func(err error) { s.Refuses(func(string) error { return err }) }
	for name, c := range map[string]struct {
		prepare  func()
		password string
		step     string
		code     int
		final    bool
	}{
		"a wrong password":     {func() {}, "guessed", "login", 535, false},
		"a recipient, for now": {func() { recipient(mailtest.Reply(450, "ops@acme.example is busy")) }, "secret", "recipient", 450, false},
		"a recipient":          {func() { recipient(mailtest.Reply(550, "no such user ops@acme.example")) }, "secret", "recipient", 550, true},
		"a text, for now":      {func() { answer(mailtest.Reply(451, "greylisted")) }, "secret", "answer", 451, false},
		"a text":               {func() { answer(mailtest.Reply(554, "spam for ops@acme.example")) }, "secret", "answer", 554, true},
	} {
		t.Run(name, func(t *testing.T) {
			c.prepare()
			var failure *mail.Failure
			err := sender(t, s, mail.Config{URL: "smtp://cascada@localhost", Password: c.password}).Send(t.Context(), message)
			if !errors.As(err, &failure) || failure.Step != c.step || failure.Code != c.code || failure.Final != c.final {
				t.Errorf("sending: %v (%+v), want step %s, code %d, final %t", err, failure, c.step, c.code, c.final)
			}
			if text := err.Error(); strings.Contains(text, "acme") || strings.Contains(text, "secret") {
				t.Errorf("the failure tells too much: %s", text)
			}
		})
	}
}

// A server that says nothing more holds nobody for longer than the timeout.
func TestSilentServerIsLeft(t *testing.T) {
	t.Run("after the text", func(t *testing.T) {
		s := mailtest.Start(t, mailtest.Options{})
		s.Answers(s.Hang)
		var failure *mail.Failure
		err := sender(t, s, mail.Config{URL: "smtp://localhost", Timeout: 100 * time.Millisecond}).Send(t.Context(), message)
		if !errors.As(err, &failure) || failure.Step != "answer" || failure.Code != 0 || failure.Final {
			t.Errorf("sending: %v, want an outcome that nobody knows", err)
		}
	})
	t.Run("in every answer for a little less", func(t *testing.T) {
		s := mailtest.Start(t, mailtest.Options{})
		slow := func() error {
			<-time.After(200 * time.Millisecond) // what is tested is the system's clock
			return nil
		}
		s.Refuses(func(string) error { return slow() })
		s.Answers(func(mailtest.Mail) error { return slow() })
		var failure *mail.Failure
		err := sender(t, s, mail.Config{URL: "smtp://localhost", Timeout: 300 * time.Millisecond}).Send(t.Context(), message)
		if !errors.As(err, &failure) || failure.Final {
			t.Errorf("sending: %v, want it left", err)
		}
	})
	t.Run("from the beginning", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0") // the system takes connections, and nobody reads
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		for _, url := range []string{"smtp://localhost", "smtps://localhost"} {
			var failure *mail.Failure
			s := &mailtest.Server{Address: silent.Addr().String()}
			err := sender(t, s, mail.Config{URL: url, Timeout: 100 * time.Millisecond}).Send(t.Context(), message)
			if !errors.As(err, &failure) || failure.Final {
				t.Errorf("sending to %s: %v, want it tried again", url, err)
			}
		}
	})
}

// Neither an address nor a subject makes a header or a command of its own.
func TestMailHoldsNothingThatWasPutIn(t *testing.T) {
	s := mailtest.Start(t, mailtest.Options{})
	to := sender(t, s, mail.Config{URL: "smtp://localhost"})
	for _, address := range []string{
		"", "ops", "@acme.example", "ops@", "ops@acme.example\r\nBcc: all@example.com", "ops@acme.example\nRCPT TO:<all@example.com>",
		`"ops> ORCPT=rfc822;all@example.com"@acme.example`, `"a\" b"@acme.example`, "ops@acme.example, all@example.com", "ops@acme.example\x00",
		"ops@[127.0.0.1]", "ops@acme .example", "öps@acme.example", strings.Repeat("o", 65) + "@acme.example", "ops@" + strings.Repeat("a.", 130) + "example",
		"ops@acme.example>", "ops@acme_.example\u2028x",
	} {
		m := message
		m.To = address
		var failure *mail.Failure
		if err := to.Send(t.Context(), m); !errors.As(err, &failure) || failure.Step != "address" || !failure.Final || address != "" && strings.Contains(err.Error(), address) {
			t.Errorf("the address %q: %v, want it refused for good and not repeated", address, err)
		}
	}
	if n := len(s.Came()); n != 0 {
		t.Fatalf("%d e-mails came", n)
	}
	for address, want := range map[string]string{
		"ops@acme.example": "ops@acme.example", "Acme <ops+a.b@ACME.example>": "ops+a.b@acme.example",
		"ops@múnich.example": "ops@xn--mnich-7ua.example", "ops@日本.example": "ops@xn--wgv71a.example",
	} {
		m := message
		m.To = address
		if err := to.Send(t.Context(), m); err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := s.Accepted(); got[len(got)-1].To != want || got[len(got)-1].Header.Get("To") != "<"+want+">" {
			t.Errorf("%s went to %s (%s), want %s", address, got[len(got)-1].To, got[len(got)-1].Header.Get("To"), want)
		}
	}
	m := message
	m.Subject = "Acme\r\nBcc: all@example.com\r\n\r\n" + strings.Repeat("Señor ¿qué? ", 12) + "\u202e\x00."
	if err := to.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	list := s.Accepted()
	got := list[len(list)-1]
	if want := "Acme Bcc: all@example.com " + strings.Repeat("Señor ¿qué? ", 12) + "."; got.Subject != want || got.Header.Get("Bcc") != "" || got.Text != message.Text {
		t.Errorf("the subject is %q, want %q; headers %v", got.Subject, want, got.Header)
	}
	for line := range strings.Lines(got.Raw) {
		if len(line) > 80 || strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
			t.Errorf("a line is not what every server takes: %q", line)
		}
	}
}

func TestMisconfigurationIsRefused(t *testing.T) {
	for _, c := range []struct{ url, password, from, want string }{
		{"", "", "a@b.example", "begins with"},
		{"mail.example.com", "", "a@b.example", "begins with"},
		{"http://mail.example.com", "", "a@b.example", "begins with"},
		{"smtp:mail.example.com", "", "a@b.example", "not a URL"},
		{"smtp://", "", "a@b.example", "a host and a port"},
		{"smtp://mail.example.com/inbox", "", "a@b.example", "a host and a port"},
		{"smtp://mail.example.com?tls=off", "", "a@b.example", "a host and a port"},
		{"smtp://mail.example.com:0", "", "a@b.example", "port"},
		{"smtp://mail.example.com:99999", "", "a@b.example", "port"},
		{"smtp://user:hidden@mail.example.com", "", "a@b.example", "holds a password"},
		{"smtp://us er:hidden@mail.example.com", "", "a@b.example", "not a URL"},
		{"smtp://user@mail.example.com", "", "a@b.example", "missing"},
		{"smtp://mail.example.com", "hidden", "a@b.example", "missing"},
		{"smtp://mail.example.com", "", "", "not an address"},
		{"smtp://mail.example.com", "", "Cascada", "not an address"},
		{"smtp://mail.example.com", "", "öps@b.example", "before the @"},
	} {
		_, err := mail.NewSender(mail.Config{URL: c.url, Password: c.password, From: c.from})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q from %q: %v, want it to tell %q and no password", c.url, c.from, err, c.want)
		}
	}
}
