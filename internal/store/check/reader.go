package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
	storemerchants "github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Reader reads a database for Check, over connections of its own. It starts and changes nothing, not
// even the schema; the server may be a standby.
type Reader struct {
	db    engine.Readings
	texts engine.Texts
	key   []byte
}

// ReaderOn reads over connections that the caller closes. For tests.
func ReaderOn(db engine.Readings, texts engine.Texts, key []byte) *Reader {
	return &Reader{db: db, texts: texts, key: key}
}

// OpenReader connects to a database (sqlite:PATH or postgres://…) with this program's schema. If the
// address names several servers it prefers the primary, unless target_session_attrs says otherwise, and
// falls back to any that answers. more is as Options.Migrations.
func OpenReader(ctx context.Context, database string, more fs.FS) (*Reader, error) {
	if err := engine.CheckAddress(database); err != nil {
		return nil, err
	}
	var db engine.Readings
	var err error
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		db, err = engine.OpenSQLiteReader(path)
	} else {
		db, err = engine.OpenPostgresReader(ctx, database)
	}
	if err != nil {
		return nil, err
	}
	r := &Reader{db: db, texts: db.Dialect().Texts()}
	if err := r.current(ctx, more); err != nil {
		db.Close()
		return nil, err
	}
	return r, nil
}

// Close disconnects.
func (r *Reader) Close() { r.db.Close() }

// SealWith sets the key of the seals. Call it before any check.
func (r *Reader) SealWith(key []byte) { r.key = key }

// current refuses a schema of another version: its invariants differ.
func (r *Reader) current(ctx context.Context, more fs.FS) error {
	list, err := schema.Read(more)
	if err != nil {
		return err
	}
	err = r.read(ctx, func(ask engine.Asking) error {
		return list.Suits(func(text string, each func(engine.Row) error) error { return ask(text, nil, each) })
	})
	if engine.MayNotWrite(err) {
		return fmt.Errorf("open the database: SQLite keeps two files beside one that no service has open, and may not make them there: check a copy: %w", err)
	}
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return nil
}

// read reads a small snapshot.
func (r *Reader) read(ctx context.Context, read func(engine.Asking) error) error {
	ctx, cancel := context.WithTimeout(ctx, base.LongRead)
	defer cancel()
	c := newChecker(r.db, r.texts, r.key, Options{})
	return c.read(ctx, engine.ByAnyPlan, read)
}

// Check proves the invariants and returns at most a hundred findings per invariant. On an error it returns what
// it has found so far. It refuses to read more than engine.MostReaders parts at the same time.
func (r *Reader) Check(ctx context.Context, o Options) (Checked, error) {
	if o.Parallel < 0 || o.Parallel > engine.MostReaders {
		return Checked{}, fmt.Errorf("read %d parts at the same time: want 1 to %d", o.Parallel, engine.MostReaders)
	}
	return check(ctx, r.db, r.texts, r.key, o)
}

// SealProof writes a proof for storage; OpenProof reads it, and refuses a changed one.
func (r *Reader) SealProof(p *Proof) ([]byte, error) { return p.seal(r.key) }

// OpenProof reads what SealProof wrote.
func (r *Reader) OpenProof(content []byte) (*Proof, error) { return openProof(r.key, content) }

// Newest is the newest block of a chain: its head, and when it was made. Its number is how many blocks there are.
type Newest struct {
	seal.Head
	At time.Time
}

func scanNewest(r engine.Row) (n Newest, err error) {
	var at int64
	n.Head, err = chain.ScanHead(table.With(r, &at))
	n.At = table.FromMicros(at)
	return n, err
}

// Heads calls each for the newest block of every chain.
func (r *Reader) Heads(ctx context.Context, each func(Newest) error) error {
	var heads []Newest
	err := r.read(ctx, func(ask engine.Asking) (err error) {
		heads, err = collect(ask, selectAllHeads, scanNewest)
		return err
	})
	for _, head := range heads {
		err = errors.Join(err, each(head))
	}
	return err
}

// HeadsAfter lists the newest block of the chains that come after one, by merchant, the sandbox first; nil: of the first chains.
func (r *Reader) HeadsAfter(ctx context.Context, after *merchants.Scope, limit int) (heads []Newest, err error) {
	var at merchants.Scope
	if after != nil {
		at = *after
	}
	err = r.read(ctx, func(ask engine.Asking) error {
		heads = nil
		return ask(selectHeadsAfter, []any{at.Merchant, at.Live, after == nil, limit}, func(row engine.Row) error {
			head, err := scanNewest(row)
			heads = append(heads, head)
			return err
		})
	})
	return heads, err
}

// CheckHead proves that a chain still has a block that was once its head: nobody cut and rebuilt the chain.
func (r *Reader) CheckHead(ctx context.Context, kept seal.Head) ([]Broken, error) {
	hash := ""
	err := r.read(ctx, func(ask engine.Asking) error {
		hash = ""
		return ask(selectBlockHash, []any{kept.Merchant, kept.Live, kept.N}, func(r engine.Row) error { return r.Scan(&hash) })
	})
	if err != nil {
		return nil, fmt.Errorf("check the head of %s: %w", blockName(kept.Merchant, kept.Live, kept.N), err)
	}
	return judgeHead(kept, hash), nil
}

// Secrets lists the service's secrets, oldest first, without dropped ones.
func (r *Reader) Secrets(ctx context.Context) (list []merchants.Encrypted, err error) {
	err = r.read(ctx, func(ask engine.Asking) (err error) {
		list, err = collect(ask, storemerchants.SelectSecrets, storemerchants.SecretsTable.Scan(table.Personal{}))
		return err
	})
	return list, err
}
