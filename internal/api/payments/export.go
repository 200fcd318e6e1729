package payments

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/api/call"
	apppayments "github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/statement"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const (
	// exports is how many payment exports a node writes at a time, for all merchants together.
	exports = 16
	// readTime is how long a client may take to read a page of an export.
	readTime = time.Minute
)

type exportIn struct {
	Filter
	Behind string `query:"startingAfter" doc:"The id of a payment: the file begins after it, as when a file before it broke off"`
	call.Sheet
}

// Resolve reads the filter and the cursor.
func (in *exportIn) Resolve(ctx huma.Context) []error {
	issues := append(in.Filter.Resolve(ctx), checkCursor(lists.CursorParam, in.Behind)...)
	in.filter.After = in.Behind
	return issues
}

// file is the response of an operation that sends a file.
func file(kind string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {Description: "A file", Content: map[string]*huma.MediaType{
		kind: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}}
}

// exportPayments sends all payments that a filter selects as CSV (RFC 4180), one page in memory at a time.
// Before the first byte it fails like any call; after it, the reply is cut off, so nobody mistakes a part
// for the whole.
//
// Errors: rate_limited if the merchant has too many exports running, invalid_request.
func (a *api) exportPayments(ctx context.Context, caller call.Caller, in *exportIn) (*huma.StreamResponse, error) {
	f := in.filter
	first, err := a.uses.Payments.ListFrom(ctx, caller.Scope, f)
	if err != nil {
		return nil, err
	}
	if !a.exports.Acquire(caller.Merchant, 1) {
		caller.Reply["Retry-After"] = []string{"5"}
		return nil, message.Refusal(problem.RateLimited, "too many files are being read at once: read one to its end before you ask for the next")
	}
	return &huma.StreamResponse{Body: func(to huma.Context) {
		defer a.exports.Leave(caller.Merchant, 1)
		_, w := humago.Unwrap(to)
		to.SetHeader("Content-Type", "text/csv; charset=utf-8")
		to.SetHeader("Content-Disposition", `attachment; filename="payments.csv"`)
		to.SetStatus(http.StatusOK)
		sheet := statement.Sheet(in.Decimal)
		out, err := sheet.Writer(to.BodyWriter())
		if err == nil {
			out.UseCRLF = true
			err = out.Write(columnNames())
		}
		for page := first; err == nil; {
			web.Allow(w, readTime)
			for _, p := range page {
				if err = out.Write(cells(view.NewTransaction(&p, a.uses.CheckoutURL), sheet)); err != nil {
					break
				}
			}
			out.Flush()
			if err = out.Error(); err != nil || len(page) < apppayments.ExportPage {
				break
			}
			f.After = page[len(page)-1].ID
			page, err = a.uses.Payments.ListFrom(ctx, caller.Scope, f)
		}
		if err != nil {
			if ctx.Err() == nil {
				a.Log.ErrorContext(ctx, "a file of payments broke off", "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// columns are the fields of a payment in a list; a nested field has both names. Fields that a list does not
// show are left out.
var columns = columnsOf(reflect.TypeFor[view.Transaction](), "", nil)

// unlisted are fields that lists do not show.
var unlisted = []string{"paymentData", "refund"}

type csvColumn struct {
	name string
	path [][]int // of the fields, with their nesting
}

func columnsOf(t reflect.Type, prefix string, path [][]int) (all []csvColumn) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || prefix == "" && slices.Contains(unlisted, name) {
			continue
		}
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		here := append(slices.Clone(path), f.Index)
		if kind.Kind() == reflect.Struct && !writesItself(kind) {
			all = append(all, columnsOf(kind, prefix+name+".", here)...)
			continue
		}
		all = append(all, csvColumn{prefix + name, here})
	}
	return all
}

// writesItself reports whether a type writes its own JSON text, as money and times do.
func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func columnNames() (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// cells are a payment's fields as texts. A text that a spreadsheet would run as a formula gets an
// apostrophe in front.
func cells(t view.Transaction, sheet statement.Sheet) []string {
	row := make([]string, 0, len(columns))
	for _, c := range columns {
		row = append(row, c.of(reflect.ValueOf(t), sheet))
	}
	return row
}

func (c csvColumn) of(v reflect.Value, sheet statement.Sheet) string {
	for _, index := range c.path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return ""
			}
			v = v.Elem()
		}
		v = v.FieldByIndex(index)
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return ""
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		return sheet.Guard(plain)
	}
	var number json.Number
	if json.Unmarshal(text, &number) == nil {
		return sheet.Number(string(text))
	}
	return string(text)
}
