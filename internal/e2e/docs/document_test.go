package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// walkMedia lists every place below v that has a schema and an example. place is where v is.
func walkMedia(v any, place []string) (list []harness.Media) {
	switch t := v.(type) {
	case map[string]any:
		if t["schema"] != nil && (t["example"] != nil || t["examples"] != nil) {
			list = append(list, harness.Media{Place: slices.Clone(place), Node: t})
		}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if key != "examples" && key != "example" {
				list = append(list, walkMedia(t[key], append(place, key))...)
			}
		}
	case []any:
		for i, value := range t {
			list = append(list, walkMedia(value, append(place, fmt.Sprint(i)))...)
		}
	}
	return list
}

// unnamed matches the value "text", which an example has if the field has no example of its own.
var unnamed = regexp.MustCompile(`[:\[,]"text"[,\]}]`)

func TestEveryExampleFollowsItsSchema(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		count := 0
		for _, m := range walkMedia(s.Spec.Tree, nil) {
			for name, example := range s.Spec.Examples(m) {
				count++
				text, err := json.Marshal(example)
				harness.Must(t, err)
				if err := s.Spec.Follow(text, append(m.Place, "schema")...); err != nil {
					t.Errorf("the example %s at %s: %v\n%s", name, strings.Join(m.Place, " "), err, text)
				}
				if unnamed.Match(text) {
					t.Errorf("the example at %s has the value \"text\": give the field an example in its doc tag, or a line in samples\n%s", strings.Join(m.Place, " "), text)
				}
			}
		}
		if count < 50 {
			t.Errorf("the document has %d examples, want 50 at least", count)
		}
	})
}

// Both documents name a contact. The operators' document describes each operation.
func TestDocumentsSayWhomToAsk(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		for _, s := range []*harness.Spec{op.Spec, harness.PublishedForOperators.Spec} {
			if name, _ := harness.At(s.Tree, "info.contact.name"); name == nil {
				t.Errorf("the document names no contact: %v", s.Tree["info"])
			}
		}
		for path, item := range harness.PublishedForOperators.Paths {
			for method, operation := range item.(map[string]any) {
				if text, _ := harness.At(operation, "description"); text == nil || text == "" {
					t.Errorf("%s %s has no description", strings.ToUpper(method), path)
				}
			}
		}
	})
}

// Every operation, tag, event and error code is described. Descriptions of operations are in abouts,
// those of tags in tagTexts.
func TestEveryOperationIsDescribed(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		tags := map[any]bool{}
		for _, tag := range s.Spec.Tree["tags"].([]any) {
			tags[tag.(map[string]any)["name"]] = true
		}
		seen := map[string]bool{}
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				where := strings.ToUpper(method) + " " + path
				for _, field := range []string{"summary", "description", "operationId"} {
					if text, _ := harness.At(operation, field); text == nil || text == "" {
						t.Errorf("%s has no %s", where, field)
					}
				}
				if tag, _ := harness.At(operation, "tags.0"); !tags[tag] {
					t.Errorf("%s has the tag %v, which has no description", where, tag)
				}
				if _, ok := harness.At(operation, "security"); !ok {
					t.Errorf("%s does not say whether it needs credentials", where)
				}
				if body, ok := harness.At(operation, "requestBody.content"); ok {
					if m := body.(map[string]any)["application/json"].(map[string]any); len(s.Spec.Examples(harness.Media{Node: m})) == 0 {
						t.Errorf("%s has no example of its body", where)
					}
				}
				id, _ := harness.At(operation, "operationId")
				if seen[fmt.Sprint(id)] {
					t.Errorf("two operations have the operationId %v", id)
				}
				seen[fmt.Sprint(id)] = true
			}
		}
		for name, event := range s.Spec.Tree["webhooks"].(map[string]any) {
			if text, _ := harness.At(event, "post.description"); text == nil || text == "" {
				t.Errorf("the event %s is not described", name)
			}
		}
		for _, code := range s.Spec.Tree["x-error-codes"].([]any) {
			if meaning, _ := harness.At(code, "meaning"); meaning == "" {
				t.Errorf("the error code %v has no meaning", code)
			}
		}
	})
}
