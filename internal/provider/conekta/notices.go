package conekta

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// Notices reads an event and then the order that it is about.
func (a *account) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
	if !a.signed(n) {
		return nil, provider.ErrUnsigned
	}
	var event struct {
		Type     text `json:"type"`
		Livemode bool `json:"livemode"`
		Data     struct {
			Object struct {
				Object  text `json:"object"`
				ID      text `json:"id"`
				OrderID text `json:"order_id"`
			} `json:"object"`
		} `json:"data"`
	}
	if err := read(n.Body, &event); err != nil {
		return nil, fmt.Errorf("conekta event: %w", err)
	}
	id := ""
	switch event.Data.Object.Object {
	case "order":
		id = string(event.Data.Object.ID)
	case "charge", "chargeback":
		id = string(event.Data.Object.OrderID)
	}
	switch {
	case id == "" || event.Livemode != a.Live:
		return nil, nil // about something else
	case !isID(id):
		return nil, errors.New("conekta event: it names no order")
	}
	o, lost := a.order(ctx, id)
	if lost != nil && lost.Kind == pay.Missing {
		return nil, nil
	}
	if lost != nil {
		return nil, provider.ErrUnreachable
	}
	if _, _, ours := pay.ParseReference(o.reference()); !ours {
		return nil, nil
	}
	notice := pay.Notice{
		// The id is of the order's state, which is what we read, not of the event.
		ID:      strings.Join([]string{string(o.ID), string(o.Status), fmt.Sprint(o.Updated)}, "/"),
		Account: a.ID, Reference: o.reference(), Body: n.Body,
	}
	if stage, ours := strings.CutPrefix(string(event.Type), "charge.chargeback."); ours {
		return a.chargeback(notice, stage, string(event.Data.Object.ID)), nil
	}
	notice.Outcome = a.outcome(o, "", "")
	if o.Status == "charged_back" { // reported once, however often the order changes
		notice.ID, notice.Stage = string(o.ID)+"/charged_back", string(o.Status)
		notice.Dispute, notice.Outcome.Message = true, charged
	}
	if notice.Outcome.Kind == pay.Awaiting {
		return nil, nil // nothing has changed; the data to pay with is not a notice's
	}
	return []pay.Notice{notice}, nil
}

const charged = "the card's issuer took the money back"

// chargeback is the notice of a chargeback event for its order.
func (a *account) chargeback(n pay.Notice, stage, id string) []pay.Notice {
	n.ID = strings.Join([]string{"chargeback", provider.Exact(id, 64), provider.Exact(stage, 32)}, "/")
	n.DisputeID, n.Stage = provider.Exact(id, 64), stage
	switch stage {
	case "created", "updated", "under_review":
		n.Reviewing = stage == "under_review"
		n.Dispute, n.Outcome.Message = true, charged
	case "won":
		n.Ruling, n.Outcome.Message = pay.DisputeWon, "the dispute was decided for the seller"
	case "lost":
		n.Ruling, n.Outcome.Message = pay.DisputeLost, "the dispute was decided for the shopper"
	default:
		a.Strange("chargeback", stage)
		return nil
	}
	return []pay.Notice{n}
}

// signed checks the signature of the raw body.
func (a *account) signed(n provider.Notification) bool {
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(n.Header.Get("Digest")))
	if err != nil || len(n.Body) == 0 {
		return false
	}
	sum := sha256.Sum256(n.Body)
	return rsa.VerifyPKCS1v15(a.sign, crypto.SHA256, sum[:], signature) == nil
}
