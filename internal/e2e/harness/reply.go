package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Same fails the test unless the second reply is a replay of the first one, and says so. Only the
// request's id may differ.
func Same(t *testing.T, first, second Reply) {
	t.Helper()
	if first.Header.Get("Idempotency-Replayed") != "" || second.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("Idempotency-Replayed is %q, then %q, want none, then true: %s",
			first.Header.Get("Idempotency-Replayed"), second.Header.Get("Idempotency-Replayed"), second)
	}
	normal := func(r Reply) string {
		return strings.ReplaceAll(string(r.Body), r.Header.Get("X-Request-Id"), "req")
	}
	if first.Status != second.Status || normal(first) != normal(second) {
		t.Errorf("the replay differs from the first reply %s\nreplay: %s", first, second)
	}
}

// Reply is the reply to a request.
type Reply struct {
	request Request
	Status  int
	Header  http.Header
	Body    []byte
}

// String returns the request and the reply, for failure messages.
func (r Reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n> %s %s", r.request.Method, clip(r.request.Path))
	for name, values := range r.request.Header {
		fmt.Fprintf(&b, "\n> %s: %s", name, clip(strings.Join(values, ", ")))
	}
	if r.request.Body != "" {
		fmt.Fprintf(&b, "\n> %s", clip(r.request.Body))
	}
	fmt.Fprintf(&b, "\n< %d %s\n< %s", r.Status, r.Header.Get("X-Request-Id"), clip(string(r.Body)))
	return b.String()
}

// clip shortens a text that would fill the screen.
func clip(s string) string {
	const enough = 4000
	if len(s) <= enough {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:enough], len(s))
}

// Want ends the test unless the reply has the status.
func (r Reply) Want(t *testing.T, status int) Reply {
	t.Helper()
	if r.Status != status {
		t.Fatalf("want %d, got %s", status, r)
	}
	return r
}

// Is fails the test unless the reply has the status, and a body that fits the pattern. See Compare.
func (r Reply) Is(t *testing.T, status int, pattern string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("want %d, got %s", status, r)
		return
	}
	for _, difference := range Compare("", Decode(t, []byte(pattern)), Decode(t, r.Body)) {
		t.Errorf("%s: %s", difference, r)
	}
}

// Refused fails the test unless the reply is the error want, in the form of Problem.
func (r Reply) Refused(t *testing.T, want string) {
	t.Helper()
	if got := r.Problem(t); got != want {
		t.Errorf("got  %s\nwant %s\nfor %s", got, want, r)
	}
}

// Tells fails the test unless the value at a dotted path fits the pattern want. See Compare.
func (r Reply) Tells(t *testing.T, path, want string) {
	t.Helper()
	got, _ := r.At(t, path)
	for _, difference := range Compare(path, Decode(t, []byte(want)), got) {
		t.Errorf("%s: %s", difference, r)
	}
}

// Problem returns an error in one line: status, code, type, and those of param, decline, issues,
// missing, reason, from, action and boundViolated that the error has. A reply below 400 is its
// status.
func (r Reply) Problem(t *testing.T) string {
	t.Helper()
	if r.Status < 400 {
		return strconv.Itoa(r.Status)
	}
	parts := []string{strconv.Itoa(r.Status), r.Text(t, "error.code"), r.Text(t, "error.type")}
	if empty(Decode(t, r.Body), "error.message") {
		parts = append(parts, "WITHOUT A MESSAGE")
	}
	for _, field := range []struct{ name, path string }{
		{"param", "error.param"}, {"decline", "error.decline_code"},
	} {
		if v, ok := r.At(t, field.path); ok {
			parts = append(parts, field.name+"="+fmt.Sprint(v))
		}
	}
	details, _ := r.At(t, "error.details")
	d, _ := details.(map[string]any)
	if issues, ok := d["issues"].([]any); ok {
		var paths []string
		for _, i := range issues {
			issue, _ := i.(map[string]any)
			if empty(issue, "message") {
				parts = append(parts, "WITHOUT A MESSAGE")
			}
			paths = append(paths, fmt.Sprint(issue["path"]))
		}
		parts = append(parts, "issues="+strings.Join(paths, ","))
	}
	if missing, ok := d["missingFields"]; ok {
		parts = append(parts, "missing="+strings.Join(strings.Fields(strings.Trim(fmt.Sprint(missing), "[]")), ","))
	}
	for _, name := range []string{"reason", "from", "action", "boundViolated"} {
		if v, ok := d[name]; ok {
			parts = append(parts, name+"="+fmt.Sprint(v))
		}
	}
	return strings.Join(parts, " ")
}

// empty reports whether a value at a dotted path is missing, or is no text, or has no word.
func empty(v any, path string) bool {
	at, _ := At(v, path)
	text, _ := at.(string)
	return strings.TrimSpace(text) == ""
}

// At returns the body's value at a dotted path such as data.0.id. It is false if there is none.
func (r Reply) At(t *testing.T, path string) (any, bool) {
	t.Helper()
	return At(Decode(t, r.Body), path)
}

// At returns the value at a dotted path such as data.0.id. It is false if there is none.
func At(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			next, ok := t[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Text returns the value at a dotted path as text. It ends the test if there is none.
func (r Reply) Text(t *testing.T, path string) string {
	t.Helper()
	v, ok := r.At(t, path)
	if !ok {
		t.Fatalf("the reply has no %s: %s", path, r)
	}
	return fmt.Sprint(v)
}

// Decode reads JSON. Numbers are json.Number, so that they stay as they are written.
func Decode(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("not JSON (%v): %s", err, clip(string(text)))
	}
	return v
}
