package dlocal

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	scheme   = "V2-HMAC-SHA256, Signature: "
	dateForm = "2006-01-02T15:04:05.000Z"
	agent    = "Cascada"
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

// read decodes the answer of a successful call.
func (r reply) read(into any) bool {
	return (r.Status == http.StatusOK || r.Status == http.StatusCreated) && json.Unmarshal(r.Body, into) == nil
}

// code is dLocal's own error code; 0 if there is none, in which case the answer may come
// from a gateway.
func (r reply) code() int {
	var e struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(r.Body, &e) != nil {
		return 0
	}
	return e.Code
}

// call sends a signed request. key is the idempotency key, "" for a query; body is nil for
// none.
func (a *account) call(ctx context.Context, verb, path, key string, body any) (reply, *pay.Outcome) {
	req, unsent := provider.NewRequest(ctx, verb, a.base+path, body)
	if unsent != nil {
		return reply{}, unsent
	}
	text, err := sent(req)
	if err != nil {
		return reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
	}
	date := a.Now().UTC().Format(dateForm)
	req.Header.Set("X-Date", date)
	req.Header.Set("X-Login", a.login)
	req.Header.Set("X-Trans-Key", a.transKey)
	req.Header.Set("X-Version", "2.1")
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", scheme+sign(a.secret, a.login, date, text))
	if key != "" {
		req.Header.Set("X-Idempotency-Key", key)
	}
	got, failed := provider.Do(a.Client, req)
	if failed == nil && (reply{got}).unsigned() {
		failed = &pay.Outcome{Kind: pay.Unavailable, Decline: wrongSecret}
	}
	return reply{got}, failed
}

const wrongSecret = "wrong_secret"

// unsigned reports whether dLocal does not accept our signature, so that it did nothing. Its code, 5000, is of any
// request that is not valid; the message was seen in the sandbox.
func (r reply) unsigned() bool {
	var e struct {
		Message string `json:"message"`
	}
	return r.Status == http.StatusBadRequest && r.code() == 5000 && json.Unmarshal(r.Body, &e) == nil &&
		strings.HasPrefix(strings.ToLower(e.Message), "signature not match")
}

// sent is the body that a request will have.
func sent(req *http.Request) ([]byte, error) {
	if req.GetBody == nil {
		return nil, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}

// payment is the part of dLocal's payment object that we read.
type payment struct {
	ID       string        `json:"id"`
	OrderID  string        `json:"order_id"`
	Amount   json.Number   `json:"amount"`
	Currency string        `json:"currency"`
	Status   string        `json:"status"`
	Code     provider.Text `json:"status_code"`
	Redirect string        `json:"redirect_url"`
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
	Card struct {
		Installments provider.Text `json:"installments"`
	} `json:"card"`
	Refunds *[]refund `json:"refunds"`
}

// plan is how the shopper paid, if dLocal says so.
func (p payment) plan() installment.Plan {
	count, err := strconv.Atoi(string(p.Card.Installments))
	if err != nil || count < 2 || count > installment.Most {
		return installment.Plan{}
	}
	return installment.Plan{Count: count}
}

// sendable reports whether dLocal accepts an amount's decimals. By its country pages
// Colombia has none, although ISO 4217 gives its peso two; elsewhere they are ISO's.
func sendable(local money.Amount) bool {
	return local.IsPositive() && (local.Currency != money.COP || local.Minor%100 == 0)
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// instant reads a time in any of dLocal's formats.
func instant(text string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05.000-0700"} {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
