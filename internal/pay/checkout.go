package pay

import (
	"cmp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
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
	Link         string              // the payment link through which the shopper came; or ""
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

// NoSession is the error for a token that is unknown, too old, or from another service.
func NoSession() error {
	return problem.New(problem.CheckoutSessionNotFound, sessionGone.With(int(SessionLife/time.Hour)))
}

// Open makes a session from a request: all fields are set except the USD amount, the version and
// the times.
//
// Errors: amount_invalid, amount_above_maximum.
func (se Session) Open(now time.Time) (Session, Change, error) {
	usd, err := Worth(se.Asked, se.Rate)
	if err != nil {
		return Session{}, Change{}, err
	}
	se.Amount, se.Version, se.CreatedAt, se.UpdatedAt, se.Reached = usd, 1, now, now, []SessionStep{SessionOpened}
	se.DueAt = se.CreatedAt.Add(SessionLife)
	return se, Change{Sessions: []Session{se}}, nil
}

// ExpiresAt is when the token stops being valid: after SessionLife, or when the shop ended the session.
func (se Session) ExpiresAt() time.Time {
	if at := se.CreatedAt.Add(SessionLife); !se.Ended() || at.Before(se.UpdatedAt) {
		return at
	}
	return se.UpdatedAt
}

// Status is the session's state.
func (se Session) Status() SessionStatus {
	if se.Payment != "" {
		return SessionPending
	}
	return AwaitingMethod
}

// Resolve returns an error if the token is not valid any more.
//
// Errors: checkout_session_not_found.
func (se Session) Resolve(now time.Time) error {
	if se.Ended() || !now.Before(se.ExpiresAt()) {
		return NoSession()
	}
	return nil
}

// Visit records the customer's address, and reports whether it is new. Once a method is chosen, the
// address that the provider got is kept.
func (se Session) Visit(ip string, now time.Time) (Session, Change, bool) {
	if se.Payment != "" || ip == "" || ip == se.IP {
		return se, Change{}, false
	}
	first := se.IP == ""
	se.IP = ip
	if se = se.written(now); first {
		se.Reached = []SessionStep{SessionVisited}
	}
	return se, Change{Sessions: []Session{se}}, true
}

// Choosable returns an error if a method may not be chosen.
//
// Errors: checkout_session_not_found, checkout_session_already_completed.
func (se Session) Choosable(now time.Time) error {
	if err := se.Resolve(now); err != nil {
		return err
	}
	if se.Payment != "" {
		return Chosen(se.Payment)
	}
	return nil
}

// Chosen is the error for a choice of a method after which there is a payment.
func Chosen(payment string) error {
	return &problem.Error{Code: problem.CheckoutSessionAlreadyCompleted, Reason: methodChosen, Details: problem.Details{ExistingTxID: payment}}
}

// Buyer is the shopper for the payment's provider. Fields that the customer typed replace the
// shop's, unless they are empty.
func (se Session) Buyer(typed Buyer) Buyer {
	return Buyer{
		Email: se.Customer.Email, Name: strings.TrimSpace(se.Customer.FirstName + " " + se.Customer.LastName),
		Phone: se.Customer.Phone, Document: se.Customer.Document, IP: se.IP,
	}.Or(typed)
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
	return Session{Scope: p.Scope, Asked: asked, Country: country, OrderID: p.Order.ID, ReturnURL: p.Page.ReturnURL, After: p.ID, Link: p.Order.Link}, nil
}

// Retriable reports whether the shopper may choose another way to pay for the order. Not after the
// shop canceled the payment.
func (p Payment) Retriable() bool {
	return p.Page.Hosted && (p.Status == Failed || p.Status == Expired) && !p.Holds() && (!p.End.Canceled() || p.End.WayChanged())
}

// Lock adds the session to the change that creates its payment. If several requests choose at once,
// the one whose change writes the session's version makes a payment. The session and the payment
// are always written together. The session must be Choosable.
func (se Session) Lock(p Payment, change Change, now time.Time) (Session, Change) {
	reached := []SessionStep{SessionChosen}
	if se.IP == "" { // the shop has a page of its own: whoever chooses has seen the methods
		reached = []SessionStep{SessionVisited, SessionChosen}
	}
	se.Payment, se.IP, se.DueAt = p.ID, p.Order.Buyer.IP, time.Time{}
	se = se.written(now)
	se.Reached = reached
	change.Sessions = append(change.Sessions, se)
	return se, change
}

// Ended reports whether the session was ended without a choice.
func (se Session) Ended() bool { return se.Payment == "" && se.DueAt.IsZero() }

// Expire ends a session in which no method was chosen, and makes the event.
func (se Session) Expire(now time.Time) Change {
	se.DueAt = time.Time{}
	se = se.written(now)
	change := Change{Sessions: []Session{se}}
	if se.Payment == "" {
		ended := se
		change.Events = []Event{{
			ID: webhooks.EventID(strings.TrimPrefix(se.ID, SessionPrefix), 1), Type: webhooks.SessionExpired, Scope: se.Scope,
			Object: se.ID, Sequence: 1, At: now, Previous: Status(AwaitingMethod), Session: &ended,
		}}
	}
	return change
}

func (se Session) written(now time.Time) Session {
	se.Version++
	se.UpdatedAt, se.Reached = now, nil
	return se
}

// SessionOf is the session of a payment that its shop made for hosted checkout with the method chosen (one-shot mode). Its token is
// the payment's id, and it is completed from the start. It shows nothing of the shopper and the purchase, because the id is no
// secret. It returns false for a direct charge.
func SessionOf(p Payment) (Session, bool) {
	return Session{
		ID: p.ID, Scope: p.Scope, Asked: p.Price.Requested(), Amount: p.Price.Amount, Country: p.Way.Country, OrderID: p.Order.ID, ReturnURL: p.Page.ReturnURL,
		Payment: p.ID, CreatedAt: p.Times.Created, UpdatedAt: p.Times.Created,
	}, p.Page.Hosted
}

// PaymentLinkPrefix begins the id of a payment link, which is in its address.
const PaymentLinkPrefix = "lnk_"

// Limits of a payment link (CHK-25).
const (
	MaxLinkUses     = 10_000
	UsualLinkLife   = 30 * day
	LongestLinkLife = 366 * day
)

// LinkStatus is the state of a payment link (CHK-25).
type LinkStatus string

// The states of a payment link. Only an open one can be paid.
const (
	LinkOpen    LinkStatus = "open"
	LinkUsed    LinkStatus = "used"    // it was paid as often as it may be
	LinkExpired LinkStatus = "expired" // its time is over
	LinkClosed  LinkStatus = "closed"  // the shop closed it
)

// LinkStatuses lists them all.
func LinkStatuses() []LinkStatus { return []LinkStatus{LinkOpen, LinkUsed, LinkExpired, LinkClosed} }

// PaymentLink is an address at which shoppers pay a shop, once or up to a number of times (CHK-25). Each shopper gets a
// checkout session of his own. The link names nobody.
type PaymentLink struct {
	ID string // lnk_…
	merchants.Scope
	Version  int64
	Sequence int64 // of its events

	Amount       money.Amount // that each shopper pays, in the shop's currency; zero if the shopper types it
	Least, Most  money.Amount // of an amount that the shopper types; zero if the amount is set
	Country      string       // alpha-3; "" offers the methods of every country
	OrderID      string       // of all its payments
	Purchase     Purchase
	ReturnURL    string
	Installments installment.Request
	Strict       bool // made in a strict sandbox

	Uses      int       // how many payments may be paid
	Paid      int       // how many are
	Expires   time.Time // nobody can pay from then on
	Closed    time.Time // when the shop closed it; zero: it did not
	DueAt     time.Time // when its end is announced; zero once it is
	CreatedAt time.Time
	UpdatedAt time.Time
}

// LinkUse is a payment of a payment link: it holds one of the link's uses until it ends unpaid.
type LinkUse struct {
	ID   string // use_…, and the end of the payment's id
	Link string
	merchants.Scope
	Version   int64 // 1: the method was chosen, 2: the payment ended, 3: the link has counted it
	Status    LinkUseStatus
	DueAt     time.Time // when the link counts it; zero if there is nothing to count, or it is counted
	CreatedAt time.Time
}

// LinkUsePrefix begins the id of a use, PaymentPrefix that of its payment.
const LinkUsePrefix = "use_"

// Payment is the id of the payment that holds the use.
func (u LinkUse) Payment() string { return PaymentPrefix + strings.TrimPrefix(u.ID, LinkUsePrefix) }

// use is the id of the use that the payment holds.
func (p *Payment) use() string { return LinkUsePrefix + p.suffix() }

// LinkUseStatus is what became of a use of a payment link.
type LinkUseStatus string

// The states of a use. One that is free again counts no more.
const (
	UseHeld LinkUseStatus = "held"
	UsePaid LinkUseStatus = "paid"
	UseFree LinkUseStatus = "free"
)

// NoLink is the error for a payment link that the shop does not have.
func NoLink() error { return problem.New(problem.NotFound, linkUnknown) }

// Open makes a payment link from a request: all fields are set but the version and the times of making.
func (l PaymentLink) Open(now time.Time) (PaymentLink, Change) {
	l.Version, l.CreatedAt, l.UpdatedAt, l.DueAt = 1, now, now, l.Expires
	return l, Change{PaymentLinks: []PaymentLink{l}}
}

// Currency is that of its amounts.
func (l PaymentLink) Currency() money.Currency {
	return cmp.Or(l.Amount.Currency, l.Least.Currency)
}

// Free reports whether each shopper says how much he pays.
func (l PaymentLink) Free() bool { return l.Amount.IsZero() }

// Status is the link's state.
func (l PaymentLink) Status(now time.Time) LinkStatus {
	switch {
	case l.Paid >= l.Uses:
		return LinkUsed
	case !l.Closed.IsZero():
		return LinkClosed
	case !now.Before(l.Expires):
		return LinkExpired
	}
	return LinkOpen
}

// Asks is the amount of a session of the link. typed is what the shopper typed, zero if the link has a set amount.
//
// Errors: amount_out_of_limits for a typed amount beyond the link's bounds.
func (l PaymentLink) Asks(typed money.Amount) (money.Amount, error) {
	if !l.Free() {
		return l.Amount, nil
	}
	bounds := accounts.Limit{Currency: l.Currency(), Min: l.Least.Minor, Max: l.Most.Minor}
	if err := bounds.Check(typed); err != nil {
		return money.Amount{}, err
	}
	return typed, nil
}

// Use adds to the change that creates a payment of a session of the link that it holds a use. held is how many hold one already. The
// link's version is written with it, so that of two that choose at once for the last use one wins.
//
// Errors: conflict_state if the link is not open or has no use left.
func (l PaymentLink) Use(p Payment, held int, change Change, now time.Time) (Change, error) {
	if err := l.Choosable(held, now); err != nil {
		return change, err
	}
	change.PaymentLinks = append(change.PaymentLinks, l.written(now))
	if p.Status.Open() {
		change.LinkUses = append(change.LinkUses, LinkUse{ID: p.use(), Link: l.ID, Scope: l.Scope, Version: 1, Status: UseHeld, CreatedAt: now})
	}
	return change, nil
}

// EndUses adds what became of the uses of payment links that payments of the change hold, if these payments end with it.
func (c *Change) EndUses() {
	for i := range c.Payments {
		p := &c.Payments[i]
		if p.Order.Link == "" || !p.Stored.Open() || p.Status.Open() {
			continue
		}
		u := LinkUse{ID: p.use(), Link: p.Order.Link, Scope: p.Scope, Version: 2, Status: UseFree, CreatedAt: p.Times.Created}
		if !p.Times.Completed.IsZero() {
			u.Status, u.DueAt = UsePaid, p.Times.Completed
		}
		c.LinkUses = append(c.LinkUses, u)
	}
}

// Count counts a payment that was paid, with the event payment_link.paid, and payment_link.closed if it was the last use.
func (l PaymentLink) Count(u LinkUse, p Payment, now time.Time) Change {
	before := l.Status(now)
	l.Paid++
	l = l.written(now)
	u.Version, u.DueAt = u.Version+1, time.Time{}
	l, paid := l.event(webhooks.LinkPaid, before, now)
	paid.Payment = &p
	change := Change{LinkUses: []LinkUse{u}, Events: []Event{paid}}
	if before == LinkOpen && l.Status(now) == LinkUsed {
		var ended Event
		l, ended = l.event(webhooks.LinkClosed, before, now)
		change.Events = append(change.Events, ended)
	}
	change.PaymentLinks = []PaymentLink{l}
	return change
}

// End announces that the link's time is over.
func (l PaymentLink) End(now time.Time) Change {
	l.DueAt = time.Time{}
	l = l.written(now)
	if l.Status(now) != LinkExpired {
		return Change{PaymentLinks: []PaymentLink{l}}
	}
	l, ended := l.event(webhooks.LinkClosed, LinkOpen, now)
	return Change{PaymentLinks: []PaymentLink{l}, Events: []Event{ended}}
}

// Close ends the link before its time. Closing it twice changes nothing: the second change is empty.
//
// Errors: conflict_state if it was used or its time is over.
func (l PaymentLink) Close(now time.Time) (PaymentLink, Change, error) {
	switch l.Status(now) {
	case LinkClosed:
		return l, Change{}, nil
	case LinkUsed, LinkExpired:
		return l, Change{}, l.conflict("close", now)
	}
	l.Closed, l.DueAt = now, time.Time{}
	l, ended := l.written(now).event(webhooks.LinkClosed, LinkOpen, now)
	return l, Change{PaymentLinks: []PaymentLink{l}, Events: []Event{ended}}, nil
}

// Reopen lets shoppers pay again until the given time, which may be the one that it had. Doing so twice changes nothing.
//
// Errors: conflict_state if it was used, or if the time is not to come.
func (l PaymentLink) Reopen(expires, now time.Time) (PaymentLink, Change, error) {
	if l.Paid >= l.Uses || !now.Before(expires) {
		return l, Change{}, l.conflict("reopen", now)
	}
	if l.Closed.IsZero() && l.Expires.Equal(expires) {
		return l, Change{}, nil
	}
	l.Closed, l.Expires, l.DueAt = time.Time{}, expires, expires
	l = l.written(now)
	return l, Change{PaymentLinks: []PaymentLink{l}}, nil
}

// Why a shopper of a payment link cannot pay (details.reason): all its uses are held, and one may become free again; or it is not open.
const (
	UsesHeld  = "payment_link_held"
	LinkEnded = "payment_link_ended"
)

// Choosable returns an error if no shopper can begin to pay: held is how many uses are held.
//
// Errors: conflict_state.
func (l PaymentLink) Choosable(held int, now time.Time) error {
	switch {
	case l.Status(now) != LinkOpen:
		return l.conflict("select", now)
	case held >= l.Uses:
		return l.Held("")
	}
	return nil
}

// Held is the error for a choice while the link's uses are held; payment is the one that holds the only use, or "".
func (l PaymentLink) Held(payment string) error {
	return &problem.Error{Code: problem.ConflictState, Reason: linkHeld, Details: problem.Details{From: string(LinkOpen), Action: "select", Reason: UsesHeld, ExistingTxID: payment}}
}

func (l PaymentLink) conflict(action string, now time.Time) error {
	why := linkOver.With(l.Status(now))
	if l.Paid < l.Uses && action == "reopen" {
		why = linkNeedsEnd.With(l.Status(now))
	}
	return &problem.Error{Code: problem.ConflictState, Reason: why, Details: problem.Details{From: string(l.Status(now)), Action: action, Reason: LinkEnded}}
}

func (l PaymentLink) written(now time.Time) PaymentLink {
	l.Version++
	l.UpdatedAt = now
	return l
}

// event returns the link's next event, and the link with the event counted.
func (l PaymentLink) event(t webhooks.EventType, before LinkStatus, now time.Time) (PaymentLink, Event) {
	l.Sequence++
	snapshot := l
	return l, Event{
		ID: webhooks.EventID(strings.TrimPrefix(l.ID, PaymentLinkPrefix), l.Sequence), Type: t, Scope: l.Scope,
		Object: l.ID, Sequence: l.Sequence, At: now, Previous: Status(before), PaymentLink: &snapshot,
	}
}
