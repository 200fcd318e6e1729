package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
)

// A label is kept for good: what a stranger makes up is none.
func TestStrangersMakeNoLabels(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	s := startWith(t, dbtest.SQLite(t), &clock{}, func(c *daemon.Config) { c.Metrics = address })
	const strangers = 50
	for i := range strangers {
		r, err := http.NewRequest(fmt.Sprintf("METHOD-%d", i), s.URL+"/nowhere", nil)
		must(t, err)
		reply, err := http.DefaultClient.Do(r)
		must(t, err)
		reply.Body.Close()
	}
	r, err := http.Get("http://" + address + "/metrics")
	must(t, err)
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	must(t, err)
	told := map[string]bool{}
	for _, label := range regexp.MustCompile(`method="([^"]*)"`).FindAllSubmatch(page, -1) {
		told[string(label[1])] = true
	}
	if !told["other"] || len(told) > 8 {
		t.Errorf("%d strangers made the labels %v, want them together as other", strangers, told)
	}
	if counted := regexp.MustCompile(`cascada_http_request_seconds_count\{method="other",status="\d+"\} ` + fmt.Sprint(strangers)); !counted.Match(page) {
		t.Error("/metrics does not count their requests")
	}
}

// What a client writes into a header is its own affair: only a trusted proxy is believed.
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
			s := startWith(t, dbtest.SQLite(t), &clock{}, func(config *daemon.Config) {
				config.Proxies = c.trusted
				if name == "limits are on" {
					limits := daemon.DefaultLimits()
					config.Limits = &limits
				}
			})
			o := s.shop(t)
			forged := []string{"X-Forwarded-For: 6.6.6.6, 198.51.100.7", "X-Real-Ip: 6.6.6.7", "Forwarded: for=6.6.6.8"}
			hook := o.post(t, "/webhooks", `{"events":["*"]}`, forged...).want(t, http.StatusCreated)
			if e := o.act(t, pay.WebhookCreated, hook.text(t, "id")); e.By.IP != c.want {
				t.Errorf("the audit log has %s, want %s", e.By.IP, c.want)
			}
		})
	}
}

// No reply of the API is kept by a cache, or taken for a page by a browser.
func TestRepliesAreNeitherKeptNorGuessedAt(t *testing.T) {
	alone(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		made := o.post(t, "/payments", card).want(t, http.StatusCreated)
		for name, r := range map[string]reply{
			"a payment":        made,
			"a list":           o.get(t, "/payments"),
			"bad credentials":  o.as("sk_test_x").get(t, "/me"),
			"a bad body":       o.post(t, "/payments", `{`),
			"no such endpoint": o.get(t, "/nowhere"),
			"no such method":   o.delete(t, "/payments"),
			"tokens":           o.post(t, "/auth/token", loginBody(o.Sandbox.Publishable, o.Sandbox.Secret)),
			"no such provider": o.post(t, "/providers/nobody/notifications", `{}`),
			"a ping":           o.get(t, "/ping"),
		} {
			for header, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
				if got := r.header.Values(header); len(got) != 1 || got[0] != want {
					t.Errorf("%s (%d): %s is %q, want %s alone", name, r.status, header, got, want)
				}
			}
		}
		for _, path := range []string{"/healthz", "/readyz", "/docs", "/api/openapi.json", "/nowhere"} {
			r, err := http.Get(s.URL + path)
			must(t, err)
			r.Body.Close()
			if got := r.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("%s: X-Content-Type-Options is %q, want nosniff", path, got)
			}
		}
	})
}
