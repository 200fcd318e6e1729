package claims

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store"
)

// Lists are the lists of claims that people look at: refunds, and disputes by their urgency.
type Lists struct{ *base.Base }

// NewLists returns the lists of a service.
func NewLists(b *base.Base) *Lists { return &Lists{b} }

// Refunds lists a shop's refunds, newest first, with the number that the filter selects.
//
// Errors: invalid_request for an unknown cursor.
func (l *Lists) Refunds(ctx context.Context, scope merchants.Scope, f lists.ClaimFilter) ([]pay.Claim, int64, error) {
	if !base.Storable(f.Payment) {
		return nil, 0, nil
	}
	if err := base.Behind(f.After, func() error {
		_, err := l.Store.Claims().Get(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return l.Store.Claims().Refunds(ctx, scope, f)
}

// Disputes lists a shop's disputes and inquiries of a stage, beginning after the claim whose id is after.
// Those that need evidence are sorted by their deadline, nearest first; others newest first.
//
// Errors: invalid_request for an unknown cursor.
func (l *Lists) Disputes(ctx context.Context, scope merchants.Scope, stage pay.DisputeStage, after string, limit int) ([]pay.Claim, error) {
	var behind pay.Claim
	if err := base.Behind(after, func() (err error) {
		behind, err = l.Store.Claims().Get(ctx, scope, after)
		return err
	}); err != nil {
		return nil, err
	}
	return l.Store.Claims().Disputes(ctx, scope, stage, behind, limit)
}

// CountDisputes counts a shop's disputes and inquiries by stage.
func (l *Lists) CountDisputes(ctx context.Context, scope merchants.Scope) (map[pay.DisputeStage]int64, error) {
	return l.Store.Claims().CountDisputes(ctx, scope)
}

// Movements lists what a claim moved of the merchant's balances, oldest first.
func (l *Lists) Movements(ctx context.Context, c pay.Claim) ([]pay.Movement, error) {
	first, after := c.Transfers()
	transfers, err := l.Store.Books().Between(ctx, c.Scope, first, after)
	var list []pay.Movement
	for _, t := range transfers {
		list = append(list, pay.Movements(t)...)
	}
	return list, err
}

// Opener is who opened a refund.
type Opener struct {
	Kind audit.ActorKind
	Name string // of the user; or the masked key
}

// Openers returns who opened refunds, by the refunds' ids. Refunds that the audit log does not have are
// missing.
func (l *Lists) Openers(ctx context.Context, scope merchants.Scope, list []pay.Claim) (map[string]Opener, error) {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	entries, err := l.Store.Audit().Of(ctx, scope.Merchant, audit.RefundOpened, ids)
	if err != nil {
		return nil, err
	}
	openers, names := map[string]Opener{}, map[audit.Actor]string{}
	for _, e := range entries {
		who := audit.Actor{Kind: e.By.Kind, ID: e.By.ID}
		name, known := names[who]
		if !known {
			if name, err = l.nameOf(ctx, who); err != nil {
				return nil, err
			}
			names[who] = name
		}
		openers[e.Object] = Opener{who.Kind, name}
	}
	return openers, nil
}

// nameOf is an actor's name for people, "" for one that is not known any more.
func (l *Lists) nameOf(ctx context.Context, who audit.Actor) (name string, err error) {
	switch who.Kind {
	case audit.ByUser:
		var u people.User
		u, err = l.Store.Users().Get(ctx, who.ID)
		name = u.Name
	case audit.ByKey:
		var k merchants.Key
		k, err = l.Store.Keys().Get(ctx, who.ID)
		name = k.Preview
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return name, err
}
