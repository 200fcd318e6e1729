package vault_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cascadapay/cascada/internal/vault"
)

func open(t *testing.T, seed byte) *vault.Vault {
	t.Helper()
	v, err := vault.New(bytes.Repeat([]byte{seed}, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSealedOpensOnlyWithItsKeyAndUse(t *testing.T) {
	v := open(t, 1)
	sealed := v.Encrypt("wh_1", []byte("secret"))
	if plain, err := v.Decrypt("wh_1", sealed); err != nil || string(plain) != "secret" {
		t.Errorf("Open() = %q, %v", plain, err)
	}
	if bytes.Equal(sealed, v.Encrypt("wh_1", []byte("secret"))) {
		t.Error("the same text sealed twice looks the same")
	}
	broken := bytes.Clone(sealed)
	broken[len(broken)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another use":    func() ([]byte, error) { return v.Decrypt("wh_2", sealed) },
		"another master": func() ([]byte, error) { return open(t, 2).Decrypt("wh_1", sealed) },
		"a flipped bit":  func() ([]byte, error) { return v.Decrypt("wh_1", broken) },
		"nothing":        func() ([]byte, error) { return v.Decrypt("wh_1", nil) },
	} {
		if _, err := open(); !errors.Is(err, vault.ErrEncrypted) {
			t.Errorf("%s: %v, want ErrEncrypted", name, err)
		}
	}
}

func TestDataOpensOnlyWithItsRootAndUse(t *testing.T) {
	v := open(t, 1)
	sealed := v.EncryptData("receipts.body 1", []byte("Ana"))
	if plain, err := v.DecryptData("receipts.body 1", sealed); err != nil || string(plain) != "Ana" {
		t.Errorf("DecryptData() = %q, %v", plain, err)
	}
	if bytes.Equal(sealed, v.EncryptData("receipts.body 1", []byte("Ana"))) || bytes.Contains(sealed, []byte("Ana")) {
		t.Error("the same data sealed twice looks the same, or as it was")
	}
	broken := bytes.Clone(sealed)
	broken[0] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another row":   func() ([]byte, error) { return v.DecryptData("receipts.body 2", sealed) },
		"another root":  func() ([]byte, error) { return open(t, 2).DecryptData("receipts.body 1", sealed) },
		"a secret":      func() ([]byte, error) { return v.DecryptData("wh_1", v.Encrypt("wh_1", []byte("Ana"))) },
		"as a secret":   func() ([]byte, error) { return v.Decrypt("receipts.body 1", sealed) },
		"a flipped bit": func() ([]byte, error) { return v.DecryptData("receipts.body 1", broken) },
		"nothing":       func() ([]byte, error) { return v.DecryptData("receipts.body 1", nil) },
	} {
		if plain, err := open(); !errors.Is(err, vault.ErrEncrypted) || plain != nil {
			t.Errorf("%s: %q, %v, want ErrEncrypted", name, plain, err)
		}
	}
}

func BenchmarkSealData(b *testing.B) {
	v, err := vault.New(bytes.Repeat([]byte{1}, vault.KeySize))
	if err != nil {
		b.Fatal(err)
	}
	body := bytes.Repeat([]byte("x"), 1024)
	b.ReportAllocs()
	for b.Loop() {
		v.EncryptData("receipts.body sandbox-1/n1", body)
	}
}

func TestHashDependsOnTheMasterKey(t *testing.T) {
	if a, b := open(t, 1).Hash("sk_test_x"), open(t, 2).Hash("sk_test_x"); a == b || a == open(t, 1).Hash("sk_test_y") {
		t.Error("keyed hashes do not tell keys or secrets apart")
	}
}

func TestMasterKeyOfAnotherLengthIsRefused(t *testing.T) {
	if _, err := vault.New(make([]byte, 16)); err == nil {
		t.Error("a master key of 16 bytes was accepted")
	}
}
