package base

import (
	"crypto/rand"

	"github.com/cascadapay/cascada/internal/pay"
)

// Audited returns the entry that says who did what, for the Change that does it:
//
//	Audit: b.Audited(by.Actor(), sub.Scope, pay.WebhookDeleted, sub.ID, nil)
//
// Details are for people, and never hold a secret.
func (b *Base) Audited(by pay.Actor, scope pay.Scope, act pay.Act, object string, details map[string]string) []pay.AuditEntry {
	now := b.Now()
	entry := pay.AuditEntry{
		ID: b.NewID(pay.AuditPrefix, now), Scope: scope, By: by, Act: act, Object: object, Details: details, At: now,
	}
	if by.IP != "" {
		entry.Salt = rand.Text()
	}
	return []pay.AuditEntry{entry}
}

// Noted is Audited with what the operator wrote.
func (b *Base) Noted(by pay.Actor, scope pay.Scope, act pay.Act, object, note string, details map[string]string) []pay.AuditEntry {
	list := b.Audited(by, scope, act, object, details)
	list[0].Note, list[0].Salt = note, rand.Text()
	return list
}

// Self is who acts when nobody asked through an API: the operator at the command
// line, or the service.
func (b *Base) Self() pay.Actor {
	if b.Operator != "" {
		return pay.Actor{Kind: pay.ByOperator, ID: b.Operator}
	}
	return pay.Actor{Kind: pay.BySystem}
}
