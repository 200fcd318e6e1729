package woovi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// chargeRequest is the body of POST /api/v1/charge.
type chargeRequest struct {
	CorrelationID string           `json:"correlationID"`
	Value         int64            `json:"value"` // centavos
	Type          string           `json:"type"`
	ExpiresIn     int64            `json:"expiresIn"` // seconds
	Comment       string           `json:"comment"`
	Info          []info           `json:"additionalInfo,omitempty"`
	Customer      *customerRequest `json:"customer,omitempty"`
}

// info is what the shopper sees beside the comment.
type info struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// moreInfo has the order's number.
func moreInfo(r provider.Request) []info {
	if order := provider.Words(r.OrderID, longestInfo); order != "" {
		return []info{{"Pedido", order}}
	}
	return nil
}

// customerRequest names the shopper. Other people may pay too.
type customerRequest struct {
	Name  string `json:"name"`
	TaxID string `json:"taxID,omitempty"`
	Email string `json:"email,omitempty"`
	Phone string `json:"phone,omitempty"`
}

// customer is the shopper in Woovi's form: a name with something that tells namesakes
// apart, or nil. A number that is no CPF or CNPJ, or has letters, is not sent.
func customer(r provider.Request) *customerRequest {
	q := customerRequest{
		Name: provider.Words(r.Buyer.Name, 255), Email: provider.Exact(r.Buyer.Email, 255), Phone: strings.TrimPrefix(r.Phone(), "+"),
	}
	if kind, number := provider.Document("BRA", r.Buyer.Document); kind != "" && provider.Digits(number, 11, 14) {
		q.TaxID = number
	}
	if q.Name == "" || q.TaxID == "" && q.Email == "" && q.Phone == "" {
		return nil
	}
	return &q
}

// chargeReply is a charge in an answer.
type chargeReply struct {
	CorrelationID string      `json:"correlationID"`
	Status        string      `json:"status"`
	Value         json.Number `json:"value"` // centavos
	WithDiscount  json.Number `json:"valueWithDiscount"`
	Discount      json.Number `json:"discount"`
	Giftback      json.Number `json:"giftbackAppliedValue"`
	BRCode        string      `json:"brCode"`
	Identifier    string      `json:"identifier"`
	TransactionID string      `json:"transactionID"`
	GlobalID      string      `json:"globalID"`
	PaymentLinkID string      `json:"paymentLinkID"`
}

// ref is the id by which Woovi's support finds the charge; some examples in the
// documentation lack some of these ids.
func (r chargeReply) ref() string {
	for _, ref := range []string{r.Identifier, r.TransactionID, r.GlobalID, r.PaymentLinkID, r.CorrelationID} {
		if ref = provider.Exact(ref, 128); ref != "" {
			return ref
		}
	}
	return ""
}

func (c *client) call(ctx context.Context, method, path string, body any) (provider.Reply, *pay.Outcome) {
	req, unsent := provider.NewRequest(ctx, method, c.base+path, body)
	if unsent != nil {
		return provider.Reply{}, unsent
	}
	req.Header.Set("Authorization", c.appID) // as it is, without "Bearer"
	req.Header.Set("Accept", "application/json")
	return provider.Do(c.account.Client, req)
}

// unmapped is the reason of an outcome whose status we do not know.
const unmapped = "unknown_status"

func good(r provider.Reply) bool { return r.Status >= 200 && r.Status < 300 }

// The sentences that prove that an object does not exist. Many others say that something is not
// found: a company, a customer, an account.
const (
	noCharge      = "Charge not found"      // woovi.json, POST /api/v1/invoice; GET /api/v1/charge/{id} has no sentence
	noTransaction = "Transaction not found" // docs/baas/baas-api-master.md, GET /api/v1/transaction/{id}
)

// says reports whether an answer is an error with exactly this sentence. By the documentation errors
// are 400s with a sentence.
func (c *client) says(r provider.Reply, this string) bool {
	if r.Status != http.StatusBadRequest {
		return false
	}
	text := sentence(r)
	if text == this {
		return true
	}
	if text != "" { // the sentence may hold anything, so it is not passed on
		c.account.Strange("error", strconv.Itoa(r.Status))
	}
	return false
}

// sentence is the error in an answer.
func sentence(r provider.Reply) string {
	var reply struct {
		Error   any `json:"error"` // a sentence; sometimes an object
		Message any `json:"message"`
	}
	if json.Unmarshal(r.Body, &reply) != nil {
		return ""
	}
	for _, said := range []any{reply.Error, reply.Message} {
		if text, ok := said.(string); ok {
			return provider.Exact(text, 200)
		}
	}
	return ""
}

// contains reports whether a text has one of the words, which are in lower case.
func contains(text string, words ...string) bool {
	text = strings.ToLower(text)
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func digits(text string) string {
	if len(text) > 64 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

func escape(reference string) string { return url.PathEscape(reference) }
