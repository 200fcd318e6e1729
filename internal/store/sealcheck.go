package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cascadapay/cascada/internal/seal"
)

// Rules of the seals, as Check names them.
const (
	ruleRow   = "a sealed row is as it was written"
	ruleBlock = "a block follows the one before and holds what it was made of"
	ruleMark  = "what waits to be sealed was written by the service"
	ruleHead  = "a chain goes on from the head that was kept"
)

// sealRules are those that one query can tell. The seals of a row are written
// in the same transaction as the row.
var sealRules = []rule{
	{"every row of the ledger and the audit log is sealed, or waits for it", `
SELECT id, 'is in no block: it was put in beside the service, or its block was taken away' FROM (
  SELECT id FROM transfers UNION ALL SELECT id FROM audit EXCEPT SELECT id FROM (` + sealedIDs + `) AS s) AS r`},
	{"a row is sealed once", `
SELECT id, 'is sealed ' || count(*) || ' times' FROM (` + sealedIDs + `) AS s GROUP BY id HAVING count(*) > 1`},
}

const sealedIDs = `SELECT j.key AS id FROM blocks AS b, {each b.doc} AS j
  UNION ALL SELECT j.key AS id FROM unsealed AS u, {each u.doc} AS c, {each c.value} AS j`

const (
	// checkBlocks and checkMarks bound what Check holds in memory.
	checkBlocks = 10
	checkMarks  = 10

	selectBlocks = `
SELECT ` + blockColumns + ` FROM blocks WHERE (merchant, live, n) > ($1, $2, $3) ORDER BY merchant, live, n LIMIT $4`
	selectMarksAfter = `
SELECT ` + markColumns + ` FROM unsealed WHERE (at, id) > ($1, $2) ORDER BY at, id LIMIT $3`
	selectAllHeads = `
SELECT b.merchant, b.live, b.n, b.hash FROM blocks AS b
JOIN (SELECT merchant, live, max(n) AS n FROM blocks GROUP BY merchant, live) AS m
  ON m.merchant = b.merchant AND m.live = b.live AND m.n = b.n
ORDER BY b.merchant, b.live`
	selectBlockHash = `SELECT hash FROM blocks WHERE merchant = $1 AND live = $2 AND n = $3`
)

func sealCheckQueries() []string {
	return []string{selectBlocks, selectMarksAfter, selectAllHeads, selectBlockHash}
}

// sealCheck goes through the chains.
type sealCheck struct {
	s *Store
	h *seal.Hasher
	findings
}

// checkSeals proves the chains of blocks, every sealed row, and the rows that
// wait. It reads a few blocks at a time, in the order of their chains.
func (s *Store) checkSeals(ctx context.Context) ([]Broken, error) {
	c := &sealCheck{s: s, h: seal.New(s.sealKey)}
	if err := errors.Join(c.blocks(ctx), c.marks(ctx)); err != nil {
		return c.broken, fmt.Errorf("check the seals: %w", err)
	}
	return c.broken, nil
}

func scanBlock(r row) (b seal.Block, err error) {
	var doc string
	if err := r.Scan(&b.Merchant, &b.Live, &b.N, &b.At, &b.Previous, &b.Hash, &doc); err != nil {
		return b, err
	}
	if err := json.Unmarshal([]byte(doc), &b.Rows); err != nil {
		b.Rows = nil // somebody changed it: the hash does not fit
	}
	return b, nil
}

func (c *sealCheck) blocks(ctx context.Context) error {
	var last seal.Block
	for {
		page, err := many(ctx, c.s, selectBlocks, scanBlock, last.Merchant, last.Live, last.N, checkBlocks)
		if err != nil {
			return err
		}
		rows, of := map[string]string{}, map[string]string{}
		for _, b := range page {
			if b.Merchant != last.Merchant || b.Live != last.Live {
				last = seal.Block{}
			}
			c.link(last, b)
			for id, hash := range b.Rows {
				rows[id], of[id] = hash, blockName(b.Merchant, b.Live, b.N)
			}
			last = b
		}
		if err := c.rows(ctx, rows, of); err != nil || len(page) < checkBlocks {
			return err
		}
	}
}

