package providertest

import (
	"net/http"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

func refund(charge provider.Request, reference string, minor int64) provider.RefundRequest {
	return provider.RefundRequest{
		Reference: reference, Charge: charge, Local: money.New(minor, charge.Local.Currency), Reason: "requested_by_customer",
		Sent: charge.Now, Last: charge.Now,
	}
}

// later is a refund when a query of it proves something.
func (s Suite) later(q provider.RefundRequest) provider.RefundRequest {
	q.Charge.Now = q.Charge.Now.Add(s.Settles)
	return q
}

// paid makes a charge that is then paid.
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

// refund refunds in parts and in full.
func (s Suite) refund(t *testing.T, rail string) {
	if says := provider.Refunds(s.connect(t).Provider, rail); says != (s.Unrefundable[rail] == "") {
		t.Errorf("the adapter says %t when asked whether it refunds %s: see provider.Refunder", says, rail)
	}
	if s.Unrefundable[rail] != "" {
		b := s.connect(t)
		r := b.paid(t, rail, "01M7ZREFUND-1")
		want(t, "a refund", b.Refund(within(t), refund(r, "01M7ZCLAIM1-1", r.Local.Minor)), pay.Declined)
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
		first, rest := refund(r, "01M7ZCLAIM1-1", part), refund(r, "01M7ZCLAIM2-1", r.Local.Minor-part)
		o := b.Refund(within(t), first)
		want(t, "a part", o, accepted...)
		first.RefundRef = o.ProviderRef
		again := []pay.OutcomeKind{pay.Approved, pay.Awaiting}
		if s.Nameless != "" { // it may be another one of the same amount
			again = append(again, pay.Unknown)
		}
		want(t, "the same again", b.Refund(within(t), refund(r, "01M7ZCLAIM1-1", part)), again...)
		want(t, "the rest", b.Refund(within(t), rest), accepted...)
		if got := b.entry(t, r.Reference).Refunds; len(got) != 2 || got[0].Local.Minor != part || got[1].Local.Minor != r.Local.Minor-part {
			t.Errorf("the upstream refunded %v", got)
		}
		want(t, "a question under theirs", b.QueryRefund(within(t), first), pay.Approved, pay.Awaiting)
		if s.Nameless != "" {
			want(t, "a question under ours", b.QueryRefund(within(t), rest), pay.Unknown)
			want(t, "a question about what may be", b.QueryRefund(within(t), refund(r, "01M7ZCLAIM9-1", part)), pay.Unknown)
			want(t, "a question about what never was", b.QueryRefund(within(t), s.later(refund(r, "01M7ZCLAIM9-1", 1))), pay.Missing)
			return
		}
		want(t, "a question under ours", b.QueryRefund(within(t), rest), pay.Approved, pay.Awaiting)
		if s.Blind == "" {
			want(t, "a question about what never was", b.QueryRefund(within(t), s.later(refund(r, "01M7ZCLAIM9-1", part))), pay.Missing)
		}
	})
	t.Run("again, its key forgotten", func(t *testing.T) { s.refundForgotten(t, rail) })
	for e, kind := range map[Ending]pay.OutcomeKind{Paid: pay.Approved, Declined: pay.Declined, Nonsense: pay.Unknown} {
		t.Run("told, "+string(e), func(t *testing.T) { s.refundTold(t, rail, e, kind) })
	}
	if s.Blind != "" { // the refusal is reported later
		return
	}
	t.Run("refused", func(t *testing.T) {
		b := s.connect(t)
		r := b.paid(t, rail, "01M7ZREFUSED-1")
		b.RefuseRefunds()
		want(t, "a refund", b.Refund(within(t), refund(r, "01M7ZCLAIM1-1", r.Local.Minor)), pay.Declined)
		if got := b.entry(t, r.Reference).Refunds; len(got) != 0 {
			t.Errorf("the upstream refunded %v", got)
		}
	})
}

