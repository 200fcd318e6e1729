package store

import (
	"fmt"
	"github.com/cascadapay/cascada/internal/store/claims"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// elsewhere are the fields of rows that their own table does not keep: another one has them, or whoever
// reads the row sets them. A new field of a row is kept, or is named here.
var elsewhere = map[string][]string{
	"payments":         {".Settlement", ".Stored"},
	"processing":       {".Settlement", ".Stored"},
	"deliveries":       {".Stored"},
	"sessions":         {".Reached"},
	"subscriptions":    {".LastDelivery"},
	"fanouts":          {".After", ".Over", ".Payload", ".Through"}, // a step's end is the next one's begin
	"rates":            {".By", ".Held.Currency", ".Last", ".Verdict"},
	"rate_history":     {".At", ".Currency", ".Held", ".Rate", ".Source"},
	"verifications":    {".Shop"},
	"settlements":      {".Shop"},
	"settlement_lines": {".OrderID", ".Shop", ".Taxed"},
	"reserves":         {".Shop"},
	"adjustments":      {".Shop"},
	"files":            {".Stored"},
	"audit":            {".By.Agent", ".By.IP", ".Note", ".Salt"},
	"audit_addresses":  {".Act", ".At", ".By.Agent", ".By.ID", ".By.Kind", ".By.Request", ".Details", ".Live", ".Merchant", ".Note", ".Object", ".Shop"},
	"audit_notes":      {".Act", ".At", ".By", ".Details", ".Live", ".Merchant", ".Shop"},
	"events":           {".Adjustment", ".Claim", ".Payload", ".Payment", ".PaymentLink", ".Previous", ".Refund", ".Session", ".Settlement", ".Wallet", ".Withdrawal"},
}

// filler sets the fields of a row. Without texts it leaves out all that a row can be without.
type filler struct {
	n       int64
	texts   func(n int64) string
	numbers func(n int64) int64
	at      time.Time
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Interface().(type) {
	case money.Amount: // some columns are of USD
		v.Set(reflect.ValueOf(money.New(f.numbers(f.n), money.USD)))
		return
	case money.Currency:
		v.SetString([]string{"BRL", "MXN", "CLP"}[f.n%3])
		return
	case money.Rate:
		rate, err := money.ParseRate(fmt.Sprintf("%d.0625", f.n))
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(rate))
		return
	case []ledger.Posting: // in the order of the accounts
		v.Set(reflect.ValueOf([]ledger.Posting{{Account: ledger.Accounts()[0], Amount: f.numbers(f.n)}}))
		return
	}
	if f.texts == nil && v.Kind() != reflect.Struct && v.Kind() != reflect.Array {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(f.at.Add(time.Duration(f.n) * time.Microsecond)))
		return
	case time.Duration:
		v.SetInt(f.n * int64(time.Second))
		return
	case []merchants.Right: // they are kept in their own order
		first := f.n % int64(len(merchants.Rights())-1)
		v.Set(reflect.ValueOf(merchants.Rights()[first : first+2]))
		return
	}
	f.fillKind(v)
}

