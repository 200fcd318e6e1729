package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// kind is a table as Commit sees it, whatever its rows are.
type kind interface {
	// guarded adds the ids of rows whose guard a change has to win.
	guarded(c *pay.Change, ids []string) []string
	// lostToDuplicate reports whether a change lost to a row that is a duplicate of its own, not to a later version.
	lostToDuplicate(c *pay.Change, missing func(id string) bool) bool
	// guards adds what can be lost, and inserts what cannot.
	guards(w *write, steps []engine.Step) []engine.Step
	inserts(w *write, steps []engine.Step) []engine.Step
}

// written are the tables that Commit writes, in the order in which it locks their rows: the same in
// every transaction. Within one, what replaces a row comes before what adds one: an old default gives way
// before the new one comes.
var written = []kind{
	onceTable, receiptsTable, paymentRows{}, claimsTable, subscriptionsTable, deliveriesTable, fanOutRows{fanOutsTable}, sessionsTable,
	replaysTable, merchantsTable, shopsTable, keysTable, loginsTable, clocksTable, ratesTable, accountsTable, operatorsTable,
	secretsTable, keyUsesTable, retentionTable, rulesTable, walletsTable, mailsTable, withdrawalsTable, controlsTable, batchesTable,
	verificationsTable, settlementsTable, reservesTable, driftsTable, recoveriesTable, foundTable,
	// Rows of these are only added.
	logosTable, auditTable, addressesTable, notesTable, rateHistoryTable, linesTable, documentsTable, reconciliationsTable,
	inboxTable, filesTable, transfersTable, eventsTable,
}

func (t *table[T]) guarded(c *pay.Change, ids []string) []string {
	if t.version == nil && !t.met.guardsNew() {
		return ids
	}
	items := t.of(c)
	for i := range items {
		if t.met.guardsNew() || !t.isNew(&items[i]) {
			ids = append(ids, t.id(&items[i]))
		}
	}
	return ids
}

func (t *table[T]) lostToDuplicate(c *pay.Change, missing func(id string) bool) bool {
	if t.met != duplicate && t.met != duplicateAnyhow {
		return false
	}
	items := t.of(c)
	for i := range items {
		if t.isNew(&items[i]) && missing(t.id(&items[i])) {
			return true
		}
	}
	return false
}

func (t *table[T]) guards(w *write, steps []engine.Step) []engine.Step {
	if t.version != nil {
		steps = t.replace(w, steps, gather(w.batch, t.of, func(item *T) bool { return !t.isNew(item) }))
	}
	if !t.met.guardsNew() {
		return steps
	}
	items := gather(w.batch, t.of, t.isNew)
	if t.oftenMet && len(items) > 0 {
		w.foresee(t.taken, func() []any {
			ids := make([]string, len(items))
			for i, item := range items {
				ids[i] = t.id(item)
			}
			return w.s.ids(ids)
		})
	}
	return t.won(w, steps, t.insert, items)
}

func (t *table[T]) inserts(w *write, steps []engine.Step) []engine.Step {
	if t.met.guardsNew() {
		return steps
	}
	return t.add(w, steps, gather(w.kept, t.of, func(item *T) bool { return t.isNew(item) && (t.only == nil || t.only(item)) }))
}

// replace updates rows that somebody may have updated before.
func (t *table[T]) replace(w *write, steps []engine.Step, items []*T) []engine.Step {
	t.foreseeMoved(w, items)
	return t.won(w, steps, t.update, items)
}

// foreseeMoved is foresee for rows whose version may be another one than the one before.
func (t *table[T]) foreseeMoved(w *write, items []*T) {
	if len(items) > 0 {
		w.foresee(t.look, func() []any { return t.versions(w, items) })
	}
}

// versions are the arguments of a statement about rows with their versions.
func (t *table[T]) versions(w *write, items []*T) []any {
	rows := engine.NewRows(w.s.db.Dialect(), versionColumns, len(items))
	for _, item := range items {
		rows.Text(t.id(item)).Number(t.version(item)).Next()
	}
	return rows.Args()
}

// won runs a statement that returns the ids it did write.
func (t *table[T]) won(w *write, steps []engine.Step, text string, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.text(text), Args: t.rows(w.s.db.Dialect(), w.s.personal, items).Args(), Each: w.win, Want: len(items)})
}

// removed is won for rows that leave the table.
func (t *table[T]) removed(w *write, steps []engine.Step, text string, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	t.foreseeMoved(w, items)
	slices.SortFunc(items, func(a, b *T) int { return cmp.Compare(t.id(a), t.id(b)) })
	return append(steps, engine.Step{Text: w.s.text(text), Args: t.versions(w, items), Each: w.win, Want: len(items)})
}

// add adds rows.
func (t *table[T]) add(w *write, steps []engine.Step, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.text(t.insert), Args: t.rows(w.s.db.Dialect(), w.s.personal, items).Args()})
}

// gather collects the rows of one kind that are to be written in one way.
func gather[T any](batch []*waiting, of func(*pay.Change) []T, want func(*T) bool) []*T {
	var items []*T
	for _, w := range batch {
		list := of(&w.change)
		for i := range list {
			if want == nil || want(&list[i]) {
				items = append(items, &list[i])
			}
		}
	}
	return items
}

// list is a set of words as one text column: ",a,b,".
func list(words []string) string { return "," + strings.Join(words, ",") + "," }

func unlist(text string) []string { return strings.Split(strings.Trim(text, ","), ",") }

// encode is a document as it is stored.
func encode(doc any) string {
	text, err := json.Marshal(doc)
	if err != nil {
		panic("store: a document that is no JSON: " + err.Error()) // our own types
	}
	return string(text)
}
