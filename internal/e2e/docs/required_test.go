package docs

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A request without any field is refused for what is missing. The document marks exactly that as required, alone or as one of several, and so do
// the parameters of addresses.
func TestWhatIsRequiredIsMarked(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Create(t, harness.Card, "Sandbox-Simulate: chargeback")
		claim := o.Get(t, "/claims").Text(t, "data.0.id") // evidence is checked only if the claim exists
		filled := strings.NewReplacer("/claims/{id}", "/claims/"+claim, "{", "", "}", "")
		refused := 0
		for path, item := range s.Spec.Paths {
			for method, operation := range item.(map[string]any) {
				body := ""
				marked := map[string]bool{}
				for _, p := range list(operation, "parameters") {
					if required, _ := harness.At(p, "required"); required == true && p.(map[string]any)["in"] == "query" {
						marked[fmt.Sprint(p.(map[string]any)["name"])] = true
					}
				}
				if reference, ok := harness.At(operation, "requestBody.content"); ok {
					body = "{}"
					ref := reference.(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)["$ref"].(string)
					schema, _ := s.Spec.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
					for _, name := range list(schema, "required") {
						marked[fmt.Sprint(name)] = true
					}
					for _, set := range list(schema, "anyOf") {
						for _, name := range list(set, "required") {
							marked[fmt.Sprint(name)] = true
						}
					}
				}
				r := o.Send(t, harness.Request{
					Method: strings.ToUpper(method), Path: harness.APIPath + filled.Replace(path), Body: body,
					Header: http.Header{"Authorization": {"Bearer " + o.Credential}, "Content-Type": {"application/json"}},
				})
				missing := missingIn(t, r)
				for _, name := range missing {
					if !marked[name] {
						t.Errorf("%s %s needs %s, and the document does not say so: %s", strings.ToUpper(method), path, name, r)
					}
				}
				if len(missing) > 0 {
					refused++
				} else if len(marked) > 0 && r.Status < 300 {
					t.Errorf("%s %s does without %v, which the document requires: %s", strings.ToUpper(method), path, marked, r)
				}
			}
		}
		if refused < 15 {
			t.Errorf("%d operations were refused, want 15 at least", refused)
		}
	})
}

// missingIn are the fields and parameters that a request lacked, each by its outermost name.
func missingIn(t *testing.T, r harness.Reply) (names []string) {
	t.Helper()
	if r.Status != http.StatusBadRequest {
		return nil
	}
	issues, _ := r.At(t, "error.details.issues")
	shown, _ := issues.([]any)
	if param, ok := r.At(t, "error.param"); ok && len(shown) == 0 {
		message, _ := r.At(t, "error.message")
		shown = []any{map[string]any{"path": param, "message": message}}
	}
	for _, issue := range shown {
		path, message := fmt.Sprint(issue.(map[string]any)["path"]), fmt.Sprint(issue.(map[string]any)["message"])
		name, _, _ := strings.Cut(path, ".")
		if strings.Contains(message, "is required") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// list is the list at a key of an object.
func list(of any, key string) []any {
	found, _ := harness.At(of, key)
	items, _ := found.([]any)
	return items
}
