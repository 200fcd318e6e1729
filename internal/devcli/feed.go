package devcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	// pageRows is how many events are read at a time: the API's most.
	pageRows = 100
	// maxPages bounds a walk through the list, in case that its cursors lead in a circle.
	maxPages = 20_000
	// maxHeld is how many bytes of waiting events are kept. The bodies of others are read again when their turn comes.
	maxHeld = 32 << 20
	// mostKnown is how many events are remembered before the older half is forgotten.
	mostKnown = 10_000
)

// event is an event as it is listed: raw is its body, byte for byte; nil: it is to be read again.
type event struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"createdAt"`
	Data      struct {
		Object struct {
			ID        string `json:"id"`
			SessionID string `json:"sessionId"`
		} `json:"object"`
	} `json:"data"`
	raw []byte
}

// object is the id of what the event is about.
func (e event) object() string {
	if e.Data.Object.ID != "" {
		return e.Data.Object.ID
	}
	return e.Data.Object.SessionID
}

func readEvent(raw []byte) (event, error) {
	e := event{raw: raw}
	if err := json.Unmarshal(raw, &e); err != nil || e.ID == "" || e.Type == "" || e.CreatedAt.IsZero() {
		return e, &foreign{"an event without id, type or createdAt came: is the address that of Cascada's API?"}
	}
	return e, nil
}

// feed finds the shop's events that it does not know yet.
//
// The API lists events by their time, newest first, and an event may appear below others that were listed before: it was written
// by another node, or a moment later. So the feed compares numbers: the list says how many events there are since from, and
// the feed knows which of these it has seen. As long as both agree, a look costs one page. Otherwise it turns pages until it has found
// what it lacks.
type feed struct {
	api   *api
	from  time.Time            // events before are not asked for
	known map[string]time.Time // the events since from that were seen, with their time
	held  int                  // bytes of the events of this poll
}

// eventPage is a page of the list.
type eventPage struct {
	Data       []json.RawMessage
	Pagination struct {
		Total      int
		NextCursor string
	}
}

func (f *feed) page(ctx context.Context, cursor string, from time.Time, limit int) ([]event, eventPage, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if !from.IsZero() {
		query.Set("from", from.UTC().Format(time.RFC3339Nano))
	}
	if cursor != "" {
		query.Set("startingAfter", cursor)
	}
	var page eventPage
	if err := f.api.get(ctx, "/events", query, &page); err != nil {
		return nil, page, err
	}
	if page.Data == nil {
		return nil, page, &foreign{f.api.URL + " answers without a list of events: is it Cascada's API?"}
	}
	list := make([]event, 0, len(page.Data))
	for _, raw := range page.Data {
		e, err := readEvent(raw)
		if err != nil {
			return nil, page, err
		}
		list = append(list, e)
	}
	return list, page, nil
}

// walk reads the list from its newest event on, until more says that it has enough.
func (f *feed) walk(ctx context.Context, from time.Time, more func(list []event, total int) bool) error {
	cursor := ""
	for range maxPages {
		list, page, err := f.page(ctx, cursor, from, pageRows)
		if err != nil {
			return err
		}
		next := page.Pagination.NextCursor
		if !more(list, page.Pagination.Total) || next == "" || len(list) == 0 {
			return nil
		}
		if next == cursor {
			return &foreign{"the list of events goes in a circle"}
		}
		cursor = next
	}
	return &foreign{fmt.Sprintf("the list of events has more than %d pages", maxPages)}
}

// poll returns the events that are new, oldest first, and remembers them.
func (f *feed) poll(ctx context.Context) ([]event, error) {
	found, present := []event{}, map[string]bool{}
	want, vanished := -1, false
	f.held = 0
	err := f.walk(ctx, f.from, func(list []event, total int) bool {
		if want < 0 {
			want, vanished = total, total < len(f.known)
		}
		fresh := 0
		for _, e := range list {
			if _, seen := f.known[e.ID]; !seen && !present[e.ID] {
				fresh++
				found = append(found, f.hold(e))
			}
			present[e.ID] = true
		}
		return vanished || fresh == len(list) || len(f.known)+len(found) < want
	})
	if err != nil {
		return nil, err
	}
	if vanished {
		f.forget(func(id string, _ time.Time) bool { return !present[id] })
		if len(f.known) == 0 {
			f.from = time.Time{} // the sandbox was emptied, and its clock may have gone back: all that is there is new
		}
	}
	slices.Reverse(found)
	for _, e := range found {
		f.known[e.ID] = e.CreatedAt
	}
	return found, nil
}

// hold drops the body of an event if many wait.
func (f *feed) hold(e event) event {
	if f.held += len(e.raw); f.held > maxHeld {
		e.raw = nil
	}
	return e
}

// body returns an event with its body.
func (f *feed) body(ctx context.Context, e event) (event, error) {
	if e.raw != nil {
		return e, nil
	}
	r, err := f.api.once(ctx, call{method: "GET", path: "/events/" + url.PathEscape(e.ID)})
	if err == nil {
		err = r.read(f.api.URL, nil)
	}
	if err != nil {
		return e, err
	}
	return readEvent(r.body)
}

func (f *feed) forget(which func(id string, at time.Time) bool) {
	for id, at := range f.known {
		if which(id, at) {
			delete(f.known, id)
		}
	}
}

// trim forgets the older half of what is known, if that is much. Events of the same moment stay together.
func (f *feed) trim() bool {
	if len(f.known) <= mostKnown {
		return false
	}
	times := make([]time.Time, 0, len(f.known))
	for _, at := range f.known {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	f.from = times[len(times)/2].Truncate(time.Millisecond)
	f.forget(func(_ string, at time.Time) bool { return at.Before(f.from) })
	return true
}

// begin makes everything that happened until now known. Events may still appear below the newest: it looks back for as long as
// the list stays short.
func (f *feed) begin(ctx context.Context) error {
	f.known, f.from = map[string]time.Time{}, time.Time{}
	newest, _, err := f.page(ctx, "", time.Time{}, 1)
	if err != nil || len(newest) == 0 {
		return err
	}
	for _, back := range []time.Duration{time.Hour, 5 * time.Minute, 10 * time.Second, 0} {
		from := newest[0].CreatedAt.Add(-back)
		_, page, err := f.page(ctx, "", from, 1)
		if err != nil {
			return err
		}
		if page.Pagination.Total <= mostKnown/4 || back == 0 {
			f.from = from
			break
		}
	}
	_, err = f.poll(ctx)
	return err
}

// refused reports whether an error will stay however often a call is repeated.
func refused(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status < 500 && r.status != 429 && r.status != 409 && r.code != "invalid_request"
}
