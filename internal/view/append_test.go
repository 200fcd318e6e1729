package view

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"pgregory.net/rapid"
)

// standard is what encoding/json writes, which goes by the fields as they are
// declared.
func standard(t interface{ Fatal(...any) }, v any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// What a resource appends is what encoding/json writes, whatever is in its
// fields: also one that was added and that nobody thought of here.
func TestAppendedIsWhatJSONWrites(t *testing.T) {
	t.Run("created", rapid.MakeCheck(func(t *rapid.T) { appendedIsStandard[Created](t) }))
	t.Run("transaction", rapid.MakeCheck(func(t *rapid.T) { appendedIsStandard[Transaction](t) }))
	t.Run("event", rapid.MakeCheck(func(t *rapid.T) {
		var e Event
		fill(t, reflect.ValueOf(&e).Elem(), false)
		var claim Claim
		var transaction Transaction
		fill(t, reflect.ValueOf(&claim).Elem(), false)
		fill(t, reflect.ValueOf(&transaction).Elem(), false)
		e.Data.Object = rapid.SampledFrom([]any{nil, claim, transaction}).Draw(t, "object")
		got, err := e.append(nil)
		if want := standard(t, e); err != nil || string(got) != want {
			t.Fatalf("appended (%v)\n%s\nwant\n%s", err, got, want)
		}
	}))
}

func appendedIsStandard[T Appender](t *rapid.T) {
	var v T
	fill(t, reflect.ValueOf(&v).Elem(), rapid.Bool().Draw(t, "every field"))
	if got, want := string(v.AppendJSON([]byte("before ")[:7])), "before "+standard(t, v); got != want {
		t.Fatalf("appended\n%s\nwant\n%s", got, want)
	}
}

// fill sets every field: to something if all, else to anything.
func fill(t *rapid.T, v reflect.Value, all bool) {
	switch v.Interface().(type) {
	case Money:
		currency := rapid.SampledFrom([]money.Currency{"USD", "CLP", "BHD", "CLF"}).Draw(t, "currency")
		v.Set(reflect.ValueOf(Money{money.New(rapid.Int64().Draw(t, "minor"), currency)}))
		if !all && rapid.Bool().Draw(t, "none") {
			v.SetZero()
		}
		return
	case Rate:
		rate, err := money.ParseRate(rapid.SampledFrom([]string{"1", "5.4", "0.000012345", "1234567"}).Draw(t, "rate"))
		if err != nil {
			t.Fatal(err)
		}
		v.Set(reflect.ValueOf(Rate{rate}))
		return
	case Time:
		micros := rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "micros")
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		v.Set(reflect.ValueOf(Time{time.UnixMicro(micros).In(zone)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		texts := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{1,20}`), rapid.SampledFrom([]string{"\xff", "a\u2028b", "<&>", "São", "\x7f", "\n"}))
		text := texts.Draw(t, "text")
		if all && text == "" {
			text = "something"
		}
		v.SetString(text)
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(all || rapid.Bool().Draw(t, "flag"))
	case reflect.Pointer:
		if all || rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), all)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), all)
		}
	case reflect.Slice:
		if all || rapid.Bool().Draw(t, "items") {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(t, v.Index(0), all)
		}
	case reflect.Map:
		if all || rapid.Bool().Draw(t, "pairs") {
			v.Set(reflect.MakeMap(v.Type()))
			for range rapid.IntRange(1, 3).Draw(t, "keys") {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, key, all)
				fill(t, value, all)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Interface: // the test sets it
	default:
		t.Fatalf("a field of type %s, which the test cannot set", v.Type())
	}
}
