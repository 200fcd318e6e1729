package sales

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

func problemOf(err error) (*problem.Error, bool) { return errors.AsType[*problem.Error](err) }

// clean is what somebody typed, without what no database stores.
func clean(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""))
}

// digits writes an amount as programs do: people write the decimals after a comma or a point, and may separate
// thousands by the other one. A single mark before exactly three digits separates thousands where the language
// writes them so. Anything else is left as it is.
func digits(lang tenant.Language, text string) string {
	text = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "").Replace(text)
	point, comma := strings.LastIndex(text, "."), strings.LastIndex(text, ",")
	group := ","
	switch {
	case point < 0 && comma < 0:
		return text
	case point >= 0 && comma >= 0:
		if comma > point {
			group = "."
		}
	default:
		at := max(point, comma)
		mark := text[at : at+1]
		other := map[string]string{".": ",", ",": "."}[mark]
		ours := "." // that separates thousands
		if lang == tenant.English {
			ours = ","
		}
		if group = other; strings.Count(text, mark) > 1 || mark == ours && len(text)-at == len(".000") {
			group = mark
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, group, ""), ",", ".")
}

// signs are currencies' own signs that name one currency.
var signs = []struct{ sign, code string }{{"US$", "USD "}, {"R$", "BRL "}, {"S/", "PEN "}, {"$", ""}}

// amountOf reads an amount that may name its currency, before or after: 25.50, BRL 137,70, 9 USD.
func amountOf(lang tenant.Language, text string, otherwise money.Currency) (money.Amount, bool) {
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
	if strings.Trim(text, "0123456789., '\u00a0\u202f") != "" || text == "" {
		return money.Amount{}, false
	}
	a, err := money.Parse(digits(lang, text), currency)
	return a, err == nil && a.IsPositive()
}

// hash is the hash of what a form asks for, so that its key cannot stand for another request.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:])
}
