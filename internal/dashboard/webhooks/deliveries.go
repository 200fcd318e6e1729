package webhooks

import (
	"net/http"
	"slices"
	"time"

	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// endpointView is the page of an endpoint: its health, and its deliveries.
type endpointView struct {
	Sub        hookView
	All        bool // no filter is set, and this is the first page: Sub.Recent is known
	Deliveries []webhooks.Delivery
	Types      []frame.Option
	Pager      frame.Pager
}

// deliveryFilter is what the page's filters select.
//
// Errors: invalid_request.
func deliveryFilter(r *http.Request) (f lists.DeliveryFilter, err error) {
	f.Page = frame.PageOf(r)
	if f.Span, err = frame.Days(r); err != nil {
		return f, err
	}
	if f.Status, err = frame.OneOf(r, "status", webhooks.DeliveryStatuses()); err != nil {
		return f, err
	}
	f.Type, err = frame.OneOf(r, "type", webhooks.EventTypes())
	return f, err
}

func (p *pages) endpoint(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := deliveryFilter(r)
	if err != nil {
		return err
	}
	all := f.Status == "" && f.Type == "" && f.Span == lists.Span{} && f.After == ""
	if all { // the newest deliveries also show the health of the endpoint
		f.Limit = appwebhooks.RecentDeliveries + 1
	}
	read := p.Uses.Webhooks.Deliveries
	if !f.From.IsZero() || !f.To.IsZero() { // the number of a span of time is counted row by row
		read = p.Uses.Webhooks.DeliveryPage
	}
	log, err := read(r.Context(), v.Scope, r.PathValue("id"), f)
	if err != nil {
		return err
	}
	view := endpointView{Sub: viewHook(log.Subscription), Types: types(), All: all}
	view.Sub.Recent = appwebhooks.RecentOf(log.Deliveries)
	view.Deliveries, view.Pager.Next = frame.Cut(log.Deliveries, func(one webhooks.Delivery) string { return one.ID })
	view.Pager.Total = int(log.Total)
	return p.room.Show(w, r, v, "endpoint", view)
}

func (p *pages) settings(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "settings", endpointView{Sub: viewHook(s)})
}

// mostRows bounds a file of a list.
const mostRows = 10_000

