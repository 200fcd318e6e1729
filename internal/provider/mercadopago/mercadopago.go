// Package mercadopago speaks to Mercado Pago: the Payments API for Pix, SPEI and
// vouchers, Checkout Pro preferences for everything that the shopper pays on
// their page. It is a client of one account, which is of one country; it keeps
// nothing and decides nothing about payments. Payouts are an adapter of their own.
//
// # What is paid where
//
// Pix has its code on our page. SPEI and vouchers have a page of theirs
// (external_resource_url), which is what the documentation shows for both; a
// voucher's reference and bar code are in the data too. Cards, PSE, boletos and
// the wallet are a Checkout Pro preference: PSE wants the shopper's bank and
// address in the Payments API, a boleto wants the address, and we ask for
// neither. On a preference the wallet's balance cannot be excluded.
//
// # References
//
// Ours is the external_reference of the payment or the preference. A payment
// has it in X-Idempotency-Key too, as a UUID made of it, since the OpenAPI
// document says uuid. How long a key is kept is not documented. A preference has
// no such key, so it is looked for first: two calls at one moment can make two
// preferences of one reference, and the shopper sees the page of one. Missing
// says that neither the payments nor the preferences have our reference. The
// searches may lag, which is not documented either; what they have not seen yet
// nobody can pay, since its code or page went to nobody but us.
//
// A refund has our reference in its metadata, which the OpenAPI document gives
// to requests and answers and the reference pages do not mention. It is looked for
// before it is made, since a key may be forgotten. A refund without it, of the same
// amount, makes the answer Unknown and not Missing; whether it is ours is then for
// the key to tell.
//
// # A page has many tries
//
// A shopper whose card is refused on a preference's page may try another there.
// The charge is therefore open until it is paid or the preference is over, and
// only then is it declined, with the last reason.
//
// # Notifications
//
// The signature is over the data.id of the address, X-Request-Id and the time,
// and not over the body: nothing is believed of the body, and the payment is
// asked for. The documentation has the time in milliseconds, its example has
// seconds; both are read. A notification is repeated for four days, it is not
// said whether with a new time; so five days are taken for its age, since an old
// one only makes us ask again. sdk-java#420 tells of test accounts whose real
// notifications fail the check: those are refused, and questions find out.
//
// What became of a refund is in the refunds of the payment, of which a notification
// comes when one moves; the ones with our reference are told.
//
// # Checked
//
// Against github.com/mercadopago/openapi (payments, refunds, preferences),
// mercadopago/sdk-go (fields, the manifest), mercadopago/devsite-docs (SPEI
// "clabe", PSE, cash in each country, webhooks, status details, chargebacks) and
// the pages behind mercadopago.com/developers. Not checked, for want of an
// account: limits of keys and searches, the details of charged_back (a ruling is
// taken from the chargeback alone), rejected_high_risk, bank_error and the other
// reasons that are in no table of theirs, that PSE and a boleto can be made the
// one choice of a page, whether a shortfall of a transfer is ever credited, and
// each rail but by its documented example.
//
// # The report
//
// cascada reconcile reads the Account balance report, which is the settlement report
// of their API (mercadopago.com/developers, Reports, Account balance: the fields and
// the words of TRANSACTION_TYPE). EXTERNAL_REFERENCE is of the charge on its refunds
// too. Its column METADATA is JSON whose quotes are not doubled in files that others
// have shown: leave it out of the report.
//
// # Payouts
//
// One call makes a payout: POST /v1/transaction-intents/process, in Brazil to a Pix
// key, in Chile to a bank account, in Mexico to a CLABE. An account is of one country,
// and Mercado Pago enables it. Production wants the body signed (X-signature: Ed25519,
// Base64); an account in test says X-test-token.
//
// A payout is asked about by their id, which the answer and each notification have,
// and by nothing else: there is no search by external_reference. Where the answer is
// lost, the payout is Unknown until a notification names the id. The reference pages
// say of X-Idempotency-Key that it makes repetitions safe, and the Spanish guide that
// an external_reference cannot be used twice; so a payout is made once. What a
// repetition is answered with, and how long a key is kept, no document says (the
// pages of Wallet Connect do, for another API). So a repetition counts only where its
// answer shows the payout, and no question is ever Missing or Unsent.
//
// A first call that is refused with 401, 403, 429 or an error of the documented list
// made no payout; a later one proves nothing. "Invalid external_reference" proves
// nothing either: the reference may be taken. The three lists of statuses are read as
// one: see states. A rejection is taken as final: two of the lists advise to make
// another payout then, and the third calls it failed. Who lacks money is told by a rejected payout, and not by an error.
//
// How a notification of payouts is signed is in no document: only the id is taken from
// it, and the account is asked. That the account's token reads its own payouts alone
// is taken for granted. There is no documented balance; Check asks for a payout that
// is not there, which an account without payouts should not be allowed to.
//
// Checked against mercadopago/devsite-docs guides/money-out (configuration, tests,
// encryption, prerequisites), the pages docs/payouts and reference/…/payouts behind
// mercadopago.com/developers as far as they were to be had, and mercadopago/openapi,
// whose bodies the other pages contradict. Only a real account can tell: the answer to
// a repetition; the form of errors; which words a payment of each country really has
// and whether the amounts of a returned one shrink; the codes of banks in Chile;
// Mexico, where newer pages have /v1/payouts in place of this call and the fields here
// are of the one example that there is (its type savings_account beside a note that
// savings accounts are not paid); how payouts are named in the reports. In their test
// environment nothing is kept, so that no question about a payout has an answer there.
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

// Adapter is Mercado Pago.
func Adapter() provider.Adapter {
	keys := make([]string, 0, len(rails))
	for _, r := range rails {
		keys = append(keys, r.key)
	}
	return provider.Adapter{
		Name:   "mercadopago",
		Report: report(),
		Fields: []provider.Field{
			{Name: accessToken, Doc: "Your integrations › application › credentials › Access Token (APP_USR-… or TEST-…)"},
			{Name: secret, Doc: "Your integrations › application › Webhooks › secret signature; subscribe Payments and Chargebacks"},
		},
		Rails: keys,
		Open:  open,
	}
}

// rail is how one of ours is served.
type rail struct {
	key      string
	currency money.Currency // of the account's country, which the Payments API takes for granted
	method   string         // payment_method_id; "" for a preference
	page     page           // of a preference
}

// page is what a preference leaves of Checkout Pro.
type page struct {
	without []string // payment types
	but     []string // payment methods
	first   string   // the method that is open when the page comes up
	wallet  bool
}

// rails in the catalog's order, but for Pix: it goes first, since it has all
// that the Payments API can do.
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

// hosted says whether the shopper pays on a preference's page.
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

// newAccount is a client that has its token alone.
func newAccount(a provider.Account) (*account, error) {
	token, err := a.Credential(accessToken, 300)
	if err != nil {
		return nil, err
	}
	if a.Live && strings.HasPrefix(token, "TEST-") {
		return nil, &provider.FieldError{Field: accessToken, Reason: "it is of the test environment"}
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
