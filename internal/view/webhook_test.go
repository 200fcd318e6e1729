package view

import (
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/webhook"
)

// The names stand in tags, which cannot be made of constants.
func TestAnInboxShowsTheHeadersOfADelivery(t *testing.T) {
	var shown []string
	for field := range reflect.TypeFor[ReceivedHeaders]().Fields() {
		shown = append(shown, http.CanonicalHeaderKey(field.Tag.Get("json")))
	}
	if want := []string{
		webhook.SignatureHeader, webhook.EventHeader, webhook.DeliveryHeader,
		webhook.StandardIDHeader, webhook.StandardTimestampHeader, webhook.StandardSignatureHeader,
	}; !slices.Equal(shown, want) {
		t.Errorf("an inbox shows %q, a delivery has %q", shown, want)
	}
}
