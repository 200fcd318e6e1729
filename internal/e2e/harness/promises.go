package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// promised is a room's file of the promises that its tests see of the OpenAPI documents. A run of
// the whole room fails if they do not see all of them. A test of the room docs proves that every
// promise is in the file of some room.
const promised = "testdata/promises.txt"

// PromisesOf reads the promises that the tests of rooms see, by the rooms' folders.
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

// unkept lists the promises of this room's file that its tests did not see.
func unkept() (list []string, err error) {
	lists, err := PromisesOf([]string{"."})
	for _, promise := range lists["."] {
		if !witnessed.saw(promise) && !witnessedByOperators.saw(promise) {
			list = append(list, promise)
		}
	}
	return list, err
}

// witness records what the tests have seen of a document.
type witness struct {
	prefix string            // of the promises' names
	unseen map[string]string // error codes that no test can see, with the reason; a reply with such a code fails the test

	mu   sync.Mutex      // owns what follows
	seen map[string]bool // "post /payments 402 card_declined"
}

var witnessed = witness{seen: map[string]bool{}, unseen: map[string]string{"internal_error": noFault}}

// noFault is why no test sees internal_error: a request that causes one is a bug of ours.
const noFault = "no request is known that causes it (TestFaultTellsNothingOfTheInside)"

// witnessedByOperators is for the admin API's document.
var witnessedByOperators = witness{prefix: "admin ", seen: map[string]bool{}, unseen: map[string]string{
	"internal_error":      noFault,
	"service_unavailable": "it needs a full queue of the store (internal/store proves when)",
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

// answer names the promise that a reply keeps. An alias has the name of the operation that it
// stands for.
func answer(method, template, status, code string) string {
	if slices.Contains(shared, code) {
		return code + " of any operation"
	}
	return strings.TrimSpace(strings.Join([]string{method, Canonical(template), status, code}, " "))
}

// Canonical returns the path that a legacy alias stands for.
func Canonical(template string) string {
	if rest, ok := strings.CutPrefix(template, "/transactions"); ok {
		return "/payments" + rest
	}
	return template
}

// shared are the codes that every operation answers in the same way. It is enough to see each once.
var shared = []string{
	"missing_credentials", "invalid_api_key", "invalid_token", "token_expired", "shop_required", "key_kind_not_allowed",
	"invalid_request", "invalid_json", "missing_field", "payload_too_large", "content_type_required", "idempotency_conflict",
	"rate_limited", "internal_error", "service_unavailable",
	// The same for every operation that makes a payment.
	"amount_invalid", "amount_above_maximum", "amount_out_of_limits", "unsupported_method", "unsupported_country", "production_key_refused",
	"forbidden", "card_declined", "insufficient_funds", "expired_card", "fraud_blocked", "three_ds_required", "cascade_exhausted",
}

// Promises lists what the document promises, except what no test can see.
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

// codes lists the error codes that a response may have. A response without error codes has "".
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
