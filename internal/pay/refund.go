package pay

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// Refund is the contract's Refund resource: a claim seen by who asked for it.
type Refund struct {
	Claim
}

// Opened is the refund as the call that opened it told it (contract: status
// pending on creation), whatever has become of it since.
func (c Claim) Opened() Refund {
	c.Status = ClaimPending
	return Refund{c}
}

// NewRefund is what a refund is opened from.
type NewRefund struct {
	ID        string       // of its claim
	Amount    money.Amount // local currency; zero means all that is left
	Reason    string
	Simulated bool // by the simulate call, which tells payment.refunded alone
}

// Refund opens a claim to give an amount back to the shopper (contract: POST
// /payments/{id}/refund) and freezes the merchant's part of it, drawn from
// available and then from pending, and the reserve's. Nothing is paid yet: the claim's Call is
// the intent of the provider's refund, which follows once the Change is
// committed.
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
	if p.reserveFree(now) {
		parts.Net, parts.Reserve = parts.held(), 0
	}
	// What a dispute took below zero is owed already: pending stands for it.
	available := min(parts.Net, max(0, have[ledger.Available]))
	pending, owed := parts.Net-available, max(0, -have[ledger.Available])
	if pending > 0 && pending > have[ledger.Pending]-owed {
		return fail(NewError(CodeBalanceInsufficient, "the refund is more than the balance"))
	}

	from := p
	p = p.move(Refunding, now)
	p.Given = p.given().add(parts, 1)
	p.Refunded += n.Amount.Minor
	p = p.written(from, now)
	claim := p.claim(n.ID, UserDispute, ClaimPending, n.Amount, parts.USD, PartyMerchant, now)
	claim.Reason, claim.Silent, claim.Parts, claim.Frozen, claim.Attempt = n.Reason, n.Simulated, parts, parts.held(), p.captured()
	claim.Call = RefundCall{State: Sending, Round: 1, Tries: 1, Sent: now.UnixMicro(), To: ClaimApproved}
	claim.DueAt = now.Add(callLease)
	change := Change{Transfers: moving(claim.transfer("freeze", ledger.RefundFreeze, now,
		ledger.Posting{Account: ledger.Available, Amount: -available},
		ledger.Posting{Account: ledger.Pending, Amount: -pending},
		ledger.Posting{Account: ledger.Reserve, Amount: -parts.Reserve}, // or it might be released meanwhile
		ledger.Posting{Account: ledger.Frozen, Amount: parts.held()}))}
	if !n.Simulated {
		var opened Event
		claim, opened = claim.event(ClaimOpened, p, now)
		change.Events = append(change.Events, opened)
	}
	p, refunded := p.event(PaymentRefunded, from.Status, now)
	opened := claim.Opened()
	refunded.Refund = &opened
	change.Events = append(change.Events, refunded)
	change.Payments, change.Claims = []Payment{p}, []Claim{claim}
	if parts.Net > 0 {
		change.Floors = []ledger.Floor{
			{Merchant: p.Merchant, Live: p.Live, Account: ledger.Available, Min: min(0, have[ledger.Available])},
			{Merchant: p.Merchant, Live: p.Live, Account: ledger.Pending, Min: min(owed, have[ledger.Pending]-pending)},
		}
	}
	return p, claim, change, nil
}

// checkRefund says why a refund is not possible.
func (p Payment) checkRefund(n NewRefund, left money.Amount) error {
	conflict := func(reason, message string) error {
		return &Error{Code: CodeConflictState, Message: message, Details: Details{From: p.Status, Action: "refund", Reason: reason}}
	}
	if _, ok := p.Status.After(Refunding); !ok {
		return conflict("", "only a completed payment can be refunded")
	}
	if p.OpenDispute != "" && !n.Simulated {
		return conflict("open_dispute", "the payment is disputed: a refund would pay the shopper twice. Answer claim "+p.OpenDispute+" or accept it")
	}
	if !left.IsPositive() {
		return conflict("fully_refunded", "nothing of the payment is left to refund")
	}
	if n.Amount.IsNegative() {
		return FieldError(CodeAmountInvalid, "amount", "the amount must be above zero")
	}
	if !n.Amount.IsZero() && n.Amount.Cmp(left) > 0 {
		return &Error{Code: CodeAmountAboveMaximum, Param: "amount", Message: "the amount must be at most what is left, " + left.String(),
			Details: Details{Limit: &LimitDetail{Min: money.New(1, left.Currency), Max: left}, BoundViolated: "max"}}
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

// share takes the first local minor units of the payment apart. The merchant's
// part rounds up.
func (p Payment) share(local int64) Parts {
	of := func(usd int64, r money.Rounding) int64 {
		return money.New(usd, money.USD).Fraction(local, p.Local.Minor, r).Minor
	}
	return Parts{
		USD: of(p.Amount.Minor, money.Down), Net: of(p.Net(), money.Up), Reserve: of(p.Reserve, money.Up),
		Provider: of(p.Fees.Provider, money.Down), Flat: of(p.Fees.Flat, money.Down), Network: of(p.Fees.Network, money.Down),
	}
}

// given is what all refunds that stand give back. Rows from before it was kept
// had none that failed.
func (p Payment) given() Parts {
	if p.Given == (Parts{}) {
		return p.share(p.Refunded)
	}
	return p.Given
}

// partsOf takes the next local minor units apart: the share of all that is
// refunded then, less what was given. So partial refunds add up to the whole
// exactly, also where one in between came to nothing.
func (p Payment) partsOf(local int64) Parts {
	next, given := p.share(p.Refunded+local), p.given()
	return Parts{
		USD: max(0, next.USD-given.USD), Net: max(0, next.Net-given.Net), Reserve: max(0, next.Reserve-given.Reserve),
		Provider: max(0, next.Provider-given.Provider), Flat: max(0, next.Flat-given.Flat), Network: max(0, next.Network-given.Network),
	}
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
// terminal (contract: Transaction statuses): the amounts tell.
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
	p.Given = p.given().add(c.Parts, -1)
	p.Refunded -= c.Local.Minor
	p = p.written(from, now)
	return p, Change{Payments: []Payment{p}, Transfers: moving(c.transfer("release", ledger.RefundRelease, now,
		ledger.Posting{Account: ledger.Frozen, Amount: -c.Parts.held()},
		ledger.Posting{Account: ledger.Available, Amount: c.Parts.Net},
		ledger.Posting{Account: ledger.Reserve, Amount: c.Parts.Reserve}))}
}
