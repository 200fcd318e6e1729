package id_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/id"
)

func TestIDsSortByTime(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := range 2000 {
		now := start.Add(time.Duration(i) * time.Millisecond)
		a, b := id.New("TXN-", now), id.New("TXN-", now.Add(time.Millisecond))
		if a >= b || len(a) != 30 {
			t.Fatalf("%s of %s does not come before %s", a, now, b)
		}
		if first := id.From("TXN-", now); first > a || id.From("TXN-", now.Add(time.Millisecond)) <= a {
			t.Fatalf("%s is not within its millisecond, from %s", a, first)
		}
	}
}

func TestMakersIDsSortWithinAMillisecond(t *testing.T) {
	var m id.Maker
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	last := ""
	for i := range 2000 {
		next := m.New("TXN-", now)
		if next <= last || len(next) != 30 || !strings.HasPrefix(next, id.From("TXN-", now)[:14]) {
			t.Fatalf("id %d, %s, does not come after %s", i, next, last)
		}
		last = next
	}
	for i := range 200_000 { // more than a millisecond has space for
		next := m.New("TXN-", now)
		if next <= last {
			t.Fatalf("id %d, %s, does not come after %s", i, next, last)
		}
		last = next
	}
	if next := m.New("TXN-", now.Add(time.Millisecond)); next <= last {
		t.Errorf("%s of the next millisecond does not come after %s", next, last)
	}
	if earlier := m.New("TXN-", now.Add(-time.Second)); earlier >= last {
		t.Errorf("%s is of an earlier time than %s", earlier, last)
	}
}

// Whoever has an id of a busy millisecond must not be able to guess the next one.
func TestMakersIDsAreFarApartWithinAMillisecond(t *testing.T) {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	number := func(id string) *big.Int {
		n := new(big.Int)
		for _, c := range id[len(id)-26:] {
			n.Lsh(n, 5)
			n.Or(n, big.NewInt(int64(strings.IndexRune(alphabet, c))))
		}
		return n
	}
	var m id.Maker
	now, near := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 0
	last := number(m.New("req_", now))
	for range 2000 {
		next := number(m.New("TXN-", now))
		if new(big.Int).Sub(next, last).BitLen() <= 40 {
			near++
		}
		last = next
	}
	if near > 0 {
		t.Errorf("%d of 2000 ids are within 2^40 of the one before", near)
	}
}

func TestSecretsDiffer(t *testing.T) {
	a, b := id.Secret("sk_test_"), id.Secret("sk_test_")
	if a == b || !strings.HasPrefix(a, "sk_test_") || len(a) != 8+43 {
		t.Errorf("secrets %q and %q", a, b)
	}
}
