package devcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"
)

// Listen is the command listen.
type Listen struct {
	Access
	ForwardTo   string        `name:"forward-to" placeholder:"URL" help:"Endpoint, such as http://localhost:3000/webhooks. Without it events are only printed."`
	Events      []string      `default:"*" placeholder:"TYPE" help:"Types of events: payment.completed, payment.*, or * for all."`
	Since       string        `placeholder:"WHEN" help:"Where to begin: now, a duration such as 1h, or a time such as 2026-11-20T08:00:00Z. Default: where listen was when it ended; the first time, now."`
	Retry       int           `default:"0" help:"How often an event is sent again if the endpoint does not answer with 2xx."`
	Every       time.Duration `default:"1s" help:"How often the service is asked for new events."`
	Secret      string        `env:"CASCADA_WEBHOOK_SECRET" placeholder:"whsec_…" help:"Signing secret (${env}). Default: one that is made the first time, and stays."`
	PrintSecret bool          `help:"Print the signing secret, and end."`
	PrintJSON   bool          `name:"print-json" help:"Print each event's body below its line."`
	JSON        bool          `name:"json" help:"Print one line of JSON for each event, in place of text."`
	Live        bool          `help:"With a live key: also make the inbox that payment.created and payment.pending need."`
}

// Help is shown below the command's summary.
func (Listen) Help() string {
	return `Each event is POSTed to the endpoint as a webhook's delivery: the same body, byte for byte, the same headers, and signatures made with
the secret that is printed first. Give your endpoint that secret as its webhook's. It stays the same for your shop.

Events come one after another, oldest first. The next is sent when the endpoint has answered the one before, or after 10 seconds.
If nothing listens at the address, listen waits and tries again until something does: nothing is left out. An answer other than 2xx is
printed, and the next event follows; with --retry it is sent again first. (A webhook in production is tried eleven times in three days.)
When the network or the service breaks off, listen asks again until they are back. It remembers what the endpoint got: started again, it
goes on where it was. After a crash it may send one event twice, as webhooks may: drop an event whose id you have seen.

payment.created and payment.pending exist only if a webhook subscribes to them. If you ask for these and no webhook does, listen makes one: an
inbox at the service with the description "cascada listen". It stays, and is used again.`
}

// listener is a run of listen.
type listener struct {
	Listen
	api     *api
	feed    *feed
	journal *journal
	to      *endpoint // nil: events are only printed
	sent    int
}

// Run listens until it is interrupted.
func (l Listen) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := l.check(); err != nil {
		return err
	}
	a, err := l.open()
	if err != nil {
		return err
	}
	me, shop, err := a.identify(ctx)
	if err != nil {
		return err
	}
	a.Shop = shop.ID
	secret := l.Secret
	if secret == "" {
		if secret, err = secretOf(a.URL, me.Merchant.ID, shop.ID, me.Environment); err != nil {
			return err
		}
	}
	if l.PrintSecret {
		printLine(stdout, "%s", secret)
		return nil
	}
	run := &listener{Listen: l, api: a, feed: &feed{api: a}}
	if l.ForwardTo != "" {
		address, err := endpointURL(l.ForwardTo)
		if err != nil {
			return err
		}
		run.to = newEndpoint(address, secret)
	}
	if run.journal, err = openJournal(a.URL, me.Merchant.ID, shop.ID, me.Environment, l.ForwardTo); err != nil {
		return err
	}
	defer run.journal.close()
	if err := run.begin(ctx); err != nil {
		return interrupted(ctx, err)
	}
	printLine(stderr, "Listening to %s, shop %s (%s), at %s", me.Merchant.Name, shop.Name, me.Environment, a.URL)
	if run.to != nil {
		printLine(stderr, "Forwarding to %s. Its signing secret: %s", run.to.url, secret)
	}
	printLine(stderr, "Ctrl-C ends it.")
	return interrupted(ctx, run.loop(ctx))
}

// interrupted is no error if the user ended the command.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (l Listen) check() error {
	for _, pattern := range l.Events {
		known := false
		for _, r := range recipes {
			match, err := path.Match(pattern, r.event)
			if err != nil {
				return fmt.Errorf("--events: %q is not a type of events: want such as payment.completed, payment.* or *", pattern)
			}
			known = known || match
		}
		if !known {
			return fmt.Errorf("--events: there is no type %q%s trigger --list lists them", pattern, meant(pattern))
		}
	}
	if l.Every < 100*time.Millisecond {
		return errors.New("--every: ask at most ten times a second: 100ms or more")
	}
	if l.Secret != "" && !strings.HasPrefix(l.Secret, secretPrefix) {
		return errors.New("--secret: a signing secret begins with " + secretPrefix)
	}
	return nil
}

// wanted reports whether a type was asked for.
func (l Listen) wanted(kind string) bool {
	for _, pattern := range l.Events {
		if match, err := path.Match(pattern, kind); err == nil && match {
			return true
		}
	}
	return false
}

