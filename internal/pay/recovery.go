package pay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Recovery is the state of the service after its database was restored from a copy, or to an
// earlier time. Commits of the window between From and To may be lost. There is at most one
// recovery.
type Recovery struct {
	Version int64
	State   RecoveryState
	From    time.Time // every commit before this time is in the database
	To      time.Time // no commit was later; zero: not known yet
	Until   time.Time // of a guarded one: until when a key of the window may be repeated
	RecoveryNotes
}

// RecoveryNotes are fields that no database query selects by.
type RecoveryNotes struct {
	By string `json:"by,omitempty"` // the operator who began it
	// Covered says, for each provider account, how its activity in the window is known.
	Covered map[string]string `json:"covered,omitempty"`
}

// RecoveryID is the id of the only row.
const RecoveryID = "recovery"

// RecoveryState is the phase of a recovery.
type RecoveryState string

// The states. Closed: the service starts no charges, refunds or payouts. Guarded: a request with an
// unknown key is compared with the entries that were found at providers before it is treated as
// new.
const (
	RecoveryClosed  RecoveryState = "closed"
	RecoveryGuarded RecoveryState = "guarded"
)

// Emptying is the reason (details.reason) of requests that are refused while a sandbox is being emptied.
const Emptying = "sandbox_reset"

// Recovering is the reason (details.reason) of requests that are refused during a recovery.
const Recovering = "recovering"

// Active reports whether a recovery still applies to requests at a time.
func (r Recovery) Active(now time.Time) bool {
	return r.State == RecoveryClosed || r.State == RecoveryGuarded && now.Before(r.Until)
}

// Forgets reports whether the database may have forgotten the end of something that was made at a time: of a sign-in, or of a one-time link.
func (r Recovery) Forgets(made time.Time) bool { return made.Before(r.To) }

// BeginRecovery closes the service. to is zero if the end of the lost window is not known yet. If
// the service is closed already, the database was restored again, to a time at which it was closed:
// the window covers both windows, and accounts that were covered in the first must be covered
// again.
//
// It returns an error if the window ends before it begins.
func (r Recovery) BeginRecovery(from, to time.Time, by string, now time.Time) (Recovery, Change, error) {
	switch {
	case from.IsZero():
		return r, Change{}, fmt.Errorf("say to which time the database was restored")
	case !to.IsZero() && !from.Before(to), from.After(now):
		return r, Change{}, fmt.Errorf("the lost window ends before it begins")
	}
	if to.IsZero() {
		to = now
	}
	if r.State == RecoveryClosed {
		if r.From.Before(from) {
			from = r.From
		}
		if r.To.After(to) {
			to = r.To
		}
	}
	next := Recovery{Version: r.Version + 1, State: RecoveryClosed, From: from, To: to, RecoveryNotes: RecoveryNotes{By: by}}
	return next, Change{Recoveries: []Recovery{next}}, nil
}

// Restored records that a copy is the database from now on. Accounts covered in the copy were
// covered for a window that ended when the copy was made. The service may have opened since, so
// they must be covered again.
//
// It returns an error if the database does not say that it is a copy.
func (r Recovery) Restored(now time.Time) (Recovery, Change, error) {
	if r.State != RecoveryClosed {
		return r, Change{}, fmt.Errorf("the database does not say that it is a copy")
	}
	r.Version++
	r.To, r.Covered = now, nil
	return r, Change{Recoveries: []Recovery{r}}, nil
}

// Cover records how an account's activity in the window is known.
//
// It returns an error if no recovery is under way.
func (r Recovery) Cover(account, how string) (Recovery, Change, error) {
	if r.State != RecoveryClosed {
		return r, Change{}, NoRecovery
	}
	r.Version++
	r.Covered = maps.Clone(r.Covered)
	if r.Covered == nil {
		r.Covered = map[string]string{}
	}
	r.Covered[account] = how
	return r, Change{Recoveries: []Recovery{r}}, nil
}

