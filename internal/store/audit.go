package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var auditTable = describe(table[audit.Entry]{
	name: "audit",
	of:   audits,
	id:   auditID,
	fields: func(f *fields, e *audit.Entry) {
		f.text("id!", &e.ID)
		f.text("merchant!", &e.Merchant)
		f.text("shop!", &e.Shop)
		f.flag("live!", &e.Live)
		word(f, "actor_kind!", &e.By.Kind)
		f.text("actor!", &e.By.ID)
		f.written("ip!", "") // of entries from before addressesTable
		f.text("request!", &e.By.Request)
		word(f, "act!", &e.Act)
		f.text("object!", &e.Object)
		f.time("at!", &e.At)
		f.converted("doc!", func() string {
			if len(e.Details) == 0 {
				return "{}"
			}
			return encode(e.Details)
		}, func(text string) error { return json.Unmarshal([]byte(text), &e.Details) })
		f.written("commitment!", pay.Commitment(e.By.IP, e.Salt))
		f.written("note_commitment!", pay.Commitment(e.Note, e.Salt))
	},
})

func audits(c *pay.Change) []audit.Entry { return c.Audit }
func auditID(e *audit.Entry) string      { return e.ID }

// addressesTable has the addresses that entries are about, apart from what is sealed of them.
var addressesTable = describe(table[audit.Entry]{
	name: "audit_addresses",
	of:   audits,
	only: func(e *audit.Entry) bool { return e.By.IP != "" },
	id:   auditID,
	fields: func(f *fields, e *audit.Entry) {
		f.text("id!", &e.ID)
		f.text("address!", &e.By.IP)
		f.text("salt!", &e.Salt)
	},
})

// notesTable has what operators wrote, in the same way.
var notesTable = describe(table[audit.Entry]{
	name: "audit_notes",
	of:   audits,
	only: func(e *audit.Entry) bool { return e.Note != "" },
	id:   auditID,
	fields: func(f *fields, e *audit.Entry) {
		f.text("id!", &e.ID)
		f.text("object!", &e.Object)
		f.text("note!", &e.Note)
		f.text("salt!", &e.Salt)
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
SELECT ` + auditTable.listOf("e") + `, coalesce(nullif(a.address, ''), e.ip), coalesce(n.note, '')
FROM audit AS e LEFT JOIN audit_addresses AS a ON a.id = e.id LEFT JOIN audit_notes AS n ON n.id = e.id
WHERE ($1 = '' OR e.merchant = $1) AND e.id > $2 ORDER BY e.id LIMIT $3`)

// List lists what was done, oldest first, from behind the entry after; all
// merchants' where merchant is empty. It is for the operator.
func (s *Audit) List(ctx context.Context, merchant, after string, limit int) ([]audit.Entry, error) {
	scan := auditTable.scan(s)
	return many(ctx, s, selectAudit, func(r engine.Row) (audit.Entry, error) {
		var address, note string
		e, err := scan(rowWith{rowWith{r, &note}, &address})
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
