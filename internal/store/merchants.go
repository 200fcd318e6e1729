package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	merchantColumns = `m.id, m.version, m.name, m.email, m.industry, m.tier, m.trust_score, m.language, m.refund_fees, m.strict, m.created_at`
	selectMerchant  = `SELECT ` + merchantColumns + ` FROM merchants AS m WHERE m.id = $1`
)

// scanMerchant reads a merchant and what a query adds to it.
func scanMerchant(r row, more ...any) (m pay.Merchant, err error) {
	var created int64
	into := []any{&m.ID, &m.Version, &m.Name, &m.Email, &m.Industry, &m.Tier, &m.TrustScore, &m.Language, &m.RefundFees, &m.Strict, &created}
	err = r.Scan(append(into, more...)...)
	m.CreatedAt = fromMicros(created)
	return m, err
}

// Merchant reads a merchant by id.
func (s *Store) Merchant(ctx context.Context, id string) (pay.Merchant, error) {
	return one(ctx, s, selectMerchant, func(r row) (pay.Merchant, error) { return scanMerchant(r) }, id)
}

const listMerchants = `SELECT ` + merchantColumns + ` FROM merchants AS m WHERE m.id > $1 ORDER BY m.id LIMIT $2`

// Merchants lists merchants by id, from behind one.
func (s *Store) Merchants(ctx context.Context, after string, limit int) ([]pay.Merchant, error) {
	return many(ctx, s, listMerchants, func(r row) (pay.Merchant, error) { return scanMerchant(r) }, after, limit)
}

const countMerchants = `SELECT count(*) FROM merchants`

// CountMerchants says how many merchants there are.
func (s *Store) CountMerchants(ctx context.Context) (int64, error) {
	return one(ctx, s, countMerchants, scanInt)
}

const (
	selectShop  = `SELECT id, version, merchant, name, slug, created_at, brand FROM shops WHERE id = $1`
	selectShops = `SELECT id, version, merchant, name, slug, created_at, brand FROM shops WHERE merchant = $1 ORDER BY id`
)

func scanShop(r row) (sh pay.Shop, err error) {
	var created int64
	var brand string
	if err = r.Scan(&sh.ID, &sh.Version, &sh.Merchant, &sh.Name, &sh.Slug, &created, &brand); err != nil {
		return sh, err
	}
	sh.CreatedAt = fromMicros(created)
	return sh, json.Unmarshal([]byte(brand), &sh.Brand)
}

const selectLogo = `SELECT id, kind, body FROM logos WHERE id = $1`

// Logo reads a shop's picture.
func (s *Store) Logo(ctx context.Context, id string) (pay.Logo, error) {
	return one(ctx, s, selectLogo, func(r row) (l pay.Logo, err error) {
		var body string
		if err = r.Scan(&l.ID, &l.Kind, &body); err != nil {
			return l, err
		}
		l.Body, err = base64.StdEncoding.DecodeString(body)
		return l, err
	}, id)
}

// Shop reads a shop by id.
func (s *Store) Shop(ctx context.Context, id string) (pay.Shop, error) {
	return one(ctx, s, selectShop, scanShop, id)
}

// Shops lists a merchant's shops, oldest first.
func (s *Store) Shops(ctx context.Context, merchant string) ([]pay.Shop, error) {
	return many(ctx, s, selectShops, scanShop, merchant)
}

const (
	keyColumns      = `id, merchant, shop, live, version, kind, hash, preview, created_at, revoked_at, ends_at, rights, successor`
	selectKeyByHash = `SELECT ` + keyColumns + ` FROM keys WHERE hash = $1`
	selectKey       = `SELECT ` + keyColumns + ` FROM keys WHERE id = $1`
	selectKeysShown = `SELECT ` + keyColumns + ` FROM keys WHERE preview = $1 ORDER BY id LIMIT 10`
	selectKeys      = `SELECT ` + keyColumns + ` FROM keys WHERE merchant = $1 ORDER BY id`
)

func scanKey(r row) (k pay.Key, err error) {
	var created, revoked, ends int64
	var rights string
	err = r.Scan(&k.ID, &k.Merchant, &k.Shop, &k.Live, &k.Version, &k.Kind, &k.Hash, &k.Preview, &created, &revoked, &ends, &rights, &k.Successor)
	if err != nil {
		return k, err
	}
	k.CreatedAt, k.RevokedAt, k.EndsAt = fromMicros(created), fromMicros(revoked), fromMicros(ends)
	k.Rights, err = pay.ParseRights(rights)
	return k, err
}

// KeyByHash reads a key by its keyed hash.
func (s *Store) KeyByHash(ctx context.Context, hash string) (pay.Key, error) {
	return one(ctx, s, selectKeyByHash, scanKey, hash)
}

