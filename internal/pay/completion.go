package pay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// queryPauses are between queries about a charge or a refund whose outcome is unknown. The first is short: most providers
// know a moment later, and a shopper may be waiting. After an hour more queries would only load a provider that is down.
var queryPauses = backoff{first: 30 * time.Second, most: time.Hour}

// After hourlyQuestions of the longest of them, a payment is queried with lastQueryPause: a day has shown that the provider
// will not know soon.
const (
	hourlyQuestions = 24
	lastQueryPause  = 6 * time.Hour
)

// unknownLimit is how long a payment stays open after its window if its provider does not say
// whether it was paid.
const unknownLimit = 3 * 24 * time.Hour

// looks is when a payment that ended unpaid is queried again, counted from its end: the shopper may
// have paid at the last moment, and the notification may be lost. The last two are only for a
// provider that has not answered the earlier queries.
var looks = []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 30 * 24 * time.Hour}

// answeredLooks is the number of looks if the provider answers.
const answeredLooks = 5

// completedLook is the first look at a payment that was completed: a day later. A node of the version before, which takes the answer
// for news of another money, is replaced by then.
const completedLook = 2

// pause is how long to wait before the next query about an attempt.
func (a Attempt) pause() time.Duration {
	if queryPauses.after(a.Unanswered-hourlyQuestions) == queryPauses.most {
		return lastQueryPause
	}
	return queryPauses.after(a.Unanswered)
}

// unsure is when it became unknown whether the shopper paid, after the answer o; zero if it is known.
func (p *Payment) unsure(o Outcome, now time.Time) time.Time {
	switch {
	case o.Kind != Unknown:
		return time.Time{}
	case p.Times.Unsure.IsZero():
		return now
	}
	return p.Times.Unsure
}

// Failure codes that are not error codes of the API.
const (
	failedUnpaid     = "expired"
	failedUnsure     = "outcome_unknown" // the provider gave no answer for days
	failedAbandoned  = "abandoned"       // nobody tried to pay on a card's page
	failedNotCharged = "not_charged"     // the operator found out that the shopper was not charged
	failedReversed   = "reversed"        // the provider gave all of it back before the payment was completed
	failedCanceled   = "canceled"        // its shop canceled it, or its shopper called it off
)

// expired is the failure of a payment that its shopper could pay, and did not.
func expired() Failure {
	return Failure{Code: failedUnpaid, Message: "the shopper did not pay in time"}
}

// unpaid is the failure of a payment whose window is over: that of the last try, if there was one. A card that nobody tried was
// abandoned.
func (p *Payment) unpaid() Failure {
	if last, ok := p.Attempts.lastTry(); ok && p.Status != Expired {
		return p.Way.Refused(last)
	}
	if p.Way.Sync && p.Status != Expired && !p.Times.Expires.IsZero() {
		return Failure{Code: failedAbandoned, Message: "nobody tried to pay"}
	}
	return expired()
}

// reversed is the failure of a payment whose money the provider gave back before we knew of it.
func reversed() Failure {
	return Failure{Code: failedReversed, Message: "the shopper paid, and the provider gave the whole amount back"}
}

// Overdue reports whether the shopper's time is over.
func (p *Payment) Overdue(now time.Time) bool {
	return p.Status == Pending && !p.Times.Expires.IsZero() && !now.Before(p.Times.Expires)
}

// Looking reports whether a payment that has ended is still queried.
func (p *Payment) Looking() bool { return !p.Status.Open() && !p.Work.DueAt.IsZero() }

// answer records, once, the status that the create call replies with. Pending is not recorded here:
// await has recorded it, or the create call continues.
func (p *Payment) answer() {
	if p.Work.Answered == "" && p.Status != Pending {
		p.Work.Answered = p.Status
	}
}

func (p *Payment) fail(f Failure, now time.Time) {
	p.move(Fail, now)
	p.End.Failure = &f
}