// End opens the service again. accounts are all accounts that may have been used in the window, and
// found are all found entries. With waiting, found refunds and payouts without an object may wait
// until their requests are repeated.
//
// It returns an error if no recovery is under way, if an account is not covered, or if a found
// refund or payout has no object and was not dealt with.
func (r Recovery) End(accounts []string, found []Found, waiting bool) (Recovery, Change, error) {
	if r.State != RecoveryClosed {
		return r, Change{}, NoRecovery
	}
	for _, a := range accounts {
		if r.Covered[a] == "" {
			return r, Change{}, accountUncovered.With(a)
		}
	}
	i := slices.IndexFunc(found, func(f Found) bool { return f.Open() && f.Kind != FoundCharge })
	if i >= 0 && !waiting {
		return r, Change{}, foundIsOpen.With(found[i].Kind, found[i].ID())
	}
	r.Version++
	r.State, r.Until = RecoveryGuarded, r.To.Add(OnceKept) // until then a key of the window may be repeated
	return r, Change{Recoveries: []Recovery{r}}, nil
}

// Found is an entry of a provider's list from the lost window that our books do not have.
type Found struct {
	Version int64
	Account string
	// Reference is ours, from the call to the provider. Mark is the provider's copy of the
	// request's mark: a repeated request has the same one.
	Reference string
	Mark      string
	Kind      FoundKind
	FoundNotes
}

// FoundNotes are fields that no database query selects by.
type FoundNotes struct {
	ProviderRef string         `json:"providerRef,omitempty"`
	Charge      string         `json:"charge,omitempty"` // of a refund: our reference of the refunded charge, or ""
	Minor       int64          `json:"minor"`
	Currency    money.Currency `json:"currency"`
	At          int64          `json:"at,omitempty"` // microseconds UTC, the provider's time; 0: it gives none
	// Object is the object in our books that it belongs to now. Closed is the operator's note.
	Object string `json:"object,omitempty"`
	Closed string `json:"closed,omitempty"`
	// Why it could not be booked at once.
	Why string `json:"why,omitempty"`
}

// FoundKind is the type of a found entry.
type FoundKind string

// The kinds.
const (
	FoundCharge FoundKind = "charge"
	FoundRefund FoundKind = "refund"
	FoundPayout FoundKind = "payout"
)

// ID is the id of the row.
func (fo Found) ID() string { return fo.Account + "/" + fo.Reference }

// Open reports whether no object belongs to it yet and the operator has not closed it.
func (fo Found) Open() bool { return fo.Object == "" && fo.Closed == "" }

// Local is its amount, in minor units of Currency.
func (fo Found) Local() money.Amount { return money.New(fo.Minor, fo.Currency) }

// Assigned records the object that it belongs to.
func (fo Found) Assigned(object string) Found {
	fo.Version++
	fo.Object, fo.Why = object, ""
	return fo
}

// Close records what the operator did about it.
//
// It returns an error if it is not open, or if the note is empty.
func (fo Found) Close(note string) (Found, Change, error) {
	switch {
	case !fo.Open():
		return fo, Change{}, fmt.Errorf("%s was dealt with already", fo.ID())
	case note == "":
		return fo, Change{}, fmt.Errorf("say what you did about it")
	}
	fo.Version++
	fo.Closed = note
	return fo, Change{Found: []Found{fo}}, nil
}

// foundWhy is Attempt.Why of a found attempt.
const foundWhy = "found at the provider after a restore"

// beforeRestore is the decline of an attempt that was lost in the restore and that a later one
// followed.
const beforeRestore = "lost_in_restore"

// Regain gives a payment without an outcome the attempt that a provider's list has. Its outcome is
// queried; no call is made.
//
// Errors: conflict_state if the payment cannot have this attempt.
func (fo Found) Regain(p Payment, order int, by Caller, now time.Time) (Payment, Change, error) {
	if p.Status != Processing || order <= len(p.Attempts) {
		return p, Change{}, problem.New(problem.ConflictState, paymentWentOn.With(p.Status, len(p.Attempts)))
	}
	from := p
	p.Work.caller = by
	p.Attempts = slices.Clone(p.Attempts)
	for i := range p.Attempts {
		if a := &p.Attempts[i]; a.Status == Sending || a.Status == Unknown { // a later attempt followed, so this one charged nobody
			a.Status, a.Decline, a.Ended = Errored, beforeRestore, now.UnixMicro()
		}
	}
	for len(p.Attempts) < order-1 {
		p.Attempts = append(p.Attempts, Attempt{Order: len(p.Attempts) + 1, Status: Errored, Decline: beforeRestore, Started: now.UnixMicro(), Ended: now.UnixMicro()})
	}
	p.Attempts = append(p.Attempts, Attempt{
		Order: order, Provider: fo.Account, Status: Sending, ProviderRef: fo.ProviderRef, Started: now.UnixMicro(),
		Flight: Flight{}.begin(p.Work.caller), Why: foundWhy, Found: true,
	})
	p.Work.Owner, p.Work.DueAt = p.Work.caller.Node, now.Add(callLease)
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}, nil
}

