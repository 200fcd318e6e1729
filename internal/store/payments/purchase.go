package payments

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// purchaseDoc is the shop's own description of a purchase.
type purchaseDoc struct {
	Metadata    map[string]string `json:"metadata,omitempty"`
	Description string            `json:"description,omitempty"`
	Items       []itemDoc         `json:"items,omitempty"`
}

type itemDoc struct {
	Name     string    `json:"name"`
	Quantity int64     `json:"quantity"`
	Unit     amountDoc `json:"unit"`
	SKU      string    `json:"sku,omitempty"`
	Told     *toldDoc  `json:"told,omitempty"` // numbers that are no whole number, or no amount of the currency
}

type toldDoc struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit"`
}

type amountDoc struct {
	Minor    int64          `json:"minor"`
	Currency money.Currency `json:"currency"`
}

// amountDocOf returns nil for no amount.
func amountDocOf(a money.Amount) *amountDoc {
	if a.Currency == "" {
		return nil
	}
	return &amountDoc{a.Minor, a.Currency}
}

func (d *amountDoc) amount() money.Amount {
	if d == nil {
		return money.Amount{}
	}
	return money.New(d.Minor, d.Currency)
}

// purchaseDocOf returns nil for no purchase.
func purchaseDocOf(p pay.Purchase) *purchaseDoc {
	if p.IsZero() {
		return nil
	}
	doc := &purchaseDoc{Description: p.Description, Metadata: p.Metadata}
	for _, i := range p.Items {
		doc.Items = append(doc.Items, itemDoc{
			Name:     i.Name,
			Quantity: i.Quantity,
			Unit:     amountDoc{i.Unit.Minor, i.Unit.Currency},
			SKU:      i.SKU,
			Told:     (*toldDoc)(i.Told),
		})
	}
	return doc
}

func (d *purchaseDoc) purchase() (p pay.Purchase) {
	if d == nil {
		return p
	}
	p.Description = d.Description
	p.Metadata = d.Metadata
	for _, i := range d.Items {
		p.Items = append(p.Items, pay.LineItem{Name: i.Name, Quantity: i.Quantity, Unit: i.Unit.amount(), SKU: i.SKU, Told: (*pay.ToldNumbers)(i.Told)})
	}
	return p
}
