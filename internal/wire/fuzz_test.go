package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/danielgtaylor/huma/v2"
)

// order is a body with a field of each kind that ours have.
type order struct {
	Amount   float64  `json:"amount"`
	Method   string   `json:"paymentMethodId,omitempty"`
	Note     string   `json:"note" text:"lines"`
	Hosted   bool     `json:"hostedCheckout"`
	Count    *int     `json:"count"`
	Tags     []string `json:"tags"`
	Customer *struct {
		Name string `json:"name"`
	} `json:"customer"`
}

// A body is read as it is written or not at all: each member once and under its own name, and
// no text with characters that nobody sees.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{"amount":25.50,"paymentMethodId":"sbx_card","note":"two\nlines","tags":["a","b"],"customer":{"name":"Ana"},"count":3,"hostedCheckout":true}`,
		`{"amount":"25.50","Amount":1}`, `{"amount":1,"amount":2}`, `{"customer":{"name":"a","name":"b"}}`, `{"note":"a\u0000b"}`, `{"paymentMethodId":"a\nb"}`,
		`{"paymentMethodId":" \tsbx_card\r\n"}`, `{"tags":["a","\u202e"]}`, `{"customer":{"name":"\ud800"}}`, "{\"note\":\"\xff\"}", `{"amount":1e400}`, `{"count":1.5}`,
		`{"count":9223372036854775808}`, `{"amount":1}{}`, `{"amount":1} x`, `[]`, `null`, `"text"`, ``, strings.Repeat("[", 20000), `{"tags":[null]}`, `{"\u0061mount":1}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var loose any
		var got order
		errLoose, err := unmarshal(body, &loose), unmarshal(body, &got)
		if err == nil && errLoose != nil {
			t.Errorf("%q: the checks do not read it (%v), and the handler does", body, errLoose)
		}
		if err != nil {
			return
		}
		if !utf8.Valid(body) || !json.Valid(body) {
			t.Errorf("%q is no JSON, and is read", body)
		}
		for _, text := range append([]string{got.Method}, append(got.Tags, got.name())...) {
			if strings.ContainsFunc(strings.Trim(text, " \t\r\n"), printable.Unprintable) {
				t.Errorf("%q: %q is read", body, text)
			}
		}
		if note := strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(got.Note); strings.ContainsFunc(strings.Trim(note, " "), printable.Unprintable) {
			t.Errorf("%q: %q is read", body, got.Note)
		}
		// Another reader, which takes names without their case, finds nothing under ours that we
		// did not.
		var other map[string]json.RawMessage
		if json.Unmarshal(body, &other) != nil {
			return // null
		}
		for name, value := range map[string]any{"paymentMethodId": got.Method, "note": got.Note, "hostedCheckout": got.Hosted, "tags": got.Tags} {
			into := reflect.New(reflect.TypeOf(value))
			if raw, there := other[name]; there {
				if err := json.Unmarshal(raw, into.Interface()); err != nil {
					t.Errorf("%q: %s: %v", body, name, err)
				}
			}
			if want := into.Elem().Interface(); !reflect.DeepEqual(value, want) && !(reflect.ValueOf(value).Kind() == reflect.Slice && len(got.Tags) == 0) {
				t.Errorf("%q: %s is %v to us, and %v to others", body, name, value, want)
			}
		}
		// What we read and write is read as the same.
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		var again order
		if err := unmarshal(text, &again); err != nil || !reflect.DeepEqual(again.plain(), got.plain()) {
			t.Errorf("%q is written as %s and read again as %+v, %v", body, text, again, err)
		}
	})
}

func (o order) name() string {
	if o.Customer == nil {
		return ""
	}
	return o.Customer.Name
}

// plain is an order in which a list without members is none.
func (o order) plain() order {
	if len(o.Tags) == 0 {
		o.Tags = nil
	}
	return o
}

// Only a body that says that it is JSON is taken, and then it says so in one way.
func FuzzContentType(f *testing.F) {
	for _, kind := range []string{"application/json", "Application/JSON; charset=utf-8", "application/json;", "text/plain", "", "application/json, text/plain", "application/json; charset", "application/json\x00", "application/x-www-form-urlencoded"} {
		f.Add(kind)
	}
	op := &huma.Operation{RequestBody: &huma.RequestBody{Required: true}}
	f.Fuzz(func(t *testing.T, kind string) {
		r := &http.Request{Header: http.Header{"Content-Type": {kind}}, ContentLength: 2}
		err := CheckContentType(op, r)
		var refused *problem.Error
		if err != nil && (!errors.As(err, &refused) || refused.Code != problem.ContentTypeRequired) {
			t.Fatalf("%q: %v", kind, err)
		}
		if got := r.Header.Get("Content-Type"); err == nil && (got != "application/json" || !strings.Contains(strings.ToLower(kind), "application/json")) {
			t.Errorf("%q is taken, as %q", kind, got)
		}
	})
}
