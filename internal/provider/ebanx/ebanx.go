// Package ebanx is the payin side of EBANX. It takes no card numbers and makes no
// payouts.
//
// Pix, SPEI and OXXO are made by /ws/direct and shown on our page. Cards, PSE and
// PagoEfectivo, and boletos, for which EBANX wants an address that we do not ask
// for, are made by /ws/request and paid on EBANX's page.
//
// Checked against EBANX's documentation (docs.ebanx.com: retrieve, cancel and
// refund a payment, payment notifications, API error codes, card and APM response
// codes, the Pix and SPEI guides, the refund report; developers.ebanx.com: the
// references of request, direct, cancel and refund, notifications), its SDK for
// PHP (ebanx/benjamin, with the replies in its tests) and its WooCommerce plugin
// (payment.pix.qr_code_value): fields, types, statuses, methods.
//
// A merchant_payment_code is taken once, so a charge made twice is refused with
// BP-DR-0 and becomes a question. Refunds have no such rule: their
// merchant_refund_code is "not enforced as unique" (refund report). We look for
// ours first; what remains is two calls for the same refund at the same moment,
// which the lease of a claim keeps apart. The code has room for 20 characters, so
// a longer reference of ours is hashed; it stands whole in the description. By that
// one a notification of refunds, which names the payment alone and comes when one is
// pending and when it is confirmed (guide: refund a Pix Automático payment), is told
// of each that is ours.
//
// A chargeback has no id, amount or deadline in a notification, and cannot be asked
// for: it is taken for one of all that is left, and what is told again after its end
// waits for the operator.
//
// Not checked, since only an account can tell:
//   - the code of a payment that is not there: the excerpts of the list of codes
//     end before it. The message has to say that the payment is not found, with a
//     code that is not of the credentials (BP-SA); anything else is Unknown;
//   - which of BP-REF mean that a refund will never be: all are taken to;
//   - the end of the list of response codes: what is not in it is a hard decline,
//     and is told of;
//   - whether a payment that is asked for still carries its page's address;
//   - which decimals EBANX takes of the Colombian peso: they are sent as they are;
//   - the spelling of the signature's header, X-SignatureContent in the reference
//     and X-Signature-Content in the guide and in PHP: both are read.
//
// A notification has no time, and so no age. One that is sent again by somebody
// else only makes us ask again.
package ebanx

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/provider"
)

const (
	production = "https://api.ebanx.com"
	sandbox    = "https://sandbox.ebanx.com"
)

// method is how EBANX knows a rail.
type method struct {
	code    string // payment_type_code; several with commas on EBANX's page
	country string
	direct  bool // by /ws/direct; else on EBANX's page
}

// methods are the rails that EBANX's documentation has a code for.
var methods = map[string]method{
	"pix.BRA":               {"pix", "br", true},
	"boleto.BRA":            {"boleto", "br", false},
	"card.BRA":              {"visa,mastercard,amex", "br", false},
	"card.elo.BRA":          {"elo", "br", false},
	"card.hipercard.BRA":    {"hipercard", "br", false},
	"spei.MEX":              {"spei", "mx", true},
	"cash.oxxo.MEX":         {"oxxo", "mx", true},
	"card.MEX":              {"visa,mastercard,amex", "mx", false},
	"card.carnet.MEX":       {"carnet", "mx", false},
	"bank.pse.COL":          {"eft", "co", false},
	"card.COL":              {"visa,mastercard,amex", "co", false},
	"cash.pagoefectivo.PER": {"pagoefectivo", "pe", false},
}

// Adapter is EBANX.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "ebanx",
		Fields: []provider.Field{
			{Name: "integrationKey", Doc: "EBANX Dashboard, Account Settings, Integrations: the integration key of the environment"},
			{Name: "certificate", Doc: "docs.ebanx.com, Payment Notification: the public certificate that notifications are checked with, as PEM", Public: true},
		},
		Rails: provider.Rails(methods, "pix.BRA"),
		Open:  open,
	}
}

// account is a merchant's account.
type account struct {
	provider.Account
	base   string
	key    string
	notary *rsa.PublicKey // signs notifications
}

func open(a provider.Account) (provider.Provider, error) {
	key, err := a.Credential("integrationKey", 100)
	if err != nil {
		return nil, err
	}
	notary, err := publicKey(a.Credentials["certificate"])
	if err != nil {
		return nil, &provider.FieldError{Field: "certificate", Reason: err.Error()}
	}
	return &account{Account: a, base: a.Base(sandbox, production), key: key, notary: notary}, nil
}

// publicKey reads a PEM certificate, or a bare public key. The certificate's dates
// do not matter: it is pinned.
func publicKey(text string) (*rsa.PublicKey, error) {
	if text == "" {
		return nil, errors.New("it is missing")
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	var key any
	if c, err := x509.ParseCertificate(block.Bytes); err == nil {
		key = c.PublicKey
	} else if key, err = x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		return nil, errors.New("it is neither a certificate nor a public key")
	}
	notary, ok := key.(*rsa.PublicKey)
	if !ok || notary.Size() < 128 {
		return nil, errors.New("its key is not RSA of at least 1024 bits")
	}
	return notary, nil
}

// Check asks for a payment that nobody has made.
func (a *account) Check(ctx context.Context) error {
	got, failed := a.post(ctx, "/ws/query", map[string]any{"merchant_payment_code": "cascada-check"})
	switch {
	case failed != nil:
		return errors.New("there is no answer: " + failed.Decline)
	case strings.HasPrefix(got.Code, "BP-SA"):
		return errors.New("the integration key is not known")
	case !got.missing() && got.Status != "SUCCESS":
		return errors.New("the answer does not say whether the key is known")
	}
	return nil
}
