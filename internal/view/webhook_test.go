package view

import (
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

// The names stand in tags, which cannot be made of constants.
func TestAnInboxShowsTheHeadersOfADelivery(t *testing.T) {
	var shown []string
	for field := range reflect.TypeFor[ReceivedHeaders]().Fields() {
		shown = append(shown, http.CanonicalHeaderKey(field.Tag.Get("json")))
	}
	if want := []string{
		sender.SignatureHeader, sender.EventHeader, sender.DeliveryHeader,
		sender.StandardIDHeader, sender.StandardTimestampHeader, sender.StandardSignatureHeader,
	}; !slices.Equal(shown, want) {
		t.Errorf("an inbox shows %q, a delivery has %q", shown, want)
	}
}
