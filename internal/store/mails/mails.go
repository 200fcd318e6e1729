package mails

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table mails.
var Table = table.Describe(table.Table[mails.Message]{
	Name:    "mails",
	Hashed:  true,
	Lock:    240,
	Of:      func(c *pay.Change) []mails.Message { return c.Mails },
	ID:      func(m *mails.Message) string { return m.ID },
	Version: func(m *mails.Message) int64 { return m.Version },
	Fields: func(f *table.Fields, m *mails.Message) {
		f.Text("id!", &m.ID)
		f.Text("merchant!", &m.Merchant)
		f.Text("shop!", &m.Shop)
		f.Flag("live!", &m.Live)
		f.Number("version", &m.Version)
		f.Text("object!", &m.Object)
		table.Word(f, "status", &m.Status)
		f.Count("tries", &m.Tries)
		f.Time("due_at", &m.DueAt)
		f.Time("created_at!", &m.CreatedAt)
		f.Time("updated_at", &m.UpdatedAt)
		f.Converted("doc", func() string { return writeMail(f.Personal, m) }, func(text string) error { return readMail(f.Personal, text, m) })
	},
})

var (
	countMails   = engine.Statement(`SELECT count(*) FROM mails WHERE merchant = $1 AND created_at > $2 AND substr(object, 1, length($3)) = $3`)
	anySentMail  = engine.Statement(`SELECT count(*) FROM (SELECT 1 FROM mails WHERE status = 'sent' LIMIT 1) AS sent`)
	waitingMails = engine.Statement(`SELECT count(*) FROM mails WHERE due_at > 0`)
)

// Duty is the due mails.
var Duty = base.NewDuty("mails", "mails", "d.due_at > 0", Table.List)

type noticeDoc struct {
	To          string             `json:"to"`
	Language    merchants.Language `json:"language"`
	Merchant    string             `json:"merchant"`
	Wallet      string             `json:"wallet"`
	Network     string             `json:"network"`
	Currency    string             `json:"currency"`
	Destination string             `json:"destination"`
	Key         string             `json:"key"`
	AddedAt     int64              `json:"addedAt"`
	ActiveAt    int64              `json:"activeAt"`
	Link        string             `json:"link,omitempty"` // of an e-mail with a link
	Shop        string             `json:"shop,omitempty"`
	User        string             `json:"user,omitempty"`
	Receipt     string             `json:"receipt,omitempty"` // of an e-mail with a receipt
	Alert       string             `json:"alert,omitempty"`   // of an e-mail with an alert
}

type alertDoc struct {
	To       string             `json:"to"`
	Language merchants.Language `json:"language"`
	What     people.What        `json:"what"`
	At       int64              `json:"at"`
	Address  string             `json:"address,omitempty"`
	Browser  string             `json:"browser,omitempty"`
	By       string             `json:"by,omitempty"`
	Merchant string             `json:"merchant,omitempty"`
	Role     people.Role        `json:"role,omitempty"`
	User     string             `json:"user,omitempty"`
	Shop     string             `json:"shop,omitempty"`
	Key      string             `json:"key,omitempty"`
	Until    int64              `json:"until,omitempty"`
	Last     bool               `json:"last,omitempty"`
}

type receiptDoc struct {
	To          string             `json:"to"`
	Language    merchants.Language `json:"language"`
	Shop        string             `json:"shop"`
	Payment     string             `json:"payment"`
	Order       string             `json:"order,omitempty"`
	Description string             `json:"description,omitempty"`
	Currency    money.Currency     `json:"currency"`
	Paid        int64              `json:"paid"`
	Back        int64              `json:"back,omitempty"`
	PaidAt      int64              `json:"paidAt"`
	Test        bool               `json:"test,omitempty"`
	Plan        *planDoc           `json:"plan,omitempty"` // of installments
}

