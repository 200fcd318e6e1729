package mercadopago

import "github.com/cascadapay/cascada/internal/reconcile"

// report is the account balance report.
func report() reconcile.Format {
	return reconcile.Format{
		Title: "Mercado Pago: Reports, Account balance",
		Columns: reconcile.Columns{
			Reference: "EXTERNAL_REFERENCE", ProviderRef: "SOURCE_ID", Type: "TRANSACTION_TYPE", Amount: "TRANSACTION_AMOUNT",
			Currency: "TRANSACTION_CURRENCY", Date: "TRANSACTION_DATE?", Fees: []string{"FEE_AMOUNT?"},
		},
		Kinds: map[string]reconcile.Kind{
			"SETTLEMENT": reconcile.Charge, "REFUND": reconcile.Refund, "CHARGEBACK": reconcile.Chargeback, "*": reconcile.Other,
		},
	}
}
