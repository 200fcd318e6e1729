package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table audit.
var Table = table.Describe(table.Table[audit.Entry]{
	Name: "audit",
	Lock: 390,
	Of:   audits,
	ID:   auditID,
	Fields: func(f *table.Fields, e *audit.Entry) {
		f.Text("id!", &e.ID)
		f.Text("merchant!", &e.Merchant)
		f.Text("shop!", &e.Shop)
		f.Flag("live!", &e.Live)
		table.Word(f, "actor_kind!", &e.By.Kind)
		f.Text("actor!", &e.By.ID)
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

// audits are the entries of a change.
func audits(c *pay.Change) []audit.Entry { return c.Audit }
func auditID(e *audit.Entry) string      { return e.ID }

// AddressesTable is the table audit_addresses. It holds the addresses of audit entries, apart from the
// entries' sealed part.
var AddressesTable = table.Describe(table.Table[audit.Entry]{
	Name: "audit_addresses",
	Lock: 400,
	Of:   audits,
	Only: func(e *audit.Entry) bool { return e.By.IP != "" },
	ID:   auditID,
	Fields: func(f *table.Fields, e *audit.Entry) {
		f.Text("id!", &e.ID)
		f.Text("address!", &e.By.IP)
		f.Text("salt!", &e.Salt)
	},
})

// NotesTable is the table audit_notes. It holds the operators' notes in the same way.
var NotesTable = table.Describe(table.Table[audit.Entry]{
	Name: "audit_notes",
	Lock: 410,
	Of:   audits,
	Only: func(e *audit.Entry) bool { return e.Note != "" },
	ID:   auditID,
	Fields: func(f *table.Fields, e *audit.Entry) {
		f.Text("id!", &e.ID)
		f.Text("object!", &e.Object)
		f.Text("note!", &e.Note)
		f.Text("salt!", &e.Salt)
	},
})

var (
	// SelectAddresses reads the addresses of a range of ids, for the check.
	SelectAddresses = engine.Statement(`
SELECT a.id, a.address, a.salt, coalesce(e.commitment, '') FROM audit_addresses AS a LEFT JOIN audit AS e ON e.id = a.id WHERE {part a.id}`)
	// SelectNotes reads the notes of a range of ids, for the check.
	SelectNotes = engine.Statement(`
SELECT n.id, n.note, n.salt, coalesce(e.note_commitment, '') FROM audit_notes AS n LEFT JOIN audit AS e ON e.id = n.id WHERE {part n.id}`)
)

var selectAudit = engine.Statement(`
SELECT ` + Table.ListOf("e") + `, coalesce(a.address, ''), coalesce(n.note, '')
FROM audit AS e LEFT JOIN audit_addresses AS a ON a.id = e.id LEFT JOIN audit_notes AS n ON n.id = e.id
WHERE ($1 = '' OR e.merchant = $1) AND e.id > $2 ORDER BY e.id LIMIT $3`)

// latestAudit are the statements of Latest, by the most selective field of the filter: an object, a merchant,
// an act.
var latestAudit = func() map[string]string {
	all := map[string]string{}
	for _, by := range []string{"", "object", "merchant", "act"} {
		where := []string{"e.id < $4"}
		for i, column := range []string{"merchant", "object", "act"} {
			n := strconv.Itoa(i + 1)
			if column == by {
				where = append(where, "e."+column+" = $"+n)
			} else {
				where = append(where, "($"+n+" = '' OR e."+column+" = $"+n+")")
			}
		}
		all[by] = engine.Statement(`
SELECT ` + Table.ListOf("e") + `, coalesce(a.address, ''), coalesce(n.note, '')
FROM audit AS e LEFT JOIN audit_addresses AS a ON a.id = e.id LEFT JOIN audit_notes AS n ON n.id = e.id
WHERE ` + strings.Join(where, " AND ") + ` ORDER BY e.id DESC LIMIT $5`)
	}
	return all
}()

// Latest lists the newest entries that match a filter, newest first. It is for the operator.
func (a Audit) Latest(ctx context.Context, f audit.Filter, limit int) ([]audit.Entry, error) {
	by := ""
	switch {
	case f.Object != "":
		by = "object"
	case f.Merchant != "":
		by = "merchant"
	case f.Act != "":
		by = "act"
	}
	return base.Many(ctx, a.b, latestAudit[by], a.scan(), f.Merchant, f.Object, string(f.Act), cmp.Or(f.Before, "~"), limit)
}

// List lists entries after the entry after, oldest first; of all merchants if merchant is empty. It is for
// the operator.
func (a Audit) List(ctx context.Context, merchant, after string, limit int) ([]audit.Entry, error) {
	return base.Many(ctx, a.b, selectAudit, a.scan(), merchant, after, limit)
}

// scan reads an entry with its address and its note.
func (a Audit) scan() func(engine.Row) (audit.Entry, error) {
	scan := Table.Scan(a.b.Personal)
	return func(r engine.Row) (audit.Entry, error) {
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
	}
}

// listNewest reads newest first through an index of actors' kinds: each kind yields its newest ids, and the newest
// of all are read. A sandbox has production's entries too that are about both environments. The indexes have id || ”,
// which is the same: otherwise PostgreSQL may walk the primary key through everything that the service ever noted.
var listNewest = engine.Statement(func() string {
	var parts []string
	for _, kind := range audit.ActorKinds() {
		parts = append(parts, fmt.Sprintf(`
    SELECT id FROM (SELECT id FROM audit
      WHERE merchant = $1 AND live = $2 AND actor_kind = '%[1]s' AND ($3 = '' OR $3 = '%[1]s') AND ($4 = '' OR actor = $4) AND id || '' >= $5 AND id || '' < $6
      ORDER BY id || '' DESC LIMIT $7) AS by_%[1]s`, kind))
	}
	parts = append(parts, `
    SELECT id FROM (SELECT id FROM audit
      WHERE merchant = $1 AND NOT $2 AND live AND substr(act, 1, 5) IN (`+sharedActs()+`)
        AND ($3 = '' OR actor_kind = $3) AND ($4 = '' OR actor = $4) AND id || '' >= $5 AND id || '' < $6
      ORDER BY id || '' DESC LIMIT $7) AS of_both`)
	return `WITH page AS (
  SELECT id FROM (` + strings.Join(parts, "\n    UNION ALL") + `
  ) AS found ORDER BY id DESC LIMIT $7)
SELECT ` + Table.ListOf("e") + `, coalesce(a.address, '')
FROM audit AS e LEFT JOIN audit_addresses AS a ON a.id = e.id WHERE e.id {in SELECT id FROM page} ORDER BY e.id DESC`
}())

// sharedActs are the beginnings of the acts that concern both environments, as the index audit_both has them.
func sharedActs() string {
	var list []string
	for _, object := range audit.Shared() {
		list = append(list, "'"+(object + ".")[:5]+"'")
	}
	return strings.Join(list, ", ")
}

// lastAudit sorts after every entry's id.
const lastAudit = audit.Prefix + "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"

// Newest lists entries of a merchant, newest first, without the operators' notes. In the sandbox these are also those
// of production about both environments: users, shops and the merchant itself.
func (a Audit) Newest(ctx context.Context, merchant string, live bool, f audit.MerchantFilter) ([]audit.Entry, error) {
	from, below := "", lastAudit
	if !f.From.IsZero() {
		from = id.From(audit.Prefix, f.From)
	}
	if !f.To.IsZero() {
		below = id.From(audit.Prefix, f.To)
	}
	if f.After != "" {
		below = min(below, f.After)
	}
	scan := Table.Scan(a.b.Personal)
	return base.Many(ctx, a.b, listNewest, func(r engine.Row) (audit.Entry, error) {
		var address string
		e, err := scan(table.With(r, &address))
		e.By.IP = address
		return e, err
	}, merchant, live, string(f.Kind), f.Actor, from, below, f.Limit)
}

// Audit is the audit log.
type Audit struct{ b *base.Base }

// Audit returns the database's Audit.
func (o OfAudit) Audit() Audit { return Audit(o) }

// ForgetAddresses deletes at most limit addresses of audit entries with ids below one, and returns their
// number.
func (a Audit) ForgetAddresses(ctx context.Context, below string, limit int) (int, error) {
	return base.Forget(ctx, a.b, oldAddresses, below, limit)
}

var oldAddresses = engine.Standalone(`
DELETE FROM audit_addresses WHERE id IN (SELECT d.id FROM audit_addresses AS d WHERE d.id < $1 ORDER BY d.id LIMIT $2 {skip locked d})
RETURNING id`)

// SelectOf reads the entries about objects of a merchant.
var SelectOf = engine.Statement(`
SELECT ` + Table.ListOf("e") + ` FROM {rows: id TEXT} AS r JOIN audit AS e ON e.object = r.id WHERE e.merchant || '' = $2 AND e.act || '' = $3 ORDER BY e.id`) // only by the index of objects

// Of lists the entries of an act about objects of a merchant, oldest first, without addresses and notes.
func (a Audit) Of(ctx context.Context, merchant string, act audit.Act, objects []string) ([]audit.Entry, error) {
	return base.Many(ctx, a.b, SelectOf, Table.Scan(a.b.Personal), append(a.b.IDs(objects), merchant, string(act))...)
}
