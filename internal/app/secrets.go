package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
	"github.com/golang-jwt/jwt/v5"
)

const (
	keySecretID = "jwt/"      // prefix of the signing keys among the secrets
	resealedID  = "resealed/" // prefix of the master keys under which everything is

	// secretsEvery is how soon a node learns what another process did to the secrets.
	secretsEvery = 5 * time.Second
	// allHear is how long all nodes have to learn of a master key that took over.
	allHear = 2 * secretsEvery
	// resealEvery is how often a node looks whether texts are to be sealed again.
	resealEvery = 30 * time.Second
	// signingKeyLife is how long a signing key signs. As long it is kept after another one took
	// over, so that clients are told that their tokens are over, and not that they are bad.
	// signingKeyNews is how long all nodes have to learn of one before it signs.
	signingKeyLife = RefreshTTL
	signingKeyNews = time.Minute
	// resealBatch is how many rows are read at a time, and sealed again.
	resealBatch = 200
)

// signingKeys are the keys of access tokens, by id.
type signingKeys struct {
	ring    map[string][]byte
	since   map[string]time.Time // when this node learned of each
	current string               // the one that signs
	alone   time.Time            // when tokens of others are all over
	made    time.Time            // the newest one
	number  int                  // its id
}

// ErrForeignKey tells of a master key that does not belong to the database.
var ErrForeignKey = errors.New("the master key does not fit this database")

// unlock reads the root and the signing keys, and makes them on the first start.
func (a *Access) unlock(ctx context.Context) error {
	a.tokens = &tokens{parser: jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(a.Now), jwt.WithStrictDecoding())}
	for range 2 { // of two nodes that start at once one makes them, and both read
		list, err := a.Store.Secrets(ctx)
		if err != nil {
			return err
		}
		first, err := a.firstSecrets(list)
		if err != nil {
			return err
		}
		if len(first) == 0 {
			break
		}
		if err := base.UnlessStale(a.Store.Commit(ctx, pay.Change{Sealed: first})); err != nil {
			return err
		}
		if err := a.readSecrets(ctx); err != nil { // the root, under which the first signing key is sealed
			return err
		}
	}
	if err := a.readSecrets(ctx); err != nil {
		return err
	}
	a.Store.SealWith(a.Vault.Key("blocks"), a.Vault)
	return nil
}

// firstSecrets are those that a database lacks: the root, and then a signing key.
func (a *Access) firstSecrets(list []pay.Sealed) ([]pay.Sealed, error) {
	if _, rooted := find(list, vault.RootID); !rooted {
		root := a.Vault.NewRoot()
		if len(list) > 0 { // from before there was a root: it was the master key
			var err error
			if root, err = a.Vault.OldRoot(list[0].ID, list[0].Text); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrForeignKey, err)
			}
		}
		return []pay.Sealed{a.newSealed(vault.RootID, root)}, nil
	}
	if !slices.ContainsFunc(list, func(s pay.Sealed) bool { return strings.HasPrefix(s.ID, keySecretID) }) {
		return []pay.Sealed{a.newSigningKey(1)}, nil
	}
	return nil, nil
}

func find(list []pay.Sealed, id string) (pay.Sealed, bool) {
	i := slices.IndexFunc(list, func(s pay.Sealed) bool { return s.ID == id })
	if i < 0 {
		return pay.Sealed{}, false
	}
	return list[i], true
}

func (a *Access) newSealed(id string, text []byte) pay.Sealed {
	return pay.Sealed{ID: id, Version: 1, Text: text, CreatedAt: a.Now()}
}

// readSecrets takes notice of what other processes did: a master key that took over, signing
// keys that came or went.
func (a *Access) readSecrets(ctx context.Context) error {
	list, err := a.Store.Secrets(ctx)
	if err != nil {
		return err
	}
	return a.heed(list)
}

func (a *Access) heed(list []pay.Sealed) error {
	root, _ := find(list, vault.RootID)
	before := a.Vault.Current()
	err := a.Vault.Unlock(root.Text)
	a.foreign.Store(err != nil)
	if err != nil {
		return fmt.Errorf("%w, or another one took over: this process has %s: %w", ErrForeignKey, strings.Join(a.Vault.Keys(), ", "), err)
	}
	if now := a.Vault.Current(); now != before || a.tokens.sealsSince.Load() == nil {
		at := a.Now()
		a.tokens.sealsSince.Store(&at)
		if a.tokens.keys.Load() != nil {
			a.Log.Info("another master key took over", "key", now, "before", before)
		}
	}
	return a.readSigningKeys(list)
}

