package client

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// signatureHeader has the time and the signatures of a delivery.
	signatureHeader = "X-Service-Signature"
	// tolerance is how far a signature's time may be from the receiver's clock.
	tolerance = 300 * time.Second
	// maxSignature bounds what is read of that header: some fourteen signatures.
	maxSignature = 1024
	// maxEvent bounds a delivery's body. The largest are claims with the most evidence: 20
	// texts of 20,000 characters.
	maxEvent = 4 << 20
)

// Why a delivery is refused. Errors wrap one of these.
var (
	// ErrSignature means that no secret of the receiver signed this body.
	ErrSignature = errors.New("client: the delivery is not signed with the webhook's secret")
	// ErrStale means that the signature is genuine but made more than 300 seconds from now: an
	// old delivery was sent again, or a clock is wrong.
	ErrStale = errors.New("client: the delivery's signature is more than 300 seconds from now")
	// ErrUnreadable means that the service sent this, but that this package cannot read it as
	// an event.
	ErrUnreadable = errors.New("client: the delivery is not a readable event")
)

// Receiver verifies and reads deliveries. It is safe for concurrent use.
type Receiver struct {
	// Secrets are those of the webhooks that deliver here, each a whole Webhook.Secret: one
	// match is enough. During a rotation both the old and the new secret work.
	Secrets []string
	// Now is the clock, nil for the system's.
	Now func() time.Time
}

// Read verifies a delivery and reads its event. body is the request's raw body, whose size
// the caller limits. Errors: ErrSignature, ErrStale, ErrUnreadable.
func (r Receiver) Read(header http.Header, body []byte) (Event, error) {
	if err := r.verify(header.Get(signatureHeader), body); err != nil {
		return Event{}, err
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return e, nil
}

// Handle is the endpoint of a webhook: it reads each delivery and passes its event
// to apply. It answers
//
//	204  apply returned nil
//	400  the event is not readable, or did not arrive whole
//	401  it is not signed, or was signed too long ago
//	413  it is larger than any event
//	500  apply returned an error, which it logs itself
//
// After any answer but 204 the service tries again. Its Delivery.LastResponseSnippet
// shows why a delivery was refused, but never the error of apply. The service waits
// for 10 seconds: if the work takes longer, let apply store the event, and do it later.
func (r Receiver) Handle(apply func(context.Context, Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxEvent))
		if err != nil {
			status := http.StatusBadRequest
			if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, http.StatusText(status), status)
			return
		}
		e, err := r.Read(request.Header, body)
		if err != nil {
			status := http.StatusUnauthorized
			if errors.Is(err, ErrUnreadable) {
				status = http.StatusBadRequest
			}
			http.Error(w, err.Error(), status)
			return
		}
		if apply(request.Context(), e) != nil {
			http.Error(w, "the event was not taken", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// verify checks the signature of a body. It checks the time last, so that ErrStale means a
// genuine signature.
func (r Receiver) verify(header string, body []byte) error {
	stamp, signatures, err := parseSignature(header)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: its time is not a number", ErrSignature)
	}
	signed, known := false, false
	for _, secret := range r.Secrets {
		if secret == "" { // anybody can sign with an empty secret
			continue
		}
		known = true
		want := digest(secret, stamp, body)
		for _, signature := range signatures {
			if hmac.Equal(signature, want) {
				signed = true
			}
		}
	}
	if !known {
		return fmt.Errorf("%w: the Receiver has no secret", ErrSignature)
	}
	if !signed {
		return ErrSignature
	}
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	if age := now().Truncate(time.Second).Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return ErrStale
	}
	return nil
}

// parseSignature splits the header. It skips schemes of later versions. It refuses two
// times, because it would be unclear which one was signed.
func parseSignature(header string) (stamp string, signatures [][]byte, err error) {
	if header == "" || len(header) > maxSignature {
		return "", nil, fmt.Errorf("%w: %s is missing or too long", ErrSignature, signatureHeader)
	}
	for pair := range strings.SplitSeq(header, ",") {
		scheme, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch scheme {
		case "t":
			if stamp != "" {
				return "", nil, fmt.Errorf("%w: it has two times", ErrSignature)
			}
			stamp = value
		case "v1", "v0":
			if signature, err := hex.DecodeString(value); err == nil { // an invalid signature matches nothing
				signatures = append(signatures, signature)
			}
		}
	}
	return stamp, signatures, nil
}

// digest is the signature of a body: an HMAC-SHA256 keyed with the whole secret as
// text.
func digest(secret, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, stamp+".") // a hash never fails
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}
