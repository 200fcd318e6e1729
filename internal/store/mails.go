package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

var mailsTable = newTable("mails", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, object TEXT!, status TEXT, tries BIGINT, "+
	"due_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT",
	func(m *pay.Mail) string { return m.ID }, func(m *pay.Mail) int64 { return m.Version },
	func(r *rows, m *pay.Mail) {
		r.text(m.ID, m.Merchant, m.Shop).flag(m.Live).number(m.Version).text(m.Object, string(m.Status)).
			number(int64(m.Tries), micros(m.DueAt), micros(m.CreatedAt), micros(m.UpdatedAt)).text(writeNotice(m.About))
	})

func mails(c *pay.Change) []pay.Mail { return c.Mails }

const (
	mailColumns = `id, merchant, shop, live, version, object, status, tries, due_at, created_at, updated_at, doc`

	countMails   = `SELECT count(*) FROM mails WHERE merchant = $1 AND created_at > $2`
	waitingMails = `SELECT count(*) FROM mails WHERE due_at > 0`
)

var mailDuty = newDuty("mails", "mails", "d.due_at > 0", mailColumns)

type noticeDoc struct {
	To          string       `json:"to"`
	Language    pay.Language `json:"language"`
	Merchant    string       `json:"merchant"`
	Wallet      string       `json:"wallet"`
	Network     string       `json:"network"`
	Currency    string       `json:"currency"`
	Destination string       `json:"destination"`
	Key         string       `json:"key"`
	AddedAt     int64        `json:"addedAt"`
	ActiveAt    int64        `json:"activeAt"`
}

// writeNotice is what an e-mail tells, as it is stored; {} where it tells nothing any more.
func writeNotice(n pay.WalletNotice) string {
	if n == (pay.WalletNotice{}) {
		return "{}"
	}
	return encode(noticeDoc{n.To, n.Language, n.Merchant, n.Wallet, n.Network, n.Currency, n.Destination, n.Key, micros(n.AddedAt), micros(n.ActiveAt)})
}

func scanMail(r row) (m pay.Mail, err error) {
	var due, created, updated int64
	var text string
	if err := r.Scan(&m.ID, &m.Merchant, &m.Shop, &m.Live, &m.Version, &m.Object, &m.Status, &m.Tries, &due, &created, &updated, &text); err != nil {
		return m, err
	}
	var d noticeDoc
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return m, fmt.Errorf("mail %s: %w", m.ID, err)
	}
	m.About = pay.WalletNotice{
		To: d.To, Language: d.Language, Merchant: d.Merchant, Wallet: d.Wallet, Network: d.Network, Currency: d.Currency,
		Destination: d.Destination, Key: d.Key, AddedAt: fromMicros(d.AddedAt), ActiveAt: fromMicros(d.ActiveAt),
	}
	m.DueAt, m.CreatedAt, m.UpdatedAt = fromMicros(due), fromMicros(created), fromMicros(updated)
	return m, nil
}

// LeaseMails takes e-mails that are due; nobody else gets them before until.
func (s *Store) LeaseMails(ctx context.Context, now, until time.Time, limit int) ([]pay.Mail, error) {
	return leased(ctx, s, mailDuty, scanMail, now, until, limit)
}

// CountMails counts a merchant's e-mails since a time.
func (s *Store) CountMails(ctx context.Context, merchant string, since time.Time) (int64, error) {
	return one(ctx, s, countMails, scanInt, merchant, micros(since))
}

// WaitingMails counts the e-mails that are not over.
func (s *Store) WaitingMails(ctx context.Context) (int64, error) {
	return one(ctx, s, waitingMails, scanInt)
}

func mailQueries() []string {
	return []string{countMails, mailsTable.insert, mailsTable.update, waitingMails}
}

// mailRules are the invariants of e-mails (check.go).
var mailRules = []rule{
	{"an e-mail that waits has a time, one that is over has neither a time nor an address", `
SELECT id, status || ' due at ' || due_at || CASE WHEN doc = '{}' THEN ', telling nothing' ELSE ', telling something' END FROM mails
WHERE (status = 'waiting') <> (due_at > 0) OR (status = 'waiting') <> (doc <> '{}')`},
	{"an e-mail is about a wallet of its merchant", `
SELECT m.id, m.object FROM mails AS m LEFT JOIN wallets AS w ON w.id = m.object
WHERE w.id IS NULL OR w.merchant <> m.merchant OR w.shop <> m.shop OR w.live <> m.live`},
}
