package dlocal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Notices reads a notification of a payout. Its signature is not documented, so we trust
// only which payout it names, and query that one if it is there.
func (s *sender) Notices(ctx context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	if len(n.Body) == 0 || len(n.Body) > maxBody {
		return nil, provider.ErrUnsigned
	}
	var told struct {
		ExternalID string `json:"external_id"`
	}
	if err := json.Unmarshal(n.Body, &told); err != nil {
		return nil, provider.ErrUnsigned
	}
	reference := provider.Exact(told.ExternalID, 100)
	if _, _, ours := pay.ParsePayoutReference(reference); !ours {
		return nil, provider.ErrNotOurs
	}
	if err := n.MayAsk(ctx, reference, ""); err != nil {
		return nil, err
	}
	found, state := s.find(ctx, reference)
	switch state {
	case gone:
		return nil, nil // it may be a stranger's; a query finds out whether the payout is ours
	case unsure:
		return nil, fmt.Errorf("dlocal: payout of the notification: %w", provider.ErrUnreachable)
	}
	o := s.outcome(found)
	if o.Kind == pay.PayoutAccepted || o.Kind == pay.PayoutUnknown { // nothing new
		return nil, nil
	}
	return []pay.PayoutNotice{{
		ID: "payout:" + reference + ":" + string(o.Kind), Reference: reference, ProviderRef: o.ProviderRef, Outcome: o, Body: n.Body,
	}}, nil
}
