package provider

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

// A provider's texts are untrusted input. They are bounded and checked here before we keep
// them.

// Text is a provider's short string, or a number in its place: ids come as both. A text
// that is too long or has control characters reads as "".
type Text string

// UnmarshalJSON reads a string or a number.
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

// Exact returns a text that is of use only as a whole: a code, a reference, an id. It is ""
// if it has more than most bytes or any control character.
func Exact(text string, most int) string {
	text = strings.TrimSpace(text)
	if len(text) > most || strings.ContainsFunc(text, control) {
		return ""
	}
	return text
}

// Printable returns a text for people: without unprintable characters, cut to most bytes.
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

// Plain reports whether a text is 1 to most bytes of printable ASCII without spaces, as
// ids, keys and codes are.
func Plain(text string, most int) bool {
	return text != "" && len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Digits reports whether a text consists of least to most digits.
func Digits(text string, least, most int) bool {
	return len(text) >= least && len(text) <= most && strings.Trim(text, "0123456789") == ""
}

// CNPJ reports whether a text has the form of a Brazilian company's number: twelve digits or, since July 2026, letters, and
// two check digits. letters: it has some, which not every provider takes.
func CNPJ(text string) (letters, ok bool) {
	if len(text) != 14 || !Digits(text[12:], 2, 2) || strings.Trim(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return false, false
	}
	return !Digits(text, 14, 14), true
}

// longestLink is the length that links to Stripe's pages need; other providers' links are
// shorter.
const longestLink = 5000

// Link returns an address to which a shopper may be sent, or "".
func Link(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || !Plain(text, longestLink) {
		return ""
	}
	return text
}

// Major reads an amount in major units. It returns false if the amount is not exact in the
// currency's minor units or not above zero.
func Major(number, currency string) (money.Amount, bool) {
	c, err := money.ParseCurrency(currency)
	if err != nil || len(number) > 40 {
		return money.Amount{}, false
	}
	local, err := money.Parse(number, c)
	return local, err == nil && local.IsPositive()
}

// Names splits a name at its first space. This is only a guess.
func Names(name string) (first, last string) {
	first, last, _ = strings.Cut(strings.Join(strings.Fields(name), " "), " ")
	return first, last
}
