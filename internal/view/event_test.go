package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"pgregory.net/rapid"
)

// An event is JSON whatever its texts hold, and nothing in it is escaped for HTML, as in a reply.
func TestEventIsJSONWhateverItHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\u2028b", "<&>", "São", "\x7f", "\n", `"\`, "\xff"}))
		p := pay.Payment{ID: "TXN-1", Order: pay.PaymentOrder{ID: texts.Draw(t, "order"), Purchase: pay.Purchase{Metadata: map[string]string{texts.Draw(t, "key"): texts.Draw(t, "value")}}}}
		body, err := NewEvent(&pay.Event{ID: "evt_1", Type: webhooks.PaymentCompleted, Payment: &p}, Cause{}, "https://pay.example")
		if err != nil || bytes.Contains(body, []byte(`\u003c`)) || bytes.HasSuffix(body, []byte("\n")) {
			t.Fatalf("%v: %s", err, body)
		}
		var read struct {
			Data struct {
				Object struct {
					MerchantOrderID string
					Metadata        map[string]string
				}
			}
		}
		if err := json.Unmarshal(body, &read); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if got, want := read.Data.Object.MerchantOrderID, strings.ToValidUTF8(p.Order.ID, "\ufffd"); got != want {
			t.Fatalf("the order is %q, want %q", got, want)
		}
		for key, value := range p.Order.Purchase.Metadata {
			key = strings.ToValidUTF8(key, "\ufffd")
			if got, want := read.Data.Object.Metadata[key], strings.ToValidUTF8(value, "\ufffd"); got != want {
				t.Fatalf("the metadata are %q, want %q", got, want)
			}
		}
	})
}

func TestMomentsHaveMillisecondsInUTC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "micros") // the years 1 to 9999
		at := time.UnixMicro(micros).In(time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600))
		got, err := json.Marshal(Time{at})
		if want := at.UTC().Format(`"2006-01-02T15:04:05.000Z"`); err != nil || string(got) != want {
			t.Fatalf("%s (%v), want %s", got, err, want)
		}
	})
	if got, err := json.Marshal([]Money{{}, USD(2550), {money.New(-5, "CLP")}}); err != nil || string(got) != "[0,25.5,-5]" {
		t.Errorf("the amounts are %s (%v)", got, err)
	}
}
