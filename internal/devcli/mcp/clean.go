package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/cardnumber"
)

// What stands where something is not shown.
const (
	maskedSecret   = "[secret]" //nolint:gosec // it stands for one
	maskedPersonal = "[masked]"
)

const (
	// maxText bounds a text of others, in bytes.
	maxText = 2000
	// maxOwn bounds a value of the service, such as an id: what is longer is a text of others.
	maxOwn = 200
	// deepest bounds how deep an answer is nested.
	deepest = 30
)

// outsideText is the name of the member that marks what somebody else wrote.
const outsideText = "outsideText"

// cleaner makes answers fit for an agent: secrets and personal data are masked, and texts of others are marked. It is for one answer.
type cleaner struct{ secrets []string }

// errNotJSON: the service's answer is no JSON.
var errNotJSON = errors.New("the service's answer cannot be read")

// clean is an answer as an agent may see it. Numbers keep their digits.
func (c cleaner) clean(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, errNotJSON
	}
	return c.value("", tree, place{}), nil
}

// place is where a value stands.
type place struct {
	depth   int
	outside bool // inside of what is marked
}

// value cleans a value of a member.
func (c cleaner) value(name string, v any, at place) any {
	if v == nil || at.depth > deepest {
		return nil
	}
	if _, flag := v.(bool); flag {
		return v
	}
	words := wordsOf(name)
	switch {
	case contains(words, secretWords) || contains(joined(words), secretWords):
		return maskedSecret
	case slices.Contains(personalNames, strings.ToLower(name)), contains(words, personalWords):
		return maskedPersonal
	}
	at.depth++
	switch v := v.(type) {
	case map[string]any:
		return c.object(name, v, at)
	case []any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			list = append(list, c.value(name, e, at))
		}
		return list
	case json.Number:
		if cardnumber.Is(v.String()) {
			return maskedPersonal
		}
		return v
	case string:
		return c.string(name, v, at)
	}
	return v
}

// object cleans an object. One whose members are named by others is marked as a whole.
func (c cleaner) object(name string, v map[string]any, at place) any {
	mark := !at.outside && slices.Contains(outsideNames, name)
	at.outside = at.outside || mark
	clean := make(map[string]any, len(v))
	for key, value := range v {
		shown := c.secret(key)
		if !memberName.MatchString(key) || at.outside {
			shown = c.bounded(c.mask(key), maxOwn)
		}
		clean[shown] = c.value(key, value, at)
	}
	if mark {
		return map[string]any{outsideText: clean}
	}
	return clean
}

var (
	// memberName is what the name of a member looks like.
	memberName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	// ownText is what values of the service look like: ids, statuses, codes, times, decimals, routes.
	ownText = regexp.MustCompile(`^[A-Za-z0-9_.:…/{}*+-]*$`)
	// digits is a row of digits as documents, phones and accounts have them.
	digits = regexp.MustCompile(`\+?\(?\d[\d .()/-]{7,}\d`)
	email  = regexp.MustCompile(`[^\s@<>"',;:()]+@[^\s@<>"',;:()]+\.[^\s@<>"',;:()]+`)
	// address is a web address in a text.
	address = regexp.MustCompile(`https?://[^\s"'<>]+`)
)

// string cleans a text: it is one of the service, an address, or one of others.
func (c cleaner) string(name, text string, at place) any {
	short := len(text) <= maxText
	if short {
		text = c.secret(text)
	}
	if short && (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) {
		return c.bounded(c.addresses(text), maxOwn)
	}
	if len(text) <= maxOwn && ownText.MatchString(text) && !slices.Contains(outsideNames, name) && !at.outside {
		if !strings.HasSuffix(name, "Id") && rowOfDigits(text) {
			return maskedPersonal
		}
		return text
	}
	text = c.beginning(text)
	if at.outside {
		return text
	}
	return map[string]any{outsideText: text}
}

// rowOfDigits reports whether a text is nine digits or more and nothing but marks, as documents, phones and accounts are.
func rowOfDigits(text string) bool {
	n := 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			n++
		case unicode.IsLetter(r):
			return false
		}
	}
	return n >= 9
}

// mask masks what must not be shown in a text: secrets, e-mail addresses, numbers.
func (c cleaner) mask(text string) string {
	text = c.addresses(c.secret(text))
	text = email.ReplaceAllString(text, maskedPersonal)
	return digits.ReplaceAllStringFunc(text, func(row string) string {
		if !rowOfDigits(row) || harmless.MatchString(row) || net.ParseIP(row) != nil {
			return row
		}
		return maskedPersonal
	})
}

// harmless is a date, or an amount.
var harmless = regexp.MustCompile(`^(\d{4}-\d\d-\d\d( \d\d)?|\d+\.\d\d)$`)

