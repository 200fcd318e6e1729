package stripe

import "github.com/cascadapay/cascada/internal/pay/reconcile"

// report is the itemized balance change from activity.
func report() reconcile.Format {
	return reconcile.Format{
		Title: "Stripe: Reports, Balance, Balance change from activity, itemized",
		Hint: "when you download the report, include the columns customer_facing_amount and customer_facing_currency, and the metadata " +
			"payment_metadata[" + referenceKey + "] and refund_metadata[" + referenceKey + "]",
		Columns: reconcile.Columns{
			Reference: "payment_metadata[" + referenceKey + "]", RefundReference: "refund_metadata[" + referenceKey + "]",
			ProviderRef: "payment_intent_id?", RefundProviderRef: "source_id?", Type: "reporting_category",
			Amount: "customer_facing_amount", Currency: "customer_facing_currency", Date: "created_utc?",
			Fees: []string{"fee?"}, FeeCurrency: "currency?",
		},
		Kinds: map[string]reconcile.Kind{
			"charge": reconcile.Charge, "refund": reconcile.Refund, "dispute": reconcile.Chargeback, "*": reconcile.Other,
		},
	}
}
