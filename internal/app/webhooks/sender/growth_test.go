package sender_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/bench/growth"
)

// An address and a signature cost no more than their size.
func TestAddressesAndSignaturesCostNoMoreThanTheirSize(t *testing.T) {
	length := func(err error) int {
		if err != nil {
			return len(err.Error())
		}
		return 0
	}
	for _, text := range []string{"a", "a.", "%41", "@", "/", "?", "\u00e9", "0x7f.", "[::1]"} {
		growth.Of(t, "hosts of "+text, 64<<10, growth.Repeated("https://", text, "/"), func(raw string) int { return length(sender.CheckURL(raw, true, false)) })
	}
	for _, text := range []string{"v1=00,", "t=1,", ",", "=", "t=1792281600,v1=00,"} {
		growth.Of(t, "signatures of "+text, 64<<10, growth.Repeated("", text, ""), func(header string) int {
			return length(sender.Verify(header, body, secret, midnight, sender.Tolerance))
		})
	}
}
