package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// WithdrawalPrefix begins the id of a withdrawal.
const WithdrawalPrefix = "wdr_"

// WithdrawalStatus is the state of a withdrawal.
type WithdrawalStatus string

// States of a withdrawal (PAYOUT-3).
const (
	WithdrawalPending    WithdrawalStatus = "pending"    // may be canceled
	WithdrawalProcessing WithdrawalStatus = "processing" // the payout provider has it, or may have it
	WithdrawalDone       WithdrawalStatus = "completed"
	WithdrawalRefused    WithdrawalStatus = "failed"
	WithdrawalCanceled   WithdrawalStatus = "canceled"
)

// WithdrawalStatuses lists all states.
func WithdrawalStatuses() []WithdrawalStatus {
	return []WithdrawalStatus{WithdrawalPending, WithdrawalProcessing, WithdrawalDone, WithdrawalRefused, WithdrawalCanceled}
}

// WithdrawalHold is how long a withdrawal stays pending, and can be canceled, before it is sent.
func WithdrawalHold(live bool) time.Duration {
	if live {
		return liveHold
	}
	return sandboxHold
}

// Withdrawal is money on its way from a merchant's available balance to one of its wallets.
type Withdrawal struct {
	ID string // wdr_…
	merchants.Scope
	Version          int64
	Wallet           string
	Status           WithdrawalStatus
	Amount           int64             // USD cents that left available, the fee included
	Fee              int64             // USD cents, with the tax on it
	Tax              int64             // USD cents
	Taxed            merchants.TaxRate // on the fee
	rates.Conversion                   // the amount that arrives
	Payout           Payout
	Round            int             // number of accounts that have proved so far that they did not pay it
	Tried            []PayoutAttempt // the latest of them
	ApprovedBy       string          // the operator who approved it beyond the limits
	Waiting          string          // why it is due and not sent, or ""
	FailureCode      string
	FailureMessage   string
	// Returned is what came back after it had arrived, in USD cents; ReturnedLocal is the same in minor units of what arrived,
	// zero for a token. Returns counts the parts.
	Returned, ReturnedLocal int64
	ReturnedParts           []int64  // of ReturnedLocal, each part; of a token in USD cents
	ReturnRefs              []string // the bank's references of the parts that the operator booked, "" of one without
	Returns                 int
	Covers                  []Covered // the settlements that it pays out, oldest first
	Sequence                int64     // events so far
	DueAt                   time.Time
	CreatedAt               time.Time
	UpdatedAt               time.Time
	CompletedAt             time.Time
	FailedAt                time.Time
}

// Payout is a withdrawal at the account that it was sent to; zero before it is sent, and again when
// the account proved that it did not pay.
type Payout struct {
	Provider    string
	ProviderRef string
	Batch       string       // the batch whose file it leaves in, "" if none
	Float       money.Amount // what it takes of the account's float while it is sent or paid; zero if no float is kept
	BankRef     string       // the bank's name of it, if that differs from ProviderRef
	Why         string       // why it went to this account: for the operator
	Passed      []string     // accounts that were passed over, and why
	Checks      int          // queries since it was sent
	Accepted    bool         // the provider confirmed that it has it
	Found       bool         // the payout is in the account's own list, from before a restore, and was not sent since
	Said        string       // its last answer that decided nothing: for the operator
	Flight
	SentAt time.Time
}

// Net is the amount that is paid out, in USD cents.
func (w Withdrawal) Net() int64 { return w.Amount - w.Fee }

// Open reports whether its money is in transit.
func (w Withdrawal) Open() bool {
	return w.Status == WithdrawalPending || w.Status == WithdrawalProcessing
}

// suffix is the withdrawal's id without its prefix.
func (w Withdrawal) suffix() string { return strings.TrimPrefix(w.ID, WithdrawalPrefix) }

// Transfers returns the range of the ids of the withdrawal's transfers: first is inclusive, after
// exclusive.
func (w Withdrawal) Transfers() (first, after string) {
	return transfersOf(w.suffix())
}

// WithdrawalOf returns the withdrawal that a transfer belongs to.
func WithdrawalOf(t ledger.Transfer) (id string, ok bool) {
	switch t.Kind {
	case ledger.WithdrawalOpened, ledger.WithdrawalPaid, ledger.WithdrawalReversal, ledger.WithdrawalReturn:
		suffix, _, ok := strings.Cut(strings.TrimPrefix(t.ID, ledger.TransferPrefix), "-")
		return WithdrawalPrefix + suffix, ok
	}
	return "", false
}

