// Package ebanx charges and pays out at EBANX. It takes no card numbers.
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
//
// # Payouts
//
// A payout is two calls: /ws/payout/create orders it, and /ws/payout/commit lets it go before
// the time in which it can be canceled is over. Our reference is the external_reference, which
// EBANX takes once: a second order is refused with HP-CM-03, and then the payout that is there
// goes on where it stands. One that is open (OP) waits for another Send, which commits it as it
// was ordered: amount, currency, document and CLABE are compared as far as EBANX shows them. A
// question commits nothing.
//
// EBANX refuses with HTTP status 200 too, so the type of an answer counts: success did what it
// should, invalid_request_error with a code (HP-...) did nothing, authentication_error did
// nothing as long as the key is refused, and api_error and request_error prove nothing. A
// refusal tells of its own call alone: after the first call, the payout is looked for before a
// refusal is told. The first of an account's, or a call that never left, is proof where no call
// went before it.
//
// Rails: pix.BRL to a Pix key (target pix_key) and spei.MXN to a CLABE (bank_details). Each needs
// the payee's name, document and email address, which are mandatory (createPayee; the SDK wants
// the document too). Other countries are left out: Colombia, Chile and Peru want a bank's name
// and words for account types that no copy of their pages shows whole (Peru also whether the
// payout is B2B or B2C), and which fields beside the CBU an account in Argentina needs is cut
// off (createPayoutAR; HP-CM-27 has the CBU in bank_details).
//
//   - PE is on its way, PA is paid, CA is canceled. A reason of CA whose fault is not the
//     beneficiary's lets another account pay. One without a reason may be a person's decision,
//     so it is rejected. CA of a payout that has a paid_date is for the operator: the report
//     speaks of reverted payouts, and no status of one is documented.
//   - The amount is local_amount_total, else request_amount. In the one example both are equal,
//     beside a local_tax_amount.
//   - Absence is proved by EBANX's word alone, five minutes after the last Send: an
//     invalid_request_error whose message begins with "payout" and says "not found". Its code is
//     in no document. Any other refusal of a question is unknown, and the operator is told its
//     code. A payout that is sent again for it is still taken once (HP-CM-03).
//   - Notifications are signed with the key of all customers and name hash codes, so each payout
//     is asked for. How the field is called is cut off: each whose name has "hash" in it is read.
//     One that begins with operation=payment is of a charge.
//
// Checked in docs.ebanx.com and developer.ebanx.com (payout: createPixPayoutBR, createPayoutMX,
// createPayoutRegisteredPayee, createPayee, consultPayout, cancel-payout, consultBalance,
// notification, payoutErrorCodes to HP-CM-30, canceledErrors, countries; reports/payouts-report),
// developers.ebanx.com (API reference of cancel, transfer-commit and transfer-search: hosts, types
// of answers, lengths, the time in which a payout can be canceled) and the SDK for Ruby (hosts,
// paths, commit by uid or external_reference). That commit takes JSON and answers success with a
// message is known from a third party (juspay/hyperswitch).
//
// Only a real account can tell: whether an order that is not committed goes on by itself, and what
// a second commit answers (the payout is accepted then); the words and the code of a payout that
// is not there; how soon a new one is found; whether HP-CM-30 is the balance, and whether commit
// refuses for it; whether a phone number is mandatory (none is sent); whether a random Pix key is
// taken without its hyphens, as "thirty-two alphanumeric digits" reads (where it is not, another
// account may pay it); whether a balance without a currency is the one that pays; the fields of
// notifications; which host a key belongs to (newer pages have sandbox.ebanx.com).
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
	c, err := newAccount(a, sandbox, production)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func newAccount(a provider.Account, test, live string) (*account, error) {
	key, err := a.Credential("integrationKey", 100)
	if err != nil {
		return nil, err
	}
	notary, err := publicKey(a.Credentials["certificate"])
	if err != nil {
		return nil, &provider.FieldError{Field: "certificate", Reason: err.Error()}
	}
	return &account{Account: a, base: a.Base(test, live), key: key, notary: notary}, nil
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
