package payulatam

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// standing is the state of a charge that has orders. There can be several (see the
// package's comment); a paid one decides, else one that can still be paid. Its tries are those of all.
func (c *client) standing(r provider.Request, orders []found) pay.Outcome {
	best, tries := provider.Unknown("broken_answer"), []decline.Try(nil)
	for i, order := range orders {
		o := c.orderStanding(r, order)
		tries = append(tries, o.Tries...)
		if o.Kind == pay.Approved && best.Kind == pay.Approved {
			best.Also = append(best.Also, pay.Money{Ref: o.MoneyRef, ProviderRef: o.ProviderRef, Local: o.Local})
		}
		if i == 0 || rank[o.Kind] > rank[best.Kind] {
			best = o
		}
	}
	best.Tries = tries
	return best
}

// rank is which state decides, of several.
var rank = map[pay.OutcomeKind]int{pay.Approved: 5, pay.Reversed: 4, pay.Unknown: 3, pay.Awaiting: 2, pay.Declined: 1}

// orderStanding is the state of one order: of the transaction that charges, less what went back.
func (c *client) orderStanding(r provider.Request, order found) pay.Outcome {
	best, seen := provider.Unknown("broken_answer"), false // an order without a transaction
	var tries []decline.Try
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
			case use == givesAllBack:
				whole = true
			}
			continue
		}
		extra := t.Extra
		if len(t.Response.Extra) > 0 {
			extra = t.Response.Extra
		}
		t.Response.TransactionID = t.ID
		o := c.outcome(r, t.Response, extra)
		tries = append(tries, o.Tries...)
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
	best.Tries = tries
	return provider.Reversed(best, back, money.Amount{}, whole)
}

// What a transaction of an order does.
const (
	charges      = "charges"
	reserves     = "reserves" // it moves no money
	givesBack    = "gives back"
	givesAllBack = "takes all"
)

// transactions are by type (variables: transaction types; refunds: PARTIAL_REFUND). That a lost dispute is a
// transaction follows from the order's status for it, CHARGEBACK.
var transactions = map[string]string{
	"AUTHORIZATION_AND_CAPTURE": charges, "CAPTURE": charges, "AUTHORIZATION": reserves,
	"REFUND": givesBack, "PARTIAL_REFUND": givesBack, "VOID": givesAllBack, "CHARGEBACK": givesAllBack,
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
		o := c.account.Declined(declines, reason, "")
		o.Tries = try(t.TransactionID, t.at(), o, reason)
		return o
	case "EXPIRED":
		return pay.Outcome{Kind: pay.Lapsed}
	}
	c.account.Strange("state", t.State)
	return provider.Unknown("unknown_status")
}

// try is a refused transaction, by PayU's id of it.
func try(id string, at int64, o pay.Outcome, code string) []decline.Try {
	if id = provider.Exact(id, 64); id == "" {
		return nil
	}
	return []decline.Try{provider.Try(id, at, decline.Reason(o.Decline), code)}
}

// at is when PayU processed the transaction, in microseconds; 0 if it does not say so.
func (r response) at() int64 {
	ms, err := strconv.ParseInt(string(r.OperationDate), 10, 64)
	if err != nil || ms < 0 || ms > 1<<50 {
		return 0
	}
	return ms * 1000
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

// declines are the meanings of PayU's response codes (response codes and variables, 42c09c2: those for transactions, and those that the
// confirmation and the response page add; read on 2026-11-28).
var declines = provider.Declines{
	"ANTIFRAUD_REJECTED":                       decline.FraudSuspected,
	"BANK_FRAUD_REJECTED":                      decline.FraudSuspected,
	"INSUFFICIENT_FUNDS":                       decline.InsufficientFunds,
	"EXPIRED_CARD":                             decline.ExpiredCard,
	"INVALID_CARD":                             decline.InvalidNumber,
	"RESTRICTED_CARD":                          decline.RestrictedCard,
	"INVALID_EXPIRATION_DATE_OR_SECURITY_CODE": decline.InvalidData,
	"CREDIT_CARD_NOT_AUTHORIZED_FOR_INTERNET_TRANSACTIONS": decline.NotPermitted,
	"INVALID_TRANSACTION":                             decline.Declined,
	"EXCEEDED_AMOUNT":                                 decline.LimitExceeded,
	"ABANDONED_TRANSACTION":                           decline.Abandoned,
	"NOT_ACCEPTED_TRANSACTION":                        decline.Declined,
	"INVALID_RESPONSE_PARTIAL_APPROVAL":               decline.Declined,
	"BANK_ACCOUNT_NOT_AUTHORIZED_FOR_AUTOMATIC_DEBIT": decline.AccountUnavailable,
	"INVALID_AGENCY_BANK_ACCOUNT":                     decline.AccountUnavailable,
	"INVALID_BANK_ACCOUNT":                            decline.AccountUnavailable,
	"INVALID_BANK":                                    decline.AccountUnavailable,
	"BANK_ACCOUNT_ACTIVATION_ERROR":                   decline.AccountUnavailable,
	"PAYMENT_NETWORK_REJECTED":                        decline.ProcessingError, // the voucher was not made; no bank of the shopper's decided
	"ENTITY_DECLINED":                                 decline.ProcessingError, // "because of an error"
	"CONTACT_THE_ENTITY":                              decline.CallIssuer,
	"REPEAT_TRANSACTION":                              decline.ProcessingError,
	"BANK_UNREACHABLE":                                decline.IssuerUnavailable,
	"ENTITY_MESSAGING_ERROR":                          decline.IssuerUnavailable,
	"INTERNAL_PAYMENT_PROVIDER_ERROR":                 decline.ProcessingError,
	"INACTIVE_PAYMENT_PROVIDER":                       decline.ProcessingError,
	"DIGITAL_CERTIFICATE_NOT_FOUND":                   decline.ProcessingError,
	"PAYMENT_NETWORK_BAD_RESPONSE":                    decline.ProcessingError,
	"PAYMENT_NETWORK_NO_CONNECTION":                   decline.ProcessingError,
	"PAYMENT_NETWORK_NO_RESPONSE":                     decline.ProcessingError,
	"DECLINED":                                        decline.Declined,
	"ERROR":                                           decline.ProcessingError,
	"ERROR_CONVERTING_TRANSACTION_AMOUNTS":            decline.ProcessingError,
	"FIX_NOT_REQUIRED":                                decline.ProcessingError,
	"AUTOMATICALLY_FIXED_AND_SUCCESS_REVERSAL":        decline.ProcessingError,
	"AUTOMATICALLY_FIXED_AND_UNSUCCESS_REVERSAL":      decline.ProcessingError,
	"AUTOMATIC_FIXED_NOT_SUPPORTED":                   decline.ProcessingError,
	"NOT_FIXED_FOR_ERROR_STATE":                       decline.ProcessingError,
	"ERROR_FIXING_AND_REVERSING":                      decline.ProcessingError,
	"ERROR_FIXING_INCOMPLETE_DATA":                    decline.ProcessingError,
}
