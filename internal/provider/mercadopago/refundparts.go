package mercadopago

import (
	"context"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// A refund of what several cards paid together is one refund of each payment, all with our reference. The first payment gives back
// what it has left, then the next one. The parts are made one after the other, each under a key of its own, so a refund that was
// broken off is continued by repeating it. If Mercado Pago does not keep our reference, the next part could not be told from a refund of
// the panel, and would be booked twice: then the operator gives the rest back.

// partly is how far such a refund has come.
type partly struct {
	lists [][]refund // of each payment
	left  []int64    // of each payment, in minor units
	done  int64      // requested under our reference and not refused, in minor units
	made  int64      // what of that was given back
	known bool       // one has our reference
	doubt bool       // one has no reference and may be a part of ours
}

// gaveBack reads the refunds of all payments of a money.
func (a *account) gaveBack(ctx context.Context, f funds, r provider.RefundRequest) (s partly, lost *pay.Outcome) {
	for _, p := range f {
		list, lost := a.refundsOf(ctx, string(p.ID))
		if lost != nil {
			return s, lost
		}
		local, _ := p.local()
		for _, back := range list {
			given, ok := provider.Major(back.Amount.String(), string(r.Local.Currency))
			if !ok {
				return s, provider.Broken()
			}
			ours := back.Metadata.Reference == text(r.Reference)
			s.known = s.known || ours
			if refundKinds[back.Status] == pay.Declined {
				continue
			}
			local.Minor -= given.Minor
			if ours {
				s.count(back, given.Minor)
			}
			s.doubt = s.doubt || back.Metadata.Reference == ""
		}
		s.lists, s.left = append(s.lists, list), append(s.left, local.Minor)
	}
	return s, nil
}

// count adds a part under our reference.
func (pr *partly) count(back refund, minor int64) {
	switch refundKinds[back.Status] {
	case pay.Declined:
		return
	case pay.Approved:
		pr.made += minor
	}
	pr.done += minor
}

// outcome is the outcome of the parts that were made. Less than all of it contradicts what was requested: the operator has to see.
func (pr partly) outcome(a *account, r provider.RefundRequest) pay.Outcome {
	for _, back := range joined(pr.lists) {
		if back.Metadata.Reference == text(r.Reference) {
			return a.refundOutcome(back, r.Local.Currency)
		}
	}
	return pay.Outcome{Kind: pay.Missing}
}

// refundParts makes what is missing of a refund of several payments.
func (a *account) refundParts(ctx context.Context, f funds, r provider.RefundRequest) pay.Outcome {
	s, lost := a.gaveBack(ctx, f, r)
	if lost != nil { // nothing was requested by this call
		return pay.Outcome{Kind: pay.Unavailable, Decline: lost.Decline}
	}
	return a.continueParts(ctx, f, r, s)
}

func (a *account) continueParts(ctx context.Context, f funds, r provider.RefundRequest, s partly) pay.Outcome {
	for i, p := range f {
		part := min(s.left[i], r.Local.Minor-s.done)
		if part < 1 || hasPart(s.lists[i], r.Reference) {
			continue
		}
		id := string(p.ID)
		back, lost := a.makeRefund(ctx, id, r, money.New(part, r.Local.Currency), "refund/"+r.Reference+"/"+id)
		switch {
		case lost != nil && s.known && lost.Kind == pay.Declined: // a part is gone, and the rest will not follow
			return s.cut(a, r)
		case lost != nil && s.known:
			return provider.Unknown(lost.Decline)
		case lost != nil:
			return *lost
		}
		s.lists[i], s.known = append(s.lists[i], back), true
		s.count(back, part)
		if !back.kept {
			return s.cut(a, r)
		}
	}
	switch {
	case s.known && s.done < r.Local.Minor:
		return s.cut(a, r)
	case s.known:
		return s.outcome(a, r)
	}
	return pay.Outcome{Kind: pay.Declined, Decline: "nothing_left", Message: "the payment has less left than that"}
}

// cut is the outcome of a refund of which no more parts will be made. What was made of it is known once none of its parts can fail.
func (pr partly) cut(a *account, r provider.RefundRequest) pay.Outcome {
	o := pr.outcome(a, r)
	switch {
	case o.Kind == pay.Declined || pr.done >= r.Local.Minor:
		return o
	case pr.made < pr.done:
		unfinished := provider.Unknown("refund_not_finished")
		unfinished.ProviderRef = o.ProviderRef
		return unfinished
	}
	o.Kind, o.Local = pay.Approved, money.New(pr.made, r.Local.Currency)
	return o
}

// hasPart reports whether a payment gave back its part, or refused to.
func hasPart(list []refund, reference string) bool {
	for _, back := range list {
		if back.Metadata.Reference == text(reference) {
			return true
		}
	}
	return false
}

// queryParts is the state of a refund of several payments. One that was broken off is continued, unless the query may only look.
func (a *account) queryParts(ctx context.Context, f funds, r provider.RefundRequest) pay.Outcome {
	s, lost := a.gaveBack(ctx, f, r)
	switch {
	case lost != nil:
		return lost.AsQueried()
	case s.known && s.done < r.Local.Minor && provider.OnlyLooks(ctx):
		return provider.Unknown("refund_not_finished")
	case s.known && s.done < r.Local.Minor:
		return a.continueParts(ctx, f, r, s).AsQueried()
	case s.known:
		return s.outcome(a, r)
	case s.doubt || r.RefundRef != "":
		return provider.Unknown("refund_without_reference")
	}
	return pay.Outcome{Kind: pay.Missing}
}
