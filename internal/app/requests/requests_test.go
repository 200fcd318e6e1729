package requests

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// A merchant's last requests are kept, newest first, page by page; no other shop or environment sees them.
func TestNewestRequestsAreKept(t *testing.T) {
	l := New(noon)
	scope := merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}
	for i := range Kept + 10 {
		l.Add("mer_1", false, Entry{ID: fmt.Sprint("req_", i), Shop: "shp_1", Status: 200 + 200*(i%2), Method: "GET"})
	}
	list, total := l.List(scope, Filter{Limit: 3})
	if total != Kept || list[0].ID != "req_259" || list[2].ID != "req_257" {
		t.Errorf("%d requests, the first %v", total, list)
	}
	list, _ = l.List(scope, Filter{Limit: 2, After: "req_257", Result: "ok"})
	if list[0].ID != "req_256" || list[1].ID != "req_254" {
		t.Errorf("the page behind req_257 is %v", list)
	}
	if _, found := l.Get(scope, "req_9"); found {
		t.Error("the oldest is still there")
	}
	for _, other := range []merchants.Scope{{Merchant: "mer_1", Shop: "shp_1", Live: true}, {Merchant: "mer_1", Shop: "shp_2"}, {Merchant: "mer_2", Shop: "shp_1"}} {
		if list, total := l.List(other, Filter{Limit: 1}); len(list)+total > 0 {
			t.Errorf("%v sees %v", other, list)
		}
	}
}

// However many merchants there are, the memory is bounded; the silent ones go first.
func TestSilentMerchantsAreForgotten(t *testing.T) {
	l := New(noon)
	l.Add("mer_silent", true, Entry{ID: "req_0"})
	for i := range mostOwners {
		l.Add(fmt.Sprint("mer_", i), true, Entry{ID: "req_1"})
	}
	if _, total := l.List(merchants.Scope{Merchant: "mer_silent", Live: true}, Filter{}); total > 0 {
		t.Error("the silent merchant's requests are kept")
	}
	if len(l.of) != mostOwners {
		t.Errorf("%d owners are kept", len(l.of))
	}
}

// What is kept of an error names no person and shows no credentials.
func TestLogKeepsNoSecretsOrPersons(t *testing.T) {
	for _, text := range []string{
		"the key sk_test_4eC39HqLyjWDarjtT1zdp7dc is unknown", "maria.silva@example.com is not deliverable", "CPF 529.982.247-26 is wrong",
		"card 4242 4242 4242 4242", "phone +55 11 91234-5678", "token eyJhbGciOi.eyJzdWIi.x", "session cs_live_abcdefghij", `"maria@x" is not a right`,
	} {
		got := Harmless(text)
		for _, part := range strings.Fields(text) {
			if strings.ContainsAny(part, "0123456789@") && strings.Contains(got, part) {
				t.Errorf("%q is kept as %q", text, got)
			}
		}
	}
	if text := "amount must be between 1.00 and 5000.00 USD; currency must be one of BRL, USD"; Harmless(text) != text {
		t.Errorf("%q is kept as %q", text, Harmless(text))
	}
	if Object("TXN-01ABC") == "" || Object("cs_test_secret") != "" || Object("maria@example.com") != "" {
		t.Error("the wrong ids of paths are kept")
	}
	l := New(noon)
	l.Add("mer_1", false, Entry{ID: "req_1", Status: 200, Message: "x", Code: "y"})
	if e, _ := l.Get(merchants.Scope{Merchant: "mer_1"}, "req_1"); e.Message+e.Code != "" {
		t.Errorf("a successful request keeps %v", e)
	}
}

// A request pays for it once: this is what.
func BenchmarkAdd(b *testing.B) {
	l := New(noon)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			l.Add("mer_1", false, Entry{ID: "req_1", Status: 200, Method: "GET", Route: "/api/v1/payments"})
		}
	})
}

// An entry is read as it was added, in UTC; a good one has no error. Entries of a source outlive what is known of it.
func TestRequestIsReadAsAdded(t *testing.T) {
	l := New(noon)
	scope := merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}
	var want []Entry
	for i := range mostSources + 20 {
		e := Entry{
			ID: fmt.Sprint("req_", i), Shop: "shp_1", At: noon.Add(time.Duration(i) * time.Microsecond), Took: time.Duration(i), Method: "POST",
			Route: "/api/v1/payments/{id}/refund", Object: "TXN-1", Status: 400, Key: fmt.Sprint("key_", i), Preview: "sk_…1234",
			Code: "validation_error", Message: "amount is missing", Param: "amount", Fields: []string{"amount"},
		}
		l.Add("mer_1", true, e)
		want = append([]Entry{e}, want...)
	}
	if got, _ := l.List(scope, Filter{Limit: Kept}); !reflect.DeepEqual(got, want) {
		t.Errorf("the requests are %+v, want %+v", got, want)
	}
	l.Add("mer_1", true, Entry{ID: "req_good", Shop: "shp_1", Status: 200, Message: "stale", Fields: []string{"stale"}})
	if e, _ := l.Get(scope, "req_good"); e.Message != "" || e.Fields != nil {
		t.Errorf("a good request has an error: %+v", e)
	}
}
