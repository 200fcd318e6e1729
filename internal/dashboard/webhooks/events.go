package webhooks

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/wire"
)

// askedReplay reads the form that begins a replay. Its times are UTC.
//
// Errors: missing_field, invalid_request.
func (p *pages) askedReplay(r *http.Request, v *frame.Visit) (asked webhooks.Replay, err error) {
	for _, bound := range []struct {
		name string
		into *time.Time
	}{{"since", &asked.From}, {"until", &asked.To}} {
		span, issues := wire.Between(r.FormValue(bound.name), "")
		if len(issues) > 0 {
			return asked, message.FieldRefusal(problem.InvalidRequest, bound.name, p.room.Text(v, "not_a_time"))
		}
		*bound.into = span.From
	}
	if asked.From.IsZero() {
		return asked, message.FieldRefusal(problem.MissingField, "since", p.room.Text(v, "no_time"))
	}
	one, err := frame.OneOf(r, "type", webhooks.EventTypes())
	if one != "" {
		asked.Types = []webhooks.EventType{one}
	}
	return asked, err
}

// eventRow is an event in a list.
type eventRow struct {
	pay.ToldEvent
	Object string
}

// objectOf is the id of what an event is about.
func objectOf(payload []byte) string {
	var body struct {
		Data struct {
			Object struct {
				ID        string `json:"id"`
				SessionID string `json:"sessionId"`
			} `json:"object"`
		} `json:"data"`
	}
	if json.Unmarshal(payload, &body) != nil {
		return ""
	}
	return body.Data.Object.ID
}

// eventsView is the list of events.
type eventsView struct {
	Live   bool // the list follows what happens
	Events []eventRow
	Types  []frame.Option
	Pager  frame.Pager
	Query  string
}

// eventFilter is what the page's filters select.
//
// Errors: invalid_request.
func eventFilter(r *http.Request) (f lists.EventFilter, err error) {
	f.Page, f.Object = frame.PageOf(r), strings.TrimSpace(r.FormValue("object"))
	if f.Span, err = frame.Days(r); err != nil {
		return f, err
	}
	one, err := frame.OneOf(r, "type", webhooks.EventTypes())
	if one != "" {
		f.Types = []webhooks.EventType{one}
	}
	return f, err
}

func (p *pages) events(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := p.listEvents(r, v)
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "events", view)
}

// follow is the list of events that renews itself. The browser asks every few seconds: each request reads one
// page by an index, and a stream would read the same.
func (p *pages) follow(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := p.listEvents(r, v)
	if err != nil {
		return err
	}
	view.Live, view.Pager = true, frame.Pager{}
	return p.room.Fragment(w, r, v, "events", "feed", view)
}

func (p *pages) listEvents(r *http.Request, v *frame.Visit) (view eventsView, err error) {
	f, err := eventFilter(r)
	if err != nil {
		return view, err
	}
	list, err := p.Uses.Events.Page(r.Context(), v.Scope, f)
	if err != nil {
		return view, err
	}
	list, next := frame.Cut(list, func(e pay.ToldEvent) string { return e.ID })
	view = eventsView{Types: types(), Pager: frame.Pager{Next: next}, Query: r.URL.RawQuery}
	for _, e := range list {
		view.Events = append(view.Events, eventRow{e, objectOf(e.Payload)})
	}
	return view, nil
}

func (p *pages) eventsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := eventFilter(r)
	if err != nil {
		return err
	}
	file, err := p.NewCSV(w, r, v, "events", "event", "type", "object", "at")
	if err != nil {
		return err
	}
	for n := 0; n < mostRows; {
		list, err := p.Uses.Events.Page(r.Context(), v.Scope, f)
		if err != nil {
			return err
		}
		list, next := frame.Cut(list, func(e pay.ToldEvent) string { return e.ID })
		for _, e := range list {
			if err := file.Row(e.ID, e.Type, objectOf(e.Payload), e.At); err != nil {
				return err
			}
		}
		if n += len(list); next == "" {
			break
		}
		f.After = next
	}
	return file.End()
}

// eventView is the page of an event.
type eventView struct {
	Event   eventRow
	Payload string
	Sent    []appwebhooks.Sent
	Link    string // the page of its object, "" if there is none
	Means   string // the key of the text that says when the event is sent
}

func (p *pages) event(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	e, err := p.Uses.Events.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	view := eventView{Event: eventRow{e, objectOf(e.Payload)}, Payload: pretty(e.Payload), Means: "ev_" + strings.ReplaceAll(string(e.Type), ".", "_")}
	if view.Sent, err = p.Uses.Webhooks.Of(r.Context(), v.Scope, e.ID); err != nil {
		return err
	}
	view.Link = frame.PathOfObject(view.Event.Object)
	return p.room.Show(w, r, v, "event", view)
}
