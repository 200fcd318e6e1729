package payouts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/bankfile"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Batches are the batches of withdrawals that leave in files for a bank.
type Batches struct {
	*base.Base
	payouts *Payouts
}

// NewBatches returns the Batches of a service.
func NewBatches(payouts *Payouts) *Batches {
	return &Batches{Base: payouts.Base, payouts: payouts}
}

// filer is the client of an account whose payouts leave in files.
//
// Errors: invalid_request for any other account.
func (ba *Batches) filer(account string) (payouts.Filer, bool, error) {
	d, _ := ba.payouts.providers.Connector(account)
	to, ok := d.Payouts.(payouts.Filer)
	if !ok {
		return nil, false, problem.Field(problem.InvalidRequest, "account", accountHasNoFiles.With(account))
	}
	return to, d.Account.Live, nil
}

// Accounts lists the accounts whose payouts leave in files, in order.
func (ba *Batches) Accounts() []string { return ba.payouts.providers.Filers() }

// Make gathers the withdrawals that wait at an account into batches, one for each network and
// currency, and writes their files. No file is exported yet.
//
// Errors: invalid_request for an account whose payouts do not leave in files.
func (ba *Batches) Make(ctx context.Context, by audit.Actor, account string) (made []pay.Batch, err error) {
	to, live, err := ba.filer(account)
	if err = cmp.Or(err, ba.MayMoveMoney()); err != nil {
		return nil, err
	}
	type kind struct{ network, currency string }
	stale := 0
	for after := ""; ; {
		from, again := after, false
		waiting, err := ba.Store.Batches().Batchable(ctx, account, after, pay.MostLines)
		if err != nil || len(waiting) == 0 {
			return made, err
		}
		after = waiting[len(waiting)-1].ID
		groups := map[kind][]payouts.FileLine{}
		of := map[kind][]pay.Withdrawal{}
		var order []kind
		for _, w := range waiting {
			if held, err := ba.held(ctx, w); err != nil {
				return made, err
			} else if held {
				continue
			}
			wallet, err := ba.payouts.proved(ctx, w)
			if again = errors.Is(err, base.ErrDoneByOthers) && stale < 10; again { // another commit changed the wallet, perhaps without effect: read all again
				stale++
				break
			}
			if err != nil {
				ba.payouts.unproved(ctx, w, err)
				continue
			}
			request, err := ba.payouts.payoutRequest(w, wallet)
			if err != nil {
				return made, err
			}
			if o := to.Send(ctx, request); o.Kind != pay.PayoutHeld { // the account's settings were changed
				if err := ba.payouts.resolvePayout(ctx, w, o); err != nil {
					return made, err
				}
				continue
			}
			k := kind{wallet.Network, wallet.Currency}
			if _, known := groups[k]; !known {
				order = append(order, k)
			}
			groups[k], of[k] = append(groups[k], payouts.FileLine{Request: request}), append(of[k], w)
		}
		if again {
			after = from
			continue
		}
		for _, k := range order {
			b, err := ba.makeBatch(ctx, by, to, pay.Batch{Account: account, Live: live, Network: k.network}, groups[k], of[k])
			if errors.Is(err, store.ErrStale) && stale < 10 { // one of them has changed meanwhile: read all again
				stale++
				after = from
				break
			}
			if err != nil {
				return made, err
			}
			made = append(made, b)
		}
	}
}

// makeBatch writes one batch. If two are made at once, each gets its own number.
func (ba *Batches) makeBatch(ctx context.Context, by audit.Actor, to payouts.Filer, b pay.Batch, lines []payouts.FileLine, of []pay.Withdrawal) (pay.Batch, error) {
	for range 10 {
		last, err := ba.Store.Batches().Last(ctx, b.Account)
		if err != nil {
			return b, err
		}
		now := ba.Now()
		b.ID, b.Version, b.Number, b.Status = ba.NewID(pay.BatchPrefix, now), 1, last+1, pay.BatchMade
		b.Layout, b.Lines, b.MadeBy, b.CreatedAt, b.UpdatedAt = to.Layout(), len(lines), by.ID, now, now
		b.Total = money.New(0, lines[0].Local.Currency)
		var change pay.Change
		for i := range lines {
			lines[i].LineReference, lines[i].Number = b.LineReference(i+1), b.LineNumber(i+1)
			b.Total = b.Total.Add(lines[i].Local)
			change.Withdrawals = append(change.Withdrawals, of[i].InBatch(b, lines[i].LineReference, ba.TimeOf(of[i].Scope)))
		}
		file, err := to.Write(b.ID[len(pay.BatchPrefix):], b.Number, now, lines)
		if err != nil {
			return b, problem.Field(problem.InvalidRequest, "account", layoutRefuses.With(err.Error()))
		}
		b.Checksum, b.File = checksum(file), ba.Vault.Encrypt(b.Secret(), file)
		change.Batches = []pay.Batch{b}
		change.Audit = ba.Audited(by, b.Scope(), audit.BatchCreated, b.ID, toldBatch(b))
		err = ba.Store.Commit(ctx, change)
		if errors.Is(err, store.ErrDuplicate) { // another batch has the number
			continue
		}
		return b, err
	}
	return b, store.ErrStale
}

