// Package adyen takes payments at Adyen: Pix and OXXO with the code shown on our own page,
// cards on Adyen's hosted page.
//
// # Calls
//
//   - Pix, OXXO: POST /payments of the Checkout API.
//   - Cards: a payment link that is valid for one payment. We see no card: Adyen's
//     page collects it and runs the issuer's challenges. A shopper whose card is
//     declined may try another one there until the link expires.
//
// Every call asks Adyen to capture cards at once.
//
// # Queries
//
// The Checkout API has no call that finds a payment by our reference, and none that returns
// the state of a payment. A payment link reports only its own status, not the payment that
// was made on it, which a refund needs. So a query repeats the call under its
// Idempotency-Key. If the first call arrived, Adyen repeats its answer. If it did not,
// Adyen now creates what it asked for, which charges nobody by itself. Query therefore
// never returns Missing; notifications report the result of a charge. Adyen keeps a key for
// 7 days (some pages say 31), so after keyLife we do not query any more.
//
// A notification reports the result of a refund too: REFUND, REFUND_FAILED or
// REFUNDED_REVERSED, under the refund's reference. Until then the refund is Awaiting. No
// call lists refunds either. That a refund of the Customer Area is notified, with the payment's reference in the
// place of a refund's, is *unproved*: the
// service finds no refund of ours under it, and books it as the provider's own. A refund without an answer is queried by repeating the call,
// but not after keyLife: then Adyen would refund again.
//
// # Disputes
//
// Only notifications report them: the Checkout API has no call for disputes, and the
// Disputes API needs other credentials. All items of a dispute carry its reference
// (docs.adyen.com, dispute webhooks), also those of its second instance: SECOND_CHARGEBACK,
// PREARBITRATION_WON and PREARBITRATION_LOST. The signature covers the amount, but not the
// deadline and the reason.
//
// # What was checked, and where
//
// Calls, fields, result codes and the states of a link: Adyen's Checkout API, v71, in
// excerpts from the API explorer and the SDKs. The signature of notifications:
// adyen-node-api-library, whose test vector is in the tests here. Currencies:
// docs.adyen.com, currency codes: CLP has two decimals there. Idempotency: docs.adyen.com,
// API idempotency. Pix and OXXO: their API-only pages.
//
// Not checked, for lack of an account at Adyen: whether sessionValidity bounds an OXXO
// voucher, and which rails an account in which country gets. Boletos are left out:
// /payments requires the shopper's street address, and no document says whether a link
// takes boletos. SPEI and PSE are left out too.
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
	// keyLife is shorter than the time for which Adyen keeps an Idempotency-Key.
	keyLife = 6 * 24 * time.Hour
)

// Adapter is the adapter for Adyen.
func Adapter() provider.Adapter {
	return provider.Adapter{
		Name:   "adyen",
		Report: report(),
		Fields: []provider.Field{
			{Name: "apiKey", Doc: "Customer Area, Developers, API credentials: the API key of a web service user with the role Checkout"},
			{Name: "merchantAccount", Doc: "Customer Area, Settings, Merchant accounts: the account's code", Public: true},
			{Name: "hmacKey", Doc: "Customer Area, Developers, Webhooks, Standard webhook: the HMAC key, 64 hexadecimal digits"},
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
	return &Provider{Account: a, base: base, key: key, merchant: merchant, hmac: secret}, nil
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
