package providertest

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/provider"
)

// amounts charges each amount and compares it with the upstream's books.
func (s Suite) amounts(t *testing.T) {
	for rail, list := range s.Amounts {
		for _, amount := range list {
			t.Run(rail+" "+amount.String(), func(t *testing.T) {
				b := s.connect(t)
				b.Next(Open)
				r := s.request(rail, "01M7ZAMOUNT-1")
				r.Local = amount
				o := b.Charge(within(t), r)
				want(t, "the charge", o, pay.Awaiting)
				if e := b.entry(t, r.Reference); e.Local != amount {
					t.Errorf("the upstream got a request for %v, want %v", e.Local, amount)
				}
				r.ProviderRef = o.ProviderRef
				b.Move(r.Reference, Paid)
				if o := b.Query(within(t), r); s.Blind == "" && (o.Kind != pay.Approved || o.Local != amount) {
					t.Errorf("%s of %v, want %v", o.Kind, o.Local, amount)
				}
				if n := b.notice(t, r.Reference); n.Outcome.Local != amount {
					t.Errorf("the notification reports %v, want %v", n.Outcome.Local, amount)
				}
			})
		}
	}
}

// limits charges the least and the most that the catalog allows on a rail: exactly, or not
// at all if the provider does not accept so much.
func (s Suite) limits(t *testing.T, rail string) {
	rails := catalog.Rails()
	at := slices.IndexFunc(rails, func(r accounts.Rail) bool { return r.Key == rail })
	if at < 0 {
		t.Fatalf("the catalog does not have %s", rail)
	}
	limit, ok := rails[at].LimitIn(s.Charges[rail].Local.Currency)
	if !ok {
		t.Fatalf("the catalog has no limit of %s in %s", rail, s.Charges[rail].Local.Currency)
	}
	for _, minor := range []int64{limit.Min, limit.Max} {
		b := s.connect(t)
		b.Next(Open)
		r := s.request(rail, "01M7ZLIMIT-1")
		r.Local.Minor = minor
		o := b.Charge(within(t), r)
		s.checkAmount(t, b, r, o)
		if s.Beyond[rail] != "" && o.Kind == pay.Errored && !b.has(r.Reference) {
			continue
		}
		want(t, "a charge of "+r.Local.String(), o, pay.Awaiting)
		if e := b.entry(t, r.Reference); e.Local != r.Local {
			t.Errorf("the upstream got a request for %v, want %v", e.Local, r.Local)
		}
	}
}

// cents charges an amount with cents. Shoppers are offered it if, and only if, the adapter
// accepts it.
func (s Suite) cents(t *testing.T, rail string) {
	b := s.connect(t)
	b.Next(Open)
	r := s.request(rail, "01M7ZCENTS-1")
	if r.Local.Currency.Exponent() == 0 {
		return
	}
	r.Local.Minor = r.Local.Minor/100*100 + 1
	o := b.Charge(within(t), r)
	s.checkAmount(t, b, r, o)
	if o.Kind != pay.Awaiting && o.Kind != pay.Errored {
		t.Errorf("a charge of %s is %s", r.Local, o.Kind)
	}
}

// checkAmount fails the test unless the adapter's answer about an amount agrees with the charge
// of it.
func (s Suite) checkAmount(t *testing.T, b *bench, r provider.Request, o pay.Outcome) {
	t.Helper()
	if _, decides := b.Provider.(provider.Accepter); !decides {
		t.Fatal("the adapter accepts or refuses no amount: see provider.Taker")
	}
	if says, took := provider.Accepts(b.Provider, r.Rail, r.Local), o.Kind != pay.Errored || b.has(r.Reference); says != took {
		t.Errorf("for %s over %s Takes is %t; the charge is %s (%s)", r.Local, r.Rail, says, o.Kind, o.Decline)
	}
}
