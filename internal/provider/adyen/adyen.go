// Package adyen takes payments at Adyen: Pix and OXXO with the code shown on our
// own page, cards on Adyen's hosted one.
//
// # What is asked of Adyen
//
//   - Pix, OXXO: POST /payments of the Checkout API.
//   - Cards: a payment link, good for one payment. We see no card; Adyen's page
//     asks for it and plays the issuer's challenges, and whoever is declined may
//     try another card there until the link expires.
//
// Cards are to be captured at once, which every call asks for.
//
// # Adyen cannot be asked
//
// The Checkout API has no call that finds a payment by our reference, and none
// that tells how one stands; a payment link tells only its own status, and not
// which payment was made on it, which a refund needs. So a question repeats the
// call under its Idempotency-Key: where the first one arrived it gives the first
// answer, and where it did not, it makes now what was asked for then, which
// charges nobody by itself. Query therefore never says Missing, and what became
// of a charge is for notifications to tell. Adyen keeps a key for 7 days (some
// pages say 31), so after keyLife a question is not asked any more.
//
// A refund is told of by a notification too: REFUND, REFUND_FAILED and
// REFUNDED_REVERSED, under the refund's reference. Until then it is Awaiting. No
// call lists refunds either: one that was never answered is asked about by
// repeating it, and not after keyLife, when it would pay out twice.
//
// # Disputes
//
// They are told of by notifications alone: the Checkout API has no call for them, and
// the Disputes API has other credentials. All items of a dispute have its reference
// (docs.adyen.com, dispute webhooks), also of its second instance: SECOND_CHARGEBACK,
// PREARBITRATION_WON and PREARBITRATION_LOST. The amount is signed; deadline and
// reason are not.
//
// # What was checked, and where
//
// Calls, fields, result codes and the states of a link: Adyen's Checkout API, v71,
// as excerpts of the API explorer and the SDKs have it. The signature of notifications:
// adyen-node-api-library, whose test vector is in the tests here. Currencies:
// docs.adyen.com, currency codes: CLP has two decimals there. Idempotency:
// docs.adyen.com, API idempotency. Pix and OXXO: their API-only pages.
//
// Not checked against Adyen itself, for want of an account: whether
// sessionValidity bounds an OXXO voucher, which rails an account of which country
// is given. Boletos are left out: /payments wants the shopper's street address,
// and whether a link takes boletos is not written. So are SPEI and PSE.
//
// # The report
//
// cascada reconcile reads the Settlement details report (docs.adyen.com/reporting,
// its structure and sample lines). Merchant Reference is of the charge on every
// line; a refund has its own in Modification Merchant Reference, a column that one
// may add. Dates are in the account's time zone.
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
	test = "https://checkout-test.adyen.com/v71"
	// keyLife is less than what Adyen keeps an Idempotency-Key for.
	keyLife = 6 * 24 * time.Hour
)

// Adapter is what the operator may open accounts at.
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
	case strings.Contains(merchant, ":"): // which joins what is signed
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
	base := a.Base(test, "https://"+prefix+"-checkout-live.adyenpayments.com/checkout/v71")
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
		return errors.New("the API key has no right to the merchant account")
	}
	return errors.New("the provider cannot be asked now: " + f.outcome.Decline)
}
