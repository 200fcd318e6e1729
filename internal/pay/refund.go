package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Refund is the API's Refund (REF-3): a claim as the shop that asked for it sees it.
type Refund struct {
	Claim
}

// Opened is the refund as the call that opened it returned it (REF-3), whatever happened since.
func (c Claim) Opened() Refund {
	c.Status = ClaimPending
	return Refund{c}
}

// MaxRefundReason is the longest reason of a refund, in characters (REF-2). MaxRefundReference is the longest id of a refund that
// the operator books.
const (
	MaxRefundReason    = 500
	MaxRefundReference = 128
)

// NewRefund is the input from which a refund is opened.
type NewRefund struct {
	ID     string       // of its claim
	Amount money.Amount // local currency; zero: all that is left
	Reason string
	Played bool // the sandbox makes it, even during a dispute; only payment.refunded is sent (SBX-5)
	// Released: the reserve of the payment's day is released, or about to be. Nothing can be drawn
	// from it any more.
	Released bool
	Caller   Caller // the node that requests it from the provider
	// Round is the round of a refund that was found at the provider after a restore; 0: the first.
	Round int
	Found []Found // the found entry
}

// Refund opens a claim to give an amount back to the shopper (REF-1) and freezes the merchant's
// part: from available, then from pending, and the reserve's part from the reserve while it is
// held. Nothing is paid yet: the claim's Call is the intent of the provider's refund, which follows
// once the Change is committed.
//
// Errors: conflict_state if the payment was not completed, is disputed, or has nothing left to
// refund; amount_invalid; amount_above_maximum above what is left; balance_insufficient.
func (p Payment) Refund(n NewRefund, have ledger.Balances, now time.Time) (Payment, Claim, Change, error) {
	fail := func(err error) (Payment, Claim, Change, error) { return p, Claim{}, Change{}, err }
	left := p.unrefunded()
	if err := p.checkRefund(n, left); err != nil {
		return fail(err)
	}
	if n.Amount.IsZero() {
		n.Amount = left
	}
	parts := p.partsOf(n.Amount.Minor)
	d, err := p.draw(parts, have, n.Released)
	if err != nil {
		return fail(err)
	}

	from := p
	p.move(Refunding, now)
	p.Refunds.USD = p.Refunds.USD.add(parts, 1)
	p.Refunds.Local += n.Amount.Minor
	p.written(&from, now)
	claim := p.claim(n.ID, UserDispute, ClaimPending, n.Amount, parts.USD, PartyMerchant, now)
	claim.Reason, claim.Played, claim.Parts, claim.Frozen, claim.Attempt = n.Reason, n.Played, parts, parts.held(), p.End.Captured
	claim.Origin = ByMerchant
	claim.Freed = parts.Reserve - d.reserve
	claim.Call = RefundCall{State: Sending, Round: max(n.Round, 1), Tries: 1, Sent: now.UnixMicro(), To: ClaimApproved, Found: len(n.Found) > 0, Flight: Flight{}.begin(n.Caller)}
	claim.DueAt = now.Add(callLease)
	change := Change{Transfers: moving(claim.transfer("freeze", ledger.RefundFreeze, now,
		ledger.Posting{Account: ledger.Available, Amount: -d.available},
		ledger.Posting{Account: ledger.Pending, Amount: -d.pending},
		ledger.Posting{Account: ledger.Reserve, Amount: -d.reserve}, // otherwise it might be released meanwhile
		ledger.Posting{Account: ledger.Frozen, Amount: parts.held()})),
		Floors: d.floors, Days: d.days, Found: n.Found}
	if !n.Played {
		var opened Event
		claim, opened = claim.event(webhooks.ClaimOpened, p, now)
		change.Events = append(change.Events, opened)
	}
	refunded := p.event(webhooks.PaymentRefunded, from.Status, now)
	opened := claim.Opened()
	refunded.Refund = &opened
	change.Events = append(change.Events, refunded)
	change.Payments, change.Claims = []Payment{p}, []Claim{claim}
	return p, claim, change, nil
}

