package dlocal

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	scheme   = "V2-HMAC-SHA256, Signature: "
	dateForm = "2006-01-02T15:04:05.000Z"
)

// sign is the hex HMAC-SHA-256 of login, date and body.
func sign(secret, login, date string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(login + date))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// reply is an answer of dLocal's.
type reply struct{ provider.Reply }

// read decodes the answer of a call that did what it was asked for.
func (r reply) read(into any) bool {
	return (r.Status == http.StatusOK || r.Status == http.StatusCreated) && json.Unmarshal(r.Body, into) == nil
}

// code is dLocal's own error code; 0 when the answer has none, and so may come
// from anything between us and dLocal.
func (r reply) code() int {
	var e struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(r.Body, &e) != nil {
		return 0
	}
	return e.Code
}

// call sends a signed request. key is the idempotency key, "" for a question;
// body is nil for none.
func (a *account) call(ctx context.Context, verb, path, key string, body any) (reply, *pay.Outcome) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
		}
	}
	req, err := http.NewRequestWithContext(ctx, verb, a.base+path, bytes.NewReader(text))
	if err != nil {
		return reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
	}
	date := a.Now().UTC().Format(dateForm)
	req.Header.Set("X-Date", date)
	req.Header.Set("X-Login", a.login)
	req.Header.Set("X-Trans-Key", a.transKey)
	req.Header.Set("X-Version", "2.1")
	req.Header.Set("User-Agent", "Cascada")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", scheme+sign(a.secret, a.login, date, text))
	if key != "" {
		req.Header.Set("X-Idempotency-Key", key)
	}
	got, failed := provider.Do(a.Client, req)
	return reply{got}, failed
}

// payment is dLocal's payment object, as far as we read it.
type payment struct {
	ID       string      `json:"id"`
	OrderID  string      `json:"order_id"`
	Amount   json.Number `json:"amount"`
	Currency string      `json:"currency"`
	Status   string      `json:"status"`
	Code     word        `json:"status_code"`
	Redirect string      `json:"redirect_url"`
	ThreeDS  struct {
		Redirect string `json:"redirect_url"`
	} `json:"three_dsecure"`
	Ticket struct {
		Number  string `json:"number"`
		Barcode string `json:"barcode"`
		Company string `json:"company_name"`
		Image   string `json:"image_url"`
	} `json:"ticket"`
	Transfer struct {
		Account     string `json:"bank_account"`
		Bank        string `json:"bank_name"`
		Beneficiary string `json:"beneficiary_name"`
		Reference   string `json:"reference"`
		Redirect    string `json:"redirect_url"`
	} `json:"bank_transfer"`
	Refunds *[]refund `json:"refunds"`
}

// word is a status code: a string in most of dLocal's examples, a number in some.
type word string

// UnmarshalJSON takes both.
func (w *word) UnmarshalJSON(text []byte) error {
	var number json.Number // of a string too, where it holds a number
	if json.Unmarshal(text, &number) == nil {
		*w = word(clean(number.String(), 32))
		return nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*w = word(clean(s, 32))
	return nil
}

// amount reads an amount of dLocal's, which is in major units. One that is not a
// positive number of minor units of a currency is not ok.
func amount(number json.Number, currency string) (local money.Amount, ok bool) {
	c, err := money.ParseCurrency(currency)
	if err != nil {
		return money.Amount{}, false
	}
	local, err = money.Parse(number.String(), c)
	return local, err == nil && local.IsPositive()
}

// sendable reports whether dLocal takes an amount. Its country pages say how many
// decimals: none in Colombia, whose peso has two in ISO 4217, and ISO's elsewhere.
func sendable(local money.Amount) bool {
	return local.IsPositive() && (local.Currency != money.COP || local.Minor%100 == 0)
}

// clean is a text of dLocal's without control characters, and no longer than
// limit bytes; a longer one is none.
func clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
	if len(text) > limit {
		return ""
	}
	return text
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// link is an address that a shopper may be sent to, or "".
func link(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > 2000 {
		return ""
	}
	return text
}

// instant reads a time in the forms that dLocal writes.
func instant(text string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05.000-0700"} {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
