package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// Of two nodes that make a secret of one name, or note a use at once, one loses.
var (
	secretsTable = newTable("secrets", "id TEXT!, version BIGINT, sealed TEXT, created_at BIGINT!",
		func(s *pay.Sealed) string { return s.ID }, func(s *pay.Sealed) int64 { return s.Version },
		func(r *rows, s *pay.Sealed) {
			r.text(s.ID).number(s.Version).text(base64.StdEncoding.EncodeToString(s.Text)).number(micros(s.CreatedAt))
		}).onceOnly()

	keyUsesTable = newTable("key_uses", "id TEXT!, version BIGINT, key_id TEXT!, address TEXT!, first_at BIGINT!, last_at BIGINT",
		func(u *pay.KeyUse) string { return u.ID() }, func(u *pay.KeyUse) int64 { return u.Version },
		func(r *rows, u *pay.KeyUse) {
			r.text(u.ID()).number(u.Version).text(u.Key, u.Address).number(micros(u.First), micros(u.Last))
		}).onceOnly()
)

func secrets(c *pay.Change) []pay.Sealed { return c.Sealed }
func keyUses(c *pay.Change) []pay.KeyUse { return c.KeyUses }

const (
	selectSecrets = `SELECT id, version, sealed, created_at FROM secrets WHERE sealed <> '' ORDER BY created_at, id`

	selectKeyUses = `
SELECT u.version, u.key_id, u.address, u.first_at, u.last_at FROM {rows: id TEXT} AS r JOIN key_uses AS u ON u.id = r.id`
	countAddresses = `
SELECT r.id, (SELECT count(*) FROM key_uses AS u WHERE u.key_id = r.id) FROM {rows: id TEXT} AS r`
	selectUsages = `
SELECT u.key_id, max(u.last_at), count(*) FROM key_uses AS u WHERE u.key_id IN (SELECT k.id FROM keys AS k WHERE k.merchant = $1) GROUP BY u.key_id`
)

// Secrets lists the service's secrets, oldest first, without those that were dropped.
func (s *Store) Secrets(ctx context.Context) ([]pay.Sealed, error) {
	return many(ctx, s, selectSecrets, scanSecret)
}

func scanSecret(r row) (v pay.Sealed, err error) {
	var text string
	var at int64
	if err := r.Scan(&v.ID, &v.Version, &text, &at); err != nil {
		return v, err
	}
	v.CreatedAt = fromMicros(at)
	if v.Text, err = base64.StdEncoding.DecodeString(text); err != nil {
		err = fmt.Errorf("secret %s: %w", v.ID, err)
	}
	return v, err
}

// KeyUses reads uses of keys as they were noted, by id, and counts from how many addresses
// each of the keys was used.
func (s *Store) KeyUses(ctx context.Context, uses []pay.KeyUse) (known map[string]pay.KeyUse, addresses map[string]int64, err error) {
	known, addresses = map[string]pay.KeyUse{}, map[string]int64{}
	ids, keys := newRows(s.db.dialect(), parseColumns("id TEXT"), len(uses)), newRows(s.db.dialect(), parseColumns("id TEXT"), len(uses))
	for _, u := range uses {
		ids.text(u.ID()).next()
		if _, asked := addresses[u.Key]; !asked {
			addresses[u.Key] = 0
			keys.text(u.Key).next()
		}
	}
	err = s.query(ctx, selectKeyUses, ids.args(), func(r row) error {
		var u pay.KeyUse
		var first, last int64
		err := r.Scan(&u.Version, &u.Key, &u.Address, &first, &last)
		u.First, u.Last = fromMicros(first), fromMicros(last)
		known[u.ID()] = u
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = s.query(ctx, countAddresses, keys.args(), func(r row) error {
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

// KeyUsages tells of a merchant's keys, by id. Those that were not used are left out.
func (s *Store) KeyUsages(ctx context.Context, merchant string) (map[string]KeyUsage, error) {
	uses := map[string]KeyUsage{}
	err := s.query(ctx, selectUsages, []any{merchant}, func(r row) error {
		var key string
		var last, n int64
		err := r.Scan(&key, &last, &n)
		uses[key] = KeyUsage{fromMicros(last), n}
		return err
	})
	return uses, err
}

func secretQueries() []string {
	return []string{secretsTable.insert, secretsTable.update, selectSecrets, keyUsesTable.insert, keyUsesTable.update, selectKeyUses, countAddresses, selectUsages}
}
