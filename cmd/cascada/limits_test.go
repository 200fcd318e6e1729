package main_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// limit sends a request and returns its RateLimit-Limit, "" without one.
func (s *server) limit(t *testing.T, path, key string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	return reply.StatusCode, reply.Header.Get("RateLimit-Limit")
}

func TestLimitsAreOnByDefault(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	const lifted = "rate limits are off"
	for _, c := range []struct {
		args          []string
		env           string
		sandbox, live string
		warned        bool
	}{
		{nil, "CASCADA_RATE_LIMIT=on", "200", "50", false}, // starter
		{[]string{"--rate-limit", "off"}, "CASCADA_RATE_LIMIT=on", "", "", true},
		{nil, "CASCADA_RATE_LIMIT=off", "", "", true},
		{[]string{"--rate-limit", "on", "--rate-limit-tiers", "starter=7,premium=9", "--rate-limit-sandbox", "8"}, "", "16", "14", false},
		{nil, "CASCADA_RATE_LIMIT=on\nCASCADA_RATE_LIMIT_TIERS=starter=7\nCASCADA_RATE_LIMIT_SANDBOX=8", "16", "14", false},
	} {
		v := u.with(strings.Split(c.env, "\n")...)
		s := v.serve(t, c.args...)
		k := v.merchant(t, "sqlite:cascada.db").Keys
		if status, got := s.limit(t, "/ping", k.Sandbox.Secret); status != http.StatusOK || got != c.sandbox {
			t.Errorf("%v %s: the sandbox answers %d with a limit of %q, want %q", c.args, c.env, status, got, c.sandbox)
		}
		if status, got := s.limit(t, "/ping", k.Production.Secret); status != http.StatusOK || got != c.live {
			t.Errorf("%v %s: production answers %d with a limit of %q, want %q", c.args, c.env, status, got, c.live)
		}
		s.stop()
		if warned := strings.Contains(s.output(), lifted); warned != c.warned {
			t.Errorf("%v %s: warned %v, want %v", c.args, c.env, warned, c.warned)
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown tier":    {[]string{"--rate-limit-tiers", "gold=5"}, `no tier "gold"`},
		"a limit of nothing": {[]string{"--rate-limit-tiers", "starter=0"}, "tier starter"},
		"no logins":          {[]string{"--rate-limit-logins", "0"}, "above zero"},
		"a proxy's name":     {[]string{"--trusted-proxies", "proxy.example"}, "trusted-proxies"},
		"a bad redis":        {[]string{"--redis", "localhost"}, "redis://"},
		"a bad feed":         {[]string{"--fx-url", "rates"}, "absolute https URL"},
		"no age":             {[]string{"--fx-max-age", "1h"}, "the warning must come before"},
	} {
		_, log, code := u.with("CASCADA_RATE_LIMIT=on").run(t, append([]string{"serve"}, c.args...)...)
		if code == 0 || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit %d, want an error that says %q:\n%s", name, code, c.want, log)
		}
	}
}

// A Redis that does not answer does not delay the start.
func TestServiceStartsWithoutItsRedis(t *testing.T) {
	t.Parallel()
	u := newUser(t).with("CASCADA_RATE_LIMIT=on", "CASCADA_REDIS=redis://127.0.0.1:1")
	s := u.serve(t)
	k := u.merchant(t, "sqlite:cascada.db").Keys
	if status, got := s.limit(t, "/ping", k.Sandbox.Secret); status != http.StatusOK || got != "200" {
		t.Errorf("without Redis: %d with a limit of %q, want 200 and the node's own limit", status, got)
	}
	if n := strings.Count(s.output(), "redis does not answer"); n != 1 {
		t.Errorf("the log says %d times that Redis does not answer, want once", n)
	}
}

