package payulatam

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// The test account in the documentation.
const (
	testLogin    = "pRRXKOl8ikMmt9u"
	testKey      = "4Vj8eK4rloUd272L48hsrarnUA"
	testMerchant = "508029"
	testSecret   = "test123"
	testAccounts = "AR=512322 CO=512321 MX=512324 PE=512323"
)

// fake is PayU, as documented.
type fake struct {
	providertest.Frame[*fakeOrder]
	hash func(string) string
	last transaction // as it was requested
}

type fakeOrder struct {
	providertest.Entry
	id     int64
	method string
	asked  value
}

func newFake(hash func(string) string) *fake { return &fake{hash: hash} }

// find lists the orders with a reference; the caller holds the lock.
func (f *fake) find(reference string) (list []*fakeOrder) {
	for _, o := range f.Charges {
		if o.Reference == reference {
			list = append(list, o)
		}
	}
	return list
}

// state returns a transaction's state and response code, and those of its confirmation.
func (o *fakeOrder) state() (state, code, pol string) {
	switch o.Ending {
	case providertest.Paid, providertest.WrongAmount, providertest.WrongCurrency:
		return "APPROVED", "APPROVED", "4"
	case providertest.Declined:
		return "DECLINED", "ANTIFRAUD_REJECTED", "6"
	case providertest.SoftDeclined:
		return "DECLINED", "BANK_UNREACHABLE", "6"
	case providertest.Expired:
		return "EXPIRED", "EXPIRED_TRANSACTION", "5"
	case providertest.Nonsense:
		return "SLEEPING", "SLEEPING", "99"
	}
	return "PENDING", "PENDING_TRANSACTION_CONFIRMATION", "14"
}

// paid returns the money that came in.
func (o *fakeOrder) paid() value {
	v := o.asked
	switch o.Ending {
	case providertest.WrongAmount:
		v.Value = "1" + o.asked.Value
	case providertest.WrongCurrency:
		v.Currency = "USD"
	}
	return v
}

func (o *fakeOrder) extra() map[string]any {
	if o.method == "SPEI" {
		return map[string]any{
			"BANK_REFERENCED_CODE": "ELECTRONIC_PAYMENT", "EXPIRATION_DATE": "2026-11-22 23:59:59", "SPEI_BANK_NAME": "STP",
			"SPEI_CLABE_ACCOUNT_NUMBER": "646180132800000009", "PAYMENT_WAY_ID": "3",
			"URL_PAYMENT_RECEIPT_HTML": "https://sandbox.checkout.payulatam.com/ppp-web-gateway-payu/app/V2?vid=1400447116Y16d495268d294be",
		}
	}
	return map[string]any{
		"EXPIRATION_DATE": 1624482134593, "REFERENCE": o.id, "BAR_CODE": "00012345678900008578066580000000100000202106238",
		"URL_PAYMENT_RECEIPT_HTML": fmt.Sprintf("https://sandbox.checkout.payulatam.com/ppp-web-gateway-payu/app?vid=%dYc7b15febe8e6433", o.id),
	}
}

// transaction is the id of the one transaction that charges.
func (o *fakeOrder) transaction() string { return fmt.Sprintf("c7b15feb-e8e6-4330-a04b-%012d", o.id) }

func (o *fakeOrder) response() map[string]any {
	state, code, _ := o.state()
	return map[string]any{
		"orderId": o.id, "transactionId": o.transaction(), "state": state, "responseCode": code,
		"pendingReason": nil, "errorCode": nil, "operationDate": 1624463917065, "extraParameters": o.extra(),
	}
}

// order returns an order in an answer to queries.
func (o *fakeOrder) order() map[string]any {
	r := o.response()
	delete(r, "orderId")
	r["extraParameters"] = nil
	return map[string]any{
		"id": o.id, "accountId": 512321, "status": "IN_PROGRESS", "referenceCode": o.Reference, "language": "es",
		"transactions": []any{map[string]any{
			"id": r["transactionId"], "type": "AUTHORIZATION_AND_CAPTURE", "paymentMethod": o.method, "transactionResponse": r,
			"extraParameters":  o.extra(),
			"additionalValues": map[string]any{"TX_VALUE": o.paid(), "TX_TAX": map[string]any{"value": 0.00, "currency": o.paid().Currency}},
		}},
	}
}

