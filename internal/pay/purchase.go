package pay

import "github.com/cascadapay/cascada/internal/money"

// Purchase is what the shop tells of what is paid for, in words of its own (PAY-21).
// Nothing is decided by it. It may tell of persons, so it goes where the
// shopper goes (Erase). Its map and list are never changed once they are set.
type Purchase struct {
	Metadata    map[string]string // nil for none
	Description string
	Items       []LineItem
}

// LineItem is one thing of a purchase.
type LineItem struct {
	Name     string
	Quantity int64
	Unit     money.Amount // the price of one, in the currency that the shop asked in; below zero for what is taken off
	SKU      string       // the shop's own number of it, or ""
}

// Bounds of a purchase, in characters and pieces (PAY-21).
const (
	MaxMetadata      = 50
	MaxMetadataKey   = 40
	MaxMetadataValue = 500
)

// IsZero reports whether the shop told nothing.
func (p Purchase) IsZero() bool {
	return len(p.Metadata) == 0 && p.Description == "" && len(p.Items) == 0
}
