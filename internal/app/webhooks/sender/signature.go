package sender

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// SecretPrefix starts every secret. Standard base64 of the key bytes follows.
const SecretPrefix = "whsec_"

// Tolerance is how far a signature's time may lie from the receiver's clock.
const Tolerance = 300 * time.Second

// maxSignatureHeader bounds what Verify reads: some fourteen signatures.
const maxSignatureHeader = 1024

// Why a signature is not accepted.
var (
	// ErrSignature means that the secret's owner did not sign this body.
	ErrSignature = errors.New("webhook: signature does not match")
	// ErrStale means that the signature is genuine but its time is too far off.
	ErrStale = errors.New("webhook: signature is outside the time tolerance")
)

// secretSize is how many random bytes a secret has: a multiple of three, so
// that its base64 needs no padding, and between the 24 and 64 that Standard
// Webhooks asks for.
const secretSize = 33

// NewSecret makes a subscription's secret: whsec_ and standard base64, which
// Standard Webhooks libraries decode.
func NewSecret() string {
	var b [secretSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return SecretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// Sign returns the value of SignatureHeader, "t=<unix seconds>,v1=<hex>". While
// a rotation is under way it ends in ",v0=<hex>", made with the previous secret.
// Each is an HMAC-SHA256 of "<t>.<body>", keyed with the whole secret as text,
// whsec_ included.
func Sign(t time.Time, body []byte, secret, previous string) string {
	header := make([]byte, 0, 160)
	header = append(header, "t="...)
	header = strconv.AppendInt(header, t.Unix(), 10)
	prefix := append(make([]byte, 0, 24), header[len("t="):]...)
	prefix = append(prefix, '.')

	header = append(header, ",v1="...)
	header = hex.AppendEncode(header, digest([]byte(secret), prefix, body))
	if previous != "" {
		header = append(header, ",v0="...)
		header = hex.AppendEncode(header, digest([]byte(previous), prefix, body))
	}
	return string(header)
}

// SignStandard returns the webhook-signature value of the Standard Webhooks
// specification, "v1,<base64>": an HMAC-SHA256 of "<id>.<t>.<body>", keyed with the
// bytes the secret encodes. While a rotation is under way a second one follows
// after a space, made with the previous secret.
func SignStandard(id string, t time.Time, body []byte, secret, previous string) string {
	prefix := make([]byte, 0, 64)
	prefix = append(prefix, id...)
	prefix = append(prefix, '.')
	prefix = strconv.AppendInt(prefix, t.Unix(), 10)
	prefix = append(prefix, '.')

	header := make([]byte, 0, 96)
	header = append(header, "v1,"...)
	header = base64.StdEncoding.AppendEncode(header, digest(standardKey(secret), prefix, body))
	if previous != "" {
		header = append(header, " v1,"...)
		header = base64.StdEncoding.AppendEncode(header, digest(standardKey(previous), prefix, body))
	}
	return string(header)
}

// Verify checks a value of SignatureHeader as a receiver should. The time may lie
// up to tolerance before or after now, counted in whole seconds. The secret may
// match any v1, or any v0: a receiver that has not taken over a new secret yet
// finds its own there. It returns ErrSignature or ErrStale.
func Verify(header string, body []byte, secret string, now time.Time, tolerance time.Duration) error {
	stamp, signatures, ok := parseSignature(header)
	if !ok {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ErrSignature
	}

	want := digest([]byte(secret), []byte(stamp+"."), body)
	matched := false
	for _, signature := range signatures {
		if got, err := hex.DecodeString(signature); err == nil && hmac.Equal(got, want) {
			matched = true
		}
	}
	if !matched {
		return ErrSignature
	}

	age := now.Truncate(time.Second).Sub(time.Unix(seconds, 0))
	if age > tolerance || age < -tolerance {
		return ErrStale
	}
	return nil
}

// parseSignature takes a header apart. Schemes we do not know are skipped, so that
// one can be added without breaking receivers. With two times it would be unclear which one was signed.
func parseSignature(header string) (stamp string, signatures []string, ok bool) {
	if len(header) > maxSignatureHeader {
		return "", nil, false
	}
	for pair := range strings.SplitSeq(header, ",") {
		scheme, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch scheme {
		case "t":
			if stamp != "" {
				return "", nil, false
			}
			stamp = value
		case "v1", "v0":
			signatures = append(signatures, value)
		}
	}
	return stamp, signatures, stamp != "" && len(signatures) > 0
}

// standardKey returns the bytes a secret encodes. A secret that is not base64 is
// used as it is, which the Standard Webhooks libraries call a raw secret.
func standardKey(secret string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, SecretPrefix))
	if err != nil {
		return []byte(secret)
	}
	return key
}

func digest(key, prefix, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(prefix)
	mac.Write(body)
	return mac.Sum(nil)
}
