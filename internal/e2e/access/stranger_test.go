package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// A label of a metric stays in memory for ever. So strangers must not be able to make labels.
func TestStrangersMakeNoLabels(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	address := l.Addr().String()
	harness.Must(t, l.Close())
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.Metrics = address })
	const strangers = 50
	for i := range strangers {
		r, err := http.NewRequest(fmt.Sprintf("METHOD-%d", i), s.URL+"/nowhere", nil)
		harness.Must(t, err)
		reply, err := http.DefaultClient.Do(r)
		harness.Must(t, err)
		reply.Body.Close()
	}
	r, err := http.Get("http://" + address + "/metrics")
	harness.Must(t, err)
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	harness.Must(t, err)
	told := map[string]bool{}
	for _, label := range regexp.MustCompile(`method="([^"]*)"`).FindAllSubmatch(page, -1) {
		told[string(label[1])] = true
	}
	if !told["other"] || len(told) > 8 {
		t.Errorf("%d unknown methods made the labels %v, want them all as other", strangers, told)
	}
	if counted := regexp.MustCompile(`cascada_http_requests_total\{method="other",route="other",status="\d+"\} ` + fmt.Sprint(strangers)); !counted.Match(page) {
		t.Error("/metrics does not count the requests with unknown methods")
	}
}

// The audit log has the address from X-Forwarded-For only if a trusted proxy sent it.
func TestAuditLogHasTheAddressThatCanBeTrusted(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		want    string
	}{
		"no proxy":         {nil, "127.0.0.1"},
		"behind a proxy":   {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "198.51.100.7"},
		"limits are on":    {nil, "127.0.0.1"},
		"another's proxy":  {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "127.0.0.1"},
		"two trusted hops": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("198.51.100.7/32")}, "6.6.6.6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(config *daemon.Config) {
				config.Proxies = c.trusted
				if name == "limits are on" {
					limits := daemon.DefaultLimits()
					config.Limits = &limits
				}
			})
			o := s.NewShop(t)
			forged := []string{"X-Forwarded-For: 6.6.6.6, 198.51.100.7", "X-Real-Ip: 6.6.6.7", "Forwarded: for=6.6.6.8"}
			hook := o.Post(t, "/webhooks", `{"events":["*"]}`, forged...).Want(t, http.StatusCreated)
			if e := harness.AuditEntry(t, o, audit.WebhookCreated, hook.Text(t, "id")); e.By.IP != c.want {
				t.Errorf("the audit log has %s, want %s", e.By.IP, c.want)
			}
		})
	}
}

// The API's replies forbid caches to store them, and browsers to guess their type.
func TestRepliesAreNeitherKeptNorGuessedAt(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		made := o.Post(t, "/payments", harness.Card).Want(t, http.StatusCreated)
		for name, r := range map[string]harness.Reply{
			"a payment":        made,
			"a list":           o.Get(t, "/payments"),
			"bad credentials":  o.As("sk_test_x").Get(t, "/me"),
			"a bad body":       o.Post(t, "/payments", `{`),
			"no such endpoint": o.Get(t, "/nowhere"),
			"no such method":   o.Delete(t, "/payments"),
			"tokens":           o.Post(t, "/auth/token", harness.LoginBody(o.Sandbox.Publishable, o.Sandbox.Secret)),
			"no such provider": o.Post(t, "/providers/nobody/notifications", `{}`),
			"a ping":           o.Get(t, "/ping"),
		} {
			for header, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Strict-Transport-Security": ""} {
				if got := r.Header.Values(header); strings.Join(got, " and ") != want {
					t.Errorf("%s (%d): %s is %q, want only %q", name, r.Status, header, got, want)
				}
			}
		}
		for _, path := range []string{"/healthz", "/readyz", "/docs", "/api/openapi.json", "/nowhere"} {
			r, err := http.Get(s.URL + path)
			harness.Must(t, err)
			r.Body.Close()
			if got := r.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("%s: X-Content-Type-Options is %q, want nosniff", path, got)
			}
		}
	})
}

