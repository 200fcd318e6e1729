package vault_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cascadapay/cascada/internal/vault"
)

// What opens was sealed: under a key of the vault, for the same use, and not a bit of it has
// changed since.
func FuzzOpen(f *testing.F) {
	keys := [][]byte{bytes.Repeat([]byte{1}, vault.KeySize), bytes.Repeat([]byte{2}, vault.KeySize)}
	v, err := vault.New(keys...)
	if err != nil {
		f.Fatal(err)
	}
	stranger, err := vault.New(bytes.Repeat([]byte{3}, vault.KeySize))
	if err != nil {
		f.Fatal(err)
	}
	const about, secret = "wh_1", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	marked, err := vault.New(keys[1], keys[0])
	if err != nil {
		f.Fatal(err)
	}
	if err := marked.Unlock(v.Pass()); err != nil { // which seals under the second key, with its mark
		f.Fatal(err)
	}
	for _, sealed := range [][]byte{
		v.Encrypt(about, []byte(secret)), marked.Encrypt(about, []byte(secret)), stranger.Encrypt(about, []byte(secret)), v.NewRoot(), v.Pass(), nil, {1}, {1, 2, 3, 4, 5, 6}, make([]byte, 28),
	} {
		f.Add(about, sealed, 0)
		f.Add(vault.RootID, sealed, 9)
	}
	f.Fuzz(func(t *testing.T, use string, text []byte, at int) {
		// The seeds are all that anybody sealed for it.
		plain, err := v.Decrypt(use, text)
		if err == nil && !(use == about && string(plain) == secret || use == vault.RootID && len(plain) == vault.KeySize) {
			t.Errorf("%x opens for %q, and is %q", text, use, plain)
		}
		if err != nil && (!errors.Is(err, vault.ErrEncrypted) || plain != nil) {
			t.Errorf("%x for %q: %q, %v", text, use, plain, err)
		}
		if (v.EncryptedBy(use, text) == "") != (err != nil) {
			t.Errorf("%x for %q: sealed by %q, %v", text, use, v.EncryptedBy(use, text), err)
		}
		sealed := marked.Encrypt(use, text)
		if opened, err := v.Decrypt(use, sealed); err != nil || !bytes.Equal(opened, text) {
			t.Errorf("%x for %q opens as %x, %v", text, use, opened, err)
		}
		if _, err := v.Decrypt(use+"\x00", sealed); !errors.Is(err, vault.ErrEncrypted) {
			t.Errorf("%x of %q opens for another use: %v", text, use, err)
		}
		if _, err := stranger.Decrypt(use, sealed); !errors.Is(err, vault.ErrEncrypted) {
			t.Errorf("%x of %q opens in another vault: %v", text, use, err)
		}
		sealed[(at%len(sealed)+len(sealed))%len(sealed)] ^= 1 << (uint(at) % 8)
		if opened, err := v.Decrypt(use, sealed); err == nil {
			t.Errorf("%x of %q opens with a bit turned, as %x", text, use, opened)
		}
	})
}
