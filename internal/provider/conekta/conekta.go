// Package conekta speaks to Conekta of Mexico: orders with one charge (SPEI,
// cash at OXXO) or with a hosted checkout (cards). It is a client of one
// account; it keeps nothing and decides nothing about payments.
//
// # References
//
// Ours is in the order's metadata and is the charge's reference_id. What the
// "search" of the orders looks at is not documented, so that it proves nothing:
// an order is found by listing those made since the payment was, until the
// shopper's time is over. Missing says that this list was read to its end and
// had none; a list of more than five thousand is Unknown. With their id an order
// is asked for itself.
//
// The OpenAPI document has the header Idempotency-Key; which calls take it could
// not be seen. It is sent with each charge and refund, and the orders are listed
// before one is made. If a call does not take it, two charges of one reference
// at the same moment make two orders, of which the shopper sees one.
//
// A refund has no field for a reference of ours. Without their id a refund of
// the whole is found by its amount, since there can be only one; a part of the
// same amount is Unknown, and no refund of the amount is Missing. A part that is
// asked for again rests on its key alone: where the key is not taken, or forgotten,
// it is refused where it would exceed what was paid, and cannot be told apart
// otherwise. So the caller repeats one only where it was proved not to have been
// made. For the same want of a name, order.refunded and order.partially_refunded do
// not say which refund they are of, and are not read as one.
//
// # Cards
//
// The shopper pays on the checkout's page and may try other cards there: a
// charge is open until one is paid or the page's time is over, and only then is
// it declined, with the last reason. Pages are open for two days at least, which
// is what the documentation of payment links has, and so longer than we wait:
// Cancel ends them.
//
// # Notifications
//
// DIGEST is the base64 of an RSA signature (PKCS #1 v1.5, SHA-256) of the body,
// with a key that the account makes at /webhook_keys. There is no time in it:
// an old notification only makes us ask for the order again, which is where all
// that is told comes from. Disputes are order.charged_back, and a chargeback's own
// events (charge.chargeback.created, updated, under_review, won and lost) where they
// name the order: their payload is in none of the pages, and one that is seen in
// other people's tests has an order_id. One that does not is left to the operator.
// Their amount is not documented, so a chargeback is of all that is left; no call that
// tells how one stands is documented either.
//
// # Checked
//
// Against github.com/conekta/openapi (orders, charges, checkouts, refunds,
// errors, lists), and the pages developers.conekta.com/docs: order, charge
// (events, which have the status words), autenticación-webhooks,
// reembolsar-orden. Error codes are from public integrations. Not checked, for
// want of an account: what else than "pending" a refund's status is, and so
// every other word is Unknown; which accounts get OXXO references and which
// other networks', for which a reference of another network is refused; whether
// a checkout's page ends when its order is canceled; which status an order gets
// when a cash payment is reversed (charge.reversed).
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
)

const production = "https://api.conekta.io" // also for tests: the key decides

// Credentials.
const (
	apiKey     = "apiKey"
	webhookKey = "webhookPublicKey"
)

// The rails.
const (
	spei = "spei.MEX"
	oxxo = "cash.oxxo.MEX"
	card = "card.MEX"
)

// Adapter is Conekta.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "conekta",
		Fields: []provider.Field{
			{Name: apiKey, Doc: "Panel › Desarrolladores › API Keys › private key (key_…)"},
			{Name: webhookKey, Public: true, Doc: "public_key of the answer to POST /webhook_keys, in PEM; subscribe the order events and charge.chargeback.*"},
		},
		Rails: []string{spei, oxxo, card},
		Open:  open,
	}
}

// account is a client of one account.
type account struct {
	provider.Account
	base string
	key  string
	sign *rsa.PublicKey
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

// publicKey reads a PEM, also one that was copied out of JSON with its \n.
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
	reply, lost := a.call(ctx, http.MethodGet, "/orders?limit=1", nil, "")
	if lost != nil {
		return errors.New("the provider does not answer: " + lost.Decline)
	}
	var list page
	switch {
	case reply.Status == http.StatusUnauthorized || reply.Status == http.StatusForbidden:
		return errors.New("the key is refused")
	case reply.Status != http.StatusOK:
		return errors.New("the provider answers " + provider.Refused(reply.Status).Decline)
	case read(reply.Body, &list) != nil || list.Data == nil:
		return errors.New("the provider answers with something else than orders")
	}
	return nil
}
