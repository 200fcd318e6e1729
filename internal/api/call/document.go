package call

// Rooms tighten the published document with these, through API.Tighten.

// Require says which fields of a body are required.
func Require(schemas map[string]any, body string, fields ...string) {
	if schema, ok := Dig(schemas, body); ok {
		schema["required"] = fields
	}
}

// RequireAny says that one of several sets of fields of a body is required.
func RequireAny(schemas map[string]any, body string, sets ...[]string) {
	list := make([]any, len(sets))
	for i, set := range sets {
		list[i] = map[string]any{"required": set}
	}
	if schema, ok := Dig(schemas, body); ok {
		schema["anyOf"] = list
	}
}

// PublishAmount shows a field of a body as a number above 0, and keeps its description.
func PublishAmount(schemas map[string]any, body, field string, example float64) {
	properties, _ := Dig(schemas, body, "properties")
	if amount, ok := Dig(properties, field); ok {
		properties[field] = AmountSchema(Description(amount), example)
	}
}

// AmountSchema is the published schema of an amount in a body.
func AmountSchema(description string, example float64) map[string]any {
	return map[string]any{"type": "number", "format": "double", "description": description, "exclusiveMinimum": 0, "examples": []any{example}}
}

// PublishAmountParam shows the parameter amount of a GET operation as a number above 0.
func PublishAmountParam(paths map[string]any, path string, required bool) {
	operation, _ := Dig(paths, path, "get")
	parameters, _ := operation["parameters"].([]any)
	for _, p := range parameters {
		if p, _ := p.(map[string]any); p["name"] == "amount" {
			p["schema"] = map[string]any{"type": "number", "format": "double", "exclusiveMinimum": 0, "examples": []any{25.5}}
			p["required"] = required
		}
	}
}

// Dig returns the object at a path of keys.
func Dig(tree map[string]any, path ...string) (map[string]any, bool) {
	for _, key := range path {
		next, ok := tree[key].(map[string]any)
		if !ok {
			return nil, false
		}
		tree = next
	}
	return tree, true
}

// Description is a schema's description, "" for none.
func Description(schema any) string {
	fields, _ := schema.(map[string]any)
	text, _ := fields["description"].(string)
	return text
}
