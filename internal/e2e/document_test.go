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

// media is a place of the document where a schema and its examples stand.
type media struct {
	place []string
	node  map[string]any
}

// walkMedia lists every place that has a schema and an example.
func walkMedia(v any, place []string) (list []media) {
	switch t := v.(type) {
	case map[string]any:
		if t["schema"] != nil && (t["example"] != nil || t["examples"] != nil) {
			list = append(list, media{slices.Clone(place), t})
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

// examples returns the examples of a place, by name.
func (s *spec) examples(m media) map[string]any {
	found := map[string]any{}
	if example, ok := m.node["example"]; ok {
		found["example"] = example
	}
	named, _ := m.node["examples"].(map[string]any)
	for name, e := range named {
		example := e.(map[string]any)
		if ref, ok := example["$ref"].(string); ok {
			example, _ = s.node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
		}
		found[name] = example["value"]
	}
	return found
}

// unnamed is what an example has where nobody said what it may have.
var unnamed = regexp.MustCompile(`[:\[,]"text"[,\]}]`)

func TestEveryExampleFollowsItsSchema(t *testing.T) {
	alone(t, func(t *testing.T, s *service) {
		count := 0
		for _, m := range walkMedia(s.spec.tree, nil) {
			for name, example := range s.spec.examples(m) {
				count++
				text, err := json.Marshal(example)
				must(t, err)
				if err := s.spec.follow(text, append(m.place, "schema")...); err != nil {
					t.Errorf("the example %s at %s: %v\n%s", name, strings.Join(m.place, " "), err, text)
				}
				if unnamed.Match(text) {
					t.Errorf("the example at %s says \"text\": give the field a doc example or a line in samples\n%s", strings.Join(m.place, " "), text)
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
	operated(t, func(t *testing.T, op operator) {
		for _, s := range []*spec{op.spec, publishedForOperators.spec} {
			if name, _ := at(s.tree, "info.contact.name"); name == nil {
				t.Errorf("the document names nobody: %v", s.tree["info"])
			}
		}
		for path, item := range publishedForOperators.paths {
			for method, operation := range item.(map[string]any) {
				if text, _ := at(operation, "description"); text == nil || text == "" {
					t.Errorf("%s %s has no description", strings.ToUpper(method), path)
				}
			}
		}
	})
}

// A new operation gets its line in abouts with its description, and its tag
// one in tagTexts, or this fails.
func TestEveryOperationIsDescribed(t *testing.T) {
	alone(t, func(t *testing.T, s *service) {
		tags := map[any]bool{}
		for _, tag := range s.spec.tree["tags"].([]any) {
			tags[tag.(map[string]any)["name"]] = true
		}
		seen := map[string]bool{}
		for path, item := range s.spec.paths {
			for method, operation := range item.(map[string]any) {
				where := strings.ToUpper(method) + " " + path
				for _, field := range []string{"summary", "description", "operationId"} {
					if text, _ := at(operation, field); text == nil || text == "" {
						t.Errorf("%s has no %s", where, field)
					}
				}
				if tag, _ := at(operation, "tags.0"); !tags[tag] {
					t.Errorf("%s has the tag %v, which nothing describes", where, tag)
				}
				if _, ok := at(operation, "security"); !ok {
					t.Errorf("%s does not say whether it wants credentials", where)
				}
				if body, ok := at(operation, "requestBody.content"); ok {
					if m := body.(map[string]any)["application/json"].(map[string]any); len(s.spec.examples(media{node: m})) == 0 {
						t.Errorf("%s has no example of its body", where)
					}
				}
				id, _ := at(operation, "operationId")
				if seen[fmt.Sprint(id)] {
					t.Errorf("two operations are called %v", id)
				}
				seen[fmt.Sprint(id)] = true
			}
		}
		for name, event := range s.spec.tree["webhooks"].(map[string]any) {
			if text, _ := at(event, "post.description"); text == nil || text == "" {
				t.Errorf("the event %s is not described", name)
			}
		}
		for _, code := range s.spec.tree["x-error-codes"].([]any) {
			if meaning, _ := at(code, "meaning"); meaning == "" {
				t.Errorf("nobody says what %v means", code)
			}
		}
	})
}
