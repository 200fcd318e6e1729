// Package openapi makes the published OpenAPI document from the request types and from the texts here: each
// operation, event and error with codes and examples.
//
// It registers no operation and answers no request.
package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// Credentials are what an operation requires.
type Credentials struct {
	Any    bool // an Authorization header
	Secret bool // no publishable key
}

// Publish returns the function that makes the document of the registered operations. The document is a
// copy. The one that validates requests is looser, because clamped and coded values must pass it; mend
// tightens the copy. needs is called with an operation id. The operations' types are in Schemas.
func Publish(doc *huma.OpenAPI, needs func(id string) Credentials, mend func(paths, schemas map[string]any)) func() ([]byte, error) {
	doc.Webhooks = webhookEvents()
	return func() ([]byte, error) {
		text, err := json.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("openapi document: %w", err)
		}
		d := document{registry: doc.Components.Schemas, needs: needs, mend: mend}
		if err := json.Unmarshal(text, &d.tree); err != nil {
			return nil, fmt.Errorf("openapi document: %w", err)
		}
		d.complete()
		if err := d.rename(); err != nil {
			return nil, err
		}
		return json.Marshal(d.tree)
	}
}

// document is the OpenAPI document before it is published. It completes every operation, also future ones:
// headers, errors and examples follow from an operation's form and its line in abouts.
type document struct {
	tree     map[string]any
	registry huma.Registry
	needs    func(id string) Credentials
	mend     func(paths, schemas map[string]any)
}

// object is a node of the document; nil where there is none.
type object = map[string]any

// methods are a path item's methods in reading order.
var methods = []string{"get", "post", "put", "patch", "delete"}

// operation is one operation of the document with its sources.
type operation struct {
	path, method string
	node         object
	about        about
	need         Credentials
}

func (o operation) id() string { id, _ := o.node["operationId"].(string); return id }

// under returns the object below a node and creates it if needed.
func under(node object, key string) object {
	below, ok := node[key].(object)
	if !ok {
		below = object{}
		node[key] = below
	}
	return below
}

func list(v any) []any {
	items, _ := v.([]any)
	return items
}

func (d document) components(kind string) object { return under(under(d.tree, "components"), kind) }
func (d document) schema(name string) object {
	node, _ := d.components("schemas")[name].(object)
	return node
}

// operations lists every operation, sorted by path.
func (d document) operations() (all []operation) {
	paths := under(d.tree, "paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(object)
		for _, method := range methods {
			if node, ok := item[method].(object); ok {
				o := operation{path: path, method: method, node: node, about: aboutOf(method, path)}
				o.need = d.needs(o.id())
				all = append(all, o)
			}
		}
	}
	return all
}

// complete fills the document in.
func (d document) complete() {
	d.introduce()
	d.schemas()
	d.tree["components"] = generic(d.tree["components"])
	for name, header := range replyHeaders {
		d.components("headers")[name] = object{"description": header.doc, "schema": header.schema(), "example": header.example}
	}
	d.components("parameters")["ServiceVersion"] = object{
		"name": "Service-Version", "in": "header", "required": false,
		"description": "The version of the API that the caller speaks. An unknown one is refused.",
		"schema":      object{"type": "string"}, "example": view.APIVersion,
	}
	d.components("parameters")["Strict"] = object{
		"name": wire.StrictParam, "in": "query", "required": false,
		"description": "true: an unknown field or query parameter is refused, not ignored; the error names the one that was probably meant. For tests.",
		"schema":      object{"type": "string", "enum": []any{"true", "false"}}, "example": "true",
	}
	named := responseNames{}
	for _, o := range d.operations() {
		if o.about.text != "" {
			o.node["description"] = o.about.text
		}
		if !o.need.Any {
			o.node["security"] = []any{}
		}
		d.parameters(o)
		d.bodies(o)
		d.replies(o)
		d.errors(o, named)
	}
	d.events()
	d.prune()
}

