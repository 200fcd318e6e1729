package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var merchantsTable = describe(table[tenant.Merchant]{
	name:    "merchants",
	of:      func(c *pay.Change) []tenant.Merchant { return c.Merchants },
	id:      func(m *tenant.Merchant) string { return m.ID },
	version: func(m *tenant.Merchant) int64 { return m.Version },
	fields: func(f *fields, m *tenant.Merchant) {
		f.text("id!", &m.ID)
		f.number("version", &m.Version)
		f.text("name", &m.Name)
		f.text("email", &m.Email)
		f.text("industry", &m.Industry)
		word(f, "tier", &m.Tier)
		f.count("trust_score", &m.TrustScore)
		word(f, "language", &m.Language)
		word(f, "refund_fees", &m.RefundFees)
		f.flag("strict", &m.Strict)
		f.time("created_at!", &m.CreatedAt)
	},
})

var shopsTable = describe(table[tenant.Shop]{
	name:    "shops",
	of:      func(c *pay.Change) []tenant.Shop { return c.Shops },
	id:      func(v *tenant.Shop) string { return v.ID },
	version: func(v *tenant.Shop) int64 { return v.Version },
	fields: func(f *fields, v *tenant.Shop) {
		f.text("id!", &v.ID)
		f.number("version", &v.Version)
		f.text("merchant!", &v.Merchant)
		f.text("name", &v.Name)
		f.text("slug", &v.Slug)
		f.time("created_at!", &v.CreatedAt)
		f.json("brand", &v.Brand)
	},
})

var logosTable = describe(table[tenant.Logo]{
	name: "logos",
	of:   func(c *pay.Change) []tenant.Logo { return c.Logos },
	id:   func(l *tenant.Logo) string { return l.ID },
	met:  stays,
	fields: func(f *fields, l *tenant.Logo) {
		f.text("id!", &l.ID)
		f.text("kind!", &l.Kind)
		f.bytes("body!", &l.Body)
	},
})

var keysTable = describe(table[tenant.Key]{
	name:    "keys",
	of:      func(c *pay.Change) []tenant.Key { return c.Keys },
	id:      func(k *tenant.Key) string { return k.ID },
	version: func(k *tenant.Key) int64 { return k.Version },
	fields: func(f *fields, k *tenant.Key) {
		f.text("id!", &k.ID)
		f.text("merchant!", &k.Merchant)
		f.text("shop!", &k.Shop)
		f.flag("live!", &k.Live)
		f.number("version", &k.Version)
		word(f, "kind!", &k.Kind)
		f.text("hash!", &k.Hash)
		f.text("preview!", &k.Preview)
		f.time("created_at!", &k.CreatedAt)
		f.time("revoked_at", &k.RevokedAt)
		f.time("ends_at", &k.EndsAt)
		f.converted("rights", func() string { return tenant.WriteRights(k.Rights) }, func(text string) (err error) {
			k.Rights, err = tenant.ParseRights(text)
			return err
		})
		f.text("successor", &k.Successor)
	},
})

var loginsTable = describe(table[tenant.Login]{
	name:    "logins",
	of:      func(c *pay.Change) []tenant.Login { return c.Logins },
	id:      func(l *tenant.Login) string { return l.ID },
	version: func(l *tenant.Login) int64 { return l.Version },
	fields: func(f *fields, l *tenant.Login) {
		f.text("id!", &l.ID)
		f.text("merchant!", &l.Merchant)
		f.text("shop!", &l.Shop)
		f.flag("live!", &l.Live)
		f.number("version", &l.Version)
		f.text("key_id!", &l.Key)
		f.time("expires_at", &l.ExpiresAt)
		f.time("revoked_at", &l.RevokedAt)
		f.time("created_at!", &l.CreatedAt)
	},
})

var (
	selectMerchant = engine.Statement(`SELECT ` + merchantsTable.listOf("m") + ` FROM merchants AS m WHERE m.id = $1`)
)

// Get reads a merchant by id.
func (s *Merchants) Get(ctx context.Context, id string) (tenant.Merchant, error) {
	return one(ctx, s, selectMerchant, merchantsTable.scan(s), id)
}

var listMerchants = engine.Statement(`SELECT ` + merchantsTable.listOf("m") + ` FROM merchants AS m WHERE m.id > $1 ORDER BY m.id LIMIT $2`)

// List lists merchants by id, from behind one.
func (s *Merchants) List(ctx context.Context, after string, limit int) ([]tenant.Merchant, error) {
	return many(ctx, s, listMerchants, merchantsTable.scan(s), after, limit)
}

var countMerchants = engine.Statement(`SELECT count(*) FROM merchants`)

// Count says how many merchants there are.
func (s *Merchants) Count(ctx context.Context) (int64, error) {
	return one(ctx, s, countMerchants, scanInt)
}

var (
	selectShop  = engine.Statement(`SELECT ` + shopsTable.list + ` FROM shops WHERE id = $1`)
	selectShops = engine.Statement(`SELECT ` + shopsTable.list + ` FROM shops WHERE merchant = $1 ORDER BY id`)
)

var selectLogo = engine.Statement(`SELECT ` + logosTable.list + ` FROM logos WHERE id = $1`)

// Logo reads a shop's picture.
func (s *Merchants) Logo(ctx context.Context, id string) (tenant.Logo, error) {
	return one(ctx, s, selectLogo, logosTable.scan(s), id)
}

// Shop reads a shop by id.
func (s *Merchants) Shop(ctx context.Context, id string) (tenant.Shop, error) {
	return one(ctx, s, selectShop, shopsTable.scan(s), id)
}

