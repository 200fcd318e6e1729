package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
)

// errRerun says that a change would lose a guard, or lost one after another of its guards had
// been written: nothing is written, and the batch runs again without it.
var errRerun = errors.New("a change lost a guard")

// write is one transaction of the group commit: the guards of all changes, then
// what they write.
type write struct {
	s     *Store
	c     *committer
	mine  bool // the committer's row is as it left it
	batch []*waiting
	won   map[string]struct{} // ids whose guarded statement changed a row
	funds map[tenant]ledger.Balances
	shut  map[string]struct{} // reserves whose release has begun, of those that changes draw on
	look  []step              // what finds lost guards beforehand
	// behind are the ids whose guard look found to be lost.
	behind map[string]struct{}

	kept []*waiting
	lost map[*waiting]error
	sent []Dispatch
	wide []*pay.FanOut // events whose deliveries are made later
}

// tenant is whom a balance belongs to.
type tenant struct {
	merchant string
	live     bool
}

func newWrite(c *committer, batch []*waiting) *write {
	return &write{
		s: c.s, c: c, batch: batch,
		won:    make(map[string]struct{}, 2*len(batch)),
		funds:  map[tenant]ledger.Balances{},
		shut:   map[string]struct{}{},
		behind: map[string]struct{}{},
		lost:   map[*waiting]error{},
	}
}

// run writes the batch, in the belief that no guard is lost: it hardly ever is. If
// one was, or a floor has to hold, it looks before it writes.
func (w *write) run(ctx context.Context) error {
	guards := w.guards()
	if len(w.funds) == 0 {
		w.kept = w.batch
		err := w.s.db.apply(ctx, w.look, slices.Concat([]step{w.c.note(nil)}, guards, w.steps()))
		if !errors.Is(err, errLost) && !errors.Is(err, errForeseen) {
			return err
		}
		w.s.stats.again.Add(1)
		w.kept, w.sent, w.wide = nil, nil, nil
		if errors.Is(err, errForeseen) && w.dropForeseen() {
			return errRerun
		}
		w.kept = nil
	}
	note := w.c.note(func(row) error { w.mine = true; return nil })
	return w.s.db.transact(ctx, slices.Concat([]step{note}, guards), w.decide)
}

// guardedIDs lists the rows whose guard a change needs to win.
func guardedIDs(c *pay.Change) []string {
	ids := make([]string, 0, 4)
	if c.Once != nil {
		ids = append(ids, c.Once.Key)
	}
	for i := range c.Receipts {
		ids = append(ids, c.Receipts[i].ID)
	}
	ids = replaced(ids, paymentsTable, c.Payments)
	ids = replaced(ids, claimsTable, c.Claims)
	ids = replaced(ids, subscriptionsTable, c.Subscriptions)
	ids = replaced(ids, deliveriesTable, c.Deliveries)
	ids = replaced(ids, fanOutsTable, c.FanOuts)
	ids = replaced(ids, sessionsTable, c.Sessions)
	ids = replaced(ids, replaysTable, c.Replays)
	ids = replaced(ids, merchantsTable, c.Merchants)
	ids = replaced(ids, keysTable, c.Keys)
	ids = replaced(ids, shopsTable, c.Shops)
	ids = replaced(ids, walletsTable, c.Wallets)
	ids = replaced(ids, mailsTable, c.Mails)
	ids = replaced(ids, withdrawalsTable, c.Withdrawals)
	ids = replaced(ids, batchesTable, c.Batches)
	for i := range c.Controls { // the first ones too
		ids = append(ids, controlsTable.id(&c.Controls[i]))
	}
	ids = replaced(ids, verificationsTable, c.Verifications)
	ids = replaced(ids, clocksTable, c.Clocks)
	for i := range c.Quotes { // the first ones too
		ids = append(ids, ratesTable.id(&c.Quotes[i]))
	}
	for i := range c.Accounts {
		ids = append(ids, c.Accounts[i].ID)
	}
	for i := range c.Operators { // the first ones too
		ids = append(ids, operatorsTable.id(&c.Operators[i]))
	}
	for i := range c.Sealed { // the first ones too
		ids = append(ids, secretsTable.id(&c.Sealed[i]))
	}
	for i := range c.KeyUses {
		ids = append(ids, keyUsesTable.id(&c.KeyUses[i]))
	}
	for i := range c.Retained {
		ids = append(ids, retentionTable.id(&c.Retained[i]))
	}
	for i := range c.Recoveries { // the first one too
		ids = append(ids, recoveriesTable.id(&c.Recoveries[i]))
	}
	for i := range c.Found {
		ids = append(ids, foundTable.id(&c.Found[i]))
	}
	for i := range c.Rules {
		ids = append(ids, rulesID(&c.Rules[i]))
	}
	ids = replaced(ids, settlementsTable, c.Settlements)
	ids = replaced(ids, driftsTable, c.Drifts)
	ids = replaced(ids, reservesTable, c.Reserves)
	return replaced(ids, loginsTable, c.Logins)
}

