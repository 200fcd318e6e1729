package payouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// ResolveWithdrawal is payments.Payments.Resolve for a withdrawal.
//
// Errors: store.ErrNotFound, conflict_state.
func (po *Payouts) ResolveWithdrawal(ctx context.Context, by audit.Actor, r base.Resolution) (w pay.Withdrawal, said pay.PayoutKind, err error) {
	if r.Reference != "" && r.Word == pay.WordNotPaid {
		return w, "", problem.Field(problem.InvalidRequest, "reference", referenceOnlyIfArrived)
	}
	if r.Amount != "" && r.Word != pay.WordReturned {
		return w, "", problem.Field(problem.InvalidRequest, "amount", amountOnlyIfReturned)
	}
	w, err = po.Store.Withdrawals().Any(ctx, r.ID)
	if err = cmp.Or(err, r.Fit()); err != nil {
		return w, "", err
	}
	part, err := cameBack(w, r.Amount)
	if err != nil {
		return w, "", err
	}
	if err := po.filed(ctx, w, r.Word); err != nil {
		return w, "", err
	}
	node, err := po.Store.Hold(ctx)
	if err != nil {
		return w, "", err
	}
	o := po.askPayout(ctx, w)
	if o.Kind == pay.PayoutUnknown && w.Payout.Accepted && r.Word == pay.WordNotPaid {
		o.Kind = pay.PayoutAccepted // an accepted payout stays accepted, even if the query gets no answer
	}
	if r.Word == pay.WordNotPaid && o.Kind == pay.PayoutHeld && w.Payout.Batch != "" && !r.Force {
		return w, o.Kind, &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(w.Status), Action: string(r.Word), Reason: pay.OtherwiseSaid},
			Reason: fileMayBePaid.With(w.Payout.Batch)}
	}
	if r.Word.ContradictsPayout(o) && !r.Force {
		return w, o.Kind, base.SaidOtherwise(string(o.Kind), w.Status, string(r.Word))
	}
	called := o.Kind != pay.PayoutPaid && o.Kind != pay.PayoutHeld // a held payout is paid by a person, not by a call
	if r.Word == pay.WordNotPaid && called && w.Open() && w.Payout.OnItsWay(node.At) {
		return w, o.Kind, base.CallOnItsWay(w.Status, string(r.Word))
	}
	resolved, err := base.Decide(func() (pay.Withdrawal, error) {
		read, err := po.Store.Withdrawals().Any(ctx, r.ID)
		if err != nil {
			return read, err
		}
		// That it covered settlements meanwhile does not matter to what comes back.
		same := r.Word == pay.WordReturned && read.Status == w.Status && read.Returns == w.Returns
		if read.Version != w.Version && !same {
			return read, base.ChangedMeanwhile(read.Status, string(r.Word))
		}
		if r.Reference != "" && r.Word != pay.WordReturned {
			read.Payout.BankRef = r.Reference
		}
		next, change, err := r.Word.ResolvePayout(read, o, pay.BankReturn{Part: part, Ref: r.Reference, Forced: r.Force}, po.TimeOf(read.Scope))
		if err == nil {
			err = po.provedAsIs(ctx, w)
		}
		if err != nil {
			return read, err
		}
		change.Audit = po.Noted(by, read.Scope, audit.WithdrawalResolved, read.ID, r.Note, r.ToldOf(string(o.Kind)))
		return next, po.Commit(ctx, change, view.Cause{RequestID: by.Request})
	})
	if err != nil {
		return w, o.Kind, err
	}
	return resolved, o.Kind, nil
}

// cameBack reads the part of a payout that came back, in the currency that arrived; zero for "".
//
// Errors: invalid_request.
func cameBack(w pay.Withdrawal, amount string) (money.Amount, error) {
	if amount == "" {
		return money.Amount{}, nil
	}
	part, err := money.Parse(amount, w.LeftToReturn().Currency)
	if err != nil || part.Minor <= 0 {
		return part, problem.Field(problem.InvalidRequest, "amount", amountNotReturned.With(w.LeftToReturn().Decimal(), w.LeftToReturn().Currency))
	}
	return part, nil
}

