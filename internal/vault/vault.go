// Package vault keeps secrets: it encrypts what must be read again and hashes
// what must only be recognised.
//
// There are master keys, which the operator keeps, and a root secret, which is kept in the
// database, encrypted under a master key. What is sealed is encrypted under a master key too,
// and names it: a rotation seals it again under another one. Hashes and derived keys depend on
// the root alone, so they outlive every master key. So does data, which is large and of which
// there is much: it is sealed under a key that is derived from the root.
//
// It knows neither the database nor where the master keys come from.
package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// KeySize is the length of a master key, and of the root, in bytes.
const KeySize = 32

// RootID is what the root secret is kept as.
const RootID = "root"

// ErrSealed says that a sealed text was not made under a master key of this vault for this use.
var ErrSealed = errors.New("vault: cannot be opened with this master key")

// Vault holds master keys and the root. It is safe for use by many goroutines.
type Vault struct {
	masters  []*master
	unlocked atomic.Pointer[unlocked]
}

// master is a master key.
type master struct {
	key         []byte
	fingerprint string
	mark        []byte // stands before what is sealed under it
	aead        cipher.AEAD
}

// unlocked is the root, and the master key under which new texts are sealed.
type unlocked struct {
	root, pepper, data []byte
	current            *master
}

// version begins the mark of what is sealed. Texts from before there were several master keys
// have no mark: they begin with a nonce.
const (
	version         = 1
	fingerprintSize = 5
)

// New returns a vault under master keys of KeySize bytes, newest last. Until Unlock is called
// the first one is the root as well.
func New(keys ...[]byte) (*Vault, error) {
	v := &Vault{}
	for _, key := range keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("vault: the master key has %d bytes, want %d", len(key), KeySize)
		}
		block, err := aes.NewCipher(derive(key, "seal"))
		if err != nil {
			return nil, err
		}
		m := &master{key: key, mark: append([]byte{version}, derive(key, "fingerprint")[:fingerprintSize]...)}
		m.fingerprint = hex.EncodeToString(m.mark[1:])
		if m.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(v.masters, func(other *master) bool { return other.fingerprint == m.fingerprint }) {
			v.masters = append(v.masters, m)
		}
	}
	if len(v.masters) == 0 {
		return nil, errors.New("vault: there is no master key")
	}
	v.use(v.masters[0].key, v.masters[0])
	return v, nil
}

func (v *Vault) use(root []byte, current *master) {
	v.unlocked.Store(&unlocked{root: root, pepper: derive(root, "hash"), data: derive(root, "data"), current: current})
}

// Unlock reads the root secret, as NewRoot or Pass sealed it. New texts are sealed under the
// master key that it is sealed under.
//
// Errors: ErrSealed.
func (v *Vault) Unlock(sealed []byte) error {
	root, by, err := v.open(RootID, sealed)
	if err != nil {
		return err
	}
	v.use(root, by)
	return nil
}

// NewRoot returns a root of a database that has none, sealed under the newest master key.
func (v *Vault) NewRoot() []byte {
	root := make([]byte, KeySize)
	_, _ = rand.Read(root) // never fails
	newest := v.masters[len(v.masters)-1]
	return newest.seal(RootID, root, false)
}

// OldRoot returns the root of a database from before there was one: the master key under which
// a text of it is sealed.
//
// Errors: ErrSealed.
func (v *Vault) OldRoot(about string, sealed []byte) ([]byte, error) {
	_, by, err := v.open(about, sealed)
	if err != nil {
		return nil, err
	}
	return by.seal(RootID, by.key, true), nil
}

// Pass returns the root sealed under the newest master key. When it has taken the place of the
// one before, new texts are sealed under that key.
func (v *Vault) Pass() []byte {
	u, newest := v.unlocked.Load(), v.masters[len(v.masters)-1]
	return newest.seal(RootID, u.root, bytes.Equal(u.root, newest.key))
}

// Current names the master key under which new texts are sealed, Newest the last one that was
// given, and Keys all of them in the order in which they were.
func (v *Vault) Current() string { return v.unlocked.Load().current.fingerprint }

