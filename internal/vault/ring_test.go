package vault_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/vault"
)

func ring(t *testing.T, root []byte, seeds ...byte) *vault.Vault {
	t.Helper()
	var keys [][]byte
	for _, seed := range seeds {
		keys = append(keys, bytes.Repeat([]byte{seed}, vault.KeySize))
	}
	v, err := vault.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	if root != nil {
		if err := v.Unlock(root); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// A master key goes through its life: it takes over from another one, everything is sealed again,
// and the other one is not needed any more. Hashes and derived keys stay what they are.
func TestAMasterKeyTakesOver(t *testing.T) {
	root := ring(t, nil, 1).NewRoot()
	before := ring(t, root, 1)
	sealed := before.Encrypt("wh_1", []byte("secret"))
	hash, derived := before.Hash("sk_test_x"), before.Key("blocks")
	data := before.EncryptData("receipts.body 1", []byte("Ana"))

	both := ring(t, root, 1, 2)
	if both.Current() != before.Current() || both.Newest() == both.Current() || len(both.Keys()) != 2 {
		t.Fatalf("a key that was added seals already: %s of %v", both.Current(), both.Keys())
	}
	if _, changed, err := both.Reencrypt("wh_1", sealed); changed || err != nil {
		t.Errorf("sealed again under the same key: %v, %v", changed, err)
	}
	passed := both.Pass()
	if err := both.Unlock(passed); err != nil {
		t.Fatal(err)
	}
	if both.Current() != both.Newest() || both.EncryptedBy("wh_1", sealed) != before.Current() {
		t.Errorf("%s seals, want %s; the text is of %s", both.Current(), both.Newest(), both.EncryptedBy("wh_1", sealed))
	}
	fresh, changed, err := both.Reencrypt("wh_1", sealed)
	if !changed || err != nil {
		t.Fatalf("not sealed again: %v, %v", changed, err)
	}
	if _, changed, _ := both.Reencrypt("wh_1", fresh); changed {
		t.Error("sealed again twice")
	}

	after := ring(t, passed, 2)
	for what, text := range map[string][]byte{"the text that was sealed again": fresh, "a new text": both.Encrypt("wh_1", []byte("secret"))} {
		if plain, err := after.Decrypt("wh_1", text); err != nil || string(plain) != "secret" {
			t.Errorf("%s: %q, %v", what, plain, err)
		}
		if _, err := before.Decrypt("wh_1", text); !errors.Is(err, vault.ErrEncrypted) {
			t.Errorf("%s opens under the key of before: %v", what, err)
		}
		if _, err := after.Decrypt("wh_2", text); !errors.Is(err, vault.ErrEncrypted) {
			t.Errorf("%s opens about something else: %v", what, err)
		}
	}
	if _, err := after.Decrypt("wh_1", sealed); !errors.Is(err, vault.ErrEncrypted) || after.EncryptedBy("wh_1", sealed) != "" {
		t.Errorf("the old text opens without its key: %v", err)
	}
	if after.Hash("sk_test_x") != hash || !bytes.Equal(after.Key("blocks"), derived) {
		t.Error("hashes and derived keys changed with the master key")
	}
	if plain, err := after.DecryptData("receipts.body 1", data); err != nil || string(plain) != "Ana" {
		t.Errorf("data from before the rotation: %q, %v", plain, err)
	}
	if err := ring(t, nil, 1).Unlock(passed); !errors.Is(err, vault.ErrEncrypted) {
		t.Errorf("the key of before opens the root: %v", err)
	}
}

func TestTheSameKeyTwiceIsOne(t *testing.T) {
	if keys := ring(t, nil, 1, 2, 1).Keys(); len(keys) != 2 || slices.Contains(keys, "") {
		t.Errorf("%v, want two keys", keys)
	}
	if _, err := vault.New(); err == nil {
		t.Error("a vault without a key was made")
	}
}