// Withdraw takes an amount of USD, fee included, out of available and puts it in transit. id is the
// new withdrawal's. into is the converted net.
//
// Errors: conflict_state for a wallet that cannot be paid to, amount_below_minimum for an amount
// that does not exceed the fee or is below the smallest withdrawal of the terms, balance_insufficient.
func (wa Wallet) Withdraw(id string, amount money.Amount, terms merchants.Terms, into rates.Conversion, have ledger.Balances, now time.Time) (Withdrawal, Change, error) {
	if !wa.Usable(now) {
		e := &problem.Error{Code: problem.ConflictState, Param: "walletId", Reason: walletDeleted,
			Details: problem.Details{From: string(wa.Status), Action: "withdraw"}}
		if wa.Status == WalletPending {
			e.Reason = walletCools.With(wa.ActiveAt.UTC())
		}
		return Withdrawal{}, Change{}, e
	}
	fee := chargeOf(terms, terms.WithdrawalFee)
	if least := terms.LeastWithdrawal(); amount.Minor < least {
		return Withdrawal{}, Change{}, problem.Field(problem.AmountBelowMinimum, "amount",
			withdrawalTooSmall.With(money.New(least, money.USD)))
	}
	if amount.Minor > have[ledger.Available] {
		return Withdrawal{}, Change{}, problem.Beyond("amount", withdrawalBeyondBalance, amount.Minor, have[ledger.Available])
	}
	out := Withdrawal{
		ID: id, Scope: wa.Scope, Version: 1, Wallet: wa.ID, Status: WithdrawalPending, Amount: amount.Minor, Fee: fee.Total(), Tax: fee.Tax, Taxed: terms.Taxed, Conversion: into,
		DueAt: now.Add(WithdrawalHold(wa.Live)), CreatedAt: now, UpdatedAt: now,
	}
	opened := out.transfer("out", ledger.WithdrawalOpened, now,
		ledger.Posting{Account: ledger.Available, Amount: -out.Amount},
		ledger.Posting{Account: ledger.InTransit, Amount: out.Amount},
	)
	opened.Memo = out.agreed(wa)
	return out, Change{
		Withdrawals: []Withdrawal{out},
		Transfers:   []ledger.Transfer{opened},
		Floors:      []ledger.Floor{{Merchant: wa.Merchant, Live: wa.Live, Account: ledger.Available}},
	}, nil
}

// agreed is the memo of the transfer that takes a withdrawal's amount: its fee, what arrives, at which rate, and where. The
// ledger's seals cover it, and it is compared before each payout. The check compares the same text.
func (w Withdrawal) agreed(to Wallet) string {
	rate := ""
	if !w.Rate.IsZero() {
		rate = w.Rate.Decimal()
	}
	return fmt.Sprintf("%d %d %s %s %s %s", w.Fee, w.Local.Minor, w.Local.Currency, rate, w.Wallet, to.Fingerprint)
}

// Differs says how a withdrawal differs from what the ledger has of it before its money leaves: "" if it does not. booked are the
// withdrawal's transfers.
func Differs(w Withdrawal, to Wallet, booked []ledger.Transfer) string {
	paid, gone := int64(0), int64(0)
	for _, t := range booked {
		if t.Merchant != w.Merchant || t.Live != w.Live {
			if _, own := WithdrawalOf(t); own {
				return "its transfer " + t.ID + " is of another merchant"
			}
			continue // a float's
		}
		for _, p := range t.Postings {
			switch {
			case p.Account != ledger.InTransit:
			case t.Kind == ledger.WithdrawalOpened:
				paid += p.Amount
			default:
				gone += p.Amount
			}
		}
		if t.Kind == ledger.WithdrawalOpened && t.Memo != w.agreed(to) {
			return "the amount that arrives, the fee, the rate or the destination is not the one of its transfer"
		}
	}
	switch {
	case paid != w.Amount:
		return fmt.Sprintf("it is of %d cents, and the ledger took %d", w.Amount, paid)
	case gone != 0:
		return "its money has left already"
	case w.Wallet != to.ID || w.Scope != to.Scope:
		return "the wallet is another one"
	}
	return ""
}

// CancelMemory is how long a canceled withdrawal bounds the rate of those that follow it.
const CancelMemory = 24 * time.Hour

// NotBetter returns a conversion of net, in USD cents, at no better a rate for the merchant than those of canceled withdrawals in
// the same currency. A withdrawal fixes its rate, so canceling it, or deleting
// its wallet, and making another must bring nothing (PAYOUT-13).
//
// Errors: those of the conversion.
func NotBetter(into rates.Conversion, net int64, canceled []Withdrawal) (rates.Conversion, error) {
	for _, w := range canceled {
		if w.Rate.IsZero() || w.Local.Currency != into.Local.Currency {
			continue
		}
		as, err := w.Reading().Into(money.New(net, money.USD))
		if err != nil {
			return into, err
		}
		if as.Local.Minor < into.Local.Minor {
			into = as
		}
	}
	return into, nil
}

