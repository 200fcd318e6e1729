package sandbox

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
)

// The sandbox takes what production would not: any country, any document. A strict one
// refuses it, so that a shop finds out before it sells anything.

// SandboxSettings reads how a merchant's sandbox is set.
//
// Errors: production_key_refused.
func (sb *Sandbox) SandboxSettings(ctx context.Context, by base.Principal) (pay.Merchant, error) {
	if err := sandboxOnly(by.Scope); err != nil {
		return pay.Merchant{}, err
	}
	return sb.Store.Merchants.Get(ctx, by.Merchant)
}

// SetSandbox makes a merchant's sandbox strict, or lenient again.
//
// Errors: production_key_refused.
func (sb *Sandbox) SetSandbox(ctx context.Context, by base.Principal, strict bool) (pay.Merchant, error) {
	if err := sandboxOnly(by.Scope); err != nil {
		return pay.Merchant{}, err
	}
	set, err := base.Decide(func() (pay.Merchant, error) {
		m, err := sb.Store.Merchants.Get(ctx, by.Merchant)
		if err != nil || m.Strict == strict {
			return m, err
		}
		next := m.Rehearse(strict)
		return next, sb.Store.Commit(ctx, pay.Change{
			Merchants: []pay.Merchant{next},
			Audit:     sb.Audited(by.Actor(), by.Scope, pay.SandboxChanged, m.ID, map[string]string{"strict": fmt.Sprint(strict)}),
		})
	})
	sb.Tenants.Forget(by.Merchant + "/" + by.Shop)
	return set, err
}
