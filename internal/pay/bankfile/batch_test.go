package bankfile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cascadapay/cascada/internal/money"
)

// What a whole batch must be, beside its lines.
func TestBatchesThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Batch, []Line) []Line
		want   string
	}{
		"no lines":      {func(*Batch, []Line) []Line { return nil }, "lines are missing"},
		"ID":            {func(b *Batch, l []Line) []Line { b.ID = "bat_1"; return l }, "id must be"},
		"long ID":       {func(b *Batch, l []Line) []Line { b.ID = strings.Repeat("1", 31); return l }, "id must be"},
		"sequence":      {func(b *Batch, l []Line) []Line { b.Sequence = 1e6; return l }, "sequence must be"},
		"no time":       {func(b *Batch, l []Line) []Line { b.At = b.At.AddDate(-2000, 0, 0); return l }, "time of the batch"},
		"no currency":   {func(b *Batch, l []Line) []Line { b.Currency = ""; return l }, "currency of the batch"},
		"another":       {func(b *Batch, l []Line) []Line { b.Currency = "USD"; return l }, "line B17L00001: amount is not in USD"},
		"reference":     {func(_ *Batch, l []Line) []Line { l[2].Reference = l[0].Reference; return l }, "line B17L00001: reference occurs twice"},
		"number":        {func(_ *Batch, l []Line) []Line { l[2].Number = 1; return l }, "line B17L00003: number occurs twice"},
		"a line":        {func(_ *Batch, l []Line) []Line { l[3].Name = ""; return l }, "line B17L00004: name is missing"},
		"payer":         {func(b *Batch, l []Line) []Line { b.From.Account = ""; return l }, "the payer's account is missing"},
		"Pix and a TED": {func(_ *Batch, l []Line) []Line { return append(l, tedLines()[0]) }, "write cnab240: network of all lines must be pix"},
	} {
		b := batch("B17-1", "BRL", bradescoPayer())
		lines := c.change(&b, pixLines())
		file, err := layout(t, "cnab240").Write(b, lines)
		var p *Problem
		if file != nil || !errors.As(err, &p) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, ok := Find("cnab400"); ok {
		t.Error("a layout is found that there is not")
	}
}

func TestSumsDoNotOverflow(t *testing.T) {
	var lines []Line
	for i := range 1001 {
		l := pixLines()[0]
		l.Reference, l.Number, l.Amount = fmt.Sprint("R", i), i+1, money.New(largest, "BRL")
		lines = append(lines, l)
	}
	if _, err := layout(t, "cnab240").Write(batch("B1", "BRL", bradescoPayer()), lines); err == nil || !strings.Contains(err.Error(), "more than 18 digits") {
		t.Errorf("%v", err)
	}
}

// What does not fit its positions makes an error, never a longer record.
func TestRecordsKeepTheirLength(t *testing.T) {
	for name, fill := range map[string]func(*record){
		"digits": func(r *record) { r.number(3, 5, "1234") }, "letters": func(r *record) { r.number(3, 5, "12A") },
		"text": func(r *record) { r.text(3, 5, "ABCD") }, "accent": func(r *record) { r.text(3, 5, "é") },
	} {
		r := newRecord(10)
		fill(r)
		r.text(1, 1, "too long as well")
		if want := "record holds at most 3"; r.err == nil || !strings.HasPrefix(r.err.Error(), want) || len(r.bytes) != 10 {
			t.Errorf("%s: %v, want %s", name, r.err, want)
		}
	}
	f := &cnabFile{batch: batch("B1", "BRL", bradescoPayer())}
	f.add(1, "3", func(r *record) { f.segmentA(r, formPix, pixLines()[0], 100_000) }) // a batch with more lines than it can count
	var p *Problem
	if want := "5 digits at positions 9 to 13"; !errors.As(f.err, &p) || !strings.HasSuffix(f.err.Error(), want) {
		t.Errorf("%v, want %s", f.err, want)
	}
}

