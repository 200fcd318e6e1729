package money

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A number costs no more than its size.
func TestNumbersCostNoMoreThanTheirSize(t *testing.T) {
	for _, text := range []string{"1", "0", ".", "1e9", "-", "9,", " ", "%", "1+"} {
		growth.Of(t, "numbers of "+text, 64<<10, growth.Repeated("1", text, ""), func(text string) (told int) {
			for _, read := range []func(string) error{
				func(s string) error { _, err := Parse(s, BRL); return err }, func(s string) error { _, err := ParseRate(s); return err },
				func(s string) error { _, err := ParseFee(s); return err }, func(s string) error { _, err := ParseCurrency(s); return err },
			} {
				if err := read(text); err != nil {
					told += len(err.Error())
				}
			}
			return told
		})
	}
}
