package woovi

import (
	"crypto"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testAppID  = "Q2xpZW50X0lkXzEyMzQ6c2VjcmV0"
	testSecret = "openpix_hmac"
)

// fake is Woovi, as documented.
type fake struct {
	providertest.Frame[*fakeCharge]
	sentence string           // the sentence that refuses refunds
	unknown  string           // the sentence about a charge that does not exist
	hidden   bool             // no charge is found under its reference
	crowd    int              // charges of others, one each 20 seconds around noon
	lacks    string           // a scope that the AppID does not have
	closed   bool             // no dispute takes evidence, whatever its status
	customer *customerRequest // of the last charge
	expires  int64            // of the last charge
}

type fakeCharge struct {
	providertest.Entry
	gift    int64          // what Woovi took off the price
	more    []int64        // what was paid again
	dispute map[string]any // of its payment
	proofs  []proof        // documents of its dispute, in the order in which they came
}

// proof is a document that the fake fetched from its link.
type proof struct{ id, description, media, content string }

// scopes that the AppID may lack.
const (
	listsTransactions = "TRANSACTION_GET_LIST"
	readsDisputes     = "DISPUTE_GET"
	answersDisputes   = "DISPUTE_POST"
)

func newFake() *fake {
	return &fake{sentence: "O valor do reembolso é maior que o disponível", unknown: noCharge}
}

// find returns a charge that is not deleted, or nil.
func (f *fake) find(reference string) *fakeCharge {
	c, _ := f.Of(reference)
	return c
}

func (c *fakeCharge) status() string {
	switch c.Ending {
	case providertest.Paid, providertest.Disputed:
		return "COMPLETED"
	case providertest.Expired:
		return "EXPIRED"
	case providertest.Nonsense:
		return "SLEEPING"
	}
	return "ACTIVE"
}

func (c *fakeCharge) bank() string { return "E" + strings.ReplaceAll(c.Reference, "-", "") }

func (c *fakeCharge) json() map[string]any {
	return map[string]any{
		"value": c.Local.Minor, "status": c.status(), "correlationID": c.Reference, "type": "DYNAMIC", "comment": "",
		"identifier": "id" + c.Reference, "transactionID": "id" + c.Reference, "giftbackAppliedValue": c.gift, "discount": c.gift, "valueWithDiscount": c.Local.Minor - c.gift,
		"paymentLinkID": "788c8d0d-182b-468e-942e-546be6a621c2", "globalID": "Q2hhcmdlOjY4ZDQwOTQz", "expiresIn": 86400,
		"brCode":      "00020101021226980014br.gov.bcb.pix2576api.woovi-sandbox.com/api/testaccount/qr/v1/" + c.Reference,
		"qrCodeImage": "https://api.woovi-sandbox.com/openpix/charge/brcode/image/788c8d0d.png", "customer": nil,
	}
}

func fail(status int, sentence string) (int, any) { return status, map[string]any{"error": sentence} }