// introduce writes the document's introduction.
func (d document) introduce() {
	info := under(d.tree, "info")
	info["title"], info["version"], info["description"] = "Cascada", view.APIVersion, introduction
	info["license"] = object{"name": "Apache 2.0", "identifier": "Apache-2.0"}
	for _, s := range list(d.tree["servers"]) {
		address, _ := s.(object)["url"].(string)
		info["contact"] = object{"name": "The operator of this service", "url": strings.TrimSuffix(address, view.Base)}
		s.(object)["description"] = "This service. The key says which environment: sandbox or production."
	}
	used := map[string]bool{"Events": true}
	for _, o := range d.operations() {
		for _, tag := range list(o.node["tags"]) {
			used[fmt.Sprint(tag)] = true
		}
	}
	tags := []any{}
	for _, t := range tagTexts {
		if used[t.name] {
			tags = append(tags, object{"name": t.name, "description": t.text})
		}
	}
	d.tree["tags"] = tags
	d.tree["security"] = []any{object{"bearer": []any{}}}
	d.components("securitySchemes")["bearer"] = object{
		"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
		"description": "An access token from `POST /auth/token`, or a raw secret key. " +
			"A raw publishable key reaches `GET /ping` and `GET /payment-methods`.",
	}
	var all []any
	for _, code := range message.Codes() {
		row := object{"code": code, "status": message.ShownOf(code).Status, "type": string(message.ShownOf(code).Kind), "meaning": message.ShownOf(code).Meaning, "returned": true}
		if apart := explanations[code].apart; apart != "" {
			row["returned"], row["note"] = false, apart
		}
		all = append(all, row)
	}
	d.tree["x-error-codes"] = all
}

// schemas adds to each component what its Go type knows and huma's schema does not: the order of fields,
// enum values, nullability.
func (d document) schemas() {
	for name := range d.components("schemas") {
		node := d.schema(name)
		if node["additionalProperties"] == true { // the default
			delete(node, "additionalProperties")
		}
		kind := d.registry.TypeFromRef("#/components/schemas/" + name)
		if kind == nil || kind.Kind() != reflect.Struct {
			continue
		}
		properties := under(node, "properties")
		var order []string
		for _, f := range reflect.VisibleFields(kind) {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property, ok := properties[field].(object)
			if !ok {
				continue
			}
			order = append(order, field)
			target, base := property, f.Type
			if base.Kind() == reflect.Slice && property["items"] != nil { // a Payload is not a JSON array
				target, base = under(property, "items"), base.Elem()
			}
			if base.Kind() == reflect.Pointer {
				base = base.Elem()
			}
			if list := wire.Values(base); list != nil && target["enum"] == nil && name != "Details" && name != "EventPrevious" { // their states are those of any object
				target["enum"] = list
			}
			// Huma knows of text and numbers alone that they may be null, not of types that describe themselves, such as amounts.
			if kind, ok := property["type"].(string); ok && f.Type.Kind() == reflect.Pointer && options != "omitempty" && options != "omitzero" {
				property["type"] = []any{kind, "null"}
			}
			// Huma lists an enum's values without null.
			kinds, _ := property["type"].([]any)
			if values, ok := property["enum"].([]any); ok && slices.Contains(kinds, any("null")) && !slices.Contains(values, nil) {
				property["enum"] = append(slices.Clone(values), nil)
			}
			if base == reflect.TypeFor[money.Currency]() {
				target["pattern"], target["description"] = "^[A-Z]{3}$", "ISO 4217"
			}
			// Huma cannot say that a reference may be null.
			if f.Type.Kind() == reflect.Pointer && property["$ref"] != nil && options != "omitempty" && options != "omitzero" {
				properties[field] = object{"anyOf": []any{object{"$ref": property["$ref"]}, object{"type": "null"}}}
			}
		}
		if len(order) > 1 {
			node["x-order"] = order
		}
	}
	d.mend(under(d.tree, "paths"), d.components("schemas"))
}

// parameters completes an operation's parameters.
func (d document) parameters(o operation) {
	parameters := list(o.node["parameters"])
	for _, p := range parameters {
		param := p.(object)
		schema := under(param, "schema")
		delete(schema, "description") // the parameter has it
		switch param["name"] {
		case wire.NextCursor:
			param["deprecated"] = true
		case wire.OlderCursor:
			param["deprecated"] = true
			param["x-go-name"] = "OlderStartingAfter" // Go generators give both spellings one name
		case "limit":
			schema["type"], schema["default"], schema["minimum"], schema["maximum"] = "integer", lists.PageRows, 1, lists.MostPageRows
		case "offset":
			schema["type"], schema["default"], schema["minimum"] = "integer", 0, 0
		case "Sandbox-Simulate":
			if schema["enum"] == nil { // of a payment
				schema["enum"] = wire.Texts(sandbox.HeaderActions()...)
			}
		case "Idempotency-Key":
			schema["minLength"], schema["maxLength"], schema["pattern"] = 1, pay.MaxIdempotencyKey, "^[ -~]+$"
		}
		if example, ok := parameterExample(o, fmt.Sprint(param["name"])); ok && schema["enum"] == nil && schema["default"] == nil {
			param["example"] = example
		}
	}
	o.node["parameters"] = append(parameters, object{"$ref": "#/components/parameters/ServiceVersion"}, object{"$ref": "#/components/parameters/Strict"})
}

