package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// keywords are names of fields that Python reserves.
var keywords = []string{"from", "None", "True", "False", "class", "def", "import", "in", "is", "not", "or", "and", "pass", "with"}

var humps = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func snake(name string) string {
	return strings.ToLower(humps.ReplaceAllString(name, "${1}_${2}"))
}

func pythonKind(k kind, sent bool) string {
	var text string
	switch k.Of {
	case "text", "moment":
		text = "str"
	case "number":
		text = "Decimal"
		if sent { // an amount may be digits or an integer too
			text = "Amount"
		}
	case "integer":
		text = "int"
	case "boolean":
		text = "bool"
	case "table":
		text = "dict[str, str]"
	case "object":
		text = k.Ref
	case "event":
		text = "Event"
	case "enum":
		switch text = k.Ref; {
		case sent && text != "":
			text = closedName(text)
		case sent:
			text = "Literal[" + quoted(k.Values) + "]"
		case text == "":
			text = "Literal[" + quoted(k.Values) + "] | str"
		}
	case "list":
		list := "list["
		if sent {
			list = "Sequence["
		}
		text = list + pythonKind(*k.Item, sent) + "]"
	default:
		text = "Any"
	}
	if k.Nullable {
		text += " | None"
	}
	return text
}

func quoted(values []string) string {
	var list []string
	for _, v := range values {
		list = append(list, strconv.Quote(v))
	}
	return strings.Join(list, ", ")
}

// pythonSchema writes a schema. If one of several sets of fields must be there, it is a union of one TypedDict for each set, which share the
// other fields.
func pythonSchema(b *strings.Builder, s schema) {
	if len(s.Either) == 0 {
		pythonDict(b, s.Name, "TypedDict", s.Fields, s.Sent)
		return
	}
	base, shared := "_"+s.Name, []field{}
	for _, f := range s.Fields {
		if !slices.ContainsFunc(s.Either, func(set []string) bool { return slices.Contains(set, f.Name) }) {
			shared = append(shared, f)
		}
	}
	pythonDict(b, base, "TypedDict", shared, s.Sent)
	var names []string
	for _, set := range s.Either {
		var own []field
		required, _ := s.with(set)
		for _, f := range s.Fields {
			switch {
			case slices.Contains(set, f.Name):
				own, required = append(own, required[0]), required[1:]
			case !slices.ContainsFunc(shared, func(g field) bool { return g.Name == f.Name }):
				own = append(own, f)
			}
		}
		name := base + "With" + upper(strings.Join(set, "And"))
		names = append(names, name)
		pythonDict(b, name, base, own, s.Sent)
	}
	fmt.Fprintf(b, "\n\n%s = Union[%s]\n%s\n", s.Name, strings.Join(names, ", "), docstring(either(s)+"."))
}

// pythonDict writes a TypedDict. With a reserved name it is written as a call.
func pythonDict(b *strings.Builder, name, base string, fields []field, sent bool) {
	write := func(f field) string {
		text := pythonKind(f.Type, sent)
		if !f.Required {
			text = "NotRequired[" + text + "]"
		}
		return text
	}
	if slices.ContainsFunc(fields, func(f field) bool { return slices.Contains(keywords, f.Name) || !identifier.MatchString(f.Name) }) {
		fmt.Fprintf(b, "\n\n%s = TypedDict(\n    %q,\n    {\n", name, name)
		for _, f := range fields {
			fmt.Fprintf(b, "        %q: %q,\n", f.Name, strings.ReplaceAll(write(f), "\"", "'"))
		}
		b.WriteString("    },\n)\n")
		return
	}
	fmt.Fprintf(b, "\n\nclass %s(%s):\n", name, base)
	if len(fields) == 0 {
		b.WriteString("    pass\n")
	}
	for _, f := range fields {
		fmt.Fprintf(b, "    %s: %s\n", f.Name, write(f))
		if f.Doc != "" {
			fmt.Fprintf(b, "    %s\n", docstring(f.Doc))
		}
	}
}

func docstring(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return `"""` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `'`) + `"""`
}

