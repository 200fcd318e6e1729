package app

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

func notOurs() error {
	return pay.NewError(pay.CodeTransactionNotFound, "the notification's reference is not ours")
}

// refuseNotice answers a notification that could not be read.
func (a *App) refuseNotice(ctx context.Context, account string, err error) error {
	switch {
	case errors.Is(err, provider.ErrUnsigned):
		a.WarnSometimes(ctx, "a notification was refused", account, "account", account, "reason", err)
		return &pay.Error{Code: pay.CodeInvalidToken, Message: "the notification's signature is missing or wrong", Cause: err}
	case errors.Is(err, provider.ErrUnreachable):
		a.WarnSometimes(ctx, "a notification has to come again", account, "account", account, "reason", err)
		return &pay.Error{Code: pay.CodeServiceUnavailable, Message: "the notification cannot be looked up now: send it again", Cause: err}
	}
	a.WarnSometimes(ctx, "a notification was not understood", account, "account", account, "reason", err)
	return &pay.Error{Code: pay.CodeInvalidRequest, Message: "the notification cannot be understood", Cause: err}
}

// payoutNotices is notices for an account that pays out.
func (a *App) payoutNotices(ctx context.Context, account string, listener provider.PayoutListener, n acquiring.Notification) ([]pay.PayoutNotice, error) {
	list, err := listener.Notices(ctx, n)
	if !errors.Is(err, provider.ErrUnsigned) {
		return list, err
	}
	now := a.Now()
	for _, f := range a.Desks.Load().ByID[account].Before {
		past, ok := f.Payouts.(provider.PayoutListener)
		if !ok || !now.Before(f.Until) {
			continue
		}
		if list, err := past.Notices(ctx, n); !errors.Is(err, provider.ErrUnsigned) {
			return list, err
		}
	}
	return nil, err
}
