package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/tenants"
)

// Reader is a database that is only read, by a few connections of its own: it starts nothing and
// changes nothing, not even the schema, and the server may be a standby. It is for Check.
type Reader struct {
	db    engine.Readings
	texts map[string]string
	key   []byte
}

// ReaderOn reads by connections that somebody else closes. It is for tests.
func ReaderOn(db engine.Readings, texts map[string]string, key []byte) *Reader {
	return &Reader{db: db, texts: texts, key: key}
}

// OpenReader connects to a database (sqlite:PATH or postgres://…) that has this program's schema.
// Where the address names several servers it is the primary, unless target_session_attrs says
// otherwise; where there is none, any that answers. more is as Options.Migrations.
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

// SealWith says by which key rows are sealed. It is called before anything is checked.
func (r *Reader) SealWith(key []byte) { r.key = key }

// current refuses another schema than this program's: its rules are not ours.
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

// Check proves the invariants, at most a hundred findings of each rule. With an error what was
// found until then is returned.
func (r *Reader) Check(ctx context.Context, o Options) (Checked, error) {
	return check(ctx, r.db, r.texts, r.key, o)
}

// SealProof writes a proof as it is kept; OpenProof reads it, and refuses what was changed since.
func (r *Reader) SealProof(p *Proof) ([]byte, error) { return p.seal(r.key) }

// OpenProof is for SealProof.
func (r *Reader) OpenProof(content []byte) (*Proof, error) { return openProof(r.key, content) }

// Heads lists the newest block of each chain and calls each for it.
func (r *Reader) Heads(ctx context.Context, each func(seal.Head) error) error {
	var heads []seal.Head
	err := r.read(ctx, func(ask engine.Asking) (err error) {
		heads, err = collect(ask, selectAllHeads, chain.ScanHead)
		return err
	})
	for _, head := range heads {
		err = errors.Join(err, each(head))
	}
	return err
}

// CheckHead proves that a chain still holds a block that was its head once: it
// was not cut before it and made again.
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

// Secrets lists the service's secrets, oldest first, without those that were dropped.
func (r *Reader) Secrets(ctx context.Context) (list []tenant.Sealed, err error) {
	err = r.read(ctx, func(ask engine.Asking) (err error) {
		list, err = collect(ask, tenants.SelectSecrets, tenants.SecretsTable.Scan(table.Personal{}))
		return err
	})
	return list, err
}
