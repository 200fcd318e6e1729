package mercadopago

import (
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

func rejected(code, message string) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutRejected, Code: code, Message: message}
}

// states are the meanings of a status with its detail. There are three lists of them, which
// differ: the guide of Money Out, the page "Transaction status" of Payouts, and the page of
// the integration test. No two give one pair different meanings.
var states = map[string]pay.PayoutKind{
	"processed": pay.PayoutPaid, "processed/approved": pay.PayoutPaid, "approved/approved": pay.PayoutPaid, "success/accredited": pay.PayoutPaid,
	"new": pay.PayoutAccepted, "created": pay.PayoutAccepted, "pending": pay.PayoutAccepted,
	"approved":   pay.PayoutAccepted, // created, not yet processed
	"in_process": pay.PayoutAccepted, "in_process/pending_authorized": pay.PayoutAccepted, "in_process/pending_bank": pay.PayoutAccepted,
	"partially_processed": pay.PayoutAccepted, "partially_processed/pending_bank": pay.PayoutAccepted,
	"refunded": pay.PayoutReturned, "refunded/refunded": pay.PayoutReturned, "reverted": pay.PayoutReturned, "reverted/refunded": pay.PayoutReturned,
}

// ends are why a payout has failed, by the detail of the statuses rejected, failed and
// error. The documents then advise making another payout, so a failed one counts as never
// paid.
var ends = map[string]pay.PayoutOutcome{
	"by_bank":                     rejected("rejected", "the beneficiary's bank rejected the payout"),
	"failed":                      rejected("rejected", "the beneficiary's account could not be credited"),
	"invalid_destination_account": rejected("invalid_account", "the beneficiary's account is wrong"),
	"high_risk":                   rejected("compliance_rejected", "the payout was rejected for the risk of fraud"),
	"by_high_risk":                rejected("compliance_rejected", "the payout was rejected for the risk of fraud"),
	"review_manual":               rejected("compliance_rejected", "the payout was rejected for the risk of fraud"),
	"by_compliance":               rejected("compliance_rejected", "the payout was rejected for compliance"),
	"by_caps":                     rejected("compliance_rejected", "the payout was rejected by the central bank's rules"),
	"insufficient_funds":          payouts.Unavailable("insufficient_funds", "the account has too little money"),
	"by_provider":                 payouts.Unavailable("provider_error", "the payout failed on its way"),
	"other_reason":                payouts.Unavailable("provider_error", "the payout failed on its way"),
}

// outcome is the outcome of a payout.
func (p *payer) outcome(i intent) pay.PayoutOutcome {
	word := strings.TrimSuffix(string(i.Status)+"/"+i.detail(), "/")
	back := amount(i.Transaction.Refunded)
	o := pay.PayoutOutcome{Kind: states[word], ProviderRef: string(i.ID), Local: i.arrived()}
	switch {
	case i.Status == "rejected" || i.Status == "failed" || i.Status == "error":
		return p.failed(i)
	case o.Kind == pay.PayoutReturned && (back == money.Amount{} || back == amount(i.Transaction.Total)):
		o.Local, o.Code, o.Message = back, "returned", "the payout arrived and was sent back"
	case word == "approved/partially_refunded", strings.HasPrefix(word, "partially_reverted"),
		o.Kind == pay.PayoutReturned, o.Kind == pay.PayoutPaid && back != money.Amount{}:
		o.Kind, o.Local, o.Message = pay.PayoutUnknown, back, "a part of the payout was sent back: "+back.String()
		if back == (money.Amount{}) {
			o.Message = "a part of the payout was sent back"
		}
	case o.Kind == "":
		p.account.Strange("payout", word)
		o.Kind, o.Message = pay.PayoutUnknown, "the payout's status is unknown to us"
	case o.Kind == pay.PayoutPaid && o.Local == money.Amount{}:
		o.Kind, o.Message = pay.PayoutUnknown, "the provider does not say how much was paid"
	}
	return o
}

