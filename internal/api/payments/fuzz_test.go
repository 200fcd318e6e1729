package payments

import (
	"testing"

	"github.com/cascadapay/cascada/internal/api/calltest"
)

// FuzzQuery: the list of payments reads any query string, or refuses it.
func FuzzQuery(f *testing.F) {
	l := calltest.NewLists()
	calltest.Add(l, "payments", func(in *listIn) calltest.Query {
		f := in.filter
		q := calltest.Query{Page: f.Page, Span: f.Span, Country: f.Country, Texts: []string{string(f.Status), f.Rail, f.Method, f.OrderID, f.After, string(f.Amount.Currency)}}
		if f.Status != "" && !f.Status.Valid() {
			q.Wrong = string(f.Status)
		}
		return q
	})
	l.Fuzz(f)
}
