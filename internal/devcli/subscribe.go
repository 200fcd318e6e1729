package devcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// optional are the types of events that exist only if a webhook subscribes to them.
var optional = []string{"payment.created", "payment.pending"}

// inboxName is the description of the webhook that the commands make.
const inboxName = "cascada listen"

// webhook is a webhook as it is listed.
type webhook struct {
	ID, Status, EventsVersion, Description string
	Events                                 []string
}

// firstEvents is the set of types without the optional ones.
const firstEvents = "2026-11-21"

// has reports whether the webhook gets a type.
func (w webhook) has(kind string) bool {
	for _, e := range w.Events {
		if e == kind || e == "*" && w.EventsVersion > firstEvents {
			return true
		}
	}
	return false
}

// subscribe makes sure that a webhook gets the optional events. If none does, it makes one that has an inbox at the
// service.
func (a *api) subscribe(ctx context.Context) error {
	missing := map[string]bool{}
	for _, kind := range optional {
		missing[kind] = true
	}
	cursor, disabled := "", ""
	for range 10 { // a shop has 50
		var page struct {
			Data       []webhook
			Pagination struct{ NextCursor string }
		}
		query := url.Values{"limit": {"100"}}
		if cursor != "" {
			query.Set("startingAfter", cursor)
		}
		if err := a.get(ctx, "/webhooks", query, &page); err != nil {
			return err
		}
		for _, w := range page.Data {
			if w.Description == inboxName && w.Status != "enabled" {
				disabled = w.ID
			}
			for _, kind := range optional {
				if w.Status == "enabled" && w.has(kind) {
					delete(missing, kind)
				}
			}
		}
		if cursor = page.Pagination.NextCursor; cursor == "" {
			break
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if disabled != "" { // nobody could deliver to it for a week
		r, err := a.send(ctx, call{method: http.MethodPatch, path: "/webhooks/" + url.PathEscape(disabled), body: []byte(`{"status":"enabled"}`)})
		if err == nil {
			err = r.read(a.URL, nil)
		}
		return err
	}
	body, err := json.Marshal(map[string]any{"events": optional, "description": inboxName})
	if err != nil {
		return err
	}
	r, err := a.send(ctx, call{method: http.MethodPost, path: "/webhooks", body: body})
	if err == nil {
		err = r.read(a.URL, nil)
	}
	if there := (*refusal)(nil); errors.As(err, &there) && there.status == http.StatusConflict { // by another listen, at the same time
		return nil
	}
	if err != nil {
		return fmt.Errorf("make a webhook: %w", err)
	}
	printLine(stderr, "Made a webhook with an inbox for payment.created and payment.pending, which exist only if a webhook gets them.")
	return nil
}
