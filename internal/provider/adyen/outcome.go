package adyen

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// payment is the outcome of a payment's creation.
func (p *Provider) payment(made payment, r provider.Request) pay.Outcome {
	o := pay.Outcome{Kind: pay.Unknown}
	if made.Ref != "" {
		if !provider.Plain(made.Ref, 64) {
			o.Decline = "broken_answer"
			return o
		}
		o.ProviderRef = made.Ref
	}
	switch made.Result {
	case "Pending", "PresentToShopper":
		data, ok := made.data(r.Rail)
		if !ok { // there is a charge, but no data to pay with
			o.Decline = "broken_answer"
			return o
		}
		o.Kind, o.FormURL, o.Data = pay.Awaiting, r.PageURL, data
	case "Received": // a notification reports the result
		o.Kind, o.FormURL = pay.Awaiting, r.PageURL
	case "Refused", "Error", "Cancelled":
		ref := o.ProviderRef
		o = p.refusal(made.Reason)
		o.ProviderRef = ref
	case "":
		o.Decline = "broken_answer"
	default: // Authorised, RedirectShopper, ChallengeShopper…: not expected on these rails
		p.Strange("payment", made.Result)
	}
	return o
}

// data is what the shopper pays with, and whether it has what the rail needs.
func (made payment) data(rail string) (d pay.PaymentData, ok bool) {
	if made.Action == nil {
		return d, false
	}
	if name, _ := method(rail); name == "pix" {
		d.QRCode = provider.Exact(made.Action.Code, 2000)
		return d, made.Action.Type == "qrCode" && d.QRCode != ""
	}
	d.Reference, d.Barcode = provider.Exact(made.Action.Reference, 60), provider.Exact(made.Action.Barcode, 60)
	return d, made.Action.Type == "voucher" && d.Reference != ""
}

// link is the outcome of a payment link. If somebody paid on it, a notification reports
// that, with the payment's own reference and amount.
func (p *Provider) link(l paymentLink, r provider.Request) pay.Outcome {
	if !strings.HasPrefix(l.ID, "PL") || !provider.Plain(l.ID, 64) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	o := pay.Outcome{Kind: pay.Unknown, ProviderRef: l.ID}
	switch l.Status {
	case "active", "completed", "paid", "paymentPending": // the document lists paid, and does not describe it
		if o.FormURL = provider.Link(l.URL); o.FormURL == "" {
			o.Decline = "broken_answer"
			return o
		}
		o.Kind = pay.Awaiting
	case "expired":
		o.Kind = pay.Lapsed
	default:
		p.Strange("link", l.Status)
	}
	return o
}

// refusal is a refusalReasonCode in our terms.
func (p *Provider) refusal(code string) pay.Outcome {
	o := pay.Outcome{Kind: pay.Declined, Decline: "refused_" + code, Message: "the payment was declined"}
	switch code {
	case "2", "3", "10", "23", "27": // refused, referral, not supported, not permitted, not generic
		o.Code, o.Soft, o.Decline = problem.CardDeclined, true, "do_not_honor"
	case "4", "9", "21", "": // acquirer's error, issuer unavailable, not submitted
		o.Soft, o.Decline, o.Message = true, "issuer_unavailable", "the payment method does not answer now"
	case "6":
		o.Code, o.Decline, o.Message = problem.ExpiredCard, "expired_card", "the card has expired"
	case "12", "28", "29":
		o.Code, o.Decline, o.Message = problem.InsufficientFunds, "insufficient_funds", "there are insufficient funds"
	case "5", "14", "20", "22", "25", "31":
		o.Code, o.Decline, o.Message = problem.FraudBlocked, "fraud_suspected", "the charge was blocked as a risk"
	case "11":
		o.Code, o.Decline, o.Message = problem.ThreeDSFailed, "not_authenticated", "the shopper did not pass the issuer's challenge"
	case "15", "16":
		o.Decline, o.Message = "canceled", "the shopper canceled the payment"
	case "7", "8", "17", "18", "24", "26", "32":
		o.Code = problem.CardDeclined
	default:
		p.Strange("refused", code)
		o.Code, o.Decline = problem.CardDeclined, "refused"
	}
	return o
}