// lapse ends a payment whose window is over, after a provider's answer. It is expired if the shopper had a voucher, a code or a
// transfer to pay, and did not. It failed if the shopper tried on a page and was refused, for the last try's reason; if it is a
// card whose page nobody used; and if it never became pending (PAY-28). The provider is queried for some days more: a
// payment at the last moment may be reported late.
func (p *Payment) lapse(o Outcome, now time.Time) {
	f := p.unpaid()
	switch {
	case p.Status == Pending && (f.Code == failedUnpaid || o.Played): // an expiry that is played is one (SBX-5)
		p.move(Expire, now)
		f = expired()
		p.End.Failure = &f
	default:
		p.fail(f, now)
	}
	p.Work.DueAt = now.Add(looks[0])
}

// complete writes a payment that an attempt completed, with its capture. A payment completed by the
// sandbox also sends payment.captured (EVT-1).
func (p Payment) complete(from *Payment, order int, o Outcome, now time.Time) (Payment, Change) {
	p.End.Captured, p.End.Plan = order, o.Installments.For(p.Price.Local)
	p.move(Complete, now)
	p.answer()
	p.follow(from.Work.DueAt, now)
	p.written(from, now)
	events := []Event{p.next(webhooks.PaymentCompleted, from.Status, now)}
	if o.Played {
		completed := p
		events[0].Payment = &completed
		events = append(events, p.next(webhooks.PaymentCaptured, from.Status, now))
	}
	change := p.writes(events...)
	change.Transfers, change.settles = []ledger.Transfer{p.capture(now)}, true
	return p, change
}

// finish writes a payment that failed or expired, with its event.
func (p Payment) finish(from *Payment, now time.Time) (Payment, Change) {
	p.written(from, now)
	failed := p.next(webhooks.PaymentFailed, from.Status, now)
	return p, p.writes(failed)
}

// canceled ends an unpaid payment that its shop asked to cancel.
func (p Payment) canceled(from *Payment, now time.Time) (Payment, Change) {
	p.fail(Failure{Code: failedCanceled, Message: "the shop canceled the payment"}, now)
	p.answer()
	p.Work.DueAt = now.Add(looks[0])
	return p.finish(from, now)
}

// Canceling reports whether the shop asked to cancel the payment, and it is not known yet whether
// the provider has ended the charge.
func (p *Payment) Canceling() bool { return p.Status == Pending && !p.Times.CancelAsked.IsZero() }

// open reports whether the attempt may still charge the shopper, as far as is known.
func (a Attempt) open() bool {
	return a.Status == Sending || a.Status == Unknown || a.Status == Awaiting
}

// follow sets when to look at the last attempt of a payment that an earlier attempt completed: its
// call is under way, or its page can still be paid. due is when it was to be queried.
func (p *Payment) follow(due, now time.Time) {
	if last, ok := p.Attempts.Current(); ok && last.Order != p.End.Captured && last.open() {
		p.Work.DueAt = now
		if last.Status == Sending && due.After(now) { // its node has the call in hand
			p.Work.DueAt = due
		}
	}
}

// Following reports whether an earlier attempt completed the payment, and the last one is followed
// to its end: it may charge the shopper too.
func (p *Payment) Following() bool {
	last, ok := p.Attempts.Current()
	return ok && !p.Times.Completed.IsZero() && p.Looking() && last.Order != p.End.Captured && last.open() && last.Decline != amountMismatch
}

// move puts p into the status to which the verb leads, with the time. The caller must have checked
// that the move is allowed: otherwise it panics.
func (p *Payment) move(v Verb, now time.Time) {
	next, ok := p.Status.After(v)
	if !ok {
		panic(fmt.Sprintf("pay: %s of a %s payment", v, p.Status))
	}
	before, ends := p.Status, p.Status.Open() && !next.Open()
	p.Status = next
	switch next {
	case Completed:
		p.Times.Completed = now
	case Failed:
		p.Times.Failed = now
	case Expired:
		p.Times.Expired = now
	case Refunded:
		p.Times.Refunded = now
	case Chargeback:
		if before != Chargeback { // a refund after a dispute changes nothing in it
			p.Times.Chargeback = now
		}
	}
	if ends {
		p.Work.DueAt = p.nextOfLeft(now)
	}
}

