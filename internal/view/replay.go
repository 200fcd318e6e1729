package view

import (
	"encoding/json"
	"reflect"

	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/danielgtaylor/huma/v2"
)

// EventBody is an event as sent, byte for byte.
type EventBody json.RawMessage

// MarshalJSON writes the body.
func (b EventBody) MarshalJSON() ([]byte, error) { return b, nil }

// Schema describes the output of MarshalJSON in the OpenAPI document.
func (EventBody) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[Event](), true, "")
}

// SpanReplay is a replay of the events of a span of time.
type SpanReplay struct {
	ID             string                `json:"id"`
	SubscriptionID string                `json:"subscriptionId"`
	Status         webhooks.ReplayStatus `json:"status" enum:"running,done,stopped" doc:"stopped: stopReason says why"`
	StopReason     *string               `json:"stopReason" enum:"requested,webhook_disabled" nullable:"true" doc:"null unless it is stopped"`
	ResumeFrom     *Time                 `json:"resumeFrom" nullable:"true" doc:"The from of a replay that continues where this one stopped; the endpoint has accepted all earlier events. null unless it is stopped"`
	From           Time                  `json:"from"`
	To             Time                  `json:"to"`
	Types          []webhooks.EventType  `json:"types" doc:"Empty: all that the webhook gets"`
	Events         int64                 `json:"events" doc:"How many events there were when the replay began"`
	Sent           int64                 `json:"sent" doc:"Deliveries started so far"`
	LeftOut        int64                 `json:"leftOut" doc:"Events that were already being delivered, or that the webhook no longer subscribes to"`
	CreatedAt      Time                  `json:"createdAt"`
	UpdatedAt      Time                  `json:"updatedAt"`
}

// NewSpanReplay shows a replay.
func NewSpanReplay(r webhooks.Replay) SpanReplay {
	v := SpanReplay{
		ID: r.ID, SubscriptionID: r.Subscription, Status: r.Status, From: Time{r.From}, To: Time{r.To}, Types: append([]webhooks.EventType{}, r.Types...),
		Events: r.Events, Sent: r.Sent, LeftOut: r.LeftOut, CreatedAt: Time{r.CreatedAt}, UpdatedAt: Time{r.UpdatedAt},
	}
	v.StopReason, v.ResumeFrom = text(string(r.Why)), at(r.ResumeFrom)
	return v
}