// readSigningKeys reads the keys of access tokens. The newest one signs that all nodes know.
func (a *Access) readSigningKeys(list []pay.Sealed) error {
	now, known := a.Now(), a.tokens.keys.Load()
	next := &signingKeys{ring: map[string][]byte{}, since: map[string]time.Time{}}
	for _, s := range list { // oldest first
		kid, isKey := strings.CutPrefix(s.ID, keySecretID)
		if !isKey {
			continue
		}
		number, err := strconv.Atoi(kid)
		if err != nil {
			return fmt.Errorf("signing key %s: %w", kid, err)
		}
		if next.ring[kid], err = a.Vault.Open(s.ID, s.Text); err != nil {
			return fmt.Errorf("%w: %w", ErrForeignKey, err)
		}
		// A clock that runs ahead made it: it is as old as this node knows it.
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
			next.current, next.alone = kid, signs.Add(a.ttl+clocksApart)
		}
	}
	a.tokens.keys.Store(next)
	return nil
}

func (a *Access) newSigningKey(number int) pay.Sealed {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	id := keySecretID + strconv.Itoa(number)
	return a.newSealed(id, a.Vault.Seal(id, key))
}

// RotateSigningKey makes a new key of access tokens when the newest one is old, and forgets those
// from before it. Of two nodes that make one at a time, one does.
func (a *Access) RotateSigningKey(ctx context.Context) error {
	list, err := a.Store.Secrets(ctx)
	if err != nil {
		return err
	}
	if err := a.heed(list); err != nil {
		return err
	}
	keys := a.tokens.keys.Load()
	if a.Now().Sub(keys.made) < signingKeyLife {
		return nil
	}
	change := pay.Change{Sealed: []pay.Sealed{a.newSigningKey(keys.number + 1)}}
	for _, s := range list { // a month after the present one took over
		if kid, isKey := strings.CutPrefix(s.ID, keySecretID); isKey && kid != keys.current {
			change.Sealed = append(change.Sealed, s.Drop())
		}
	}
	a.Log.InfoContext(ctx, "a new key signs access tokens from now on", "key", keys.number+1)
	return base.UnlessStale(a.Store.Commit(ctx, change))
}

// SigningKeys counts the keys of access tokens that this node knows.
func (a *Access) SigningKeys() int { return len(a.tokens.keys.Load().ring) }

// MasterKeys tells of the master keys of this process: their fingerprints, newest last, which
// one seals, and how much is sealed under each. What no key of this process opens is under "".
func (a *Access) MasterKeys(ctx context.Context) (keys []string, current string, sealed map[string]int, err error) {
	sealed = map[string]int{}
	err = a.eachSealed(ctx, func(texts []text, _ func([][]byte) error) error {
		for _, t := range texts {
			sealed[a.Vault.SealedBy(t.about, t.sealed)]++
		}
		return nil
	})
	return a.Vault.Keys(), a.Vault.Current(), sealed, err
}

// RotateMasterKey lets the newest master key of this process take over: what is sealed from now
// on is sealed under it. Other processes learn of it within seconds, and need to have it.
//
// Errors: conflict_state where it has already.
func (a *Access) RotateMasterKey(ctx context.Context, by pay.Actor) error {
	err := base.Again(func() error {
		list, err := a.Store.Secrets(ctx)
		if err != nil {
			return err
		}
		if err := a.heed(list); err != nil {
			return err
		}
		before, newest := a.Vault.Current(), a.Vault.Newest()
		if before == newest {
			return pay.NewError(pay.CodeConflictState, "the newest master key, "+newest+", seals already: add another one first")
		}
		root, _ := find(list, vault.RootID)
		return a.Store.Commit(ctx, pay.Change{
			Sealed: []pay.Sealed{root.Replace(a.Vault.Pass())},
			Audit:  a.Audited(by, pay.Scope{Live: true}, pay.MasterKeyRotated, newest, map[string]string{"before": before}),
		})
	})
	if err != nil {
		return err
	}
	return a.readSecrets(ctx)
}

// reseal seals again what is under another master key than the one that took over. It begins
// anew wherever it was ended, and skips what is done.
func (a *Access) reseal(ctx context.Context) error {
	list, err := a.Store.Secrets(ctx)
	if err != nil {
		return err
	}
	current := a.Vault.Current()
	if _, done := find(list, resealedID+current); done {
		return nil
	}
	heard := a.Now().Sub(*a.tokens.sealsSince.Load()) >= allHear
	n, err := a.Reseal(ctx)
	if err != nil || n > 0 || !heard { // a look after all have heard of it finds what they sealed before
		return err
	}
	return base.UnlessStale(a.Store.Commit(ctx, pay.Change{Sealed: []pay.Sealed{a.newSealed(resealedID+current, []byte(current))}}))
}

