// Package adyen takes payments at Adyen: Pix and OXXO with the code shown on our own page,
// cards on Adyen's hosted page.
//
// # Calls
//
//   - Pix, OXXO: POST /payments of the Checkout API, v72.
//   - Cards: a payment link that is valid for one payment. We see no card: Adyen's
//     page collects it and runs the issuer's challenges. A shopper whose card is
//     declined may try another one there until the link expires.
//
// Every call asks Adyen to capture cards at once. Adyen's request schemas are closed: a field that they do not have, or a value that
// is too long, refuses the whole payment.
//
// # What Adyen is told
//
// A repeated call must have the same body, or Adyen refuses it: what is sent is stored with the payment. That leaves out shopperStatement, which
// should have the shop's name: the merchant account's own is on statements. description (280 characters, of links), shopperLocale, telephoneNumber (with + and
// the country's code), metadata (keys of 20 characters, values of 80, which come back in webhooks) and socialSecurityNumber are in CheckoutService-v72 (aa014f0,
// 2026-07-01) and in the types of adyen-node-api-library (3b84a18). es-ES, pt-BR and en-US are languages of Adyen's checkout
// (adyen-web, packages/server/translations, read on 2026-11-28); the list of Pay by Link's could not be read. Left out: lineItems, because the document does not say whether amounts are of one or of all
// of an item, and entityType and company, which no page of these methods has.
//
// # Queries
//
// The Checkout API has no call that finds a payment by our reference, and none that returns
// the state of a payment. A payment link reports only its own status, not the payment that
// was made on it, which a refund needs. So a query repeats the call under its
// Idempotency-Key. If the first call arrived, Adyen repeats its answer. If it did not,
// Adyen now creates what it asked for, which charges nobody by itself. Query therefore
// never returns Missing; notifications report the result of a charge. Adyen keeps a key for
// 7 to 14 days, so after keyLife we do not query any more.
//
// A notification reports the result of a refund too: REFUND, REFUND_FAILED or
// REFUNDED_REVERSED, under the refund's reference. Until then the refund is Awaiting. No
// call lists refunds either. A refund without an answer is queried by repeating the call,
// but not after keyLife: then Adyen would refund again. OXXO payments cannot be refunded.
//
// # What happens without us
//
// A card scheme may refuse a capture days after the payment was approved. Adyen tries it again for ten days or so. Somebody may refund or
// cancel a payment in the Customer Area, with any reference; the reference of the order, which each charge sends, then says which one it
// is. All this is booked as money that went back, or came again, by the event's own reference. For each event that Adyen documents,
// the table of events says what it means.
//
// # Disputes
//
// Only notifications report them. The Disputes API (v30; it needs the role API dispute management) has no call that returns a dispute's
// state: it lists defense reasons, takes documents, defends and accepts. All items of a dispute carry its reference; four kinds of
// rulings do only with a setting of the webhook's, otherwise they count for the payment's open or last dispute. A request for
// information is no dispute: it takes no money. Pix has only such requests, and Adyen answers them. The signature covers the
// amount, but not the status, the deadline and the reason. A second chargeback after an arbitration may be of more than the
// payment, by the scheme's fee: it ends nothing that the arbitration has not ended.
//
// # Evidence
//
// The Disputes API lists the defense reasons of a dispute, each with places for documents, one at each. Defend chooses the reason whose
// places take all our documents and whose required ones are there (papers.go is the table); if there is none, or a file is of
// another type or too large, it refuses, and the operator answers in the Customer Area. Texts become one document, a PDF of ours.
// No call has an idempotency key. Documents can be read back, by their type alone, and a dispute is defended once: so a
// defense that "was made already" is ours only if an earlier call of the same submission may have arrived and Adyen has all its documents.
//
// # What was checked, and where
//
// The Disputes API: DisputeService-v30 of Adyen/adyen-openapi (aa014f0), disputesApi.ts and service.ts of its node library (3b84a18: the hosts), and the
// pages Disputes API and Disputes API reference (2026-05-24: the role, the three sentences of errors). Types and sizes of files: that page as Oracle
// repeats it (Payment Cloud Service, Defend a Chargeback), and Adyen/adyen-platform-experience-web (31a156d, 2026-08-21), Adyen's own component for
// disputes, with its names of reasons and documents.
//
// Requests, answers and their limits: Adyen/adyen-openapi, CheckoutService-v72 (aa014f0, 2026-07-01), and docs.adyen.com, upgrade
// to Checkout API v72. Webhooks: its Webhooks-v1, and these pages of docs.adyen.com as of 2026-09-15: handle webhook
// events, webhook structure and types, verify HMAC signatures, dispute webhooks, dispute flow, Visa chargebacks, capture, failure
// reasons, refund, cancel, payments lifecycle, API idempotency, currency codes (CLP has two decimals there), OXXO, Pix, Pay by Link.
// The signature: the validators of adyen-java-api-library (bca8a14), node (3b84a18), go (fed7311), python (b6f4979), dotnet (ea98c5d) and php
// (6ef9657), which all join the fields without escapes; their vectors are in the tests here.
//
// *Unproved*, for lack of an account at Adyen:
//   - whether sessionValidity bounds an OXXO voucher, and which rails an account in which country gets. Adyen keeps a voucher open for seven
//     days after its due date;
//   - the merchant's reference in notifications of an automatic capture that failed: taken for the payment's. The document requires
//     it; the examples of some pages leave it out, and then the event is not ours;
//   - that the order's reference is in the notifications of modifications that somebody requests in the Customer Area, as the document
//     of webhooks has it. It has none in REFUND_FAILED and CAPTURE_FAILED: of a refund by hand under another reference that fails
//     nobody is told, and only the report's line RefundedReversed shows it;
//   - how Adyen notifies of a refund that failed and was made after all, as its page says that it may: a REFUND that comes again
//     is kept for the operator;
//   - a number before a refusal's reason in a notification ("12: "), which wikimedia's SmashPig cuts off;
//   - what each call of the Disputes API says of a dispute that was defended already, and whether the list of reasons then still has the documents: the
//     sentence is a reseller's (refusals in evidence.go). Any other sentence refuses, and the operator looks;
//   - what a second document at one place does: what is there is deleted first; limits of a card scheme (pages, 3 MB in all) are left to Adyen;
//   - that rulings without an original reference have the payment's, as the setting's page implies.
//
// Boletos (a link may offer them), SPEI and PSE are left out.
//
// # Instalments
//
// installmentOptions of a link has, for cards, the numbers that the shopper may choose (CheckoutService-v72, PaymentLinkRequest and InstallmentOption;
// the same in adyen-node-api-library 3b84a18), and an AUTHORISATION has the chosen one as installments.value (Webhooks-v1). Credit cards of Brazil,
// Mexico and Japan have them (docs.adyen.com, credit card installments, read on 2026-11-28). *Unproved*: the numbers of that page's table, which could not be
// read: 2 to 12 and 3, 6, 9 and 12 are those of EBANX and PPRO in these countries; that 1 among the numbers is paying at once, as in adyen-web; and
// that the shopper pays no interest, as with the plan regular, which is the default. Then the amount stays the payment's.
//
// # The end of a page
//
// PATCH /paymentLinks/{linkId} sets a link to expired: "Shoppers can no longer use the link to make payments" (CheckoutService-v72,
// PaymentLinkResponse, and the same in the types of adyen-node-api-library). That proves that no payment begins on it any more. *Unproved*: what
// becomes of a payment that is under way then, in an issuer's challenge. No call shows it; a notification would report its money.
//
// # The report
//
// cascada reconcile reads the Settlement details report (docs.adyen.com/reporting, its
// structure and sample lines). On every line, Merchant Reference is the charge's; a
// refund's own is in Modification Merchant Reference, an optional column. Dates are in the
// account's time zone.
package adyen

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/provider"
)

