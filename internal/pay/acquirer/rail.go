package acquirer

import (
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
	Window   time.Duration // how long the shopper has to pay
	Document string        // the shopper's document that the rail needs ("CPF", "RFC"), or ""
	Sync     bool          // the call returns the final outcome (cards)
	Enabled  bool
	Online   bool
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
