package pay

import (
	"slices"
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
	back := p.giveBack(p.Refunded, p.Refunded+amount.Minor)

	available := min(back.net, max(0, have[ledger.Available]))
	pending := back.net - available
	if pending > have[ledger.Pending] {
		return Payment{}, Change{}, NewError(CodeBalanceInsufficient, "the refund is more than the balance")
	}

	from := p
	p = p.move(Refunding, now)
	p.Refunded += amount.Minor
	p = p.written(from, now)
	claim := p.claim(claimID, UserDispute, ClaimApproved, amount, back.usd, reason, "merchant", now)
	claim.Resolved = now
	p, refunded := p.event(PaymentRefunded, from.Status, now)
	refunded.Refund = &Refund{claim}
	change := Change{
		Payments: []Payment{p}, Claims: []Claim{claim}, Events: []Event{refunded},
		Transfers: back.transfers(claim, available, pending, now),
	}
	if back.net > 0 {
		change.Floors = []ledger.Floor{
			{Merchant: p.Merchant, Live: p.Live, Account: ledger.Available, Min: min(0, have[ledger.Available])},
			{Merchant: p.Merchant, Live: p.Live, Account: ledger.Pending},
		}
	}
	return p, change, nil
}

// portion is a part of a capture on its way back, in USD cents, by who had it.
type portion struct {
	usd, net, reserve                 int64
	platform, provider, flat, network int64
}

// giveBack takes apart what the local minor units from before to after are.
// The merchant's part rounds up; what is over a cent is the platform's.
func (p Payment) giveBack(before, after int64) portion {
	back := portion{
		usd:      p.refundedUSD(after) - p.refundedUSD(before),
		net:      p.part(p.Net(), before, after, money.Up),
		reserve:  p.part(p.Reserve, before, after, money.Up),
		provider: p.part(p.Fees.Provider, before, after, money.Down),
		flat:     p.part(p.Fees.Flat, before, after, money.Down),
		network:  p.part(p.Fees.Network, before, after, money.Down),
	}
	back.platform = back.usd - back.net - back.reserve - back.provider - back.flat - back.network
	return back
}

// transfers freezes the merchant's part and pays all parts to the shopper. A
// refund of less than a cent may move nothing.
func (back portion) transfers(claim Claim, available, pending int64, now time.Time) []ledger.Transfer {
	transfer := func(step string, kind ledger.Kind, postings []ledger.Posting) ledger.Transfer {
		return ledger.Transfer{
			ID: "tr_" + claim.suffix() + "-" + step, Merchant: claim.Merchant, Live: claim.Live, Kind: kind,
			Payment: claim.Payment, Claim: claim.ID, Local: claim.Local, At: now, Postings: postings,
		}
	}
	freeze := transfer("freeze", ledger.RefundFreeze, ledger.Post(
		ledger.Posting{Account: ledger.Available, Amount: -available},
		ledger.Posting{Account: ledger.Pending, Amount: -pending},
		ledger.Posting{Account: ledger.Frozen, Amount: back.net},
	))
	paid := transfer("refund", ledger.RefundPaid, ledger.Post(
		ledger.Posting{Account: ledger.Frozen, Amount: -back.net},
		ledger.Posting{Account: ledger.Reserve, Amount: -back.reserve},
		ledger.Posting{Account: ledger.PlatformFees, Amount: -back.platform},
		ledger.Posting{Account: ledger.ProviderFees, Amount: -back.provider},
		ledger.Posting{Account: ledger.FlatFees, Amount: -back.flat},
		ledger.Posting{Account: ledger.NetworkFees, Amount: -back.network},
		ledger.Posting{Account: ledger.Refunds, Amount: back.usd},
	))
	return slices.DeleteFunc([]ledger.Transfer{freeze, paid}, func(t ledger.Transfer) bool { return len(t.Postings) == 0 })
}

func (c Claim) suffix() string { return strings.TrimPrefix(c.ID, ClaimPrefix) }