func replaced[T any](ids []string, t table[T], items []T) []string {
	for i := range items {
		if t.unique || !t.isNew(&items[i]) {
			ids = append(ids, t.id(&items[i]))
		}
	}
	return ids
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

func onces(batch []*waiting) []*pay.Once {
	var items []*pay.Once
	for _, w := range batch {
		if w.change.Once != nil {
			items = append(items, w.change.Once)
		}
	}
	return items
}

// Where a payment is written: it starts in processing, leaves it with the
// first answer, and stays in payments.
func startsProcessing(p *pay.Payment) bool { return p.Stored == "" && p.Status == pay.Processing }
func staysProcessing(p *pay.Payment) bool {
	return p.Stored == pay.Processing && p.Status == pay.Processing
}
func leavesProcessing(p *pay.Payment) bool {
	return p.Stored == pay.Processing && p.Status != pay.Processing
}
func entersPayments(p *pay.Payment) bool {
	return p.Status != pay.Processing && (p.Stored == "" || p.Stored == pay.Processing)
}
func staysInPayments(p *pay.Payment) bool { return p.Stored != "" && p.Stored != pay.Processing }

// guards returns the statements that can be lost. The order of the tables is
// the order of locks, the same in every transaction.
func (w *write) guards() []step {
	steps := make([]step, 0, 4)
	asked, told := onces(w.batch), gather(w.batch, receipts, nil)
	foreseeTaken(w, onceTable, lookForKeys, asked)
	foreseeTaken(w, receiptsTable, lookForReceipts, told)
	steps = guarded(w, steps, onceTable, onceTable.insert, asked)
	steps = guarded(w, steps, receiptsTable, receiptsTable.insert, told)
	steps = w.takeProcessing(steps)
	steps = updated(w, steps, processingTable, gather(w.batch, payments, staysProcessing))
	steps = updated(w, steps, paymentsTable, gather(w.batch, payments, staysInPayments))
	steps = replace(w, steps, claimsTable, claims)
	steps = replace(w, steps, subscriptionsTable, subscriptions)
	steps = replace(w, steps, deliveriesTable, deliveries)
	steps = updated(w, steps, fanOutsTable, gather(w.batch, fanOuts, func(f *pay.FanOut) bool { return !f.Over }))
	steps = w.endedFanOuts(steps)
	steps = replace(w, steps, sessionsTable, sessions)
	steps = guarded(w, steps, replaysTable, replaysTable.insert, gather(w.batch, replays, replaysTable.isNew))
	steps = replace(w, steps, replaysTable, replays)
	steps = replace(w, steps, merchantsTable, merchants)
	steps = replace(w, steps, shopsTable, shops)
	steps = replace(w, steps, keysTable, keys)
	steps = replace(w, steps, loginsTable, logins)
	steps = guarded(w, steps, clocksTable, clocksTable.insert, gather(w.batch, clocks, clocksTable.isNew))
	steps = replace(w, steps, clocksTable, clocks)
	steps = guarded(w, steps, ratesTable, ratesTable.insert, gather(w.batch, quotes, ratesTable.isNew))
	steps = replace(w, steps, ratesTable, quotes)
	steps = guarded(w, steps, accountsTable, accountsTable.insert, gather(w.batch, accounts, accountsTable.isNew))
	steps = replace(w, steps, accountsTable, accounts)
	steps = guarded(w, steps, operatorsTable, operatorsTable.insert, gather(w.batch, operators, operatorsTable.isNew))
	steps = replace(w, steps, operatorsTable, operators)
	steps = guarded(w, steps, secretsTable, secretsTable.insert, gather(w.batch, secrets, secretsTable.isNew))
	steps = replace(w, steps, secretsTable, secrets)
	steps = guarded(w, steps, keyUsesTable, keyUsesTable.insert, gather(w.batch, keyUses, keyUsesTable.isNew))
	steps = replace(w, steps, keyUsesTable, keyUses)
	steps = guarded(w, steps, retentionTable, retentionTable.insert, gather(w.batch, retained, retentionTable.isNew))
	steps = replace(w, steps, retentionTable, retained)
	steps = guarded(w, steps, rulesTable, rulesTable.insert, gather(w.batch, routingRules, nil))
	// The old default gives way before the new one comes.
	steps = replace(w, steps, walletsTable, wallets)
	steps = guarded(w, steps, walletsTable, walletsTable.insert, gather(w.batch, wallets, walletsTable.isNew))
	steps = replace(w, steps, mailsTable, mails)
	steps = replace(w, steps, withdrawalsTable, withdrawals)
	steps = guarded(w, steps, controlsTable, controlsTable.insert, gather(w.batch, controls, controlsTable.isNew))
	steps = replace(w, steps, controlsTable, controls)
	steps = guarded(w, steps, batchesTable, batchesTable.insert, gather(w.batch, batches, batchesTable.isNew))
	steps = replace(w, steps, batchesTable, batches)
	steps = replace(w, steps, verificationsTable, verifications)
	steps = guarded(w, steps, verificationsTable, verificationsTable.insert, gather(w.batch, verifications, verificationsTable.isNew))
	steps = replace(w, steps, settlementsTable, settlements)
	steps = replace(w, steps, reservesTable, reserves)
	steps = replace(w, steps, driftsTable, drifts)
	steps = guarded(w, steps, recoveriesTable, recoveriesTable.insert, gather(w.batch, recoveries, recoveriesTable.isNew))
	steps = replace(w, steps, recoveriesTable, recoveries)
	steps = guarded(w, steps, foundTable, foundTable.insert, gather(w.batch, found, foundTable.isNew))
	steps = replace(w, steps, foundTable, found)
	return w.lockFloors(steps)
}

// replace updates rows that somebody may have updated before.
func replace[T any](w *write, steps []step, t table[T], of func(*pay.Change) []T) []step {
	old := func(item *T) bool { return !t.isNew(item) }
	return updated(w, steps, t, gather(w.batch, of, old))
}

// updated updates rows, and looks first whether they are as they were read.
func updated[T any](w *write, steps []step, t table[T], items []*T) []step {
	foreseeMoved(w, t, items)
	return guarded(w, steps, t, t.update, items)
}

// guarded runs a statement that returns the ids it did write.
func guarded[T any](w *write, steps []step, t table[T], text string, items []*T) []step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, step{w.s.text(text), t.rows(w.s, items).args(), w.win, len(items)})
}

