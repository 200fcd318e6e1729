package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Refund is the API's Refund (REF-3): a claim seen by who asked for it.
type Refund struct {
	Claim
}

// Opened is the refund as the call that opened it told it (REF-3),
// whatever has become of it since.
func (c Claim) Opened() Refund {
	c.Status = ClaimPending
	return Refund{c}
}

// NewRefund is what a refund is opened from.
type NewRefund struct {
	ID     string       // of its claim
	Amount money.Amount // local currency; zero means all that is left
	Reason string
	Played bool // the sandbox makes it, under a dispute too; payment.refunded alone tells it (SBX-5)
	// Released says that the reserve of the payment's day is released, or is about to
	// be: nothing can be drawn on it any more.
	Released bool
	Caller   Caller // who makes it at the provider
	// Round is the provider's refund that it is, where one was found after a restore; 0: the first.
	Round int
	Found []Found // that
}

// Refund opens a claim to give an amount back to the shopper (REF-1)
// and freezes the merchant's part of it, drawn from
// available and then from pending, and the reserve's from the reserve while it is
// there. Nothing is paid yet: the claim's Call is the intent of the provider's
// refund, which follows once the Change is committed.
//
// Errors: conflict_state when the payment was never completed, has nothing
// left or is disputed; amount_invalid; amount_above_maximum above what is
// left; balance_insufficient.
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
	p = p.move(Refunding, now)
	p.Refunds.USD, p.Terms.RefundFees = p.given().add(parts, 1), p.FeesOnRefund()
	p.Refunds.Local += n.Amount.Minor
	p = p.written(from, now)
	claim := p.claim(n.ID, UserDispute, ClaimPending, n.Amount, parts.USD, PartyMerchant, now)
	claim.Reason, claim.Played, claim.Parts, claim.Frozen, claim.Attempt = n.Reason, n.Played, parts, parts.held(), p.captured()
	claim.Freed = parts.Reserve - d.reserve
	claim.Call = RefundCall{State: Sending, Round: max(n.Round, 1), Tries: 1, Sent: now.UnixMicro(), To: ClaimApproved, Found: len(n.Found) > 0, Flight: Flight{}.begin(n.Caller)}
	claim.DueAt = now.Add(callLease)
	change := Change{Transfers: moving(claim.transfer("freeze", ledger.RefundFreeze, now,
		ledger.Posting{Account: ledger.Available, Amount: -d.available},
		ledger.Posting{Account: ledger.Pending, Amount: -d.pending},
		ledger.Posting{Account: ledger.Reserve, Amount: -d.reserve}, // or it might be released meanwhile
		ledger.Posting{Account: ledger.Frozen, Amount: parts.held()})),
		Floors: d.floors, Days: d.days, Found: n.Found}
	if !n.Played {
		var opened Event
		claim, opened = claim.event(hook.ClaimOpened, p, now)
		change.Events = append(change.Events, opened)
	}
	p, refunded := p.event(hook.PaymentRefunded, from.Status, now)
	opened := claim.Opened()
	refunded.Refund = &opened
	change.Events = append(change.Events, refunded)
	change.Payments, change.Claims = []Payment{p}, []Claim{claim}
	return p, claim, change, nil
}

// drawing is from where the merchant's part of a refund is taken, in USD cents, and
// what must hold when it is.
type drawing struct {
	available, pending, reserve int64
	floors                      []ledger.Floor
	days                        []string
}

