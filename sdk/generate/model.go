package main

import (
	"slices"
	"strings"
)

// service is what the SDKs are made from.
type service struct {
	Version    string // of the API
	Schemas    []schema
	Enums      []enum
	Operations []operation
	Events     []eventGroup
}

// schema is an object of JSON.
type schema struct {
	Name   string
	Fields []field
	Sent   bool // in requests; else in replies
	// Either lists sets of fields, one of which must be there whole; none if Required says all.
	Either [][]string
}

// with splits the fields into those that belong to one of the sets, in which they are required, and all others.
func (s schema) with(set []string) (own, others []field) {
	for _, f := range s.Fields {
		if slices.Contains(set, f.Name) {
			f.Required = true
			own = append(own, f)
		} else {
			others = append(others, f)
		}
	}
	return own, others
}

// field is a property of a schema, or a parameter of a query.
type field struct {
	Name, Doc string
	Type      kind
	Required  bool
}

// kind is the type of a value.
type kind struct {
	// Of is text, number, integer, boolean, moment, enum, list, table (of strings), object, event or any.
	Of       string
	Nullable bool
	Ref      string   // object: the schema. enum: its name, "" for one that is used in one place
	Values   []string // enum
	Item     *kind    // list
}

// enum is an enumeration with a name. The service may add values to it: what it sends is open, while requests may have only the values that
// are known.
type enum struct {
	Name   string
	Values []string
}

// operation is a call of the API.
type operation struct {
	ID, Method, Path, Doc string
	Params                []string // of the path, in order
	Query                 []field
	Fixed                 map[string]string // parameters of the query that are always sent
	Body                  string            // a schema, "" for none
	Optional              bool              // the body may be left out
	Key                   bool              // takes an Idempotency-Key
	Simulate              []string          // values of Sandbox-Simulate
	Strict                bool              // takes Sandbox-Strict
	Open                  bool              // needs no credentials
	Reply                 string            // a schema, Event, or "" for a file
	Page                  bool              // the reply is a page of Reply
	All                   string            // the name of the iterator over all pages
}

// eventGroup is the types of events about one schema.
type eventGroup struct {
	Types  []string
	Object string
}

// needed reports whether one of the fields is required.
func needed(fields []field) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.Required })
}

// either says which fields of a schema one of the sets must have.
func either(s schema) string {
	var sets []string
	for _, set := range s.Either {
		sets = append(sets, strings.Join(set, " and "))
	}
	return "Needs " + strings.Join(sets, ", or ")
}

// closedName is the name of an enumeration's values that are known.
func closedName(enum string) string { return "Known" + enum }

// schemaOf returns the schema with a name.
func (s service) schemaOf(name string) schema {
	for _, one := range s.Schemas {
		if one.Name == name {
			return one
		}
	}
	return schema{}
}

// numeric reports whether a schema has exact decimals, itself or below.
func (s service) numeric(name string, seen map[string]bool) bool {
	if name == "Event" {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	for _, f := range s.schemaOf(name).Fields {
		if f.Type.base().Of == "number" || f.Type.base().Of == "event" {
			return true
		}
		if ref := f.Type.base().Ref; f.Type.base().Of == "object" && s.numeric(ref, seen) {
			return true
		}
	}
	return false
}

// base is the kind of what is in a list, else the kind.
func (k kind) base() kind {
	for k.Of == "list" {
		k = *k.Item
	}
	return k
}

// shapes lists the schemas that are or have exact decimals, and the envelope of errors.
func (s service) shapes() []shapeOf {
	list := []shapeOf{{"Envelope", [][2]string{{"error", "Problem"}}}, {"Problem", [][2]string{{"details", "ErrorDetails"}}}}
	for _, one := range s.Schemas {
		if fields := s.shape(one); len(fields) > 0 {
			list = append(list, shapeOf{one.Name, fields})
		}
	}
	return list
}

// shapeOf is a schema's fields that are or have exact decimals.
type shapeOf struct {
	Name   string
	Fields [][2]string
}

// shape lists the fields of a schema that are or have exact decimals: "n" for a decimal, else the schema's name.
func (s service) shape(of schema) [][2]string {
	var list [][2]string
	for _, f := range of.Fields {
		switch b := f.Type.base(); {
		case b.Of == "number":
			list = append(list, [2]string{f.Name, "n"})
		case b.Of == "event":
			list = append(list, [2]string{f.Name, "Event"})
		case b.Of == "object" && s.numeric(b.Ref, map[string]bool{}):
			list = append(list, [2]string{f.Name, b.Ref})
		}
	}
	return list
}
