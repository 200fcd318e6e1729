package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
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

const (
	longestCredential = 200  // a user name, a password, a header's name
	longestValue      = 4096 // a header's value: tokens are long
)

// Why a header is not for credentials.
var (
	errWritten  = errors.New("authentication.header must not be this one: the service writes it, because it follows from the request")
	errSigning  = errors.New("authentication.header must not be this one: it belongs to the signature of deliveries")
	errOnTheWay = errors.New("authentication.header must not be this one: it belongs to proxies on the way, and says where a request comes from")
	errTracing  = errors.New("authentication.header must not be this one: it belongs to traces")
	errBrowsers = errors.New("authentication.header must not be this one: it belongs to browsers")
)

// otherwiseUsed are the headers that no credentials may replace, in lower case, and why. A name that ends in * is a beginning.
var otherwiseUsed = map[string]error{
	"host": errWritten, "content-*": errWritten, "transfer-encoding": errWritten, "te": errWritten, "trailer": errWritten, "connection": errWritten,
	"keep-alive": errWritten, "upgrade": errWritten, "expect": errWritten, "user-agent": errWritten, "accept-encoding": errWritten, "idempotency-key": errWritten,
	"x-service-*": errSigning, "webhook-*": errSigning,
	"proxy-*": errOnTheWay, "forwarded": errOnTheWay, "x-forwarded-*": errOnTheWay, "x-real-ip": errOnTheWay, "via": errOnTheWay,
	"traceparent": errTracing, "tracestate": errTracing, "baggage": errTracing,
	"cookie": errBrowsers, "set-cookie": errBrowsers, "origin": errBrowsers, "referer": errBrowsers,
}

// usedFor says what a header is for, if not for credentials.
func usedFor(header string) error {
	name := strings.ToLower(header)
	for used, why := range otherwiseUsed {
		beginning, ok := strings.CutSuffix(used, "*")
		if used == name || ok && strings.HasPrefix(name, beginning) {
			return why
		}
	}
	return nil
}

// Mistake is something wrong with credentials. The merchant may be shown its text.
type Mistake struct {
	Field   string // "": credentials as a whole
	Err     error
	Missing bool
}

// Check returns what is wrong with credentials that somebody gave. No text has a secret in it.
func (c Credentials) Check() (list []Mistake) {
	add := func(field string, err error) { list = append(list, Mistake{Field: field, Err: err}) }
	missing := func(field string, err error) { list = append(list, Mistake{field, err, true}) }
	basic, header := c.Username+c.Password != "", c.Header+c.Value != ""
	switch {
	case basic && header:
		add("", errors.New("authentication takes username and password, or header and value, not both: send one pair"))
		return list
	case !basic && !header:
		add("", errors.New("authentication needs username and password, or header and value; null takes it away"))
		return list
	case basic && c.Username == "":
		missing("username", errors.New("authentication.username is required with a password"))
	case basic && c.Password == "":
		missing("password", errors.New("authentication.password is required with a user name: it is not taken over from before"))
	case header && c.Header == "":
		missing("header", errors.New("authentication.header is required with a value: it is the header's name, such as X-Api-Key"))
	case header && c.Value == "":
		missing("value", errors.New("authentication.value is required with a header: it is not taken over from before"))
	}
	switch {
	case strings.Contains(c.Username, ":"):
		add("username", errors.New("authentication.username must not contain a colon: Basic authentication ends the user name there"))
	case !plain(c.Username, longestCredential, unicode.MaxRune):
		add("username", errors.New("authentication.username must have at most 200 characters, all of them visible, and no space at its ends"))
	}
	if !plain(c.Password, longestCredential, unicode.MaxRune) {
		add("password", errors.New("authentication.password must have at most 200 characters, all of them visible, and no space at its ends"))
	}
	if err := usedFor(c.Header); err != nil {
		add("header", err)
	} else if c.Header != "" && (!isToken(c.Header) || len(c.Header) > longestCredential) {
		add("header", errors.New("authentication.header must be the name of a header, such as X-Api-Key or Authorization: letters, digits and hyphens"))
	}
	if !plain(c.Value, longestValue, unicode.MaxASCII) {
		add("value", errors.New("authentication.value must have at most 4096 characters, all of them visible and in ASCII, and no space at its ends"))
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
