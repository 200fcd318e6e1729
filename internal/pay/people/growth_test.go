package people

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// What users type about themselves costs no more than its size.
func TestTextsOfUsersCostNoMoreThanTheirSize(t *testing.T) {
	for _, text := range []string{"a", "@", "a@b.", ".", " ", "\u202e", "\u00e9", "\"", "<", ","} {
		growth.Of(t, "texts of "+text, 64<<10, growth.Repeated("", text, ""), func(text string) (told int) {
			for _, read := range []func(string) error{
				func(s string) error { _, err := ParseEmail(s); return err }, func(s string) error { _, err := ParseName(s); return err },
				func(s string) error { _, err := ParsePasskeyName(s); return err }, func(s string) error { return CheckPassword(s, s, s) },
			} {
				if err := read(text); err != nil {
					told += len(err.Error())
				}
			}
			return told
		})
	}
}
