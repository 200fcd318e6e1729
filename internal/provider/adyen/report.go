package adyen

import "github.com/cascadapay/cascada/internal/pay/reconcile"

// report is the settlement details report.
func report() reconcile.Format {
	return reconcile.Format{
		Title: "Adyen: Reports, Settlement details",
		Columns: reconcile.Columns{
			Reference: "Merchant Reference", ProviderRef: "Psp Reference",
			RefundReference: "Modification Merchant Reference?", RefundProviderRef: "Modification Reference?", Type: "Type",
			Debit: "Gross Debit (GC)", Credit: "Gross Credit (GC)", Currency: "Gross Currency", Date: "Creation Date?",
			Fees: []string{"Commission (NC)?", "Markup (NC)?", "Scheme Fees (NC)?", "Interchange (NC)?"}, FeeCurrency: "Net Currency?",
		},
		Kinds: map[string]reconcile.Kind{
			"Settled": reconcile.Charge, "Refunded": reconcile.Refund, "Chargeback": reconcile.Chargeback,
			"SecondChargeback": reconcile.Chargeback, "*": reconcile.Other,
		},
	}
}