// Created is the withdrawal as its creation returned it.
func (w Withdrawal) Created() Withdrawal {
	w.Status, w.FailureCode, w.FailureMessage, w.Waiting = WithdrawalPending, "", "", ""
	w.CompletedAt, w.FailedAt = time.Time{}, time.Time{}
	w.Returned, w.ReturnedLocal, w.ReturnedParts, w.ReturnRefs, w.Covers = 0, 0, nil, nil, nil
	return w
}

// Cancel returns the money of a withdrawal that was not sent yet.
//
// Errors: conflict_state.
func (w Withdrawal) Cancel(now time.Time) (Withdrawal, Change, error) {
	if w.Status != WithdrawalPending {
		return w, Change{}, &problem.Error{Code: problem.ConflictState, Reason: onlyPendingWithdrawalCanceled,
			Details: problem.Details{From: string(w.Status), Action: "cancel"}}
	}
	w = w.next(now)
	w.Status, w.DueAt, w.Waiting = WithdrawalCanceled, w.uncoveringAt(now), ""
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: []ledger.Transfer{w.giveBack(now)}}, nil
}

// Send records that the account is about to be called. From here the money may have left, so only
// the provider's answer ends the withdrawal.
func (w Withdrawal) Send(to PayoutRoute, by Caller, now time.Time) (Withdrawal, Change) {
	w = w.next(now)
	w.Payout.Flight = w.Payout.begin(by)
	if w.Payout.Provider == "" {
		w.Payout.Provider, w.Payout.Why, w.Payout.Passed = to.Account, to.Why, to.Passed
	}
	change := Change{}
	if w.Status == WithdrawalPending && to.Float.Minor > 0 {
		w.Payout.Float = to.Float
		change.Transfers = w.moveFloat("sent", ledger.FloatSent, ledger.Float, ledger.FloatCommitted, now)
		change.Floors = []ledger.Floor{{Merchant: change.Transfers[0].Merchant, Live: w.Live, Account: ledger.Float}}
	}
	w.Status, w.Waiting, w.Payout.SentAt, w.DueAt = WithdrawalProcessing, "", now, now.Add(sendingLease)
	change.Withdrawals = []Withdrawal{w}
	return w, change
}

// Refuse ends a withdrawal that was not sent, for our own reason.
func (w Withdrawal) Refuse(code, message string, now time.Time) (Withdrawal, Change) {
	return w.fail(PayoutOutcome{Code: code, Message: message}, now)
}

// Hold records why a withdrawal that was sent, and that its account does not have, is not sent again, and when its account is
// queried again.
func (w Withdrawal) Hold(reason string, until, now time.Time) Change {
	w = w.next(now)
	w.Waiting, w.DueAt = reason, until
	w.Payout.Checks++
	return Change{Withdrawals: []Withdrawal{w}}
}

// ApplyPayoutAnswer is ApplyPayoutOutcome for the answer to a call or query; before is the withdrawal as it was at the call.
// If it was sent again since, only "accepted" or better counts: one of two calls may be refused.
func (w Withdrawal) ApplyPayoutAnswer(before Withdrawal, o PayoutOutcome, now time.Time) (Withdrawal, Change, bool) {
	if before.Round != w.Round || before.Payout.Batch != w.Payout.Batch || before.Payout.Calls != w.Payout.Calls && o.Kind != PayoutPaid && o.Kind != PayoutAccepted {
		return w, Change{}, false
	}
	return w.ApplyPayoutOutcome(o, now)
}

