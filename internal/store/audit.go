package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

var auditTable = table.Describe(table.Table[pay.AuditEntry]{
	Name: "audit",
	Of:   audits,
	ID:   auditID,
	Fields: func(f *table.Fields, e *pay.AuditEntry) {
		f.Text("id!", &e.ID)
		f.Text("merchant!", &e.Merchant)
		f.Text("shop!", &e.Shop)
		f.Flag("live!", &e.Live)
		table.Word(f, "actor_kind!", &e.By.Kind)
		f.Text("actor!", &e.By.ID)
		f.Written("ip!", "") // of entries from before addressesTable
		f.Text("request!", &e.By.Request)
		table.Word(f, "act!", &e.Act)
		f.Text("object!", &e.Object)
		f.Time("at!", &e.At)
		f.Converted("doc!", func() string {
			if len(e.Details) == 0 {
				return "{}"
			}
			return table.Encode(e.Details)
		}, func(text string) error { return json.Unmarshal([]byte(text), &e.Details) })
		f.Written("commitment!", pay.Commitment(e.By.IP, e.Salt))
		f.Written("note_commitment!", pay.Commitment(e.Note, e.Salt))
	},
})

func audits(c *pay.Change) []pay.AuditEntry { return c.Audit }
func auditID(e *pay.AuditEntry) string      { return e.ID }

// addressesTable has the addresses that entries are about, apart from what is sealed of them.
var addressesTable = table.Describe(table.Table[pay.AuditEntry]{
	Name: "audit_addresses",
	Of:   audits,
	Only: func(e *pay.AuditEntry) bool { return e.By.IP != "" },
	ID:   auditID,
	Fields: func(f *table.Fields, e *pay.AuditEntry) {
		f.Text("id!", &e.ID)
		f.Text("address!", &e.By.IP)
		f.Text("salt!", &e.Salt)
	},
})

// notesTable has what operators wrote, in the same way.
var notesTable = table.Describe(table.Table[pay.AuditEntry]{
	Name: "audit_notes",
	Of:   audits,
	Only: func(e *pay.AuditEntry) bool { return e.Note != "" },
	ID:   auditID,
	Fields: func(f *table.Fields, e *pay.AuditEntry) {
		f.Text("id!", &e.ID)
		f.Text("object!", &e.Object)
		f.Text("note!", &e.Note)
		f.Text("salt!", &e.Salt)
	},
})

var (
	selectAddresses = engine.Statement(`
SELECT a.id, a.address, a.salt, coalesce(e.commitment, '') FROM audit_addresses AS a LEFT JOIN audit AS e ON e.id = a.id WHERE {part a.id}`)
	selectNotes = engine.Statement(`
SELECT n.id, n.note, n.salt, coalesce(e.note_commitment, '') FROM audit_notes AS n LEFT JOIN audit AS e ON e.id = n.id WHERE {part n.id}`)
)

// addressesOf proves that the addresses or notes are those that the sealed entries were written
// with.
func addressesOf(text string) func(*checker, engine.Asking, string, string) ([]Broken, error) {
	return func(_ *checker, ask engine.Asking, from, before string) (broken []Broken, err error) {
		err = ask(text, []any{from, before}, func(r engine.Row) error {
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

var selectAudit = engine.Statement(`
SELECT ` + auditTable.ListOf("e") + `, coalesce(nullif(a.address, ''), e.ip), coalesce(n.note, '')
FROM audit AS e LEFT JOIN audit_addresses AS a ON a.id = e.id LEFT JOIN audit_notes AS n ON n.id = e.id
WHERE ($1 = '' OR e.merchant = $1) AND e.id > $2 ORDER BY e.id LIMIT $3`)

// List lists what was done, oldest first, from behind the entry after; all
// merchants' where merchant is empty. It is for the operator.
func (s *Audit) List(ctx context.Context, merchant, after string, limit int) ([]pay.AuditEntry, error) {
	scan := auditTable.Scan(s.b.Personal)
	return base.Many(ctx, s.b, selectAudit, func(r engine.Row) (pay.AuditEntry, error) {
		var address, note string
		e, err := scan(table.With(table.With(r, &note), &address))
		e.By.IP = address
		if note != "" {
			if e.Details == nil {
				e.Details = map[string]string{}
			}
			e.Details["note"] = note
		}
		return e, err
	}, merchant, after, limit)
}
