package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

const (
	KeySecretID = "jwt/"      // prefix of the ids of signing keys
	ResealedID  = "resealed/" // prefix of the ids that record under which master keys everything is encrypted

	// SecretsEvery is how soon a node learns of another process's changes of the secrets.
	SecretsEvery = 5 * time.Second
	// allHear is how long all nodes have to learn of a new master key.
	allHear = 2 * SecretsEvery
	// ResealEvery is how often a node checks whether texts must be encrypted again.
	ResealEvery = 30 * time.Second
	// signingKeyLife is how long a signing key signs. It is kept for as long after the next one
	// took over, so that clients get "expired" for their tokens, not "invalid". signingKeyNews is
	// how long all nodes have to learn of a key before it signs.
	signingKeyLife = RefreshTTL
	signingKeyNews = time.Minute
	// resealBatch is how many rows are read and encrypted again at a time.
	resealBatch = 200
)

// signingKeys are the keys of access tokens, by id.
type signingKeys struct {
	ring    map[string][]byte
	since   map[string]time.Time // when this node learnt of each
	current string               // the one that signs
	alone   time.Time            // when all tokens of other keys have expired
	made    time.Time            // the newest one
	number  int                  // its id
}

// ErrForeignKey says that the master key does not belong to the database.
var ErrForeignKey = errors.New("the master key does not fit this database")

// Secrets are the keys that encrypt texts and sign tokens: the root, the master keys and the
// signing keys. It is safe for use by many goroutines.
type Secrets struct {
	*base.Base
	ttl     time.Duration // of an access token
	tokens  *tokens
	foreign atomic.Bool // another master key took over, which this process does not have
}

// Unlock reads the root and the signing keys, and makes them on the first start.
func (sc *Secrets) Unlock(ctx context.Context) error {
	for range 2 { // if two nodes start at once, one makes them and both read them
		list, err := sc.Store.Secrets.List(ctx)
		if err != nil {
			return err
		}
		first, err := sc.firstSecrets(list)
		if err != nil {
			return err
		}
		if len(first) == 0 {
			break
		}
		if err := base.UnlessStale(sc.Store.Commit(ctx, pay.Change{Sealed: first})); err != nil {
			return err
		}
		if err := sc.ReadSecrets(ctx); err != nil { // the root, under which the first signing key is encrypted
			return err
		}
	}
	if err := sc.ReadSecrets(ctx); err != nil {
		return err
	}
	sc.Store.SealWith(sc.Vault.Key("blocks"), sc.Vault)
	return nil
}

// firstSecrets makes the secrets that a database lacks: the root, then a signing key.
func (sc *Secrets) firstSecrets(list []tenant.Sealed) ([]tenant.Sealed, error) {
	if _, rooted := Find(list, vault.RootID); !rooted {
		root := sc.Vault.NewRoot()
		if len(list) > 0 { // a database from before the root existed: the master key was the root
			var err error
			if root, err = sc.Vault.OldRoot(list[0].ID, list[0].Text); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrForeignKey, err)
			}
		}
		return []tenant.Sealed{sc.NewSealed(vault.RootID, root)}, nil
	}
	if !slices.ContainsFunc(list, func(s tenant.Sealed) bool { return strings.HasPrefix(s.ID, KeySecretID) }) {
		return []tenant.Sealed{sc.newSigningKey(1)}, nil
	}
	return nil, nil
}

// Find finds an encrypted text by its id.
func Find(list []tenant.Sealed, id string) (tenant.Sealed, bool) {
	i := slices.IndexFunc(list, func(s tenant.Sealed) bool { return s.ID == id })
	if i < 0 {
		return tenant.Sealed{}, false
	}
	return list[i], true
}

// NewSealed is a new encrypted text, to be written.
func (sc *Secrets) NewSealed(id string, text []byte) tenant.Sealed {
	return tenant.Sealed{ID: id, Version: 1, Text: text, CreatedAt: sc.Now()}
}

