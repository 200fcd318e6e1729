package bankfile

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
)

// The versions of pain.001 that we write.
const (
	painV03 = "03"
	painV09 = "09"
)

// bics is the pattern of BICs in the schemas of ISO 20022.
var bics = regexp.MustCompile(`^[A-Z]{6}[A-Z2-9][A-NP-Z0-9](?:[A-Z0-9]{3})?$`)

func painLayout(version string) Layout {
	return Layout{
		Name:  "pain.001." + version,
		Title: "ISO 20022 credit transfers, pain.001.001." + version,
		Fields: []Field{
			{"name", "the company's name", false},
			{"iban", "the account that is debited", true},
			{"account", "the account number, if it has no IBAN", true},
			{"bic", "the bank's BIC", false},
		},
		payer: painPayer,
		check: painCheck,
		write: func(b Batch, lines []Line) ([]byte, error) { return painWrite(version, b, lines) },
	}
}

func painPayer(p Payer) error {
	if err := named(p.Name, sepa(p.Name, 70)); err != nil {
		return err
	}
	_, wrong := Line{Network: "iban", Destination: p.IBAN}.account()
	switch {
	case (p.IBAN == "") == (p.Account == ""):
		return problem("iban", "or account: want one of them")
	case p.IBAN != "" && wrong != nil:
		return problem("iban", "must have the length of its country and right check digits")
	case len(p.Account) > 34 || p.Account != "" && !words.MatchString(p.Account):
		return problem("account", "must be at most 34 letters and digits")
	case !bics.MatchString(p.BIC):
		return problem("bic", "must be a BIC: 8 or 11 upper-case letters and digits")
	}
	return nil
}

func painCheck(_ Payer, l Line) error {
	switch {
	case l.Network == "pix" || l.Network == "ted": // no place for a Pix key, or for a branch
		return problem("network", "must be iban, account, spei or cbu: payments in Brazil need a layout of CNAB 240")
	case l.BankCode != "" && !bics.MatchString(l.BankCode):
		return problem("bank_code", "must be a BIC, or empty")
	case l.BankCode == "" && l.Network != "iban":
		return problem("bank_code", "is missing: want the BIC of the payee's bank")
	case l.Country != "" && !countries.MatchString(l.Country):
		return problem("country", "must be two upper-case letters")
	}
	return named(l.Name, sepa(l.Name, 70))
}

var countries = regexp.MustCompile(`^[A-Z]{2}$`)

// painDocument and its parts are the elements of pain.001 that we write, in the order of
// the schema.
type painDocument struct {
	XMLName xml.Name `xml:"Document"`
	Space   string   `xml:"xmlns,attr"`
	Header  struct {
		ID        string `xml:"MsgId"`
		Created   string `xml:"CreDtTm"`
		Count     int    `xml:"NbOfTxs"`
		Sum       string `xml:"CtrlSum"`
		Initiator string `xml:"InitgPty>Nm"`
	} `xml:"CstmrCdtTrfInitn>GrpHdr"`
	Payment painPayment `xml:"CstmrCdtTrfInitn>PmtInf"`
}

type painPayment struct {
	ID      string      `xml:"PmtInfId"`
	Method  string      `xml:"PmtMtd"`
	Batched bool        `xml:"BtchBookg"`
	Count   int         `xml:"NbOfTxs"`
	Sum     string      `xml:"CtrlSum"`
	Service *painText   `xml:"PmtTpInf>SvcLvl"` // a pointer: encoding/xml writes the parents even of empty elements
	Date    painDate    `xml:"ReqdExctnDt"`
	Debtor  string      `xml:"Dbtr>Nm"`
	Account painAccount `xml:"DbtrAcct>Id"`
	Bank    painBank    `xml:"DbtrAgt>FinInstnId"`
	Charges string      `xml:"ChrgBr,omitempty"`
	Lines   []painLine  `xml:"CdtTrfTxInf"`
}

