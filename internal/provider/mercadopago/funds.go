package mercadopago

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// funds are one money of a charge: one payment, or those that paid a page's price together, each by another card. Its id is that of
// the payment that was approved first, which never changes.
type funds []payment

// ref is the id of the money.
func (f funds) ref() string {
	if len(f) == 0 {
		return ""
	}
	return string(f[0].ID)
}

// has reports whether a payment is a part of the money.
func (f funds) has(id text) bool {
	return slices.ContainsFunc(f, func(p payment) bool { return p.ID == id })
}

// sum is what the payments come to; zero if that is not clear.
func (f funds) sum() (sum money.Amount) {
	for i, p := range f {
		local, ok := p.local()
		switch {
		case !ok, i > 0 && local.Currency != sum.Currency, i > 0 && sum.Minor > mostSum-local.Minor:
			return money.Amount{}
		case i == 0:
			sum = local
		default:
			sum.Minor += local.Minor
		}
	}
	return sum
}

// mostSum bounds a sum of payments, far above every price.
const mostSum = 1 << 62

// charged is what was paid of a charge.
type charged struct {
	whole funds   // the money that paid the price first; nil if none did
	other []funds // other money, each with an id of its own
	// part is less than the price, and the first money that came. More may follow on the same page while it is open: then they are
	// one money.
	part funds
	rest []payment // those that were not paid
}