// Shops lists a merchant's shops, oldest first.
func (s *Merchants) Shops(ctx context.Context, merchant string) ([]tenant.Shop, error) {
	return many(ctx, s, selectShops, shopsTable.scan(s), merchant)
}

var (
	selectKeyByHash = engine.Statement(`SELECT ` + keysTable.list + ` FROM keys WHERE hash = $1`)
	selectKey       = engine.Statement(`SELECT ` + keysTable.list + ` FROM keys WHERE id = $1`)
	selectKeysShown = engine.Statement(`SELECT ` + keysTable.list + ` FROM keys WHERE preview = $1 ORDER BY id LIMIT 10`)
	selectKeys      = engine.Statement(`SELECT ` + keysTable.list + ` FROM keys WHERE merchant = $1 ORDER BY id`)
)

// ByHash reads a key by its keyed hash.
func (s *Keys) ByHash(ctx context.Context, hash string) (tenant.Key, error) {
	return one(ctx, s, selectKeyByHash, keysTable.scan(s), hash)
}

// Get reads a key by id.
func (s *Keys) Get(ctx context.Context, id string) (tenant.Key, error) {
	return one(ctx, s, selectKey, keysTable.scan(s), id)
}

// List lists a merchant's keys, oldest first.
func (s *Keys) List(ctx context.Context, merchant string) ([]tenant.Key, error) {
	return many(ctx, s, selectKeys, keysTable.scan(s), merchant)
}

// Shown lists the keys that are shown so, those that are revoked too: ten at most.
func (s *Keys) Shown(ctx context.Context, preview string) ([]tenant.Key, error) {
	return many(ctx, s, selectKeysShown, keysTable.scan(s), preview)
}

var (
	selectLogin         = engine.Statement(`SELECT ` + loginsTable.list + ` FROM logins WHERE id = $1`)
	selectGoodLogins    = engine.Statement(`SELECT ` + loginsTable.list + ` FROM logins WHERE merchant = $1 AND revoked_at = 0 AND expires_at > $2 AND ($3 = '' OR key_id = $3) ORDER BY expires_at LIMIT $4`)
	selectRevokedLogins = engine.Statement(`SELECT id FROM logins WHERE revoked_at > 0 AND revoked_at > $1`)
	selectRevokedKeys   = engine.Statement(`SELECT id, hash FROM keys WHERE revoked_at > 0 AND revoked_at > $1`)
)

// Login reads the login that a refresh token belongs to.
func (s *Keys) Login(ctx context.Context, id string) (tenant.Login, error) {
	return one(ctx, s, selectLogin, loginsTable.scan(s), id)
}

// GoodLogins reads logins of a merchant that can be refreshed after now, at most limit; of a
// key alone where one is named.
func (s *Keys) GoodLogins(ctx context.Context, merchant, key string, now time.Time, limit int) ([]tenant.Login, error) {
	return many(ctx, s, selectGoodLogins, loginsTable.scan(s), merchant, micros(now), key, limit)
}

// Revoked tells what was revoked after since, by the clock of whoever did it: logins, and
// keys by id and hash.
func (s *Keys) Revoked(ctx context.Context, since time.Time) (logins, keys []string, err error) {
	logins, err = many(ctx, s, selectRevokedLogins, func(r engine.Row) (id string, err error) {
		err = r.Scan(&id)
		return id, err
	}, micros(since))
	if err != nil {
		return nil, nil, err
	}
	err = s.query(ctx, selectRevokedKeys, []any{micros(since)}, func(r engine.Row) error {
		var id, hash string
		err := r.Scan(&id, &hash)
		keys = append(keys, id, hash)
		return err
	})
	return logins, keys, err
}

var (
	selectRailIDs = engine.Statement(`SELECT rail, id FROM rail_ids`)
	// The next numbers are taken from the table itself, so that an id is given
	// once even when its rail has left the catalog. Of two nodes that start at
	// once one may get nothing and tries again.
	insertRailIDs = engine.Standalone(`
INSERT INTO rail_ids (rail, id)
SELECT r.rail, r.n + (SELECT coalesce(max(id), 1000) FROM rail_ids) FROM {rows: rail TEXT, n BIGINT} AS r
WHERE TRUE ON CONFLICT DO NOTHING`)
)

// RailIDs returns the paymentMethodId of each rail, giving one to those that
// have none (CAT-3).
func (s *Rates) RailIDs(ctx context.Context, rails []string) (map[string]int64, error) {
	for range 10 {
		ids, err := s.railIDs(ctx)
		if err != nil {
			return nil, err
		}
		missing := engine.NewRows(s.db.Dialect(), engine.ParseColumns("rail TEXT, n BIGINT"), 0)
		for _, rail := range rails {
			if _, known := ids[rail]; !known {
				missing.Text(rail).Number(int64(missing.N + 1)).Next()
			}
		}
		if missing.N == 0 {
			return ids, nil
		}
		if err := s.db.Lease(ctx, s.text(insertRailIDs), missing.Args(), nil); err != nil {
			return nil, fmt.Errorf("give rails their ids: %w", err)
		}
	}
	return nil, errors.New("give rails their ids: other nodes were always first")
}

func (s *core) railIDs(ctx context.Context) (map[string]int64, error) {
	ids := map[string]int64{}
	err := s.query(ctx, selectRailIDs, nil, func(r engine.Row) error {
		var rail string
		var id int64
		err := r.Scan(&rail, &id)
		ids[rail] = id
		return err
	})
	return ids, err
}
