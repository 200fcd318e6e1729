package store

import (
	"cmp"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/people"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/tenants"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// kind is a table as Commit sees it, independent of its row type.
type kind interface {
	// guarded adds the ids of rows whose guard a change must win.
	guarded(c *pay.Change, ids []string) []string
	// lostToDuplicate reports whether a change lost to a duplicate of its own row, and not to a later
	// version.
	lostToDuplicate(c *pay.Change, missing func(id string) bool) bool
	// guards adds the statements that can be lost. inserts adds those that cannot.
	guards(w *write, steps []engine.Step) []engine.Step
	inserts(w *write, steps []engine.Step) []engine.Step
}

// rows implements kind for a table.
type rows[T any] struct{ table *table.Table[T] }

func of[T any](t *table.Table[T]) rows[T] { return rows[T]{t} }

// written are the tables that Commit writes, in every transaction's lock order. Within a table,
// replacements come before inserts: an old default must go before the new one comes.
var written = []kind{
	of(payments.OnceTable), of(payments.NoticesTable), paymentRows{}, of(payments.ClaimsTable), of(webhooks.SubscriptionsTable), of(webhooks.DeliveriesTable), fanOutRows{of(webhooks.FanOutsTable)}, of(payments.SessionsTable),
	of(webhooks.ReplaysTable), of(tenants.MerchantsTable), of(tenants.ShopsTable), of(tenants.KeysTable), of(tenants.LoginsTable), of(tenants.ClocksTable), of(tenants.ResetsTable), of(tenants.RatesTable), of(tenants.AccountsTable), of(tenants.OperatorsTable),
	of(tenants.SecretsTable), of(tenants.KeyUsesTable), of(tenants.RetentionTable), of(tenants.RulesTable), of(books.WalletsTable), of(tenants.MailsTable), of(books.WithdrawalsTable), of(books.ControlsTable), of(books.BatchesTable),
	of(tenants.VerificationsTable), of(books.SettlementsTable), of(books.ReservesTable), of(books.DriftsTable), of(tenants.RecoveriesTable), of(tenants.FoundTable),
	of(people.UsersTable), of(people.MembershipsTable), of(people.SignInsTable), of(people.LinksTable),
	// Insert-only tables.
	of(tenants.LogosTable), of(tenants.AuditTable), of(tenants.AddressesTable), of(tenants.NotesTable), of(tenants.RateHistoryTable), of(books.LinesTable), of(books.DocumentsTable), of(books.ReconciliationsTable),
	of(webhooks.InboxTable), of(payments.FilesTable), of(books.TransfersTable), of(webhooks.EventsTable),
}

func (t rows[T]) guarded(c *pay.Change, ids []string) []string {
	if t.table.Version == nil && !t.table.Met.GuardsNew() {
		return ids
	}
	items := t.table.Of(c)
	for i := range items {
		if t.table.Met.GuardsNew() || !t.table.IsNew(&items[i]) {
			ids = append(ids, t.table.ID(&items[i]))
		}
	}
	return ids
}

func (t rows[T]) lostToDuplicate(c *pay.Change, missing func(id string) bool) bool {
	if t.table.Met != table.Duplicate && t.table.Met != table.DuplicateAnyhow {
		return false
	}
	items := t.table.Of(c)
	for i := range items {
		if t.table.IsNew(&items[i]) && missing(t.table.ID(&items[i])) {
			return true
		}
	}
	return false
}

func (t rows[T]) guards(w *write, steps []engine.Step) []engine.Step {
	if t.table.Version != nil {
		steps = t.replace(w, steps, gather(w.batch, t.table.Of, func(item *T) bool { return !t.table.IsNew(item) }))
	}
	if !t.table.Met.GuardsNew() {
		return steps
	}
	items := gather(w.batch, t.table.Of, t.table.IsNew)
	if t.table.OftenMet && len(items) > 0 {
		w.foresee(t.table.Taken, func() []any {
			ids := make([]string, len(items))
			for i, item := range items {
				ids[i] = t.table.ID(item)
			}
			return w.s.b.IDs(ids)
		})
	}
	return t.won(w, steps, t.table.Insert, items)
}

func (t rows[T]) inserts(w *write, steps []engine.Step) []engine.Step {
	if t.table.Met.GuardsNew() {
		return steps
	}
	return t.add(w, steps, gather(w.kept, t.table.Of, func(item *T) bool { return t.table.IsNew(item) && (t.table.Only == nil || t.table.Only(item)) }))
}

// replace updates rows that somebody else may have updated first.
func (t rows[T]) replace(w *write, steps []engine.Step, items []*T) []engine.Step {
	t.foreseeMoved(w, items)
	return t.won(w, steps, t.table.Update, items)
}

// foreseeMoved is foresee for rows that may no longer have the previous version.
func (t rows[T]) foreseeMoved(w *write, items []*T) {
	if len(items) > 0 {
		w.foresee(t.table.Look, func() []any { return t.versions(w, items) })
	}
}

// versions are the arguments of a statement on rows and their versions.
func (t rows[T]) versions(w *write, items []*T) []any {
	rows := engine.NewRows(w.s.b.DB.Dialect(), versionColumns, len(items))
	for _, item := range items {
		rows.Text(t.table.ID(item)).Number(t.table.Version(item)).Next()
	}
	return rows.Args()
}

// won runs a statement that returns the ids it wrote.
func (t rows[T]) won(w *write, steps []engine.Step, text string, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.b.Text(text), Args: t.table.Rows(w.s.b.DB.Dialect(), w.s.b.Personal, items).Args(), Each: w.win, Want: len(items)})
}

// removed is won for rows that leave the table.
func (t rows[T]) removed(w *write, steps []engine.Step, text string, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	t.foreseeMoved(w, items)
	slices.SortFunc(items, func(a, b *T) int { return cmp.Compare(t.table.ID(a), t.table.ID(b)) })
	return append(steps, engine.Step{Text: w.s.b.Text(text), Args: t.versions(w, items), Each: w.win, Want: len(items)})
}

// add adds rows.
func (t rows[T]) add(w *write, steps []engine.Step, items []*T) []engine.Step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.b.Text(t.table.Insert), Args: t.table.Rows(w.s.b.DB.Dialect(), w.s.b.Personal, items).Args()})
}

// gather collects the rows of one kind that want selects.
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
