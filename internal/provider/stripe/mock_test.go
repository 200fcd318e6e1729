package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// mock is Stripe's own mock server, which checks requests against Stripe's OpenAPI
// document. It keeps no state, so its answers are ignored.
const (
	mock = "github.com/stripe/stripe-mock@v0.203.0"
	// mockVersion is the version of its document, the last that was published. It is older than ours, which the types of stripe-node
	// 23.1.0 describe.
	mockVersion = "2026-08-26.dahlia"
)

// newer are the fields that our version has and the document has not, with what the document has instead.
var newer = map[string]string{"POST /v1/checkout/sessions allowed_payment_method_types[]": "payment_method_types[]"}

// TestRequestsFollowStripesDocument sends each of our calls to
// stripe-mock, for every rail.
func TestRequestsFollowStripesDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts a server")
	}
	upstream := startMock(t)
	var refused []string
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	proxy.ModifyResponse = func(r *http.Response) error {
		text, err := io.ReadAll(r.Body)
		if err == nil && r.StatusCode >= 300 {
			refused = append(refused, fmt.Sprintf("%s %s: %d %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, text))
		}
		text = asTransfer(text)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return err
	}
	said := loadDocument(t)
	calls := map[string]int{}
	line := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls[r.Method+" "+shape(r.URL.Path)]++
		body, err := io.ReadAll(r.Body)
		fields, bad := url.ParseQuery(string(body) + r.URL.RawQuery) // one of them is empty
		if err != nil || bad != nil {
			t.Error(err, bad)
		}
		for name, values := range fields {
			if before := newer[r.Method+" "+shape(r.URL.Path)+" "+name]; before != "" {
				delete(fields, name)
				fields[before] = values
				body = []byte(fields.Encode())
				r.ContentLength = int64(len(body))
			}
		}
		for _, name := range said.unknown(r.Method, shape(r.URL.Path), fields) {
			t.Errorf("%s %s has no %s", r.Method, r.URL.Path, name)
		}
		if got := r.Header.Get("Stripe-Version"); got != version {
			t.Errorf("%s %s has the version %s", r.Method, r.URL.Path, got)
		}
		r.Header.Set("Stripe-Version", mockVersion)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	defer line.Close()
	opened, err := open(provider.Account{
		ID: "acc", BaseURL: line.URL, Credentials: credentials(), Client: line.Client(),
		Now: func() time.Time { return providertest.Noon }, Unmapped: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := opened.(*Provider)
	if err := p.Check(ctx()); err != nil {
		t.Errorf("the check: %v", err)
	}
	for _, rail := range Adapter().Rails {
		r := request(rail, "01M7ZMOCK-1")
		p.Charge(ctx(), r)
		p.Query(ctx(), r)
		r.ProviderRef = "pi_1"
		if _, hosted := method(rail); hosted {
			r.ProviderRef = "cs_test_1"
		}
		p.Query(ctx(), r)
		p.Cancel(ctx(), r)
		r.ProviderRef = "pi_1"
		back := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: money.New(100, r.Local.Currency), Reason: "requested_by_customer"}
		p.Refund(ctx(), back)
		p.QueryRefund(ctx(), back)
		back.RefundRef = "re_1"
		p.QueryRefund(ctx(), back)
	}
	_, _ = p.Notices(ctx(), notification("evt_1", "charge.dispute.created", object{"id": "du_1"}))
	_, _ = p.Notices(ctx(), notification("evt_1", "cash_balance.funds_available", object{"customer": "cus_1"}))
	loose := request("spei.MEX", "01M7ZMOCK-1")
	loose.ProviderRef = "pi_1"
	p.QueryDispute(ctx(), provider.DisputeRequest{Charge: loose})
	moves, _ := p.moves(ctx(), "cus_1")
	loose.MoneyRef = moves[0].ID
	p.Refund(ctx(), provider.RefundRequest{Reference: "CLM1-1", Charge: loose, Local: money.New(100, "MXN"), Sent: loose.Now})
	for _, r := range refused {
		t.Error(r)
	}
	for _, call := range []string{
		"POST /v1/payment_intents", "POST /v1/checkout/sessions", "POST /v1/customers", "POST /v1/refunds",
		"POST /v1/payment_intents/ID/cancel", "POST /v1/checkout/sessions/ID/expire",
		"GET /v1/payment_intents", "GET /v1/payment_intents/ID", "GET /v1/checkout/sessions", "GET /v1/checkout/sessions/ID",
		"GET /v1/refunds", "GET /v1/refunds/ID", "GET /v1/disputes/ID", "GET /v1/disputes",
		"GET /v1/customers", "GET /v1/customers/ID", "GET /v1/customers/ID/cash_balance_transactions",
	} {
		if calls[call] == 0 {
			t.Errorf("%s was not played: %v", call, calls)
		}
	}
}

// asTransfer makes the payments and moneys of an answer those of a bank transfer.
func asTransfer(text []byte) []byte {
	var of any
	if json.Unmarshal(text, &of) != nil {
		return text
	}
	var change func(any)
	change = func(of any) {
		switch v := of.(type) {
		case map[string]any:
			if v["object"] == "payment_intent" {
				v["customer"], v["payment_method_types"] = "cus_1", []string{"customer_balance"}
			}
			if v["object"] == "customer" {
				v["metadata"] = object{shopperKey: "somebody"}
			}
			if v["object"] == "customer_cash_balance_transaction" {
				v["currency"] = "mxn"
			}
			for _, field := range v {
				change(field)
			}
		case []any:
			for _, item := range v {
				change(item)
			}
		}
	}
	change(of)
	return providertest.JSON(of)
}

// shape returns a path without its id.
func shape(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789") && part != "v1" {
			parts[i] = "ID"
		}
	}
	return strings.Join(parts, "/")
}

// startMock builds stripe-mock through the module proxy, like any Go tool, and
// runs it until the test ends.
func startMock(t *testing.T) *url.URL {
	t.Helper()
	dir := t.TempDir()
	building, cancel := context.WithTimeout(ctx(), 3*time.Minute)
	defer cancel()
	build := exec.CommandContext(building, "go", "install", mock)
	build.Env = append(build.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", mock, err, out)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := socket.Addr().String() // free a moment ago
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	server := exec.Command(filepath.Join(dir, "stripe-mock"), "-http-addr", address, "-https-addr", "127.0.0.1:0", "-strict-version-check")
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("stripe-mock said: %.2000s", said.String())
		}
	})
	deadline := time.Now().Add(30 * time.Second)
	for {
		res, err := http.Get("http://" + address + "/")
		if err == nil {
			_ = res.Body.Close()
			return &url.URL{Scheme: "http", Host: address}
		}
		if time.Now().After(deadline) {
			t.Fatalf("stripe-mock does not answer: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}
