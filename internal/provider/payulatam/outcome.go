package payulatam

import (
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// standing is how a charge stands, where there is an order. More than one can be
// there (see the package's comment); the one that was paid counts, then one that
// may still be.
func (c *client) standing(r provider.Request, orders []found) pay.Outcome {
	rank := map[pay.OutcomeKind]int{pay.Approved: 4, pay.Unknown: 3, pay.Awaiting: 2, pay.Declined: 1}
	best := unknown("broken_answer") // an order without a transaction
	seen := false
	for _, order := range orders {
		for _, t := range order.Transactions {
			if t.Type != "AUTHORIZATION_AND_CAPTURE" && t.Type != "CAPTURE" { // a refund, a void, a chargeback
				continue
			}
			extra := t.Extra
			if len(t.Response.Extra) > 0 {
				extra = t.Response.Extra
			}
			o := c.outcome(r, t.Response, extra)
			o.ProviderRef = order.ID.String()
			if o.Kind == pay.Approved {
				local, ok := amount(t.Values["TX_VALUE"].Value.String(), t.Values["TX_VALUE"].Currency)
				if !ok {
					o = unknown("broken_answer")
				}
				o.Local = local
			}
			if !seen || rank[o.Kind] > rank[best.Kind] {
				best, seen = o, true
			}
		}
	}
	return best
}

// amount reads an amount in major units.
func amount(text, currency string) (money.Amount, bool) {
	c, err := money.ParseCurrency(currency)
	if err != nil || len(text) > 20 {
		return money.Amount{}, false
	}
	a, err := money.Parse(text, c)
	return a, err == nil && a.IsPositive()
}

// outcome is a transaction's state in our words.
func (c *client) outcome(r provider.Request, t response, extra map[string]any) pay.Outcome {
	switch t.State {
	case "APPROVED":
		return pay.Outcome{Kind: pay.Approved, FormURL: r.PageURL}
	case "PENDING", "SUBMITTED":
		return c.awaiting(r, extra)
	case "DECLINED", "ERROR":
		return c.declined(t.ResponseCode)
	case "EXPIRED":
		return pay.Outcome{Kind: pay.Lapsed}
	}
	c.unmapped("state", t.State)
	return unknown("unknown_status")
}

// awaiting has what the shopper pays with: a CLABE on our page, or PayU's page
// with the voucher.
func (c *client) awaiting(r provider.Request, extra map[string]any) pay.Outcome {
	o := pay.Outcome{Kind: pay.Awaiting, FormURL: r.PageURL, CheckAt: c.later(r)}
	if r.Rail == "spei.MEX" {
		o.Data.Bank = text(extra, "SPEI_BANK_NAME")
		if clabe := text(extra, "SPEI_CLABE_ACCOUNT_NUMBER"); number(clabe) && len(clabe) == 18 {
			o.Data.CLABE = clabe
		}
		return o
	}
	o.Data.Reference, o.Data.Barcode = text(extra, "REFERENCE"), text(extra, "BAR_CODE")
	if page := text(extra, "URL_PAYMENT_RECEIPT_HTML"); isPage(page) {
		o.FormURL = page
	}
	return o
}

// isPage reports whether a shopper can be sent to an address.
func isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil
}

