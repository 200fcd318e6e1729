package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Names of the seals' invariants in Check.
const (
	invariantRow      = "a sealed row is as it was written"
	invariantBlock    = "a block follows the one before and holds what it was made of"
	invariantMark     = "what waits to be sealed was written by the service"
	invariantHead     = "a chain goes on from the head that was kept"
	invariantSealed   = "every row of the ledger and the audit log is sealed, or waits for it"
	invariantOnce     = "a row is sealed once"
	invariantBalance  = "a balance is the sum of its postings"
	invariantMovement = "movements are counted"
)

const (
	// checkBlocks and checkMarks bound the memory of Check. A snapshot that the server ends reads fewer
	// blocks.
	checkBlocks = 10
	checkMarks  = 10
)

var (
	selectChain = engine.Statement(`
SELECT merchant, live FROM blocks WHERE (merchant, live, n) > ($1, $2, $3) ORDER BY merchant, live, n LIMIT 1`)
	selectBlocks = engine.Statement(`
SELECT ` + chain.BlockColumns + ` FROM blocks WHERE merchant = $1 AND live = $2 AND n >= $3 ORDER BY n LIMIT $4`)
	selectMarksAfter = engine.Statement(`
SELECT ` + chain.MarkColumns + ` FROM unsealed WHERE (at, id) > ($1, $2) ORDER BY at, id LIMIT $3`)
	selectAllHeads = engine.Statement(`
SELECT b.merchant, b.live, b.n, b.hash, b.at FROM blocks AS b
JOIN (SELECT merchant, live, max(n) AS n FROM blocks GROUP BY merchant, live) AS m
  ON m.merchant = b.merchant AND m.live = b.live AND m.n = b.n
ORDER BY b.merchant, b.live`)
	selectHeadsAfter = engine.Statement(`
SELECT b.merchant, b.live, b.n, b.hash, b.at FROM blocks AS b
JOIN (SELECT merchant, live, max(n) AS n FROM blocks WHERE merchant >= $1 AND (merchant > $1 OR live > $2 OR $3) GROUP BY merchant, live ORDER BY merchant, live LIMIT $4) AS m
  ON m.merchant = b.merchant AND m.live = b.live AND m.n = b.n
ORDER BY b.merchant, b.live`)
	selectBlockHash = engine.Statement(`SELECT hash FROM blocks WHERE merchant = $1 AND live = $2 AND n = $3`)
)

var selectSaid = engine.Statement(`SELECT b.merchant, b.live, b.account, b.amount FROM (` + balancesAsRows + `) AS b`)

// movementsCounted is a pseudo-account of a balance: its number of movements.
const movementsCounted ledger.Account = "movements"

// sums are bookings by owner and account.
type sums map[books.Purse]ledger.Balances

func (s sums) add(of books.Purse, account ledger.Account, amount int64) {
	if s[of] == nil {
		s[of] = ledger.Balances{}
	}
	s[of][account] += amount
}

// addTransfer adds a transfer's postings.
func (s sums) addTransfer(r *engine.Arrays, at int) {
	var postings map[ledger.Account]int64
	if json.Unmarshal([]byte(r.Of[transferPostings].Texts[at]), &postings) != nil {
		return // changed from outside: its hash does not match
	}
	of := books.Purse{Merchant: r.Of[chain.SealedTransfers.Merchant].Texts[at], Live: r.Of[chain.SealedTransfers.Live].Bools[at]}
	t := ledger.Transfer{Kind: ledger.Kind(r.Of[transferKind].Texts[at])}
	for account, amount := range postings {
		s.add(of, account, amount)
		t.Postings = append(t.Postings, ledger.Posting{Account: account, Amount: amount})
	}
	s.add(of, movementsCounted, pay.MovementCount(t))
}

func (s sums) addAll(more sums) {
	for of, amounts := range more {
		for account, amount := range amounts {
			s.add(of, account, amount)
		}
	}
}

var (
	transferPostings = columnOf(chain.SealedTransfers, "postings")
	transferKind     = columnOf(chain.SealedTransfers, "kind")
	transferPayment  = columnOf(chain.SealedTransfers, "payment")
	transferClaim    = columnOf(chain.SealedTransfers, "claim")
)

