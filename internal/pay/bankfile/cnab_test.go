package bankfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cascadapay/cascada/internal/money"
)

// text is an answer in one line. What the test does not look at is left out.
func (a Answer) text() string {
	if a.Notice != "" {
		return fmt.Sprintf("%d notice", a.Line)
	}
	s := fmt.Sprintf("%d %s %s", a.Line, a.Reference, a.Outcome)
	if a.Whole {
		s = fmt.Sprintf("%d whole %s %s", a.Line, a.Batch, a.Outcome)
	}
	if a.Amount.Currency != "" {
		s += " " + a.Amount.String()
	}
	if !a.At.IsZero() {
		s += " " + a.At.Format("2006-01-02")
	}
	return strings.Join(strings.Fields(strings.Join([]string{s, a.BankReference, a.Reason, "[" + a.Code + "]"}, " ")), " ")
}

func sameAnswers(t *testing.T, name string, answers []Answer, want ...string) {
	t.Helper()
	var got []string
	for _, a := range answers {
		got = append(got, a.text())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReturnOfCNAB(t *testing.T) {
	file := golden(t, "cnab_pix.ret")
	want := []string{
		"3 B17L00001 paid 123.45 BRL 2026-10-15 E60746948202610151230ABCDEF12345 [00]",
		"6 B17L00002 rejected invalid_account [PJ PM]",
		"8 B17L00003 pending [BD]",
		"10 B17L00004 returned 9999999.99 BRL 2026-10-16 20261015000004 rejected [H4]",
	}
	answers, err := Read(FormatCNAB240, file)
	if err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, "CRLF", answers, want...)
	if answers, err = Read(FormatCNAB240, bytes.ReplaceAll(file, []byte("\r"), nil)); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, "LF", answers, want...)
	if format, err := Detect(file); err != nil || format != FormatCNAB240 {
		t.Errorf("%s, %v", format, err)
	}
}

// edit changes a record of the file, from 1, at a position, from 1.
func edit(file []byte, line, at int, text string) []byte {
	rows := strings.SplitAfter(string(file), "\r\n")
	row := rows[line-1]
	rows[line-1] = row[:at-1] + text + row[at-1+len(text):]
	return []byte(strings.Join(rows, ""))
}

