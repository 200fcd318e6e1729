package accounts

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Channel is how a shopper reaches a rail (CAT-2).
type Channel string

// The three channels.
const (
	Online     Channel = "ONLINE"
	Cash       Channel = "CASH"
	CreditCard Channel = "CREDIT_CARD"
)

// Rail is one way to pay: a method in one country over one network. Its ID is the API's
// paymentMethodId (CAT-3).
type Rail struct {
	ID       string // 4 digits from 1001, or sbx_… in the sandbox
	Key      string // our own stable name, e.g. "pix.BRA"; never shown
	Method   string // slug: pix, spei, oxxo, voucher, bank_transfer, card, …
	Label    string // "PIX"
	Name     string // retailer, bank or native rail
	Country  string // ISO 3166 alpha-3
	Channel  Channel
	ImageURL string
	Limits   []Limit // one per currency; never empty
	Fee      money.Fee
	Least    int64         // USD cents: the smallest worth of a payment, of which the fee leaves something; 0: any
	Window   time.Duration // how long the shopper has to pay
	Document string        // the shopper's document that the rail needs ("CPF", "RFC"), or ""
	Sync     bool          // the call returns the final outcome (cards)
	Enabled  bool
	Online   bool
}

// From returns the rail with a limit that begins at an amount, if it began below.
func (r Rail) From(least money.Amount) Rail {
	r.Limits = slices.Clone(r.Limits)
	for n, l := range r.Limits {
		if l.Currency == least.Currency {
			r.Limits[n].Min = max(l.Min, least.Minor)
		}
	}
	return r
}

// LimitIn returns the rail's limit for a currency.
func (r Rail) LimitIn(c money.Currency) (Limit, bool) {
	for _, l := range r.Limits {
		if l.Currency == c {
			return l, true
		}
	}
	return Limit{}, false
}
