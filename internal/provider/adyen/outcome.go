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
func (pa payment) data(rail string) (d pay.PaymentData, ok bool) {
	if pa.Action == nil {
		return d, false
	}
	if name, _ := method(rail); name == "pix" {
		d.QRCode = provider.Exact(pa.Action.Code, 2000)
		return d, pa.Action.Type == "qrCode" && d.QRCode != ""
	}
	d.Reference, d.Barcode = provider.Exact(pa.Action.Reference, 60), provider.Exact(pa.Action.Barcode, 60)
	return d, pa.Action.Type == "voucher" && d.Reference != ""
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

// refusalReasons are Adyen's reasons of a refusal: the code of an answer, and the words of a notification. Those of terminals alone are left out.
var refusalReasons = []struct {
	code, words string
	means       decline.Reason
}{
	{"2", "Refused", decline.DoNotHonor}, {"3", "Referral", decline.CallIssuer}, {"4", "Acquirer Error", decline.ProcessingError},
	{"5", "Blocked Card", decline.RestrictedCard}, {"6", "Expired Card", decline.ExpiredCard}, {"7", "Invalid Amount", decline.NotPermitted},
	{"8", "Invalid Card Number", decline.InvalidNumber}, {"9", "Issuer Unavailable", decline.IssuerUnavailable}, {"10", "Not supported", decline.NotSupported},
	{"11", "3D Not Authenticated", decline.NotAuthenticated}, {"12", "Not enough balance", decline.InsufficientFunds}, {"14", "Acquirer Fraud", decline.FraudSuspected},
	{"15", "Cancelled", decline.Canceled}, {"16", "Shopper Cancelled", decline.Canceled}, {"17", "Invalid Pin", decline.InvalidPIN},
	{"18", "Pin tries exceeded", decline.TooManyTries}, {"19", "Pin validation not possible", decline.InvalidPIN}, {"20", "FRAUD", decline.FraudSuspected},
	{"21", "Not Submitted", decline.ProcessingError}, {"22", "FRAUD-CANCELLED", decline.FraudSuspected}, {"23", "Transaction Not Permitted", decline.NotPermitted},
	{"24", "CVC Declined", decline.InvalidCVC}, {"25", "Restricted Card", decline.RestrictedCard}, {"26", "Revocation Of Auth", decline.NotPermitted},
	{"27", "Declined Non Generic", decline.DoNotHonor}, {"28", "Withdrawal amount exceeded", decline.LimitExceeded},
	{"29", "Withdrawal count exceeded", decline.LimitExceeded}, {"31", "Issuer Suspected Fraud", decline.FraudSuspected}, {"32", "AVS Declined", decline.InvalidData},
	{"33", "Card requires online pin", decline.InvalidPIN}, {"34", "No checking account available on Card", decline.NotPermitted},
	{"35", "No savings account available on Card", decline.NotPermitted}, {"36", "Mobile pin required", decline.InvalidPIN},
	{"38", "Authentication required", decline.AuthenticationNeeded}, {"39", "RReq not received from DS", decline.NotAuthenticated},
	{"42", "3DS Authentication Error", decline.NotAuthenticated}, {"46", "Transaction blocked by Adyen to prevent excessive retry fees", decline.TooManyTries},
}

// declines are by refusalReasonCode, inWords by the reason of an AUTHORISATION that failed. How notifications spell the words is
// unproved, so case and signs do not count.
var declines, inWords = func() (byCode, byWords provider.Declines) {
	byCode = provider.Declines{"": decline.IssuerUnavailable} // no code: nothing was decided
	byWords = provider.Declines{"": decline.Declined}
	for _, r := range refusalReasons {
		byCode[r.code], byWords[words(r.words)] = r.means, r.means
	}
	return byCode, byWords
}()

// refusal is a refusalReasonCode in our terms.
func (p *Provider) refusal(code string) pay.Outcome { return p.Declined(declines, code, "") }

// words is a reason without case and signs, and without a number before it: "12: ".
func words(reason string) string {
	if number, rest, found := strings.Cut(reason, ":"); found && strings.Trim(number, "0123456789 ") == "" {
		reason = rest
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(reason))
}
