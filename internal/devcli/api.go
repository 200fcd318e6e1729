package devcli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

const (
	// apiPath is the API's root below the service's address.
	apiPath = "/api/v1"
	// callTimeout bounds a call. The service gives each provider 20 s, and a cascade may call several.
	callTimeout = 90 * time.Second
	// maxReply bounds an answer: a page of 100 events with the most evidence is 40 MB.
	maxReply = 64 << 20
	// pollAgent begins the User-Agent of what asks for new events again and again: the service leaves it out of its log of requests
	// (api.ListenerAgent).
	pollAgent = "cascada-listen/"
	// maxShown is how many bytes are shown of an answer that is not the service's.
	maxShown = 120
)

// api calls a service with a key.
type api struct {
	profile
	http  *http.Client
	agent string // begins the User-Agent
}

// newAPI returns the API of a profile. It makes no call.
func newAPI(p profile) (*api, error) {
	address, err := checkURL(p.URL)
	if err != nil {
		return nil, err
	}
	p.URL, p.Key = address, strings.TrimSpace(p.Key)
	if err := errors.Join(checkKey(p.Key), checkSecrecy(p)); err != nil {
		return nil, err
	}
	return &api{p, &http.Client{
		Timeout: callTimeout,
		// The API never redirects. The key is sent to nobody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, "cascada-cli/"}, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}

// live reports whether the key works in production.
func (a *api) live() bool { return live(a.Key) }

// call is one call of the API.
type call struct {
	method, path string
	query        url.Values
	body         []byte // JSON, nil for none
	header       map[string]string
}

// reply is the answer to a call, whatever its status.
type reply struct {
	status int
	body   []byte
	header http.Header
}

// refusal is an answer that refuses a call.
type refusal struct {
	status                   int
	code, message, requestID string
	param                    string        // the field or parameter that is wrong
	reason, transactionID    string        // of its details
	wait                     time.Duration // by Retry-After; 0: it does not say
}

// Error is the refusal as people read it.
func (r *refusal) Error() string {
	text := fmt.Sprintf("%d %s: %s", r.status, r.code, r.message)
	if r.requestID != "" {
		text += " (" + r.requestID + ")"
	}
	switch r.code {
	case "invalid_api_key", "missing_credentials":
		text += ". Ask the operator for another key, and run login"
	case "shop_required":
		text += ". Give --shop, or run login with --shop"
	}
	return text
}

// foreign is an answer that is not the service's.
type foreign struct{ text string }

// Error says what came.
func (f *foreign) Error() string { return f.text }

// once makes one HTTP request.
func (a *api) once(ctx context.Context, c call) (reply, error) {
	address := a.URL + apiPath + c.path
	query := url.Values{}
	for name, values := range c.query {
		query[name] = values
	}
	if a.Shop != "" && !query.Has("shopId") {
		query.Set("shopId", a.Shop)
	}
	if len(query) > 0 {
		joint := "?"
		if strings.Contains(address, "?") {
			joint = "&"
		}
		address += joint + query.Encode()
	}
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, address, body)
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Key)
	agent := a.agent
	if c.method == http.MethodGet && c.path == "/events" {
		agent = pollAgent
	}
	request.Header.Set("User-Agent", agent+version())
	request.Header.Set("Accept", "application/json")
	if c.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	answer, err := a.http.Do(request)
	if err != nil {
		return reply{}, unreachable(a.URL, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReply+1))
	if err != nil {
		return reply{}, unreachable(a.URL, err)
	}
	if len(text) > maxReply {
		return reply{}, &foreign{fmt.Sprintf("%s answered with more than %d MB", a.URL, maxReply>>20)}
	}
	return reply{answer.StatusCode, text, answer.Header}, nil
}

// outage is a call that got no answer.
type outage struct {
	url   string
	cause error
}

// Error says what is wrong, without the address that was called: it is long, and known.
func (o *outage) Error() string {
	return fmt.Sprintf("%s does not answer: %v", o.url, o.cause)
}

// Unwrap returns the cause.
func (o *outage) Unwrap() error { return o.cause }

func unreachable(address string, err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return &outage{address, err}
}

// read returns the error of an answer, or reads it into a value. Errors: *refusal, *foreign.
func (r reply) read(from string, into any) error {
	if r.status < 200 || r.status > 299 {
		return r.refusal(from)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		return &foreign{fmt.Sprintf("%s does not answer as Cascada's API does: %q. Is the address right?", from, shorten(r.body))}
	}
	return nil
}

func (r reply) refusal(from string) error {
	var envelope struct {
		Error *struct {
			Code, Message, RequestID, Param string
			Details                         struct{ Reason, TransactionID string }
		}
	}
	if json.Unmarshal(r.body, &envelope) != nil || envelope.Error == nil || envelope.Error.Code == "" {
		return &foreign{fmt.Sprintf("%s answered %d, and not as Cascada's API does: %q. Is the address right?", from, r.status, shorten(r.body))}
	}
	e := envelope.Error
	refused := &refusal{status: r.status, code: e.Code, message: e.Message, requestID: e.RequestID, param: e.Param, reason: e.Details.Reason, transactionID: e.Details.TransactionID}
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil {
		refused.wait = time.Duration(min(max(seconds, 0), 60)) * time.Second
	}
	return refused
}

// shorten is the beginning of a text as valid UTF-8.
func shorten(text []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(text[:min(len(text), maxShown)])), "")
}

