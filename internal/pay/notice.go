package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Notice is one thing that a provider's notification reports, in our words. Its signature was
// checked.
type Notice struct {
	ID        string // the provider's own id of it; a notice with a known id is not applied again
	Account   string // the provider account that it came to
	Reference string // ours, of the charge
	Refund    string // our reference of a refund, if the outcome is a refund's; Reference may be of its charge, if it is none of ours
	Outcome   Outcome
	Dispute   bool   // it reports the state of a dispute
	Ruling    Ruling // how the dispute ended; "" if the notice is about something else
	Body      []byte
	Unread    bool // not all of it was understood: a state that may move money in an unknown way, or an id was left out (see Storable)

	// Of a dispute, open or ended. Outcome.Message is the reason, and Outcome.Local the disputed
	// amount; zero if the provider does not report it.
	DisputeID string    // the provider's; "" if there is none
	Instance  int       // the instance that decides: 0 and 1 are the first, 2 is the next
	Stage     string    // the provider's own name of its state, for operators
	Network   string    // the card network's code of the reason
	RespondBy time.Time // deadline for evidence; zero: our own window applies
	Reviewing bool      // the provider has the evidence and does not wait for the merchant
}

// ApplyRefundNotice applies a notice of a refund to its claim. The Change always keeps the notice. A
// refund that fails after it was confirmed gets a claim of its own, with the id claimID: see
// bookReturn. Any other notice that contradicts a refund that has ended is kept as mismatched for the
// operator.
func (c Claim) ApplyRefundNotice(p Payment, n Notice, claimID string, now time.Time) (Claim, Change) {
	next, change, verdict := c, Change{}, Ignored
	switch _, round, ok := ParseRefundReference(n.Refund); {
	case !ok:
	case c.Call.Returned != "" && n.Outcome.Kind == Declined && round == c.Call.Round:
	case c.Call.Returned != "" && n.Outcome.Kind == Approved: // made again after it had failed
		verdict = Mismatched
	case c.fails(round, n.Outcome):
		next, change = c.bookReturn(p, claimID, n.Outcome.Message, now)
		verdict = Applied
	case c.contradicts(round, n.Outcome):
		verdict = Mismatched
	case round != c.Call.Round:
	case c.Calling() && c.misfits(n.Outcome):
		next, change = c.hold(p, n.Outcome, now)
		verdict = Mismatched
	case c.Calling():
		next, change = c.ApplyRefundOutcome(p, n.Outcome.AsQueried(), now)
		verdict = Applied
	}
	change.Notices = []KeptNotice{n.stored(p.ID, verdict, now)}
	return next, change
}

// ApplyNotice applies a notice to the payment. The Change always keeps the notice; the verdict says
// whether anything else changed. Notices of disputes belong to ApplyDispute, which has the claims: here
// one is treated as the first dispute.
func (p Payment) ApplyNotice(n Notice, c Cascade, claimID string, now time.Time) (Payment, Change) {
	if n.OfDispute() {
		return n.ApplyDispute(p, nil, [2]string{claimID}, now)
	}
	p.Work.caller = c.By
	next, change, verdict := p.applyNotice(n, c, claimID, now)
	next, change = next.applyHeld(change, now)
	if _, order, ok := ParseReference(n.Reference); ok && order <= len(p.Attempts) {
		next, change = next.also(&p, change, order, n.Outcome, now)
		if len(change.Payments) == 0 { // tries are facts, also of a charge that is over
			tried, news := p.tried(order, n.Outcome, now)
			if plan := n.Outcome.Installments.For(p.Price.Local); n.Outcome.Kind == Approved && order == p.End.Captured && plan.Known() && !p.End.Plan.Known() {
				tried.End.Plan, news = plan, true
			}
			if news {
				tried.written(&p, now)
				next = tried
				if change.Payments = []Payment{next}; !n.Unread { // what was not understood is still the operator's
					verdict = Applied
				}
			}
		}
	}
	change.Notices = append(change.Notices, n.stored(p.ID, verdict, now))
	return next, change
}

