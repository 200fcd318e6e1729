package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// comment writes a description of one line.
func comment(indent, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	return indent + "/** " + strings.ReplaceAll(text, "*/", "* /") + " */\n"
}

// union writes the values of an enumeration as literals.
func union(values []string) string {
	var list []string
	for _, v := range values {
		list = append(list, strconv.Quote(v))
	}
	return strings.Join(list, " | ")
}

func typescriptKind(k kind, sent bool) string {
	var text string
	switch k.Of {
	case "text", "moment":
		text = "string"
	case "number":
		text = "Decimal"
	case "integer":
		text = "number"
	case "boolean":
		text = "boolean"
	case "table":
		text = "Record<string, string>"
	case "object":
		text = k.Ref
	case "event":
		text = "Event"
	case "enum":
		switch text = k.Ref; {
		case sent && text != "":
			text = closedName(text)
		case sent:
			text = union(k.Values)
		case text == "":
			text = "Open<" + union(k.Values) + ">"
		}
	case "list":
		text = typescriptKind(*k.Item, sent)
		if strings.Contains(text, " | ") && !strings.HasPrefix(text, "Open<") {
			text = "(" + text + ")"
		}
		text += "[]"
	default:
		text = "unknown"
	}
	if k.Nullable {
		text += " | null"
	}
	return text
}

// typescriptFields writes the fields of an interface. In requests a field that may be left out may be undefined too: it is not sent.
func typescriptFields(b *strings.Builder, fields []field, sent bool) {
	for _, f := range fields {
		name := f.Name
		if !identifier.MatchString(name) {
			name = strconv.Quote(name)
		}
		if !f.Required {
			name += "?"
		}
		kind := typescriptKind(f.Type, sent)
		if sent && !f.Required {
			kind += " | undefined"
		}
		b.WriteString(comment("  ", f.Doc))
		fmt.Fprintf(b, "  %s: %s;\n", name, kind)
	}
}

func typescriptTypes(api service) string {
	var b strings.Builder
	b.WriteString("// " + header + "\n\n")
	b.WriteString("import type { Decimal } from \"../decimal.js\";\nimport type { EventOf, UnknownEvent } from \"../webhooks.js\";\n\n")
	b.WriteString("/** A value of these, or one that the service added since this version was made: have a default case. */\nexport type Open<T extends string> = T | (string & {});\n\n")
	fmt.Fprintf(&b, "/** The version of the API that these types are of. Each request names it. */\nexport const apiVersion = %q;\n", api.Version)
	for _, e := range api.Enums {
		fmt.Fprintf(&b, "\n/** The values of %s that are known today. Requests have no other. */\nexport type %s = %s;\nexport type %s = Open<%s>;\n", e.Name, closedName(e.Name), union(e.Values), e.Name, closedName(e.Name))
	}
	for _, s := range api.Schemas {
		typescriptSchema(&b, s)
	}
	for _, o := range api.Operations {
		if len(o.Query) > 0 {
			fmt.Fprintf(&b, "\n/** What %s selects. */\nexport interface %s {\n", o.ID, queryName(o))
			typescriptFields(&b, o.Query, true)
			b.WriteString("}\n")
		}
	}
	b.WriteString("\n/** What happened, as a webhook delivers it: `type` says what `data.object` is. */\nexport type Event =\n")
	for _, g := range api.Events {
		fmt.Fprintf(&b, "  | EventOf<%s, %s>\n", union(g.Types), g.Object)
	}
	b.WriteString("  | UnknownEvent;\n")
	return b.String()
}

// typescriptSchema writes the interface of a schema. If one of several sets of fields must be there, it is a type of an interface and the sets.
func typescriptSchema(b *strings.Builder, s schema) {
	if len(s.Either) == 0 {
		fmt.Fprintf(b, "\nexport interface %s {\n", s.Name)
		typescriptFields(b, s.Fields, s.Sent)
		b.WriteString("}\n")
		return
	}
	var sets []string
	for _, set := range s.Either {
		own, _ := s.with(set)
		var fields []string
		for _, f := range own {
			fields = append(fields, f.Name+": "+typescriptKind(f.Type, s.Sent))
		}
		sets = append(sets, "{ "+strings.Join(fields, "; ")+" }")
	}
	fmt.Fprintf(b, "\n/** %s. */\nexport type %s = {\n", either(s), s.Name)
	typescriptFields(b, s.Fields, s.Sent)
	fmt.Fprintf(b, "} & (%s);\n", strings.Join(sets, " | "))
}

