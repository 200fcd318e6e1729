package wire

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/cardnumber"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// No card's number comes in (CARD-1). Every request is checked as a whole, before anything of it is compared with a schema, so that
// no field can be forgotten, and no error repeats what was sent: its path, its query string and its key by Mux, its body by NoCard.

// typeKey is the metadata key of the type that an operation's body is read into.
const typeKey = "type"

// BodyIn notes the type of an operation's body, for NoCard: T is the handler's input.
func BodyIn[T any](op *huma.Operation) {
	if body, ok := reflect.TypeFor[T]().FieldByName("Body"); ok {
		if op.Metadata == nil {
			op.Metadata = map[string]any{}
		}
		op.Metadata[typeKey] = body.Type
	}
}

// cardLead is what to do in place of sending a card.
const cardLead = "leave it out, and send the shopper to the checkout, where the card is typed on the provider's page; POST /payments and POST /checkout/sessions reply with its address"

// cardIssue says that a field holds a card's number.
func cardIssue(path string) Issue {
	return Issue{Path: path, Message: message.Text(problem.CardNumber.With(path))}
}

// NoCard refuses a body that holds a card's number, also in names and in fields that are not ours. The body has arrived, and
// was not read yet. A field with the tag text:"number" is refused only if all of it is a card's number, and one with
// text:"account" never: its own format is checked.
//
// Errors: invalid_request.
func NoCard(op *huma.Operation, r *http.Request) error {
	parts := web.Arrived(r)
	if !suspected(parts) {
		return nil
	}
	of, _ := op.Metadata[typeKey].(reflect.Type)
	if issue := findCard(bytes.Join(parts, nil), of); issue.Path != "" {
		return Invalid(issue)
	}
	return nil
}

// mostSplit is how many bytes on both sides of the end of a part are read as one: a number is shorter, however it is written.
const mostSplit = 512

// suspected reports whether parts of a body may hold a card's number.
func suspected(parts [][]byte) bool {
	for i, part := range parts {
		if cardnumber.InJSON(part) {
			return true
		}
		if i > 0 {
			var seam [2 * mostSplit]byte
			before := parts[i-1]
			n := copy(seam[:], before[max(0, len(before)-mostSplit):])
			n += copy(seam[n:], part[:min(len(part), mostSplit)])
			if cardnumber.InJSON(seam[:n]) {
				return true
			}
		}
	}
	return false
}

// wholeBody is the path of an issue that is about no field.
const wholeBody = "body"

// mostDepth is the depth of a body below which a field is named.
const mostDepth = 64

// findCard returns the first card's number in a body that is read into a type, nil for any.
func findCard(body []byte, of reflect.Type) (found Issue) {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil { // the end, or no JSON
			var broken *jsontext.SyntacticError
			if errors.As(err, &broken) {
				return cardIssue(wholeBody)
			}
			return Issue{}
		}
		kind := token.Kind()
		if kind != '"' && kind != '0' {
			continue
		}
		text := token.String()
		if kind == '0' {
			text, _, _ = strings.Cut(text, ".") // a fraction is none
		}
		if !cardnumber.In(text) {
			continue
		}
		if decoder.StackDepth() > mostDepth { // no schema is as deep: what holds it has no name of ours
			return cardIssue(wholeBody)
		}
		at := slices.Collect(decoder.StackPointer().Tokens())
		if inside, n := decoder.StackIndex(decoder.StackDepth()); kind == '"' && inside == '{' && n%2 == 1 { // a name
			if n := len(at); n > 0 && at[n-1] == text { // its own
				at = at[:n-1]
			}
			return cardIssue(shownPath(at))
		}
		if holdsCard(text, textTag(of, at)) {
			return cardIssue(shownPath(at))
		}
	}
}

// holdsCard reports whether the text of a field in which a card's number was found counts as one that holds it.
func holdsCard(text, tag string) bool {
	switch tag {
	case "account":
		return false
	case "number":
		return cardnumber.Is(text)
	}
	return true
}

// shownPath names a body's member as issues do. Names that hold a card's number were refused before.
func shownPath(tokens []string) string {
	var path []byte
	for _, token := range tokens {
		if _, err := strconv.Atoi(token); err == nil && len(path) > 0 {
			path = append(append(append(path, '['), token...), ']')
			continue
		}
		path = append(append(path, '.'), token...)
	}
	if text := strings.TrimPrefix(string(path), "."); text != "" {
		return clip(text)
	}
	return wholeBody
}

