package base

import (
	"crypto/hmac"
	"encoding/base64"

	"github.com/cascadapay/cascada/internal/vault"
)

// PageKey is what a payment's page needs to do more than show and pay. Only links that the shopper gets have it: whoever
// knows the id alone, such as the shop's staff, cannot cancel. It is derived, so that it is not stored and a repeated
// request returns it again.
func PageKey(v *vault.Vault, payment string) string {
	const size = 16
	sum := v.MAC("page", payment)
	return base64.RawURLEncoding.EncodeToString(sum[:size])
}

// PageKeyFits reports whether a key is the one of a payment's page.
func PageKeyFits(v *vault.Vault, payment, key string) bool {
	return hmac.Equal([]byte(PageKey(v, payment)), []byte(key))
}
