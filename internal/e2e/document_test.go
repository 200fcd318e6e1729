package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Media is a place of the document where a schema and its examples stand.
type Media struct {
	Place []string
	Node  map[string]any
}

// walkMedia lists every place that has a schema and an example.
func walkMedia(v any, place []string) (list []Media) {
	switch t := v.(type) {
	case map[string]any:
		if t["schema"] != nil && (t["example"] != nil || t["examples"] != nil) {
			list = append(list, Media{slices.Clone(place), t})
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

// Examples returns the examples of a place, by name.
func (s *Spec) Examples(m Media) map[string]any {
	found := map[string]any{}
	if example, ok := m.Node["example"]; ok {
		found["example"] = example
	}
	named, _ := m.Node["examples"].(map[string]any)
	for name, e := range named {
		example := e.(map[string]any)
		if ref, ok := example["$ref"].(string); ok {
			example, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
		}
		found[name] = example["value"]
	}
	return found
}

// unnamed is what an example has where nobody said what it may have.
var unnamed = regexp.MustCompile(`[:\[,]"text"[,\]}]`)

func TestEveryExampleFollowsItsSchema(t *testing.T) {
	Alone(t, func(t *testing.T, s *Instance) {
		count := 0
		for _, m := range walkMedia(s.Spec.Tree, nil) {
			for name, example := range s.Spec.Examples(m) {
				count++
				text, err := json.Marshal(example)
				Must(t, err)
				if err := s.Spec.Follow(text, append(m.Place, "schema")...); err != nil {
					t.Errorf("the example %s at %s: %v\n%s", name, strings.Join(m.Place, " "), err, text)
				}
				if unnamed.Match(text) {
					t.Errorf("the example at %s says \"text\": give the field a doc example or a line in samples\n%s", strings.Join(m.Place, " "), text)
				}
			}
		}
		if count < 50 {
			t.Errorf("found %d examples", count)
		}
	})
}

// Both documents say whom to ask, and the operators' describes what each operation does.
func TestDocumentsSayWhomToAsk(t *testing.T) {
	Operated(t, func(t *testing.T, op Operator) {
		for _, s := range []*Spec{op.Spec, PublishedForOperators.Spec} {
			if name, _ := At(s.Tree, "info.contact.name"); name == nil {
				t.Errorf("the document names nobody: %v", s.Tree["info"])
			}
		}
		for path, item := range PublishedForOperators.Paths {
			for method, operation := range item.(map[string]any) {
				if text, _ := At(operation, "description"); text == nil || text == "" {
					t.Errorf("%s %s has no description", strings.ToUpper(method), path)
				}
			}
		}
	})
}

// A new operation gets its line in abouts with its description, and its tag
// one in tagTexts, or this fails.
func TestEveryOperationIsDescribed(t *testing.T) {
	Alone(t, func(t *testing.T, s *Instance) {
		tags := map[any]bool{}
		for _, tag := range s.Spec.Tree["tags"].([]any) {
			tags[tag.(map[string]any)["name"]] = true
		}
		seen := map[string]bool{}
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				where := strings.ToUpper(method) + " " + path
				for _, field := range []string{"summary", "description", "operationId"} {
					if text, _ := At(operation, field); text == nil || text == "" {
						t.Errorf("%s has no %s", where, field)
					}
				}
				if tag, _ := At(operation, "tags.0"); !tags[tag] {
					t.Errorf("%s has the tag %v, which nothing describes", where, tag)
				}
				if _, ok := At(operation, "security"); !ok {
					t.Errorf("%s does not say whether it wants credentials", where)
				}
				if body, ok := At(operation, "requestBody.content"); ok {
					if m := body.(map[string]any)["application/json"].(map[string]any); len(s.Spec.Examples(Media{Node: m})) == 0 {
						t.Errorf("%s has no example of its body", where)
					}
				}
				id, _ := At(operation, "operationId")
				if seen[fmt.Sprint(id)] {
					t.Errorf("two operations are called %v", id)
				}
				seen[fmt.Sprint(id)] = true
			}
		}
		for name, event := range s.Spec.Tree["webhooks"].(map[string]any) {
			if text, _ := At(event, "post.description"); text == nil || text == "" {
				t.Errorf("the event %s is not described", name)
			}
		}
		for _, code := range s.Spec.Tree["x-error-codes"].([]any) {
			if meaning, _ := At(code, "meaning"); meaning == "" {
				t.Errorf("nobody says what %v means", code)
			}
		}
	})
}