// planDoc is the installments in which the shopper paid.
type planDoc struct {
	Count         int               `json:"count"`
	Each          int64             `json:"each,omitempty"` // minor units
	EachCurrency  money.Currency    `json:"eachCurrency,omitempty"`
	Total         int64             `json:"total,omitempty"` // minor units
	TotalCurrency money.Currency    `json:"totalCurrency,omitempty"`
	By            installment.Payer `json:"by,omitempty"`
}

// planDocOf returns nil for a payment at once.
func planDocOf(p installment.Plan) *planDoc {
	if p == (installment.Plan{}) {
		return nil
	}
	return &planDoc{
		Count:         p.Count,
		Each:          p.Each.Minor,
		EachCurrency:  p.Each.Currency,
		Total:         p.Total.Minor,
		TotalCurrency: p.Total.Currency,
		By:            p.By,
	}
}

func (d *planDoc) plan() installment.Plan {
	if d == nil {
		return installment.Plan{}
	}
	return installment.Plan{Count: d.Count, Each: money.New(d.Each, d.EachCurrency), Total: money.New(d.Total, d.TotalCurrency), By: d.By}
}

type linkDoc struct {
	To       string             `json:"to"`
	Language merchants.Language `json:"language"`
	Kind     people.LinkKind    `json:"kind"`
	Merchant string             `json:"merchant"`
	Address  string             `json:"address"`
	EndsAt   int64              `json:"endsAt"`
}

// writeMail is an e-mail's content as stored; {} once it is removed. A link is encrypted, because whoever has it is
// let in, and so are a receipt and an alert, which name people.
func writeMail(p table.Personal, m *mails.Message) string {
	if m.Wallet == (mails.Wallet{}) && m.Link == (mails.Link{}) && m.Receipt == (mails.Receipt{}) && m.Alert == (mails.Alert{}) {
		return "{}"
	}
	n := m.Wallet
	d := noticeDoc{
		To:          n.To,
		Language:    n.Language,
		Merchant:    n.Merchant,
		Wallet:      n.Wallet,
		Network:     n.Network,
		Currency:    n.Currency,
		Destination: n.Destination,
		Key:         n.Key,
		Shop:        n.Shop,
		User:        n.User,
		AddedAt:     table.Micros(n.AddedAt),
		ActiveAt:    table.Micros(n.ActiveAt),
	}
	if l := m.Link; l != (mails.Link{}) {
		text := table.Encode(linkDoc{
			To:       l.To,
			Language: l.Language,
			Kind:     l.Kind,
			Merchant: l.Merchant,
			Address:  l.Address,
			EndsAt:   table.Micros(l.EndsAt),
		})
		d.Link = p.Encrypt(table.MailLink.About(m.ID), []byte(text))
	}
	if r := m.Receipt; r != (mails.Receipt{}) {
		text := table.Encode(receiptDoc{
			To:          r.To,
			Language:    r.Language,
			Shop:        r.Shop,
			Payment:     r.Payment,
			Order:       r.Order,
			Description: r.Description,
			Currency:    r.Paid.Currency,
			Paid:        r.Paid.Minor,
			Back:        r.Back.Minor,
			PaidAt:      table.Micros(r.PaidAt),
			Test:        r.Test,
			Plan:        planDocOf(r.Plan),
		})
		d.Receipt = p.Encrypt(table.MailLink.About(m.ID), []byte(text))
	}
	if a := m.Alert; a != (mails.Alert{}) {
		n := a.News
		text := table.Encode(alertDoc{
			To:       a.To,
			Language: a.Language,
			What:     n.What,
			At:       table.Micros(n.At),
			Address:  n.Address,
			Browser:  n.Browser,
			By:       n.By,
			Merchant: n.Merchant,
			Role:     n.Role,
			User:     a.User,
			Shop:     a.Shop,
			Key:      a.Key,
			Until:    table.Micros(a.Until),
			Last:     a.Last,
		})
		d.Alert = p.Encrypt(table.MailLink.About(m.ID), []byte(text))
	}
	return table.Encode(d)
}