// ReadSecrets reads other processes' changes: a new master key, signing keys that were added or
// deleted.
func (sc *Secrets) ReadSecrets(ctx context.Context) error {
	list, err := sc.Store.Secrets.List(ctx)
	if err != nil {
		return err
	}
	return sc.heed(list)
}

func (sc *Secrets) heed(list []tenant.Sealed) error {
	root, _ := Find(list, vault.RootID)
	before := sc.Vault.Current()
	err := sc.Vault.Unlock(root.Text)
	sc.foreign.Store(err != nil)
	if err != nil {
		return fmt.Errorf("%w, or another one took over: this process has %s: %w", ErrForeignKey, strings.Join(sc.Vault.Keys(), ", "), err)
	}
	if now := sc.Vault.Current(); now != before || sc.tokens.sealsSince.Load() == nil {
		at := sc.Now()
		sc.tokens.sealsSince.Store(&at)
		if sc.tokens.keys.Load() != nil {
			sc.Log.Info("another master key took over", "key", now, "before", before)
		}
	}
	return sc.readSigningKeys(list)
}

// readSigningKeys reads the keys of access tokens. The newest key that all nodes know signs.
func (sc *Secrets) readSigningKeys(list []tenant.Sealed) error {
	now, known := sc.Now(), sc.tokens.keys.Load()
	next := &signingKeys{ring: map[string][]byte{}, since: map[string]time.Time{}}
	for _, s := range list { // oldest first
		kid, isKey := strings.CutPrefix(s.ID, KeySecretID)
		if !isKey {
			continue
		}
		number, err := strconv.Atoi(kid)
		if err != nil {
			return fmt.Errorf("signing key %s: %w", kid, err)
		}
		if next.ring[kid], err = sc.Vault.Open(s.ID, s.Text); err != nil {
			return fmt.Errorf("%w: %w", ErrForeignKey, err)
		}
		// Made by a clock that runs ahead: use the time since when this node knows it.
		next.since[kid] = s.CreatedAt
		if known != nil {
			next.since[kid] = now
			if at, old := known.since[kid]; old {
				next.since[kid] = at
			}
		}
		if next.number < number {
			next.made, next.number = s.CreatedAt, number
		}
		if signs := next.since[kid].Add(signingKeyNews); next.current == "" || !signs.After(now) {
			next.current, next.alone = kid, signs.Add(sc.ttl+clocksApart)
		}
	}
	sc.tokens.keys.Store(next)
	return nil
}

func (sc *Secrets) newSigningKey(number int) tenant.Sealed {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	id := KeySecretID + strconv.Itoa(number)
	return sc.NewSealed(id, sc.Vault.Seal(id, key))
}

// RotateSigningKey makes a new key of access tokens when the newest one is old, and deletes the
// ones before it. If two nodes try at once, one succeeds.
func (sc *Secrets) RotateSigningKey(ctx context.Context) error {
	list, err := sc.Store.Secrets.List(ctx)
	if err != nil {
		return err
	}
	if err := sc.heed(list); err != nil {
		return err
	}
	keys := sc.tokens.keys.Load()
	if sc.Now().Sub(keys.made) < signingKeyLife {
		return nil
	}
	change := pay.Change{Sealed: []tenant.Sealed{sc.newSigningKey(keys.number + 1)}}
	for _, s := range list { // a month after the present one took over
		if kid, isKey := strings.CutPrefix(s.ID, KeySecretID); isKey && kid != keys.current {
			change.Sealed = append(change.Sealed, s.Drop())
		}
	}
	sc.Log.InfoContext(ctx, "a new key signs access tokens", "key", keys.number+1)
	return base.UnlessStale(sc.Store.Commit(ctx, change))
}

// SigningKeys counts the keys of access tokens that this node knows.
func (sc *Secrets) SigningKeys() int { return len(sc.tokens.keys.Load().ring) }

