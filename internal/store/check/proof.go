package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Proof is what a check proved, for a later check to continue from: each chain's head with the sums of its
// bookings, and how old a row that still changes may be. It is kept outside the database.
type Proof struct {
	At     time.Time    `json:"at"`     // when the check began, in the database's clock
	Full   time.Time    `json:"full"`   // when the last full check began
	From   string       `json:"from"`   // ids: rows made later, or open then, may change without a transfer
	Open   []string     `json:"open"`   // older claims and withdrawals that were open
	Chains []ChainProof `json:"chains"` // of every balance owner, and every chain
}

// ChainProof is a chain at its head.
type ChainProof struct {
	Owner string          `json:"chain"` // as seal.Chain names it
	Block int64           `json:"block"` // 0: nothing is sealed
	Hash  string          `json:"hash"`
	Sums  ledger.Balances `json:"sums"` // of the postings and movements up to there
}

func (p ChainProof) tenant() books.Purse {
	merchant, live, _ := seal.ParseChain(p.Owner) // validated when read
	return books.Purse{Merchant: merchant, Live: live}
}

// proofFile is a stored Proof.
type proofFile struct {
	Version int             `json:"version"`
	Proof   json.RawMessage `json:"proof"`
	MAC     string          `json:"mac"`
}

const proofVersion = 1

var errProof = errors.New("it is not a proof that an earlier check of this database wrote, or it was changed")

// seal writes a proof that cannot be changed without the key.
func (p *Proof) seal(key []byte) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(proofFile{proofVersion, text, seal.New(key).Proof(string(text))})
}

// openProof reads what seal wrote.
func openProof(key, content []byte) (*Proof, error) {
	var file proofFile
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", errProof, err)
	}
	var text bytes.Buffer
	if err := json.Compact(&text, file.Proof); err != nil {
		return nil, fmt.Errorf("%w: %w", errProof, err)
	}
	if file.Version != proofVersion || file.MAC != seal.New(key).Proof(text.String()) {
		return nil, errProof
	}
	var p Proof
	if err := json.Unmarshal(file.Proof, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", errProof, err)
	}
	for _, c := range p.Chains {
		if _, _, ok := seal.ParseChain(c.Owner); !ok {
			return nil, fmt.Errorf("%w: %q is not a chain", errProof, c.Owner)
		}
	}
	return &p, nil
}

var (
	selectOldestPayment = engine.Statement(`
SELECT coalesce(min(o.id), '') FROM (SELECT id FROM payments WHERE status = 'pending' UNION ALL SELECT id FROM processing) AS o`)
	selectStillOpen = engine.Statement(`
SELECT d.id FROM claims AS d WHERE ` + due.IsOpen + ` UNION ALL SELECT w.id FROM withdrawals AS w WHERE w.due_at > 0 ORDER BY 1`)
)

// clocksDiffer is the largest difference between the clocks that make ids.
const clocksDiffer = time.Hour

// begin notes what may change from now on, before anything is checked.
func (c *checker) begin(ctx context.Context) (*Proof, error) {
	next := &Proof{}
	err := c.read(ctx, engine.ByAnyPlan, func(ask engine.Asking) error {
		*next = Proof{Open: []string{}}
		if err := c.measure(ask); err != nil {
			return err
		}
		resets, err := readResets(ask)
		if err != nil {
			return err
		}
		c.resets = resets
		c.walked.forgetEmptied(resets)
		err = ask(selectNow, nil, func(r engine.Row) error {
			var now int64
			err := r.Scan(&now)
			c.now = table.FromMicros(now)
			return err
		})
		if err != nil {
			return err
		}
		next.At, next.Full = c.now, c.now
		next.From = id.From("", c.now.Add(-clocksDiffer))
		err = ask(selectOldestPayment, nil, func(r engine.Row) error {
			var oldest string
			err := r.Scan(&oldest)
			if len(oldest) > 4 {
				next.From = min(next.From, oldest[4:])
			}
			return err
		})
		if err != nil {
			return err
		}
		open, err := collect(ask, selectStillOpen, scanHash)
		for _, id := range open {
			if len(id) > 4 && id[4:] < next.From {
				next.Open = append(next.Open, id[4:])
			}
		}
		return err
	})
	if c.since != nil {
		next.Full = c.since.Full
	}
	return next, err
}

// measure reads the size of the tables.
func (c *checker) measure(ask engine.Asking) error {
	c.sizes = map[string]int64{}
	err := ask(selectSizes, nil, func(r engine.Row) error {
		var table string
		var rows int64
		err := r.Scan(&table, &rows)
		c.sizes[table] = rows
		return err
	})
	c.sizes["seals"] = c.sizes["transfers"] + c.sizes["audit"]
	delete(c.sizes, "audit")
	c.progress.Total = 0
	for _, rows := range c.sizes {
		c.progress.Total += rows
	}
	return err
}

// prove notes the walked chains.
func (w *walked) prove() {
	owners := map[books.Purse]bool{}
	for of := range w.booked {
		owners[of] = true
	}
	for of := range w.heads {
		owners[of] = true
	}
	w.proved = nil
	for _, of := range slices.SortedFunc(maps.Keys(owners), books.Purse.Compare) {
		head := w.heads[of]
		w.proved = append(w.proved, ChainProof{
			Owner: seal.Chain(of.Merchant, of.Live),
			Block: head.N,
			Hash:  head.Hash,
			Sums:  maps.Clone(w.booked[of]),
		})
	}
}

// copy copies the result so far, for further additions.
func (w walked) copy() walked {
	w.heads, w.touched, w.known = maps.Clone(w.heads), maps.Clone(w.touched), maps.Clone(w.known)
	booked := sums{}
	booked.addAll(w.booked)
	w.booked = booked
	return w
}
