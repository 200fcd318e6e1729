package webhooks

import (
	"testing"

	"github.com/cascadapay/cascada/internal/api/calltest"
)

// FuzzQuery: the list of deliveries reads any query string, or refuses it.
func FuzzQuery(f *testing.F) {
	l := calltest.NewLists()
	calltest.Add(l, "deliveries", func(in *deliveriesIn) calltest.Query {
		f := in.filter()
		return calltest.Query{Page: f.Page, Span: f.Span, Texts: []string{string(f.Status), string(f.Type)}}
	})
	l.Fuzz(f)
}