// A service whose public URL is https sends Strict-Transport-Security with pages and replies.
func TestBrowsersComeBackByHTTPS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	address := l.Addr().String()
	harness.Must(t, l.Close())
	config := daemon.Config{Database: dbtest.SQLite(t), Listen: address, PublicURL: "https://pay.example.com"}
	masterKeys(1)(&config)
	s, err := daemon.Start(ctx, config)
	harness.Must(t, err)
	defer s.Shutdown()
	for _, path := range []string{"/readyz", "/docs", harness.APIPath + "/ping", "/pay/nothing"} {
		r, err := http.Get("http://" + address + path)
		harness.Must(t, err)
		r.Body.Close()
		if got := r.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("%s: Strict-Transport-Security is %q, want a year", path, got)
		}
	}
}

// lines is a log that keeps every line.
type lines struct {
	harness.Faults
}

func (*lines) Enabled(context.Context, slog.Level) bool { return true }

// told counts the lines that have a text.
func (l *lines) told(text string) (n int) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, line := range l.Lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Requests that need no credentials are limited by their address.
func TestStrangersAreBounded(t *testing.T) {
	log := &lines{}
	c := &harness.Clock{}
	c.Freeze()
	limits := daemon.DefaultLimits()
	limits.Open, limits.Refused = 1, 2 // five and ten at once
	s := harness.StartWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) {
		config.Limits, config.Log, config.Proxies = &limits, slog.New(log), []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	o := s.NewShop(t)
	from := func(address, method, path, body, signature string) int {
		t.Helper()
		r, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		harness.Must(t, err)
		r.Header.Set("X-Forwarded-For", address)
		r.Header.Set("Content-Type", "application/json")
		if strings.HasSuffix(path, "?version") {
			r.Header.Set("Service-Version", "none")
		}
		if signature != "" {
			r.Header.Set("X-Sandbox-Signature", signature)
		}
		reply, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
		harness.Must(t, err)
		reply.Body.Close()
		if h := reply.Header; !strings.HasPrefix(path, "/docs") && !strings.HasPrefix(path, "/kyc") && !strings.HasPrefix(path, "/evidence") && (h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s %s has the headers %v", method, path, h)
		}
		return reply.StatusCode
	}
	for i, path := range []string{"/nowhere", "/api/v1/nowhere", "/api/openapi.json", "/inbox/" + o.Shop.Slug, "/api/v1/payments?%zz", "/api/v1//payments", "//docs", "/a/../docs", "CONNECT", "/api/v1/fx/rates?version"} {
		address, method := fmt.Sprint("198.51.100.", i), http.MethodGet
		switch {
		case strings.HasPrefix(path, "/inbox"):
			method = http.MethodPost
		case path == "CONNECT":
			method, path = path, "/"
		}
		for n := range 8 {
			if got := from(address, method, path, "{}", ""); (got == http.StatusTooManyRequests) != (n >= 5) {
				t.Errorf("request %d of %s returns %d, want 429 from the sixth on", n+1, path, got)
			}
		}
	}
	for i, path := range []string{"/docs", "/kyc/nobody", "/evidence/of.nobody"} { // pages have five times the limit
		for n := range 30 {
			if got := from(fmt.Sprint("203.0.113.", i), http.MethodGet, path, "", ""); (got == http.StatusTooManyRequests) != (n >= 25) {
				t.Errorf("request %d of %s returns %d, want 429 from the 26th on", n+1, path, got)
			}
		}
	}
	// Notifications have a high limit, and bad ones do not block a good one.
	const notice = "/api/v1/providers/sandbox-1/notifications"
	payment := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
	body := harness.NoticeBody(payment, harness.Paid50)
	for n := range 10 {
		if got := from("192.0.2.1", http.MethodPost, notice, body, "00"); got != http.StatusUnauthorized {
			t.Errorf("notification %d with a bad signature returns %d, want 401", n+1, got)
		}
	}
	if got := from("192.0.2.1", http.MethodPost, notice, body, s.Sign("sandbox-1", body)); got != http.StatusOK {
		t.Errorf("a signed notification from the same address returns %d, want 200", got)
	}
	heard := 0
	for range 150 {
		if got := from("192.0.2.4", http.MethodPost, "/api/v1/providers/nobody/notifications", body, ""); got == http.StatusUnauthorized {
			heard++
		}
	}
	if heard != 125 {
		t.Errorf("%d of 150 notifications at once from one address were read, want 125", heard)
	}
	if n := log.told("a notification was refused"); n != 1 {
		t.Errorf("ten refused notifications at once made %d lines in the log, want one", n)
	}
	c.Advance(10 * time.Second)
	from("192.0.2.1", http.MethodPost, notice, body, "00")
	if n := log.told("more_of_them=9"); n != 1 {
		t.Errorf("%d lines in the log count the nine other refused notifications, want one", n)
	}
	for range 200 {
		if got := from("192.0.2.3", http.MethodGet, "/readyz", "", ""); got != http.StatusOK { // load balancers poll it, so it has no limit
			t.Fatalf("/readyz returns %d, want 200", got)
		}
	}
}

