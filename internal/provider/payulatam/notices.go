package payulatam

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// hashes are PayU's signatures of a text whose first field is the API key.
var hashes = map[string]func(text string) string{
	"md5":    func(text string) string { sum := md5.Sum([]byte(text)); return hex.EncodeToString(sum[:]) },
	"sha1":   func(text string) string { sum := sha1.Sum([]byte(text)); return hex.EncodeToString(sum[:]) },
	"sha256": func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) },
}

// signatures are how we sign an order, and how a confirmation may be signed.
//
// With a secret key only its HMAC counts: the API key alone, which every call carries, must not be enough for
// a confirmation. Without it any of the hashes is accepted, whichever one PayU uses for an account. That makes
// none easier to forge: all are of the same key and text, the text has one reading, and whoever does not
// know the key would need a second preimage behind an unknown prefix, which no attack on MD5 or SHA-1 gives.
func signatures(algorithm, secret string) (order func(text string) string, confirmation []func(text string) string, err error) {
	if secret != "" {
		keyed := func(text string) string {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(text))
			return hex.EncodeToString(mac.Sum(nil))
		}
		return keyed, []func(string) string{keyed}, nil
	}
	if algorithm == "" {
		algorithm = "md5"
	}
	order, known := hashes[algorithm]
	if !known {
		return nil, nil, errors.New("want md5, sha1 or sha256")
	}
	return order, slices.Collect(maps.Values(hashes)), nil
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
// fields decide; the others explain. Money that came in is looked up: the order that got it is not signed, and
// there may be two.
//
// Errors: provider.ErrUnsigned, and provider.ErrUnreachable if the money cannot be looked up.
func (c *client) Notices(ctx context.Context, n provider.Notification) ([]pay.Notice, error) {
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
		code := form.Get("response_message_pol")
		o = c.account.Declined(declines, code, o.ProviderRef)
		o.Tries = try(form.Get("transaction_id"), 0, o, code) // the zone of its date is not documented
	case "5":
		o.Kind = pay.Lapsed
	case "7", "10", "12", "14", "15", "18": // still open; PayU says it does not send these
		return nil, nil
	default:
		c.account.Strange("state_pol", state)
	}
	told := pay.Notice{
		ID: strings.Join([]string{reference, state, value, currency}, ":"), Account: c.account.ID, Reference: reference, Outcome: o, Body: n.Body,
	}
	switch o.Kind {
	case pay.Declined: // an order may have several transactions that are refused
		if len(o.Tries) > 0 {
			told.ID += ":" + o.Tries[0].ID
		}
	case pay.Approved:
		if err := c.lookUp(ctx, &told); err != nil {
			return nil, err
		}
	case "":
		told = provider.Puzzling(told, "unknown_status")
	}
	return []pay.Notice{told}, nil
}

// lookUp adds which orders got the money. What is signed is the same for each order of a reference, so a confirmation counts only once
// the report shows the money of its order. The report may be minutes late: until then, PayU has to send it again.
//
// Errors: provider.ErrUnreachable.
func (c *client) lookUp(ctx context.Context, told *pay.Notice) error {
	orders, failed := c.orders(ctx, told.Reference)
	if failed != nil {
		return fmt.Errorf("payulatam: orders of the confirmation: %w", provider.ErrUnreachable)
	}
	o := c.standing(provider.Request{Reference: told.Reference}, orders)
	paid := o.Kind == pay.Approved || o.Kind == pay.Reversed
	also := slices.ContainsFunc(o.Also, func(other pay.Money) bool { return other.ProviderRef == told.Outcome.ProviderRef })
	if !paid || o.ProviderRef != told.Outcome.ProviderRef && !also {
		return fmt.Errorf("payulatam: order of the confirmation, which is not paid yet: %w", provider.ErrUnreachable)
	}
	told.Outcome = o
	told.ID += ":" + o.MoneyRef
	for _, other := range o.Also {
		told.ID += "+" + other.Ref
	}
	if o.Kind == pay.Reversed {
		told.ID += ":" + string(o.Kind)
	}
	return nil
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
	text := strings.Join([]string{c.apiKey, c.merchantID, reference, newValue(value), currency, state}, "~")
	sign := []byte(strings.ToLower(form.Get("sign")))
	return slices.ContainsFunc(c.confirms, func(hash func(string) string) bool { return hmac.Equal([]byte(hash(text)), sign) })
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