// failed is the outcome of a failed payout. An unknown reason is reported, and is final all
// the same.
func (p *payer) failed(i intent) pay.PayoutOutcome {
	o, known := ends[i.detail()]
	if !known {
		o = rejected("rejected", "the payout failed")
		p.account.Strange("failure", i.detail())
	}
	o.ProviderRef = string(i.ID)
	return o
}

// notPermitted is the code of a payout that the account is not allowed to make.
const notPermitted = "not_permitted"

// refusals are the documented errors with status 400, by a part of each. Such a call made
// no payout.
var refusals = []struct {
	part string
	pay.PayoutOutcome
}{
	{"financial identity not found", rejected("invalid_account", "the beneficiary's bank is not known")},
	{"invalid identification", rejected("invalid_account", "the holder's tax id is not accepted")},
	{"client not allowed", payouts.Unavailable(notPermitted, "the account may not pay out")},
	{"unauthorized", payouts.Unavailable(notPermitted, "the account may not pay out")},
	{"account is disabled", payouts.Unavailable(notPermitted, "the account is disabled")},
	{"compliance not processed", payouts.Unavailable(notPermitted, "the account still has to be verified")},
	{"many requests", payouts.Unavailable("busy", "the account sent too many requests")},
	{"rate limit", payouts.Unavailable("busy", "the account sent too many requests")},
	{"participant is not available", payouts.Unavailable("refused", "the account cannot reach the beneficiary's bank")},
	{"unrecognized key format", rejected("invalid_account", "the Pix key has no known form")},
	{"invalid chave", rejected("invalid_account", "the Pix key is not accepted")},
	{"unsupported chave", rejected("invalid_account", "the Pix key is not accepted")},
	{"chave not found", rejected("invalid_account", "there is no such Pix key")},
	{"chave has a different owner", rejected("invalid_account", "the Pix key is somebody else's")},
	{"key psp error", payouts.Unavailable("refused", "the account does not accept the Pix key")},
	{"invalid amount", payouts.Unavailable("refused", "the account does not accept the amount")},
	{"invalid type point of interaction", payouts.Unavailable("refused", "the account does not accept the payout")},
	{"invalid identity source", payouts.Unavailable("refused", "the account does not accept the payout")},
	{"flow not specified", payouts.Unavailable("refused", "the account does not accept the payout")},
	{"invalid body", payouts.Unavailable("refused", "the account does not accept the payout")},
	{"invalid payload", payouts.Unavailable("refused", "the account does not accept the payout")},
}

// declined is what an error proves of its call. A refused reference may be in use already,
// so that proves nothing, and neither does an undocumented error.
func declined(answer provider.Reply) pay.PayoutOutcome {
	switch answer.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return payouts.Unavailable(notPermitted, "the access token is refused, or the account may not pay out")
	case http.StatusTooManyRequests:
		return payouts.Unavailable("busy", "the account sent too many requests")
	case http.StatusBadRequest:
		said := sentence(answer)
		for _, r := range refusals {
			if strings.Contains(said, r.part) && !strings.Contains(said, "external reference") {
				return r.PayoutOutcome
			}
		}
	}
	return payouts.Unknown("the provider answers " + provider.Refused(answer.Status).Decline)
}

// noIntent reports whether an answer proves that the account has no such payout. It has to
// be in the provider's own words, not a gateway's.
func noIntent(answer provider.Reply) bool {
	switch answer.Status {
	case http.StatusNotFound:
		return strings.Contains(sentence(answer), "not found")
	case http.StatusBadRequest:
		return strings.Contains(sentence(answer), "id format invalid")
	}
	return false
}

// sentence is an error's text in lower case without underscores. Its form is not documented
// for payouts.
func sentence(answer provider.Reply) string {
	var e struct {
		Message, Error, Code any
	}
	if read(answer.Body, &e) != nil {
		return ""
	}
	said := ""
	for _, part := range []any{e.Message, e.Error, e.Code} {
		if t, ok := part.(string); ok {
			said += provider.Exact(t, 300) + "\n"
		}
	}
	return strings.ReplaceAll(strings.ToLower(said), "_", " ")
}
