package base

import (
	"crypto/rand"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Audited returns the entry that records who did what. It goes into the Change of the act:
//
//	Audit: b.Audited(by.Actor(), sub.Scope, audit.WebhookDeleted, sub.ID, nil)
//
// The details are for people and must never contain a secret.
func (b *Base) Audited(by audit.Actor, scope merchants.Scope, act audit.Act, object string, details map[string]string) []audit.Entry {
	now := b.Now()
	entry := audit.Entry{
		ID: b.NewID(audit.Prefix, now), Scope: scope, By: by, Act: act, Object: object, Details: details, At: now,
	}
	if by.IP != "" {
		entry.Salt = rand.Text()
	}
	return []audit.Entry{entry}
}

// Noted is Audited with the operator's note.
func (b *Base) Noted(by audit.Actor, scope merchants.Scope, act audit.Act, object, note string, details map[string]string) []audit.Entry {
	list := b.Audited(by, scope, act, object, details)
	list[0].Note, list[0].Salt = note, rand.Text()
	return list
}

// Self is the actor if no API request asked for the act: the operator at the command line, or the
// service.
func (b *Base) Self() audit.Actor {
	if b.Operator != "" {
		return audit.Actor{Kind: audit.ByOperator, ID: b.Operator}
	}
	return audit.Actor{Kind: audit.BySystem}
}
