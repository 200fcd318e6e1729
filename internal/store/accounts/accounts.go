package accounts

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table provider_accounts. New accounts are guarded too: an id is used once, for good.
var Table = table.Describe(table.Table[accounts.Account]{
	Name:    "provider_accounts",
	Hashed:  true,
	Lock:    170,
	Of:      func(c *pay.Change) []accounts.Account { return c.Accounts },
	ID:      func(a *accounts.Account) string { return a.ID },
	Version: func(a *accounts.Account) int64 { return a.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, a *accounts.Account) {
		f.Text("id!", &a.ID)
		f.Number("version", &a.Version)
		f.Text("adapter!", &a.Adapter)
		f.Flag("live!", &a.Live)
		f.Text("merchant!", &a.Merchant)
		table.Word(f, "status", &a.Status)
		f.Count("priority", &a.Priority)
		f.Bytes("credentials", &a.Credentials)
		f.Bytes("credentials_before", &a.Before)
		f.Time("rotated_at", &a.RotatedAt)
		f.Time("created_at!", &a.CreatedAt)
		f.Time("updated_at", &a.UpdatedAt)
		table.Document[accountDoc](f, "doc", a)
	},
})

type accountDoc struct {
	BaseURL string               `json:"baseUrl,omitempty"`
	Rails   []string             `json:"rails,omitempty"`
	Terms   []accounts.RailTerms `json:"terms,omitempty"`
}

func (d *accountDoc) Of(_ *table.Fields, a *accounts.Account) {
	*d = accountDoc{a.BaseURL, a.Rails, a.Terms}
}

func (d *accountDoc) Into(_ *table.Fields, a *accounts.Account) error {
	a.BaseURL = d.BaseURL
	a.Rails = d.Rails
	a.Terms = d.Terms
	return nil
}

var (
	selectAccounts     = engine.Statement(`SELECT ` + Table.List + ` FROM provider_accounts ORDER BY live, merchant, priority, id`)
	selectAccount      = engine.Statement(`SELECT ` + Table.List + ` FROM provider_accounts WHERE id = $1`)
	selectAccountsMark = engine.Statement(`SELECT CAST(coalesce(sum(version), 0) AS BIGINT) FROM provider_accounts`)
	selectOpenAt       = engine.Statement(`
SELECT (SELECT count(*) FROM processing AS p WHERE ` + triedAt + `)
  + (SELECT count(*) FROM payments AS p WHERE p.status = 'pending' AND ` + triedAt + `)
  + (SELECT count(*) FROM claims AS c JOIN payments AS p ON p.id = c.payment WHERE c.status = 'pending' AND ` + triedAt + `)
  + (SELECT count(*) FROM withdrawals WHERE status = 'processing' AND provider = $1)`)
)

// triedAt is the condition that an attempt of a payment is at an account.
const triedAt = "EXISTS (SELECT 1 FROM {items a p.doc attempts} WHERE {json a.value provider} = $1)"

// List reads all provider accounts, including removed ones.
func (ac Accounts) List(ctx context.Context) ([]accounts.Account, error) {
	return base.Many(ctx, ac.b, selectAccounts, Table.Scan(ac.b.Personal))
}

// Get reads a provider account. ErrNotFound if it never existed.
func (ac Accounts) Get(ctx context.Context, id string) (accounts.Account, error) {
	return base.One(ctx, ac.b, selectAccount, Table.Scan(ac.b.Personal), id)
}

// Mark moves with every change of an account: rows are never deleted, and each change raises a version by
// one.
func (ac Accounts) Mark(ctx context.Context) (mark int64, err error) {
	return base.One(ctx, ac.b, selectAccountsMark, func(r engine.Row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	})
}

// OpenAt counts the undecided payments, refunds and withdrawals at a provider account. It scans all open
// ones: it is for the operator.
func (ac Accounts) OpenAt(ctx context.Context, account string) (int, error) {
	n, err := base.One(ctx, ac.b, selectOpenAt, func(r engine.Row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	}, account)
	return int(n), err
}

// Accounts are provider accounts.
type Accounts struct{ b *base.Base }

// Accounts returns the database's Accounts.
func (o OfAccounts) Accounts() Accounts { return Accounts(o) }
