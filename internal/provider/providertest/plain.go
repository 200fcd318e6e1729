package providertest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// PlainSignature is the header that carries the hex HMAC of a notification.
const PlainSignature = "X-Plain-Signature"

// Plain is the adapter of an invented provider, as small as possible, for tests of the code
// around adapters. Its server is an Upstream.
func Plain() provider.Adapter {
	return provider.Adapter{
		Name: "plain",
		Fields: []provider.Field{
			{Name: "apiKey", Doc: "Settings, API keys"},
			{Name: "webhookSecret", Doc: "Settings, Notifications"},
			{Name: "merchantNumber", Doc: "Settings, Profile", Optional: true, Public: true},
		},
		Rails: []string{"pix.BRA", "spei.MEX"},
		Open: func(a provider.Account) (provider.Provider, error) {
			if !strings.HasPrefix(a.Credentials["apiKey"], "key-") {
				return nil, &provider.FieldError{Field: "apiKey", Reason: "begins with key-"}
			}
			return plain{a}, nil
		},
	}
}

// plain is an account at an Upstream.
type plain struct{ provider.Account }

type plainCharge struct {
	Reference       string `json:"reference"`
	Amount          string `json:"amount"`
	Currency        string `json:"currency"`
	Status          string `json:"status,omitempty"`
	NotificationURL string `json:"notificationUrl,omitempty"`
	Charge          string `json:"charge,omitempty"`  // of a refund: what it gives back
	Dispute         string `json:"dispute,omitempty"` // of a notification of a dispute: its id
	refund          bool

	Until string        `json:"until,omitempty"` // when a card's page ends
	Page  string        `json:"page,omitempty"`
	Tries []decline.Try `json:"tries,omitempty"`
}

// call returns the answer, or the outcome if there was none.
func (p plain) call(ctx context.Context, method, path string, body any) (provider.Reply, *pay.Outcome) {
	text, err := json.Marshal(body)
	if err != nil {
		return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "no_json"}
	}
	r, err := http.NewRequestWithContext(ctx, method, p.BaseURL+path, bytes.NewReader(text))
	if err != nil {
		return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "no_address"}
	}
	r.Header.Set("Authorization", "Bearer "+p.Credentials["apiKey"])
	return provider.Do(p.Client, r)
}

// outcome reads an answer about a charge or a refund.
func (p plain) outcome(reply provider.Reply, none *pay.Outcome) pay.Outcome {
	if none != nil {
		return *none
	}
	if reply.Status != http.StatusOK {
		return provider.Refused(reply.Status)
	}
	var c plainCharge
	if json.Unmarshal(reply.Body, &c) != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	return p.status(c)
}

func (p plain) status(c plainCharge) pay.Outcome {
	switch c.Status {
	case "open":
		return pay.Outcome{Kind: pay.Awaiting, ProviderRef: "up-" + c.Reference, Data: pay.PaymentData{Reference: c.Reference}, FormURL: c.Page, Tries: c.Tries}
	case "paid":
		local, err := money.Parse(c.Amount, money.Currency(c.Currency))
		if err != nil {
			return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
		}
		return pay.Outcome{Kind: pay.Approved, ProviderRef: "up-" + c.Reference, MoneyRef: "up-" + c.Reference, Local: local, Tries: c.Tries}
	case "canceled":
		return pay.Outcome{Kind: pay.Lapsed, ProviderRef: "up-" + c.Reference, Tries: c.Tries}
	case "declined":
		return pay.Outcome{Kind: pay.Declined, Decline: "refused", Message: "the charge was refused"}
	case "soft":
		return pay.Outcome{Kind: pay.Declined, Soft: true, Decline: "try_elsewhere", Message: "the charge was refused"}
	}
	p.Unmapped(c.Status)
	return pay.Outcome{Kind: pay.Unknown, Decline: "unmapped"}
}