// toldBatch is a batch in the audit log.
func toldBatch(b pay.Batch) map[string]string {
	return map[string]string{"account": b.Account, "lines": strconv.Itoa(b.Lines), "total": b.Total.String(), "checksum": b.Checksum, "status": string(b.Status)}
}

func checksum(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// List lists batches of payouts without their files, of one account or of all, newest first.
func (ba *Batches) List(ctx context.Context, account string, limit int) ([]pay.Batch, error) {
	return ba.Store.Batches().List(ctx, account, "", limit)
}

// Get reads a batch of payouts, with its withdrawals in the order of its lines.
//
// Errors: store.ErrNotFound.
func (ba *Batches) Get(ctx context.Context, id string) (pay.Batch, []pay.Withdrawal, error) {
	b, err := ba.Store.Batches().Get(ctx, id)
	if err != nil {
		return b, nil, fmt.Errorf("batch %s: %w", id, err)
	}
	of, err := ba.Store.Batches().Batched(ctx, id)
	return b, of, err
}

// Approve allows the export of a batch's file. The operator must not be the one who made it.
//
// Errors: store.ErrNotFound, conflict_state.
func (ba *Batches) Approve(ctx context.Context, by audit.Actor, id string) (pay.Batch, error) {
	return ba.moveBatch(ctx, by, id, audit.BatchAgreed, func(b pay.Batch, _ []pay.Withdrawal) (pay.Batch, pay.Change, error) {
		if err := ba.Dual.Known(ctx, by, operators.Payouts); err != nil {
			return b, pay.Change{}, err
		}
		if err := base.TwoPersons(ctx, ba.Base, by.ID, b.MadeBy); err != nil {
			return b, pay.Change{}, err
		}
		return b.Approve(by.ID, ba.Now())
	})
}

// Dissolve frees a batch's payouts if its file was never exported: they wait for another batch.
//
// Errors: store.ErrNotFound, conflict_state.
func (ba *Batches) Dissolve(ctx context.Context, by audit.Actor, id string) (pay.Batch, error) {
	return ba.moveBatch(ctx, by, id, audit.BatchGivenUp, func(b pay.Batch, of []pay.Withdrawal) (pay.Batch, pay.Change, error) {
		return b.Dissolve(of, ba.Now())
	})
}

// held reports whether the gate keeps a withdrawal out of a file. One whose wallet was deleted fails: nothing has left.
func (ba *Batches) held(ctx context.Context, w pay.Withdrawal) (bool, error) {
	p, err := ba.payouts.gate(ctx, w, ba.TimeOf(w.Scope))
	if err != nil || p.why == pay.Payable || p.why.OfSums() { // a payout is counted against the limits when its account gets it
		return false, err
	}
	if p.why != walletGone {
		return true, nil
	}
	if err = ba.payouts.turnAway(ctx, w, p, true); errors.Is(err, errHeld) || errors.Is(err, store.ErrStale) { // stale: another batch got it
		err = nil
	}
	return true, err
}

// mayLeave returns an error if a batch that was not exported yet contains a withdrawal that must
// not be paid any more.
//
// Errors: conflict_state.
func (ba *Batches) mayLeave(ctx context.Context, b pay.Batch, of []pay.Withdrawal) error {
	refuse := func(w pay.Withdrawal, why string) error {
		return &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(b.Status), Action: "export", Reason: why},
			Reason: lineMustNotLeave.With(w.Payout.ProviderRef, w.ID, why)}
	}
	for _, w := range of {
		if w.Status != pay.WithdrawalProcessing {
			return refuse(w, string(w.Status))
		}
		switch _, err := ba.payouts.proved(ctx, w); {
		case errors.Is(err, store.ErrNotProved):
			return refuse(w, string(pay.WaitsProof))
		case errors.Is(err, base.ErrDoneByOthers):
			return store.ErrStale // the batch is read again
		case err != nil:
			return err
		}
		p, err := ba.payouts.gate(ctx, w, ba.TimeOf(w.Scope))
		if err != nil {
			return err
		}
		if p.why != pay.Payable && !p.why.OfSums() {
			return refuse(w, string(p.why))
		}
	}
	return nil
}

