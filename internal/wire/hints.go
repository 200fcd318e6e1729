package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/danielgtaylor/huma/v2"
)

// Help is what errors about a request's fields may use to suggest a fix.
type Help struct {
	// About selects the fields whose errors are always invalid_request.
	About func(Issue) bool

	Body    *huma.Schema  // of the request's body; nil for none
	Schemas huma.Registry // of Body's references
	Sent    *Sent         // the received body; nil if it was not kept
	Strict  bool          // refuses unknown fields
	Ignored []string      // parameters of the query that are
	Open    bool          // the body may have a shop's own fields: only those that could mean money are refused
}

type helpKey struct{}

// WithHelp sets what errors about a request's fields may use.
func WithHelp(ctx huma.Context, h Help) huma.Context { return huma.WithValue(ctx, helpKey{}, h) }

func helpOf(ctx context.Context) Help {
	h, _ := ctx.Value(helpKey{}).(Help)
	return h
}

// Sent is a body that keeps what is read of it, up to a limit.
type Sent struct {
	io.ReadCloser
	most int
	text []byte
	over bool // it was larger
}

// Keep returns a body that keeps at most so many bytes, or nothing if it is larger.
func Keep(body io.ReadCloser, size int64, most int) *Sent {
	s := &Sent{ReadCloser: body, most: most}
	if size > 0 && size <= int64(most) {
		s.text = make([]byte, 0, size)
	}
	return s
}

// Read implements io.Reader.
func (s *Sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.over = s.over || len(s.text)+n > s.most; s.over {
		s.text = nil
		return n, err
	}
	s.text = append(s.text, p[:n]...)
	return n, err
}

// stranger is a body's field that the schema does not have.
type stranger struct {
	parent, name string
	value        any
	known        []string
	absent       []string // known ones that were not sent
}

// strangerAt is the unknown field at a path, as huma writes it. What else was sent is not known, so each known field may be meant.
func (h Help) strangerAt(path string) stranger {
	s := stranger{name: path}
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		s.parent, s.name = path[:dot], path[dot+1:]
	}
	schema := h.field(s.parent)
	if schema == nil || len(schema.Properties) == 0 { // a name with a point in it
		s.parent, s.name, schema = "", path, h.field("")
	}
	if schema != nil {
		s.known = slices.Sorted(maps.Keys(schema.Properties))
	}
	s.absent = s.known
	return s
}

// meant is the likely intended field, "" for none.
func (st stranger) meant() string { return meant(st.name, st.absent) }

func (st stranger) path() string { return strings.TrimPrefix(st.parent+"."+st.name, ".") }

func (st stranger) issue() Issue {
	if issue := cardField(clip(st.path()), st.name, st.value); issue.Path != "" {
		return issue
	}
	message := "there is no field " + clip(st.path()) + ": "
	if meant := st.meant(); meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "leave it out; the fields are " + strings.Join(st.known, ", ")
	}
	return Issue{Path: clip(st.path()), Message: message}
}

// strangers lists the body's unknown fields by path.
func (h Help) strangers() (all []stranger) { return h.found(mostStrangers) }

// found lists at most so many unknown fields.
func (h Help) found(most int) (all []stranger) {
	if h.Body == nil || h.Sent == nil || len(h.Sent.text) == 0 {
		return nil
	}
	var sent any
	if json.Unmarshal(h.Sent.text, &sent) == nil {
		h.walk(h.Body, sent, "", most, &all)
	}
	return all
}

// mostStrangers is how many unknown fields are reported: our bodies have few fields, a foreign body has
// many.
const mostStrangers = 20

func (h Help) walk(schema *huma.Schema, sent any, path string, most int, all *[]stranger) {
	schema = h.resolved(schema)
	if schema == nil {
		return
	}
	switch value := sent.(type) {
	case []any:
		for i, item := range value {
			h.walk(schema.Items, item, path+"["+strconv.Itoa(i)+"]", most, all)
		}
	case map[string]any:
		if _, open := schema.AdditionalProperties.(*huma.Schema); open || len(schema.Properties) == 0 { // any names are allowed
			return
		}
		known := slices.Sorted(maps.Keys(schema.Properties))
		absent := slices.DeleteFunc(slices.Clone(known), func(name string) bool { _, there := value[name]; return there })
		names := slices.Sorted(maps.Keys(value))
		for _, name := range names { // before those further in: a list may have more than are wanted
			if schema.Properties[name] == nil && len(*all) < most {
				*all = append(*all, stranger{path, name, value[name], known, absent})
			}
		}
		for _, name := range names {
			if below := schema.Properties[name]; below != nil {
				h.walk(below, value[name], strings.TrimPrefix(path+"."+name, "."), most, all)
			}
		}
	}
}

// meant guesses the intended field. A webhook's types field is named events, so events is understood in a
// replay too.
func meant(name string, absent []string) string {
	if near.Typo(name, []string{"events"}) != "" || name == "events" {
		if slices.Contains(absent, "types") && !slices.Contains(absent, "events") {
			return "types"
		}
	}
	if like := near.Meant(name, absent); like != "" {
		return like
	}
	// Whoever leaves an amount out of a refund, because we say so, refunds all of it.
	if field := synonym(name); slices.Contains(absent, field) {
		return field
	}
	return ""
}

