package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// PurchaseBody is a shop's description of a purchase (PAY-21).
type PurchaseBody struct {
	Metadata    Metadata       `json:"metadata,omitempty"`
	Description string         `json:"description,omitempty" text:"lines" maxLength:"500" doc:"What is paid for, in the shop's words"`
	LineItems   []LineItemBody `json:"lineItems,omitempty" maxItems:"100" doc:"What is bought. Nothing is computed from it"`
}

// LineItemBody is one item of a purchase.
type LineItemBody struct {
	Name       string `json:"name" text:"lines" minLength:"1" maxLength:"200"`
	Quantity   Amount `json:"quantity" doc:"How many, or how much of it, such as 0.5"`
	UnitAmount Amount `json:"unitAmount" doc:"The price of one, in the currency of amount; negative for a discount"`
	SKU        string `json:"sku,omitempty" maxLength:"100" doc:"The shop's own number for it"`
	read       pay.LineItem
}

// The numbers of a line item are the shop's own: they are only as long as a page shows.
const (
	mostQuantity = 1_000_000_000
	longestOwn   = 30 // characters
)

// number reads an own number in its plain form; false for a text that is none, or that is too long.
func (amo Amount) number() (string, bool) {
	if !isNumber(string(amo)) || len(amo) > longestOwn {
		return "", false
	}
	plain := string(wire.Shortest([]byte(amo)))
	return plain, len(plain) <= longestOwn
}

// parse reads the numbers of an item in a currency. What is no whole number or no amount of the currency is kept as it was
// sent, because nothing is computed from it. It names what is wrong and how to mend it.
func (b *LineItemBody) parse(c money.Currency) (field, mend string) {
	quantity, ok := b.Quantity.number()
	if size := b.Quantity.rough(); !ok || size <= 0 || size > mostQuantity {
		return "quantity", fmt.Sprintf("must be a number above 0, and at most %d; you sent %s", mostQuantity, clip(string(b.Quantity)))
	}
	unit, ok := b.UnitAmount.number()
	price, err := money.Parse(string(b.UnitAmount), c)
	switch {
	case errors.Is(err, money.ErrRange):
		least, most := money.New(math.MinInt64, c).Decimal(), money.New(math.MaxInt64, c).Decimal()
		return "unitAmount", fmt.Sprintf("must be a number from %s to %s in %s; you sent %s", least, most, c, clip(string(b.UnitAmount)))
	case !ok:
		return "unitAmount", fmt.Sprintf("must be a number of at most %d characters, such as 49.90; you sent %s", longestOwn, clip(string(b.UnitAmount)))
	}
	b.read = pay.LineItem{Name: b.Name, SKU: b.SKU, Unit: money.New(0, c)}
	whole, fraction := strconv.ParseInt(quantity, 10, 64)
	if fraction != nil || err != nil {
		b.read.Told = &pay.ToldNumbers{Quantity: quantity, Unit: unit}
		return "", ""
	}
	b.read.Quantity, b.read.Unit = whole, price
	return "", ""
}

// Metadata is a shop's own keys and values. Its schema accepts anything: errors are reported key by key.
type Metadata struct {
	pairs map[string]string `text:"lines"`
	wrong map[string]string // what is wrong, by key; "" is the whole object
}

// UnmarshalJSON keeps text values and notes the others.
func (m *Metadata) UnmarshalJSON(text []byte) error {
	*m = Metadata{}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		m.wrong = map[string]string{"": `must be an object of texts, such as {"cart":"c-311"}`}
		return nil
	}
	if len(values) > pay.MaxMetadata {
		m.wrong = map[string]string{"": fmt.Sprintf("must have at most %d keys", pay.MaxMetadata)}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, what := "", ""
		switch {
		case key == "" || utf8.RuneCountInString(key) > pay.MaxMetadataKey:
			what = fmt.Sprintf("has a key that must have 1 to %d characters", pay.MaxMetadataKey)
			key = ""
		case string(values[key]) == "null":
			what = `must be a text: leave it out if there is none`
		case !bytes.HasPrefix(values[key], []byte(`"`)) || json.Unmarshal(values[key], &value) != nil:
			what = fmt.Sprintf("must be a text, such as %q", clip(strings.Trim(string(values[key]), `"`)))
		case wire.CardCode(key, value) != "":
			what = wire.CardCode(key, value)
		case utf8.RuneCountInString(value) > pay.MaxMetadataValue:
			what = fmt.Sprintf("must have at most %d characters", pay.MaxMetadataValue)
		case m.pairs == nil:
			m.pairs = map[string]string{key: value}
		default:
			m.pairs[key] = value
		}
		if what != "" {
			if m.wrong == nil {
				m.wrong = map[string]string{}
			}
			m.wrong[key] = what
		}
	}
	return nil
}

// Schema validates requests; publish shows an object of strings.
func (Metadata) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "Own keys and values, up to 50 keys of 40 characters, values of 500", Examples: []any{map[string]any{"cart": "c-311"}}}
}

// check returns the issues of the metadata at path.
func (m Metadata) check(path string) (issues []error) {
	for _, key := range slices.Sorted(maps.Keys(m.wrong)) {
		at := path
		if key != "" {
			at += "." + key
		}
		issues = append(issues, wire.Coded(problem.InvalidRequest, at, strings.TrimPrefix(at, "body.")+" "+m.wrong[key]))
	}
	return issues
}