// ApplyPayoutOutcome applies a provider's answer to a withdrawal that was sent. It reports whether there was
// something to apply. A withdrawal that has ended does not change.
func (w Withdrawal) ApplyPayoutOutcome(o PayoutOutcome, now time.Time) (Withdrawal, Change, bool) {
	if w.Status != WithdrawalProcessing {
		return w, Change{}, false
	}
	if o.ProviderRef != "" {
		w.Payout.ProviderRef = o.ProviderRef
	}
	if w.misfits(o) {
		o.Kind = PayoutUnknown // it is not ours, or differs from our request: a person must look
	}
	switch o.Kind {
	case PayoutPaid:
		next, change := w.complete(now)
		return next, change, true
	case PayoutRejected:
		next, change := w.fail(o, now)
		return next, change, true
	case PayoutReturned: // the payout came back before its arrival was reported
		next, change := w.fail(o, now)
		return next, change, true
	case PayoutUnavailable:
		next, change := w.passOn(o, now)
		return next, change, true
	}
	w = w.next(now)
	w.Waiting = ""
	w.Payout.Accepted = w.Payout.Accepted || o.Kind == PayoutAccepted
	w.Payout.Said = strings.TrimSpace(string(o.Kind) + " " + o.Code + " " + o.Message)
	w.Payout.Checks++
	w.DueAt = now.Add(payoutPauses.after(w.Payout.Checks))
	if o.Kind == PayoutHeld {
		w.DueAt = now.Add(heldPause) // no provider is queried
	}
	if o.CheckAt.After(now) && o.CheckAt.Before(w.DueAt) {
		w.DueAt = o.CheckAt
	}
	return w, Change{Withdrawals: []Withdrawal{w}}, true
}

// heldPause is the pause between two checks of a payout that a person pays.
const heldPause = 6 * time.Hour

// payoutPauses are between two queries about a payout that a bank makes: it may arrive within seconds, and the merchant waits
// for it.
var payoutPauses = backoff{first: 15 * time.Second, most: 5 * time.Minute}

func (w Withdrawal) complete(now time.Time) (Withdrawal, Change) {
	before := w.Status
	w = w.next(now)
	w.Status, w.DueAt, w.CompletedAt, w.Waiting = WithdrawalDone, now, now, "" // due: it covers settlements
	paid := w.transfer("paid", ledger.WithdrawalPaid, now,
		ledger.Posting{Account: ledger.InTransit, Amount: -w.Amount},
		ledger.Posting{Account: ledger.PaidOut, Amount: w.Net()},
		ledger.Posting{Account: ledger.WithdrawalFees, Amount: w.Fee - w.Tax},
		ledger.Posting{Account: ledger.WithdrawalTaxes, Amount: w.Tax},
	)
	float := w.moveFloat("paid", ledger.FloatArrived, ledger.FloatCommitted, ledger.FloatPaid, now)
	w, told := w.event(webhooks.WithdrawalCompleted, before, now)
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: append(float, paid), Events: []Event{told}}
}

func (w Withdrawal) fail(o PayoutOutcome, now time.Time) (Withdrawal, Change) {
	before := w.Status
	w = w.next(now)
	w.Status, w.DueAt, w.FailedAt, w.Waiting = WithdrawalRefused, w.uncoveringAt(now), now, ""
	w.FailureCode, w.FailureMessage = cmp.Or(o.Code, "rejected"), cmp.Or(o.Message, "the payout was rejected")
	back := w.giveBack(now)
	w, float := w.freeFloat(now)
	w, told := w.event(webhooks.WithdrawalFailed, before, now)
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: append(float, back), Events: []Event{told}}
}

// uncoveringAt is when a withdrawal that did not arrive is due: at once if it covers settlements, which are owed again.
func (w Withdrawal) uncoveringAt(now time.Time) time.Time {
	if len(w.Covers) == 0 {
		return time.Time{}
	}
	return now
}

// giveBack returns all of the money, the fee included.
func (w Withdrawal) giveBack(now time.Time) ledger.Transfer {
	return w.transfer("back", ledger.WithdrawalReversal, now,
		ledger.Posting{Account: ledger.InTransit, Amount: -w.Amount},
		ledger.Posting{Account: ledger.Available, Amount: w.Amount},
	)
}

// transfer books a step of the withdrawal. Its id is made from the withdrawal's, so no step can be
// booked twice.
func (w Withdrawal) transfer(step string, kind ledger.Kind, now time.Time, lines ...ledger.Posting) ledger.Transfer {
	return ledger.Transfer{
		ID: transferID(w.suffix(), step), Merchant: w.Merchant, Live: w.Live, Kind: kind,
		Local: money.New(w.Amount, money.USD), At: now, Postings: ledger.Post(lines...),
	}
}

func (w Withdrawal) next(now time.Time) Withdrawal {
	w.Version++
	w.UpdatedAt = now
	return w
}

// event returns the withdrawal's next event, and w with the event counted.
func (w Withdrawal) event(t webhooks.EventType, before WithdrawalStatus, now time.Time) (Withdrawal, Event) {
	w.Sequence++
	snapshot := w
	return w, Event{
		ID: webhooks.EventID(w.suffix(), w.Sequence), Type: t, Scope: w.Scope,
		Object: w.ID, Sequence: w.Sequence, At: now, Previous: Status(before), Withdrawal: &snapshot,
	}
}