const (
	test = "https://checkout-test.adyen.com/v72"
	// The Disputes API has hosts of its own, without a prefix. A base URL replaces them too: no path is in both APIs.
	testDisputes = "https://ca-test.adyen.com/ca/services/DisputeService/v30"
	liveDisputes = "https://ca-live.adyen.com/ca/services/DisputeService/v30"
	// listed is where Adyen lists its reasons of refusals.
	listed = "docs.adyen.com, refusal reasons, read on 2026-11-28. Some of its words are in ApiConstants of adyen-java-api-library (bca8a14, 2026-08-21)"
	// keyLife is shorter than the time for which Adyen keeps an Idempotency-Key.
	keyLife = 6 * 24 * time.Hour
)

// Adapter is the adapter for Adyen.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name: "adyen",
		Declines: []provider.Codes{
			{Field: "refusalReasonCode", Source: listed, Table: declines},
			{Field: "reason of AUTHORISATION, without case and signs", Source: listed, Table: inWords},
		},
		Report: report(),
		Fields: []provider.Field{
			{Name: "apiKey", Doc: "Customer Area, Developers, API credentials: the API key of a web service user with the roles Checkout and API dispute management"},
			{Name: "merchantAccount", Doc: "Customer Area, Settings, Merchant accounts: the account's code", Public: true},
			{Name: "hmacKey", Doc: "Customer Area, Developers, Webhooks, Standard webhook (JSON): the HMAC key, 64 hexadecimal digits"},
			{Name: "livePrefix", Doc: "Customer Area, Developers, API URLs: the prefix of the live endpoints; for a live account", Optional: true, Public: true},
		},
		Rails: []string{
			"pix.BRA", "cash.oxxo.MEX",
			"card.ARG", "card.BRA", "card.CHL", "card.COL", "card.MEX", "card.PER", "card.URY", "card.USA",
		},
		Open: open,
	}
}

