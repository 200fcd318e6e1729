package pay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// A session's token begins with SessionTokenPrefix. The id of its row begins with SessionPrefix; only
// the shop's team sees it.
const (
	SessionPrefix      = "ses_"
	SessionTokenPrefix = "cs_"
)

// SessionLife is how long a session's token is valid, completed or not (CHK-11).
const SessionLife = 24 * time.Hour

// SessionStatus is the state of a session (CHK-2).
type SessionStatus string

// The two states. SessionPending means that a payment exists; its own status may be any.
const (
	AwaitingMethod SessionStatus = "awaiting_method"
	SessionPending SessionStatus = "pending"
)

// Session is a hosted checkout in selector mode: the shop sets an amount and a customer, and the
// customer chooses the method. Whoever has the token may read it and choose, once.
type Session struct {
	ID string // ses_…
	merchants.Scope
	Version int64
	Hash    string // keyed hash of the token, which is not stored

	Asked  money.Amount // in the shop's currency
	Amount money.Amount // USD: Asked at Rate
	Rate   money.Rate   // Asked's currency for one USD, as used
	// Source and time of the rate; "" and zero for US dollars.
	RateSource   string
	RateAt       time.Time
	Country      string // alpha-3; "" offers the methods of every country
	Customer     Customer
	Purchase     Purchase
	IP           string // of the customer's last request before the choice, or ""
	OrderID      string
	ReturnURL    string
	Payment      string              // the payment it is locked to; "" until a method is chosen
	Strict       bool                // made in a strict sandbox: it refuses what production refuses
	After        string              // the failed payment that this one tries again; or ""
	DueAt        time.Time           // when its end is announced; zero once that is done or a method was chosen
	Installments installment.Request // what the request says
	Link         bool                // a payment link, which somebody of the team made
	Closed       time.Time           // when somebody closed the link; zero: nobody did
	CreatedAt    time.Time
	UpdatedAt    time.Time

	// Reached are the steps that this value is the first to reach; not stored.
	Reached []SessionStep
}

// SessionStep is how far a shopper came, for analytics.
type SessionStep string

// The steps.
const (
	SessionOpened  SessionStep = "opened"
	SessionVisited SessionStep = "visited"
	SessionChosen  SessionStep = "chosen"
)

// Customer is the shopper of a session, as the shop reported them.
type Customer struct {
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	Document  string `json:"document,omitempty"`
}

// NoSession is the error for a token that is unknown, too old, closed, or from another service.
func NoSession() error {
	return problem.New(problem.CheckoutSessionNotFound, sessionGone.With(int(SessionLife/time.Hour)))
}

// Open makes a session from a request: all fields are set except the USD amount, the version and
// the times.
//
// Errors: amount_invalid, amount_above_maximum.
func (s Session) Open(now time.Time) (Session, Change, error) {
	usd, err := Worth(s.Asked, s.Rate)
	if err != nil {
		return Session{}, Change{}, err
	}
	s.Amount, s.Version, s.CreatedAt, s.UpdatedAt, s.Reached = usd, 1, now, now, []SessionStep{SessionOpened}
	s.DueAt = s.ExpiresAt()
	return s, Change{Sessions: []Session{s}}, nil
}

// ExpiresAt is when the token stops being valid.
func (s Session) ExpiresAt() time.Time { return s.CreatedAt.Add(SessionLife) }

// Status is the session's state.
func (s Session) Status() SessionStatus {
	if s.Payment != "" {
		return SessionPending
	}
	return AwaitingMethod
}

// Resolve returns an error if the token is not valid any more.
//
// Errors: checkout_session_not_found.
func (s Session) Resolve(now time.Time) error {
	if !now.Before(s.ExpiresAt()) || !s.Closed.IsZero() {
		return NoSession()
	}
	return nil
}

// Visit records the customer's address, and reports whether it is new. Once a method is chosen, the
// address that the provider got is kept.
func (s Session) Visit(ip string, now time.Time) (Session, Change, bool) {
	if s.Payment != "" || ip == "" || ip == s.IP {
		return s, Change{}, false
	}
	first := s.IP == ""
	s.IP = ip
	if s = s.written(now); first {
		s.Reached = []SessionStep{SessionVisited}
	}
	return s, Change{Sessions: []Session{s}}, true
}

// Choosable returns an error if a method may not be chosen.
//
// Errors: checkout_session_not_found, checkout_session_already_completed.
func (s Session) Choosable(now time.Time) error {
	if err := s.Resolve(now); err != nil {
		return err
	}
	if s.Payment != "" {
		return &problem.Error{Code: problem.CheckoutSessionAlreadyCompleted, Reason: methodChosen,
			Details: problem.Details{ExistingTxID: s.Payment}}
	}
	return nil
}