func readMail(p table.Personal, text string, m *mails.Message) error {
	var d noticeDoc
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	m.Wallet = mails.Wallet{
		To:          d.To,
		Language:    d.Language,
		Merchant:    d.Merchant,
		Wallet:      d.Wallet,
		Network:     d.Network,
		Currency:    d.Currency,
		Destination: d.Destination,
		Key:         d.Key,
		Shop:        d.Shop,
		User:        d.User,
		AddedAt:     table.FromMicros(d.AddedAt),
		ActiveAt:    table.FromMicros(d.ActiveAt),
	}
	m.Link, m.Receipt, m.Alert = mails.Link{}, mails.Receipt{}, mails.Alert{}
	if d.Alert != "" {
		if err := readAlert(p, d.Alert, m); err != nil {
			return err
		}
	}
	if d.Receipt != "" {
		if err := readReceipt(p, d.Receipt, m); err != nil {
			return err
		}
	}
	if d.Link == "" {
		return nil
	}
	plain, err := p.Decrypt(table.MailLink.About(m.ID), d.Link)
	if err != nil {
		return err
	}
	var l linkDoc
	if err := json.Unmarshal(plain, &l); err != nil {
		return err
	}
	m.Link = mails.Link{To: l.To, Language: l.Language, Kind: l.Kind, Merchant: l.Merchant, Address: l.Address, EndsAt: table.FromMicros(l.EndsAt)}
	return nil
}

func readReceipt(p table.Personal, encrypted string, m *mails.Message) error {
	plain, err := p.Decrypt(table.MailLink.About(m.ID), encrypted)
	if err != nil {
		return err
	}
	var r receiptDoc
	if err := json.Unmarshal(plain, &r); err != nil {
		return err
	}
	m.Receipt = mails.Receipt{
		To:          r.To,
		Language:    r.Language,
		Shop:        r.Shop,
		Payment:     r.Payment,
		Order:       r.Order,
		Description: r.Description,
		Paid:        money.New(r.Paid, r.Currency),
		Back:        money.New(r.Back, r.Currency),
		PaidAt:      table.FromMicros(r.PaidAt),
		Test:        r.Test,
		Plan:        r.Plan.plan(),
	}
	return nil
}

func readAlert(p table.Personal, encrypted string, m *mails.Message) error {
	plain, err := p.Decrypt(table.MailLink.About(m.ID), encrypted)
	if err != nil {
		return err
	}
	var a alertDoc
	if err := json.Unmarshal(plain, &a); err != nil {
		return err
	}
	m.Alert = mails.Alert{
		To:       a.To,
		Language: a.Language,
		User:     a.User,
		Shop:     a.Shop,
		Key:      a.Key,
		Until:    table.FromMicros(a.Until),
		Last:     a.Last,
		News: people.News{
			What:     a.What,
			At:       table.FromMicros(a.At),
			Address:  a.Address,
			Browser:  a.Browser,
			By:       a.By,
			Merchant: a.Merchant,
			Role:     a.Role,
		},
	}
	return nil
}

// Lease leases due e-mails; nobody else gets them before until.
func (m Mails) Lease(ctx context.Context, now, until time.Time, limit int) ([]mails.Message, error) {
	return base.Leased(ctx, m.b, Duty, Table.Scan(m.b.Personal), now, until, limit)
}

// Count counts a merchant's e-mails since a time about objects whose ids begin with of: one object, or all of a kind.
func (m Mails) Count(ctx context.Context, merchant, of string, since time.Time) (int64, error) {
	return base.One(ctx, m.b, countMails, base.ScanInt, merchant, table.Micros(since), of)
}

// Sent reports whether an e-mail was ever sent from this database.
func (m Mails) Sent(ctx context.Context) (bool, error) {
	n, err := base.One(ctx, m.b, anySentMail, base.ScanInt)
	return n > 0, err
}

// Waiting counts the e-mails that are not finished.
func (m Mails) Waiting(ctx context.Context) (int64, error) {
	return base.One(ctx, m.b, waitingMails, base.ScanInt)
}

// Mails are e-mails to merchants and users.
type Mails struct{ b *base.Base }

// Mails returns the database's Mails.
func (o OfMails) Mails() Mails { return Mails(o) }
