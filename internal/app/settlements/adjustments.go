package settlements

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Adjustments are what operators book by hand to merchants' balances (ADJ-1).
type Adjustments struct{ *base.Base }

// NewAdjustments returns the Adjustments of a service.
func NewAdjustments(b *base.Base) *Adjustments { return &Adjustments{b} }

// NewAdjustment is an operator's request for an adjustment.
type NewAdjustment struct {
	Merchant  string
	Live      bool
	Amount    money.Amount // USD; below zero: from the merchant
	Account   string       // available, which "" means too: no other account can be adjusted
	Reason    pay.AdjustmentReason
	Note      string
	About     string // id of the payment, claim, withdrawal, settlement or notification that it is about, or ""
	Reference string // the operator's own name of it: each is booked once
	Negative  bool   // it may take the available balance below zero
}

// AdjustmentAmount reads the amount of an adjustment: USD with a sign, such as "-12.50".
//
// Errors: amount_invalid.
func AdjustmentAmount(text string) (money.Amount, error) {
	amount, err := money.Parse(text, money.USD)
	if err != nil {
		return amount, problem.Field(problem.AmountInvalid, "amount", AdjustmentNotUSD)
	}
	return amount, nil
}

// Make books an adjustment, or keeps it for a second operator if its amount is above the limit for approvals (ApprovalAbove in
// pay.PayoutLimits) of the merchant or of all merchants. A repeat returns what the first made.
//
// Errors: merchant_not_found; those of pay.Adjustment.Make; invalid_request for an object that is not the merchant's;
// conflict_state if the reference was used for another adjustment, though it was rejected.
func (ad *Adjustments) Make(ctx context.Context, by audit.Actor, n NewAdjustment) (pay.Adjustment, error) {
	scope := merchants.Scope{Merchant: n.Merchant, Live: n.Live}
	if n.Account != "" && n.Account != string(ledger.Available) {
		return pay.Adjustment{}, problem.Field(problem.InvalidRequest, "account",
			accountNotAvailable)
	}
	if n.Amount.Currency != money.USD {
		return pay.Adjustment{}, problem.Field(problem.InvalidRequest, "amount", adjustmentNotInUSD)
	}
	if _, err := ad.Store.Merchants().Get(ctx, n.Merchant); errors.Is(err, store.ErrNotFound) {
		return pay.Adjustment{}, problem.New(problem.MerchantNotFound, noMerchant)
	} else if err != nil {
		return pay.Adjustment{}, err
	}
	if err := ad.belongs(ctx, scope, n.About); err != nil {
		return pay.Adjustment{}, err
	}
	return ad.make(ctx, by, pay.Adjustment{
		Scope: scope, Amount: n.Amount.Minor, Reason: n.Reason, Note: n.Note, About: n.About, Reference: n.Reference, Negative: n.Negative, MadeBy: by.ID,
	})
}

// make books what is wanted, once.
func (ad *Adjustments) make(ctx context.Context, by audit.Actor, wanted pay.Adjustment) (made pay.Adjustment, err error) {
	about := problem.Text{Param: "about", Text: wanted.About, Most: pay.MaxAbout}
	reference := problem.Text{Param: "reference", Text: wanted.Reference, Most: pay.MaxReference}
	if err := cmp.Or(pay.FitNote(wanted.Note), problem.Fit(about, reference), ad.MayMoveMoney()); err != nil {
		return made, err
	}
	err = base.Again(func() error {
		wanted.Version = 0
		switch known, err := ad.of(ctx, wanted.Scope, wanted.Reference); {
		case errors.Is(err, store.ErrNotFound):
			wanted.ID = known.ID
		case err != nil:
			return err
		case !known.Same(wanted) || known.Status == pay.AdjustmentRejected && wanted.Reverses != "":
			return referenceKnown(known)
		case known.Status != pay.AdjustmentRejected:
			made = known
			return nil
		default: // whoever saw the rejected one has seen this one
			wanted.ID, wanted.Version = known.ID, known.Version
		}
		above, err := ad.approvalAbove(ctx, by, wanted.Scope)
		if err != nil {
			return err
		}
		return ad.decide(ctx, wanted.Scope, func(have ledger.Balances, shops []merchants.Shop) (pay.Change, error) {
			next, change, err := wanted.Make(above, have, shops, ad.TimeOf(wanted.Scope))
			made = next
			change.Audit = ad.noted(by, next, audit.AdjustmentMade, next.Note)
			return change, err
		})
	})
	return made, err
}

