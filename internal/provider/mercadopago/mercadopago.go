package mercadopago

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
)

const production = "https://api.mercadopago.com" // also for tests: the token decides

// Credentials.
const (
	accessToken = "accessToken"
	secret      = "webhookSecret"
)

// Adapter is the adapter for accounts at Mercado Pago that take payments.
func Adapter() provider.Adapter {
	keys := make([]string, 0, len(rails))
	for _, r := range rails {
		keys = append(keys, r.key)
	}
	return provider.Adapter{
		Name: "mercadopago",
		Declines: []provider.Codes{{Field: "status_detail", Table: declines,
			Source: "mercadopago.com/developers, payment creation results and reasons for rejection; mercadopago/openapi (f224df3); all read on 2026-11-28"}},
		Report: report(),
		Fields: []provider.Field{
			{Name: accessToken, Doc: "Your integrations › application › credentials › Access Token (APP_USR-… or TEST-…)"},
			{Name: secret, Doc: "Your integrations › application › Webhooks › secret signature; subscribe Payments, Chargebacks and Claims"},
		},
		Rails: keys,
		Open:  open,
	}
}

// rail is how Mercado Pago serves one of our rails.
type rail struct {
	key      string
	currency money.Currency // the account's; the Payments API implies it
	method   string         // payment_method_id; "" for a preference
	page     page           // of a preference
}

// page is what a preference offers of Checkout Pro.
type page struct {
	without []string // payment types
	but     []string // payment methods
	first   string   // the method that is preselected
	wallet  bool
}

// rails are in the catalog's order, but Pix comes first, because it can do all that the
// Payments API offers.
var rails = []rail{
	{key: "pix.BRA", currency: money.BRL, method: "pix"},
	{key: "spei.MEX", currency: money.MXN, method: "clabe"},
	{key: "cash.oxxo.MEX", currency: money.MXN, method: "oxxo"},
	{key: "cash.bbva.MEX", currency: money.MXN, method: "bancomer"},
	{key: "cash.banamex.MEX", currency: money.MXN, method: "banamex"},
	{key: "voucher.paycash.MEX", currency: money.MXN, method: "paycash"},
	{key: "cash.rapipago.ARG", currency: money.ARS, method: "rapipago"},
	{key: "cash.pagofacil.ARG", currency: money.ARS, method: "pagofacil"},
	{key: "cash.efecty.COL", currency: money.COP, method: "efecty"},
	{key: "cash.pagoefectivo.PER", currency: money.PEN, method: "pagoefectivo_atm"},
	{key: "cash.abitab.URY", currency: "UYU", method: "abitab"},
	{key: "cash.redpagos.URY", currency: "UYU", method: "redpagos"},
	{key: "boleto.BRA", currency: money.BRL, page: page{
		without: []string{"credit_card", "debit_card", "prepaid_card", "bank_transfer", "atm"}, but: []string{"pec"}, first: "bolbradesco",
	}},
	{key: "bank.pse.COL", currency: money.COP, page: page{
		without: []string{"credit_card", "debit_card", "prepaid_card", "ticket", "atm"}, first: "pse",
	}},
	{key: "card.ARG", currency: money.ARS, page: cards},
	{key: "card.BRA", currency: money.BRL, page: cards},
	{key: "card.CHL", currency: money.CLP, page: cards},
	{key: "card.COL", currency: money.COP, page: cards},
	{key: "card.MEX", currency: money.MXN, page: cards},
	{key: "card.PER", currency: money.PEN, page: cards},
	{key: "card.URY", currency: "UYU", page: cards},
	{key: "wallet.mercadopago.ARG", currency: money.ARS, page: page{wallet: true}},
	{key: "wallet.mercadopago.BRA", currency: money.BRL, page: page{wallet: true}},
	{key: "wallet.mercadopago.CHL", currency: money.CLP, page: page{wallet: true}},
	{key: "wallet.mercadopago.MEX", currency: money.MXN, page: page{wallet: true}},
	{key: "wallet.mercadopago.URY", currency: "UYU", page: page{wallet: true}},
}

var cards = page{without: []string{"ticket", "bank_transfer", "atm"}}

func railOf(key string) (rail, bool) {
	i := slices.IndexFunc(rails, func(r rail) bool { return r.key == key })
	if i < 0 {
		return rail{}, false
	}
	return rails[i], true
}

// cards reports whether the page is one for cards.
func (r rail) cards() bool { return strings.HasPrefix(r.key, "card.") }

// hosted reports whether the shopper pays on a preference's page.
func (r rail) hosted() bool { return r.method == "" }

// account is a client of one account.
type account struct {
	provider.Account
	base   string
	token  string
	secret []byte
}

func open(a provider.Account) (provider.Provider, error) {
	c, err := newAccount(a)
	if err != nil {
		return nil, err
	}
	key, err := a.Credential(secret, 300)
	if err != nil {
		return nil, err
	}
	c.secret = []byte(key)
	return c, nil
}

// newAccount is a client that has only its token.
func newAccount(a provider.Account) (*account, error) {
	token, err := a.Credential(accessToken, 300)
	if err != nil {
		return nil, err
	}
	if a.Live && strings.HasPrefix(token, "TEST-") {
		return nil, &provider.FieldError{Field: accessToken, Reason: "it belongs to the test environment"}
	}
	return &account{Account: a, base: a.Base(production, production), token: token}, nil
}

// Check lists the payment methods of the account's country.
func (a *account) Check(ctx context.Context) error {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/payment_methods", nil, "")
	if lost != nil {
		return errors.New("the provider does not answer: " + lost.Decline)
	}
	var methods []struct {
		ID text `json:"id"`
	}
	switch {
	case reply.Status == http.StatusUnauthorized || reply.Status == http.StatusForbidden:
		return errors.New("the access token is refused")
	case reply.Status != http.StatusOK:
		return errors.New("the provider answers " + provider.Refused(reply.Status).Decline)
	case read(reply.Body, &methods) != nil || len(methods) == 0:
		return errors.New("the provider lists no payment methods for the account")
	}
	return nil
}
