package call

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
)

// keyHeader protects a request from running twice. otherKeyHeaders are what other providers call it: Mercado Pago and dLocal, YooKassa,
// Checkout.com, PayPal, and clients that write a header as a field.
const keyHeader = "Idempotency-Key"

var otherKeyHeaders = []string{"X-Idempotency-Key", "Idempotence-Key", "X-Idempotence-Key", "Cko-Idempotency-Key", "Idempotency_key", "X_idempotency_key", "Idempotencykey", "X-Idempotencykey", "Paypal-Request-Id"}

// keyWords are in the names of headers that look like it, as net/http writes them.
var keyWords = []string{"dempoten", "Idem-Key", "Idem_key", "Idemkey", "Dedup", "X_dedup"}

// sandboxHeaders decide what a sandbox does.
var sandboxHeaders = []string{"Sandbox-Simulate", "Sandbox-Strict"}

// keyOf reads the key under another name (IDEM-12). A header whose name only looks like it is refused: its sender believes that the
// request is protected. So is one that looks like a header of the sandbox.
//
// Errors: invalid_request.
func keyOf(header http.Header) error {
	for name, sent := range header { // net/http writes names as Idempotency-Key
		if sandbox := strings.HasPrefix(name, "Sandbox-") || strings.HasPrefix(name, "X-Sandbox"); sandbox && !slices.Contains(sandboxHeaders, name) {
			return message.FieldRefusal(problem.InvalidRequest, name, "there is no header "+name+": the sandbox has "+strings.Join(sandboxHeaders, " and "))
		}
		known := slices.Contains(otherKeyHeaders, name)
		if name == keyHeader || !known && !slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) }) {
			continue
		}
		if !known {
			return message.FieldRefusal(problem.InvalidRequest, name, "there is no header "+name+": did you mean "+keyHeader+"?")
		}
		header[keyHeader] = append(header[keyHeader], sent...) // unclear refuses two values
	}
	return nil
}

// keyIssue is what is wrong with a value of that header.
var keyIssue = fmt.Sprintf("Idempotency-Key must have 1 to %d printable characters: send a UUID, for one", pay.MaxIdempotencyKey)

// CheckKey checks the value of that header, for every request that takes one.
func CheckKey(key string) []error {
	if len(key) <= pay.MaxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, keyHeader, keyIssue)}
}

// OnceFor is the key of a request with a body and the values of headers that change the outcome.
func OnceFor(route, key string, body []byte, headers string) base.Idempotency {
	return base.Idempotency{Route: route, Key: key, Hash: BodyHash(body, headers)}
}

// BodyHash is the SHA-256 of the canonical body. It includes headers that change the outcome.
func BodyHash(body []byte, headers string) string {
	sum := sha256.Sum256(slices.Concat(wire.Canonical(body), []byte{'\n'}, []byte(headers)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Repeated is the value of the replay header.
func Repeated(replayed bool) string {
	if replayed {
		return "true"
	}
	return ""
}