// drawing says from which accounts the merchant's part of a refund is taken, in USD cents, and what
// must be true when it is taken.
type drawing struct {
	available, pending, reserve int64
	floors                      []ledger.Floor
	days                        []string
}

// draw decides from which accounts a refund's parts are taken. The parts of the capture decide how
// much the merchant pays. The reserve's part is taken from the reserve while that is held, and from
// the merchant's balance once it was released.
//
// Errors: balance_insufficient.
func (p *Payment) draw(parts Parts, have ledger.Balances, released bool) (drawing, error) {
	var d drawing
	floor := func(account ledger.Account, least int64) {
		d.floors = append(d.floors, ledger.Floor{Merchant: p.Merchant, Live: p.Live, Account: account, Min: least})
	}
	if !released {
		d.reserve = min(parts.Reserve, max(0, have[ledger.Reserve]))
	}
	rest := parts.held() - d.reserve
	// A negative available is owed already: pending covers it.
	d.available = min(rest, max(0, have[ledger.Available]))
	d.pending = rest - d.available
	owed := max(0, -have[ledger.Available])
	if d.pending > 0 && d.pending > have[ledger.Pending]-owed {
		return d, problem.Beyond("", refundBeyondBalance,
			parts.held(), d.reserve+d.available+max(0, have[ledger.Pending]-owed))
	}
	if rest > 0 {
		floor(ledger.Available, min(0, have[ledger.Available]))
		floor(ledger.Pending, min(owed, have[ledger.Pending]-d.pending))
	}
	if d.reserve > 0 {
		floor(ledger.Reserve, 0)
		d.days = []string{ReserveOf(*p)}
	}
	return d, nil
}

// Refundable is what refunds may still give back to the shopper, in the local currency; zero while
// the payment is disputed.
func (p Payment) Refundable() money.Amount {
	if p.Disputes.OpenOnCapture() != "" {
		return money.New(0, p.Price.Local.Currency)
	}
	return p.unrefunded()
}

// unrefunded is what the shopper has not got back by refunds or by disputes that were lost; zero if
// the payment cannot be refunded at all.
func (p *Payment) unrefunded() money.Amount {
	left := money.New(0, p.Price.Local.Currency)
	if _, ok := p.Status.After(Refunding); ok {
		left.Minor = max(0, p.Price.Local.Minor-p.Refunds.Local-p.lost())
	}
	return left
}

// checkRefund says why a refund is not possible.
func (p *Payment) checkRefund(n NewRefund, left money.Amount) error {
	conflict := func(word string, why problem.Reason) error {
		return &problem.Error{Code: problem.ConflictState, Reason: why, Details: problem.Details{From: string(p.Status), Action: "refund", Reason: word}}
	}
	if _, ok := p.Status.After(Refunding); !ok {
		return conflict("", refundOfUnpaid)
	}
	if p.Disputes.OpenOnCapture() != "" && !n.Played {
		return conflict("open_dispute", refundOfDisputed.With(p.Disputes.OpenOnCapture()))
	}
	if !left.IsPositive() {
		return conflict("fully_refunded", refundedWhole)
	}
	if n.Amount.IsNegative() {
		return problem.Field(problem.AmountInvalid, "amount", refundNotPositive)
	}
	if !n.Amount.IsZero() && n.Amount.Cmp(left) > 0 {
		return &problem.Error{Code: problem.AmountAboveMaximum, Param: "amount", Reason: refundBeyondLeft.With(left),
			Details: problem.Details{Limit: &problem.LimitDetail{Min: money.New(1, left.Currency), Max: left}, BoundViolated: "max"}}
	}
	return nil
}

