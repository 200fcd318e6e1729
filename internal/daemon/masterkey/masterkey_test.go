package masterkey

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/vault"
)

// Master keys have the right length and are read back as they were written. The error about a text without
// keys shows no part of it.
func FuzzMasterKeys(f *testing.F) {
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, vault.KeySize))
	for _, text := range []string{
		key, key + "\n", key + "," + key, " " + key + " \r\n\t" + strings.Repeat("A", 43) + "=", key[:43], key + "=", key[:20] + "\n" + key[20:],
		strings.ReplaceAll(key, "B", "-"), "", ",,,", "\u2003" + key + "\u0085", "\xff" + key, base64.StdEncoding.EncodeToString(make([]byte, 16)),
	} {
		f.Add(text)
	}
	_, none := Parse("", "where")
	_, other := Parse("x", "where")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := Parse(text, "where")
		if err != nil {
			if len(keys) != 0 || err.Error() != none.Error() && err.Error() != other.Error() {
				t.Fatalf("%d keys of %q, %v", len(keys), text, err)
			}
			return
		}
		var file strings.Builder
		for _, key := range keys {
			if len(key) != vault.KeySize {
				t.Fatalf("%q has a key of %d bytes", text, len(key))
			}
			file.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
		}
		again, err := Parse(file.String(), "where")
		if err != nil || !slices.EqualFunc(again, keys, bytes.Equal) {
			t.Errorf("%q is read back as %x (%v), not %x", text, again, err, keys)
		}
		if _, err := vault.New(keys...); err != nil || len(keys) == 0 {
			t.Errorf("%q has invalid keys: %v", text, err)
		}
	})
}
