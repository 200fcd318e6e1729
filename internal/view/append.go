package view

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/money"
)

// Appender writes itself as JSON, byte for byte as encoding/json would without
// escaping for HTML. What every payment replies and tells in its events has it:
// finding the fields anew for each was the dearest step of both.
type Appender interface {
	AppendJSON(b []byte) []byte
}

// object is a JSON object that is being written.
type object []byte

func (o *object) open() { *o = append(*o, '{') }

func (o *object) close() []byte { return append(*o, '}') }

// key begins a member; its value is to follow. A name needs no escaping.
func (o *object) key(name string) {
	b := *o
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	*o = append(b, '"', ':')
}

func (o *object) text(name, v string) {
	o.key(name)
	*o = appendText(*o, v)
}

// filled writes a text that is left out when it is empty.
func (o *object) filled(name, v string) {
	if v != "" {
		o.text(name, v)
	}
}

// orNull writes a text that may be missing.
func (o *object) orNull(name string, v *string) {
	o.key(name)
	if v == nil {
		*o = append(*o, "null"...)
	} else {
		*o = appendText(*o, *v)
	}
}

// given writes a text that is left out when it is missing.
func (o *object) given(name string, v *string) {
	if v != nil {
		o.text(name, *v)
	}
}

// requested writes what the shop asked for, where that is told.
func (o *object) requested(amount *Money, currency money.Currency) {
	if amount != nil {
		o.money("amountRequested", *amount)
	}
	o.filled("currencyRequested", string(currency))
}

// purchase writes what the shop told of a purchase.
func (o *object) purchase(description string, metadata map[string]string, items []LineItem) {
	o.filled("description", description)
	if len(metadata) > 0 {
		o.key("metadata")
		pairs := object(append(*o, '{'))
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			if pairs[len(pairs)-1] != '{' {
				pairs = append(pairs, ',')
			}
			pairs = append(appendText(pairs, key), ':')
			pairs = appendText(pairs, metadata[key])
		}
		*o = append(pairs, '}')
	}
	if len(items) > 0 {
		o.key("lineItems")
		list := object(append(*o, '['))
		for i, item := range items {
			if i > 0 {
				list = append(list, ',')
			}
			list = item.append(list)
		}
		*o = append(list, ']')
	}
}

func (i LineItem) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.text("name", i.Name)
	o.number("quantity", i.Quantity)
	o.money("unitAmount", i.UnitAmount)
	o.filled("sku", i.SKU)
	return o.close()
}

func (o *object) number(name string, v int64) {
	o.key(name)
	*o = strconv.AppendInt(*o, v, 10)
}

func (o *object) money(name string, v Money) {
	o.key(name)
	*o = v.append(*o)
}

func (o *object) time(name string, v Time) {
	o.key(name)
	*o = v.append(*o)
}

// set writes a time that is left out when it is missing.
func (o *object) set(name string, v *Time) {
	if v != nil {
		o.time(name, *v)
	}
}

// any writes a value of any kind.
func (o *object) any(name string, v any) error {
	o.key(name)
	if a, ok := v.(Appender); ok {
		*o = a.AppendJSON(*o)
		return nil
	}
	text, err := marshal(v)
	*o = append(*o, text...)
	return err
}

// marshal is json.Marshal without escaping for HTML.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func appendText(b []byte, v string) []byte {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text, err := marshal(v)
			if err != nil {
				panic("view: a string that is no JSON: " + err.Error()) // every string is
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, v...)
	return append(b, '"')
}

func (m Money) append(b []byte) []byte {
	if m.Currency == "" {
		return append(b, '0')
	}
	return m.AppendDecimal(b)
}

// append writes ISO 8601 in quotes. The time package would read the layout anew
// for each.
func (t Time) append(b []byte) []byte {
	utc := t.UTC()
	year, month, day := utc.Date()
	if year < 0 || year > 9999 {
		return utc.AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
	}
	hour, minute, second := utc.Clock()
	b = append(b, '"')
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), int(month), 2)
	b = appendDigits(append(b, '-'), day, 2)
	b = appendDigits(append(b, 'T'), hour, 2)
	b = appendDigits(append(b, ':'), minute, 2)
	b = appendDigits(append(b, ':'), second, 2)
	b = appendDigits(append(b, '.'), utc.Nanosecond()/int(time.Millisecond), 3)
	return append(b, 'Z', '"')
}

// appendDigits writes a number with leading zeros.
func appendDigits(b []byte, n, digits int) []byte {
	at := len(b) + digits
	b = append(b, "0000"[:digits]...)
	for ; n > 0; n /= 10 {
		at--
		b[at] = byte('0' + n%10)
	}
	return b
}

// AppendJSON writes the reply.
func (c Created) AppendJSON(b []byte) []byte {
	o := object(b)
	o.open()
	o.text("transactionId", c.TransactionID)
	o.text("status", string(c.Status))
	o.money("amount", c.Amount)
	o.text("currency", c.Currency)
	o.money("amountLocal", c.AmountLocal)
	o.text("currencyLocal", string(c.CurrencyLocal))
	o.key("fxRate")
	o = append(o, c.FxRate.Decimal()...)
	o.text("paymentMethodId", c.PaymentMethodID)
	o.text("paymentMethod", c.PaymentMethod)
	o.text("country", c.Country)
	o.key("fees")
	o = c.Fees.append(o)
	o.key("settlement")
	o.open()
	c.Settlement.members(&o)
	o.money("reserve", c.Settlement.Reserve)
	o = o.close()
	o.orNull("paymentFormUrl", c.PaymentFormURL)
	o.filled("checkoutUrl", c.CheckoutURL)
	o.key("paymentData")
	o = c.PaymentData.append(o)
	o.orNull("merchantOrderId", c.MerchantOrderID)
	o.time("expiresAt", c.ExpiresAt)
	o.key("timestamps")
	o = c.Timestamps.append(o)
	o.requested(c.AmountRequested, c.CurrencyRequested)
	o.purchase(c.Description, c.Metadata, c.LineItems)
	return o.close()
}