// LeftPages are the attempts whose page the shopper left by TryAgain, and that took no money as far as is known. Only their
// providers' word says that the pages have ended, and a notification may be lost: they are queried again after the payment's
// end, at the times of its looks (PAY-39).
func LeftPages(p Payment) (left []Attempt) {
	for i, a := range p.Attempts {
		if !a.Again {
			continue
		}
		page := p.Attempts[i-1]
		known := slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.Order == page.Order })
		if page.Status != Approved && page.Status != Reversed && !known {
			left = append(left, page)
		}
	}
	return left
}

// nextOfLeft is when to query Left again if nothing else is queried; zero if there is none, and after the last query.
func (p *Payment) nextOfLeft(now time.Time) time.Time {
	if len(LeftPages(*p)) == 0 {
		return time.Time{}
	}
	return p.nextLook(Outcome{}, now)
}

// nextLook is when to query again after an answer, zero after the last query.
func (p *Payment) nextLook(o Outcome, now time.Time) time.Time {
	ended, first, n := p.Times.Failed, 0, answeredLooks
	switch {
	case !p.Times.Completed.IsZero():
		ended, first = p.Times.Completed, completedLook
	case !p.Times.Expired.IsZero():
		ended = p.Times.Expired
	}
	if o.Kind == Unknown || slices.ContainsFunc(LeftPages(*p), func(a Attempt) bool { return a.Unanswered > 0 }) {
		n = len(looks)
	}
	for _, after := range looks[first:n] {
		if at := ended.Add(after); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// denied reports whether a provider says that an attempt was refused or never arrived, although the
// operator resolved it as paid.
func (p *Payment) denied(order int, o Outcome) bool {
	a := p.Attempts[order-1]
	return a.Resolved && a.Status == Approved && (o.Kind == Declined || o.Kind == Missing || o.Kind == Lapsed)
}

// CaptureID is the id of a payment's capture.
func CaptureID(payment string) string {
	return transferID(strings.TrimPrefix(payment, PaymentPrefix), "capture")
}

// capture is the transfer of a completed payment. Its id is made from the payment's, so a second
// capture cannot be written.
func (p *Payment) capture(now time.Time) ledger.Transfer {
	rounding := p.Price.rounding(p.Price.Local, p.Price.Amount.Minor)
	return ledger.Transfer{
		ID:       CaptureID(p.ID),
		Merchant: p.Merchant,
		Live:     p.Live,
		Kind:     ledger.Capture,
		Payment:  p.ID,
		Local:    p.Price.Local,
		At:       now,
		Settles:  now.Add(p.Terms.Delay),
		Memo:     p.reserveMemo(),
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Receivable, Amount: -p.Price.Amount.Minor - rounding},
			ledger.Posting{Account: ledger.Rounding, Amount: rounding},
			ledger.Posting{Account: ledger.PlatformFees, Amount: p.Terms.Fees.Platform},
			ledger.Posting{Account: ledger.ProviderFees, Amount: p.Terms.Fees.Provider},
			ledger.Posting{Account: ledger.FlatFees, Amount: p.Terms.Fees.Flat},
			ledger.Posting{Account: ledger.NetworkFees, Amount: p.Terms.Fees.Network},
			ledger.Posting{Account: ledger.FeeTaxes, Amount: p.Terms.Fees.Tax},
			ledger.Posting{Account: ledger.Reserve, Amount: p.Terms.Reserve},
			ledger.Posting{Account: ledger.Pending, Amount: p.net()},
		),
	}
}

// ReserveDay is the day of whose reserve a payment's part is: the day of its capture if the part is held for the usual
// merchants.DefaultReserveDays, else the day whose reserve is released when the part is.
func ReserveDay(captured time.Time, days int) time.Time {
	return DayOf(captured).AddDate(0, 0, days-merchants.DefaultReserveDays)
}

// reserveMemo is the memo of a capture whose reserve is held for another time than the usual: the number of days.
func (p *Payment) reserveMemo() string {
	if days := p.Terms.ReserveDays; days != merchants.DefaultReserveDays && p.Terms.Reserve > 0 {
		return strconv.Itoa(days)
	}
	return ""
}

// ReserveOf is the id of the reserve that holds the payment's part.
func ReserveOf(p Payment) string {
	return ReserveID(p.Scope, ReserveDay(p.Times.Completed, p.Terms.ReserveDays))
}