// Parts splits a refunded part of a capture, in USD cents, by who had it. The part of USD that the
// other fields leave is the platform's.
type Parts struct {
	USD      int64 `json:"usd,omitempty"` // what the shopper gets
	Net      int64 `json:"net,omitempty"` // the merchant's
	Reserve  int64 `json:"reserve,omitempty"`
	Provider int64 `json:"provider,omitempty"`
	Flat     int64 `json:"flat,omitempty"`
	Network  int64 `json:"network,omitempty"`
	Tax      int64 `json:"tax,omitempty"` // on the fees that go back
}

// held is the part in the merchant's own accounts, which is frozen.
func (pa Parts) held() int64 { return pa.Net + pa.Reserve }

func (pa Parts) platform() int64 {
	return pa.USD - pa.Net - pa.Reserve - pa.Provider - pa.Flat - pa.Network - pa.Tax
}

func (pa Parts) add(b Parts, sign int64) Parts {
	return Parts{pa.USD + sign*b.USD, pa.Net + sign*b.Net, pa.Reserve + sign*b.Reserve,
		pa.Provider + sign*b.Provider, pa.Flat + sign*b.Flat, pa.Network + sign*b.Network, pa.Tax + sign*b.Tax}
}

// whole is what all refunds of the payment together give back: each one's share of the capture. If
// the fees are kept, the merchant gives all of it.
func (p *Payment) whole() Parts {
	if p.Terms.RefundFees == merchants.FeesKept {
		return Parts{USD: p.Price.Amount.Minor, Net: p.Price.Amount.Minor - p.Terms.Reserve, Reserve: p.Terms.Reserve}
	}
	return Parts{
		USD: p.Price.Amount.Minor, Net: p.net(), Reserve: p.Terms.Reserve,
		Provider: p.Terms.Fees.Provider, Flat: p.Terms.Fees.Flat, Network: p.Terms.Fees.Network, Tax: p.Terms.Fees.Tax,
	}
}

// partsOf splits the next local minor units, each part by its share of the whole: the amount due
// once these are refunded, less what was given. So partial refunds add up to the whole exactly,
// even if one of them failed.
//
// Shares are rounded down. The cents that are left over are paid by the first one who has some
// left, the merchant first. Nobody pays more than they had.
func (p *Payment) partsOf(local int64) Parts {
	whole, given := p.whole(), p.Refunds.USD
	due := func(usd int64) int64 {
		return money.New(usd, money.USD).Fraction(p.Refunds.Local+local, p.Price.Local.Minor, money.Down).Minor
	}
	parts := Parts{USD: max(0, due(whole.USD)-given.USD)}
	if lost := p.lost(); lost > 0 && p.Disputes.OpenOnCapture() == "" {
		// The last part gets the cents that rounding left. Disputes took their part in full.
		if free := max(0, p.uncontested("")); p.Refunds.Local+local+lost >= p.Price.Local.Minor || parts.USD > free {
			parts.USD = free
		}
	}
	platform := int64(0) // the part of USD that the others leave
	shares := []struct {
		part         *int64
		whole, given int64
	}{
		{&parts.Net, whole.Net, given.Net}, {&parts.Reserve, whole.Reserve, given.Reserve},
		{&platform, whole.platform(), given.platform()}, {&parts.Provider, whole.Provider, given.Provider},
		{&parts.Flat, whole.Flat, given.Flat}, {&parts.Network, whole.Network, given.Network}, {&parts.Tax, whole.Tax, given.Tax},
	}
	left := parts.USD
	for _, s := range shares {
		*s.part = min(left, max(0, due(s.whole)-s.given))
		left -= *s.part
	}
	for _, s := range shares {
		more := min(left, max(0, s.whole-s.given-*s.part))
		*s.part += more
		left -= more
	}
	return parts
}

