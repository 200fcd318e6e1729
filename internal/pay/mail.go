package pay

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// MailPrefix begins the id of every e-mail.
const MailPrefix = "mail_"

// MailStatus is where an e-mail stands.
type MailStatus string

// States of an e-mail. One that failed was refused, or nobody took it for MailLife.
const (
	MailWaiting MailStatus = "waiting"
	MailSent    MailStatus = "sent"
	MailFailed  MailStatus = "failed"
)

// MailLife is for how long an e-mail is tried.
const MailLife = 48 * time.Hour

// mailPauses are between tries; the last one goes on.
var mailPauses = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour}

// Mail is an e-mail to a merchant about a new wallet, written with it in one Change. It is sent
// once at least: a second one of the same id harms nobody.
type Mail struct {
	ID string // mail_…, with the suffix of the wallet's
	tenant.Scope
	Version   int64
	Object    string // id of the wallet
	Status    MailStatus
	Tries     int
	DueAt     time.Time // next try; while leased, the end of the lease; zero once it is over
	CreatedAt time.Time
	UpdatedAt time.Time
	About     WalletNotice // empty once it is over
}

// WalletNotice is what an e-mail tells of a new wallet. It holds nothing that the thief of a key
// chose freely, such as the wallet's label: his words would come to the merchant in our name.
type WalletNotice struct {
	To          string // address, as the merchant gave it
	Language    tenant.Language
	Merchant    string // name
	Wallet      string // id
	Network     string
	Currency    string
	Destination string // masked
	Key         string // preview of the key that added it
	AddedAt     time.Time
	ActiveAt    time.Time // when it can be paid to
}

// Mail returns the e-mail that tells a merchant of the new wallet, and of the key whose preview
// it is. False where there is none: in the sandbox, where a wallet harms nobody, and where the
// merchant has no address.
func (w Wallet) Mail(m tenant.Merchant, preview string) (Mail, bool) {
	to := strings.TrimSpace(m.Email)
	if !w.Live || to == "" {
		return Mail{}, false
	}
	return Mail{
		ID: MailPrefix + strings.TrimPrefix(w.ID, WalletPrefix), Scope: w.Scope, Version: 1, Object: w.ID,
		Status: MailWaiting, DueAt: w.CreatedAt, CreatedAt: w.CreatedAt, UpdatedAt: w.CreatedAt,
		About: WalletNotice{
			To: to, Language: m.Language, Merchant: m.Name, Wallet: w.ID, Network: w.Network, Currency: w.Currency,
			Destination: w.Masked, Key: preview, AddedAt: w.CreatedAt, ActiveAt: w.ActiveAt,
		},
	}, true
}

// Sent notes that a server took the e-mail.
func (m Mail) Sent(now time.Time) (Mail, Change) { return m.over(MailSent, now) }

// Refused notes that a server refused it for good.
func (m Mail) Refused(now time.Time) (Mail, Change) { return m.over(MailFailed, now) }

// Retry notes a try that nobody knows to have done anything. The next one follows after a pause,
// unless MailLife is over then: the e-mail has failed.
func (m Mail) Retry(now time.Time) (Mail, Change) {
	again := now.Add(mailPauses[min(m.Tries, len(mailPauses)-1)])
	if again.Sub(m.CreatedAt) > MailLife {
		return m.over(MailFailed, now)
	}
	m.Version++
	m.Tries++
	m.DueAt, m.UpdatedAt = again, now
	return m, Change{Mails: []Mail{m}}
}

// over ends the e-mail after a try. The address and what it told are forgotten.
func (m Mail) over(s MailStatus, now time.Time) (Mail, Change) {
	m.Version++
	m.Tries++
	m.Status, m.DueAt, m.UpdatedAt, m.About = s, time.Time{}, now, WalletNotice{}
	return m, Change{Mails: []Mail{m}}
}
