package adyen

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testKey  = "AQE-test-key"
	merchant = "CascadaCOM"
	hmacKey  = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00"
)

type object = map[string]any

// fake is Adyen, as documented, as far as we use it.
type fake struct {
	providertest.Frame[*charge]
	seen     []object // the bodies that were posted
	accepted string   // the status of refunds
}

// charge is a payment, or a link with the payment made on it.
type charge struct {
	providertest.Entry
	number int
	method string // "" for a link
}

func newFake() *fake { return &fake{accepted: "received"} }

func (c *charge) psp() string  { return fmt.Sprintf("QFQTPCQ8HXSKGK8%d", c.number) }
func (c *charge) link() string { return fmt.Sprintf("PLE83C39B0A0DE0C%d", c.number) }

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	i := object{
		"eventCode": "AUTHORISATION", "success": "true", "pspReference": c.psp(), "merchantReference": c.Reference, "amount": wire(c.Local),
		"paymentMethod": c.method, "reason": "", "eventDate": "2026-11-21T13:00:00+01:00",
	}
	if c.method == "" {
		i["paymentMethod"] = "visa"
	}
	switch c.Ending {
	case providertest.Declined:
		i["success"], i["reason"] = "false", "Refused"
	case providertest.Expired:
		i["eventCode"] = "OFFER_CLOSED"
	case providertest.Nonsense:
		i["success"] = "perhaps"
	case providertest.WrongAmount:
		a := wire(c.Local)
		a["value"] = a["value"].(int64) - factor(c.Local)
		i["amount"] = a
	case providertest.WrongCurrency:
		i["amount"] = object{"value": c.Local.Minor, "currency": "EUR"}
	case providertest.Disputed:
		i["eventCode"], i["pspReference"], i["originalReference"], i["reason"] = "CHARGEBACK", "9"+c.psp(), c.psp(), "Merchandise not received"
		i["additionalData"] = object{"chargebackReasonCode": "13.1", "defensePeriodEndsAt": "2026-12-09T12:00:00+01:00", "disputeStatus": "Undefended"}
	}
	return notification(i)
}

func (f *fake) RefundNotification(reference string, n int) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	i := object{
		"eventCode": "REFUND", "success": "true", "pspReference": fmt.Sprintf("R%s%d", c.psp(), n+1), "originalReference": c.psp(),
		"merchantReference": c.Refunds[n].Reference, "amount": wire(c.Refunds[n].Local), "paymentMethod": "visa", "eventDate": "2026-11-22T13:00:00+01:00",
		"additionalData": object{"merchantOrderReference": c.Reference},
	}
	switch c.Refunds[n].Ending {
	case providertest.Declined:
		i["eventCode"] = "REFUND_FAILED"
	case providertest.Nonsense:
		i["success"] = "perhaps"
	}
	return notification(i)
}

// notification returns one item, signed.
func notification(i object) provider.Notification {
	if i["originalReference"] == nil {
		i["originalReference"] = ""
	}
	if i["merchantAccountCode"] == nil {
		i["merchantAccountCode"] = merchant
	}
	a := i["amount"].(object)
	text := fmt.Sprintf("%s:%s:%s:%s:%d:%s:%s:%s", i["pspReference"], i["originalReference"], i["merchantAccountCode"], i["merchantReference"],
		a["value"], a["currency"], i["eventCode"], i["success"])
	key, _ := hex.DecodeString(hmacKey)
	more, _ := i["additionalData"].(object)
	if more == nil {
		more = object{}
	}
	more["hmacSignature"] = base64.StdEncoding.EncodeToString(providertest.MAC(sha256.New, string(key), text))
	i["additionalData"] = more
	return providertest.Notify("application/json", providertest.JSON(object{"live": "false", "notificationItems": []object{{"NotificationRequestItem": i}}}))
}

// factor is how many of Adyen's units make one of ours: from its table of currencies, if it
// differs.
func factor(a money.Amount) int64 {
	if a.Currency == "CLP" {
		return 100
	}
	return 1
}

