package payulatam

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Whatever form is posted: only what was signed is read, with its own meaning.
func FuzzForgedNotices(f *testing.F) {
	c := fuzzed(f)
	form := url.Values{"merchant_id": {testMerchant}, "reference_sale": {"01M7ZFUZZ-1"}, "value": {"150.00"}, "currency": {"USD"}, "state_pol": {"4"}, "reference_pol": {"1"}}
	good := string(confirmation(c.hash, form).Body)
	f.Add([]byte(good))
	f.Add([]byte(good + "&value=1.00"))
	f.Add([]byte(strings.Replace(good, "150.00", "151.00", 1)))
	f.Add([]byte(strings.Replace(good, "150.00", "150.01", 1)))
	f.Add([]byte(strings.Replace(good, "150.00", "150", 1)))
	f.Add([]byte("merchant_id=508029&reference_sale=X-1&value=1&currency=USD&state_pol=4&sign="))
	f.Add([]byte("%zz"))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := c.Notices(context.Background(), provider.Notification{Body: body})
		providertest.Sound(t, list, err)
		for _, told := range list {
			id := strings.Split(told.ID, ":") // with what was signed
			if told.Reference != "01M7ZFUZZ-1" || told.Outcome.Kind != pay.Approved || len(id) != 5 || newValue(id[2]) != "150.0" || id[3] != "USD" {
				t.Errorf("it is not signed, but read: %+v", told)
			}
		}
	})
}

func fuzzed(f *testing.F) *client {
	return providertest.Offline(f, Adapter(), credentials("secretKey", testSecret),
		providertest.Says(http.StatusOK, reported("01M7ZFUZZ-1", "CAPTURED", charged("150", "USD")))).(*client)
}

// Whatever PayU signed is read, and never as an invalid amount. A form with a repeated field is refused,
// because it is unclear which of the values is signed.
func FuzzSignedNotices(f *testing.F) {
	for _, state := range []string{"4", "5", "6", "7", "104", "9", "abc"} {
		f.Add("01M7ZFUZZ-1", "150.00", "USD", state, "1", "APPROVED")
	}
	f.Add("01M7ZFUZZ-1", "150.25", "CLP", "4", "", "")
	f.Add("X~1-1", "-1", "usd", "4", "\x00", "")
	c := fuzzed(f)
	f.Fuzz(func(t *testing.T, reference, value, currency, state, pol, message string) {
		form := url.Values{
			"merchant_id": {testMerchant}, "reference_sale": {reference}, "value": {value}, "currency": {currency}, "state_pol": {state},
			"reference_pol": {pol}, "response_message_pol": {message},
		}
		n := confirmation(c.hash, form)
		list, err := c.Notices(context.Background(), n)
		providertest.Sound(t, list, err)
		for _, told := range list {
			if told.Reference != reference {
				t.Errorf("it is for %q, and is read as for %q", reference, told.Reference)
			}
			if of := told.Outcome.Local; of.IsPositive() && string(of.Currency) != currency {
				t.Errorf("%s %s is read as %v", value, currency, of)
			}
		}
		n.Body = append(n.Body, "&value=1.00"...)
		list, err = c.Notices(context.Background(), n)
		providertest.Refused(t, list, err)
	})
}
