package pay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// AdjustmentPrefix begins an adjustment's id.
const AdjustmentPrefix = "adj_"

// AdjustmentStatus is the state of an adjustment (ADJ-4).
type AdjustmentStatus string

// States of an adjustment.
const (
	AdjustmentPending  AdjustmentStatus = "pending"  // it waits for a second operator
	AdjustmentApplied  AdjustmentStatus = "applied"  // its money has moved
	AdjustmentRejected AdjustmentStatus = "rejected" // an operator decided against it: nothing has moved
)

// AdjustmentStatuses lists the states.
func AdjustmentStatuses() []AdjustmentStatus {
	return []AdjustmentStatus{AdjustmentPending, AdjustmentApplied, AdjustmentRejected}
}

// AdjustmentReason says why an operator books an adjustment. The merchant reads it (ADJ-2).
type AdjustmentReason string

// The reasons.
const (
	ForGoodwill       AdjustmentReason = "goodwill"                // the operator gives the merchant money
	ForFees           AdjustmentReason = "fee_correction"          // a fee was too high or too low
	ForProviderRefund AdjustmentReason = "provider_refund"         // the provider gave a payment back without our asking
	ForLateCash       AdjustmentReason = "late_cash_returned"      // money that came late was given back to the shopper by hand
	ForPartOfPayout   AdjustmentReason = "payout_returned_in_part" // the bank sent a part of a payout back
	ForWrongAmount    AdjustmentReason = "wrong_amount"            // a shopper paid another amount than was asked for
	ForWriteOff       AdjustmentReason = "write_off"               // the operator gives up what the merchant owes
	ForDebtPaid       AdjustmentReason = "debt_paid_in"            // the merchant paid what it owed from outside
	ForReversal       AdjustmentReason = "reversal"                // another adjustment is taken back; only Reverse gives it
	ForOther          AdjustmentReason = "other"                   // the note says it
)

// reasonSigns has each reason with the sign of its amounts: 1 for credits, -1 for debits, 0 for both.
var reasonSigns = []struct {
	reason AdjustmentReason
	sign   int64
}{
	{ForGoodwill, 1}, {ForFees, 0}, {ForProviderRefund, -1}, {ForLateCash, -1}, {ForPartOfPayout, 1},
	{ForWrongAmount, 0}, {ForWriteOff, 1}, {ForDebtPaid, 1}, {ForReversal, 0}, {ForOther, 0},
}

// AdjustmentReasons lists the reasons that an operator may give.
func AdjustmentReasons() []AdjustmentReason {
	var list []AdjustmentReason
	for _, r := range reasonSigns {
		if r.reason != ForReversal {
			list = append(list, r.reason)
		}
	}
	return list
}

// MaxAdjustment is the largest amount of an adjustment, in USD cents, with either sign.
const MaxAdjustment = 10_000_000_00

// Limits of what an operator writes, in characters.
const (
	MaxNote      = 1000
	MaxReference = 200 // the name that a bank, a provider or the operator gave it
	MaxAbout     = 200
)

// FitNote returns an error if an operator's note is too long.
//
// Errors: invalid_request.
func FitNote(note string) error {
	return problem.Fit(problem.Text{Param: "note", Text: note, Most: MaxNote})
}

