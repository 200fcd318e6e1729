package sender_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
)

var errDialled = errors.New("nothing is dialled here")

// dialled is the host that a request to a URL would connect to, "" for none: what a transport
// makes of it, with its reading of international names.
func dialled(raw string) string {
	host := ""
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		host, _, _ = net.SplitHostPort(address)
		return nil, errDialled
	}
	transport := &http.Transport{DialContext: dial, DialTLSContext: dial}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodPost, raw, http.NoBody)
	if err != nil {
		return ""
	}
	if reply, err := transport.RoundTrip(request); err == nil {
		_ = reply.Body.Close()
	}
	return host
}

// No URL that is accepted names an address that only the network around us has, however that
// is written; in letters that ASCII ones are made of it is not connected to.
func FuzzCheckURL(f *testing.F) {
	for _, host := range privateHosts {
		f.Add("https://"+host+"/hook", true, false)
		f.Add("http://"+host+":8080/hook", false, true)
	}
	for _, url := range []string{
		"https://shop.example:8443/hook?shop=1#top", "HTTPS://SHOP.EXAMPLE", "https://xn--caf-dma.example/", "https://caf\u00e9.example/", "https://[2606:4700:4700::1111]/",
		"https://shop.example@127.0.0.1/", "https:shop.example/hook", "https://127%2e0.0.1/", "unix:///var/run/docker.sock", "https://\n", "https://[::1",
	} {
		f.Add(url, true, false)
		f.Add(url, false, false)
	}
	for _, host := range []string{ // which a transport takes for addresses and for localhost
		"\uff11\uff12\uff17.\uff10.\uff10.\uff11", "127\u30020\u30020\uff611", "127.0.0.1\u00ad", "10.0.0.\u2460", "\u24dbocalhost", "localho\u017ft", "shop.local\u200bhost", "\u00b2130706433",
	} {
		f.Add("https://"+host+"/", true, false)
		f.Add("http://"+host+":8080/", false, true)
	}
	f.Fuzz(func(t *testing.T, raw string, live, allowPrivate bool) {
		if sender.CheckURL(raw, live, allowPrivate) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.Hostname() == "" || u.Scheme != "https" && (live || u.Scheme != "http") || len(raw) > 2048 {
			t.Fatalf("%q is accepted: %+v, %v", raw, u, err)
		}
		if live && sender.CheckURL(raw, false, false) != nil {
			t.Errorf("%q is good for production and not for the sandbox", raw)
		}
		host := strings.ToLower(strings.TrimSuffix(dialled(raw), "."))
		ip, err := netip.ParseAddr(host)
		private := err == nil && ssrf.New(ssrf.WithAnyPort()).SafeAddr(ip.Unmap()) != nil
		loopback := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
		switch {
		case loopback && allowPrivate && !live, !loopback && !private:
		default:
			t.Errorf("%q leads to %s", raw, host)
		}
	})
}

// A header is accepted for one reason: in it is the MAC of the time that is in it and the body.
func FuzzVerify(f *testing.F) {
	good := sender.Sign(midnight, body, secret, "")
	for _, header := range []string{
		good, sender.Sign(midnight, body, secret, earlier), sender.Sign(midnight, body, foreign, secret), sender.Sign(midnight, body, foreign, ""),
		good + ",v2=abc,more", "t=1," + good, "t=1792281600,v1=", ",=,,==,", "", "t=99999999999999999999,v1=00", "t=+1792281600," + good[13:], strings.ToUpper(good),
	} {
		f.Add(header, body)
	}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		err := sender.Verify(header, body, secret, midnight, sender.Tolerance)
		if err != nil && !errors.Is(err, sender.ErrSignature) && !errors.Is(err, sender.ErrStale) {
			t.Fatalf("%q: %v", header, err)
		}
		if !errors.Is(err, sender.ErrSignature) && !carries(header, body) {
			t.Errorf("nobody signed %q, and it is %v", header, err)
		}
		// What we sign is accepted, whatever the body, and by no other secret.
		own := sender.Sign(midnight, body, secret, "")
		if err := sender.Verify(own, body, secret, midnight, sender.Tolerance); err != nil {
			t.Errorf("our own signature of %q: %v", body, err)
		}
		if err := sender.Verify(own, body, foreign, midnight, sender.Tolerance); !errors.Is(err, sender.ErrSignature) {
			t.Errorf("another's signature of %q: %v", body, err)
		}
		if err := sender.Verify(own, append(bytes.Clone(body), '\n'), secret, midnight, sender.Tolerance); !errors.Is(err, sender.ErrSignature) {
			t.Errorf("the signature of another body than %q: %v", body, err)
		}
	})
}

// carries reports whether the MAC of one of a header's times and the body is in it.
func carries(header string, body []byte) bool {
	for pair := range strings.SplitSeq(header, ",") {
		stamp, ok := strings.CutPrefix(strings.TrimSpace(pair), "t=")
		if !ok {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "." + string(body)))
		if strings.Contains(strings.ToLower(header), hex.EncodeToString(mac.Sum(nil))) {
			return true
		}
	}
	return false
}
