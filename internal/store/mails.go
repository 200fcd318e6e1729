package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var mailsTable = describe(table[pay.Mail]{
	name:    "mails",
	of:      func(c *pay.Change) []pay.Mail { return c.Mails },
	id:      func(m *pay.Mail) string { return m.ID },
	version: func(m *pay.Mail) int64 { return m.Version },
	fields: func(f *fields, m *pay.Mail) {
		f.text("id!", &m.ID)
		f.text("merchant!", &m.Merchant)
		f.text("shop!", &m.Shop)
		f.flag("live!", &m.Live)
		f.number("version", &m.Version)
		f.text("object!", &m.Object)
		word(f, "status", &m.Status)
		f.count("tries", &m.Tries)
		f.time("due_at", &m.DueAt)
		f.time("created_at!", &m.CreatedAt)
		f.time("updated_at", &m.UpdatedAt)
		f.converted("doc", func() string { return writeNotice(m.About) }, func(text string) error { return readNotice(text, &m.About) })
	},
})

var (
	countMails   = engine.Statement(`SELECT count(*) FROM mails WHERE merchant = $1 AND created_at > $2`)
	waitingMails = engine.Statement(`SELECT count(*) FROM mails WHERE due_at > 0`)
)

var mailDuty = newDuty("mails", "mails", "d.due_at > 0", mailsTable.list)

type noticeDoc struct {
	To          string          `json:"to"`
	Language    tenant.Language `json:"language"`
	Merchant    string          `json:"merchant"`
	Wallet      string          `json:"wallet"`
	Network     string          `json:"network"`
	Currency    string          `json:"currency"`
	Destination string          `json:"destination"`
	Key         string          `json:"key"`
	AddedAt     int64           `json:"addedAt"`
	ActiveAt    int64           `json:"activeAt"`
}

// writeNotice is what an e-mail tells, as it is stored; {} where it tells nothing any more.
func writeNotice(n pay.WalletNotice) string {
	if n == (pay.WalletNotice{}) {
		return "{}"
	}
	return encode(noticeDoc{n.To, n.Language, n.Merchant, n.Wallet, n.Network, n.Currency, n.Destination, n.Key, micros(n.AddedAt), micros(n.ActiveAt)})
}

func readNotice(text string, n *pay.WalletNotice) error {
	var d noticeDoc
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	*n = pay.WalletNotice{
		To: d.To, Language: d.Language, Merchant: d.Merchant, Wallet: d.Wallet, Network: d.Network, Currency: d.Currency,
		Destination: d.Destination, Key: d.Key, AddedAt: fromMicros(d.AddedAt), ActiveAt: fromMicros(d.ActiveAt),
	}
	return nil
}

// Lease takes e-mails that are due; nobody else gets them before until.
func (s *Mails) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Mail, error) {
	return leased(ctx, s, mailDuty, mailsTable.scan(s), now, until, limit)
}

// Count counts a merchant's e-mails since a time.
func (s *Mails) Count(ctx context.Context, merchant string, since time.Time) (int64, error) {
	return one(ctx, s, countMails, scanInt, merchant, micros(since))
}

// Waiting counts the e-mails that are not over.
func (s *Mails) Waiting(ctx context.Context) (int64, error) {
	return one(ctx, s, waitingMails, scanInt)
}

// mailRules are the invariants of e-mails (check.go).
var mailRules = invariants([]rule{
	{"an e-mail that waits has a time, one that is over has neither a time nor an address", `
SELECT id, status || ' due at ' || due_at || CASE WHEN doc = '{}' THEN ', telling nothing' ELSE ', telling something' END FROM mails
WHERE (status = 'waiting') <> (due_at > 0) OR (status = 'waiting') <> (doc <> '{}')`},
	{"an e-mail is about a wallet of its merchant", `
SELECT m.id, m.object FROM mails AS m LEFT JOIN wallets AS w ON w.id = m.object
WHERE w.id IS NULL OR w.merchant <> m.merchant OR w.shop <> m.shop OR w.live <> m.live`},
})
