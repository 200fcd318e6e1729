package pay

import (
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// refundedUSD is the USD value of the first local minor units of the payment.
// Parts of it are differences of two such values, so that partial refunds add
// up to the whole exactly.
func (p Payment) refundedUSD(local int64) int64 {
	return p.Amount.Fraction(local, p.Local.Minor, money.Down).Minor
}

// part is what the local minor units from a to b are of a USD amount.
func (p Payment) part(usd, a, b int64, r money.Rounding) int64 {
	of := func(n int64) int64 { return money.New(usd, money.USD).Fraction(n, p.Local.Minor, r).Minor }
	return of(b) - of(a)
}

// Refund gives an amount back to the shopper (local currency; zero means all
// that is left). The merchant gives back what it got of the amount, drawn from
// available and then from pending; fees and reserve give back their part.
// The claim is approved at once: who calls has the provider's word.
//
// Errors: conflict_state when the payment was never completed,
// invalid_request for an amount above what is left, balance_insufficient.
func (p Payment) Refund(amount money.Amount, reason, claimID string, have ledger.Balances, now time.Time) (Payment, Change, error) {
	if _, ok := p.Status.After(Refunding); !ok {
		return Payment{}, Change{}, &Error{Code: CodeConflictState,
			Message: "only a completed payment can be refunded", Details: Details{From: p.Status, Action: string(SimulateRefunded)}}
	}
	left := p.Refundable()
	if amount.IsZero() {
		amount = left
	}
	if amount.Currency != left.Currency || !amount.IsPositive() || amount.Cmp(left) > 0 {
		return Payment{}, Change{}, FieldError(CodeInvalidRequest, "amount",
			"the amount must be above zero and at most what is left, "+left.String())
	}
	before, after := p.Refunded, p.Refunded+amount.Minor
	usd := p.refundedUSD(after) - p.refundedUSD(before)
	// The merchant's part rounds up, what is over a cent is the platform's.
	net := p.part(p.Net(), before, after, money.Up)
	reserve := p.part(p.Reserve, before, after, money.Up)
	provider := p.part(p.Fees.Provider, before, after, money.Down)
	flat := p.part(p.Fees.Flat, before, after, money.Down)
	network := p.part(p.Fees.Network, before, after, money.Down)
	platform := usd - net - reserve - provider - flat - network

	available := min(net, max(0, have[ledger.Available]))
	pending := net - available
	if pending > have[ledger.Pending] {
		return Payment{}, Change{}, NewError(CodeBalanceInsufficient, "the refund is more than the balance")
	}

	from := p
	p = p.move(Refunding, now)
	p.Refunded = after
	p = p.written(from, now)
	claim := p.claim(claimID, UserDispute, ClaimApproved, amount, usd, reason, "merchant", now)
	claim.Resolved = now
	p, refunded := p.event(PaymentRefunded, from.Status, now)
	refunded.Refund = &Refund{claim}
	freeze := ledger.Transfer{
		ID: "tr_" + claim.suffix() + "-freeze", Merchant: p.Merchant, Live: p.Live,
		Kind: ledger.RefundFreeze, Payment: p.ID, Claim: claim.ID, Local: amount, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Available, Amount: -available},
			ledger.Posting{Account: ledger.Pending, Amount: -pending},
			ledger.Posting{Account: ledger.Frozen, Amount: net},
		),
	}
	paid := ledger.Transfer{
		ID: "tr_" + claim.suffix() + "-refund", Merchant: p.Merchant, Live: p.Live,
		Kind: ledger.RefundPaid, Payment: p.ID, Claim: claim.ID, Local: amount, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Frozen, Amount: -net},
			ledger.Posting{Account: ledger.Reserve, Amount: -reserve},
			ledger.Posting{Account: ledger.PlatformFees, Amount: -platform},
			ledger.Posting{Account: ledger.ProviderFees, Amount: -provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: -flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: -network},
			ledger.Posting{Account: ledger.Refunds, Amount: usd},
		),
	}
	change := Change{Payments: []Payment{p}, Claims: []Claim{claim}, Events: []Event{refunded}}
	// A refund of a cent or less may move nothing of the merchant's.
	for _, t := range []ledger.Transfer{freeze, paid} {
		if len(t.Postings) > 0 {
			change.Transfers = append(change.Transfers, t)
		}
	}
	if net > 0 {
		change.Floors = []ledger.Floor{
			{Merchant: p.Merchant, Live: p.Live, Account: ledger.Available, Min: min(0, have[ledger.Available])},
			{Merchant: p.Merchant, Live: p.Live, Account: ledger.Pending},
		}
	}
	return p, change, nil
}

func (c Claim) suffix() string { return strings.TrimPrefix(c.ID, ClaimPrefix) }