// draw decides from which accounts a refund's parts are taken. Who had what of the
// capture decides how much the merchant gives, and what he has now from where: the
// reserve's part comes from the reserve while that is held, and from what he has
// once it was released to him.
//
// Errors: balance_insufficient.
func (p Payment) draw(parts Parts, have ledger.Balances, released bool) (drawing, error) {
	var d drawing
	floor := func(account ledger.Account, least int64) {
		d.floors = append(d.floors, ledger.Floor{Merchant: p.Merchant, Live: p.Live, Account: account, Min: least})
	}
	if !released {
		d.reserve = min(parts.Reserve, max(0, have[ledger.Reserve]))
	}
	rest := parts.held() - d.reserve
	// What a dispute took below zero is owed already: pending stands for it.
	d.available = min(rest, max(0, have[ledger.Available]))
	d.pending = rest - d.available
	owed := max(0, -have[ledger.Available])
	if d.pending > 0 && d.pending > have[ledger.Pending]-owed {
		return d, problem.Beyond("", "the refund takes %s out of the balance, and there are %s for it: refund less, or wait for more to come in; GET /me/balance shows it",
			parts.held(), d.reserve+d.available+max(0, have[ledger.Pending]-owed))
	}
	if rest > 0 {
		floor(ledger.Available, min(0, have[ledger.Available]))
		floor(ledger.Pending, min(owed, have[ledger.Pending]-d.pending))
	}
	if d.reserve > 0 {
		floor(ledger.Reserve, 0)
		d.days = []string{p.ReserveDay()}
	}
	return d, nil
}

// checkRefund says why a refund is not possible.
func (p Payment) checkRefund(n NewRefund, left money.Amount) error {
	conflict := func(reason, message string) error {
		return &problem.Error{Code: problem.ConflictState, Message: message, Details: problem.Details{From: string(p.Status), Action: "refund", Reason: reason}}
	}
	if _, ok := p.Status.After(Refunding); !ok {
		return conflict("", "only a completed payment can be refunded: read its status, and wait until it is paid")
	}
	if p.OpenDispute() != "" && !n.Played {
		return conflict("open_dispute", "the payment is disputed: a refund would pay the shopper twice. Answer claim "+p.OpenDispute()+" or accept it")
	}
	if !left.IsPositive() {
		return conflict("fully_refunded", "nothing of the payment is left to refund: read its refundedAmountLocal, which is all that was paid")
	}
	if n.Amount.IsNegative() {
		return problem.Field(problem.AmountInvalid, "amount", "the amount must be above zero, such as 49.90; leave it out to refund all that is left")
	}
	if !n.Amount.IsZero() && n.Amount.Cmp(left) > 0 {
		return &problem.Error{Code: problem.AmountAboveMaximum, Param: "amount", Message: "the amount must be at most what is left, " + left.String(),
			Details: problem.Details{Limit: &problem.LimitDetail{Min: money.New(1, left.Currency), Max: left}, BoundViolated: "max"}}
	}
	return nil
}

// Parts is a part of a capture on its way back, in USD cents, by who had it.
// What USD is more than the others is the platform's.
type Parts struct {
	USD      int64 `json:"usd,omitempty"` // what the shopper gets
	Net      int64 `json:"net,omitempty"` // the merchant's
	Reserve  int64 `json:"reserve,omitempty"`
	Provider int64 `json:"provider,omitempty"`
	Flat     int64 `json:"flat,omitempty"`
	Network  int64 `json:"network,omitempty"`
}

// held is what stands in the merchant's own accounts, and is frozen.
func (a Parts) held() int64 { return a.Net + a.Reserve }

func (a Parts) platform() int64 { return a.USD - a.Net - a.Reserve - a.Provider - a.Flat - a.Network }

func (a Parts) add(b Parts, sign int64) Parts {
	return Parts{a.USD + sign*b.USD, a.Net + sign*b.Net, a.Reserve + sign*b.Reserve,
		a.Provider + sign*b.Provider, a.Flat + sign*b.Flat, a.Network + sign*b.Network}
}

// FeesOnRefund is the payment's term. One that was made before there were terms was
// promised its fees back.
func (p Payment) FeesOnRefund() tenant.RefundFees {
	if p.Terms.RefundFees == "" {
		return tenant.FeesReturned
	}
	return p.Terms.RefundFees
}

// whole is what all refunds of the payment together give back: what each had of the
// capture, or, where the fees are kept, all of it by the merchant.
func (p Payment) whole() Parts {
	if p.FeesOnRefund() == tenant.FeesKept {
		return Parts{USD: p.Price.Amount.Minor, Net: p.Price.Amount.Minor - p.Terms.Reserve, Reserve: p.Terms.Reserve}
	}
	return Parts{
		USD: p.Price.Amount.Minor, Net: p.Net(), Reserve: p.Terms.Reserve,
		Provider: p.Terms.Fees.Provider, Flat: p.Terms.Fees.Flat, Network: p.Terms.Fees.Network,
	}
}