// refundForgotten repeats a refund after the provider has forgotten its key: the adapter
// searches first. If refunds have no names, only a full refund can be found.
func (s Suite) refundForgotten(t *testing.T, rail string) {
	if s.KeyAlone != "" {
		return
	}
	b := s.connect(t)
	r := b.paid(t, rail, "01M7ZFORGOTTEN-1")
	q := refund(r, "01M7ZCLAIM1-1", r.Local.Minor/3)
	if s.Nameless != "" {
		q.Local = r.Local
	}
	first := b.Refund(within(t), q)
	b.Forget()
	again := b.Refund(within(t), q)
	want(t, "the same again", again, pay.Approved, pay.Awaiting)
	if got := b.entry(t, r.Reference).Refunds; len(got) != 1 || again.ProviderRef != first.ProviderRef {
		t.Errorf("the upstream refunded %v, and the refund is %s and %s", got, first.ProviderRef, again.ProviderRef)
	}
}

// refundTold brings the second of two refunds to an ending, and reads the report of
// it, by query and by notification.
func (s Suite) refundTold(t *testing.T, rail string, e Ending, kind pay.OutcomeKind) {
	b := s.connect(t)
	r := b.paid(t, rail, "01M7ZTOLD-1")
	first, q := refund(r, "01M7ZCLAIM1-1", r.Local.Minor/3), refund(r, "01M7ZCLAIM2-1", r.Local.Minor/3)
	if s.Nameless != "" { // two equal ones at the same time cannot be told apart
		q.Local.Minor++
	}
	b.Refund(within(t), first)
	q.RefundRef = b.Refund(within(t), q).ProviderRef
	b.MoveRefund(r.Reference, 1, e)
	if s.Blind == "" && (e == Nonsense || s.Nameless == "") { // statuses of nameless refunds are not known
		b.strange(t, "the question", e, func() { want(t, "the question", b.QueryRefund(within(t), q), kind) })
	}
	if s.Untold != "" {
		return
	}
	var n pay.Notice
	b.strange(t, "the notification", e, func() { n = b.refundNotice(t, r.Reference, 1, q.Reference) })
	want(t, "the notification", n.Outcome, kind)
	if local := n.Outcome.Local; kind == pay.Approved && local.Currency != "" && local != q.Local {
		t.Errorf("%v went back, want %v", local, q.Local)
	}
	if twin := b.refundNotice(t, r.Reference, 1, q.Reference); twin.ID != n.ID {
		t.Errorf("the same news has the ids %q and %q", n.ID, twin.ID)
	}
}

// refundFaults breaks the line during a refund.
func (s Suite) refundFaults(t *testing.T, rail string) {
	if s.Unrefundable[rail] != "" {
		return
	}
	for _, f := range faults() {
		t.Run("a query, "+string(f), func(t *testing.T) {
			b := s.connect(t)
			q := refund(b.paid(t, rail, "01M7ZBACK-1"), "01M7ZCLAIM1-1", 100)
			b.Refund(within(t), q)
			b.line.Fail(f)
			want(t, "the question", b.QueryRefund(brief(t), q), pay.Unknown)
		})
		t.Run(string(f), func(t *testing.T) { s.refundFault(t, rail, f, nil) })
		t.Run(string(f)+", once it is asked for", func(t *testing.T) { s.refundFault(t, rail, f, s.looks) })
	}
}

// looks reports whether a call only reads.
func (s Suite) looks(r *http.Request) bool {
	if s.Looks != nil {
		return s.Looks(r)
	}
	return r.Method == http.MethodGet
}

func (s Suite) refundFault(t *testing.T, rail string, f Fault, spare func(*http.Request) bool) {
	b := s.connect(t)
	r := b.paid(t, rail, "01M7ZBACK-1")
	q := refund(r, "01M7ZCLAIM1-1", r.Local.Minor)
	b.line.Spare(spare)
	b.line.Fail(f)
	o := b.Refund(brief(t), q)
	done := len(b.entry(t, r.Reference).Refunds) > 0
	if done && o.Kind != pay.Unknown || !done && !slices.Contains([]pay.OutcomeKind{pay.Unknown, pay.Unavailable, pay.Errored}, o.Kind) {
		t.Errorf("the outcome is %s; refunded: %t", o.Kind, done)
	}
	b.line.Fail(NoFault)
	if done || s.Blind != "" {
		want(t, "the question", b.QueryRefund(within(t), q), pay.Approved, pay.Awaiting)
	} else {
		want(t, "the question", b.QueryRefund(within(t), s.later(q)), pay.Missing)
	}
	want(t, "the refund again", b.Refund(within(t), q), pay.Approved, pay.Awaiting)
	if got := b.entry(t, r.Reference).Refunds; len(got) != 1 {
		t.Errorf("the upstream refunded %v", got)
	}
}
