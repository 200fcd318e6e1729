package statement

import (
	"bytes"
	"compress/zlib"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

var closed = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sample is a settlement of a charge for each of n, and a refund of the first.
func sample(language tenant.Language, n int) Statement {
	s := Statement{
		Merchant: tenant.Merchant{ID: "mer_1", Name: "Peluquería Ñandú (S.A.)", Email: "a@b.co", Language: language},
		Settlement: pay.Settlement{
			ID: "STL-1", Status: pay.BatchClosed, ClosedAt: closed, PeriodStart: closed.Add(-72 * time.Hour), PeriodEnd: closed.Add(-48 * time.Hour),
		},
	}
	add := func(l pay.SettlementLine) {
		s.Settlement.Lines++
		l.Number, l.At = s.Settlement.Lines, closed.Add(-50*time.Hour)
		l.Net = l.Gross - l.Platform - l.Provider - l.Refund - l.Reserve
		s.Settlement.Gross += l.Gross
		s.Settlement.Refunds += l.Refund
		s.Settlement.Net += l.Net
		s.Lines = append(s.Lines, l)
	}
	for range n {
		add(pay.SettlementLine{Type: pay.LineCharge, Payment: "TXN-1", OrderID: "=HYPERLINK(\"http://x\")", Local: money.New(540000, money.BRL),
			Gross: 100000, Platform: 1200, Provider: 2990, Reserve: 5000})
	}
	add(pay.SettlementLine{Type: pay.LineRefund, Payment: "TXN-1", Claim: "CLM-1", OrderID: "-1+1, \"two\"\nlines", Local: money.New(54000, money.BRL),
		Refund: 10000, Platform: -120, Provider: -299, Reserve: -500})
	return s
}

func TestEveryLanguageHasEveryText(t *testing.T) {
	if len(dictionary) != len(tenant.Languages()) {
		t.Errorf("there are %d languages in the dictionary, want %v", len(dictionary), tenant.Languages())
	}
	for _, language := range tenant.Languages() {
		w := reflect.ValueOf(dictionary[language])
		for i := range w.NumField() {
			if w.Field(i).Kind() == reflect.String && w.Field(i).Len() == 0 {
				t.Errorf("%s has no text for %s", language, w.Type().Field(i).Name)
			}
		}
		for _, kind := range pay.LineTypes() {
			if dictionary[language].kinds[kind] == "" {
				t.Errorf("%s has no word for %s", language, kind)
			}
		}
	}
}

func TestAmountsAreWrittenAsInTheirLanguage(t *testing.T) {
	for cents, want := range map[int64][2]string{
		0: {"0.00", "0,00"}, 5: {"0.05", "0,05"}, -5: {"-0.05", "-0,05"}, 99999: {"999.99", "999,99"}, 100000: {"1,000.00", "1.000,00"},
		-123456789: {"-1,234,567.89", "-1.234.567,89"},
	} {
		for i, language := range []tenant.Language{tenant.English, tenant.Portuguese} {
			if got := in(language).money(cents); got != want[i] {
				t.Errorf("%d cents in %s are %s, want %s", cents, language, got, want[i])
			}
		}
	}
}

func TestReceiptIsTheSameWheneverItIsDrawn(t *testing.T) {
	for _, language := range tenant.Languages() {
		first, err := PDF(sample(language, 3))
		if err != nil {
			t.Fatal(err)
		}
		again, err := PDF(sample(language, 3))
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: the receipt was drawn twice and differs (%v)", language, err)
		}
	}
}

func TestReceiptShowsTheSettlement(t *testing.T) {
	for language, want := range map[tenant.Language][]string{
		tenant.English:    {"Settlement receipt", "STL-1", "2,633.49 USD", "3,000.00", "Rolling reserve held", "SANDBOX", "908.10", "-90.81"},
		tenant.Spanish:    {"Comprobante de liquidaci\xf3n", "Peluquer\xeda \xd1and\xfa", "Reembolso"},
		tenant.Portuguese: {"Valor l\xedquido", "3.000,00", "Cobran\xe7a"},
	} {
		pdf, err := PDF(sample(language, 3))
		if err != nil {
			t.Fatal(err)
		}
		text := contents(t, pdf)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the receipt lacks %q", language, part)
			}
		}
	}
}

