package published

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest/record"
)

// Publisher is a fake that is held to a table.
type Publisher interface{ Published() Table }

// Before puts a gate before a fake, if it has a table; g is nil if not.
func Before(tb testing.TB, fake http.Handler) (_ http.Handler, g *Gate) {
	if p, ok := fake.(Publisher); ok {
		g = p.Published().Gate(tb, record.Calls(fake, true))
		return g, g
	}
	return record.Calls(fake, false), nil
}

// Sent fails the test if a notification of a fake with a table is none that the table allows.
func Sent(tb testing.TB, fake any, header http.Header, query map[string][]string, body []byte) {
	tb.Helper()
	if p, ok := fake.(Publisher); ok {
		p.Published().notified(tb, header, query, body)
	}
	record.Add(record.Entry{Notice: true, Header: header, Asked: query, Body: string(body)})
}

// Gate stands before a fake. A request that the table does not allow fails the test, and is refused as the provider would
// refuse it. So does an answer of the fake that the table does not allow. Allowed answers are changed within what the table
// allows: more fields, nulls, empty lists, numbers as strings. The changes are the same in each run of a test.
type Gate struct {
	t     testing.TB
	table Table
	fake  http.Handler

	mu    sync.Mutex // guards what follows
	rand  *rand.Rand
	said  map[string]string // the statuses of later answers, by call
	heard map[string]bool
}

// Gate puts a gate before a fake. A table without calls lets everything pass.
func (t Table) Gate(tb testing.TB, fake http.Handler) *Gate {
	return &Gate{t: tb, table: t, fake: fake, rand: seeded(tb.Name()), said: map[string]string{}, heard: map[string]bool{}}
}

