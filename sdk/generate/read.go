package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The part of OpenAPI that is read.
type (
	document struct {
		Info       struct{ Version string }
		Paths      map[string]map[string]*call
		Webhooks   map[string]map[string]*call
		Components struct{ Schemas map[string]*property }
	}
	call struct {
		ID         string `json:"operationId"`
		Summary    string
		Deprecated bool
		Security   []map[string][]string
		Parameters []parameter
		Body       *content `json:"requestBody"`
		Responses  map[string]content
	}
	parameter struct {
		In, Name, Description string
		Deprecated            bool
		Required              bool
		Schema                property
	}
	content struct {
		Required bool
		Content  map[string]struct{ Schema property }
	}
	property struct {
		Ref                  string `json:"$ref"`
		Type                 any
		Format, Description  string
		Enum                 []*string
		Items                *property
		AnyOf                []property
		Properties           map[string]property
		Required             []string
		Order                []string        `json:"x-order"`
		AdditionalProperties json.RawMessage `json:"additionalProperties"`
	}
)

// reader turns a document into a service.
type reader struct {
	document
	enums map[string]enum // by their sorted values
}

func readDocument(text []byte) (service, error) {
	r := reader{enums: map[string]enum{}}
	if err := json.Unmarshal(text, &r.document); err != nil {
		return service{}, err
	}
	if len(r.Paths) == 0 || len(r.Components.Schemas) == 0 {
		return service{}, fmt.Errorf("it has no paths or no schemas")
	}
	for _, place := range slices.Sorted(maps.Keys(enumNames)) {
		of, name, _ := strings.Cut(place, ".")
		var values []string
		if s := r.Components.Schemas[of]; s != nil {
			values = s.Properties[name].values()
		}
		if len(values) == 0 {
			return service{}, fmt.Errorf("fit.go names the enumeration %s, which it does not have", place)
		}
		r.enums[sortedKey(values)] = enum{enumNames[place], values}
	}
	s := service{Version: r.Info.Version, Events: r.events()}
	for _, key := range slices.Sorted(maps.Keys(r.enums)) {
		s.Enums = append(s.Enums, r.enums[key])
	}
	slices.SortFunc(s.Enums, func(a, b enum) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(r.Components.Schemas)) {
		if !core[name] && !r.isPage(name) {
			s.Schemas = append(s.Schemas, r.schema(name))
		}
	}
	slices.SortFunc(s.Schemas, func(a, b schema) int { return strings.Compare(a.Name, b.Name) })
	var err error
	if s.Operations, err = r.operations(); err != nil {
		return s, err
	}
	return s, s.direct()
}

// direct marks the schemas of requests. One that is in replies too is an error: its enumerations would have to be open and closed.
func (s service) direct() error {
	sent, received := map[string]bool{}, map[string]bool{}
	for _, o := range s.Operations {
		s.reach(o.Body, sent)
		s.reach(o.Reply, received)
	}
	for _, g := range s.Events {
		s.reach(g.Object, received)
	}
	for i, one := range s.Schemas {
		if sent[one.Name] && received[one.Name] {
			return fmt.Errorf("%s is in requests and in replies: give requests a schema of their own", one.Name)
		}
		s.Schemas[i].Sent = sent[one.Name]
	}
	return nil
}

// reach adds a schema, and those that it has.
func (s service) reach(name string, to map[string]bool) {
	if name == "" || to[name] {
		return
	}
	to[name] = true
	for _, f := range s.schemaOf(name).Fields {
		if ref := f.Type.base(); ref.Of == "object" {
			s.reach(ref.Ref, to)
		}
	}
}

// values are those of an enumeration, or of the enumeration in a list.
func (p property) values() []string {
	if p.Items != nil {
		return texts(p.Items.Enum)
	}
	return texts(p.Enum)
}

func texts(values []*string) []string {
	var list []string
	for _, v := range values {
		if v != nil {
			list = append(list, *v)
		}
	}
	return list
}

func sortedKey(values []string) string {
	return strings.Join(slices.Sorted(slices.Values(values)), "\n")
}