// Export returns a batch's file, the same bytes each time. From the first export on, the bank may
// have it. Each export is in the audit log.
//
// Errors: store.ErrNotFound, conflict_state if it was not approved; an error if the file differs
// from the approved one.
func (ba *Batches) Export(ctx context.Context, by audit.Actor, id string) (file []byte, b pay.Batch, err error) {
	b, err = ba.moveBatch(ctx, by, id, audit.BatchTaken, func(b pay.Batch, of []pay.Withdrawal) (pay.Batch, pay.Change, error) {
		if b.Status == pay.BatchApproved {
			if err := ba.mayLeave(ctx, b, of); err != nil {
				return b, pay.Change{}, err
			}
		}
		var err error
		if file, err = ba.Vault.Decrypt(b.Secret(), b.File); err != nil {
			return b, pay.Change{}, fmt.Errorf("file of batch %s: %w", b.ID, err)
		}
		if subtle.ConstantTimeCompare([]byte(checksum(file)), []byte(b.Checksum)) == 0 {
			return b, pay.Change{}, fmt.Errorf("the file of batch %s does not match its stored checksum: do not use it", b.ID)
		}
		return b.Export(ba.Now())
	})
	if err != nil {
		return nil, b, err
	}
	return file, b, nil
}

func (ba *Batches) moveBatch(ctx context.Context, by audit.Actor, id string, act audit.Act, move func(pay.Batch, []pay.Withdrawal) (pay.Batch, pay.Change, error)) (moved pay.Batch, err error) {
	err = base.Again(func() error {
		b, of, err := ba.Get(ctx, id)
		if err != nil {
			return err
		}
		next, change, err := move(b, of)
		if err != nil {
			return err
		}
		change.Audit = ba.Audited(by, b.Scope(), act, b.ID, toldBatch(next))
		if err := ba.Store.Commit(ctx, change); err != nil {
			return err
		}
		moved = next
		return nil
	})
	return moved, err
}

// MostAnswer is the largest size of a bank's answer, in bytes.
const MostAnswer = bankfile.MaxSize

// ImportedAnswers is the result of importing a bank's answer.
type ImportedAnswers struct {
	Checksum                                 string
	Paid, Rejected, Returned, Pending, Known int      // lines
	Strange                                  []string // lines that are not ours, or do not fit, and counts that are wrong: a person must look
}

// ImportAnswers reads a bank's answer and ends the withdrawals in it. Importing the same file
// again, or one that was imported in part, is harmless.
//
// Errors: invalid_request if the account has no files, or if the answer cannot be read; then
// nothing is applied.
func (ba *Batches) ImportAnswers(ctx context.Context, by audit.Actor, account string, file []byte) (done ImportedAnswers, err error) {
	to, live, err := ba.filer(account)
	if err != nil {
		return done, err
	}
	answers, err := to.Answers(file)
	if err != nil {
		return done, problem.Field(problem.InvalidRequest, "file", answerUnreadable.With(err.Error()))
	}
	done.Checksum = checksum(file)
	own := map[string]bool{} // lines that have an answer of their own
	for _, answer := range answers {
		own[answer.LineReference] = true
	}
	for _, answer := range answers {
		switch {
		case answer.Notice != "":
			done.strange(answer, answer.Notice)
		case answer.Whole:
			err = ba.answerBatch(ctx, account, answer, own, &done)
		default:
			err = ba.answerLine(ctx, account, answer, &done)
		}
		if err != nil { // lines that were read are applied and reported
			break
		}
	}
	details := map[string]string{"checksum": done.Checksum, "paid": strconv.Itoa(done.Paid), "rejected": strconv.Itoa(done.Rejected),
		"returned": strconv.Itoa(done.Returned), "pending": strconv.Itoa(done.Pending), "known": strconv.Itoa(done.Known), "strange": strconv.Itoa(len(done.Strange))}
	return done, errors.Join(err, ba.Store.Commit(ctx, pay.Change{Audit: ba.Audited(by, merchants.Scope{Live: live}, audit.AnswersRead, account, details)}))
}

