package payments

import (
	"github.com/cascadapay/cascada/internal/api/call"
)

// publish adds to the published document what the validated one cannot say.
func publish(paths, schemas map[string]any) {
	for _, name := range []string{"PaymentBody", "SessionBody", "LinkBody"} { // a longer text has an error of its own
		if country, ok := call.Dig(schemas, name, "properties", "country"); ok {
			country["maxLength"] = 3
		}
	}
	for body, fields := range map[string][]string{"PaymentBody": {"amount"}, "LinkBody": {"amount"}, "OpenAmountBody": {"min", "max"}, "InstallmentsBody": {"min"}} {
		for _, field := range fields {
			call.PublishAmount(schemas, body, field, 25.5)
		}
	}
	for _, path := range []string{"/payments", "/payments/export", "/transactions"} {
		call.PublishAmountParam(paths, path, false)
	}
	publishSessions(schemas)
	publishPurchases(schemas)
	call.Require(schemas, "PaymentBody", "amount")
	call.Require(schemas, "OpenAmountBody", "min", "max")
	call.RequireAny(schemas, "PaymentBody", []string{"paymentMethodId"}, []string{"paymentMethod"})
	call.RequireAny(schemas, "SessionBody", []string{"paymentMethodId"}, []string{"customer"})
	call.RequireAny(schemas, "LinkBody", []string{"amount"}, []string{"openAmount"})
	call.RequireAny(schemas, "ChangeLinkInBody", []string{"status"}, []string{"expiresAt"})
}
