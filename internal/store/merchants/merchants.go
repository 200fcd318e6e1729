package merchants

import (
	"context"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table merchants.
var Table = table.Describe(table.Table[merchants.Merchant]{
	Name:    "merchants",
	Hashed:  true,
	Lock:    100,
	Of:      func(c *pay.Change) []merchants.Merchant { return c.Merchants },
	ID:      func(m *merchants.Merchant) string { return m.ID },
	Version: func(m *merchants.Merchant) int64 { return m.Version },
	Fields: func(f *table.Fields, m *merchants.Merchant) {
		f.Text("id!", &m.ID)
		f.Number("version", &m.Version)
		f.Text("name", &m.Name)
		f.Text("email", &m.Email)
		f.Text("industry", &m.Industry)
		table.Word(f, "tier", &m.Tier)
		f.Count("trust_score", &m.TrustScore)
		table.Word(f, "language", &m.Language)
		table.Word(f, "refund_fees", &m.RefundFees)
		table.Word(f, "installments", &m.Installments)
		table.JSONList(f, "assignments", &m.Assignments)
		f.Flag("strict", &m.Strict)
		f.Text("paused", &m.Paused)
		f.Time("paused_at", &m.PausedAt)
		f.Text("close_reason", &m.Leaving.Reason)
		f.Time("closed_at", &m.Leaving.ClosedAt)
		f.Time("emptied_at", &m.Leaving.EmptiedAt)
		f.Time("warned_at", &m.Leaving.WarnedAt)
		f.Time("erased_at", &m.Leaving.ErasedAt)
		f.Time("gone_at", &m.Leaving.GoneAt)
		f.Flag("sandbox_off", &m.SandboxOff)
		f.Time("created_at!", &m.CreatedAt)
	},
})

// ShopsTable is the table shops.
var ShopsTable = table.Describe(table.Table[merchants.Shop]{
	Name:    "shops",
	Hashed:  true,
	Lock:    110,
	Of:      func(c *pay.Change) []merchants.Shop { return c.Shops },
	ID:      func(v *merchants.Shop) string { return v.ID },
	Version: func(v *merchants.Shop) int64 { return v.Version },
	Fields: func(f *table.Fields, v *merchants.Shop) {
		f.Text("id!", &v.ID)
		f.Number("version", &v.Version)
		f.Text("merchant!", &v.Merchant)
		f.Text("name", &v.Name)
		f.Text("slug", &v.Slug)
		f.Time("created_at!", &v.CreatedAt)
		f.JSON("brand", &v.Brand)
		f.JSON("schemes", &v.Schemes)
	},
})

// LogosTable is the table logos.
var LogosTable = table.Describe(table.Table[merchants.Logo]{
	Name:   "logos",
	Hashed: true,
	Lock:   380,
	Of:     func(c *pay.Change) []merchants.Logo { return c.Logos },
	ID:     func(l *merchants.Logo) string { return l.ID },
	Met:    table.Stays,
	Fields: func(f *table.Fields, l *merchants.Logo) {
		f.Text("id!", &l.ID)
		f.Text("kind!", &l.Kind)
		f.Bytes("body!", &l.Body)
	},
})

// KeysTable is the table keys.
var KeysTable = table.Describe(table.Table[merchants.Key]{
	Name:    "keys",
	Hashed:  true,
	Lock:    120,
	Of:      func(c *pay.Change) []merchants.Key { return c.Keys },
	ID:      func(k *merchants.Key) string { return k.ID },
	Version: func(k *merchants.Key) int64 { return k.Version },
	Fields: func(f *table.Fields, k *merchants.Key) {
		f.Text("id!", &k.ID)
		f.Text("merchant!", &k.Merchant)
		f.Text("shop!", &k.Shop)
		f.Flag("live!", &k.Live)
		f.Number("version", &k.Version)
		table.Word(f, "kind!", &k.Kind)
		f.Text("hash!", &k.Hash)
		f.Text("preview!", &k.Preview)
		f.Time("created_at!", &k.CreatedAt)
		f.Time("revoked_at", &k.RevokedAt)
		f.Time("ends_at", &k.EndsAt)
		f.Converted("rights", func() string { return merchants.WriteRights(k.Rights) }, func(text string) (err error) {
			k.Rights, err = merchants.ParseRights(text)
			return err
		})
		f.Text("successor", &k.Successor)
	},
})

// LoginsTable is the table logins.
var LoginsTable = table.Describe(table.Table[merchants.Login]{
	Name:    "logins",
	Hashed:  true,
	Lock:    130,
	Of:      func(c *pay.Change) []merchants.Login { return c.Logins },
	ID:      func(l *merchants.Login) string { return l.ID },
	Version: func(l *merchants.Login) int64 { return l.Version },
	Fields: func(f *table.Fields, l *merchants.Login) {
		f.Text("id!", &l.ID)
		f.Text("merchant!", &l.Merchant)
		f.Text("shop!", &l.Shop)
		f.Flag("live!", &l.Live)
		f.Number("version", &l.Version)
		f.Text("key_id!", &l.Key)
		f.Time("expires_at", &l.ExpiresAt)
		f.Time("revoked_at", &l.RevokedAt)
		f.Time("created_at!", &l.CreatedAt)
	},
})

var (
	selectMerchant = engine.Statement(`SELECT ` + Table.ListOf("m") + ` FROM merchants AS m WHERE m.id = $1`)
)

// Get reads a merchant by id.
func (m Merchants) Get(ctx context.Context, id string) (merchants.Merchant, error) {
	return base.One(ctx, m.b, selectMerchant, Table.Scan(m.b.Personal), id)
}

var listMerchants = engine.Statement(`SELECT ` + Table.ListOf("m") + ` FROM merchants AS m WHERE m.id > $1 ORDER BY m.id LIMIT $2`)

// List lists merchants by id, after one.
func (m Merchants) List(ctx context.Context, after string, limit int) ([]merchants.Merchant, error) {
	return base.Many(ctx, m.b, listMerchants, Table.Scan(m.b.Personal), after, limit)
}

var findMerchants = engine.Statement(`SELECT ` + Table.ListOf("m") + ` FROM merchants AS m
WHERE m.id < $1 AND ($2 = '' OR lower(m.name) LIKE $2 ESCAPE '!' OR lower(m.email) LIKE $2 ESCAPE '!') ORDER BY m.id DESC LIMIT $3`)

// Find lists merchants whose name or e-mail address contains a text, newest first, before the one with an id; ""
// is the beginning. It is for the operator: it reads all merchants, of which there are few.
func (m Merchants) Find(ctx context.Context, text, before string, limit int) ([]merchants.Merchant, error) {
	if before == "" {
		before = "~"
	}
	if text != "" {
		text = "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(text)) + "%"
	}
	return base.Many(ctx, m.b, findMerchants, Table.Scan(m.b.Personal), before, text, limit)
}

var leavingMerchants = engine.Statement(`SELECT ` + Table.ListOf("m") + ` FROM merchants AS m WHERE m.closed_at > 0 AND m.gone_at = 0 AND m.id > $1 ORDER BY m.id LIMIT $2`)

// Leaving lists merchants that are closed and of which something of their own is left, by id, after one.
func (m Merchants) Leaving(ctx context.Context, after string, limit int) ([]merchants.Merchant, error) {
	return base.Many(ctx, m.b, leavingMerchants, Table.Scan(m.b.Personal), after, limit)
}

var countMerchants = engine.Statement(`SELECT count(*) FROM merchants`)

// Count counts all merchants.
func (m Merchants) Count(ctx context.Context) (int64, error) {
	return base.One(ctx, m.b, countMerchants, base.ScanInt)
}

var (
	selectShop  = engine.Statement(`SELECT ` + ShopsTable.List + ` FROM shops WHERE id = $1`)
	selectShops = engine.Statement(`SELECT ` + ShopsTable.List + ` FROM shops WHERE merchant = $1 ORDER BY id`)
)

var selectLogo = engine.Statement(`SELECT ` + LogosTable.List + ` FROM logos WHERE id = $1`)

// Logo reads a shop's logo.
func (m Merchants) Logo(ctx context.Context, id string) (merchants.Logo, error) {
	return base.One(ctx, m.b, selectLogo, LogosTable.Scan(m.b.Personal), id)
}

// Shop reads a shop by id.
func (m Merchants) Shop(ctx context.Context, id string) (merchants.Shop, error) {
	return base.One(ctx, m.b, selectShop, ShopsTable.Scan(m.b.Personal), id)
}

// Shops lists a merchant's shops, oldest first.
func (m Merchants) Shops(ctx context.Context, merchant string) ([]merchants.Shop, error) {
	return base.Many(ctx, m.b, selectShops, ShopsTable.Scan(m.b.Personal), merchant)
}

var (
	selectKeyByHash = engine.Statement(`SELECT ` + KeysTable.List + ` FROM keys WHERE hash = $1`)
	selectKey       = engine.Statement(`SELECT ` + KeysTable.List + ` FROM keys WHERE id = $1`)
	selectKeysShown = engine.Statement(`SELECT ` + KeysTable.List + ` FROM keys WHERE preview = $1 ORDER BY id LIMIT 10`)
	selectKeys      = engine.Statement(`SELECT ` + KeysTable.List + ` FROM keys WHERE merchant = $1 ORDER BY id`)
)

// ByHash reads a key by its keyed hash.
func (k Keys) ByHash(ctx context.Context, hash string) (merchants.Key, error) {
	return base.One(ctx, k.b, selectKeyByHash, KeysTable.Scan(k.b.Personal), hash)
}

// Get reads a key by id.
func (k Keys) Get(ctx context.Context, id string) (merchants.Key, error) {
	return base.One(ctx, k.b, selectKey, KeysTable.Scan(k.b.Personal), id)
}

// List lists a merchant's keys, oldest first.
func (k Keys) List(ctx context.Context, merchant string) ([]merchants.Key, error) {
	return base.Many(ctx, k.b, selectKeys, KeysTable.Scan(k.b.Personal), merchant)
}

// Shown lists the keys with a preview, including revoked ones: ten at most.
func (k Keys) Shown(ctx context.Context, preview string) ([]merchants.Key, error) {
	return base.Many(ctx, k.b, selectKeysShown, KeysTable.Scan(k.b.Personal), preview)
}

var (
	selectLogin         = engine.Statement(`SELECT ` + LoginsTable.List + ` FROM logins WHERE id = $1`)
	selectGoodLogins    = engine.Statement(`SELECT ` + LoginsTable.List + ` FROM logins WHERE merchant = $1 AND revoked_at = 0 AND expires_at > $2 AND ($3 = '' OR key_id = $3) ORDER BY expires_at LIMIT $4`)
	selectRevokedLogins = engine.Statement(`SELECT id FROM logins WHERE revoked_at > 0 AND revoked_at > $1`)
	selectRevokedKeys   = engine.Statement(`SELECT id, hash FROM keys WHERE revoked_at > 0 AND revoked_at > $1`)
)

// Login reads a refresh token's login.
func (k Keys) Login(ctx context.Context, id string) (merchants.Login, error) {
	return base.One(ctx, k.b, selectLogin, LoginsTable.Scan(k.b.Personal), id)
}

// GoodLogins reads at most limit of a merchant's logins that can be refreshed after now; only one key's if
// key is set.
func (k Keys) GoodLogins(ctx context.Context, merchant, key string, now time.Time, limit int) ([]merchants.Login, error) {
	return base.Many(ctx, k.b, selectGoodLogins, LoginsTable.Scan(k.b.Personal), merchant, table.Micros(now), key, limit)
}

// Revoked returns the logins, and the keys by id and hash, that were revoked after since, by the revoking
// node's clock.
func (k Keys) Revoked(ctx context.Context, since time.Time) (logins, keys []string, err error) {
	logins, err = base.Many(ctx, k.b, selectRevokedLogins, func(r engine.Row) (id string, err error) {
		err = r.Scan(&id)
		return id, err
	}, table.Micros(since))
	if err != nil {
		return nil, nil, err
	}
	err = k.b.Query(ctx, selectRevokedKeys, []any{table.Micros(since)}, func(r engine.Row) error {
		var id, hash string
		err := r.Scan(&id, &hash)
		keys = append(keys, id, hash)
		return err
	})
	return logins, keys, err
}

// Merchants are merchants with their shops and logos.
type Merchants struct{ b *base.Base }

// Merchants returns the database's Merchants.
func (o OfMerchants) Merchants() Merchants { return Merchants(o) }
