// Package destination reads the destination of a payout: bank accounts of the networks for
// withdrawals, and blockchain addresses. It checks all check digits, because a payout to a
// mistyped account does not come back.
//
// It is pure: it knows no wallet, no tenant and no encryption. A valid destination may
// still not exist; only the payout provider knows.
package destination

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/money"
)

// Destination is where money can be sent, in its normal form: two spellings of one account
// are equal.
type Destination struct {
	Type     string // bank_account or crypto
	Network  string
	Currency string // ISO 4217, or a token such as USDT
	Account  string // secret
	Masked   string // what may be shown of Account
}

// Field is the part of a destination that a Problem is about.
type Field string

// The parts, by their names in requests.
const (
	Type     Field = "type"
	Network  Field = "network"
	Currency Field = "currency"
	Account  Field = "destination"
)

// Problem says what is wrong with a destination. Its message never repeats the
// account.
type Problem struct {
	Field   Field
	Absent  bool // the field is required and missing
	Message string
}

// Error implements error.
func (p Problem) Error() string { return string(p.Field) + ": " + p.Message }

// TED is the network of accounts at banks in Brazil. A number of theirs is unique at its branch only.
const TED = "ted"

// The types of destinations.
const (
	bankAccount = "bank_account"
	crypto      = "crypto"
)

// network is a payment network that reaches accounts.
type network struct {
	name, kind string
	aliases    []string
	currencies []string // none: every ISO 4217 currency that is not exclusive to another bank network
	named      bool     // it is used only if it is named: its currency has another network that is usual
	// parse returns the normal form and the masked one, or what is wrong
	parse func(account string) (normal, masked, wrong string)
}

// networks lists what withdrawals can use.
func networks() []network {
	return []network{
		{"spei", bankAccount, []string{"clabe"}, []string{"MXN"}, false, parseCLABE},
		{"pix", bankAccount, nil, []string{"BRL"}, false, parsePIX},
		{TED, bankAccount, nil, []string{"BRL"}, true, parseTED},
		{"cbu", bankAccount, []string{"cvu"}, []string{"ARS"}, false, parseCBU},
		{"iban", bankAccount, []string{"sepa"}, []string{"EUR", "GBP", "CHF", "CRC", "DOP", "GTQ"}, false, parseIBAN},
		{"account", bankAccount, []string{"bank"}, nil, false, parseAccount},
		{"tron", crypto, []string{"trc20"}, []string{"USDT", "TRX"}, false, parseTron},
		{"ethereum", crypto, []string{"erc20"}, []string{"USDC", "USDT", "ETH"}, false, parseEthereum},
		{"bitcoin", crypto, nil, []string{"BTC"}, false, parseBitcoin},
	}
}

// Networks lists the names of all networks.
func Networks() (names []string) {
	for _, n := range networks() {
		names = append(names, n.name)
	}
	return names
}

// Reaches tells the type of a network's destinations, and the currencies that it pays out in: none for a
// network that takes every currency without one of its own. ok is false for an unknown network.
func Reaches(name string) (kind string, currencies []string, ok bool) {
	for _, n := range networks() {
		if n.name == name {
			return n.kind, n.currencies, true
		}
	}
	return "", nil, false
}

// exclusive are the currencies whose accounts are all on their local network, so that no
// account in them goes unchecked.
var exclusive = []string{"MXN", "BRL", "ARS"}

func (n network) accepts(currency string) bool {
	if n.currencies != nil {
		return slices.Contains(n.currencies, currency)
	}
	return money.Currency(currency).Valid() && !slices.Contains(exclusive, currency)
}

// Parse reads a destination. If networkName is empty and the currency allows only one
// network, that one is used. It returns every problem.
func Parse(kind, networkName, currency, account string) (Destination, []Problem) {
	var problems []Problem
	refuse := func(f Field, absent bool, message string) {
		problems = append(problems, Problem{f, absent, message})
	}
	currency, account = strings.ToUpper(strings.TrimSpace(currency)), document.Clean(account)
	var usable []network
	switch {
	case kind == "":
		refuse(Type, true, "type is required: bank_account or crypto")
	case kind != bankAccount && kind != crypto:
		refuse(Type, false, "type must be bank_account or crypto")
	case currency == "":
		refuse(Currency, true, "currency is required: the currency that arrives, such as MXN, BRL or USDT")
	default:
		var problem *Problem
		if usable, problem = choose(kind, networkName, currency); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if account == "" {
		refuse(Account, true, "destination is required: a CLABE, PIX key, CBU, IBAN, account number or address")
	}
	if len(problems) > 0 {
		return Destination{}, problems
	}
	n := usable[0]
	normal, masked, wrong := n.parse(account)
	if wrong == "" && strings.Trim(normal, "0") == "" {
		wrong = "an account: this one has only zeros"
	}
	if wrong != "" {
		return Destination{}, []Problem{{Account, false, "destination must be " + wrong}}
	}
	return Destination{Type: n.kind, Network: n.name, Currency: currency, Account: normal, Masked: masked}, nil
}

// choose finds the network, or says why there is none.
func choose(kind, name, currency string) ([]network, *Problem) {
	name = strings.ToLower(strings.TrimSpace(name))
	var known []string
	var usable []network
	found := false
	for _, n := range networks() {
		if n.kind != kind {
			continue
		}
		known = append(known, n.name)
		named := name == n.name || slices.Contains(n.aliases, name)
		found = found || named
		if n.accepts(currency) && (named || name == "" && !n.named) {
			usable = append(usable, n)
		}
	}
	switch {
	case name != "" && !found:
		return nil, &Problem{Network, false, "network must be one of " + strings.Join(known, ", ") + " for a wallet of type " + kind}
	case len(usable) == 0 && name != "":
		return nil, &Problem{Currency, false, "the network " + name + " does not pay out in this currency"}
	case len(usable) == 0:
		return nil, &Problem{Currency, false, "no network pays out in this currency to a wallet of type " + kind}
	case len(usable) > 1 && usable[1].currencies != nil: // "account" is for currencies without another network
		return nil, &Problem{Network, true, "network is required: " + currency + " exists on several"}
	}
	return usable, nil
}

// tail masks all but the last few characters, at most a third of them.
func tail(account string) string {
	return "****" + account[len(account)-min(4, len(account)/3):]
}
