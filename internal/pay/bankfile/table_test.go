package bankfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
)

// A table has the fields of a record, as the bank's manual lists them: "FROM-TO FORM VALUE".
// The forms are
//
//	num    digits, right-aligned, filled with zeros
//	doc    like num, and the letters of a CNPJ
//	alpha  capital letters, digits and signs, left-aligned
//	text   like alpha, in any case
//	zeros, blank
//
// and the value is "=" and a constant, or a word for which the test has the content. "!" after the form says that
// the field must not be empty, and "(A B)" behind the value lists all contents that the manual has.
type table struct{ name, fields string }

// fits says where a record is not what its table says, or nil. The table must cover the whole record.
func (b table) fits(record string, facts map[string]string) error {
	next := 1
	for line := range strings.SplitSeq(strings.TrimSpace(b.fields), "\n") {
		place, form, value, codes := parts(line)
		from, to, _ := strings.Cut(place, "-")
		first, err := strconv.Atoi(from)
		last, wrong := strconv.Atoi(to)
		if err != nil || wrong != nil || first != next || last < first {
			return fmt.Errorf("%s: the table has no field at %d", b.name, next)
		}
		next = last + 1
		if len(record) < last {
			return fmt.Errorf("%s: the record has %d bytes", b.name, len(record))
		}
		if err := field(record[first-1:last], form, value, codes, facts); err != nil {
			return fmt.Errorf("%s, %s: %w", b.name, strings.TrimSpace(line), err)
		}
	}
	if next != 241 || len(record) != 240 {
		return fmt.Errorf("%s: the table ends at %d, the record at %d", b.name, next-1, len(record))
	}
	return nil
}

// parts splits a line of a table.
func parts(line string) (place, form, value string, codes []string) {
	line, list, _ := strings.Cut(strings.TrimSpace(line), " (")
	words := append(strings.Fields(line), "")
	return words[0], words[1], words[2], strings.Fields(strings.TrimSuffix(list, ")"))
}

// field says how a field is not what it must be, or nil.
func field(got, form, value string, codes []string, facts map[string]string) error {
	form, must := strings.CutSuffix(form, "!")
	constant, fixed := strings.CutPrefix(value, "=")
	content, known := strings.ReplaceAll(constant, "_", " "), true
	if !fixed {
		content, known = facts[value]
	}
	want := ""
	switch form {
	case "zeros":
		want, known = strings.Repeat("0", len(got)), true
	case "blank":
		want, known = strings.Repeat(" ", len(got)), true
	case "num", "doc":
		want = strings.Repeat("0", max(0, len(got)-len(content))) + content
		if form == "num" && !digits(got) {
			return fmt.Errorf("%q are not digits", got)
		}
	case "alpha", "text":
		want = fmt.Sprintf("%-*s", len(got), content)
		if form == "alpha" && strings.ToUpper(got) != got {
			return fmt.Errorf("%q has small letters", got)
		}
	default:
		return fmt.Errorf("there is no form %q", form)
	}
	switch {
	case !known:
		return fmt.Errorf("the test has no content for it")
	case got != want:
		return fmt.Errorf("%q, want %q", got, want)
	case must && strings.Trim(got, "0 ") == "":
		return fmt.Errorf("it must not be empty")
	case len(codes) > 0 && !slices.Contains(codes, strings.TrimSpace(got)):
		return fmt.Errorf("%q is not one of %q", got, codes)
	}
	return nil
}

// paper is a file that the test makes of the same batch in its own words: which table each record has, and what is in
// it.
type paper struct {
	payer  map[string]string
	tables []table
	facts  []map[string]string
}

func (p *paper) add(of table, facts map[string]string) {
	all := map[string]string{}
	for _, m := range []map[string]string{p.payer, facts} {
		for k, v := range m {
			all[k] = v
		}
	}
	p.tables, p.facts = append(p.tables, of), append(p.facts, all)
}

// brazilPapers are the tables of a layout.
type brazilPapers struct{ header, batch, a, b, pixB, batchEnd, end table }