// textTag is the tag text of the field at a path of a type, "" for none.
func textTag(of reflect.Type, path []string) (tag string) {
	for _, name := range path {
		for of != nil && of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of == nil {
			return ""
		}
		switch of.Kind() {
		case reflect.Slice, reflect.Map:
			of = of.Elem()
		case reflect.Struct:
			if of, tag = fieldAt(of, name); of == nil {
				return ""
			}
		default:
			return ""
		}
	}
	return tag
}

// fieldAt is the type of the field of that name in a struct, and its tag text.
func fieldAt(of reflect.Type, name string) (reflect.Type, string) {
	for _, field := range reflect.VisibleFields(of) {
		if as, _, _ := strings.Cut(field.Tag.Get("json"), ","); as == name {
			return field.Type, field.Tag.Get("text")
		}
	}
	return nil, ""
}

// cardNames are names of what only a card has, in lower case without separators. In the shop's own fields they are refused whatever they hold.
var cardNames = []string{
	"cardnumber", "ccnumber", "creditcardnumber", "debitcardnumber", "pan", "primaryaccountnumber", "numerotarjeta", "numerodetarjeta", "numerocartao", "numerodocartao",
	"cvv", "cvv2", "cvc", "cvc2", "cvn", "csc", "cardcvv", "cardcvc", "securitycode", "cardsecuritycode", "cardverificationvalue", "codigoseguridad", "codigodeseguridad", "codigoseguranca", "codigodeseguranca",
	"trackdata", "track1", "track2", "pinblock", "cardexpiry", "cardexpiration", "cardexpirationdate",
}

// codeNames are those among them whose short value is no card's number, and must not be kept either.
var codeNames = []string{"cvv", "cvv2", "cvc", "cvc2", "cvn", "csc", "cardcvv", "cardcvc", "securitycode", "cardsecuritycode", "cardverificationvalue", "codigoseguridad", "codigodeseguridad", "codigoseguranca", "codigodeseguranca"}

// cardObjects are names of objects that hold a card.
var cardObjects = []string{"card", "creditcard", "debitcard", "paymentcard", "carddata", "carddetail", "carddetails", "cardinfo", "creditcarddata", "tarjeta", "tarjetacredito", "tarjetadecredito", "tarjetadebito", "tarjetadedebito", "cartao", "cartaocredito", "cartaodecredito", "cartaodebito", "cartaodedebito"}

// longestCardName is how many letters the longest of these names may have with its separators.
const longestCardName = 40

// bare is a name in lower case without separators.
func bare(name string) string {
	if len(name) > longestCardName {
		return ""
	}
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "ã", "a", "ç", "c", "é", "e", "ó", "o", "ú", "u").Replace(name))
}

// cardField says what is wrong with a field that is not ours and is named as a card or as what only a card has; no path if it is not.
func cardField(path, name string, value any) Issue {
	as := bare(name)
	_, object := value.(map[string]any)
	if slices.Contains(cardNames, as) || object && slices.Contains(cardObjects, as) {
		return Issue{Path: path, Message: "there is no field " + path + ", and no card's data may come in here: " + cardLead}
	}
	return Issue{}
}

// CardCode says what is wrong with a shop's own text that is named as a card's security code and has three or four digits; "" if it
// is none.
func CardCode(name, value string) string {
	digits := strings.TrimSpace(value)
	if (len(digits) == 3 || len(digits) == 4) && strings.Trim(digits, "0123456789") == "" && slices.Contains(codeNames, bare(name)) {
		return "holds a card's security code, which nobody may keep: " + cardLead
	}
	return ""
}

// cardIn refuses a request whose path, query string or Idempotency-Key holds a card's number.
//
// Errors: invalid_request.
func cardIn(r *http.Request, query map[string][]string) error {
	if cardnumber.In(r.URL.Path) {
		return Invalid(cardIssue(partOf(r)))
	}
	for name, values := range query {
		if cardnumber.In(name) {
			return Invalid(cardIssue("query"))
		}
		if slices.ContainsFunc(values, cardnumber.In[string]) {
			return Invalid(cardIssue(clip(name)))
		}
	}
	for _, key := range r.Header["Idempotency-Key"] {
		if cardnumber.In(key) {
			return Invalid(cardIssue("Idempotency-Key"))
		}
	}
	return nil
}

// partOf names the part of a path that holds a card's number.
func partOf(r *http.Request) string {
	for _, part := range strings.Split(r.Pattern, "/") {
		name := strings.Trim(part, "{}.$")
		if part != name && cardnumber.In(r.PathValue(name)) {
			return name
		}
	}
	return "path"
}
