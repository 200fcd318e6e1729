package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// thin is an event that says what changed, but not to what.
type thin struct {
	Object  string `json:"object"`
	Type    string `json:"type"`
	Live    bool   `json:"livemode"`
	Related *struct {
		ID string `json:"id"`
	} `json:"related_object"`
}

// payoutEvents begins the types of the events that are read: created, updated, under_review, posted, failed, canceled and returned, the
// last also after the payment had arrived (stripe-node 23.1.0, V2/Core/Events.d.ts; read on 2026-11-28). Of the others, adjustment,
// transaction, received_credit, inbound_transfer, financial_account and financial_address are about the account's own balance, which
// the float is compared with; payout_intent, payout_method and recipient_verification move no money of ours.
const payoutEvents = "v2.money_management.outbound_payment."

// Notices reads an event of a payment and queries the payment's state. Events come in any
// order and may be repeated.
func (pa *payer) Notices(ctx context.Context, n provider.Notification) ([]pay.PayoutNotice, error) {
	if err := pa.signed(n); err != nil {
		return nil, err
	}
	var e thin
	if err := json.Unmarshal(n.Body, &e); err != nil {
		return nil, errors.New("stripe: the event is not JSON")
	}
	if e.Object != "v2.core.event" || !strings.HasPrefix(e.Type, payoutEvents) || e.Live != pa.Live {
		return nil, nil // about something else, or from the other environment
	}
	if e.Related == nil || !provider.Plain(e.Related.ID, 255) {
		return nil, errors.New("stripe: the event names no payment")
	}
	var found payment
	if f := pa.ask(ctx, paymentsPath+"/"+url.PathEscape(e.Related.ID), &found); f != nil || found.ID != e.Related.ID {
		return nil, fmt.Errorf("stripe: payment of the event: %w", provider.ErrUnreachable)
	}
	reference := provider.Exact(found.Metadata[referenceKey], 128)
	if _, _, ours := pay.ParsePayoutReference(reference); !ours || !found.of(reference) {
		return nil, nil // for example, made in the dashboard
	}
	o := pa.outcome(found, payouts.Request{})
	if o.Kind == pay.PayoutAccepted || o.Kind == pay.PayoutUnknown { // nothing new
		return nil, nil
	}
	return []pay.PayoutNotice{{ID: found.ID + ":" + string(o.Kind), Reference: reference, ProviderRef: found.ID, Outcome: o, Body: n.Body}}, nil
}
