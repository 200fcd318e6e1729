package main

import (
	"fmt"
	"slices"
	"strings"
)

func phpKind(k kind, sent bool) string {
	var text string
	switch k.Of {
	case "text", "moment":
		text = "string"
	case "number":
		text = "Decimal"
		if sent {
			text = "Decimal|int|numeric-string"
		}
	case "integer":
		text = "int"
	case "boolean":
		text = "bool"
	case "table":
		text = "array<string, string>"
	case "object":
		text = k.Ref
	case "event":
		text = "Event"
	case "enum":
		text = "string"
		if sent {
			text = "'" + strings.Join(k.Values, "'|'") + "'"
		}
	case "list":
		text = "list<" + phpKind(*k.Item, sent) + ">"
	default:
		text = "mixed"
	}
	if k.Nullable {
		text += "|null"
	}
	return text
}

// phpSchema writes the shape of a schema, or the shapes if one of several sets of fields must be there.
func phpSchema(s schema) string {
	if len(s.Either) == 0 {
		return phpShape(s.Fields, s.Sent)
	}
	var shapes []string
	for _, set := range s.Either {
		own, others := s.with(set)
		shapes = append(shapes, phpShape(append(own, others...), s.Sent))
	}
	return strings.Join(shapes, "|")
}

// phpShape writes the shape of an array. A caller writes it if it is sent.
func phpShape(fields []field, sent bool) string {
	var list []string
	for _, f := range fields {
		name := f.Name
		if !identifier.MatchString(name) {
			name = "'" + name + "'"
		}
		if !f.Required {
			name += "?"
		}
		list = append(list, name+": "+phpKind(f.Type, sent))
	}
	return "array{" + strings.Join(list, ", ") + "}"
}

func phpTypes(api service) string {
	var b strings.Builder
	b.WriteString("<?php\n\n// " + header + "\n\ndeclare(strict_types=1);\n\nnamespace CascadaPay;\n\n/**\n * The shapes of requests and replies: arrays with the names of the wire. An array may have more keys than here, and a string\n * of a reply more values than API_ENUMS: the service adds some.\n *\n")
	for _, s := range api.Schemas {
		fmt.Fprintf(&b, " * @phpstan-type %s %s\n", s.Name, phpSchema(s))
	}
	for _, o := range api.Operations {
		if len(o.Query) > 0 {
			fmt.Fprintf(&b, " * @phpstan-type %s %s\n", queryName(o), phpShape(o.Query, true))
		}
	}
	b.WriteString(" * @phpstan-type Pagination array{total: int, limit: int, offset: int, pages: int, totalCapped?: bool, nextCursor: string|null}\n")
	base := "id: string, apiVersion: string, createdAt: string, environment: string, merchantId: string, shopId: string, sequence: int, request: EventRequest"
	var names []string
	for _, g := range api.Events {
		names = append(names, g.Object+"Event")
		fmt.Fprintf(&b, " * @phpstan-type %sEvent array{type: %s, data: array{object: %s, previous: EventPrevious}, %s}\n", g.Object, "'"+strings.Join(g.Types, "'|'")+"'", g.Object, base)
	}
	fmt.Fprintf(&b, " * @phpstan-type Event %s\n */\nfinal class Types\n{\n", strings.Join(names, "|"))
	fmt.Fprintf(&b, "    /** The version of the API that these types are of. Each request names it. */\n    public const API_VERSION = '%s';\n", api.Version)
	b.WriteString("\n    /** The values of enumerations that are known today. */\n    public const API_ENUMS = [\n")
	for _, e := range api.Enums {
		fmt.Fprintf(&b, "        '%s' => ['%s'],\n", e.Name, strings.Join(e.Values, "', '"))
	}
	b.WriteString("    ];\n}\n")
	return b.String()
}

func phpShapes(api service) string {
	var b strings.Builder
	b.WriteString("<?php\n\n// " + header + "\n\ndeclare(strict_types=1);\n\nnamespace CascadaPay\\Internal;\n\n/** Where exact decimals are: a field is 'n', 'o' for a table of texts, or the name of what it has. */\nfinal class Shapes\n{\n    public const FIELDS = [\n")
	for _, s := range api.shapes() {
		var fields []string
		for _, f := range s.Fields {
			fields = append(fields, fmt.Sprintf("'%s' => '%s'", f[0], f[1]))
		}
		for _, f := range api.schemaOf(s.Name).Fields {
			if f.Type.Of == "table" {
				fields = append(fields, fmt.Sprintf("'%s' => 'o'", f.Name))
			}
		}
		fmt.Fprintf(&b, "        '%s' => [%s],\n", s.Name, strings.Join(fields, ", "))
	}
	b.WriteString("    ];\n\n    /** What the events are about. */\n    public const EVENTS = [\n")
	for _, g := range api.Events {
		for _, t := range g.Types {
			fmt.Fprintf(&b, "        '%s' => '%s',\n", t, g.Object)
		}
	}
	b.WriteString("    ];\n}\n")
	return b.String()
}