// unauthorized is the answer to a wrong AppID.
func unauthorized() (int, any) {
	return http.StatusUnauthorized, map[string]any{"data": nil, "errors": []any{map[string]any{"message": "appID inválido"}}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

func (f *fake) answer(r *http.Request, body []byte) (int, any) {
	if r.Header.Get("Authorization") != testAppID {
		return unauthorized()
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	switch route := r.Method + " " + parts[0]; {
	case route == "POST charge" && len(parts) == 1:
		return f.create(body, r.URL.Query().Get("return_existing") == "true")
	case route == "GET charge" && len(parts) == 1:
		return f.list(r.URL.Query())
	case route == "GET transaction" && len(parts) == 1:
		return f.received(r.URL.Query())
	case route == "GET transaction" && len(parts) == 2:
		return f.transaction(parts[1])
	case route == "GET dispute" && len(parts) == 2:
		return f.disputed(parts[1])
	case route == "POST dispute" && len(parts) == 3 && parts[2] == "evidence":
		return f.prove(parts[1], body)
	case parts[0] == "charge" && len(parts) >= 2 && (f.hidden || f.find(parts[1]) == nil):
		return fail(http.StatusBadRequest, f.unknown)
	case route == "GET charge" && len(parts) == 2:
		return http.StatusOK, map[string]any{"charge": f.find(parts[1]).json()}
	case route == "DELETE charge" && len(parts) == 2:
		return f.remove(f.find(parts[1]))
	case route == "POST charge" && len(parts) == 3 && parts[2] == "refund":
		return f.refund(body, f.find(parts[1]))
	case route == "GET charge" && len(parts) == 3 && parts[2] == "refund":
		return http.StatusOK, map[string]any{"refunds": f.find(parts[1]).refunds()}
	}
	return fail(http.StatusBadRequest, "Dados inválidos")
}

// list returns a page of the charges of a time span.
func (f *fake) list(q url.Values) (int, any) {
	all := []any{}
	for i := range f.crowd {
		if spans(q, providertest.Noon.Add(time.Duration(i-f.crowd/2)*20*time.Second)) {
			all = append(all, map[string]any{"status": "EXPIRED", "value": 100, "correlationID": "crowd" + strconv.Itoa(i)})
		}
	}
	for _, c := range f.Charges {
		if !c.Gone && spans(q, providertest.Noon) {
			all = append(all, c.json())
		}
	}
	return paged(q, "charges", all)
}

// spans reports whether a list's time span has a time.
func spans(q url.Values, at time.Time) bool {
	from, err1 := time.Parse(time.RFC3339, q.Get("start"))
	to, err2 := time.Parse(time.RFC3339, q.Get("end"))
	return !q.Has("start") && !q.Has("end") || err1 == nil && err2 == nil && !at.Before(from) && !at.After(to)
}

// deepestSkip is the largest skip that lists accept. The documentation only says that there is one.
const deepestSkip = 900

// paged returns the page of a list that was asked for.
func paged(q url.Values, name string, all []any) (int, any) {
	skip, err1 := strconv.Atoi(q.Get("skip"))
	limit, err2 := strconv.Atoi(q.Get("limit"))
	if err1 != nil || err2 != nil || skip < 0 || skip > deepestSkip || limit < 1 || limit > 100 {
		return fail(http.StatusBadRequest, "Dados inválidos")
	}
	end := min(skip+limit, len(all))
	return http.StatusOK, map[string]any{
		"status": "OK", name: all[min(skip, end):end],
		"pageInfo": map[string]any{"skip": skip, "limit": limit, "hasPreviousPage": skip > 0, "hasNextPage": end < len(all)},
	}
}

func (f *fake) create(body []byte, existing bool) (int, any) {
	var q chargeRequest
	if !providertest.Strict(body, &q) || q.CorrelationID == "" || q.Value < 1 || q.ExpiresIn < 300 || q.Type != "DYNAMIC" ||
		q.Customer != nil && (q.Customer.Name == "" || q.Customer.TaxID == "" && q.Customer.Email == "" && q.Customer.Phone == "") {
		return fail(http.StatusBadRequest, "Dados inválidos")
	}
	c := f.find(q.CorrelationID)
	switch {
	case c != nil && !existing:
		return fail(http.StatusBadRequest, "Já existe uma cobrança com o correlationID fornecido")
	case c == nil:
		c = f.Enter(&fakeCharge{Entry: providertest.Entry{Reference: q.CorrelationID, Local: money.New(q.Value, money.BRL)}})
		f.customer, f.expires = q.Customer, q.ExpiresIn
	}
	shown := c.json()
	return http.StatusOK, map[string]any{"charge": shown, "correlationID": c.Reference, "brCode": shown["brCode"]}
}

func (f *fake) remove(c *fakeCharge) (int, any) {
	if c.status() != "ACTIVE" {
		return fail(http.StatusBadRequest, "A cobrança não pode ser excluída")
	}
	c.Gone, c.Ending = true, providertest.Canceled
	return http.StatusOK, map[string]any{"status": "OK", "id": c.Reference}
}

func scope(name string) (int, any) {
	return fail(http.StatusForbidden, "Application does not have required scope: "+name)
}

// received lists the transactions of a charge: its payments and refunds.
func (f *fake) received(q url.Values) (int, any) {
	if f.lacks == listsTransactions {
		return scope(f.lacks)
	}
	all := []any{}
	if c := f.find(q.Get("charge")); c != nil && (c.status() == "COMPLETED" || len(c.more) > 0) {
		one := func(kind, number string, value int64, at time.Time) {
			all = append(all, map[string]any{"charge": c.json(), "value": value, "endToEndId": number, "type": kind, "status": "CONFIRMED", "time": at.UTC().Format(time.RFC3339)})
		}
		for i := len(c.more) - 1; i >= 0; i-- { // the newest first
			one("PAYMENT", fmt.Sprint(c.bank(), i+2), c.more[i], providertest.Noon.Add(time.Duration(i+2)*time.Minute))
		}
		for n, r := range c.Refunds {
			one("REFUND", fmt.Sprint("D", n), r.Local.Minor, providertest.Noon)
		}
		one("PAYMENT", c.bank(), c.Local.Minor-c.gift, providertest.Noon)
	}
	return paged(q, "transactions", all)
}

// disputed returns the dispute of a transaction.
func (f *fake) disputed(number string) (int, any) {
	if f.lacks == readsDisputes {
		return scope(f.lacks)
	}
	for _, c := range f.Charges {
		if c.dispute != nil && c.dispute["endToEndId"] == number {
			return http.StatusOK, map[string]any{"dispute": c.dispute}
		}
	}
	return fail(http.StatusBadRequest, noDispute)
}

// prove fetches each document from its link, as Woovi does while it answers.
func (f *fake) prove(id string, body []byte) (int, any) {
	if f.lacks == answersDisputes {
		return scope(f.lacks)
	}
	var q struct {
		Documents []document `json:"documents"`
	}
	at := slices.IndexFunc(f.Charges, func(c *fakeCharge) bool { return c.dispute != nil && c.dispute["id"] == id })
	if at < 0 || !providertest.Strict(body, &q) {
		return fail(http.StatusBadRequest, noDispute)
	}
	c := f.Charges[at]
	if status, _ := c.dispute["status"].(string); rulingWords[status] != "" || f.closed {
		return fail(http.StatusBadRequest, "You cannot send a evidence for a accepted dispute")
	}
	var got []proof
	shown := []any{}
	for i, d := range q.Documents {
		reply, err := http.Get(d.URL)
		if err != nil {
			return fail(http.StatusBadRequest, "The document could not be downloaded")
		}
		content, err := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK {
			return fail(http.StatusBadRequest, "The document could not be downloaded")
		}
		got = append(got, proof{d.CorrelationID, d.Description, reply.Header.Get("Content-Type"), string(content)})
		shown = append(shown, map[string]any{
			"url": fmt.Sprintf("https://files.woovi-sandbox.com/%s/%d", id, len(c.proofs)+i), "correlationID": d.CorrelationID, "description": d.Description, "createdAt": "2026-11-21T12:00:00.000Z",
		})
	}
	c.proofs = append(c.proofs, got...) // no page says that the same id is the same document
	return http.StatusOK, map[string]any{"documents": shown}
}

// opened is the dispute of a charge's payment.
func (c *fakeCharge) opened(kind, status string) map[string]any {
	d := map[string]any{"type": kind, "status": status, "endToEndId": c.bank(), "id": "67e3170b38e62d5935ed4faf"}
	if kind == "CHARGEBACK" {
		maps.Copy(d, map[string]any{"value": c.Local.Minor, "disputeReason": "Golpe", "name": "Seu Jorge", "email": "jorge@example.com"})
	}
	return d
}

func (f *fake) transaction(number string) (int, any) {
	for _, c := range f.Charges {
		if c.bank() == number {
			return http.StatusOK, map[string]any{"transaction": map[string]any{
				"charge": c.json(), "value": c.Local.Minor, "endToEndId": number, "type": "PAYMENT",
			}}
		}
	}
	return fail(http.StatusBadRequest, "Transaction not found")
}

// refunds returns the refunds of a charge.
func (c *fakeCharge) refunds() []map[string]any {
	list := []map[string]any{}
	for _, r := range c.Refunds {
		status := map[providertest.Ending]string{
			"": "IN_PROCESSING", providertest.Open: "IN_PROCESSING", providertest.Paid: "CONFIRMED", providertest.Declined: "REJECTED", providertest.Nonsense: "SLEEPING",
		}[r.Ending]
		list = append(list, map[string]any{
			"status": status, "value": r.Local.Minor, "correlationID": r.Reference, "endToEndId": "E23114447" + r.Reference, "time": "2026-11-21T12:00:00.000Z",
		})
	}
	return list
}

func (f *fake) refund(body []byte, c *fakeCharge) (int, any) {
	var q refundRequest
	if !providertest.Strict(body, &q) || q.CorrelationID == "" || q.CorrelationID == c.Reference || len(q.Comment) > 140 {
		return fail(http.StatusBadRequest, "Dados inválidos")
	}
	for _, r := range c.Refunds {
		if r.Reference == q.CorrelationID {
			return fail(http.StatusBadRequest, "Já existe um reembolso com o correlationID fornecido")
		}
	}
	if !f.Give(c, q.CorrelationID, money.New(q.Value, money.BRL)) {
		return fail(http.StatusBadRequest, f.sentence)
	}
	return http.StatusOK, map[string]any{"refund": c.refunds()[len(c.Refunds)-1]}
}

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	body := map[string]any{"charge": c.json(), "company": map[string]any{"name": "Woovi"}}
	switch c.Ending {
	case providertest.Disputed:
		c.dispute = c.opened("CHARGEBACK", "CREATED")
		body = map[string]any{"event": "OPENPIX:DISPUTE_CREATED", "dispute": map[string]any{
			"status": "OPENED", "endToEndId": c.bank(), "value": c.Local.Minor, "disputeReason": "Golpe",
		}}
	case providertest.Expired:
		body["event"] = "OPENPIX:CHARGE_EXPIRED"
	case providertest.Open:
		body["event"] = "OPENPIX:CHARGE_CREATED"
	default:
		body["event"] = "OPENPIX:CHARGE_COMPLETED"
		body["pix"] = map[string]any{"value": c.Local.Minor, "endToEndId": c.bank(), "status": "CONFIRMED"}
	}
	return signed(providertest.JSON(body))
}

// signed returns a notification with both signatures.
func signed(body []byte) provider.Notification {
	return providertest.Notify("application/json", body, signatureHeader, providertest.Signed(crypto.SHA256, body),
		hmacHeader, base64.StdEncoding.EncodeToString(providertest.MAC(sha1.New, testSecret, string(body))))
}

func (f *fake) RefundNotification(reference string, n int) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	event := "PIX_TRANSACTION_REFUND_SENT_CONFIRMED"
	if c.Refunds[n].Ending == providertest.Declined {
		event = "PIX_TRANSACTION_REFUND_SENT_REJECTED"
	}
	body := map[string]any{
		"event": event, "originalTransaction": map[string]any{"endToEndId": c.bank()},
		// The documentation's events have other numbers than its lists.
		"refundTransaction": map[string]any{"endToEndId": fmt.Sprint("D54811417", n), "value": c.Refunds[n].Local.Minor, "type": "REFUND"},
	}
	if c.Refunds[n].Ending == providertest.Declined {
		body["error"] = "ED05 - Pagamento rejeitado pelo PSP do recebedor"
	}
	return signed(providertest.JSON(body))
}