// The first line of the file with other codes, movements, dates and amounts.
func TestOccurrences(t *testing.T) {
	for _, c := range []struct {
		bank, codes, movement string
		amount                string // "": the file's
		want                  string
	}{
		{"237", "00", "", "", "paid"},
		{"237", "03", "", "", "paid"},
		{"237", "00ZA", "", "", "paid"},
		{"237", "0000000000", "", "", "paid"},
		{"237", "00", "", "000000000012344", "paid"}, // the app compares the amounts
		{"237", "00", "", "000000000000000", "pending"},
		{"237", "", "", "", "pending"},
		{"237", "ZA", "", "", "pending"},
		{"237", "BD", "", "", "pending"},
		{"237", "BDBE", "", "", "pending"},
		{"237", "5A", "", "", "pending"},
		{"237", "00BD", "", "", "pending"}, // contradiction
		{"237", "00PJ", "", "", "pending"},
		{"237", "00XX", "", "", "pending"}, // unknown
		{"237", "PJXX", "", "", "pending"},
		{"237", "00\xc7\xc3", "", "", "pending"},
		{"237", "0", "", "", "pending"},
		{"237", " 0", "", "", "pending"},
		{"237", "pj", "", "", "pending"}, // codes are in upper case
		{"237", "HM", "", "", "pending"}, // of loans
		{"237", "AN", "", "", "rejected invalid_account"},
		{"237", "AR", "", "", "rejected rejected"},
		{"237", "ARAN", "", "", "rejected invalid_account"},
		{"237", "PC", "", "", "rejected account_closed"},
		{"237", "BF", "", "", "rejected rejected"},
		{"237", "H4", "", "", "returned rejected"},
		{"237", "00", "333", "", "returned rejected"},
		{"237", "XX", "333", "", "returned rejected"},
		{"237", "00", "300", "", "pending"},
		{"756", "PD", "", "", "pending"},
		{"237", "PD", "", "", "rejected invalid_account"},
		{"033", "ZA", "", "", "returned rejected"},
		{"033", "ZK", "", "", "pending"},
		{"033", "ZB", "", "", "rejected rejected"},
		{"237", "ZK", "", "", "pending"},
		{"001", "5A", "", "", "pending"},
		{"033", "Z3", "", "", "rejected account_closed"},
		// Bradesco's table of Multipag's occurrences, with Pix.
		{"237", "5B", "", "", "rejected rejected"},
		{"237", "5C", "", "", "rejected rejected"},
		{"237", "5D", "", "", "rejected rejected"},
		{"237", "5E", "", "", "rejected rejected"},
		{"237", "5F", "", "", "rejected rejected"},
		{"237", "5M", "", "", "rejected rejected"},
		{"237", "5I", "", "", "pending"},
		{"237", "5J", "", "", "pending"},
		{"237", "5T", "", "", "pending"},
		{"237", "005T", "", "", "pending"}, // a simulation proves no payment
		{"237", "AZ", "", "", "rejected rejected"},
		{"237", "BA", "", "", "rejected rejected"},
		{"237", "PK", "", "", "rejected rejected"},
		{"001", "5B", "", "", "pending"},
		// Itaú's table, in which FEBRABAN's codes mean something else or nothing.
		{"341", "00", "", "", "paid"},
		{"341", "BD", "", "", "pending"},
		{"341", "BDCD", "", "", "pending"}, // accepted, though the document is not the holder's
		{"341", "CD", "", "", "rejected invalid_account"},
		{"341", "AE", "", "", "pending"}, // the date was changed
		{"341", "DV", "", "", "returned rejected"},
		{"341", "SS", "", "", "rejected rejected"},
		{"341", "AN", "", "", "rejected invalid_account"},
		{"341", "HA", "", "", "pending"},
		{"341", "PJ", "", "", "pending"},
		{"341", "03", "", "", "pending"},
		{"341", "H4", "", "", "pending"},
	} {
		file := edit(golden(t, "cnab_pix.ret"), 3, 231, fmt.Sprintf("%-10s", c.codes))
		if c.movement != "" {
			file = edit(file, 3, 15, c.movement)
		}
		if c.amount != "" {
			file = edit(file, 3, 163, c.amount)
		}
		file = bytes.ReplaceAll(append([]byte("\n"), file...), []byte("\n237"), []byte("\n"+c.bank))[1:]
		answers, err := Read(FormatCNAB240, file)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		a := answers[0]
		if got := strings.TrimSpace(string(a.Outcome) + " " + a.Reason); got != c.want || a.Message == "" {
			t.Errorf("%+v: %s (%s)", c, got, a.Message)
		}
		if len(c.codes) >= 2 && c.codes[0] > ' ' && !strings.Contains(a.Code, strings.TrimSpace(printable(c.codes[:2]))) {
			t.Errorf("%+v: the code is told as %q", c, a.Code)
		}
	}
}

// Codes of a file or batch say nothing final, and are not lost.
func TestWholeBatchesRefused(t *testing.T) {
	file := golden(t, "cnab_pix.ret")
	for _, line := range []int{1, 2, 13} {
		answers, err := Read(FormatCNAB240, edit(file, line, 231, "HCHA"))
		if err != nil || len(answers) != 5 {
			t.Fatalf("%v, %v", answers, err)
		}
		sameAnswers(t, "refused", answers[4:], fmt.Sprintf("%d whole pending [HC HA]", line))
	}
	for _, code := range []string{"00", "BD", "0000000000"} {
		if answers, err := Read(FormatCNAB240, edit(file, 2, 231, code)); err != nil || len(answers) != 4 {
			t.Errorf("%s: %v, %v", code, answers, err)
		}
	}
}

