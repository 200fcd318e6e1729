package published

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ofHTTP are the headers that a client may always send.
var ofHTTP = []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "Connection", "Host"}

// check returns what a value has that the document does not allow. at is its place. words are exempt from enums.
func (v Value) check(at string, got any, strict bool, words []string) []string {
	if len(v.either) > 0 {
		var first []string
		for _, shape := range v.either {
			wrong := shape.check(at, got, strict, words)
			if len(wrong) == 0 {
				return nil
			}
			if first == nil || len(wrong) < len(first) {
				first = wrong
			}
		}
		return first
	}
	is := kindsOf(got)
	if slices.Contains(v.kinds, any_) {
		return nil
	}
	if !slices.ContainsFunc(v.kinds, func(k kind) bool { return slices.Contains(is, k) }) {
		return []string{fmt.Sprintf("%s is %s, want %s", at, shown(got), kindList(v.kinds))}
	}
	switch got := got.(type) {
	case string:
		return v.checkText(at, got, words)
	case []any:
		var wrong []string
		if n := len(got); n < v.min || v.max > 0 && n > v.max {
			wrong = append(wrong, fmt.Sprintf("%s has %d entries, want %d to %d", at, n, v.min, v.max))
		}
		for i, one := range got {
			wrong = append(wrong, v.item.check(fmt.Sprintf("%s[%d]", at, i), one, strict, words)...)
		}
		return wrong
	case map[string]any:
		return v.fields.check(at, got, strict && !v.open, strict, words)
	}
	return nil
}

func (v Value) checkText(at, got string, words []string) []string {
	n := utf8.RuneCountInString(got)
	switch {
	case !slices.Contains(v.kinds, text): // a number as a string is checked as little as a number
	case v.enum != nil && !slices.Contains(v.enum, got) && !slices.Contains(words, got):
		return []string{fmt.Sprintf("%s is %q, want one of %s", at, got, strings.Join(v.enum, ", "))}
	case n < v.min || v.max > 0 && n > v.max:
		return []string{fmt.Sprintf("%s is %q, of %d characters, want %d to %d", at, got, n, v.min, v.max)}
	case v.pattern != nil && !v.pattern.MatchString(got):
		return []string{fmt.Sprintf("%s is %q, want %s", at, got, v.pattern)}
	}
	return nil
}

// check returns what an object has that the document does not allow; closed: further fields are refused.
func (f Fields) check(at string, got map[string]any, closed, strict bool, words []string) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		v := f[name]
		field, there := got[name]
		switch {
		case !there && v.must:
			wrong = append(wrong, fmt.Sprintf("%s lacks %s", at, name))
		case there:
			wrong = append(wrong, v.check(at+"."+name, field, strict, words)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, known := f[name]; !known && closed {
			wrong = append(wrong, fmt.Sprintf("%s has %s, which no document has", at, name))
		}
	}
	return wrong
}

func kindsOf(got any) []kind {
	switch got := got.(type) {
	case nil:
		return []kind{null}
	case string:
		return []kind{text}
	case bool:
		return []kind{boolean}
	case json.Number:
		if whole(got) {
			return []kind{integer, number}
		}
		return []kind{number}
	case []any:
		return []kind{list}
	}
	return []kind{object}
}

// whole reports whether a number is whole as written or in value: 10 and 10.0.
func whole(n json.Number) bool {
	r, ok := new(big.Rat).SetString(n.String())
	return ok && r.IsInt() && !strings.ContainsAny(n.String(), ".eE")
}

func kindList(kinds []kind) string {
	var words []string
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return strings.Join(words, " or ")
}

func shown(got any) string {
	written, err := json.Marshal(got)
	if err != nil || len(written) > 120 {
		return kindList(kindsOf(got)[:1])
	}
	return string(written)
}

// read reads a body as JSON with numbers as written.
func read(body []byte) (got any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON")
	}
	return got, nil
}

// checkBody returns what a body has that the document does not allow.
func checkBody(v Value, form bool, body []byte, strict bool, words []string) []string {
	switch {
	case v.zero() && len(bytes.TrimSpace(body)) > 0:
		return []string{"it has a body, and the document has none"}
	case v.zero():
		return nil
	case form:
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return []string{"the body is not a form: " + err.Error()}
		}
		return v.fields.checkForm("body", values, strict && !v.open)
	}
	got, err := read(body)
	if err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	return v.check("body", got, strict, words)
}

