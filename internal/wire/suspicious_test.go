package wire

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/printable"
)

// However a character stands among others, the quick look finds what the slow one does.
func TestQuickLookMissesNothing(t *testing.T) {
	for _, c := range []string{"", "\\", "\x7f", "\u202e", "\u0085", "\u200b", "é", "ç", "漢", "😀", "\u2066", "\ufeff"} {
		for before := range 20 {
			for after := range 20 {
				body := strings.Repeat("a", before) + c + strings.Repeat("z", after)
				want := strings.ContainsFunc(body, func(r rune) bool { return r == '\\' || r == 0x7f || r > '~' && printable.Unprintable(r) })
				if got := suspicious([]byte(body)); got != want {
					t.Fatalf("%q is suspicious: %t, want %t", body, got, want)
				}
			}
		}
	}
}
