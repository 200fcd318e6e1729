package harness

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Mistake is a request that a beginner sends by mistake, and the reply that it gets.
type Mistake struct {
	// Method "" is POST with a body and GET without. Header is "Name: value" lines with | between
	// them; "Name:" removes a header. Path gets APIPath in front; "//" stands for /api and "///" for
	// the root.
	Name, Method, Path, Body, Header string
	Want                             string // status, code and param
	Mend                             string // a part of the message
}

// mending matches a message that says what to do: what to send, where to look, or what was meant.
var mending = regexp.MustCompile(`\b(send |did you mean|must (be|have|name|start)|there are |read |use |take (it|away|what|them)|put |leave |get a new|wait |write |look |sets it|the address is|it takes|refund less|withdraw at most|is required:|names the payment|open a new|begins with|ends too early|check |name the shop|lists them)`)

// Mends reports whether a message says how to correct a request.
func Mends(message string) bool { return mending.MatchString(message) }

// CheckMistake sends a mistake. It fails the test unless the reply is as wanted and says how to
// correct the request.
func CheckMistake(t *testing.T, o Client, c Mistake) {
	t.Helper()
	q := Request{Method: c.Method, Path: APIPath + c.Path, Body: c.Body, Header: http.Header{"Authorization": {"Bearer " + o.Credential}}}
	switch { // addresses without a part of APIPath
	case strings.HasPrefix(c.Path, "///"):
		q.Path = c.Path[2:]
	case strings.HasPrefix(c.Path, "//"):
		q.Path = "/api" + c.Path[1:]
	}
	if q.Method == "" {
		q.Method = http.MethodGet
		if c.Body != "" {
			q.Method = http.MethodPost
		}
	}
	if q.Method == http.MethodPost {
		q.Header.Set("Content-Type", "application/json")
	}
	for _, line := range strings.Split(c.Header, "|") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			q.Header.Set(name, value)
		} else if name, ok := strings.CutSuffix(line, ":"); ok {
			q.Header.Del(name)
		}
	}
	r := o.Send(t, q)
	got := fmt.Sprint(r.Status, " ", r.Text(t, "error.code"))
	if param, ok := r.At(t, "error.param"); ok {
		got += fmt.Sprint(" ", param)
	}
	message := r.Text(t, "error.message")
	if got != c.Want || !strings.Contains(message, c.Mend) {
		t.Errorf("got  %s: %s\nwant %s: …%s…\nfor %s", got, message, c.Want, c.Mend, r)
	}
	if !Mends(message) {
		t.Errorf("the message %q does not say how to correct the request", message)
	}
}
