// Package wire is how our JSON APIs speak: bodies are read as they are written,
// and every error has one envelope, by one table of codes, whichever API it comes
// from.
//
// It knows no endpoint and no credentials; those are of the API that uses it.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

// CheckContentType refuses a body that does not say that it is JSON.
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
	// Huma looks the type up as it is written; it has no case.
	r.Header.Set("Content-Type", kind)
	return nil
}

// unmarshal reads a body. Huma calls it twice: for validation and for the
// handler's struct. Names are as they are written, so "Amount" is no amount. A body that
// two readers could read differently (a member twice, text that is no UTF-8) is refused:
// encoding/json takes the last one, and puts something else where it cannot read.
func unmarshal(body []byte, into any) error {
	err := strict.Unmarshal(body, into)
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return errors.New(jsonMark + "the body has " + path(broken.JSONPointer) + " twice")
		}
		return errors.New(jsonMark + "the body is not valid JSON: " + broken.Err.Error())
	}
	if wrong, ok := errors.AsType[*strict.SemanticError](err); ok {
		// It stops there. The checks that follow are to tell of all that is wrong, and a
		// number beyond float64 is JSON all the same.
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
	if bytes.Contains(body, []byte(`\u0000`)) {
		if path, found := findNUL(reflect.ValueOf(into).Elem()); found {
			return errors.New(nulMark + path)
		}
	}
	return nil
}

// path names a member of a body as issues do.
func path(p jsontext.Pointer) string { return strings.Join(slices.Collect(p.Tokens()), ".") }

// findNUL returns the path of a text with a NUL character, which PostgreSQL
// cannot store, in a handler's struct.
func findNUL(v reflect.Value) (path string, found bool) {
	switch v.Kind() {
	case reflect.String:
		return "", strings.ContainsRune(v.String(), 0)
	case reflect.Pointer:
		if !v.IsNil() {
			return findNUL(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if _, found := findNUL(v.Index(i)); found {
				return "[" + strconv.Itoa(i) + "]", true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if below, found := findNUL(v.Field(i)); found {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				return strings.Trim(name+"."+below, "."), true
			}
		}
	}
	return "", false
}
