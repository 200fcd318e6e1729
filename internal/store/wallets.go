package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var walletsTable = describe(table[pay.Wallet]{
	name:    "wallets",
	of:      func(c *pay.Change) []pay.Wallet { return c.Wallets },
	id:      func(w *pay.Wallet) string { return w.ID },
	version: func(w *pay.Wallet) int64 { return w.Version },
	met:     duplicateAnyhow,
	fields: func(f *fields, w *pay.Wallet) {
		f.text("id!", &w.ID)
		f.text("merchant!", &w.Merchant)
		f.text("shop!", &w.Shop)
		f.flag("live!", &w.Live)
		f.number("version", &w.Version)
		word(f, "status", &w.Status)
		f.text("fingerprint!", &w.Fingerprint)
		f.flag("is_default", &w.Default)
		f.time("due_at", &w.DueAt)
		f.time("created_at!", &w.CreatedAt)
		f.time("updated_at", &w.UpdatedAt)
		document[walletDoc](f, "doc", w)
	},
})

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

func (d *walletDoc) of(_ *fields, w *pay.Wallet) {
	*d = walletDoc{w.Label, w.Type, w.Currency, w.Network, w.Sealed, w.Masked, micros(w.ActiveAt), w.Holder, w.Known}
}

func (d *walletDoc) into(_ *fields, w *pay.Wallet) error {
	w.Label, w.Type, w.Currency, w.Network = d.Label, d.Type, d.Currency, d.Network
	w.Sealed, w.Masked, w.ActiveAt = d.Sealed, d.Masked, fromMicros(d.ActiveAt)
	w.Holder, w.Known = d.Holder, d.Known
	return nil
}

var (
	selectWallet        = engine.Statement(`SELECT ` + walletsTable.list + ` FROM wallets WHERE id = $1 AND shop = $2 AND live = $3`)
	selectDefaultWallet = engine.Statement(`SELECT ` + walletsTable.list + ` FROM wallets WHERE shop = $1 AND live = $2 AND is_default`)
	selectWalletFor     = engine.Statement(`
SELECT ` + walletsTable.list + ` FROM wallets WHERE shop = $1 AND live = $2 AND fingerprint = $3 AND status <> 'disabled'`)
	listWallets = engine.Statement(`
SELECT ` + walletsTable.list + ` FROM wallets WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id < $4
ORDER BY id DESC LIMIT $5 OFFSET $6`)
	countWallets = engine.Statement(`SELECT count(*) FROM wallets WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3)`)
)

// Get reads a shop's wallet, a disabled one too. ErrNotFound also where it
// is another's.
func (s *Wallets) Get(ctx context.Context, scope tenant.Scope, id string) (pay.Wallet, error) {
	return one(ctx, s, selectWallet, walletsTable.scan(s), id, scope.Shop, scope.Live)
}

// Default reads the wallet that a shop's withdrawals go to when they
// name none.
func (s *Wallets) Default(ctx context.Context, scope tenant.Scope) (pay.Wallet, error) {
	return one(ctx, s, selectDefaultWallet, walletsTable.scan(s), scope.Shop, scope.Live)
}

// For reads the shop's wallet that has a destination and is not disabled.
func (s *Wallets) For(ctx context.Context, scope tenant.Scope, fingerprint string) (pay.Wallet, error) {
	return one(ctx, s, selectWalletFor, walletsTable.scan(s), scope.Shop, scope.Live, fingerprint)
}

// List lists a shop's wallets, newest first, and counts them. An empty
// status selects all.
func (s *Wallets) List(ctx context.Context, scope tenant.Scope, status pay.WalletStatus, page Page) ([]pay.Wallet, int64, error) {
	total, err := one(ctx, s, countWallets, scanInt, scope.Shop, scope.Live, string(status))
	if err != nil {
		return nil, 0, err
	}
	list, err := many(ctx, s, listWallets, walletsTable.scan(s), scope.Shop, scope.Live, string(status), before(page.After), page.Limit, page.Offset)
	return list, total, err
}

// Lease takes wallets whose cool-down is over.
func (s *Wallets) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Wallet, error) {
	return leased(ctx, s, walletDuty, walletsTable.scan(s), now, until, limit)
}

// leased takes rows of a duty that are due.
func leased[T any](ctx context.Context, b based, d duty, scan func(engine.Row) (T, error), now, until time.Time, limit int) ([]T, error) {
	s := b.base()
	var list []T
	err := s.lease(ctx, d, now, until, limit, func(r engine.Row) error {
		item, err := scan(r)
		if err == nil {
			list = append(list, item)
		}
		return err
	})
	return list, err
}

var selectWalletsAfter = engine.Statement(`SELECT ` + walletsTable.list + ` FROM wallets WHERE id > $1 ORDER BY id LIMIT $2`)

// After reads everybody's wallets by their ids from one on, deleted ones too.
func (s *Wallets) After(ctx context.Context, id string, limit int) ([]pay.Wallet, error) {
	return many(ctx, s, selectWalletsAfter, walletsTable.scan(s), id, limit)
}