func (w *write) win(r row) error {
	var id string
	err := r.Scan(&id)
	w.won[id] = struct{}{}
	return err
}

func (w *write) takeProcessing(steps []step) []step {
	items := gather(w.batch, payments, leavesProcessing)
	if len(items) == 0 {
		return steps
	}
	foreseeMoved(w, processingTable, items)
	slices.SortFunc(items, func(a, b *pay.Payment) int { return cmp.Compare(a.ID, b.ID) })
	rows := newRows(w.s.db.dialect(), versionColumns, len(items))
	for _, p := range items {
		rows.text(p.ID).number(p.Version).next()
	}
	return append(steps, step{w.s.text(takeProcessing), rows.args(), w.win, len(items)})
}

const selectBalancesForUpdate = `
SELECT ` + balanceColumns + ` FROM balances AS b
JOIN {rows: merchant TEXT, live BOOLEAN} AS r ON b.merchant = r.merchant AND b.live = r.live AND {among b.merchant merchant}
ORDER BY b.merchant, b.live {for update}`

// lockFloors reads the balances that a floor is about and keeps them from moving until the commit;
// with them all others that the batch moves. Two batches take what they share in one order: one that
// took a floor's first, and the others when it writes, would wait for one that began with another floor.
func (w *write) lockFloors(steps []step) []step {
	moved := map[tenant]bool{}
	for _, c := range w.batch {
		for _, f := range c.change.Floors {
			w.funds[tenant{f.Merchant, f.Live}], moved[tenant{f.Merchant, f.Live}] = ledger.Balances{}, true
		}
		for _, t := range c.change.Transfers {
			moved[tenant{t.Merchant, t.Live}] = true
		}
	}
	if len(w.funds) == 0 {
		return steps
	}
	rows := newRows(w.s.db.dialect(), parseColumns("merchant TEXT, live BOOLEAN"), len(moved))
	for _, t := range slices.SortedFunc(maps.Keys(moved), tenant.compare) {
		rows.text(t.merchant).flag(t.live).next()
	}
	steps = append(steps, step{text: w.s.text(selectBalancesForUpdate), args: rows.args(), each: func(r row) error {
		t, b, err := scanBalances(r)
		if _, asked := w.funds[t]; asked {
			w.funds[t] = b
		}
		return err
	}})
	return w.lookAtDays(steps)
}