// endRefund pays the shopper, or returns the frozen money to the merchant and the amount to what
// can be refunded. The payment's status stays refunded, which is terminal (PAY-31); its amounts
// show the result.
func (c Claim) endRefund(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	if to.Pays() {
		return p, Change{Transfers: moving(c.refundFee(p, now), c.transfer("refund", ledger.RefundPaid, now,
			ledger.Posting{Account: ledger.Frozen, Amount: -c.Parts.held()},
			ledger.Posting{Account: ledger.PlatformFees, Amount: -c.Parts.platform()},
			ledger.Posting{Account: ledger.ProviderFees, Amount: -c.Parts.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: -c.Parts.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: -c.Parts.Network},
			ledger.Posting{Account: ledger.FeeTaxes, Amount: -c.Parts.Tax},
			ledger.Posting{Account: ledger.Refunds, Amount: c.Parts.USD}))}
	}
	from := p
	p.Refunds.USD = p.Refunds.USD.add(c.Parts, -1)
	p.Refunds.Local -= c.Local.Minor
	p, owed := p.payShort(c.suffix(), now) // a dispute that was lost meanwhile takes it
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}, Transfers: append(moving(c.transfer("release", ledger.RefundRelease, now,
		ledger.Posting{Account: ledger.Frozen, Amount: -c.Parts.held()},
		ledger.Posting{Account: ledger.Available, Amount: c.Parts.Net + c.Freed},
		ledger.Posting{Account: ledger.Reserve, Amount: c.Parts.Reserve - c.Freed})), owed...)}
}

// refundFee is the transfer of what a refund that was made costs the merchant. Available may fall below zero by it, as it does for
// a dispute.
func (c Claim) refundFee(p Payment, now time.Time) ledger.Transfer {
	return c.transfer("fee", ledger.RefundFee, now,
		ledger.Posting{Account: ledger.Available, Amount: -p.Terms.Refund.Total()},
		ledger.Posting{Account: ledger.PlatformFees, Amount: p.Terms.Refund.Fee},
		ledger.Posting{Account: ledger.FeeTaxes, Amount: p.Terms.Refund.Tax})
}

// madeRefund is a refund that somebody has made already, and that only has to be booked.
type madeRefund struct {
	id      string // of its claim
	ref     string // the provider's or the bank's id of it
	origin  Origin
	local   money.Amount
	attempt int // order of the attempt that took the money
	reason  string
}

// book books a refund that was made without our call: its claim is opened and approved at once. The
// shopper has the money, so the merchant's part is taken from available, which may fall below zero
// as it does for a dispute. The reserve stays as it is until its release.
func (p Payment) book(b madeRefund, now time.Time) (Payment, Claim, Change) {
	from, parts, actor := p, p.partsOf(b.local.Minor), PartyProvider
	if b.origin == ByOperator {
		actor = PartyOperator
	}
	p.move(Refunding, now)
	p.Refunds.USD = p.Refunds.USD.add(parts, 1)
	p.Refunds.Local += b.local.Minor
	p.written(&from, now)
	c := p.claim(b.id, UserDispute, ClaimPending, b.local, parts.USD, actor, now)
	c.Reason, c.Parts, c.Freed, c.Attempt, c.Origin = b.reason, parts, parts.Reserve, b.attempt, b.origin
	c.Call = RefundCall{State: Approved, To: ClaimApproved, Ref: b.ref}
	c, opened := c.event(webhooks.ClaimOpened, p, now)
	c.Status, c.Resolved = ClaimApproved, now
	c = c.step(actor, "", now)
	refunded := p.event(webhooks.PaymentRefunded, from.Status, now)
	refunded.Refund = &Refund{c}
	c, resolved := c.event(webhooks.ClaimResolved, p, now)
	resolved.Previous = Status(ClaimPending)
	return p, c, Change{
		Payments: []Payment{p}, Claims: []Claim{c}, Events: []Event{opened, refunded, resolved},
		Transfers: moving(c.refundFee(p, now), c.transfer("refund", ledger.RefundPaid, now,
			ledger.Posting{Account: ledger.Available, Amount: -parts.held()},
			ledger.Posting{Account: ledger.PlatformFees, Amount: -parts.platform()},
			ledger.Posting{Account: ledger.ProviderFees, Amount: -parts.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: -parts.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: -parts.Network},
			ledger.Posting{Account: ledger.FeeTaxes, Amount: -parts.Tax},
			ledger.Posting{Account: ledger.Refunds, Amount: parts.USD})),
	}
}

