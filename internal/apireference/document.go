package apireference

import (
	"maps"
	"slices"
	"strings"
)

// document reads an OpenAPI document as a JSON tree: the page shows what it knows and
// ignores the rest.
type document struct{ tree map[string]any }

// at follows keys from a node, and the references on the way; nil if a key is missing.
func (d document) at(node any, keys ...string) any {
	for _, key := range keys {
		object, _ := d.resolve(node).(map[string]any)
		node = object[key]
	}
	return d.resolve(node)
}

func (d document) resolve(node any) any {
	for range 8 { // a reference to a reference
		object, _ := node.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok {
			return node
		}
		node = d.tree
		for _, key := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := node.(map[string]any)
			node = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		}
	}
	return node
}

func (d document) object(node any, keys ...string) map[string]any {
	m, _ := d.at(node, keys...).(map[string]any)
	return m
}

func (d document) list(node any, keys ...string) []any {
	l, _ := d.at(node, keys...).([]any)
	return l
}

func (d document) text(node any, keys ...string) string {
	s, _ := d.at(node, keys...).(string)
	return s
}

func (d document) flag(node any, keys ...string) bool {
	b, _ := d.at(node, keys...).(bool)
	return b
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// order lists the properties of a schema in reading order.
func (d document) order(schema any) []string {
	properties := d.object(schema, "properties")
	var names []string
	for _, name := range d.list(schema, "x-order") {
		if text, ok := name.(string); ok && properties[text] != nil {
			names = append(names, text)
		}
	}
	for _, name := range sorted(properties) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// alternatives returns the schema to show: if it may be null, the other one.
func (d document) alternatives(schema any) (chosen any, null bool) {
	schema = d.resolve(schema)
	if d.at(schema, "properties") != nil { // its anyOf only says which properties go together
		return schema, false
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		options := d.list(schema, key)
		if len(options) == 0 {
			continue
		}
		for _, option := range options {
			if d.text(option, "type") == "null" {
				null = true
			} else if chosen == nil {
				chosen = d.resolve(option)
			}
		}
		return chosen, null
	}
	return schema, false
}
