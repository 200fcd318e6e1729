package mercadopago

import (
	"encoding/json"
	"regexp"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// sumForm is the format of amounts.
var sumForm = regexp.MustCompile(`^\d+(\.\d{1,2})?$`)

// exactly returns an object if it has these keys and no others, otherwise nil.
func exactly(of any, keys ...string) map[string]any {
	fields, ok := of.(map[string]any)
	if !ok || len(fields) != len(keys) {
		return nil
	}
	for _, key := range keys {
		if fields[key] == nil {
			return nil
		}
	}
	return fields
}

// alone returns the only account of a side.
func alone(side map[string]any) any {
	if list, ok := side["accounts"].([]any); ok && len(list) == 1 {
		return list[0]
	}
	return nil
}

// read returns the request of a body, or what is wrong with it.
func (f *intentFake) read(body []byte) (p *fakeIntent, wrong string) {
	all := exactly(providertest.Fields(body), "external_reference", "point_of_interaction", "seller_configuration", "transaction")
	interaction := exactly(all["point_of_interaction"], "type")
	seller := exactly(exactly(all["seller_configuration"], "notification_info")["notification_info"], "notification_url")
	transaction := exactly(all["transaction"], "from", "to", "total_amount")
	from := exactly(alone(exactly(transaction["from"], "accounts")), "amount")
	to := exactly(transaction["to"], "accounts")
	reference, _ := all["external_reference"].(string)
	total, _ := transaction["total_amount"].(json.Number)
	switch {
	case all == nil || from == nil || to == nil || interaction["type"] != "PSP_TRANSFER":
		return nil, "other fields"
	case seller["notification_url"] != providertest.Notifications:
		return nil, "another address for notifications"
	case !referenceForm.MatchString(reference):
		return nil, "a reference that is none"
	}
	account, destination := receiverOf(alone(to))
	if account == nil {
		return nil, "a receiver that is not Brazil's"
	}
	asked, ok := provider.Major(total.String(), string(money.BRL))
	if !sumForm.MatchString(total.String()) || !ok || from["amount"] != total || account["amount"] != total {
		return nil, "sums that are none, or differ"
	}
	return &fakeIntent{Entry: payouttest.Entry{Reference: reference, Destination: destination, Asked: asked}}, ""
}

// chaves are the formats of Pix keys.
var chaves = map[string]string{
	"CPF": `^\d{11}$`, "CNPJ": `^\d{14}$`, "EMAIL": `^[^@]+@[^@]+$`, "PHONE": `^\+55\d{10,11}$`, "PIX_CODE": `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
}

// receiverOf returns the receiver in the documented format, and its Pix key; nil if it has another.
func receiverOf(of any) (fields map[string]any, destination string) {
	text := func(of map[string]any, key string) string { t, _ := of[key].(string); return t }
	has := func(forms map[string]string, kind, value string) bool {
		return forms[kind] != "" && regexp.MustCompile(forms[kind]).MatchString(value)
	}
	fields = exactly(of, "type", "amount", "chave", "owner")
	key := exactly(fields["chave"], "type", "value")
	tax := exactly(exactly(fields["owner"], "identification")["identification"], "type", "number")
	taxes := map[string]string{"CPF": chaves["CPF"], "CNPJ": chaves["CNPJ"]}
	if fields["type"] != "current" || !has(chaves, text(key, "type"), text(key, "value")) || !has(taxes, text(tax, "type"), text(tax, "number")) {
		return nil, ""
	}
	return fields, text(key, "value")
}