func queryName(o operation) string { return upper(o.ID) + "Query" }

// typescriptShapes writes which fields are exact decimals.
func typescriptShapes(api service) string {
	var b strings.Builder
	b.WriteString("// " + header + "\n\n")
	b.WriteString("/** Where exact decimals are: a field is \"n\", or the name of what it has. */\nexport const shapes: Record<string, Record<string, string>> = {\n")
	for _, s := range api.shapes() {
		var fields []string
		for _, f := range s.Fields {
			fields = append(fields, fmt.Sprintf("%s: %q", f[0], f[1]))
		}
		fmt.Fprintf(&b, "  %s: { %s },\n", s.Name, strings.Join(fields, ", "))
	}
	b.WriteString("};\n\n/** What the events are about. */\nexport const eventObjects: Record<string, string> = {\n")
	for _, g := range api.Events {
		for _, t := range g.Types {
			fmt.Fprintf(&b, "  %q: %q,\n", t, g.Object)
		}
	}
	b.WriteString("};\n")
	return b.String()
}

func typescriptOperations(api service) string {
	var b strings.Builder
	b.WriteString("// " + header + "\n\n")
	b.WriteString("import { Core, type CallOptions, type Download, type IdempotentOptions, type Page } from \"../core.js\";\nimport type * as api from \"./types.js\";\n\n")
	b.WriteString("/** The operations of the API. */\nexport class Operations extends Core {\n")
	for i, o := range api.Operations {
		if i > 0 {
			b.WriteString("\n")
		}
		typescriptOperation(&b, o)
	}
	b.WriteString("}\n")
	return b.String()
}

func typescriptOperation(b *strings.Builder, o operation) {
	var parameters, pass []string
	for _, p := range o.Params {
		parameters = append(parameters, p+": string")
	}
	if o.Body != "" {
		text := "body: api." + o.Body
		if o.Optional {
			text += " = {}"
		}
		parameters, pass = append(parameters, text), append(pass, "body")
	}
	if len(o.Query) > 0 {
		text := "query: api." + queryName(o)
		if !needed(o.Query) {
			text += " = {}"
		}
		parameters, pass = append(parameters, text), append(pass, "query")
	}
	options := "CallOptions"
	if o.Key {
		options = "IdempotentOptions"
	}
	if len(o.Simulate) > 0 {
		options += " & { sandboxSimulate?: " + union(o.Simulate) + " }"
	}
	if o.Strict {
		options += " & { sandboxStrict?: boolean }"
	}
	parameters = append(parameters, "options: "+options+" = {}")
	pass = append([]string{"path: [" + strings.Join(o.Params, ", ") + "]"}, append(pass, "options")...)
	what := fmt.Sprintf("id: %q, method: %q, path: %q", o.ID, o.Method, o.Path)
	if o.Body != "" {
		what += fmt.Sprintf(", body: %q", o.Body)
	}
	if o.Reply != "" {
		what += fmt.Sprintf(", reply: %q", o.Reply)
	}
	if o.Key {
		what += ", key: true"
	}
	if o.Open {
		what += ", open: true"
	}
	for _, name := range []string{"format"} {
		if value := o.Fixed[name]; value != "" {
			what += fmt.Sprintf(", fixed: { %s: %q }", name, value)
		}
	}
	reply, method := "Download", "file"
	if o.Reply != "" {
		reply, method = "api."+o.Reply, "json"
	}
	if o.Page {
		reply = "Page<" + reply + ">"
		what += ", page: true"
	}
	b.WriteString(comment("  ", o.Doc+"."))
	fmt.Fprintf(b, "  %s(%s): Promise<%s> {\n    return this.%s({ %s }, { %s });\n  }\n", o.ID, strings.Join(parameters, ", "), reply, method, what, strings.Join(pass, ", "))
	if o.All != "" {
		b.WriteString("\n" + comment("  ", o.Doc+", over all pages."))
		fmt.Fprintf(b, "  %s(%s): AsyncGenerator<api.%s, void, undefined> {\n    return this.each(%s, (query) => this.%s(%s));\n  }\n",
			o.All, strings.Join(parameters, ", "), o.Reply, "query", o.ID, strings.Join(append(append([]string{}, o.Params...), "query", "options"), ", "))
	}
}
