package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// sealed is a table whose rows are hashed when they are written, and proved by
// Check: only ever inserted into.
type sealed struct {
	name    string
	columns []engine.Column
	order   []int // of the columns, by name: a hash does not hang on where a column stands
	read    string
	ids     string // in their order
	idsIn   string // of a part
	// unsealed names rows of a part. It reads every block, so it is for what was found not to add up.
	unsealed string
	// Where the columns stand that every sealed table has.
	id, merchant, live int
}

func newSealed[T any](t *table[T]) sealed {
	s := sealed{name: t.name, columns: t.columns}
	var names []string
	for i, c := range t.columns {
		names = append(names, c.Name)
		s.order = append(s.order, i)
	}
	slices.SortFunc(s.order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	s.id, s.merchant, s.live = slices.Index(names, "id"), slices.Index(names, "merchant"), slices.Index(names, "live")
	s.read = engine.Statement("SELECT " + strings.Join(names, ", ") + " FROM " + t.name + " WHERE id IN (SELECT id FROM {rows: id TEXT} AS r)")
	s.ids = engine.Statement("SELECT t.id FROM " + t.name + " AS t WHERE t.id > $1 ORDER BY t.id LIMIT $2")
	s.idsIn = engine.Statement("SELECT t.id FROM " + t.name + " AS t WHERE {part t.id}")
	s.unsealed = engine.Statement("SELECT t.id, 'is in no block: it was put in beside the service, or its block was taken away' FROM " + t.name +
		" AS t WHERE {part t.id} AND t.id NOT IN (" + sealedIDs + ")")
	return s
}

// The sealed tables. An id says which one its row is in.
var (
	sealedTransfers = newSealed(transfersTable)
	sealedAudit     = newSealed(auditTable)
)

func sealedOf(id string) sealed {
	if strings.HasPrefix(id, audit.AuditPrefix) {
		return sealedAudit
	}
	return sealedTransfers
}

// hash returns the hash of one of the rows.
func (t sealed) hash(h *seal.Hasher, r *engine.Arrays, at int) string {
	h.Row(t.name)
	for _, c := range t.order {
		switch name := t.columns[c].Name; t.columns[c].Kind {
		case "TEXT":
			h.Text(name, r.Texts[c][at])
		case "BIGINT":
			h.Number(name, r.Ints[c][at])
		default:
			h.Flag(name, r.Bools[c][at])
		}
	}
	return h.RowSum()
}

// chains holds rows that wait for a block: their ids and hashes by whose they
// are.
type chains map[purse]map[string]string

func (c chains) add(of purse, id, hash string) {
	if c[of] == nil {
		c[of] = map[string]string{}
	}
	c[of][id] = hash
}

// doc is the chains as a mark holds them: {"mer_A production":{"tr_1":"…"}}.
func (c chains) doc() string {
	b := []byte{'{'}
	for i, of := range slices.SortedFunc(maps.Keys(c), purse.compare) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(engine.AppendJSONText(b, seal.Chain(of.merchant, of.live)), ':')
		b = append(b, hashes(c[of])...)
	}
	return string(append(b, '}'))
}

// hashes is the rows of a block as they are stored: {"tr_1":"…",…}.
func hashes(rows map[string]string) string {
	b := []byte{'{'}
	for i, id := range slices.Sorted(maps.Keys(rows)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(engine.AppendJSONText(b, id), ':')
		b = engine.AppendJSONText(b, rows[id])
	}
	return string(append(b, '}'))
}

var insertMark = engine.Statement(`INSERT INTO unsealed (at, id, doc, mac) SELECT {now}, $1, $2, $3 WHERE {unless lost}`)

// mark notes the hashes of the batch's sealed rows, in one row for all of
// them: the rows wait for a block from the moment they exist, however late
// their commit came and whatever clock their times are in.
func (w *write) mark(steps []engine.Step) []engine.Step {
	money, acts := gather(w.kept, transfersTable.of, nil), gather(w.kept, audits, nil)
	if len(money)+len(acts) == 0 {
		return steps
	}
	written := chains{}
	h := seal.New(w.s.sealKey)
	markRows(h, written, sealedTransfers, transfersTable, money)
	markRows(h, written, sealedAudit, auditTable, acts)
	// The id of a row that is written once names a mark that is made once.
	id := ""
	for _, rows := range written {
		for row := range rows {
			if id == "" || row < id {
				id = row
			}
		}
	}
	doc := written.doc()
	return append(steps, engine.Step{Text: w.s.text(insertMark), Args: []any{id, doc, h.Mark(id, doc)}})
}

