package ebanx

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

const (
	opened        = "OP"
	referenceUsed = "HP-CM-03" // the external_reference was used before
	unreadable    = "the provider's answer cannot be read"
	// foreign is the message for a payout that has our reference but another payee or amount.
	foreign = "a payout has our reference but is not ours: it is not committed"
)

// refusals are the codes of refused orders (payoutErrorCodes), from the part of the list
// that could be read. With any other code, another account may pay.
var refusals = payouts.Reasons(map[payouts.Reason]string{
	payouts.Rejected("invalid_account", "there is no such account or Pix key"):           "HP-BR-03 HP-CM-23 HP-CM-27",
	payouts.Rejected("invalid_account", "the Pix key belongs to somebody else"):          "HP-BR-04",
	payouts.Rejected("compliance_rejected", "the payout was rejected for compliance"):    "HP-CF-01 HP-CM-28",
	payouts.NotHere("not_permitted", "the account is not allowed to make this payout"):   "HP-BR-01 HP-CM-06 HP-CM-07",
	payouts.NotHere("insufficient_funds", "the payout is more than the account can pay"): "HP-CM-30",
})

// cancellations are the codes of why a payout was canceled (payoutCanceledErrorsGeneral,
// payoutCanceledErrorsRemittanceBr). Each proves that nothing was paid; if the cause does
// not lie with the beneficiary, another account may pay.
var cancellations = payouts.Reasons(map[payouts.Reason]string{
	payouts.Rejected("invalid_account", "the account does not exist, or its data are wrong"):  "INCORRECT_CUSTOMER_DATA BANK_INFO INCORRECT_ACCOUNT_TYPE",
	payouts.Rejected("invalid_account", "the account belongs to somebody else"):               "TAX_ID_MISMATCH",
	payouts.Rejected("account_closed", "the account is closed"):                               "ACCOUNT_DOESNT_EXISTS",
	payouts.Rejected("limit_exceeded", "the beneficiary's account may not receive that much"): "HIGH_RISK",
	payouts.Rejected("rejected", "the beneficiary's account is blocked"):                      "ACCOUNT_BLOCKED",
	payouts.Rejected("rejected", "the beneficiary's bank rejected the payout"):                "DECLINED REJECTED_BY_BANK UNSUPPORTED_TRANSACTION",
	payouts.NotHere("provider_error", "the beneficiary's bank could not be reached"):          "SERVICE_UNAVAILABLE",
})

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
		why = payouts.Rejected("rejected", "the payout was canceled")
		if found.why != "" {
			p.account.Strange("cancellation", found.why)
		}
	}
	o := why.Outcome()
	o.ProviderRef = found.UID
	return o
}
