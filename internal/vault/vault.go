// Package vault keeps secrets: it encrypts those that must be read again, and hashes those
// that must only be recognized.
//
// The operator keeps the master keys. The database keeps the root secret, encrypted under a
// master key. Encrypt works under a master key too, and records which one, so that a
// rotation can encrypt again under another. Hashes and derived keys depend only on the
// root, so they outlive every master key. So does data, which is large: it is encrypted
// under a key that is derived from the root.
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
	"hash"
	"slices"
	"sync"
	"sync/atomic"
)

// KeySize is the length of a master key, and of the root, in bytes.
const KeySize = 32

// RootID is the id under which the root secret is kept.
const RootID = "root"

// ErrEncrypted means that a text was not encrypted under a master key of this vault for this
// use.
var ErrEncrypted = errors.New("vault: cannot be opened with this master key")

// Vault holds master keys and the root. It is safe for concurrent use.
type Vault struct {
	masters  []*master
	unlocked atomic.Pointer[unlocked]
}

// master is a master key.
type master struct {
	key         []byte
	fingerprint string
	mark        []byte // the prefix of texts encrypted under it
	aead        cipher.AEAD
}

// unlocked is the root, and the master key that encrypts new texts.
type unlocked struct {
	root, data []byte
	current    *master
	macs       sync.Map // of uses: the *sync.Pool of each one's hash.Hash
}

const (
	version         = 1 // begins the mark of an encrypted text
	fingerprintSize = 5
)

// New returns a vault with master keys of KeySize bytes, newest last. Until Unlock, the
// first one is also the root.
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
	v.unlocked.Store(&unlocked{root: root, data: derive(root, "data"), current: current})
}

// Unlock reads the root secret, as NewRoot or Pass encrypted it. New texts are then
// encrypted under the same master key as the root.
//
// Errors: ErrEncrypted.
func (v *Vault) Unlock(encrypted []byte) error {
	root, by, err := v.decrypt(RootID, encrypted)
	if err != nil {
		return err
	}
	v.use(root, by)
	return nil
}

// NewRoot returns a root for a database that has none, encrypted under the newest master
// key.
func (v *Vault) NewRoot() []byte {
	root := make([]byte, KeySize)
	_, _ = rand.Read(root) // never fails
	newest := v.masters[len(v.masters)-1]
	return newest.encrypt(RootID, root)
}

// Pass returns the root, encrypted under the newest master key. Once it has replaced the previous one and
// Unlock has read it, new texts are encrypted under that key.
func (v *Vault) Pass() []byte {
	u, newest := v.unlocked.Load(), v.masters[len(v.masters)-1]
	return newest.encrypt(RootID, u.root)
}

// Current names the master key that encrypts new texts.
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

// MAC is the HMAC-SHA-256 of a text under the key of a use. The vault keeps each use's state, because a payment needs several: name uses by
// constants.
func (v *Vault) MAC(use, text string) (sum [sha256.Size]byte) {
	u := v.unlocked.Load()
	pool, ok := u.macs.Load(use)
	if !ok {
		key := derive(u.root, use)
		pool, _ = u.macs.LoadOrStore(use, &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }})
	}
	states := pool.(*sync.Pool)
	mac := states.Get().(hash.Hash)
	defer states.Put(mac)
	mac.Reset()
	mac.Write([]byte(text))
	mac.Sum(sum[:0])
	return sum
}

func derive(secret []byte, use string) []byte {
	key, err := hkdf.Expand(sha256.New, secret, "cascada/"+use, KeySize)
	if err != nil {
		panic("vault: " + err.Error()) // only for lengths far above ours
	}
	return key
}

// Encrypt encrypts (AES-256-GCM). The text is bound to its subject, such as a row's id: at
// another place it cannot be decrypted.
func (v *Vault) Encrypt(about string, plain []byte) []byte {
	u := v.unlocked.Load()
	return u.current.encrypt(about, plain)
}

func (m *master) encrypt(about string, plain []byte) []byte {
	return m.aead.Seal(bytes.Clone(m.mark), nil, plain, []byte(about))
}

// Decrypt decrypts a text of Encrypt, or fails with ErrEncrypted.
func (v *Vault) Decrypt(about string, encrypted []byte) ([]byte, error) {
	plain, _, err := v.decrypt(about, encrypted)
	return plain, err
}

func (v *Vault) decrypt(about string, encrypted []byte) (plain []byte, by *master, err error) {
	for _, m := range v.masters {
		if text, marked := bytes.CutPrefix(encrypted, m.mark); marked {
			if plain, err := m.aead.Open(nil, nil, text, []byte(about)); err == nil {
				return plain, m, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("%w: %s", ErrEncrypted, about)
}

// Reencrypt encrypts a text again under the current master key; changed is false if that key already encrypts
// it.
//
// Errors: ErrEncrypted.
func (v *Vault) Reencrypt(about string, encrypted []byte) (fresh []byte, changed bool, err error) {
	plain, by, err := v.decrypt(about, encrypted)
	if err != nil || by == v.unlocked.Load().current {
		return encrypted, false, err
	}
	return v.Encrypt(about, plain), true, nil
}

// EncryptedBy names the master key that encrypts a text, "" if it is none of this vault's.
func (v *Vault) EncryptedBy(about string, encrypted []byte) string {
	_, by, err := v.decrypt(about, encrypted)
	if err != nil {
		return ""
	}
	return by.fingerprint
}

// EncryptData encrypts (AES-256-GCM) data that a rotation of the master key need not encrypt
// again. The data is bound to its subject, such as a row's id and column. Each subject has
// its own key, so the total amount does not matter: with so few nonces per key, none
// repeats by chance.
func (v *Vault) EncryptData(about string, plain []byte) []byte {
	return v.unlocked.Load().dataOf(about).Seal(nil, nil, plain, []byte(about))
}

// DecryptData decrypts data of EncryptData, or fails with ErrEncrypted.
func (v *Vault) DecryptData(about string, encrypted []byte) ([]byte, error) {
	plain, err := v.unlocked.Load().dataOf(about).Open(nil, nil, encrypted, []byte(about))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrEncrypted, about)
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

// Hash is the keyed hash by which a secret is recognized: HMAC-SHA-256, in hex. A secret
// has 256 random bits, so a slow hash is not needed.
func (v *Vault) Hash(secret string) string {
	sum := v.MAC("hash", secret)
	return hex.EncodeToString(sum[:])
}
