package feed_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/rates/feed"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

var now = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)

// tell writes readings as "BRL 5.43 feed 2026-11-21T00:00:00Z".
func tell(list []rates.Reading) string {
	var lines []string
	for _, r := range list {
		lines = append(lines, strings.Join([]string{string(r.Currency), r.Rate.Decimal(), r.Source, r.At.UTC().Format(time.RFC3339)}, " "))
	}
	return strings.Join(lines, "\n")
}

func TestPublishedRatesAreReadWithTheirTime(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"today", `{"base":"USD","date":"2026-11-21","rates":{"BRL":5.43}}`, "BRL 5.43 feed 2026-11-21T15:00:00Z"},
		{"yesterday, which has ended", `{"base":"USD","date":"2026-11-20","rates":{"BRL":5.43}}`, "BRL 5.43 feed 2026-11-21T00:00:00Z"},
		{"tomorrow has begun somewhere", `{"base":"USD","date":"2026-11-22","rates":{"BRL":5.43}}`, "the rates are for a day in the future: 2026-11-22"},
		{"a date-time", `{"base":"USD","date":"2026-11-20T12:00:00-03:00","rates":{"BRL":5.43}}`, "BRL 5.43 feed 2026-11-20T15:00:00Z"},
		{"seconds", `{"base":"USD","timestamp":1763726400,"rates":{"BRL":5.43}}`, "BRL 5.43 feed 2025-11-21T12:00:00Z"},
		{"seconds of another name", `{"base_code":"USD","time_last_update_unix":1763726400,"date":"x","rates":{"BRL":5.43}}`, "BRL 5.43 feed 2025-11-21T12:00:00Z"},
		{"no time", `{"base":"USD","rates":{"BRL":5.43,"MXN":1.8e1}}`, "BRL 5.43 feed 2026-11-21T15:00:00Z\nMXN 18 feed 2026-11-21T15:00:00Z"},
		{"a clock a little ahead", `{"base":"USD","date":"2026-11-21T15:30:00Z","rates":{"BRL":5.43}}`, "BRL 5.43 feed 2026-11-21T15:00:00Z"},
		{"a clock far ahead", `{"base":"USD","date":"2026-11-21T16:30:00Z","rates":{"BRL":5.43}}`, "for a time in the future"},
		{"half a second", `{"base":"USD","timestamp":1763726400.5,"rates":{"BRL":5.43}}`, "not in seconds since 1970"},
		{"before 1970", `{"base":"USD","timestamp":-1,"rates":{"BRL":5.43}}`, "not in seconds since 1970"},
		{"no currencies of ISO 4217", `{"base":"USD","rates":{"BTC":0.00001,"brl":5,"USD":1}}`, ""},
		{"upside down", `{"base":"BRL","rates":{"USD":0.18}}`, `the base is "BRL", want USD`},
	} {
		list, refused, err := feed.ParsePublished([]byte(c.text), "feed", now)
		got := tell(list)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) || len(refused) > 0 {
			t.Errorf("%s: got %q (refused %v), want %q", c.name, got, refused, c.want)
		}
	}
}

func TestOneBadPublishedRateSparesTheOthers(t *testing.T) {
	list, refused, err := feed.ParsePublished([]byte(`{"base":"USD","rates":{"BRL":-1,"CLP":"945","MXN":18}}`), "feed", now)
	if err != nil || tell(list) != "MXN 18 feed 2026-11-21T15:00:00Z" || len(refused) != 2 || refused[0].Currency != "BRL" || refused[1].Currency != "CLP" {
		t.Errorf("got %q, refused %v, %v; want MXN alone", tell(list), refused, err)
	}
}

