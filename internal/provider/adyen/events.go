package adyen

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// events says of each event that Adyen documents what it means for our books; nil: it moves no money of a charge. An event that is
// not here is reported to the operator. The codes are those of adyen-openapi (aa014f0 of 2026-07-01, Webhooks-v1), of
// docs.adyen.com, webhook structure and types (2026-09-15), and of adyen-java-api-library (bca8a14 of 2026-08-21).
var events = map[string]func(p *Provider, i item, n *pay.Notice) bool{
	"AUTHORISATION":            (*Provider).authorised, // an attempt to pay: the money is captured at once
	"OFFER_CLOSED":             (*Provider).closed,     // nobody paid with the code or the voucher in time
	"AUTHORISATION_ADJUSTMENT": (*Provider).adjusted,   // another amount is authorized: by hand only

	// Authorized money that does not come.
	"CAPTURE_FAILED":   gone("the card scheme refused the capture: the money of this payment has not come"),
	"CAPTURE":          (*Provider).captured, // only of one that failed before: an automatic capture sends none
	"CANCELLATION":     gone("the payment was canceled at the provider, so its money does not come"),
	"TECHNICAL_CANCEL": gone("the payment was canceled at the provider, so its money does not come"),
	"EXPIRE":           gone("the authorization expired before its money was captured"),

	// Money that goes back.
	"CANCEL_OR_REFUND":  gone("the payment was canceled or refunded at the provider"), // either way nothing of it is left
	"REFUND":            (*Provider).refunded,
	"REFUND_WITH_DATA":  (*Provider).refunded, // without a payment's reference: by hand only
	"REFUND_FAILED":     (*Provider).refundFailed,
	"REFUNDED_REVERSED": (*Provider).refundFailed,
	"POSTPONED_REFUND":  nil, // after the capture; a REFUND follows

	// Disputes: see disputes.
	"NOTIFICATION_OF_CHARGEBACK": (*Provider).disputed, "CHARGEBACK": (*Provider).disputed, "INFORMATION_SUPPLIED": (*Provider).disputed,
	"DISPUTE_DEFENSE_PERIOD_ENDED": (*Provider).disputed, "CHARGEBACK_REVERSED": (*Provider).disputed,
	"ISSUER_RESPONSE_TIMEFRAME_EXPIRED": (*Provider).disputed, "SECOND_CHARGEBACK": (*Provider).disputed,
	"PREARBITRATION_OPEN": (*Provider).disputed, "PREARBITRATION_ACCEPTED": (*Provider).disputed, "PREARBITRATION_DECLINED": (*Provider).disputed,
	"PREARBITRATION_ISSUER_WITHDRAWN": (*Provider).disputed, "PREARBITRATION_WON": (*Provider).disputed, "PREARBITRATION_LOST": (*Provider).disputed,
	"SCHEME_ARBITRATION": (*Provider).disputed, "SCHEME_ARBITRATION_WON": (*Provider).disputed, "SCHEME_ARBITRATION_LOST": (*Provider).disputed,
	"REQUEST_FOR_INFORMATION": nil, // an inquiry: no money is taken unless a chargeback follows
	"NOTIFICATION_OF_FRAUD":   nil, // a warning of the issuer's: no money is taken unless a chargeback follows
	"ISSUER_COMMENTS":         nil, // words about a dispute

	"MANUAL_REVIEW_ACCEPT": nil, "MANUAL_REVIEW_REJECT": nil, // what the review did to the payment is an event of its own
	"HANDLED_EXTERNALLY": nil,                      // cash that is only written down at Adyen
	"ORDER_OPENED":       nil, "ORDER_CLOSED": nil, // payments in parts: we make none
	"AUTORESCUE": nil, "CANCEL_AUTORESCUE": nil, "PROCESS_RETRY": nil, // payments that Adyen tries again: we ask for none
	"RECURRING_CONTRACT": nil, "AUTHENTICATION": nil, // no payment
	"PENDING":           nil,                                                                       // a code or a voucher is open, as the answer to the call says
	"PAYOUT_THIRDPARTY": nil, "PAYOUT_DECLINE": nil, "PAYOUT_EXPIRE": nil, "PAIDOUT_REVERSED": nil, // we pay nothing out here
	"VOID_PENDING_REFUND": nil, // of a point of sale
	"DONATION":            nil, // the shopper's, not to us
	"REPORT_AVAILABLE":    nil,
}

// authorised is the result of an attempt to pay. On a link, another attempt may follow a
// failed one.
func (p *Provider) authorised(i item, n *pay.Notice) bool {
	switch i.Success {
	case "true": // below
	case "false":
		reason := p.Reason(inWords, words(i.Reason))
		if card(i.Method) { // the shopper may try again until the link ends
			n.Outcome = pay.Outcome{Kind: pay.Awaiting, Tries: []decline.Try{provider.Try(i.Ref, i.at(), reason, i.Reason)}}
			return i.Ref != ""
		}
		n.Outcome = provider.Refusal(decline.BankDeclined, i.Ref)
		return true
	default:
		n.Outcome = p.unclear(i)
		return true
	}
	n.Outcome = pay.Outcome{Kind: pay.Unknown, ProviderRef: i.Ref, Decline: "broken_answer"}
	if local, ok := i.local(); ok {
		n.Outcome = pay.Outcome{Kind: pay.Approved, ProviderRef: i.Ref, MoneyRef: i.Ref, Local: local, Installments: i.plan()}
	}
	return true
}

