package devcli

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// answerTimeout is how long an endpoint may take to answer, as in docs/WEBHOOKS.md.
	answerTimeout = 10 * time.Second
	// secretPrefix begins a signing secret; secretSize is how many random bytes follow, in base64.
	secretPrefix = "whsec_"
	secretSize   = 33
	// maxAnswer is how much of an endpoint's answer is read, so that its connection can be used again.
	maxAnswer = 1 << 20
)

// newSecret makes a signing secret as the service does.
func newSecret() string {
	var b [secretSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// sign returns the values of X-Service-Signature and webhook-signature (docs/WEBHOOKS.md).
func sign(secret, id string, at time.Time, body []byte) (service, standard string) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	digest := func(key []byte, prefix string) []byte {
		var mac hash.Hash = hmac.New(sha256.New, key)
		_, _ = io.WriteString(mac, prefix) // a hash never fails
		_, _ = mac.Write(body)
		return mac.Sum(nil)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		key = []byte(secret)
	}
	return "t=" + stamp + ",v1=" + hex.EncodeToString(digest([]byte(secret), stamp+".")),
		"v1," + base64.StdEncoding.EncodeToString(digest(key, id+"."+stamp+"."))
}

// endpointURL completes an endpoint's address: 3000 and localhost:3000/hook are as http://localhost:3000/hook.
func endpointURL(text string) (string, error) {
	full := text
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		full = "localhost:" + text
	}
	if strings.HasPrefix(full, ":") {
		full = "localhost" + full
	}
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--forward-to: %q is not an address: want one such as http://localhost:3000/webhooks", text)
	}
	return u.String(), nil
}

// endpoint is the developer's endpoint.
type endpoint struct {
	url, secret string
	http        *http.Client
	now         func() time.Time
}

func newEndpoint(address, secret string) *endpoint {
	return &endpoint{address, secret, &http.Client{
		Timeout:       answerTimeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1}, // no proxy: the endpoint is near
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, time.Now}
}

// answer is what an endpoint did with an event.
type answer struct {
	status  int           // 0: there was no answer
	failure string        // why there was none
	absent  bool          // nobody took the connection: the event did not reach the endpoint
	lasted  time.Duration // until the answer
	told    string        // the beginning of an answer that is not 2xx
}

func (a answer) good() bool { return a.status >= 200 && a.status < 300 }

// post sends an event once.
func (e *endpoint) post(ctx context.Context, ev event) answer {
	began := e.now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(ev.raw))
	if err != nil {
		return answer{failure: err.Error(), absent: true}
	}
	service, standard := sign(e.secret, ev.ID, began, ev.raw)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Cascada-Webhooks/1.0",
		"X-Service-Signature": service, "X-Service-Event": ev.Type, "X-Service-Delivery": "dlv_" + strings.TrimPrefix(ev.ID, "evt_"),
		"webhook-id": ev.ID, "webhook-timestamp": strconv.FormatInt(began.Unix(), 10), "webhook-signature": standard,
	} {
		request.Header.Set(name, value)
	}
	response, err := e.http.Do(request)
	if err != nil {
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err
		}
		dialing := (*net.OpError)(nil)
		failure := err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			failure = fmt.Sprintf("no answer in %s", answerTimeout)
		}
		return answer{failure: failure, absent: errors.As(err, &dialing) && dialing.Op == "dial", lasted: e.now().Sub(began)}
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // its status counts, whatever follows
	a := answer{status: response.StatusCode, lasted: e.now().Sub(began)}
	if !a.good() {
		a.told = shorten(text)
	}
	return a
}
