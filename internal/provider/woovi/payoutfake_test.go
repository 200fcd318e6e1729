package woovi

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// payoutFake is the part of Woovi that pays out, as documented.
type payoutFake struct {
	payouttest.Frame[*fakePayment]
	crowd int    // payments of others, one each 20 seconds around noon
	lists int    // how many lists were requested
	mute  bool   // no answer says why a payment failed: only events do
	text  bool   // and they do in a text
	says  string // the reason for refusing a new payment
}

type fakePayment struct {
	payouttest.Entry
	aliasType string
	approved  bool
	removed   bool
	word      string // its status or the code of its failure, if that is not the usual one
}

// bankWords are the central bank's codes of refusals.
var bankWords = map[payouttest.Behaviour]string{
	payouttest.InvalidAccount: "AC03", payouttest.AccountClosed: "AC07", payouttest.Compliance: "FRAD", payouttest.OverLimit: "AM02", payouttest.Refused: "DS04",
}

func (p *fakePayment) status() string {
	switch {
	case p.Stage == payouttest.Failed:
		return "FAILED"
	case p.Stage == payouttest.Done || p.Stage == payouttest.Returned:
		return "CONFIRMED" // it never changes
	case p.word != "":
		return p.word
	case p.Why == payouttest.Nonsense:
		return "SLEEPING"
	case p.approved:
		return "APPROVED"
	}
	return "CREATED"
}

func (p *fakePayment) code() string {
	if p.word != "" {
		return p.word
	}
	return bankWords[p.Why]
}

func (p *fakePayment) bank() string {
	return "E54811417202611211200" + strings.ReplaceAll(p.Reference, "-", "")
}

func (p *fakePayment) back() string { return "D" + p.bank()[1:] }

func (f *payoutFake) json(p *fakePayment) map[string]any {
	payment := map[string]any{
		"type": "PIX_KEY", "value": p.Asked.Minor, "status": p.status(), "destinationAlias": p.Destination,
		"correlationID": p.Reference, "comment": "", "sourceAccountId": "6290ccfd42831958a405debc",
	}
	if p.aliasType != "" {
		payment["destinationAliasType"] = p.aliasType
	}
	all := map[string]any{"payment": payment}
	if !p.approved {
		return all
	}
	moved := p.Asked.Minor
	if p.Times > 0 {
		moved = p.Paid.Minor
	}
	t := map[string]any{"value": moved, "endToEndId": p.bank(), "time": "2026-11-21T12:00:00.000Z"}
	if p.Stage == payouttest.Failed && !f.mute {
		t["providerRejectedReason"] = p.code() + " - Pagamento rejeitado"
	}
	all["transaction"] = t
	all["destination"] = map[string]any{"name": "Dan", "taxID": "31324227036", "pixKey": p.Destination, "bank": "A Bank", "branch": "1", "account": "123456"}
	return all
}

func (f *payoutFake) find(reference string) *fakePayment {
	if p, ok := f.Of(reference); ok && !p.removed {
		return p
	}
	return nil
}

// wrong refuses undocumented requests.
func (f *payoutFake) wrong(format string, args ...any) (int, any) {
	f.Complain(format, args...)
	return fail(http.StatusBadRequest, "Dados inválidos")
}