// Key reads a key by id.
func (s *Store) Key(ctx context.Context, id string) (pay.Key, error) {
	return one(ctx, s, selectKey, scanKey, id)
}

// Keys lists a merchant's keys, oldest first.
func (s *Store) Keys(ctx context.Context, merchant string) ([]pay.Key, error) {
	return many(ctx, s, selectKeys, scanKey, merchant)
}

// KeysShown lists the keys that are shown so, those that are revoked too: ten at most.
func (s *Store) KeysShown(ctx context.Context, preview string) ([]pay.Key, error) {
	return many(ctx, s, selectKeysShown, scanKey, preview)
}

const (
	loginColumns = `id, merchant, shop, live, version, key_id, expires_at, revoked_at, created_at`

	selectLogin         = `SELECT ` + loginColumns + ` FROM logins WHERE id = $1`
	selectGoodLogins    = `SELECT ` + loginColumns + ` FROM logins WHERE merchant = $1 AND revoked_at = 0 AND expires_at > $2 AND ($3 = '' OR key_id = $3) ORDER BY expires_at LIMIT $4`
	selectRevokedLogins = `SELECT id FROM logins WHERE revoked_at > 0 AND revoked_at > $1`
	selectRevokedKeys   = `SELECT id, hash FROM keys WHERE revoked_at > 0 AND revoked_at > $1`
)

func scanLogin(r row) (l pay.Login, err error) {
	var expires, revoked, created int64
	err = r.Scan(&l.ID, &l.Merchant, &l.Shop, &l.Live, &l.Version, &l.Key, &expires, &revoked, &created)
	l.ExpiresAt, l.RevokedAt, l.CreatedAt = fromMicros(expires), fromMicros(revoked), fromMicros(created)
	return l, err
}

// Login reads the login that a refresh token belongs to.
func (s *Store) Login(ctx context.Context, id string) (pay.Login, error) {
	return one(ctx, s, selectLogin, scanLogin, id)
}

// GoodLogins reads logins of a merchant that can be refreshed after now, at most limit; of a
// key alone where one is named.
func (s *Store) GoodLogins(ctx context.Context, merchant, key string, now time.Time, limit int) ([]pay.Login, error) {
	return many(ctx, s, selectGoodLogins, scanLogin, merchant, micros(now), key, limit)
}

// Revoked tells what was revoked after since, by the clock of whoever did it: logins, and
// keys by id and hash.
func (s *Store) Revoked(ctx context.Context, since time.Time) (logins, keys []string, err error) {
	logins, err = many(ctx, s, selectRevokedLogins, func(r row) (id string, err error) {
		err = r.Scan(&id)
		return id, err
	}, micros(since))
	if err != nil {
		return nil, nil, err
	}
	err = s.query(ctx, selectRevokedKeys, []any{micros(since)}, func(r row) error {
		var id, hash string
		err := r.Scan(&id, &hash)
		keys = append(keys, id, hash)
		return err
	})
	return logins, keys, err
}

const (
	selectRailIDs = `SELECT rail, id FROM rail_ids`
	// The next numbers are taken from the table itself, so that an id is given
	// once even when its rail has left the catalog. Of two nodes that start at
	// once one may get nothing and tries again.
	insertRailIDs = `
INSERT INTO rail_ids (rail, id)
SELECT r.rail, r.n + (SELECT coalesce(max(id), 1000) FROM rail_ids) FROM {rows: rail TEXT, n BIGINT} AS r
WHERE TRUE ON CONFLICT DO NOTHING`
)

// RailIDs returns the paymentMethodId of each rail, giving one to those that
// have none (CAT-3).
func (s *Store) RailIDs(ctx context.Context, rails []string) (map[string]int64, error) {
	for range 10 {
		ids, err := s.railIDs(ctx)
		if err != nil {
			return nil, err
		}
		missing := newRows(s.db.dialect(), parseColumns("rail TEXT, n BIGINT"), 0)
		for _, rail := range rails {
			if _, known := ids[rail]; !known {
				missing.text(rail).number(int64(missing.n + 1)).next()
			}
		}
		if missing.n == 0 {
			return ids, nil
		}
		if err := s.db.lease(ctx, s.text(insertRailIDs), missing.args(), nil); err != nil {
			return nil, fmt.Errorf("give rails their ids: %w", err)
		}
	}
	return nil, errors.New("give rails their ids: other nodes were always first")
}

func (s *Store) railIDs(ctx context.Context) (map[string]int64, error) {
	ids := map[string]int64{}
	err := s.query(ctx, selectRailIDs, nil, func(r row) error {
		var rail string
		var id int64
		err := r.Scan(&rail, &id)
		ids[rail] = id
		return err
	})
	return ids, err
}