func (h Help) resolved(schema *huma.Schema) *huma.Schema {
	for schema != nil && schema.Ref != "" && h.Schemas != nil {
		schema = h.Schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// field is a field's schema by its path, nil for none.
func (h Help) field(path string) *huma.Schema {
	schema := h.resolved(h.Body)
	for _, name := range strings.Split(path, ".") {
		name, index, _ := strings.Cut(name, "[")
		if schema == nil || path == "" {
			return schema
		}
		if schema = h.resolved(schema.Properties[name]); index != "" && schema != nil {
			schema = h.resolved(schema.Items)
		}
	}
	return schema
}

// Has reports whether the body has a field of that name.
func (h Help) Has(name string) bool { return h.Body != nil && name != "" && h.field(name) != nil }

// required says that a field is missing, and what to send.
func (h Help) required(field string, all []stranger) string {
	if text := h.misspelt(field, all); text != "" {
		return text
	}
	message := field + " is required: send "
	schema := h.field(field)
	if schema == nil {
		return message + "it in the body"
	}
	message += kindOf(schema) + example(schema)
	if schema.Description != "" {
		message += " (" + schema.Description + ")"
	}
	return message
}

// Mend adds a hint to a handler's refusal when a required field is missing because its name was misspelt.
func Mend(ctx context.Context, err error) error {
	var e *problem.Error
	if !errors.As(err, &e) || len(e.Details.MissingFields) == 0 && e.Code != problem.MissingField {
		return err
	}
	h := helpOf(ctx)
	all := h.strangers()
	mended := *e
	mended.Details.Issues = slices.Clone(e.Details.Issues)
	if text := h.misspelt(e.Param, all); text != "" {
		mended.Reason = message.Literal(text)
	}
	for i, issue := range mended.Details.Issues {
		if text := h.misspelt(issue.Path, all); text != "" {
			mended.Details.Issues[i].Reason = message.Literal(text)
		}
	}
	return &mended
}

// misspelt names the field that was sent in place of a missing one, "" for none.
func (h Help) misspelt(field string, all []stranger) string {
	parent, name := "", field
	if dot := strings.LastIndexByte(field, '.'); dot >= 0 {
		parent, name = field[:dot], field[dot+1:]
	}
	said := func(is func(stranger) bool) string {
		for _, s := range all {
			if s.parent == parent && is(s) {
				return fmt.Sprintf("%s is required: you sent %s, which is ignored; did you mean %s?", field, clip(s.path()), field)
			}
		}
		return ""
	}
	if text := said(func(s stranger) bool { return s.meant() == name }); text != "" {
		return text
	}
	// A name that is closer to an optional field: payment_method looks like paymentMethod.
	return said(func(s stranger) bool { return near.Meant(s.name, []string{name}) != "" })
}

// kindOf is a field's type in plain words.
func kindOf(schema *huma.Schema) string {
	switch schema.Type {
	case huma.TypeString:
		return "a text"
	case huma.TypeBoolean:
		return "true or false, without quotes"
	case huma.TypeInteger:
		return "a whole number"
	case huma.TypeArray:
		return "a list"
	case huma.TypeObject:
		return "an object"
	}
	return "a number" // an amount has its own type
}

// example shows a value of a field, "" for none.
func example(schema *huma.Schema) string {
	if len(schema.Enum) > 0 {
		return ": one of " + listed(schema.Enum)
	}
	if len(schema.Examples) == 0 {
		return ""
	}
	text, err := json.Marshal(schema.Examples[0])
	if err != nil {
		return ""
	}
	return ", such as " + string(text)
}

// listed writes values as a list.
func listed(values []any) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return strings.Join(texts, ", ")
}

// OneOf lists the allowed values, and suggests the likely one.
func OneOf[T ~string](field, sent string, values []T) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	message := field + " must be one of " + strings.Join(texts, ", ")
	if meant := near.Meant(sent, texts); meant != "" {
		message += "; did you mean " + meant + "?"
	}
	return message
}

// Quoted quotes a JSON value as its sender wrote it.
func Quoted(v any) string {
	switch value := v.(type) {
	case nil:
		return "null"
	case string:
		return "the text " + strconv.Quote(clip(value))
	case bool:
		return strconv.FormatBool(value)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case float64:
		return "the number " + plainNumber(value)
	}
	return "the number " + clip(fmt.Sprint(v))
}

// plainNumber writes whole numbers without an exponent, because an order number is one.
func plainNumber(n float64) string {
	if whole, exact := big.NewFloat(n).Int(nil); exact == big.Exact && len(whole.String()) < 20 {
		return whole.String()
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// clip shortens a client's text for a message.
func clip(text string) string {
	const most = 60
	text = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if printable.Unprintable(r) {
			return '?'
		}
		return r
	}, text), "?")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// plain rewrites huma's finding in plain words: what the field must hold, and what was sent. It returns
