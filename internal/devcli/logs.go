package devcli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Logs is the group of commands logs.
type Logs struct {
	Tail Tail `cmd:"" help:"Print the last requests, and those that follow."`
}

// Tail is the command logs tail.
type Tail struct {
	Access
	Lines  int           `short:"n" default:"10" help:"How many past requests are printed first, 100 at most."`
	Follow bool          `default:"true" negatable:"" help:"Wait for more, until it is interrupted."`
	Failed bool          `help:"Only requests that were refused or failed."`
	Code   string        `placeholder:"CODE" help:"Only requests that ended in this error, such as card_declined."`
	Every  time.Duration `default:"1s" help:"How often the service is asked."`
	JSON   bool          `name:"json" help:"Print one line of JSON for each request."`
}

// Help is shown below the command's summary.
func (Tail) Help() string {
	return `Each line has the time, the method and the path, the status, the duration, and for an error its code and what was wrong. The request's id (req_…)
is also in the reply's X-Request-Id; "cascada-cli open req_…" opens its page in the dashboard.

The service keeps the last 250 requests of a shop's merchant in its memory, without bodies, and if it runs on several nodes, each keeps its own: then some
requests may be missing here.`
}

// loggedRequest is a request as the API shows it.
type loggedRequest struct {
	ID         string
	At         time.Time
	DurationMs int64
	Method     string
	Route      string
	ObjectID   string
	Status     int
	Key        string
	Code       string
	Message    string
	Param      string
	raw        json.RawMessage
}

// Run prints requests.
func (t Tail) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	a, err := t.open()
	if err != nil {
		return err
	}
	query := url.Values{"limit": {"100"}}
	if t.Failed {
		query.Set("outcome", "failed")
	}
	if t.Code != "" {
		query.Set("code", t.Code)
	}
	known, first, broken := map[string]bool{}, true, 0
	for {
		list, total, err := requestsOf(ctx, a, query)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || refused(err)):
			return err
		case err != nil:
			if broken++; broken == 1 {
				printLine(stderr, "%v. Asking again until it is back.", err)
			}
			sleep(ctx, backoff(broken, 10*time.Second))
			continue
		}
		broken = 0
		fresh := slices.DeleteFunc(slices.Clone(list), func(r loggedRequest) bool { return known[r.ID] })
		if !first && len(fresh) == len(list) && total > len(list) && len(known) > 0 {
			printLine(stderr, "More requests came than are listed at a time: some are missing here.")
		}
		if first {
			fresh = fresh[:min(len(fresh), max(t.Lines, 0))]
		}
		clear(known)
		for _, r := range list {
			known[r.ID] = true
		}
		slices.Reverse(fresh)
		for _, r := range fresh {
			if err := t.print(r); err != nil {
				return err
			}
		}
		if first = false; !t.Follow {
			return nil
		}
		sleep(ctx, max(t.Every, 100*time.Millisecond))
	}
}

// requestsOf reads the newest requests.
func requestsOf(ctx context.Context, a *api, query url.Values) ([]loggedRequest, int, error) {
	var page struct {
		Data       []json.RawMessage
		Pagination struct{ Total int }
	}
	if err := a.get(ctx, "/requests", query, &page); err != nil {
		return nil, 0, err
	}
	list := make([]loggedRequest, 0, len(page.Data))
	for _, raw := range page.Data {
		r := loggedRequest{raw: raw}
		if err := json.Unmarshal(raw, &r); err != nil || r.ID == "" {
			return nil, 0, &foreign{"a request without an id came: is the address that of Cascada's API?"}
		}
		list = append(list, r)
	}
	return list, page.Pagination.Total, nil
}

func (t Tail) print(r loggedRequest) error {
	if t.JSON {
		return printJSON(r.raw)
	}
	path := r.Route
	if r.ObjectID != "" {
		path = strings.Replace(path, "{id}", r.ObjectID, 1)
	}
	text := fmt.Sprintf("%s  %-6s %s  %d  %d ms  %s", r.At.Local().Format(time.TimeOnly), r.Method, path, r.Status, r.DurationMs, r.ID)
	if r.Code != "" {
		text += "  " + r.Code + ": " + strconv.Quote(r.Message)
	}
	_, err := fmt.Fprintln(stdout, text)
	return err
}
