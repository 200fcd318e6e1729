package shape

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
)

// Adjustment is what an operator booked by hand.
type Adjustment struct {
	ID            string                `json:"id" example:"adj_0000000000AJ0Y3ZK9VQ4T4R1M"`
	MerchantID    string                `json:"merchantId"`
	Environment   merchants.Environment `json:"environment" enum:"sandbox,production"`
	Status        pay.AdjustmentStatus  `json:"status" enum:"pending,applied,rejected" doc:"pending: it waits for a second operator"`
	Account       string                `json:"account" enum:"available"`
	Amount        view.Money            `json:"amount" doc:"USD; above zero the merchant gets it"`
	Reason        pay.AdjustmentReason  `json:"reason"`
	Note          string                `json:"note" doc:"The merchant reads it"`
	About         string                `json:"about" doc:"The object that it is about, empty for none"`
	Reference     string                `json:"reference" doc:"The operator's own name of it"`
	Reverses      string                `json:"reverses" doc:"The adjustment that it takes back, empty for none"`
	ReversedBy    string                `json:"reversedBy,omitempty" doc:"The adjustment that took it back; not in lists"`
	AllowNegative bool                  `json:"allowNegative" doc:"It may take the available balance below zero"`
	MadeBy        string                `json:"madeBy"`
	DecidedBy     string                `json:"decidedBy" doc:"Who approved or rejected it, empty for none"`
	CreatedAt     view.Time             `json:"createdAt"`
	UpdatedAt     view.Time             `json:"updatedAt"`
}

// NewAdjustment shows an adjustment, and the one that took it back, or "".
func NewAdjustment(a pay.Adjustment, reversedBy string) Adjustment {
	return Adjustment{
		ID: a.ID, MerchantID: a.Merchant, Environment: a.Environment(), Status: a.Status, Account: "available", Amount: view.USD(a.Amount), Reason: a.Reason,
		Note: a.Note, About: a.About, Reference: a.Reference, Reverses: a.Reverses, ReversedBy: reversedBy, AllowNegative: a.Negative,
		MadeBy: a.MadeBy, DecidedBy: a.DecidedBy, CreatedAt: view.Time{Time: a.CreatedAt}, UpdatedAt: view.Time{Time: a.UpdatedAt},
	}
}

// NewAdjustments shows a list of adjustments.
func NewAdjustments(list []pay.Adjustment) []Adjustment {
	shown := make([]Adjustment, 0, len(list))
	for _, a := range list {
		shown = append(shown, NewAdjustment(a, ""))
	}
	return shown
}