// Buyer is the shopper for the payment's provider. Fields that the customer typed replace the
// shop's, unless they are empty.
func (s Session) Buyer(typed Buyer) Buyer {
	return Buyer{
		Email: s.Customer.Email, Name: strings.TrimSpace(s.Customer.FirstName + " " + s.Customer.LastName),
		Phone: s.Customer.Phone, Document: s.Customer.Document, IP: s.IP,
	}.Or(typed)
}

// Or returns the buyer with those fields replaced that are not empty in told, what the shopper has typed now.
func (b Buyer) Or(told Buyer) Buyer {
	return Buyer{
		Email: cmp.Or(told.Email, b.Email), Name: cmp.Or(told.Name, b.Name), Phone: cmp.Or(told.Phone, b.Phone),
		IP: cmp.Or(told.IP, b.IP), Document: cmp.Or(told.Document, b.Document),
	}
}

// SessionAfter opens a session in which the shopper of a payment that was not paid chooses again. It shows
// nothing of the shopper and the purchase, because it is reached with the payment's id, which is no
// secret. asked and country are the shop's.
//
// Errors: conflict_state for a payment that has not ended or was paid, and for a direct charge,
// whose shop asks the shopper itself.
func SessionAfter(p Payment, asked money.Amount, country string) (Session, error) {
	if !p.Retriable() {
		return Session{}, &problem.Error{Code: problem.ConflictState, Reason: nothingToTry, Details: problem.Details{From: string(p.Status), Action: "retry"}}
	}
	return Session{Scope: p.Scope, Asked: asked, Country: country, OrderID: p.Order.ID, ReturnURL: p.Page.ReturnURL, After: p.ID}, nil
}

// Retriable reports whether the shopper may choose another way to pay for the order. Not after the
// shop canceled the payment.
func (p Payment) Retriable() bool {
	return p.Page.Hosted && (p.Status == Failed || p.Status == Expired) && !p.Holds() && (!p.End.Canceled() || p.End.WayChanged())
}

// Lock adds the session to the change that creates its payment. If several requests choose at once,
// the one whose change writes the session's version makes a payment. The session and the payment
// are always written together. The session must be Choosable.
func (s Session) Lock(p Payment, change Change, now time.Time) (Session, Change) {
	reached := []SessionStep{SessionChosen}
	if s.IP == "" { // the shop has a page of its own: whoever chooses has seen the methods
		reached = []SessionStep{SessionVisited, SessionChosen}
	}
	s.Payment, s.IP, s.DueAt = p.ID, p.Order.Buyer.IP, time.Time{}
	s = s.written(now)
	s.Reached = reached
	change.Sessions = append(change.Sessions, s)
	return s, change
}

// Expire ends a session in which no method was chosen in time, and makes the event.
func (s Session) Expire(now time.Time) Change {
	s.DueAt = time.Time{}
	s = s.written(now)
	change := Change{Sessions: []Session{s}}
	if s.Payment == "" {
		ended := s
		change.Events = []Event{{
			ID: webhooks.EventID(strings.TrimPrefix(s.ID, SessionPrefix), 1), Type: webhooks.SessionExpired, Scope: s.Scope,
			Object: s.ID, Sequence: 1, At: now, Previous: Status(AwaitingMethod), Session: &ended,
		}}
	}
	return change
}

// Close ends a payment link before its time, with the same event. Closing it twice changes nothing: the second
// change is empty.
//
// Errors: checkout_session_not_found once it is over or if it is no link, checkout_session_already_completed.
func (s Session) Close(now time.Time) (Session, Change, error) {
	if s.Link && !s.Closed.IsZero() {
		return s, Change{}, nil
	}
	if !s.Link {
		return s, Change{}, NoSession()
	}
	if err := s.Choosable(now); err != nil {
		return s, Change{}, err
	}
	s.Closed = now
	change := s.Expire(now)
	return change.Sessions[0], change, nil
}

func (s Session) written(now time.Time) Session {
	s.Version++
	s.UpdatedAt, s.Reached = now, nil
	return s
}

// SessionOf is the session of a payment that its shop made for hosted checkout with the method chosen
// (one-shot mode). Its token is the payment's id, and it is completed from the start. It shows
// nothing of the shopper and the purchase, because the id is no secret. It returns false for a
// direct charge.
func SessionOf(p Payment) (Session, bool) {
	return Session{
		ID:        p.ID,
		Scope:     p.Scope,
		Asked:     p.Price.Requested(),
		Amount:    p.Price.Amount,
		Country:   p.Way.Country,
		OrderID:   p.Order.ID,
		ReturnURL: p.Page.ReturnURL,
		Payment:   p.ID,
		CreatedAt: p.Times.Created,
		UpdatedAt: p.Times.Created,
	}, p.Page.Hosted
}

