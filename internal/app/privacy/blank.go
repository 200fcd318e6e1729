package privacy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// marked is the path of a field of an event that is marked as personal, * standing for all elements of a list, and what
// blanks its value.
type marked struct {
	path  []string
	blank func(value any) (blanked any, changed bool)
}

// personal are the marked fields of a payment, of a claim, of a wallet and of a payment link.
var personal = slices.Concat(marks(reflect.TypeFor[view.Transaction](), nil), marks(reflect.TypeFor[view.Claim](), nil), marks(reflect.TypeFor[view.Wallet](), nil), marks(reflect.TypeFor[view.PaymentLink](), nil))

// blanks has what the tag personal may say.
var blanks = map[string]func(value any) (blanked any, changed bool){
	"text": func(value any) (any, bool) {
		text, ok := value.(string)
		return pay.ErasedText, ok && text != "" && text != pay.ErasedText
	},
	// Its keys are the shop's text too.
	"pairs": func(value any) (any, bool) {
		pairs, _ := value.(map[string]any)
		return map[string]any{}, len(pairs) > 0
	},
	// It contains the shop's address, which may have personal data.
	"address": func(value any) (any, bool) {
		address, _ := value.(string)
		plain, _, found := strings.Cut(address, "?")
		return plain, found
	},
	"kind": func(value any) (any, bool) {
		kind, ok := value.(string)
		return pay.NamedKind(kind), ok && pay.NamedKind(kind) != kind
	},
}

// marks finds the marked fields of a type. It panics if a tag says something unknown.
func marks(of reflect.Type, path []string) (list []marked) {
	switch of.Kind() {
	case reflect.Pointer:
		return marks(of.Elem(), path)
	case reflect.Slice:
		return marks(of.Elem(), append(slices.Clone(path), "*"))
	case reflect.Struct:
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := append(slices.Clone(path), name)
			if how, is := f.Tag.Lookup("personal"); !is {
				list = append(list, marks(f.Type, at)...)
			} else if blank := blanks[how]; blank != nil {
				list = append(list, marked{at, blank})
			} else {
				panic("privacy: the personal field " + strings.Join(at, ".") + " is " + how)
			}
		}
	}
	return list
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
	for _, field := range personal {
		if field.path[0] == "reason" && object["type"] == string(pay.ChargebackClaim) { // the network's text
			continue
		}
		changed = field.erase(object, field.path) || changed
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(root)
	return bytes.TrimRight(out.Bytes(), "\n"), changed, err
}

// erase blanks what is at a path below a value, and reports whether there was something to blank.
func (m marked) erase(at any, path []string) (changed bool) {
	if list, ok := at.([]any); ok && path[0] == "*" {
		for _, item := range list {
			changed = m.erase(item, path[1:]) || changed
		}
		return changed
	}
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	if len(path) > 1 {
		return m.erase(object[path[0]], path[1:])
	}
	blanked, changed := m.blank(object[path[0]])
	if changed {
		object[path[0]] = blanked
	}
	return changed
}
