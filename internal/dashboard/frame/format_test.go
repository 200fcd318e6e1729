package frame

import (
	"encoding/csv"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/statement"
)

func TestMoneyIsWrittenAsTheLanguageDoes(t *testing.T) {
	for _, c := range []struct {
		amount     money.Amount
		en, es, pt string
	}{
		{money.New(123450, money.USD), "1,234.50 USD", "1.234,50 USD", "1.234,50 USD"},
		{money.New(-99, money.BRL), "−0.99 BRL", "−0,99 BRL", "−0,99 BRL"},
		{money.New(-123456789, money.USD), "−1,234,567.89 USD", "−1.234.567,89 USD", "−1.234.567,89 USD"},
		{money.New(45000, money.CLP), "45,000 CLP", "45.000 CLP", "45.000 CLP"},
		{money.New(0, money.USD), "0.00 USD", "0,00 USD", "0,00 USD"},
		{money.New(100, money.USD), "1.00 USD", "1,00 USD", "1,00 USD"},
		{money.Amount{}, none, none, none},
	} {
		for lang, want := range map[string]string{"en": c.en, "es": c.es, "pt": c.pt} {
			if got := strings.ReplaceAll(moneyText(lang, c.amount), "\u00a0", " "); got != want {
				t.Errorf("%v in %s is %q, want %q", c.amount, lang, got, want)
			}
		}
	}
}

func TestSharesAreNeverRoundedToAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		en, es      string
	}{{1, 3, "33.3%", "33,3\u00a0%"}, {2, 2, "100%", "100\u00a0%"}, {9999, 10000, "99.9%", "99,9\u00a0%"}, {1, 100000, "0.1%", "0,1\u00a0%"}, {0, 5, "0%", "0\u00a0%"}, {1, 0, none, none}} {
		if en, es := percent("en", c.part, c.whole), percent("es", c.part, c.whole); en != c.en || es != c.es {
			t.Errorf("%d of %d is %q and %q", c.part, c.whole, en, es)
		}
	}
}

func TestSharesInBasisPointsAreExact(t *testing.T) {
	for bps, want := range map[int64][2]string{1050: {"10.5%", "10,5\u00a0%"}, 500: {"5%", "5\u00a0%"}, 5: {"0.05%", "0,05\u00a0%"}, 0: {"0%", "0\u00a0%"}, 175: {"1.75%", "1,75\u00a0%"}} {
		if en, es, pt := Share(merchants.English, bps), Share(merchants.Spanish, bps), Share(merchants.Portuguese, bps); en != want[0] || es != want[1] || pt != strings.ReplaceAll(want[0], ".", ",") {
			t.Errorf("%d basis points are %q, %q and %q", bps, en, es, pt)
		}
	}
}

func TestTimesAreWrittenAsTheLanguageDoes(t *testing.T) {
	_, r := start(t)
	for lang, want := range map[string][4]string{
		"en": {"26 Nov 2026, 14:05 UTC", "26 Nov 2026", "5 minutes ago", "in 1 day"},
		"es": {"26 nov 2026, 14:05 UTC", "26 nov 2026", "hace 5 minutos", "en 1 día"},
		"pt": {"26 nov 2026, 14:05 UTC", "26 nov 2026", "há 5 minutos", "em 1 dia"},
	} {
		p := r.page(get("/"), visit("", true, spokenLanguage(lang)), nil)
		got := [4]string{string(p.Time(noon)), string(p.Date(noon)), string(p.Ago(noon.Add(-5 * time.Minute))), string(p.In(noon.Add(25 * time.Hour)))}
		for i := range got {
			if text := strings.ReplaceAll(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(got[i], ""), "\u00a0", " "); text != want[i] || !strings.Contains(got[i], `<time datetime="2026-11-2`) {
				t.Errorf("%s: %s, want %q", lang, got[i], want[i])
			}
		}
		if p.Time(time.Time{}) != none || p.Ago(time.Time{}) != none {
			t.Error("no time is not a dash")
		}
	}
}

func TestWhatTookNoMillisecondTookSomething(t *testing.T) {
	_, r := start(t)
	for lang, want := range map[string]string{"en": "1,234\u00a0ms", "es": "1.234\u00a0ms", "pt": "1.234\u00a0ms"} {
		p := r.page(get("/"), visit("", true, spokenLanguage(lang)), nil)
		for ms, want := range map[any]string{int64(0): "<\u00a01\u00a0ms", 7: "7\u00a0ms", int64(1234): want} {
			if got, err := p.Took(ms); got != want || err != nil {
				t.Errorf("%s: %v is %q, want %q (%v)", lang, ms, got, want, err)
			}
		}
	}
}

