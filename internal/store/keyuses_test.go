package store_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// The addresses of a key are read with the last used one first, and no other key's.
func TestUsesOfAKeyAreReadLastFirst(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		use := func(key, address string, last time.Time) merchants.KeyUse {
			return merchants.KeyUse{Key: key, Address: address, Version: 1, First: noon, Last: last}
		}
		must(t, s.Commit(ctx, pay.Change{KeyUses: []merchants.KeyUse{
			use("key_1", "192.0.2.1", noon), use("key_1", "192.0.2.2", noon.Add(2*time.Hour)), use("key_1", "192.0.2.3", noon.Add(time.Hour)), use("key_10", "192.0.2.4", noon),
		}}))
		for limit, want := range map[int]string{0: "", 2: "192.0.2.2 192.0.2.3 ", 9: "192.0.2.2 192.0.2.3 192.0.2.1 "} {
			list, err := s.Keys().UsesOf(ctx, "key_1", limit)
			must(t, err)
			got := ""
			for _, u := range list {
				got += u.Address + " "
			}
			if got != want {
				t.Errorf("the first %d are %q, want %q", limit, got, want)
			}
		}
	})
}
