package e2e

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// suite is all tests of this package, and then the proof that between them
// they saw everything that the document promises.
type suite struct{ m *testing.M }

// Run is for dbtest.Main.
func (s suite) Run() int {
	code := s.m.Run()
	if code != 0 || partial() {
		return code
	}
	for _, w := range []*witness{&witnessed, &WitnessedByOperators} {
		if unseen := w.missing(); len(unseen) > 0 {
			fmt.Fprintln(os.Stderr, "The OpenAPI document promises what no test of this package saw:\n\t"+strings.Join(unseen, "\n\t"))
			code = 1
		}
	}
	return code
}

// partial reports whether only some of the tests were asked for.
func partial() bool {
	if dbtest.Only == "postgres" {
		return true
	}
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.short"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// witness remembers what of a document the tests saw.
type witness struct {
	unseen map[string]string // promises that no test can see, with the reason; a reply with one fails the test that sees it

	mu     sync.Mutex // owns what follows
	spec   *Spec
	seen   map[string]bool // "post /payments 402 card_declined"
	events map[string]bool
}

var witnessed = witness{seen: map[string]bool{}, events: map[string]bool{}, unseen: map[string]string{"internal_error": noFault}}

// noFault: a request that leads to one is a mistake of ours.
const noFault = "no request is known that leads to one (TestFaultTellsNothingOfTheInside)"

// WitnessedByOperators is of the admin API's document.
var WitnessedByOperators = witness{seen: map[string]bool{}, unseen: map[string]string{
	"internal_error":      noFault,
	"service_unavailable": "the store's queue is full then (internal/store proves when)",
}}

func (w *witness) reply(s *Spec, method, template, status, code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spec = s
	w.seen[sight(method, template, status, code)] = true
}

func (w *witness) event(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events[kind] = true
}

// sight names what was seen. An alias is what it stands for.
func sight(method, template, status, code string) string {
	return strings.TrimSpace(strings.Join([]string{method, Canonical(template), status, code}, " "))
}

// Canonical is the name that a legacy alias stands for.
func Canonical(template string) string {
	if rest, ok := strings.CutPrefix(template, "/transactions"); ok {
		return "/payments" + rest
	}
	return template
}

// shared are the codes that any operation answers alike; one that answers is
// enough.
var shared = []string{
	"missing_credentials", "invalid_api_key", "invalid_token", "token_expired", "shop_required", "key_kind_not_allowed",
	"invalid_request", "invalid_json", "missing_field", "payload_too_large", "content_type_required", "idempotency_conflict",
	"rate_limited", "internal_error", "service_unavailable",
	// The same whichever operation takes the payment.
	"amount_invalid", "amount_above_maximum", "amount_out_of_limits", "unsupported_method", "unsupported_country", "production_key_refused",
	"forbidden", "card_declined", "insufficient_funds", "expired_card", "fraud_blocked", "three_ds_required", "cascade_exhausted",
}

// missing lists what the document promises and nobody saw.
func (w *witness) missing() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spec == nil {
		return []string{"anything at all"}
	}
	codes := map[string]bool{}
	for s := range w.seen {
		codes[s[strings.LastIndex(s, " ")+1:]] = true
	}
	maps.Copy(codes, w.events)
	webhooks, _ := w.spec.Tree["webhooks"].(map[string]any)
	for kind := range webhooks {
		if !w.events[kind] && w.unseen[kind] == "" {
			list = append(list, "event "+kind)
		}
	}
	for template, item := range w.spec.Paths {
		for method, operation := range item.(map[string]any) {
			responses, _ := At(operation, "responses")
			for status := range responses.(map[string]any) {
				list = append(list, w.missingOf(codes, method, template, status)...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (w *witness) missingOf(codes map[string]bool, method, template, status string) (list []string) {
	response, _ := w.spec.Node([]string{"paths", template, method, "responses", status})
	if ref, ok := response["$ref"].(string); ok {
		response, _ = w.spec.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
	declared, _ := response["x-error-codes"].([]any)
	if declared == nil {
		declared = []any{""} // a success
	}
	for _, c := range declared {
		code := c.(string)
		s := sight(method, template, status, code)
		switch {
		case w.unseen[code] != "" || w.seen[s] || slices.Contains(shared, code) && codes[code]:
		case slices.Contains(shared, code):
			list = append(list, code+" of any operation")
		default:
			list = append(list, s)
		}
	}
	return list
}
