package devcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// maxFile is the size of a file of fixtures, in bytes; maxSteps is how many steps it has at most.
	maxFile, maxSteps = 1 << 20, 500
)

// Fixtures is the command fixtures.
type Fixtures struct {
	Access
	File string `arg:"" help:"File of steps, YAML or JSON; - is standard input."`
	Live bool   `help:"Run them with a live key: what they do is real."`
	JSON bool   `name:"json" help:"Print one line of JSON for each step, with the reply."`
}

// Help is shown below the command's summary.
func (Fixtures) Help() string {
	return `The file is a list of steps, which run in order:

  steps:
    - name: payment
      method: POST
      path: /payments
      body: {amount: 25.00, paymentMethodId: sbx_card, merchantOrderId: "order-${run}"}
      expect: 201
    - name: refund
      method: POST
      path: /payments/${payment.transactionId}/refund
      body: {amount: 5.00}
      expect: 200
    - name: check
      path: /payments/${payment.transactionId}
      expect: 200
      where: {status: refunded}

${payment.transactionId} is a field of the reply to the step "payment"; ${claims.data.0.id} is a field of the first row of a list; ${run} is a text that is new in each
run; ${env.NAME} is a variable of the environment. Alone in a value, a reference keeps its type. method is GET by default, expect any 2xx; it may be a list. where says what
fields of the reply must be. headers are sent as they are. Payments, checkout sessions, payment links, withdrawals and refunds get an Idempotency-Key, and are repeated with it if
their answer is lost.

It stops at the first step that answers something else, with exit code 1; with 3 if it is unknown whether a step was done.`
}

// repeatable reports whether the API answers a repeat of a call with the first answer.
func repeatable(method, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return method == http.MethodPost && (slices.Contains([]string{"/payments", "/transactions", "/checkout/sessions", "/payment-links", "/withdrawals"}, path) ||
		strings.HasSuffix(path, "/refund") || strings.HasSuffix(path, "/replay") && strings.Count(path, "/") == 3)
}

// Run runs the steps.
func (f Fixtures) Run(ctx context.Context) error {
	text, err := f.read()
	if err != nil {
		return err
	}
	steps, err := parseFixtures(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.File, err)
	}
	a, err := f.open()
	if err != nil {
		return err
	}
	if err := mayChange(a, f.Live); err != nil {
		return err
	}
	known := references{run: strings.ToLower(strings.TrimPrefix(newKey(), "cli-"))[:12], replies: map[string]any{}}
	for i, s := range steps {
		if err := f.step(ctx, a, s, known); err != nil {
			return fmt.Errorf("step %d of %d, %s (line %d): %w", i+1, len(steps), s.name, s.line, err)
		}
	}
	if !f.JSON {
		printLine(stdout, "%d steps, all as expected", len(steps))
	}
	return nil
}

func (f Fixtures) read() ([]byte, error) {
	from := os.Stdin
	if f.File != "-" {
		opened, err := os.Open(f.File)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		from = opened
	}
	return io.ReadAll(io.LimitReader(from, maxFile+1))
}

// step runs one step.
func (f Fixtures) step(ctx context.Context, a *api, s fixture, known references) error {
	path, err := known.inPath(s.path)
	if err != nil {
		return err
	}
	c := call{method: s.method, path: path, header: map[string]string{}}
	if repeatable(s.method, path) {
		c.header[idempotencyHeader] = "fixture-" + known.run + "-" + s.name
	}
	for name, value := range s.headers {
		if c.header[http.CanonicalHeaderKey(name)], err = known.inText(value); err != nil {
			return err
		}
	}
	if s.body != nil {
		if c.body, err = known.inValue(s.body); err != nil {
			return err
		}
	}
	began := time.Now()
	var r reply
	if s.method == http.MethodGet {
		r, err = a.once(ctx, c)
	} else {
		r, err = a.send(ctx, c)
	}
	if err != nil {
		return err
	}
	lasted := time.Since(began).Milliseconds()
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(r.body)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err == nil {
		known.replies[s.name] = value
	}
	wrong := s.check(r, value, known)
	if f.JSON {
		out := map[string]any{"step": s.name, "method": s.method, "path": path, "status": r.status, "durationMs": lasted, "reply": value, "ok": wrong == nil}
		if err := printJSON(out); err != nil {
			return err
		}
	} else {
		mark := "ok"
		if wrong != nil {
			mark = "NO"
		}
		printLine(stdout, "%s  %-20s  %d  %d ms  %s %s", mark, s.name, r.status, lasted, s.method, path)
	}
	return wrong
}

// check compares a reply with what the step expects.
func (f fixture) check(r reply, value any, known references) error {
	good := r.status >= 200 && r.status < 300
	if len(f.expect) > 0 {
		good = slices.Contains(f.expect, r.status)
	}
	if !good {
		want := "2xx"
		if len(f.expect) > 0 {
			want = strings.Trim(fmt.Sprint(f.expect), "[]")
		}
		err := r.refusal("the service")
		if r.status < 300 {
			err = errors.New(shorten(r.body))
		}
		return fmt.Errorf("it answered %d, want %s: %w", r.status, want, err)
	}
	for _, w := range f.where {
		got, err := field(value, w.path)
		if err != nil {
			return fmt.Errorf("where %s: %w", w.path, err)
		}
		want, err := known.inText(w.want)
		if err != nil {
			return err
		}
		if text := plainText(got); text != want {
			return fmt.Errorf("%s is %s, want %s", w.path, text, want)
		}
	}
	return nil
}
