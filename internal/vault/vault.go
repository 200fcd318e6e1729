// Package vault keeps secrets: it encrypts what must be read again and hashes
// what must only be recognised, under one master key.
//
// It knows neither the database nor where the master key comes from.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeySize is the length of a master key in bytes.
const KeySize = 32

// ErrSealed says that a sealed text was not made under this key for this use.
var ErrSealed = errors.New("vault: cannot be opened with this master key")

// Vault holds a master key. It is safe for use by many goroutines.
type Vault struct {
	master []byte
	aead   cipher.AEAD
	pepper []byte
}

// New returns a vault under a master key of KeySize bytes.
func New(master []byte) (*Vault, error) {
	if len(master) != KeySize {
		return nil, fmt.Errorf("vault: the master key has %d bytes, want %d", len(master), KeySize)
	}
	v := &Vault{master: master}
	block, err := aes.NewCipher(v.Key("seal"))
	if err != nil {
		return nil, err
	}
	if v.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, err
	}
	v.pepper = v.Key("hash")
	return v, nil
}

// Key derives a key of 32 bytes for one use.
func (v *Vault) Key(use string) []byte {
	key, err := hkdf.Expand(sha256.New, v.master, "cascada/"+use, KeySize)
	if err != nil {
		panic("vault: " + err.Error()) // only for lengths far above ours
	}
	return key
}

// Seal encrypts (AES-256-GCM). What it is about, such as a row's id, is bound
// to it: moved elsewhere, it does not open.
func (v *Vault) Seal(about string, plain []byte) []byte {
	return v.aead.Seal(nil, nil, plain, []byte(about))
}

// Open decrypts what Seal made, or fails with ErrSealed.
func (v *Vault) Open(about string, sealed []byte) ([]byte, error) {
	plain, err := v.aead.Open(nil, nil, sealed, []byte(about))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrSealed, about)
	}
	return plain, nil
}

// Hash is the keyed hash by which a secret is recognised: HMAC-SHA-256, in
// hex. A secret has 256 bits of chance, so nothing slower is called for.
func (v *Vault) Hash(secret string) string {
	mac := hmac.New(sha256.New, v.pepper)
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil))
}
