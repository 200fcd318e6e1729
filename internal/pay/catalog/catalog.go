// Package catalog is the list of rails that Cascada knows: the local ways to
// pay in Latin America, as data, and the five test rails of the sandbox.
//
// The table is a start, not a contract with anyone. Limits and windows are the
// typical ones that central banks, retail networks and payment providers
// publish, read in 2026; where nothing is published, and for nearly all prices,
// they are an estimate of the right size. An operator's own contracts say
// something else, so an operator can change every figure, and should before the
// first real payment.
//
// It is not the routing: no provider is named here, and a rail in the table
// takes no payment until a provider is configured for it. It is not where
// paymentMethodId comes from: ids are allocated once per Key and kept in the
// database, so rows may be added anywhere and moved about freely. A Key is for
// life, though: a changed one is a new rail with a new id (testdata/keys.txt
// keeps them).
package catalog

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// Rails is the production catalog, by country (ISO alpha-3) and then by method.
// The first limit of a rail is in the currency its shoppers are charged in by
// default, which is not always the country's: Panama pays in USD. ID is empty.
// The slice is the caller's.
func Rails() []accounts.Rail {
	markets := []market{
		argentina(), bolivia(), brazil(), chile(), colombia(), costaRica(),
		dominicanRepublic(), ecuador(), guatemala(), honduras(), mexico(),
		panama(), peru(), paraguay(), elSalvador(), uruguay(), abroad(),
	}
	var rails []accounts.Rail
	for _, m := range markets {
		for _, r := range m.rows {
			rail := r.rail(m.country)
			rail.Least = rail.Fee.LeastWorth()
			rails = append(rails, rail)
		}
	}
	return rails
}

// Sandbox is the five test rails (SBX-1), the same for every merchant.
// Their ids are fixed and equal their keys. The slice is the caller's.
func Sandbox() []accounts.Rail {
	brl, mxn, cop := in(money.BRL), in(money.MXN), in(money.COP)
	cents := []accounts.Limit{{Currency: money.USD, Min: 1, Max: accounts.MaxAmount}}
	rails := []accounts.Rail{
		row{"sbx_pix", "pix", "PIX (test)", brl(1, 1_000_000), fee(99, 0), day, "CPF"}.rail("BRA"),
		row{"sbx_spei", "spei", "SPEI (test)", mxn(1, 10_000_000), fee(0, 50), day, "RFC"}.rail("MEX"),
		row{"sbx_pse", "bank_transfer", "PSE (test)", cop(1_000, 1_000_000_000), fee(199, 20), day, ""}.rail("COL"),
		row{"sbx_card", "card", "Card (test)", cents, fee(299, 30), threeDS, ""}.rail("USA"),
		row{"sbx_cash", "cash", "Cash (test)", mxn(10, 10_000), fee(350, 0), 7 * day, ""}.rail("MEX"),
	}
	for i := range rails {
		rails[i].ID = rails[i].Key
	}
	return rails
}

// How long a shopper has to pay. Other windows are written as a number of days.
const (
	day     = 24 * time.Hour
	threeDS = 30 * time.Minute // A bank's 3-D Secure page, with time to find the phone.
	inApp   = 30 * time.Minute // A QR or a push that the shopper's own app answers.
)

// market is the part of the table for one country.
type market struct {
	country string
	rows    []row
}

// row is one line of the table: a rail, less what its country and its method
// already say. The key is written out, never made from the other columns, so
// that correcting a name cannot allocate a new id.
type row struct {
	key      string // <kind>[.<network>].<country>
	method   string
	name     string
	limits   []accounts.Limit
	fee      money.Fee
	window   time.Duration
	document string // Only if the rail itself requires it, not if only one provider does.
}

func (r row) rail(country string) accounts.Rail {
	label, channel := kind(r.method)
	return accounts.Rail{
		Key: r.key, Method: r.method, Label: label, Name: r.name,
		Country: country, Channel: channel,
		Limits: r.limits, Fee: r.fee, Window: r.window, Document: r.document,
		Sync: channel == accounts.CreditCard, Enabled: true, Online: true,
	}
}

// kind is what a method says about all its rails, whatever the country. The
// cases are in the order in which a country lists its methods.
//
// "cash" is the counter of one network; "voucher" is a code that several
// networks take, and often the bank's app as well. A boleto is paid in the
// bank's app as much as at a counter, but always away from our page and days
// later, so its channel is CASH.
func kind(method string) (label string, channel accounts.Channel) {
	switch method {
	case "pix":
		return "PIX", accounts.Online
	case "spei":
		return "SPEI", accounts.Online
	case "bank_transfer":
		return "Bank transfer", accounts.Online
	case "wallet":
		return "Wallet", accounts.Online
	case "oxxo":
		return "OXXO", accounts.Cash
	case "cash":
		return "Cash", accounts.Cash
	case "voucher":
		return "Voucher", accounts.Cash
	case "boleto":
		return "Boleto", accounts.Cash
	case "card":
		return "Card", accounts.CreditCard
	}
	panic(fmt.Sprintf("catalog: unknown method %q", method))
}

// in gives the column of limits in a currency. The table is written in whole
// major units, as the rails publish them; we hold minor ones.
func in(c money.Currency) func(low, high int64) []accounts.Limit {
	unit := int64(1)
	for range c.Exponent() {
		unit *= 10
	}
	return func(low, high int64) []accounts.Limit {
		return []accounts.Limit{{Currency: c, Min: low * unit, Max: high * unit}}
	}
}

// both is for a rail that accepts two currencies, the default one first.
func both(first, second []accounts.Limit) []accounts.Limit {
	return append(first, second...)
}

// fee is a price: hundredths of a percent, and US cents on top.
func fee(bps, flat int64) money.Fee {
	return money.Fee{Bps: bps, Flat: flat}
}