// given is what all refunds that stand give back.
//
// Two kinds of rows are older than what is written now. Some have no Given: of
// those no refund had failed, and each part of them was rounded by itself. And a
// refund after the reserve's release once had the reserve's part among the net.
func (p Payment) given() Parts {
	g, whole := p.Refunds.USD, p.whole()
	if g == (Parts{}) && p.Terms.RefundFees == "" {
		of := func(usd int64, r money.Rounding) int64 {
			return money.New(usd, money.USD).Fraction(p.Refunds.Local, p.Price.Local.Minor, r).Minor
		}
		return Parts{
			USD: of(whole.USD, money.Down), Net: of(whole.Net, money.Up), Reserve: of(whole.Reserve, money.Up),
			Provider: of(whole.Provider, money.Down), Flat: of(whole.Flat, money.Down), Network: of(whole.Network, money.Down),
		}
	}
	if over := g.Net - whole.Net; over > 0 {
		g.Net, g.Reserve = g.Net-over, g.Reserve+over
	}
	return g
}

// partsOf takes the next local minor units apart, each part by its share of the
// whole: what is due once these are refunded, less what was given. So refunds in
// parts add up to the whole exactly, also where one in between came to nothing.
//
// The shares are rounded down. The cents that leaves are given by the first who
// has some left to give, the merchant before all: nobody gives more than he had.
func (p Payment) partsOf(local int64) Parts {
	whole, given := p.whole(), p.given()
	due := func(usd int64) int64 {
		return money.New(usd, money.USD).Fraction(p.Refunds.Local+local, p.Price.Local.Minor, money.Down).Minor
	}
	parts := Parts{USD: max(0, due(whole.USD)-given.USD)}
	platform := int64(0) // what the others leave of USD
	shares := []struct {
		part         *int64
		whole, given int64
	}{
		{&parts.Net, whole.Net, given.Net}, {&parts.Reserve, whole.Reserve, given.Reserve},
		{&platform, whole.platform(), given.platform()}, {&parts.Provider, whole.Provider, given.Provider},
		{&parts.Flat, whole.Flat, given.Flat}, {&parts.Network, whole.Network, given.Network},
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

// captured is the order of the attempt whose money completed the payment.
func (p Payment) captured() int {
	if p.Captured > 0 {
		return p.Captured
	}
	return 1 + slices.IndexFunc(p.Attempts, func(a Attempt) bool { return a.Status == Approved })
}

// endRefund pays the shopper, or gives the merchant back what was frozen and
// the payment what can be refunded. Its status stays refunded, which is
// terminal (PAY-31): the amounts tell.
func (c Claim) endRefund(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	if to.Pays() {
		return p, Change{Transfers: moving(c.transfer("refund", ledger.RefundPaid, now,
			ledger.Posting{Account: ledger.Frozen, Amount: -c.Parts.held()},
			ledger.Posting{Account: ledger.PlatformFees, Amount: -c.Parts.platform()},
			ledger.Posting{Account: ledger.ProviderFees, Amount: -c.Parts.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: -c.Parts.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: -c.Parts.Network},
			ledger.Posting{Account: ledger.Refunds, Amount: c.Parts.USD}))}
	}
	from := p
	p.Refunds.USD = p.given().add(c.Parts, -1)
	p.Refunds.Local -= c.Local.Minor
	p, owed := p.payShort(c.suffix(), now) // a dispute that was lost meanwhile takes it
	p = p.written(from, now)
	return p, Change{Payments: []Payment{p}, Transfers: append(moving(c.transfer("release", ledger.RefundRelease, now,
		ledger.Posting{Account: ledger.Frozen, Amount: -c.Parts.held()},
		ledger.Posting{Account: ledger.Available, Amount: c.Parts.Net + c.Freed},
		ledger.Posting{Account: ledger.Reserve, Amount: c.Parts.Reserve - c.Freed})), owed...)}
}