// begin finds out where to begin.
func (l *listener) begin(ctx context.Context) error {
	var kinds []string
	for _, kind := range optional {
		if l.wanted(kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 0 && (!l.api.live() || l.Live) {
		if err := l.api.subscribe(ctx); err != nil {
			printLine(stderr, "payment.created and payment.pending may not come: no webhook could be made for them: %v", err)
		}
	}
	resumed, err := l.journal.read(l.feed)
	if err != nil {
		return err
	}
	switch from, err := since(l.Since, time.Now()); {
	case err != nil:
		return err
	case l.Since != "" && !from.IsZero():
		l.feed.from, l.feed.known = from, map[string]time.Time{}
	case l.Since != "" || !resumed:
		if err := l.feed.begin(ctx); err != nil {
			return err
		}
	}
	return l.journal.rewrite(l.feed)
}

// since reads --since; zero: now.
func since(text string, now time.Time) (time.Time, error) {
	if text == "" || text == "now" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since: %q is no time: want now, a duration such as 1h, or a time such as 2026-11-20T08:00:00Z", text)
}

// loop forwards events as they come. It ends with its context, or if the service refuses the key.
func (l *listener) loop(ctx context.Context) error {
	broken, first := 0, true
	for ctx.Err() == nil {
		list, err := l.feed.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case refused(err):
			return err
		case err != nil:
			if broken == 0 {
				printLine(stderr, "%v. Asking again until it is back; nothing is left out.", err)
			}
			broken++
			sleep(ctx, max(backoff(broken, 10*time.Second), waitOf(err)))
			continue
		}
		if broken > 0 {
			printLine(stderr, "%s is back.", l.api.URL)
		}
		broken = 0
		if n := len(list); first && n > 0 {
			printLine(stderr, "%d events since the last time come first; --since now would leave them out.", n)
		}
		first = false
		if err := l.forward(ctx, list); err != nil {
			return err
		}
		if len(list) < pageRows {
			sleep(ctx, l.Every)
		}
	}
	return nil
}

// backoff is the pause before a try: a second, doubled with each one, up to a limit.
func backoff(try int, most time.Duration) time.Duration {
	return min(time.Second<<min(max(try-1, 0), 6), most)
}

func waitOf(err error) time.Duration {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.wait
	}
	return 0
}

// forward sends events in their order, and remembers each.
func (l *listener) forward(ctx context.Context, list []event) error {
	for _, e := range list {
		if l.wanted(e.Type) {
			if err := l.deliver(ctx, e); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil // what was not forwarded comes when listen is started again
		}
		if err := l.journal.done(e); err != nil {
			return err
		}
	}
	if l.feed.trim() {
		return l.journal.rewrite(l.feed)
	}
	return nil
}

// deliver sends an event until it has reached the endpoint, and prints what came of it.
func (l *listener) deliver(ctx context.Context, e event) error {
	for try := 1; ; try++ {
		with, err := l.feed.body(ctx, e)
		if err == nil {
			e = with
			break
		}
		if gone := (*refusal)(nil); errors.As(err, &gone) && gone.status == http.StatusNotFound {
			printLine(stderr, "%s is gone: the sandbox was emptied", e.ID)
			return nil
		}
		if refused(err) {
			return err
		}
		if sleep(ctx, backoff(try, 10*time.Second)); ctx.Err() != nil {
			return nil
		}
	}
	if l.to == nil {
		return l.print(e, nil)
	}
	absent, tries := 0, 0
	for {
		a := l.to.post(ctx, e)
		if ctx.Err() != nil {
			return nil
		}
		if a.absent {
			if absent == 0 {
				printLine(stderr, "Nothing listens at %s (%s). %s waits there; start your endpoint, nothing is left out.", l.to.url, a.failure, e.ID)
			}
			absent++
			sleep(ctx, backoff(absent, 2*time.Second))
			if ctx.Err() != nil {
				return nil
			}
			continue
		}
		if err := l.print(e, &a); err != nil {
			return err
		}
		// An endpoint that ended in the middle of an answer may not have seen the event.
		if tries++; a.good() || tries > max(l.Retry, l.cutOff(a)) {
			return nil
		}
		sleep(ctx, backoff(tries, 10*time.Second))
	}
}

// cutOff is how often an event is sent again to an endpoint that broke off without an answer.
func (l *listener) cutOff(a answer) int {
	if a.status == 0 && a.lasted < answerTimeout {
		return 3
	}
	return 0
}

// line is what is printed of an event with --json.
type line struct {
	Time       time.Time       `json:"time"`
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Object     string          `json:"object"`
	Status     int             `json:"status,omitempty"`
	Error      string          `json:"error,omitempty"`
	DurationMs *int64          `json:"durationMs,omitempty"`
	Event      json.RawMessage `json:"event,omitempty"`
}

// print prints an event and what the endpoint answered; nil: it was not sent.
func (l *listener) print(e event, a *answer) error {
	l.sent++
	now := time.Now()
	if l.JSON {
		out := line{Time: now.UTC(), Type: e.Type, ID: e.ID, Object: e.object()}
		if a != nil {
			ms := a.lasted.Milliseconds()
			out.Status, out.Error, out.DurationMs = a.status, a.failure, &ms
		}
		if l.PrintJSON {
			out.Event = e.raw
		}
		return printJSON(out)
	}
	text := fmt.Sprintf("%s  %-24s  %s", now.Format(time.TimeOnly), e.Type, e.ID)
	switch {
	case a == nil:
		text += "  " + e.object()
	case a.status != 0:
		text += fmt.Sprintf("  [%d]  %d ms", a.status, a.lasted.Milliseconds())
		if !a.good() && a.told != "" {
			text += "  " + strings.Join(strings.Fields(a.told), " ")
		}
	default:
		text += fmt.Sprintf("  [no answer]  %d ms  %s", a.lasted.Milliseconds(), a.failure)
	}
	if _, err := fmt.Fprintln(stdout, text); err != nil {
		return err
	}
	if l.PrintJSON {
		var pretty bytes.Buffer
		if json.Indent(&pretty, e.raw, "", "  ") != nil {
			return nil
		}
		_, err := fmt.Fprintln(stdout, pretty.String())
		return err
	}
	return nil
}
