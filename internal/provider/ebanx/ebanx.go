// Package ebanx charges and pays out at EBANX. It takes no card numbers.
//
// Pix, SPEI and OXXO are made by /ws/direct and shown on our page. Cards, PSE, PagoEfectivo, SafetyPay, Servipag, Webpay
// and boletos are made by /ws/request and paid on EBANX's page; for boletos EBANX requires
// an address that we do not ask for.
//
// Servipag and Webpay: codes in developers.ebanx.com (create a payment, Chile) and in the SDK (f2f0cd8, also as gateways of
// Chile with CLP), both still in docs.ebanx.com (overview of Chile). SafetyPay: developers.ebanx.com (create a
// payment, Peru), where the page lets the shopper choose cash or bank; docs.ebanx.com (overview of Peru, with PEN), the SDK and the plugin
// for WooCommerce (7d56be0) sell it there too, and the code safetypay of the page is in that guide alone. The page needs no
// document for them: docs.ebanx.com calls it optional in both countries. All read on 2026-11-28.
//
// Left out: Baloto, Multicaja and Sencillito, which the newer overviews do not list; Nequi, Yape, Bre-B, DEBIN, Botón Bancolombia, Efecty
// and MACH, which the guides make by /ws/direct with fields of their own; PagosNet, Rapipago and Pago Fácil, whose guides
// ask for an address, and of which no source shows that /ws/request takes them.
//
// Checked against EBANX's documentation (docs.ebanx.com: retrieve, cancel and refund a
// payment, payment notifications, API error codes, card and APM response codes, the Pix and
// SPEI guides, the refund report; developers.ebanx.com: the references of request, direct,
// cancel and refund, notifications), its SDK for PHP (ebanx/benjamin, with the replies in
// its tests) and its WooCommerce plugin (payment.pix.qr_code_value): fields, types,
// statuses, methods.
//
// EBANX accepts a merchant_payment_code once, so a second charge is refused with BP-DR-0
// and becomes a query. Refunds have no such rule: their merchant_refund_code is "not
// enforced as unique" (refund report). So we search for ours first; the lease of a claim
// prevents two calls for the same refund at the same moment. A refund that was called counts as missing
// if the list does not have it five minutes after the last call; how soon it has it is *unproved*. The code has room for 20
// characters, so a longer reference of ours is hashed; the description has it in full. No page names a rail
// without refunds: for payments without a card, and for a part of some cards' payments, EBANX asks the shopper for an account by
// e-mail (ayuda.ebanx.com).
//
// A payer with a CNPJ is a company: person_type business, and on /ws/direct the person responsible for the
// payment, without whom EBANX refuses it (BP-DR-42 to 44; developers.ebanx.com, translations of errors). We know
// one name and one document, and send them as both, as EBANX's plugin for WooCommerce does (7d56be0,
// WC_EBANX_Payment_Adapter; read on 2026-11-28). BP-DR-44 asks for a CPF: whether every account takes a CNPJ there is
// *unproved*. A CNPJ may have letters since July 2026 (docs.ebanx.com, alphanumeric CNPJ).
//
// What the shop and the shopper are shown, and what is scored: order_number, note ("will be shown along with payment details"), items and the
// telephone, by EBANX's SDK for PHP (f2f0cd8, PaymentAdapter and RequestAdapter) and IXOPAY's list of the direct operation's fields with their lengths
// (2026-06-15); ActiveMerchant (ca45b1b) cuts the order's number to the same 40 characters. The page's call has no note, and its items and the
// document are in the SDK's JSON or not at all, so they are not in the form. Items are sent as a list, as IXOPAY has them; the SDK sends an object
// with numbers as names. document_type has words for Argentina and Colombia alone, where nothing is made by /ws/direct. The soft descriptor belongs to
// a card's number, sub_acc_name to a marketplace's shops: neither is sent. No call has the language.
//
// A key that EBANX does not know is refused with HTTP status 200 and DA-1 (recorded by ActiveMerchant), BP-SA-1 or
// BP-SA-2: the account is unavailable.
//
// Not checked, because only an account can show it:
//   - the code for a missing payment: the excerpts of the list of codes end before it. The
//     message has to say that the payment is not found, with a code that is not about
//     credentials; anything else is Unknown;
//   - which BP-REF codes mean that a refund can never be made: we assume all but BP-REF-1, which
//     is about a missing parameter;
//   - which BP-DR codes leave a payment behind: its sandbox can play some that do (system failures). We take
//     each for a refusal: a payment of ours that nobody has seen cannot be paid;
//   - the end of the list of response codes: an unlisted code is a hard decline, and is
//     reported;
//   - whether the answer to a query still has the address of the payment's page;
//   - which decimals EBANX accepts for the Colombian peso: we send them as they are;
//   - the spelling of the signature's header, X-SignatureContent in the reference and
//     X-Signature-Content in the guide and in PHP: both are read.
//
// A notification has no time, so it cannot be too old. A replay by somebody else only
// causes another query.
//
// # Tries on EBANX's page
//
// A payment shows its last try alone, as transaction_status, without an id or a time (the zone of status_date is in no page). A
// refusal ends the payment as CA: a payment goes from OP to PE or CA, and from PE to CO or CA (OpenAPI document, 40f35de, query), and
// ActiveMerchant recorded CA after a refusal by /ws/direct. That the page does not let the shopper go on is *unproved*: a payment that
// is still open after a refusal stays open, and the refusal is a try.
//
// A page can be ended: /ws/cancel takes payments that are OP or PE, and makes them CA, which ends them (docs.ebanx.com, cancel
// a payment, read on 2026-11-28; OpenAPI document). Any other answer proves nothing. What becomes of a card that is
// being charged at that moment is *unproved*: money that comes then is late money.
//
// # Installments
//
// The page lets the shopper choose among installments from 1 to a number ("X-Y": EBANX's OpenAPI document of its reference, 40f35de, ws/request;
// the SDK, RequestAdapter, f2f0cd8); without the field it is 1 (the same document, query). The numbers by country are from both:
// to 12 in Brazil, to 6 with Elo and American Express; 3, 6, 9 and 12 in Mexico; to 36 in Colombia. So are the least amounts of one: 5
// BRL, 100 MXN (the SDK alone). Where EBANX sets the interest, in Brazil and Mexico, the amount that is sent has it "already
// applied", and elsewhere the issuer adds its own (docs.ebanx.com, installments, read on 2026-11-28). We send the
// payment's amount: so shoppers in Brazil and Mexico pay no interest, and no number is offered there that the terms do not make
// free of it. That the page adds nothing of its own under some contract is *unproved*; another amount would be held for the
// operator. The account needs installments enabled. An answer has the count, not the parts.
//
// # What moves money without us
//
// A notification names payments, which are then queried. All that it reports, and what becomes of it:
//
//	update             CO         booked
//	                   CA         the charge ends; if it was paid: the operator's task
//	                   OP, PE     nothing new: no money moved
//	refund             CO, RE, PE booked: of our claim, or (made in EBANX's dashboard) as money that goes back
//	                   CA         the claim is refused; money that was to go back comes back
//	chargeback                    a dispute about all that is left
//	chargeback_credit             the dispute is won
//	another type, operation or status: the operator's task, such as a bank's request to return a Pix
//	without hashes: nothing, such as an enrollment
//
// Sources, read on 2026-11-28: docs.ebanx.com, payment notifications, chargeback report, refund a payment, refund a
// Pix Automático payment; developers.ebanxpagamentos.com, notifications. A chargeback has no id, amount or deadline,
// and no call to query it. Its report has one amount, of what was not refunded, and says of money that came back only
// that it did. So a chargeback that is lost is never reported: our own deadline ends it. A second chargeback of the same payment
// looks like a repetition of the first: the report alone has it.
//
// A refund is notified when it is pending and when it is confirmed, so one of the dashboard's that is canceled later is
// found only by a query. By its description we report each refund that is ours; others are reported with the whole list. If the payment
// has no refund yet, the notification has to come again. That the list has the dashboard's, and that the payment stays CO, is *unproved*; so are notices of a bank's request to
// return a Pix, which only a third party names (api-evangelist).
//
// # Payouts
//
// A payout is two calls: /ws/payout/create orders it, and /ws/payout/commit releases it
// without waiting for the end of its cancellation period. Our reference is the
// external_reference, which EBANX accepts once: a second order is refused with HP-CM-03,
// and then the existing payout is continued. An open payout (OP) waits for another Send,
// which commits it if it is as we ordered it: amount, currency, document and CLABE are
// compared if EBANX shows them. A query commits nothing.
//
// EBANX refuses with HTTP status 200 too, so the type of an answer counts: success means
// done; invalid_request_error with a code (HP-...) and authentication_error mean that the
// call did nothing; api_error and request_error prove nothing. A refusal says something
// only about its own call: after the first call, we search for the payout before we report
// a refusal. A refused key, or a call that never left, is proof only if there was no
// earlier call.
//
// A holder's CNPJ may have letters: EBANX takes them in each field document (docs.ebanx.com, alphanumeric CNPJ, read on
// 2026-11-28). A Pix key that is one is refused before the call: createPixPayoutBR has fourteen digits.
//
// Rails: pix.BRL to a Pix key (target pix_key) and spei.MXN to a CLABE (bank_details). Each
// needs the payee's name, document and email address, which are mandatory (createPayee; the
// SDK requires the document too). Other countries are left out: Colombia, Chile and Peru
// require a bank's name and account types that no copy of their pages shows in full (Peru
// also whether the payout is B2B or B2C); for Argentina, the list of fields besides the CBU
// is cut off (createPayoutAR; HP-CM-27 has the CBU in bank_details).
//
//   - PE is on its way, PA is paid, CA is canceled. If the reason of CA does not lie with
//     the beneficiary, another account may pay. CA without a reason may be a person's
//     decision, so the payout is rejected. CA with a paid_date is for the operator: the
//     report mentions reverted payouts, but no status for them is documented.
//   - The amount is local_amount_total, else request_amount. In the one example both are
//     equal, beside a local_tax_amount.
//   - Absence is proved only by EBANX's own answer, five minutes after the last Send: an
//     invalid_request_error whose message begins with "payout" and says "not found". Its
//     code is not documented. Any other refusal of a query is unknown, and its code is
//     shown to the operator. If the payout is sent again for that reason, EBANX still
//     accepts it only once (HP-CM-03).
//   - Notifications are signed with the key for all customers and name hash codes, so each
//     payout is queried. The field's name is cut off in the documents: we read each field
//     with "hash" in its name. A notification that begins with operation=payment is about a
//     charge.
//
// Checked in docs.ebanx.com and developer.ebanx.com (payout: createPixPayoutBR,
// createPayoutMX, createPayoutRegisteredPayee, createPayee, consultPayout, cancel-payout,
// consultBalance, notification, payoutErrorCodes to HP-CM-30, canceledErrors, countries;
// reports/payouts-report), developers.ebanx.com (API reference of cancel, transfer-commit
// and transfer-search: hosts, types of answers, lengths, the cancellation period) and the
// SDK for Ruby (hosts, paths, commit by uid or external_reference). From a third party
// (juspay/hyperswitch): commit accepts JSON, and answers success with a message.
//
// Only a real account can show: whether an uncommitted order proceeds by itself, and the
// answer to a second commit (then the payout counts as accepted); the words and the code
// for a missing payout; how soon a new one is found; whether HP-CM-30 is the balance, and
// whether commit refuses for it; whether a phone number is mandatory (none is sent);
// whether a random Pix key is accepted without its hyphens, as "thirty-two alphanumeric
// digits" suggests (if not, another account may pay it); whether a balance without a
// currency is the one that pays; the fields of notifications; which host a key belongs to
// (newer pages have sandbox.ebanx.com).
package ebanx

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"

	"github.com/cascadapay/cascada/internal/provider"
)

