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
	seen    []object // the bodies that were posted
	court   *court   // the dispute D1, if there is one
	forbids bool     // the role for disputes is missing
}

// charge is a payment, or a link with the payment made on it.
type charge struct {
	providertest.Entry
	number int
	method string // "" for a link
	tries  int    // the cards that were refused on it
	months []any  // the numbers of installments on it
}

func newFake() *fake { return &fake{} }

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

// Try implements providertest.CardFake. Each try on a link is a payment of its own, and the link stays active until one is paid.
func (f *fake) Try(reference, code string) (n provider.Notification, open bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	if c.method != "" || c.Ending != providertest.Open {
		return n, false
	}
	i := object{
		"eventCode": "AUTHORISATION", "success": "false", "merchantReference": c.Reference, "amount": wire(c.Local), "paymentMethod": "visa", "reason": code,
		"additionalData": object{"merchantOrderReference": c.Reference, "paymentLinkId": c.link()},
	}
	if code == "" {
		c.Ending = providertest.Paid
		i["success"], i["pspReference"] = "true", c.psp()
		return notification(i), true
	}
	c.tries++
	i["pspReference"] = fmt.Sprintf("T%d%s", c.tries, c.psp())
	return notification(i), true
}

// In implements providertest.Installing.
func (f *fake) In(reference string, count int) (n provider.Notification, offered bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	if !slices.Contains(c.months, any(float64(count))) || c.Ending != providertest.Open {
		return n, false
	}
	c.Ending = providertest.Paid
	return notification(object{
		"eventCode": "AUTHORISATION", "success": "true", "pspReference": c.psp(), "merchantReference": c.Reference, "amount": wire(c.Local), "paymentMethod": "visa",
		"reason": "", "additionalData": object{"installments.value": fmt.Sprint(count)},
	}), true
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
		i["eventCode"], i["additionalData"] = "REFUND_FAILED", object{} // without the order's reference
	case providertest.Nonsense:
		i["success"] = "perhaps"
	}
	return notification(i)
}

// notification returns one item, signed.
func notification(i object) provider.Notification {
	usual := object{"merchantAccountCode": merchant, "originalReference": "", "eventDate": "2026-11-21T13:00:00+01:00"}
	for field, value := range usual {
		if i[field] == nil {
			i[field] = value
		}
	}
	a := i["amount"].(object)
	signed := fmt.Sprintf("%s:%s:%s:%s:%d:%s:%s:%s", i["pspReference"], i["originalReference"], i["merchantAccountCode"], i["merchantReference"],
		a["value"], a["currency"], i["eventCode"], i["success"])
	if i["originalReference"] == "" { // it is signed as empty, and not sent
		delete(i, "originalReference")
	}
	key, _ := hex.DecodeString(hmacKey)
	more, _ := i["additionalData"].(object)
	if more == nil {
		more = object{}
	}
	more["hmacSignature"] = base64.StdEncoding.EncodeToString(providertest.MAC(sha256.New, string(key), signed))
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
	if _, dispute := body["disputePspReference"]; dispute {
		return f.ofDispute(strings.TrimPrefix(r.URL.Path, "/"), body)
	}
	return f.Once(r.Header.Get("Idempotency-Key"), "", func() (int, any) { return f.post(r.URL.Path, body) })
}

func (f *fake) links(method, id string, body object) (int, any) {
	at := slices.IndexFunc(f.Charges, func(c *charge) bool { return c.method == "" && c.link() == id })
	if at < 0 {
		return fail(422, "702", "validation")
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
		options, _ := body["installmentOptions"].(object)
		card, _ := options["card"].(object)
		c.months, _ = card["values"].([]any)
		return 201, f.Enter(c).show()
	}
	return fail(400, "702", "validation")
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
	return object{"id": c.link(), "merchantAccount": merchant, "reference": c.Reference, "status": status, "url": "https://test.adyen.link/" + c.link(), "amount": wire(c.Local)}
}

// refund accepts every request; its result is reported later.
func (f *fake) refund(psp, reference string, local money.Amount) (int, any) {
	for _, c := range f.Charges {
		if c.psp() == psp {
			c.Refunds = append(c.Refunds, providertest.Refund{Reference: reference, Local: local})
			return 201, object{"pspReference": fmt.Sprintf("R%s%d", psp, len(c.Refunds)), "paymentPspReference": psp, "reference": reference, "status": "received",
				"merchantAccount": merchant, "amount": wire(local)}
		}
	}
	return fail(422, "167", "validation")
}
