package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

const accountColumns = "id, version, adapter, live, merchant, status, priority, credentials, credentials_before, rotated_at, created_at, updated_at, doc"

// A new account is guarded too: an id is given once, for good.
var accountsTable = newTable("provider_accounts", "id TEXT!, version BIGINT, adapter TEXT!, live BOOLEAN!, merchant TEXT!, status TEXT, "+
	"priority BIGINT, credentials TEXT, credentials_before TEXT, rotated_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT",
	func(a *pay.ProviderAccount) string { return a.ID }, func(a *pay.ProviderAccount) int64 { return a.Version },
	func(r *rows, a *pay.ProviderAccount) {
		r.text(a.ID).number(a.Version).text(a.Adapter).flag(a.Live).text(a.Merchant, string(a.Status)).number(int64(a.Priority)).
			text(base64.StdEncoding.EncodeToString(a.Credentials), base64.StdEncoding.EncodeToString(a.Before)).
			number(micros(a.RotatedAt), micros(a.CreatedAt), micros(a.UpdatedAt)).
			text(encode(accountDoc{a.BaseURL, a.Rails, a.Terms}))
	}).onceOnly()

// accountDoc is what no query asks for.
type accountDoc struct {
	BaseURL string          `json:"baseUrl,omitempty"`
	Rails   []string        `json:"rails,omitempty"`
	Terms   []pay.RailTerms `json:"terms,omitempty"`
}

func accounts(c *pay.Change) []pay.ProviderAccount { return c.Accounts }

func scanAccount(r row) (a pay.ProviderAccount, err error) {
	var priority, rotated, created, updated int64
	var credentials, before, doc string
	if err := r.Scan(&a.ID, &a.Version, &a.Adapter, &a.Live, &a.Merchant, &a.Status, &priority, &credentials, &before,
		&rotated, &created, &updated, &doc); err != nil {
		return a, err
	}
	var more accountDoc
	var errs [3]error
	a.Credentials, errs[0] = base64.StdEncoding.DecodeString(credentials)
	a.Before, errs[1] = base64.StdEncoding.DecodeString(before)
	errs[2] = json.Unmarshal([]byte(doc), &more)
	if err := errors.Join(errs[:]...); err != nil {
		return a, fmt.Errorf("provider account %s: %w", a.ID, err)
	}
	a.Priority, a.RotatedAt, a.CreatedAt, a.UpdatedAt = int(priority), fromMicros(rotated), fromMicros(created), fromMicros(updated)
	a.BaseURL, a.Rails, a.Terms = more.BaseURL, more.Rails, more.Terms
	return a, nil
}

const (
	selectAccounts     = `SELECT ` + accountColumns + ` FROM provider_accounts ORDER BY live, merchant, priority, id`
	selectAccount      = `SELECT ` + accountColumns + ` FROM provider_accounts WHERE id = $1`
	selectAccountsMark = `SELECT CAST(coalesce(sum(version), 0) AS BIGINT) FROM provider_accounts`
	// An attempt names its account in the payment's document. Replacing tells on
	// both engines whether it does, whatever letters an id has.
	selectOpenAt = `
SELECT (SELECT count(*) FROM processing WHERE replace(doc, $1, '') <> doc)
  + (SELECT count(*) FROM payments WHERE status = 'pending' AND replace(doc, $1, '') <> doc)
  + (SELECT count(*) FROM claims AS c JOIN payments AS p ON p.id = c.payment WHERE c.status = 'pending' AND replace(p.doc, $1, '') <> p.doc)
  + (SELECT count(*) FROM withdrawals WHERE status = 'processing' AND provider = $2)`
)

// Accounts reads all provider accounts, the removed ones too.
func (s *Store) Accounts(ctx context.Context) ([]pay.ProviderAccount, error) {
	return many(ctx, s, selectAccounts, scanAccount)
}

// Account reads a provider account. ErrNotFound where there never was one.
func (s *Store) Account(ctx context.Context, id string) (pay.ProviderAccount, error) {
	return one(ctx, s, selectAccount, scanAccount, id)
}

// AccountsMark moves with every change of an account: rows are not deleted, and a
// change adds one to a version.
func (s *Store) AccountsMark(ctx context.Context) (mark int64, err error) {
	return one(ctx, s, selectAccountsMark, func(r row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	})
}

// OpenAt counts the payments, refunds and withdrawals that are not decided yet and went to a
// provider account. It scans what is open: it is for the operator.
func (s *Store) OpenAt(ctx context.Context, account string) (int, error) {
	n, err := one(ctx, s, selectOpenAt, func(r row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	}, `"provider":"`+account+`"`, account)
	return int(n), err
}

func accountQueries() []string {
	return []string{accountsTable.insert, accountsTable.update, selectAccounts, selectAccount, selectAccountsMark, selectOpenAt}
}

// accountRules are the invariants of provider accounts (check.go).
var accountRules = []rule{
	{"a removed provider account keeps no credentials, every other has some", `
SELECT id, status FROM provider_accounts WHERE (status = 'removed') <> (credentials = '') OR (status = 'removed' AND credentials_before <> '')`},
	{"a provider account for one merchant is of one that exists", `
SELECT a.id, a.merchant FROM provider_accounts AS a LEFT JOIN merchants AS m ON m.id = a.merchant WHERE a.merchant <> '' AND m.id IS NULL`},
}