// Names reach the file in letters that it can hold.
func TestNamesInPlainLetters(t *testing.T) {
	for name, want := range map[string]string{
		"José Ñandú Çelik": "JOSE NANDU CELIK", "Straße & Ærø": "STRASSE AERO", "a\tb\r\nc\x00d": "A B C D", "=cmd|x!": "CMD X",
		"ＦＵＬＬ ｗｉｄｔｈ": "FULL WIDTH", "Łódź": "LODZ", "  x ": "X", "漢字": "", "O’Higgins": "OHIGGINS", "A\u0301": "A",
		strings.Repeat("ab ", 20): "AB AB AB AB AB AB AB AB AB AB",
	} {
		if got := upper(name, 30); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"//A/B; <C> O’D": "A B C O'D", "Müller & Söhne": "Muller + Sohne", "Ñandú, S.A.": "Nandu, S.A."} {
		if got := sepa(name, 70); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// Only free text is made harmless: a telephone number keeps its plus.
func TestTablesHoldNoFormulas(t *testing.T) {
	for _, name := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1"} {
		l := pixLines()[0]
		l.Name = name
		file, err := CSV{}.Layout().Write(batch("B1", "BRL", Payer{}), []Line{l})
		if err != nil {
			t.Fatal(err)
		}
		if cells := strings.Split(strings.Split(string(file), "\r\n")[1], ","); cells[6][:1] != "'" || cells[5] != "+5511987654321" {
			t.Errorf("%q is written as %q", name, cells)
		}
	}
}

func TestTablesAreWrittenAsNamed(t *testing.T) {
	columns, err := ParseColumns("number=No., amount = Valor,name,date=Data", WrittenWords())
	if err != nil {
		t.Fatal(err)
	}
	c := CSV{Written: columns, Separator: ';', Comma: true, Dates: []string{"02/01/2006"}}
	file, err := c.Layout().Write(batch("B1", "BRL", Payer{}), pixLines()[1:2])
	if want := "No.;Valor;name;Data\r\n2;2500,00;Loja Exemplo: ME;15/10/2026\r\n"; err != nil || string(file) != want {
		t.Errorf("%q, %v, want %q", file, err, want)
	}
	c.Minor = true
	if file, err = c.Layout().Write(batch("B1", "BRL", Payer{}), pixLines()[1:2]); err != nil || !strings.Contains(string(file), ";") || !strings.Contains(string(file), "2;250000;") {
		t.Errorf("%q, %v", file, err)
	}
	for _, text := range []string{"", "colour", "amount=", "amount,amount", "amount=a,name=a"} {
		if _, err := ParseColumns(text, WrittenWords()); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := (CSV{Written: []Column{{"colour", "c"}}}).Layout().Write(batch("B1", "BRL", Payer{}), pixLines()); err == nil {
		t.Error("a column that nothing fills is taken")
	}
}

func TestSettingsOverrideVersions(t *testing.T) {
	p := bradescoPayer()
	p.FileVersion, p.BatchVersion = "107", "048"
	file, err := layout(t, "cnab240").Write(batch("B1", "BRL", p), pixLines())
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Split(file, []byte("\r\n"))
	if string(rows[0][163:166]) != "107" || string(rows[1][13:16]) != "048" {
		t.Errorf("%s, %s", rows[0][163:166], rows[1][13:16])
	}
}

// drawLines draws a batch of Pix and what it comes to.
func drawLines(t *rapid.T) (lines []Line, sum int64) {
	amounts := rapid.SliceOfN(rapid.Int64Range(1, largest), 1, 40).Draw(t, "amounts")
	for i, minor := range amounts {
		l := pixLines()[i%4]
		l.Reference, l.Number, l.Amount = fmt.Sprint("R", i), i+1, money.New(minor, "BRL")
		if name := rapid.String().Draw(t, "name"); named(name, upper(name, 30)) == nil {
			l.Name = name
		}
		lines, sum = append(lines, l), sum+minor
	}
	return lines, sum
}

// Whatever a batch holds, records have their length and trailers tell the truth.
func TestTrailersHoldTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines, sum := drawLines(t)
		l, _ := Find("cnab240")
		file, err := l.Write(batch("B1", "BRL", bradescoPayer()), lines)
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.SplitAfter(string(file), "\r\n")
		for _, row := range rows[:len(rows)-1] {
			if len(row) != 242 || strings.ContainsFunc(row[:240], func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%q", row)
			}
		}
		trailer := rows[len(rows)-3]
		if told, err := strconv.ParseInt(trailer[23:41], 10, 64); err != nil || told != sum {
			t.Fatalf("the trailer says %s, want %d", trailer[23:41], sum)
		}
		if want := fmt.Sprintf("%06d", 2*len(lines)+2); trailer[17:23] != want {
			t.Fatalf("the trailer counts %s, want %s", trailer[17:23], want)
		}
	})
}

func TestControlSumsOfXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []Line
		sum := int64(0)
		for i, minor := range rapid.SliceOfN(rapid.Int64Range(1, largest), 1, 20).Draw(t, "amounts") {
			l := ibanLines()[i%2]
			l.Reference, l.Amount = fmt.Sprint("R", i), money.New(minor, "EUR")
			if name := rapid.String().Draw(t, "name"); named(name, sepa(name, 70)) == nil {
				l.Name = name
			}
			lines, sum = append(lines, l), sum+minor
		}
		l, _ := Find(rapid.SampledFrom([]string{"pain.001.03", "pain.001.09"}).Draw(t, "layout"))
		file, err := l.Write(batch("B1", "EUR", europePayer()), lines)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Sums  []string `xml:"CstmrCdtTrfInitn>GrpHdr>CtrlSum"`
			Inner string   `xml:"CstmrCdtTrfInitn>PmtInf>CtrlSum"`
			Count int      `xml:"CstmrCdtTrfInitn>GrpHdr>NbOfTxs"`
		}
		if err := xml.Unmarshal(file, &d); err != nil {
			t.Fatal(err)
		}
		told, err := money.Parse(d.Inner, "EUR")
		if err != nil || told.Minor != sum || d.Sums[0] != d.Inner || d.Count != len(lines) {
			t.Fatalf("%+v, %v, want %d lines of %d", d, err, len(lines), sum)
		}
	})
}
