package statement

import (
	"bytes"
	"fmt"

	"codeberg.org/go-pdf/fpdf"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/statement/typeface"
)

// The page, in millimetres.
const (
	margin = 15.0
	width  = 210 - 2*margin
	bottom = 297 - 22.0 // where a table continues on the next page
	row    = 5.2
)

// colour is red, green and blue.
type colour [3]int

var (
	ink    = colour{24, 33, 43}
	grey   = colour{110, 120, 130}
	line   = colour{214, 220, 226}
	shade  = colour{245, 247, 249}
	accent = colour{0, 112, 122}
	white  = colour{255, 255, 255}
	amber  = colour{176, 98, 0}
)

// receipt is a PDF in progress.
type receipt struct {
	*fpdf.Fpdf
	words
	write *typeface.Writer
	of    Statement
}

// PDF draws the receipt of a settlement. The same statement always gives the same bytes.
func PDF(s Statement) ([]byte, error) {
	pdf := fpdf.New("P", "mm", "A4", "")
	r := &receipt{Fpdf: pdf, words: in(s.Merchant.Language), write: typeface.On(pdf), of: s}
	pdf.SetCatalogSort(true)
	pdf.SetCreationDate(s.Settlement.ClosedAt)
	pdf.SetModificationDate(s.Settlement.ClosedAt)
	pdf.SetTitle(r.receipt+" "+s.Settlement.ID, true)
	pdf.SetAuthor("Cascada", true)
	pdf.SetLang(string(s.Merchant.Language))
	pdf.SetMargins(margin, margin, margin)
	pdf.SetAutoPageBreak(false, 0)
	pdf.AliasNbPages("{n}")
	pdf.SetFooterFunc(r.foot)
	pdf.AddPage()
	r.head()
	r.parties()
	r.totals()
	r.table()
	var out bytes.Buffer
	if err := pdf.Output(&out); err != nil {
		return nil, fmt.Errorf("draw the receipt of %s: %w", s.Settlement.ID, err)
	}
	return out.Bytes(), nil
}

func (r *receipt) font(style string, size float64, c colour) {
	r.write.Font(style, size)
	r.SetTextColor(c[0], c[1], c[2])
}

func (r *receipt) fill(c colour) { r.SetFillColor(c[0], c[1], c[2]) }

// put writes a text into a cell of a width. A left-aligned text that is too long is cut
// off; right-aligned numbers are made smaller instead.
func (r *receipt) put(w, h float64, text, align string) {
	r.write.Cell(w, h, text, align, align == "R")
}

// whole writes a text that is of no use if a part is missing, such as a number or an id: what is too long is made smaller.
func (r *receipt) whole(w, h float64, text, align string) { r.write.Cell(w, h, text, align, true) }

// line draws a hairline across the page at the current height.
func (r *receipt) line() {
	r.SetDrawColor(line[0], line[1], line[2])
	r.SetLineWidth(0.2)
	r.Line(margin, r.GetY(), margin+width, r.GetY())
}

// head draws the name and the title.
func (r *receipt) head() {
	r.fill(accent)
	for i, h := range []float64{9, 6.5, 4} { // the logo
		r.Rect(margin+float64(i)*3.2, margin+9-h, 2.4, h, "F")
	}
	r.SetXY(margin+11.5, margin)
	r.font("B", 17, ink)
	r.put(60, 9, "Cascada", "L")
	r.SetXY(margin+width-100, margin-1)
	r.font("B", 13, ink)
	r.put(100, 6, r.words.receipt, "R")
	r.SetXY(margin+width-100, margin+5)
	r.font("", 8.5, grey)
	r.put(100, 5, r.of.Settlement.ID, "R")
	r.SetY(margin + 14)
	if !r.of.Settlement.Live {
		r.fill(amber)
		r.font("B", 8, white)
		r.SetX(margin)
		r.Rect(margin, r.GetY(), width, 5.5, "F")
		r.put(width, 5.5, r.sandbox, "C")
		r.SetY(r.GetY() + 8)
	}
	r.line()
	r.SetY(r.GetY() + 5)
}

// parties draws whose receipt it is, and for which settlement.
func (r *receipt) parties() {
	s, top := r.of.Settlement, r.GetY()
	r.SetXY(margin, top)
	r.font("", 8, grey)
	r.put(90, 4.5, r.merchant, "L")
	for i, text := range []string{r.of.Merchant.Name, r.of.Merchant.Email, r.of.Merchant.ID} {
		r.SetXY(margin, top+5+float64(i)*5)
		if r.font("", 9, grey); i == 0 {
			r.font("B", 11, ink)
		}
		r.put(90, 5, text, "L")
	}
	where := r.testing
	if s.Live {
		where = r.production
	}
	for i, fact := range [][2]string{
		{r.period, r.moment(s.PeriodStart) + " - " + r.moment(s.PeriodEnd)}, {r.closed, r.moment(s.ClosedAt)}, {r.environment, where},
	} {
		r.SetXY(margin+96, top+float64(i)*6)
		r.font("", 8, grey)
		r.put(24, 5, fact[0], "L")
		r.font("", 9, ink)
		r.put(width-120, 5, fact[1], "R")
	}
	r.SetY(top + 25)
}