// MasterKeys returns this process's master keys: their fingerprints, newest last, the one that
// encrypts, and how many texts are encrypted under each. Texts that none of them opens are under
// "".
func (sc *Secrets) MasterKeys(ctx context.Context) (keys []string, current string, sealed map[string]int, err error) {
	sealed = map[string]int{}
	err = sc.eachSealed(ctx, func(texts []text, _ func([][]byte) error) error {
		for _, t := range texts {
			sealed[sc.Vault.SealedBy(t.about, t.sealed)]++
		}
		return nil
	})
	return sc.Vault.Keys(), sc.Vault.Current(), sealed, err
}

// RotateMasterKey makes the newest master key of this process the one that encrypts from now on.
// Other processes learn of it within seconds, and must have it.
//
// Errors: conflict_state if it is the current one already.
func (sc *Secrets) RotateMasterKey(ctx context.Context, by audit.Actor) error {
	err := base.Again(func() error {
		list, err := sc.Store.Secrets.List(ctx)
		if err != nil {
			return err
		}
		if err := sc.heed(list); err != nil {
			return err
		}
		before, newest := sc.Vault.Current(), sc.Vault.Newest()
		if before == newest {
			return problem.New(problem.ConflictState, "the newest master key, "+newest+", is the current one already: add another one first")
		}
		root, _ := Find(list, vault.RootID)
		return sc.Store.Commit(ctx, pay.Change{
			Sealed: []tenant.Sealed{root.Replace(sc.Vault.Pass())},
			Audit:  sc.Audited(by, tenant.Scope{Live: true}, audit.MasterKeyRotated, newest, map[string]string{"before": before}),
		})
	})
	if err != nil {
		return err
	}
	return sc.ReadSecrets(ctx)
}

// ResealTexts encrypts texts again that are under another master key than the current one. It can
// be interrupted at any time, and skips texts that are done.
func (sc *Secrets) ResealTexts(ctx context.Context) error {
	list, err := sc.Store.Secrets.List(ctx)
	if err != nil {
		return err
	}
	current := sc.Vault.Current()
	if _, done := Find(list, ResealedID+current); done {
		return nil
	}
	heard := sc.Now().Sub(*sc.tokens.sealsSince.Load()) >= allHear
	n, err := sc.Reseal(ctx)
	if err != nil || n > 0 || !heard { // a look after all nodes know the key finds what they encrypted before
		return err
	}
	return base.UnlessStale(sc.Store.Commit(ctx, pay.Change{Sealed: []tenant.Sealed{sc.NewSealed(ResealedID+current, []byte(current))}}))
}