// String describes the withdrawal in failing tests.
func (w Withdrawal) String() string {
	return fmt.Sprintf("%s v%d %s %s (fee %s) to %s %s", w.ID, w.Version, w.Status, money.New(w.Amount, money.USD),
		money.New(w.Fee, money.USD), w.Wallet, w.FailureCode)
}

// BankReturn is money of a payout that came back, by the operator's word.
type BankReturn struct {
	Part   money.Amount // in the currency that arrived; zero: all that is left
	Ref    string       // the bank's reference of it, "" if it has none
	Forced bool         // it is another part of an amount that came back before
}

// isNew returns an error if a return is in the books, or may be: the operator repeats a command whose answer was lost.
func (w Withdrawal) isNew(back BankReturn) error {
	switch {
	case back.Ref != "" && slices.Contains(w.ReturnRefs, back.Ref):
		return problem.Conflict("known", returnKnown.With(back.Ref))
	case (back.Ref == "" || len(w.ReturnRefs) < w.Returns) && !back.Forced && slices.Contains(w.ReturnedParts, back.Part.Minor):
		return problem.Conflict("known", partCameBack.With(back.Part))
	}
	return nil
}

// ContradictsPayout is Contradicts for a withdrawal. A payout on its way contradicts both findings.
func (word Word) ContradictsPayout(o PayoutOutcome) bool {
	switch o.Kind {
	case PayoutPaid:
		return word != WordPaid
	case PayoutRejected, PayoutMissing, PayoutUnavailable, PayoutReturned:
		return word != WordNotPaid
	}
	return o.Kind == PayoutAccepted || o.Kind == PayoutUnsent // the provider may still send it
}

// moveFloat books a step of the withdrawal in its account's float. It returns nothing if no float
// is kept.
func (w Withdrawal) moveFloat(step string, kind ledger.Kind, from, to ledger.Account, now time.Time) []ledger.Transfer {
	if w.Payout.Float.Minor == 0 {
		return nil
	}
	return []ledger.Transfer{{
		ID:       fmt.Sprintf("tr_%s-float-%d-%s", w.suffix(), w.Round+1, step),
		Merchant: ledger.FloatOwner(w.Payout.Provider, string(w.Payout.Float.Currency)), Live: w.Live, Kind: kind, Local: w.Payout.Float, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: from, Amount: -w.Payout.Float.Minor},
			ledger.Posting{Account: to, Amount: w.Payout.Float.Minor},
		),
	}}
}

// freeFloat returns the withdrawal's money, which was not paid, to the float.
func (w Withdrawal) freeFloat(now time.Time) (Withdrawal, []ledger.Transfer) {
	back := w.moveFloat("back", ledger.FloatBack, ledger.FloatCommitted, ledger.Float, now)
	w.Payout.Float = money.Amount{}
	return w, back
}

// Reference is our name of the withdrawal at the payout provider, and its idempotency key there. It
// differs for each account in turn, and stays the same for repeated calls.
func (w Withdrawal) Reference() string {
	if w.Round == 0 {
		return w.suffix()
	}
	return fmt.Sprintf("%s-%d", w.suffix(), w.Round+1)
}

// passOn makes a withdrawal pending again, for another account: this one proved that it did not
// pay.
func (w Withdrawal) passOn(o PayoutOutcome, now time.Time) (Withdrawal, Change) {
	tried := append(slices.Clone(w.Tried), PayoutAttempt{
		Account: w.Payout.Provider, Reference: w.Reference(), ProviderRef: cmp.Or(o.ProviderRef, w.Payout.ProviderRef), Code: o.Code, Message: o.Message,
		Why: w.Payout.Why, Passed: w.Payout.Passed, Started: w.Payout.SentAt.UnixMicro(), Ended: now.UnixMicro(),
	})
	w, float := w.freeFloat(now)
	w = w.next(now)
	w.Tried = tried[max(0, len(tried)-attemptsKept):]
	w.Round++
	w.Status, w.DueAt, w.Payout, w.Waiting = WithdrawalPending, now, Payout{}, ""
	return w, Change{Withdrawals: []Withdrawal{w}, Transfers: float}
}

// misfits reports whether the provider reports an amount other than the withdrawal's. What arrives of a token is not known, so only
// what comes back of it is compared, in USD.
func (w Withdrawal) misfits(o PayoutOutcome) bool {
	asked := w.Local
	if asked == (money.Amount{}) && o.Kind == PayoutReturned {
		asked = money.New(w.Net(), money.USD)
	}
	return o.Local != (money.Amount{}) && asked != (money.Amount{}) && o.Local != asked
}
