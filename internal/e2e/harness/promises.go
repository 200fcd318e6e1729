package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// promised is the file of a room that lists what its tests see of the OpenAPI documents. A whole run
// of the room fails if they do not see it, and a test of the room docs has every promise in some list.
const promised = "testdata/promises.txt"

// PromisesOf lists what the tests of rooms see, by the rooms' folders.
func PromisesOf(rooms []string) (map[string][]string, error) {
	lists := map[string][]string{}
	for _, room := range rooms {
		text, err := os.ReadFile(filepath.Join(room, promised))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			lists[room] = append(lists[room], strings.TrimSpace(line))
		}
	}
	return lists, nil
}

// unkept lists what this room's tests were to see of the documents, and did not.
func unkept() (list []string, err error) {
	lists, err := PromisesOf([]string{"."})
	for _, promise := range lists["."] {
		if !witnessed.saw(promise) && !witnessedByOperators.saw(promise) {
			list = append(list, promise)
		}
	}
	return list, err
}

// witness remembers what of a document the tests saw.
type witness struct {
	prefix string            // of its promises' names
	unseen map[string]string // promises that no test can see, with the reason; a reply with one fails the test that sees it

	mu   sync.Mutex      // owns what follows
	seen map[string]bool // "post /payments 402 card_declined"
}

var witnessed = witness{seen: map[string]bool{}, unseen: map[string]string{"internal_error": noFault}}

// noFault: a request that leads to one is a mistake of ours.
const noFault = "no request is known that leads to one (TestFaultTellsNothingOfTheInside)"

// witnessedByOperators is of the admin API's document.
var witnessedByOperators = witness{prefix: "admin ", seen: map[string]bool{}, unseen: map[string]string{
	"internal_error":      noFault,
	"service_unavailable": "the store's queue is full then (internal/store proves when)",
}}

func (w *witness) see(promise string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[w.prefix+promise] = true
}

func (w *witness) saw(promise string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[promise]
}

// answer names the promise that a reply keeps. An alias is what it stands for.
func answer(method, template, status, code string) string {
	if slices.Contains(shared, code) {
		return code + " of any operation"
	}
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

// Promises lists what the document promises, but for what no test can see.
func (s *Spec) Promises() (list []string) {
	webhooks, _ := s.Tree["webhooks"].(map[string]any)
	for kind := range webhooks {
		list = append(list, s.seen.prefix+"event "+kind)
	}
	for template, item := range s.Paths {
		for method, operation := range item.(map[string]any) {
			responses, _ := At(operation, "responses")
			for status := range responses.(map[string]any) {
				for _, code := range s.codes(method, template, status) {
					if s.seen.unseen[code] == "" {
						list = append(list, s.seen.prefix+answer(method, template, status, code))
					}
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// codes are those that a reply may have, or the empty one of a success.
func (s *Spec) codes(method, template, status string) (codes []string) {
	response, _ := s.Node([]string{"paths", template, method, "responses", status})
	if ref, ok := response["$ref"].(string); ok {
		response, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
	declared, ok := response["x-error-codes"].([]any)
	if !ok {
		return []string{""}
	}
	for _, code := range declared {
		codes = append(codes, fmt.Sprint(code))
	}
	return codes
}