// The number of pages that watch a payment live is limited for each payment and for each address.
func TestWatchersAreBounded(t *testing.T) {
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	o := s.NewShop(t)
	watch := func(payment, address string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, s.URL+"/pay/"+payment+"/live?status=pending", nil)
		harness.Must(t, err)
		r.Header.Set("X-Forwarded-For", address)
		reply, err := http.DefaultClient.Do(r)
		harness.Must(t, err)
		t.Cleanup(func() { reply.Body.Close() })
		return reply.StatusCode
	}
	const ofPayment, ofAddress = 10, 100
	for n := range ofAddress / ofPayment {
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)
		for range ofPayment {
			if got := watch(id, "198.51.100.1"); got != http.StatusOK {
				t.Fatalf("a page that watches payment %d gets %d, want 200", n+1, got)
			}
		}
		if got := watch(id, "198.51.100.2"); got != http.StatusTooManyRequests {
			t.Errorf("the 11th page of a payment gets %d, want 429", got)
		}
	}
	id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse"}`)
	if got := watch(id, "198.51.100.1"); got != http.StatusTooManyRequests {
		t.Errorf("the 101st page of an address gets %d, want 429", got)
	}
	if got := watch(id, "198.51.100.2"); got != http.StatusOK {
		t.Errorf("a page of another address gets %d, want 200", got)
	}
	if got := watch("TXN-NONE", "198.51.100.1"); got != http.StatusNotFound {
		t.Errorf("a page of a payment that does not exist gets %d, want 404", got)
	}
}

// Whoever can reach the service can send broken HTTP. None of it is a fault of ours: an answer of 5xx wakes people.
func TestBrokenRequestsAreNoFaults(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) { breakRequests(t, op.Instance, op) })
}

