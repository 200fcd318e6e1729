package base_test

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/vault"
)

// Who guesses an Idempotency-Key must not know a payment's id by it, so two services make different ids of the same
// request. The same service makes the same one again after a restart, a restored copy and a new master key.
func TestMarksNeedTheRoot(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	master := func(n byte) []byte { return bytes.Repeat([]byte{n}, vault.KeySize) }
	made := func(root []byte, keys ...[]byte) (string, *vault.Vault) {
		v, err := vault.New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		if root == nil {
			root = v.NewRoot()
		}
		if err := v.Unlock(root); err != nil {
			t.Fatal(err)
		}
		b := base.New(base.Config{Vault: v, NewID: id.New})
		i := base.Idempotency{Route: "POST /payments", Key: "order-1"}
		return b.MarkedID("TXN-", now, i.Mark(v, merchants.Scope{Merchant: "mer_1", Shop: "shp_1"})), v
	}
	v, err := vault.New(master(1))
	if err != nil {
		t.Fatal(err)
	}
	root := v.NewRoot()
	first, _ := made(root, master(1))
	if other, _ := made(nil, master(1)); other == first {
		t.Errorf("two services made %s of the same request", first)
	}
	if again, _ := made(root, master(1)); again != first {
		t.Errorf("after a restart the request made %s, want %s", again, first)
	}
	_, both := made(root, master(1), master(2))
	if rotated, _ := made(both.Pass(), master(2)); rotated != first {
		t.Errorf("under a new master key the request made %s, want %s", rotated, first)
	}
	if old := id.Marked(first, id.Mark(sha256.Sum256([]byte("sandbox|shp_1|POST /payments|order-1")))); old == first {
		t.Errorf("the id %s is a hash of the request, which anybody can compute", first)
	}
}
