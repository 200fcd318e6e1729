// Package conekta takes payments at Conekta of Mexico: orders with a charge (SPEI, cash in
// stores and at BBVA) or with a hosted checkout (cards). It is a client of one account; it stores
// nothing and makes no decisions about payments.
//
// # References
//
// Ours is in the order's metadata, and it is the charge's reference_id. It is not
// documented which fields the orders' "search" covers, so it proves nothing. Instead we
// find an order in the list of those made from the payment's creation until the shopper's
// time ends. Missing means that this list was read to its end without a match; a list of
// more than five thousand is Unknown. Once we know the order's id, we read the order
// itself.
//
// No call has an idempotency key: the OpenAPI document, its history and the official SDKs have no
// such header (conekta/openapi 82ce68e, 2026-08-13; ct-woocommerce-plugin 036a399, 2026-08-20). So the
// orders are listed before one is made, a reference is charged by one call of this process at a
// time, and a list proves absence only five minutes after the call. How soon a list has a new order
// is not documented.
//
// A refund has no field for our reference either. It is known by Conekta's id once the answer to the
// call came. Otherwise a full refund is found by its amount among those of its charge, since there
// can be only one. A partial refund is not made while there is one of its amount that is not older
// than the first request for it, by Conekta's clock (the header Date): it may be that one. So may one
// of the other charge, if an order was paid twice: of which charge a refund of an order is, is not
// documented. Then it is Unknown, and waits for the operator. No such refund is Missing, five minutes after the last request, if the list has as much
// as amount_refunded. So two equal parts within a minute wait for the operator too.
//
// A refund's status is "pending" in the only example, and older versions show none for one that is
// made. refunded, canceled and expired are the names of events (cash_refund.*; DELETE
// /orders/{id}/refunds/{id} cancels one); that they are statuses too is *unproved*.
//
// order.refunded and order.partially_refunded make us read the order, whose charges list
// their refunds by id (conekta-node, docs/ChargeResponseRefundsData.md, read on 2026-11-28).
// One with an id that we do not know was made in Conekta's panel, unless one of ours of the
// same amount is under way. That the panel's refunds are in that list is *unproved*.
//
// # What Conekta is told
//
// The lines of an order make up its amount (product.yml: a name of three to 249 characters, a price from zero on, a sku; the same in
// ct-woocommerce-plugin 036a399, 2026-08-20, conekta_gateway_helper.php). They are those of the purchase if it is in pesos and has no discount, and
// otherwise one line with its title, which is the name of a page too ("reason for payment"). The order's number is in the metadata, whose values
// have 249 characters. corporate is the customer's (customer_info.yml): a company's RFC has twelve characters. customer_ip_address is in a charge
// alone (charge_request.yml), not in a page. There is no field for a document without a fiscal address, for the language of a page, or for a text on the
// card's statement.
//
// # Cash
//
// A cash charge names no store. Conekta makes the references that the account is enabled for, by
// its business: of the network of stores (product_type cash_in or pespay_cash_in), and of BBVA's
// machines (bbva_cash_in, with an agreement number). They come as one charge each, in one order,
// each of the whole amount (order_cash.yml, order_cash_multiple.yml). The shopper gets the one of
// the rail. If somebody pays two, both moneys are reported. An order without one for the rail is
// canceled, and the charge is refused. BBVA's machines want the agreement beside the reference: our
// page shows it as the beneficiary.
//
// The stores of cash_in are from order_cash.yml, from the logos of the official checkout
// (conekta/conekta-elements, CheckoutCashProvidersUiDataTest.kt, 2026) and plugin
// (ct-woocommerce-plugin, includes/blocks/payment-instructions.php, 2025-05), and from the page
// developers.conekta.com/docs/cargo-recurrente-efectivo-direct-api: 7-Eleven, Farmacias del Ahorro
// and Círculo K are in all of them. BBVA is in the same sources but that page. That pespay_cash_in
// is paid at 7-Eleven and Farmacias del Ahorro is in the plugin alone: *unproved*.
//
// OXXO is not served. That page named it in version 2.0 and does not any more, the examples of
// events (docs/charge) have lost it too, and the checkout has no logo of it. The plugin still has a
// text for it. Whether some account still gets OXXO is *unproved*.
//
// # Cards
//
// The shopper pays on the checkout's page and may try several cards there. A charge stays
// open until one is paid or the page expires, and only then is it declined, with the last
// reason. The page is open for the shopper's time, and for eleven minutes at least.
//
// Each card that is tried is a charge of the order, with its own failure_code, which order.declined and charge.declined make us read. A
// canceled order is over in our books. That its page takes no card any more is *unproved* (POST /orders/{id}/cancel has no word about it;
// PUT /checkouts/{id}/cancel is of payment links). So a shopper whose card was refused stays on the page.
//
// # Instalments
//
// A checkout has monthly_installments_enabled and the numbers of months as monthly_installments_options, and a charge has the chosen number as
// monthly_installments (checkout_request.yml, charge_order_response.yml; ct-woocommerce-plugin 036a399; conekta_prestashop d74abc9, with 3, 6, 9, 12 and 18
// months). They are meses sin intereses: the shopper pays the amount, and the merchant a higher price (company_current.yml). *Unproved*: the least amount. 100
// pesos a month are those of EBANX and Stripe in Mexico.
//
// # Notifications
//
// DIGEST is the base64 of an RSA signature (PKCS #1 v1.5, SHA-256) of the body, with a key
// that the account makes at /webhook_keys. The signature covers no time: an old
// notification only makes us read the order again, from which all facts come.
//
// # Chargebacks
//
// A chargeback (schemas/chargebacks/chargeback_response.yml, 2026-08-13) has an id, a status, a
// reason, the id of its charge and a deadline for evidence. The charge shows it in GET /orders/{id}
// (charge_response.yml), so it can be queried, and each event of its order reports it. Its own
// events are charge.chargeback.created, updated, under_review, won and lost (mocks/conekta_api.json,
// the list of a webhook's events). Whether they name the order is not documented. If they do not, the
// order is found by the charge: by the search of charges, or among the orders of the time that is in
// the charge's id (so in all examples of that repository). It has no amount, so it is of all that is
// left.
//
// No page explains the statuses. won and lost end it. action_required and rt wait for evidence.
// pending_review, under_review, represented and rt_sent do not. covered is left open, and the
// operator ends it: whether the merchant keeps the money then is *unproved*. A lost one took the
// money back: a query of its order says so.
//
// No call takes evidence: neither the document (82ce68e; chargeback_file_response.yml is a part of answers alone) nor the SDK
// (conekta 9.0.0 for Node, the paths of all its APIs) has one. The operator enters it in the panel.
//
// # Checked
//
// Against github.com/conekta/openapi (82ce68e, 2026-08-13: orders, charges, checkouts, refunds,
// errors, lists), and the pages developers.conekta.com/docs: order, charge (events, which have the
// statuses), reintentos-de-pago (partially_paid), autenticación-webhooks, reembolsar-orden. Error codes
// are from public integrations. A 404 is about an order only with the sentence of
// mocks/conekta_api.json.
//
// Not checked, for lack of an account, and so *unproved*: which accounts get which references of
// cash; whether a checkout's page ends when its order is canceled; which status an order gets when a
// store takes cash back (charge.reversed), so that event counts itself; how an order shows a SPEI
// transfer of another amount. Whatever a paid charge says is money: its amount is reported, also if
// the order is not paid.
package conekta

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/work"
)

