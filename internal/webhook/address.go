package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"code.dny.dev/ssrf"
)

// maxURL is the longest endpoint URL, in bytes.
const maxURL = 2048

// CheckURL checks what can be known about an endpoint when it is saved: that the URL is
// absolute, uses https (or http, in the sandbox), names a host, carries no credentials and
// does not name a private address outright. The address of a name is only known when we
// connect, and is checked then. The error may be shown to the merchant.
func CheckURL(raw string, live, allowPrivate bool) error {
	if len(raw) > maxURL {
		return fmt.Errorf("url must be at most %d bytes long", maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("url must be an absolute URL, such as https://shop.example/hooks")
	}
	if !allowedScheme(u.Scheme, live) {
		if live {
			return errors.New("url must start with https://, such as https://shop.example/hooks")
		}
		return errors.New("url must start with https:// or http://, such as https://shop.example/hooks")
	}
	if strings.Trim(u.Hostname(), ".") == "" {
		return errors.New("url must name a host")
	}
	// Some letters of other scripts are read as digits and dots of an address when it is dialled.
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }) {
		return errors.New("url must write its host in ASCII: an international name as xn--…")
	}
	if u.User != nil {
		return errors.New("url must not contain a user name or password: send them as authentication")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("url must have a port between 1 and 65535")
		}
	}
	err = checkHost(u.Hostname(), allowPrivate && !live)
	if err != nil && !live && !allowPrivate && checkHost(u.Hostname(), true) == nil {
		return errors.New("url must not lead to a loopback address, unless the service runs with --allow-private-webhooks")
	}
	return err
}

// checkHost refuses a host that can only be a private address.
func checkHost(host string, allowPrivate bool) error {
	guard := publicGuard()
	if allowPrivate {
		guard = loopbackGuard()
	}
	private := errors.New("url must not lead to a private, loopback or reserved address")

	// A name may end in a dot, and an address with one is still that address.
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	// By RFC 6761 these names always mean loopback.
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		if !allowPrivate {
			return private
		}
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		if guard.SafeAddr(ip.Unmap()) != nil {
			return private
		}
		return nil
	}
	if endsInNumber(name) {
		return errors.New("url must write an IP address in full, as in 203.0.113.7")
	}
	// Everything else is a name, and is checked when it is dialled.
	return nil
}

// endsInNumber recognizes the other ways to write an IPv4 address, such as 2130706433,
// 0x7f000001, 0177.0.0.1 and 127.1: some resolvers read them and ours may not. No
// top-level domain is a number, so a name is never taken for one.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func allowedScheme(scheme string, live bool) bool {
	return scheme == "https" || scheme == "http" && !live
}

// publicGuard allows the public internet, on any port: merchants do run receivers on 8443. Azure serves a
// machine's metadata at an address that looks public, so that address is listed here.
func publicGuard() *ssrf.Guardian {
	return ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")),
	)
}

// loopbackGuard also allows loopback, for receivers under development. It still refuses private networks and
// the addresses at which clouds serve metadata: a sandbox that is open to others must not become a way into
// the network around it.
func loopbackGuard() *ssrf.Guardian {
	return ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")),
		ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")),
		ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128")),
	)
}
