package woovi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
)

const unreadable = "the provider's answer cannot be read"

// problemOf is what an answer says that is not about a payment.
func problemOf(answer provider.Reply) string {
	switch answer.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the account's key is refused, or may not do this (status %d)", answer.Status)
	case http.StatusTooManyRequests:
		return "the account sent too many requests"
	}
	return fmt.Sprintf("the provider answers with status %d", answer.Status)
}

// reasons are by Woovi's codes (docs/payment/payment-failed-errors.md,
// docs/flows/sandbox-error-simulation.md) and the central bank's
// (docs/flows/error-codes-payment.md). A failed payment is final
// (docs/payment/payment-state-machine.md), so each reason proves that nothing was paid; if
// the cause does not lie with the beneficiary, another account may pay.
var reasons = payouts.Reasons(map[payouts.Reason]string{
	payouts.Rejected("invalid_account", "the bank knows no such account or Pix key"):          "PIX_KEY_INFO_NOT_FOUND INVALID_PIX_KEY ACCOUNT_NOT_FOUND SAME_ACCOUNT_TRANSFER AC03 AC14 AG03 RC10",
	payouts.Rejected("invalid_account", "the account belongs to somebody else"):               "BE01 CH11",
	payouts.Rejected("account_closed", "the account is closed"):                               "AC07",
	payouts.Rejected("compliance_rejected", "the payout was rejected for compliance"):         "FRAD RR04 AC06 ACCOUNT_TRANSACTION_BLOCKED_BY_MED ENTRY_ASSOCIATED_WITH_RESTRICTED_ACCOUNT_OR_USER",
	payouts.Rejected("limit_exceeded", "the beneficiary's account may not receive that much"): "AM02",
	payouts.Rejected("rejected", "the beneficiary's bank rejected the payout"):                "DS04 DUPL DS27 UPAY PAY_PIX_KEY_ERROR",
	payouts.NotHere("insufficient_funds", "the account has too little money"):                 "NOT_ENOUGH_BALANCE AM04",
	payouts.NotHere("limit_exceeded", "the account has reached a limit of its own"):           "REACH_TRANSFER_LIMIT ACCOUNT_LIMIT_ERROR ALIAS_LIMIT_ERROR",
	payouts.NotHere("not_permitted", "the account is not allowed to make this payout"):        "PIX_OUT_NOT_AUTHORIZED AG12 AGNT BE05 DS0G RC09",
	payouts.NotHere("provider_error", "the payout failed on its way"):                         "PIX_KEY_INFO_ERROR AB03 AB09 AB11 AM01 AM12 AM18 CH16 DT02 ED05 FF07 FF08",
})

// failed is the outcome of a failed payment, by a code or by a text that begins with one.
// An unknown reason is reported, and is final all the same.
func (p *payer) failed(ref, code, text string) pay.PayoutOutcome {
	if code == "" {
		code, _, _ = strings.Cut(text, " - ")
	}
	word := strings.ToUpper(strings.TrimSpace(code))
	why, known := reasons[word]
	if !known {
		why = payouts.Rejected("rejected", "the payout failed")
		if strings.ContainsFunc(word, notOfACode) {
			word = "a text without a code" // the text may hold anything
		}
		if word != "" {
			p.account.account.Strange("failure", word)
		}
	}
	o := why.Outcome()
	o.ProviderRef = ref
	return o
}

// notOfACode reports whether no code has this character.
func notOfACode(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