func (f *payoutFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

func (f *payoutFake) answer(r *http.Request, body []byte) (int, any) {
	if r.Header.Get("Authorization") != testAppID {
		return unauthorized()
	}
	id, payment := strings.CutPrefix(r.URL.Path, "/api/v1/payment/")
	number, transaction := strings.CutPrefix(r.URL.Path, "/api/v1/transaction/")
	switch route := r.Method + " " + r.URL.Path; {
	case route == "POST /api/v1/payment":
		return f.create(body)
	case route == "POST /api/v1/payment/approve":
		return f.approve(body)
	case route == "GET /api/v1/payment":
		return f.list(r.URL.Query())
	case route == "GET /api/v1/account/":
		return http.StatusOK, map[string]any{"pageInfo": map[string]any{"hasNextPage": false}, "accounts": []any{
			map[string]any{"accountId": "6286b467a7910113577e00ce", "isDefault": false, "balance": map[string]any{"total": 130, "blocked": 100, "available": 30}},
			map[string]any{"accountId": "6290ccfd42831958a405debc", "isDefault": true, "balance": map[string]any{"total": 129430, "blocked": 30, "available": 129400}},
		}}
	case r.Method == http.MethodGet && payment && f.find(id) != nil:
		return http.StatusOK, f.json(f.find(id))
	case r.Method == http.MethodGet && payment:
		return fail(http.StatusBadRequest, "Pagamento não encontrado")
	case r.Method == http.MethodGet && transaction:
		return f.transaction(number)
	}
	return f.wrong("no route %s %s", r.Method, r.URL.Path)
}

// aliases are the formats of Pix keys (the documentation of the key check).
var aliases = map[string]*regexp.Regexp{
	"CPF": regexp.MustCompile(`^\d{11}$`), "CNPJ": regexp.MustCompile(`^\d{14}$`), "PHONE": regexp.MustCompile(`^\+55\d{10,11}$`),
	"EMAIL": regexp.MustCompile(`^[^@A-Z ]+@[^@A-Z ]+$`), "RANDOM": regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
}

func (f *payoutFake) create(body []byte) (int, any) {
	var q paymentRequest
	if !providertest.Strict(body, &q) || q.Type != "PIX_KEY" || q.Value < 1 || q.CorrelationID == "" {
		return f.wrong("a payment %s", body)
	}
	if form := aliases[q.AliasType]; form == nil || !form.MatchString(q.Alias) {
		return f.wrong("a Pix key of the type %q: %s", q.AliasType, q.Alias)
	}
	_, again := f.Of(q.CorrelationID)
	switch {
	case f.Coming == payouttest.Barred:
		return fail(http.StatusForbidden, "Application does not have required scope: PAYMENT_POST")
	case again:
		return fail(http.StatusBadRequest, "Já existe um pagamento com o correlationID fornecido")
	case f.says != "":
		return fail(http.StatusBadRequest, f.says)
	}
	p := f.Enter(&fakePayment{aliasType: q.AliasType, Entry: payouttest.Entry{
		Reference: q.CorrelationID, Destination: q.Alias, Asked: money.New(q.Value, money.BRL),
	}})
	return http.StatusOK, f.json(p)
}

func (f *payoutFake) approve(body []byte) (int, any) {
	var q approveRequest
	if !providertest.Strict(body, &q) || q.CorrelationID == "" {
		return f.wrong("an approval %s", body)
	}
	p := f.find(q.CorrelationID)
	switch {
	case p == nil || p.status() != "CREATED": // the answer to that is not documented
		return f.wrong("an approval of %s, which does not wait for one", q.CorrelationID)
	case f.Coming == payouttest.NoFloat:
		return fail(http.StatusBadRequest, "Você não possui saldo o suficiente para realizar esse pagamento")
	}
	p.approved = true
	reply := f.json(p)
	f.Begin(p)
	return http.StatusOK, reply
}

func (f *payoutFake) list(q url.Values) (int, any) {
	f.lists++
	from, err1 := time.Parse(time.RFC3339, q.Get("start"))
	to, err2 := time.Parse(time.RFC3339, q.Get("end"))
	if dated := q.Has("start") || q.Has("end"); dated && (err1 != nil || err2 != nil || !from.Before(to)) {
		return f.wrong("a list of %s", q.Encode())
	}
	all := []any{}
	for i := range f.crowd {
		if spans(q, providertest.Noon.Add(time.Duration(i-f.crowd/2)*20*time.Second)) {
			all = append(all, map[string]any{"payment": map[string]any{"status": "CONFIRMED", "value": 100, "correlationID": "crowd" + strconv.Itoa(i)}})
		}
	}
	for _, p := range f.Payouts {
		if !p.removed && spans(q, p.Created) {
			all = append(all, f.json(p))
		}
	}
	status, reply := paged(q, "payments", all)
	if status != http.StatusOK {
		return f.wrong("a list of %s", q.Encode())
	}
	return status, reply
}

func (f *payoutFake) transaction(number string) (int, any) {
	for _, p := range f.Payouts {
		if number == p.bank() && p.approved || number == p.back() && p.Stage == payouttest.Returned {
			return http.StatusOK, map[string]any{"transaction": map[string]any{"value": p.Asked.Minor, "endToEndId": number}}
		}
	}
	return fail(http.StatusBadRequest, "Transaction not found")
}

// event returns the body of a payment's notification, nil if there is none.
func (f *payoutFake) event(p *fakePayment) map[string]any {
	body := f.json(p)
	switch {
	case p.removed:
		return map[string]any{"event": "OPENPIX:MOVEMENT_REMOVED", "payment": map[string]any{"correlationID": p.Reference}}
	case p.Stage == payouttest.Done:
		body["event"] = "OPENPIX:MOVEMENT_CONFIRMED"
	case p.Stage == payouttest.Failed:
		body["event"] = "woovi:MOVEMENT_FAILED"
		body["error"] = map[string]any{"code": p.code(), "description": "Falha"}
		if f.text { // as in events of refunds
			body["error"] = p.code() + " - Falha"
		}
	case p.Stage == payouttest.Returned:
		return map[string]any{
			"event":               "PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED",
			"refundTransaction":   map[string]any{"value": p.Paid.Minor, "endToEndId": p.back(), "status": "CONFIRMED", "type": "REFUND", "partial": false},
			"originalTransaction": map[string]any{"value": p.Paid.Minor, "endToEndId": p.bank(), "status": "CONFIRMED", "type": "WITHDRAW"},
		}
	default:
		return nil
	}
	return body
}

func (f *payoutFake) Notify(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	if body := f.event(f.Must(reference)); body != nil {
		return signed(providertest.JSON(body))
	}
	return provider.Notification{}
}

func (f *payoutFake) Forge(reference string) map[string]provider.Notification {
	body := []byte(`{"event":"OPENPIX:MOVEMENT_CONFIRMED","payment":{"value":12345,"status":"CONFIRMED","correlationID":"` + reference + `"}}`)
	good, other := signed(body), signed([]byte("another body"))
	other.Body = body
	return map[string]provider.Notification{
		"no signature":                  {Header: http.Header{"Content-Type": {"application/json"}}, Body: body},
		"another body's signature":      other,
		"our webhook's HMAC alone":      providertest.Notify("application/json", body, hmacHeader, good.Header.Get(hmacHeader)),
		"of a customer's own payment":   good,
		"of a customer's own removal":   signed([]byte(`{"event":"OPENPIX:MOVEMENT_REMOVED","payment":{"correlationID":"` + reference + `"}}`)),
		"of a customer's own failure":   signed([]byte(`{"event":"OPENPIX:MOVEMENT_FAILED","payment":{"correlationID":"` + reference + `"},"error":{"code":"AC07"}}`)),
		"of a return that was not made": signed([]byte(`{"event":"PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED","refundTransaction":{"value":12345,"endToEndId":"D5"},"originalTransaction":{"value":12345,"endToEndId":"E54811417202611211200` + reference + `"}}`)),
	}
}

func (f *payoutFake) Other() map[string]provider.Notification {
	all := map[string]provider.Notification{}
	for name, body := range map[string]string{
		"a trial of the address":    `{"data_criacao":"2024-01-23T20:32:14.429Z","evento":"teste_webhook"}`,
		"a trial with an event":     `{"event":"OPENPIX:MOVEMENT_CONFIRMED"}`,
		"a trial of returns":        `{"event":"PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED"}`,
		"a charge":                  `{"event":"OPENPIX:CHARGE_COMPLETED","charge":{"correlationID":"01M7ZOTHER"}}`,
		"a payment of the panel":    `{"event":"OPENPIX:MOVEMENT_CONFIRMED","payment":{"correlationID":"31ee9576-99ec-412a-9ac7-e142a4a6acf0"}}`,
		"nobody's payment":          `{"event":"OPENPIX:MOVEMENT_CONFIRMED","payment":{"correlationID":"01M7ZNOBODYS"}}`,
		"a return refused":          `{"event":"PIX_TRANSACTION_REFUND_RECEIVED_REJECTED","refundTransaction":{"endToEndId":"D1"},"originalTransaction":{"endToEndId":"E1"},"error":"AC06 - Conta bloqueada do Pix"}`,
		"another customer's return": `{"event":"PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED","refundTransaction":{"endToEndId":"D1","value":5},"originalTransaction":{"endToEndId":"E1","value":5}}`,
		"an empty object":           `{}`,
	} {
		all[name] = signed([]byte(body))
	}
	return all
}
