package payulatam

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

const (
	paymentsPath = "/payments-api/4.0/service.cgi"
	reportsPath  = "/reports-api/4.0/service.cgi"
)

// request is the body for both APIs.
type request struct {
	Language    string       `json:"language"`
	Command     string       `json:"command"`
	Merchant    merchant     `json:"merchant"`
	Test        bool         `json:"test"` // for tests in production; the sandbox is another host
	Transaction *transaction `json:"transaction,omitempty"`
	Details     *details     `json:"details,omitempty"`
}

type merchant struct {
	APIKey   string `json:"apiKey"`
	APILogin string `json:"apiLogin"`
}

type details struct {
	ReferenceCode string `json:"referenceCode"`
}

type transaction struct {
	Order          order  `json:"order"`
	Payer          person `json:"payer"`
	Type           string `json:"type"`
	PaymentMethod  string `json:"paymentMethod"`
	PaymentCountry string `json:"paymentCountry"`
	ExpirationDate string `json:"expirationDate"` // UTC, and seven days away at most
	IPAddress      string `json:"ipAddress"`
}

type order struct {
	AccountID        string           `json:"accountId"`
	ReferenceCode    string           `json:"referenceCode"`
	Description      string           `json:"description"`
	Language         string           `json:"language"`
	NotifyURL        string           `json:"notifyUrl,omitempty"`
	Signature        string           `json:"signature"`
	AdditionalValues map[string]value `json:"additionalValues"`
	Buyer            person           `json:"buyer"`
}

type person struct {
	FullName     string `json:"fullName"`
	EmailAddress string `json:"emailAddress"`
	ContactPhone string `json:"contactPhone,omitempty"`
	DNINumber    string `json:"dniNumber,omitempty"`
	DNIType      string `json:"dniType,omitempty"`
}

// dniTypes are the types in PayU's list of document types (42c09c2) by country, where a document's form tells them. A person's CUIT in Argentina is also
// the CUIL, so its number alone is sent. That Peru takes PP is *unproved*.
var dniTypes = map[string]string{
	"AR CUIT": "CUIT", "AR DNI": "DNI", "CO CC": "CC", "CO NIT": "NIT", "CO PP": "PP", "MX CURP": "CURP", "MX RFC": "RFC", "PE CE": "CE", "PE DNI": "DNI", "PE PP": "PP", "PE RUC": "RUC",
}

type value struct {
	Value    json.Number `json:"value"`
	Currency string      `json:"currency"`
}

// order is the request for a charge: the amount in major units, as the signature has it.
func (c *client) order(r provider.Request, m method) request {
	amount := r.Local.Decimal()
	shopper := person{FullName: provider.Words(r.Buyer.Name, longestName), EmailAddress: provider.Exact(r.Buyer.Email, 255), ContactPhone: r.Phone()}
	if kind, number := provider.Document(r.Rail[len(r.Rail)-3:], r.Buyer.Document); utf8.RuneCountInString(number) <= 20 {
		shopper.DNINumber, shopper.DNIType = number, dniTypes[m.country+" "+kind]
	}
	return request{Command: "SUBMIT_TRANSACTION", Transaction: &transaction{
		Order: order{
			AccountID: c.accounts[m.country], ReferenceCode: r.Reference, Description: r.Title(255), Language: r.Language(),
			NotifyURL: c.account.NotificationURL, Buyer: shopper,
			Signature: c.hash(strings.Join([]string{c.apiKey, c.merchantID, r.Reference, amount, string(m.currency)}, "~")),
			AdditionalValues: map[string]value{
				"TX_VALUE": {json.Number(amount), string(m.currency)},
				// Without an explicit tax, PayU would compute 19 % in Colombia.
				"TX_TAX":             {"0", string(m.currency)},
				"TX_TAX_RETURN_BASE": {"0", string(m.currency)},
			},
		},
		Payer: shopper, Type: "AUTHORIZATION_AND_CAPTURE", PaymentMethod: m.name, PaymentCountry: m.country,
		ExpirationDate: r.Expires.UTC().Format("2006-01-02T15:04:05"),
		IPAddress:      provider.Exact(r.Buyer.IP, 39),
	}}
}