func breakRequests(t *testing.T, s *harness.Instance, op harness.Operator) {
	o := s.NewShop(t)
	payment := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true}`)
	token := o.Session(t, `{"amount":25.5,"currency":"USD","customer":{"firstName":"Ana","lastName":"Lima","email":"ana@mail.example","phone":"+5511987654321"}}`)
	const form, text = "application/x-www-form-urlencoded", "application/json"
	edges := []struct{ base, method, path, kind, credential string }{
		{s.URL, "POST", "/api/v1/payments", text, o.Sandbox.Secret},
		{s.URL, "POST", "/api/v1/payments", text, ""},
		{s.URL, "PATCH", "/api/v1/webhooks/wh_1", text, o.Sandbox.Secret},
		{s.URL, "POST", "/api/v1/auth/token", text, ""},
		{s.URL, "POST", "/api/v1/checkout/sessions/" + token + "/select", text, ""},
		{s.URL, "POST", "/api/v1/providers/acme/notifications", text, ""},
		{s.URL, "POST", "/inbox/shop", text, ""},
		{s.URL, "POST", "/checkout/" + token, form, ""},
		{s.URL, "POST", "/sandbox/bank/" + payment, form, ""},
		{s.URL, "POST", "/pay/" + payment + "/change", form, ""},
		{s.URL, "POST", "/pay/" + payment + "/again", form, ""},
		{s.URL, "POST", "/dashboard/sign-in", form, ""},
		{s.URL, "POST", "/dashboard/forgot", form, ""},
		{s.URL, "POST", "/dashboard/sign-in", "multipart/form-data; boundary=x", ""},
		{s.URL, "POST", "/dashboard/sign-in", "multipart/form-data", ""},
		{s.URL, "POST", "/kyc/kyc_1", form, ""},
		{s.URL, "POST", "/demo", form, ""},
		{s.URL, "POST", "/nowhere", text, ""},
		{op.AdminURL, "POST", "/admin/v1/accounts", text, op.Token},
		{op.AdminURL, "POST", "/admin/v1/accounts", text, ""},
	}
	bodies := []struct{ name, head, body string }{
		{"a chunk's size that is no number", "Transfer-Encoding: chunked", "zz\r\n"},
		{"a chunk that is too long for its size", "Transfer-Encoding: chunked", "2\r\n{}}}\r\n0\r\n\r\n"},
		{"a chunk's size beyond all numbers", "Transfer-Encoding: chunked", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"},
		{"a negative chunk", "Transfer-Encoding: chunked", "-1\r\n{}\r\n0\r\n\r\n"},
		{"chunks without an end", "Transfer-Encoding: chunked", "2\r\n{}\r\n"},
		{"a chunk's size without a line", "Transfer-Encoding: chunked", strings.Repeat("0", 9000)},
		{"a broken trailer", "Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\nbad trailer\r\n\r\n"},
		{"a body that ends early", "Content-Length: 500", "{"},
		{"a length that is no number", "Content-Length: many", "{}"},
		{"two lengths", "Content-Length: 2\r\nContent-Length: 3", "{}"},
		{"a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked", "zz\r\n"},
		{"a header without a colon", "Content-Length: 2\r\nbroken", "{}"},
	}
	for _, e := range edges {
		address, err := url.Parse(e.base)
		harness.Must(t, err)
		for _, b := range bodies {
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n", e.method, e.path, address.Host, e.kind)
			if e.credential != "" {
				head += "Authorization: Bearer " + e.credential + "\r\n"
			}
			status := sendRaw(t, address.Host, head+b.head+"\r\n\r\n"+b.body)
			if status >= 500 {
				t.Errorf("%s %s with %s is answered %d, want no fault", e.method, e.path, b.name, status)
			}
			if b.name == "a chunk's size that is no number" && e.credential != "" && status != http.StatusBadRequest {
				t.Errorf("%s %s with %s is answered %d, want 400", e.method, e.path, b.name, status)
			}
		}
		for what, head := range map[string]string{ // HTTP/2 has floods of its own, which a proxy bounds
			"begins HTTP/2":   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
			"asks for HTTP/2": "GET /none HTTP/1.1\r\nHost: " + address.Host + "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
		} {
			if status := sendRaw(t, address.Host, head); status < 400 || status >= 500 {
				t.Errorf("a connection to %s that %s is answered %d, want a refusal in HTTP/1.1", address.Host, what, status)
			}
		}
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n", e.method, e.path, address.Host, e.kind)
		if e.credential != "" {
			head += "Authorization: Bearer " + e.credential + "\r\n"
		}
		for range 5 { // whoever sends something leaves before it is answered
			leaveAfter(t, address.Host, head+"Content-Length: 40\r\n\r\n"+harness.Card[:40])
			leaveAfter(t, address.Host, head+"Content-Length: 40000000\r\n\r\n"+string(blanks[:2<<20]))
		}
	}
	leaveEarly(t, op, o, payment, token)
	if text := op.Log.String(); strings.Contains(text, "superfluous") || strings.Contains(text, "level=ERROR") {
		t.Errorf("the log has\n%s", text)
	}
}

// leaveEarly makes good requests of whoever does not wait for their answers.
func leaveEarly(t *testing.T, op harness.Operator, o harness.Client, payment, token string) {
	public, err := url.Parse(op.URL)
	harness.Must(t, err)
	admin, err := url.Parse(op.AdminURL)
	harness.Must(t, err)
	for range 20 {
		for _, path := range []string{"/pay/" + payment, "/checkout/" + token, "/kyc/kyc_01ARZ3NDEKTSV4RRFFQ69G5FAV?token=x", "/api/v1/payments", "/api/v1/checkout/sessions/" + token, "/evidence/x"} {
			leaveAfter(t, public.Host, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, o.Sandbox.Secret))
		}
		leaveAfter(t, admin.Host, fmt.Sprintf("GET /admin/v1/accounts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", op.Token))
		for path, body := range map[string]string{"/api/v1/auth/token": harness.LoginBody(o.Sandbox.Publishable, o.Sandbox.Secret), "/api/v1/payments": harness.Card} {
			leaveAfter(t, public.Host, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, o.Sandbox.Secret, len(body), body))
		}
	}
}

// leaveAfter sends bytes, or as many as the service takes, and leaves.
func leaveAfter(t *testing.T, host, text string) {
	t.Helper()
	c, err := net.Dial("tcp", host)
	harness.Must(t, err)
	_, _ = io.WriteString(c, text) // the service may have closed it
	harness.Must(t, c.(*net.TCPConn).SetLinger(0))
	harness.Must(t, c.Close())
}

// A slash at the end of an address gets the same answer whether there is something at the address or not.
func TestASlashAtTheEndTellsNothing(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		payment, none := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true}`), "TXN-01ARZ3NDEKTSV4RRFFQ69G5FAV"
		token, verification := o.Session(t, harness.CheckoutBody), o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"individual"}`).Want(t, http.StatusCreated)
		page, err := url.Parse(verification.Text(t, "url"))
		harness.Must(t, err)
		request := regexp.MustCompile(`req_\w+`)
		answer := func(address, name, credential string) string {
			t.Helper()
			r, err := http.NewRequest(http.MethodGet, strings.Replace(address, "{}", name, 1), nil)
			harness.Must(t, err)
			if credential != "" {
				r.Header.Set("Authorization", "Bearer "+credential)
			}
			reply, err := http.DefaultTransport.RoundTrip(r)
			harness.Must(t, err)
			defer reply.Body.Close()
			body, err := io.ReadAll(reply.Body)
			harness.Must(t, err)
			told := fmt.Sprint(reply.StatusCode, reply.Header.Get("Location"), string(body))
			return request.ReplaceAllString(strings.ReplaceAll(told, name, ""), "")
		}
		for address, names := range map[string][2]string{
			op.URL + "/pay/{}/": {payment, none}, op.URL + "/c/{}/": {payment, none}, op.URL + "/sandbox/bank/{}/": {payment, none},
			op.URL + "/checkout/{}/":                   {token, "cs_none"},
			op.URL + "/kyc/{}/?" + page.RawQuery:       {verification.Text(t, "verificationId"), "kyc_01ARZ3NDEKTSV4RRFFQ69G5FAV"},
			op.URL + harness.APIPath + "/payments/{}/": {payment, none}, op.AdminURL + "/admin/v1/payments/{}/": {payment, none},
		} {
			for _, credential := range []string{"", o.Sandbox.Secret, op.Token} {
				if got, missing := answer(address, names[0], credential), answer(address, names[1], credential); got != missing {
					t.Errorf("%s gets %.200q where it exists, and %.200q where it does not", address, got, missing)
				}
			}
		}
	})
}

// sendRaw sends bytes and returns the status of the answer; 0 if the connection is closed without one.
func sendRaw(t *testing.T, host, text string) int {
	t.Helper()
	c, err := net.Dial("tcp", host)
	harness.Must(t, err)
	defer c.Close()
	harness.Must(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, text)
	harness.Must(t, err)
	_ = c.(*net.TCPConn).CloseWrite() // the service may have closed it
	reply, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}
