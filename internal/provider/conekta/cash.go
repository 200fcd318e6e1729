package conekta

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// network is where references of a kind are paid.
type network struct {
	products []text   // the kinds of references, the most likely one first
	stores   []string // its names in store_names, in lower case letters and digits
}

// networks are by rail.
var networks = map[string]network{
	"cash.7eleven.MEX":         {[]text{"cash_in", "pespay_cash_in"}, []string{"7eleven", "seveneleven"}},
	"cash.farmaciasahorro.MEX": {[]text{"cash_in", "pespay_cash_in"}, []string{"farmaciasdelahorro", "farmaciadelahorro"}},
	"cash.circulok.MEX":        {[]text{"cash_in"}, []string{"circlek", "círculok", "circulok"}},
	bbva:                       {[]text{"bbva_cash_in"}, []string{"bbvaatm", "bbva"}},
}

const bbva = "cash.bbva.MEX"

// letters are a name's letters and digits in lower case.
func letters(name text) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, string(name))
}

// fits reports whether a charge is paid in a network, as a kind of reference. A charge may leave its
// stores out.
func (n network) fits(c charge, product text) bool {
	return c.Method.Product == product && (len(c.Method.Stores) == 0 || slices.ContainsFunc(c.Method.Stores, func(store text) bool {
		return slices.Contains(n.stores, letters(store))
	}))
}

// cashAt is the charge of an order that is paid in a rail's network.
func (o order) cashAt(rail string) (charge, bool) {
	n := networks[rail]
	for _, product := range n.products {
		if at := slices.IndexFunc(o.charges(), func(c charge) bool { return n.fits(c, product) }); at >= 0 {
			return o.charges()[at], true
		}
	}
	return charge{}, false
}

// voucher is what the shopper says at the counter or enters at BBVA's machine; false if that is
// missing.
func (o order) voucher(rail string) (pay.PaymentData, bool) {
	c, found := o.cashAt(rail)
	d := pay.PaymentData{Reference: provider.Exact(string(c.Method.Ref), 64)}
	if rail == bbva {
		agreement := provider.Exact(string(c.Method.Agreement), 32)
		if d.Beneficiary = "Convenio " + agreement; agreement == "" {
			return pay.PaymentData{}, false
		}
	}
	return d, found && d.Reference != ""
}
