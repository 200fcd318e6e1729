package pay_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// written is the time of these tests' e-mails.
var written = time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)

func TestOnlyProductionWalletsCauseMail(t *testing.T) {
	merchant := tenant.Merchant{ID: "mer_1", Name: "Acme", Email: " ops@acme.example ", Language: tenant.Spanish}
	w := pay.Wallet{ID: "wal_abc", Scope: tenant.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, Network: "spei", Currency: "MXN", Masked: "032****9719"}
	w, _ = w.Open(24*time.Hour, nil, nil, written)
	m, tell := w.Mail(merchant, "sk_live_…1234", "")
	if !tell || m.ID != "mail_abc" || m.Scope != w.Scope || m.Object != w.ID || m.Status != pay.MailWaiting || m.DueAt != written || m.About != (pay.WalletNotice{
		To: "ops@acme.example", Language: tenant.Spanish, Merchant: "Acme", Wallet: "wal_abc", Network: "spei", Currency: "MXN",
		Destination: "032****9719", Shop: "shp_1", Key: "sk_live_…1234", AddedAt: written, ActiveAt: written.Add(24 * time.Hour),
	}) {
		t.Errorf("told %t: %+v", tell, m)
	}
	if m, _ := w.Mail(merchant, "", "ana@acme.example"); m.About.User != "ana@acme.example" || m.About.Key != "" {
		t.Errorf("a user's wallet tells of %+v", m.About)
	}
	sandbox, silent := w, merchant
	sandbox.Live, silent.Email = false, " "
	if m, tell := sandbox.Mail(merchant, "", ""); tell {
		t.Errorf("a sandbox wallet causes an e-mail: %+v", m)
	}
	if m, tell := w.Mail(silent, "", ""); tell {
		t.Errorf("a merchant without an address gets an e-mail: %+v", m)
	}
}

// An e-mail is tried for two days, with growing pauses. Once it has ended, it has no address.
func TestMailIsTriedForTwoDays(t *testing.T) {
	fresh := pay.Mail{ID: "mail_1", Version: 1, Status: pay.MailWaiting, DueAt: written, CreatedAt: written, About: pay.WalletNotice{To: "ops@acme.example"}}
	m, at := fresh, written
	var pauses []time.Duration
	for m.Status == pay.MailWaiting {
		before := m
		var change pay.Change
		m, change = m.Retry(at)
		if len(change.Mails) != 1 || change.Mails[0] != m || m.Version != before.Version+1 || m.Tries != before.Tries+1 {
			t.Fatalf("a try of %+v writes %+v", before, change.Mails)
		}
		if m.Status == pay.MailWaiting {
			pauses = append(pauses, m.DueAt.Sub(at))
			at = m.DueAt
		}
	}
	want := []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour, 4 * time.Hour}
	for i, pause := range want {
		if pauses[i] != pause {
			t.Errorf("pauses are %v, want them to begin with %v", pauses, want)
			break
		}
	}
	if last := at.Sub(written); last > pay.MailLife || last < pay.MailLife-4*time.Hour {
		t.Errorf("the last try is after %s, want it within the last pause of %s", last, pay.MailLife)
	}
	sent, _ := fresh.Sent(written)
	refused, _ := fresh.Refused(written)
	late, _ := fresh.Retry(written.Add(100 * time.Hour)) // the service was down
	for name, c := range map[string]struct {
		of   pay.Mail
		want pay.MailStatus
	}{"given up": {m, pay.MailFailed}, "sent": {sent, pay.MailSent}, "refused": {refused, pay.MailFailed}, "late": {late, pay.MailFailed}} {
		if c.of.Status != c.want || !c.of.DueAt.IsZero() || c.of.About != (pay.WalletNotice{}) || c.of.Version != int64(c.of.Tries)+1 {
			t.Errorf("%s: %+v, want it %s, without a time and a text", name, c.of, c.want)
		}
	}
}
