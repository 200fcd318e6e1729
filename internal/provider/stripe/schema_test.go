package stripe

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// schema is the part of a type in Stripe's OpenAPI document that we need.
type schema struct {
	Ref        string             `json:"$ref"`
	Enum       []any              `json:"enum"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	// Additional is a schema if any name may be a field, as in metadata, and
	// false if not.
	Additional json.RawMessage `json:"additionalProperties"`
}

// document is the OpenAPI document in stripe-mock. stripe-mock accepts optional fields
// with any name; we do not.
type document struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name   string  `json:"name"`
			In     string  `json:"in"`
			Schema *schema `json:"schema"`
		} `json:"parameters"`
		Body struct {
			Content map[string]struct {
				Schema *schema `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

func loadDocument(t *testing.T) (d document) {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", mock).Output()
	if err != nil {
		t.Fatalf("fetch %s: %v", mock, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "embedded", "openapi", "spec3.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var variable = regexp.MustCompile(`\{[a-z_]+\}`)

// unknown lists the fields of a call that are not in the document.
func (d document) unknown(verb, path string, fields url.Values) (names []string) {
	for template, verbs := range d.Paths {
		operation, ok := verbs[strings.ToLower(verb)]
		if !ok || variable.ReplaceAllString(template, "ID") != path {
			continue
		}
		root := &schema{Properties: map[string]*schema{}}
		for _, p := range operation.Parameters {
			if p.In == "query" {
				root.Properties[p.Name] = p.Schema
			}
		}
		if verb == "POST" {
			root = operation.Body.Content["application/x-www-form-urlencoded"].Schema
		}
		for name := range fields {
			if !root.has(strings.Split(strings.ReplaceAll(name, "]", ""), "[")) {
				names = append(names, name)
			}
		}
		return names
	}
	return []string{"the path itself"}
}

// has reports whether a path leads to a field.
func (s *schema) has(path []string) bool {
	if s == nil || len(path) == 0 {
		return s != nil
	}
	for _, other := range s.AnyOf {
		if other.has(path) {
			return true
		}
	}
	if s.Items != nil && strings.Trim(path[0], "0123456789") == "" {
		return s.Items.has(path[1:])
	}
	if field, ok := s.Properties[path[0]]; ok {
		return field.has(path[1:])
	}
	return len(s.Additional) > 0 && s.Additional[0] == '{' && len(path) == 1
}

// The fake's objects have only fields and words that Stripe has.
func TestFakeFollowsStripesDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("it fetches a module")
	}
	d := loadDocument(t)
	endings := []providertest.Ending{
		providertest.Open, providertest.Paid, providertest.Declined, providertest.Expired, providertest.Canceled, providertest.WrongAmount, providertest.Disputed,
	}
	for _, rail := range []string{"pix.BRA", "boleto.BRA", "cash.oxxo.MEX", "spei.MEX", "card.CHL"} {
		b := connect(t)
		r := request(rail, "01M7ZWORDS-1")
		b.Charge(ctx(), r)
		c := b.Must(r.Reference)
		for _, c.Ending = range endings {
			d.check(t, "payment_intent", decode[any](t, c.intent()))
			d.check(t, "dispute", decode[any](t, c.disputed(true)))
			if c.hosted() {
				d.check(t, "checkout.session", decode[any](t, c.session(true)))
			}
		}
		b.Move(r.Reference, providertest.Paid)
		b.Refund(ctx(), provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: r.Local})
		for _, made := range b.all(c) {
			d.check(t, "refund", decode[any](t, made))
		}
	}
	b := connect(t)
	_, customer := b.order(t, transfer("01M7ZWORDS-1", 1000))
	b.transfer(customer, 1100, "")
	b.returnByHand(customer, 100)
	b.happens(customer, "refunded_from_payment", 10, object{"refunded_from_payment": object{"refund": "re_1"}})
	b.endReturn(0, "canceled")
	s := b.customers[0]
	d.check(t, "customer", decode[any](t, s.show(true)))
	d.check(t, "refund", decode[any](t, b.returns[0]))
	for _, m := range s.moves {
		d.check(t, "customer_cash_balance_transaction", decode[any](t, m))
	}
}

func (d document) check(t *testing.T, name string, value any) {
	t.Helper()
	if at := d.strange(d.Components.Schemas[name], value); at != "" {
		t.Errorf("%s: the document does not have %s in %v", name, at, value)
	}
}

// strange returns the path of something that a schema does not have, or "".
func (d document) strange(s *schema, value any) string {
	if s == nil {
		return "this"
	}
	if value == nil {
		return ""
	}
	if s.Ref != "" {
		return d.strange(d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")], value)
	}
	if len(s.AnyOf) > 0 {
		at := ""
		for _, other := range s.AnyOf {
			if at = d.strange(other, value); at == "" {
				return ""
			}
		}
		return at
	}
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if s.Properties[name] == nil && len(s.Additional) > 0 && s.Additional[0] == '{' {
				continue
			}
			if at := d.strange(s.Properties[name], field); at != "" {
				return name + "." + at
			}
		}
	case []any:
		for _, item := range v {
			if at := d.strange(s.Items, item); at != "" {
				return at
			}
		}
	case string:
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)) {
			return "the word " + v
		}
	}
	return ""
}
