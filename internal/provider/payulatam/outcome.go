package payulatam

import (
	"encoding/json"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// standing is the state of a charge that has orders. There can be several (see the
// package's comment); a paid one decides, else one that can still be paid.
func (c *client) standing(r provider.Request, orders []found) pay.Outcome {
	best := provider.Unknown("broken_answer")
	for i, order := range orders {
		o := c.orderStanding(r, order)
		if o.Kind == pay.Approved && best.Kind == pay.Approved {
			best.Also = append(best.Also, pay.Money{Ref: o.MoneyRef, ProviderRef: o.ProviderRef, Local: o.Local})
		}
		if i == 0 || rank[o.Kind] > rank[best.Kind] {
			best = o
		}
	}
	return best
}

// rank is which state decides, of several.
var rank = map[pay.OutcomeKind]int{pay.Approved: 5, pay.Reversed: 4, pay.Unknown: 3, pay.Awaiting: 2, pay.Declined: 1}

// orderStanding is the state of one order: of the transaction that charges, less what went back.
func (c *client) orderStanding(r provider.Request, order found) pay.Outcome {
	best, seen := provider.Unknown("broken_answer"), false // an order without a transaction
	whole, back := order.Status == "CHARGEBACK", []pay.ProviderRefund(nil)
	for _, t := range order.Transactions {
		local, readable := provider.Major(t.Values["TX_VALUE"].Value.String(), t.Values["TX_VALUE"].Currency)
		if use := transactions[t.Type]; use != charges {
			switch {
			case use == "":
				c.account.Strange("transaction", t.Type)
			case t.Response.State != "APPROVED": // it was not made
			case use == givesBack:
				back = append(back, provider.RefundOf(t.ID, "", pay.Approved, local))
			case use == takesAll:
				whole = true
			}
			continue
		}
		extra := t.Extra
		if len(t.Response.Extra) > 0 {
			extra = t.Response.Extra
		}
		o := c.outcome(r, t.Response, extra)
		o.ProviderRef = order.ID.String()
		if o.Kind == pay.Approved {
			if !readable {
				o = provider.Unknown("broken_answer")
			}
			o.Local, o.MoneyRef = local, o.ProviderRef
		}
		if !seen || rank[o.Kind] > rank[best.Kind] {
			best, seen = o, true
		}
	}
	return provider.Reversed(best, back, money.Amount{}, whole)
}

// What a transaction of an order does.
const (
	charges   = "charges"
	reserves  = "reserves" // it moves no money
	givesBack = "gives back"
	takesAll  = "takes all"
)

// transactions are by type (variables: transaction types; refunds: PARTIAL_REFUND). That a lost dispute is a
// transaction follows from the order's status for it, CHARGEBACK.
var transactions = map[string]string{
	"AUTHORIZATION_AND_CAPTURE": charges, "CAPTURE": charges, "AUTHORIZATION": reserves,
	"REFUND": givesBack, "PARTIAL_REFUND": givesBack, "VOID": takesAll, "CHARGEBACK": takesAll,
}

// outcome is a transaction's state in our terms.
func (c *client) outcome(r provider.Request, t response, extra map[string]json.RawMessage) pay.Outcome {
	switch t.State {
	case "APPROVED":
		return pay.Outcome{Kind: pay.Approved, FormURL: r.PageURL}
	case "PENDING", "SUBMITTED":
		return c.awaiting(r, extra)
	case "DECLINED", "ERROR":
		reason := t.ResponseCode
		if reason == "" || strings.HasPrefix(reason, "PENDING_") { // it tells no reason
			reason = t.State
		}
		return c.account.Declined(declines, reason, "")
	case "EXPIRED":
		return pay.Outcome{Kind: pay.Lapsed}
	}
	c.account.Strange("state", t.State)
	return provider.Unknown("unknown_status")
}

// awaiting is what the shopper pays with: a CLABE on our page, or PayU's page with the
// voucher.
func (c *client) awaiting(r provider.Request, extra map[string]json.RawMessage) pay.Outcome {
	o := pay.Outcome{Kind: pay.Awaiting, FormURL: r.PageURL, CheckAt: c.later(r)}
	if r.Rail == "spei.MEX" {
		o.Data.Bank = text(extra, "SPEI_BANK_NAME")
		if clabe := text(extra, "SPEI_CLABE_ACCOUNT_NUMBER"); number(clabe) && len(clabe) == 18 {
			o.Data.CLABE = clabe
		}
		return o
	}
	o.Data.Reference, o.Data.Barcode = text(extra, "REFERENCE"), text(extra, "BAR_CODE")
	if page := provider.Link(text(extra, "URL_PAYMENT_RECEIPT_HTML")); page != "" {
		o.FormURL = page
	}
	return o
}

// declines are the meanings of PayU's response codes. The soft ones concern the way to the
// bank, or a bank that gives no reason.
var declines = provider.Declines{
	"ANTIFRAUD_REJECTED":                       provider.Hard(problem.FraudBlocked, "antifraud_rejected", "the risk engine blocked the payment"),
	"BANK_FRAUD_REJECTED":                      provider.Hard(problem.FraudBlocked, "bank_fraud_rejected", "the bank blocked the payment"),
	"INSUFFICIENT_FUNDS":                       provider.Hard(problem.InsufficientFunds, "insufficient_funds", "the account has insufficient funds"),
	"EXPIRED_CARD":                             provider.Hard(problem.ExpiredCard, "expired_card", "the card has expired"),
	"INVALID_CARD":                             provider.Hard(problem.CardDeclined, "invalid_card", "the card is not valid"),
	"RESTRICTED_CARD":                          provider.Hard(problem.CardDeclined, "restricted_card", "the card is restricted"),
	"INVALID_EXPIRATION_DATE_OR_SECURITY_CODE": provider.Hard(problem.CardDeclined, "invalid_expiration_date_or_security_code", "the card's date or code is wrong"),
	"CREDIT_CARD_NOT_AUTHORIZED_FOR_INTERNET_TRANSACTIONS": provider.Hard(problem.CardDeclined, "credit_card_not_authorized_for_internet_transactions", "the card does not allow payments on the internet"),
	"INVALID_TRANSACTION":                             provider.Hard("", "invalid_transaction", "the payment was declined"),
	"EXCEEDED_AMOUNT":                                 provider.Hard("", "exceeded_amount", "the amount is above the bank's limit"),
	"ABANDONED_TRANSACTION":                           provider.Hard("", "abandoned_transaction", "the shopper left the payment"),
	"NOT_ACCEPTED_TRANSACTION":                        provider.Hard("", "not_accepted_transaction", "the payment was declined"),
	"INVALID_RESPONSE_PARTIAL_APPROVAL":               provider.Hard("", "invalid_response_partial_approval", "the payment was declined"),
	"BANK_ACCOUNT_NOT_AUTHORIZED_FOR_AUTOMATIC_DEBIT": provider.Hard("", "bank_account_not_authorized_for_automatic_debit", "the bank account does not allow the payment"),
	"INVALID_AGENCY_BANK_ACCOUNT":                     provider.Hard("", "invalid_agency_bank_account", "the bank account is not valid"),
	"INVALID_BANK_ACCOUNT":                            provider.Hard("", "invalid_bank_account", "the bank account is not valid"),
	"INVALID_BANK":                                    provider.Hard("", "invalid_bank", "the bank is not valid"),
	"BANK_ACCOUNT_ACTIVATION_ERROR":                   provider.Hard("", "bank_account_activation_error", "the bank account does not allow the payment"),
	"PAYMENT_NETWORK_REJECTED":                        provider.Soft("", "payment_network_rejected", "the payment was declined"),
	"ENTITY_DECLINED":                                 provider.Soft("", "entity_declined", "the payment was declined"),
	"CONTACT_THE_ENTITY":                              provider.Soft("", "contact_the_entity", "the bank wants a call first"),
	"REPEAT_TRANSACTION":                              provider.Soft("", "repeat_transaction", "the payment has to be tried again"),
	"BANK_UNREACHABLE":                                provider.Soft("", "bank_unreachable", "the bank cannot be reached"),
	"ENTITY_MESSAGING_ERROR":                          provider.Soft("", "entity_messaging_error", "the bank cannot be reached"),
	"INTERNAL_PAYMENT_PROVIDER_ERROR":                 provider.Soft("", "internal_payment_provider_error", "the payment could not be processed"),
	"INACTIVE_PAYMENT_PROVIDER":                       provider.Soft("", "inactive_payment_provider", "the payment could not be processed"),
	"DIGITAL_CERTIFICATE_NOT_FOUND":                   provider.Soft("", "digital_certificate_not_found", "the payment could not be processed"),
	"PAYMENT_NETWORK_BAD_RESPONSE":                    provider.Soft("", "payment_network_bad_response", "the payment could not be processed"),
	"PAYMENT_NETWORK_NO_CONNECTION":                   provider.Soft("", "payment_network_no_connection", "the payment could not be processed"),
	"PAYMENT_NETWORK_NO_RESPONSE":                     provider.Soft("", "payment_network_no_response", "the payment could not be processed"),
	"DECLINED":                                        provider.Hard("", "declined", "the payment was declined"),
	"ERROR":                                           provider.Soft("", "error", "the payment could not be processed"),
	"ERROR_CONVERTING_TRANSACTION_AMOUNTS":            provider.Soft("", "error_converting_transaction_amounts", "the payment could not be processed"),
	"FIX_NOT_REQUIRED":                                provider.Soft("", "fix_not_required", "the payment could not be processed"),
	"AUTOMATICALLY_FIXED_AND_SUCCESS_REVERSAL":        provider.Soft("", "automatically_fixed_and_success_reversal", "the payment could not be processed"),
	"AUTOMATICALLY_FIXED_AND_UNSUCCESS_REVERSAL":      provider.Soft("", "automatically_fixed_and_unsuccess_reversal", "the payment could not be processed"),
	"AUTOMATIC_FIXED_NOT_SUPPORTED":                   provider.Soft("", "automatic_fixed_not_supported", "the payment could not be processed"),
	"NOT_FIXED_FOR_ERROR_STATE":                       provider.Soft("", "not_fixed_for_error_state", "the payment could not be processed"),
	"ERROR_FIXING_AND_REVERSING":                      provider.Soft("", "error_fixing_and_reversing", "the payment could not be processed"),
	"ERROR_FIXING_INCOMPLETE_DATA":                    provider.Soft("", "error_fixing_incomplete_data", "the payment could not be processed"),
}