func refName(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// isPage reports whether a schema is a page of a list.
func (r *reader) isPage(name string) bool {
	s := r.Components.Schemas[name]
	return s != nil && s.Properties["pagination"].Ref != "" && s.Properties["data"].Items != nil
}

// schema returns a schema.
func (r *reader) schema(name string) schema {
	from := r.Components.Schemas[name]
	order := from.Order
	if len(order) == 0 {
		order = slices.Sorted(maps.Keys(from.Properties))
	}
	one := schema{Name: name}
	for _, set := range from.AnyOf {
		one.Either = append(one.Either, set.Required)
	}
	for _, property := range order {
		of := from.Properties[property]
		one.Fields = append(one.Fields, field{Name: property, Doc: of.Description, Type: r.kindOf(of), Required: slices.Contains(from.Required, property)})
	}
	return one
}

// kindOf returns the kind of a property.
func (r *reader) kindOf(p property) kind {
	name, nullable := "", false
	switch t := p.Type.(type) {
	case string:
		name = t
	case []any:
		for _, one := range t {
			if one == "null" {
				nullable = true
			} else {
				name, _ = one.(string)
			}
		}
	}
	switch {
	case p.Ref != "":
		if refName(p.Ref) == "Event" {
			return kind{Of: "event"}
		}
		return kind{Of: "object", Ref: refName(p.Ref)}
	case len(p.AnyOf) == 2 && p.AnyOf[1].Type == "null":
		k := r.kindOf(p.AnyOf[0])
		k.Nullable = true
		return k
	case len(p.Enum) > 0:
		values := texts(p.Enum)
		return kind{Of: "enum", Ref: r.enums[sortedKey(values)].Name, Values: values, Nullable: nullable || len(values) < len(p.Enum)}
	case name == "array" && p.Items != nil:
		item := r.kindOf(*p.Items)
		return kind{Of: "list", Item: &item, Nullable: nullable}
	case name == "string" && p.Format == "date-time":
		return kind{Of: "moment", Nullable: nullable}
	case name == "string":
		return kind{Of: "text", Nullable: nullable}
	case name == "number" || name == "integer" || name == "boolean":
		return kind{Of: name, Nullable: nullable}
	case name == "object" && len(p.AdditionalProperties) > 2 && p.AdditionalProperties[0] == '{':
		return kind{Of: "table", Nullable: nullable}
	}
	return kind{Of: "any"}
}

// events groups the types of events by what they are about.
func (r *reader) events() []eventGroup {
	byObject := map[string][]string{}
	for name, methods := range r.Webhooks {
		of := methods["post"].Body.Content["application/json"].Schema.Properties["data"].Properties["object"].Ref
		byObject[refName(of)] = append(byObject[refName(of)], name)
	}
	var list []eventGroup
	for _, object := range slices.Sorted(maps.Keys(byObject)) {
		slices.Sort(byObject[object])
		list = append(list, eventGroup{byObject[object], object})
	}
	return list
}

// operations returns all operations that are not deprecated, sorted by their names.
func (r *reader) operations() ([]operation, error) {
	var list []operation
	for path, methods := range r.Paths {
		for method, c := range methods {
			if c.Deprecated || handWritten[c.ID] {
				continue
			}
			made, err := r.operation(strings.ToUpper(method), path, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.ID, err)
			}
			list = append(list, made...)
		}
	}
	slices.SortFunc(list, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// operation returns a call as one operation for each kind of reply.
func (r *reader) operation(method, path string, c *call) ([]operation, error) {
	o := operation{ID: c.ID, Method: method, Path: path, Doc: c.Summary, Open: c.Security != nil && len(c.Security) == 0}
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			o.Params = append(o.Params, strings.Trim(part, "{}"))
		}
	}
	for _, p := range c.Parameters {
		switch {
		case p.Deprecated || p.Name == "shopId" || p.Name == "": // the last are references: the version and strict
		case p.In == "query":
			k := r.kindOf(p.Schema)
			k.Nullable = p.Name == "startingAfter" // the nextCursor of the last page
			o.Query = append(o.Query, field{Name: p.Name, Doc: p.Description, Type: k, Required: p.Required})
		case p.Name == "Idempotency-Key":
			o.Key = true
		case p.Name == "Sandbox-Simulate":
			o.Simulate = texts(p.Schema.Enum)
		case p.Name == "Sandbox-Strict":
			o.Strict = true
		case p.In != "path":
			return nil, fmt.Errorf("no SDK sends the parameter %s", p.Name)
		}
	}
	if c.Body != nil {
		o.Body, o.Optional = refName(c.Body.Content["application/json"].Schema.Ref), !c.Body.Required
	}
	several := false
	for status, reply := range c.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		several = several || len(reply.Content) > 1
		if s, found := reply.Content["application/json"]; found {
			o.Reply, o.Page = r.reply(s.Schema.Ref)
		}
	}
	if several != (variants[c.ID] != nil) {
		return nil, fmt.Errorf("fit.go and the document do not agree on whether its reply is of several kinds")
	}
	if o.Page && slices.ContainsFunc(o.Query, func(f field) bool { return f.Name == "startingAfter" }) {
		o.All = "all" + strings.TrimPrefix(upper(c.ID), "List")
	}
	if !several {
		return []operation{o}, nil
	}
	return split(o), nil
}

// reply returns the schema of a reply, and whether it is a page of them.
func (r *reader) reply(ref string) (string, bool) {
	name := refName(ref)
	if r.isPage(name) {
		return refName(r.Components.Schemas[name].Properties["data"].Items.Ref), true
	}
	return name, false
}

// split makes the variants of an operation.
func split(o operation) []operation {
	var list []operation
	for _, v := range variants[o.ID] {
		one := o
		one.ID, one.Fixed = v.id, v.fixed
		one.Query = slices.DeleteFunc(slices.Clone(o.Query), func(f field) bool { return slices.Contains(v.without, f.Name) })
		if v.doc != "" {
			one.Doc = v.doc
		}
		if v.file {
			one.Reply, one.Page, one.All = "", false, ""
		}
		list = append(list, one)
	}
	return list
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