func TestReturnsThatAreNotWhole(t *testing.T) {
	file := golden(t, "cnab_pix.ret")
	rows := strings.SplitAfter(string(file), "\r\n")
	without := func(line int) []byte {
		return []byte(strings.Join(append(append([]string(nil), rows[:line-1]...), rows[line:]...), ""))
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":              {nil, "the file is empty"},
		"sent":               {sent(t), "line 1: this is a file that was sent"},
		"direction":          {edit(file, 1, 143, "3"), "line 1: position 143 must be 2"},
		"no bank":            {edit(file, 1, 1, "2 7"), "line 1: positions 1 to 3"},
		"header's batch":     {edit(file, 1, 4, "0001"), "line 1: positions 4 to 7"},
		"no header":          {without(1), "line 1: the file's header"},
		"two headers":        {append([]byte(rows[0]), file...), "line 2: the file's header"},
		"other bank":         {edit(file, 4, 1, "001"), "line 4: the bank is"},
		"short record":       {bytes.Replace(file, []byte("BRL"), []byte("BR"), 1), "line 3: the record has 239 bytes"},
		"re-encoded":         {bytes.Replace(file, []byte("JOAO"), []byte("JO\u00c3O"), 1), "line 3: the record has 241 bytes"},
		"empty line":         {[]byte(strings.Replace(string(file), rows[3], rows[3]+"\r\n", 1)), "line 5: the record has 0 bytes"},
		"no batch header":    {without(2), "line 2: the record belongs to no batch"},
		"batch number":       {edit(file, 3, 4, "0002"), "line 3: the record belongs to no batch"},
		"no batch number":    {edit(file, 2, 4, "0000"), "line 2: positions 4 to 7"},
		"batch in a batch":   {[]byte(strings.Replace(string(file), rows[1], rows[1]+rows[1], 1)), "line 3: batch 0001 has no trailer"},
		"no batch trailer":   {without(13 - 1), "line 12: batch 0001 has no trailer"},
		"lost record":        {without(3), "line 11: the trailer counts 11 records in the batch, and it has 10"},
		"changed amount":     {edit(file, 3, 120, "000000000012346"), "line 12: the trailer's sum"},
		"records of batch":   {edit(file, 12, 18, "000012"), "line 12: the trailer counts"},
		"sum of batch":       {edit(file, 12, 41, "9"), "line 12: the trailer's sum"},
		"batches":            {edit(file, 13, 18, "000002"), "line 13: the trailer counts 2 batches"},
		"records":            {edit(file, 13, 24, "000012"), "line 13: the trailer's count of records"},
		"number of trailer":  {edit(file, 13, 4, "9998"), "line 13: positions 4 to 7"},
		"no trailer":         {without(13), "the file has no trailer"},
		"behind the trailer": {append(append([]byte(nil), file...), rows[2]...), "line 14: there is a record after"},
		"amount":             {edit(file, 3, 120, "00000000001234X"), "line 3: positions 120 to 134"},
		"amount with spaces": {edit(file, 3, 120, "          12345"), "line 3: positions 120 to 134"},
		"amount paid":        {edit(file, 3, 163, "-00000000012345"), "line 3: positions 163 to 177"},
		"date":               {edit(file, 3, 155, "31022026"), "line 3: positions 155 to 162"},
		"currency":           {edit(file, 3, 102, "USD"), "line 3: the currency"},
		"type":               {edit(file, 5, 8, "7"), "line 5: records of type"},
		"too large":          {make([]byte, MaxSize+1), "the file is larger than 32 MiB"},
	} {
		answers, err := Read(FormatCNAB240, c.file)
		if answers != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// sent is a file of ours.
func sent(t testing.TB) []byte {
	file, err := layout(t, "cnab240").Write(batch("B17-1", "BRL", bradescoPayer()), pixLines())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// answerOf makes a bank's answer of a file that we wrote.
func answerOf(file []byte, code func(reference string) (code string, paid bool)) []byte {
	rows := strings.SplitAfter(string(file), "\r\n")
	rows[0] = rows[0][:142] + "2" + rows[0][143:]
	for i, row := range rows {
		if len(row) < 240 || row[7] != '3' || row[13] != 'A' {
			continue
		}
		codes, paid := code(strings.TrimSpace(row[73:93]))
		date, amount := strings.Repeat("0", 8), strings.Repeat("0", 15)
		if paid {
			date, amount = row[93:101], row[119:134]
		}
		rows[i] = row[:134] + fmt.Sprintf("%-20s", "N"+fmt.Sprint(i)) + date + amount + row[177:230] + fmt.Sprintf("%-10s", codes) + "\r\n"
	}
	return []byte(strings.Join(rows, ""))
}

// What we write, a bank can answer, and we read again.
func TestRoundTripOfCNAB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines, _ := drawLines(t)
		payer := bradescoPayer()
		if rapid.Bool().Draw(t, "TED") {
			payer = brazilPayer()
			for i, l := range lines {
				lines[i] = tedLines()[i%5]
				lines[i].Reference, lines[i].Number, lines[i].Amount = l.Reference, l.Number, l.Amount
			}
		}
		l, _ := Find("cnab240")
		file, err := l.Write(batch("B1", "BRL", payer), lines)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]Outcome{}
		answers, err := Read(FormatCNAB240, answerOf(file, func(reference string) (string, bool) {
			code := rapid.SampledFrom([]string{"00", "BD", "PJ", "", "??"}).Draw(t, "code")
			want[reference] = map[string]Outcome{"00": Paid, "PJ": Rejected}[code]
			if want[reference] == "" {
				want[reference] = Pending
			}
			return code, code == "00"
		}))
		if err != nil || len(answers) != len(lines) {
			t.Fatalf("%d answers of %d, %v", len(answers), len(lines), err)
		}
		for _, a := range answers {
			if a.Outcome != want[a.Reference] {
				t.Fatalf("%+v, want %s", a, want[a.Reference])
			}
			for _, l := range lines {
				if l.Reference == a.Reference && a.Outcome == Paid && a.Amount != l.Amount {
					t.Fatalf("%s is paid with %s, want %s", a.Reference, a.Amount, l.Amount)
				}
			}
		}
	})
}

