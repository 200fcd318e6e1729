// Package chain seals rows: it hashes the rows that a commit writes, and puts the hashes into blocks. Each
// block has the hash of the block before.
//
// Other packages know what a row or a hash means. The check proves that the chains are whole.
package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/seal"
	storeaudit "github.com/cascadapay/cascada/internal/store/audit"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Sealed is a table of insert-only rows, hashed when written and proved by Check.
type Sealed struct {
	Name    string
	Columns []engine.Column
	order   []int // of the columns, by name: the hash does not depend on column positions
	Read    string
	IDs     string // in column order
	IDsIn   string // of a part
	// Unsealed names unsealed rows of a part. It reads every block, so it is only for parts that do not add
	// up.
	Unsealed string
	// The positions of the columns that every sealed table has.
	ID, Merchant, Live int
}

func newSealed[T any](t *table.Table[T]) Sealed {
	s := Sealed{Name: t.Name, Columns: t.Columns}
	var names []string
	for i, c := range t.Columns {
		names = append(names, c.Name)
		s.order = append(s.order, i)
	}
	slices.SortFunc(s.order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	s.ID, s.Merchant, s.Live = slices.Index(names, "id"), slices.Index(names, "merchant"), slices.Index(names, "live")
	s.Read = engine.Statement("SELECT " + strings.Join(names, ", ") + " FROM " + t.Name + " WHERE id IN (SELECT id FROM {rows: id TEXT} AS r)")
	s.IDs = engine.Statement("SELECT t.id FROM " + t.Name + " AS t WHERE t.id > $1 ORDER BY t.id LIMIT $2")
	s.IDsIn = engine.Statement("SELECT t.id FROM " + t.Name + " AS t WHERE {part t.id}")
	s.Unsealed = engine.Statement("SELECT t.id, 'is in no block: it was not written by the service, or its block was removed' FROM " + t.Name +
		" AS t WHERE {part t.id} AND t.id NOT IN (" + SealedIDs + ")")
	return s
}

// The sealed tables. An id shows which one its row is in.
var (
	SealedTransfers = newSealed(books.TransfersTable)
	SealedAudit     = newSealed(storeaudit.Table)
)

// SealedOf returns the table of the row with an id.
func SealedOf(id string) Sealed {
	if strings.HasPrefix(id, audit.Prefix) {
		return SealedAudit
	}
	return SealedTransfers
}

// Hash returns the hash of one row.
func (se Sealed) Hash(h *seal.Hasher, r *engine.Arrays, at int) string {
	h.Row(se.Name)
	for _, c := range se.order {
		switch name := se.Columns[c].Name; se.Columns[c].Kind {
		case "TEXT":
			h.Text(name, r.Of[c].Texts[at])
		case "BIGINT":
			h.Number(name, r.Of[c].Ints[at])
		default:
			h.Flag(name, r.Of[c].Bools[at])
		}
	}
	return h.RowSum()
}

// Chains holds rows that wait for a block: ids and hashes by owner.
type Chains map[books.Purse]map[string]string

func (c Chains) add(of books.Purse, id, hash string) {
	if c[of] == nil {
		c[of] = map[string]string{}
	}
	c[of][id] = hash
}

// doc is the chains as a mark stores them: {"mer_A production":{"tr_1":"…"}}.
func (c Chains) doc() string {
	b := []byte{'{'}
	for i, of := range slices.SortedFunc(maps.Keys(c), books.Purse.Compare) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(engine.AppendJSONText(b, seal.Chain(of.Merchant, of.Live)), ':')
		b = append(b, hashes(c[of])...)
	}
	return string(append(b, '}'))
}

// hashes is a block's rows as stored: {"tr_1":"…",…}.
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

// MarkRow is what a commit wrote and no block has yet.
type MarkRow struct {
	At           int64
	ID, doc, mac string
}

var (
	// MarkColumns are the columns that ScanMark reads.
	MarkColumns = `at, id, doc, mac`
	selectMarks = engine.Statement(`SELECT ` + MarkColumns + ` FROM unsealed ORDER BY at, id LIMIT $1`)
	deleteMarks = engine.Standalone(`
DELETE FROM unsealed
WHERE {among at at} AND (at, id) IN (SELECT r.at, r.id FROM {rows: at BIGINT, id TEXT} AS r)
RETURNING id`)
	selectHeads = engine.Statement(`
SELECT b.merchant, b.live, b.n, b.hash FROM {rows: merchant TEXT, live BOOLEAN} AS r
JOIN blocks AS b ON b.merchant = r.merchant AND b.live = r.live
WHERE b.n = (SELECT max(n) FROM blocks AS m WHERE m.merchant = r.merchant AND m.live = r.live)`)
	insertBlocks = engine.Standalone(`
INSERT INTO blocks (` + BlockColumns + `) SELECT ` + BlockColumns + ` FROM {rows: ` + blockSpec + `} AS r
WHERE TRUE ON CONFLICT (merchant, live, n) DO NOTHING RETURNING n`)
	blockSpec = "merchant TEXT, live BOOLEAN, n BIGINT, at BIGINT, previous TEXT, hash TEXT, doc TEXT"
	// BlockColumns are the columns of a block.
	BlockColumns = "merchant, live, n, at, previous, hash, doc"
)

