package feed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/cascadapay/cascada/internal/pay/rates"
)

const (
	feedTimeout = 20 * time.Second
	feedLimit   = 1 << 20 // bytes of an answer
)

// Feed is a JSON endpoint that publishes rates (ParsePublished).
type Feed struct {
	address string // may hold a key, so it is never shown
	source  string
	client  *http.Client
}

// New returns the feed at an https address, or at an http one on this machine. It
// follows no redirect.
func New(address string) (*Feed, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("the address of the exchange rates must be an absolute https URL, or http on this machine") // not shown, because it may hold a key
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Feed{address: address, source: u.Host, client: &http.Client{Timeout: feedTimeout, CheckRedirect: stay}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ID names the feed in the database without showing its address.
func (f *Feed) ID() string {
	sum := sha256.Sum256([]byte(f.address))
	return hex.EncodeToString(sum[:16])
}

// Source is the source of its readings: its host.
func (f *Feed) Source() string { return f.source }

// Read reads the rates from the endpoint.
func (f *Feed) Read(ctx context.Context, now func() time.Time) ([]rates.Reading, []Refused, error) {
	text, err := f.get(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.source, err)
	}
	readings, refused, err := ParsePublished(text, f.source, now())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.source, err)
	}
	return readings, refused, nil
}

func (f *Feed) get(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address, nil)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	request.Header.Set("Accept", "application/json")
	reply, err := f.client.Do(request)
	if err != nil {
		var told *url.Error
		if errors.As(err, &told) {
			err = told.Err // the outer error quotes the address
		}
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %d", reply.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, feedLimit+1))
	if err != nil {
		return nil, err
	}
	if len(text) > feedLimit {
		return nil, fmt.Errorf("its answer is larger than %d bytes", feedLimit)
	}
	return text, nil
}
