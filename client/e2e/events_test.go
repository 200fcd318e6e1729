package e2e

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/cascadapay/cascada/client"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

func TestEveryEventHasAName(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../events.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var named []webhooks.EventType
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "EventType" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			named = append(named, webhooks.EventType(value))
		}
		return true
	})
	want := webhooks.EventTypes()
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("the constants are %v, the service's events %v", named, want)
	}
}

// objects are the kinds of objects in events, by the names of their fields.
func objects(e client.Event) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	of := reflect.ValueOf(e)
	for field, v := range of.Fields() {
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			found[field.Name] = v.Type()
		}
	}
	return found
}

// Every property of events in the service's document has a field.
func TestEventsAreReadWhole(t *testing.T) {
	d, missing := published(t), map[string]bool{}
	for name, item := range d.Webhooks {
		var e client.Event
		if err := json.Unmarshal(fmt.Appendf(nil, `{"id":"evt_1","type":%q,"data":{"object":{}}}`, name), &e); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := objects(e)
		if len(found) != 1 {
			t.Errorf("%s is about %v, want one object", name, slices.Collect(maps.Keys(found)))
			continue
		}
		event := item["post"].Body.Content["application/json"].Schema
		d.unread(event, reflect.TypeFor[client.Event](), "Event", missing)
		object := event.Properties["data"].Properties["object"]
		if _, known := d.resolve(object); known == "" {
			t.Errorf("the document does not say which object %s has", name)
		}
		for _, in := range found {
			d.unread(object, in, name, missing)
		}
	}
	if len(d.Webhooks) != len(webhooks.EventTypes()) {
		t.Errorf("the document has %d events, want %d", len(d.Webhooks), len(webhooks.EventTypes()))
	}
	for what := range missing {
		t.Errorf("events have no %s", what)
	}
}
