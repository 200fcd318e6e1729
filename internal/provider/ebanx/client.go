package ebanx

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// answer is EBANX's answer to any call. Refusals have HTTP status 200 too.
type answer struct {
	Status   string  `json:"status"` // SUCCESS or ERROR
	Code     string  `json:"status_code"`
	Message  string  `json:"status_message"`
	Redirect string  `json:"redirect_url"` // of /ws/request
	Payment  payment `json:"payment"`
	Refund   refund  `json:"refund"`
}

type payment struct {
	Hash      string        `json:"hash"`
	Reference string        `json:"merchant_payment_code"`
	Status    string        `json:"status"`
	Amount    json.Number   `json:"amount_ext"` // the requested amount, without tax
	Currency  string        `json:"currency_ext"`
	Redirect  string        `json:"redirect_url"`
	Count     provider.Text `json:"instalments"`
	Pix       struct {
		Code string `json:"qr_code_value"`
	} `json:"pix"`
	CLABE       string `json:"clabe_account"`
	CLABENote   string `json:"clabe_reference"`
	SPEIURL     string `json:"spei_url"`
	OXXO        string `json:"oxxo_barcode"`
	OXXOURL     string `json:"oxxo_url"`
	Transaction struct {
		Code   string `json:"code"`             // OK or NOK
		Reason string `json:"description_code"` // not of cards
		Text   string `json:"description"`
	} `json:"transaction_status"`
	Refunds []refund `json:"refunds"`
}

type refund struct {
	ID     provider.Text `json:"id"`
	Code   string        `json:"merchant_refund_code"`
	Status string        `json:"status"`
	Amount json.Number   `json:"amount_ext"`
	Text   string        `json:"description"` // the description that we sent
}

// missing reports whether EBANX says that it has no such payment, and not that a parameter
// was not found.
func (aw answer) missing() bool {
	message := strings.ToLower(aw.Message)
	return aw.Status == "ERROR" && strings.HasPrefix(aw.Code, "BP-") &&
		strings.HasPrefix(message, "payment") && strings.Contains(message, "not found")
}

const wrongKey = "wrong_key"

// refusesKey reports whether EBANX does not know the integration key, so that it did nothing. ActiveMerchant
// recorded DA-1, EBANX's SDK for PHP has BP-SA-2, and the list of API error codes BP-SA-1.
func (aw answer) refusesKey() bool {
	return aw.Status == "ERROR" && (strings.HasPrefix(aw.Code, "DA-") || strings.HasPrefix(aw.Code, "BP-SA-"))
}

// good reports whether the answer holds the requested payment: by our reference if it is
// known, otherwise by hash.
func (aw answer) good(reference, hash string) bool {
	p := aw.Payment
	return aw.Status == "SUCCESS" && identifier.MatchString(p.Hash) && (hash == "" || p.Hash == hash) &&
		(reference == "" || p.Reference == reference)
}

// post calls with a JSON body.
func (a *account) post(ctx context.Context, path string, body map[string]any) (answer, *pay.Outcome) {
	return understood(a.sendJSON(ctx, path, body))
}

// form sends a form, as the reference of the page's call documents.
func (a *account) form(ctx context.Context, path string, fields url.Values) (answer, *pay.Outcome) {
	return understood(a.sendForm(ctx, path, fields))
}

// sendJSON sends a JSON body with the key.
func (a *account) sendJSON(ctx context.Context, path string, body map[string]any) (provider.Reply, *pay.Outcome) {
	body["integration_key"] = a.key
	text, err := json.Marshal(body)
	if err != nil {
		return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
	}
	return a.send(ctx, path, "application/json", string(text))
}

// sendForm sends a form with the key.
func (a *account) sendForm(ctx context.Context, path string, fields url.Values) (provider.Reply, *pay.Outcome) {
	fields.Set("integration_key", a.key)
	return a.send(ctx, path, "application/x-www-form-urlencoded", fields.Encode())
}

func (a *account) send(ctx context.Context, path, kind, body string) (provider.Reply, *pay.Outcome) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, strings.NewReader(body))
	if err != nil {
		return provider.Reply{}, &pay.Outcome{Kind: pay.Errored, Decline: "bad_request"}
	}
	req.Header.Set("Content-Type", kind)
	return provider.Do(a.Client, req)
}

// understood reads EBANX's answer to a call of charges.
func understood(reply provider.Reply, failed *pay.Outcome) (answer, *pay.Outcome) {
	if failed != nil {
		return answer{}, failed
	}
	var got answer
	err := json.Unmarshal(reply.Body, &got)
	known := err == nil && (got.Status == "SUCCESS" || got.Status == "ERROR" && strings.HasPrefix(got.Code, "BP-"))
	switch {
	case err == nil && got.refusesKey() && !busy(reply.Status):
		return answer{}, &pay.Outcome{Kind: pay.Unavailable, Decline: wrongKey}
	case reply.Status >= http.StatusBadRequest && (!known || got.Status != "ERROR" || busy(reply.Status)):
		o := provider.Refused(reply.Status)
		return answer{}, &o
	case reply.Status < http.StatusBadRequest && (reply.Status != http.StatusOK || !known):
		o := provider.Unknown("broken_answer")
		return answer{}, &o
	}
	return got, nil
}

// busy reports whether a status is about EBANX's own state, whatever the body says.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// identifier is a hash of EBANX's: 48 characters at most.
var identifier = regexp.MustCompile(`^[A-Za-z0-9]{1,48}$`)