func (p Payment) applyNotice(n Notice, c Cascade, claimID string, now time.Time) (Payment, Change, Verdict) {
	_, order, ok := ParseReference(n.Reference)
	if !ok || order > len(p.Attempts) {
		return p, Change{}, Mismatched
	}
	n.Outcome = n.Outcome.AsQueried()
	last := order == len(p.Attempts)
	switch {
	case n.Outcome.Kind == Reversed:
		return p.applyReversal(n, order, c, now)
	case n.Outcome.Kind == Approved:
		return p.paid(order, n.Outcome, c, claimID, now)
	case p.Status == Processing && n.Outcome.Kind == Awaiting && n.Outcome.FormURL == "":
		return p, Change{}, Ignored // the answer to the call, or to a query, has the address for the shopper
	case p.Status.Open() && last:
		next, change := p.applyOutcome(n.Outcome, c, now)
		return next, change, Applied
	case p.Following() && last:
		next, change := p.applyFollowed(p.Attempts[order-1], n.Outcome, claimID, now)
		return next, change, Applied
	case p.denied(order, n.Outcome):
		return p, Change{}, Mismatched
	}
	return p, Change{}, Ignored
}

// UnknownNotice is a notice about an object that the books do not have.
type UnknownNotice struct {
	ID          string // the provider's own id of the notice
	Reference   string // where a notice about one of our objects has our reference
	ProviderRef string
	Says        string // what it reports, in our words
	Local       money.Amount
	Body        []byte
}

// Unknown returns a notice as one about an object that the books do not have.
func (n Notice) Unknown() UnknownNotice {
	ref, says := n.Reference, string(n.Outcome.Kind)
	if n.Refund != "" { // its charge tells better whose it is
		ref, says = cmp.Or(ref, n.Refund), "refund "+says
	}
	if n.OfDispute() {
		says = "dispute " + n.Stage
	}
	return UnknownNotice{ID: n.ID, Reference: ref, ProviderRef: n.Outcome.ProviderRef, Says: says, Local: n.Outcome.Local, Body: n.Body}
}

// Unknown returns a notice as one about a payout that the books do not have.
func (n PayoutNotice) Unknown() UnknownNotice {
	return UnknownNotice{ID: n.ID, Reference: n.Reference, ProviderRef: n.ProviderRef, Says: "payout " + string(n.Outcome.Kind), Local: n.Outcome.Local, Body: n.Body}
}

// Object is what would be our id of the object, without its prefix.
func (n UnknownNotice) Object() string {
	object, _, _ := strings.Cut(n.Reference, "-")
	return object
}

// Stored is the notice as it is kept, of no payment: a summary, because the rest of another system's object is none of
// our business.
func (n UnknownNotice) Stored(account string, now time.Time) KeptNotice {
	body := fmt.Appendf(nil, "%s %s: reference %q, the provider's %q", n.Says, n.Local, plain(n.Reference), plain(n.ProviderRef))
	// An applied notice has another id, so that the same notice can be applied when the object is back.
	return KeptNotice{ID: "/unknown/" + account + "/" + n.ID, Account: account, Verdict: Ignored, Body: body, At: now}
}

// KeptWhole is Stored with all that the provider sent.
func (n UnknownNotice) KeptWhole(account string, now time.Time) KeptNotice {
	kept := n.Stored(account, now)
	kept.Body = n.Body
	return kept
}

// LastOpen reports whether, apart from one, no mismatched notice of a payment waits for the
// operator. told has all notices of the payment, oldest first.
func LastOpen(told []KeptNotice, one KeptNotice) bool {
	open := map[string]bool{}
	for _, r := range told { // a closing comes after the notice that it closes
		switch r.Verdict {
		case Mismatched:
			open[r.ID] = true
		case Closed:
			delete(open, strings.TrimPrefix(r.ID, closing))
		}
	}
	delete(open, one.ID)
	return len(open) == 0
}

// ApplyAnswer records the outcome of the current attempt and decides what follows: completed, pending,
// failed, a new attempt on the next route (sending), or still unknown.
//
// It accepts the results of calls and of queries. After an unknown outcome it never makes another
// attempt: the shopper may have been charged.
func (p Payment) ApplyAnswer(o Outcome, c Cascade, now time.Time) (Payment, Change) {
	attempt, _ := p.Attempts.Current()
	next, change := p.applyOutcome(o, c, now)
	next, change = next.applyHeld(change, now)
	if len(o.Also) == 0 {
		return next, change
	}
	return next.also(&p, change, attempt.Order, o, now)
}