// write composes the records of batches: each is a form of payment and the facts of its lines.
func (p *paper) write(of brazilPapers, batches ...[]map[string]string) {
	p.add(of.header, nil)
	for i, lines := range batches {
		batch, sum := fmt.Sprint(i+1), 0
		p.add(of.batch, map[string]string{"batch": batch, "form": lines[0]["form"]})
		for j, line := range lines {
			b := of.b
			if line["form"] == "45" {
				b = of.pixB
			}
			centavos, err := strconv.Atoi(line["amount"])
			if err != nil {
				panic(err)
			}
			sum += centavos
			for k, t := range []table{of.a, b} {
				facts := map[string]string{"batch": batch, "payment": fmt.Sprint(j + 1), "number": fmt.Sprint(2*j + k + 1)}
				for name, value := range line {
					facts[name] = value
				}
				p.add(t, facts)
			}
		}
		p.add(of.batchEnd, map[string]string{"batch": batch, "records": fmt.Sprint(2*len(lines) + 2), "sum": fmt.Sprint(sum)})
	}
	p.add(of.end, map[string]string{"batches": fmt.Sprint(len(batches)), "all_records": fmt.Sprint(len(p.tables) + 1)})
}

// fits says where a file is not what the paper says.
func (p *paper) fits(file []byte) error {
	rows := strings.SplitAfter(string(file), "\r\n")
	if len(rows) != len(p.tables)+1 || rows[len(p.tables)] != "" {
		return fmt.Errorf("there are %d records, want %d", len(rows)-1, len(p.tables))
	}
	for i, t := range p.tables {
		if err := t.fits(strings.TrimSuffix(rows[i], "\r\n"), p.facts[i]); err != nil {
			return fmt.Errorf("record %d, %w", i+1, err)
		}
	}
	return nil
}

// payment is a line that the test describes twice: as the application has it, and as the file must have it.
type payment struct {
	line  Line
	facts map[string]string
}

func pixPayment(reference string, centavos int64, key, kind, written, document, documentWritten, name, nameWritten string) payment {
	return payment{
		Line{Reference: reference, Number: 1, Amount: money.New(centavos, "BRL"), Network: "pix", Destination: key, Name: name, Document: document},
		map[string]string{
			"form": "45", "house": "009", "payee_bank": "", "payee_branch": "", "payee_branch_digit": "", "payee_account": "", "payee_digit": "", "payee_place": "",
			"payee": nameWritten, "reference": reference, "amount": fmt.Sprint(centavos), "purpose": "", "account_kind": "", "transfer": "04",
			"payee_kind": map[bool]string{true: "1", false: "2"}[len(documentWritten) == 11], "payee_document": documentWritten, "key_kind": kind, "key": written,
		},
	}
}

// tedPayment is a payment to an account: place is how Itaú wants branch and account.
func tedPayment(form, reference string, centavos int64, bank, branch, account, kind, document, place string) payment {
	digits := strings.NewReplacer(".", "", "-", "", "/", "").Replace(document)
	number, digit, _ := strings.Cut(account, "-")
	branchNumber, branchDigit, _ := strings.Cut(branch, "-")
	facts := map[string]string{
		"form": form, "house": "", "payee_bank": bank, "payee_branch": branchNumber, "payee_branch_digit": branchDigit, "payee_account": number, "payee_digit": strings.ToUpper(digit),
		"payee_place": place, "payee": "ANA NUNEZ", "reference": reference, "amount": fmt.Sprint(centavos), "purpose": "", "account_kind": "", "transfer": "",
		"payee_kind": map[bool]string{true: "1", false: "2"}[len(digits) == 11], "payee_document": digits,
	}
	if form == "41" || form == "43" {
		facts["house"], facts["purpose"], facts["account_kind"] = "018", "00010", map[string]string{"": "CC", "current": "CC", "savings": "PP"}[kind]
	}
	return payment{Line{Reference: reference, Number: 1, Amount: money.New(centavos, "BRL"), Network: "ted", Destination: account, Name: "Ana Núñez",
		Document: document, BankCode: bank, Branch: branch, AccountType: kind}, facts}
}