// Resealed waits until no text is, or can still become, encrypted under another master key than the
// current one: until all nodes know it.
func (sc *Secrets) Resealed(ctx context.Context) error {
	for {
		if err := sc.ResealTexts(ctx); err != nil {
			return err
		}
		list, err := sc.Store.Secrets.List(ctx)
		if err != nil {
			return err
		}
		if _, done := Find(list, ResealedID+sc.Vault.Current()); done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// Reseal encrypts texts again that are under another master key than the current one, and returns
// their number.
func (sc *Secrets) Reseal(ctx context.Context) (n int, err error) {
	err = sc.eachSealed(ctx, func(texts []text, write func([][]byte) error) error {
		fresh, changed := make([][]byte, len(texts)), 0
		for i, t := range texts {
			again, other, err := sc.Vault.Reseal(t.about, t.sealed)
			if err != nil {
				sc.Log.ErrorContext(ctx, "no master key of this process opens a text", "text", t.about, "error", err)
			}
			if fresh[i] = again; other {
				changed++
			}
		}
		if changed == 0 {
			return nil
		}
		n += changed
		if err := write(fresh); !errors.Is(err, store.ErrStale) { // stale: encrypted under the new one already, or found again
			return err
		}
		return nil
	})
	if n > 0 {
		sc.Log.InfoContext(ctx, "secrets were encrypted again", "texts", n, "master_key", sc.Vault.Current())
	}
	return n, err
}

// text is an encrypted text and what it belongs to.
type text struct {
	about  string
	sealed []byte
}

// eachSealed calls do for the encrypted texts of every row, with the function that writes them
// again.
func (sc *Secrets) eachSealed(ctx context.Context, do func(texts []text, write func([][]byte) error) error) error {
	list, err := sc.Store.Secrets.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.ID == vault.RootID || strings.HasPrefix(s.ID, ResealedID) { // the root is written only by a rotation
			continue
		}
		if err := do([]text{{s.ID, s.Text}}, func(fresh [][]byte) error {
			return sc.Store.Commit(ctx, pay.Change{Sealed: []tenant.Sealed{s.Replace(fresh[0])}})
		}); err != nil {
			return err
		}
	}
	accounts, err := sc.Store.Accounts.List(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		of := sealedIn{{acquiring.CredentialsOf(account.ID), &account.Credentials}, {acquiring.PastOf(account.ID), &account.Before}}
		if err := of.each(do, func() error {
			account.Version++
			return sc.Store.Commit(ctx, pay.Change{Accounts: []acquirer.Account{account}})
		}); err != nil {
			return err
		}
	}
	if err := pages(func(after string) (string, error) {
		list, err := sc.Store.Wallets.After(ctx, after, resealBatch)
		for _, w := range list {
			of := sealedIn{{w.Secret(), &w.Sealed}, {w.HolderSecret(), &w.Holder}}
			if err := of.each(do, func() error {
				w.Version++
				return sc.Store.Commit(ctx, pay.Change{Wallets: []pay.Wallet{w}})
			}); err != nil {
				return "", err
			}
			after = w.ID
		}
		return next(after, len(list)), err
	}); err != nil {
		return err
	}
	if err := sc.eachFile(ctx, do); err != nil {
		return err
	}
	return pages(func(after string) (string, error) {
		list, err := sc.Store.Subscriptions.After(ctx, after, resealBatch)
		for _, sub := range list {
			of := sealedIn{{sub.ID, &sub.Secret}, {sub.ID, &sub.PreviousSecret}}
			if err := of.each(do, func() error {
				sub.Version++
				return sc.Store.Commit(ctx, pay.Change{Subscriptions: []hook.Subscription{sub}})
			}); err != nil {
				return "", err
			}
			after = sub.ID
		}
		return next(after, len(list)), err
	})
}

// eachFile is eachSealed for the files of payout batches, one at a time, because one may have
// megabytes.
func (sc *Secrets) eachFile(ctx context.Context, do func([]text, func([][]byte) error) error) error {
	return pages(func(after string) (string, error) {
		b, err := sc.Store.Batches.After(ctx, after)
		if errors.Is(err, store.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		of := sealedIn{{b.Secret(), &b.File}}
		return b.ID, of.each(do, func() error {
			b.Version++
			return sc.Store.Commit(ctx, pay.Change{Batches: []pay.Batch{b}})
		})
	})
}

// pages reads page after page until there is no next one.
func pages(read func(after string) (next string, err error)) error {
	for after := ""; ; {
		following, err := read(after)
		if err != nil || following == "" {
			return err
		}
		after = following
	}
}

func next(last string, rows int) string {
	if rows < resealBatch {
		return ""
	}
	return last
}

// column is an encrypted column of a row. It may be empty.
type column struct {
	about string
	of    *[]byte
}

// sealedIn are the encrypted columns of a row.
type sealedIn []column

func (s sealedIn) each(do func([]text, func([][]byte) error) error, write func() error) error {
	s = slices.DeleteFunc(s, func(c column) bool { return len(*c.of) == 0 })
	texts := make([]text, 0, len(s))
	for _, c := range s {
		texts = append(texts, text{c.about, *c.of})
	}
	return do(texts, func(fresh [][]byte) error {
		for i, c := range s {
			*c.of = fresh[i]
		}
		return write()
	})
}

// ForeignKey reports whether a master key took over that this process does not have.
func (sc *Secrets) ForeignKey() bool { return sc.foreign.Load() }
