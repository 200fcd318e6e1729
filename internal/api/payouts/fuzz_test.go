package payouts

import (
	"testing"

	"github.com/cascadapay/cascada/internal/api/calltest"
)

// FuzzQuery: the lists of withdrawals and wallets read any query string, or refuse it.
func FuzzQuery(f *testing.F) {
	l := calltest.NewLists()
	calltest.Add(l, "withdrawals", func(in *withdrawalsIn) calltest.Query {
		f := in.filter()
		return calltest.Query{Page: f.Page, Span: f.Span, Texts: []string{string(f.Status), f.Wallet}}
	})
	calltest.Add(l, "wallets", func(in *walletsIn) calltest.Query {
		return calltest.Query{Page: in.Rows(), Texts: []string{string(in.Status)}}
	})
	l.Fuzz(f)
}