func (f *filler) fillKind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Func: // a row has none
	case reflect.String:
		v.SetString(f.texts(f.n))
	case reflect.Int64, reflect.Int:
		v.SetInt(f.numbers(f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(f.texts(f.n)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic("a field of type " + v.Type().String() + ", which the test cannot set")
	}
}

// differences are the fields that differ in two rows, by path.
func differences(path string, a, b reflect.Value, found map[string]string) {
	at, isTime := a.Interface().(time.Time)
	_, isRate := a.Interface().(money.Rate)
	switch {
	case isTime && at.Equal(b.Interface().(time.Time)) && b.Interface().(time.Time).Location() == time.UTC:
	case a.Kind() == reflect.Struct && !isTime && !isRate:
		for i := range a.NumField() {
			switch f := a.Type().Field(i); {
			case !f.IsExported():
			case f.Anonymous:
				differences(path, a.Field(i), b.Field(i), found)
			default:
				differences(path+"."+f.Name, a.Field(i), b.Field(i), found)
			}
		}
	case (a.Kind() == reflect.Slice || a.Kind() == reflect.Map) && a.Len()+b.Len() == 0: // nil or not
	case !reflect.DeepEqual(a.Interface(), b.Interface()):
		found[path] = fmt.Sprintf("wrote %.100q, read %.100q", fmt.Sprint(a), fmt.Sprint(b))
	}
}

// comesBack writes a row of a *table.Table and reads it.
func comesBack(test *testing.T, s *Store, f *filler, described any) {
	t := reflect.ValueOf(described)
	get := func(name string) string { return t.Elem().FieldByName(name).String() }
	call := func(method string, args ...any) reflect.Value {
		in := make([]reflect.Value, len(args))
		for i, arg := range args {
			in[i] = reflect.ValueOf(arg)
		}
		return t.MethodByName(method).Call(in)[0]
	}
	of := t.Elem().FieldByName("ID").Type().In(0)
	wrote, read := reflect.New(of.Elem()), reflect.New(of.Elem())
	f.fill(wrote.Elem())
	switch v := wrote.Interface().(type) {
	case *pay.Claim:
		for i := range v.Evidence { // only of evidence that cannot be opened
			v.Evidence[i].Shut = ""
			if v.Evidence[i].File != nil {
				v.Evidence[i].File.Shut = ""
			}
		}
	case *webhooks.Subscription: // never none, and no word has a comma
		v.Events = []string{"payment.failed", "claim.opened"}
	case *pay.File: // Commit sets it
		v.Stored = claims.EncryptFile(s.b.Personal, v)
	}
	table, rows := get("Name"), reflect.Append(reflect.MakeSlice(reflect.SliceOf(of), 0, 1), wrote)
	insert := engine.Step{Text: s.b.Text(get("Insert")), Args: call("Rows", s.b.DB.Dialect(), s.b.Personal, rows.Interface()).Interface().(*engine.Rows).Args()}
	if err := s.b.DB.Apply(test.Context(), nil, []engine.Step{insert}); err != nil {
		test.Errorf("write %s: %v", table, err)
		return
	}
	n, reader := 0, call("Reader", s.b.Personal)
	id := t.Elem().FieldByName("ID").Call([]reflect.Value{wrote})[0].String()
	err := s.b.DB.Query(test.Context(), "SELECT "+get("List")+" FROM "+table+" WHERE id = $1", []any{id}, func(r engine.Row) error {
		n++
		err, _ := reader.Call([]reflect.Value{reflect.ValueOf(r), read})[0].Interface().(error)
		return err
	})
	if err != nil || n != 1 {
		test.Errorf("read %s: %d rows, %v", table, n, err)
		return
	}
	// The next row may have the same id. Append-only tables have many.
	_ = s.b.DB.Migrate(test.Context(), func(m engine.Migrator) error { return m.Exec("DELETE FROM " + table) })
	found := map[string]string{}
	differences("", wrote.Elem(), read.Elem(), found)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if !slices.ContainsFunc(elsewhere[table], func(known string) bool { return path == known || strings.HasPrefix(path, known+".") }) {
			test.Errorf("%s%s: %s", table, path, found[path])
		}
	}
}

// What is written into a row is read from it, whatever it is: no field of a row is left out of its table's
// description.
func TestEveryFieldOfARowComesBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		tables := []any{payments.Table, payments.ProcessingTable}
		for _, k := range written {
			if reflect.TypeOf(k).Kind() == reflect.Pointer { // not the payments, which are in two tables
				tables = append(tables, k)
			}
		}
		long := strings.Repeat("ção ", 500)
		for name, f := range map[string]*filler{
			"nothing": {at: time.Unix(1, 0), numbers: func(int64) int64 { return 0 }},
			"much": {at: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), numbers: func(n int64) int64 { return math.MaxInt64 - n },
				texts: func(n int64) string { return fmt.Sprint("é\u2028😀<&>\"\\'{},\x01\x7f\n ", n, long) }},
			"little": {at: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), numbers: func(n int64) int64 { return math.MinInt64 + n },
				texts: func(n int64) string { return fmt.Sprint(n) }},
		} {
			t.Run(name, func(t *testing.T) {
				for _, described := range tables {
					comesBack(t, s, f, described)
				}
			})
		}
	})
}