// of reads the adjustment with a reference. If there is none, the result has the id that it will have.
//
// Errors: ErrNotFound; service_unavailable while the sandbox is being emptied.
func (ad *Adjustments) of(ctx context.Context, scope merchants.Scope, reference string) (pay.Adjustment, error) {
	var emptied time.Time
	if !scope.Live {
		switch r, err := ad.Store.Resets().Get(ctx, scope.Merchant); {
		case err == nil && r.Running():
			return pay.Adjustment{}, base.ErrEmptying
		case err == nil:
			emptied = r.DoneAt
		case !errors.Is(err, store.ErrNotFound):
			return pay.Adjustment{}, err
		}
	}
	id := pay.AdjustmentID(scope, emptied, reference)
	a, err := ad.Store.Adjustments().Any(ctx, id)
	a.ID = id
	return a, err
}

// referenceKnown is the error of an adjustment whose reference is of another one.
func referenceKnown(known pay.Adjustment) error {
	err := &problem.Error{Code: problem.ConflictState, Param: "reference", Details: problem.Details{From: string(known.Status), Action: "adjust"},
		Reason: referenceTaken.With(known.Reference, known.ID)}
	if known.Status == pay.AdjustmentRejected {
		err.Reason = referenceOfRejected.With(known.Reference, known.ID)
	}
	return err
}

// decide reads what a decision about a merchant's balance needs, and commits it.
func (ad *Adjustments) decide(ctx context.Context, scope merchants.Scope, decide func(ledger.Balances, []merchants.Shop) (pay.Change, error)) error {
	have, err := ad.Store.Books().Balances(ctx, scope)
	if err != nil {
		return err
	}
	shops, err := ad.Store.Merchants().Shops(ctx, scope.Merchant)
	if err != nil {
		return err
	}
	change, err := decide(have, shops)
	if err != nil {
		return err
	}
	err = ad.Commit(ctx, change, view.Cause{})
	if errors.Is(err, store.ErrInsufficient) { // others took it meanwhile
		return problem.Field(problem.BalanceInsufficient, "amount", beyondAvailable)
	}
	return err
}

// noted is the audit entry of an act on an adjustment.
func (ad *Adjustments) noted(by audit.Actor, a pay.Adjustment, act audit.Act, note string) []audit.Entry {
	return ad.Noted(by, a.Scope, act, a.ID, note, map[string]string{
		"amount": money.New(a.Amount, money.USD).String(), "reason": string(a.Reason), "about": a.About, "reference": a.Reference, "status": string(a.Status), "reverses": a.Reverses,
	})
}

// everyAmount is the limit above which every adjustment is.
const everyAmount = -1

// approvalAbove is the amount, in USD cents, above which a second operator must approve; zero for none.
//
// Errors: forbidden for a command without a token, if every adjustment needs two persons.
func (ad *Adjustments) approvalAbove(ctx context.Context, by audit.Actor, scope merchants.Scope) (above int64, err error) {
	if required, err := ad.Dual.Required(ctx, operators.Adjustments); err != nil || required {
		return everyAmount, cmp.Or(err, ad.Dual.Known(ctx, by, operators.Adjustments))
	}
	list, err := ad.Store.Withdrawals().Controls(ctx, scope.Merchant, scope.Live)
	for _, c := range list {
		if c.ApprovalAbove > 0 && (above == 0 || c.ApprovalAbove < above) {
			above = c.ApprovalAbove
		}
	}
	return above, err
}

