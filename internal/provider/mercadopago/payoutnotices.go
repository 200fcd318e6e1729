package mercadopago

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Notices reads a notification of a payout. No document says how it is signed, so we trust
// only the id, and query that payout if it may be one of ours. A notice is returned even if nothing changed: it may
// be the only source of the provider's id.
func (p *payer) Notices(ctx context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	var told struct {
		ID        text `json:"id"` // the notification's id, or the payout's if there is no data
		Type      text `json:"type"`
		Reference text `json:"external_reference"`
		Data      struct {
			ID text `json:"id"`
		} `json:"data"`
	}
	if read(n.Body, &told) != nil {
		return nil, provider.ErrUnsigned
	}
	id := told.Data.ID
	if told.Type == "" && id == "" && told.Reference != "" {
		id = told.ID
	} else if told.Type != "transaction_intent" {
		return nil, provider.ErrNotOurs
	}
	if !isIntentID(string(id)) {
		return nil, provider.ErrNotOurs
	}
	if err := n.MayAsk(ctx, "", string(id)); err != nil {
		return nil, err
	}
	found, err := p.get(ctx, string(id))
	if errors.Is(err, errNoIntent) {
		return nil, nil // it is not ours
	}
	if err != nil {
		return nil, fmt.Errorf("mercadopago: payout of the notification: %w", err)
	}
	if _, _, ours := pay.ParsePayoutReference(string(found.Reference)); !ours {
		return nil, nil
	}
	o := p.outcome(found)
	news := fmt.Sprintf("payout/%s/%s/%s/%s", found.ID, found.Status, found.detail(), found.Transaction.Refunded)
	return []pay.PayoutNotice{{
		ID: provider.Printable(news, 200), Reference: string(found.Reference), ProviderRef: o.ProviderRef, Outcome: o, Body: n.Body,
	}}, nil
}
