package statement

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Report writes a settlement's lines as CSV (RFC 4180), with the headings in
// the merchant's language. Numbers have no grouping, and times are in ISO 8601.
type Report struct {
	out   *csv.Writer
	words words
	sheet Sheet
}

// NewReport begins a report.
func NewReport(w io.Writer, language merchants.Language, sheet Sheet) (*Report, error) {
	out, err := sheet.Writer(w)
	if err != nil {
		return nil, err
	}
	r := &Report{out: out, words: in(language), sheet: sheet}
	r.out.UseCRLF = true
	t := r.words
	return r, r.out.Write([]string{
		t.number, t.date, t.kind, t.transaction, t.order, t.claim, t.local, t.currency, t.amount + " (USD)",
		t.platformFee + " (USD)", t.providerFee + " (USD)", t.networkFee + " (USD)", t.chargebackFee + " (USD)",
		t.reserve + " (USD)", t.adjustment + " (USD)", t.lineNet + " (USD)",
		t.feeTax + " (USD)", t.taxName, t.taxPercent,
	})
}

// Line writes a line. Its net is the amount less fees, their tax and reserve, plus the
// adjustment.
func (r *Report) Line(l pay.SettlementLine) error {
	usd := func(cents int64) string { return r.sheet.Number(money.New(cents, money.USD).Decimal()) }
	return r.out.Write([]string{
		strconv.FormatInt(l.Number, 10), l.At.UTC().Format(time.RFC3339), r.words.kinds[l.Type],
		r.sheet.Guard(l.Payment), r.sheet.Guard(l.OrderID), r.sheet.Guard(l.Claim), r.sheet.Number(l.Local.Decimal()), string(l.Local.Currency), usd(l.Amount()),
		usd(l.Platform), usd(l.Provider), usd(l.Network), usd(l.ChargebackFee), usd(l.Reserve), usd(l.Adjustment), usd(l.Net), usd(l.Tax),
		r.sheet.Guard(l.Taxed.Name), r.percent(l.Taxed),
	})
}

// percent is the percent of a tax, "" if there is none.
func (r *Report) percent(t merchants.TaxRate) string {
	if t.Bps == 0 {
		return ""
	}
	return r.sheet.Number(t.Percent())
}

// Close writes the buffered rest.
func (r *Report) Close() error {
	r.out.Flush()
	return r.out.Error()
}

// Guard keeps a spreadsheet from running somebody's text as a formula: an apostrophe makes it text. Some spreadsheets skip
// spaces before a formula, and accept the full-width signs of East Asian keyboards too. Where the comma is the decimal sign, as
// in Spanish and Portuguese, they begin a cell at a semicolon, and do not see that a text with one is in quotes. So what
// follows a semicolon or a line break is looked at as well, and in a file with semicolons what follows a comma: in English they
// begin a cell there.
func (s Sheet) Guard(text string) string {
	if !strings.ContainsAny(text, formulaSigns) {
		return text
	}
	ends := ";\r\n"
	if s == ForCommas {
		ends += ","
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		cell := rest
		if at := strings.IndexAny(rest, ends); at >= 0 {
			cell = rest[:at+1]
		}
		rest = rest[len(cell):]
		if strings.IndexAny(strings.TrimLeftFunc(cell, unseen), formulaSigns) == 0 {
			out.WriteByte('\'')
		}
		out.WriteString(cell)
	}
	return out.String()
}

// unseen reports whether a program may pass over a character before a formula: blanks of all kinds, and what cannot be seen.
func unseen(r rune) bool {
	return r == '"' || r != '\t' && (unicode.IsSpace(r) || !unicode.IsGraphic(r))
}

// formulaSigns begin a formula.
const formulaSigns = "=+-@＝＋－＠\t"
