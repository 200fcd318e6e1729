package ebanx

import (
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const (
	opened     = "OP"
	taken      = "HP-CM-03" // the external_reference was used before
	unreadable = "the provider's answer cannot be read"
	// foreign is the message for a payout that has our reference but another payee or amount.
	foreign = "a payout has our reference but is not ours: it is not committed"
)

func unknown(message string) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutUnknown, Message: message}
}

func unavailable(code, message string) pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: pay.PayoutUnavailable, Code: code, Message: message}
}

// reason is why a payout is not paid, in our terms.
type reason struct {
	kind          pay.PayoutKind
	code, message string
}

func (r reason) outcome() pay.PayoutOutcome {
	return pay.PayoutOutcome{Kind: r.kind, Code: r.code, Message: r.message}
}

// refusals are the codes of refused orders (payoutErrorCodes), from the part of the list
// that could be read. With any other code, another account may pay.
var refusals = table(map[reason]string{
	{pay.PayoutRejected, "invalid_account", "there is no such account or Pix key"}:               "HP-BR-03 HP-CM-23 HP-CM-27",
	{pay.PayoutRejected, "invalid_account", "the Pix key belongs to somebody else"}:              "HP-BR-04",
	{pay.PayoutRejected, "compliance_rejected", "the payout was rejected for compliance"}:        "HP-CF-01 HP-CM-28",
	{pay.PayoutUnavailable, "not_permitted", "the account is not allowed to make this payout"}:   "HP-BR-01 HP-CM-06 HP-CM-07",
	{pay.PayoutUnavailable, "insufficient_funds", "the payout is more than the account can pay"}: "HP-CM-30",
})

// cancellations are the codes of why a payout was canceled (payoutCanceledErrorsGeneral,
// payoutCanceledErrorsRemittanceBr). Each proves that nothing was paid; if the cause does
// not lie with the beneficiary, another account may pay.
var cancellations = table(map[reason]string{
	{pay.PayoutRejected, "invalid_account", "the account does not exist, or its data are wrong"}:  "INCORRECT_CUSTOMER_DATA BANK_INFO INCORRECT_ACCOUNT_TYPE",
	{pay.PayoutRejected, "invalid_account", "the account belongs to somebody else"}:               "TAX_ID_MISMATCH",
	{pay.PayoutRejected, "account_closed", "the account is closed"}:                               "ACCOUNT_DOESNT_EXISTS",
	{pay.PayoutRejected, "limit_exceeded", "the beneficiary's account may not receive that much"}: "HIGH_RISK",
	{pay.PayoutRejected, "rejected", "the beneficiary's account is blocked"}:                      "ACCOUNT_BLOCKED",
	{pay.PayoutRejected, "rejected", "the beneficiary's bank rejected the payout"}:                "DECLINED REJECTED_BY_BANK UNSUPPORTED_TRANSACTION",
	{pay.PayoutUnavailable, "provider_error", "the beneficiary's bank could not be reached"}:      "SERVICE_UNAVAILABLE",
})

func table(words map[reason]string) map[string]reason {
	all := map[string]reason{}
	for r, list := range words {
		for _, word := range strings.Fields(list) {
			all[word] = r
		}
	}
	return all
}

// outcome is the outcome of a payout.
func (p *payer) outcome(found payoutReply) pay.PayoutOutcome {
	o := pay.PayoutOutcome{Kind: pay.PayoutUnknown, ProviderRef: found.UID, Local: found.arrives()}
	switch found.Status {
	case opened:
		o.Kind, o.Message = pay.PayoutAccepted, "the payout waits for its commit"
	case "PE":
		o.Kind = pay.PayoutAccepted
	case "PA":
		if o.Local == (money.Amount{}) {
			o.Message = unreadable
		} else {
			o.Kind = pay.PayoutPaid
		}
	case "CA":
		if found.PaidAt != "" { // no status for a reverted payout is documented
			o.Message = "the payout is canceled, but was paid before"
			return o
		}
		return p.canceled(found)
	default:
		p.account.Strange("payout", found.Status)
		o.Message = "the payout's status is unknown to us"
	}
	return o
}

// canceled is the outcome of a canceled payout. Without a reason, a person may have decided
// against it, so no other account pays it either.
func (p *payer) canceled(found payoutReply) pay.PayoutOutcome {
	why, known := cancellations[found.why]
	if !known {
		why = reason{pay.PayoutRejected, "rejected", "the payout was canceled"}
		if found.why != "" {
			p.account.Strange("cancellation", found.why)
		}
	}
	o := why.outcome()
	o.ProviderRef = found.UID
	return o
}
