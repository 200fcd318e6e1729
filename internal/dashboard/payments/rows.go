package payments

import (
	"cmp"
	"html/template"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// row is a payment in a list.
type row struct {
	pay.Payment
	names names
}

func (n names) rows(list []pay.Payment) []row {
	rows := make([]row, len(list))
	for i, p := range list {
		rows[i] = row{p, n}
	}
	return rows
}

// State is the status that people see.
func (r row) State() string { return statusOf(r.Payment) }

// Asked is the shop's amount.
func (r row) Asked() money.Amount { return r.Price.Requested() }

// Paid is what the shopper pays, if that is in another currency.
func (r row) Paid() money.Amount {
	if r.Price.Local.Currency == r.Asked().Currency {
		return money.Amount{}
	}
	return r.Price.Local
}

// Who is the customer: the e-mail address, else the name.
func (r row) Who() string { return cmp.Or(r.Order.Buyer.Email, r.Order.Buyer.Name) }

// Rail is the name of the method.
func (r row) Rail(p *frame.Page) template.HTML { return r.names.Rail(p, r.Payment) }

// Land is the name of the method's country.
func (r row) Land(p *frame.Page) string { return p.Country(r.Way.Country) }

// Installments is how the shopper paid in installments, or may pay while the payment waits; "" for at once.
func (r row) Installments(p *frame.Page) template.HTML {
	plan, may := r.End.Plan, r.Terms.Installments
	var each any = plan.Each
	if !plan.Even() {
		each = p.T("installments_about", "each", plan.Each)
	}
	switch {
	case plan.Known() && plan.Total.IsZero():
		return p.T("installments_count", "count", plan.Count)
	case plan.Known() && plan.By == installment.Merchant:
		return p.T("installments_free", "count", plan.Count, "each", each)
	case plan.Known():
		return p.T("installments_interest", "count", plan.Count, "each", each, "total", plan.Total)
	case may.Offered() && r.Status.Open():
		return p.T("installments_may", "count", may.Max, "free", may.InterestFree)
	}
	return ""
}
