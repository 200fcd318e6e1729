package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Of two nodes that make a secret of one name, or note a use at once, one loses.
var secretsTable = describe(table[tenant.Sealed]{
	name:    "secrets",
	of:      func(c *pay.Change) []tenant.Sealed { return c.Sealed },
	id:      func(v *tenant.Sealed) string { return v.ID },
	version: func(v *tenant.Sealed) int64 { return v.Version },
	met:     stale,
	fields: func(f *fields, v *tenant.Sealed) {
		f.text("id!", &v.ID)
		f.number("version", &v.Version)
		f.bytes("sealed", &v.Text)
		f.time("created_at!", &v.CreatedAt)
	},
})

var keyUsesTable = describe(table[tenant.KeyUse]{
	name:    "key_uses",
	of:      func(c *pay.Change) []tenant.KeyUse { return c.KeyUses },
	id:      func(u *tenant.KeyUse) string { return u.ID() },
	version: func(u *tenant.KeyUse) int64 { return u.Version },
	met:     stale,
	fields: func(f *fields, u *tenant.KeyUse) {
		f.written("id!", u.ID())
		f.number("version", &u.Version)
		f.text("key_id!", &u.Key)
		f.text("address!", &u.Address)
		f.time("first_at!", &u.First)
		f.time("last_at", &u.Last)
	},
})

var (
	selectSecrets = engine.Statement(`SELECT ` + secretsTable.list + ` FROM secrets WHERE sealed <> '' ORDER BY created_at, id`)

	selectKeyUses = engine.Statement(`
SELECT ` + keyUsesTable.listOf("u") + ` FROM {rows: id TEXT} AS r JOIN key_uses AS u ON u.id = r.id`)
	countAddresses = engine.Statement(`
SELECT r.id, (SELECT count(*) FROM key_uses AS u WHERE u.key_id = r.id) FROM {rows: id TEXT} AS r`)
	selectUsages = engine.Statement(`
SELECT u.key_id, max(u.last_at), count(*) FROM key_uses AS u WHERE u.key_id IN (SELECT k.id FROM keys AS k WHERE k.merchant = $1) GROUP BY u.key_id`)
)

// List lists the service's secrets, oldest first, without those that were dropped.
func (s *Secrets) List(ctx context.Context) ([]tenant.Sealed, error) {
	return many(ctx, s, selectSecrets, secretsTable.scan(s))
}

// Uses reads uses of keys as they were noted, by id, and counts from how many addresses
// each of the keys was used.
func (s *Keys) Uses(ctx context.Context, uses []tenant.KeyUse) (known map[string]tenant.KeyUse, addresses map[string]int64, err error) {
	known, addresses = map[string]tenant.KeyUse{}, map[string]int64{}
	ids, keys := engine.NewRows(s.db.Dialect(), engine.ParseColumns("id TEXT"), len(uses)), engine.NewRows(s.db.Dialect(), engine.ParseColumns("id TEXT"), len(uses))
	for _, u := range uses {
		ids.Text(u.ID()).Next()
		if _, asked := addresses[u.Key]; !asked {
			addresses[u.Key] = 0
			keys.Text(u.Key).Next()
		}
	}
	list, err := many(ctx, s, selectKeyUses, keyUsesTable.scan(s), ids.Args()...)
	for _, u := range list {
		known[u.ID()] = u
	}
	if err != nil {
		return nil, nil, err
	}
	err = s.query(ctx, countAddresses, keys.Args(), func(r engine.Row) error {
		var key string
		var n int64
		err := r.Scan(&key, &n)
		addresses[key] = n
		return err
	})
	return known, addresses, err
}

// KeyUsage is when a key was used last, within an hour, and from how many addresses ever.
type KeyUsage struct {
	Last      time.Time
	Addresses int64
}

// Usages tells of a merchant's keys, by id. Those that were not used are left out.
func (s *Keys) Usages(ctx context.Context, merchant string) (map[string]KeyUsage, error) {
	uses := map[string]KeyUsage{}
	err := s.query(ctx, selectUsages, []any{merchant}, func(r engine.Row) error {
		var key string
		var last, n int64
		err := r.Scan(&key, &last, &n)
		uses[key] = KeyUsage{fromMicros(last), n}
		return err
	})
	return uses, err
}