func markRows[T any](h *seal.Hasher, into chains, s sealed, t *table[T], items []*T) {
	if len(items) == 0 {
		return
	}
	r := engine.NewArrays(t.columns, len(items))
	t.gather(&engine.Rows{Columns: t.columns, Form: r}, personal{}, items)
	for i := range items {
		into.add(purse{r.Texts[s.merchant][i], r.Bools[s.live][i]}, r.Texts[s.id][i], s.hash(h, r, i))
	}
}

// markRow is what a commit wrote and no block holds yet.
type markRow struct {
	at           int64
	id, doc, mac string
}

var (
	markColumns = `at, id, doc, mac`
	selectMarks = engine.Statement(`SELECT ` + markColumns + ` FROM unsealed ORDER BY at, id LIMIT $1`)
	takeMarks   = engine.Standalone(`
DELETE FROM unsealed
WHERE {among at at} AND (at, id) IN (SELECT r.at, r.id FROM {rows: at BIGINT, id TEXT} AS r)
RETURNING id`)
	selectHeads = engine.Statement(`
SELECT b.merchant, b.live, b.n, b.hash FROM {rows: merchant TEXT, live BOOLEAN} AS r
JOIN blocks AS b ON b.merchant = r.merchant AND b.live = r.live
WHERE b.n = (SELECT max(n) FROM blocks AS m WHERE m.merchant = r.merchant AND m.live = r.live)`)
	insertBlocks = engine.Standalone(`
INSERT INTO blocks (` + blockColumns + `) SELECT ` + blockColumns + ` FROM {rows: ` + blockSpec + `} AS r
WHERE TRUE ON CONFLICT (merchant, live, n) DO NOTHING RETURNING n`)
	blockSpec    = "merchant TEXT, live BOOLEAN, n BIGINT, at BIGINT, previous TEXT, hash TEXT, doc TEXT"
	blockColumns = "merchant, live, n, at, previous, hash, doc"
)

func scanMark(r engine.Row) (m markRow, err error) {
	err = r.Scan(&m.at, &m.id, &m.doc, &m.mac)
	return m, err
}

// read adds the rows that a mark tells of. It fails where the service did not
// make the mark.
func (m markRow) read(h *seal.Hasher, into chains) error {
	if m.mac != h.Mark(m.id, m.doc) {
		return fmt.Errorf("mark %s was not made with our key", m.id)
	}
	var doc map[string]map[string]string
	if err := json.Unmarshal([]byte(m.doc), &doc); err != nil {
		return fmt.Errorf("mark %s: %w", m.id, err)
	}
	for chain, rows := range doc {
		merchant, live, ok := seal.ParseChain(chain)
		if !ok {
			return fmt.Errorf("mark %s: %q is no chain", m.id, chain)
		}
		for id, hash := range rows {
			into.add(purse{merchant, live}, id, hash)
		}
	}
	return nil
}

const (
	// sealMarks bounds one step of sealing, so that catching up after a long
	// stop takes many small transactions; a mark tells of at most a batch.
	sealMarks = 200
	// blockRows bounds a block, and with it what Check holds in memory.
	blockRows = 1000
)

