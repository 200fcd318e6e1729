package statement

import (
	"bytes"
	"encoding/csv"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/statement/pdftest"
	"golang.org/x/text/unicode/norm"
)

var closed = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sample is a settlement of a charge for each of n, and a refund of the first.
func sample(language merchants.Language, n int) Statement {
	s := Statement{
		Merchant: merchants.Merchant{ID: "mer_1", Name: "Peluquería Ñandú (S.A.)", Email: "a@b.co", Language: language},
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
	if len(dictionary) != len(merchants.Languages()) {
		t.Errorf("there are %d languages in the dictionary, want %v", len(dictionary), merchants.Languages())
	}
	for _, language := range merchants.Languages() {
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
		for i, language := range []merchants.Language{merchants.English, merchants.Portuguese} {
			if got := in(language).money(cents); got != want[i] {
				t.Errorf("%d cents in %s are %s, want %s", cents, language, got, want[i])
			}
		}
	}
}

func TestReceiptIsTheSameWheneverItIsDrawn(t *testing.T) {
	for _, language := range merchants.Languages() {
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
	for language, want := range map[merchants.Language][]string{
		merchants.English:    {"Settlement receipt", "STL-1", "2,633.49 USD", "3,000.00", "Rolling reserve held", "SANDBOX", "908.10", "-90.81"},
		merchants.Spanish:    {"Comprobante de liquidación", "Peluquería Ñandú", "Reembolso"},
		merchants.Portuguese: {"Valor líquido", "3.000,00", "Cobrança"},
	} {
		pdf, err := PDF(sample(language, 3))
		if err != nil {
			t.Fatal(err)
		}
		text := pdftest.Text(pdf)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the receipt lacks %q", language, part)
			}
		}
	}
}

// An id without its last letter finds nothing.
func TestReceiptHasWholeTransactionIDs(t *testing.T) {
	s := sample(merchants.English, 1)
	s.Lines[0].Payment = "TXN-7" + strings.Repeat("W", 25) // the widest letter of ids
	pdf, err := PDF(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(pdftest.Text(pdf), "\n"+s.Lines[0].Payment+"\n") {
		t.Errorf("the receipt lacks the transaction %s", s.Lines[0].Payment)
	}
}

// Whatever a merchant is called, and in which script: its receipt shows the name, and the ids and amounts beside it stay whole.
// What is read from right to left is in the file as it looks, from left to right, as readers of PDFs expect it.
func TestReceiptShowsNamesOfEveryScript(t *testing.T) {
	for name, want := range map[string]string{
		"Ñandú 山田 Кафе Ελλάδα ẽ ₲ محمد 😀":          "Ñandú 山田 Кафе Ελλάδα ẽ ₲ دمحم 😀",
		norm.NFD.String("Café Peña Łódź Việt Nam"): "Café Peña Łódź Việt Nam",
		"Mbo'ehára g̃uarã":    "Mbo'ehára g̃uarã",
		"株式会社 東京カフェ 北京 서울 카페": "株式会社 東京カフェ 北京 서울 카페",
		"שלום (2) עולם":       "םלוע (2) םולש",
		"ร้านกาแฟ हिन्दी ქართული Հայերեն አማርኛ": "ร้านกาแฟ हिन्दी ქართული Հայերեն አማርኛ",
		"₲ ₡ ₿ € ₱ ₹ ₺ ₽ ₩ ₫ ₴ ₵":              "₲ ₡ ₿ € ₱ ₹ ₺ ₽ ₩ ₫ ₴ ₵",
		"pay\u202e1.00\u202c ж\x00\x1b[31m":    "pay1.00 ж  [31m",
		"\xff\xfe (ж) \\":                      "� (ж) \\",
	} {
		s := sample(merchants.Spanish, 1)
		s.Merchant.Name = name
		pdf, err := PDF(s)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		text := pdftest.Text(pdf)
		if !strings.Contains(strings.ReplaceAll(text, "\n", ""), want) {
			t.Errorf("%q is not in the receipt: %q", name, text)
		}
		for _, part := range []string{"\nSTL-1\n", "\nTXN-1\n", "\nmer_1\n", "\n817.29 USD\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q: the receipt lacks %q", name, part)
			}
		}
		if len(pdf) > 60_000 {
			t.Errorf("%q: the receipt has %d bytes", name, len(pdf))
		}
	}
}

// A name without end costs no more than one that fills the line, and several receipts may be drawn at once.
func TestReceiptsOfHostileNames(t *testing.T) {
	var group sync.WaitGroup
	for _, piece := range []string{"a", "ж", "山", "محمد ", "g\u0303", "\u0301", "👩\u200d👩\u200d👧", "\u202e", "\u2066", "\n", "\x00", "\U00020000", "\ufdfa", "\uf8ff", "\xed\xa0\x80", "क्ष", "(\\"} {
		group.Go(func() {
			s := sample(merchants.English, 1)
			s.Merchant.Name = strings.Repeat(piece, 10_000/len(piece))
			s.Merchant.Email = s.Merchant.Name + "ж"
			pdf, err := PDF(s)
			again, _ := PDF(s)
			if err != nil || len(pdf) > 200_000 || !bytes.Equal(pdf, again) || !strings.Contains(pdftest.Text(pdf), "\nTXN-1\n") {
				t.Errorf("%q: %d bytes (%v)", piece, len(pdf), err)
			}
		})
	}
	group.Wait()
}

// A long settlement goes over several pages, and says what it leaves out.
func TestReceiptOfManyLines(t *testing.T) {
	s := sample(merchants.English, 200)
	s.Settlement.Lines = 12345
	pdf, err := PDF(s)
	if err != nil {
		t.Fatal(err)
	}
	text := pdftest.Text(pdf)
	for _, part := range []string{"Page 1 of ", "Page 5 of 5", "The first 201 of 12,345 lines"} {
		if !strings.Contains(text, part) {
			t.Errorf("the receipt lacks %q", part)
		}
	}
}

func TestReportIsWhatASpreadsheetReads(t *testing.T) {
	for language, heading := range map[merchants.Language]string{merchants.English: "Net (USD)", merchants.Spanish: "Neto (USD)", merchants.Portuguese: "Líquido (USD)"} {
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
		report, err := NewReport(&out, merchants.Spanish, sheet)
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