// Resealed waits until nothing is sealed, nor will be, under another master key than the one that
// took over: until all nodes have heard of it.
func (a *Access) Resealed(ctx context.Context) error {
	for {
		if err := a.reseal(ctx); err != nil {
			return err
		}
		list, err := a.Store.Secrets(ctx)
		if err != nil {
			return err
		}
		if _, done := find(list, resealedID+a.Vault.Current()); done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// Reseal seals again what is under another master key than the one that took over, and returns
// how much that was.
func (a *Access) Reseal(ctx context.Context) (n int, err error) {
	err = a.eachSealed(ctx, func(texts []text, write func([][]byte) error) error {
		fresh, changed := make([][]byte, len(texts)), 0
		for i, t := range texts {
			again, other, err := a.Vault.Reseal(t.about, t.sealed)
			if err != nil {
				a.Log.ErrorContext(ctx, "a text can be opened by no master key of this process", "text", t.about, "error", err)
			}
			if fresh[i] = again; other {
				changed++
			}
		}
		if changed == 0 {
			return nil
		}
		n += changed
		if err := write(fresh); !errors.Is(err, store.ErrStale) { // which is sealed under the new one, or met again
			return err
		}
		return nil
	})
	if n > 0 {
		a.Log.InfoContext(ctx, "secrets were sealed again", "texts", n, "master_key", a.Vault.Current())
	}
	return n, err
}

// text is a sealed text and what it is about.
type text struct {
	about  string
	sealed []byte
}

// eachSealed calls do for the sealed texts of every row, and with what writes them again.
func (a *Access) eachSealed(ctx context.Context, do func(texts []text, write func([][]byte) error) error) error {
	list, err := a.Store.Secrets(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.ID == vault.RootID || strings.HasPrefix(s.ID, resealedID) { // the first one is written by a rotation alone
			continue
		}
		if err := do([]text{{s.ID, s.Text}}, func(fresh [][]byte) error {
			return a.Store.Commit(ctx, pay.Change{Sealed: []pay.Sealed{s.Replace(fresh[0])}})
		}); err != nil {
			return err
		}
	}
	accounts, err := a.Store.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		of := sealedIn{{acquiring.CredentialsOf(account.ID), &account.Credentials}, {acquiring.PastOf(account.ID), &account.Before}}
		if err := of.each(do, func() error {
			account.Version++
			return a.Store.Commit(ctx, pay.Change{Accounts: []pay.ProviderAccount{account}})
		}); err != nil {
			return err
		}
	}
	if err := pages(func(after string) (string, error) {
		list, err := a.Store.WalletsAfter(ctx, after, resealBatch)
		for _, w := range list {
			of := sealedIn{{w.Secret(), &w.Sealed}, {w.HolderSecret(), &w.Holder}}
			if err := of.each(do, func() error {
				w.Version++
				return a.Store.Commit(ctx, pay.Change{Wallets: []pay.Wallet{w}})
			}); err != nil {
				return "", err
			}
			after = w.ID
		}
		return next(after, len(list)), err
	}); err != nil {
		return err
	}
	if err := a.eachFile(ctx, do); err != nil {
		return err
	}
	return pages(func(after string) (string, error) {
		list, err := a.Store.SubscriptionsAfter(ctx, after, resealBatch)
		for _, sub := range list {
			of := sealedIn{{sub.ID, &sub.Secret}, {sub.ID, &sub.PreviousSecret}}
			if err := of.each(do, func() error {
				sub.Version++
				return a.Store.Commit(ctx, pay.Change{Subscriptions: []pay.Subscription{sub}})
			}); err != nil {
				return "", err
			}
			after = sub.ID
		}
		return next(after, len(list)), err
	})
}

// eachFile is eachSealed for the files of payout batches, one at a time: one may have megabytes.
func (a *Access) eachFile(ctx context.Context, do func([]text, func([][]byte) error) error) error {
	return pages(func(after string) (string, error) {
		b, err := a.Store.BatchAfter(ctx, after)
		if errors.Is(err, store.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		of := sealedIn{{b.Secret(), &b.File}}
		return b.ID, of.each(do, func() error {
			b.Version++
			return a.Store.Commit(ctx, pay.Change{Batches: []pay.Batch{b}})
		})
	})
}

// pages asks for page after page until one names no other to go on from.
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

// column is a sealed column of a row. It may be empty.
type column struct {
	about string
	of    *[]byte
}

// sealedIn are the sealed columns of a row.
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