// AppendJSON writes the payment.
func (t Transaction) AppendJSON(b []byte) []byte {
	o := object(b)
	o.open()
	o.text("id", t.ID)
	o.text("status", string(t.Status))
	o.money("amount", t.Amount)
	o.text("currency", t.Currency)
	o.money("amountLocal", t.AmountLocal)
	o.text("currencyLocal", string(t.CurrencyLocal))
	o.text("paymentMethodId", t.PaymentMethodID)
	o.text("paymentMethod", t.PaymentMethod)
	o.text("country", t.Country)
	o.key("fees")
	o = t.Fees.append(o)
	o.key("settlement")
	o.open()
	t.Settlement.members(&o)
	o = o.close()
	if t.PaymentData != nil {
		o.key("paymentData")
		o = t.PaymentData.append(o)
	}
	o.money("refundedAmountLocal", t.RefundedAmountLocal)
	o.money("refundableAmountLocal", t.RefundableAmountLocal)
	o.key("failure")
	if t.Failure == nil {
		o = append(o, "null"...)
	} else {
		o = t.Failure.append(o)
	}
	o.key("attention")
	if t.Attention == nil {
		o = append(o, "null"...)
	} else {
		o = t.Attention.append(o)
	}
	o.key("timestamps")
	o = t.Timestamps.append(o)
	o.orNull("merchantOrderId", t.MerchantOrderID)
	o.requested(t.AmountRequested, t.CurrencyRequested)
	o.purchase(t.Description, t.Metadata, t.LineItems)
	if t.FxRate != nil {
		o.key("fxRate")
		o = append(o, t.FxRate.Decimal()...)
	}
	o.given("paymentFormUrl", t.PaymentFormURL)
	o.filled("checkoutUrl", t.CheckoutURL)
	o.set("expiresAt", t.ExpiresAt)
	o.given("userName", t.UserName)
	o.given("userEmail", t.UserEmail)
	o.given("documentId", t.DocumentID)
	if t.Refund != nil {
		o.key("refund")
		o = t.Refund.append(o)
	}
	return o.close()
}

func (f Fees) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.money("platform", f.Platform)
	o.money("provider", f.Provider)
	o.money("network", f.Network)
	o.money("total", f.Total)
	return o.close()
}

// members writes what both settlement objects have.
func (s Settling) members(o *object) {
	o.text("type", s.Type)
	o.text("delay", s.Delay)
	o.text("status", s.Status)
}

func (t Timestamps) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.time("created", t.Created)
	o.time("updated", t.Updated)
	o.set("completed", t.Completed)
	o.set("failed", t.Failed)
	o.set("expired", t.Expired)
	o.set("refunded", t.Refunded)
	o.set("chargeback", t.Chargeback)
	return o.close()
}

func (f Failure) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.text("code", f.Code)
	o.orNull("declineCode", f.DeclineCode)
	o.text("message", f.Message)
	return o.close()
}

func (a Attention) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.text("code", string(a.Code))
	o.money("amountLocal", a.AmountLocal)
	o.text("currencyLocal", string(a.CurrencyLocal))
	o.orNull("claimId", a.ClaimID)
	return o.close()
}

func (d PaymentData) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.filled("type", d.Type)
	o.filled("qrCode", d.QRCode)
	o.filled("qrCodeImageUrl", d.QRCodeImageURL)
	o.filled("clabe", d.CLABE)
	o.filled("bankName", d.BankName)
	o.filled("beneficiary", d.Beneficiary)
	o.filled("reference", d.Reference)
	o.filled("barcode", d.Barcode)
	o.filled("barcodeImageUrl", d.BarcodeImageURL)
	o.filled("voucherUrl", d.VoucherURL)
	o.set("expiresAt", d.ExpiresAt)
	return o.close()
}

func (r Refund) append(b []byte) []byte {
	o := object(b)
	o.open()
	o.text("refundId", r.RefundID)
	o.text("transactionId", r.TransactionID)
	o.money("amount", r.Amount)
	o.money("amountUsd", r.AmountUSD)
	o.text("currency", string(r.Currency))
	o.text("status", string(r.Status))
	o.orNull("reason", r.Reason)
	o.time("createdAt", r.CreatedAt)
	return o.close()
}

// append writes the event. What it is about may be of any kind.
func (e Event) append(b []byte) ([]byte, error) {
	o := object(b)
	o.open()
	o.text("id", e.ID)
	o.text("type", string(e.Type))
	o.text("apiVersion", e.APIVersion)
	o.time("createdAt", e.CreatedAt)
	o.text("environment", string(e.Environment))
	o.text("merchantId", e.MerchantID)
	o.text("shopId", e.ShopID)
	o.number("sequence", e.Sequence)
	o.key("request")
	o.open()
	o.orNull("id", e.Request.ID)
	o.orNull("idempotencyKey", e.Request.IdempotencyKey)
	o = o.close()
	o.key("data")
	o.open()
	if err := o.any("object", e.Data.Object); err != nil {
		return nil, err
	}
	o.key("previous")
	o.open()
	o.filled("status", string(e.Data.Previous.Status))
	o = o.close()
	o = o.close()
	return o.close(), nil
}
