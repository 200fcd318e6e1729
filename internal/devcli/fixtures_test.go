package devcli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

const goodFixtures = `
steps:
  - name: payment
    method: post
    path: /payments
    headers: {Sandbox-Simulate: paid}
    body: {amount: 25.50, paymentMethodId: sbx_pix, documentId: "52998224725", merchantOrderId: "order-${run}", metadata: {n: "7", on: "true"}, lines: [1, null, true, -0.5e3, 2026-01-02]}
    expect: [201, 202]
  - path: /payments/${payment.transactionId}?q=${payment.transactionId}
    where: {status: completed, amount: 25.50, failure: null}
`

// A file is read as it is meant: numbers keep their digits, texts stay texts.
func TestFixturesAreReadAsWritten(t *testing.T) {
	list, err := parseFixtures([]byte(goodFixtures))
	if err != nil || len(list) != 2 || list[0].method != "POST" || list[1].name != "step-2" || list[1].line != 9 {
		t.Fatalf("%+v, %v", list, err)
	}
	known := references{run: "r1", replies: map[string]any{"payment": map[string]any{"transactionId": "TXN-1/../x?y&z", "rows": []any{map[string]any{"n": json.Number("1.10")}}}}}
	body, err := known.inValue(list[0].body)
	const want = `{"amount":25.50,"paymentMethodId":"sbx_pix","documentId":"52998224725","merchantOrderId":"order-r1","metadata":{"n":"7","on":"true"},"lines":[1,null,true,-0.5e3,"2026-01-02"]}`
	if err != nil || string(body) != want {
		t.Errorf("the body is %s, %v", body, err)
	}
	path, err := known.inPath(list[1].path)
	if err != nil || path != "/payments/TXN-1%2F..%2Fx%3Fy&z?q=TXN-1%2F..%2Fx%3Fy%26z" {
		t.Errorf("the path is %s, %v", path, err)
	}
	alone, err := parseFixtures([]byte("steps: [{name: a, path: /a}, {path: /b, body: {n: \"${a.rows.0.n}\", t: \"=${a.rows.0.n}\"}}]"))
	if err != nil {
		t.Fatal(err)
	}
	known.replies["a"] = known.replies["payment"]
	if body, err := known.inValue(alone[1].body); err != nil || string(body) != `{"n":1.10,"t":"=1.10"}` {
		t.Errorf("a reference alone is %s, %v", body, err)
	}
	if _, err := known.value("payment.transaction"); err == nil || !strings.Contains(err.Error(), "it has rows, transactionId") {
		t.Errorf("a field that is not there: %v", err)
	}
}

// What is wrong in a file is said with its line, before anything runs.
func TestFixturesSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "empty",
		"steps: []":                          "no steps",
		"stepz: []":                          "stepz",
		"steps:\n- path: payments":           "line 2",
		"steps:\n- {path: /a, method: LOOK}": "no method",
		"steps:\n- {path: /a, expect: soon}": "no status",
		"steps:\n- {path: /a, where: [1]}":   "where",
		"steps:\n- {name: a, path: /a}\n- {name: a, path: /a}":             "two steps",
		"steps:\n- {name: run, path: /a}":                                  "another name",
		"steps:\n- {name: pay, path: /a}\n- {path: \"/a/${pya.id}\"}":      "did you mean pay?",
		"steps:\n- {path: \"/a/${later.id}\"}\n- {name: later, path: /a}":  "no step",
		"steps:\n- {path: /a, body: &x {a: 1}}\n- {path: /a, body: *x}":    "aliases",
		"steps: [{path: /a}]\n---\nsteps: []":                              "more than one document",
		"steps:\n" + strings.Repeat("- {path: /a}\n", maxSteps+1):          "may have 500",
		"steps:\n- {path: /a, body: " + strings.Repeat("x", maxFile) + "}": "larger",
	} {
		if _, err := parseFixtures([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q in it", text, err, want)
		}
	}
}

func FuzzFixtures(f *testing.F) {
	f.Add(goodFixtures)
	f.Add(`{"steps":[{"path":"/a","body":{"a":[{"b":"${run}"}]},"expect":200}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseFixtures([]byte(text))
		if err != nil {
			return
		}
		known := references{run: "r", replies: map[string]any{}}
		for _, s := range list {
			known.replies[s.name] = "x"
			if s.body == nil {
				continue
			}
			if body, err := known.inValue(s.body); err == nil && !json.Valid(body) {
				t.Errorf("%q makes the body %q", text, body)
			}
		}
	})
}

// A file costs no more to read than its size.
func TestFixturesCostNoMoreThanTheirSize(t *testing.T) {
	growth.Of(t, "a file of fixtures", 256<<10, growth.Repeated("steps: [{path: /a, body: {", `"${run}": 1,`, "}}]"), func(text string) int {
		list, err := parseFixtures([]byte(text))
		if err != nil {
			return len(err.Error())
		}
		return len(list)
	})
}
