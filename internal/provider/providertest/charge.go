package providertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// charge makes a charge, repeats it, and queries it.
func (s Suite) charge(t *testing.T, rail string) {
	b := s.connect(t)
	r := s.request(rail, "01M7ZBVYT4-1")
	b.Next(Open)
	o := b.Charge(within(t), r)
	want(t, "a charge", o, pay.Awaiting)
	if o.ProviderRef == "" {
		t.Error("the outcome does not have the provider's reference")
	}
	payable(t, r, o)
	if e := b.entry(t, r.Reference); e.Local != r.Local {
		t.Errorf("the upstream got a request for %v, want %v", e.Local, r.Local)
	}
	again := b.Charge(within(t), r)
	want(t, "the same charge again", again, pay.Awaiting)
	b.entry(t, r.Reference)

	want(t, "a question under our reference", b.Query(within(t), r), pay.Awaiting)
	r.ProviderRef = o.ProviderRef
	want(t, "a question under theirs", b.Query(within(t), r), pay.Awaiting)
	if s.Blind == "" {
		want(t, "a question about what never was", b.Query(within(t), s.request(rail, "01M7ZNEVER-1")), pay.Missing)
	}
}

// cancel ends charges: a waiting one, one that was paid just before, one that never
// existed, and one while the provider is silent.
func (s Suite) cancel(t *testing.T, rail string) {
	b := s.connect(t)
	c, ok := b.Provider.(provider.Canceler)
	if !ok || s.Without[Canceled] != "" {
		return
	}
	b.Next(Open)
	r := s.request(rail, "01M7ZCANCEL-1")
	r.ProviderRef = b.Charge(within(t), r).ProviderRef
	if s.Uncancelable[rail] != "" {
		want(t, "a cancel", c.Cancel(within(t), r), pay.Awaiting)
		want(t, "a question after it", b.Query(within(t), r), pay.Awaiting)
		return
	}
	b.line.Fail(ServerError)
	want(t, "a cancel that nobody answers", c.Cancel(within(t), r), pay.Unknown)
	b.line.Fail(NoFault)
	want(t, "a cancel", c.Cancel(within(t), r), pay.Lapsed)
	want(t, "a cancel again", c.Cancel(within(t), r), pay.Lapsed)
	want(t, "a question after it", b.Query(within(t), r), pay.Lapsed, pay.Declined)
	want(t, "a cancel of what never was", c.Cancel(within(t), s.request(rail, "01M7ZNEVER-1")), pay.Lapsed)

	for _, known := range []bool{true, false} {
		r := b.paid(t, rail, fmt.Sprintf("01M7ZFASTER%t-1", known))
		if !known {
			r.ProviderRef = ""
		}
		if o := c.Cancel(within(t), r); o.Kind != pay.Approved || o.Local != r.Local {
			t.Errorf("a cancel after the payment, its id known %t: %+v, want the payment", known, o)
		}
	}
}

// payable fails the test unless the shopper gets what the rail needs.
func payable(t *testing.T, r provider.Request, o pay.Outcome) {
	t.Helper()
	form := func() {
		if !strings.HasPrefix(o.FormURL, "http") || o.FormURL == r.PageURL {
			t.Errorf("the shopper is not sent to the provider: %q", o.FormURL)
		}
	}
	switch kind, _, _ := strings.Cut(r.Rail, "."); kind {
	case "pix":
		if o.Data.QRCode == "" || o.FormURL != r.PageURL {
			t.Errorf("there is no PIX code on our page: %+v %s", o.Data, o.FormURL)
		}
	case "spei":
		if o.FormURL != r.PageURL {
			form() // a page that shows the CLABE
			return
		}
		if len(o.Data.CLABE) != 18 {
			t.Errorf("there is no CLABE on our page: %+v %s", o.Data, o.FormURL)
		}
	case "boleto", "cash":
		if o.FormURL == r.PageURL {
			if o.Data.Reference == "" && o.Data.Barcode == "" {
				t.Errorf("there is no voucher on our page: %+v", o.Data)
			}
			return
		}
		form()
	default:
		form()
	}
}

// parallel charges and queries with many goroutines.
func (s Suite) parallel(t *testing.T, rail string) {
	b := s.connect(t)
	b.Next(Open)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { b.Charge(within(t), s.request(rail, "01M7ZPARALLEL-1")) })
	}
	all.Wait()
	b.entry(t, "01M7ZPARALLEL-1")
	want(t, "the question", b.Query(within(t), s.request(rail, "01M7ZPARALLEL-1")), pay.Awaiting)
}
