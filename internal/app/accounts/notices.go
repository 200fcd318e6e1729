package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
)

// What a notice is about, if not an object of the account that it came to.
var (
	ErrNotOurs   = errors.New("the notice is about an object that this account does not have")
	ErrElsewhere = fmt.Errorf("%w: another account has it", ErrNotOurs)
)

// Another system that shares an account may cause any number of notices about unknown objects.
const (
	lostEvery    = time.Second // how often one is kept whose reference has the form of ours: the books may have lost the object
	foreignEvery = time.Hour   // how often another one is kept
)

// KeepUnknown keeps a notice about an object that the books do not have, as why says: ErrNotOurs or ErrElsewhere. Its
// notification is accepted: sent again, it would say the same, and some providers let nothing pass before it. If the object
// may be ours, the notice is kept whole, and one of an account at a time waits for the operator. Of a provider's test environment
// no alert is sent: sandboxes are emptied.
//
// Errors: service_unavailable if too many may be ours: the provider has to send it again; those of the store.
func (ps *Providers) KeepUnknown(ctx context.Context, account string, n pay.UnknownNotice, why error) error {
	d, _ := ps.Connector(account)
	// With the form of our references, the books may have lost it, or another installation shares the account.
	ours := !errors.Is(why, ErrElsewhere) && d.Account.Live && id.Made(n.Object())
	every := foreignEvery
	if ours {
		every = lostEvery
	}
	ps.Quiet.WarnSometimes(ctx, "a notification is about an unknown object", account, "account", account, "reason", why, "reference", provider.Printable(n.Reference, 64))
	if _, may := ps.Quiet.Allow(fmt.Sprint("unknown object ", ours, account), every); !may {
		if ours {
			return &problem.Error{Code: problem.ServiceUnavailable, Reason: manyUnknownNotifications}
		}
		return nil
	}
	kept := n.Stored(account, ps.Now())
	if ours {
		waits, err := ps.Store.Notices().UnknownWaits(ctx, account)
		if err != nil {
			return err
		}
		if kept = n.KeptWhole(account, ps.Now()); !waits {
			kept.Verdict = pay.Mismatched
		}
	}
	err := ps.Store.Commit(ctx, pay.Change{Notices: []pay.KeptNotice{kept}})
	if errors.Is(err, store.ErrDuplicate) { // the notification came before
		return nil
	}
	return err
}

// RefuseNotice is the error for a notification that could not be read.
//
// Errors: invalid_token; service_unavailable if the provider has to send it again; rate_limited; invalid_request.
func (ps *Providers) RefuseNotice(ctx context.Context, account string, err error) error {
	if _, shown := errors.AsType[*problem.Error](err); shown {
		return err
	}
	switch {
	case errors.Is(err, provider.ErrUnsigned):
		ps.Quiet.WarnSometimes(ctx, "a notification was refused", account, "account", account, "reason", err)
		return Unsigned(err)
	case errors.Is(err, provider.ErrUnreachable):
		ps.Quiet.WarnSometimes(ctx, "a notification has to come again", account, "account", account, "reason", err)
		return &problem.Error{Code: problem.ServiceUnavailable, Reason: notificationNotLookedUp, Cause: err}
	}
	ps.Quiet.WarnSometimes(ctx, "a notification was not understood", account, "account", account, "reason", err)
	return &problem.Error{Code: problem.InvalidRequest, Reason: base.NotUnderstood, Cause: err}
}

// Unsigned is the error for a notification that nothing proves.
func Unsigned(cause error) error {
	return &problem.Error{Code: problem.InvalidToken, Reason: notificationUnsigned, Cause: cause}
}

// PayoutNotices is Notices for an account that pays out.
func (ps *Providers) PayoutNotices(ctx context.Context, account string, listener provider.PayoutListener, n Notification) ([]pay.PayoutNotice, error) {
	list, err := listener.Notices(ctx, n)
	switch {
	case errors.Is(err, provider.ErrNotOurs): // another system's at the same account: accepted, or the provider sends it again for days
		return nil, nil
	case !errors.Is(err, provider.ErrUnsigned):
		return list, err
	}
	now := ps.Now()
	for _, f := range ps.connectors.Load().byID[account].before {
		past, ok := f.payouts.(provider.PayoutListener)
		if !ok || !now.Before(f.until) {
			continue
		}
		if list, err := past.Notices(ctx, n); !errors.Is(err, provider.ErrUnsigned) {
			return list, err
		}
	}
	return nil, err
}
