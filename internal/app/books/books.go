// Package books checks the books: by a command, or while the service runs.
package books

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// The types of a check.
type (
	CheckOptions = store.CheckOptions
	Progress     = store.Progress
	CheckProof   = store.Proof
	SealHead     = store.Newest
)

// Books is a database that is only read, to check it. Nothing is started or changed, and the server
// may be a standby.
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
			if _, err := v.Decrypt(s.ID, s.Text); err != nil {
				return fmt.Errorf("%w: %w", auth.ErrForeignKey, err)
			}
		}
	}
	r.SealWith(v.Key("blocks"))
	return nil
}

// Close disconnects.
func (b *Books) Close() { b.store.Close() }

// Check checks the invariants.
func (b *Books) Check(ctx context.Context, o store.CheckOptions) (store.Checked, error) {
	return b.store.Check(ctx, o)
}

// SealProof writes the proof of a check, to be stored outside of the database. OpenProof reads it.
func (b *Books) SealProof(p *store.Proof) ([]byte, error) { return b.store.SealProof(p) }

// OpenProof returns an error if the proof was changed, or belongs to another database.
func (b *Books) OpenProof(content []byte) (*store.Proof, error) { return b.store.OpenProof(content) }

// Heads calls each with the newest block of each chain, as a line of text. Stored outside of the
// database, it proves later that no chain was cut.
func (b *Books) Heads(ctx context.Context, each func(head string) error) error {
	return b.store.Heads(ctx, func(h store.Newest) error { return each(h.String()) })
}

// CheckHeads proves that the chains continue from the heads in a text, one a line. It returns what is broken.
//
// It returns an error if the text contains no head: it would prove nothing.
func (b *Books) CheckHeads(ctx context.Context, from io.Reader) (broken []store.Broken, heads int, err error) {
	lines := bufio.NewScanner(from)
	for ; lines.Scan(); heads++ {
		cut, err := b.CheckHead(ctx, lines.Text())
		if err != nil {
			return broken, heads, err
		}
		broken = append(broken, cut...)
	}
	if err := lines.Err(); err != nil {
		return broken, heads, err
	}
	if heads == 0 {
		return nil, 0, errors.New("the file contains no head")
	}
	return broken, heads, nil
}

// CheckHead checks that a chain continues from a stored head.
func (b *Books) CheckHead(ctx context.Context, line string) ([]store.Broken, error) {
	head, err := seal.ParseHead(line)
	if err != nil {
		return nil, err
	}
	return b.store.CheckHead(ctx, head)
}
