package sender

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Credentials are what an endpoint asks of its callers: a user name and a password, or one header with its value. The zero
// value is none.
type Credentials struct {
	Username, Password string // Basic authentication
	Header, Value      string
}

// None reports whether there are none.
func (c Credentials) None() bool { return c == Credentials{} }

// Secret is the part that nobody is shown.
func (c Credentials) Secret() string { return c.Password + c.Value }

// WithSecret returns the credentials with their secret.
func (c Credentials) WithSecret(secret string) Credentials {
	if c.Header != "" {
		c.Value = secret
	} else {
		c.Password = secret
	}
	return c
}

// sent is the header that carries the credentials. Its name is as it was given: a gateway may not ignore case.
func (c Credentials) sent() (name, value string) {
	if c.Header != "" {
		return c.Header, c.Value
	}
	return "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
}

// set adds them to the headers of a request.
func (c Credentials) set(h http.Header) {
	if !c.None() {
		name, value := c.sent()
		h[name] = []string{value}
	}
}

// hide takes the secret out of an endpoint's answer, which people are shown: some endpoints send back what they got. The
// answer may have been cut within it.
func (c Credentials) hide(answer string) string {
	if c.None() || answer == "" {
		return answer
	}
	_, value := c.sent()
	_, bare, _ := strings.Cut(value, " ") // without Basic or Bearer
	const hidden = "*"                    // no longer than any secret: the answer stays within its limit
	for _, secret := range []string{value, bare, c.Secret()} {
		for _, written := range []string{secret, inJSON(secret, true), inJSON(secret, false)} {
			if written == "" {
				continue
			}
			answer = strings.ReplaceAll(answer, written, hidden)
			for n := len(written) - 1; n >= 4; n-- {
				if cut, ok := strings.CutSuffix(answer, written[:n]); ok {
					answer = cut + hidden
					break
				}
			}
		}
	}
	return answer
}

// inJSON writes a text as JSON does, without the quotes.
func inJSON(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(text) != nil { // a text can always be written
		return ""
	}
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

// Limits of credentials, in characters.
const (
	LongestCredential = 200  // a user name, a password, a header's name
	LongestValue      = 4096 // a header's value: tokens are long
)

// otherwiseUsed are the headers that no credentials may replace, in lower case, and why. A name that ends in * is a beginning.
var otherwiseUsed = map[string]problem.Reason{
	"host": headerOfService, "content-*": headerOfService, "transfer-encoding": headerOfService, "te": headerOfService, "trailer": headerOfService, "connection": headerOfService,
	"keep-alive": headerOfService, "upgrade": headerOfService, "expect": headerOfService, "user-agent": headerOfService, "accept-encoding": headerOfService, "idempotency-key": headerOfService,
	"x-service-*": headerOfSignature, "webhook-*": headerOfSignature,
	"proxy-*": headerOfProxies, "forwarded": headerOfProxies, "x-forwarded-*": headerOfProxies, "x-real-ip": headerOfProxies, "via": headerOfProxies,
	"traceparent": headerOfTraces, "tracestate": headerOfTraces, "baggage": headerOfTraces,
	"cookie": headerOfBrowsers, "set-cookie": headerOfBrowsers, "origin": headerOfBrowsers, "referer": headerOfBrowsers,
}

// usedFor says what a header is for, if not for credentials.
func usedFor(header string) problem.Reason {
	name := strings.ToLower(header)
	for used, why := range otherwiseUsed {
		beginning, ok := strings.CutSuffix(used, "*")
		if used == name || ok && strings.HasPrefix(name, beginning) {
			return why
		}
	}
	return problem.Reason{}
}

// Mistake is something wrong with credentials.
type Mistake struct {
	Field   string // "": credentials as a whole
	Why     problem.Reason
	Missing bool
}

// Check returns what is wrong with credentials that somebody gave. No text has a secret in it.
func (c Credentials) Check() (list []Mistake) {
	add := func(field string, why problem.Reason) { list = append(list, Mistake{Field: field, Why: why}) }
	missing := func(field string, why problem.Reason) { list = append(list, Mistake{field, why, true}) }
	basic, header := c.Username+c.Password != "", c.Header+c.Value != ""
	switch {
	case basic && header:
		add("", bothWays)
		return list
	case !basic && !header:
		add("", neitherWay)
		return list
	case basic && c.Username == "":
		missing("username", userMissing)
	case basic && c.Password == "":
		missing("password", passwordMissing)
	case header && c.Header == "":
		missing("header", headerMissing)
	case header && c.Value == "":
		missing("value", valueMissing)
	}
	switch {
	case strings.Contains(c.Username, ":"):
		add("username", userWithColon)
	case !plain(c.Username, LongestCredential, unicode.MaxRune):
		add("username", userUnreadable.With(LongestCredential))
	}
	if !plain(c.Password, LongestCredential, unicode.MaxRune) {
		add("password", passwordUnreadable.With(LongestCredential))
	}
	if why := usedFor(c.Header); !why.None() {
		add("header", why)
	} else if c.Header != "" && (!isToken(c.Header) || len(c.Header) > LongestCredential) {
		add("header", headerMalformed)
	}
	if !plain(c.Value, LongestValue, unicode.MaxASCII) {
		add("value", valueUnreadable.With(LongestValue))
	}
	return list
}

// isToken reports whether a name may be a header's (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return name != "" && strings.Trim(name, letters+"!#$%&'*+-.^_`|~") == ""
}

// plain reports whether a text has no more than so many characters, all visible and none above most, and no space at its ends.
func plain(text string, longest int, most rune) bool {
	return utf8.RuneCountInString(text) <= longest && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return r > most || !unicode.IsPrint(r) })
}
