package mercadopago

import (
	"encoding/json"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// payment is the part of a payment that we read.
type payment struct {
	ID                text        `json:"id"`
	ExternalReference text        `json:"external_reference"`
	Collector         text        `json:"collector_id"`
	Status            text        `json:"status"`
	StatusDetail      text        `json:"status_detail"`
	CurrencyID        text        `json:"currency_id"`
	TransactionAmount json.Number `json:"transaction_amount"`
	Count             text        `json:"installments"`
	DateCreated       text        `json:"date_created"`
	DateApproved      text        `json:"date_approved"`
	DateLastUpdated   text        `json:"date_last_updated"`
	Interaction       struct {
		Data struct {
			QRCode text `json:"qr_code"`
		} `json:"transaction_data"`
	} `json:"point_of_interaction"`
	Details struct {
		Each        text `json:"installment_amount"`
		Paid        text `json:"total_paid_amount"`
		ResourceURL text `json:"external_resource_url"`
		Reference   text `json:"payment_method_reference_id"`
		Line        text `json:"digitable_line"`
		Barcode     struct {
			Content text `json:"content"`
		} `json:"barcode"`
	} `json:"transaction_details"`
	Method struct {
		Data struct {
			ResourceURL text `json:"external_resource_url"`
		} `json:"data"`
	} `json:"payment_method"`
	Barcode struct { // where older answers have it
		Content text `json:"content"`
	} `json:"barcode"`
	Order    json.RawMessage `json:"order"` // of a payment on a page; an object, or a list of one
	Refunds  json.RawMessage `json:"refunds"`
	Refunded json.Number     `json:"transaction_amount_refunded"`
}

// onPage reports whether the payment was made on a preference's page.
func (pa payment) onPage() bool {
	type order struct {
		ID text `json:"id"`
	}
	var one order
	if read(pa.Order, &one) == nil {
		return one.ID != ""
	}
	var list []order
	return read(pa.Order, &list) == nil && len(list) > 0 && list[0].ID != ""
}

// paid reports whether the payment was paid, even if it was refunded since: see reversed.
func (pa payment) paid() bool {
	switch pa.Status {
	case "approved", "in_mediation", "charged_back", "refunded":
		return true
	}
	return false
}

// dead reports whether it can no longer be paid.
func (pa payment) dead() bool { return pa.Status == "rejected" || pa.Status == "cancelled" }

// outcome is the outcome of a payment. pageURL is our page.
func (a *account) outcome(p payment, pageURL string) pay.Outcome {
	o := pay.Outcome{ProviderRef: string(p.ID)}
	if !isID(o.ProviderRef) {
		return *provider.Broken()
	}
	switch {
	case p.paid():
		local, ok := p.local()
		if !ok {
			o.Kind, o.Decline = pay.Unknown, "amount_not_readable"
			return o
		}
		o.Kind, o.Local, o.FormURL, o.MoneyRef, o.Installments = pay.Approved, local, pageURL, o.ProviderRef, p.plan()
		o = funds{p}.reversed(o)
	case p.Status == "pending" || p.Status == "in_process" || p.Status == "authorized":
		o.Kind = pay.Awaiting
		o.FormURL, o.Data = p.instructions(pageURL)
	case p.Status == "cancelled":
		// expired, by_collector, by_admin: it can no longer be paid.
		o.Kind, o.Decline = pay.Lapsed, "canceled"
		if p.StatusDetail == "expired" {
			o.Decline = "expired"
		}
		if p.StatusDetail == byPayer {
			o = provider.Refusal(decline.Canceled, o.ProviderRef)
		}
	case p.Status == "rejected":
		return a.Declined(declines, string(p.StatusDetail), o.ProviderRef)
	default:
		a.Strange("payment", string(p.Status))
		o.Kind, o.Decline = pay.Unknown, unmapped
	}
	return o
}

// instructions is where and with what the shopper pays.
func (pa payment) instructions(pageURL string) (string, pay.PaymentData) {
	if code := string(pa.Interaction.Data.QRCode); code != "" {
		return pageURL, pay.PaymentData{QRCode: code}
	}
	data := pay.PaymentData{Reference: string(pa.Details.Reference)}
	for _, code := range []text{pa.Details.Line, pa.Details.Barcode.Content, pa.Barcode.Content} {
		if data.Barcode == "" {
			data.Barcode = string(code)
		}
	}
	if form := provider.Link(string(pa.Details.ResourceURL)); form != "" {
		return form, data
	}
	return provider.Link(string(pa.Method.Data.ResourceURL)), data
}