// addresses cuts what may let somebody in out of web addresses: the query, the user, and parts of the path that look like tokens.
func (c cleaner) addresses(text string) string {
	return address.ReplaceAllStringFunc(text, func(found string) string {
		u, err := url.Parse(found)
		if err != nil || u.Host == "" {
			return "[address]"
		}
		short := u.Scheme + "://" + u.Host + u.EscapedPath()
		if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			short += "?…"
		}
		return c.segments(short)
	})
}

// segments masks parts of a path that are long and random, as tokens are. Ids of the service stay.
func (c cleaner) segments(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if i > 2 && len(p) >= 20 && !ourID.MatchString(p) && strings.ContainsAny(p, "0123456789") && strings.ContainsFunc(p, unicode.IsLetter) {
			parts[i] = maskedSecret
		}
	}
	return strings.Join(parts, "/")
}

// ourID is an id of the service.
var ourID = regexp.MustCompile(`^[A-Za-z]{2,4}[_-][0-9A-Z-]+(\.[a-z]{3})?$`)

// secretForms are what secrets look like, and what stands for them.
var secretForms = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b([srp]k_(?:test|live)_)[A-Za-z0-9_-]{8,}`), "$1…"},
	{regexp.MustCompile(`\b(whsec_)[A-Za-z0-9+/=_-]{8,}`), "$1…"},
	{regexp.MustCompile(`\b((?:cs|ln|rt|op)_)[A-Za-z0-9_-]{16,}`), "$1…"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(\.[A-Za-z0-9_-]*)?`), maskedSecret},
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}`), "$1 " + maskedSecret},
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), maskedSecret},
	{regexp.MustCompile(`(?i)\b(set-cookie|cookie|authorization|proxy-authorization|(?:x-)?api[-_]?key|client[-_]?secret|secret|password|passwd|access[-_]?token|refresh[-_]?token|token)(\\?["']?\s*[:=]\s*\\?["']?)[^\s"',;&}\\]+`), "${1}${2}" + maskedSecret},
}

// secret masks secrets in a text.
func (c cleaner) secret(text string) string {
	text = c.exact(text)
	for _, s := range secretForms {
		text = s.form.ReplaceAllString(text, s.with)
	}
	return text
}

// exact masks the texts that must never be shown.
func (c cleaner) exact(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, maskedSecret)
	}
	return text
}

// bounded is the beginning of a text as valid UTF-8.
func (c cleaner) bounded(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:end], len(text)-end)
}

// beginning is the masked beginning of a text. Of a long one it masks no more than it shows, and a margin: what is cut in two at the margin's end is
// not shown.
func (c cleaner) beginning(text string) string {
	const margin = 512
	if len(text) <= maxText+margin {
		return c.bounded(c.mask(text), maxText)
	}
	masked := strings.ToValidUTF8(c.mask(text[:maxText+margin]), "\uFFFD")
	end := max(0, min(maxText, len(masked)-margin))
	for end > 0 && !utf8.RuneStart(masked[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes more)", masked[:end], len(text)-end)
}

// outsideNames are members whose values others wrote, whatever they look like.
var outsideNames = []string{
	"description", "metadata", "name", "sku", "label", "note", "text", "title", "message", "failureMessage", "lastResponseSnippet", "responseSnippet", "body",
}

// personalNames are members with data of shoppers, or of banks and destinations, in small letters.
var personalNames = []string{"username", "userip", "reference", "destination", "destinationmasked", "destinationdetails"}

var (
	// secretWords are words in names of members whose values are secrets.
	secretWords = []string{"secret", "secrets", "token", "tokens", "password", "passwd", "authorization", "authentication", "cookie", "credential", "credentials", "signature", "apikey", "privatekey", "accesskey", "signingkey"}
	// personalWords are words in names of members with data of shoppers, banks and destinations.
	personalWords = []string{
		"email", "phone", "document", "cpf", "cnpj", "curp", "rfc", "iban", "clabe", "cbu", "address", "birth", "birthday", "birthdate", "ip", "holder", "cardholder",
		"beneficiary", "bank", "barcode", "qr", "voucher", "customer", "shopper", "payer", "pan", "cvv", "cvc",
	}
)

// wordsOf splits a name such as userEmail or user_email into words in small letters.
func wordsOf(name string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
		if last = r; unicode.IsUpper(r) {
			last = unicode.ToUpper(r)
		}
	}
	return strings.Fields(b.String())
}

// joined are neighbours as one word: api and key are apikey.
func joined(words []string) (pairs []string) {
	for i := 1; i < len(words); i++ {
		pairs = append(pairs, words[i-1]+words[i])
	}
	return pairs
}

func contains(words, list []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}