// belongs reports whether the object that an adjustment is about is the merchant's, in its environment.
//
// Errors: invalid_request.
func (ad *Adjustments) belongs(ctx context.Context, scope merchants.Scope, id string) error {
	var of merchants.Scope
	var err error
	switch {
	case id == "":
		return nil
	case strings.HasPrefix(id, pay.PaymentPrefix):
		var p pay.Payment
		p, err = ad.Store.Payments().Any(ctx, id)
		of = p.Scope
	case strings.HasPrefix(id, pay.ClaimPrefix):
		var c pay.Claim
		c, err = ad.Store.Claims().Any(ctx, id)
		of = c.Scope
	case strings.HasPrefix(id, pay.WithdrawalPrefix):
		var w pay.Withdrawal
		w, err = ad.Store.Withdrawals().Any(ctx, id)
		of = w.Scope
	case strings.HasPrefix(id, pay.SettlementPrefix):
		var s pay.Settlement
		s, err = ad.Store.Settlements().Any(ctx, id)
		of = s.Scope
	default: // the notification of a provider
		var n pay.KeptNotice
		if n, err = ad.Store.Notices().Get(ctx, id); err == nil && n.Payment != "" && n.Payment != id {
			return ad.belongs(ctx, scope, n.Payment)
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil || of.Merchant != scope.Merchant || of.Live != scope.Live {
		return problem.Field(problem.InvalidRequest, "about",
			aboutUnknown)
	}
	return nil
}

// Approve applies an adjustment that waits for a second operator.
//
// Errors: not_found; those of pay.Adjustment.Approve.
func (ad *Adjustments) Approve(ctx context.Context, by audit.Actor, id string) (next pay.Adjustment, err error) {
	if err := ad.MayMoveMoney(); err != nil {
		return next, err
	}
	err = base.Again(func() error {
		a, err := ad.Any(ctx, id)
		if err != nil {
			return err
		}
		if err := ad.Dual.Known(ctx, by, operators.Adjustments); err != nil {
			return err
		}
		if err := base.TwoPersons(ctx, ad.Base, by.ID, a.MadeBy); err != nil {
			return err
		}
		return ad.decide(ctx, a.Scope, func(have ledger.Balances, shops []merchants.Shop) (pay.Change, error) {
			applied, change, err := a.Approve(by.ID, have, shops, ad.TimeOf(a.Scope))
			next = applied
			change.Audit = ad.noted(by, applied, audit.AdjustmentApproved, "")
			return change, err
		})
	})
	return next, err
}

// Reject ends an adjustment that waits for a second operator. note says why.
//
// Errors: not_found, missing_field, conflict_state.
func (ad *Adjustments) Reject(ctx context.Context, by audit.Actor, id, note string) (next pay.Adjustment, err error) {
	if strings.TrimSpace(note) == "" {
		return next, problem.Field(problem.MissingField, "note", noteRequired)
	}
	if err := pay.FitNote(note); err != nil {
		return next, err
	}
	err = base.Again(func() error {
		a, err := ad.Any(ctx, id)
		if err != nil {
			return err
		}
		rejected, change, err := a.Reject(by.ID, ad.TimeOf(a.Scope))
		if err != nil {
			return err
		}
		next = rejected
		change.Audit = ad.noted(by, rejected, audit.AdjustmentRejected, note)
		return ad.Store.Commit(ctx, change)
	})
	return next, err
}

// Reverse takes an applied adjustment back, by another one that names it. A repeat returns what the first made.
//
// Errors: not_found; those of pay.Adjustment.Reversal and Make.
func (ad *Adjustments) Reverse(ctx context.Context, by audit.Actor, id, note string, negative bool) (pay.Adjustment, error) {
	a, err := ad.Any(ctx, id)
	if err != nil {
		return a, err
	}
	_, rejected, err := ad.reversal(ctx, a)
	if err != nil {
		return a, err
	}
	reversal, err := a.Reversal(note, by.ID, negative, rejected)
	if err != nil {
		return a, err
	}
	return ad.make(ctx, by, reversal)
}

// Any reads an adjustment of any merchant.
//
// Errors: not_found.
func (ad *Adjustments) Any(ctx context.Context, id string) (pay.Adjustment, error) {
	a, err := ad.Store.Adjustments().Any(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return a, problem.New(problem.NotFound, noAdjustment)
	}
	return a, err
}

// Reversal returns the adjustment that takes another one back, or waits for a second operator to do so. Its id is "" if there
// is none, or all were rejected.
func (ad *Adjustments) Reversal(ctx context.Context, a pay.Adjustment) (pay.Adjustment, error) {
	r, _, err := ad.reversal(ctx, a)
	return r, err
}

// reversal is Reversal, with the number of those that were rejected.
func (ad *Adjustments) reversal(ctx context.Context, a pay.Adjustment) (r pay.Adjustment, rejected int, err error) {
	for ; ; rejected++ {
		r, err = ad.of(ctx, a.Scope, pay.ReversalReference(a.ID, rejected))
		if errors.Is(err, store.ErrNotFound) {
			return pay.Adjustment{}, rejected, nil
		}
		if err != nil || r.Status != pay.AdjustmentRejected {
			return r, rejected, err
		}
	}
}

// ReversedBy returns the id of the adjustment that takes another one back, "" if none was applied.
func (ad *Adjustments) ReversedBy(ctx context.Context, a pay.Adjustment) (string, error) {
	r, err := ad.Reversal(ctx, a)
	if err != nil || r.Status != pay.AdjustmentApplied {
		return "", err
	}
	return r.ID, nil
}

// List lists adjustments of every merchant or of one, of every status or of one, newest first.
func (ad *Adjustments) List(ctx context.Context, merchant string, status pay.AdjustmentStatus, limit int) ([]pay.Adjustment, error) {
	return ad.Store.Adjustments().All(ctx, merchant, status, "", limit)
}
