package privacy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
)

// personal lists the paths of personal data in an event: the texts of a claim; of a payment the
// customer, and the texts of its refund and purchase.
var personal = [][]string{
	{"reason"}, {"evidence", "*", "text"}, {"evidence", "*", "file", "name"}, {"timeline", "*", "note"}, {"refund", "reason"},
	{"userName"}, {"userEmail"}, {"documentId"}, {"description"}, {"lineItems", "*", "name"}, {"lineItems", "*", "sku"},
}

// blank removes personal data from an event, and nothing else: a receiver who gets it again finds
// the same structure.
func blank(event []byte) (blanked []byte, changed bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(event))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return nil, false, err
	}
	data, _ := root["data"].(map[string]any)
	object, _ := data["object"].(map[string]any)
	for _, path := range personal {
		if path[0] == "reason" && object["type"] == string(pay.ChargebackClaim) { // the network's text
			continue
		}
		changed = erased(object, path) || changed
	}
	// Its keys are the shop's text too.
	if pairs, ok := object["metadata"].(map[string]any); ok && len(pairs) > 0 {
		object["metadata"], changed = map[string]any{}, true
	}
	if address, ok := object["checkoutUrl"].(string); ok { // contains the shop's address, which may have personal data
		if plain, _, found := strings.Cut(address, "?"); found {
			object["checkoutUrl"], changed = plain, true
		}
	}
	list, _ := object["evidence"].([]any)
	for _, item := range list {
		piece, _ := item.(map[string]any)
		if kind, ok := piece["kind"].(string); ok && pay.NamedKind(kind) != kind {
			piece["kind"], changed = pay.NamedKind(kind), true
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(root)
	return bytes.TrimRight(out.Bytes(), "\n"), changed, err
}

// erased writes pay.ErasedText at a path, * standing for all elements of a list, and reports
// whether there was other text before.
func erased(at any, path []string) (changed bool) {
	if list, ok := at.([]any); ok && path[0] == "*" {
		for _, item := range list {
			changed = erased(item, path[1:]) || changed
		}
		return changed
	}
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	if len(path) > 1 {
		return erased(object[path[0]], path[1:])
	}
	text, ok := object[path[0]].(string)
	if !ok || text == "" || text == pay.ErasedText {
		return false
	}
	object[path[0]] = pay.ErasedText
	return true
}
