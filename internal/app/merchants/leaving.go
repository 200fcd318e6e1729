package merchants

import (
	"context"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Close lets nothing new of a merchant begin, in both environments (LEAVE-1). What is open goes on. Running servers obey within
// base.CacheTTL. Its owners get an e-mail (LEAVE-7). It is a part of Leaving.Close.
//
// Errors: store.ErrNotFound, invalid_request, conflict_state for a merchant that is closed.
func (ob *Onboarding) Close(ctx context.Context, by audit.Actor, id, reason string) (merchants.Merchant, error) {
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		next, err := m.Close(strings.TrimSpace(reason), ob.Now())
		if err != nil {
			return m, nil, err
		}
		return next, ob.Noted(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantClosed, id, next.Leaving.Reason, nil), nil
	}, func(written *pay.Change, _ merchants.Merchant) error {
		last, err := ob.Store.Reserves().Last(ctx, merchants.Scope{Merchant: id, Live: true})
		if err != nil {
			return err
		}
		return ob.mails.AddLeavingAlerts(ctx, written, written.Merchants[0], mails.MerchantClosed, last)
	})
}

// Reopen lets a closed merchant begin again. Its keys work as before, and its owners get an e-mail. A repeat changes nothing.
//
// Errors: store.ErrNotFound, conflict_state for a merchant that was erased.
func (ob *Onboarding) Reopen(ctx context.Context, by audit.Actor, id string) (merchants.Merchant, error) {
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		if !m.Leaving.Closed() {
			return m, nil, nil
		}
		next, err := m.Reopen()
		if err != nil {
			return m, nil, err
		}
		return next, ob.Noted(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantReopen, id, m.Leaving.Reason, nil), nil
	}, func(written *pay.Change, _ merchants.Merchant) error {
		return ob.mails.AddLeavingAlerts(ctx, written, written.Merchants[0], mails.MerchantReopened, time.Time{})
	})
}

// SwitchSandbox switches a merchant's sandbox on or off: its test keys and its sandbox's pages are refused (SBX-19). What is in it
// stays. A repeat changes nothing.
//
// Errors: store.ErrNotFound.
func (ob *Onboarding) SwitchSandbox(ctx context.Context, by audit.Actor, id string, on bool) (merchants.Merchant, error) {
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		if m.SandboxOff == !on {
			return m, nil, nil
		}
		state := map[bool]string{true: "on", false: "off"}[on]
		return m.SwitchSandbox(on), ob.Audited(by, merchants.Scope{Merchant: id, Live: true}, audit.SandboxSwitched, id, map[string]string{"sandbox": state}), nil
	})
}

// Erase removes a merchant's address, and lets it come back no more, at the end of its leaving. It does nothing if the merchant changed since
// it was read: it may have been opened.
//
// Errors: store.ErrNotFound.
func (ob *Onboarding) Erase(ctx context.Context, by audit.Actor, read merchants.Merchant) (merchants.Merchant, error) {
	id := read.ID
	return ob.change(ctx, id, func(m merchants.Merchant) (merchants.Merchant, []audit.Entry, error) {
		if m.Version != read.Version || !m.Leaving.Closed() || m.Leaving.Erased() {
			return m, nil, nil
		}
		return m.Erase(ob.Now()), ob.Audited(by, merchants.Scope{Merchant: id, Live: true}, audit.MerchantErased, id, nil), nil
	})
}