const production = "https://api.conekta.io" // for tests too: the key decides

// Credentials.
const (
	apiKey     = "apiKey"
	webhookKey = "webhookPublicKey"
)

// The rails, without those of cash.
const (
	spei = "spei.MEX"
	card = "card.MEX"
)

// Adapter is the adapter for Conekta.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:     "conekta",
		Declines: []provider.Codes{{Field: "the last part of failure_code", Source: "No list of Conekta's could be read: codes of conekta/openapi (82ce68e, 2026-08-13) and of public integrations that name developers.conekta.com/reference/errors, read on 2026-11-28", Table: declines}},
		Fields: []provider.Field{
			{Name: apiKey, Doc: "Panel › Desarrolladores › API Keys › private key (key_…)"},
			{Name: webhookKey, Public: true, Doc: "public_key of the answer to POST /webhook_keys, in PEM; subscribe the events of orders, charge.reversed, cash_refund.* and charge.chargeback.*"},
		},
		Rails: append(append([]string{spei}, provider.Rails(networks, "")...), card),
		Open:  open,
	}
}

// account is a client of one account.
type account struct {
	provider.Account
	base  string
	key   string
	sign  *rsa.PublicKey
	turns work.Turns // by our reference of a charge: one charge or refund at a time
}

func open(a provider.Account) (provider.Provider, error) {
	key, err := a.Credential(apiKey, 200)
	if err != nil {
		return nil, err
	}
	if a.Credentials[webhookKey] == "" {
		return nil, &provider.FieldError{Field: webhookKey, Reason: "is missing"}
	}
	sign := publicKey(a.Credentials[webhookKey])
	if sign == nil {
		return nil, &provider.FieldError{Field: webhookKey, Reason: "is not an RSA public key of 2048 bits or more in PEM"}
	}
	return &account{Account: a, base: a.Base(production, production), key: key, sign: sign}, nil
}

// publicKey reads a PEM, also one that was copied from JSON with literal \n.
func publicKey(text string) *rsa.PublicKey {
	block, _ := pem.Decode([]byte(strings.ReplaceAll(text, `\n`, "\n")))
	if block == nil {
		return nil
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil
	}
	key, isRSA := parsed.(*rsa.PublicKey)
	if !isRSA || key.Size() < 256 {
		return nil
	}
	return key
}

// Check lists one order.
func (a *account) Check(ctx context.Context) error {
	reply, lost := a.call(ctx, http.MethodGet, "/orders?limit=1", nil)
	if lost != nil {
		return errors.New("the provider does not answer: " + lost.Decline)
	}
	var list page
	switch {
	case reply.Status == http.StatusUnauthorized || reply.Status == http.StatusForbidden:
		return errors.New("the key is not valid")
	case reply.Status != http.StatusOK:
		return errors.New("the provider answers " + provider.Refused(reply.Status).Decline)
	case read(reply.Body, &list) != nil || list.Data == nil:
		return errors.New("the provider's answer is not a list of orders")
	}
	return nil
}
