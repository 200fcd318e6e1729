package merchants

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// SecretsTable is the table secrets. If two nodes make a secret of one name, or note a use, at once, one
// loses.
var SecretsTable = table.Describe(table.Table[merchants.Encrypted]{
	Name:    "secrets",
	Lock:    190,
	Of:      func(c *pay.Change) []merchants.Encrypted { return c.Secrets },
	ID:      func(v *merchants.Encrypted) string { return v.ID },
	Version: func(v *merchants.Encrypted) int64 { return v.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, v *merchants.Encrypted) {
		f.Text("id!", &v.ID)
		f.Number("version", &v.Version)
		f.Bytes("sealed", &v.Text)
		f.Time("created_at!", &v.CreatedAt)
	},
})

// KeyUsesTable is the table key_uses.
var KeyUsesTable = table.Describe(table.Table[merchants.KeyUse]{
	Name:    "key_uses",
	Lock:    200,
	Of:      func(c *pay.Change) []merchants.KeyUse { return c.KeyUses },
	ID:      func(u *merchants.KeyUse) string { return u.ID() },
	Version: func(u *merchants.KeyUse) int64 { return u.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, u *merchants.KeyUse) {
		f.Written("id!", u.ID())
		f.Number("version", &u.Version)
		f.Text("key_id!", &u.Key)
		f.Text("address!", &u.Address)
		f.Time("first_at!", &u.First)
		f.Time("last_at", &u.Last)
	},
})

var (
	// SelectSecrets lists the secrets, oldest first, without dropped ones.
	SelectSecrets = engine.Statement(`SELECT ` + SecretsTable.List + ` FROM secrets WHERE sealed <> '' ORDER BY created_at, id`)

	selectKeyUses = engine.Statement(`
SELECT ` + KeyUsesTable.ListOf("u") + ` FROM {rows: id TEXT} AS r JOIN key_uses AS u ON u.id = r.id`)
	countAddresses = engine.Statement(`
SELECT r.id, (SELECT count(*) FROM key_uses AS u WHERE u.key_id = r.id) FROM {rows: id TEXT} AS r`)
	selectUsesOf = engine.Statement(`
SELECT ` + KeyUsesTable.List + ` FROM key_uses WHERE key_id = $1 ORDER BY last_at DESC, id LIMIT $2`)
	selectUsages = engine.Statement(`
SELECT u.key_id, max(u.last_at), count(*) FROM key_uses AS u WHERE u.key_id IN (SELECT k.id FROM keys AS k WHERE k.merchant = $1) GROUP BY u.key_id`)
)

// List lists the service's secrets, oldest first, without dropped ones.
func (s Secrets) List(ctx context.Context) ([]merchants.Encrypted, error) {
	return base.Many(ctx, s.b, SelectSecrets, SecretsTable.Scan(s.b.Personal))
}

// Uses reads the recorded uses of keys, by id, and counts the addresses from which each key was used.
func (k Keys) Uses(ctx context.Context, uses []merchants.KeyUse) (known map[string]merchants.KeyUse, addresses map[string]int64, err error) {
	known, addresses = map[string]merchants.KeyUse{}, map[string]int64{}
	ids, keys := engine.NewRows(k.b.DB.Dialect(), engine.ParseColumns("id TEXT"), len(uses)), engine.NewRows(k.b.DB.Dialect(), engine.ParseColumns("id TEXT"), len(uses))
	for _, u := range uses {
		ids.Text(u.ID()).Next()
		if _, asked := addresses[u.Key]; !asked {
			addresses[u.Key] = 0
			keys.Text(u.Key).Next()
		}
	}
	list, err := base.Many(ctx, k.b, selectKeyUses, KeyUsesTable.Scan(k.b.Personal), ids.Args()...)
	for _, u := range list {
		known[u.ID()] = u
	}
	if err != nil {
		return nil, nil, err
	}
	err = k.b.Query(ctx, countAddresses, keys.Args(), func(r engine.Row) error {
		var key string
		var n int64
		err := r.Scan(&key, &n)
		addresses[key] = n
		return err
	})
	return known, addresses, err
}

// KeyUsage is a key's last use, to the hour, and its number of addresses ever.
type KeyUsage struct {
	Last      time.Time
	Addresses int64
}

// Usages returns the usage of a merchant's keys, by id. Unused keys are missing.
func (k Keys) Usages(ctx context.Context, merchant string) (map[string]KeyUsage, error) {
	uses := map[string]KeyUsage{}
	err := k.b.Query(ctx, selectUsages, []any{merchant}, func(r engine.Row) error {
		var key string
		var last, n int64
		err := r.Scan(&key, &last, &n)
		uses[key] = KeyUsage{table.FromMicros(last), n}
		return err
	})
	return uses, err
}

// UsesOf reads the uses of a key, the last one first. A key has at most a thousand.
func (k Keys) UsesOf(ctx context.Context, key string, limit int) ([]merchants.KeyUse, error) {
	if limit == 0 {
		return nil, nil
	}
	return base.Many(ctx, k.b, selectUsesOf, KeyUsesTable.Scan(k.b.Personal), key, limit)
}

// Keys are API keys, their logins and uses.
type Keys struct{ b *base.Base }

// Keys returns the database's Keys.
func (o OfMerchants) Keys() Keys { return Keys(o) }

// Secrets are the service's own secrets.
type Secrets struct{ b *base.Base }

// Secrets returns the database's Secrets.
func (o OfMerchants) Secrets() Secrets { return Secrets(o) }

// ForgetUses deletes at most limit uses of keys last used before a time, and returns their number.
func (k Keys) ForgetUses(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := k.b.DB.Lease(ctx, k.b.Text(keepUsed), []any{table.Micros(before)}, nil); err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	return base.Forget(ctx, k.b, oldKeyUses, table.Micros(before), limit)
}

var (
	// Keeps a row without an address for each used key, or the key's next address would count as its first.
	keepUsed = engine.Standalone(KeyUsesTable.InsertOf(map[string]string{
		"id": "u.key_id || ' '", "version": "1", "key_id": "u.key_id", "address": "''", "first_at": "min(u.first_at)", "last_at": "max(u.last_at)",
	}) + ` FROM key_uses AS u
WHERE u.last_at < $1 AND u.address <> '' GROUP BY u.key_id ON CONFLICT (id) DO NOTHING`)
	oldKeyUses = engine.Standalone(`
DELETE FROM key_uses WHERE id IN (SELECT d.id FROM key_uses AS d WHERE d.last_at < $1 AND d.address <> '' LIMIT $2 {skip locked d})
RETURNING id`)
)