// get reads something.
func (a *api) get(ctx context.Context, path string, query url.Values, into any) error {
	r, err := a.once(ctx, call{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return err
	}
	return r.read(a.URL, into)
}

// idempotencyHeader is the header with a call's Idempotency-Key.
const idempotencyHeader = "Idempotency-Key"

// newKey makes an Idempotency-Key.
func newKey() string { return "cli-" + rand.Text() }

// pauses are the pauses before a call is repeated.
var pauses = []time.Duration{200 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// send makes a call that changes something. A call that was not done is repeated, and one whose answer is lost too, if it has an
// Idempotency-Key: unknown is not failed. The error of a call whose outcome stays unknown has the exit code for that.
func (a *api) send(ctx context.Context, c call) (reply, error) {
	_, repeatable := c.header[idempotencyHeader]
	for try := 0; ; try++ {
		r, err := a.once(ctx, c)
		outcome, wait := outcomeOf(r, err)
		if outcome == answered {
			return r, err
		}
		if ctx.Err() == nil && try < len(pauses) && (repeatable || outcome == undone) {
			sleep(ctx, max(wait, pauses[try]))
			continue
		}
		if err == nil {
			err = r.refusal(a.URL)
		}
		if outcome == unknown {
			err = exit{fmt.Errorf("%w. It is unknown whether %s %s was done", err, c.method, c.path), exitUnknown}
		}
		return r, err
	}
}

// outcome is what is known of a call that changes something.
type outcome int

const (
	answered outcome = iota // done, or refused
	undone                  // nothing was done
	unknown                 // it may have been done
)

// outcomeOf says what an answer, or none, tells of a call, and how long to wait before a repeat.
func outcomeOf(r reply, err error) (outcome, time.Duration) {
	if err != nil {
		return unknown, 0
	}
	if r.status < http.StatusConflict {
		return answered, 0
	}
	refused, ok := r.refusal("").(*refusal)
	switch {
	case !ok && r.status >= http.StatusInternalServerError: // a proxy's
		return unknown, 0
	case !ok:
		return answered, 0
	case refused.code == "rate_limited", refused.code == "service_unavailable" && refused.reason == "":
		return undone, refused.wait
	case refused.code == "internal_error", refused.reason == "outcome_unknown", refused.reason == "request_in_progress":
		return unknown, refused.wait
	}
	return answered, 0
}

// sleep waits, or returns earlier if the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