// Provider is a merchant account at Adyen.
type Provider struct {
	provider.Account
	base     string
	disputes string // the address of the Disputes API
	key      string
	merchant string
	hmac     []byte
}

func open(a provider.Account) (provider.Provider, error) {
	key, err := a.Credential("apiKey", 4096)
	if err != nil {
		return nil, err
	}
	merchant, err := a.Credential("merchantAccount", 80)
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(merchant, ":"): // a colon separates the signed fields
		return nil, &provider.FieldError{Field: "merchantAccount", Reason: "it has to be the account's code"}
	}
	secret, err := hex.DecodeString(a.Credentials["hmacKey"])
	if err != nil || len(secret) != 32 {
		return nil, &provider.FieldError{Field: "hmacKey", Reason: "it has to be 64 hexadecimal digits"}
	}
	prefix := a.Credentials["livePrefix"]
	if a.Live && a.BaseURL == "" && (prefix == "" || strings.Trim(prefix, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "") {
		return nil, &provider.FieldError{Field: "livePrefix", Reason: "a live account needs it: letters, digits and hyphens"}
	}
	base := a.Base(test, "https://"+prefix+"-checkout-live.adyenpayments.com/checkout/v72")
	return &Provider{Account: a, base: base, disputes: a.Base(testDisputes, liveDisputes), key: key, merchant: merchant, hmac: secret}, nil
}

// Check lists the account's payment methods.
func (p *Provider) Check(ctx context.Context) error {
	var methods struct {
		List []any `json:"paymentMethods"`
	}
	f := p.call(ctx, http.MethodPost, "/paymentMethods", map[string]any{"merchantAccount": p.merchant}, "", &methods)
	switch {
	case f == nil && methods.List != nil:
		return nil
	case f == nil:
		return errors.New("the answer is not the provider's, or the account has no payment methods")
	case f.status == http.StatusUnauthorized:
		return errors.New("the API key is not valid")
	case f.status == http.StatusForbidden:
		return errors.New("the API key has no access to the merchant account")
	}
	return errors.New("the provider does not answer now: " + f.outcome.Decline)
}