func pythonTypes(api service) string {
	var b strings.Builder
	b.WriteString("# " + header + "\n\"\"\"The shapes of requests and replies: dicts with the names of the wire.\"\"\"\nfrom __future__ import annotations\n\n")
	b.WriteString("from collections.abc import Sequence\nfrom decimal import Decimal\nfrom typing import TYPE_CHECKING, Any, Literal, TypedDict, Union\n\n")
	b.WriteString("if TYPE_CHECKING:\n    from typing_extensions import NotRequired\n\n")
	fmt.Fprintf(&b, "API_VERSION = %q\n\"\"\"The version of the API that these types are of. Each request names it.\"\"\"\n\n", api.Version)
	b.WriteString("Amount = Union[Decimal, int, str]\n\"\"\"What is accepted as an amount: never a float. A str is the digits of a decimal number.\"\"\"\n")
	for _, e := range api.Enums {
		fmt.Fprintf(&b, "\n%s = Literal[%s]\n\"\"\"The values of %s that are known today. Requests have no other.\"\"\"\n%s = Union[%s, str]\n", closedName(e.Name), quoted(e.Values), e.Name, e.Name, closedName(e.Name))
	}
	pages := map[string]bool{}
	for _, s := range api.Schemas {
		pythonSchema(&b, s)
	}
	for _, o := range api.Operations {
		if len(o.Query) > 0 {
			pythonDict(&b, queryName(o), "TypedDict", o.Query, true)
		}
		if o.Page {
			pages[o.Reply] = true
		}
	}
	b.WriteString("\n\nclass Pagination(TypedDict):\n    total: int\n    limit: int\n    offset: int\n    pages: int\n    totalCapped: NotRequired[bool]\n    nextCursor: str | None\n")
	for _, s := range append([]schema{{Name: "Event"}}, api.Schemas...) {
		if pages[s.Name] {
			fmt.Fprintf(&b, "\n\nclass %sPage(TypedDict):\n    data: list[%s]\n    pagination: Pagination\n", s.Name, s.Name)
		}
	}
	pythonEvents(&b, api)
	return b.String()
}

func pythonEvents(b *strings.Builder, api service) {
	b.WriteString("\n\nclass _EventBase(TypedDict):\n    id: str\n    apiVersion: str\n    createdAt: str\n    environment: Literal[\"sandbox\", \"production\"] | str\n    merchantId: str\n    shopId: str\n    sequence: int\n    request: EventRequest\n")
	var names []string
	for _, g := range api.Events {
		names = append(names, g.Object+"Event")
		fmt.Fprintf(b, "\n\nclass %sEventData(TypedDict):\n    object: %s\n    previous: EventPrevious\n", g.Object, g.Object)
		fmt.Fprintf(b, "\n\nclass %sEvent(_EventBase):\n    type: Literal[%s]\n    data: %sEventData\n", g.Object, quoted(g.Types), g.Object)
	}
	fmt.Fprintf(b, "\n\nEvent = Union[%s]\n\"\"\"What happened, as a webhook delivers it. The service may add types: have an else.\"\"\"\n", strings.Join(names, ", "))
}