// An id without its last letter finds nothing.
func TestReceiptHasWholeTransactionIDs(t *testing.T) {
	s := sample(tenant.English, 1)
	s.Lines[0].Payment = "TXN-7" + strings.Repeat("W", 25) // the widest letter of ids
	pdf, err := PDF(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(contents(t, pdf), "("+s.Lines[0].Payment+")") {
		t.Errorf("the receipt lacks the transaction %s", s.Lines[0].Payment)
	}
}

// A long settlement goes over several pages, and says what it leaves out.
func TestReceiptOfManyLines(t *testing.T) {
	s := sample(tenant.English, 200)
	s.Settlement.Lines = 12345
	pdf, err := PDF(s)
	if err != nil {
		t.Fatal(err)
	}
	text := contents(t, pdf)
	for _, part := range []string{"Page 1 of ", "Page 5 of 5", "The first 201 of 12,345 lines"} {
		if !strings.Contains(text, part) {
			t.Errorf("the receipt lacks %q", part)
		}
	}
}

// contents is the text of a PDF's pages, with the parentheses of the format.
func contents(t *testing.T, pdf []byte) string {
	t.Helper()
	var text strings.Builder
	for _, part := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		packed, err := zlib.NewReader(bytes.NewReader(part))
		if err != nil {
			continue // "endstream"
		}
		plain, err := io.ReadAll(packed)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(plain)
	}
	return text.String()
}

func TestReportIsWhatASpreadsheetReads(t *testing.T) {
	for language, heading := range map[tenant.Language]string{tenant.English: "Net (USD)", tenant.Spanish: "Neto (USD)", tenant.Portuguese: "Líquido (USD)"} {
		var out bytes.Buffer
		report, err := NewReport(&out, language, ForPrograms)
		if err != nil {
			t.Fatal(err)
		}
		s := sample(language, 2)
		for _, l := range s.Lines {
			if err := report.Line(l); err != nil {
				t.Fatal(err)
			}
		}
		if err := report.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 4 || rows[0][15] != heading {
			t.Fatalf("%s: %d rows, headings %v (%v)", language, len(rows), rows[0], err)
		}
		net := money.New(0, money.USD)
		for _, row := range rows[1:] {
			amount, err := money.Parse(row[15], money.USD)
			if err != nil {
				t.Fatal(err)
			}
			net = net.Add(amount)
			for column, cell := range row {
				if cell != "" && strings.ContainsRune("=+@\t\r", rune(cell[0])) {
					t.Errorf("column %d would run as a formula: %q", column, cell)
				}
			}
		}
		if net.Minor != s.Settlement.Net {
			t.Errorf("%s: the report adds up to %s, want %d cents", language, net, s.Settlement.Net)
		}
		if rows[1][4] != `'=HYPERLINK("http://x")` || rows[3][4] != "'-1+1, \"two\"\nlines" || rows[3][8] != "-100" || rows[1][6] != "5400" {
			t.Errorf("cells are %q, %q, %q, %q", rows[1][4], rows[3][4], rows[3][8], rows[1][6])
		}
	}
}

// The same lines for a spreadsheet with decimal commas: formulas stay texts there.
func TestReportOpensWhereDecimalsHaveCommas(t *testing.T) {
	for sheet, want := range map[Sheet][2]string{ForCommas: {"\ufeffN.º;Fecha", ";50,5;"}, ForPoints: {"\ufeffN.º,Fecha", ",50.5,"}} {
		var out bytes.Buffer
		report, err := NewReport(&out, tenant.Spanish, sheet)
		if err != nil {
			t.Fatal(err)
		}
		l := pay.SettlementLine{Type: pay.LineCharge, Payment: "TXN-1", OrderID: "=1;=2", Local: money.New(5050, money.BRL), Gross: 1050}
		if err := errors.Join(report.Line(l), report.Close()); err != nil {
			t.Fatal(err)
		}
		for _, part := range append(want[:], "'=1;'=2") {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: the report lacks %q:\n%s", sheet, part, &out)
			}
		}
	}
}

// What a spreadsheet may run as a formula is made text, the wide signs too; what is none stays as it is.
func TestGuardMakesTextOfFormulas(t *testing.T) {
	for _, text := range []string{"=1+1", "+1", "-1", "@x", "\t=1", " =1", "\u00a0=1", "\u3000+1", "\u200b@x", "\u2060 =1", "＝1+1", "＋1", "－1", "＠x"} {
		if got := ForPrograms.Guard(text); got != "'"+text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	// A spreadsheet in Spanish or Portuguese begins a cell at a semicolon, and takes quotes in the middle of one for signs.
	for text, want := range map[string]string{
		"late;=1+1": "late;'=1+1", "late; @x;+1": "late;' @x;'+1", `late;"=1+1"`: `late;'"=1+1"`, "\n=1": "\n'=1", "two\r\n=1": "two\r\n'=1", "=1;=2": "'=1;'=2",
	} {
		if got := ForPrograms.Guard(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
	if got := ForCommas.Guard("a,=1, +2,3;-4"); got != "a,'=1,' +2,3;'-4" {
		t.Errorf("in a file with semicolons, what follows a comma is written as %q", got)
	}
	for _, text := range []string{"", "plain", "a, -5", "1=1", "José", "\xff=1", "�", "ー", "two\n\nlines", "a; b", `say "=1"`, "a;"} {
		if got := ForPrograms.Guard(text); got != text {
			t.Errorf("%q is written as %q, want it as it is", text, got)
		}
	}
}
