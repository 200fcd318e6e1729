package check

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var sealedTables = []chain.Sealed{chain.SealedAudit, chain.SealedTransfers}

func idPrefix(t chain.Sealed) string {
	if t.Name == chain.SealedAudit.Name {
		return "aud_"
	}
	return ledger.TransferPrefix
}

// selectTwice names rows of a range of ids that are sealed twice.
var (
	selectTwice = engine.Statement(`
SELECT s.id, 'is sealed ' || count(*) || ' times' FROM (` + chain.SealedIDs + `) AS s WHERE {part s.id} GROUP BY s.id HAVING count(*) > 1`)
)

// tallied counts ids by prefix: the sealed ones and the existing ones. Ids begin with their time, so a
// prefix covers about half a minute.
type tallied map[string]*tallyOf

type tallyOf struct{ blocks, table sumOf }

// sumOf is a count of ids with the sum of their hashes, which differs if the ids do.
type sumOf struct{ n, hashes uint64 }

func (s *sumOf) add(id string) {
	s.n++
	s.hashes += maphash.String(idSeed, id)
}

// idSeed is new in each process: nobody can make ids whose hashes collide.
var idSeed = maphash.MakeSeed()

// idHead is the length of the counted prefix: seven characters of time after the id's type, without the
// last 15 of 48 bits of milliseconds.
const idHead = 7

func (t tallied) of(id string) *tallyOf {
	prefix := idPrefix(chain.SealedOf(id))
	head := id[:min(len(id), len(prefix)+idHead)]
	if t[head] == nil {
		t[head] = &tallyOf{}
	}
	return t[head]
}

func (t tallied) sealed(id string) { t.of(id).blocks.add(id) }

// countedAtOnce is how many ids a snapshot counts.
const countedAtOnce = 20_000

// countIDs counts the ids of a sealed table.
func (c *checker) countIDs(ctx context.Context, t chain.Sealed) error {
	c.at("ids of " + t.Name)
	last := ""
	for {
		var ids []string
		err := c.read(ctx, engine.ByIndex, func(ask engine.Asking) (err error) {
			ids, err = collect(ask, t.IDs, scanHash, last, countedAtOnce)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			c.walked.ids.of(id).table.add(id)
			last = id
		}
		if len(ids) < countedAtOnce {
			return nil
		}
	}
}

// lastLook reads one snapshot: it proves what was written since the chains were walked, and compares
// balances with the postings of all sealed and waiting rows, and the existing ids with the sealed ones.
func (c *checker) lastLook(ctx context.Context, full bool) error {
	c.at("balances")
	begun := c.walked // a snapshot that the server ends adds nothing
	broken, count := slices.Clone(c.broken), maps.Clone(c.count)
	var differ []string
	err := c.read(ctx, engine.ByIndex, func(ask engine.Asking) error {
		c.walked = begun.copy()
		c.broken = slices.Clone(broken)
		c.count = maps.Clone(count)
		c.walked.last = true
		if err := c.walk(ctx, func(read func(engine.Asking) error) error { return read(ask) }); err != nil {
			return err
		}
		resets, err := readResets(ask)
		if err != nil {
			return err
		}
		restless := c.walked.restless(c.resets, resets)
		c.walked.prove()
		waiting, err := c.marks(ask, resets)
		c.addAll(waiting.broken)
		if err != nil {
			return err
		}
		c.walked.touch(waiting.named)
		booked := sums{}
		booked.addAll(c.walked.booked)
		booked.addAll(waiting.booked)
		if err := c.balances(ask, booked, restless); err != nil {
			return err
		}
		if full {
			fresh := map[string]int{}
			for _, id := range slices.Concat(c.walked.fresh, waiting.ids) {
				fresh[id]++
			}
			differ, err = c.walked.ids.differ(ask, fresh)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.nameIDs(ctx, differ)
}

// balances compares the balances with the bookings, except those of restless sandboxes.
func (c *checker) balances(ask engine.Asking, booked sums, restless map[books.Purse]bool) error {
	said := sums{}
	err := ask(selectSaid, nil, func(r engine.Row) error {
		var of books.Purse
		var account ledger.Account
		var amount int64
		err := r.Scan(&of.Merchant, &of.Live, &account, &amount)
		said.add(of, account, amount)
		return err
	})
	if err != nil {
		return err
	}
	owners := map[books.Purse]bool{}
	for of := range said {
		owners[of] = true
	}
	for of := range booked {
		owners[of] = true
	}
	maps.DeleteFunc(owners, func(of books.Purse, _ bool) bool { return restless[of] })
	for _, of := range slices.SortedFunc(maps.Keys(owners), books.Purse.Compare) {
		for _, account := range ledger.Accounts() {
			if is, sum := said[of][account], booked[of][account]; is != sum {
				c.add(invariantBalance, of.Merchant+" "+string(account), fmt.Sprintf("balance %d, postings %d", is, sum))
			}
		}
		if is, n := said[of][movementsCounted], booked[of][movementsCounted]; is != n {
			c.add(invariantMovement, of.Merchant, fmt.Sprintf("%d counted, found %d", is, n))
		}
	}
	return nil
}

// differ lists the id prefixes whose existing ids are not the sealed ones. fresh are the ids that were
// sealed after the tables were counted, or wait.
func (t tallied) differ(ask engine.Asking, fresh map[string]int) (heads []string, err error) {
	for id, n := range fresh {
		if n > 1 {
			heads = append(heads, id)
		}
	}
	for head, of := range t {
		if of.blocks == of.table {
			continue
		}
		var is sumOf
		err := ask(chain.SealedOf(head).IDsIn, []any{head, head + base.BehindAll}, func(r engine.Row) error {
			var id string
			err := r.Scan(&id)
			if fresh[id] == 0 {
				is.add(id)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if is != of.blocks {
			heads = append(heads, head)
		}
	}
	slices.Sort(heads)
	return heads, nil
}

// nameIDs names the rows that are in no block or in two.
func (c *checker) nameIDs(ctx context.Context, heads []string) error {
	for _, head := range heads {
		for _, r := range []invariant{{invariantSealed, chain.SealedOf(head).Unsealed}, {invariantOnce, selectTwice}} {
			if err := c.invariant(ctx, r, engine.ByAnyPlan, head, head+base.BehindAll); err != nil {
				return err
			}
		}
	}
	return nil
}

// namedOf returns the names of the objects that a transfer is named after and belongs to: their ids without
// the type.
func namedOf(id, payment, claim string) []string {
	name, _, _ := strings.Cut(strings.TrimPrefix(id, ledger.TransferPrefix), "-")
	names := []string{name}
	for _, of := range []string{payment, claim} {
		if len(of) > 4 {
			names = append(names, of[4:])
		}
	}
	return names
}