// totals draws the sums. It skips the rarer ones if they are zero.
func (r *receipt) totals() {
	s := r.of.Settlement
	r.SetX(margin)
	r.font("B", 10, ink)
	r.put(width, 6, r.summary, "L")
	r.SetY(r.GetY() + 7)
	type sum struct {
		name   string
		amount int64
		always bool
	}
	list := []sum{
		{r.gross, s.Gross, true}, {r.platform, -s.Platform, true}, {r.provider, -s.Provider, true}, {r.network, -s.Network, false},
	}
	for _, t := range s.Taxes {
		list = append(list, sum{fmt.Sprintf(r.tax, r.named(t.TaxRate)), -t.Amount, false})
	}
	for _, t := range append(list, []sum{
		{r.refunds, -s.Refunds, true}, {r.chargebacks, -s.Chargebacks, false}, {r.chargebackFees, -s.ChargebackFees, false},
		{r.held, -s.Held, true}, {r.released, s.Released, false}, {r.adjustments, s.Adjustments, false},
	}...) {
		if t.amount == 0 && !t.always {
			continue
		}
		r.line()
		r.SetX(margin)
		r.font("", 9, ink)
		r.put(width-50, 6.4, t.name, "L")
		r.put(50, 6.4, r.words.money(t.amount), "R")
		r.SetY(r.GetY() + 6.4)
	}
	r.fill(accent)
	r.Rect(margin, r.GetY(), width, 9, "F")
	r.SetX(margin + 2)
	r.font("B", 11, white)
	r.put(width-54, 9, r.net, "L")
	r.put(50, 9, r.words.money(s.Net)+" USD", "R")
	r.SetY(r.GetY() + 14)
}

// column is a column of the table of lines.
type column struct {
	width       float64
	name, align string
	value       func(pay.SettlementLine) string
	whole       bool // never cut off
}

func (r *receipt) columns() []column {
	return []column{
		{9, r.number, "R", func(l pay.SettlementLine) string { return fmt.Sprint(l.Number) }, false},
		{27, r.date, "L", func(l pay.SettlementLine) string { return " " + r.moment(l.At) }, false},
		{25, r.kind, "L", func(l pay.SettlementLine) string { return r.kinds[l.Type] }, false},
		{49, r.transaction, "L", func(l pay.SettlementLine) string { return l.Payment }, true},
		{18, r.amount, "R", func(l pay.SettlementLine) string { return r.words.money(l.Amount() + l.Adjustment) }, false},
		{17, r.fees, "R", func(l pay.SettlementLine) string { return r.words.money(-l.Fees().Total() - l.ChargebackFee) }, false},
		{17, r.reserve, "R", func(l pay.SettlementLine) string { return r.words.money(-l.Reserve) }, false},
		{18, r.lineNet, "R", func(l pay.SettlementLine) string { return r.words.money(l.Net) }, false},
	}
}

// table draws the lines, on as many pages as needed.
func (r *receipt) table() {
	s := r.of.Settlement
	r.SetX(margin)
	r.font("B", 10, ink)
	r.put(width, 6, r.lines+" ("+r.count(s.Lines)+")", "L")
	r.SetY(r.GetY() + 7)
	columns := r.columns()
	r.heading(columns)
	for i, l := range r.of.Lines {
		if r.GetY()+row > bottom {
			r.AddPage()
			r.heading(columns)
		}
		if i%2 == 1 {
			r.fill(shade)
			r.Rect(margin, r.GetY(), width, row, "F")
		}
		r.SetX(margin)
		r.font("", 7, ink)
		for _, c := range columns {
			write := r.put
			if c.whole {
				write = r.whole
			}
			write(c.width, row, c.value(l), c.align)
		}
		r.SetY(r.GetY() + row)
	}
	r.line()
	if shown := len(r.of.Lines); int64(shown) < s.Lines {
		r.SetXY(margin, r.GetY()+2)
		r.font("I", 8, grey)
		r.put(width, 5, fmt.Sprintf(r.more, r.count(int64(shown)), r.count(s.Lines)), "L")
	}
}

func (r *receipt) heading(columns []column) {
	r.SetX(margin)
	r.font("B", 7, grey)
	for _, c := range columns {
		name := c.name
		if c.align == "L" && c.width == 27 {
			name = " " + name
		}
		r.put(c.width, row, name, c.align)
	}
	r.SetY(r.GetY() + row)
	r.line()
}

// foot ends each page.
func (r *receipt) foot() {
	r.SetY(297 - 16)
	r.line()
	r.SetXY(margin, 297-14)
	r.font("", 7.5, grey)
	r.put(width-50, 5, r.footer, "L")
	r.put(50, 5, fmt.Sprintf(r.page, r.PageNo()), "R")
}
