package adyen

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// payment is how a payment stood when it was made.
func (p *Provider) payment(made payment, r provider.Request) pay.Outcome {
	o := pay.Outcome{Kind: pay.Unknown}
	if made.Ref != "" {
		if !plain(made.Ref, 64) {
			o.Decline = "broken_answer"
			return o
		}
		o.ProviderRef = made.Ref
	}
	switch made.Result {
	case "Pending", "PresentToShopper":
		data, ok := made.data(r.Rail)
		if !ok { // there is a charge, and nothing to pay it with
			o.Decline = "broken_answer"
			return o
		}
		o.Kind, o.FormURL, o.Data = pay.Awaiting, r.PageURL, data
	case "Received": // the rest is told later
		o.Kind, o.FormURL = pay.Awaiting, r.PageURL
	case "Refused", "Error", "Cancelled":
		ref := o.ProviderRef
		o = p.refusal(made.Reason)
		o.ProviderRef = ref
	case "":
		o.Decline = "broken_answer"
	default: // Authorised, RedirectShopper, ChallengeShopper…: not on these rails
		p.strange(made.Result)
	}
	return o
}

// data is what the shopper pays with, and whether it is what the rail needs.
func (made payment) data(rail string) (d pay.PaymentData, ok bool) {
	if made.Action == nil {
		return d, false
	}
	if name, _ := method(rail); name == "pix" {
		d.QRCode = made.Action.Code
		return d, made.Action.Type == "qrCode" && d.QRCode != "" && d.QRCode == clean(d.QRCode, 2000)
	}
	d.Reference, d.Barcode = clean(made.Action.Reference, 60), clean(made.Action.Barcode, 60)
	return d, made.Action.Type == "voucher" && d.Reference != "" && d.Reference == made.Action.Reference
}

// link is how a payment link stands. That somebody paid on it is for the
// notification to tell, with the payment's own reference and amount.
func (p *Provider) link(l paymentLink, r provider.Request) pay.Outcome {
	if !strings.HasPrefix(l.ID, "PL") || !plain(l.ID, 64) {
		return pay.Outcome{Kind: pay.Unknown, Decline: "broken_answer"}
	}
	o := pay.Outcome{Kind: pay.Unknown, ProviderRef: l.ID}
	switch l.Status {
	case "active", "completed", "paymentPending":
		if o.FormURL = address(l.URL); o.FormURL == "" {
			o.Decline = "broken_answer"
			return o
		}
		o.Kind = pay.Awaiting
	case "expired":
		o.Kind = pay.Lapsed
	default:
		p.strange(l.Status)
	}
	return o
}

// refusal is a refusalReasonCode in our words.
func (p *Provider) refusal(code string) pay.Outcome {
	o := pay.Outcome{Kind: pay.Declined, Decline: "refused_" + code, Message: "the payment was declined"}
	switch code {
	case "2", "3", "10", "23", "27": // refused, referral, not supported, not permitted, not generic
		o.Code, o.Soft, o.Decline = pay.CodeCardDeclined, true, "do_not_honor"
	case "4", "9", "21", "": // acquirer's error, issuer unavailable, not submitted
		o.Soft, o.Decline, o.Message = true, "issuer_unavailable", "the payment method does not answer now"
	case "6":
		o.Code, o.Decline, o.Message = pay.CodeExpiredCard, "expired_card", "the card has expired"
	case "12", "28", "29":
		o.Code, o.Decline, o.Message = pay.CodeInsufficientFunds, "insufficient_funds", "there are insufficient funds"
	case "5", "14", "20", "22", "25", "31":
		o.Code, o.Decline, o.Message = pay.CodeFraudBlocked, "fraud_suspected", "the charge was blocked as a risk"
	case "11":
		o.Code, o.Decline, o.Message = pay.CodeThreeDSFailed, "not_authenticated", "the shopper did not pass the issuer's challenge"
	case "15", "16":
		o.Decline, o.Message = "canceled", "the shopper canceled the payment"
	case "7", "8", "17", "18", "24", "26", "32":
		o.Code = pay.CodeCardDeclined
	default:
		p.strange("refused: " + code)
		o.Code, o.Decline = pay.CodeCardDeclined, "refused"
	}
	return o
}

// strange tells of a word that we have no meaning for.
func (p *Provider) strange(word string) { p.unmapped(clean(word, 64)) }

// address is where a shopper may be sent, or "".
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || !plain(text, 2000) {
		return ""
	}
	return text
}

// clean is a text of somebody else's as we may keep and show it.
func clean(text string, most int) string {
	text = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
