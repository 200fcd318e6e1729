package apireference

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// field is a property or a parameter as a row of a table.
type field struct {
	Name     string
	Type     string
	Required bool
	Text     template.HTML
	Enum     []string
	Limits   []string
	Fields   []field // of an object, or of an array's items
}

// deepest limits how deep nested schemas are shown.
const deepest = 5

// fields lists the fields of an object, or of an array of objects.
func (d document) fields(schema any, depth int) (list []field) {
	schema, _ = d.alternatives(schema)
	if items := d.at(schema, "items"); items != nil {
		schema, _ = d.alternatives(items)
	}
	if depth == deepest {
		return nil
	}
	required := d.list(schema, "required")
	properties := d.object(schema, "properties")
	for _, name := range d.order(schema) {
		f := d.field(name, properties[name], depth)
		f.Required = slices.Contains(required, any(name))
		list = append(list, f)
	}
	return list
}

func (d document) field(name string, schema any, depth int) field {
	description := ""
	if m, ok := schema.(map[string]any); ok {
		description, _ = m["description"].(string) // beside a $ref
	}
	chosen, null := d.alternatives(schema)
	f := field{Name: name, Type: d.typeOf(chosen), Limits: d.limits(chosen), Fields: d.fields(chosen, depth+1)}
	if null {
		f.Type += " or null"
	}
	if description == "" {
		description = d.text(chosen, "description")
	}
	f.Text = prose(description)
	values := d.list(chosen, "enum")
	if values == nil {
		values = d.list(chosen, "items", "enum")
	}
	for _, v := range values {
		if v == nil { // the type already says so
			continue
		}
		f.Enum = append(f.Enum, fmt.Sprint(v))
	}
	return f
}

// typeOf names a type: "string, date-time", "array of objects, or null".
func (d document) typeOf(schema any) string {
	var kinds []string
	switch t := d.at(schema, "type").(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, kind := range t {
			kinds = append(kinds, fmt.Sprint(kind))
		}
	}
	if len(kinds) == 0 {
		if d.object(schema, "properties") == nil {
			return "anything"
		}
		kinds = []string{"object"}
	}
	if kinds[0] == "array" {
		items, _ := d.alternatives(d.at(schema, "items"))
		if of := d.typeOf(items); of != "anything" {
			kinds[0] += " of " + strings.TrimSuffix(of, "s") + "s"
		}
	} else if format := d.text(schema, "format"); format != "" && format != "int64" && format != "int32" {
		kinds[0] = format
	}
	return strings.Join(kinds, " or ")
}

// limits lists the other constraints on a value.
func (d document) limits(schema any) (list []string) {
	add := func(key, format string) {
		if v := d.at(schema, key); v != nil {
			list = append(list, fmt.Sprintf(format, number(v)))
		}
	}
	add("default", "default %s")
	add("minimum", "at least %s")
	add("exclusiveMinimum", "above %s")
	add("maximum", "at most %s")
	add("minLength", "%s or more characters")
	add("maxLength", "at most %s characters")
	add("maxItems", "%s at most")
	add("pattern", "matches %s")
	return list
}

// number writes 100000, not 1e+05.
func number(v any) string {
	if f, ok := v.(float64); ok {
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", f), "0"), ".")
	}
	return fmt.Sprint(v)
}
