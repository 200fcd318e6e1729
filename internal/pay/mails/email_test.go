package mails_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/mails"
)

// written is the time of these tests' e-mails.
var written = time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)

// An e-mail is tried for two days, with growing pauses. Once it has ended, it has no address.
func TestMailIsTriedForTwoDays(t *testing.T) {
	fresh := mails.Message{ID: "mail_1", Version: 1, Status: mails.Waiting, DueAt: written, CreatedAt: written, Wallet: mails.Wallet{To: "ops@acme.example"}}
	m, at := fresh, written
	var pauses []time.Duration
	for m.Status == mails.Waiting {
		before := m
		m = m.Retry(at)
		if m.Version != before.Version+1 || m.Tries != before.Tries+1 {
			t.Fatalf("a try of %+v makes it %+v", before, m)
		}
		if m.Status == mails.Waiting {
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
	if last := at.Sub(written); last > mails.Life || last < mails.Life-4*time.Hour {
		t.Errorf("the last try is after %s, want it within the last pause of %s", last, mails.Life)
	}
	sent := fresh.Sent(written)
	refused := fresh.Refused(written)
	late := fresh.Retry(written.Add(100 * time.Hour)) // the service was down
	for name, c := range map[string]struct {
		of   mails.Message
		want mails.Status
	}{"given up": {m, mails.Failed}, "sent": {sent, mails.Sent}, "refused": {refused, mails.Failed}, "late": {late, mails.Failed}} {
		if c.of.Status != c.want || !c.of.DueAt.IsZero() || c.of.Wallet != (mails.Wallet{}) || c.of.Version != int64(c.of.Tries)+1 {
			t.Errorf("%s: %+v, want it %s, without a time and a text", name, c.of, c.want)
		}
	}
}