func columnOf(t chain.Sealed, name string) int {
	return slices.IndexFunc(t.Columns, func(c engine.Column) bool { return c.Name == name })
}

// walked is how far the chains were read, and the findings.
type walked struct {
	full    bool
	proved  []ChainProof               // the chains at their heads, after a full walk
	heads   map[books.Purse]seal.Block // without rows
	booked  sums                       // by the rows of all blocks up to the heads
	known   map[books.Purse]bool       // chains of an earlier check not seen yet
	touched map[string]bool            // objects of new transfers, by name; a full walk keeps none, as all rows are visited anyway
	ids     tallied
	last    bool     // the last snapshot is read
	fresh   []string // sealed rows that it found
}

// touch keeps the names of objects whose rows may have changed since an earlier check.
func (w *walked) touch(named []string) {
	if w.full {
		return
	}
	for _, suffix := range named {
		w.touched[suffix] = true
	}
}

// newWalked starts where an earlier check ended.
func newWalked(since *Proof) walked {
	w := walked{full: since == nil, heads: map[books.Purse]seal.Block{}, booked: sums{}, known: map[books.Purse]bool{}, touched: map[string]bool{}, ids: tallied{}}
	if since == nil {
		return w
	}
	for _, p := range since.Chains {
		of := p.tenant()
		w.known[of] = p.Block > 0
		w.heads[of] = seal.Block{Merchant: of.Merchant, Live: of.Live, N: p.Block, Hash: p.Hash}
		for account, amount := range p.Sums {
			w.booked.add(of, account, amount)
		}
	}
	return w
}

// page is a snapshot's findings in some blocks or marks.
type page struct {
	broken []Broken
	head   seal.Block
	booked sums
	ids    []string
	named  []string
	full   bool // there may be more
	cut    bool // the known head is gone
}

func (p *page) add(invariant, id, note string) {
	p.broken = append(p.broken, Broken{invariant, id, note})
}

// sealed proves the chains of blocks, every sealed row, the waiting rows, and that balances are their sums.
// A full check also proves that there are no other rows.
func (c *checker) sealed(ctx context.Context) error {
	if err := c.seals(ctx); err != nil {
		return fmt.Errorf("check the seals: %w", err)
	}
	return nil
}

func (c *checker) seals(ctx context.Context) error {
	full := c.since == nil
	c.at("seals")
	if err := c.keptHeads(ctx); err != nil {
		return err
	}
	for range 2 { // again, for rows that came meanwhile: leaves little for the last snapshot
		if err := c.walk(ctx, func(read func(engine.Asking) error) error { return c.read(ctx, engine.ByIndex, read) }); err != nil {
			return err
		}
	}
	for of, missing := range c.walked.known {
		if head := c.walked.heads[of]; missing {
			c.add(invariantHead, blockName(of.Merchant, of.Live, head.N), "is gone: the chain was cut")
		}
	}
	if full {
		for _, t := range sealedTables {
			if err := c.countIDs(ctx, t); err != nil {
				return err
			}
		}
	}
	return c.lastLook(ctx, full)
}

// keptHeads proves that the chains contain the heads of an earlier check.
func (c *checker) keptHeads(ctx context.Context) error {
	if c.kept == nil {
		return nil
	}
	for _, p := range c.kept.Chains {
		if p.Block == 0 {
			continue
		}
		of, hash := p.tenant(), ""
		err := c.read(ctx, engine.ByIndex, func(ask engine.Asking) error {
			hash = ""
			return ask(selectBlockHash, []any{of.Merchant, of.Live, p.Block}, func(r engine.Row) error { return r.Scan(&hash) })
		})
		if err != nil {
			return err
		}
		c.addAll(judgeHead(seal.Head{Merchant: of.Merchant, Live: of.Live, N: p.Block, Hash: p.Hash}, hash))
	}
	return nil
}

