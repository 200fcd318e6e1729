package stripe

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

// order holds the bodies of a payout's three calls. They are the same each time, as the key
// requires.
type order struct {
	recipient recipientRequest
	setup     setupRequest
	payment   paymentRequest
}

// recipientRequest is the body of POST /v2/core/accounts.
type recipientRequest struct {
	Email         string            `json:"contact_email"`
	Name          string            `json:"display_name"`
	Identity      identity          `json:"identity"`
	Configuration configuration     `json:"configuration"`
	Metadata      map[string]string `json:"metadata"`
}

type identity struct {
	Country    string    `json:"country"`
	Entity     string    `json:"entity_type"`
	Business   *business `json:"business_details,omitempty"`
	Individual *person   `json:"individual,omitempty"`
}

type business struct {
	Name string `json:"registered_name"`
}

type person struct {
	Given   string `json:"given_name"`
	Surname string `json:"surname"`
}

type configuration struct {
	Recipient struct {
		Capabilities struct {
			BankAccounts struct {
				Local struct {
					Requested bool `json:"requested"`
				} `json:"local"`
			} `json:"bank_accounts"`
		} `json:"capabilities"`
	} `json:"recipient"`
}

// setupRequest is the body of POST /v2/money_management/outbound_setup_intents.
type setupRequest struct {
	Usage string `json:"usage_intent"`
	Data  struct {
		Type    string      `json:"type"`
		Account bankAccount `json:"bank_account"`
	} `json:"payout_method_data"`
}

type bankAccount struct {
	Number   string `json:"account_number"`
	Routing  string `json:"routing_number,omitempty"`
	Type     string `json:"bank_account_type,omitempty"`
	Country  string `json:"country"`
	Currency string `json:"currency"`
}

// paymentRequest is the body of POST /v2/money_management/outbound_payments. The amount is
// in the recipient's currency; Stripe converts it to the amount that it debits.
type paymentRequest struct {
	From struct {
		Account  string `json:"financial_account"`
		Currency string `json:"currency"`
	} `json:"from"`
	To struct {
		Recipient string `json:"recipient"`
		Method    string `json:"payout_method"`
		Currency  string `json:"currency"`
	} `json:"to"`
	Amount       value             `json:"amount"`
	Notification notifying         `json:"recipient_notification"`
	Description  string            `json:"description"`
	Metadata     map[string]string `json:"metadata"`
}

type value struct {
	Value    int64  `json:"value"`
	Currency string `json:"currency"`
}

type notifying struct {
	Setting string `json:"setting"`
}

// order writes a payout in Stripe's form, or says why this account cannot pay it.
func (pa *payer) order(r payouts.Request) (o order, refused *pay.PayoutOutcome) {
	refuse := func(kind pay.PayoutKind, code, message string) (order, *pay.PayoutOutcome) {
		return order{}, &pay.PayoutOutcome{Kind: kind, Code: code, Message: message}
	}
	if r.Local.Minor < 1 || string(r.Local.Currency) != r.Currency {
		return refuse(pay.PayoutUnavailable, "unsupported", "the account cannot pay such an amount")
	}
	account, known, right := bank(r)
	switch {
	case !known:
		return refuse(pay.PayoutUnavailable, "unsupported", "the account pays no such destinations")
	case !right:
		return refuse(pay.PayoutRejected, "invalid_account", "the bank account's numbers are not those of its country")
	case r.Name == "" || r.Email == "":
		return refuse(pay.PayoutUnavailable, "beneficiary_incomplete", "the account has to know the beneficiary's name and e-mail address")
	}
	who := identity{Country: account.Country, Entity: pa.entity}
	if length := len(r.Document); r.Network == "spei" && (length == 12 || length == 13) { // the RFC of a company or of a person
		who.Entity = map[int]string{12: "company", 13: "individual"}[length]
	}
	if who.Entity == "company" {
		who.Business = &business{r.Name}
	} else {
		first, last := provider.Names(r.Name)
		if last == "" {
			return refuse(pay.PayoutUnavailable, "beneficiary_incomplete", "the account has to know the beneficiary's given name and surname")
		}
		who.Individual = &person{first, last}
	}
	reference := map[string]string{referenceKey: r.Reference}
	o.recipient = recipientRequest{Email: r.Email, Name: r.Name, Identity: who, Metadata: reference}
	o.recipient.Configuration.Recipient.Capabilities.BankAccounts.Local.Requested = true
	o.setup.Usage, o.setup.Data.Type, o.setup.Data.Account = "payment", "bank_account", account
	o.payment = paymentRequest{
		Amount: value{r.Local.Minor, account.Currency}, Metadata: reference, Description: r.Reference,
		Notification: notifying{"none"}, // the operator informs its merchants itself
	}
	o.payment.From.Account, o.payment.From.Currency = pa.from, lower(pa.currency)
	o.payment.To.Currency = account.Currency
	return o, nil
}

func lower(c money.Currency) string { return strings.ToLower(string(c)) }

// euroArea lists the countries whose accounts are in euros.
var euroArea = strings.Fields("AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK")

// bank is the bank account of a payout. known: Stripe pays to such accounts; right: its
// numbers are well-formed.
func bank(r payouts.Request) (account bankAccount, known, right bool) {
	to := r.Destination
	account = bankAccount{Number: to, Currency: lower(r.Local.Currency)}
	switch r.Network + "." + r.Currency {
	case "spei.MXN":
		account.Country = "MX"
		return account, true, provider.Digits(to, 18, 18)
	case "iban.EUR":
		account.Country = to[:min(2, len(to))]
		return account, slices.Contains(euroArea, account.Country), true
	case "iban.GBP": // the form is country, check digits, bank, sort code, account
		account.Country = "GB"
		if !strings.HasPrefix(to, "GB") {
			return account, false, false
		}
		if len(to) != 22 || !provider.Digits(to[8:], 14, 14) {
			return account, true, false
		}
		account.Routing, account.Number = to[8:14], to[14:]
		return account, true, true
	case "account.USD":
		account.Country, account.Routing, account.Type = "US", r.Bank, string(r.AccountType)
		return account, r.Country == "USA", provider.Digits(r.Bank, 9, 9) && provider.Digits(to, 1, 17)
	}
	return account, false, false
}
