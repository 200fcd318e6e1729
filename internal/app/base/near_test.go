package base_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
)

// A repeated request may be converted at another rate, and so have another amount. Without a rate its
// amount must be equal.
func TestAmountsOfTwoMomentsAreNear(t *testing.T) {
	for _, c := range []struct {
		a, b money.Amount
		want bool
	}{
		{money.New(5400, money.BRL), money.New(5500, money.BRL), true},
		{money.New(5400, money.BRL), money.New(7000, money.BRL), false},
		{money.New(5400, money.BRL), money.New(5400, money.MXN), false},
		{money.New(1000, money.USD), money.New(1000, money.USD), true},
		{money.New(1000, money.USD), money.New(1100, money.USD), false},
	} {
		if got := base.Nearly(c.a, c.b); got != c.want {
			t.Errorf("%s and %s are near: %t", c.a, c.b, got)
		}
	}
}
