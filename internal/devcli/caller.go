package devcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Caller calls the API for a program that is no command of this package: it prints nothing.
type Caller struct{ api *api }

// Caller returns a caller with the address and the key that the flags name. agent begins its User-Agent.
func (a Access) Caller(agent string) (*Caller, error) {
	opened, err := a.open()
	if err != nil {
		return nil, err
	}
	opened.agent = agent + "/"
	return &Caller{opened}, nil
}

// Version is the program's.
func Version() string { return version() }

// Address is the root of the service's address, without a slash at its end.
func (c *Caller) Address() string { return c.api.URL }

// Key is the key that calls are made with. It must not be shown.
func (c *Caller) Key() string { return c.api.Key }

// Environment asks the service in which environment the key works, "sandbox" or "production". Errors: see Problem.
func (c *Caller) Environment(ctx context.Context) (string, error) {
	var me who
	err := c.api.get(ctx, "/ping", url.Values{"shopId": nil}, &me)
	return me.Environment, err
}

// Read reads something of the API: its JSON. Errors: see Problem.
func (c *Caller) Read(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	r, err := c.api.once(ctx, call{method: http.MethodGet, path: path, query: query})
	return c.json(r, err)
}

// Send makes a call that changes something, and returns the JSON of its answer. once gives it an Idempotency-Key: then it is repeated if its
// answer is lost. Errors: see Problem.
func (c *Caller) Send(ctx context.Context, path string, header map[string]string, body any, once bool) (json.RawMessage, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	sent := call{method: http.MethodPost, path: path, body: text, header: map[string]string{}}
	for name, value := range header {
		sent.header[name] = value
	}
	if once {
		sent.header[idempotencyHeader] = newKey()
	}
	r, err := c.api.send(ctx, sent)
	return c.json(r, err)
}

func (c *Caller) json(r reply, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	var body json.RawMessage
	err = r.read(c.api.URL, &body)
	return body, err
}

// maxPage bounds a file of the service's documentation.
const maxPage = 8 << 20

// Page reads a file of the service that needs no key, such as /docs/search.json. The key is not sent. Errors: see Problem.
func (c *Caller) Page(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.api.URL+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", c.api.agent+version())
	answer, err := c.api.http.Do(request)
	if err != nil {
		return nil, unreachable(c.api.URL, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, unreachable(c.api.URL, err)
	case answer.StatusCode != http.StatusOK:
		return nil, &foreign{fmt.Sprintf("%s%s answered %d", c.api.URL, path, answer.StatusCode)}
	case len(text) > maxPage:
		return nil, &foreign{fmt.Sprintf("%s%s is larger than %d MB", c.api.URL, path, maxPage>>20)}
	}
	return text, nil
}

// Triggered is an event that was made.
type Triggered struct {
	Event, ID, Object string
	Calls             []string // what was called for it, such as "POST /payments"
}

// Trigger makes an event happen in the sandbox, as the command trigger does. moveClock lets it move the sandbox's clock. Errors: see Problem, and
// others that say what is wrong with the type.
func (c *Caller) Trigger(ctx context.Context, name string, moveClock bool, wait time.Duration) (Triggered, error) {
	r, err := recipeOf(name)
	if err != nil {
		return Triggered{}, err
	}
	run := &triggering{Trigger{Event: name, MoveClock: moveClock, Wait: wait}, c.api, nil}
	object, e, err := run.perform(ctx, r)
	made := Triggered{Event: name, ID: e.ID, Object: object}
	for _, s := range run.steps {
		made.Calls = append(made.Calls, s.Call)
	}
	return made, err
}

// Triggers are the types of events that Trigger can make, and those of them that move the sandbox's clock.
func Triggers() (all, clock []string) {
	for _, r := range recipes {
		if r.run != nil {
			all = append(all, r.event)
		}
		if r.clock {
			clock = append(clock, r.event)
		}
	}
	return all, clock
}

// Problem is why a call failed, for a program.
type Problem struct {
	Status    int    // of the answer, 0 if there is none
	Code      string // of the API's error; "" if the answer is not the API's, or there is none
	Message   string // for people; with a Code it is the API's, otherwise it may quote whatever answered
	Param     string
	Reason    string
	RequestID string
	PaymentID string        // of the payment that was made and declined
	Wait      time.Duration // before another try; 0: unknown
	Unknown   bool          // a call that changes something may have been done
	Foreign   bool          // something answered that is not the API
	Outage    bool          // nothing answered
}

// ProblemOf reads an error of a caller.
func ProblemOf(err error) Problem {
	p := Problem{Message: err.Error()}
	if of := (exit{}); errors.As(err, &of) {
		p.Unknown = of.code == exitUnknown
	}
	if of := (*foreign)(nil); errors.As(err, &of) {
		p.Foreign = true
	}
	if of := (*outage)(nil); errors.As(err, &of) {
		p.Outage = true
	}
	if of := (*refusal)(nil); errors.As(err, &of) {
		p.Status, p.Code, p.Message, p.Param, p.Reason, p.RequestID, p.PaymentID, p.Wait = of.status, of.code, of.message, of.param, of.reason, of.requestID, of.transactionID, of.wait
	}
	return p
}