// filed refuses the operator's resolution of a withdrawal in a file that was not exported yet: the
// bank would still pay it, or cannot have paid it.
//
// Errors: conflict_state.
func (po *Payouts) filed(ctx context.Context, w pay.Withdrawal, word pay.Word) error {
	if w.Payout.Batch == "" || !w.Open() {
		return nil
	}
	b, err := po.Store.Batches().Get(ctx, w.Payout.Batch)
	if err != nil || b.Status == pay.BatchExported {
		return err
	}
	return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(w.Status), Action: string(word), Reason: "in_batch"},
		Reason: withdrawalInBatch.With(b.ID)}
}

// askPayout queries a withdrawal's payout provider. The outcome is unknown if there is no account
// to query, or if the wallet cannot be read.
func (po *Payouts) askPayout(ctx context.Context, w pay.Withdrawal) pay.PayoutOutcome {
	unknown := pay.PayoutOutcome{Kind: pay.PayoutUnknown}
	to, known := po.payer(w.Live, w.Payout.Provider)
	if w.Status != pay.WithdrawalProcessing || !known {
		return unknown
	}
	wallet, err := po.Store.Wallets().Get(ctx, w.Scope, w.Wallet)
	if err != nil {
		po.Log.WarnContext(ctx, "a withdrawal cannot be queried", "withdrawal", w.ID, "error", err)
		return unknown
	}
	request, err := po.payoutRequest(w, wallet)
	if err != nil {
		po.Log.WarnContext(ctx, "a withdrawal cannot be queried", "withdrawal", w.ID, "error", err)
		return unknown
	}
	return po.ask(provider.Looking(ctx), w.Payout.Provider, to, request)
}

// ToPay is a withdrawal with everything that is needed to pay it by hand.
type ToPay struct {
	pay.Withdrawal
	Wallet      pay.Wallet
	Destination string        // secret
	Hold        pay.Unpayable // why it must not be paid now; Payable if it may
}

// RevealWithdrawal reads a withdrawal with its destination, for the operator who pays it by hand.
// The audit log records that the operator saw it.
//
// Errors: store.ErrNotFound; conflict_state for a merchant that was erased with its wallets.
func (po *Payouts) RevealWithdrawal(ctx context.Context, by audit.Actor, id string) (ToPay, error) {
	w, err := po.Store.Withdrawals().Any(ctx, id)
	if err != nil {
		return ToPay{}, err
	}
	wallet, err := po.Store.Wallets().Get(ctx, w.Scope, w.Wallet)
	if err != nil {
		return ToPay{}, fmt.Errorf("wallet %s: %w", w.Wallet, err)
	}
	if wallet.Erased() {
		return ToPay{}, problem.Conflict(merchants.ReasonErased, walletErased)
	}
	account, err := po.Vault.Decrypt(wallet.Secret(), wallet.Encrypted)
	if err != nil {
		return ToPay{}, fmt.Errorf("destination of wallet %s: %w", wallet.ID, err)
	}
	hold, err := po.HoldByHand(ctx, w)
	if err != nil {
		return ToPay{}, err
	}
	if err := po.Store.Commit(ctx, pay.Change{Audit: po.Audited(by, w.Scope, audit.WalletRevealed, wallet.ID, map[string]string{"withdrawal": w.ID})}); err != nil {
		return ToPay{}, err
	}
	return ToPay{w, wallet, string(account), hold}, nil
}

// HoldByHand says why a person must not pay a withdrawal that is under way: it leaves in a file, payouts were stopped or the wallet was
// deleted since it was handed out, or it cannot be proved. Whoever pays by hand is the gate's last step.
func (po *Payouts) HoldByHand(ctx context.Context, w pay.Withdrawal) (pay.Unpayable, error) {
	if !w.Open() {
		return pay.Payable, nil
	}
	if err := po.provedAsIs(ctx, w); errors.Is(err, store.ErrNotProved) {
		return pay.WaitsProof, nil
	} else if err != nil {
		return pay.Payable, err
	}
	if w.Payout.Batch != "" {
		return inBatch, nil
	}
	p, err := po.gate(ctx, w, po.TimeOf(w.Scope))
	if err != nil || p.why != walletGone && p.why != pay.WaitsStopped && w.Status == pay.WithdrawalProcessing {
		return pay.Payable, err // the limits counted it when it was handed out
	}
	return p.why, nil
}

// Unpaid lists withdrawals that were sent and whose end is not known, oldest first, for the
// operator.
func (po *Payouts) Unpaid(ctx context.Context, limit int) ([]pay.Withdrawal, error) {
	return po.Store.Withdrawals().Sent(ctx, "", limit)
}