func (p *pages) deliveriesFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := deliveryFilter(r)
	if err != nil {
		return err
	}
	file, err := p.NewCSV(w, r, v, "deliveries", "delivery", "event", "type", "status", "tries", "created", "last_try", "http_status", "error", "ms")
	if err != nil {
		return err
	}
	for n := 0; n < mostRows; {
		log, err := p.Uses.Webhooks.DeliveryPage(r.Context(), v.Scope, r.PathValue("id"), f)
		if err != nil {
			return err
		}
		list, next := frame.Cut(log.Deliveries, func(one webhooks.Delivery) string { return one.ID })
		for _, one := range list {
			if err := file.Row(one.ID, one.Event, one.EventType, one.Status, one.Attempts, one.CreatedAt, one.LastAt, one.LastCode, one.LastError, one.LastMs); err != nil {
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

// attempt is one try of a delivery.
type attempt struct {
	webhooks.Attempted
	Time time.Time
	Last bool
}

// deliveryView is the page of a delivery.
type deliveryView struct {
	Sub      hookView
	Delivery webhooks.Delivery
	Next     time.Time // the next try
	Payload  string
	Tries    []attempt // newest first
	Again    bool      // it can be sent again
	Over     bool      // it is not tried any more
}

func (p *pages) delivery(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, found, err := p.Uses.Webhooks.Delivery(r.Context(), v.Scope, r.PathValue("id"), r.PathValue("delivery"))
	if err != nil {
		return err
	}
	one := found.Delivery
	view := deliveryView{Sub: viewHook(s), Delivery: one, Next: one.DueAt, Payload: pretty(found.Payload)}
	if one.Parked && s.Circuit.ProbeAt.After(one.DueAt) {
		view.Next = s.Circuit.ProbeAt
	}
	if one.Status != webhooks.DeliveryPending && one.Status != webhooks.DeliveryFailed {
		view.Next = time.Time{}
	}
	view.Again = s.Status == webhooks.Enabled && (one.Status == webhooks.DeadLetter || one.Status == webhooks.DeliveryFailed)
	view.Over = one.Status == webhooks.DeadLetter
	for i, try := range one.Log() {
		view.Tries = append(view.Tries, attempt{try, time.UnixMicro(try.At).UTC(), i == len(one.Log())-1})
	}
	slices.Reverse(view.Tries)
	return p.room.Show(w, r, v, "delivery", view)
}

func (p *pages) replayDelivery(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	done, err := p.Uses.Webhooks.Replay(r.Context(), v.Principal, v.Scope, id, r.PathValue("delivery"))
	if err != nil {
		return err
	}
	return p.Done(w, r, v, "webhooks/"+id+"/deliveries/"+done.Delivery, "delivery_again")
}

// replaysView lists the replays to an endpoint, with the form that begins one.
type replaysView struct {
	frame.Mistakes
	Sub            hookView
	List           []webhooks.Replay
	From, To, Type string
	Types          []frame.Option
	Pager          frame.Pager
}

// fieldTime is how a browser sends a date and time.
const fieldTime = "2006-01-02T15:04"

func (p *pages) replays(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	now := p.Uses.TimeOf(v.Scope).UTC()
	view := replaysView{From: now.Add(-24 * time.Hour).Format(fieldTime), To: ""}
	return p.showReplays(w, r, v, http.StatusOK, view)
}

func (p *pages) showReplays(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view replaysView) error {
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	list, total, err := p.Uses.Replays.List(r.Context(), v.Scope, s.ID, frame.PageOf(r))
	if err != nil {
		return err
	}
	view.Sub = viewHook(s)
	for _, t := range webhooks.EventTypes() {
		if s.Wants(t) {
			view.Types = append(view.Types, frame.Option{Value: string(t), Label: string(t)})
		}
	}
	view.List, view.Pager.Next = frame.Cut(list, func(one webhooks.Replay) string { return one.ID })
	view.Pager.Total = int(total)
	return p.room.ShowStatus(w, r, v, status, "replays", view)
}

func (p *pages) beginReplay(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	asked, err := p.askedReplay(r, v)
	if err == nil {
		var begun webhooks.Replay
		if begun, err = p.Uses.Replays.Begin(r.Context(), v.Principal, v.Scope, id, appwebhooks.NewReplay{Replay: asked}); err == nil {
			return p.Done(w, r, v, "webhooks/"+id+"/replays/"+begun.ID, "replay_begun")
		}
	}
	wrong, status, err := frame.MistakesOf(v, err)
	if err != nil {
		return err
	}
	return p.showReplays(w, r, v, status, replaysView{Mistakes: wrong, From: r.FormValue("since"), To: r.FormValue("until"), Type: r.FormValue("type")})
}

// replayView is the page of a replay, or only how far it has come.
type replayView struct {
	Sub    hookView
	Replay webhooks.Replay
}

// Over is how many of the events were handled.
func (r replayView) Over() int64 { return min(r.Replay.Sent+r.Replay.LeftOut, r.Replay.Events) }

// Most is the length of the bar: never 0.
func (r replayView) Most() int64 { return max(r.Replay.Events, 1) }

// Filled is how much of the bar is full.
func (r replayView) Filled() int64 {
	if r.Replay.Status == webhooks.ReplayDone {
		return r.Most()
	}
	return r.Over()
}

func (p *pages) replay(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, id)
	if err != nil {
		return err
	}
	one, err := p.Uses.Replays.Get(r.Context(), v.Scope, id, r.PathValue("replay"))
	if err != nil {
		return err
	}
	return p.room.Fragment(w, r, v, "replay", "progress", replayView{viewHook(s), one})
}

func (p *pages) stopReplay(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	one, err := p.Uses.Replays.Stop(r.Context(), v.Principal, v.Scope, id, r.PathValue("replay"))
	if err != nil {
		return err
	}
	return p.Done(w, r, v, "webhooks/"+id+"/replays/"+one.ID, "replay_stopped")
}