// answerBatch applies a bank's answer about all lines of a batch.
func (ba *Batches) answerBatch(ctx context.Context, account string, answer payouts.FileAnswer, own map[string]bool, done *ImportedAnswers) error {
	if answer.Batch == "" || !base.Storable(answer.Batch) {
		done.strange(answer, "it is about a whole file, but does not name it")
		return nil
	}
	b, err := ba.Store.Batches().Get(ctx, pay.BatchPrefix+answer.Batch)
	if errors.Is(err, store.ErrNotFound) || err == nil && b.Account != account {
		done.strange(answer, "the account has no batch "+answer.Batch)
		return nil
	}
	if err != nil {
		return err
	}
	of, err := ba.Store.Batches().Batched(ctx, b.ID)
	if err != nil {
		return err
	}
	for _, w := range of {
		if own[w.Payout.ProviderRef] {
			continue
		}
		line := answer
		line.LineReference = w.Payout.ProviderRef
		if err := ba.answerLine(ctx, account, line, done); err != nil {
			return err
		}
	}
	return nil
}

// answerLine applies a bank's answer about one line.
func (ba *Batches) answerLine(ctx context.Context, account string, answer payouts.FileAnswer, done *ImportedAnswers) error {
	if answer.LineReference == "" || !base.Storable(answer.LineReference) {
		done.strange(answer, "it names none of our lines")
		return nil
	}
	return base.Again(func() error {
		w, err := ba.Store.Withdrawals().At(ctx, account, answer.LineReference)
		if errors.Is(err, store.ErrNotFound) {
			done.strange(answer, answer.LineReference+" is not one of our lines")
			return nil
		}
		if err != nil {
			return err
		}
		b, err := ba.Store.Batches().Get(ctx, w.Payout.Batch)
		if err != nil {
			return fmt.Errorf("batch of withdrawal %s: %w", w.ID, err)
		}
		if answer.Batch != "" && base.Storable(answer.Batch) && pay.BatchPrefix+answer.Batch != b.ID {
			done.strange(answer, answer.LineReference+" is in another batch than the answer says")
			return nil
		}
		if b.Status != pay.BatchExported {
			done.strange(answer, answer.LineReference+" is in a batch whose file was not exported")
			return nil
		}
		if answer.Unclear != "" {
			done.strange(answer, fmt.Sprintf("%s: the bank's word %q is not known: ask the bank, and write paid, rejected, returned or pending instead", answer.LineReference, answer.Unclear))
			return nil
		}
		if answer.Outcome.Kind == pay.PayoutAccepted && w.Status != pay.WithdrawalProcessing {
			done.Known++
			return nil
		}
		if base.Storable(answer.BankReference) {
			w.Payout.BankRef = cmp.Or(answer.BankReference, w.Payout.BankRef)
		}
		notice := pay.PayoutNotice{
			// The same answer in another file is not new.
			ID: fmt.Sprintf("file/%s %s %s %.80q", answer.LineReference, answer.Outcome.Kind, answer.Outcome.Local, answer.BankReference+answer.Outcome.Code), Reference: w.Reference(), Outcome: answer.Outcome,
			Body: fmt.Appendf(nil, "line %d of the bank's answer %s: %s %s %s %s", answer.Line, done.Checksum, answer.Outcome.Kind, answer.Outcome.Local, answer.Outcome.Code, answer.Outcome.Message),
		}
		_, change, verdict := w.ApplyPayoutNotice(notice, account, answer.Outcome, ba.TimeOf(w.Scope))
		err = ba.Commit(ctx, change, view.Cause{})
		switch {
		case errors.Is(err, store.ErrDuplicate): // this line was imported before
			done.Known++
			return nil
		case err != nil:
			return err
		case verdict == pay.Mismatched:
			done.strange(answer, answer.LineReference+" contradicts the books: see cascada notification list")
		case verdict == pay.Ignored:
			done.Known++
		default:
			done.count(answer.Outcome.Kind)
		}
		return nil
	})
}

func (i *ImportedAnswers) count(kind pay.PayoutKind) {
	switch kind {
	case pay.PayoutPaid:
		i.Paid++
	case pay.PayoutRejected:
		i.Rejected++
	case pay.PayoutReturned:
		i.Returned++
	default:
		i.Pending++
	}
}

func (i *ImportedAnswers) strange(answer payouts.FileAnswer, why string) {
	i.Strange = append(i.Strange, fmt.Sprintf("line %d: %s", answer.Line, why))
}
