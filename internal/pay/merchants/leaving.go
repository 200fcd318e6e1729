package merchants

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
)

// Leaving is where a merchant is on its way out (LEAVE-1). The zero value is a merchant that stays.
type Leaving struct {
	Reason    string    // why it was closed, for its team
	ClosedAt  time.Time // nothing new begins from then on; zero: it is open
	EmptiedAt time.Time // nothing was left in production that could change or be paid; zero: something may be
	WarnedAt  time.Time // when its owners were sent the e-mail that it will be erased; zero: not yet
	ErasedAt  time.Time // it cannot come back from then on, and what is only its own is removed; zero: it may
	GoneAt    time.Time // all that is only its own was removed; zero: some of it may be left
}

// Closed reports whether the merchant is leaving, or has left.
func (l Leaving) Closed() bool { return !l.ClosedAt.IsZero() }

// Erased reports whether the merchant has left: it cannot come back.
func (l Leaving) Erased() bool { return !l.ErasedAt.IsZero() }

// ErasureNotice is how long before the erasure its owners are sent an e-mail about it, at least (LEAVE-7).
const ErasureNotice = 30 * 24 * time.Hour

// Details.reason of what is refused because a merchant leaves, has left, or has no sandbox.
const (
	ReasonClosed     = "merchant_closed"
	ReasonErased     = "merchant_erased"
	ReasonSandboxOff = "sandbox_off"
)

// Close lets nothing new begin, in both environments. What is open ends or runs to its end.
//
// Errors: invalid_request for no reason, a long one, or one with unreadable characters; conflict_state for a merchant that is closed.
func (m Merchant) Close(reason string, now time.Time) (Merchant, error) {
	if m.Leaving.Closed() {
		return m, problem.Conflict(ReasonClosed, merchantClosed)
	}
	if err := readableReason(reason); err != nil {
		return m, err
	}
	m.Version++
	m.Leaving = Leaving{Reason: reason, ClosedAt: now}
	return m, nil
}

// Reopen lets a closed merchant begin again. A pause that it had before stays.
//
// Errors: conflict_state for a merchant that was erased.
func (m Merchant) Reopen() (Merchant, error) {
	if m.Leaving.Erased() {
		return m, problem.Conflict(ReasonErased, merchantErased)
	}
	m.Version++
	m.Leaving = Leaving{}
	return m, nil
}

// Emptied records that nothing is left in production that could change or be paid. now is zero if there is something again.
func (m Merchant) Emptied(now time.Time) Merchant {
	m.Version++
	m.Leaving.EmptiedAt = now
	return m
}

// Warned records that an e-mail to the owners announces the erasure. The erasure comes ErasureNotice later at the earliest.
func (m Merchant) Warned(now time.Time) Merchant {
	m.Version++
	m.Leaving.WarnedAt = now
	return m
}

// Erase removes what is the merchant's alone. Its name stays: it is in books and audit log.
func (m Merchant) Erase(now time.Time) Merchant {
	m.Version++
	m.Email, m.Industry = "", ""
	m.Leaving.ErasedAt = now
	return m
}

// Gone ends the leaving of a merchant that was erased: its keys, logins, wallets and endpoints have ended.
func (m Merchant) Gone(now time.Time) Merchant {
	m.Version++
	m.Leaving.GoneAt = now
	return m
}

// SwitchSandbox sets whether the merchant has a sandbox. What is in it stays.
func (m Merchant) SwitchSandbox(on bool) Merchant {
	m.Version++
	m.SandboxOff = !on
	return m
}

// MayAdd returns an error if the merchant may not get another shop, key or user.
//
// Errors: forbidden with the reason ReasonClosed.
func (m Merchant) MayAdd() error {
	if !m.Leaving.Closed() {
		return nil
	}
	return &problem.Error{Code: problem.Forbidden, Details: problem.Details{Reason: ReasonClosed}, Reason: merchantClosed}
}

// MayEnter returns an error if the merchant has no sandbox. off is the service's setting.
//
// Errors: forbidden with the reason ReasonSandboxOff.
func (m Merchant) MayEnter(live, off bool) error {
	if live || !m.SandboxOff && !off {
		return nil
	}
	return &problem.Error{Code: problem.Forbidden, Details: problem.Details{Reason: ReasonSandboxOff}, Reason: sandboxOff}
}

// MayWithdraw returns an error if the merchant may not withdraw in an environment. One that leaves may: its balance is its own.
//
// Errors: forbidden with the reason ReasonPaused.
func (m Merchant) MayWithdraw(live bool) error {
	m.Leaving = Leaving{}
	return m.MayBegin(live)
}

// readableReason checks a reason that the merchant's team reads.
//
// Errors: invalid_request.
func readableReason(reason string) error {
	switch {
	case reason == "" || utf8.RuneCountInString(reason) > MostReason:
		return problem.Field(problem.InvalidRequest, "reason", pauseReasonLength)
	case strings.ContainsFunc(reason, printable.Unprintable):
		return problem.Field(problem.InvalidRequest, "reason", pauseReasonUnreadable)
	}
	return nil
}