// pixPayments have a key of each kind.
func pixPayments() []payment {
	return []payment{
		pixPayment("B17L00001", 123_45, "+55 11 98765-4321", "01", "+5511987654321", "529.982.247-25", "52998224725", "João  da Silva", "JOAO DA SILVA"),
		pixPayment("B17L00002", 2500_00, "Financeiro@exemplo.com", "02", "financeiro@exemplo.com", "11.444.777/0001-61", "11444777000161", "Loja & Cia.: Ação S.A.", "LOJA CIA ACAO SA"),
		pixPayment("B17L00003", 1, "529.982.247-25", "03", "52998224725", "", "52998224725", "María Peña", "MARIA PENA"),
		pixPayment("B17L00004", 9_999_999_99, "123E4567-e89b-12d3-a456-426614174000", "04", "123e4567-e89b-12d3-a456-426614174000", "52998224725", "52998224725", "Ana Núñez", "ANA NUNEZ"),
	}
}

// tedPayments are one of each form from an account at a bank: others' and own accounts, at the bank and elsewhere.
func tedPayments(bank, other string) [][]payment {
	return [][]payment{
		{
			tedPayment("01", "B18L00001", 10000, bank, "4321", "55556-8", "", "529.982.247-25", "04321 000000055556 8"),
			tedPayment("01", "B18L00002", 10001, bank, "99", "77777-3", "current", "11.444.777/0001-61", "00099 000000077777 3"),
		},
		{tedPayment("05", "B18L00003", 20000, bank, "4321", "55556-8", "savings", "52998224725", "04321 000000055556 8")},
		{
			tedPayment("41", "B18L00004", 30000, other, "99", "77777-1", "current", "52998224725", "00099 000000077777 1"),
			tedPayment("41", "B18L00005", 30001, "001", "4321-0", "123456789012-x", "savings", "11.444.777/0001-61", "04321 123456789012 X"),
		},
		{tedPayment("43", "B18L00006", 40000, other, "99", "77779-1", "", "11.222.333/0001-81", "00099 000000077779 1")},
	}
}

// split separates what the application has from what the file must have.
func split(batches ...[]payment) (lines []Line, facts [][]map[string]string) {
	for _, batch := range batches {
		var of []map[string]string
		for _, p := range batch {
			lines, of = append(lines, p.line), append(of, p.facts)
		}
		facts = append(facts, of)
	}
	for i := range lines {
		lines[i].Number = i + 1
	}
	return lines, facts
}

// paperOf composes the paper of a payer's file, and what is written.
func paperOf(t *testing.T, name string, of brazilPapers, from Payer, facts map[string]string, batches ...[]payment) (*paper, []byte) {
	t.Helper()
	lines, expected := split(batches...)
	for _, of := range expected {
		for _, line := range of {
			if from.BankCode == "" && line["form"] != "45" {
				line["house"] = "" // Itaú wants none
			}
		}
	}
	p := &paper{payer: map[string]string{
		"kind": "2", "document": "11222333000181", "name": "EMPRESA EXEMPLO LTDA", "date": "15102026", "time": "093000", "sequence": "7", "pix": "",
	}}
	for k, v := range facts {
		p.payer[k] = v
	}
	p.write(of, expected...)
	file, err := layout(t, name).Write(Batch{ID: "B18", Sequence: 7, At: morning, Currency: "BRL", From: from}, lines)
	if err != nil {
		t.Fatalf("%s of %s: %v", name, from.BankCode, err)
	}
	return p, file
}

