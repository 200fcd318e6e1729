package claims

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

const (
	// draftDeliveries is the most deliveries of a payment's events that are read for a draft.
	draftDeliveries = 200
	// draftLooks is the most payments of the same shopper that are read to find undisputed ones.
	draftLooks = 20
)

// Draft writes a text against a claim of the shop, for its reason, in a language, with what the service knows about the
// payment. Nothing is sent: whoever asks for it edits it.
//
// Errors: claim_not_found.
func (l *Lists) Draft(ctx context.Context, scope merchants.Scope, c pay.Claim, language merchants.Language) (string, error) {
	f := evidence.Facts{Claim: c}
	var err error
	if f.Payment, err = l.Store.Payments().Get(ctx, scope, c.Payment); err != nil {
		return "", base.OrRefuse(err, noClaim())
	}
	if f.Session, err = l.Store.Sessions().Of(ctx, c.Payment); err != nil && !base.Absent(err) {
		return "", err
	}
	if f.Claims, err = l.Store.Claims().Of(ctx, []string{c.Payment}); err != nil {
		return "", err
	}
	if f.Deliveries, err = l.Store.Deliveries().About(ctx, scope, c.Payment, draftDeliveries); err != nil {
		return "", err
	}
	if f.Others, err = l.undisputed(ctx, scope, f.Payment); err != nil {
		return "", err
	}
	return evidence.Draft(f, language), nil
}

// undisputed lists paid payments of the same shopper at the shop that nobody disputed, newest first.
func (l *Lists) undisputed(ctx context.Context, scope merchants.Scope, p pay.Payment) (list []pay.Payment, err error) {
	if p.Order.Buyer.Email == "" {
		return nil, nil
	}
	all, err := l.Store.Payments().List(ctx, scope, lists.PaymentFilter{Email: p.Order.Buyer.Email, Status: pay.Completed, Page: lists.Page{Limit: draftLooks}})
	for _, other := range all {
		if other.ID != p.ID && !other.Disputes.Any {
			list = append(list, other)
		}
	}
	return list, err
}