const (
	production = "https://api.ebanx.com"
	sandbox    = "https://sandbox.ebanx.com"
)

// method is EBANX's name for a rail.
type method struct {
	code    string // payment_type_code; several with commas on EBANX's page
	country string
	direct  bool // by /ws/direct; else on EBANX's page
}

// methods are the rails for which EBANX's documentation has a code.
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
	"voucher.safetypay.PER": {"safetypay", "pe", false},
	"cash.servipag.CHL":     {"servipag", "cl", false},
	"card.webpay.CHL":       {"webpay", "cl", false},
}

// Adapter is the adapter for accounts at EBANX that take payments.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "ebanx",
		Declines: []provider.Codes{{Field: "transaction_status: description_code, or description of a card", Table: declines,
			Source: "docs.ebanx.com, APM and card response codes, as far as the copies go, read on 2026-11-28"}},
		Fields: []provider.Field{
			{Name: "integrationKey", Doc: "EBANX Dashboard, Account Settings, Integrations: the integration key of the environment"},
			{Name: "certificate", Doc: "docs.ebanx.com, Payment Notification: the public certificate that verifies notifications, as PEM", Public: true},
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
	notary *rsa.PublicKey // verifies notifications
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

// Check queries a payment that does not exist.
func (a *account) Check(ctx context.Context) error {
	got, failed := a.post(ctx, "/ws/query", map[string]any{"merchant_payment_code": "cascada-check"})
	switch {
	case failed != nil && failed.Decline == wrongKey:
		return errors.New("the integration key is not known")
	case failed != nil:
		return errors.New("there is no answer: " + failed.Decline)
	case !got.missing() && got.Status != "SUCCESS":
		return errors.New("the answer does not show whether the key is known")
	}
	return nil
}