// walk reads all chains after their heads. snapshot opens a new snapshot each time, or reuses one.
func (c *checker) walk(ctx context.Context, snapshot func(func(engine.Asking) error) error) error {
	of, first := books.Purse{}, true
	for {
		var next books.Purse
		found := false
		err := snapshot(func(ask engine.Asking) error {
			found = false
			n := int64(math.MaxInt64)
			if first {
				n = 0
			}
			return ask(selectChain, []any{of.Merchant, of.Live, n}, func(r engine.Row) error {
				found = true
				return r.Scan(&next.Merchant, &next.Live)
			})
		})
		if err != nil || !found {
			return err
		}
		of, first = next, false
		for more := true; more; {
			var got page
			err := snapshot(func(ask engine.Asking) (err error) {
				got, err = c.blocks(ask, of)
				return err
			})
			c.keepPage(of, got)
			if err != nil {
				return err
			}
			more = got.full
		}
	}
}

// keepPage keeps the results of a chain's page.
func (c *checker) keepPage(of books.Purse, got page) {
	w := &c.walked
	c.addAll(got.broken)
	delete(w.known, of)
	if got.cut { // nothing more is known of it
		delete(w.heads, of)
		delete(w.booked, of)
		return
	}
	w.heads[of] = got.head
	w.booked.addAll(got.booked)
	switch {
	case w.last:
		w.fresh = append(w.fresh, got.ids...)
	case w.full:
		for _, id := range got.ids {
			w.ids.sealed(id)
		}
	}
	w.touch(got.named)
	c.done(int64(len(got.ids)))
}

func scanBlock(r engine.Row) (b seal.Block, err error) {
	var doc string
	if err := r.Scan(&b.Merchant, &b.Live, &b.N, &b.At, &b.Previous, &b.Hash, &doc); err != nil {
		return b, err
	}
	if err := json.Unmarshal([]byte(doc), &b.Rows); err != nil {
		b.Rows = nil // changed from outside: the hash does not match
	}
	return b, nil
}

// blocks proves the blocks after a chain's head.
func (c *checker) blocks(ask engine.Asking, of books.Purse) (got page, err error) {
	last := c.walked.heads[of]
	got.head, got.booked = last, sums{}
	most := max(1, checkBlocks*c.rowsAtOnce/partRows)
	list, err := collect(ask, selectBlocks, scanBlock, of.Merchant, of.Live, last.N, most+1)
	if err != nil {
		return got, err
	}
	if last.N > 0 {
		switch {
		case len(list) == 0 || list[0].N != last.N:
			got.add(invariantHead, blockName(of.Merchant, of.Live, last.N), "is gone: the chain was cut")
			got.cut, got.full = true, true
			return got, nil
		case list[0].Hash != last.Hash:
			got.add(invariantHead, blockName(of.Merchant, of.Live, last.N), "differs from the one that was kept: the chain was rebuilt")
			got.cut, got.full = true, true
			return got, nil
		}
		list = list[1:]
	}
	resets, err := readResets(ask)
	if err != nil {
		return got, err
	}
	rows, in, mayBeGone := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, b := range list {
		got.link(c.h, last, b)
		for id, hash := range b.Rows {
			rows[id], in[id] = hash, blockName(b.Merchant, b.Live, b.N)
			if !b.Live && resets[b.Merchant].gone(id, b.N) {
				mayBeGone[id] = true
			}
			got.ids = append(got.ids, id)
		}
		last = b
		last.Rows = nil
	}
	got.head, got.full = last, len(list) >= most
	return got, c.rows(ask, &got, rows, in, mayBeGone)
}

// link proves that a block is at its original place.
func (p *page) link(h *seal.Hasher, before, b seal.Block) {
	switch name := blockName(b.Merchant, b.Live, b.N); {
	case b.N != before.N+1:
		p.add(invariantBlock, blockName(b.Merchant, b.Live, before.N+1), fmt.Sprintf("is missing: the next one is %d", b.N))
	case b.Previous != before.Hash:
		p.add(invariantBlock, name, "does not follow the block before it")
	}
	if b.Hash != h.Sum(b) {
		p.add(invariantBlock, blockName(b.Merchant, b.Live, b.N), "its hash does not match its content: it was changed, or swapped with another")
	}
}

