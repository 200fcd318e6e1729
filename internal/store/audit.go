package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

const auditSpec = "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, actor_kind TEXT!, actor TEXT!, ip TEXT!, request TEXT!, " +
	"act TEXT!, object TEXT!, at BIGINT!, doc TEXT!, commitment TEXT!, note_commitment TEXT!"

var auditTable = newTable("audit", auditSpec, func(e *pay.AuditEntry) string { return e.ID }, nil,
	func(r *rows, e *pay.AuditEntry) {
		doc := "{}"
		if len(e.Details) > 0 {
			doc = encode(e.Details)
		}
		r.text(e.ID, e.Merchant, e.Shop).flag(e.Live).text(string(e.By.Kind), e.By.ID, "", e.By.Request, string(e.Act), e.Object).
			number(micros(e.At)).text(doc, pay.Commitment(e.By.IP, e.Salt), pay.Commitment(e.Note, e.Salt))
	})

// addressesTable has the addresses that entries are about, apart from what is sealed of them.
// Entries from before have theirs in ip.
var addressesTable = newTable("audit_addresses", "id TEXT!, address TEXT!, salt TEXT!", func(e *pay.AuditEntry) string { return e.ID }, nil,
	func(r *rows, e *pay.AuditEntry) { r.text(e.ID, e.By.IP, e.Salt) })

const (
	selectAddresses = `
SELECT a.id, a.address, a.salt, coalesce(e.commitment, '') FROM audit_addresses AS a LEFT JOIN audit AS e ON e.id = a.id WHERE {part a.id}`
	selectNotes = `
SELECT n.id, n.note, n.salt, coalesce(e.note_commitment, '') FROM audit_notes AS n LEFT JOIN audit AS e ON e.id = n.id WHERE {part n.id}`
)

// addressesOf proves that the addresses or notes are those that the sealed entries were written
// with.
func addressesOf(text string) func(*checker, asking, string, string) ([]Broken, error) {
	return func(_ *checker, ask asking, from, before string) (broken []Broken, err error) {
		err = ask(text, []any{from, before}, func(r row) error {
			var id, address, salt, commitment string
			if err := r.Scan(&id, &address, &salt, &commitment); err != nil {
				return err
			}
			if address == "" || pay.Commitment(address, salt) != commitment {
				broken = append(broken, Broken{"an address or a note is the one that its audit entry was written with", id, "it is another one, or its entry is gone"})
			}
			return nil
		})
		if err != nil {
			return broken, fmt.Errorf("check addresses: %w", err)
		}
		return broken, nil
	}
}

// notesTable has what operators wrote, in the same way.
var notesTable = newTable("audit_notes", "id TEXT!, object TEXT!, note TEXT!, salt TEXT!", func(e *pay.AuditEntry) string { return e.ID }, nil,
	func(r *rows, e *pay.AuditEntry) { r.text(e.ID, e.Object, e.Note, e.Salt) })

func hasNote(e *pay.AuditEntry) bool { return e.Note != "" }

func hasAddress(e *pay.AuditEntry) bool { return e.By.IP != "" }

func audits(c *pay.Change) []pay.AuditEntry { return c.Audit }

const selectAudit = `
SELECT e.id, e.merchant, e.shop, e.live, e.actor_kind, e.actor, coalesce(nullif(a.address, ''), e.ip), e.request, e.act, e.object, e.at, e.doc, coalesce(n.note, '')
FROM audit AS e LEFT JOIN audit_addresses AS a ON a.id = e.id LEFT JOIN audit_notes AS n ON n.id = e.id
WHERE ($1 = '' OR e.merchant = $1) AND e.id > $2 ORDER BY e.id LIMIT $3`

// Audit lists what was done, oldest first, from behind the entry after; all
// merchants' where merchant is empty. It is for the operator.
func (s *Store) Audit(ctx context.Context, merchant, after string, limit int) ([]pay.AuditEntry, error) {
	return many(ctx, s, selectAudit, func(r row) (e pay.AuditEntry, err error) {
		var at int64
		var doc, note string
		if err := r.Scan(&e.ID, &e.Merchant, &e.Shop, &e.Live, &e.By.Kind, &e.By.ID, &e.By.IP, &e.By.Request, &e.Act, &e.Object, &at, &doc, &note); err != nil {
			return e, err
		}
		if err := json.Unmarshal([]byte(doc), &e.Details); err != nil {
			return e, fmt.Errorf("audit entry %s: %w", e.ID, err)
		}
		if note != "" {
			if e.Details == nil {
				e.Details = map[string]string{}
			}
			e.Details["note"] = note
		}
		e.At = fromMicros(at)
		return e, nil
	}, merchant, after, limit)
}