func TestOperatorSetsRatesWhileTheServerRuns(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		metrics := freePort(t)
		s := u.serve(t, "--metrics", metrics)
		k := u.merchant(t, database).Keys.Sandbox.Secret
		rate := func() string {
			_, reply := s.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1"}`, nil)
			rate, _ := reply["fxRate"].(float64) // as clients read it
			return strconv.FormatFloat(rate, 'f', -1, 64)
		}
		gauge := func(name string) (float64, bool) {
			n := metric(metrics, name)
			return n, n >= 0
		}
		if _, known := gauge("cascada_fx_oldest_rate_seconds"); rate() != "5.4" || known {
			t.Errorf("before a rate was set: %s, age known: %v", rate(), known)
		}
		set := func(want int, says string, args ...string) {
			t.Helper()
			if out, log, code := u.run(t, append([]string{"fx"}, args...)...); code != want || !strings.Contains(out+log, says) {
				t.Errorf("fx %v: exit %d, want %d and %q:\n%s%s", args, code, want, says, out, log)
			}
		}
		set(0, "BRL 5.4321 (was none)", "set", "BRL", "5.4321", "--source", "Banco Central")
		await(t, "the server to see the rate", func() bool { return rate() == "5.4321" })
		set(1, "BRL 54.321: more than 20% away", "set", "BRL", "54.321")
		set(1, "BRL stays at 5.4321, which is newer", "set", "BRL", "5.5", "--at", "2026-01-01T00:00:00Z")
		set(1, "in the future", "set", "BRL", "5.5", "--at", "2999-01-01T00:00:00Z")
		set(1, "USD has no rate", "set", "USD", "1.1")
		set(1, "unknown currency", "set", "XYZ", "1.1")
		for _, bad := range []string{"0", "abc", "1,5", "1e99"} {
			set(1, bad, "set", "BRL", bad)
		}
		set(0, "BRL 7 (was 5.4321)", "set", "BRL", "7", "--force", "--at", "2026-01-01T00:00:00Z")
		for name, file := range map[string]string{
			"rates.csv":  "currency,rate,source\nMXN,18.4,desk\nCLP,940,\n",
			"rates.json": `{"base":"USD","rates":{"PEN":3.4}}`,
		} {
			if err := os.WriteFile(filepath.Join(u.dir, name), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			set(0, "(was none)", "import", name)
		}
		out, _, _ := u.run(t, "fx", "list")
		for _, want := range []string{
			`(?m)^BRL +7 +operator +2026-01-01 00:00 +expired`, `(?m)^MXN +18\.4 +desk .* fresh$`, `(?m)^CLP +940 +rates\.csv .* fresh$`,
			`(?m)^PEN +3\.4 +rates\.json .* fresh$`, `(?m)^COP +4120\.5 +built-in .* built-in, for the sandbox only$`,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("fx list lacks %s:\n%s", want, out)
			}
		}
		if out, _, _ := u.run(t, "fx", "list", "BRL"); strings.Count(out, "applied") != 2 || !strings.Contains(out, "Banco Central") || strings.Count(out, "@") != 2 {
			t.Errorf("the history of BRL is\n%s", out)
		}
		if out, _, _ := u.run(t, "audit", "list"); strings.Count(out, "rate.set") != 5 || !regexp.MustCompile(`rate\.set BRL by operator .*@`).MatchString(out) {
			t.Errorf("the audit log has not who set the five rates:\n%s", out)
		}
		await(t, "the server to see that the rate has expired", func() bool { return rate() == "0" })
		if age, known := gauge("cascada_fx_oldest_rate_seconds"); !known || age < 86400 {
			t.Errorf("the oldest rate is %v seconds old (%v), want more than a day", age, known)
		}
		if held, known := gauge("cascada_fx_rates_held"); !known || held != 0 {
			t.Errorf("%v rates are held (%v)", held, known)
		}
		s.stop()
		u.check(t, database)
	})
}

// freePort returns an address on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// GOGC and GOMEMLIMIT, as Go documents them, replace the service's own settings: each of them all (docs/OPERATIONS.md).
func TestOperatorsMemorySettingsHold(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]float64{"GOMEMLIMIT=256MiB": 100, "GOGC=50": 50, "GOGC=": 800} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			metrics := freePort(t)
			s := newUser(t).with("GOGC=", "GOMEMLIMIT=", setting).serve(t, "--metrics", metrics)
			defer s.stop()
			if got := metric(metrics, "go_gc_gogc_percent"); got != want {
				t.Errorf("the heap grows by %v %%, want %v", got, want)
			}
		})
	}
}
