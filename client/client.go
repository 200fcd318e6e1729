// Package client is a typed client of Cascada's HTTP API, and the receiver of its
// webhooks.
//
//	shop, err := client.New(client.Config{
//		URL:            "https://pay.example.com",
//		PublishableKey: "pk_test_…",
//		SecretKey:      "sk_test_…",
//	})
//	p, err := shop.CreatePayment(ctx, client.NewPayment{
//		Amount:          "25.50",
//		PaymentMethodID: "sbx_pix",
//		MerchantOrderID: "order-1",
//		IdempotencyKey:  "order-1-1", // of this try of the order
//	})
//
// # What it calls
//
// There is a method for each operation of the API, named after it: getSettlement
// is Settlement, listSettlements is Settlements. Deprecated operations have none,
// and those for tokens need none. A list comes a page at a time; AllPayments,
// AllClaims, AllSettlements and AllSettlementTransactions iterate over all pages.
//
// # Credentials
//
// With both keys the client exchanges them for an access token at its first
// call and renews it before it expires. With the secret key alone it sends the
// key itself, which saves the exchange; a restricted key (rk_…) takes its place.
// A publishable key alone reaches only Ping and PaymentMethods.
//
// # Errors
//
// If the service refuses a call, the error is an *Error: switch on its Code, never
// on its Message. ErrNotSent is in the error of a call whose values cannot be written,
// such as the Decimal "12,50": it did nothing. Every other error comes from the network
// or the context, and leaves open whether the service did what was requested.
//
// # Retries
//
// A call is repeated after a network error, 429, 5xx, and a conflict with a first request
// that is still at work, if a repeat cannot do anything twice: those that only read, and
// those with an IdempotencyKey. If you give no key, the client makes one for its own
// repeats. Give one, and keep it with the order, if your own program may repeat the call
// after it ended: then nobody is charged twice. Other calls are repeated only if the
// service says that it did nothing: after 429, and 503 without a reason.
//
// # Events
//
// A Receiver verifies the deliveries of a webhook and reads them as Events. The object of
// an Event has the same type that the calls return. Handle is a whole endpoint; Read is
// for your own handlers.
//
// # Money
//
// Amounts are Decimal: the digits of a JSON number, in major units, exact.
//
// This package imports nothing of the service and needs nothing but the
// standard library.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// basePath is the API's root below the service's address.
	basePath = "/api/v1"
	// defaultTimeout bounds a call. The service gives each provider 20 s, and a cascade may
	// call several.
	defaultTimeout = 90 * time.Second
	// idlePerHost is how many connections are kept open between calls.
	idlePerHost = 64
	// maxReply bounds a reply that is kept in memory; the largest are evidence
	// files of 10 MiB.
	maxReply = 16 << 20
	// maxPage is the most rows that the service puts on a page.
	maxPage = 100
)

// Config is the configuration of a Client.
type Config struct {
	// URL is the service's address, such as https://pay.example.com, with or without /api/v1.
	URL string
	// PublishableKey and SecretKey are the credentials; see Credentials above.
	PublishableKey string
	SecretKey      string
	// ShopID selects a shop, if the credentials are the whole merchant's. Use one client for
	// each shop.
	ShopID string
	// Retries is how often a call is repeated, as Retries above says: 0 means 3 times, -1 never.
	Retries int
	// RetryDelay is the pause before the first repeat, 0.5 s by default. Each later one is twice as long.
	RetryDelay time.Duration
	// HTTP makes the requests. Nil means our own client, with a timeout of 90 seconds and
	// without redirects.
	HTTP *http.Client
}

// Client calls the API. It is safe for concurrent use; make one and keep it.
type Client struct {
	base    string
	shop    string
	http    *http.Client
	retries int
	delay   time.Duration
	session *session
}

