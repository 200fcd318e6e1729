package app

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
)

// audit returns the entry that says who did what, for the Change that does it:
//
//	Audit: a.audit(by.Actor(), sub.Scope, pay.WebhookDeleted, sub.ID, nil)
//
// Details are for people, and never hold a secret.
func (a *App) audit(by pay.Actor, scope pay.Scope, act pay.Act, object string, details map[string]string) []pay.AuditEntry {
	now := a.Now()
	entry := pay.AuditEntry{
		ID: a.NewID(pay.AuditPrefix, now), Scope: scope, By: by, Act: act, Object: object, Details: details, At: now,
	}
	if by.IP != "" {
		entry.Salt = rand.Text()
	}
	return []pay.AuditEntry{entry}
}

// noted is audit with what the operator wrote.
func (a *App) noted(by pay.Actor, scope pay.Scope, act pay.Act, object, note string, details map[string]string) []pay.AuditEntry {
	list := a.audit(by, scope, act, object, details)
	list[0].Note, list[0].Salt = note, rand.Text()
	return list
}

// Actor is the principal as the audit log knows him.
func (p Principal) Actor() pay.Actor {
	return pay.Actor{Kind: pay.ByKey, ID: p.KeyID, IP: p.Address, Request: p.RequestID}
}

// Self is who acts when nobody asked through an API: the operator at the command
// line, or the service.
func (a *App) Self() pay.Actor {
	if a.Operator != "" {
		return pay.Actor{Kind: pay.ByOperator, ID: a.Operator}
	}
	return pay.Actor{Kind: pay.BySystem}
}

// Audit lists what was done since a moment, oldest first, from behind the entry
// after; all merchants' where merchant is empty. It is for the operator.
func (a *App) Audit(ctx context.Context, merchant, after string, since time.Time, limit int) ([]pay.AuditEntry, error) {
	if merchant != "" {
		if _, err := a.AnyMerchant(ctx, merchant); err != nil {
			return nil, err
		}
	}
	if !since.IsZero() {
		after = max(after, id.From(pay.AuditPrefix, since))
	}
	return a.store.Audit(ctx, merchant, after, limit)
}

// Seal puts what was written since into blocks (design: Ledger). It returns
// above zero when more waits.
func (a *App) Seal(ctx context.Context) (int, error) {
	more, err := a.store.Seal(ctx, a.Now())
	if more {
		return 1, err
	}
	return 0, err
}
