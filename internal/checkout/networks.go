package checkout

// atLeast is how many places accept the vouchers of a network at least, by rail. The
// numbers are published by others, and rounded down. There are no opening hours, because
// none are published that hold for all places of a network.
//
// OXXO: developer.worldpay.com/products/apms/oxxo (November 2025), "20,000+", and
// docs.connect.worldline-solutions.com/payment-product/oxxo-pay. Efecty:
// docs.solidgate.com/payments/alternative-payments/efecty, "over 8,000". Pago Fácil:
// docs.connect.worldline-solutions.com/payment-product/pago-facil, 3,600. Read in 2026.
var atLeast = map[string]int{
	"cash.oxxo.MEX":      20_000,
	"cash.efecty.COL":    8_000,
	"cash.pagofacil.ARG": 3_500,
}