// status is what every answer has: SUCCESS, or ERROR and why.
type status struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// refuses is the outcome if PayU does not accept the account's credentials, nil otherwise: nothing was done, and
// every other call would fail too. The words for credentials were recorded by ActiveMerchant; those for a wrong
// signature are unproved.
func (s status) refuses() *pay.Outcome {
	text := strings.ToLower(s.Error)
	switch {
	case s.Code != "ERROR":
	case strings.Contains(text, "credentials"):
		return &pay.Outcome{Kind: pay.Unavailable, Decline: "wrong_credentials"}
	case strings.Contains(text, "signature"):
		return &pay.Outcome{Kind: pay.Unavailable, Decline: "wrong_signature"}
	}
	return nil
}

type submitReply struct {
	status
	Response *response `json:"transactionResponse"`
}

type response struct {
	OrderID       json.Number                `json:"orderId"`
	TransactionID string                     `json:"transactionId"`
	State         string                     `json:"state"`
	ResponseCode  string                     `json:"responseCode"`
	OperationDate provider.Text              `json:"operationDate"` // milliseconds UTC
	Extra         map[string]json.RawMessage `json:"extraParameters"`
}

// found is an order in the answer to a query.
type found struct {
	ID            json.Number `json:"id"`
	ReferenceCode string      `json:"referenceCode"`
	Status        string      `json:"status"`
	Transactions  []struct {
		ID       string                     `json:"id"`
		Type     string                     `json:"type"`
		Response response                   `json:"transactionResponse"`
		Extra    map[string]json.RawMessage `json:"extraParameters"`
		Values   map[string]value           `json:"additionalValues"`
	} `json:"transactions"`
}

// orders are the orders with a reference; an empty list is PayU's answer that there is
// none. If the call fails, the outcome says what that proves.
func (c *client) orders(ctx context.Context, reference string) ([]found, *pay.Outcome) {
	var reply struct {
		status
		Result *struct {
			Payload []found `json:"payload"`
		} `json:"result"`
	}
	if failed := c.call(ctx, reportsPath, request{Command: "ORDER_DETAIL_BY_REFERENCE_CODE", Details: &details{reference}}, &reply); failed != nil {
		return nil, failed
	}
	broken := provider.Unknown("broken_answer")
	if refused := reply.refuses(); refused != nil {
		return nil, refused
	}
	if reply.Code != "SUCCESS" {
		return nil, &broken
	}
	if reply.Result == nil {
		return nil, nil
	}
	for _, o := range reply.Result.Payload {
		if o.ReferenceCode != reference || !number(o.ID.String()) {
			return nil, &broken
		}
	}
	return reply.Result.Payload, nil
}

// call sends a command and reads its answer.
func (c *client) call(ctx context.Context, path string, q request, into any) *pay.Outcome {
	q.Language, q.Merchant = "en", merchant{c.apiKey, c.apiLogin}
	req, unsent := provider.NewRequest(ctx, http.MethodPost, c.base+path, q)
	if unsent != nil {
		return unsent
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Accept", "application/json") // otherwise it answers in XML
	answer, failed := provider.Do(c.account.Client, req)
	if failed != nil {
		return failed
	}
	if answer.Status < 200 || answer.Status >= 300 {
		o := provider.Refused(answer.Status)
		return &o
	}
	if json.Unmarshal(answer.Body, into) != nil {
		return provider.Broken()
	}
	return nil
}

// text is an extra parameter, which PayU writes as a string or as a number; anything else
// reads as "".
func text(extra map[string]json.RawMessage, name string) string {
	var t provider.Text
	if raw, there := extra[name]; !there || json.Unmarshal(raw, &t) != nil {
		return ""
	}
	return provider.Exact(string(t), 2048)
}

// later is the earliest time at which PayU allows the next query.
func (c *client) later(r provider.Request) time.Time {
	if r.Rail == "spei.MEX" {
		return c.account.Now().Add(transfer)
	}
	return c.account.Now().Add(patience)
}
