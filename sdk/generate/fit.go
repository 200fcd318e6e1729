package main

import "strings"

// renamed are the names of schemas that say too little outside of the document.
var renamed = map[string]string{
	"Transaction":        "Payment",
	"TransactionSummary": "PaymentSummary",
	"Created":            "CreatedPayment",
	"CreatedSettlement":  "CreatedPaymentSettlement",
	"Settling":           "PaymentSettlement",
	"Try":                "PaymentTry",
	"Failure":            "PaymentFailure",
	"Session":            "CheckoutSession",
	"SessionCreated":     "CreatedCheckoutSession",
	"SessionBody":        "CheckoutSessionRequest",
	"Selected":           "SelectedMethod",
	"SelectBody":         "SelectMethodRequest",
	"Method":             "PaymentMethod",
	"MethodsOutBody":     "PaymentMethods",
	"Subscription":       "Webhook",
	"SubscribeInBody":    "WebhookRequest",
	"EditInBody":         "WebhookUpdate",
	"Attempt":            "DeliveryAttempt",
	"Replay":             "DeliveryReplay",
	"SpanReplay":         "EventReplay",
	"ReplaySpanInBody":   "EventReplayRequest",
	"RotateOutBody":      "RotatedSecret",
	"Received":           "InboxEntry",
	"ReceivedHeaders":    "InboxHeaders",
	"Key":                "ApiKey",
	"Issue":              "FieldIssue",
	"Details":            "ErrorDetails",
	"Bounds":             "AmountBounds",
	"Limit":              "CurrencyLimit",
	"AttemptTrace":       "CascadeAttempt",
	"FiltersStruct":      "PaymentMethodFilters",
	"Release":            "ReserveRelease",
	"Clock":              "SandboxClock",
	"MoveClockInBody":    "AdvanceClockRequest",
	"SettingsInBody":     "SandboxSettingsRequest",
	"SettingsOutBody":    "SandboxSettings",
	"PingOutBody":        "Ping",
	"AddWalletInBody":    "WalletRequest",
	"WithdrawInBody":     "WithdrawalRequest",
	"DeletedOutBody":     "DeletedWallet",
	"UnsubscribeOutBody": "DeletedWebhook",
	"SimulateOutBody":    "SimulatedPayment",
	"SimulateInBody":     "SimulatePaymentRequest",
	"StartKYCInBody":     "VerificationRequest",
	"SimulateKYCInBody":  "SimulateVerificationRequest",
	"Named":              "NamedId",
}

// core lists the schemas that the hand-written part of each SDK reads: envelopes, tokens, pages and events.
var core = map[string]bool{
	"Envelope": true, "Problem": true, "Pagination": true, "Event": true, "EventData": true, "LoggedOutBody": true, "LogoutInBody": true,
	"RefreshInBody": true, "RefreshOutBody": true, "TokenInBody": true, "TokenOutBody": true,
}

// handWritten lists the operations that the session of each SDK calls.
var handWritten = map[string]bool{"createToken": true, "refreshToken": true, "logout": true}

// nameOf returns the SDKs' name of a schema.
func nameOf(name string) string {
	if to := renamed[name]; to != "" {
		return to
	}
	if to, found := strings.CutSuffix(name, "InBody"); found {
		return to + "Request"
	}
	if to, found := strings.CutSuffix(name, "Body"); found {
		if nested[name] {
			return to + "Input"
		}
		return to + "Request"
	}
	return name
}

// nested lists the parts of bodies.
var nested = map[string]bool{"AuthenticationBody": true, "CustomerBody": true, "InstallmentsBody": true, "LineItemBody": true, "SelectCustomerBody": true}

// enumNames are the names of enumerations that several schemas have, by the first value of each in the document's
// schema and field.
var enumNames = map[string]string{
	"Event.type":          "EventType",
	"Problem.code":        "ErrorCode",
	"Problem.type":        "ErrorType",
	"Transaction.status":  "PaymentStatus",
	"Claim.status":        "ClaimStatus",
	"Attempt.error":       "DeliveryError",
	"Delivery.status":     "DeliveryStatus",
	"Withdrawal.status":   "WithdrawalStatus",
	"Settlement.status":   "SettlementStatus",
	"Wallet.status":       "WalletStatus",
	"Verification.status": "VerificationStatus",
	"Movement.type":       "MovementType",
	"Balance.tier":        "Tier",
}

// kinds replaces what the document says of a field.
var kinds = map[string]kind{
	"InstallmentsBody.min":      {Of: "number"},
	"DeliveryDetail.payload":    {Of: "event"},
	"Received.payload":          {Of: "event"},
	"EditInBody.authentication": {Of: "object", Ref: "AuthenticationInput", Nullable: true},
}

// secret is the operation whose reply has a field that the same resource has nowhere else.
const (
	secretOperation = "createWebhook"
	secretSchema    = "Subscription"
	secretField     = "secret"
	secretName      = "CreatedWebhook"
)

// variant is one of several operations that the API has at one address, chosen by a parameter.
type variant struct {
	id, doc string
	fixed   map[string]string
	without []string // parameters that have no meaning here
	file    bool
}

// variants lists the operations whose reply is of several kinds.
var variants = map[string][]variant{
	"listPayments": {
		{id: "listPayments", without: []string{"format", "decimal"}},
		{
			id: "exportPayments", doc: "Export payments as CSV: everything that the filter selects", fixed: map[string]string{"format": "csv"},
			without: []string{"format", "limit", "offset", "startingAfter"}, file: true,
		},
	},
	"getSettlementReport": {
		{id: "getSettlementReport", fixed: map[string]string{"format": "json"}, without: []string{"format", "decimal"}},
		{id: "getSettlementPdf", doc: "Read a settlement's receipt as PDF", fixed: map[string]string{"format": "pdf"}, without: []string{"format", "decimal"}, file: true},
		{id: "getSettlementCsv", doc: "Read a settlement's lines as CSV", fixed: map[string]string{"format": "csv"}, without: []string{"format"}, file: true},
	},
	"getEvidenceFile": {{id: "getEvidenceFile", file: true}},
}
