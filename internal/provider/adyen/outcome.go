package adyen

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
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

// declines are by refusalReasonCode.
var declines = func() provider.Declines {
	table := provider.Declines{}
	for reason, codes := range map[decline.Reason]string{
		decline.DoNotHonor:        "2 3 23 27", // refused, referral, not permitted to the cardholder, not generic
		decline.NotSupported:      "10",
		decline.IssuerUnavailable: "4 9 21", // the acquirer's error, the issuer, not submitted
		decline.ExpiredCard:       "6",
		decline.InsufficientFunds: "12",
		decline.LimitExceeded:     "28 29",
		decline.RestrictedCard:    "5 25",
		decline.FraudSuspected:    "14 20 22 31",
		decline.NotAuthenticated:  "11",
		decline.Canceled:          "15 16",
		decline.InvalidNumber:     "8",
		decline.InvalidPIN:        "17",
		decline.TooManyTries:      "18",
		decline.InvalidCVC:        "24",
		decline.InvalidData:       "32", // the address
		decline.NotPermitted:      "7 26",
	} {
		for _, code := range strings.Fields(codes) {
			table[code] = reason
		}
	}
	table[""] = decline.IssuerUnavailable // no code: nothing was decided
	return table
}()

// refusal is a refusalReasonCode in our terms.
func (p *Provider) refusal(code string) pay.Outcome { return p.Declined(declines, code, "") }

// inWords are by the reason of an AUTHORISATION that failed, in words: the refusal reasons of docs.adyen.com. How notifications spell
// them is unproved, so case and signs do not count.
var inWords = provider.Declines{
	"refused": decline.DoNotHonor, "referral": decline.DoNotHonor, "transactionnotpermitted": decline.DoNotHonor, "declinednongeneric": decline.DoNotHonor,
	"acquirererror": decline.IssuerUnavailable, "issuerunavailable": decline.IssuerUnavailable, "notsubmitted": decline.IssuerUnavailable,
	"notsupported": decline.NotSupported, "expiredcard": decline.ExpiredCard, "notenoughbalance": decline.InsufficientFunds,
	"withdrawalamountexceeded": decline.LimitExceeded, "withdrawalcountexceeded": decline.LimitExceeded, "blockedcard": decline.RestrictedCard,
	"restrictedcard": decline.RestrictedCard, "acquirerfraud": decline.FraudSuspected, "fraud": decline.FraudSuspected, "fraudcancelled": decline.FraudSuspected,
	"issuersuspectedfraud": decline.FraudSuspected, "3dnotauthenticated": decline.NotAuthenticated, "cancelled": decline.Canceled, "shoppercancelled": decline.Canceled,
	"invalidcardnumber": decline.InvalidNumber, "invalidpin": decline.InvalidPIN, "pintriesexceeded": decline.TooManyTries, "cvcdeclined": decline.InvalidCVC,
	"avsdeclined": decline.InvalidData, "invalidamount": decline.NotPermitted, "revocationofauth": decline.NotPermitted, "": decline.Declined,
}

// words is a reason without case and signs.
func words(reason string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(reason))
}
