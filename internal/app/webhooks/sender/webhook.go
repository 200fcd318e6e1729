// Package sender signs one event and sends it to one endpoint.
//
// It is the last step of a delivery: it sends bytes and returns what the endpoint answered.
// A delivery goes to an address a merchant chose, so the package also decides
// which addresses we are willing to talk to; a name is judged by the address it
// leads to at the moment we connect, because a name can change after it was saved.
//
// It is not the delivery log and not the dispatcher: it knows no database, no
// subscription and no queue, it tries once and forgets. It does not know what an
// event means either; the body is opaque.
//
// Each delivery carries two signatures over the same body, so that a receiver may
// use ours or any Standard Webhooks library. See [Sign] and [SignStandard].
package sender

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

// The headers of a delivery that a receiver looks at. The Standard Webhooks names
// are lower-case in their specification; header names are case-insensitive.
const (
	SignatureHeader = "X-Service-Signature"
	EventHeader     = "X-Service-Event"
	DeliveryHeader  = "X-Service-Delivery"

	StandardIDHeader        = "Webhook-Id"
	StandardTimestampHeader = "Webhook-Timestamp"
	StandardSignatureHeader = "Webhook-Signature"
)

// Challenge is the type of the request that asks an endpoint to prove its owner.
const Challenge = "webhook.challenge"

// Answer is the required answer: the SHA-256 of the challenge, in lower-case hex.
func Answer(challenge string) string {
	sum := sha256.Sum256([]byte(challenge))
	return hex.EncodeToString(sum[:])
}

// Message is one delivery to make.
type Message struct {
	URL            string
	Secret         string
	PreviousSecret string // empty unless a rotation is under way
	Event          string // such as payment.completed
	DeliveryID     string // dlv_…, one for each delivery
	EventID        string // the same for each endpoint and each try: receivers drop repeats by it
	Credentials    Credentials
	// Body is sent exactly as it is. It must not change after Send returns either:
	// an endpoint may answer before the last byte of it has left.
	Body []byte
}

// Reason says why a delivery failed. It is empty when the delivery succeeded.
type Reason string

// The reasons for which a delivery fails.
const (
	// Timeout: no answer in time, or the caller's context ended first.
	Timeout Reason = "timeout"
	// DNS: the host name leads nowhere.
	DNS Reason = "dns"
	// TLS: the endpoint has no certificate we trust, or speaks no TLS.
	TLS Reason = "tls"
	// NeedsTLS: the endpoint speaks TLS, and its address begins with http://.
	NeedsTLS Reason = "needs_tls"
	// Refused: nobody took the connection.
	Refused Reason = "refused"
	// Reset: the connection was made, and the endpoint ended it without an answer.
	Reset Reason = "reset"
	// BadAnswer: it answered, but not in HTTP: garbage, two lengths, too large headers.
	BadAnswer Reason = "bad_answer"
	// HTTPStatus: it answered, but not with 2xx.
	HTTPStatus Reason = "http_status"
	// CredentialsRefused: it answered 401 or 403, although credentials were sent.
	CredentialsRefused Reason = "credentials_refused"
	// BlockedAddress: we do not talk to this address. Nothing was sent.
	BlockedAddress Reason = "blocked_address"
)

// Result is the result of one try.
type Result struct {
	StatusCode int    // 0 when there was no answer
	Err        Reason // empty when delivered
	Snippet    string // the start of the answer: at most 1 KB, valid UTF-8 without NUL
	Duration   time.Duration
	Wait       time.Duration // how long the endpoint asked to be left alone, with 429 or 503; 0 for no wish
}

// Delivered reports whether the endpoint accepted the event. Only its status counts: an
// answer whose body then stalls is an answer all the same.
func (r Result) Delivered() bool { return r.Err == "" }

// Gone reports whether the endpoint asked never to be called again.
func (r Result) Gone() bool { return r.StatusCode == http.StatusGone }
