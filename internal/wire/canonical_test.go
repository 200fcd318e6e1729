package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	for body, want := range map[string]string{
		`{"amount": 25.50, "x": null}`:                               `{"amount":25.5}`,
		`{"a":5.00,"b":[5,null,{"c":null,"d":-0.0}],"e":{"f":null}}`: `{"a":5,"b":[5,null,{"d":0}],"e":{}}`,
		`{"a":1e2,"b":0.5e1,"c":120e-1,"d":0.050,"e":-1.20E+1}`:      `{"a":100,"b":5,"c":12,"d":0.05,"e":-12}`,
		`{"a":1e31,"b":1e-31,"c":1e99999999999999999999}`:            `{"a":1e31,"b":1e-31,"c":1e99999999999999999999}`,
		`{"a":1e30,"b":123e-5,"c":1.5e-3}`:                           `{"a":1000000000000000000000000000000,"b":0.00123,"c":0.0015}`,
		`{"a":1,"a":null}`:                                           `{}`,
		`{"b":1, "a" : "x"}`:                                         `{"a":"x","b":1}`,
		"{\n\t\"amount\": 25.50\n}":                                  `{"amount":25.5}`,
		`{"a!":1,"a":2,"a b":3}`:                                     `{"a":2,"a b":3,"a!":1}`,
		`{"n":-0.5e+3,"t":true,"f":false,"z":null}`:                  `{"f":false,"n":-500,"t":true}`,
		`{"a":1,"a":2}`:                                              `{"a":2}`,
		`{"s":"\u0041<"}`:                                            `{"s":"A\u003c"}`,
		`{"b":{"d":1,"c":[1, 2]}}`:                                   `{"b":{"c":[1,2],"d":1}}`,
		`{"a":01}`:                                                   `{"a":01}`,
		`not JSON`:                                                   `not JSON`,
		`{}`:                                                         `{}`,
	} {
		if got := string(Canonical([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// The short way gives what the long one gives, for whatever it takes.
func TestCanonicalFlat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "})
		name := rapid.OneOf(rapid.StringMatching(`"[a-c !]{0,3}"`), rapid.StringMatching(`"[ -~]{0,4}"`), rapid.SampledFrom([]string{`"é"`, `"\"`, `a`, ``}))
		value := rapid.OneOf(name, rapid.StringMatching(`-?[0-9]{0,3}(\.[0-9]{0,2})?([eE][+-]?[0-9]{0,2})?`),
			rapid.SampledFrom([]string{"true", "false", "null", "nul", "{}", "[1]", "1 2", "truefalse"}))
		var body strings.Builder
		word := func(s string) { body.WriteString(space.Draw(t, "space") + s) }
		word("{")
		for i := range rapid.IntRange(0, 18).Draw(t, "members") {
			if i > 0 {
				word(",")
			}
			word(name.Draw(t, "name"))
			word(":")
			word(value.Draw(t, "value"))
		}
		word("}")
		word(rapid.SampledFrom([]string{"", "", "", "x", "{}"}).Draw(t, "end"))
		sameCanonical(t, []byte(body.String()))
	})
}

func FuzzCanonical(f *testing.F) {
	for _, body := range []string{`{"amount":25.50,"paymentMethodId":"sbx_card"}`, `{"a":1,"a":2}`, `{"a":"\n"}`, `{"a":-0}`, `{}`, `[]`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameCanonical(t, body) })
}

func sameCanonical(t interface{ Errorf(string, ...any) }, body []byte) {
	got, ok := flat(body)
	if want := string(deep(body)); ok && string(got) != want {
		t.Errorf("%q: %q, but encoding/json makes it %q", body, got, want)
	}
	// Whatever is canonical stays as it is.
	if once := Canonical(body); string(Canonical(once)) != string(once) {
		t.Errorf("%q is %q, and then %q", body, once, Canonical(once))
	}
}
