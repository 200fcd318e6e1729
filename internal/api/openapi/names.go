package openapi

import (
	"fmt"
	"strings"
)

// published are the names of schemas whose Go types say too little outside of this service.
var published = map[string]string{
	"Attempt":             "DeliveryAttempt",
	"AttemptTrace":        "CascadeAttempt",
	"AuthenticationBody":  "AuthenticationInput",
	"Bounds":              "AmountBounds",
	"ChangeLinkInBody":    "PaymentLinkUpdate",
	"Clock":               "SandboxClock",
	"Created":             "CreatedPayment",
	"CreatedSettlement":   "CreatedPaymentSettlement",
	"CreatedSubscription": "CreatedWebhook",
	"CustomerBody":        "CustomerInput",
	"DeletedOutBody":      "DeletedWallet",
	"Details":             "ErrorDetails",
	"EditInBody":          "WebhookUpdate",
	"Failure":             "PaymentFailure",
	"FiltersStruct":       "PaymentMethodFilters",
	"InstallmentsBody":    "InstallmentsInput",
	"Issue":               "FieldIssue",
	"Key":                 "ApiKey",
	"Limit":               "CurrencyLimit",
	"LineItemBody":        "LineItemInput",
	"LinkBody":            "PaymentLinkRequest",
	"LoggedOutBody":       "LoggedOut",
	"Method":              "PaymentMethod",
	"MethodsOutBody":      "PaymentMethods",
	"MoveClockInBody":     "AdvanceClockRequest",
	"Named":               "NamedId",
	"OpenAmountBody":      "OpenAmountInput",
	"PaymentCustomerBody": "PaymentCustomerInput",
	"PingOutBody":         "Ping",
	"Received":            "InboxEntry",
	"ReceivedHeaders":     "InboxHeaders",
	"RefreshOutBody":      "RefreshedToken",
	"Release":             "ReserveRelease",
	"Replay":              "DeliveryReplay",
	"ReplaySpanInBody":    "EventReplayRequest",
	"RotateOutBody":       "RotatedSecret",
	"SelectBody":          "SelectMethodRequest",
	"SelectCustomerBody":  "SelectCustomerInput",
	"Selected":            "SelectedMethod",
	"Session":             "CheckoutSession",
	"SessionBody":         "CheckoutSessionRequest",
	"SessionCreated":      "CreatedCheckoutSession",
	"SettingsInBody":      "SandboxSettingsRequest",
	"SettingsOutBody":     "SandboxSettings",
	"Settling":            "PaymentSettlement",
	"SimulateInBody":      "SimulatePaymentRequest",
	"SimulateKYCInBody":   "SimulateVerificationRequest",
	"SimulateOutBody":     "SimulatedPayment",
	"SpanReplay":          "EventReplay",
	"StartKYCInBody":      "VerificationRequest",
	"SubscribeInBody":     "WebhookRequest",
	"Subscription":        "Webhook",
	"TokenOutBody":        "TokenPair",
	"Transaction":         "Payment",
	"TransactionSummary":  "PaymentSummary",
	"Try":                 "PaymentTry",
	"UnsubscribeOutBody":  "DeletedWebhook",
	"AddWalletInBody":     "WalletRequest",
	"WithdrawInBody":      "WithdrawalRequest",
}

const schemas = "#/components/schemas/"

// publishedName is the name of a schema in the document. A page is a list of its items.
func (d document) publishedName(name string) string {
	if to := published[name]; to != "" {
		return to
	}
	properties, _ := d.schema(name)["properties"].(object)
	data, _ := properties["data"].(object)
	if items, isList := data["items"].(object); isList && properties["pagination"] != nil {
		item, _ := items["$ref"].(string)
		return d.publishedName(strings.TrimPrefix(item, schemas)) + "List"
	}
	if to, found := strings.CutSuffix(name, "InBody"); found {
		return to + "Request"
	}
	if to, found := strings.CutSuffix(name, "Body"); found {
		return to + "Request"
	}
	return name
}

// rename gives the schemas their published names.
func (d document) rename() error {
	all, made := d.components("schemas"), object{}
	names := map[string]string{}
	for name := range all {
		names[name] = d.publishedName(name)
	}
	for name, node := range all {
		to := names[name]
		if made[to] != nil {
			return fmt.Errorf("openapi document: two schemas would have the name %s", to)
		}
		made[to] = node
	}
	under(d.tree, "components")["schemas"] = made
	refer(d.tree, names)
	return nil
}

// refer gives references to schemas their new names.
func refer(v any, names map[string]string) {
	switch t := v.(type) {
	case object:
		if ref, ok := t["$ref"].(string); ok && strings.HasPrefix(ref, schemas) {
			t["$ref"] = schemas + names[strings.TrimPrefix(ref, schemas)]
		}
		for _, value := range t {
			refer(value, names)
		}
	case []any:
		for _, value := range t {
			refer(value, names)
		}
	}
}
