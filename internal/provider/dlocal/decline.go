package dlocal

import "github.com/cascadapay/cascada/internal/pay"

// decline is a rejection in our words.
type decline struct {
	code            pay.Code
	reason, message string
	soft            bool // another provider may approve
}

// declines are the rejections (reference: Payment status codes, Rejection
// status). Soft are those that speak of the way and not of the shopper.
var declines = map[word]decline{
	"300": {pay.CodeCardDeclined, "rejected", "the payment was declined", true},
	"301": {pay.CodeCardDeclined, "do_not_honor", "the shopper's bank declined the payment", true},
	"302": {pay.CodeInsufficientFunds, "insufficient_funds", "there are not enough funds", false},
	"303": {pay.CodeFraudBlocked, "card_blocked", "the card is not accepted", false},
	"304": {pay.CodeFraudBlocked, "risk_score", "the payment was refused for risk", false},
	"305": {pay.CodeCardDeclined, "too_many_attempts", "the card was tried too often", false},
	"306": {pay.CodeCardDeclined, "call_issuer", "the shopper has to call the card's bank", false},
	"307": {pay.CodeCardDeclined, "duplicate", "the same payment was made before", false},
	"308": {pay.CodeCardDeclined, "card_disabled", "the card is not active", false},
	"309": {pay.CodeExpiredCard, "expired_card", "the card has expired", false},
	"310": {pay.CodeCardDeclined, "lost_card", "the card was declined", false},
	"311": {pay.CodeCardDeclined, "pick_up_card", "the card was declined", false},
	"312": {pay.CodeCardDeclined, "restricted_card", "the card's bank does not allow this payment", false},
	"313": {pay.CodeFraudBlocked, "stolen_card", "the card was declined", false},
	"314": {pay.CodeCardDeclined, "invalid_number", "the card's number is not valid", false},
	"315": {pay.CodeCardDeclined, "invalid_cvv", "the card's security code is not valid", false},
	"316": {pay.CodeCardDeclined, "unsupported_operation", "the payment could not be processed", true},
	"317": {pay.CodeFraudBlocked, "high_risk", "the payment was refused for risk", false},
	"318": {pay.CodeCardDeclined, "invalid_transaction", "the payment could not be processed", true},
	"319": {pay.CodeCardDeclined, "amount_limit", "the amount is above a limit of the card", false},
	"320": {pay.CodeCardDeclined, "three_ds_required", "the card's bank wants to see the shopper", true},
	"321": {pay.CodeCardDeclined, "processor_error", "the payment could not be processed", true},
	"322": {pay.CodeCardDeclined, "wallet_disabled", "the wallet is not active", false},
	"323": {pay.CodeCardDeclined, "invalid_account", "the shopper's account is not valid", false},
	"324": {pay.CodeCardDeclined, "invalid_pin", "the PIN is not valid", false},
	"325": {pay.CodeCardDeclined, "frequency_limit", "the shopper has paid too often", false},
	"326": {pay.CodeCardDeclined, "account_disabled", "the shopper's account is not active", false},
}