func (t tenant) compare(o tenant) int {
	return cmp.Or(strings.Compare(t.merchant, o.merchant), btoi(t.live)-btoi(o.live))
}

// decide drops the changes that lost a guard and returns what the others
// write.
func (w *write) decide() ([]step, error) {
	if !w.mine {
		return nil, errFenced
	}
	rerun := false
	for _, c := range w.batch {
		ids := c.guards
		held := 0
		for _, id := range ids {
			if _, ok := w.won[id]; ok {
				held++
			}
		}
		var err error
		switch {
		case held < len(ids):
			err = lostGuard(&c.change, func(id string) bool { _, won := w.won[id]; return !won })
		case w.closed(&c.change):
			err = ErrStale
		case !w.fund(&c.change):
			err = ErrInsufficient
		}
		if err == nil {
			w.kept = append(w.kept, c)
			continue
		}
		w.lost[c] = err
		rerun = rerun || held > 0
	}
	if rerun {
		return nil, errRerun
	}
	return w.steps(), nil
}

// fund books the change on the balances that floors are about, and reports
// whether its own floors hold. A change that breaks one books nothing.
func (w *write) fund(c *pay.Change) bool {
	if len(w.funds) == 0 {
		return true
	}
	book := func(sign int64) {
		for _, t := range c.Transfers {
			balances, watched := w.funds[tenant{t.Merchant, t.Live}]
			if !watched {
				continue
			}
			for _, p := range t.Postings {
				balances[p.Account] += sign * p.Amount
			}
		}
	}
	book(1)
	for _, f := range c.Floors {
		if w.funds[tenant{f.Merchant, f.Live}][f.Account] < f.Min {
			book(-1)
			return false
		}
	}
	return true
}