func wire(a money.Amount) object {
	return object{"value": a.Minor * factor(a), "currency": string(a.Currency)}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

func fail(status int, code, kind string) (int, any) {
	return status, object{"status": status, "errorCode": code, "message": "Adyen says no.", "errorType": kind}
}

func (f *fake) answer(r *http.Request, text []byte) (int, any) {
	if r.Header.Get("X-API-Key") != testKey {
		return fail(401, "000", "security")
	}
	var body object
	if len(text) > 0 && (r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(text, &body) != nil) {
		return fail(400, "702", "validation")
	}
	if id, ok := strings.CutPrefix(r.URL.Path, "/paymentLinks/"); ok {
		return f.links(r.Method, id, body)
	}
	if r.Method != http.MethodPost {
		return fail(400, "702", "validation")
	}
	f.seen = append(f.seen, body)
	return f.Once(r.Header.Get("Idempotency-Key"), "", func() (int, any) { return f.post(r.URL.Path, body) })
}

// fields are those of each request's schema in Adyen's document (adyen-openapi, aa014f0 of 2026-07-01, CheckoutService-v72),
// as far as they say something about a payment like ours. All these schemas are closed: Adyen refuses a request with any other field.
var fields = map[string]string{
	"/payments": "additionalData amount browserInfo captureDelayHours channel countryCode dateOfBirth lineItems merchantAccount merchantOrderReference " +
		"metadata origin paymentMethod reference returnUrl sessionValidity shopperEmail shopperIP shopperLocale shopperName shopperReference " +
		"shopperStatement socialSecurityNumber store telephoneNumber",
	"/paymentLinks": "allowedPaymentMethods amount blockedPaymentMethods captureDelayHours countryCode dateOfBirth description expiresAt " +
		"installmentOptions lineItems manualCapture merchantAccount merchantOrderReference metadata reference requiredShopperFields returnUrl reusable " +
		"shopperEmail shopperLocale shopperName shopperReference shopperStatement socialSecurityNumber store telephoneNumber themeId",
	"/refunds":        "amount capturePspReference lineItems merchantAccount merchantRefundReason reference splits store",
	"/paymentMethods": "amount channel countryCode merchantAccount shopperEmail shopperIP shopperLocale shopperReference store",
	"amount":          "currency value",
	"shopperName":     "firstName lastName",
}

// longest are the most characters of a field; v72 refuses longer ones.
var longest = map[string]int{
	"reference": 80, "merchantOrderReference": 1000, "returnUrl": 1024, "shopperEmail": 256, "shopperIP": 50, "socialSecurityNumber": 32,
	"firstName": 80, "lastName": 80,
}

// allowed reports whether a request has only fields of its schema, with all that those require and of the right length.
func allowed(path string, body object) bool {
	if strings.HasPrefix(path, "/payments/") {
		path = "/refunds"
	}
	known := strings.Fields(fields[path])
	for name, value := range body {
		text, isText := value.(string)
		inner, isObject := value.(object)
		switch {
		case !slices.Contains(known, name), isText && (text == "" || longest[name] > 0 && len(text) > longest[name]):
			return false
		case isObject && fields[name] != "" && (len(inner) != len(strings.Fields(fields[name])) || !allowed(name, inner)):
			return false
		}
	}
	return true
}

func (f *fake) links(method, id string, body object) (int, any) {
	at := slices.IndexFunc(f.Charges, func(c *charge) bool { return c.method == "" && c.link() == id })
	if at < 0 {
		return fail(404, "", "")
	}
	c := f.Charges[at]
	if method == http.MethodPatch {
		if len(body) != 1 || body["status"] != "expired" || c.Ending != providertest.Open {
			return fail(422, "702", "validation")
		}
		c.Ending = providertest.Canceled
	}
	return 200, c.show()
}

func (f *fake) post(path string, body object) (int, any) {
	if !allowed(path, body) {
		return fail(400, "702", "validation")
	}
	if body["merchantAccount"] != merchant {
		return fail(403, "901", "security")
	}
	if path == "/paymentMethods" {
		return 200, object{"paymentMethods": []object{{"type": "scheme", "name": "Cards"}}}
	}
	a, _ := body["amount"].(object)
	value, _ := a["value"].(float64)
	currency, _ := a["currency"].(string)
	reference, _ := body["reference"].(string)
	if value < 1 || value != float64(int64(value)) || currency == "" || reference == "" || len(reference) > 80 {
		return fail(422, "100", "validation")
	}
	local := money.New(int64(value), money.Currency(currency))
	if factor(local) > 1 {
		local.Minor /= factor(local)
	}
	if psp, ok := strings.CutPrefix(path, "/payments/"); ok {
		return f.refund(strings.TrimSuffix(psp, "/refunds"), reference, local)
	}
	c := &charge{number: len(f.Charges) + 1, Entry: providertest.Entry{Reference: reference, Local: local}}
	switch path {
	case "/payments":
		method, _ := body["paymentMethod"].(object)
		c.method, _ = method["type"].(string)
		if c.method != "pix" && c.method != "oxxo" {
			return fail(422, "14_006", "validation")
		}
		return 200, f.Enter(c).made()
	case "/paymentLinks":
		return 201, f.Enter(c).show()
	}
	return fail(404, "", "")
}

// made returns the answer of /payments.
func (c *charge) made() object {
	switch c.Ending {
	case providertest.Declined:
		return object{"pspReference": c.psp(), "resultCode": "Refused", "refusalReason": "Not enough balance", "refusalReasonCode": "12"}
	case providertest.Nonsense:
		return object{"pspReference": c.psp(), "resultCode": "Quantum"}
	}
	if c.method == "pix" {
		return object{"pspReference": c.psp(), "resultCode": "Pending", "action": object{
			"type": "qrCode", "paymentMethodType": "pix", "qrCodeData": "00020126580014br.gov.bcb.pix" + c.Reference + "6304ABCD", "paymentData": "Ab02"}}
	}
	return object{"pspReference": c.psp(), "resultCode": "PresentToShopper", "action": object{
		"type": "voucher", "paymentMethodType": "oxxo", "reference": "59168675976701", "alternativeReference": "59168675976701000000000019",
		"downloadUrl": "https://test.adyen.test/voucher", "expiresAt": "2026-11-24T00:00:00"}}
}

// show returns a link.
func (c *charge) show() object {
	status := "completed"
	switch c.Ending {
	case providertest.Open, providertest.Declined:
		status = "active"
	case providertest.Expired, providertest.Canceled:
		status = "expired"
	case providertest.Nonsense:
		status = "quantum"
	}
	return object{"id": c.link(), "reference": c.Reference, "status": status, "url": "https://test.adyen.link/" + c.link(), "amount": wire(c.Local)}
}

// refund accepts every request; its result is reported later.
func (f *fake) refund(psp, reference string, local money.Amount) (int, any) {
	for _, c := range f.Charges {
		if c.psp() == psp {
			c.Refunds = append(c.Refunds, providertest.Refund{Reference: reference, Local: local})
			return 201, object{"pspReference": fmt.Sprintf("R%s%d", psp, len(c.Refunds)), "paymentPspReference": psp, "reference": reference, "status": f.accepted}
		}
	}
	return fail(422, "167", "validation")
}
