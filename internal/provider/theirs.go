package provider

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

// What an upstream says is input from outside: here it is bounded and checked
// before anything of ours holds it.

// Text is a short string of an upstream's, or a number that it writes in one's
// place: ids are both. What is too long or has control characters reads as "".
type Text string

// UnmarshalJSON takes both.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
		s = string(b)
	} else if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if len(s) > 2048 || strings.ContainsFunc(s, control) {
		s = ""
	}
	*t = Text(s)
	return nil
}

func control(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }

// Exact is a text that has to be whole: a code, a reference, an id. It is ""
// where it is longer than so many bytes or has control characters.
func Exact(text string, most int) string {
	text = strings.TrimSpace(text)
	if len(text) > most || strings.ContainsFunc(text, control) {
		return ""
	}
	return text
}

// Printable is a text for people: without what cannot be printed, and cut to so
// many bytes.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// Plain reports whether a text is printable ASCII without spaces, of one byte to
// so many, as ids, keys and words are.
func Plain(text string, most int) bool {
	return text != "" && len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Digits reports whether a text is digits, from so many to so many.
func Digits(text string, least, most int) bool {
	return len(text) >= least && len(text) <= most && strings.Trim(text, "0123456789") == ""
}

// longestLink is what Stripe's pages need; no other provider's are longer.
const longestLink = 5000

// Link is an address where a shopper may be sent, or "".
func Link(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || !Plain(text, longestLink) {
		return ""
	}
	return text
}

// Major reads an amount that is written in major units, false for one that
// nobody can be charged: not exact in the currency's minor units, or not above
// zero.
func Major(number, currency string) (money.Amount, bool) {
	c, err := money.ParseCurrency(currency)
	if err != nil || len(number) > 40 {
		return money.Amount{}, false
	}
	local, err := money.Parse(number, c)
	return local, err == nil && local.IsPositive()
}

// Names parts a name at its first space, which is a guess for every name.
func Names(name string) (first, last string) {
	first, last, _ = strings.Cut(strings.Join(strings.Fields(name), " "), " ")
	return first, last
}
