package destination_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/pay/destination"
)

// A wallet costs no more than its size.
func TestDestinationsCostNoMoreThanTheirSize(t *testing.T) {
	for _, text := range []string{"1", "a", " ", "-", "a@", "\u00e9", "|"} {
		for _, network := range destination.Networks() {
			growth.Of(t, string(network)+" of "+text, 32<<10, growth.Repeated("", text, ""), func(account string) (told int) {
				for _, kind := range []string{"bank", "crypto", account} {
					_, problems := destination.Parse(kind, string(network), "BRL", account)
					for _, p := range problems {
						told += len(p.Message)
					}
				}
				return told
			})
		}
	}
}
