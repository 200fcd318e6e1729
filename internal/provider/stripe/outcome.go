package stripe

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// intent is the part of a PaymentIntent that we read.
type intent struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	Created  int64             `json:"created"`
	Amount   int64             `json:"amount"`
	Received int64             `json:"amount_received"`
	Currency string            `json:"currency"`
	Types    []string          `json:"payment_method_types"`
	Customer ident             `json:"customer"` // of a bank transfer: whose cash balance pays
	Canceled string            `json:"cancellation_reason"`
	Metadata map[string]string `json:"metadata"`
	Error    *apiError         `json:"last_payment_error"`
	Charge   expanded[charged] `json:"latest_charge"` // an id, unless we request more
	Next     *struct {
		Pix struct {
			Data string `json:"data"`
		} `json:"pix_display_qr_code"`
		OXXO struct {
			Number string `json:"number"`
		} `json:"oxxo_display_details"`
		Boleto struct {
			Page string `json:"hosted_voucher_url"`
		} `json:"boleto_display_details"`
		Transfer struct {
			Reference string `json:"reference"`
			Addresses []struct {
				SPEI struct {
					CLABE  string `json:"clabe"`
					Bank   string `json:"bank_name"`
					Holder string `json:"account_holder_name"`
				} `json:"spei"`
			} `json:"financial_addresses"`
		} `json:"display_bank_transfer_instructions"`
	} `json:"next_action"`
}

func (i intent) key() string       { return i.ID }
func (i intent) reference() string { return i.Metadata[referenceKey] }

// transfer reports whether a cash balance pays, which bank transfers fill.
func (i intent) transfer() bool {
	return id(string(i.Customer)) && slices.Contains(i.Types, "customer_balance")
}

// session is the part of a Checkout Session that we read. Its intent is an id in lists, and
// an object if we request that.
type session struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Status   string            `json:"status"`
	URL      string            `json:"url"`
	Metadata map[string]string `json:"metadata"`
	Intent   expanded[intent]  `json:"payment_intent"`
}

func (s session) key() string       { return s.ID }
func (s session) reference() string { return s.Metadata[referenceKey] }

// intent is the outcome of a PaymentIntent.
func (p *Provider) intent(i intent, r provider.Request) pay.Outcome {
	if i.Object != "payment_intent" || !id(i.ID) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	o := pay.Outcome{Kind: pay.Unknown, ProviderRef: i.ID}
	switch i.Status {
	case "succeeded":
		return approved(i, o, r)
	case "processing":
		o.Kind, o.FormURL = pay.Awaiting, r.PageURL
		o.Data, _ = i.data(r.Rail)
	case "requires_action":
		data, ok := i.data(r.Rail)
		if !ok { // there is a charge, but no data to pay with
			o.Decline = "broken_answer"
			return o
		}
		o.Kind, o.FormURL, o.Data = pay.Awaiting, r.PageURL, data
	case "requires_payment_method": // the attempt failed, and there will be no other
		if i.Error == nil {
			o.Decline = i.Status
			return o
		}
		o = p.refusal(*i.Error)
		o.ProviderRef = i.ID
	case "requires_confirmation", "requires_capture": // our calls confirm, and capture
		o.Decline = i.Status
	case "canceled":
		o.Kind = pay.Lapsed
		if i.Canceled == "fraudulent" {
			o = provider.Refusal(decline.FraudSuspected, i.ID)
		}
	default:
		p.Strange("payment", i.Status)
	}
	return o
}

func approved(i intent, o pay.Outcome, r provider.Request) pay.Outcome {
	currency, err := money.ParseCurrency(strings.ToUpper(i.Currency))
	if err != nil || i.Received <= 0 {
		o.Decline = "broken_answer"
		return o
	}
	o.Kind, o.FormURL, o.Local, o.MoneyRef, o.Installments = pay.Approved, r.PageURL, money.New(i.Received, currency), i.ID, i.plan()
	return o
}

// session is the outcome of a Checkout Session.
func (p *Provider) session(s session, r provider.Request) pay.Outcome {
	if s.Object != "checkout.session" || !id(s.ID) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	o := pay.Outcome{Kind: pay.Unknown, ProviderRef: s.ID}
	i := s.Intent.value
	switch {
	case i != nil && i.Status == "succeeded":
		o = approved(*i, o, r)
	case s.Status == "open":
		if o.FormURL = provider.Link(s.URL); o.FormURL == "" {
			o.Decline = "broken_answer"
			return o
		}
		o.Kind = pay.Awaiting
		if i != nil {
			o.Tries = p.tries(*i, 0)
		}
	case s.Status == "expired":
		o.Kind = pay.Lapsed
		if i != nil {
			o.Tries = p.tries(*i, 0)
		}
	case s.Status == "complete" && i != nil:
		o = p.intent(*i, r)
		o.ProviderRef = s.ID
	case s.Status == "complete": // paid without a payment: not what we requested
		o.Decline = "complete_without_payment"
	default:
		p.Strange("session", s.Status)
	}
	return o
}

// data is what the shopper pays with, and whether it has what the rail needs.
func (i intent) data(rail string) (d pay.PaymentData, ok bool) {
	if i.Next == nil {
		return d, false
	}
	switch name, _ := method(rail); name {
	case "pix":
		d.QRCode = provider.Exact(i.Next.Pix.Data, 2000)
		return d, d.QRCode != ""
	case "oxxo":
		d.Reference, d.Barcode = i.Next.OXXO.Number, i.Next.OXXO.Number
		return d, provider.Digits(d.Reference, 8, 48)
	case "customer_balance":
		for _, a := range i.Next.Transfer.Addresses {
			if provider.Digits(a.SPEI.CLABE, 18, 18) {
				return pay.PaymentData{
					CLABE: a.SPEI.CLABE, Bank: provider.Printable(a.SPEI.Bank, 100), Beneficiary: provider.Printable(a.SPEI.Holder, 100),
					Reference: provider.Printable(i.Next.Transfer.Reference, 50),
				}, true
			}
		}
		return d, false
	}
	return d, true // the shopper is on Stripe's page
}

// id reports whether a text can be a Stripe id.
func id(text string) bool { return provider.Plain(text, 255) }