// NewBooking is the input from which the operator books a refund that was made already.
type NewBooking struct {
	ID     string       // of its claim
	Ref    string       // the provider's id of the refund; or the bank's reference
	Origin Origin       // ByProvider or ByOperator
	Local  money.Amount // zero: all that is left
	Note   string
}

// Book books a refund that the provider made by itself, or that the operator made by hand.
// claims are all claims of the payment. The same id is booked once.
//
// Errors: invalid_request without an id; conflict_state if the payment was not completed, if nothing
// is left, if a dispute is open, or if the id is of a known refund; amount_above_maximum,
// amount_invalid.
func (n NewBooking) Book(p Payment, claims []Claim, now time.Time) (Payment, Claim, Change, error) {
	left := p.unrefunded()
	if n.Ref == "" {
		return p, Claim{}, Change{}, problem.Field(problem.InvalidRequest, "reference", refundMadeNeedsReference)
	}
	if err := p.checkRefund(NewRefund{Amount: n.Local}, left); err != nil {
		return p, Claim{}, Change{}, err
	}
	if n.Local.IsZero() {
		n.Local = left
	}
	for _, c := range claims {
		if c.Call.Ref == n.Ref {
			return p, Claim{}, Change{}, problem.Conflict("known", refundKnown.With(n.Ref, c.ID))
		}
	}
	if newDocket(p, claims, now).underWay(ProviderRefund{Local: n.Local}) != nil {
		return p, Claim{}, Change{}, problem.Conflict("under_way", refundUnderWay)
	}
	p, c, change := p.book(madeRefund{n.ID, n.Ref, n.Origin, n.Local, p.End.Captured, n.Note}, now)
	return p, c, change, nil
}

// bookReturn takes back a refund that failed after the provider had confirmed it: the shopper's bank
// sent the money back. The claim has ended and stays approved; a new one, id, names it. It is
// rejected at once and returns the merchant's part to available, and the reserve's to the reserve if it was
// drawn from there, so that the amount can be refunded again (REF-15). Late money goes back to suspense, and the new claim is an inquiry that is open.
func (c Claim) bookReturn(p Payment, id, note string, now time.Time) (Claim, Change) {
	d := newDocket(p, []Claim{c}, now)
	d.comeBack(c, id, note)
	_, change := d.done()
	return d.claims[0], change
}

// Returned is bookReturn by the operator's word, of a refund whose failure the provider does not report, or not so that it can be
// applied: of one that the operator approved, or sent by hand.
//
// Errors: conflict_state unless the claim's money went to the shopper and has not come back.
func (di Disposition) Returned(c Claim, p Payment, id string) (Claim, Change, error) {
	if c.Kind == ChargebackClaim || !c.Status.Pays() || c.Calling() || c.Call.Returned != "" {
		return c, Change{}, &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(c.Status), Action: string(ReturnRefund)},
			Reason: onlyGivenBackTaken}
	}
	next, change := c.bookReturn(p, id, di.Note, di.At)
	return next, change, nil
}