// closed is the end of a code or a voucher that nobody paid. On a link, somebody may still pay.
func (p *Provider) closed(i item, n *pay.Notice) bool {
	n.Outcome = pay.Outcome{Kind: pay.Lapsed}
	return i.Success == "true" && !card(i.Method)
}

// adjusted is another authorized amount of a payment. The core compares it with the amount that it booked.
func (p *Provider) adjusted(i item, n *pay.Notice) bool {
	local, readable := i.local()
	n.Reference = i.charge()
	n.Outcome = pay.Outcome{Kind: pay.Approved, ProviderRef: i.payment(), MoneyRef: i.payment(), Local: local}
	return i.Success == "true" && readable && i.payment() != ""
}

// gone reads money of a payment that the provider does not pay, or gave back. The core books it like a refund that the provider
// made by itself, under the event's own reference.
func gone(why string) func(p *Provider, i item, n *pay.Notice) bool {
	return func(p *Provider, i item, n *pay.Notice) bool {
		n.Reference = i.charge()
		switch local, readable := i.local(); {
		case i.Success == "false": // it was not done
			return false
		case i.Success != "true":
			p.Strange(i.Event, i.Success)
			return false
		case !readable: // the operator finds out how much
			n.Outcome = pay.Outcome{Kind: pay.Reversed, MoneyRef: i.payment(), Message: why}
		default:
			n.Outcome = pay.Outcome{Kind: pay.Reversed, MoneyRef: i.payment(), Message: why, Back: &pay.Reversal{
				Total: local, Refunds: []pay.ProviderRefund{{ID: i.Ref, Kind: pay.Approved, Local: local, Note: why, News: true}},
			}}
		}
		if i.Event == "EXPIRE" && i.Original == "" { // it has the payment's reference
			n.Outcome.MoneyRef = i.Ref
		}
		return true
	}
}

// captured is a capture that had failed and was made again, by its reference: the money comes after all. Adyen says so in the
// reason, "Transaction Recaptured" or "Transaction Auto-recaptured". Of another capture AUTHORISATION has said everything.
func (p *Provider) captured(i item, n *pay.Notice) bool {
	local, readable := i.local()
	if i.Success != "true" || !readable || i.payment() == "" || !strings.Contains(strings.ToLower(i.Reason), "recaptured") {
		return false
	}
	n.Reference = i.charge()
	n.Outcome = pay.Outcome{Kind: pay.Approved, ProviderRef: i.payment(), MoneyRef: i.payment(), Local: local, Back: &pay.Reversal{
		Refunds: []pay.ProviderRefund{{ID: i.Ref, Kind: pay.Declined, Local: local, Note: "the capture was repeated, and its money comes"}},
	}}
	return true
}

// refunded is the result of a refund, which has its own reference. Somebody may have made it in the Customer Area: then it has a
// reference of their choice, or the payment's.
func (p *Provider) refunded(i item, n *pay.Notice) bool {
	p.ofRefund(i, n)
	local, readable := i.local()
	switch {
	case i.Success == "false":
		n.Outcome = p.refundRefused(i, "the provider refused the refund")
	case i.Success != "true":
		n.Outcome = p.unclear(i)
	case !readable: // the refunded amount is not known
		n.Outcome = pay.Outcome{Kind: pay.Unknown, ProviderRef: i.Ref, MoneyRef: i.payment(), Decline: "broken_answer"}
	default:
		n.Outcome = pay.Outcome{Kind: pay.Approved, ProviderRef: i.Ref, MoneyRef: i.payment(), Local: local}
	}
	return true
}

// refundFailed is a refund that the bank sent back. It has failed, even if it was reported as successful before.
func (p *Provider) refundFailed(i item, n *pay.Notice) bool {
	p.ofRefund(i, n)
	if n.Outcome = p.refundRefused(i, "the shopper's bank rejected the refund"); i.Success != "true" {
		n.Outcome = p.unclear(i)
	}
	return true
}

// ofRefund names the refund that an item is about, and the charge that it belongs to if it is none of ours.
func (p *Provider) ofRefund(i item, n *pay.Notice) {
	n.Refund, n.Reference = i.Reference, i.charge()
	if !ours(n.Refund) {
		n.Refund = n.Reference
	}
}

func (p *Provider) refundRefused(i item, message string) pay.Outcome {
	return pay.Outcome{Kind: pay.Declined, Decline: "refund_failed", Message: message, ProviderRef: i.Ref, MoneyRef: i.payment()}
}

// unclear is an item that reports neither success nor failure.
func (p *Provider) unclear(i item) pay.Outcome {
	p.Strange(i.Event, i.Success)
	return pay.Outcome{Kind: pay.Unknown, Decline: "unmapped_status", ProviderRef: i.Ref}
}

// card reports whether a payment was tried on a link: any method that we do not request by
// name.
func card(method string) bool { return method != "pix" && method != "oxxo" }
