package providertest

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

func refund(charge provider.Request, reference string, minor int64) provider.RefundRequest {
	return provider.RefundRequest{
		Reference: reference, Charge: charge, Local: money.New(minor, charge.Local.Currency), Reason: "requested_by_customer",
	}
}

// paid makes a charge that the shopper has paid.
func (b *bench) paid(t *testing.T, rail, reference string) provider.Request {
	t.Helper()
	b.Next(Open)
	r := b.suite.request(rail, reference)
	r.ProviderRef = b.Charge(within(t), r).ProviderRef
	b.Move(reference, Paid)
	if b.suite.Blind != "" {
		r.ProviderRef = b.notice(t, reference).Outcome.ProviderRef
	}
	return r
}

// refund gives money back in parts and in full.
func (s Suite) refund(t *testing.T, rail string) {
	if s.Unrefundable[rail] != "" {
		b := s.connect(t)
		r := b.paid(t, rail, "01M7ZREFUND-1")
		want(t, "a refund", b.Refund(within(t), refund(r, "CLM1", r.Local.Minor)), pay.Declined)
		return
	}
	accepted := []pay.OutcomeKind{pay.Approved}
	if s.RefundsLater {
		accepted = []pay.OutcomeKind{pay.Awaiting}
	}
	t.Run("in parts", func(t *testing.T) {
		b := s.connect(t)
		r := b.paid(t, rail, "01M7ZPARTS-1")
		part := r.Local.Minor / 3
		first, rest := refund(r, "CLM1", part), refund(r, "CLM2", r.Local.Minor-part)
		o := b.Refund(within(t), first)
		want(t, "a part", o, accepted...)
		first.RefundRef = o.ProviderRef
		want(t, "the same again", b.Refund(within(t), refund(r, "CLM1", part)), pay.Approved, pay.Awaiting)
		want(t, "the rest", b.Refund(within(t), rest), accepted...)
		if got := b.entry(t, r.Reference).Refunds; len(got) != 2 || got[0].Local.Minor != part || got[1].Local.Minor != r.Local.Minor-part {
			t.Errorf("the upstream gave back %v", got)
		}
		want(t, "a question under theirs", b.QueryRefund(within(t), first), pay.Approved, pay.Awaiting)
		if s.Nameless != "" {
			want(t, "a question under ours", b.QueryRefund(within(t), rest), pay.Unknown)
			want(t, "a question about what may be", b.QueryRefund(within(t), refund(r, "CLM9", part)), pay.Unknown)
			want(t, "a question about what never was", b.QueryRefund(within(t), refund(r, "CLM9", 1)), pay.Missing)
			return
		}
		want(t, "a question under ours", b.QueryRefund(within(t), rest), pay.Approved, pay.Awaiting)
		if s.Blind == "" {
			want(t, "a question about what never was", b.QueryRefund(within(t), refund(r, "CLM9", part)), pay.Missing)
		}
	})
	if s.Blind != "" { // a refusal is told later
		return
	}
	t.Run("refused", func(t *testing.T) {
		b := s.connect(t)
		r := b.paid(t, rail, "01M7ZREFUSED-1")
		b.RefuseRefunds()
		want(t, "a refund", b.Refund(within(t), refund(r, "CLM1", r.Local.Minor)), pay.Declined)
		if got := b.entry(t, r.Reference).Refunds; len(got) != 0 {
			t.Errorf("the upstream gave back %v", got)
		}
	})
}

// refundFaults lets the line break while money is given back.
func (s Suite) refundFaults(t *testing.T, rail string) {
	if s.Unrefundable[rail] != "" {
		return
	}
	for _, f := range faults() {
		t.Run("a question, "+string(f), func(t *testing.T) {
			b := s.connect(t)
			q := refund(b.paid(t, rail, "01M7ZBACK-1"), "CLM1", 100)
			b.Refund(within(t), q)
			b.line.Fail(f)
			want(t, "the question", b.QueryRefund(brief(t), q), pay.Unknown)
		})
		t.Run(string(f), func(t *testing.T) {
			b := s.connect(t)
			r := b.paid(t, rail, "01M7ZBACK-1")
			q := refund(r, "CLM1", r.Local.Minor)
			b.line.Fail(f)
			o := b.Refund(brief(t), q)
			done := len(b.entry(t, r.Reference).Refunds) > 0
			if done && o.Kind != pay.Unknown || !done && !slices.Contains([]pay.OutcomeKind{pay.Unknown, pay.Unavailable, pay.Errored}, o.Kind) {
				t.Errorf("the outcome is %s; given back: %t", o.Kind, done)
			}
			b.line.Fail(NoFault)
			if done || s.Blind != "" {
				want(t, "the question", b.QueryRefund(within(t), q), pay.Approved, pay.Awaiting)
			} else {
				want(t, "the question", b.QueryRefund(within(t), q), pay.Missing)
			}
			want(t, "the refund again", b.Refund(within(t), q), pay.Approved, pay.Awaiting)
			if got := b.entry(t, r.Reference).Refunds; len(got) != 1 {
				t.Errorf("the upstream gave back %v", got)
			}
		})
	}
}
