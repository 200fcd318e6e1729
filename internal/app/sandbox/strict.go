package sandbox

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// The sandbox accepts what production refuses: any country, any document. A strict sandbox refuses
// it too, so that a shop finds such mistakes before it goes live.

// Settings reads the settings of a merchant's sandbox.
//
// Errors: production_key_refused.
func (sb *Sandbox) Settings(ctx context.Context, by base.Principal) (merchants.Merchant, error) {
	if err := sandboxOnly(by.Scope); err != nil {
		return merchants.Merchant{}, err
	}
	return sb.Store.Merchants().Get(ctx, by.Merchant)
}

// SetSandbox makes a merchant's sandbox strict, or lenient again.
//
// Errors: production_key_refused.
func (sb *Sandbox) SetSandbox(ctx context.Context, by base.Principal, strict bool) (merchants.Merchant, error) {
	if err := sandboxOnly(by.Scope); err != nil {
		return merchants.Merchant{}, err
	}
	set, err := base.Decide(func() (merchants.Merchant, error) {
		m, err := sb.Store.Merchants().Get(ctx, by.Merchant)
		if err != nil || m.Strict == strict {
			return m, err
		}
		next := m.Rehearse(strict)
		return next, sb.Store.Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{next},
			Audit:     sb.Audited(by.Actor(), by.Scope, audit.SandboxChanged, m.ID, map[string]string{"strict": fmt.Sprint(strict)}),
		})
	})
	sb.Tenants.Forget(by.Merchant + "/" + by.Shop)
	return set, err
}
