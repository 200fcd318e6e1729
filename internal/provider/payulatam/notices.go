package payulatam

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// hashOf is the signature of a text, in the algorithm that the account chose at PayU. MD5
// is supported because PayU's scheme uses it and old accounts may have nothing else; it is
// used only if the account asks for it.
func hashOf(algorithm, secret string) (func(text string) string, error) {
	switch {
	case secret != "":
		return func(text string) string {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(text))
			return hex.EncodeToString(mac.Sum(nil))
		}, nil
	case algorithm == "", algorithm == "sha256":
		return func(text string) string {
			sum := sha256.Sum256([]byte(text))
			return hex.EncodeToString(sum[:])
		}, nil
	case algorithm == "md5":
		return func(text string) string {
			sum := md5.Sum([]byte(text))
			return hex.EncodeToString(sum[:])
		}, nil
	}
	return nil, errors.New("want sha256 or md5")
}

// A signed text must have only one reading: whoever has seen one hash of key and text can
// extend it, and fields could be moved across their boundaries.
var (
	signedReference = regexp.MustCompile(`^[0-9A-Za-z._:-]{1,255}$`)
	signedValue     = regexp.MustCompile(`^(0|[1-9][0-9]{0,13})(\.[0-9]{1,2})?$`)
	signedCurrency  = regexp.MustCompile(`^[A-Z]{3}$`)
	signedState     = regexp.MustCompile(`^[0-9]{1,3}$`)
)

const mostBody = 64 << 10 // the most bytes of a confirmation

// Notices reads a confirmation: a form that PayU posts when a transaction ends. Only signed
// fields decide; the others explain.
func (c *client) Notices(_ context.Context, n provider.Notification) ([]pay.Notice, error) {
	if len(n.Body) > mostBody {
		return nil, provider.ErrUnsigned
	}
	form, err := url.ParseQuery(string(n.Body))
	if err != nil {
		return nil, provider.ErrUnsigned
	}
	reference, value := form.Get("reference_sale"), form.Get("value")
	currency, state := form.Get("currency"), form.Get("state_pol")
	if !c.signed(form, reference, value, currency, state) {
		return nil, provider.ErrUnsigned
	}
	if test := form.Get("test"); c.account.Live && (test == "1" || test == "true") {
		return nil, errors.New("payulatam: a test's confirmation at a live account")
	}
	o := pay.Outcome{ProviderRef: provider.Exact(form.Get("reference_pol"), 64)}
	switch state {
	case "4":
		local, ok := provider.Major(value, currency)
		if !ok {
			return nil, fmt.Errorf("payulatam: confirmation of %s %s", value, currency)
		}
		o.Kind, o.Local = pay.Approved, local
	case "6", "104":
		o = c.account.Declined(declines, form.Get("response_message_pol"), o.ProviderRef)
	case "5":
		o.Kind = pay.Lapsed
	case "7", "10", "12", "14", "15", "18": // still open; PayU says it does not send these
		return nil, nil
	default:
		c.account.Strange("state_pol", state)
		o.Kind, o.Decline = pay.Unknown, "unknown_status"
	}
	return []pay.Notice{{
		ID: strings.Join([]string{reference, state, value, currency}, ":"), Account: c.account.ID, Reference: reference, Outcome: o, Body: n.Body,
	}}, nil
}

// signed checks the signature of a confirmation, and that each field is there once.
func (c *client) signed(form url.Values, reference, value, currency, state string) bool {
	for _, name := range []string{"merchant_id", "reference_sale", "value", "currency", "state_pol", "sign"} {
		if len(form[name]) != 1 {
			return false
		}
	}
	if !signedReference.MatchString(reference) || !signedValue.MatchString(value) || !signedCurrency.MatchString(currency) || !signedState.MatchString(state) {
		return false
	}
	if form.Get("merchant_id") != c.merchantID {
		return false
	}
	want := c.hash(strings.Join([]string{c.apiKey, c.merchantID, reference, newValue(value), currency, state}, "~"))
	return hmac.Equal([]byte(want), []byte(strings.ToLower(form.Get("sign"))))
}

// newValue is a confirmation's value as the signature has it: with one decimal, or with two
// if the second is not zero.
func newValue(value string) string {
	whole, decimals, _ := strings.Cut(value, ".")
	switch {
	case decimals == "":
		return whole + ".0"
	case len(decimals) == 2 && decimals[1] != '0':
		return whole + "." + decimals
	}
	return whole + "." + decimals[:1]
}
