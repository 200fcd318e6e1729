// Package mercadopago takes payments at Mercado Pago: the Payments API for Pix, SPEI and
// vouchers, Checkout Pro preferences for everything that the shopper pays on Mercado Pago's
// page. It is a client of one account in one country; it stores nothing and makes no
// decisions about payments. Payouts have their own adapter.
//
// # What is paid where
//
// Our page shows a Pix code. SPEI and vouchers have a page at Mercado Pago
// (external_resource_url), as the documentation shows for both; the data also hold a
// voucher's reference and bar code. Cards, PSE, boletos and the wallet use a Checkout Pro
// preference: in the Payments API PSE requires the shopper's bank and address, and a boleto
// the address, and we ask for neither. On a preference the wallet's balance cannot be
// excluded.
//
// # References
//
// Ours is the external_reference of the payment or the preference. A payment's
// X-Idempotency-Key is a UUID made of it, because the OpenAPI document says uuid. How long
// a key is kept is not documented. A preference has no such key, so we search for it first:
// two calls at one moment can make two preferences under one reference, and the shopper
// sees the page of one. Missing means that neither the payments nor the preferences have
// our reference. The searches may lag, which is not documented either; but a charge that
// they do not show yet cannot be paid, because only we have its code or page.
//
// A refund has our reference in its metadata, which is in the OpenAPI document's requests
// and answers, but not on the reference pages. We search for it before we make one, because
// Mercado Pago may forget a key. If a refund of the same amount has no reference, the
// result is Unknown and not Missing; then we rely on the key.
//
// # A page has many tries
//
// A shopper whose card is refused on a preference's page may try another one there. So the
// charge stays open until it is paid or the preference expires, and only then is it
// declined, with the last reason.
//
// # Notifications
//
// The signature is over the data.id of the address, X-Request-Id and the time, and not over
// the body: we ignore the body and query the payment. The documentation has the time in
// milliseconds, its example in seconds; we read both. A notification is repeated for four
// days, perhaps with its old time, so we accept an age of five days; an old one only causes
// a query. By sdk-java#420 real notifications of some test accounts fail the check: we
// refuse those, and queries find the result.
//
// A change of a refund comes as a notification of its payment, whose list of refunds has
// the result; we report those with our reference, and the whole list as what went back. A
// refund of the seller's panel, or one that Mercado Pago decides, is in the same list
// without our reference; the list's shape for those is *unproved*. That one which is made at
// Mercado Pago is notified says the guide of its WooCommerce plugin (manage orders, refunds;
// read on 2026-11-28); not seen live.
//
// A mediation has no object that can be read. The payment is in_mediation while it lasts,
// and approved again or refunded after it (status list of the payments reference); the last
// step is *unproved* with an account.
//
// # Checked
//
// Against github.com/mercadopago/openapi (payments, refunds, preferences),
// mercadopago/sdk-go (fields, the manifest), mercadopago/devsite-docs (SPEI "clabe", PSE,
// cash in each country, webhooks, status details, chargebacks) and the pages behind
// mercadopago.com/developers. Not checked, for lack of an account: limits of keys and
// searches, the details of charged_back (a ruling is taken from the chargeback alone),
// rejected_high_risk, bank_error and the other undocumented reasons, whether PSE or a
// boleto can be the only choice on a page, and whether a transfer of too little is ever
// credited. Each rail was checked only by its documented example.
//
// # The report
//
// cascada reconcile reads the Account balance report, which is the settlement report of
// their API (mercadopago.com/developers, Reports, Account balance: the fields and the words
// of TRANSACTION_TYPE). On refunds too, EXTERNAL_REFERENCE is the charge's. Its column
// METADATA is JSON whose quotes are not doubled in files that others have shown: leave it
// out of the report.
//
// # Payouts
//
// One call makes a payout: POST /v1/transaction-intents/process, in Brazil to a Pix key, in
// Chile to a bank account, in Mexico to a CLABE. An account belongs to one country, and
// Mercado Pago has to enable payouts for it. Production requires a signed body
// (X-signature: Ed25519, Base64); a test account sends X-test-token.
//
// A payout can be queried only by Mercado Pago's id, which the answer and each notification
// have: there is no search by external_reference. If the answer is lost, the payout is
// Unknown until a notification names the id. The reference pages say of X-Idempotency-Key
// that it makes repetitions safe, and the Spanish guide that an external_reference cannot
// be used twice; so a payout is made once. No document says how Mercado Pago answers a
// repetition, or how long it keeps a key (the pages of Wallet Connect do, for another API).
// So a repetition counts only if its answer shows the payout, and no query returns Missing
// or Unsent.
//
// A first call that is refused with 401, 403, 429 or an error of the documented list made
// no payout; a later one proves nothing. "Invalid external_reference" proves nothing
// either: the reference may be taken. We read the three lists of statuses as one: see
// states. A rejection counts as final: two of the lists then advise making another payout,
// and the third calls it failed. Insufficient funds show as a rejected payout, not as an
// error.
//
// No document says how a notification of payouts is signed: we use only its id, and query
// the payout. We assume that an account's token reads only its own payouts. There is no
// documented balance; Check queries a payout that does not exist, which should be forbidden
// to an account without payouts.
//
// Checked against mercadopago/devsite-docs guides/money-out (configuration, tests,
// encryption, prerequisites), the pages docs/payouts and reference/…/payouts behind
// mercadopago.com/developers as far as they were available, and mercadopago/openapi, whose
// bodies the other pages contradict. Only a real account can show: the answer to a
// repetition; the form of errors; which statuses each country really has and whether the
// amounts of a returned one shrink; the codes of banks in Chile; Mexico, where newer pages
// have /v1/payouts in place of this call and the fields here are of the one example that
// there is (its type savings_account beside a note that savings accounts are not paid); how
// payouts are named in the reports. The test environment keeps nothing, so queries about
// payouts have no answer there.
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
