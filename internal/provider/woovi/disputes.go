package woovi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// dispute is a dispute in an answer or an event. Of a MED, only type, status and number are
// documented.
type dispute struct {
	ID         string      `json:"id"`         // under which it takes evidence
	EndToEndID string      `json:"endToEndId"` // of the disputed transaction
	Status     string      `json:"status"`
	Type       string      `json:"type"`
	Value      json.Number `json:"value"` // centavos
	Reason     string      `json:"disputeReason"`
}

const noDispute = "Dispute not found" // woovi.json, GET /api/v1/dispute/{id}

// number is the bank's number of the disputed transaction. It stands for the dispute's id, because
// disputes are read by it.
func (d *dispute) number() string { return provider.Exact(d.EndToEndID, 64) }

// Statuses of a dispute.
var (
	openWords   = []string{"CREATED", "OPENED", "IN_REVIEW"}
	rulingWords = map[string]pay.Ruling{"ACCEPTED": pay.DisputeLost, "REJECTED": pay.DisputeWon, "CANCELED": pay.DisputeWithdrawn}
)

// notice is the notice of a dispute of a charge.
func (c *client) notice(d dispute, reference, money string) pay.Notice {
	status := provider.Exact(d.Status, 32)
	n := pay.Notice{
		ID: "dispute:" + d.number() + ":" + status, Account: c.account.ID, Reference: reference, DisputeID: d.number(),
		Stage: strings.TrimSpace(provider.Exact(d.Type, 32) + " " + status), Ruling: rulingWords[status],
		Outcome: pay.Outcome{MoneyRef: money, Local: amount(d.Value), Message: provider.Exact(d.Reason, 200)},
	}
	if d.Type != "" {
		n.ID += ":" + provider.Exact(d.Type, 32)
	}
	if n.Outcome.Message == "" {
		n.Outcome.Message = "the shopper wants the money back"
		if d.Type == "MED" {
			n.Outcome.Message = "the shopper's bank reports a fraud (MED)"
		}
	}
	if n.Ruling == "" {
		n.Dispute = true
		if !slices.Contains(openWords, status) { // it is open until we know better
			c.account.Strange("dispute", d.Status)
		}
	}
	return n
}

// disputeOf reads the dispute of a transaction. lost: the provider does not answer now. Without lost
// and a dispute it has none, or the AppID may not read it.
func (c *client) disputeOf(ctx context.Context, number string) (found *dispute, lost bool) {
	answer, failed := c.call(ctx, http.MethodGet, "/api/v1/dispute/"+escape(number), nil)
	switch {
	case failed != nil:
		return nil, true
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden, c.says(answer, noDispute):
		return nil, false
	}
	var reply struct {
		Dispute *dispute `json:"dispute"`
	}
	if !good(answer) || json.Unmarshal(answer.Body, &reply) != nil || reply.Dispute == nil || reply.Dispute.EndToEndID != number || reply.Dispute.Status == "" {
		return nil, true
	}
	return reply.Dispute, false
}

// disputed reports a dispute, which has the transaction's bank number and not our reference. Its
// state is the account's own answer, or that of the event if there is none.
func (c *client) disputed(ctx context.Context, told dispute, event string, body []byte) ([]pay.Notice, error) {
	number := told.number()
	if number == "" {
		return nil, errors.New("woovi: the dispute names no transaction")
	}
	reference, err := c.referenceOf(ctx, number)
	if _, _, ours := pay.ParseReference(reference); err != nil || !ours {
		return nil, err
	}
	found, lost := c.disputeOf(ctx, number)
	if lost {
		return nil, fmt.Errorf("woovi: dispute of the notification: %w", provider.ErrUnreachable)
	}
	if found == nil {
		told.Status = strings.TrimPrefix(event, "DISPUTE_")
		found = &told
	}
	money, lost := c.moneyRef(ctx, reference, number)
	if lost {
		return nil, fmt.Errorf("woovi: payments of the disputed charge: %w", provider.ErrUnreachable)
	}
	n := c.notice(*found, reference, money)
	n.Body = body
	return []pay.Notice{n}, nil
}

// CanQueryDispute implements provider.DisputeQuerier.
func (c *client) CanQueryDispute(r provider.DisputeRequest) bool { return r.ID != "" }

// QueryDispute implements provider.DisputeQuerier.
func (c *client) QueryDispute(ctx context.Context, r provider.DisputeRequest) (pay.Notice, bool) {
	if r.ID == "" {
		return pay.Notice{}, false
	}
	found, _ := c.disputeOf(ctx, r.ID)
	if found == nil {
		return pay.Notice{}, false
	}
	return c.notice(*found, r.Charge.Reference, r.Charge.MoneyRef), true
}