func refuse(why string) (int, any) {
	return http.StatusOK, map[string]any{"code": "ERROR", "error": why, "transactionResponse": nil}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

func (f *fake) answer(r *http.Request, body []byte) (int, any) {
	if r.Method != http.MethodPost || r.Header.Get("Accept") != "application/json" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return http.StatusBadRequest, "no"
	}
	var q request
	if !providertest.Strict(body, &q) || q.Language == "" || q.Test {
		return refuse("Invalid request format")
	}
	if q.Merchant != (merchant{testKey, testLogin}) {
		return refuse("Invalid credentials")
	}
	switch r.URL.Path + " " + q.Command {
	case paymentsPath + " GET_PAYMENT_METHODS":
		return http.StatusOK, map[string]any{"code": "SUCCESS", "error": nil, "paymentMethods": []any{map[string]any{"id": "36", "description": "EFECTY", "country": "CO"}}}
	case paymentsPath + " SUBMIT_TRANSACTION":
		return f.submit(q.Transaction)
	case reportsPath + " ORDER_DETAIL_BY_REFERENCE_CODE":
		if q.Details == nil {
			return refuse("Invalid request format")
		}
		var result any
		if list := f.find(q.Details.ReferenceCode); len(list) > 0 {
			var orders []any
			for _, o := range list {
				orders = append(orders, o.order())
			}
			result = map[string]any{"payload": orders}
		}
		return http.StatusOK, map[string]any{"code": "SUCCESS", "error": nil, "result": result}
	}
	return http.StatusNotFound, "no such path"
}

var accountOf = map[string]string{"AR": "512322", "CO": "512321", "MX": "512324", "PE": "512323"}

func (f *fake) submit(t *transaction) (int, any) {
	if t == nil {
		return refuse("Invalid request format")
	}
	v := t.Order.AdditionalValues["TX_VALUE"]
	_, err := time.Parse("2006-01-02T15:04:05", t.ExpirationDate)
	switch {
	case t.Type != "AUTHORIZATION_AND_CAPTURE", t.PaymentMethod == "", err != nil, t.IPAddress == "",
		t.Order.ReferenceCode == "", t.Order.Description == "", t.Order.Language == "", !strings.HasPrefix(t.Order.NotifyURL, "https://"),
		t.Order.Buyer.FullName == "", t.Order.Buyer.EmailAddress == "", t.Payer.FullName == "", t.Payer.EmailAddress == "":
		return refuse("a mandatory field is missing")
	case t.Order.AccountID != accountOf[t.PaymentCountry]:
		return refuse("the account is of another country")
	case !regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{1,2})?$`).MatchString(v.Value.String()), t.PaymentCountry == "CO" && strings.Contains(v.Value.String(), "."):
		return refuse("Invalid amount")
	case t.Order.Signature != f.hash(testKey+"~"+testMerchant+"~"+t.Order.ReferenceCode+"~"+v.Value.String()+"~"+v.Currency):
		return refuse("The transaction signature is invalid")
	}
	local, err := money.Parse(v.Value.String(), money.Currency(v.Currency))
	if err != nil {
		return refuse("Invalid amount")
	}
	f.last = *t
	o := f.Enter(&fakeOrder{
		Entry: providertest.Entry{Reference: t.Order.ReferenceCode, Local: local}, id: 1400449740 + int64(len(f.Charges)), method: t.PaymentMethod, asked: v,
	})
	return http.StatusOK, map[string]any{"code": "SUCCESS", "error": nil, "transactionResponse": o.response()}
}

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	return f.tells(f.Must(reference))
}

// tells is the confirmation of one order.
func (f *fake) tells(o *fakeOrder) provider.Notification {
	_, message, pol := o.state()
	v := o.paid()
	local, err := money.Parse(v.Value.String(), money.Currency(v.Currency))
	if err != nil {
		panic(err)
	}
	shown, _, _ := strings.Cut(local.String(), " ") // with two decimals
	return confirmation(f.hash, url.Values{
		"merchant_id": {testMerchant}, "reference_sale": {o.Reference}, "value": {shown}, "currency": {v.Currency}, "state_pol": {pol},
		"response_message_pol": {message}, "reference_pol": {fmt.Sprint(o.id)}, "transaction_id": {o.transaction()},
		"test": {"0"}, "email_buyer": {"buyer_test@test.com"}, "attempts": {"1"}, "description": {"Order " + o.Reference},
	})
}

// reported is a report with one order, 1, whose transactions are these.
func reported(reference, status, transactions string) string {
	return `{"code":"SUCCESS","result":{"payload":[{"id":1,"referenceCode":"` + reference + `","status":"` + status + `","transactions":[` + transactions + `]}]}}`
}

// charged is the transaction that charged an order.
func charged(value, currency string) string {
	return `{"id":"a","type":"AUTHORIZATION_AND_CAPTURE","transactionResponse":{"state":"APPROVED"},"additionalValues":{"TX_VALUE":{"value":` + value + `,"currency":"` + currency + `"}}}`
}

// confirmation returns a signed form, as PayU posts it.
func confirmation(hash func(string) string, form url.Values) provider.Notification {
	value := form.Get("value")
	if i := strings.Index(value, "."); i >= 0 && strings.HasSuffix(value, "0") && len(value)-i == 3 {
		value = value[:len(value)-1] // 150.00 is signed as 150.0
	}
	form.Set("sign", hash(strings.Join([]string{
		testKey, form.Get("merchant_id"), form.Get("reference_sale"), value, form.Get("currency"), form.Get("state_pol"),
	}, "~")))
	return providertest.Notify("application/x-www-form-urlencoded", []byte(form.Encode()))
}

// RefundNotification belongs to no refund: PayU sends none.
func (f *fake) RefundNotification(string, int) (n provider.Notification) { return n }