// brazilFiles are files of each layout and bank in Brazil.
func brazilFiles(t *testing.T, each func(name string, p *paper, file []byte)) {
	febraban := brazilPapers{cnabHeader, cnabBatch, cnabA, cnabB, cnabPixB, cnabBatchEnd, cnabEnd}
	ofBradesco := febraban
	ofBradesco.b = bradescoB
	ofItau := brazilPapers{sispagHeader, sispagBatch, sispagA, sispagB, sispagPixB, sispagBatchEnd, sispagEnd}
	bb := map[string]string{
		"bank": "001", "agreement": "0012345670126", "branch": "1234", "branch_digit": "X", "account": "67890", "account_digit": "2", "bank_name": "BANCO DO BRASIL",
		"file_version": "103", "batch_version": "046",
	}
	ofBB := brazilPayer()
	santanderFacts := map[string]string{"bank": "033", "bank_name": "SANTANDER", "file_version": "060", "batch_version": "031"}
	for k, v := range bb {
		if santanderFacts[k] == "" {
			santanderFacts[k] = v
		}
	}
	ofSantander := brazilPayer()
	ofSantander.BankCode, ofSantander.BankName = "033", "Santander"
	bradescoFacts := map[string]string{
		"bank": "237", "agreement": "000123", "branch": "1234", "branch_digit": "3", "account": "67890", "account_digit": "2", "bank_name": "BANCO BRADESCO",
		"file_version": "089", "batch_version": "045",
	}
	itauFacts := map[string]string{"branch": "1234", "account": "67890", "account_digit": "2"}
	for _, c := range []struct {
		name, layout string
		of           brazilPapers
		from         Payer
		facts        map[string]string
		other        string // a bank
	}{
		{"Banco do Brasil", "cnab240", febraban, ofBB, bb, "237"},
		{"Santander", "cnab240", febraban, ofSantander, santanderFacts, "237"},
		{"Bradesco", "cnab240", ofBradesco, bradescoPayer(), bradescoFacts, "033"},
		{"Itaú", "sispag-itau", ofItau, itauPayer(), itauFacts, "237"},
	} {
		bank := cmp.Or(c.from.BankCode, "341")
		teds := tedPayments(bank, c.other)
		if bank == "001" {
			teds[2] = teds[2][:1] // the other is an account at the bank itself
		}
		if bank == "341" {
			own := tedPayment("06", "B18L00007", 50000, "341", "99", "77779-1", "", "11.222.333/0001-81", "00099 000000077779 1")
			teds = slices.Insert(teds, 2, []payment{own})
		}
		p, file := paperOf(t, c.layout, c.of, c.from, c.facts, teds...)
		each(c.name+", accounts", p, file)
		pix := c.facts
		if bank == "237" {
			pix = map[string]string{"pix": "PIX"}
			for k, v := range c.facts {
				pix[k] = v
			}
		}
		p, file = paperOf(t, c.layout, c.of, c.from, pix, pixPayments())
		each(c.name+", Pix", p, file)
	}
	// Bradesco's validator computes the check digits of a CNPJ with letters.
	lettered := bradescoPayer()
	lettered.Document, lettered.BankName = "12.ABC.345/01DE-35", ""
	facts := map[string]string{"document": "12ABC34501DE35"}
	for k, v := range bradescoFacts {
		facts[k] = v
	}
	p, file := paperOf(t, "cnab240", ofBradesco, lettered, facts, []payment{
		tedPayment("01", "B18L00001", 10000, "237", "4321-4", "55556-8", "", "52998224725", ""),
	}, []payment{tedPayment("43", "B18L00002", 10000, "001", "4321", "55555-X", "", "12.abc.345/01de-35", "")})
	p.facts[6]["payee_document"], p.facts[7]["payee_document"] = "12ABC34501DE35", "12ABC34501DE35"
	each("Bradesco, letters in the CNPJ", p, file)
	facts["pix"] = "PIX"
	key := pixPayment("B17L00001", 100, "12.ABC.345/01DE-35", "03", "12ABC34501DE35", "", "12ABC34501DE35", "Loja", "LOJA")
	p, file = paperOf(t, "cnab240", ofBradesco, lettered, facts, []payment{key})
	each("Bradesco, letters in the key", p, file)
}

// Every field of every record is where the bank's manual has it, and holds what it must hold.
func TestFilesForBrazilFitTheirTables(t *testing.T) {
	brazilFiles(t, func(name string, p *paper, file []byte) {
		if err := p.fits(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// The tables leave nothing open: a file with any other byte does not fit.
func TestTablesAreStrict(t *testing.T) {
	brazilFiles(t, func(name string, p *paper, file []byte) {
		for i, c := range file {
			other := byte('7')
			if c == other {
				other = '8'
			}
			file[i] = other
			if p.fits(file) == nil {
				t.Fatalf("%s: byte %d of record %d may be %q instead of %q", name, i%242+1, i/242+1, other, c)
			}
			file[i] = c
		}
	})
}
