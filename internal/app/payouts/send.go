package payouts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// PayOut looks at due withdrawals: it sends pending ones to the payout provider, and queries it
// about the others. It waits until that is done, and returns how many it leased. Looking at one
// twice is harmless.
func (po *Payouts) PayOut(ctx context.Context) (int, error) { return base.Waiting(ctx, po.HandOut) }

// HandOut hands due withdrawals to the lanes of their payout accounts.
func (po *Payouts) HandOut(ctx context.Context, begun *sync.WaitGroup) (int, error) {
	now := po.Now()
	due, err := po.Store.Withdrawals().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	have, err := po.floats.free(ctx, len(due))
	if err != nil {
		return 0, err
	}
	var ended []pay.Withdrawal
	for _, w := range due {
		if !w.Open() {
			ended = append(ended, w)
			continue
		}
		wallet, err := po.proved(ctx, w)
		if err != nil { // before anything is written of it
			po.unproved(ctx, w, err)
			continue
		}
		to := pay.PayoutRoute{Account: w.Payout.Provider}
		if w.Status == pay.WithdrawalPending && wallet.Status != pay.WalletDisabled {
			if to, err = po.route(ctx, w, wallet, have); err != nil {
				po.Quiet.ComesAgain(ctx, w.Live, "a due withdrawal could not be checked; it is retried later", err, "withdrawal", w.ID)
				continue
			}
		}
		po.lanes.Submit(to.Account, w.ID, begun, func(may bool) {
			err := po.forward(ctx, w, wallet, to, may)
			if err != nil && !errors.Is(err, store.ErrStale) { // stale: it was canceled, or another node was faster
				po.Quiet.ComesAgain(ctx, w.Live, "a due withdrawal could not be checked; it is retried later", err, "withdrawal", w.ID)
			}
		})
	}
	po.coverAll(ctx, ended)
	return len(due), nil
}

// route chooses the account for a pending withdrawal; "" if it has to wait, which is written with
// the reason.
func (po *Payouts) route(ctx context.Context, w pay.Withdrawal, wallet pay.Wallet, have floats) (pay.PayoutRoute, error) {
	now := po.TimeOf(w.Scope)
	to, until, err := po.choosePayer(wallet, w, have, now)
	refused, waits := errors.AsType[*problem.Error](err)
	if !waits {
		return to, err
	}
	po.Quiet.WarnSometimes(ctx, "a withdrawal waits for an account that pays it out", wallet.Network+"."+wallet.Currency, "withdrawal", w.ID, "network", wallet.Network, "currency", wallet.Currency, "error", err)
	if until.IsZero() {
		until = now.Add(pay.SweepLease)
	}
	_, change, fresh := w.Wait(cmp.Or(refused.Details.Reason, string(refused.Code)), until, now)
	if !fresh {
		return pay.PayoutRoute{}, nil
	}
	err = po.Commit(ctx, change, view.Cause{})
	if errors.Is(err, store.ErrStale) { // the withdrawal was canceled meanwhile
		return pay.PayoutRoute{}, nil
	}
	return pay.PayoutRoute{}, err
}

// forward takes the next step of a withdrawal: it sends it to the chosen account, or queries the
// account to which it was sent, if may allows that. With account "" it does nothing.
func (po *Payouts) forward(ctx context.Context, w pay.Withdrawal, wallet pay.Wallet, route pay.PayoutRoute, may bool) error {
	if w.Status == pay.WithdrawalPending && wallet.Status == pay.WalletDisabled {
		err := po.turnAway(ctx, w, passage{why: walletGone}, false)
		if errors.Is(err, errHeld) {
			err = nil
		}
		return err
	}
	account := route.Account
	if account == "" {
		return nil
	}
	to, known := po.payer(w.Live, account)
	if !known {
		return fmt.Errorf("payout account %q cannot be called", account)
	}
	if w.Status == pay.WithdrawalPending {
		return po.sendPayout(ctx, w, route, to, false)
	}
	if !may {
		return po.resolvePayout(ctx, w, pay.PayoutOutcome{Kind: pay.PayoutUnknown})
	}
	request, err := po.payoutRequest(w, wallet)
	if err != nil {
		return err
	}
	node, err := po.Store.Hold(ctx)
	if err != nil {
		return err
	}
	o := w.UnlessListed(w.Payout.PayoutProvedByQuery(po.ask(ctx, account, to, request), node.At))
	if o.Kind == pay.PayoutMissing || o.Kind == pay.PayoutUnsent {
		// The provider never had it, or waits for it: send it again, under the same reference.
		return po.sendPayout(ctx, w, route, to, o.Kind == pay.PayoutMissing)
	}
	return po.resolvePayout(ctx, w, o)
}

