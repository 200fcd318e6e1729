package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const walletSpec = "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, status TEXT, fingerprint TEXT!, " +
	"is_default BOOLEAN, due_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT"

const walletColumns = `id, merchant, shop, live, version, status, fingerprint, is_default, due_at, created_at, updated_at, doc`

var walletsTable = newTable("wallets", walletSpec,
	func(w *pay.Wallet) string { return w.ID }, func(w *pay.Wallet) int64 { return w.Version }, walletRow).uniqueRows()

type walletDoc struct {
	Label    string         `json:"label,omitempty"`
	Type     pay.WalletType `json:"type"`
	Currency string         `json:"currency"`
	Network  string         `json:"network"`
	Sealed   []byte         `json:"sealed"`
	Masked   string         `json:"masked"`
	ActiveAt int64          `json:"activeAt"`
	Holder   []byte         `json:"holder,omitempty"`
	Known    []string       `json:"known,omitempty"`
}

func walletRow(r *rows, w *pay.Wallet) {
	doc := walletDoc{w.Label, w.Type, w.Currency, w.Network, w.Sealed, w.Masked, micros(w.ActiveAt), w.Holder, w.Known}
	r.text(w.ID, w.Merchant, w.Shop).flag(w.Live).number(w.Version).text(string(w.Status), w.Fingerprint).flag(w.Default).
		number(micros(w.DueAt), micros(w.CreatedAt), micros(w.UpdatedAt)).text(encode(doc))
}

func scanWallet(r row) (pay.Wallet, error) {
	var w pay.Wallet
	var due, created, updated int64
	var text string
	err := r.Scan(&w.ID, &w.Merchant, &w.Shop, &w.Live, &w.Version, &w.Status, &w.Fingerprint, &w.Default, &due, &created, &updated, &text)
	if err != nil {
		return w, err
	}
	var doc walletDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return w, fmt.Errorf("wallet %s: %w", w.ID, err)
	}
	w.Label, w.Type, w.Currency, w.Network = doc.Label, doc.Type, doc.Currency, doc.Network
	w.Holder, w.Known = doc.Holder, doc.Known
	w.Sealed, w.Masked, w.ActiveAt = doc.Sealed, doc.Masked, fromMicros(doc.ActiveAt)
	w.DueAt, w.CreatedAt, w.UpdatedAt = fromMicros(due), fromMicros(created), fromMicros(updated)
	return w, nil
}

const (
	selectWallet        = `SELECT ` + walletColumns + ` FROM wallets WHERE id = $1 AND shop = $2 AND live = $3`
	selectDefaultWallet = `SELECT ` + walletColumns + ` FROM wallets WHERE shop = $1 AND live = $2 AND is_default`
	selectWalletFor     = `
SELECT ` + walletColumns + ` FROM wallets WHERE shop = $1 AND live = $2 AND fingerprint = $3 AND status <> 'disabled'`
	listWallets = `
SELECT ` + walletColumns + ` FROM wallets WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id < $4
ORDER BY id DESC LIMIT $5 OFFSET $6`
	countWallets = `SELECT count(*) FROM wallets WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3)`
)

// Wallet reads a shop's wallet, a disabled one too. ErrNotFound also where it
// is another's.
func (s *Store) Wallet(ctx context.Context, scope pay.Scope, id string) (pay.Wallet, error) {
	return one(ctx, s, selectWallet, scanWallet, id, scope.Shop, scope.Live)
}

// DefaultWallet reads the wallet that a shop's withdrawals go to when they
// name none.
func (s *Store) DefaultWallet(ctx context.Context, scope pay.Scope) (pay.Wallet, error) {
	return one(ctx, s, selectDefaultWallet, scanWallet, scope.Shop, scope.Live)
}

// WalletFor reads the shop's wallet that has a destination and is not disabled.
func (s *Store) WalletFor(ctx context.Context, scope pay.Scope, fingerprint string) (pay.Wallet, error) {
	return one(ctx, s, selectWalletFor, scanWallet, scope.Shop, scope.Live, fingerprint)
}

// Wallets lists a shop's wallets, newest first, and counts them. An empty
// status selects all.
func (s *Store) Wallets(ctx context.Context, scope pay.Scope, status pay.WalletStatus, page Page) ([]pay.Wallet, int64, error) {
	total, err := one(ctx, s, countWallets, scanInt, scope.Shop, scope.Live, string(status))
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listWallets, scanWallet, scope.Shop, scope.Live, string(status), before(page.After), page.Limit, page.Offset)
	return list, total, err
}

// LeaseWallets takes wallets whose cool-down is over.
func (s *Store) LeaseWallets(ctx context.Context, now, until time.Time, limit int) ([]pay.Wallet, error) {
	return leased(ctx, s, walletDuty, scanWallet, now, until, limit)
}

// leased takes rows of a duty that are due.
func leased[T any](ctx context.Context, s *Store, d duty, scan func(row) (T, error), now, until time.Time, limit int) ([]T, error) {
	var list []T
	err := s.lease(ctx, d, now, until, limit, func(r row) error {
		item, err := scan(r)
		if err == nil {
			list = append(list, item)
		}
		return err
	})
	return list, err
}

const selectWalletsAfter = `SELECT ` + walletColumns + ` FROM wallets WHERE id > $1 ORDER BY id LIMIT $2`

// WalletsAfter reads everybody's wallets by their ids from one on, deleted ones too.
func (s *Store) WalletsAfter(ctx context.Context, id string, limit int) ([]pay.Wallet, error) {
	return many(ctx, s, selectWalletsAfter, scanWallet, id, limit)
}
