package api

import (
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/danielgtaylor/huma/v2"
)

// walker compares the types of replies with the document.
type walker struct {
	t      *testing.T
	tree   map[string]any
	seen   map[string]bool
	fields int
}

// A field of a reply that may be null or left out is marked so in the document, and all others are not: a program that trusts the document meets
// no null.
func TestDocumentSaysWhatMayBeNullOrLeftOut(t *testing.T) {
	a, err := New(Uses{}, slog.New(slog.DiscardHandler), "https://pay.test"+Base, &gate.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Document()
	if err != nil {
		t.Fatal(err)
	}
	w := walker{t: t, seen: map[string]bool{}}
	if err := json.Unmarshal(text, &w.tree); err != nil {
		t.Fatal(err)
	}
	paths, _ := call.Dig(w.tree, "paths")
	for path, item := range a.Huma.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{"get": item.Get, "post": item.Post, "patch": item.Patch, "delete": item.Delete} {
			if op == nil {
				continue
			}
			for status, reply := range op.Responses {
				media := reply.Content["application/json"]
				node, ok := call.Dig(paths, path, method, "responses", status, "content", "application/json", "schema")
				if !ok || media == nil || media.Schema == nil || media.Schema.Ref == "" || !strings.HasPrefix(status, "2") {
					continue
				}
				w.walk(op.OperationID, a.Huma.OpenAPI().Components.Schemas.TypeFromRef(media.Schema.Ref), node)
			}
		}
	}
	if w.fields < 300 {
		t.Errorf("only %d fields were compared", w.fields)
	}
}

// walk compares a type with its schema.
func (w *walker) walk(place string, of reflect.Type, node map[string]any) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	node = w.target(node)
	properties, ok := call.Dig(node, "properties")
	if key := place + " " + of.String(); of.Kind() != reflect.Struct || !ok || w.seen[key] {
		return
	} else {
		w.seen[key] = true
	}
	required, _ := node["required"].([]any)
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property, ok := call.Dig(properties, name)
		if !ok {
			continue
		}
		w.fields++
		at := place + "." + name
		optional := options == "omitempty" || options == "omitzero"
		if optional == slices.Contains(required, any(name)) {
			w.t.Errorf("%s may be left out: %v; the document says that it is required: %v", at, optional, !optional)
		}
		if null := f.Type.Kind() == reflect.Pointer && !optional; null && !nullable(property) {
			w.t.Errorf("%s may be null, and the document does not say so", at)
		}
		w.walk(at, f.Type, property)
	}
}

// target follows references, and goes into lists and what may be null.
func (w *walker) target(node map[string]any) map[string]any {
	for {
		ref, _ := node["$ref"].(string)
		either, _ := node["anyOf"].([]any)
		items, isList := node["items"].(map[string]any)
		switch {
		case ref != "":
			node, _ = call.Dig(w.tree, "components", "schemas", ref[strings.LastIndex(ref, "/")+1:])
		case isList:
			node = items
		case len(either) == 2 && node["properties"] == nil:
			node, _ = either[0].(map[string]any)
		default:
			return node
		}
	}
}

// nullable reports whether a schema accepts null.
func nullable(node map[string]any) bool {
	if kinds, ok := node["type"].([]any); ok && slices.Contains(kinds, any("null")) {
		return true
	}
	either, _ := node["anyOf"].([]any)
	return slices.ContainsFunc(either, func(one any) bool { return one.(map[string]any)["type"] == "null" })
}