// proved proves a withdrawal and its wallet once more before money leaves, and returns the wallet. Whatever sends a payout, or
// writes it into a file, calls this first.
//
// A wallet that changes meanwhile is read and proved again: its cool-down ends, or another one becomes the default. That
// is no reason not to pay, and the withdrawal would wait until its lease ends.
//
// Errors: store.ErrNotProved; base.ErrDoneByOthers if the withdrawal has moved on.
func (po *Payouts) proved(ctx context.Context, w pay.Withdrawal) (to pay.Wallet, err error) {
	err = base.Again(func() (err error) {
		if to, err = po.Store.Wallets().Get(ctx, w.Scope, w.Wallet); err != nil {
			return fmt.Errorf("wallet of withdrawal %s: %w", w.ID, err)
		}
		if err = po.Store.Withdrawals().Prove(ctx, w, to); errors.Is(err, store.ErrStale) {
			err = po.movedOn(ctx, w, err)
		}
		return err
	})
	return to, err
}

// provedAsIs is proved for what gives a withdrawal's money back, ends it or lets it pass: a row that was changed from outside is not
// written again, which would make its hash right. One that has moved on is proved by whoever wrote it.
//
// Errors: store.ErrNotProved.
func (po *Payouts) provedAsIs(ctx context.Context, w pay.Withdrawal) error {
	if !w.Open() {
		return nil
	}
	_, err := po.proved(ctx, w)
	if errors.Is(err, base.ErrDoneByOthers) {
		return nil
	}
	return err
}

// unproved sets aside a withdrawal that must not be sent: the log has an error, there is an alert, and the reason not_proved for the
// operator. Nothing of its row is written, so what is wrong with it stays to be seen.
func (po *Payouts) unproved(ctx context.Context, w pay.Withdrawal, why error) {
	if errors.Is(why, base.ErrDoneByOthers) {
		return // the withdrawal was canceled, or another node was faster
	}
	if !errors.Is(why, store.ErrNotProved) {
		po.Quiet.ComesAgain(ctx, w.Live, "a due withdrawal could not be proved; it is retried later", why, "withdrawal", w.ID)
		return
	}
	if err := po.Store.Withdrawals().SetAside(ctx, w.ID, why.Error(), po.Now()); err != nil {
		po.Log.ErrorContext(ctx, "a withdrawal could not be set aside; it is proved again when it is due", "withdrawal", w.ID, "error", err)
	}
}

// ask queries an account about a payout.
func (po *Payouts) ask(ctx context.Context, account string, to payouts.Provider, request payouts.Request) pay.PayoutOutcome {
	asking, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	asking, call := po.Calling(asking, base.OpQueryPayout, account, request.Reference)
	o := call.Paid(asking, to.Query(asking, request))
	po.lanes.Record(ctx, account, o.Kind != pay.PayoutUnknown)
	return o
}

// sendPayout records that the provider is about to be called, which gives the call to this node.
// Then it calls the provider and commits the answer. missing is as in sending.
func (po *Payouts) sendPayout(ctx context.Context, w pay.Withdrawal, route pay.PayoutRoute, to payouts.Provider, missing bool) error {
	if po.Shut() {
		return nil
	}
	wallet, err := po.proved(ctx, w)
	if err != nil {
		po.unproved(ctx, w, err)
		return nil
	}
	request, err := po.payoutRequest(w, wallet)
	if err != nil {
		return err
	}
	by, err := po.Store.Hold(ctx)
	if err != nil {
		return err
	}
	sent, err := po.sending(ctx, w, route, by, missing)
	if errors.Is(err, errHeld) || errors.Is(err, base.ErrDoneByOthers) {
		return nil
	}
	if err != nil {
		return err
	}
	mayLeave := po.Fence(sent.Payout.Flight)
	if !mayLeave() {
		return nil // the next look queries first
	}
	// From here the money may leave: we must finish the call.
	ctx = context.WithoutCancel(ctx)
	request.Sent, request.Calls = sent.Payout.SentAt, sent.Payout.Calls
	calling, cancel := context.WithTimeout(provider.Fenced(ctx, mayLeave), pay.CallTimeout)
	defer cancel()
	calling, call := po.Calling(calling, base.OpPayout, route.Account, request.Reference)
	o := call.Paid(calling, to.Send(calling, request))
	return po.resolvePayout(ctx, sent, o)
}

