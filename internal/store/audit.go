package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

const auditSpec = "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, actor_kind TEXT!, actor TEXT!, ip TEXT!, request TEXT!, " +
	"act TEXT!, object TEXT!, at BIGINT!, doc TEXT!"

var auditTable = newTable("audit", auditSpec, func(e *pay.AuditEntry) string { return e.ID }, nil,
	func(r *rows, e *pay.AuditEntry) {
		doc := "{}"
		if len(e.Details) > 0 {
			doc = encode(e.Details)
		}
		r.text(e.ID, e.Merchant, e.Shop).flag(e.Live).text(string(e.By.Kind), e.By.ID, e.By.IP, e.By.Request, string(e.Act), e.Object).
			number(micros(e.At)).text(doc)
	})

func audits(c *pay.Change) []pay.AuditEntry { return c.Audit }

const selectAudit = `
SELECT id, merchant, shop, live, actor_kind, actor, ip, request, act, object, at, doc FROM audit
WHERE ($1 = '' OR merchant = $1) AND id > $2 ORDER BY id LIMIT $3`

// Audit lists what was done, oldest first, from behind the entry after; all
// merchants' where merchant is empty. It is for the operator.
func (s *Store) Audit(ctx context.Context, merchant, after string, limit int) ([]pay.AuditEntry, error) {
	return many(ctx, s, selectAudit, func(r row) (e pay.AuditEntry, err error) {
		var at int64
		var doc string
		if err := r.Scan(&e.ID, &e.Merchant, &e.Shop, &e.Live, &e.By.Kind, &e.By.ID, &e.By.IP, &e.By.Request, &e.Act, &e.Object, &at, &doc); err != nil {
			return e, err
		}
		if err := json.Unmarshal([]byte(doc), &e.Details); err != nil {
			return e, fmt.Errorf("audit entry %s: %w", e.ID, err)
		}
		e.At = fromMicros(at)
		return e, nil
	}, merchant, after, limit)
}
