package devcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/near"
)

// Trigger is the command trigger.
type Trigger struct {
	Access
	Event     string            `arg:"" optional:"" help:"Type of event, such as payment.completed."`
	List      bool              `help:"List the types of events, and what makes each."`
	Order     string            `placeholder:"TEXT" help:"merchantOrderId of the payment or the checkout session. Default: one that is made up."`
	Metadata  map[string]string `placeholder:"NAME=VALUE" help:"metadata of the payment or the checkout session."`
	MoveClock bool              `help:"Let it move the clock of the whole sandbox forward, for events that come after hours or days. It never goes back."`
	Wait      time.Duration     `default:"30s" help:"How long to wait for the event."`
	JSON      bool              `name:"json" help:"Print the result as JSON."`
}

// Help is shown below the command's summary.
func (Trigger) Help() string {
	return `It does in the sandbox what a shop, its shopper or a bank would do, by the API and with test values, and waits until the event is there. Nothing is
made up: the payment, the claim or the withdrawal exists, and the event goes to webhooks and to listen.

If an answer is lost, the call is repeated with the same Idempotency-Key. If its outcome stays unknown, the exit code is 3.
A live key is refused.`
}

// step is a call that a trigger made.
type step struct {
	Call   string `json:"call"`
	Status int    `json:"status"`
	Object string `json:"object,omitempty"`
}

// String is the step as people read it.
func (s step) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d  %s  %s", s.Status, s.Call, s.Object))
}

// triggering is a run of trigger.
type triggering struct {
	Trigger
	api   *api
	steps []step
}

// Run makes an event.
func (t Trigger) Run(ctx context.Context) error {
	if t.List || t.Event == "" {
		return t.list()
	}
	r, err := recipeOf(t.Event)
	if err != nil {
		return err
	}
	a, err := t.open()
	if err != nil {
		return err
	}
	run, began := &triggering{t, a, nil}, time.Now()
	object, e, err := run.perform(ctx, r)
	if err != nil {
		return run.failed(err)
	}
	return run.print(object, e, time.Since(began))
}

// recipeOf returns how a type of event is made.
func recipeOf(name string) (recipe, error) {
	at := slices.IndexFunc(recipes, func(r recipe) bool { return r.event == name })
	if at < 0 {
		return recipe{}, fmt.Errorf("there is no type %q%s trigger --list lists them", name, meant(name))
	}
	if recipes[at].run == nil {
		return recipe{}, fmt.Errorf("%s cannot be triggered with a key: %s", name, recipes[at].how)
	}
	return recipes[at], nil
}

// perform does what makes the event, and waits for it. It returns the object that it made, if it knows it.
func (t *triggering) perform(ctx context.Context, r recipe) (object string, e event, err error) {
	if t.api.live() {
		return "", e, errors.New("this is a live key, and triggers are for the sandbox: use a key of the sandbox (sk_test_…)")
	}
	if r.clock && !t.MoveClock {
		return "", e, fmt.Errorf("%s comes after some time: add --move-clock to move the clock of the whole sandbox forward by %s. It never goes back: payments that wait expire, and what falls due happens", r.event, r.by)
	}
	if slices.Contains(optional, r.event) {
		if err := t.api.subscribe(ctx); err != nil {
			return "", e, fmt.Errorf("%s exists only if a webhook subscribes to it, and none could be made: %w", r.event, err)
		}
	}
	before, err := t.events(ctx, "")
	if err != nil {
		return "", e, err
	}
	if object, err = r.run(ctx, t); err != nil {
		return object, e, err
	}
	e, err = t.await(ctx, object, before)
	return object, e, err
}

// meant guesses which type was meant. It ends the sentence.
func meant(typed string) string {
	names := make([]string, len(recipes))
	for i, r := range recipes {
		names[i] = r.event
	}
	if guess := near.Meant(typed, names); guess != "" {
		return ", did you mean " + guess + "?"
	}
	return "."
}

