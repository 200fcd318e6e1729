package docs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/api"
	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/wire"
	"golang.org/x/sys/unix"
)

// grown is the most by which a request of twice the size may cost more, in processor time and in its answer.
const grown = 2.5

// mostTime is far more than any of these requests costs.
const mostTime = time.Second

// A request costs no more than its size: neither the processor time of an operation nor its answer grows faster than its body.
// Processor time is that of one thread, and the least of several runs. Growth counts once larger bodies confirm it twice.
func TestNoRequestCostsMoreThanItsSize(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		handler, err := api.New(s.App, slog.New(slog.DiscardHandler), s.URL+harness.APIPath, gate.New(nil, nil, s.App, slog.New(slog.DiscardHandler), time.Now))
		harness.Must(t, err)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer debug.SetGCPercent(debug.SetGCPercent(-1)) // collecting is done by whoever allocates, at times that differ
		for _, op := range bodied(s.Spec) {
			runtime.GC()
			properties := op.properties(s.Spec)
			for name, shape := range shapes {
				cost := func(size, runs int) (least time.Duration, answer int) {
					body := shape(properties, size)
					for range runs {
						r := httptest.NewRequest(op.method, harness.APIPath+op.path, strings.NewReader(body))
						r.Header = http.Header{"Authorization": {"Bearer " + o.Sandbox.Secret}, "Content-Type": {"application/json"}}
						w := httptest.NewRecorder()
						before := threadTime(t)
						handler.ServeHTTP(w, r)
						if took := threadTime(t) - before; least == 0 || took < least {
							least = took
						}
						if least > mostTime {
							t.Fatalf("%s %s, %s: %d bytes cost %v", op.method, op.path, name, len(body), least)
						}
						if answer = w.Body.Len(); w.Code >= 500 {
							t.Fatalf("%s %s, %s of %d bytes: %d %s", op.method, op.path, name, len(body), w.Code, w.Body)
						}
					}
					return least, answer
				}
				grows := func(size, runs int) string {
					one, small := cost(size, runs)
					two, large := cost(2*size, runs)
					if float64(large) > grown*float64(small) || large > 4*size {
						return fmt.Sprintf("the answer to %d bytes has %d bytes, and to twice as many %d", size, small, large)
					}
					if float64(two) > grown*float64(one) {
						return fmt.Sprintf("%d bytes cost %v, and twice as many %v", size, one, two)
					}
					return ""
				}
				const size = 24 << 10
				if grows(size, 2) != "" && grows(2*size, 5) != "" {
					if why := grows(4*size, 7); why != "" {
						t.Errorf("%s %s, %s: %s", op.method, op.path, name, why)
					}
				}
			}
		}
	})
}

// Each list in a request has a longest length, and none is longer than the checks of a body look at.
func TestEveryListOfARequestIsBounded(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		lists := 0
		for _, op := range bodied(s.Spec) {
			lists += bounded(t, s.Spec, op.method+" "+op.path, op.schema)
		}
		if lists < 5 {
			t.Errorf("found %d lists in requests, want all", lists)
		}
	})
}

// operation is an operation that takes a body.
type operation struct {
	method, path string
	schema       map[string]any
}

// bodied lists the operations that take a JSON body.
func bodied(s *harness.Spec) (all []operation) {
	for _, path := range slices.Sorted(maps.Keys(s.Paths)) {
		for method, of := range s.Paths[path].(map[string]any) {
			schema, ok := harness.At(of, "requestBody.content")
			if !ok {
				continue
			}
			if schema, ok = harness.At(schema.(map[string]any)["application/json"], "schema"); !ok {
				continue
			}
			all = append(all, operation{strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), schema.(map[string]any)})
		}
	}
	return all
}

// resolved follows a schema's $ref.
func resolved(s *harness.Spec, schema map[string]any) map[string]any {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		schema, _ = s.Node(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
	}
}

// bounded counts the lists below a schema, and reports those without a bound.
func bounded(t *testing.T, s *harness.Spec, where string, schema map[string]any) (lists int) {
	schema = resolved(s, schema)
	if items, ok := schema["items"].(map[string]any); ok {
		most, _ := schema["maxItems"].(json.Number)
		if n, err := most.Int64(); err != nil || n > wire.MostItems {
			t.Errorf("%s has a list of at most %v items, want at most %d", where, schema["maxItems"], wire.MostItems)
		}
		lists += 1 + bounded(t, s, where+"[]", items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range properties {
		lists += bounded(t, s, where+" "+name, below.(map[string]any))
	}
	return lists
}

// properties lists the types of an operation's fields, one level of objects deep.
func (op operation) properties(s *harness.Spec) map[string]string {
	types := map[string]string{}
	properties, _ := resolved(s, op.schema)["properties"].(map[string]any)
	for name, below := range properties {
		switch kind := resolved(s, below.(map[string]any))["type"].(type) {
		case string:
			types[name] = kind
		default:
			types[name] = fmt.Sprint(kind)
		}
	}
	return types
}

// shapes make bodies of about a size.
var shapes = map[string]func(properties map[string]string, size int) string{
	"many unknown fields": func(_ map[string]string, size int) string { return many(size, `"field%d":0`) },
	"a list":              func(_ map[string]string, size int) string { return "[" + strings.Repeat("1,", size/2) + "1]" },
	"one long name":       func(_ map[string]string, size int) string { return `{"` + strings.Repeat("a", size) + `":1}` },
	"deep objects": func(_ map[string]string, size int) string {
		deep := strings.Repeat(`{"x":`, 100) + "1" + strings.Repeat("}", 100)
		return many(size, `"f%d":`+deep)
	},
	"long texts":         fields("string", func(size int) string { return `"` + strings.Repeat("a", size) + `"` }),
	"texts of escapes":   fields("string", func(size int) string { return `"` + strings.Repeat(`\u202e`, size/6) + `"` }),
	"long numbers":       fields("number", func(size int) string { return "1" + strings.Repeat("1", size) }),
	"lists of numbers":   fields("array", func(size int) string { return "[" + strings.Repeat("1,", size/2) + "1]" }),
	"lists of texts":     fields("array", func(size int) string { return "[" + strings.Repeat(`"a",`, size/4) + `"b"]` }),
	"lists of objects":   fields("array", func(size int) string { return "[" + strings.Repeat(`{"name":"a"},`, size/13) + `{}]` }),
	"objects of strange": fields("object", func(size int) string { return many(size, `"field%d":0`) }),
}

// many is an object of about a size with many fields.
func many(size int, field string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteString(",")
		}
		_, _ = fmt.Fprintf(&b, field, i)
	}
	return "{" + b.String() + "}"
}

// fields gives all fields of a type a value, of about a size together. Without such a field the fields are all.
func fields(kind string, value func(size int) string) func(map[string]string, int) string {
	return func(properties map[string]string, size int) string {
		var of []string
		for name, is := range properties {
			if is == kind || kind == "number" && is == "integer" {
				of = append(of, name)
			}
		}
		var pairs []string
		for _, name := range of {
			pairs = append(pairs, fmt.Sprintf("%q:%s", name, value(size/len(of))))
		}
		return "{" + strings.Join(pairs, ",") + "}"
	}
}

// threadTime is the processor time of this thread.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Timespec
	harness.Must(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used))
	return time.Duration(used.Nano())
}