// link proves that a block stands where it was made to stand.
func (c *sealCheck) link(before, b seal.Block) {
	switch name := blockName(b.Merchant, b.Live, b.N); {
	case b.N != before.N+1:
		c.add(ruleBlock, blockName(b.Merchant, b.Live, before.N+1), fmt.Sprintf("is missing: the next one is %d", b.N))
	case b.Previous != before.Hash:
		c.add(ruleBlock, name, "does not follow the block before it")
	}
	if b.Hash != c.h.Sum(b) {
		c.add(ruleBlock, blockName(b.Merchant, b.Live, b.N), "its hash is not that of what it holds: it was changed, or swapped with another")
	}
}

func blockName(merchant string, live bool, n int64) string {
	return fmt.Sprintf("%s block %d", seal.Chain(merchant, live), n)
}

func (c *sealCheck) marks(ctx context.Context) error {
	var last markRow
	for {
		page, err := many(ctx, c.s, selectMarksAfter, scanMark, last.at, last.id, checkMarks)
		if err != nil {
			return err
		}
		rows, of := map[string]string{}, map[string]string{}
		for _, m := range page {
			waiting := chains{}
			if err := m.read(c.h, waiting); err != nil {
				c.add(ruleMark, m.id, err.Error())
			}
			for _, list := range waiting {
				for id, hash := range list {
					rows[id], of[id] = hash, "the rows that wait for a block"
				}
			}
			last = m
		}
		if err := c.rows(ctx, rows, of); err != nil || len(page) < checkMarks {
			return err
		}
	}
}

// rows proves that the rows are there and have the hashes they were written
// with. of says where each was sealed.
func (c *sealCheck) rows(ctx context.Context, hashes, of map[string]string) error {
	ids := map[string][]string{}
	tables := map[string]sealed{}
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		t := sealedOf(id)
		ids[t.name] = append(ids[t.name], id)
		tables[t.name] = t
	}
	found := make(map[string]bool, len(hashes))
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		err := c.s.readSealed(ctx, tables[name], ids[name], func(r *arrays, at int) {
			id := r.texts[tables[name].id][at]
			found[id] = true
			if hashes[id] != tables[name].hash(c.h, r, at) {
				c.add(ruleRow, id, "was changed since it was sealed in "+of[id])
			}
		})
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		if !found[id] {
			c.add(ruleRow, id, "was removed since it was sealed in "+of[id])
		}
	}
	return nil
}

// readSealed reads rows of a sealed table whole and calls each for every one.
func (s *Store) readSealed(ctx context.Context, t sealed, ids []string, each func(r *arrays, at int)) error {
	asked := newRows(s.db.dialect(), parseColumns("id TEXT"), len(ids))
	for _, id := range ids {
		asked.text(id).next()
	}
	values := newArrays(t.columns, len(ids))
	read := &rows{columns: t.columns, form: values}
	into := make([]any, len(t.columns))
	return s.query(ctx, t.read, asked.args(), func(r row) error {
		for i, c := range t.columns {
			switch c.kind {
			case "TEXT":
				into[i] = new(string)
			case "BIGINT":
				into[i] = new(int64)
			default:
				into[i] = new(bool)
			}
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		for _, value := range into {
			switch v := value.(type) {
			case *string:
				read.text(*v)
			case *int64:
				read.number(*v)
			case *bool:
				read.flag(*v)
			}
		}
		read.next()
		each(values, read.n-1)
		return nil
	})
}

// Heads lists the newest block of each chain and calls each for it.
func (s *Store) Heads(ctx context.Context, each func(seal.Head) error) error {
	ctx, cancel := long(ctx)
	defer cancel()
	return s.query(ctx, selectAllHeads, nil, func(r row) error {
		head, err := scanHead(r)
		if err != nil {
			return err
		}
		return each(head)
	})
}

// CheckHead proves that a chain still holds a block that was its head once: it
// was not cut before it and made again.
func (s *Store) CheckHead(ctx context.Context, kept seal.Head) ([]Broken, error) {
	name := blockName(kept.Merchant, kept.Live, kept.N)
	hash, err := one(ctx, s, selectBlockHash, func(r row) (hash string, err error) {
		err = r.Scan(&hash)
		return hash, err
	}, kept.Merchant, kept.Live, kept.N)
	switch {
	case errors.Is(err, ErrNotFound):
		return []Broken{{ruleHead, name, "is gone: the chain was cut"}}, nil
	case err != nil:
		return nil, fmt.Errorf("check the head of %s: %w", name, err)
	case hash != kept.Hash:
		return []Broken{{ruleHead, name, "is another one than was kept: the chain was made again"}}, nil
	}
	return nil, nil
}
