package bankfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

var morning = time.Date(2026, 10, 15, 9, 30, 0, 0, time.FixedZone("", -3*3600))

func golden(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func layout(t testing.TB, name string) Layout {
	t.Helper()
	l, ok := Find(name)
	if !ok {
		t.Fatalf("there is no layout %s", name)
	}
	return l
}

// bradescoPayer and the others are accounts of companies that do not exist.
func bradescoPayer() Payer {
	return Payer{
		Name: "Empresa Exemplo Ltda.", Document: "11.222.333/0001-81", BankCode: "237", BankName: "Banco Bradesco", Agreement: "000123",
		Branch: "1234", BranchDigit: "3", Account: "67890", AccountDigit: "2",
	}
}

func itauPayer() Payer {
	return Payer{Name: "Empresa Exemplo Ltda.", Document: "11.222.333/0001-81", Branch: "1234", Account: "67890", AccountDigit: "2"}
}

func brazilPayer() Payer {
	p := bradescoPayer()
	p.BankCode, p.BankName, p.Agreement, p.BranchDigit = "001", "Banco do Brasil", "0012345670126", "x"
	return p
}

func pixLines() []Line {
	line := func(n int, name, document, key string, centavos int64) Line {
		return Line{
			Reference: "B17L0000" + string(rune('0'+n)), Number: n, Amount: money.New(centavos, "BRL"), Network: "pix",
			Destination: key, Name: name, Document: document,
		}
	}
	return []Line{
		line(1, "João  da Silva", "529.982.247-25", "+55 11 98765-4321", 123_45),
		line(2, "Loja Exemplo: ME", "11444777000161", "Financeiro@exemplo.com", 2500_00),
		line(3, "Maria Ação", "", "529.982.247-25", 1),
		line(4, "Ana Núñez", "52998224725", "123E4567-e89b-12d3-a456-426614174000", 9_999_999_99),
	}
}

func tedLines() []Line {
	line := func(n int, bank, branch, account, kind, document, name string, centavos int64) Line {
		return Line{
			Reference: "B18L0000" + string(rune('0'+n)), Amount: money.New(centavos, "BRL"), Network: "ted", Destination: account,
			Name: name, Document: document, BankCode: bank, Branch: branch, AccountType: kind,
		}
	}
	return []Line{
		line(1, "001", "4321-0", "55555-X", "", "52998224725", "João da Silva", 10000),
		line(2, "001", "4321-0", "55556-1", "savings", "52998224725", "João da Silva", 20000),
		line(3, "237", "99", "77777-1", "current", "52998224725", "João da Silva", 30000),
		line(4, "237", "99", "77779-1", "", "11222333000181", "Empresa Exemplo Ltda", 40000),
		line(5, "033", "99", "77778-1", "savings", "11444777000161", "Loja Exemplo ME", 30001),
	}
}

func speiLines() []Line {
	return []Line{
		{Reference: "B17L00001", Number: 1700001, Amount: money.New(1500_50, "MXN"), Network: "spei", Destination: "072180000123456780", Name: "María Muñoz"},
		{Reference: "B17L00002", Number: 1700002, Amount: money.New(98765_43, "MXN"), Network: "spei", Destination: "014 180 00098765432 0", Name: "Comercial Ejemplo, S.A. de C.V."},
	}
}

func ibanLines() []Line {
	return []Line{
		{Reference: "B17L00001", Amount: money.New(123_45, "EUR"), Network: "iban", Destination: "de64 2000 0000 0000 0000 02", Name: "María Muñoz & Söhne", BankCode: "EXMPFRPP", Country: "DE"},
		{Reference: "B17L00002", Amount: money.New(2500_00, "EUR"), Network: "iban", Destination: "FR1420041010050500013M02606", Name: "Shop / Example"},
	}
}

func europePayer() Payer {
	return Payer{Name: "Example Operator Ltd", IBAN: "DE50 1000 0000 0000 0000 01", BIC: "EXMPDEFF"}
}

func batch(id string, c money.Currency, from Payer) Batch {
	return Batch{ID: id, Sequence: 7, At: morning, Currency: c, From: from}
}

// The golden files were composed by hand and by another program, from the
// positions that the banks' manuals name.
func TestFilesAreAsTheManualsSay(t *testing.T) {
	table := speiLines()
	table[0].Number, table[1].Number = 1, 2
	table[0].Name, table[0].Document, table[0].Country = "Muñoz,\tMaría", "GODE561231GR8", "MX"
	table[1].Name = "=SUM(A1)"
	chile := []Line{{Reference: "B19L00001", Amount: money.New(1990, "CLP"), Network: "account", Destination: "1234-5678", Name: "José Pérez", BankCode: "EXMPCLRMXXX"}}
	for _, c := range []struct {
		file, layout string
		batch        Batch
		lines        []Line
	}{
		{"spei.txt", "spei-bbva", batch("B17-1", "MXN", Payer{Account: "0123456789"}), speiLines()},
		{"pain.001.03.xml", "pain.001.03", batch("B17-1", "EUR", europePayer()), ibanLines()},
		{"pain.001.09.xml", "pain.001.09", batch("B19", "CLP", Payer{Name: "Example Operator Ltd", Account: "000123456", BIC: "EXMPCLRM"}), chile},
		{"table.csv", "csv", batch("B17-1", "MXN", Payer{}), table},
	} {
		got, err := layout(t, c.layout).Write(c.batch, c.lines)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if want := golden(t, c.file); !bytes.Equal(got, want) {
			g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
			for i := range min(len(g), len(w)) {
				if g[i] != w[i] {
					t.Errorf("%s, line %d:\n%q\nwant\n%q", c.file, i+1, g[i], w[i])
				}
			}
			if len(g) != len(w) {
				t.Errorf("%s has %d lines, want %d", c.file, len(g), len(w))
			}
		}
		again, err := layout(t, c.layout).Write(c.batch, c.lines)
		if err != nil || !bytes.Equal(got, again) {
			t.Errorf("%s: written again it is another file (%v)", c.file, err)
		}
	}
}

// Each line that does not fit names its field, and never the account.
func TestLinesThatDoNotFit(t *testing.T) {
	pix, ted, spei, iban := pixLines()[0], tedLines()[0], speiLines()[0], ibanLines()[0]
	bradesco, itau := ted, ted
	bradesco.BankCode, bradesco.Branch, bradesco.Destination = "237", "4321-4", "55556-8"
	itau.BankCode, itau.Branch, itau.Destination = "341", "4321", "55556-8"
	for _, l := range []Line{bradesco, itau} {
		if err := layout(t, "cnab240").Check(bradescoPayer(), l); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, c := range []struct {
		name, layout string
		line         Line
		change       func(*Line)
		want         string
	}{
		{"long reference", "csv", pix, func(l *Line) { l.Reference = "B1234567890123456" }, "reference must be 1 to 16"},
		{"small letters", "csv", pix, func(l *Line) { l.Reference = "b17" }, "reference must be 1 to 16"},
		{"filler", "csv", pix, func(l *Line) { l.Reference = "NOTPROVIDED" }, "reference must not be"},
		{"zero", "csv", pix, func(l *Line) { l.Amount.Minor = 0 }, "amount must be above zero"},
		{"below zero", "csv", pix, func(l *Line) { l.Amount.Minor = -1 }, "amount must be above zero"},
		{"16 digits", "csv", pix, func(l *Line) { l.Amount.Minor = 1e15 }, "amount has more than 15 digits"},
		{"no currency", "csv", pix, func(l *Line) { l.Amount.Currency = "" }, "amount has no currency"},
		{"network", "csv", pix, func(l *Line) { l.Network = "bitcoin" }, "network must be"},
		{"kind", "csv", pix, func(l *Line) { l.AccountType = "gold" }, "account_type must be"},
		{"Pix key", "csv", pix, func(l *Line) { l.Destination = "+5511" }, "destination must be a PIX key"},
		{"no name", "csv", pix, func(l *Line) { l.Name = " " }, "name is missing"},
		{"formula", "csv", pix, func(l *Line) { l.Destination = "=1+1@example.com" }, "destination must not begin with"},
		{"document", "csv", pix, func(l *Line) { l.Document = "=1" }, "document must be letters and digits"},
		{"branch", "csv", pix, func(l *Line) { l.Branch = "-1" }, "branch must be letters and digits"},
		{"bank", "csv", pix, func(l *Line) { l.BankCode = "@x" }, "bank_code must be letters and digits"},

		{"dollars", "cnab240", pix, func(l *Line) { l.Amount.Currency = "USD" }, "amount must be in BRL"},
		{"CLABE", "cnab240", pix, func(l *Line) { l.Network, l.Destination = "spei", spei.Destination }, "network must be pix or ted"},
		{"no name", "cnab240", pix, func(l *Line) { l.Name = "" }, "name is missing"},
		{"no letter", "cnab240", pix, func(l *Line) { l.Name = "漢字" }, "name has no letter"},
		{"no document", "cnab240", pix, func(l *Line) { l.Document = "" }, "document is missing"},
		{"CPF", "cnab240", pix, func(l *Line) { l.Document = "52998224726" }, "document must be a CPF"},
		{"no bank", "cnab240", ted, func(l *Line) { l.BankCode = "" }, "bank_code must be"},
		{"no branch", "cnab240", ted, func(l *Line) { l.Branch = "" }, "branch must be"},
		{"branch", "cnab240", ted, func(l *Line) { l.Branch = "123-45" }, "branch must be"},
		{"long account", "cnab240", ted, func(l *Line) { l.Destination = "12345678901234" }, "destination must be an account"},
		{"letters", "cnab240", ted, func(l *Line) { l.Destination = "AB123" }, "destination must be an account"},
		{"Bradesco's digit", "cnab240", bradesco, func(l *Line) { l.Destination = "55556-9" }, "destination has a wrong check digit"},
		{"Bradesco's branch", "cnab240", bradesco, func(l *Line) { l.Branch = "4321-5" }, "branch has a wrong check digit"},
		{"Itaú's account", "sispag-itau", itau, func(l *Line) { l.Destination = "12345678" }, "destination must be an account of at most 6"},
		{"Itaú's digit", "sispag-itau", itau, func(l *Line) { l.Destination = "12345X" }, "destination must be an account of at most 6"},
		{"Itaú's branch", "sispag-itau", itau, func(l *Line) { l.Branch = "12345" }, "branch must be at most 4"},
		{"letters", "sispag-itau", itau, func(l *Line) { l.Document = "12ABC34501DE35" }, "document is a CNPJ with letters"},
		{"letters in the key", "sispag-itau", pix, func(l *Line) { l.Destination, l.Document = "12ABC34501DE35", "" }, "destination is a CNPJ with letters"},
		{"dollars", "sispag-itau", pix, func(l *Line) { l.Amount.Currency = "USD" }, "amount must be in BRL"},

		{"Pix", "spei-bbva", pix, func(*Line) {}, "network must be spei"},
		{"CLABE", "spei-bbva", spei, func(l *Line) { l.Destination = "072180000123456781" }, "destination must be a CLABE"},
		{"BBVA's own", "spei-bbva", spei, func(l *Line) { l.Destination = "012180000987654322" }, "destination is at BBVA itself"},
		{"dollars", "spei-bbva", spei, func(l *Line) { l.Amount.Currency = "USD" }, "amount must be in MXN"},
		{"no number", "spei-bbva", spei, func(l *Line) { l.Number = 0 }, "number must be"},
		{"8 digits", "spei-bbva", spei, func(l *Line) { l.Number = 10_000_000 }, "number must be"},
		{"no name", "spei-bbva", spei, func(l *Line) { l.Name = "" }, "name is missing"},

		{"Pix", "pain.001.03", pix, func(*Line) {}, "network must be iban"},
		{"TED", "pain.001.03", ted, func(*Line) {}, "network must be iban"},
		{"IBAN", "pain.001.03", iban, func(l *Line) { l.Destination = "DE65200000000000000002" }, "destination must be an IBAN"},
		{"BIC", "pain.001.03", iban, func(l *Line) { l.BankCode = "EXMP" }, "bank_code must be a BIC"},
		{"no BIC", "pain.001.09", spei, func(*Line) {}, "bank_code is missing"},
		{"country", "pain.001.09", iban, func(l *Line) { l.Country = "DEU" }, "country must be"},
		{"no name", "pain.001.09", iban, func(l *Line) { l.Name = "&" }, "name has no letter"},
	} {
		l := c.line
		c.change(&l)
		err := layout(t, c.layout).Check(bradescoPayer(), l)
		var p *Problem
		if !errors.As(err, &p) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %q", c.layout, c.name, err, c.want)
		} else if len(l.Destination) > 5 && strings.Contains(err.Error(), l.Destination) {
			t.Errorf("%s, %s: the error tells the account: %v", c.layout, c.name, err)
		}
	}
}

// A payer's setting that is missing or wrong is named.
func TestPayersThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name, layout string
		payer        Payer
		set, to      string
		want         string
	}{
		{"no name", "cnab240", bradescoPayer(), "name", "", "name is missing"},
		{"no letter", "cnab240", bradescoPayer(), "name", "漢", "name has no letter"},
		{"CNPJ", "cnab240", bradescoPayer(), "document", "11222333000180", "document must be"},
		{"Itaú", "cnab240", bradescoPayer(), "bank_code", "341", "bank_code 341 (Itaú) uses these positions for other data: its layout is sispag-itau"},
		{"Bradesco's agreement", "cnab240", bradescoPayer(), "agreement", "1234567", "agreement must be 6 digits for Bradesco"},
		{"Bradesco's name", "cnab240", bradescoPayer(), "bank_name", "Banco do Brasil", "bank_name must begin with"},
		{"Bradesco's branch", "cnab240", bradescoPayer(), "branch_digit", "4", "branch_digit has a wrong check digit"},
		{"Bradesco's account", "cnab240", bradescoPayer(), "account_digit", "P", "account_digit has a wrong check digit"},
		{"long account", "cnab240", bradescoPayer(), "account", "12345678", "account must be at most 7 digits for Bradesco"},
		{"CNPJ with letters", "cnab240", brazilPayer(), "document", "12ABC34501DE35", "document is a CNPJ with letters, which the files of bank 001"},
		{"CNPJ with letters", "sispag-itau", itauPayer(), "document", "12ABC34501DE35", "document is a CNPJ with letters, which the files of bank 341"},
		{"branch", "sispag-itau", itauPayer(), "branch", "12345", "branch must be at most 4 digits"},
		{"no digit", "sispag-itau", itauPayer(), "account_digit", "", "account_digit is missing"},
		{"letter", "sispag-itau", itauPayer(), "account_digit", "X", "account_digit must be one digit"},
		{"bank", "cnab240", bradescoPayer(), "bank_code", "23", "bank_code must be 3 digits"},
		{"branch", "cnab240", bradescoPayer(), "branch", "123456", "branch must be at most 5"},
		{"branch's digit", "cnab240", bradescoPayer(), "branch_digit", "12", "branch_digit must be one"},
		{"account", "cnab240", bradescoPayer(), "account", "12-3", "account must be at most 12"},
		{"account's digit", "cnab240", bradescoPayer(), "account_digit", "-", "account_digit must be one"},
		{"agreement", "cnab240", brazilPayer(), "agreement", "123456789012345678901", "agreement must be"},
		{"agreement's signs", "cnab240", brazilPayer(), "agreement", "ção", "agreement must be"},
		{"version", "cnab240", bradescoPayer(), "file_version", "89", "file_version must be 3 digits"},
		{"account", "spei-bbva", Payer{}, "account", "", "account is missing"},
		{"letters", "spei-bbva", Payer{}, "account", "12A", "account must be"},
		{"no BIC", "pain.001.03", europePayer(), "bic", "", "bic is missing"},
		{"BIC", "pain.001.03", europePayer(), "bic", "exmpdeff", "bic must be"},
		{"IBAN", "pain.001.03", europePayer(), "iban", "DE00", "iban must have"},
		{"no account", "pain.001.03", europePayer(), "iban", "", "iban or account: want one"},
		{"both", "pain.001.03", europePayer(), "account", "1", "iban or account: want one"},
	} {
		if err := c.payer.Set(c.set, c.to); err != nil {
			t.Fatal(err)
		}
		if err := layout(t, c.layout).CheckPayer(c.payer); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %q", c.layout, c.name, err, c.want)
		}
	}
	if err := new(Payer).Set("colour", "red"); err == nil {
		t.Error("a setting that nothing reads is taken")
	}
	for _, l := range Layouts() { // each field can be set
		for _, f := range l.Fields {
			if err := new(Payer).Set(f.Name, "1"); err != nil || f.Doc == "" {
				t.Errorf("%s, %s: %v", l.Name, f.Name, err)
			}
		}
	}
}
