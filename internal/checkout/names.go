package checkout

import (
	"cmp"
	"strings"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// called is the usual name of a rail: its network's name. A sandbox rail has the name of
// the one that it stands for, in the shopper's language.
func (v view) called(r accounts.Rail) string {
	name, test := strings.CutSuffix(r.Name, " (test)")
	switch name {
	case "PIX":
		name = "Pix"
	case "Card":
		name = v.T("card")
	case "Cash":
		name = v.T("channel_cash")
	}
	if test {
		name += " (" + v.T("test") + ")"
	}
	return name
}

// network is the company that accepts a rail's vouchers. The sandbox has no company, but a
// name of its own.
func (v view) network(r accounts.Rail) string {
	if r.Name == "Cash (test)" {
		return v.T("test_store")
	}
	return v.called(r)
}

// action is what a shopper has to do to pay by a rail.
func (v view) action(r accounts.Rail) string {
	switch {
	case r.Method == "boleto":
		return v.T("state_waiting_boleto")
	case r.Channel == accounts.CreditCard:
		return v.T("state_waiting_card")
	case r.Channel == accounts.Cash:
		return v.T("state_waiting_cash", "method", v.network(r))
	}
	return v.T("state_waiting", "method", v.called(r))
}

// document is the usual name of a document. A CC or a CI is a cédula to its holders; other
// people do not know these letters.
func (v view) document(kind string) string {
	switch kind {
	case "CC", "CI":
		return v.T("document_" + strings.ToLower(kind))
	}
	return kind
}

// channel is the sentence for where a rail is paid.
func channel(r accounts.Rail) string {
	if r.Method == "boleto" { // hardly any shopper brings cash
		return "channel_boleto"
	}
	return "channel_" + strings.ToLower(string(r.Channel))
}

// speed is the sentence for how soon a payment is confirmed.
func speed(r accounts.Rail) string {
	switch r.Channel {
	case accounts.CreditCard:
		return "time_instant"
	case accounts.Cash:
		return "time_days"
	}
	return "time_minutes"
}

// countryNames has the names of the rails' countries that are others than in English, by language and code.
var countryNames = map[string]map[string]string{
	"es": {
		"BR": "Brasil", "DO": "República Dominicana", "MX": "México", "PA": "Panamá", "PE": "Perú", "US": "Estados Unidos",
	},
	"pt": {
		"BO": "Bolívia", "BR": "Brasil", "CO": "Colômbia", "DO": "República Dominicana", "EC": "Equador", "MX": "México", "PA": "Panamá",
		"PY": "Paraguai", "US": "Estados Unidos", "UY": "Uruguai",
	},
}

// countryName is what a country is called in a language.
func countryName(lang, alpha3 string) string {
	c, _ := geo.Parse(alpha3)
	return cmp.Or(countryNames[lang][c.Alpha2], c.Name)
}