// Listed records that a provider's own list has the payment's current attempt: it is queried, and not called
// again. It returns false if there is nothing to record.
func (fo Found) Listed(p Payment, order int, now time.Time) (Payment, Change, bool) {
	a, ok := p.Attempts.Current()
	if !ok || p.Status != Processing || a.Order != order || a.Found || a.Status != Sending && a.Status != Unknown {
		return p, Change{}, false
	}
	from := p
	p.Attempts = slices.Clone(p.Attempts)
	p.Attempts[order-1].Found, p.Attempts[order-1].ProviderRef = true, cmp.Or(a.ProviderRef, fo.ProviderRef)
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}, true
}

// ListedRefund records that a provider's own list has a round of the claim's refund: it is queried, and
// not requested again. If no refund was under way when the copy was made, the claim was approved
// after that. It returns false if there is nothing to record.
//
// Errors: conflict_state if the refund cannot belong to this claim.
func (fo Found) ListedRefund(c Claim, p Payment, round int, now time.Time) (Claim, Change, bool, error) {
	var change Change
	switch {
	case round < c.Call.Round, round == c.Call.Round && (!c.Calling() || c.Call.Found):
		return c, change, false, nil
	case c.Status.Terminal():
		return c, change, false, problem.New(problem.ConflictState, claimWentOn.With(c.Status, c.Call.Round))
	case !c.Calling():
		sent, _, err := c.Resolve(p, Approve, PartyOperator, foundWhy, now)
		if err != nil {
			return c, change, false, err
		}
		if !sent.Calling() {
			return c, change, false, problem.New(problem.ConflictState, claimIsAnother.With(c.Kind, c.Status))
		}
		c = sent
	default:
		c = c.written(now)
	}
	c.Call.State, c.Call.Round, c.Call.Found = Unknown, round, true
	c.Call.Ref = cmp.Or(fo.ProviderRef, c.Call.Ref)
	c.DueAt = now
	change.Claims = []Claim{c}
	return c, change, true, nil
}

// Priced returns the payment with the amount that was found: the rate may have changed since.
//
// Errors: conflict_state if the currency differs.
func (fo Found) Priced(p Payment) (Payment, error) {
	if fo.Currency != p.Price.Local.Currency {
		return p, &problem.Error{Code: problem.ConflictState, Details: problem.Details{Reason: Recovering, Action: "create"},
			Reason: pricedOtherwise}
	}
	p.Price.Local = fo.Local()
	return p, nil
}

// RegainPayout records that a withdrawal was sent to an account in a round before the restore. It is
// queried, and sent nowhere else until that is answered. If it is with an account in an earlier
// round, that account has since proved that it did not pay.
//
// Errors: conflict_state if the withdrawal cannot have had this round.
func (fo Found) RegainPayout(w Withdrawal, round int, float money.Amount, by Caller, now time.Time) (Withdrawal, Change, error) {
	version, moved := w.Version, Change{}
	switch {
	case w.Status == WithdrawalProcessing && round > w.Round:
		w, moved = w.passOn(PayoutOutcome{Code: beforeRestore}, now)
	case w.Status == WithdrawalPending && round >= w.Round:
	default:
		return w, Change{}, problem.New(problem.ConflictState, withdrawalWentOn.With(w.Status, w.Round))
	}
	w.Round = round
	next, change := w.Send(PayoutRoute{Account: fo.Account, Why: foundWhy, Float: float}, by, now)
	next.Payout.ProviderRef, next.Payout.Found, next.Version = fo.ProviderRef, true, version+1
	change.Withdrawals, change.Transfers = []Withdrawal{next}, append(moved.Transfers, change.Transfers...)
	return next, change, nil
}

// ListedPayout records that an account's own list has the payout that is under way there: it is queried,
// and not sent again. It returns false if there is nothing to record.
func (fo Found) ListedPayout(w Withdrawal, now time.Time) (Withdrawal, Change, bool) {
	if w.Status != WithdrawalProcessing || w.Payout.Found || w.Reference() != fo.Reference || w.Payout.Provider != fo.Account {
		return w, Change{}, false
	}
	w = w.next(now)
	w.Payout.Found, w.Payout.ProviderRef = true, cmp.Or(w.Payout.ProviderRef, fo.ProviderRef)
	return w, Change{Withdrawals: []Withdrawal{w}}, true
}
