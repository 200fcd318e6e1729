package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
)

// argument is one of a tool's.
type argument struct {
	name, about string
	kind        string   // "string" if empty; "integer", "number", "boolean", "texts": an object of texts
	choices     []string // of a string
	required    bool
	least, most float64 // of a number, if most is not 0
	id          bool    // it is a part of a path
	query       string  // the parameter of the API, if it has another name
}

// maxArgument bounds a text.
const maxArgument = 500

// idPattern is what an id looks like: nothing in it leads to another path.
const idPattern = "^[A-Za-z0-9_-]{1,120}$"

var idText = regexp.MustCompile(idPattern)

func (a argument) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: a.kind, Description: a.about}
	switch a.kind {
	case "":
		s.Type = "string"
		for _, choice := range a.choices {
			s.Enum = append(s.Enum, choice)
		}
		switch most := maxArgument; {
		case a.id:
			s.Pattern = idPattern
		case len(a.choices) == 0:
			s.MaxLength = &most
		}
	case "texts":
		most, length := 20, maxArgument
		s.Type, s.MaxProperties, s.AdditionalProperties = "object", &most, &jsonschema.Schema{Type: "string", MaxLength: &length}
	case "integer", "number":
		if a.most != 0 {
			s.Minimum, s.Maximum = &a.least, &a.most
		}
	}
	return s
}

// values are a call's arguments: the schema was checked. Numbers keep their digits.
type values map[string]any

func readValues(arguments json.RawMessage, list []argument) (values, error) {
	in := values{}
	if len(arguments) > 0 {
		d := json.NewDecoder(bytes.NewReader(arguments))
		d.UseNumber()
		if err := d.Decode(&in); err != nil {
			return nil, fmt.Errorf("the arguments are no JSON object")
		}
	}
	for _, a := range list {
		if text := in.text(a.name); a.id && text != "" && !idText.MatchString(text) {
			return nil, fmt.Errorf("%s is no id", a.name)
		}
	}
	return in, nil
}

// text is an argument as text, "" if it is absent.
func (v values) text(name string) string {
	if v[name] == nil {
		return ""
	}
	return fmt.Sprint(v[name])
}

func (v values) flag(name string) bool { b, _ := v[name].(bool); return b }

// query are the arguments that are no part of the path, as parameters of the API.
func (v values) query(list []argument) url.Values {
	query := url.Values{}
	for _, a := range list {
		if text := v.text(a.name); text != "" && !a.id {
			name := a.query
			if name == "" {
				name = a.name
			}
			query.Set(name, text)
		}
	}
	return query
}

// body are the named arguments that are present.
func (v values) body(names ...string) map[string]any {
	body := map[string]any{}
	for _, name := range names {
		if v[name] != nil {
			body[name] = v[name]
		}
	}
	return body
}
