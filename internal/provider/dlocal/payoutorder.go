package dlocal

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// payoutOrder is the body of POST /payouts/v3. The amount is in the destination's currency:
// without currency_to_pay, that is the amount that arrives.
type payoutOrder struct {
	ExternalID      string      `json:"external_id"`
	MethodID        string      `json:"payment_method_id"`
	Flow            string      `json:"flow_type"`
	Country         string      `json:"country"`
	Currency        string      `json:"currency"`
	Amount          json.Number `json:"amount"`
	Purpose         string      `json:"purpose"`
	NotificationURL string      `json:"notification_url,omitempty"`
	Description     string      `json:"description,omitempty"`
	Beneficiary     beneficiary `json:"beneficiary"`
}

type beneficiary struct {
	FirstName string          `json:"first_name,omitempty"`
	LastName  string          `json:"last_name,omitempty"`
	Business  string          `json:"business_name,omitempty"`
	Document  *holderDocument `json:"document,omitempty"`
	Bank      *bankAccount    `json:"bank_account,omitempty"`
	Instant   *instantAccount `json:"instant_payment,omitempty"`
}

type holderDocument struct {
	Type string `json:"type,omitempty"`
	ID   string `json:"id"`
}

type bankAccount struct {
	Code    string `json:"code,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Type    string `json:"type,omitempty"`
	Account string `json:"account"`
}

type instantAccount struct {
	ID string `json:"id"` // the Pix key
}

// holder is the holder of a document: its type, "" if dLocal requires none, and whether it
// is a company.
type holder struct {
	document string
	company  bool
}

// corridor is how dLocal pays out on a rail.
type corridor struct {
	country string // alpha-2
	alpha3  string
	instant bool // by INSTANT_PAYMENT, to a key; by BANK_TRANSFER otherwise
	needs   []pay.HolderField
	both    bool // a company has a first and a last name too
	// identify reads a document, false if this country has no such document.
	identify func(id string) (holder, bool)
}

// corridors are the rails for which our wallets have all mandatory fields (docs: the
// country pages of Payouts v3).
var corridors = map[string]corridor{
	"pix.BRL":     {country: "BR", alpha3: "BRA", instant: true, needs: []pay.HolderField{pay.HolderName}, identify: brazilian},
	"spei.MXN":    {country: "MX", alpha3: "MEX", needs: []pay.HolderField{pay.HolderName, pay.HolderDocument}, identify: mexican},
	"cbu.ARS":     {country: "AR", alpha3: "ARG", needs: []pay.HolderField{pay.HolderName, pay.HolderDocument, pay.AccountType}, identify: argentine},
	"account.CLP": {country: "CL", alpha3: "CHL", needs: []pay.HolderField{pay.HolderName, pay.HolderDocument, pay.BankCode, pay.AccountType}, identify: chilean},
	"account.UYU": {country: "UY", alpha3: "URY", both: true, identify: uruguayan,
		needs: []pay.HolderField{pay.HolderName, pay.HolderDocument, pay.BankCode, pay.BranchCode, pay.AccountType}},
}

func payoutNeeds() map[string][]pay.HolderField {
	all := map[string][]pay.HolderField{}
	for rail, c := range corridors {
		all[rail] = c.needs
	}
	return all
}

// accountTypes are dLocal's codes. Its pages for persons and companies show only SAVINGS;
// CHECKING is inferred from v2's letter.
var accountTypes = map[pay.BankAccountType]string{pay.CheckingAccount: "CHECKING", pay.SavingsAccount: "SAVINGS"}

func brazilian(id string) (holder, bool) {
	return holder{company: len(id) == 14}, provider.Digits(id, 11, 11) || provider.Digits(id, 14, 14)
}

// mexican: a company's RFC is one character shorter than a person's.
func mexican(id string) (holder, bool) {
	switch len(id) {
	case 12:
		return holder{"RFC", true}, true
	case 13:
		return holder{"RFC", false}, true
	case 18:
		return holder{"CURP", false}, true
	}
	return holder{}, false
}

// argentine: companies' CUIT begin with 3, persons' with 2.
func argentine(id string) (holder, bool) {
	return holder{company: strings.HasPrefix(id, "3")}, provider.Digits(id, 11, 11) && (id[0] == '2' || id[0] == '3')
}

// chilean: RUTs of companies start at 50 million, not counting the check character.
func chilean(id string) (holder, bool) {
	if len(id) < 8 || len(id) > 9 {
		return holder{}, false
	}
	number, check := id[:len(id)-1], id[len(id)-1:]
	fits := provider.Digits(number, 7, 8) && (provider.Digits(check, 1, 1) || check == "K")
	return holder{"RUT", len(number) == 8 && number >= "50000000"}, fits
}

// uruguayan: the tax office's RUT has twelve digits, an identity card six to eight.
func uruguayan(id string) (holder, bool) {
	if provider.Digits(id, 12, 12) {
		return holder{"RUT", true}, true
	}
	return holder{"CI", false}, provider.Digits(id, 6, 8)
}

// Fits implements payouts.Choosy.
func (s *sender) Fits(r payouts.Request) error {
	if _, cannot := s.order(r); cannot != nil {
		return errors.New(cannot.Message)
	}
	return nil
}

// order is the body for a payout, or why this account cannot pay it.
func (s *sender) order(r payouts.Request) (payoutOrder, *pay.PayoutOutcome) {
	refuse := func(code, message string) (payoutOrder, *pay.PayoutOutcome) {
		o := payouts.Unavailable(code, message)
		return payoutOrder{}, &o
	}
	c, served := corridors[r.Network+"."+r.Currency]
	switch {
	case !served || r.Type != pay.BankAccount || string(r.Local.Currency) != r.Currency:
		return refuse("unsupported", "the account does not pay out over this network in this currency")
	case r.Country != "" && r.Country != c.alpha3:
		return refuse("unsupported", "the account does not pay out to banks of this country in this currency")
	case !sendable(r.Local):
		return refuse("unsupported", "the account does not pay out this amount")
	}
	id := r.Document
	if letters, _ := provider.CNPJ(r.Destination); letters && c.instant { // docs: Brazil, Payouts v3: numeric
		return refuse("unsupported", "the account is known to pay only to a CNPJ of digits, and this Pix key is a CNPJ with letters")
	}
	if c.instant { // a Pix key that is a document belongs to the holder of that document
		if id = r.Destination; !provider.Digits(id, 11, 14) {
			return refuse("unsupported", "the account cannot pay to this kind of Pix key")
		}
	}
	who, known := c.identify(id)
	if !known {
		return refuse("beneficiary_incomplete", "the holder's document is missing, or is not from the bank's country")
	}
	q := payoutOrder{
		ExternalID: r.Reference, MethodID: "BANK_TRANSFER", Flow: "B2C", Country: c.country,
		Currency: string(r.Local.Currency), Amount: json.Number(r.Local.Decimal()), Purpose: s.purpose, NotificationURL: s.NotificationURL,
	}
	if !s.Live { // the sandbox plays what the description says (reference: Environments, Payouts v3)
		q.Description = "DELIVERED:PAID"
	}
	first, last := provider.Names(r.Name)
	if who.company {
		q.Flow, q.Beneficiary.Business = "B2B", strings.TrimSpace(first+" "+last)
	}
	if !who.company || c.both {
		q.Beneficiary.FirstName, q.Beneficiary.LastName = first, last
	}
	if first == "" || last == "" && q.Beneficiary.FirstName != "" {
		return refuse("beneficiary_incomplete", "the holder's name has to have a first and a last name")
	}
	q.Beneficiary.Document = &holderDocument{who.document, id}
	if c.instant {
		q.MethodID, q.Beneficiary.Instant = "INSTANT_PAYMENT", &instantAccount{r.Destination}
		return q, nil
	}
	to, complete := c.bank(r)
	if !complete {
		return refuse("beneficiary_incomplete", "the bank's code, the branch or the account's type is missing")
	}
	q.Beneficiary.Bank = &to
	return q, nil
}

// bank is the destination of a bank transfer, false if something is missing.
func (c corridor) bank(r payouts.Request) (to bankAccount, complete bool) {
	to.Account = r.Destination
	if c.country == "MX" {
		if len(r.Destination) != 18 {
			return to, false
		}
		to.Code = r.Destination[:3] // a CLABE begins with the bank's code
	}
	for _, field := range c.needs {
		var value string
		switch field {
		case pay.BankCode:
			value = r.Bank
			to.Code = value
		case pay.BranchCode:
			value = r.Branch
			to.Branch = value
		case pay.AccountType:
			value = accountTypes[r.AccountType]
			to.Type = value
		default:
			continue
		}
		if value == "" {
			return to, false
		}
	}
	return to, to.Account != ""
}