// check reads the prices of a purchase in a currency, and returns its issues.
func (b *PurchaseBody) check(prefix *huma.PathBuffer, c money.Currency) (issues []error) {
	issues = b.Metadata.check(prefix.With("metadata"))
	for i := range b.LineItems {
		item := &b.LineItems[i]
		if item.Quantity == "" || item.UnitAmount == "" { // refused as missing
			continue
		}
		if field, mend := item.parse(c); field != "" {
			at := fmt.Sprintf("%s[%d].%s", prefix.With("lineItems"), i, field)
			issues = append(issues, wire.Coded(problem.InvalidRequest, at, strings.TrimPrefix(at, "body.")+" "+mend))
		}
	}
	return issues
}

// purchase converts the body after its checks.
func (b *PurchaseBody) purchase() pay.Purchase {
	p := pay.Purchase{Metadata: b.Metadata.pairs, Description: strings.TrimSpace(b.Description)}
	for _, item := range b.LineItems {
		p.Items = append(p.Items, item.read)
	}
	return p
}

// expandable are the parts of a reply that a create call leaves empty unless the caller asks for them.
var expandable = []string{"paymentData"}

// checkExpand checks a list of parts to expand.
func checkExpand(path string, parts []string) error {
	for _, part := range parts {
		if !slices.Contains(expandable, part) {
			return wire.Coded(problem.InvalidRequest, path, "expand may list "+strings.Join(expandable, ", ")+", and nothing else")
		}
	}
	return nil
}

// publishPurchases adds to the published document what the validated one cannot say.
func publishPurchases(schemas map[string]any) {
	for _, name := range []string{"PaymentBody", "SessionBody", "LinkBody"} {
		body, _ := schemas[name].(map[string]any)
		properties, _ := body["properties"].(map[string]any)
		properties["metadata"] = map[string]any{
			"type": "object", "maxProperties": pay.MaxMetadata, "propertyNames": map[string]any{"minLength": 1, "maxLength": pay.MaxMetadataKey},
			"additionalProperties": map[string]any{"type": "string", "maxLength": pay.MaxMetadataValue},
			"description":          "Own keys and values. They are returned wherever the object is shown, also in events: put no secrets there. They cannot be changed later",
			"examples":             []any{map[string]any{"cart": "c-311"}},
		}
		if expand, ok := properties["expand"].(map[string]any); ok {
			items, _ := expand["items"].(map[string]any)
			items["enum"] = []any{"paymentData"}
		}
	}
	item, _ := schemas["LineItemBody"].(map[string]any)
	properties, _ := item["properties"].(map[string]any)
	properties["quantity"] = map[string]any{"type": "number", "format": "double", "exclusiveMinimum": 0, "maximum": mostQuantity, "description": description(properties["quantity"]), "examples": []any{2}}
	properties["unitAmount"] = map[string]any{"type": "number", "format": "double", "description": description(properties["unitAmount"]), "examples": []any{12.75}}
}

// InstallmentsBody says how the shopper may pay by card in installments (PAY-43). Absent fields leave it to the merchant's terms.
type InstallmentsBody struct {
	Max          *int   `json:"max,omitempty" minimum:"1" maximum:"48" example:"12" doc:"The most installments that the shopper may choose; 1: pays at once"`
	InterestFree *int   `json:"interestFree,omitempty" minimum:"0" maximum:"48" example:"6" doc:"Up to this number the merchant bears the interest; 0: the shopper bears it for every number"`
	Min          Amount `json:"min,omitempty" doc:"The least amount of one installment, in major units of the currency in which the shopper pays"`
}

// request is what a request says; zero if it says nothing.
func (b *InstallmentsBody) request() installment.Request {
	if b == nil {
		return installment.Request{}
	}
	var a installment.Request
	if b.Max != nil {
		a.Max = *b.Max
	}
	if b.InterestFree != nil {
		a.InterestFree = max(1, *b.InterestFree)
	}
	if b.Min != "null" {
		a.Min = string(b.Min)
	}
	return a
}

// below is the path of a field of an object in a body. (*huma.PathBuffer).With takes away one name again: with two of them it would leave one for the
// issues that follow.
func below(prefix *huma.PathBuffer, object, field string) string {
	return prefix.With(object) + "." + field
}

// check returns what a schema cannot say.
func (b *InstallmentsBody) check(prefix *huma.PathBuffer) (issues []error) {
	if b == nil {
		return nil
	}
	if b.Max != nil && b.InterestFree != nil && *b.InterestFree > *b.Max {
		issues = append(issues, wire.Coded(problem.InvalidRequest, below(prefix, "installments", "interestFree"),
			fmt.Sprintf("installments.interestFree must be at most installments.max, which is %d", *b.Max)))
	}
	if text := string(b.Min); text != "" && text != "null" && (!isNumber(text) || b.Min.rough() <= 0 || len(text) > longestAmount) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, below(prefix, "installments", "min"),
			"installments.min must be a number above 0, in major units of the currency in which the shopper pays, such as 50; you sent "+clip(text)))
	}
	return issues
}
