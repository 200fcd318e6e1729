package api

// publishPayouts says in the published document what the validated one cannot
// about wallets, withdrawals and verifications.
func publishPayouts(paths, schemas map[string]any) {
	if properties, ok := dig(schemas, "WithdrawInBody", "properties"); ok {
		properties["amount"] = map[string]any{
			"type": "number", "format": "double", "description": description(properties["amount"]), "exclusiveMinimum": 0, "examples": []any{250.0},
		}
	}
	for body, required := range map[string][]string{
		"WithdrawInBody": {"amount"}, "AddWalletInBody": {"type", "currency", "destination"},
	} {
		if schema, ok := dig(schemas, body); ok {
			schema["required"] = required
		}
	}
	// A verification that was open already is told by its status code alone.
	if created, ok := dig(paths, "/kyc/init", "post", "responses"); ok {
		created["200"] = created["201"]
	}
}

// dig returns the object at a path of keys.
func dig(tree map[string]any, path ...string) (map[string]any, bool) {
	for _, key := range path {
		next, ok := tree[key].(map[string]any)
		if !ok {
			return nil, false
		}
		tree = next
	}
	return tree, true
}
