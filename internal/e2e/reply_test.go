package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// reply is what came back for a request.
type reply struct {
	request request
	status  int
	header  http.Header
	body    []byte
}

// String is what a failing test prints: the request and the reply.
func (r reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n> %s %s", r.request.method, clip(r.request.path))
	for name, values := range r.request.header {
		fmt.Fprintf(&b, "\n> %s: %s", name, clip(strings.Join(values, ", ")))
	}
	if r.request.body != "" {
		fmt.Fprintf(&b, "\n> %s", clip(r.request.body))
	}
	fmt.Fprintf(&b, "\n< %d %s\n< %s", r.status, r.header.Get("X-Request-Id"), clip(string(r.body)))
	return b.String()
}

// clip shortens what would fill the screen.
func clip(s string) string {
	const enough = 4000
	if len(s) <= enough {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:enough], len(s))
}

// want ends the test unless the reply has the status.
func (r reply) want(t *testing.T, status int) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("want %d, got %s", status, r)
	}
	return r
}

// is fails the test unless the reply has the status and a body like the
// pattern (see compare).
func (r reply) is(t *testing.T, status int, pattern string) {
	t.Helper()
	if r.status != status {
		t.Errorf("want %d, got %s", status, r)
		return
	}
	for _, difference := range compare("", decode(t, []byte(pattern)), decode(t, r.body)) {
		t.Errorf("%s: %s", difference, r)
	}
}

// refused fails the test unless the reply is the error that want tells as
// problem does.
func (r reply) refused(t *testing.T, want string) {
	t.Helper()
	if got := r.problem(t); got != want {
		t.Errorf("got  %s\nwant %s\nfor %s", got, want, r)
	}
}

// tells fails the test unless a part of the reply is as a JSON text says.
func (r reply) tells(t *testing.T, path, want string) {
	t.Helper()
	got, _ := r.at(t, path)
	for _, difference := range compare(path, decode(t, []byte(want)), got) {
		t.Errorf("%s: %s", difference, r)
	}
}

// problem tells an error in one line: status, code, type, and what there is of
// param, decline, issues, missing, reason, from and action.
func (r reply) problem(t *testing.T) string {
	t.Helper()
	if r.status < 400 {
		return strconv.Itoa(r.status)
	}
	parts := []string{strconv.Itoa(r.status), r.text(t, "error.code"), r.text(t, "error.type")}
	if r.text(t, "error.message") == "" {
		parts = append(parts, "WITHOUT A MESSAGE")
	}
	for _, field := range []struct{ name, path string }{
		{"param", "error.param"}, {"decline", "error.decline_code"},
	} {
		if v, ok := r.at(t, field.path); ok {
			parts = append(parts, field.name+"="+fmt.Sprint(v))
		}
	}
	details, _ := r.at(t, "error.details")
	d, _ := details.(map[string]any)
	if issues, ok := d["issues"].([]any); ok {
		var paths []string
		for _, i := range issues {
			issue, _ := i.(map[string]any)
			if issue["message"] == "" {
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

// at returns the value at a dotted path such as data.0.id.
func (r reply) at(t *testing.T, path string) (any, bool) {
	t.Helper()
	return at(decode(t, r.body), path)
}

func at(v any, path string) (any, bool) {
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

// text returns the value at a path as text; it ends the test where there is
// none.
func (r reply) text(t *testing.T, path string) string {
	t.Helper()
	v, ok := r.at(t, path)
	if !ok {
		t.Fatalf("nothing at %s: %s", path, r)
	}
	return fmt.Sprint(v)
}

// decode reads JSON with its numbers as they are written.
func decode(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("not JSON (%v): %s", err, clip(string(text)))
	}
	return v
}
