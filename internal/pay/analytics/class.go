package analytics

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Class is everything that is counted of a payment except its money. Payments of a class are added up
// together.
type Class struct {
	Shop    string
	Live    bool
	Hour    int64   // of its creation, since 1970, UTC
	Outcome Outcome // "" for a checkout's step
	Step    Step    // "" for a payment that belongs to no session, or was not paid
	Method  string
	Country string // ISO 3166 alpha-3
	Rail    string
	Band    string // of its amount, see Bands
	Wait    string // the WaitClass of a paid voucher, transfer or page; "" if it was approved at once
	Answer  string // why it was not paid: the issuer's reason, or an error code of the API
	Tries   []Try
	// Refusals are the shopper's tries that did not pay, also of a payment that was paid in the end.
	Refusals []Refusal
	Count    int // of installments of a paid card: 1 is at once; 0 of everything else
}

// Try is an attempt at a provider account.
type Try struct {
	Account string
	Outcome Outcome
}

// Refusal is a shopper's try at a provider account that did not pay.
type Refusal struct {
	Account string
	Reason  string // a decline.Reason
}

func classAt(scope merchants.Scope, created time.Time) Class {
	return Class{Shop: scope.Shop, Live: scope.Live, Hour: created.Unix() / 3600}
}

// nothing stands for an empty word.
const nothing = "-"

// word escapes a value, so that it has no space, quote, comma or colon.
func word(value string) string {
	switch value {
	case "":
		return nothing
	case nothing:
		return "%2D"
	}
	return url.QueryEscape(value)
}

// value is what word escaped.
func value(word string) (string, error) {
	if word == nothing {
		return "", nil
	}
	return url.QueryUnescape(word)
}

// AppendText appends the class as it is stored: words in one line. ParseClass reads them. Statements read the first four:
// the outcome, 1 in production, the hour, and the shop.
func (c Class) AppendText(b []byte) []byte {
	live := "0"
	if c.Live {
		live = "1"
	}
	b = append(append(append(b, word(string(c.Outcome))...), ' '), live...)
	b = strconv.AppendInt(append(b, ' '), c.Hour, 10)
	for _, value := range []string{c.Shop, string(c.Step), c.Method, c.Country, c.Rail, c.Band, c.Wait, c.Answer} {
		b = append(append(b, ' '), word(value)...)
	}
	var lists [3]string
	for _, t := range c.Tries {
		lists[0] += "," + word(string(t.Outcome)) + ":" + word(t.Account)
	}
	for _, r := range c.Refusals {
		lists[1] += "," + word(r.Reason) + ":" + word(r.Account)
	}
	if c.Count > 0 {
		lists[2] = "," + strconv.Itoa(c.Count)
	}
	words := len(lists)
	for words > 0 && lists[words-1] == "" {
		words--
	}
	for _, list := range lists[:words] {
		b = append(append(b, ' '), cmp.Or(strings.TrimPrefix(list, ","), nothing)...)
	}
	return b
}

// ParseClass reads what AppendText wrote.
func ParseClass(text string) (c Class, err error) {
	words := strings.Split(text, " ")
	if len(words) < 11 || len(words) > 14 {
		return c, fmt.Errorf("analytics: %q has %d words, want 11 to 14", text, len(words))
	}
	var outcome, step string
	for i, into := range []*string{0: &outcome, 3: &c.Shop, 4: &step, 5: &c.Method, 6: &c.Country, 7: &c.Rail, 8: &c.Band, 9: &c.Wait, 10: &c.Answer} {
		if into == nil {
			continue
		}
		if *into, err = value(words[i]); err != nil {
			return c, fmt.Errorf("analytics: %q: %w", text, err)
		}
	}
	c.Outcome, c.Step, c.Live = Outcome(outcome), Step(step), words[1] == "1"
	if c.Hour, err = strconv.ParseInt(words[2], 10, 64); err != nil {
		return c, fmt.Errorf("analytics: %q: %w", text, err)
	}
	err = pairs(words[11:], 0, func(outcome, account string) { c.Tries = append(c.Tries, Try{account, Outcome(outcome)}) })
	if err == nil {
		err = pairs(words[11:], 1, func(reason, account string) { c.Refusals = append(c.Refusals, Refusal{account, reason}) })
	}
	if err == nil && len(words) == 14 {
		c.Count, err = strconv.Atoi(words[13])
	}
	if err != nil {
		return c, fmt.Errorf("analytics: %q: %w", text, err)
	}
	return c, nil
}

// pairs reads the pairs of the n-th word: a comma between two pairs, a colon in each.
func pairs(words []string, n int, each func(first, second string)) error {
	if n >= len(words) || words[n] == nothing {
		return nil
	}
	for pair := range strings.SplitSeq(words[n], ",") {
		first, second, _ := strings.Cut(pair, ":")
		first, err := value(first)
		if err != nil {
			return err
		}
		if second, err = value(second); err != nil {
			return err
		}
		each(first, second)
	}
	return nil
}