// Seal puts what commits wrote since into blocks, each with the hash of the
// one before, and reports whether more waits. Every node may call it: the
// marks are taken and the blocks numbered in one transaction, so of two that
// seal the same rows one does.
func (s *core) Seal(ctx context.Context, now time.Time) (more bool, err error) {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	marks, err := many(ctx, s, selectMarks, scanMark, sealMarks)
	if err != nil || len(marks) == 0 {
		return false, err
	}
	h := seal.New(s.sealKey)
	waiting := chains{}
	taken := engine.NewRows(s.db.Dialect(), engine.ParseColumns("at BIGINT, id TEXT"), len(marks))
	for _, m := range marks {
		if err := m.read(h, waiting); err != nil {
			// It stays, for Check to name; whoever put it there wanted it sealed.
			s.log.Error("rows that the service did not write wait to be sealed", "error", err)
			continue
		}
		taken.Number(m.at).Text(m.id).Next()
	}
	if taken.N == 0 {
		return false, nil
	}
	blocks, err := s.nextBlocks(ctx, h, waiting, now)
	if err != nil {
		return false, err
	}
	err = applySlowly(ctx, s.db, []engine.Step{
		{Text: s.text(takeMarks), Args: taken.Args(), Want: taken.N},
		{Text: s.text(insertBlocks), Args: blockArgs(s.db.Dialect(), blocks), Want: len(blocks)},
	})
	switch {
	case errors.Is(err, engine.ErrLost):
		return false, nil // another node was faster, and does the rest, too
	case errors.Is(err, engine.ErrUnknown):
		return true, nil // the next look finds what is left: a row is sealed once
	case err != nil:
		return false, fmt.Errorf("seal %d rows: %w", taken.N, err)
	}
	s.stats.sealed.Store(micros(now))
	return len(marks) == sealMarks, nil
}

// nextBlocks makes the blocks that follow the chains' heads, in the order in
// which every node numbers them.
func (s *core) nextBlocks(ctx context.Context, h *seal.Hasher, waiting chains, now time.Time) ([]seal.Block, error) {
	heads, err := s.heads(ctx, slices.SortedFunc(maps.Keys(waiting), purse.compare))
	if err != nil {
		return nil, err
	}
	var blocks []seal.Block
	for _, of := range slices.SortedFunc(maps.Keys(waiting), purse.compare) {
		head := heads[of]
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(waiting[of])), blockRows) {
			b := seal.Block{Merchant: of.merchant, Live: of.live, N: head.N + 1, At: micros(now), Previous: head.Hash, Rows: map[string]string{}}
			for _, id := range ids {
				b.Rows[id] = waiting[of][id]
			}
			b.Hash = h.Sum(b)
			head = seal.Head{N: b.N, Hash: b.Hash}
			blocks = append(blocks, b)
		}
	}
	return blocks, nil
}

// heads reads the newest blocks of chains. It tells when one is gone that this
// process has seen: somebody cut the chain, or put back a backup.
func (s *core) heads(ctx context.Context, of []purse) (map[purse]seal.Head, error) {
	asked := engine.NewRows(s.db.Dialect(), engine.ParseColumns("merchant TEXT, live BOOLEAN"), len(of))
	for _, t := range of {
		asked.Text(t.merchant).Flag(t.live).Next()
	}
	list, err := many(ctx, s, selectHeads, scanHead, asked.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read the heads of chains: %w", err)
	}
	heads := make(map[purse]seal.Head, len(list))
	for _, head := range list {
		heads[purse{head.Merchant, head.Live}] = head
	}
	for _, t := range of {
		if seen, is := s.heights[t], heads[t]; is.N < seen.N || is.N == seen.N && is.Hash != seen.Hash {
			s.log.Error("sealed blocks are gone or others: the database was tampered with, or an older one put back",
				"chain", seal.Chain(t.merchant, t.live), "was", seen.N, "is", is.N)
		}
		s.heights[t] = heads[t]
	}
	return heads, nil
}

func scanHead(r engine.Row) (h seal.Head, err error) {
	err = r.Scan(&h.Merchant, &h.Live, &h.N, &h.Hash)
	return h, err
}

func blockArgs(d engine.Dialect, blocks []seal.Block) []any {
	r := engine.NewRows(d, engine.ParseColumns(blockSpec), len(blocks))
	for _, b := range blocks {
		r.Text(b.Merchant).Flag(b.Live).Number(b.N, b.At).Text(b.Previous, b.Hash, hashes(b.Rows)).Next()
	}
	return r.Args()
}

// oldestMark is a gauge among the due work: since when rows wait for a block.
const oldestMark = `SELECT '` + sealWork + `', coalesce(min(at), 0) FROM unsealed`

// sealWork is what the gauge calls it.
const sealWork = "seals"