// steps returns the statements that cannot be lost.
func (w *write) steps() []step {
	steps := make([]step, 0, 12)
	steps = insert(w, steps, merchantsTable, merchants)
	steps = insert(w, steps, shopsTable, shops)
	steps = insert(w, steps, keysTable, keys)
	steps = insert(w, steps, loginsTable, logins)
	steps = put(w, steps, logosTable, gather(w.kept, logos, nil))
	steps = insert(w, steps, auditTable, audits)
	steps = put(w, steps, addressesTable, gather(w.kept, audits, hasAddress))
	steps = put(w, steps, notesTable, gather(w.kept, audits, hasNote))
	steps = put(w, steps, rateHistoryTable, gather(w.kept, quotes, nil))
	steps = insert(w, steps, settlementsTable, settlements)
	steps = insert(w, steps, linesTable, lines)
	steps = insert(w, steps, reservesTable, reserves)
	steps = insert(w, steps, documentsTable, documents)
	steps = insert(w, steps, reconciliationsTable, reconciliations)
	steps = insert(w, steps, driftsTable, drifts)
	steps = insert(w, steps, subscriptionsTable, subscriptions)
	steps = insert(w, steps, sessionsTable, sessions)
	steps = put(w, steps, processingTable, gather(w.kept, payments, startsProcessing))
	steps = put(w, steps, paymentsTable, gather(w.kept, payments, entersPayments))
	steps = insert(w, steps, claimsTable, claims)
	steps = insert(w, steps, inboxTable, received)
	steps = insert(w, steps, filesTable, files)
	steps = insert(w, steps, mailsTable, mails)
	steps = insert(w, steps, withdrawalsTable, withdrawals)
	steps = insert(w, steps, transfersTable, transfers)
	if list := gather(w.kept, events, nil); len(list) > 0 {
		steps = w.fanOut(put(w, steps, eventsTable, list), list)
	}
	steps = w.step(steps)
	steps = insert(w, steps, deliveriesTable, deliveries)
	steps = w.erase(steps)
	steps = w.noteMisfits(steps)
	steps = w.addBalances(steps)
	steps = w.addDeliveryCounters(steps)
	steps = w.addCounters(steps)
	return w.mark(steps)
}

// insert adds the rows that are new.
func insert[T any](w *write, steps []step, t table[T], of func(*pay.Change) []T) []step {
	return put(w, steps, t, gather(w.kept, of, t.isNew))
}

// put adds rows.
func put[T any](w *write, steps []step, t table[T], items []*T) []step {
	if len(items) == 0 {
		return steps
	}
	return append(steps, step{text: w.s.text(t.insert), args: t.rows(w.s, items).args()})
}

// addBalances books all transfers of the batch, one row per merchant and
// environment.
func (w *write) addBalances(steps []step) []step {
	deltas := map[tenant]ledger.Balances{}
	movements := map[tenant]int64{}
	for _, t := range gather(w.kept, transfers, nil) {
		key := tenant{t.Merchant, t.Live}
		movements[key] += pay.MovementCount(*t)
		if deltas[key] == nil {
			deltas[key] = make(ledger.Balances, len(t.Postings))
		}
		for _, p := range t.Postings {
			deltas[key][p.Account] += p.Amount
		}
	}
	if len(deltas) == 0 {
		return steps
	}
	rows := newRows(w.s.db.dialect(), balanceRows, len(deltas))
	for _, key := range slices.SortedFunc(maps.Keys(deltas), tenant.compare) {
		rows.text(key.merchant).flag(key.live)
		for _, account := range ledger.Accounts() {
			rows.number(deltas[key][account])
		}
		rows.number(movements[key]).next()
	}
	return append(steps, step{text: w.s.text(upsertBalances), args: rows.args()})
}

// report answers the callers once the transaction is durable.
func (w *write) report() {
	for _, c := range w.kept {
		w.s.tell(&c.change)
		c.tell(nil)
	}
	w.reportLost()
	w.s.widths.learn(w.kept, w.sent)
	if len(w.sent) > 0 && w.s.delivered != nil {
		w.s.delivered(w.sent)
	}
	if len(w.wide) > 0 && w.s.widened != nil {
		w.s.widened()
	}
}

func (w *write) reportLost() {
	for c, err := range w.lost {
		c.tell(err)
	}
}