// applyReversal applies news that the provider gave a charge back, without the claims: ApplyRefundList applies
// it to money that is in the books. No refund of ours can exist while the payment is open, so
// nothing is credited: a charge that went back whole ends the payment, and of another one the
// operator has to find out what is left.
func (p Payment) applyReversal(n Notice, order int, c Cascade, now time.Time) (Payment, Change, Verdict) {
	o, current := n.Outcome, order == len(p.Attempts)
	switch attempt := p.Attempts[order-1]; {
	case attempt.Status == Approved && o.Back != nil && o.Back.Total.Minor <= p.Refunds.Local:
		return p, Change{}, Ignored
	case attempt.Status == Approved:
		return p, Change{}, Mismatched
	case o.partlyBack():
		return p.partlyGone(order, o).mismatched(order, o.remaining(), "", now)
	case p.Status.Open() && current:
		next, change := p.applyOutcome(o, c, now)
		return next, change, Applied
	case attempt.Status == Reversed:
		return p, Change{}, Ignored
	}
	from := p
	p.Attempts = p.noted(order, o, now) // the money came, and went back: older news that it is paid changes nothing
	if current {
		p.Work.DueAt, p.Times.Unsure = p.nextOfLeft(now), time.Time{}
	}
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}, Applied
}

// ApplyRefundList applies a provider's list of what it gave back of a charge. claims are all claims of the
// payment. Each refund that the provider made by itself becomes a claim, once, with one of the ids;
// it may take available below zero (REF-14). A refund that cannot be told from one of ours that is
// under way, or that exceeds what is left, is kept as mismatched for the operator. The Change always
// keeps the notice.
func (n Notice) ApplyRefundList(p Payment, claims []Claim, ids []string, now time.Time) (Payment, Change) {
	_, order, _ := ParseReference(n.Reference)
	d, verdict := newDocket(p, claims, now), Ignored
	inquiry, booked := d.money(order, n.Outcome.MoneyRef)
	if booked && n.Outcome.MoneyRef == "" && p.moneys(order) > 1 { // the refund may be of any of these moneys
		booked, verdict = false, Mismatched
	}
	switch whole := n.Outcome.wholeBack() && p.strayed(order, n.Outcome.MoneyRef) < 0; {
	case !booked && !whole: // of money that was not reported before
		verdict = Mismatched
	case !booked: // the money came, and went back
		d.p, d.moved, verdict = p.remember(order, n.Outcome.MoneyRef), true, Applied
	}
	for _, r := range d.reported(n.Outcome, inquiry, order) {
		id := ""
		if len(ids) > 0 {
			id = ids[0]
		}
		if !booked {
			break
		}
		v := d.applyRefund(r, order, inquiry, id)
		if v == Ignored {
			continue
		}
		ids = ids[min(1, len(ids)):]
		if verdict != Mismatched {
			verdict = v
		}
	}
	next, change := d.done()
	next, change = next.also(&p, change, order, n.Outcome, now)
	change.Notices = append(change.Notices, n.stored(p.ID, verdict, now))
	return next, change
}

// also books the further money that an answer or a notice lists. change is the decision about the
// first one, not written yet; from is the stored payment.
func (p Payment) also(from *Payment, change Change, order int, o Outcome, now time.Time) (Payment, Change) {
	for _, m := range o.Also {
		if m.Claim == "" {
			continue
		}
		said := Outcome{Kind: Approved, ProviderRef: m.ProviderRef, MoneyRef: m.Ref, Local: m.Local}
		next, more, verdict := p.paid(order, said, Cascade{}, m.Claim, now)
		next, more = next.applyHeld(more, now)
		if verdict == Ignored || verdict == Mismatched && len(more.Events) == 0 {
			continue
		}
		p = next
		p.written(from, now)
		change.Payments = []Payment{p}
		change.Claims = append(change.Claims, more.Claims...)
		change.Transfers = append(change.Transfers, more.Transfers...)
		change.Events = append(change.Events, more.Events...)
		if verdict != Applied {
			told := from.keptAnswer(p.Attempts[order-1], said, verdict, now)
			told.ID += " " + m.Claim
			change.Notices = append(change.Notices, told)
		}
	}
	return p, change
}

// CheckRetry returns an error if the shopper may not try to pay by card again at another provider: the payment must wait for the
// shopper after a refusal on a page, and no money may have come for it.
//
// Errors: conflict_state.
func CheckRetry(p Payment) error {
	attempt, _ := p.Attempts.Current()
	last, _ := attempt.Tries.Last()
	conflict := &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(p.Status), Action: "retry"}}
	switch {
	case p.Status != Pending || p.Canceling() || !p.Way.Sync || len(attempt.Tries) == 0:
		conflict.Reason = noCardRefused
	case !last.Reason.Meaning().Again:
		conflict.Reason = refusedForGood
	case p.Holds():
		conflict.Reason = moneyArrivedNoRetry
		conflict.Details.Reason, conflict.Details.ExistingTxID = PaymentReceived, p.ID
	default:
		return nil
	}
	return conflict
}

