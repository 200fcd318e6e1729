package adapters

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// samples are lines in the columns of the providers' documentation: a charge, a refund, a
// chargeback and another line each.
var samples = map[string]string{
	"stripe": "balance_transaction_id,created_utc,created,available_on,currency,gross,fee,net,reporting_category,source_id,description," +
		"customer_facing_amount,customer_facing_currency,payment_intent_id,payment_metadata[cascada_reference],refund_metadata[cascada_reference]\n" +
		"txn_1,2026-11-21 10:00:00,2026-11-21 07:00:00,2026-11-23,usd,10.00,0.59,9.41,charge,ch_1,,54.00,brl,pi_1,P-1,\n" +
		"txn_2,2026-11-22 10:00:00,2026-11-22 07:00:00,2026-11-23,usd,-2.00,0.00,-2.00,refund,re_1,,-10.80,brl,pi_1,P-1,R-1\n" +
		"txn_3,2026-11-23 10:00:00,2026-11-23 07:00:00,2026-11-23,usd,-10.00,15.00,-25.00,dispute,dp_1,,54.00,brl,pi_1,P-1,\n" +
		"txn_4,2026-11-23 10:00:00,2026-11-23 07:00:00,2026-11-23,usd,-1.00,0.00,-1.00,fee,,,,,,,\n",
	"adyen": "Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference," +
		"Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,Net Debit (NC),Net Credit (NC),Commission (NC),Markup (NC)," +
		"Scheme Fees (NC),Interchange (NC),Payment Method Variant,Modification Merchant Reference,Batch Number\n" +
		"Co,Acc,pi_1,P-1,visa,2026-11-21 10:00:00,BRT,Settled,mod_1,BRL,,54.00,0.2,USD,,9.41,,0.30,0.09,0.20,visa,,4\n" +
		"Co,Acc,pi_1,P-1,visa,2026-11-22 10:00:00,BRT,Refunded,re_1,BRL,10.80,,0.2,USD,2.00,,,,,,visa,R-1,4\n" +
		"Co,Acc,pi_1,P-1,visa,2026-11-23 10:00:00,BRT,Chargeback,dp_1,BRL,54.00,,0.2,USD,25.00,,15.00,,,,visa,,4\n" +
		"Co,Acc,,,,2026-11-23 10:00:00,BRT,Fee,Transaction Fees,,,,,USD,1.00,,,,,,,,4\n",
	"mercadopago": "EXTERNAL_REFERENCE;SOURCE_ID;USER_ID;PAYMENT_METHOD_TYPE;PAYMENT_METHOD;SITE;TRANSACTION_TYPE;TRANSACTION_AMOUNT;TRANSACTION_CURRENCY;" +
		"TRANSACTION_DATE;FEE_AMOUNT;SETTLEMENT_NET_AMOUNT;SETTLEMENT_CURRENCY\n" +
		"P-1;pi_1;1;credit_card;visa;MLB;SETTLEMENT;54.00;BRL;2026-11-21T07:00:00.000-03:00;-0.59;53.41;BRL\n" +
		"P-1;pi_1;1;credit_card;visa;MLB;REFUND;-10.80;BRL;2026-11-22T07:00:00.000-03:00;0.00;-10.80;BRL\n" +
		"P-1;pi_1;1;credit_card;visa;MLB;CHARGEBACK;-54.00;BRL;2026-11-23T07:00:00.000-03:00;0.00;-54.00;BRL\n" +
		";9;1;;;MLB;WITHDRAWAL;-5.00;BRL;2026-11-23T07:00:00.000-03:00;0.00;-5.00;BRL\n",
}

// A report in the documented format is read without any flags.
func TestReportsAreReadAsDocumented(t *testing.T) {
	for _, a := range All() {
		sample, documented := samples[a.Name]
		if documented != (a.Report.Title != "") {
			t.Errorf("%s has a report: %t, and a sample: %t", a.Name, a.Report.Title != "", documented)
		}
		if !documented {
			continue
		}
		lines, err := reconcile.NewReader("sample", strings.NewReader(sample), a.Report)
		if err != nil {
			t.Errorf("%s: %v", a.Name, err)
			continue
		}
		var told []string
		for {
			l, err := lines.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", a.Name, err)
			}
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", l.Kind, l.Reference, l.ProviderRef, l.RefundReference)))
			if l.Kind == reconcile.Charge && (l.Amount.String() != "54.00 BRL" || l.Fee.Minor != 59 || l.Date.Format("2006-01-02 15") != "2026-11-21 10") {
				t.Errorf("%s: the charge is %s, with a fee of %s, of %s", a.Name, l.Amount, l.Fee, l.Date)
			}
			if l.Kind == reconcile.Refund && l.Amount.String() != "10.80 BRL" {
				t.Errorf("%s: the refund is %s", a.Name, l.Amount)
			}
		}
		refund := "refund P-1 pi_1 R-1"
		if a.Name == "mercadopago" { // it has no reference of its own
			refund = "refund P-1 pi_1"
		}
		if want := []string{"charge P-1 pi_1", refund, "chargeback P-1 pi_1", "other"}; strings.Join(told, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s: %q, want %q", a.Name, told, want)
		}
	}
}