// bodies adds sample requests. A handler that reads the raw body accepts JSON too.
func (d document) bodies(o operation) {
	body, _ := o.node["requestBody"].(object)
	if body == nil {
		return
	}
	content := under(body, "content")
	delete(content, "application/octet-stream")
	media := under(content, "application/json")
	if o.about.body != nil {
		media["examples"] = object{}
		for _, e := range o.about.body {
			under(media, "examples")[e.name] = object{"summary": e.summary, "value": parse(e.json)}
		}
		return
	}
	media["example"] = d.compose(under(media, "schema"), "", "")
}

// replies completes the successful replies of an operation.
func (d document) replies(o operation) {
	responses := under(o.node, "responses")
	for status, r := range responses {
		// Huma lists its own error statuses; errors adds ours.
		if n, err := strconv.Atoi(status); err != nil || n >= 400 {
			delete(responses, status)
			continue
		}
		response := r.(object)
		d.addHeaders(o, response)
		if text := o.about.replies; text != "" {
			response["description"] = text
		}
		for kind, media := range under(response, "content") {
			if kind == "application/json" {
				example := d.compose(under(media.(object), "schema"), "", "")
				if body, ok := example.(object); ok {
					for path, value := range replySamples[strings.ToUpper(o.method)+" "+canonical(o.path)] {
						set(body, path, value)
					}
				}
				d.setObject(example)
				media.(object)["example"] = example
			}
		}
	}
}

// addHeaders adds the headers of a reply.
func (d document) addHeaders(o operation, response object) {
	headers := under(response, "headers")
	for _, name := range []string{"X-Request-Id", "Service-Version", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Service-Ignored"} {
		headers[name] = object{"$ref": "#/components/headers/" + name}
	}
	delete(headers, "Idempotency-Replayed")
	if o.idempotent() {
		headers["Idempotency-Replayed"] = object{"$ref": "#/components/headers/Idempotency-Replayed"}
	}
}

// idempotent reports whether an operation takes an Idempotency-Key.
func (o operation) idempotent() bool {
	return slices.ContainsFunc(list(o.node["parameters"]), func(p any) bool { return p.(object)["name"] == "Idempotency-Key" })
}

// events completes the webhooks: examples and the headers of a delivery.
func (d document) events() {
	for name, item := range under(d.tree, "webhooks") {
		post := under(item.(object), "post")
		post["description"], post["security"] = webhooks.EventType(name).Meaning(), []any{}
		var parameters []any
		for _, h := range deliveryHeaders {
			parameters = append(parameters, object{
				"name": h.name, "in": "header", "required": true, "description": h.doc, "schema": object{"type": "string"}, "example": h.example,
			})
		}
		post["parameters"] = parameters
		media := under(under(under(post, "requestBody"), "content"), "application/json")
		schema := under(media, "schema")
		delete(schema, "additionalProperties")
		schema["x-order"] = eventOrder
		properties := under(schema, "properties")
		under(properties, "environment")["enum"] = wire.Values(reflect.TypeFor[merchants.Environment]())
		example := d.compose(schema, "Event", "").(object)
		for path, value := range eventSamples[webhooks.EventType(name)] {
			set(example, path, value)
		}
		example["createdAt"] = max(happened(example["data"]), sampleTime) // after what it reports
		if webhooks.EventType(name) == webhooks.SessionExpired {
			example["createdAt"] = dayLater
		}
		media["example"] = example
	}
}

// prune removes components that nothing refers to.
func (d document) prune() {
	for {
		used := map[string]bool{}
		references(d.tree, used)
		removed := false
		for kind, named := range under(d.tree, "components") {
			if kind == "securitySchemes" {
				continue
			}
			for name := range named.(object) {
				if !used["#/components/"+kind+"/"+name] {
					delete(named.(object), name)
					removed = true
				}
			}
		}
		if !removed {
			return
		}
	}
}

// generic converts a node to the types of encoding/json: no typed slices.
func generic(node any) any {
	text, err := json.Marshal(node)
	if err != nil {
		panic("openapi: a node that is not JSON: " + err.Error()) // made by us
	}
	return parse(string(text))
}

func references(v any, into map[string]bool) {
	switch t := v.(type) {
	case object:
		if ref, ok := t["$ref"].(string); ok {
			into[ref] = true
		}
		for _, value := range t {
			references(value, into)
		}
	case []any:
		for _, value := range t {
			references(value, into)
		}
	}
}