func TestLinksKeepTheFilters(t *testing.T) {
	_, r := start(t)
	r.frame.Root = "/pay"
	p := r.page(get("/dashboard/shp_1/production/payments?status=paid&cursor=c1"), visit("payments", true, "en"), nil)
	for got, want := range map[string]string{
		p.Link("payments", "status", "paid", "q", ""): "/pay/dashboard/shp_1/production/payments?status=paid",
		p.Link(""):                                 "/pay/dashboard/shp_1/production",
		p.With("sort", "-amount"):                  "/pay/dashboard/shp_1/production/payments?sort=-amount&status=paid",
		p.With("status", ""):                       "/pay/dashboard/shp_1/production/payments",
		p.With("cursor", "c2"):                     "/pay/dashboard/shp_1/production/payments?cursor=c2&status=paid",
		p.DocsLink("refunds"):                      "/pay/docs#refunds",
		p.DocsLink("guide#x"):                      "/pay/docs/guide#x",
		string(p.T("n_filters", "n", p.Filters())): "1 filters",
		string(p.T("about", "what", "<b>")):        "About &lt;b&gt;",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCSVRunsNowhere(t *testing.T) {
	w := httptest.NewRecorder()
	file := newCSV(w, statement.ForPoints, "payments 2026/11", []string{"id", "=head"})
	for _, cell := range []any{"=1+1", "+55 11", "-x", "@SUM(A1)", "\tx", " =x", "＝x", "late;=1+1", "plain", "a,\"b\"", money.New(-1250, money.USD), -7, noon, true, nil} {
		if err := file.Row("TXN-1", cell); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.End(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(w.Body.String(), "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"'=head", "'=1+1", "'+55 11", "'-x", "'@SUM(A1)", "'\tx", "' =x", "'＝x", "late;'=1+1", "plain", "a,\"b\"", "-12.50", "-7", "2026-11-26T14:05:00Z", "true", ""} {
		if rows[i][1] != want {
			t.Errorf("row %d is %q, want %q", i, rows[i][1], want)
		}
	}
	if got := w.Header().Get("Content-Disposition"); got != `attachment; filename="payments-2026-11.csv"` {
		t.Errorf("the file's name is %q", got)
	}
	empty := httptest.NewRecorder()
	if err := newCSV(empty, statement.ForPoints, "x", []string{"id"}).End(); err != nil || empty.Body.String() != "\ufeffid\n" {
		t.Errorf("without rows: %v %q", err, empty.Body)
	}
}

// A reader's spreadsheet writes numbers as the reader's language does, unless the reader chooses.
func TestCSVIsForTheReadersSpreadsheet(t *testing.T) {
	const points, commas = "\ufeffid,worth\nTXN-1,-12.50\n", "\ufeffid;worth\nTXN-1;-12,50\n"
	for query, want := range map[string]string{
		"lang=en": points, "lang=es": commas, "lang=pt": commas, "lang=pt&decimal=point": points, "lang=en&decimal=comma": commas, "lang=en&decimal=x": points,
	} {
		w := httptest.NewRecorder()
		file := newCSV(w, SheetOf(get("/payments/export?"+query)), "payments", []string{"id", "worth"})
		if err := file.Row("TXN-1", money.New(-1250, money.USD)); err != nil {
			t.Fatal(err)
		}
		if err := file.End(); err != nil || w.Body.String() != want {
			t.Errorf("%s: the file is %q (%v), want %q", query, w.Body, err, want)
		}
	}
	for lang, want := range map[string]string{"en": "/x.csv?a=b&decimal=comma", "pt": "/x.csv?a=b&decimal=point"} {
		if other, err := otherSheet(&Page{lang: lang}, "/x.csv?a=b"); err != nil || other.URL != want {
			t.Errorf("%s: the other file is at %s (%v), want %s", lang, other.URL, err, want)
		}
	}
}

func TestChartsHaveTheirNumbers(t *testing.T) {
	_, r := start(t)
	p := r.page(get("/"), visit("", true, "es"), nil)
	c := Chart{Times: []time.Time{noon, noon.AddDate(0, 0, 1)}, Series: []Series{{Name: "x", Values: []int64{123456, Gap}}}, Decimals: 2, Unit: "USD"}
	text, err := c.JSON()
	if err != nil || !strings.Contains(text, `"values":[123456,null]`) {
		t.Errorf("%v %s", err, text)
	}
	if rows := c.Rows(p); len(rows) != 2 || rows[0].Values[0] != none || rows[1].Values[0] != "1.234,56\u00a0USD" {
		t.Errorf("%v", rows)
	}
	c.Series[0].Values = nil
	if _, err := c.JSON(); err == nil {
		t.Error("a series of another length is drawn")
	}
}

// The frame's own sentences: none is left over, none is asked for in vain by what is not a template.
func TestEverySentenceOfTheFrameIsUsed(t *testing.T) {
	all, err := readTexts(textFiles)
	if err != nil {
		t.Fatal(err)
	}
	var used strings.Builder
	for _, pattern := range []string{"templates", "own/templates", "assets", "."} {
		entries, err := os.ReadDir(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if text, err := os.ReadFile(pattern + "/" + e.Name()); err == nil && !strings.HasSuffix(e.Name(), "_test.go") {
				used.Write(text)
			}
		}
	}
	for _, q := range append(Quicks(), ConsoleQuicks()...) {
		key := "do_" + q.Key
		if all["en"][key] == "" {
			t.Errorf("the palette has no text %q", key)
		}
		used.WriteString(`"` + key + `"`)
	}
	for key := range all["en"] {
		name := strings.TrimPrefix(key, "js_")
		family := regexp.MustCompile(`^(nav|group|status|time|problem|role|method|country|act|reason)_`).MatchString(key)
		if !family && !strings.Contains(used.String(), `"`+name+`"`) && !strings.Contains(used.String(), `'`+name+`'`) {
			t.Errorf("nobody says %q", key)
		}
	}
}
