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

// Recovery is what the service knows of itself when its database was put back from a copy, or to
// a moment in the past: what was done in the window between From and To is not in it. There is
// one at most.
type Recovery struct {
	Version int64
	State   RecoveryState
	From    time.Time // all that was committed before is there
	To      time.Time // nothing was committed later; zero: not known yet
	Until   time.Time // of a guarded one: when keys of the window are no longer repeated
	RecoveryNotes
}

// RecoveryNotes are what no query asks for.
type RecoveryNotes struct {
	By string `json:"by,omitempty"` // who began it
	// Covered says of each provider account how its part of the window is known.
	Covered map[string]string `json:"covered,omitempty"`
}

// RecoveryID is the id of its row.
const RecoveryID = "recovery"

// RecoveryState is how far a recovery is.
type RecoveryState string

// The states. Closed: no money is asked for, given back or paid out. Guarded: a request whose key
// nobody knows is compared with what was found at providers before it is taken for a new one.
const (
	RecoveryClosed  RecoveryState = "closed"
	RecoveryGuarded RecoveryState = "guarded"
	RecoveryOver    RecoveryState = "over"
)

// Recovering is the reason of what is refused meanwhile.
const Recovering = "recovering"

// Active reports whether requests are looked at with care at a moment.
func (r Recovery) Active(now time.Time) bool {
	return r.State == RecoveryClosed || r.State == RecoveryGuarded && now.Before(r.Until)
}

