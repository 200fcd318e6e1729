package sender

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"code.dny.dev/ssrf"
)

// MaxURL is the longest endpoint URL, in bytes.
const MaxURL = 2048

// CheckURL checks what can be known about an endpoint when it is saved: that the URL is
// absolute, uses https (or http, in the sandbox), names a host, carries no credentials and
// does not name a private address outright. The address of a name is only known when we
// connect, and is checked then.
//
// Errors: a problem.Reason.
func CheckURL(raw string, live, allowPrivate bool) error {
	if len(raw) > MaxURL {
		return urlTooLong.With(MaxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return urlNotAbsolute
	}
	if !allowedScheme(u.Scheme, live) {
		if live {
			return urlNotHTTPS
		}
		return urlNotHTTP
	}
	if strings.Trim(u.Hostname(), ".") == "" {
		return urlWithoutHost
	}
	// Some letters of other scripts are read as digits and dots of an address when it is dialled.
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }) {
		return urlNotASCII
	}
	if u.User != nil {
		return urlWithPassword
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return urlPort
		}
	}
	err = checkHost(u.Hostname(), allowPrivate && !live)
	if err != nil && !live && !allowPrivate && checkHost(u.Hostname(), true) == nil {
		return urlLoopback
	}
	return err
}

// checkHost refuses a host that can only be a private address.
func checkHost(host string, allowPrivate bool) error {
	guard := publicGuard()
	if allowPrivate {
		guard = loopbackGuard()
	}

	// A name may end in a dot, and an address with one is still that address.
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	// By RFC 6761 these names always mean loopback.
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		if !allowPrivate {
			return urlPrivate
		}
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		if guard.SafeAddr(ip.Unmap()) != nil {
			return urlPrivate
		}
		return nil
	}
	if endsInNumber(name) {
		return urlShortIP
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