// goesOn reports whether the shopper may try again after what the provider says at the end of the page: it may know of a refusal that we
// do not know.
func (p Payment) goesOn(o Outcome, now time.Time) bool {
	order := len(p.Attempts)
	p, _ = p.tried(order, o, now)
	last, _ := p.Attempts[order-1].Tries.Last()
	return last.Reason.Meaning().Again && (o.Kind != Declined || decline.Of(o.Code, o.Decline).Meaning().Again)
}

// TryAgain moves a payment whose card was refused on its provider's page to the next route, as its next attempt. o is the provider's
// answer to the request to end the page. It must prove that the page can take no money any more; money that is reported of it
// later is late money. If the answer is paid, it completes the payment. If it has other money, or a refusal after which nobody may try
// again, the payment ends as the provider says.
//
// Errors: as CheckRetry; service_unavailable with the reason NotEnded if it is not known whether the page has ended. Then nothing
// changes.
func (ca Cascade) TryAgain(p Payment, o Outcome, now time.Time) (Payment, Change, error) {
	if err := CheckRetry(p); err != nil {
		return p, Change{}, err
	}
	next, more := ca.next(p.Attempts)
	switch o.Kind {
	case Approved, Reversed:
		next, change := p.ApplyAnswer(o, ca, now)
		return next, change, nil
	case Lapsed, Declined:
		if !more || len(o.Also) > 0 || !p.goesOn(o, now) { // the attempt ends as the provider reports
			next, change := p.ApplyAnswer(o, ca, now)
			return next, change, nil
		}
	default:
		return p, Change{}, &problem.Error{Code: problem.ServiceUnavailable, Reason: pageMayGoOn,
			Details: problem.Details{Reason: NotEnded, TransactionID: p.ID}}
	}
	from := p
	p.Work.caller = ca.By
	attempt, _ := p.Attempts.Current()
	p.Attempts = p.noted(attempt.Order, o, now)
	p.move(Retry, now)
	p.try(next, now)
	p.Attempts[len(p.Attempts)-1].Again = true
	p.Page.FormURL, p.Page.Data, p.Page.Challenged = "", PaymentData{}, false
	p.Times.Expires = now.Add(p.Way.Window) // the shopper's time begins again
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}, nil
}

// OnlyLeft reports whether nothing but Left is queried about a payment: the money of its last attempt is known.
func OnlyLeft(p Payment) bool {
	last, _ := p.Attempts.Current()
	return p.Looking() && !p.Following() && (!p.Times.Completed.IsZero() || last.Status == Approved || last.Status == Reversed)
}

// CountQuery returns the attempts with the count of unanswered queries of one of Left. The caller writes them with LookedAtLeft or ApplyLook.
func (as Attempts) CountQuery(order int, answered bool) Attempts {
	as = slices.Clone(as)
	if as[order-1].Unanswered++; answered {
		as[order-1].Unanswered = 0
	}
	return as
}

// LookedAtLeft records that Left was queried about a payment with OnlyLeft, and found no money. The merchant does not see it.
func LookedAtLeft(p Payment, now time.Time) (Payment, Change) {
	from := p
	p.Work.DueAt = p.nextOfLeft(now)
	p.written(&from, now)
	p.Times.Updated = from.Times.Updated
	return p, Change{Payments: []Payment{p}}
}

// Describe says in a line where the next try of a shopper whose card was refused on a page goes, and why; "" if no card was refused on the
// last page. doubts is what keeps the page's provider from proving that its page has ended, or "". Of a payment that has ended it tells
// what the rules allowed at the last refusal.
func (ca Cascade) Describe(p Payment, doubts string, now time.Time) string {
	attempt, _ := p.Attempts.Current()
	last, refused := attempt.Tries.Last()
	ended := p.Status == Failed || p.Status == Expired
	if !refused || !p.Way.Sync || p.Status != Pending && !ended {
		return ""
	}
	goes, stays := "the shopper's next try goes to", "the shopper's next try stays with "+attempt.Provider
	if ended {
		now = time.UnixMicro(last.At)
		goes, stays = "the shopper did not try again; by today's rules the next try goes to", "the shopper could not go on elsewhere, by today's rules"
	}
	if why := cmp.Or(ca.Stays(p, now), doubts); why != "" {
		return stays + ": " + why
	}
	next, _ := ca.next(p.Attempts)
	text := fmt.Sprintf("after %s %s %s: %d of %d retries were used", last.Reason, goes, next.Provider, p.Attempts.retries(), ca.Retry.Times)
	if ca.Retry.Within > 0 {
		text += ", and it is possible until " + p.Times.Created.Add(ca.Retry.Within).UTC().Format("2006-01-02T15:04:05Z")
	}
	return text
}
