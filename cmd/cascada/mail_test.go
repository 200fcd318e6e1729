package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/mail/mailtest"
)

// The password comes from a file or a variable; the e-mail about a new wallet arrives.
func TestServeSendsEmails(t *testing.T) {
	t.Parallel()
	in := mailtest.Start(t, mailtest.Options{User: "cascada", Password: "a secret"})
	for name, prepare := range map[string]func(user) user{
		"in a file": func(u user) user {
			path := filepath.Join(u.dir, "smtp.password")
			if err := os.WriteFile(path, []byte("a secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return u.with("CASCADA_SMTP_PASSWORD_FILE=" + path)
		},
		"in a variable": func(u user) user { return u.with("CASCADA_SMTP_PASSWORD=a secret") },
	} {
		t.Run(name, func(t *testing.T) {
			u := prepare(newUser(t))
			before := len(in.Accepted())
			s := u.serve(t, "--smtp-url", "smtp://cascada@"+in.Address, "--mail-from", "Cascada <no-reply@pay.example.com>")
			k := u.merchant(t, "sqlite:cascada.db").Keys.Production.Secret
			body := `{"type":"bank_account","currency":"MXN","destination":"032180000118359719"}`
			if status, reply := s.call("POST", "/wallets", k, body, nil); status != http.StatusCreated {
				t.Fatalf("a wallet: %d %v", status, reply)
			}
			await(t, "the e-mail", func() bool { return len(in.Accepted()) == before+1 })
			if m := in.Accepted()[before]; m.Login != "cascada" || !strings.Contains(m.Text, "DELETE "+s.url+"/api/v1/wallets/") {
				t.Errorf("from the login %q came:\n%s", m.Login, m.Text)
			}
			s.stop()
			if strings.Contains(s.output(), "a secret") {
				t.Errorf("the log contains a secret:\n%s", s.output())
			}
		})
	}
}

// A public service without a mail server warns of that once.
func TestServeWarnsIfItSendsNoEmails(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]int{"https://pay.example.com": 1, "http://127.0.0.1:8080": 0} {
		s := newUser(t).serve(t, "--public-url", public)
		s.stop()
		if n := strings.Count(s.output(), "no e-mails are sent"); n != want {
			t.Errorf("at %s the log says %d times that no e-mails are sent, want %d:\n%s", public, n, want, s.output())
		}
	}
}

// Wrong mail settings are refused at the start with a helpful message, and leave nothing behind.
func TestServeRefusesMisconfiguredEmail(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const server, from = "--smtp-url=smtp://cascada@mail.example.com", "--mail-from=no-reply@pay.example.com"
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{[]string{server}, "CASCADA_SMTP_PASSWORD=hidden", "--mail-from"},
		{[]string{from}, "", "--smtp-url"},
		{nil, "CASCADA_SMTP_PASSWORD=hidden", "--smtp-url"},
		{[]string{server, from}, "", "missing"},
		{[]string{"--smtp-url=smtp://cascada:hidden@mail.example.com", from}, "", "holds a password"},
		{[]string{"--smtp-url=mail.example.com:25", from}, "", "smtp://user@host"},
		{[]string{server, "--mail-from=nobody"}, "CASCADA_SMTP_PASSWORD=hidden", "not an address"},
		{[]string{server, from, "--smtp-password-file=" + file}, "CASCADA_SMTP_PASSWORD=hidden", "twice"},
		{[]string{server, from, "--smtp-password-file=" + file}, "", "one line"},
		{[]string{server, from, "--smtp-password-file=" + file + ".missing"}, "", "no such file"},
	} {
		v := u
		if c.env != "" {
			v = u.with(c.env)
		}
		out, log, code := v.run(t, append([]string{"serve"}, c.args...)...)
		if code == 0 || !strings.Contains(log, c.want) || strings.Contains(out+log, "hidden") {
			t.Errorf("serve %v with %q: exit %d, want %q and no password:\n%s%s", c.args, c.env, code, c.want, out, log)
		}
	}
	if left, err := os.ReadDir(u.dir); err != nil || len(left) > 0 {
		t.Errorf("refused starts left %v (%v)", left, err)
	}
}