func (t Trigger) list() error {
	if t.JSON {
		for _, r := range recipes {
			if err := printJSON(map[string]any{"event": r.event, "how": r.how, "possible": r.run != nil, "movesClock": r.clock}); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EVENT\tHOW")
	for _, r := range recipes {
		how := r.how
		if r.clock {
			how += " (needs --move-clock)"
		}
		if r.run == nil {
			how = "not with a key: " + how
		}
		fmt.Fprintf(table, "%s\t%s\n", r.event, how)
	}
	return table.Flush()
}

// do makes a call and reads its answer into a value, nil for none. A status among fine is no error.
func (t *triggering) do(ctx context.Context, method, path string, body any, into any, fine ...int) error {
	c := call{method: method, path: path}
	if method == http.MethodPost && path != "/payments" && path != "/checkout/sessions" && path != "/withdrawals" && !strings.HasSuffix(path, "/refund") {
		c.header = map[string]string{}
	} else {
		c.header = map[string]string{idempotencyHeader: newKey()}
	}
	if path == "/payments" {
		c.header["Sandbox-Strict"] = "false" // a card answers at once, and any document will do
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		c.body = text
	}
	r, err := t.api.send(ctx, c)
	if err != nil {
		return err
	}
	made := step{Call: method + " " + path, Status: r.status}
	var about struct{ ID, TransactionID, SessionID string }
	if json.Unmarshal(r.body, &about) == nil {
		for _, id := range []string{about.ID, about.TransactionID, about.SessionID} {
			if made.Object == "" {
				made.Object = id
			}
		}
	}
	err = r.read(t.api.URL, into)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		made.Object = refused.transactionID
		if slices.Contains(fine, refused.status) && refused.transactionID != "" {
			t.steps = append(t.steps, made)
			return refusedFine{refused}
		}
	}
	t.steps = append(t.steps, made)
	return err
}

// refusedFine is a refusal that a recipe wants: the payment exists.
type refusedFine struct{ *refusal }

// failed is an error with what was done before it.
func (t *triggering) failed(err error) error {
	for _, s := range t.steps {
		printLine(stderr, "  %s", s)
	}
	return err
}

// events lists the ids of the newest events of the type, and the first of them that is not in before.
func (t *triggering) events(ctx context.Context, object string) (map[string]event, error) {
	query := url.Values{"type": {t.Event}, "limit": {"100"}}
	if object != "" {
		query.Set("objectId", object)
	}
	var page eventPage
	if err := t.api.get(ctx, "/events", query, &page); err != nil {
		return nil, err
	}
	list := map[string]event{}
	for _, raw := range page.Data {
		e, err := readEvent(raw)
		if err != nil {
			return nil, err
		}
		list[e.ID] = e
	}
	return list, nil
}

// await waits for the event.
func (t *triggering) await(ctx context.Context, object string, before map[string]event) (event, error) {
	until := time.Now().Add(t.Wait)
	for {
		list, err := t.events(ctx, object)
		if refused(err) {
			return event{}, err
		}
		for id, e := range list {
			if _, old := before[id]; !old {
				return e, nil
			}
		}
		if ctx.Err() != nil || time.Now().After(until) {
			if err == nil {
				err = fmt.Errorf("no %s came in %s", t.Event, t.Wait)
			}
			return event{}, exit{fmt.Errorf("%w. It may come later: the operations were done", err), exitUnknown}
		}
		sleep(ctx, 300*time.Millisecond)
	}
}

func (t *triggering) print(object string, e event, lasted time.Duration) error {
	if object == "" {
		object = e.object()
	}
	if t.JSON {
		return printJSON(map[string]any{"event": t.Event, "id": e.ID, "object": object, "steps": t.steps, "durationMs": lasted.Milliseconds()})
	}
	for _, s := range t.steps {
		printLine(stdout, "  %s", s)
	}
	printLine(stdout, "%s  %s  %s  after %d ms", t.Event, e.ID, object, lasted.Milliseconds())
	return nil
}