// Adjustment is money that an operator books to a merchant's available balance, or, below zero, from it, for what no
// other transfer says. It is never edited: another one takes it back.
type Adjustment struct {
	ID              string // adj_…, made from the merchant, the environment and the reference, see AdjustmentID
	merchants.Scope        // without a shop: like the balance, it is the merchant's
	Version         int64
	Status          AdjustmentStatus
	Amount          int64 // USD cents; above zero the merchant gets it
	Reason          AdjustmentReason
	Note            string // why, for people; the merchant reads it
	About           string // id of the payment, claim, withdrawal, settlement or notice that it is about, or ""
	Reference       string // the operator's own name of it: each is booked once
	Reverses        string // the adjustment that it takes back, or ""
	Negative        bool   // it may take the available balance below zero
	MadeBy          string // the operator who made it
	DecidedBy       string // the operator who approved or rejected it, or ""
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// AdjustmentID is the id of the adjustment with an operator's reference. emptied is when the sandbox was last emptied, zero if never:
// an adjustment after that differs from the one that is gone, whose transfer is sealed.
func AdjustmentID(scope merchants.Scope, emptied time.Time, reference string) string {
	return derivedID(AdjustmentPrefix, emptied, scope.Merchant, string(scope.Environment()), reference)
}

// ReversalReference is the reference of the adjustment that takes another one back, after some that were rejected: at most one is not.
func ReversalReference(id string, rejected int) string {
	if rejected == 0 {
		return "reversal of " + id
	}
	return fmt.Sprintf("reversal of %s, after %d rejected", id, rejected)
}

// AdjustmentTransfer is the id of the transfer of an adjustment.
func AdjustmentTransfer(id string) string {
	return transferID(strings.TrimPrefix(id, AdjustmentPrefix), "adjustment")
}

// AdjustmentOf returns the adjustment that a transfer belongs to.
func AdjustmentOf(t ledger.Transfer) (id string, ok bool) {
	if t.Kind != ledger.Adjusted {
		return "", false
	}
	suffix, _, ok := strings.Cut(strings.TrimPrefix(t.ID, ledger.TransferPrefix), "-")
	return AdjustmentPrefix + suffix, ok
}

// Same reports whether two adjustments say the same, whoever made them.
func (adj Adjustment) Same(b Adjustment) bool {
	return adj.Scope == b.Scope && adj.Amount == b.Amount && adj.Reason == b.Reason && adj.Note == b.Note && adj.About == b.About &&
		adj.Reference == b.Reference && adj.Reverses == b.Reverses && adj.Negative == b.Negative
}

// check returns an error for an adjustment that says too little, or what its reason does not.
//
// Errors: missing_field, invalid_request, amount_invalid.
func (adj Adjustment) check() error {
	at := slices.IndexFunc(reasonSigns, func(r struct {
		reason AdjustmentReason
		sign   int64
	}) bool {
		return r.reason == adj.Reason
	})
	switch {
	case at < 0 || (adj.Reason == ForReversal) != (adj.Reverses != ""):
		return problem.Field(problem.InvalidRequest, "reason", unknownAdjustmentReason.With(joined(AdjustmentReasons())))
	case adj.Amount == 0 || adj.Amount > MaxAdjustment || adj.Amount < -MaxAdjustment:
		return problem.Field(problem.AmountInvalid, "amount", adjustmentAmountWrong.With(money.New(MaxAdjustment, money.USD)))
	case adj.Amount*reasonSigns[at].sign < 0 && adj.Amount > 0:
		return problem.Field(problem.AmountInvalid, "amount", adjustmentMustTake.With(adj.Reason))
	case adj.Amount*reasonSigns[at].sign < 0:
		return problem.Field(problem.AmountInvalid, "amount", adjustmentMustGive.With(adj.Reason))
	case strings.TrimSpace(adj.Note) == "":
		return problem.Field(problem.MissingField, "note", adjustmentNeedsNote)
	case strings.TrimSpace(adj.Reference) == "":
		return problem.Field(problem.MissingField, "reference", adjustmentNeedsReference)
	case adj.Negative && adj.Amount > 0:
		return problem.Field(problem.InvalidRequest, "allowNegative", adjustmentNeedsNoLeave)
	}
	return nil
}

func joined[T ~string](list []T) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return b.String()
}

// Make opens an adjustment, which has its id already. One of more than above, in USD cents, waits for a second operator; zero means that
// none does. Any other is applied. have is the merchant's balances. An adjustment that was rejected before may be made again if it
// is the same.
//
// Errors: missing_field, invalid_request, amount_invalid, balance_insufficient.
func (adj Adjustment) Make(above int64, have ledger.Balances, shops []merchants.Shop, now time.Time) (Adjustment, Change, error) {
	if err := adj.check(); err != nil {
		return adj, Change{}, err
	}
	adj.CreatedAt, adj.DecidedBy = now, ""
	if have := have[ledger.Available]; adj.exceeds(have) {
		return adj, Change{}, problem.Beyond("amount", adjustmentBeyondBalance, -adj.Amount, have)
	}
	if above != 0 && max(adj.Amount, -adj.Amount) > above {
		return adj.move(AdjustmentPending, now)
	}
	return adj.apply(shops, now)
}

// Approve applies an adjustment that waits for a second operator.
//
// Errors: conflict_state if it does not wait, or, with the reason same_operator, for the operator who made it;
// balance_insufficient.
func (adj Adjustment) Approve(operator string, have ledger.Balances, shops []merchants.Shop, now time.Time) (Adjustment, Change, error) {
	if adj.Status != AdjustmentPending {
		return adj, Change{}, adj.conflict("approve", adjustmentNotToApprove)
	}
	if samePerson(operator, adj.MadeBy) {
		err := adj.conflict("approve", adjustmentBySamePerson)
		err.Details.Reason = "same_operator"
		return adj, Change{}, err
	}
	if have := have[ledger.Available]; adj.exceeds(have) {
		return adj, Change{}, problem.Beyond("amount", adjustmentNowBeyondBalance, -adj.Amount, have)
	}
	adj.DecidedBy = operator
	return adj.apply(shops, now)
}