// New returns a client. It makes no call.
func New(c Config) (*Client, error) {
	base := strings.TrimSuffix(strings.TrimRight(c.URL, "/"), basePath)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("client: URL must be an absolute http or https address, got %q", c.URL)
	}
	if c.PublishableKey == "" && c.SecretKey == "" {
		return nil, errors.New("client: a SecretKey is needed, a PublishableKey with it, or a PublishableKey alone")
	}
	if c.HTTP == nil {
		c.HTTP = newHTTP()
	}
	client := &Client{base: base + basePath, shop: c.ShopID, http: c.HTTP, retries: defaultRetries, delay: firstDelay}
	if c.Retries != 0 {
		client.retries = c.Retries
	}
	if c.RetryDelay > 0 {
		client.delay = c.RetryDelay
	}
	client.session = newSession(client, c.PublishableKey, c.SecretKey)
	return client, nil
}

func newHTTP() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = standard.Clone()
	}
	transport.MaxIdleConnsPerHost = idlePerHost
	return &http.Client{
		Transport: transport, Timeout: defaultTimeout,
		// The API never redirects: a redirect does not come from it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// request is one call before it has credentials.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string // empty values are not sent
	body         any               // nil for none
}

// do makes a call with credentials and reads its reply into out: nil to discard it, an
// io.Writer or *[]byte for a raw file, or a value for JSON. It repeats the call as Retries says.
func (c *Client) do(ctx context.Context, r request, out any) (http.Header, error) {
	r, safe := r.keyed()
	for failures := 0; ; failures++ {
		header, err := c.once(ctx, r, out)
		if err == nil || ctx.Err() != nil {
			return header, err
		}
		pause, again := c.pause(err, out, safe, failures)
		if !again || !wait(ctx, pause) {
			return nil, err
		}
	}
}

// once makes a call, and again if its token was refused.
func (c *Client) once(ctx context.Context, r request, out any) (http.Header, error) {
	bearer, err := c.session.bearer(ctx)
	if err != nil {
		return nil, err
	}
	header, err := c.send(ctx, r, bearer, out)
	if !staleToken(err) || !c.session.forget(ctx, bearer) {
		return header, err
	}
	if bearer, err = c.session.bearer(ctx); err != nil {
		return nil, err
	}
	return c.send(ctx, r, bearer, out)
}

// send makes one HTTP request. An empty bearer is not sent.
func (c *Client) send(ctx context.Context, r request, bearer string, out any) (http.Header, error) {
	request, err := c.build(ctx, r, bearer)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err // a *url.Error, which names the method and the address
	}
	defer response.Body.Close()
	var refusal []byte
	refused := response.StatusCode < 200 || response.StatusCode > 299
	if refused {
		out = &refusal
	}
	if err := read(response.Body, out); err != nil {
		return nil, fmt.Errorf("read the reply to %s %s: %w", r.method, r.path, err)
	}
	if refused {
		return nil, newError(response, refusal)
	}
	return response.Header, nil
}

// read reads a reply into out, as described at do.
func read(reply io.Reader, out any) error {
	if to, ok := out.(io.Writer); ok {
		_, err := io.Copy(to, reply)
		return err
	}
	body, err := io.ReadAll(io.LimitReader(reply, maxReply+1))
	if err != nil {
		return err
	}
	if len(body) > maxReply { // a part would be useless
		return fmt.Errorf("it is larger than %d bytes", maxReply)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = body
		return nil
	}
	return json.Unmarshal(body, out)
}

func (c *Client) build(ctx context.Context, r request, bearer string) (*http.Request, error) {
	address := c.base + r.path
	query := r.query
	if c.shop != "" && bearer != "" {
		if query = maps.Clone(query); query == nil {
			query = url.Values{}
		}
		query.Set("shopId", c.shop)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var body io.Reader // stays nil without a body: a typed nil would be sent
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("write the body of %s %s: %w: %w", r.method, r.path, ErrNotSent, err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %w", r.method, r.path, ErrNotSent, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "cascada-go")
	if r.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	for name, value := range r.header {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	return request, nil
}

// values is a query without its empty parameters.
func values(pairs map[string]string) url.Values {
	v := url.Values{}
	for name, value := range pairs {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}
