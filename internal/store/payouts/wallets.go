package payouts

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// WalletsTable is the table wallets.
var WalletsTable = table.Describe(table.Table[pay.Wallet]{
	Name:    "wallets",
	Hashed:  true,
	Lock:    230,
	Of:      func(c *pay.Change) []pay.Wallet { return c.Wallets },
	ID:      func(w *pay.Wallet) string { return w.ID },
	Version: func(w *pay.Wallet) int64 { return w.Version },
	Met:     table.DuplicateAnyhow,
	Fields: func(f *table.Fields, w *pay.Wallet) {
		f.Text("id!", &w.ID)
		f.Text("merchant!", &w.Merchant)
		f.Text("shop!", &w.Shop)
		f.Flag("live!", &w.Live)
		f.Number("version", &w.Version)
		table.Word(f, "status", &w.Status)
		f.Text("fingerprint!", &w.Fingerprint)
		f.Flag("is_default", &w.Default)
		f.Time("due_at", &w.DueAt)
		f.Time("created_at!", &w.CreatedAt)
		f.Time("updated_at", &w.UpdatedAt)
		table.Document[walletDoc](f, "doc", w)
	},
})

type walletDoc struct {
	Label     string         `json:"label,omitempty"`
	Type      pay.WalletType `json:"type"`
	Currency  string         `json:"currency"`
	Network   string         `json:"network"`
	Encrypted []byte         `json:"sealed"`
	Masked    string         `json:"masked"`
	ActiveAt  int64          `json:"activeAt"`
	Holder    []byte         `json:"holder,omitempty"`
	Known     []string       `json:"known,omitempty"`
}

func (d *walletDoc) Of(_ *table.Fields, w *pay.Wallet) {
	*d = walletDoc{
		Label:     w.Label,
		Type:      w.Type,
		Currency:  w.Currency,
		Network:   w.Network,
		Encrypted: w.Encrypted,
		Masked:    w.Masked,
		ActiveAt:  table.Micros(w.ActiveAt),
		Holder:    w.Holder,
		Known:     w.Known,
	}
}

func (d *walletDoc) Into(_ *table.Fields, w *pay.Wallet) error {
	w.Label = d.Label
	w.Type = d.Type
	w.Currency = d.Currency
	w.Network = d.Network
	w.Encrypted = d.Encrypted
	w.Masked = d.Masked
	w.ActiveAt = table.FromMicros(d.ActiveAt)
	w.Holder = d.Holder
	w.Known = d.Known
	return nil
}

var (
	selectWallet        = engine.Statement(`SELECT ` + WalletsTable.List + ` FROM wallets WHERE id = $1 AND shop = $2 AND live = $3`)
	selectDefaultWallet = engine.Statement(`SELECT ` + WalletsTable.List + ` FROM wallets WHERE shop = $1 AND live = $2 AND is_default`)
	selectWalletFor     = engine.Statement(`
SELECT ` + WalletsTable.List + ` FROM wallets WHERE shop = $1 AND live = $2 AND fingerprint = $3 AND status <> 'disabled'`)
	listWallets = engine.Statement(`
SELECT ` + WalletsTable.List + ` FROM wallets WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3) AND id < $4
ORDER BY id DESC LIMIT $5 OFFSET $6`)
	countWallets = engine.Statement(`SELECT count(*) FROM wallets WHERE shop = $1 AND live = $2 AND ($3 = '' OR status = $3)`)
)

// Get reads a shop's wallet, also a disabled one. ErrNotFound also for another shop's.
func (wa Wallets) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Wallet, error) {
	return base.One(ctx, wa.b, selectWallet, WalletsTable.Scan(wa.b.Personal), id, scope.Shop, scope.Live)
}

// Default reads the wallet for a shop's withdrawals that name none.
func (wa Wallets) Default(ctx context.Context, scope merchants.Scope) (pay.Wallet, error) {
	return base.One(ctx, wa.b, selectDefaultWallet, WalletsTable.Scan(wa.b.Personal), scope.Shop, scope.Live)
}

// For reads the shop's wallet with a destination, unless it is disabled.
func (wa Wallets) For(ctx context.Context, scope merchants.Scope, fingerprint string) (pay.Wallet, error) {
	return base.One(ctx, wa.b, selectWalletFor, WalletsTable.Scan(wa.b.Personal), scope.Shop, scope.Live, fingerprint)
}

// List lists a shop's wallets, newest first, and counts them. An empty status selects all.
func (wa Wallets) List(ctx context.Context, scope merchants.Scope, status pay.WalletStatus, page lists.Page) ([]pay.Wallet, int64, error) {
	total, err := base.One(ctx, wa.b, countWallets, base.ScanInt, scope.Shop, scope.Live, string(status))
	if err != nil {
		return nil, 0, err
	}
	list, err := base.Many(ctx, wa.b, listWallets, WalletsTable.Scan(wa.b.Personal), scope.Shop, scope.Live, string(status), base.Before(page.After), page.Limit, page.Offset)
	return list, total, err
}

// Lease leases wallets whose cool-down is over.
func (wa Wallets) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Wallet, error) {
	return base.Leased(ctx, wa.b, WalletDuty, WalletsTable.Scan(wa.b.Personal), now, until, limit)
}

var selectWalletsAfter = engine.Statement(`SELECT ` + WalletsTable.List + ` FROM wallets WHERE id > $1 ORDER BY id LIMIT $2`)

// After reads wallets of all tenants by id, from one on, also deleted ones.
func (wa Wallets) After(ctx context.Context, id string, limit int) ([]pay.Wallet, error) {
	return base.Many(ctx, wa.b, selectWalletsAfter, WalletsTable.Scan(wa.b.Personal), id, limit)
}

// WalletDuty is the due wallets.
var WalletDuty = base.NewDuty("wallets", "wallets", "d.due_at > 0", WalletsTable.List)

// Wallets are where merchants' withdrawals are paid to.
type Wallets struct{ b *base.Base }

// Wallets returns the database's Wallets.
func (o OfPayouts) Wallets() Wallets { return Wallets(o) }