func (p plain) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	c := plainCharge{Reference: r.Reference, Amount: r.Local.Decimal(), Currency: string(r.Local.Currency), NotificationURL: p.NotificationURL}
	if r.Sync {
		c.Until = r.Expires.UTC().Format(time.RFC3339)
	}
	return p.outcome(p.call(ctx, http.MethodPost, "/charges", c))
}

func (p plain) Query(ctx context.Context, r provider.Request) pay.Outcome {
	reply, none := p.call(ctx, http.MethodGet, "/charges/"+r.Reference, nil)
	if none == nil && reply.Status == http.StatusNotFound {
		return pay.Outcome{Kind: pay.Missing}
	}
	return p.outcome(reply, none)
}

// Cancel implements provider.Canceler.
func (p plain) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	reply, none := p.call(ctx, http.MethodDelete, "/charges/"+r.Reference, nil)
	if none == nil && reply.Status == http.StatusMethodNotAllowed {
		return provider.RefusedCancel(p.Query(ctx, r))
	}
	o := p.outcome(reply, none)
	if o.Kind != pay.Lapsed && o.Kind != pay.Approved {
		o.Kind = pay.Unknown
	}
	return o
}

func (p plain) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	return p.outcome(p.call(ctx, http.MethodPost, "/refunds", plainCharge{
		Charge: r.Charge.Reference, Reference: r.Reference, Amount: r.Local.Decimal(), Currency: string(r.Local.Currency),
	}))
}

func (p plain) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	return p.Query(ctx, provider.Request{Reference: r.Reference})
}

func (p plain) Notices(_ context.Context, n provider.Notification) ([]pay.Notice, error) {
	sent, err := hex.DecodeString(n.Header.Get(PlainSignature))
	if err != nil || !hmac.Equal(sent, plainMAC(p.Credentials["webhookSecret"], n.Body)) {
		return nil, provider.ErrUnsigned
	}
	var c plainCharge
	if err := json.Unmarshal(n.Body, &c); err != nil {
		return nil, err
	}
	if c.Status == "disputed" {
		return []pay.Notice{{ID: c.Dispute, Account: p.ID, Reference: c.Reference, Dispute: true, DisputeID: c.Dispute, Body: n.Body}}, nil
	}
	id := c.Reference + "/" + c.Status
	if n := len(c.Tries); n > 0 {
		id += fmt.Sprint("/", n)
	}
	return []pay.Notice{{ID: id, Account: p.ID, Reference: c.Reference, Outcome: p.status(c), Body: n.Body}}, nil
}

// Check implements provider.Checker.
func (p plain) Check(ctx context.Context) error {
	reply, none := p.call(ctx, http.MethodGet, "/me", nil)
	if none != nil {
		return errors.New("the provider cannot be reached")
	}
	if reply.Status != http.StatusOK {
		return fmt.Errorf("the provider answers %d: the apiKey is not one of its keys", reply.Status)
	}
	return nil
}

func plainMAC(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return mac.Sum(nil)
}

// Upstream is the provider behind Plain: a real HTTP server with its books.
type Upstream struct {
	*httptest.Server
	mu      sync.Mutex // guards what follows
	keys    map[string]bool
	next    string
	charges map[string]plainCharge
	hold    chan struct{} // charges wait for its end; nil: none do
	asked   chan struct{} // receives each charge that waits
	swift   bool          // shoppers pay just before a charge is canceled

	files, evidence map[string]string // what was submitted against disputes: files by reference, the whole by dispute
}

// NewUpstream starts a provider that knows these API keys.
func NewUpstream(t testing.TB, keys ...string) *Upstream {
	t.Helper()
	u := &Upstream{keys: map[string]bool{}, next: "open", charges: map[string]plainCharge{}, files: map[string]string{}, evidence: map[string]string{}, asked: make(chan struct{}, 16)}
	for _, key := range keys {
		u.keys[key] = true
	}
	u.Server = StartServer(t, u)
	t.Cleanup(u.Close)
	return u
}