// ScanMark reads a row of MarkColumns.
func ScanMark(r engine.Row) (m MarkRow, err error) {
	err = r.Scan(&m.At, &m.ID, &m.doc, &m.mac)
	return m, err
}

// Read adds the rows of a mark to into. It fails if the service did not make the mark.
func (m MarkRow) Read(h *seal.Hasher, into Chains) error {
	if m.mac != h.Mark(m.ID, m.doc) {
		return fmt.Errorf("mark %s was not made with our key", m.ID)
	}
	var doc map[string]map[string]string
	if err := json.Unmarshal([]byte(m.doc), &doc); err != nil {
		return fmt.Errorf("mark %s: %w", m.ID, err)
	}
	for chain, rows := range doc {
		merchant, live, ok := seal.ParseChain(chain)
		if !ok {
			return fmt.Errorf("mark %s: %q is not a chain", m.ID, chain)
		}
		for id, hash := range rows {
			into.add(books.Purse{Merchant: merchant, Live: live}, id, hash)
		}
	}
	return nil
}

const (
	// sealMarks bounds one step of sealing, so that catching up after a long stop takes many small
	// transactions. A mark covers at most a batch.
	sealMarks = 200
	// blockRows bounds a block, and so the memory of Check.
	blockRows = 1000
)

// Sealer puts rows into blocks. It is safe for use by many goroutines.
type Sealer struct {
	Key     []byte // seals rows; set before anything is written
	b       *base.Base
	alone   chan struct{}             // full while a goroutine seals; it owns heights
	heights map[books.Purse]seal.Head // of the chains, as last seen
	hashers sync.Pool                 // of *seal.Hasher
	last    atomic.Int64              // time of this process's last block, in microseconds
}

// NewSealer seals the rows of a database. A nil key works too, but is no secret.
func NewSealer(b *base.Base, key []byte) *Sealer {
	return &Sealer{b: b, Key: key, alone: make(chan struct{}, 1), heights: map[books.Purse]seal.Head{}}
}

// Last is the time of this process's last block; zero if none.
func (s *Sealer) Last() time.Time { return table.FromMicros(s.last.Load()) }

// Seal puts the rows of recent commits into blocks, each with the hash of the one before, and reports
// whether more rows wait. Every node may call it: marks are taken and blocks numbered in one transaction,
// so of two nodes that seal the same rows only one succeeds.
func (s *Sealer) Seal(ctx context.Context, now time.Time) (more bool, err error) {
	select {
	case s.alone <- struct{}{}: // sealing takes several trips to the database: a caller that waits may give up
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-s.alone }()
	marks, err := base.Many(ctx, s.b, selectMarks, ScanMark, sealMarks)
	if err != nil || len(marks) == 0 {
		return false, err
	}
	h := seal.New(s.Key)
	waiting := Chains{}
	sealed := engine.NewRows(s.b.DB.Dialect(), engine.ParseColumns("at BIGINT, id TEXT"), len(marks))
	for _, m := range marks {
		if err := m.Read(h, waiting); err != nil {
			// The mark stays, so that Check can name it: a commit, or an intruder, wrote it to be sealed.
			s.b.Log.Error("rows that the service did not write wait to be sealed", "error", err)
			continue
		}
		sealed.Number(m.At).Text(m.ID).Next()
	}
	if sealed.N == 0 {
		return false, nil
	}
	blocks, err := s.nextBlocks(ctx, h, waiting, now)
	if err != nil {
		return false, err
	}
	err = base.ApplySlowly(ctx, s.b.DB, []engine.Step{
		{Text: s.b.Text(deleteMarks), Args: sealed.Args(), Want: sealed.N},
		{Text: s.b.Text(insertBlocks), Args: blockArgs(s.b.DB.Dialect(), blocks), Want: len(blocks)},
	})
	switch {
	case errors.Is(err, engine.ErrLost):
		return false, nil // another node was faster, and does the rest too
	case errors.Is(err, engine.ErrUnknown):
		return true, nil // the next look finds the rest: a row is sealed once
	case err != nil:
		return false, fmt.Errorf("seal %d rows: %w", sealed.N, err)
	}
	s.last.Store(table.Micros(now))
	return len(marks) == sealMarks, nil
}