// unknown findings unchanged.
func (h Help) plain(path string, d *huma.ErrorDetail) string {
	name, found := path, ""
	if name == "" {
		name = "the body"
	}
	schema := h.field(path)
	if schema == nil || !strings.HasPrefix(d.Location, "body") { // a parameter
		schema = &huma.Schema{}
	}
	for sign, bound := range map[string]string{"number >= ": "at least ", "number <= ": "at most "} {
		if value, ok := strings.CutPrefix(d.Message, "expected "+sign); ok {
			if n, err := strconv.ParseFloat(value, 64); err == nil { // written as 1e+09
				value = strconv.FormatFloat(n, 'f', -1, 64)
			}
			if both := bounds(schema); both != "" {
				return fmt.Sprintf("%s must be %s%s; you sent %s", name, kindOf(schema), both, Quoted(d.Value))
			}
			return fmt.Sprintf("%s must be %s%s; you sent %s", name, bound, value, Quoted(d.Value))
		}
	}
	if strings.HasPrefix(d.Message, "expected array length ") {
		return items(name, d)
	}
	switch found, _, _ = strings.Cut(strings.TrimPrefix(d.Message, "expected "), " "); found {
	case "string", "number", "integer", "boolean", "array", "object":
		if strings.Contains(d.Message, "to match pattern") || strings.Contains(d.Message, "to be ") {
			if schema.Description != "" {
				return fmt.Sprintf("%s must be written as %s%s: %s", name, strings.TrimPrefix(d.Message, "expected string to match pattern "), example(schema), schema.Description)
			}
			return fmt.Sprintf("%s must be written as %s%s", name, strings.TrimPrefix(d.Message, "expected string to match pattern "), example(schema))
		}
		if path == "" && found == "object" {
			return fmt.Sprintf(`the body must be a JSON object, such as {"amount":25.5}; you sent %s`, Quoted(d.Value))
		}
		kind := kindOf(&huma.Schema{Type: found})
		if schema.Type == huma.TypeInteger {
			kind = kindOf(schema)
		}
		if h.secret(schema) {
			return fmt.Sprintf("%s must be %s%s; you sent something else", name, kind, example(schema))
		}
		return fmt.Sprintf("%s must be %s%s%s; you sent %s", name, kind, bounds(schema), example(schema), Quoted(d.Value))
	case "length":
		return h.length(name, d)
	case "value":
		if _, values, ok := strings.Cut(d.Message, `one of "`); ok {
			return OneOf(name, fmt.Sprint(d.Value), strings.Split(strings.TrimSuffix(values, `"`), ", "))
		}
	}
	return d.Message
}

// secret reports whether a field holds a secret, or an object with one: no message quotes it.
func (h Help) secret(schema *huma.Schema) bool {
	if schema = h.resolved(schema); schema == nil {
		return false
	}
	return schema.WriteOnly || slices.ContainsFunc(slices.Collect(maps.Values(schema.Properties)), h.secret)
}

// items says how many items a list may have.
func items(name string, d *huma.ErrorDetail) string {
	sent, _ := d.Value.([]any)
	number := strconv.Itoa(len(sent))
	if len(sent) > MostItems {
		number = "more than " + strconv.Itoa(MostItems)
	}
	if most, ok := strings.CutPrefix(d.Message, tooManyItems); ok {
		return fmt.Sprintf("%s must have at most %s items; you sent %s", name, most, number)
	}
	return fmt.Sprintf("%s must have at least %s items; you sent %s", name, strings.TrimPrefix(d.Message, "expected array length >= "), number)
}

// length says how long a text may be.
func (h Help) length(name string, d *huma.ErrorDetail) string {
	text, _ := d.Value.(string)
	n := len([]rune(text))
	if most, ok := strings.CutPrefix(d.Message, "expected length <= "); ok {
		return fmt.Sprintf("%s must have at most %s characters%s; you sent %d", name, most, h.exampleOf(name), n)
	}
	if n == 0 {
		return fmt.Sprintf("%s must not be empty: send a text%s", name, h.exampleOf(name))
	}
	least := strings.TrimPrefix(d.Message, "expected length >= ")
	return fmt.Sprintf("%s must have at least %s characters; you sent %d", name, least, n)
}

// exampleOf shows a value of a body's field, "" for none.
func (h Help) exampleOf(field string) string {
	if schema := h.field(field); schema != nil {
		return example(schema)
	}
	return ""
}

// misfit says what an unreadable field must hold.
func (h Help) misfit(field string) string {
	schema := h.field(field)
	if schema == nil {
		return field + " holds a value that does not fit: look its type up in the API reference"
	}
	return field + " must be " + kindOf(schema) + bounds(schema) + example(schema)
}

// bounds says how small and how large a number may be, "" if unbounded.
func bounds(schema *huma.Schema) string {
	least, most := schema.Minimum, schema.Maximum
	switch {
	case least != nil && most != nil:
		return " from " + plainNumber(*least) + " to " + plainNumber(*most)
	case least != nil:
		return " of at least " + plainNumber(*least)
	case most != nil:
		return " of at most " + plainNumber(*most)
	}
	return ""
}