// declines says what PayU's response codes mean. The soft ones speak of the way
// to the bank, or of a bank that gives no reason.
var declines = map[string]struct {
	code    pay.Code
	soft    bool
	message string
}{
	"ANTIFRAUD_REJECTED":                       {pay.CodeFraudBlocked, false, "the risk engine blocked the payment"},
	"BANK_FRAUD_REJECTED":                      {pay.CodeFraudBlocked, false, "the bank blocked the payment"},
	"INSUFFICIENT_FUNDS":                       {pay.CodeInsufficientFunds, false, "the account has insufficient funds"},
	"EXPIRED_CARD":                             {pay.CodeExpiredCard, false, "the card has expired"},
	"INVALID_CARD":                             {pay.CodeCardDeclined, false, "the card is not valid"},
	"RESTRICTED_CARD":                          {pay.CodeCardDeclined, false, "the card is restricted"},
	"INVALID_EXPIRATION_DATE_OR_SECURITY_CODE": {pay.CodeCardDeclined, false, "the card's date or code is wrong"},
	"CREDIT_CARD_NOT_AUTHORIZED_FOR_INTERNET_TRANSACTIONS": {pay.CodeCardDeclined, false, "the card is not for payments on the internet"},
	"INVALID_TRANSACTION":                             {"", false, "the payment was declined"},
	"EXCEEDED_AMOUNT":                                 {"", false, "the amount is above the bank's limit"},
	"ABANDONED_TRANSACTION":                           {"", false, "the shopper left the payment"},
	"NOT_ACCEPTED_TRANSACTION":                        {"", false, "the payment was declined"},
	"INVALID_RESPONSE_PARTIAL_APPROVAL":               {"", false, "the payment was declined"},
	"BANK_ACCOUNT_NOT_AUTHORIZED_FOR_AUTOMATIC_DEBIT": {"", false, "the bank account does not allow the payment"},
	"INVALID_AGENCY_BANK_ACCOUNT":                     {"", false, "the bank account is not valid"},
	"INVALID_BANK_ACCOUNT":                            {"", false, "the bank account is not valid"},
	"INVALID_BANK":                                    {"", false, "the bank is not valid"},
	"BANK_ACCOUNT_ACTIVATION_ERROR":                   {"", false, "the bank account does not allow the payment"},
	"PAYMENT_NETWORK_REJECTED":                        {"", true, "the payment was declined"},
	"ENTITY_DECLINED":                                 {"", true, "the payment was declined"},
	"CONTACT_THE_ENTITY":                              {"", true, "the bank wants to be called"},
	"REPEAT_TRANSACTION":                              {"", true, "the payment has to be tried again"},
	"BANK_UNREACHABLE":                                {"", true, "the bank cannot be reached"},
	"ENTITY_MESSAGING_ERROR":                          {"", true, "the bank cannot be reached"},
	"INTERNAL_PAYMENT_PROVIDER_ERROR":                 {"", true, "the payment could not be processed"},
	"INACTIVE_PAYMENT_PROVIDER":                       {"", true, "the payment could not be processed"},
	"DIGITAL_CERTIFICATE_NOT_FOUND":                   {"", true, "the payment could not be processed"},
	"PAYMENT_NETWORK_BAD_RESPONSE":                    {"", true, "the payment could not be processed"},
	"PAYMENT_NETWORK_NO_CONNECTION":                   {"", true, "the payment could not be processed"},
	"PAYMENT_NETWORK_NO_RESPONSE":                     {"", true, "the payment could not be processed"},
	"ERROR":                                           {"", true, "the payment could not be processed"},
	"ERROR_CONVERTING_TRANSACTION_AMOUNTS":            {"", true, "the payment could not be processed"},
	"FIX_NOT_REQUIRED":                                {"", true, "the payment could not be processed"},
	"AUTOMATICALLY_FIXED_AND_SUCCESS_REVERSAL":        {"", true, "the payment could not be processed"},
	"AUTOMATICALLY_FIXED_AND_UNSUCCESS_REVERSAL":      {"", true, "the payment could not be processed"},
	"AUTOMATIC_FIXED_NOT_SUPPORTED":                   {"", true, "the payment could not be processed"},
	"NOT_FIXED_FOR_ERROR_STATE":                       {"", true, "the payment could not be processed"},
	"ERROR_FIXING_AND_REVERSING":                      {"", true, "the payment could not be processed"},
	"ERROR_FIXING_INCOMPLETE_DATA":                    {"", true, "the payment could not be processed"},
}

// declined is a charge that was refused; one that nobody knows the reason of is
// refused for good.
func (c *client) declined(code string) pay.Outcome {
	d, known := declines[code]
	if !known {
		c.unmapped("response", code)
		return pay.Outcome{Kind: pay.Declined, Decline: "declined", Message: "the payment was declined"}
	}
	return pay.Outcome{Kind: pay.Declined, Soft: d.soft, Code: d.code, Decline: strings.ToLower(code), Message: d.message}
}

// unmapped tells of a word that we have no meaning for.
func (c *client) unmapped(of, word string) {
	if c.account.Unmapped != nil {
		c.account.Unmapped(of + ":" + clean(word, 64))
	}
}
