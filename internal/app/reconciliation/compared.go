package reconciliation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/store"
)

// chargesCompared compares an account that takes payments.
type chargesCompared struct {
	a       *Reconciliation
	account accounts.Account
	m       *reconcile.Matcher
}

func (c *chargesCompared) bad(file string, u *reconcile.Unreadable) { c.m.Bad(file, u) }
func (c *chargesCompared) totals() *reconcile.Totals                { return &c.m.Totals }
func (c *chargesCompared) end()                                     { c.m.End() }

func (c *chargesCompared) lines(ctx context.Context, list []reconcile.Line) error {
	sales, err := c.a.salesOf(ctx, list)
	if err != nil {
		return err
	}
	for _, line := range list {
		c.m.Line(line, sales)
	}
	return nil
}

// salesOf reads the payments of lines, by their own references or by those of their refunds.
func (rc *Reconciliation) salesOf(ctx context.Context, lines []reconcile.Line) (reconcile.Sales, error) {
	var payments, claims []string
	for _, l := range lines {
		p, c := l.Names()
		payments, claims = append(payments, p...), append(claims, c...)
	}
	return rc.sales(ctx, payments, claims)
}

// sales reads payments with their claims.
func (rc *Reconciliation) sales(ctx context.Context, payments, claims []string) (reconcile.Sales, error) {
	on, err := rc.Store.Claims().PaymentsOf(ctx, unique(claims))
	if err != nil {
		return nil, err
	}
	list, err := rc.Store.Payments().ByID(ctx, unique(slices.AppendSeq(payments, maps.Values(on))))
	if err != nil {
		return nil, err
	}
	sales := reconcile.Sales{}
	var ids []string
	for _, p := range list {
		sales[p.ID] = &reconcile.Sale{Payment: p}
		ids = append(ids, p.ID)
	}
	all, err := rc.Store.Claims().Of(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		sale := sales[c.Payment]
		sale.Claims = append(sale.Claims, c)
		sales[c.ID] = sale
	}
	return sales, nil
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// bookings gives the matcher the transfers of the period, merchant by merchant. Lines that have
// only the provider's own reference are also searched around the period.
func (c *chargesCompared) bookings(ctx context.Context, from, to time.Time) error {
	c.m.From, c.m.To = from, to
	kinds := []ledger.Kind{ledger.Capture, ledger.LateCapture, ledger.RefundPaid, ledger.LateRefund}
	if c.m.Lines() {
		from, to = from.Add(-bookingSlack), to.Add(bookingSlack)
		kinds = append(kinds, ledger.ChargebackHold)
	}
	return c.a.eachBooking(ctx, c.account, kinds, from, to, func(kind ledger.Kind, page []store.Booking) error {
		var ids []string
		for _, b := range page {
			ids = append(ids, b.Payment)
		}
		sales, err := c.a.sales(ctx, ids, nil)
		if err != nil {
			return err
		}
		for _, b := range page {
			booking := reconcile.Booking{Payment: b.Payment, Claim: b.Claim, Back: kind == ledger.RefundPaid || kind == ledger.LateRefund, At: b.At}
			if kind == ledger.ChargebackHold {
				booking.At = time.Time{} // outside of every period: it can explain a line, but needs none
			}
			c.m.Booked(booking, sales[b.Payment])
		}
		return nil
	})
}

// payoutsCompared compares an account that pays out.
type payoutsCompared struct {
	a       *Reconciliation
	account accounts.Account
	m       *reconcile.PayoutMatcher
}

func (p *payoutsCompared) bad(file string, u *reconcile.Unreadable) { p.m.Bad(file, u) }
func (p *payoutsCompared) totals() *reconcile.Totals                { return &p.m.Totals }
func (p *payoutsCompared) end()                                     { p.m.End() }

func (p *payoutsCompared) lines(ctx context.Context, list []reconcile.Line) error {
	var ids, references []string
	for _, l := range list {
		of, by := l.PayoutNames()
		ids, references = append(ids, of...), append(references, by...)
	}
	found, err := p.a.Store.Withdrawals().ByID(ctx, unique(ids))
	if err != nil {
		return err
	}
	at, err := p.a.Store.Withdrawals().AtEach(ctx, p.account.ID, unique(references))
	if err != nil {
		return err
	}
	among := map[string][]pay.Withdrawal{} // by the names that a line may use
	for _, w := range append(found, at...) {
		among[w.ID] = append(among[w.ID], w)
		if w.Payout.ProviderRef != "" && w.Payout.Provider == p.account.ID {
			among[w.Payout.ProviderRef] = append(among[w.Payout.ProviderRef], w)
		}
	}
	for _, l := range list {
		var may []pay.Withdrawal
		of, by := l.PayoutNames()
		for _, name := range append(of, by...) {
			may = append(may, among[name]...)
		}
		p.m.Line(l, may)
	}
	return nil
}

// bookings gives the matcher the payouts and returns of the period; also those around it, if there
// are lines with only the account's own reference.
func (p *payoutsCompared) bookings(ctx context.Context, from, to time.Time) error {
	p.m.From, p.m.To = from, to
	if p.m.Lines() {
		from, to = from.Add(-bookingSlack), to.Add(bookingSlack)
	}
	kinds := []ledger.Kind{ledger.WithdrawalPaid, ledger.WithdrawalReturn}
	return p.a.eachBooking(ctx, p.account, kinds, from, to, func(kind ledger.Kind, page []store.Booking) error {
		type booked struct {
			part int
			at   time.Time
		}
		of := map[string][]booked{}
		for _, b := range page {
			t := ledger.Transfer{ID: b.ID, Kind: kind}
			id, ok := pay.WithdrawalOf(t)
			if !ok {
				continue
			}
			one := booked{at: b.At}
			if kind == ledger.WithdrawalReturn {
				one.part = pay.PartReturned(t)
			}
			of[id] = append(of[id], one)
		}
		list, err := p.a.Store.Withdrawals().ByID(ctx, slices.Sorted(maps.Keys(of)))
		if err != nil {
			return err
		}
		for _, w := range list {
			for _, b := range of[w.ID] {
				p.m.Booked(w, b.part, b.at)
			}
		}
		return nil
	})
}

// eachBooking calls each with the transfers of some kinds from a time on and before another, for
// the merchants of an account.
func (rc *Reconciliation) eachBooking(ctx context.Context, account accounts.Account, kinds []ledger.Kind, from, to time.Time, each func(ledger.Kind, []store.Booking) error) error {
	read := func(merchant string) error {
		for _, kind := range kinds {
			start := from
			for after, more := "", true; more; {
				page, err := rc.Store.Books().Bookings(ctx, merchant, account.Live, kind, start, to, after, reconcileChunk)
				if err != nil {
					return err
				}
				if err := each(kind, page); err != nil {
					return err
				}
				if more = len(page) == reconcileChunk; more {
					start, after = page[len(page)-1].At, page[len(page)-1].ID
				}
			}
		}
		return nil
	}
	if account.Merchant != "" {
		return read(account.Merchant)
	}
	for after := ""; ; {
		merchants, err := rc.Store.Books().Booked(ctx, account.Live, after, reconcileChunk)
		if err != nil {
			return err
		}
		for _, merchant := range merchants {
			if err := read(merchant); err != nil {
				return err
			}
			after = merchant
		}
		if len(merchants) < reconcileChunk {
			return nil
		}
	}
}
