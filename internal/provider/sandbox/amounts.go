package sandbox

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// testAmounts are what a card answers by the cents of the amount, an ISO 8583 response code (SBX-10, SBX-17). The documents are made
// from them.
var testAmounts = []struct {
	cents int64
	first decline.Reason // the answer of a card's page in a strict sandbox to the first try; "" if it pays
	page  string         // what happens on that page
	reply string         // what a sandbox that is not strict replies
}{
	{5, decline.DoNotHonor, "refused, `do_not_honor`: another provider may accept the card", "402 `card_declined`, do_not_honor"},
	{51, decline.InsufficientFunds, "refused, `insufficient_funds`", "402 `insufficient_funds`"},
	{54, decline.ExpiredCard, "refused, `expired_card`", "402 `expired_card`"},
	{59, decline.FraudSuspected, "refused, `fraud_suspected`", "402 `fraud_blocked`"},
	{65, Challenge, "3-D Secure: the shopper passes it, fails, or leaves: then the page ends with a try `abandoned`", "402 `three_ds_required`; then simulate paid or failed"},
	{91, decline.IssuerUnavailable, "refused, `issuer_unavailable`", "422 `cascade_exhausted`: every issuer unavailable"},
	{96, "", "the reply is processing: the provider opened the page and did not answer; the sweep finds it", "processing; the provider charged and did not answer; the sweep completes it"},
}

// Challenge is the first answer of a card's page that wants the shopper to pass 3-D Secure.
const Challenge = "challenge"

// OnPage is the answer of a card's page in a strict sandbox to the shopper's first try, by the cents of the amount: the reason for which
// it refuses, Challenge, or "" if it pays.
func OnPage(usd money.Amount) decline.Reason {
	for _, t := range testAmounts {
		if t.cents == cents(usd) {
			return t.first
		}
	}
	return ""
}

// AmountTable is the table of the test amounts in Markdown.
func AmountTable() string {
	var b strings.Builder
	b.WriteString("| cents | strict: the first try on the card's page | not strict: the reply to `POST /payments` |\n|---|---|---|\n")
	for _, t := range testAmounts {
		fmt.Fprintf(&b, "| .%02d | %s | %s |\n", t.cents, t.page, t.reply)
	}
	b.WriteString("| others | paid | approved: 201 completed |\n")
	return b.String()
}