// comeBack is bookReturn for a claim of the docket.
func (d *docket) comeBack(c Claim, id, note string) {
	if note == "" {
		note = "the refund failed after it had been confirmed"
	}
	back := d.p.claim(id, c.Kind, ClaimPending, c.Local, c.USD, PartyProvider, d.now)
	back.Previous, back.Reason, back.Attempt, back.Origin = c.ID, note, c.Attempt, c.Origin
	c.Call.Returned = id
	d.put(c.step(PartyProvider, note+": see claim "+id, d.now).written(d.now))
	if c.Kind == Inquiry {
		from := d.p
		s := Stray{Code: LatePayment, Order: c.Attempt}
		if at := slices.IndexFunc(d.p.Strays, func(s Stray) bool { return s.Claim == c.ID }); at >= 0 {
			s = d.p.Strays[at]
		}
		s.Local, s.Kept, s.Claim, s.End = c.Local, 0, id, ""
		d.p.Strays = append(slices.Clip(d.p.Strays), s)
		p := d.p
		p.written(&from, d.now)
		back, opened := back.event(webhooks.ClaimOpened, p, d.now)
		d.add(Change{Payments: []Payment{p}, Claims: []Claim{back}, Events: []Event{opened}, Transfers: moving(
			back.transfer("return", ledger.LateReturn, d.now,
				ledger.Posting{Account: ledger.Refunds, Amount: -c.USD},
				ledger.Posting{Account: ledger.Suspense, Amount: c.USD}))})
		return
	}
	back, opened := back.event(webhooks.ClaimOpened, d.p, d.now)
	from, p := d.p, d.p
	p.Refunds.USD = p.Refunds.USD.add(c.Parts, -1)
	p.Refunds.Local -= back.Local.Minor
	p, owed := p.payShort(back.suffix(), d.now) // a dispute that was lost meanwhile takes it
	p.written(&from, d.now)
	_, change := back.resolved(p, Change{Payments: []Payment{p}, Events: []Event{opened}, Transfers: append(moving(
		back.transfer("return", ledger.RefundReturn, d.now,
			ledger.Posting{Account: ledger.Refunds, Amount: -c.Parts.USD},
			ledger.Posting{Account: ledger.PlatformFees, Amount: c.Parts.platform()},
			ledger.Posting{Account: ledger.ProviderFees, Amount: c.Parts.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: c.Parts.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: c.Parts.Network},
			ledger.Posting{Account: ledger.FeeTaxes, Amount: c.Parts.Tax},
			ledger.Posting{Account: ledger.Available, Amount: c.Parts.Net + c.Freed},
			ledger.Posting{Account: ledger.Reserve, Amount: c.Parts.Reserve - c.Freed})), owed...)}, ClaimRejected, PartyProvider, note, d.now)
	d.add(change)
}

// refundsThat selects the refunds of a list that failed, or the others.
func refundsThat(list []ProviderRefund, failed bool) (some []ProviderRefund) {
	for _, r := range list {
		if (r.Kind == Declined) == failed {
			some = append(some, r)
		}
	}
	return some
}

// underWay finds the refund of ours that r, which the provider lists without our reference, may be: it has the same amount,
// its call is under way, and the provider has reported no id of it. It returns nil if there is none.
func (d *docket) underWay(r ProviderRefund) *Claim {
	for i, c := range d.claims {
		if c.Calling() && c.Call.Ref == "" && c.Local == r.Local && r.Reference == "" {
			return &d.claims[i]
		}
	}
	return nil
}

// resolve ends the claim in the status to, releases the money that it held, and makes the event.
// The caller has checked that the move is allowed.
func (c Claim) resolve(p Payment, to ClaimStatus, actor, note string, now time.Time) (Claim, Change) {
	var change Change
	switch c.Kind {
	case UserDispute:
		p, change = c.endRefund(p, to, now)
	case ChargebackClaim:
		p, change = c.endDispute(p, to, now)
	case Inquiry:
		p, change = c.endInquiry(p, to, now)
	}
	return c.resolved(p, change, to, actor, note, now)
}

// resolved records the end of a claim whose money was moved, and makes the event.
func (c Claim) resolved(p Payment, change Change, to ClaimStatus, actor, note string, now time.Time) (Claim, Change) {
	from := c.Status
	c = c.written(now)
	c.Status, c.Frozen, c.Resolved, c.DueAt = to, 0, now, time.Time{}
	c.Defense = c.Defense.over()
	c = c.step(actor, note, now)
	if !c.Played || !to.Pays() {
		var event Event
		c, event = c.event(webhooks.ClaimResolved, p, now)
		event.Previous = Status(from)
		change.Events = append(change.Events, event)
	}
	change.Claims, change.settles = []Claim{c}, c.Kind == Inquiry
	return c, change
}