// Newest names the master key that was given last.
func (v *Vault) Newest() string { return v.masters[len(v.masters)-1].fingerprint }

// Keys names all master keys, newest last.
func (v *Vault) Keys() (fingerprints []string) {
	for _, m := range v.masters {
		fingerprints = append(fingerprints, m.fingerprint)
	}
	return fingerprints
}

// Key derives a key of 32 bytes for one use from the root.
func (v *Vault) Key(use string) []byte { return derive(v.unlocked.Load().root, use) }

func derive(secret []byte, use string) []byte {
	key, err := hkdf.Expand(sha256.New, secret, "cascada/"+use, KeySize)
	if err != nil {
		panic("vault: " + err.Error()) // only for lengths far above ours
	}
	return key
}

// Seal encrypts (AES-256-GCM). What it is about, such as a row's id, is bound
// to it: moved elsewhere, it does not open.
func (v *Vault) Seal(about string, plain []byte) []byte {
	u := v.unlocked.Load()
	return u.current.seal(about, plain, u.unmarked(u.current))
}

// unmarked reports whether a master key seals as it did when there was one alone.
func (u *unlocked) unmarked(m *master) bool { return bytes.Equal(u.root, m.key) }

func (m *master) seal(about string, plain []byte, unmarked bool) []byte {
	var out []byte
	if !unmarked {
		out = append(out, m.mark...)
	}
	return m.aead.Seal(out, nil, plain, []byte(about))
}

// Open decrypts what Seal made, or fails with ErrSealed.
func (v *Vault) Open(about string, sealed []byte) ([]byte, error) {
	plain, _, err := v.open(about, sealed)
	return plain, err
}

func (v *Vault) open(about string, sealed []byte) (plain []byte, by *master, err error) {
	for _, m := range v.masters {
		if text, marked := bytes.CutPrefix(sealed, m.mark); marked {
			if plain, err := m.aead.Open(nil, nil, text, []byte(about)); err == nil {
				return plain, m, nil
			}
		}
	}
	for _, m := range v.masters {
		if plain, err := m.aead.Open(nil, nil, sealed, []byte(about)); err == nil {
			return plain, m, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: %s", ErrSealed, about)
}

// Reseal returns a sealed text under the current master key; changed is false where it is.
//
// Errors: ErrSealed.
func (v *Vault) Reseal(about string, sealed []byte) (fresh []byte, changed bool, err error) {
	plain, by, err := v.open(about, sealed)
	if err != nil || by == v.unlocked.Load().current {
		return sealed, false, err
	}
	return v.Seal(about, plain), true, nil
}

// SealedBy names the master key that a text is sealed under, "" where it is none of this vault.
func (v *Vault) SealedBy(about string, sealed []byte) string {
	_, by, err := v.open(about, sealed)
	if err != nil {
		return ""
	}
	return by.fingerprint
}

// SealData encrypts (AES-256-GCM) what no rotation of the master key has to seal again. What it
// is about, such as a row's id and column, is bound to it. Each has a key of its own, so that it
// does not matter how much is sealed in all: chance repeats no nonce of so few.
func (v *Vault) SealData(about string, plain []byte) []byte {
	return v.unlocked.Load().dataOf(about).Seal(nil, nil, plain, []byte(about))
}

// OpenData decrypts what SealData made, or fails with ErrSealed.
func (v *Vault) OpenData(about string, sealed []byte) ([]byte, error) {
	plain, err := v.unlocked.Load().dataOf(about).Open(nil, nil, sealed, []byte(about))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrSealed, about)
	}
	return plain, nil
}

func (u *unlocked) dataOf(about string) cipher.AEAD {
	block, err := aes.NewCipher(derive(u.data, about))
	if err != nil {
		panic("vault: " + err.Error()) // only for keys of another length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("vault: " + err.Error()) // only for blocks of another length
	}
	return aead
}

// Hash is the keyed hash by which a secret is recognised: HMAC-SHA-256, in
// hex. A secret has 256 bits of chance, so nothing slower is called for.
func (v *Vault) Hash(secret string) string {
	mac := hmac.New(sha256.New, v.unlocked.Load().pepper)
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil))
}