// exceeds reports whether the adjustment takes more than is available, without leave to do so.
func (adj Adjustment) exceeds(available int64) bool {
	return adj.Amount < 0 && available+adj.Amount < 0 && !adj.Negative
}

// Reject ends an adjustment that waits for a second operator. Whoever made it may do that too.
//
// Errors: conflict_state.
func (adj Adjustment) Reject(operator string, now time.Time) (Adjustment, Change, error) {
	if adj.Status != AdjustmentPending {
		return adj, Change{}, adj.conflict("reject", adjustmentNotToReject)
	}
	adj.DecidedBy = operator
	return adj.move(AdjustmentRejected, now)
}

// Reversal is the adjustment that takes an applied one back: its exact opposite. It is made as any other. rejected is how many others
// were rejected.
//
// Errors: conflict_state if it is not applied, or is a reversal itself.
func (adj Adjustment) Reversal(note, operator string, negative bool, rejected int) (Adjustment, error) {
	switch {
	case adj.Status != AdjustmentApplied:
		return adj, adj.conflict("reverse", adjustmentNotApplied)
	case adj.Reverses != "":
		return adj, adj.conflict("reverse", adjustmentIsReversal)
	}
	return Adjustment{
		Scope: adj.Scope, Amount: -adj.Amount, Reason: ForReversal, Note: note, About: adj.About, Reference: ReversalReference(adj.ID, rejected),
		Reverses: adj.ID, Negative: negative, MadeBy: operator,
	}, nil
}

// apply moves the money and makes an event for each of the merchant's shops.
func (adj Adjustment) apply(shops []merchants.Shop, now time.Time) (Adjustment, Change, error) {
	adj, change, err := adj.move(AdjustmentApplied, now)
	change.Transfers = []ledger.Transfer{{
		ID: AdjustmentTransfer(adj.ID), Merchant: adj.Merchant, Live: adj.Live, Kind: ledger.Adjusted, Local: money.New(adj.Amount, money.USD), At: now,
		Postings: []ledger.Posting{{Account: ledger.Available, Amount: adj.Amount}, {Account: ledger.Adjustments, Amount: -adj.Amount}},
	}}
	if adj.Amount < 0 && !adj.Negative {
		change.Floors = []ledger.Floor{{Merchant: adj.Merchant, Live: adj.Live, Account: ledger.Available}}
	}
	suffix, snapshot := strings.TrimPrefix(adj.ID, AdjustmentPrefix), adj
	for _, shop := range shops {
		change.Events = append(change.Events, Event{
			ID:   webhooks.EventID(suffix, 1) + "-" + strings.TrimPrefix(shop.ID, merchants.ShopPrefix),
			Type: webhooks.BalanceAdjusted, Scope: merchants.Scope{Merchant: adj.Merchant, Shop: shop.ID, Live: adj.Live},
			Object: adj.ID, Sequence: 1, At: now, Adjustment: &snapshot,
		})
	}
	return adj, change, err
}

func (adj Adjustment) move(to AdjustmentStatus, now time.Time) (Adjustment, Change, error) {
	adj.Version++
	adj.Status, adj.UpdatedAt = to, now
	return adj, Change{Adjustments: []Adjustment{adj}}, nil
}

// conflict is the error of an action that the status does not allow. message has a place for it.
func (adj Adjustment) conflict(action string, why problem.Of1) *problem.Error {
	return &problem.Error{Code: problem.ConflictState, Reason: why.With(adj.Status), Details: problem.Details{From: string(adj.Status), Action: action}}
}

// samePerson reports whether two operators are one person: their names do not differ, or only in letter case, in spaces around
// them, in the machine or in the system account.
func samePerson(one, other string) bool { return strings.EqualFold(person(one), person(other)) }

// person returns who an operator is, without the machine and the system account: "ana" for "ana as
// root@host".
func person(operator string) string {
	name, _, _ := strings.Cut(strings.ToLower(operator), "@")
	name, _, _ = strings.Cut(name, " as ")
	return strings.TrimSpace(name)
}
