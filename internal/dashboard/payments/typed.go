package payments

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

func problemOf(err error) (*problem.Error, bool) { return errors.AsType[*problem.Error](err) }

// clean is what somebody typed, without what no database stores.
func clean(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""))
}

// signs are currencies' own signs that name one currency.
var signs = []struct{ sign, code string }{{"US$", "USD "}, {"R$", "BRL "}, {"S/", "PEN "}, {"$", ""}}

// amountOf reads an amount that may name its currency, before or after: 25.50, BRL 137,70, 9 USD.
func amountOf(lang merchants.Language, text string, otherwise money.Currency) (money.Amount, bool) {
	for _, s := range signs {
		if rest, found := strings.CutPrefix(text, s.sign); found {
			text = s.code + rest
			break
		}
	}
	text = strings.ToUpper(strings.TrimSpace(text))
	currency := otherwise
	if len(text) > 3 {
		if c := money.Currency(text[:3]); c.Valid() {
			currency, text = c, strings.TrimSpace(text[3:])
		} else if c := money.Currency(text[len(text)-3:]); c.Valid() {
			currency, text = c, strings.TrimSpace(text[:len(text)-3])
		}
	}
	return frame.Typed(lang, text, currency)
}

// hash is the hash of what a form asks for, so that its key cannot stand for another request.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:])
}