// nextBlocks makes the blocks after the chains' heads. Every node numbers them in the same order.
func (s *Sealer) nextBlocks(ctx context.Context, h *seal.Hasher, waiting Chains, now time.Time) ([]seal.Block, error) {
	heads, err := s.heads(ctx, slices.SortedFunc(maps.Keys(waiting), books.Purse.Compare))
	if err != nil {
		return nil, err
	}
	var blocks []seal.Block
	for _, of := range slices.SortedFunc(maps.Keys(waiting), books.Purse.Compare) {
		head := heads[of]
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(waiting[of])), blockRows) {
			b := seal.Block{Merchant: of.Merchant, Live: of.Live, N: head.N + 1, At: table.Micros(now), Previous: head.Hash, Rows: map[string]string{}}
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

// heads reads the newest blocks of chains. It reports a missing block that this process has seen: somebody
// cut the chain or restored a backup.
func (s *Sealer) heads(ctx context.Context, of []books.Purse) (map[books.Purse]seal.Head, error) {
	asked := engine.NewRows(s.b.DB.Dialect(), engine.ParseColumns("merchant TEXT, live BOOLEAN"), len(of))
	for _, t := range of {
		asked.Text(t.Merchant).Flag(t.Live).Next()
	}
	list, err := base.Many(ctx, s.b, selectHeads, ScanHead, asked.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read the heads of chains: %w", err)
	}
	heads := make(map[books.Purse]seal.Head, len(list))
	for _, head := range list {
		heads[books.Purse{Merchant: head.Merchant, Live: head.Live}] = head
	}
	for _, t := range of {
		if seen, is := s.heights[t], heads[t]; is.N < seen.N || is.N == seen.N && is.Hash != seen.Hash {
			s.b.Log.Error("sealed blocks are gone or changed: the database was tampered with, or an older one was put back",
				"chain", seal.Chain(t.Merchant, t.Live), "was", seen.N, "is", is.N)
		}
		s.heights[t] = heads[t]
	}
	return heads, nil
}

// ScanHead reads the newest block of a chain.
func ScanHead(r engine.Row) (h seal.Head, err error) {
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

// OldestMark is a gauge among the due work: how long rows have waited for a block.
const OldestMark = `SELECT '` + SealWork + `', coalesce(min(at), 0) FROM unsealed`

// SealWork is this kind of due work.
const SealWork = "seals"

// InsertMark is the statement for the arguments of Mark.
var InsertMark = engine.Statement(`INSERT INTO unsealed (at, id, doc, mac) SELECT {now}, $1, $2, $3 WHERE {unless lost}`)

// Mark returns the arguments of InsertMark: the hashes of the rows that a commit writes.
func (s *Sealer) Mark(money []*ledger.Transfer, acts []*audit.Entry) []any {
	written := Chains{}
	h, ok := s.hashers.Get().(*seal.Hasher)
	if !ok {
		h = seal.New(s.Key)
	}
	defer s.hashers.Put(h)
	markRows(h, written, SealedTransfers, books.TransfersTable, money)
	markRows(h, written, SealedAudit, storeaudit.Table, acts)
	// Each row is written once, so its id can name the mark: no other mark has it.
	id := ""
	for _, rows := range written {
		for row := range rows {
			if id == "" || row < id {
				id = row
			}
		}
	}
	doc := written.doc()
	return []any{id, doc, h.Mark(id, doc)}
}

func markRows[T any](h *seal.Hasher, into Chains, s Sealed, t *table.Table[T], items []*T) {
	if len(items) == 0 {
		return
	}
	r := engine.NewArrays(t.Columns, len(items))
	t.Gather(&engine.Rows{Columns: t.Columns, Form: r}, table.Personal{}, items)
	for i := range items {
		into.add(books.Purse{Merchant: r.Of[s.Merchant].Texts[i], Live: r.Of[s.Live].Bools[i]}, r.Of[s.ID].Texts[i], s.Hash(h, r, i))
	}
}

// SealedIDs are the ids of all rows that are in a block or wait for one.
const SealedIDs = `SELECT j.key AS id FROM blocks AS b, {each b.doc} AS j
  UNION ALL SELECT j.key AS id FROM unsealed AS u, {each u.doc} AS c, {each c.value} AS j`