func phpOperations(api service) string {
	var b strings.Builder
	b.WriteString("<?php\n\n// " + header + "\n\ndeclare(strict_types=1);\n\nnamespace CascadaPay;\n\nuse CascadaPay\\Internal\\Core;\nuse CascadaPay\\Internal\\Operation;\n\n/**\n * The operations of the API.\n *\n")
	used := map[string]bool{"Pagination": true}
	for _, o := range api.Operations {
		for _, name := range []string{o.Body, o.Reply} {
			if name != "" {
				used[name] = true
			}
		}
		if len(o.Query) > 0 {
			used[queryName(o)] = true
		}
	}
	var names []string
	for name := range used {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " * @phpstan-import-type %s from Types\n", name)
	}
	b.WriteString(" */\nabstract class Operations extends Core\n{\n")
	for i, o := range api.Operations {
		if i > 0 {
			b.WriteString("\n")
		}
		phpOperation(&b, o)
	}
	b.WriteString("}\n")
	return b.String()
}

// phpParameters returns the parameters of an operation, their docs, and how they are passed on.
func phpParameters(o operation) (declared, docs, options []string) {
	for _, p := range o.Params {
		declared = append(declared, "string $"+p)
	}
	if o.Body != "" {
		text := "array $body"
		if o.Optional {
			text += " = []"
		}
		declared, docs = append(declared, text), append(docs, "@param "+o.Body+" $body")
	}
	if len(o.Query) > 0 {
		text := "array $query"
		if !needed(o.Query) {
			text += " = []"
		}
		declared, docs = append(declared, text), append(docs, "@param "+queryName(o)+" $query")
	}
	option := func(of, name string) {
		declared, options = append(declared, of+" $"+name+" = null"), append(options, fmt.Sprintf("'%s' => $%s", name, name))
	}
	if o.Reply == "" {
		option("mixed", "to")
		docs = append(docs, "@param resource|null $to where the file is written; without it the reply has it")
	}
	if o.Key {
		option("?string", "idempotencyKey")
	}
	if len(o.Simulate) > 0 {
		option("?string", "sandboxSimulate")
		docs = append(docs, "@param '"+strings.Join(o.Simulate, "'|'")+"'|null $sandboxSimulate")
	}
	if o.Strict {
		option("?bool", "sandboxStrict")
	}
	option("?float", "timeout")
	option("?int", "retries")
	option("?string", "shopId")
	option("?callable", "onReply")
	docs = append(docs, "@param (callable(Reply): void)|null $onReply")
	return declared, docs, options
}

func phpMethod(b *strings.Builder, name, doc, reply, documented, body string, declared, docs []string) {
	fmt.Fprintf(b, "    /**\n     * %s\n     *\n", doc)
	for _, d := range docs {
		fmt.Fprintf(b, "     * %s\n", d)
	}
	if documented != "" {
		fmt.Fprintf(b, "     * @return %s\n", documented)
	}
	fmt.Fprintf(b, "     * @throws CascadaException the service refused\n     * @throws ConnectionException no whole reply came\n     */\n    public function %s(\n", name)
	for _, d := range declared {
		fmt.Fprintf(b, "        %s,\n", d)
	}
	fmt.Fprintf(b, "    ): %s {\n        %s\n    }\n", reply, body)
}

func phpOperation(b *strings.Builder, o operation) {
	declared, docs, options := phpParameters(o)
	what := []string{"'" + o.Method + "'", "'" + o.Path + "'"}
	if o.Body != "" {
		what = append(what, "body: '"+o.Body+"'")
	}
	if o.Reply != "" {
		what = append(what, "reply: '"+o.Reply+"'")
	}
	for _, on := range []struct {
		name string
		is   bool
	}{{"page", o.Page}, {"key", o.Key}, {"open", o.Open}} {
		if on.is {
			what = append(what, on.name+": true")
		}
	}
	if format := o.Fixed["format"]; format != "" {
		what = append(what, "fixed: ['format' => '"+format+"']")
	}
	var ids []string
	for _, p := range o.Params {
		ids = append(ids, "$"+p)
	}
	body, query := "null", "[]"
	if o.Body != "" {
		body = "$body"
	}
	if len(o.Query) > 0 {
		query = "$query"
	}
	reply, documented, method := "array", o.Reply, "json"
	switch {
	case o.Page:
		documented = "array{data: list<" + o.Reply + ">, pagination: Pagination}"
	case o.Reply == "":
		reply, documented, method = "Download", "", "file"
	}
	text := fmt.Sprintf("return $this->%s(new Operation(%s), [%s], %s, %s, [%s]);", method, strings.Join(what, ", "), strings.Join(ids, ", "), body, query, strings.Join(options, ", "))
	phpMethod(b, o.ID, o.Doc+".", reply, documented, text, declared, docs)
	if o.All != "" {
		var pass []string
		for _, option := range options {
			name, _, _ := strings.Cut(strings.Trim(option, "'"), "'")
			pass = append(pass, name+": $"+name)
		}
		inner := strings.Join(append(append(ids, "$one"), pass...), ", ")
		b.WriteString("\n")
		phpMethod(b, o.All, o.Doc+", over all pages.", "\\Generator", "\\Generator<int, "+o.Reply+">",
			fmt.Sprintf("return $this->each($query, fn (array $one): array => $this->%s(%s));", o.ID, inner), declared, docs)
	}
}
