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

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/vault"
)

const (
	KeySecretID   = "jwt/"      // prefix of the ids of signing keys
	ReencryptedID = "resealed/" // prefix of the ids that record under which master keys everything is encrypted

	// SecretsEvery is how soon a node learns of another process's changes of the secrets.
	SecretsEvery = 5 * time.Second
	// allHear is how long all nodes have to learn of a new master key.
	allHear = 2 * SecretsEvery
	// ReencryptEvery is how often a node checks whether texts must be encrypted again.
	ReencryptEvery = 30 * time.Second
	// signingKeyLife is how long a signing key signs. It is kept for as long after the next one
	// took over, so that clients get "expired" for their tokens, not "invalid". signingKeyNews is
	// how long all nodes have to learn of a key before it signs.
	signingKeyLife = RefreshTTL
	signingKeyNews = time.Minute
	// SigningKeysEvery is how often the age of the newest signing key is checked: an hour is nothing in its life.
	SigningKeysEvery = time.Hour
	// encryptBatch is how many rows are read and encrypted again at a time.
	encryptBatch = 200
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
		list, err := sc.Store.Secrets().List(ctx)
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
		if err := base.UnlessStale(sc.Store.Commit(ctx, pay.Change{Secrets: first})); err != nil {
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
func (sc *Secrets) firstSecrets(list []merchants.Encrypted) ([]merchants.Encrypted, error) {
	if _, rooted := Find(list, vault.RootID); !rooted {
		if len(list) > 0 { // another root would open none of them
			return nil, fmt.Errorf("the database lacks its root secret (secrets, id %q), under which its hashes and keys were made: restore it from a backup", vault.RootID)
		}
		return []merchants.Encrypted{sc.NewEncrypted(vault.RootID, sc.Vault.NewRoot())}, nil
	}
	if !slices.ContainsFunc(list, func(s merchants.Encrypted) bool { return strings.HasPrefix(s.ID, KeySecretID) }) {
		return []merchants.Encrypted{sc.newSigningKey(1)}, nil
	}
	return nil, nil
}

// Find finds an encrypted text by its id.
func Find(list []merchants.Encrypted, id string) (merchants.Encrypted, bool) {
	i := slices.IndexFunc(list, func(s merchants.Encrypted) bool { return s.ID == id })
	if i < 0 {
		return merchants.Encrypted{}, false
	}
	return list[i], true
}

// NewEncrypted is a new encrypted text, to be written.
func (sc *Secrets) NewEncrypted(id string, text []byte) merchants.Encrypted {
	return merchants.Encrypted{ID: id, Version: 1, Text: text, CreatedAt: sc.Now()}
}

// ReadSecrets reads other processes' changes: a new master key, signing keys that were added or
// deleted.
func (sc *Secrets) ReadSecrets(ctx context.Context) error {
	list, err := sc.Store.Secrets().List(ctx)
	if err != nil {
		return err
	}
	return sc.heed(list)
}

func (sc *Secrets) heed(list []merchants.Encrypted) error {
	root, _ := Find(list, vault.RootID)
	before := sc.Vault.Current()
	err := sc.Vault.Unlock(root.Text)
	sc.foreign.Store(err != nil)
	if err != nil {
		return fmt.Errorf("%w, or another one took over: this process has %s: %w", ErrForeignKey, strings.Join(sc.Vault.Keys(), ", "), err)
	}
	if now := sc.Vault.Current(); now != before || sc.tokens.masterSince.Load() == nil {
		at := sc.Now()
		sc.tokens.masterSince.Store(&at)
		if sc.tokens.keys.Load() != nil {
			sc.Log.Info("another master key took over", "key", now, "before", before)
		}
	}
	return sc.readSigningKeys(list)
}

// readSigningKeys reads the keys of access tokens. The newest key that all nodes know signs.
func (sc *Secrets) readSigningKeys(list []merchants.Encrypted) error {
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
		if next.ring[kid], err = sc.Vault.Decrypt(s.ID, s.Text); err != nil {
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

func (sc *Secrets) newSigningKey(number int) merchants.Encrypted {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	id := KeySecretID + strconv.Itoa(number)
	return sc.NewEncrypted(id, sc.Vault.Encrypt(id, key))
}

// RotateSigningKey makes a new key of access tokens when the newest one is old, and deletes the
// ones before it. If two nodes try at once, one succeeds.
func (sc *Secrets) RotateSigningKey(ctx context.Context) error {
	list, err := sc.Store.Secrets().List(ctx)
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
	change := pay.Change{Secrets: []merchants.Encrypted{sc.newSigningKey(keys.number + 1)}}
	for _, s := range list { // a month after the present one took over
		if kid, isKey := strings.CutPrefix(s.ID, KeySecretID); isKey && kid != keys.current {
			change.Secrets = append(change.Secrets, s.Drop())
		}
	}
	sc.Log.InfoContext(ctx, "a new key signs access tokens", "key", keys.number+1)
	return base.UnlessStale(sc.Store.Commit(ctx, change))
}

// SigningKeys counts the keys of access tokens that this node knows.
func (sc *Secrets) SigningKeys() int { return len(sc.tokens.keys.Load().ring) }

// ForeignKey reports whether a master key took over that this process does not have.
func (sc *Secrets) ForeignKey() bool { return sc.foreign.Load() }
