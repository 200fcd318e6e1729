package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A new account is guarded too: an id is given once, for good.
var accountsTable = describe(table[acquirer.Account]{
	name:    "provider_accounts",
	of:      func(c *pay.Change) []acquirer.Account { return c.Accounts },
	id:      func(a *acquirer.Account) string { return a.ID },
	version: func(a *acquirer.Account) int64 { return a.Version },
	met:     stale,
	fields: func(f *fields, a *acquirer.Account) {
		f.text("id!", &a.ID)
		f.number("version", &a.Version)
		f.text("adapter!", &a.Adapter)
		f.flag("live!", &a.Live)
		f.text("merchant!", &a.Merchant)
		word(f, "status", &a.Status)
		f.count("priority", &a.Priority)
		f.bytes("credentials", &a.Credentials)
		f.bytes("credentials_before", &a.Before)
		f.time("rotated_at", &a.RotatedAt)
		f.time("created_at!", &a.CreatedAt)
		f.time("updated_at", &a.UpdatedAt)
		document[accountDoc](f, "doc", a)
	},
})

type accountDoc struct {
	BaseURL string               `json:"baseUrl,omitempty"`
	Rails   []string             `json:"rails,omitempty"`
	Terms   []acquirer.RailTerms `json:"terms,omitempty"`
}

func (d *accountDoc) of(_ *fields, a *acquirer.Account) {
	*d = accountDoc{a.BaseURL, a.Rails, a.Terms}
}

func (d *accountDoc) into(_ *fields, a *acquirer.Account) error {
	a.BaseURL, a.Rails, a.Terms = d.BaseURL, d.Rails, d.Terms
	return nil
}

var (
	selectAccounts     = engine.Statement(`SELECT ` + accountsTable.list + ` FROM provider_accounts ORDER BY live, merchant, priority, id`)
	selectAccount      = engine.Statement(`SELECT ` + accountsTable.list + ` FROM provider_accounts WHERE id = $1`)
	selectAccountsMark = engine.Statement(`SELECT CAST(coalesce(sum(version), 0) AS BIGINT) FROM provider_accounts`)
	// An attempt names its account in the payment's document. Replacing tells on
	// both engines whether it does, whatever letters an id has.
	selectOpenAt = engine.Statement(`
SELECT (SELECT count(*) FROM processing WHERE replace(doc, $1, '') <> doc)
  + (SELECT count(*) FROM payments WHERE status = 'pending' AND replace(doc, $1, '') <> doc)
  + (SELECT count(*) FROM claims AS c JOIN payments AS p ON p.id = c.payment WHERE c.status = 'pending' AND replace(p.doc, $1, '') <> p.doc)
  + (SELECT count(*) FROM withdrawals WHERE status = 'processing' AND provider = $2)`)
)

// List reads all provider accounts, the removed ones too.
func (s *Accounts) List(ctx context.Context) ([]acquirer.Account, error) {
	return many(ctx, s, selectAccounts, accountsTable.scan(s))
}

// Get reads a provider account. ErrNotFound where there never was one.
func (s *Accounts) Get(ctx context.Context, id string) (acquirer.Account, error) {
	return one(ctx, s, selectAccount, accountsTable.scan(s), id)
}

// Mark moves with every change of an account: rows are not deleted, and a
// change adds one to a version.
func (s *Accounts) Mark(ctx context.Context) (mark int64, err error) {
	return one(ctx, s, selectAccountsMark, func(r engine.Row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	})
}

// OpenAt counts the payments, refunds and withdrawals that are not decided yet and went to a
// provider account. It scans what is open: it is for the operator.
func (s *Accounts) OpenAt(ctx context.Context, account string) (int, error) {
	n, err := one(ctx, s, selectOpenAt, func(r engine.Row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	}, `"provider":"`+account+`"`, account)
	return int(n), err
}

// accountRules are the invariants of provider accounts (check.go).
var accountRules = invariants([]rule{
	{"a removed provider account keeps no credentials, every other has some", `
SELECT id, status FROM provider_accounts WHERE (status = 'removed') <> (credentials = '') OR (status = 'removed' AND credentials_before <> '')`},
	{"a provider account for one merchant is of one that exists", `
SELECT a.id, a.merchant FROM provider_accounts AS a LEFT JOIN merchants AS m ON m.id = a.merchant WHERE a.merchant <> '' AND m.id IS NULL`},
})
