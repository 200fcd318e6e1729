package vault_test

import (
	"bytes"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/vault"
)

// An encrypted text costs no more than its size.
func TestTextsCostNoMoreThanTheirSize(t *testing.T) {
	v, err := vault.New(bytes.Repeat([]byte{1}, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	good := string(v.Encrypt("wh_1", []byte("a secret")))
	growth.Of(t, "a text", 256<<10, growth.Repeated(good, "x", ""), func(text string) int {
		plain, _ := v.Decrypt("wh_1", []byte(text))
		return len(plain)
	})
}