func blockName(merchant string, live bool, n int64) string {
	return fmt.Sprintf("%s block %d", seal.Chain(merchant, live), n)
}

// marks proves the rows that wait for a block.
func (c *checker) marks(ask engine.Asking, resets map[string]emptied) (got page, err error) {
	got.booked = sums{}
	var last chain.MarkRow
	for {
		list, err := collect(ask, selectMarksAfter, chain.ScanMark, last.At, last.ID, checkMarks)
		if err != nil {
			return got, err
		}
		rows, of, mayBeGone := map[string]string{}, map[string]string{}, map[string]bool{}
		for _, m := range list {
			waiting := chain.Chains{}
			if err := m.Read(c.h, waiting); err != nil {
				got.add(invariantMark, m.ID, err.Error())
			}
			for owner, some := range waiting {
				for id, hash := range some {
					if e := resets[owner.Merchant]; !owner.Live && e.running && e.gone(id, 0) {
						mayBeGone[id] = true
					}
					rows[id], of[id] = hash, "the rows that wait for a block"
					got.ids = append(got.ids, id)
				}
			}
			last = m
		}
		if err := c.rows(ask, &got, rows, of, mayBeGone); err != nil || len(list) < checkMarks {
			return got, err
		}
	}
}

// rows proves that the rows exist and have their original hashes. in maps a row to its block or mark. A row that may
// be gone, and is, counts as never sealed.
func (c *checker) rows(ask engine.Asking, got *page, hashes, in map[string]string, mayBeGone map[string]bool) error {
	ids := map[string][]string{}
	tables := map[string]chain.Sealed{}
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		t := chain.SealedOf(id)
		ids[t.Name] = append(ids[t.Name], id)
		tables[t.Name] = t
	}
	found := make(map[string]bool, len(hashes))
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		t := tables[name]
		err := readSealed(c.db.Dialect(), ask, t, ids[name], func(r *engine.Arrays, at int) {
			id := r.Of[t.ID].Texts[at]
			found[id] = true
			if hashes[id] != t.Hash(c.h, r, at) {
				got.add(invariantRow, id, "was changed since it was sealed in "+in[id])
			}
			if name == chain.SealedTransfers.Name {
				got.booked.addTransfer(r, at)
				got.named = append(got.named, namedOf(id, r.Of[transferPayment].Texts[at], r.Of[transferClaim].Texts[at])...)
			}
		})
		if err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		switch {
		case found[id]:
		case mayBeGone[id]:
			gone[id] = true
		default:
			got.add(invariantRow, id, "was removed since it was sealed in "+in[id])
		}
	}
	got.ids = without(got.ids, gone)
	return nil
}

// readSealed reads whole rows of a sealed table and calls each for every row.
func readSealed(d engine.Dialect, ask engine.Asking, t chain.Sealed, ids []string, each func(r *engine.Arrays, at int)) error {
	asked := engine.NewRows(d, engine.ParseColumns("id TEXT"), len(ids))
	for _, id := range ids {
		asked.Text(id).Next()
	}
	values := engine.NewArrays(t.Columns, len(ids))
	read := &engine.Rows{Columns: t.Columns, Form: values}
	into := make([]any, len(t.Columns))
	return ask(t.Read, asked.Args(), func(r engine.Row) error {
		for i, c := range t.Columns {
			switch c.Kind {
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
				read.Text(*v)
			case *int64:
				read.Number(*v)
			case *bool:
				read.Flag(*v)
			}
		}
		read.Next()
		each(values, read.N-1)
		return nil
	})
}

func scanHash(r engine.Row) (hash string, err error) {
	err = r.Scan(&hash)
	return hash, err
}

// judgeHead compares a kept head with the current hash of its block, "" if it is gone.
func judgeHead(kept seal.Head, hash string) []Broken {
	name := blockName(kept.Merchant, kept.Live, kept.N)
	switch hash {
	case "":
		return []Broken{{invariantHead, name, "is gone: the chain was cut"}}
	case kept.Hash:
		return nil
	}
	return []Broken{{invariantHead, name, "differs from the one that was kept: the chain was rebuilt"}}
}
