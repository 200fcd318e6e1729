package main

// core lists the schemas that the hand-written part of each SDK reads: envelopes, tokens, pages and events.
var core = map[string]bool{
	"Envelope": true, "Problem": true, "Pagination": true, "Event": true, "EventData": true, "LoggedOut": true, "LogoutRequest": true,
	"RefreshRequest": true, "RefreshedToken": true, "TokenRequest": true, "TokenPair": true,
}

// handWritten lists the operations that the session of each SDK calls.
var handWritten = map[string]bool{"createToken": true, "refreshToken": true, "logout": true}

// enumNames are the names of enumerations that several schemas have, by the first value of each in the document's
// schema and field.
var enumNames = map[string]string{
	"Event.type":            "EventType",
	"Problem.code":          "ErrorCode",
	"Problem.type":          "ErrorType",
	"Payment.status":        "PaymentStatus",
	"Claim.status":          "ClaimStatus",
	"DeliveryAttempt.error": "DeliveryError",
	"Delivery.status":       "DeliveryStatus",
	"Withdrawal.status":     "WithdrawalStatus",
	"Settlement.status":     "SettlementStatus",
	"Wallet.status":         "WalletStatus",
	"Verification.status":   "VerificationStatus",
	"Movement.type":         "MovementType",
	"Balance.tier":          "Tier",
	"Webhook.events":        "WebhookEvent",
}

// variant is one of several operations that the API has at one address, chosen by a parameter.
type variant struct {
	id, doc string
	fixed   map[string]string
	without []string // parameters that have no meaning here
	file    bool
}

// variants lists the operations whose reply is of several kinds.
var variants = map[string][]variant{
	"getSettlementReport": {
		{id: "getSettlementReport", fixed: map[string]string{"format": "json"}, without: []string{"format", "decimal"}},
		{id: "getSettlementPdf", doc: "Read a settlement's receipt as PDF", fixed: map[string]string{"format": "pdf"}, without: []string{"format", "decimal"}, file: true},
		{id: "getSettlementCsv", doc: "Read a settlement's lines as CSV", fixed: map[string]string{"format": "csv"}, without: []string{"format"}, file: true},
	},
	"getEvidenceFile": {{id: "getEvidenceFile", file: true}},
}