func pythonShapes(api service) string {
	var b strings.Builder
	b.WriteString("# " + header + "\n\"\"\"Where exact decimals are: a field is \"n\", or the name of what it has.\"\"\"\n\nSHAPES: dict[str, dict[str, str]] = {\n")
	for _, s := range api.shapes() {
		var fields []string
		for _, f := range s.Fields {
			fields = append(fields, fmt.Sprintf("%q: %q", f[0], f[1]))
		}
		fmt.Fprintf(&b, "    %q: {%s},\n", s.Name, strings.Join(fields, ", "))
	}
	b.WriteString("}\n\nEVENT_OBJECTS: dict[str, str] = {\n")
	for _, g := range api.Events {
		for _, t := range g.Types {
			fmt.Fprintf(&b, "    %q: %q,\n", t, g.Object)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func pythonOperations(api service) string {
	var b strings.Builder
	b.WriteString("# " + header + "\n\"\"\"The operations of the API.\"\"\"\nfrom __future__ import annotations\n\n")
	b.WriteString("from collections.abc import AsyncIterator, Iterator\nfrom typing import BinaryIO, Literal\n\nfrom . import types\nfrom ._async import AsyncCore\nfrom ._core import Core, Download, OnReply, Operation\n")
	b.WriteString("\n\nclass Operations(Core):\n")
	for i, o := range api.Operations {
		if i > 0 {
			b.WriteString("\n")
		}
		pythonOperation(&b, o, false)
	}
	b.WriteString("\n\nclass AsyncOperations(AsyncCore[Operations]):\n")
	for i, o := range api.Operations {
		if i > 0 {
			b.WriteString("\n")
		}
		pythonOperation(&b, o, true)
	}
	return b.String()
}

// pythonParameters returns the parameters of an operation, and how they are passed on.
func pythonParameters(o operation) (declared, passed []string) {
	for _, p := range o.Params {
		declared, passed = append(declared, snake(p)+": str"), append(passed, snake(p))
	}
	if o.Body != "" {
		text := "body: types." + o.Body
		if o.Optional {
			text += " | None = None"
		}
		declared, passed = append(declared, text), append(passed, "body")
	}
	if len(o.Query) > 0 {
		text := "query: types." + queryName(o)
		if !needed(o.Query) {
			text += " | None = None"
		}
		declared, passed = append(declared, text), append(passed, "query")
	}
	declared = append(declared, "*")
	option := func(name, of string) {
		declared, passed = append(declared, name+": "+of+" | None = None"), append(passed, name+"="+name)
	}
	if o.Reply == "" {
		option("to", "BinaryIO")
	}
	if o.Key {
		option("idempotency_key", "str")
	}
	if len(o.Simulate) > 0 {
		option("sandbox_simulate", "Literal["+quoted(o.Simulate)+"]")
	}
	if o.Strict {
		option("sandbox_strict", "bool")
	}
	option("timeout", "float")
	option("retries", "int")
	option("shop_id", "str")
	option("on_reply", "OnReply")
	return declared, passed
}

// pythonSignature writes a method up to its docstring.
func pythonSignature(b *strings.Builder, prefix, name string, declared []string, reply, doc string) {
	fmt.Fprintf(b, "    %s %s(\n        self,\n", prefix, name)
	for _, d := range declared {
		fmt.Fprintf(b, "        %s,\n", d)
	}
	fmt.Fprintf(b, "    ) -> %s:\n        %s\n", reply, docstring(doc))
}

func pythonOperation(b *strings.Builder, o operation, async bool) {
	declared, passed := pythonParameters(o)
	reply := "Download"
	switch {
	case o.Page:
		reply = "types." + o.Reply + "Page"
	case o.Reply != "":
		reply = "types." + o.Reply
	}
	all := strings.Join(passed, ", ")
	pages := strings.Join(append(append(snakes(o.Params), "one"), passed[len(o.Params)+1:]...), ", ") // without the query
	if async {
		pythonSignature(b, "async def", snake(o.ID), declared, reply, o.Doc+".")
		fmt.Fprintf(b, "        return await self._run(lambda: self._sync.%s(%s))\n", snake(o.ID), all)
		if o.All != "" {
			b.WriteString("\n")
			pythonSignature(b, "def", snake(o.All), declared, "AsyncIterator[types."+o.Reply+"]", o.Doc+", over all pages.")
			fmt.Fprintf(b, "        return self._each(query, lambda one: self._sync.%s(%s))\n", snake(o.ID), pages)
		}
		return
	}
	pythonSignature(b, "def", snake(o.ID), declared, reply, o.Doc+".")
	var parts []string
	what := []string{strconv.Quote(o.Method), strconv.Quote(o.Path)}
	if o.Body != "" {
		what = append(what, fmt.Sprintf("body=%q", o.Body))
	}
	if o.Reply != "" {
		what = append(what, fmt.Sprintf("reply=%q", o.Reply))
	}
	for name, on := range map[string]bool{"page": o.Page, "key": o.Key, "open": o.Open} {
		if on {
			parts = append(parts, name+"=True")
		}
	}
	slices.Sort(parts)
	what = append(what, parts...)
	if format := o.Fixed["format"]; format != "" {
		what = append(what, fmt.Sprintf("fixed={\"format\": %q}", format))
	}
	arguments := []string{"[" + strings.Join(snakes(o.Params), ", ") + "]"}
	for _, p := range passed[len(o.Params):] {
		if p == "body" || p == "query" {
			p += "=" + p
		}
		if p == "body=body" && o.Optional {
			p = "body=body or {}"
		}
		arguments = append(arguments, p)
	}
	fmt.Fprintf(b, "        return self._call(Operation(%s), %s)  # type: ignore[no-any-return]\n", strings.Join(what, ", "), strings.Join(arguments, ", "))
	if o.All != "" {
		b.WriteString("\n")
		pythonSignature(b, "def", snake(o.All), declared, "Iterator[types."+o.Reply+"]", o.Doc+", over all pages.")
		fmt.Fprintf(b, "        return self._each(query, lambda one: self.%s(%s))\n", snake(o.ID), pages)
	}
}

func snakes(names []string) []string {
	var list []string
	for _, n := range names {
		list = append(list, snake(n))
	}
	return list
}