// checkParts returns what a form in parts has that the document does not allow. A file counts as its media type.
func (v Value) checkParts(media string, body []byte) []string {
	_, how, err := mime.ParseMediaType(media)
	if err != nil {
		return nil // it is not such a form: its media type is reported
	}
	values := url.Values{}
	for parts := multipart.NewReader(bytes.NewReader(body), how["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return v.fields.checkForm("body", values, !v.open)
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(part)
		}
		switch {
		case err != nil:
			return []string{"the body is not a form in parts: " + err.Error()}
		case part.FileName() != "" && len(text) == 0:
			return []string{"the file " + part.FileName() + " is empty"}
		case part.FileName() != "":
			text = []byte(part.Header.Get("Content-Type"))
		}
		values.Add(part.FormName(), string(text))
	}
}

// checkForm returns what a form or a query has that the document does not allow. The fields of an object in it are
// a[b], and the entries of a list a[0] or a[].
func (f Fields) checkForm(at string, got url.Values, closed bool) []string {
	tree := map[string]any{}
	for name, values := range got {
		plant(tree, strings.FieldsFunc(name, func(r rune) bool { return r == '[' || r == ']' }), strings.HasSuffix(name, "[]"), values)
	}
	return f.checkTree(at, tree, closed)
}

// plant puts a field's values at its place.
func plant(tree map[string]any, path []string, isList bool, values []string) {
	for _, step := range path[:len(path)-1] {
		next, ok := tree[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[step] = next
		}
		tree = next
	}
	leaf := path[len(path)-1]
	if !isList && len(values) == 1 {
		tree[leaf] = values[0]
		return
	}
	entries := map[string]any{}
	for i, value := range values {
		entries[strconv.Itoa(i)] = value
	}
	tree[leaf] = entries
}

// checkTree is Fields.check for a form, in which every value is a text and a list is an object with numbers.
func (f Fields) checkTree(at string, tree map[string]any, closed bool) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		v := f[name]
		got, there := tree[name]
		switch {
		case !there && v.must:
			wrong = append(wrong, fmt.Sprintf("%s lacks %s", at, name))
		case there:
			wrong = append(wrong, v.checkLeaf(at+"."+name, got, closed)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if _, known := f[name]; !known && closed {
			wrong = append(wrong, fmt.Sprintf("%s has %s, which no document has", at, name))
		}
	}
	return wrong
}

func (v Value) checkLeaf(at string, got any, closed bool) (wrong []string) {
	for i, shape := range v.either {
		if wrong = shape.checkLeaf(at, got, closed); len(wrong) == 0 || i == len(v.either)-1 {
			return wrong
		}
	}
	deeper, nested := got.(map[string]any)
	switch {
	case slices.Contains(v.kinds, any_):
		return nil
	case nested && v.item != nil:
		for _, i := range slices.Sorted(maps.Keys(deeper)) {
			wrong = append(wrong, v.item.checkLeaf(at+"["+i+"]", deeper[i], closed)...)
		}
		return wrong
	case nested && slices.Contains(v.kinds, object):
		return v.fields.checkTree(at, deeper, closed && !v.open)
	case nested || v.item != nil || slices.Contains(v.kinds, object):
		return []string{fmt.Sprintf("%s is %s, want %s", at, shown(got), kindList(v.kinds))}
	}
	leaf := got.(string)
	switch {
	case slices.Contains(v.kinds, text):
		return v.checkText(at, leaf, nil)
	case slices.Contains(v.kinds, boolean) && (leaf == "true" || leaf == "false"):
		return nil
	case slices.Contains(v.kinds, integer) && whole(json.Number(leaf)):
		return nil
	case slices.Contains(v.kinds, number):
		if _, err := strconv.ParseFloat(leaf, 64); err == nil {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %q, want %s", at, leaf, kindList(v.kinds))}
}

// checkHeader returns what headers have that the document does not allow. Names are compared as HTTP does.
func (f Fields) checkHeader(got http.Header, closed bool) (wrong []string) {
	known := map[string]bool{}
	for name, v := range f {
		known[http.CanonicalHeaderKey(name)] = true
		values := got.Values(name)
		if len(values) == 0 && v.must {
			wrong = append(wrong, "the header "+name+" is missing")
		}
		for _, value := range values {
			wrong = append(wrong, v.checkLeaf("the header "+name, value, true)...)
		}
	}
	for name := range got {
		if closed && !known[name] && !slices.Contains(ofHTTP, name) {
			wrong = append(wrong, "the header "+name+" is in no document")
		}
	}
	slices.Sort(wrong)
	return wrong
}
