// Package wire is the common form of our JSON APIs: bodies are read as they are written, and all errors of
// every API use one envelope and one table of codes.
//
// It knows no endpoint and no credentials; those belong to the API that uses it.
package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/danielgtaylor/huma/v2"
	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Formats are how huma reads and writes bodies.
func Formats() map[string]huma.Format {
	format := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	return map[string]huma.Format{"application/json": format, "json": format}
}

// marshal writes a body.
func marshal(w io.Writer, v any) error {
	a, ok := v.(view.Appender)
	if !ok {
		return huma.DefaultJSONFormat.Marshal(w, v)
	}
	_, err := w.Write(append(a.AppendJSON(make([]byte, 0, 1024)), '\n'))
	return err
}

// CheckContentType refuses a body that is not declared as JSON, or is compressed, and takes away a byte order mark.
//
// Errors: content_type_required.
func CheckContentType(op *huma.Operation, r *http.Request) error {
	if body := op.RequestBody; body == nil || !body.Required && r.ContentLength == 0 {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return contentType()
	}
	// Huma's lookup of the type is case-sensitive; the type is not.
	r.Header.Set("Content-Type", kind)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &unmarked{ReadCloser: r.Body}
	}
	return checkEncoding(strings.Join(r.Header.Values("Content-Encoding"), ","))
}

// unmarshal reads a body. Huma calls it twice: for validation and for the handler's struct. Names are
// case-sensitive, so "Amount" is not an amount. It refuses an ambiguous body (a duplicate member, invalid
// UTF-8): encoding/json uses the last member, and replaces invalid bytes.
func unmarshal(body []byte, into any) error {
	err := strict.Unmarshal(body, into)
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return errors.New(jsonMark + brokenJSON(body, broken))
	}
	if wrong, ok := errors.AsType[*strict.SemanticError](err); ok {
		// It stops at the first error. The later checks should report all errors, and a number beyond
		// float64 is still JSON.
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		err = decoder.Decode(into)
		if _, ok := into.(*any); !ok {
			err = errors.New(typeMark + path(wrong.JSONPointer))
		}
	}
	if err != nil {
		return err
	}
	if checked, ok := into.(*any); ok {
		*checked = shortened(*checked)
	}
	if read := reflect.ValueOf(into).Elem(); read.Kind() != reflect.Interface && suspicious(body) {
		if path, found := findUnprintable(read, false); found {
			return errors.New(unprintableMark + path)
		}
	}
	return nil
}

// MostItems is the longest list that any request may have.
const MostItems = 500

// shortened cuts lists that are longer than any may be to one item more than that. They are refused for their length: then
// nobody looks at a hundred thousand items one by one. Only the copy of a body that is checked is cut.
func shortened(v any) any {
	switch v := v.(type) {
	case []any:
		v = v[:min(len(v), MostItems+1)]
		for i := range v {
			v[i] = shortened(v[i])
		}
		return v
	case map[string]any:
		for name, member := range v {
			v[name] = shortened(member)
		}
	}
	return v
}

// suspicious reports whether a body may hold an unprintable character; it rarely reports a harmless one. It
// is fast for ASCII, so that a large body costs little time.
func suspicious(body []byte) bool {
	const ascii, word = 0x8080808080808080, 8
	if bytes.IndexByte(body, '\\') >= 0 || bytes.IndexByte(body, 0x7f) >= 0 {
		return true
	}
	for len(body) > 0 {
		if len(body) >= word && binary.NativeEndian.Uint64(body)&ascii == 0 {
			body = body[word:]
			continue
		}
		r, size := utf8.DecodeRune(body)
		if r >= utf8.RuneSelf && printable.Unprintable(r) {
			return true
		}
		body = body[size:]
	}
	return false
}

// path names a body's member as issues do.
func path(p jsontext.Pointer) string {
	var text []byte
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil && len(text) > 0 { // a place in a list, or a name that looks like one
			text = append(append(append(text, '['), token...), ']')
			continue
		}
		text = append(append(text, '.'), token...)
	}
	return strings.TrimPrefix(string(text), ".")
}

// findUnprintable returns the path of a text with an unprintable character (printable.Unprintable) in a
// handler's struct. A field with the tag text:"lines" may have more than one line. One with text:"number" or text:"account" may have the
// marks of copied numbers, which its reader cleans away.
func findUnprintable(v reflect.Value, lines bool) (path string, found bool) {
	switch v.Kind() {
	case reflect.String:
		// White space around a text is trimmed where it matters.
		return "", strings.ContainsFunc(strings.Trim(v.String(), " \t\r\n"), func(r rune) bool {
			return printable.Unprintable(r) && !(lines && (r == '\n' || r == '\r' || r == '\t'))
		})
	case reflect.Pointer:
		if !v.IsNil() {
			return findUnprintable(v.Elem(), lines)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if below, found := findUnprintable(v.Index(i), lines); found {
				return strings.TrimSuffix("["+strconv.Itoa(i)+"]."+below, "."), true
			}
		}
	case reflect.Map: // its names and texts, without telling which
		for pairs := v.MapRange(); pairs.Next(); {
			_, name := findUnprintable(pairs.Key(), false)
			if _, value := findUnprintable(pairs.Value(), lines); name || value {
				return "", true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			of := v.Field(i)
			if kind := tag.Get("text"); kind == "number" || kind == "account" {
				of = reflect.ValueOf(document.Clean(of.String()))
			}
			if below, found := findUnprintable(of, tag.Get("text") == "lines"); found {
				name, _, _ := strings.Cut(tag.Get("json"), ",")
				if !strings.HasPrefix(below, "[") {
					name += "."
				}
				return strings.Trim(name+below, "."), true
			}
		}
	}
	return "", false
}
