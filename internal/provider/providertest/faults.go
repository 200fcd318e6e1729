package providertest

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
)

// proven are the outcomes that mean that there was no charge.
var proven = []pay.OutcomeKind{pay.Declined, pay.Unavailable, pay.Errored, pay.Missing}

func faults() []Fault {
	return []Fault{RateLimited, ServerError, BrokenAfter, GatewayAfter, TimeoutBefore, TimeoutAfter, Malformed, Truncated, HTML, Empty}
}

// chargeFaults breaks the line in every way during a charge: a charge that was made is
// never reported as not made, and a query finds it.
func (s Suite) chargeFaults(t *testing.T, rail string) {
	for _, f := range faults() {
		t.Run(string(f), func(t *testing.T) {
			b := s.connect(t)
			b.Next(Open)
			r := s.request(rail, "01M7ZFAULT-1")
			b.line.Spare(s.Looks)
			b.line.Fail(f)
			o := b.Charge(brief(t), r)
			if !f.done() {
				want(t, "the charge", o, pay.Unknown, pay.Unavailable, pay.Errored)
			} else {
				want(t, "the charge", o, pay.Unknown)
			}
			if f == RateLimited {
				want(t, "the charge", o, pay.Unavailable)
			}
			if b.has(r.Reference) != f.done() {
				t.Fatalf("the upstream has %v", b.Books())
			}
			if slices.Contains(proven, o.Kind) && b.has(r.Reference) {
				t.Errorf("%s says that nobody was charged, but the upstream has the charge", o.Kind)
			}
			b.line.Fail(NoFault)
			kind := pay.Missing
			if f.done() || s.Blind != "" {
				kind = pay.Awaiting
			}
			want(t, "the question", b.Query(within(t), r), kind)
			// The same charge again makes no second one.
			want(t, "the charge again", b.Charge(within(t), r), pay.Awaiting)
			b.entry(t, r.Reference)
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		b := s.connect(t)
		b.line.Close()
		want(t, "the charge", b.Charge(within(t), s.request(rail, "01M7ZNOBODY-1")), pay.Unavailable)
		want(t, "the question", b.Query(within(t), s.request(rail, "01M7ZNOBODY-1")), pay.Unknown)
	})
}

// queryFaults breaks the line during a query: that proves nothing.
func (s Suite) queryFaults(t *testing.T, rail string) {
	for _, f := range faults() {
		t.Run(string(f), func(t *testing.T) {
			b := s.connect(t)
			b.Next(Open)
			r := s.request(rail, "01M7ZASK-1")
			r.ProviderRef = b.Charge(within(t), r).ProviderRef
			b.line.Fail(f)
			want(t, "the question", b.Query(brief(t), r), pay.Unknown)
			r.ProviderRef = ""
			want(t, "the question under our reference", b.Query(brief(t), r), pay.Unknown)
		})
	}
}
