package mercadopago

import "github.com/cascadapay/cascada/internal/pay/reconcile"

// report is the account balance report.
func report() reconcile.Format {
	return reconcile.Format{
		Title: "Mercado Pago: Reports, Account balance",
		Columns: reconcile.Columns{
			Reference: "EXTERNAL_REFERENCE", ProviderRef: "SOURCE_ID", Type: "TRANSACTION_TYPE", Amount: "TRANSACTION_AMOUNT",
			Currency: "TRANSACTION_CURRENCY", Date: "TRANSACTION_DATE?", Fees: []string{"FEE_AMOUNT?"},
		},
		Kinds: map[string]reconcile.Kind{
			"SETTLEMENT": reconcile.Charge, "REFUND": reconcile.Refund, "CHARGEBACK": reconcile.Chargeback, "DISPUTE": reconcile.Chargeback,
			"WITHDRAWAL": reconcile.Other, "CASHBACK": reconcile.Other, "SETTLEMENT_SHIPPING": reconcile.Other, "REFUND_SHIPPING": reconcile.Other,
			"CHARGEBACK_SHIPPING": reconcile.Other, "DISPUTE_SHIPPING": reconcile.Other, "*": reconcile.Other,
		},
		Outgoing: true,
	}
}