func seeded(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), 1)) //nolint:gosec // the same in each run
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(g.table.Calls) == 0 {
		g.fake.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	call, known := g.table.call(r)
	if wrong := call.check(r, body); !known || len(wrong) > 0 {
		if !known {
			wrong = []string{"no document has this call"}
		}
		g.fails("%s %s: %s\n%s", r.Method, r.URL, strings.Join(wrong, "\n"), body)
		status, text := http.StatusBadRequest, `{}`
		if g.table.Refusal != nil {
			status, text = g.table.Refusal()
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return
	}
	said := httptest.NewRecorder()
	g.fake.ServeHTTP(said, r)
	answer := g.vary(call, said.Code, said.Body.Bytes())
	maps.Copy(w.Header(), said.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(said.Code)
	_, _ = w.Write(answer)
}

// fails fails the test. A call may come after its end, from a client that a test has given up.
func (g *Gate) fails(format string, args ...any) {
	defer func() { _ = recover() }() // the test has ended
	g.t.Helper()
	g.t.Errorf("%s\n(%s)", fmt.Sprintf(format, args...), g.table.Sources())
}

// check returns what a request has that the document does not allow.
func (c Call) check(r *http.Request, body []byte) []string {
	if c.Name == "" {
		return nil
	}
	wrong := c.Header.checkHeader(r.Header, true)
	wrong = append(wrong, c.Query.checkForm("query", r.URL.Query(), true)...)
	if media := r.Header.Get("Content-Type"); !c.Body.zero() {
		want := "application/json"
		switch {
		case c.Form:
			want = "application/x-www-form-urlencoded"
		case c.Parts:
			want = "multipart/form-data"
		}
		if !strings.HasPrefix(media, want) {
			wrong = append(wrong, fmt.Sprintf("the content type is %q, want %s", media, want))
		}
	}
	if c.Parts {
		return append(wrong, c.Body.checkParts(r.Header.Get("Content-Type"), body)...)
	}
	return append(wrong, checkBody(c.Body, c.Form, body, true, nil)...)
}

// vary checks an answer of the fake, and changes it within what the document allows.
func (g *Gate) vary(c Call, status int, body []byte) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, documented := c.Answers[status]
	if !documented {
		g.fails("the fake answers %d to %q, which no document has: %s", status, c.Name, body)
		return body
	}
	if wrong := checkBody(v, false, body, true, g.table.Strange); len(wrong) > 0 {
		g.fails("the fake answers %d to %q: %s\n%s", status, c.Name, strings.Join(wrong, "\n"), body)
		return body
	}
	if v.zero() {
		return body
	}
	got, err := read(body)
	if err != nil {
		return body
	}
	if word := g.said[c.Name]; word != "" {
		var some bool
		got, some = v.withStatus(got, word)
		g.heard[c.Name] = g.heard[c.Name] || some
	}
	return written(v.vary(got, g.rand))
}

func written(got any) []byte {
	text, err := json.Marshal(got)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return text
}

// SetStatus makes later answers to a call have a word as every status in them.
func (g *Gate) SetStatus(call, word string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.said[call] = word
}

// Gave reports whether an answer to a call had the word from SetStatus.
func (g *Gate) Gave(call string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heard[call]
}

// withStatus puts a word at the place of every status.
func (v Value) withStatus(got any, word string) (changed any, some bool) {
	for _, shape := range v.either {
		if len(shape.check("", got, true, nil)) == 0 {
			return shape.withStatus(got, word)
		}
	}
	switch got := got.(type) {
	case map[string]any:
		for name, field := range v.fields {
			if before, there := got[name]; there {
				after, here := field.withStatus(before, word)
				got[name], some = after, some || here
			}
		}
	case []any:
		for i := range got {
			after, here := v.item.withStatus(got[i], word)
			got[i], some = after, some || here
		}
	case string:
		if slices.Contains(v.enum, word) && v.status {
			return word, true
		}
	}
	return got, some
}

// vary returns a value as the document also allows it.
func (v Value) vary(got any, r *rand.Rand) any {
	for _, shape := range v.either {
		if len(shape.check("", got, true, nil)) == 0 {
			return shape.vary(got, r)
		}
	}
	switch got := got.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v.fields)) {
			field := v.fields[name]
			if before, there := got[name]; there {
				got[name] = field.vary(before, r)
			} else if absent, ok := field.absent(); ok && r.IntN(2) == 0 {
				got[name] = absent
			}
		}
		if slices.Contains(v.kinds, object) && r.IntN(2) == 0 {
			got["added_later"] = map[string]any{"reference": "01M7ZOTHERS-1", "status": "new", "amount": nil}
		}
	case []any:
		for i := range got {
			got[i] = v.item.vary(got[i], r)
		}
	case json.Number:
		if slices.Contains(v.kinds, text) && r.IntN(2) == 0 {
			return got.String()
		}
	case bool:
		if slices.Contains(v.kinds, text) && r.IntN(2) == 0 {
			return fmt.Sprint(got)
		}
	}
	return got
}

// absent is a documented value of an optional field that says nothing.
func (v Value) absent() (any, bool) {
	switch {
	case v.must:
	case slices.Contains(v.kinds, null):
		return nil, true
	case slices.Contains(v.kinds, list) && v.min == 0:
		return []any{}, true
	}
	return nil, false
}

// notified fails the test unless a notification is one that the table allows.
func (t Table) notified(tb testing.TB, header http.Header, query map[string][]string, body []byte) {
	tb.Helper()
	if len(t.Notices) == 0 {
		return
	}
	var closest []string
	for _, n := range t.Notices {
		wrong := n.Header.checkHeader(header, false)
		wrong = append(wrong, n.Query.checkForm("query", query, true)...)
		wrong = append(wrong, checkBody(n.Body, n.Form, body, true, t.Strange)...)
		if len(wrong) == 0 {
			return
		}
		if closest == nil || len(wrong) < len(closest) {
			closest = append([]string{"as " + n.Name + ":"}, wrong...)
		}
	}
	tb.Errorf("the fake sends a notification that no document has: %s\n%s\n(%s)", strings.Join(closest, "\n"), body, t.Sources())
}