// sorted finds the moneys of a charge among its payments, by the time of their approval. So a payment that comes later changes
// nothing of what is known, apart from completing a part. Without a price each payment is a money of its own.
func sorted(list []payment, price money.Amount) (c charged) {
	var paid []payment
	for _, p := range list {
		if p.paid() {
			paid = append(paid, p)
			continue
		}
		c.rest = append(c.rest, p)
	}
	slices.SortStableFunc(paid, func(a, b payment) int {
		return cmp.Or(a.at().Compare(b.at()), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range paid {
		c.drop(p.at())
		local, ok := p.local()
		switch {
		case local == price && ok && c.whole == nil:
			c.whole = funds{p}
			c.apart()
		case c.whole != nil, !ok, local.Currency != price.Currency, local.Minor >= price.Minor:
			c.other = append(c.other, funds{p})
		default:
			c.part = append(c.part, p)
			switch sum := c.part.sum(); {
			case sum == price:
				c.whole, c.part = c.part, nil
			case sum.Minor > price.Minor || sum.Minor == 0:
				c.apart()
			}
		}
	}
	return c
}

// drop takes what had gone back by then out of the part: Mercado Pago gives back what the first card paid if the second is refused.
func (c *charged) drop(by time.Time) {
	c.part = slices.DeleteFunc(c.part, func(p payment) bool {
		gone := p.Status == "refunded" && p.gone().Before(by)
		if gone {
			c.other = append(c.other, funds{p})
		}
		return gone
	})
}

// apart makes each payment of a part a money of its own.
func (c *charged) apart() {
	for _, p := range c.part {
		c.other = append(c.other, funds{p})
	}
	c.part = nil
}

// all are the moneys, the one that paid the price first.
func (c charged) all() []funds {
	if c.whole == nil {
		return c.other
	}
	return slices.Concat([]funds{c.whole}, c.other)
}

// of is the money of a payment; only that payment if it is a part, or not listed.
func (c charged) of(p payment) funds {
	for _, f := range c.all() {
		if f.has(p.ID) {
			return f
		}
	}
	return funds{p}
}

// inPart is the reason of an outcome if more than one money of a charge went back in part.
const inPart = "several_went_back_in_part"

// several is the outcome of a charge that was paid, with all money that came and is there. What went back in part comes first: only
// there is room to say how much of it did. If all went back, the outcome is that of the first.
func (a *account) several(c charged, pageURL string) pay.Outcome {
	var first pay.Outcome
	var parts, there []pay.Outcome
	for i, f := range c.all() {
		one := a.paidOutcome(f, pageURL)
		if i == 0 {
			first = one
		}
		switch {
		case one.Kind == pay.Reversed && (one.Back == nil || one.Back.Total != one.Local):
			parts = append(parts, one)
		case one.Kind == pay.Approved:
			there = append(there, one)
		}
	}
	list := slices.Concat(parts, there)
	switch {
	case first.Kind == pay.Unknown || len(list) == 0:
		return first
	case len(parts) > 1:
		return provider.Unknown(inPart)
	}
	o := list[0]
	for _, other := range list[1:] {
		o.Also = append(o.Also, pay.Money{Ref: other.MoneyRef, ProviderRef: other.ProviderRef, Local: other.Local})
	}
	return o
}

// paidOutcome is the outcome of one money.
func (a *account) paidOutcome(f funds, pageURL string) pay.Outcome {
	if len(f) == 1 {
		return a.outcome(f[0], pageURL)
	}
	o := pay.Outcome{Kind: pay.Approved, ProviderRef: f.ref(), MoneyRef: f.ref(), FormURL: pageURL, Local: f.sum()}
	if !isID(o.ProviderRef) {
		return *provider.Broken()
	}
	return f.reversed(o)
}

// reversed adds what went back to the outcome of a money. What went back because of a dispute is the dispute's.
func (f funds) reversed(o pay.Outcome) pay.Outcome {
	total, whole := money.New(0, o.Local.Currency), true
	for _, p := range f {
		if p.Status != "approved" && p.Status != "refunded" {
			whole = false
			continue
		}
		if covered[p.StatusDetail] { // who gave it back is not clear: the operator finds out
			o.Kind, o.Back = pay.Reversed, nil
			return o
		}
		back, _ := provider.Major(p.Refunded.String(), string(p.CurrencyID))
		if p.Status == "refunded" {
			back, _ = p.local()
		} else {
			whole = false
		}
		total.Minor += back.Minor
	}
	var list []pay.ProviderRefund
	for _, r := range f.refunds() {
		local, _ := provider.Major(r.Amount.String(), string(o.Local.Currency))
		kind := refundKinds[r.Status]
		if kind == "" {
			kind = pay.Awaiting
		}
		list = append(list, provider.RefundOf(string(r.ID), string(r.Metadata.Reference), kind, local))
	}
	return provider.Reversed(o, list, total, whole)
}

// refunds are the refunds that the payments list.
func (f funds) refunds() []refund {
	lists := make([][]refund, len(f))
	for i, p := range f {
		if len(p.Refunds) > 0 && read(p.Refunds, &lists[i]) != nil {
			lists[i] = nil // the totals say how much it was
		}
	}
	return joined(lists)
}

// joined are the refunds of several payments. What one refund of ours gave back by several payments is one, with the id of its first
// part. It is in process until all of it was given.
func joined(lists [][]refund) (all []refund) {
	for _, list := range lists {
		for _, r := range list {
			_, _, ours := pay.ParseRefundReference(string(r.Metadata.Reference))
			at := slices.IndexFunc(all, func(b refund) bool { return b.Metadata.Reference == r.Metadata.Reference })
			if len(lists) == 1 || !ours || at < 0 {
				all = append(all, r)
				continue
			}
			all[at] = all[at].with(r)
		}
	}
	for i, r := range all {
		whole, told := number(r.Metadata.Total)
		if sum, ok := number(text(r.Amount)); len(lists) > 1 && told && ok && sum < whole && refundKinds[r.Status] == pay.Approved {
			all[i].Status = "in_process"
		}
	}
	return all
}

// with is a refund with another part of it.
func (r refund) with(other refund) refund {
	if refundKinds[r.Status] == pay.Declined { // its amount did not go back
		other.ID = r.ID
		return other
	}
	if refundKinds[other.Status] == pay.Declined {
		return r
	}
	if refundKinds[other.Status] != pay.Approved {
		r.Status = other.Status
	}
	a, ok := number(text(r.Amount))
	b, ok2 := number(text(other.Amount))
	if r.Amount = ""; ok && ok2 {
		r.Amount = json.Number(fmt.Sprintf("%d.%02d", (a+b)/100, (a+b)%100))
	}
	return r
}

// number reads an amount of at most two decimals in hundredths, whatever its currency.
func number(t text) (int64, bool) {
	local, ok := provider.Major(string(t), string(money.USD))
	return local.Minor, ok && local.Minor < mostSum/2
}

// at is when the payment was approved, or, if the answer does not say that, when it was made.
func (pa payment) at() time.Time {
	for _, told := range []text{pa.DateApproved, pa.DateCreated} {
		if t, err := time.Parse(time.RFC3339, string(told)); err == nil {
			return t
		}
	}
	return time.Time{}
}

// gone is when the last part of the payment went back; far in the future if the answer does not say that.
func (pa payment) gone() (last time.Time) {
	for _, r := range (funds{pa}).refunds() {
		t, err := time.Parse(time.RFC3339, string(r.DateCreated))
		if err != nil {
			return time.Unix(1<<40, 0)
		}
		if t.After(last) {
			last = t
		}
	}
	if last.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return last
}

// local is the payment's amount.
func (pa payment) local() (money.Amount, bool) {
	return provider.Major(pa.TransactionAmount.String(), string(pa.CurrencyID))
}
