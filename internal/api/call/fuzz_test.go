package call

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// An amount that is taken is exactly the number that the caller wrote, above zero and within
// what one payment may be.
func FuzzAmount(f *testing.F) {
	for _, text := range []string{"25.5", "25.50", "100000", "100000.01", "0", "-1", "0.001", "1e2", "1E+5", "1e-2", "1e400", `"25"`, "null", "", "true", "{}", "007", "99999999999999999999", "0.10000000000000000001", "25.500000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a Amount
		if json.Unmarshal([]byte(text), &a) != nil {
			return // it never gets here
		}
		usd, err := a.In("amount", money.USD)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(string(a))
		if !ok || exact.Cmp(big.NewRat(usd.Minor, 100)) != 0 {
			t.Fatalf("%q is taken, as %v", text, usd)
		}
		if usd.Minor < 1 || usd.Minor > accounts.MaxAmount {
			t.Errorf("%q is taken: %v", text, usd)
		}
	})
}
