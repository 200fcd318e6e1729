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

// pixForms are the formats of Pix keys.
var pixForms = map[string]string{
	"CPF": `^\d{11}$`, "CNPJ": `^\d{14}$`, "EMAIL": `^[^@]+@[^@]+$`, "PHONE": `^\+55\d{10,11}$`, "PIX_CODE": `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
}

// read returns the request of a body, or what is wrong with it beyond the table.
func (f *intentFake) read(body []byte) (p *fakeIntent, wrong string) {
	type typed struct{ Type, Value, Number string }
	var q struct {
		Reference   string                       `json:"external_reference"`
		Seller      map[string]map[string]string `json:"seller_configuration"`
		Transaction struct {
			From struct {
				Accounts []struct{ Amount json.Number }
			}
			To struct {
				Accounts []struct {
					Type   string
					Amount json.Number
					Chave  typed
					Owner  struct{ Identification typed }
				}
			}
			Total json.Number `json:"total_amount"`
		}
	}
	if json.Unmarshal(body, &q) != nil || len(q.Transaction.To.Accounts) != 1 || len(q.Transaction.From.Accounts) != 1 {
		return nil, "other fields"
	}
	to, total := q.Transaction.To.Accounts[0], q.Transaction.Total
	has := func(kind, value string) bool {
		return pixForms[kind] != "" && regexp.MustCompile(pixForms[kind]).MatchString(value)
	}
	asked, ok := provider.Major(total.String(), string(money.BRL))
	switch {
	case !providertest.IsNotifications(q.Seller["notification_info"]["notification_url"]):
		return nil, "another address for notifications"
	case to.Type != "current" || !has(to.Chave.Type, to.Chave.Value) || !has(to.Owner.Identification.Type, to.Owner.Identification.Number):
		return nil, "a receiver that is not Brazil's"
	case !sumForm.MatchString(total.String()) || !ok || q.Transaction.From.Accounts[0].Amount != total || to.Amount != total:
		return nil, "sums that are none, or differ"
	}
	return &fakeIntent{Entry: payouttest.Entry{Reference: q.Reference, Destination: to.Chave.Value, Asked: asked}}, ""
}