// What we write for Itaú, Itaú can answer, with its own word for the currency.
func TestReturnOfItau(t *testing.T) {
	lines := append([]Line{}, tedLines()...)
	lines[0].BankCode, lines[0].Destination = "341", "55555-2"
	file, err := layout(t, "sispag-itau").Write(batch("B18", "BRL", itauPayer()), lines)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{"B18L00001": "00", "B18L00002": "DV", "B18L00003": "AN", "B18L00004": "BD", "B18L00005": "SS"}
	answer := answerOf(file, func(reference string) (string, bool) {
		return codes[reference], codes[reference] == "00" || codes[reference] == "DV"
	})
	for _, currency := range []string{"REA", "009", "BRL"} { // the manual's two words, and the one that its returns have
		answers, err := Read(FormatCNAB240, bytes.ReplaceAll(answer, []byte("REA"), []byte(currency)))
		if err != nil {
			t.Fatal(err)
		}
		sameAnswers(t, "SISPAG", answers,
			"3 B18L00001 paid 100.00 BRL 2026-10-15 N2 [00]",
			"7 B18L00002 returned 200.00 BRL 2026-10-15 N6 rejected [DV]",
			"9 B18L00003 rejected N8 invalid_account [AN]",
			"11 B18L00005 rejected N10 rejected [SS]",
			"15 B18L00004 pending N14 [BD]",
		)
	}
	if format, err := Detect(answer); err != nil || format != FormatCNAB240 {
		t.Errorf("%s, %v", format, err)
	}
}

// A line both paid and rejected in one file is for a person.
func TestContradictionsArePending(t *testing.T) {
	file := edit(edit(edit(golden(t, "cnab_pix.ret"), 6, 74, "B17L00001"), 8, 74, "B17L00001"), 10, 74, "B17L00004")
	answers, err := Read(FormatCNAB240, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers[:3] {
		if a.Outcome != Pending || a.Reason != "" {
			t.Errorf("%+v", a)
		}
	}
	if answers[3].Outcome != Returned {
		t.Errorf("%+v", answers[3])
	}
	both := consistent([]Answer{{Reference: "A", Outcome: Paid, Amount: money.New(1, "BRL")}, {Reference: "A", Outcome: Returned}, {Outcome: Rejected}, {Outcome: Paid}})
	if both[0].Outcome != Paid || both[1].Outcome != Returned || both[2].Outcome != Rejected || both[3].Outcome != Paid {
		t.Errorf("%+v", both)
	}
}

// Records that are not ours do not stop the reading.
func TestOtherRecordsInReturns(t *testing.T) {
	file := golden(t, "cnab_pix.ret")
	answers, err := Read(FormatCNAB240, edit(file, 4, 14, "W")) // a batch with other products is not added up
	if err != nil || len(answers) != 4 || answers[0].BankReference != "20261015000001" {
		t.Errorf("%+v, %v", answers, err)
	}
	answers, err = Read(FormatCNAB240, edit(edit(file, 3, 74, strings.Repeat(" ", 20)), 6, 74, "\xc7AO OF SOMEBODY ELSE"))
	if err != nil || answers[0].Reference != "" || answers[0].Whole || answers[1].Reference != "ÇAO OF SOMEBODY ELSE" {
		t.Errorf("%+v, %v", answers, err)
	}
}

func FuzzCNAB(f *testing.F) {
	f.Add(golden(f, "cnab_pix.ret"))
	f.Add(sent(f))
	f.Add(edit(golden(f, "cnab_pix.ret"), 3, 15, "333"))
	f.Add([]byte(strings.Repeat("0", 240)))
	f.Fuzz(func(t *testing.T, file []byte) { readable(t, FormatCNAB240, file) })
}