func TestFileOfRatesIsReadWholeOrNotAtAll(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"CSV", "currency,rate\nBRL,5.43\nMXN,18.35\n", "BRL 5.43 file 2026-11-21T15:00:00Z\nMXN 18.35 file 2026-11-21T15:00:00Z"},
		{"CSV of all columns, in another order", "observed_at, source, rate, currency\n2026-11-20,\"Banco, Central\",5.43,BRL\n2026-11-20T10:00:00-03:00,,18,MXN\n",
			"BRL 5.43 Banco, Central 2026-11-20T00:00:00Z\nMXN 18 file 2026-11-20T13:00:00Z"},
		{"CSV from a spreadsheet", "\ufeffCurrency,Rate\r\nBRL,5.43\r\n", "BRL 5.43 file 2026-11-21T15:00:00Z"},
		{"a list", `[{"currency":"BRL","rate":5.43,"source":"x","observedAt":"2026-11-20"},{"currency":"MXN","rate":"18.35"}]`,
			"BRL 5.43 x 2026-11-20T00:00:00Z\nMXN 18.35 file 2026-11-21T15:00:00Z"},
		{"as published", ` {"base":"USD","date":"2026-11-20","rates":{"BRL":5.43}}`, "BRL 5.43 file 2026-11-21T00:00:00Z"},
		{"a bad line", "currency,rate\nBRL,5.43\nMXN,0\n", `line 3: MXN "0"`},
		{"a negative rate", "currency,rate\nBRL,-5.43\n", `line 2: BRL "-5.43"`},
		{"a comma for a point", "currency,rate\nBRL,\"5,43\"\n", `line 2: BRL "5,43"`},
		{"no rate", "currency,rate\nBRL,\n", `line 2: BRL ""`},
		{"an unknown currency", "currency,rate\nbrl,5\n", `line 2: "brl"`},
		{"a bad time", "currency,rate,observed_at\nBRL,5,yesterday\n", `the time "yesterday"`},
		{"a short line", "currency,rate,source\nBRL,5\n", "wrong number of fields"},
		{"another column", "currency,rate,note\nBRL,5,x\n", `it has "note"`},
		{"no header", "BRL,5.43\n", `it has "brl"`},
		{"half a header", "currency\nBRL\n", "no column rate"},
		{"twice", "currency,rate\nBRL,5.43\nBRL,5.44\n", "BRL has two rates"},
		{"nothing", "", "EOF"},
		{"a header alone", "currency,rate\n", "no rates"},
		{"an empty list", "[]", "no rates"},
		{"a bad entry", `[{"currency":"BRL","rate":5.43},{"currency":"MXN","rate":null}]`, `entry 2: MXN "null"`},
		{"a bad published rate", `{"base":"USD","rates":{"BRL":5.43,"MXN":0}}`, "MXN: parse rate"},
		{"a truncated list", `[{"currency":"BRL"`, "unexpected end"},
	} {
		list, err := feed.ParseFile([]byte(c.text), "file", now)
		if err == nil && tell(list) != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v; want %q", c.name, tell(list), err, c.want)
		}
		if err != nil && list != nil {
			t.Errorf("%s: refused, and %q taken", c.name, tell(list))
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("currency,rate\nBRL,5.43\n"))
	f.Add([]byte(`[{"currency":"BRL","rate":5.43}]`))
	f.Add([]byte(`{"base":"USD","date":"2026-11-20","rates":{"BRL":5.43}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := feed.ParseFile(text, "file", now)
		if err != nil {
			return
		}
		for _, r := range list {
			if r.Rate.IsZero() || !r.Currency.Valid() || r.At.IsZero() || r.Source == "" {
				t.Errorf("%q gave %+v", text, r)
			}
		}
	})
}

func TestFeedTellsItsAddressToNobody(t *testing.T) {
	for _, bad := range []string{"", "rates.example", "ftp://rates.example/x?key=hunter2", "http://", "http://rates.example:bad/?key=hunter2"} {
		if _, err := feed.New(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want a refusal that does not tell the key", bad, err)
		}
	}
	feed, err := feed.New("http://127.0.0.1:1/latest?key=hunter2")
	if err != nil {
		t.Fatal(err)
	}
	if feed.Source() != "127.0.0.1:1" || strings.Contains(feed.ID(), "hunter2") {
		t.Errorf("the feed is called %q, %q", feed.Source(), feed.ID())
	}
	if _, _, err := feed.Read(t.Context(), func() time.Time { return now }); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a refused connection told %v", err)
	}
}

func TestFeedStaysWhereItWasSent(t *testing.T) {
	for _, open := range []string{"http://rates.example/", "http://10.0.0.1/", "ftp://rates.example/", "https://"} {
		if _, err := feed.New(open); err == nil {
			t.Errorf("rates are read from %s, where anybody between may change them", open)
		}
	}
	for _, good := range []string{"https://rates.example/latest", "http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/"} {
		if _, err := feed.New(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	led := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led = true }))
	defer elsewhere.Close()
	from := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer from.Close()
	feed, err := feed.New(from.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := feed.Read(t.Context(), func() time.Time { return now }); err == nil || led {
		t.Errorf("a redirect was followed: %t, %v", led, err)
	}
}