// otherWay is the decline of a payment that its shopper called off to choose another way to pay.
const otherWay = "another_way"

// NotEnded is the reason (details.reason) why a payment is not called off: its provider does not
// confirm that it can no longer be paid.
const NotEnded = "not_ended_by_provider"

// CheckChange returns an error if the shopper may not call the payment off to choose another way.
// It must wait for the shopper, and no money may have come for it.
//
// Errors: conflict_state.
func (p Payment) CheckChange() error {
	switch {
	case p.Status != Pending || !p.Page.Hosted || p.Canceling():
		return &problem.Error{Code: problem.ConflictState, Reason: nothingToCallOff,
			Details: problem.Details{From: string(p.Status), Action: "cancel"}}
	case p.Holds():
		return &problem.Error{Code: problem.ConflictState, Reason: moneyArrivedNoCallOff,
			Details: problem.Details{From: string(p.Status), Action: "cancel", Reason: PaymentReceived, ExistingTxID: p.ID}}
	}
	return nil
}

// ChangeWay decides about a payment that its shopper calls off, after the provider's answer to the
// request to end the charge; Awaiting means that it cannot end charges. If the answer is paid or
// declined, use ApplyAnswer. The payment is queried for some days more, like an expired one: money that
// arrives later is late money.
//
// Errors: conflict_state as CheckChange; service_unavailable with the reason NotEnded if it is not
// known whether the charge has ended. Then nothing changes.
func (p Payment) ChangeWay(o Outcome, c Cascade, now time.Time) (Payment, Change, error) {
	if err := p.CheckChange(); err != nil {
		return p, Change{}, err
	}
	switch o.Kind {
	case Approved, Declined:
		c.Retry = RetryLimits{} // the shopper does not want to try again
		next, change := p.ApplyAnswer(o, c, now)
		return next, change, nil
	case Lapsed, Missing, Awaiting:
	default:
		return p, Change{}, &problem.Error{Code: problem.ServiceUnavailable, Reason: chargeMayGoOn,
			Details: problem.Details{Reason: NotEnded, TransactionID: p.ID}}
	}
	from := p
	attempt, _ := p.Attempts.Current()
	p, _ = p.tried(attempt.Order, o, now)
	p.fail(Failure{Code: failedCanceled, Decline: otherWay, Message: "the shopper chose another way to pay"}, now)
	p.answer()
	p.Times.Unsure, p.Work.DueAt = time.Time{}, now.Add(looks[0])
	next, change := p.finish(&from, now)
	return next, change, nil
}

// WayChanged reports whether the shopper called the payment off to choose another way to pay.
func (e PaymentEnd) WayChanged() bool { return e.Canceled() && e.Failure.Decline == otherWay }

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
// have not heard of.
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
func (c Cascade) TryAgain(p Payment, o Outcome, now time.Time) (Payment, Change, error) {
	if err := CheckRetry(p); err != nil {
		return p, Change{}, err
	}
	next, more := c.next(p.Attempts)
	switch o.Kind {
	case Approved, Reversed:
		next, change := p.ApplyAnswer(o, c, now)
		return next, change, nil
	case Lapsed, Declined:
		if !more || len(o.Also) > 0 || !p.goesOn(o, now) { // it ends as the provider says
			next, change := p.ApplyAnswer(o, c, now)
			return next, change, nil
		}
	default:
		return p, Change{}, &problem.Error{Code: problem.ServiceUnavailable, Reason: pageMayGoOn,
			Details: problem.Details{Reason: NotEnded, TransactionID: p.ID}}
	}
	from := p
	p.Work.caller = c.By
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

// Tells says in a line where the next try of a shopper whose card was refused on a page goes, and why; "" if no card was refused on the
// last page. doubts is what keeps the page's provider from proving that its page has ended, or "". Of a payment that has ended it tells
// what the rules allowed at the last refusal.
func (c Cascade) Tells(p Payment, doubts string, now time.Time) string {
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
	if why := cmp.Or(c.Stays(p, now), doubts); why != "" {
		return stays + ": " + why
	}
	next, _ := c.next(p.Attempts)
	text := fmt.Sprintf("after %s %s %s: %d of %d retries were used", last.Reason, goes, next.Provider, p.Attempts.retries(), c.Retry.Times)
	if c.Retry.Within > 0 {
		text += ", and it is possible until " + p.Times.Created.Add(c.Retry.Within).UTC().Format("2006-01-02T15:04:05Z")
	}
	return text
}
