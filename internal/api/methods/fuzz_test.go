package methods

import (
	"testing"

	"github.com/cascadapay/cascada/internal/api/calltest"
	"github.com/cascadapay/cascada/internal/pay/lists"
)

// FuzzQuery: the catalog reads any query string, or refuses it.
func FuzzQuery(f *testing.F) {
	l := calltest.NewLists()
	calltest.Add(l, "methods", func(in *methodsIn) calltest.Query {
		f := in.filter()
		return calltest.Query{Page: lists.Page{Limit: 2}, Country: f.Country, Texts: []string{string(f.Channel)}}
	})
	l.Fuzz(f)
}
