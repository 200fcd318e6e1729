package reconcile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// read lists the lines of a report, and why others are none.
func read(t testing.TB, report string, f Format) (told []string) {
	t.Helper()
	r, err := NewReader("r.csv", strings.NewReader(report), f)
	if err != nil {
		return []string{err.Error()}
	}
	for {
		l, err := r.Next()
		var bad *Unreadable
		switch {
		case errors.Is(err, io.EOF):
			return told
		case errors.As(err, &bad):
			told = append(told, bad.Error())
		case err != nil:
			t.Fatal(err)
		case l.Kind == Other:
			told = append(told, fmt.Sprintf("%d other %s", l.Number, l.Word))
		default:
			text := fmt.Sprintf("%d %s %s%s %s", l.Number, l.Kind, l.Reference, l.ProviderRef, l.Amount)
			if !l.Date.IsZero() {
				text += " " + l.Date.Format(time.RFC3339)
			}
			if l.Fee.Currency != "" {
				text += " fee " + l.Fee.String()
			}
			told = append(told, text)
		}
	}
}

func columns(t *testing.T, pairs ...string) Format {
	t.Helper()
	f := Format{Kinds: Words()}
	for _, pair := range pairs {
		word, column, _ := strings.Cut(pair, "=")
		if err := f.Columns.Set(word, column); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// What providers write differently reads as the same.
func TestReportsAreReadHoweverTheyAreWritten(t *testing.T) {
	with := func(f Format, change func(*Format)) Format { change(&f); return f }
	signed := columns(t, "reference=ref", "amount=amount")
	for name, c := range map[string]struct {
		format Format
		report string
		want   []string
	}{
		"generic": {Generic(), "currency,amount,type,reference,date,fee\nBRL,54.00,charge,A-1,2026-11-21,-0.50\n\nBRL,-54,Refund,A-1,2026-11-22T10:00:00-03:00,\nBRL,0.3,fee,,,\n",
			[]string{"2 charge A-1 54.00 BRL 2026-11-21T00:00:00Z fee 0.50 BRL", "4 refund A-1 54.00 BRL 2026-11-22T13:00:00Z", "5 other fee"}},
		"byte order mark, title, semicolons, comma, quotes": {with(signed, func(f *Format) { f.Comma, f.Currency = true, "BRL" }),
			"\ufeffRelatório de novembro\r\n\r\nREF;\"Amount\"\r\nA-1;\"1.234,56\"\r\nA-1;-0,5\r\n", []string{"4 charge A-1 1234.56 BRL", "5 refund A-1 0.50 BRL"}},
		"tabs, minor units, debit and credit": {with(columns(t, "provider_reference=Psp Reference", "debit=Dr", "credit=Cr", "currency=Cur"), func(f *Format) { f.Minor = true }),
			"psp_reference\tDR\tCR\tcur\nch_1\t\t5400\tbrl\nch_1\t100\t0\tBRL\nch_2\t100\t5\tBRL\nch_3\t\t\tCLP\nch_4\t\t12.5\tBRL\n",
			[]string{"2 charge ch_1 54.00 BRL", "3 refund ch_1 1.00 BRL", `line 4: want one of debit and credit, not "100" and "5"`,
				`line 5: want one of debit and credit, not "" and ""`, `line 6: the amount "12.5" is not in whole minor units`}},
		"grouped, no decimals": {with(signed, func(f *Format) { f.Currency = "CLP" }), "ref,amount\nA-1,\"1,234,567.00\"\nA-1,007\nA-1,+5\nA-1,1 000\n",
			[]string{"2 charge A-1 1234567 CLP", "3 charge A-1 7 CLP", "4 charge A-1 5 CLP", "5 charge A-1 1000 CLP"}},
		"dates, zone, status": {with(columns(t, "reference=ref", "amount=amount", "date=day", "status=state"), func(f *Format) {
			f.Currency, f.Dates, f.Zone, f.Counts = "MXN", []string{"02/01/2006 15:04"}, time.FixedZone("", -3*3600), []string{"CO"}
		}), "ref|amount|day|state\nA-1|9|21/11/2026 22:30|co\nA-2|9|2026-11-21|CA\nA-3|9|tomorrow|CO\n",
			[]string{"2 charge A-1 9.00 MXN 2026-11-22T01:30:00Z", "3 other status CA", `line 4: the date "tomorrow" is not understood: say how dates are written`}},
		"what is none": {Generic(), "reference,amount,currency,type\nA-1,12.345,BRL,charge\nA-1,1e3,BRL,charge\nA-1,5,XXQ,charge\nA-1,5,BRL,loan\n,5,BRL,charge\n" +
			"A-1,-5,BRL,charge\nA-1,0,BRL,refund\nA-1,\"54,00\",BRL,charge\nA-1,99999999999999999,BRL,charge\nA-1\nA\"1,5,BRL,charge\nA-2,5,BRL,sale\n",
			[]string{`line 2: the amount "12.345" in BRL has more decimals than the currency has`, `line 3: the amount "1e3" is not a number with the decimal sign "."`,
				`line 4: the currency "XXQ" is not valid`, `line 5: the type "loan" is not known`, "line 6: it has no reference", "line 7: a charge of -5.00 BRL",
				"line 8: the amount is zero", `line 9: the amount "54,00" is not a number with the decimal sign "."`, `line 10: the amount "99999999999999999" is out of range`,
				`line 11: the type "" is not known`, `line 12: bare " in non-quoted-field`, "13 charge A-2 5.00 BRL"}},
		"no such column": {columns(t, "reference=Merchant Reference", "amount=Gross"), "Ref,Gross\nA-1,5\n",
			[]string{"r.csv has no column Merchant Reference: name it with --columns. Its columns are: Ref, Gross"}},
		"neither reference": {Generic(), "amount\n5\n", []string{"r.csv has no column for the reference: name it with --columns. Its columns are: amount"}},
		"empty":             {Generic(), "", []string{"r.csv is empty: not even a header"}},
		"a workbook":        {Generic(), "PK\x03\x04…", []string{"r.csv is a workbook or an archive: save it as CSV"}},
		"UTF-16":            {Generic(), "\xff\xfer\x00", []string{"r.csv is UTF-16: save it as CSV in UTF-8"}},
		"Windows-1252": {with(columns(t, "reference=Referência", "amount=Valor", "status=Situação"), func(f *Format) { f.Comma, f.Currency, f.Counts = true, "BRL", []string{"Concluída"} }),
			"Refer\xeancia;Valor;Situa\xe7\xe3o\nA-1;54,00;Conclu\xedda\nA-2;5,00;N\xe3o\n", []string{"2 charge A-1 54.00 BRL", "3 other status Não"}},
		"carriage returns": {Generic(), "reference,amount,currency\rA-1,5,BRL\r\rA-2,6,BRL\r", []string{"2 charge A-1 5.00 BRL", "4 charge A-2 6.00 BRL"}},
		"totals": {Generic(), "reference,amount,currency,type\nA-1,5,BRL,charge\nSub-total,5,BRL,\nTOTAL,5,BRL,\n,5,,Total Geral:\nTotal-7,6,BRL,charge\nA-2,6,BRL,total\n",
			[]string{"2 charge A-1 5.00 BRL", "3 other Sub-total", "4 other TOTAL", "5 other Total Geral:", "6 charge Total-7 6.00 BRL", `line 7: the type "total" is not known`}},
		"a header without an end":    {Generic(), "reference,amount,\"currency\nA-1,5,BRL\n", []string{"r.csv: the header cannot be read: line 1: extraneous or missing \" in quoted-field"}},
		"what a terminal would obey": {Generic(), "reference,amount,currency\nA\x1b[31m-1,5,BRL\n", []string{"2 charge A[31m-1 5.00 BRL"}},
		"fractions of a fee": {Generic(), "reference,amount,currency,fee,fee_currency\nA-1,5,BRL,0.012345,USD\nA-1,5,BRL,0.10,usd\nA-1,5,BRL,x,USD\n",
			[]string{"2 charge A-1 5.00 BRL", "3 charge A-1 5.00 BRL fee 0.10 USD", `line 4: the fee: the amount "x" is not a number with the decimal sign "."`}},
	} {
		if got := read(t, c.report, c.format); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestDateFormsAreLayouts(t *testing.T) {
	if got, err := Layout("DD/MM/YYYY hh:mm:ss"); err != nil || got != "02/01/2006 15:04:05" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Layout("DD/MM hh"); err == nil {
		t.Error("a form without a year is taken")
	}
	var c Columns
	if err := c.Set("sum", "x"); err == nil {
		t.Error("a column that nothing reads is taken")
	}
}

func FuzzReport(f *testing.F) {
	for _, seed := range []string{
		"reference,provider_reference,type,amount,currency,date,fee\nA-1,ch_1,charge,54.00,BRL,2026-11-21,0.5\n", "amount;reference\n\"1,5;A\n",
		"reference,type,amount\n,,fee", "\ufeffreference\tamount\tcurrency\nA-1\t-9\tCLP\n", "reference,amount,currency\nA,\"1,234.5\",USD\r\nB\n\x00,1,USD\n",
	} {
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, report []byte, comma bool) {
		format := Generic()
		format.Currency, format.Comma = "BRL", comma
		r, err := NewReader("r.csv", strings.NewReader(string(report)), format)
		if err != nil {
			return
		}
		m := Matcher{Account: "bank"}
		for {
			l, err := r.Next()
			var bad *Unreadable
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.As(err, &bad) {
				m.Bad("r.csv", bad)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.Kind != Other && (!l.Amount.IsPositive() || l.Amount.Minor > most || l.Reference+l.ProviderRef+l.RefundReference+l.RefundProviderRef == "") {
				t.Fatalf("a line that says nothing: %+v", l)
			}
			if l.Kind != Other && l.Amount.Currency == "BRL" { // another line may have no amount
				if again, err := money.Parse(l.Amount.Decimal(), "BRL"); err != nil || again != l.Amount {
					t.Fatalf("%v is read again as %v, %v", l.Amount, again, err)
				}
			}
			m.Line(l, nil)
		}
		m.Lines()
		m.End()
		others := 0
		for _, n := range m.Totals.Others {
			others += n
		}
		if m.Totals.Lines != others+m.Totals.Differences() { // nothing is known here: each line is told of
			t.Fatalf("%d lines, of which %d are told of: %+v", m.Totals.Lines, others+m.Totals.Differences(), m.Totals)
		}
	})
}
