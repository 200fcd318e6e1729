package near

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A guess costs no more than the name, however long it is.
func TestGuessesCostNoMoreThanTheName(t *testing.T) {
	known := []string{"paymentMethodId", "customer", "amount", "currency"}
	growth.Of(t, "a name", 64<<10, growth.Repeated("", "payment", ""), func(name string) int { return len(Meant(name, known)) })
}
