package adyen

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// fuzzed is an account without an upstream: a notification has all the data.
func fuzzed(f *testing.F) *Provider {
	return providertest.Offline(f, Adapter(), credentials(), &providertest.Answer{Status: 500}).(*Provider)
}

// Without the key nobody can sign: an unsigned notification is refused, or contains nothing.
func FuzzForgedNotices(f *testing.F) {
	good := notification(object{"eventCode": "AUTHORISATION", "success": "true", "pspReference": "P1", "merchantReference": "01M7ZFUZZ-1",
		"amount": object{"value": int64(5000), "currency": "BRL"}, "paymentMethod": "pix"})
	f.Add(suite().Unsigned(good).Body)
	f.Add([]byte(`{"notificationItems":[{"NotificationRequestItem":{}}]}`))
	f.Add([]byte(`{"notificationItems":[{"NotificationRequestItem":{"merchantAccountCode":"CascadaCOM","merchantReference":"01M7ZFUZZ-1","pspReference":"P1","eventCode":"AUTHORISATION","success":"true","amount":{"value":1,"currency":"BRL"},"additionalData":{"hmacSignature":""}}}]}`))
	f.Add([]byte(`{"notificationItems":[]}`))
	p := fuzzed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if list, err := p.Notices(ctx(), provider.Notification{Body: body}); err == nil || len(list) != 0 {
			t.Errorf("it is not signed, but read: %+v, %v", list, err)
		}
	})
}

// Whatever Adyen signed is read, and never as an invalid amount.
func FuzzSignedNotices(f *testing.F) {
	for _, event := range []string{"AUTHORISATION", "REFUND", "REFUND_FAILED", "CHARGEBACK", "CHARGEBACK_REVERSED", "OFFER_CLOSED", "PREARBITRATION_LOST",
		"CAPTURE_FAILED", "CAPTURE", "CANCEL_OR_REFUND", "EXPIRE", "AUTHORISATION_ADJUSTMENT", "REFUNDED_REVERSED", "REQUEST_FOR_INFORMATION"} {
		f.Add(event, "true", "P1", "01M7ZFUZZ-1", "BRL", int64(5000), "pix", "13.1", "2026-12-09T12:00:00+01:00")
	}
	f.Add("AUTHORISATION", "perhaps", "P1", "01M7ZFUZZ-1", "CLP", int64(150), "visa", "", "")
	f.Add("AUTHORISATION", "true", "P:1", "01M7ZFUZZ-1", "BRL", int64(-1), "visa", "\x00", "tomorrow")
	p := fuzzed(f)
	f.Fuzz(func(t *testing.T, event, success, psp, reference, currency string, value int64, method, code, until string) {
		n := notification(object{
			"eventCode": event, "success": success, "pspReference": psp, "merchantReference": reference, "paymentMethod": method, "reason": code,
			"amount": object{"value": value, "currency": currency}, "additionalData": object{"chargebackReasonCode": code, "defensePeriodEndsAt": until},
		})
		list, err := p.Notices(ctx(), n)
		providertest.Sound(t, list, err)
		for _, told := range list {
			// Only pesos have a factor: other amounts are not multiplied.
			if told.Outcome.Kind == pay.Approved && told.Outcome.Local.Minor > value {
				t.Errorf("%d of Adyen's units are %v", value, told.Outcome.Local)
			}
		}
		// With one wrong byte in the signature, it contains nothing.
		if list, err := p.Notices(ctx(), spoilt(t, n)); err == nil || len(list) != 0 {
			t.Errorf("a changed signature is accepted: %+v, %v", list, err)
		}
	})
}

// spoilt returns a notification with one changed bit in its signature.
func spoilt(t *testing.T, n provider.Notification) provider.Notification {
	t.Helper()
	var message struct {
		Live  string   `json:"live"`
		Items []object `json:"notificationItems"`
	}
	if err := json.Unmarshal(n.Body, &message); err != nil {
		t.Fatal(err)
	}
	more := message.Items[0]["NotificationRequestItem"].(object)["additionalData"].(object)
	mac, err := base64.StdEncoding.DecodeString(more["hmacSignature"].(string))
	if err != nil {
		t.Fatal(err)
	}
	mac[0] ^= 1
	more["hmacSignature"] = base64.StdEncoding.EncodeToString(mac)
	n.Body = providertest.JSON(message)
	return n
}
