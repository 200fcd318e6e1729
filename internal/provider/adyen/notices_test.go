package adyen

import (
	"errors"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// The vectors are those of Adyen's own libraries: node, java (two), and of docs.adyen.com, verify HMAC signatures. None of them
// escapes anything, and an amount may be in quotes.
func TestTheSignatureIsAdyens(t *testing.T) {
	for name, v := range map[string]struct{ key, item string }{
		"all fields": {hmacKey, `"pspReference":"pspReference","originalReference":"originalReference","merchantAccountCode":"merchantAccount",
			"merchantReference":"reference","amount":{"currency":"EUR","value":1000},"eventCode":"CAPTURE","success":"true",
			"additionalData":{"hmacSignature":"xhpHvYq2u2Np0rstbZ6QjLGu7JWhvf7Iwaa6EviJSX0="}`},
		"a colon, backslashes and slashes": {"74F490DD33F7327BAECC88B2947C011FC02D014A473AAA33A8EC93E4DC069174", `"pspReference":"ZVWN7D3WSMK2WN82",
			"merchantAccountCode":"AntoniStroinski","merchantReference":"\\:/\\/slashes are fun","amount":{"currency":"EUR","value":1000},
			"eventCode":"AUTHORISATION","success":"true","additionalData":{"hmacSignature":"CZErGCNQaSsxbaQfZaJlakqo7KPP+mIa8a+wx3yNs9A="}`},
		"an amount in quotes": {"9064450A8892A093D9E97EFCC9639DE31B74F3A7803135555A3C96F5A57915D6", `"pspReference":"test_REPORT_AVAILABLE",
			"merchantAccountCode":"Magento2Rik","merchantReference":"testMerchantRef1","amount":{"currency":"EUR","value":"0"},
			"eventCode":"REPORT_AVAILABLE","success":"true","additionalData":{"hmacSignature":"NuEkADFmlCC6VgX+wcoPAegIWxVPNBPCuKlM4Hzo5qc="}`},
		"no original reference": {"44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056", `"pspReference":"7914073381342284",
			"originalReference":null,"merchantAccountCode":"TestMerchant","merchantReference":"TestPayment-1407325143704",
			"amount":{"currency":"EUR","value":1130},"eventCode":"AUTHORISATION","success":"true",
			"additionalData":{"hmacSignature":"coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="}`},
	} {
		account := credentials()
		account["hmacKey"] = v.key
		opened, err := open(provider.Account{ID: "acc", Credentials: account})
		if err != nil {
			t.Fatal(err)
		}
		read := func(item string) ([]pay.Notice, error) {
			return opened.Notices(ctx(), provider.Notification{Body: []byte(`{"live":"false","notificationItems":[{"NotificationRequestItem":{` + item + `}}]}`)})
		}
		if list, err := read(v.item); err != nil || len(list) != 0 {
			t.Errorf("%s: %v, %+v; want it authentic, and of another merchant account", name, err, list)
		}
		for _, change := range [][2]string{
			{`"success":"true"`, `"success":"false"`}, {`"currency":"EUR"`, `"currency":"USD"`}, {`"eventCode":"`, `"eventCode":"X`},
			{`"merchantReference":"`, `"merchantReference":"X`}, {`"pspReference":"`, `"pspReference":"X`}, {"hmacSignature", "other"},
			{`"hmacSignature":"`, `"hmacSignature":5,"other":"`},
		} {
			if !strings.Contains(v.item, change[0]) {
				t.Fatalf("%s has no %s", name, change[0])
			}
			if list, err := read(strings.Replace(v.item, change[0], change[1], 1)); !errors.Is(err, provider.ErrUnsigned) || len(list) != 0 {
				t.Errorf("%s, %s: %v, %+v; want it refused", name, change[1], err, list)
			}
		}
	}
}

// A colon separates the signed fields without escapes, so only the merchant's reference may have one: the same signature would
// be right for fields that are cut elsewhere.
func TestAColonMovesNoField(t *testing.T) {
	b := connect(t)
	signed := func(reference string, moved object) provider.Notification {
		good := object{"eventCode": "AUTHORISATION", "success": "true", "pspReference": "P1", "merchantReference": reference, "paymentMethod": "pix",
			"amount": object{"value": int64(5000), "currency": "BRL"}}
		n := notification(good)
		for name, value := range moved {
			good[name] = value
		}
		n.Body = providertest.JSON(object{"live": "false", "notificationItems": []object{{"NotificationRequestItem": good}}})
		return n
	}
	for name, c := range map[string]struct {
		reference string
		moved     object
	}{
		"psp reference":      {merchant + ":01M7ZMOVED-1", object{"pspReference": "P1:", "originalReference": merchant, "merchantReference": "01M7ZMOVED-1"}},
		"original reference": {merchant + ":01M7ZMOVED-1", object{"originalReference": ":" + merchant, "merchantReference": "01M7ZMOVED-1"}},
		"currency":           {"01M7ZMOVED-1:9", object{"merchantReference": "01M7ZMOVED-1", "amount": object{"value": 9, "currency": "5000:BRL"}}},
		"event":              {"01M7ZMOVED-1:9", object{"merchantReference": "01M7ZMOVED-1", "amount": object{"value": 9, "currency": "5000"}, "eventCode": "BRL:AUTHORISATION"}},
	} {
		if list, err := b.Notices(ctx(), signed(c.reference, nil)); err != nil || len(list) != 0 {
			t.Errorf("%s, as it was signed: %v, %+v; want it authentic and not ours", name, err, list)
		}
		if list, err := b.Notices(ctx(), signed(c.reference, c.moved)); !errors.Is(err, provider.ErrUnsigned) || len(list) != 0 {
			t.Errorf("%s: %v, %+v; want it refused", name, err, list)
		}
	}
}

// A merchant account may serve other systems too. What they do is authentic, and none of ours: an error would keep all later
// notifications in Adyen's queue. The core knows whether it has a payment of a reference that has our form.
func TestNotificationsOfOthers(t *testing.T) {
	b := connect(t)
	for _, event := range []string{"AUTHORISATION", "REFUND", "CAPTURE_FAILED", "CHARGEBACK", "OFFER_CLOSED", "A_NEW_ONE"} {
		for name, i := range map[string]object{
			"another account": {"merchantAccountCode": "OtherCOM", "merchantReference": "01M7ZEVENT-1"},
			"a space":         {"merchantReference": "order 6735"},
			"a colon":         {"merchantReference": "cart:77"},
			"an underscore":   {"merchantReference": "order_42"},
			"two hyphens":     {"merchantReference": "WC-2026-1001"},
			"no number":       {"merchantReference": "WC-A"},
			"nothing":         {"merchantReference": ""},
		} {
			i["eventCode"], i["success"], i["pspReference"], i["amount"] = event, "true", "P1", object{"value": int64(1), "currency": "BRL"}
			if list, err := b.Notices(ctx(), notification(i)); err != nil || len(list) != 0 {
				t.Errorf("%s, %s: %+v %v, want nothing", event, name, list, err)
			}
		}
	}
	if told := b.line.Unmapped(); len(told) != 0 {
		t.Errorf("the operator is told of what is not ours: %q", told)
	}
}

// tell makes Adyen notify of one event, as it documents that, and returns the notice about it; the zero value if there is none.
func (b *bench) tell(t *testing.T, i object) pay.Notice {
	t.Helper()
	item := object{
		"success": "true", "paymentMethod": "visa", "pspReference": "P1", "merchantReference": "01M7ZEVENT-1",
		"amount": object{"value": int64(5000), "currency": "BRL"},
	}
	for name, value := range i {
		item[name] = value
	}
	message := notification(item)
	published.Sent(t, b.fake, message.Header, message.Query, message.Body)
	list, err := b.Notices(ctx(), message)
	providertest.Sound(t, list, err)
	if err != nil || len(list) > 1 {
		t.Fatalf("%v: %d notices, %v", i, len(list), err)
	}
	if len(list) == 0 {
		return pay.Notice{}
	}
	return list[0]
}

// Unpaid codes and vouchers are reported. A declined card on a link is a try: the shopper can try again.
func TestEventsOfACharge(t *testing.T) {
	for _, c := range []struct {
		event, success, method string
		want                   pay.OutcomeKind // "": no notice
	}{
		{"AUTHORISATION", "true", "visa", pay.Approved},
		{"AUTHORISATION", "false", "visa", pay.Awaiting},
		{"AUTHORISATION", "false", "pix", pay.Declined},
		{"OFFER_CLOSED", "true", "oxxo", pay.Lapsed},
		{"OFFER_CLOSED", "true", "pix", pay.Lapsed},
		{"OFFER_CLOSED", "true", "visa", ""},
		{"OFFER_CLOSED", "false", "pix", ""},
	} {
		n := connect(t).tell(t, object{"eventCode": c.event, "success": c.success, "paymentMethod": c.method})
		if n.Outcome.Kind != c.want || c.want != "" && n.Reference != "01M7ZEVENT-1" || c.want == pay.Approved && n.Outcome.MoneyRef != "P1" {
			t.Errorf("%s %s of %s: %s of %s, want %q", c.event, c.success, c.method, n.Outcome.Kind, n.Reference, c.want)
		}
	}
}

// Of each documented event it was decided whether it moves money, and the operator is told of an unknown one.
func TestEachEventIsDecided(t *testing.T) {
	b := connect(t)
	seen := 0
	for _, list := range documentedEvents {
		for _, event := range strings.Fields(list) {
			b.tell(t, object{"eventCode": event, "originalReference": "PAID1"})
			seen++
		}
	}
	if told := b.line.Unmapped(); len(told) != 0 || seen != len(events) {
		t.Errorf("the operator is told of %q; %d events are documented, and %d decided", told, seen, len(events))
	}
	if n := b.tell(t, object{"eventCode": "SETTLED_REVERSED"}); n.ID != "" || len(b.line.Unmapped()) != 1 {
		t.Errorf("an unknown event: %+v, and the operator is told of %q", n, b.line.Unmapped())
	}
}

// Authorized money may not come after all, or go back without our asking: it is booked under the event's own reference, once.
func TestMoneyThatDoesNotCome(t *testing.T) {
	for _, event := range []string{"CAPTURE_FAILED", "CANCELLATION", "TECHNICAL_CANCEL", "CANCEL_OR_REFUND", "EXPIRE"} {
		i := object{"eventCode": event, "originalReference": "PAID1"}
		n := connect(t).tell(t, i)
		back := n.Outcome.Back
		if n.Outcome.Kind != pay.Reversed || n.Outcome.MoneyRef != "PAID1" || n.Reference != "01M7ZEVENT-1" || back == nil || back.Total != money.New(5000, "BRL") ||
			len(back.Refunds) != 1 || back.Refunds[0].ID != "P1" || back.Refunds[0].Kind != pay.Approved || back.Refunds[0].Note == "" {
			t.Errorf("%s: %+v %+v", event, n.Outcome, back)
		}
		i["amount"] = object{"value": int64(5000), "currency": "B??"}
		if n := connect(t).tell(t, i); n.Outcome.Kind != pay.Reversed || n.Outcome.Back != nil {
			t.Errorf("%s of an unknown amount: %+v, want a task for the operator", event, n.Outcome)
		}
		for success, strange := range map[string]int{"false": 0, "perhaps": 1} {
			b := connect(t)
			if n := b.tell(t, object{"eventCode": event, "originalReference": "PAID1", "success": success}); n.ID != "" || len(b.line.Unmapped()) != strange {
				t.Errorf("%s, success %s: %+v, and the operator is told of %q", event, success, n, b.line.Unmapped())
			}
		}
	}
	if n := connect(t).tell(t, object{"eventCode": "EXPIRE"}); n.Outcome.MoneyRef != "P1" {
		t.Errorf("an expiry has the payment's reference: %+v", n.Outcome)
	}
}

// A capture is news only if one had failed: it undoes that failure, by the same reference.
func TestMoneyThatComesAfterAll(t *testing.T) {
	b := connect(t)
	for reason, want := range map[string]pay.OutcomeKind{
		"": "", "Captured": "", "Transaction Recaptured": pay.Approved, "Transaction Auto-recaptured": pay.Approved,
	} {
		n := b.tell(t, object{"eventCode": "CAPTURE", "reason": reason, "originalReference": "PAID1"})
		if n.Outcome.Kind != want {
			t.Errorf("%q: %+v, want %q", reason, n.Outcome, want)
		}
		if o := n.Outcome; want != "" && (o.MoneyRef != "PAID1" || o.Local != money.New(5000, "BRL") || len(o.Back.Refunds) != 1 ||
			o.Back.Refunds[0].ID != "P1" || o.Back.Refunds[0].Kind != pay.Declined || o.Back.Total.IsPositive()) {
			t.Errorf("%q: %+v %+v", reason, o, o.Back)
		}
	}
	if n := b.tell(t, object{"eventCode": "CAPTURE", "reason": "Transaction Recaptured", "originalReference": "PAID1", "success": "false"}); n.ID != "" {
		t.Errorf("it was not made: %+v", n)
	}
}

// An adjusted authorization says how much the issuer holds now: the core compares it with what it booked.
func TestAnAdjustedAuthorization(t *testing.T) {
	n := connect(t).tell(t, object{"eventCode": "AUTHORISATION_ADJUSTMENT", "originalReference": "PAID1"})
	if n.Outcome.Kind != pay.Approved || n.Outcome.MoneyRef != "PAID1" || n.Outcome.Local != money.New(5000, "BRL") {
		t.Errorf("%+v", n)
	}
	if n := connect(t).tell(t, object{"eventCode": "AUTHORISATION_ADJUSTMENT", "originalReference": "PAID1", "success": "false"}); n.ID != "" {
		t.Errorf("it was refused: %+v", n)
	}
}

func TestRefundsByEvent(t *testing.T) {
	for _, c := range []struct {
		event, success string
		want           pay.OutcomeKind
	}{
		{"REFUND", "true", pay.Approved}, {"REFUND_WITH_DATA", "true", pay.Approved}, {"REFUND", "false", pay.Declined},
		{"REFUND_FAILED", "true", pay.Declined}, {"REFUNDED_REVERSED", "true", pay.Declined},
		{"REFUND", "perhaps", pay.Unknown}, {"REFUND_FAILED", "false", pay.Unknown},
	} {
		n := connect(t).tell(t, object{"eventCode": c.event, "success": c.success, "originalReference": "PAID1"})
		if n.Refund != "01M7ZEVENT-1" || n.Outcome.Kind != c.want || n.Outcome.ProviderRef != "P1" || c.want == pay.Declined && n.Outcome.Message == "" {
			t.Errorf("%s %s: %+v of %s, want %s", c.event, c.success, n.Outcome, n.Refund, c.want)
		}
	}
}

// In the Customer Area somebody may give a modification any reference. The order's is that of the charge, which also names the
// money that went back.
func TestModificationsByHand(t *testing.T) {
	for name, c := range map[string]struct {
		typed, order   string
		refund, charge string // "": no notice
	}{
		"the payment's reference":    {"01M7ZCHARGE-1", "", "01M7ZCHARGE-1", "01M7ZCHARGE-1"},
		"another, and the order's":   {"for Ana", "01M7ZCHARGE-1", "01M7ZCHARGE-1", "01M7ZCHARGE-1"},
		"one like ours":              {"refund-1", "01M7ZCHARGE-1", "refund-1", "01M7ZCHARGE-1"},
		"our refund's, and an order": {"01M7ZCLAIM-1", "01M7ZCHARGE-1", "01M7ZCLAIM-1", "01M7ZCHARGE-1"},
		"another, and no order's":    {"for Ana", "", "", ""},
		"another system's":           {"for Ana", "order:77", "", ""},
	} {
		for _, event := range []string{"REFUND", "REFUND_FAILED", "CANCELLATION", "CAPTURE_FAILED"} {
			i := object{"eventCode": event, "merchantReference": c.typed, "originalReference": "PAID1"}
			switch failed := strings.HasSuffix(event, "_FAILED"); {
			case failed && c.order != "": // no document gives a failure the order's reference
				continue
			case c.order != "":
				i["additionalData"] = object{"merchantOrderReference": c.order}
			}
			n := connect(t).tell(t, i)
			refund := c.refund
			if !strings.HasPrefix(event, "REFUND") {
				refund = ""
			}
			if n.Refund != refund || n.Reference != c.charge || c.charge != "" && n.Outcome.MoneyRef != "PAID1" {
				t.Errorf("%s, %s: refund %q of charge %q, money %s; want %q of %q", event, name, n.Refund, n.Reference, n.Outcome.MoneyRef, refund, c.charge)
			}
		}
	}
	n := connect(t).tell(t, object{"eventCode": "CANCEL_OR_REFUND", "merchantReference": "for Ana", "originalReference": "PAID1",
		"additionalData": object{"originalMerchantReference": "01M7ZCHARGE-1"}})
	if n.Reference != "01M7ZCHARGE-1" {
		t.Errorf("a reversal is of charge %q", n.Reference)
	}
	// What nobody requests there is only what the signed reference says.
	for _, event := range []string{"AUTHORISATION", "OFFER_CLOSED"} {
		n := connect(t).tell(t, object{"eventCode": event, "merchantReference": "theirs", "additionalData": object{"merchantOrderReference": "01M7ZCHARGE-1"}})
		if n.ID != "" {
			t.Errorf("%s of another system's reference is of %s", event, n.Reference)
		}
	}
}

// The same news has the same id; the same event on another day is another one.
func TestNewsAreToldApart(t *testing.T) {
	b := connect(t)
	first := b.tell(t, object{"eventCode": "CAPTURE_FAILED", "originalReference": "PAID1"})
	again := b.tell(t, object{"eventCode": "CAPTURE_FAILED", "originalReference": "PAID1"})
	later := b.tell(t, object{"eventCode": "CAPTURE_FAILED", "originalReference": "PAID1", "eventDate": "2026-12-01T13:00:00+01:00"})
	if first.ID != again.ID || first.ID == later.ID {
		t.Errorf("%q, %q and %q", first.ID, again.ID, later.ID)
	}
}

// If the amount that was paid or refunded cannot be read, the outcome is
// unknown.
func TestItemsWithoutAReadableAmountAreUnknown(t *testing.T) {
	b := connect(t)
	for _, event := range []string{"AUTHORISATION", "REFUND"} {
		for _, amount := range []object{{"value": int64(0), "currency": "BRL"}, {"value": int64(5000), "currency": "B??"}} {
			list, err := b.Notices(ctx(), notification(object{
				"eventCode": event, "success": "true", "paymentMethod": "visa", "pspReference": "P1", "merchantReference": "01M7ZEVENT-1", "amount": amount,
			}))
			if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Unknown {
				t.Errorf("%s of %v: %+v %v, want unknown", event, amount, list, err)
			}
		}
	}
}

// No body makes the reader panic.
func FuzzNotices(f *testing.F) {
	f.Add(notification(object{"eventCode": "AUTHORISATION", "success": "true", "pspReference": "P1", "merchantReference": "X-1",
		"amount": object{"value": int64(1), "currency": "BRL"}}).Body)
	f.Fuzz(func(t *testing.T, body []byte) {
		p := &Provider{merchant: merchant}
		if list, err := p.Notices(ctx(), provider.Notification{Body: body}); len(list) != 0 && err != nil {
			t.Errorf("%v with %d notices", err, len(list))
		}
	})
}
