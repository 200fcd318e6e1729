package books

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type storyIn struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"Of a payment, a withdrawal, a claim or a merchant"`

	From        string                `query:"from" format:"date-time" doc:"Of a merchant, the start of the period; 31 days ago if it is left out"`
	To          string                `query:"to" format:"date-time" doc:"Of a merchant, the end of the period; now if it is left out"`
	Environment merchants.Environment `query:"environment" enum:"production,sandbox" doc:"Of a merchant; production if it is left out"`
	Each        bool                  `query:"each" doc:"Of a merchant: each capture, not one line for those of a day"`
}

type storyOut struct {
	Body struct {
		ID   string `json:"id"`
		Text string `json:"text" doc:"For people: attempts, transfers with their postings, events, deliveries"`
	}
}

func (a *api) storyRoutes() {
	call.Handle(a.API, operators.View, call.Heavy(huma.Operation{OperationID: "getStory", Method: http.MethodGet, Path: "/stories/{id}", Tags: []string{"Books"},
		Summary: "Read everything that is kept of a payment, a withdrawal or a claim, or what moved the money of a merchant", Description: "As text, for people."}), nil, a.story)
}

// storySpan is the period of a merchant's story if none is given.
const storySpan = 31 * 24 * time.Hour

func (a *api) story(ctx context.Context, _ audit.Actor, in *storyIn) (*storyOut, error) {
	out := &storyOut{}
	out.Body.ID = in.ID
	if !strings.HasPrefix(in.ID, merchants.MerchantPrefix) {
		text, err := a.Uses.Stories(ctx, in.ID)
		out.Body.Text = text
		return out, err
	}
	period := lists.Span{From: a.Uses.Now().Add(-storySpan)}
	for _, t := range []struct {
		text string
		into *time.Time
	}{{in.From, &period.From}, {in.To, &period.To}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			return nil, message.Refusal(problem.InvalidRequest, "from and to are times, such as 2026-11-21T15:00:00Z")
		}
		*t.into = at
	}
	if !period.To.IsZero() && !period.From.Before(period.To) {
		return nil, message.FieldRefusal(problem.InvalidRequest, "from", "from must be before to")
	}
	text, err := a.Uses.Settlements.Story(ctx, merchants.Scope{Merchant: in.ID, Live: in.Environment != merchants.Sandbox}, period, in.Each)
	out.Body.Text = text
	return out, err
}
