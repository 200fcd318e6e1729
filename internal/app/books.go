package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// The words of a check.
type (
	CheckOptions = store.CheckOptions
	Progress     = store.Progress
	CheckProof   = store.Proof
)

// Books are a database that is only read, to be proved: nothing is started and nothing changed,
// and the server may be a standby.
type Books struct{ store *store.Reader }

// OpenBooks connects to a database that the service has used. more is as store.Options.Migrations.
//
// Errors: ErrForeignKey.
func OpenBooks(ctx context.Context, address string, v *vault.Vault, more fs.FS) (*Books, error) {
	r, err := store.OpenReader(ctx, address, more)
	if err != nil {
		return nil, err
	}
	if err := unlockBooks(ctx, r, v); err != nil {
		r.Close()
		return nil, err
	}
	return &Books{r}, nil
}

func unlockBooks(ctx context.Context, r *store.Reader, v *vault.Vault) error {
	list, err := r.Secrets(ctx)
	if err != nil {
		return err
	}
	root, rooted := auth.Find(list, vault.RootID)
	if !rooted {
		return errors.New("the database has no secrets yet: start the service once, or run cascada migrate")
	}
	if err := v.Unlock(root.Text); err != nil {
		return fmt.Errorf("%w, or another one took over: this process has %s: %w", auth.ErrForeignKey, strings.Join(v.Keys(), ", "), err)
	}
	for _, s := range list { // the root may be there and another's
		if strings.HasPrefix(s.ID, auth.KeySecretID) {
			if _, err := v.Open(s.ID, s.Text); err != nil {
				return fmt.Errorf("%w: %w", auth.ErrForeignKey, err)
			}
		}
	}
	r.SealWith(v.Key("blocks"))
	return nil
}

// Close disconnects.
func (b *Books) Close() { b.store.Close() }

// Check proves the invariants.
func (b *Books) Check(ctx context.Context, o store.CheckOptions) (store.Checked, error) {
	return b.store.Check(ctx, o)
}

// SealProof writes what a check has proved, to be kept outside of the database, and OpenProof
// reads it.
func (b *Books) SealProof(p *store.Proof) ([]byte, error) { return b.store.SealProof(p) }

// OpenProof refuses what was changed since it was written, or was written for another database.
func (b *Books) OpenProof(content []byte) (*store.Proof, error) { return b.store.OpenProof(content) }

// Heads calls each with the newest block of each chain, a line of text. Kept
// outside of the database they prove later that no chain was cut.
func (b *Books) Heads(ctx context.Context, each func(head string) error) error {
	return b.store.Heads(ctx, func(h seal.Head) error { return each(h.String()) })
}

// CheckHead proves that a chain goes on from a head that was kept.
func (b *Books) CheckHead(ctx context.Context, line string) ([]store.Broken, error) {
	head, err := seal.ParseHead(line)
	if err != nil {
		return nil, err
	}
	return b.store.CheckHead(ctx, head)
}

// Audit lists what was done since a moment, oldest first, from behind the entry
// after; all merchants' where merchant is empty. It is for the operator.
func (a *App) Audit(ctx context.Context, merchant, after string, since time.Time, limit int) ([]audit.Entry, error) {
	if merchant != "" {
		if _, err := a.AnyMerchant(ctx, merchant); err != nil {
			return nil, err
		}
	}
	if !since.IsZero() {
		after = max(after, id.From(audit.AuditPrefix, since))
	}
	return a.Store.Audit.List(ctx, merchant, after, limit)
}

// Seal puts what was written since into blocks (design: Ledger). It returns
// above zero when more waits.
func (a *App) Seal(ctx context.Context) (int, error) {
	more, err := a.Store.Seal(ctx, a.Now())
	if more {
		return 1, err
	}
	return 0, err
}
