package settlements

import (
	"testing"

	"github.com/cascadapay/cascada/internal/api/calltest"
)

// FuzzQuery: the list of settlements reads any query string, or refuses it.
func FuzzQuery(f *testing.F) {
	l := calltest.NewLists()
	calltest.Add(l, "settlements", func(in *settlementsIn) calltest.Query {
		f := in.filter()
		return calltest.Query{Page: f.Page, Span: f.Span, Texts: []string{string(f.Status)}}
	})
	l.Fuzz(f)
}
