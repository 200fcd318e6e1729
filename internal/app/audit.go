package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Audit lists acts since a time, oldest first, after the entry with the id after. It lists all
// merchants' acts if merchant is empty. It is for the operator.
func (a *App) Audit(ctx context.Context, merchant, after string, since time.Time, limit int) ([]audit.Entry, error) {
	if merchant != "" {
		if _, err := a.AnyMerchant(ctx, merchant); err != nil {
			return nil, err
		}
	}
	if !since.IsZero() {
		after = max(after, id.From(audit.Prefix, since))
	}
	return a.Store.Audit().List(ctx, merchant, after, limit)
}

// AuditLog lists the newest acts that match a filter, newest first. It is for the operator.
func (a *App) AuditLog(ctx context.Context, f audit.Filter, limit int) ([]audit.Entry, error) {
	return a.Store.Audit().Latest(ctx, f, limit)
}

// Decisions lists people's decisions, newest first, before the entry with an id; "" begins at the newest. It leaves out what
// the sandbox or a loop did by itself, so a page may have fewer than limit entries even if more follow. next is where the
// next page begins, "" at the end.
func (a *App) Decisions(ctx context.Context, before string, limit int) (list []audit.Entry, next string, err error) {
	for _, act := range audit.Decisions() {
		some, err := a.Store.Audit().Latest(ctx, audit.Filter{Act: act, Before: before}, limit)
		if err != nil {
			return nil, "", err
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, func(x, y audit.Entry) int { return strings.Compare(y.ID, x.ID) })
	if len(list) >= limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return slices.DeleteFunc(list, func(e audit.Entry) bool { return e.By.Kind != audit.ByUser && e.By.Kind != audit.ByOperator }), next, nil
}

// MerchantAudit lists what happened at a merchant in the environment of a scope, newest first: in the sandbox also what
// was done to both environments, such as invitations. Users belong to the merchant, so the list is of all its shops.
//
// Errors: invalid_request for an invalid cursor.
func (a *App) MerchantAudit(ctx context.Context, scope merchants.Scope, f audit.MerchantFilter) ([]audit.Entry, error) {
	if f.After != "" && !strings.HasPrefix(f.After, audit.Prefix) {
		return nil, problem.Field(problem.InvalidRequest, "cursor", noEntryToContinue)
	}
	return a.Store.Audit().Newest(ctx, scope.Merchant, scope.Live, f)
}

// Seal puts new rows into blocks of the hash chain. It returns a number above zero if more rows
// wait.
func (a *App) Seal(ctx context.Context) (int, error) {
	more, err := a.Store.Seal(ctx, a.Now())
	if more {
		return 1, err
	}
	return 0, err
}