// resolvePayout commits the provider's answer; before is the withdrawal as it was at the call.
func (po *Payouts) resolvePayout(ctx context.Context, before pay.Withdrawal, o pay.PayoutOutcome) error {
	w := before
	return base.Again(func() error {
		now := po.TimeOf(w.Scope)
		if contrary, known := w.Contradiction(before, o, now); known {
			err := po.Store.Commit(ctx, contrary)
			if errors.Is(err, store.ErrDuplicate) {
				err = nil // the log has this reason already
			} else if err == nil {
				po.Log.ErrorContext(ctx, "a payout provider contradicts the books: check it", "withdrawal", w.ID, "status", w.Status, "reference", before.Reference(), "provider", o.Kind)
			}
			if err != nil || w.Status != pay.WithdrawalProcessing {
				return err
			}
		}
		next, change, ok := w.ApplyPayoutAnswer(before, o, now)
		if !ok {
			return nil
		}
		if err := po.provedAsIs(ctx, w); errors.Is(err, store.ErrNotProved) {
			po.unproved(ctx, w, err) // the payout is queried again, once the row is put right
			return nil
		} else if err != nil {
			return err
		}
		err := po.Commit(ctx, change, view.Cause{})
		if errors.Is(err, store.ErrStale) {
			read, readErr := po.Store.Withdrawals().Get(ctx, w.Scope, w.ID)
			if readErr != nil {
				return readErr
			}
			w = read
			return err
		}
		if err == nil && next.Status == pay.WithdrawalRefused && next.Live {
			po.Log.WarnContext(ctx, "a withdrawal failed", "withdrawal", w.ID, "code", next.FailureCode)
		}
		return err
	})
}

func (po *Payouts) payoutRequest(w pay.Withdrawal, wallet pay.Wallet) (payouts.Request, error) {
	r, err := po.requestTo(wallet)
	r.Local, r.Amount, r.Net = w.Local, money.New(w.Amount, money.USD), money.New(w.Net(), money.USD)
	r.Reference, r.ProviderRef, r.Calls, r.Sent, r.Now = w.Reference(), w.Payout.ProviderRef, w.Payout.Calls, w.Payout.SentAt, po.TimeOf(w.Scope)
	return r, err
}

// requestTo is a payout request for a wallet, without an amount.
func (po *Payouts) requestTo(wallet pay.Wallet) (payouts.Request, error) {
	account, err := po.Vault.Decrypt(wallet.Secret(), wallet.Encrypted)
	if err != nil {
		return payouts.Request{}, fmt.Errorf("destination of wallet %s: %w", wallet.ID, err)
	}
	holder, err := po.beneficiary(wallet)
	return payouts.Request{Beneficiary: holder, Type: wallet.Type, Network: wallet.Network, Currency: wallet.Currency, Destination: string(account)}, err
}

// beneficiary is who a wallet belongs to, as the merchant wrote it.
func (po *Payouts) beneficiary(wallet pay.Wallet) (who pay.Beneficiary, err error) {
	if wallet.Holder == nil {
		return who, nil
	}
	text, err := po.Vault.Decrypt(wallet.HolderSecret(), wallet.Holder)
	if err != nil {
		return who, fmt.Errorf("holder of wallet %s: %w", wallet.ID, err)
	}
	return who, json.Unmarshal(text, &who)
}

// Config is the configuration of Payouts.
type Config struct {
	// Sandbox and Live pay the withdrawals of each environment that no account of the operator
	// pays; nil: those withdrawals are refused.
	Sandbox, Live payouts.Provider
}

// Payouts pays merchants. It is safe for use by many goroutines.
type Payouts struct {
	*base.Base
	rates     *rates.Rates
	providers *accounts.Providers
	plans     *plans.Plans
	to        *Wallets
	config    Config
	floats    *Floats
	lanes     *accounts.Lanes // queries to payout accounts; they have limits of their own
	asked     *limit.Local    // queries that unsigned notifications caused
}

// New returns the payouts of a service.
func New(b *base.Base, rates *rates.Rates, providers *accounts.Providers, plans *plans.Plans, to *Wallets, floats *Floats, c Config) *Payouts {
	po := &Payouts{Base: b, rates: rates, providers: providers, plans: plans, to: to, floats: floats, config: c, lanes: accounts.NewLanes(b.Now), asked: limit.NewLocal()}
	base.Applies(b, "payouts.limits", func(ctx context.Context, by audit.Actor, l limited) error {
		_, err := po.LimitPayouts(ctx, by, l.Merchant, l.Live, func(to *pay.PayoutLimits) { *to = l.Limits })
		return err
	})
	base.Applies(b, "withdrawal.approve", func(ctx context.Context, by audit.Actor, p passed) error {
		if w, err := po.Store.Withdrawals().Any(ctx, p.Withdrawal); err != nil || w.ApprovedBy == by.ID { // the withdrawal passed this check already
			return err
		}
		_, err := po.ApproveWithdrawal(ctx, by, p.Withdrawal, p.Note)
		return err
	})
	return po
}

// Drain waits for the queries that are under way.
func (po *Payouts) Drain() { po.lanes.Drain() }

// Silent counts the payout accounts that do not answer.
func (po *Payouts) Silent() int { return po.lanes.Silent() }