// Next sets the state of later charges: open, paid, declined, soft; or down if the provider
// does not answer, and refused if it rejects the request. Any other text is a status
// without a meaning.
func (u *Upstream) Next(status string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next = status
}

// Revoke ends an API key.
func (u *Upstream) Revoke(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.keys, key)
}

// Hold makes later charges wait; asked receives each, and release lets them continue.
func (u *Upstream) Hold() (asked <-chan struct{}, release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	hold := make(chan struct{})
	u.hold = hold
	return u.asked, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.hold = nil
		close(hold)
	}
}

// Swift makes shoppers pay just before their charges are canceled.
func (u *Upstream) Swift() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.swift = true
}

// Charges lists the references that were charged or refunded.
func (u *Upstream) Charges() map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := map[string]string{}
	for reference, c := range u.charges {
		list[reference] = c.Amount + " " + c.Currency + " " + c.Status
	}
	return list
}

// Report is the provider's books as its settlement report: a table of payments and refunds,
// in the columns of reconcile.Generic.
func (u *Upstream) Report() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var table strings.Builder
	table.WriteString("reference,provider_reference,type,amount,currency\n")
	for _, reference := range slices.Sorted(maps.Keys(u.charges)) {
		c, kind := u.charges[reference], "charge"
		if c.refund {
			kind = "refund"
		}
		if c.Status == "paid" {
			fmt.Fprintf(&table, "%s,up-%s,%s,%s,%s\n", reference, reference, kind, c.Amount, c.Currency)
		}
	}
	return table.String()
}

// Notify is a signed notification of a charge with a status: the URL, the signature and the
// body. A charge that was not made here is of 1 BRL.
func (u *Upstream) Notify(reference, status, secret string) (url, signature string, body []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, known := u.charges[reference]
	c.Status = status
	if known && status != "disputed" { // the charge stays paid
		u.charges[reference] = c
	} else if !known {
		c.Reference, c.Amount, c.Currency = reference, "1", "BRL"
	}
	url, c.NotificationURL = c.NotificationURL, ""
	if status == "disputed" {
		c.Dispute = "d-" + reference
	}
	body, _ = json.Marshal(c) // of strings
	return url, hex.EncodeToString(plainMAC(secret, body)), body
}

// ServeHTTP implements http.Handler.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	u.mu.Lock()
	known := u.keys[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	hold := u.hold
	u.mu.Unlock()
	switch {
	case err != nil:
		return
	case !known:
		http.Error(w, `{"error":"unauthorized"}`, http.StatusUnauthorized)
		return
	}
	if hold != nil && r.Method == http.MethodPost {
		u.asked <- struct{}{}
		<-hold
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/disputes/") || r.URL.Path == "/files" {
		u.serveEvidence(w, r.URL.Path, body)
		return
	}
	c, found := u.charges[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
	if r.Method == http.MethodDelete && c.Status == "open" {
		c.Status = "canceled"
		if u.swift {
			c.Status = "paid"
		}
		u.charges[c.Reference] = c
	}
	if r.Method == http.MethodPost {
		if u.next == "down" || json.Unmarshal(body, &c) != nil {
			http.Error(w, `{"error":"too busy"}`, http.StatusTooManyRequests)
			return
		}
		if u.next == "refused" {
			http.Error(w, `{"error":"the document is not valid"}`, http.StatusBadRequest)
			return
		}
		if before, again := u.charges[c.Reference]; again {
			c = before
		} else {
			c.Status = u.next
			if c.Until != "" && c.Status == "open" {
				c.Page = u.URL + "/pages/" + c.Reference
			}
			if c.refund = r.URL.Path == "/refunds"; c.refund {
				c.Status = "paid"
			}
			u.charges[c.Reference] = c
		}
		found = true
	}
	switch {
	case r.URL.Path == "/me":
		_, _ = io.WriteString(w, `{}`)
	case !found:
		http.Error(w, `{"error":"not found"}`, http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(c) // the client may be gone
	}
}