// BeginRecovery closes the service. to is zero where nobody knows yet when the lost window ended. Where it is
// closed already, the database was put back once more, to a moment at which it was: the window is that of
// both, and what was known of accounts was of the first alone.
//
// Errors: that the window ends before it begins.
func (r Recovery) BeginRecovery(from, to time.Time, by string, now time.Time) (Recovery, Change, error) {
	switch {
	case from.IsZero():
		return r, Change{}, fmt.Errorf("say to which moment the database was put back")
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

// Restored notes that a copy is the database from now on. What was known of accounts in it was of a window
// that ended when the copy was made: the service may have opened since.
//
// Errors: that it does not say that it is a copy.
func (r Recovery) Restored(now time.Time) (Recovery, Change, error) {
	if r.State != RecoveryClosed {
		return r, Change{}, fmt.Errorf("the database does not say that it is a copy")
	}
	r.Version++
	r.To, r.Covered = now, nil
	return r, Change{Recoveries: []Recovery{r}}, nil
}

// Cover notes how the part of an account in the window is known.
//
// Errors: that no recovery is under way.
func (r Recovery) Cover(account, how string) (Recovery, Change, error) {
	if r.State != RecoveryClosed {
		return r, Change{}, fmt.Errorf("no recovery is under way: cascada recover begin")
	}
	r.Version++
	r.Covered = maps.Clone(r.Covered)
	if r.Covered == nil {
		r.Covered = map[string]string{}
	}
	r.Covered[account] = how
	return r, Change{Recoveries: []Recovery{r}}, nil
}

// guardFor is how long after the window its keys may still be repeated: as long as keys are kept.
const guardFor = 7 * 24 * time.Hour

// End opens the service again, with all accounts that might have taken part in the window, and
// what was found and stands for nothing. waiting says that refunds and payouts among that may wait
// until their requests are repeated.
//
// Errors: that no recovery is under way, that an account is not covered, that a refund or a payout
// was found with which nobody has dealt.
func (r Recovery) End(accounts []string, found []Found, waiting bool) (Recovery, Change, error) {
	if r.State != RecoveryClosed {
		return r, Change{}, fmt.Errorf("no recovery is under way")
	}
	for _, a := range accounts {
		if r.Covered[a] == "" {
			return r, Change{}, fmt.Errorf("nobody has told what account %s did in the window: cascada recover list --provider %s --report FILE, or recover cover %s", a, a, a)
		}
	}
	i := slices.IndexFunc(found, func(f Found) bool { return f.Open() && f.Kind != FoundCharge })
	if i >= 0 && !waiting {
		return r, Change{}, fmt.Errorf("%s %s was found and nothing stands for it here: the merchant has its money a second time. Close it, or let it wait for its request to be repeated (--waiting)", found[i].Kind, found[i].ID())
	}
	r.Version++
	r.State, r.Until = RecoveryGuarded, r.To.Add(guardFor)
	return r, Change{Recoveries: []Recovery{r}}, nil
}

// Found is something that a provider has of the window and our books have not.
type Found struct {
	Version int64
	Account string
	// Reference is ours, with which the provider was called, and Mark what it has of the request:
	// whoever repeats that has the same one.
	Reference string
	Mark      string
	Kind      FoundKind
	FoundNotes
}

// FoundNotes are what no query asks for.
type FoundNotes struct {
	ProviderRef string         `json:"providerRef,omitempty"`
	Charge      string         `json:"charge,omitempty"` // of a refund: our reference of what it gives back, or ""
	Minor       int64          `json:"minor"`
	Currency    money.Currency `json:"currency"`
	At          int64          `json:"at,omitempty"` // microseconds UTC, as the provider dates it; 0: it does not
	// Object is what stands for it here since it was found; Closed what the operator did about it.
	Object string `json:"object,omitempty"`
	Closed string `json:"closed,omitempty"`
	// Why it could not be taken into the books at once.
	Why string `json:"why,omitempty"`
}

// FoundKind says what was found.
type FoundKind string

// What providers have.
const (
	FoundCharge FoundKind = "charge"
	FoundRefund FoundKind = "refund"
	FoundPayout FoundKind = "payout"
)

// ID is the id of its row.
func (f Found) ID() string { return f.Account + "/" + f.Reference }

// Open reports whether nothing stands for it, and nobody has dealt with it.
func (f Found) Open() bool { return f.Object == "" && f.Closed == "" }

// Local is its amount.
func (f Found) Local() money.Amount { return money.New(f.Minor, f.Currency) }

// Taken notes what stands for it from now on.
func (f Found) Taken(object string) Found {
	f.Version++
	f.Object, f.Why = object, ""
	return f
}

// Close notes what the operator did about it.
//
// Errors: that nobody waits for that, that there is no note.
func (f Found) Close(note string) (Found, Change, error) {
	switch {
	case !f.Open():
		return f, Change{}, fmt.Errorf("%s is dealt with already", f.ID())
	case note == "":
		return f, Change{}, fmt.Errorf("say what you did about it")
	}
	f.Version++
	f.Closed = note
	return f, Change{Found: []Found{f}}, nil
}

// foundWhy is why an attempt went to its account.
const foundWhy = "found at the provider after a restore"

// beforeRestore is the decline of attempts that nothing is known of but that a later one followed.
const beforeRestore = "lost_in_restore"

// Regain gives a payment that nobody answered the attempt that a provider has of it. What came of it
// is asked for; no call is made for it.
//
// Errors: conflict_state where the payment cannot have it.
func (p Payment) Regain(f Found, order int, now time.Time) (Payment, Change, error) {
	if p.Status != Processing || order <= len(p.Attempts) {
		return p, Change{}, problem.New(problem.ConflictState, fmt.Sprintf("the payment is %s with %d attempts", p.Status, len(p.Attempts)))
	}
	from := p
	p.Attempts = slices.Clone(p.Attempts)
	for i := range p.Attempts {
		if a := &p.Attempts[i]; a.Status == Sending || a.Status == Unknown { // another one followed, so it took nothing
			a.Status, a.Decline, a.Ended = Errored, beforeRestore, now.UnixMicro()
		}
	}
	for len(p.Attempts) < order-1 {
		p.Attempts = append(p.Attempts, Attempt{Order: len(p.Attempts) + 1, Status: Errored, Decline: beforeRestore, Started: now.UnixMicro(), Ended: now.UnixMicro()})
	}
	p.Attempts = append(p.Attempts, Attempt{
		Order: order, Provider: f.Account, Status: Sending, ProviderRef: f.ProviderRef, Started: now.UnixMicro(),
		Flight: Flight{}.begin(p.caller), Why: foundWhy, Found: true,
	})
	p.Owner, p.DueAt = p.caller.Node, now.Add(callLease)
	p = p.written(from, now)
	return p, Change{Payments: []Payment{p}}, nil
}

// Listed notes that a provider's own list has the attempt that is under way: it is asked about, and not
// called again. false where there is nothing to note.
func (p Payment) Listed(f Found, order int, now time.Time) (Payment, Change, bool) {
	a, ok := p.current()
	if !ok || p.Status != Processing || a.Order != order || a.Found || a.Status != Sending && a.Status != Unknown {
		return p, Change{}, false
	}
	from := p
	p.Attempts = slices.Clone(p.Attempts)
	p.Attempts[order-1].Found, p.Attempts[order-1].ProviderRef = true, cmp.Or(a.ProviderRef, f.ProviderRef)
	p = p.written(from, now)
	return p, Change{Payments: []Payment{p}}, true
}

// Listed notes that a provider's own list has a round of the claim's refund: what became of it is asked,
// and it is not told again. Where the claim was of another mind when the copy was made, that was decided
// since. false where there is nothing to note.
//
// Errors: conflict_state where it cannot have been made for this claim.
func (c Claim) Listed(p Payment, f Found, round int, now time.Time) (Claim, Change, bool, error) {
	var change Change
	switch {
	case round < c.Call.Round, round == c.Call.Round && (!c.Calling() || c.Call.Found):
		return c, change, false, nil
	case c.Status.Terminal():
		return c, change, false, problem.New(problem.ConflictState, fmt.Sprintf("the claim is %s after %d refunds of it", c.Status, c.Call.Round))
	case !c.Calling():
		sent, _, err := c.Resolve(p, Approve, PartyOperator, foundWhy, now)
		if err != nil {
			return c, change, false, err
		}
		if !sent.Calling() {
			return c, change, false, problem.New(problem.ConflictState, fmt.Sprintf("the claim is a %s, and %s", c.Kind, c.Status))
		}
		c = sent
	default:
		c = c.written(now)
	}
	c.Call.State, c.Call.Round, c.Call.Found = Unknown, round, true
	c.Call.Ref = cmp.Or(f.ProviderRef, c.Call.Ref)
	c.DueAt = now
	change.Claims = []Claim{c}
	return c, change, true, nil
}

// Heard is the answer to a question about a refund: as of an attempt.
func (r RefundCall) Heard(o Outcome) Outcome { return Attempt{Found: r.Found}.Heard(o) }

// Asked is the answer to a question about a payout: as of an attempt.
func (w Withdrawal) Asked(o PayoutOutcome) PayoutOutcome {
	if w.Found && (o.Kind == PayoutMissing || o.Kind == PayoutUnsent) {
		return PayoutOutcome{Kind: PayoutUnknown, Code: "listed_and_not_known"}
	}
	return o
}

// Heard is the answer to a question about an attempt. That the provider knows of no charge is no
// proof where its own list has it.
func (a Attempt) Heard(o Outcome) Outcome {
	if a.Found && o.Kind == Missing {
		return Outcome{Kind: Unknown, Decline: "listed_and_not_known"}
	}
	return o
}

// At returns a payment of the amount that was found: the rate may have moved since.
//
// Errors: conflict_state where it is of another currency.
func (p Payment) At(f Found) (Payment, error) {
	if f.Currency != p.Price.Local.Currency {
		return p, &problem.Error{Code: problem.ConflictState, Details: problem.Details{Reason: Recovering, Action: "create"},
			Message: "this request was carried out before, in another currency: ask the operator of the service"}
	}
	p.Price.Local = f.Local()
	return p, nil
}

// Regain notes that a withdrawal was sent to an account before the restore, in a round: it is asked
// about, and goes nowhere else before that is answered. Where it is with an account in an earlier round,
// that one has proved since that it did not pay.
//
// Errors: conflict_state where it cannot have been.
func (w Withdrawal) Regain(f Found, round int, float money.Amount, by Caller, now time.Time) (Withdrawal, Change, error) {
	version, moved := w.Version, Change{}
	switch {
	case w.Status == WithdrawalProcessing && round > w.Round:
		w, moved = w.passOn(PayoutOutcome{Code: beforeRestore}, now)
	case w.Status == WithdrawalPending && round >= w.Round:
	default:
		return w, Change{}, problem.New(problem.ConflictState, fmt.Sprintf("the withdrawal is %s in round %d", w.Status, w.Round))
	}
	w.Round = round
	next, change := w.Send(PayoutRoute{Account: f.Account, Why: foundWhy, Float: float}, by, now)
	next.ProviderRef, next.Found, next.Version = f.ProviderRef, true, version+1
	change.Withdrawals, change.Transfers = []Withdrawal{next}, append(moved.Transfers, change.Transfers...)
	return next, change, nil
}

// Listed notes that an account's own list has the payout that is under way there: it is asked about, and
// not sent again. false where there is nothing to note.
func (w Withdrawal) Listed(f Found, now time.Time) (Withdrawal, Change, bool) {
	if w.Status != WithdrawalProcessing || w.Found || w.Reference() != f.Reference || w.Provider != f.Account {
		return w, Change{}, false
	}
	w = w.next(now)
	w.Found, w.ProviderRef = true, cmp.Or(w.ProviderRef, f.ProviderRef)
	return w, Change{Withdrawals: []Withdrawal{w}}, true
}