type painLine struct {
	Instruction string `xml:"PmtId>InstrId"`
	Reference   string `xml:"PmtId>EndToEndId"`
	Amount      struct {
		Currency string `xml:"Ccy,attr"`
		Value    string `xml:",chardata"`
	} `xml:"Amt>InstdAmt"`
	Bank    *painBank   `xml:"CdtrAgt>FinInstnId"`
	Name    string      `xml:"Cdtr>Nm"`
	Country *painText   `xml:"Cdtr>PstlAdr"`
	Account painAccount `xml:"CdtrAcct>Id"`
	Text    string      `xml:"RmtInf>Ustrd"`
}

// painDate is a plain date in version 03, and an element of its own in 09.
type painDate struct {
	Plain string `xml:",chardata"`
	Day   string `xml:"Dt,omitempty"`
}

// painBank is a BIC, whose element has another name since version 09.
type painBank struct {
	Old string `xml:"BIC,omitempty"`
	New string `xml:"BICFI,omitempty"`
}

type painAccount struct {
	IBAN  string    `xml:"IBAN,omitempty"`
	Other *painText `xml:"Othr"`
}

// painText is the content of some elements: one of these fields.
type painText struct {
	Code    string `xml:"Cd,omitempty"`
	Country string `xml:"Ctry,omitempty"`
	ID      string `xml:"Id,omitempty"`
}

// accountOf is an account by its IBAN, or otherwise by its number.
func accountOf(iban, number string) painAccount {
	if iban != "" {
		return painAccount{IBAN: iban}
	}
	return painAccount{Other: &painText{ID: number}}
}

func painWrite(version string, b Batch, lines []Line) ([]byte, error) {
	sum, err := total(lines)
	if err != nil {
		return nil, err
	}
	bank := func(bic string) painBank {
		if version == painV03 {
			return painBank{Old: bic}
		}
		return painBank{New: bic}
	}
	day := b.At.Format("2006-01-02")
	d := painDocument{Space: "urn:iso:std:iso:20022:tech:xsd:pain.001.001." + version}
	d.Header.ID, d.Header.Created = b.ID, b.At.Format("2006-01-02T15:04:05")
	d.Header.Count, d.Header.Sum = len(lines), decimal(money.New(sum, b.Currency))
	d.Header.Initiator = sepa(b.From.Name, 70)
	p := &d.Payment
	// One booking for each line, so that camt.054 names each.
	p.ID, p.Method, p.Batched = b.ID+"-1", "TRF", false
	p.Count, p.Sum, p.Date = d.Header.Count, d.Header.Sum, painDate{Plain: day}
	if version != painV03 {
		p.Date = painDate{Day: day}
	}
	p.Debtor, p.Account, p.Bank = d.Header.Initiator, accountOf(compactIBAN(b.From.IBAN), b.From.Account), bank(b.From.BIC)
	sepaOnly := b.Currency == "EUR"
	for _, l := range lines {
		account, err := l.account()
		if err != nil {
			return nil, err
		}
		line := painLine{Instruction: l.Reference, Reference: l.Reference, Name: sepa(l.Name, 70), Text: l.Reference, Account: accountOf("", account)}
		line.Amount.Currency, line.Amount.Value = string(b.Currency), decimal(l.Amount)
		if l.Network == "iban" {
			line.Account = accountOf(account, "")
		}
		if l.Country != "" {
			line.Country = &painText{Country: l.Country}
		}
		if l.BankCode != "" {
			of := bank(l.BankCode)
			line.Bank = &of
		}
		sepaOnly = sepaOnly && l.Network == "iban"
		p.Lines = append(p.Lines, line)
	}
	if sepaOnly {
		p.Service, p.Charges = &painText{Code: "SEPA"}, "SLEV"
	}
	body, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make XML: %w", err)
	}
	return []byte(xml.Header + string(body) + "\n"), nil
}

// decimal is an amount with all decimals of its currency: 12.50.
func decimal(a money.Amount) string {
	number, _, _ := strings.Cut(a.String(), " ")
	return number
}

func compactIBAN(text string) string {
	if text == "" {
		return ""
	}
	normal, _ := Line{Network: "iban", Destination: text}.account()
	return normal
}
