package providertest

import (
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
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
					t.Errorf("the upstream was asked for %v, want %v", e.Local, amount)
				}
				r.ProviderRef = o.ProviderRef
				b.Move(r.Reference, Paid)
				if o := b.Query(within(t), r); s.Blind == "" && (o.Kind != pay.Approved || o.Local != amount) {
					t.Errorf("%s of %v, want %v", o.Kind, o.Local, amount)
				}
				if n := b.notice(t, r.Reference); n.Outcome.Local != amount {
					t.Errorf("the notification tells of %v, want %v", n.Outcome.Local, amount)
				}
			})
		}
	}
}
