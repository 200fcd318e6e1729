package acquiring

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// NotOurs is the error for a notification about an unknown object: transaction_not_found.
func NotOurs() error {
	return problem.New(problem.TransactionNotFound, "the notification's reference is not ours")
}

// RefuseNotice is the error for a notification that could not be read.
//
// Errors: invalid_token; service_unavailable if the provider has to send it again; invalid_request.
func (ps *Providers) RefuseNotice(ctx context.Context, account string, err error) error {
	switch {
	case errors.Is(err, provider.ErrUnsigned):
		ps.Quiet.WarnSometimes(ctx, "a notification was refused", account, "account", account, "reason", err)
		return &problem.Error{Code: problem.InvalidToken, Message: "the notification's signature is missing or wrong", Cause: err}
	case errors.Is(err, provider.ErrUnreachable):
		ps.Quiet.WarnSometimes(ctx, "a notification has to come again", account, "account", account, "reason", err)
		return &problem.Error{Code: problem.ServiceUnavailable, Message: "the notification cannot be looked up now: send it again", Cause: err}
	}
	ps.Quiet.WarnSometimes(ctx, "a notification was not understood", account, "account", account, "reason", err)
	return &problem.Error{Code: problem.InvalidRequest, Message: "the notification cannot be understood", Cause: err}
}

// PayoutNotices is Notices for an account that pays out.
func (ps *Providers) PayoutNotices(ctx context.Context, account string, listener provider.PayoutListener, n Notification) ([]pay.PayoutNotice, error) {
	list, err := listener.Notices(ctx, n)
	if !errors.Is(err, provider.ErrUnsigned) {
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
