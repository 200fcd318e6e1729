package bankfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

func TestAnswersInTables(t *testing.T) {
	columns, err := ParseColumns("reference=Referencia numérica,status=Estado,amount=Importe,destination=Cuenta,code=Motivo,bank_reference=Clave de rastreo,date=Fecha,message=Detalle", AnswerWords())
	if err != nil {
		t.Fatal(err)
	}
	spei := CSV{Answers: columns, Currency: "MXN", Dates: []string{"02/01/2006 15:04"}, Zone: time.FixedZone("", -6*3600),
		Outcomes: map[string]Outcome{"En proceso": Pending, "Liquidada": Paid, "LQ": Paid}}
	for name, c := range map[string]struct {
		format CSV
		file   string
		want   []string
	}{
		"usual": {CSV{}, "reference,status,amount,currency,code,bank_reference,date\nR1,Paid,12.50,BRL,,B-1,2026-10-15\nR2,rejected,,,invalid_account,,\nR3,RETURNED,12.50,BRL,AC04,,\nR4,pending,,,,,\nR5,mislaid,,,7,,\nR6,,,,,,\n",
			[]string{"2 R1 paid 12.50 BRL 2026-10-15 B-1 [Paid]", "3 R2 rejected invalid_account [invalid_account]", "4 R3 returned 12.50 BRL account_closed [AC04]",
				"5 R4 pending [pending]", "6 R5 pending [mislaid 7]", "7 R6 pending []"}},
		"two columns": {CSV{}, "status;reference\nfailed;R1\n", []string{"2 R1 rejected rejected [failed]"}},
		"SPEI": {spei, "\ufeffTransferencias\r\n\r\nReferencia numérica|Cuenta|Importe|Estado|Motivo|Clave de rastreo|Fecha|Detalle\r\n" +
			"1700001|072180000123456780|-1,500.50|LIQUIDADA||BB123|15/10/2026 20:30|\r\n1700002|014180000987654320|98,765.43|devuelta|01||16/10/2026 08:00|no existe\r\n1700003||1|rechazada|20|||\r\n1700004||1|en_proceso||||\r\n1700005||1|rechazada|02|||\r\n",
			[]string{"4 1700001 paid 1500.50 MXN 2026-10-16 BB123 [LIQUIDADA]", "5 1700002 returned 98765.43 MXN 2026-10-16 invalid_account [01]",
				"6 1700003 rejected 1.00 MXN limit_exceeded [20]", "7 1700004 pending 1.00 MXN [en_proceso]", "8 1700005 rejected 1.00 MXN rejected [02]"}},
		"numbers elsewhere": {CSV{Currency: "BRL", Reasons: map[string]string{"99": AccountClosed}}, "reference,status,code,amount\nR1,rejected,01,1\nR2,rejected,99,1\n",
			[]string{"2 R1 rejected 1.00 BRL rejected [01]", "3 R2 rejected 1.00 BRL account_closed [99]"}},
		"comma, cents": {CSV{Comma: true, Minor: true, Currency: "BRL"}, "reference,status,amount\nR1,paid,1250\n", []string{"2 R1 paid 12.50 BRL [paid]"}},
		"both":         {CSV{}, "reference,status\nR1,paid\nR1,rejected\n", []string{"2 R1 pending [paid]", "3 R1 pending [rejected]"}},
		"nobody's":     {CSV{}, "reference,status\n,paid\n", []string{"2 paid [paid]"}},
		"no rows":      {CSV{}, "reference,status\n", nil},
	} {
		answers, err := c.format.Read([]byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range answers {
			if answers[i].Code == "LIQUIDADA" && answers[i].Destination != "072180000123456780" {
				t.Errorf("%+v", answers[i])
			}
		}
		sameAnswers(t, name, answers, c.want...)
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		format CSV
		file   string
		want   string
	}{
		"empty":          {CSV{}, "", "the file is empty"},
		"no status":      {CSV{}, "reference,amount\n", "the file has no column status: name the columns"},
		"workbook":       {CSV{}, "PK\x03\x04", "the file is a workbook"},
		"UTF-16":         {CSV{}, "\xff\xfer\x00", "the file is UTF-16"},
		"short row":      {CSV{Currency: "BRL"}, "reference,status,amount\nR1,paid,1\nR2,pa", "line 3: there are 2 cells"},
		"long row":       {CSV{}, "reference,status\nR1,paid,1\n", "line 2: there are 3 cells"},
		"quotes":         {CSV{}, "reference,status\nR1,\"paid\n", "line 2:"},
		"amount":         {CSV{Currency: "BRL"}, "reference,status,amount\nR1,paid,\"1,5\"\n", "line 2: the amount"},
		"no currency":    {CSV{}, "reference,status,amount\nR1,paid,1\n", "line 2: the currency of the amount"},
		"currency":       {CSV{}, "reference,status,amount,currency\nR1,paid,1,XXQ\n", "line 2: the currency is not valid"},
		"date":           {CSV{}, "reference,status,date\nR1,paid,tomorrow\n", "line 2: the date"},
		"no such column": {CSV{Answers: []Column{{"colour", "c"}}}, "", `columns have no "colour"`},
		"no reference":   {CSV{Answers: []Column{{"status", "s"}}}, "", "columns must name the one of the reference"},
		"outcome":        {CSV{Outcomes: map[string]Outcome{"x": "good"}}, "", `outcomes have no "good"`},
		"too large":      {CSV{}, string(make([]byte, MaxSize+1)), "the file is larger"},
	} {
		answers, err := c.format.Read([]byte(c.file))
		if answers != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A table that we wrote, with a status beside each line, is an answer.
func TestRoundTripOfTables(t *testing.T) {
	for name, c := range map[string]struct {
		csv   CSV
		lines []Line
	}{
		"usual": {CSV{}, speiLines()},
		"cents": {CSV{Separator: ';', Minor: true}, ibanLines()},
		"comma": {CSV{Separator: '\t', Comma: true}, pixLines()},
	} {
		file, err := c.csv.Layout().Write(batch("B17-1", c.lines[0].Amount.Currency, Payer{}), c.lines)
		if err != nil {
			t.Fatal(err)
		}
		separator := ","
		if c.csv.Separator != 0 {
			separator = string(c.csv.Separator)
		}
		rows := strings.Split(strings.TrimSuffix(string(file), "\r\n"), "\r\n")
		for i := range rows {
			rows[i] += separator + map[bool]string{true: "status", false: "paid"}[i == 0]
		}
		answers, err := c.csv.Read([]byte(strings.Join(rows, "\r\n")))
		if err != nil || len(answers) != len(c.lines) {
			t.Fatalf("%s: %d answers, %v", name, len(answers), err)
		}
		for i, a := range answers {
			account, _ := c.lines[i].account()
			if a.Reference != c.lines[i].Reference || a.Amount != c.lines[i].Amount || a.Destination != account || a.Outcome != Paid {
				t.Errorf("%s: %+v, want %+v", name, a, c.lines[i])
			}
		}
	}
}

// SPEI files are read with a ruler: what is at a position is what was sent.
func TestPositionsOfSPEI(t *testing.T) {
	lines := speiLines()
	lines[0].Amount = money.New(largest, "MXN")
	file, err := layout(t, "spei-bbva").Write(batch("B1", "MXN", Payer{Account: "123456789012345678"}), lines)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(file), "\r\n")
	if len(rows) != 3 || len(rows[0]) != 130 || rows[0][39:55] != "9999999999999.99" || rows[0][18:36] != "123456789012345678" ||
		rows[0][120:127] != fmt.Sprint(lines[0].Number) || rows[0][127] != 'H' {
		t.Errorf("%q", rows)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("reference,status,amount,currency,code,bank_reference,date,message\nR1,paid,12.50,BRL,,B-1,2026-10-15,x\nR2,rejected,,,AC01,,,\n"))
	f.Add([]byte("reference;status\nR1;\xff\n\n"))
	f.Add(golden(f, "table.csv"))
	f.Fuzz(func(t *testing.T, file []byte) {
		readable(t, FormatCSV, file)
		answers, err := CSV{Currency: "MXN", Minor: true, Answers: []Column{{"reference", "number"}, {"status", "name"}, {"amount", "amount?"}}}.Read(file)
		checkAnswers(t, answers, err)
	})
}
