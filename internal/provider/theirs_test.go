package provider_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

func TestTextTakesStringsAndNumbersAndNothingElse(t *testing.T) {
	for in, want := range map[string]provider.Text{
		`"a"`: "a", `12345678901234567890`: "12345678901234567890", `-1.50`: "-1.50", `null`: "", `"a\u0000b"`: "", `"` + strings.Repeat("x", 3000) + `"`: "", `"\ud800"`: "",
	} {
		var got provider.Text
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%.40s is %q %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`{}`, `[1]`, `true`} {
		var got provider.Text
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is %q, want an error", in, got)
		}
	}
}

// A changed code is not a code; a name may lose a letter.
func TestCodesAreExactAndNamesPrintable(t *testing.T) {
	for in, want := range map[string][2]string{
		" 0002 ": {"0002", " 0002 "}, "00\x0002": {"", "0002"}, "José\u00a0Pérez": {"José\u00a0Pérez", "JoséPérez"},
		"123456789012": {"", "1234567890"}, "ééééééé": {"", "ééééé"}, "": {"", ""}, "a\xffb": {"", "ab"}, "new\nline": {"", "newline"},
	} {
		most := 10
		if in == "José\u00a0Pérez" {
			most = 20
		}
		if got := provider.Exact(in, most); got != want[0] {
			t.Errorf("Exact(%q) is %q, want %q", in, got, want[0])
		}
		if got := provider.Printable(in, most); got != want[1] {
			t.Errorf("Printable(%q) is %q, want %q", in, got, want[1])
		}
	}
}

func TestWhereAShopperMayBeSent(t *testing.T) {
	for _, good := range []string{"https://pay.test/a?b=c#d", "https://pay.test:8443/"} {
		if provider.Link(good) != good {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{
		"", "javascript:alert(1)", "http://x.test/", "https:///x", "https://", "//x.test", "https://a@b.test/", "https://x.test/\r\n", "https://x.test/\x00",
		"https://x.test/é", "https://x.test/" + strings.Repeat("a", 5000), " https://x.test/",
	} {
		if provider.Link(bad) != "" {
			t.Errorf("shoppers may be sent to %q", bad)
		}
	}
}

func TestMajorUnitsAreExact(t *testing.T) {
	for in, want := range map[[2]string]money.Amount{
		{"0.01", "BRL"}: money.New(1, "BRL"), {"1000", "CLP"}: money.New(1000, "CLP"), {"1000.0", "CLP"}: money.New(1000, "CLP"),
		{"150.5", "COP"}: money.New(15050, "COP"), {"1", "PYG"}: money.New(1, "PYG"), {"92233720368547758.07", "USD"}: money.New(1<<63-1, "USD"),
	} {
		if got, ok := provider.Major(in[0], in[1]); !ok || got != want {
			t.Errorf("%s %s is %v %t, want %v", in[0], in[1], got, ok, want)
		}
	}
	for _, in := range [][2]string{
		{"0", "BRL"}, {"-1", "BRL"}, {"0.001", "BRL"}, {"1.5", "CLP"}, {"1e300", "BRL"}, {"1", "brl"}, {"1", "XXX"}, {"", "BRL"}, {"NaN", "BRL"},
		{"92233720368547758.08", "USD"}, {"1,50", "BRL"},
	} {
		if got, ok := provider.Major(in[0], in[1]); ok {
			t.Errorf("%s %s is %v", in[0], in[1], got)
		}
	}
}

func TestUnknownWordsAreReported(t *testing.T) {
	var told []string
	a := provider.Account{Unmapped: func(word string) { told = append(told, word) }}
	table := provider.Declines{"51": decline.InsufficientFunds, "91": decline.IssuerUnavailable}
	if o := a.Declined(table, "51", "theirs"); o.Kind != pay.Declined || o.Soft || o.Code != "insufficient_funds" || o.ProviderRef != "theirs" {
		t.Errorf("51: %+v", o)
	}
	if o := a.Declined(table, "91", ""); !o.Soft || o.Decline != "issuer_unavailable" {
		t.Errorf("91: %+v", o)
	}
	if o := a.Declined(table, "9\x00"+strings.Repeat("9", 100), ""); o.Kind != pay.Declined || o.Soft || o.Decline == "" || o.Message == "" {
		t.Errorf("a new one: %+v", o)
	}
	if !slices.Equal(told, []string{"declined: " + strings.Repeat("9", 64)}) {
		t.Errorf("told of %q", told)
	}
	provider.Account{}.Strange("status", "nobody listens")
}

// A provider's list may show a refund late. The time counts from the last call.
func TestARefundThatIsNotListedIsMissingOnlyInTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		first, last time.Duration
		want        pay.OutcomeKind
	}{{0, 0, pay.Unknown}, {time.Minute, time.Minute, pay.Unknown}, {time.Hour, time.Minute, pay.Unknown}, {time.Hour, 5 * time.Minute, pay.Missing}, {time.Hour, time.Hour, pay.Missing}} {
		q := provider.RefundRequest{Charge: provider.Request{Now: now}, Sent: now.Add(-c.first), Last: now.Add(-c.last)}
		if o := provider.NoRefund(q, 5*time.Minute); o.Kind != c.want {
			t.Errorf("first sent %s ago, last %s ago: %s, want %s", c.first, c.last, o.Kind, c.want)
		}
	}
	if o := provider.NoRefund(provider.RefundRequest{Charge: provider.Request{Now: now}}, 5*time.Minute); o.Kind != pay.Missing {
		t.Errorf("of a refund from before its time was kept: %s", o.Kind)
	}
}

func TestResultsOfACancel(t *testing.T) {
	for kind, want := range map[pay.OutcomeKind]pay.OutcomeKind{
		pay.Approved: pay.Approved, pay.Lapsed: pay.Lapsed, pay.Declined: pay.Lapsed, pay.Missing: pay.Lapsed, pay.Awaiting: pay.Unknown,
		pay.Unknown: pay.Unknown, pay.Unavailable: pay.Unknown, pay.Errored: pay.Unknown,
	} {
		if o := provider.Ended(pay.Outcome{Kind: kind, ProviderRef: "theirs"}); o.Kind != want || o.ProviderRef != "theirs" {
			t.Errorf("%s: %+v, want %s", kind, o, want)
		}
	}
}
