package dlocal

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// declines are the rejections (reference: Payment status codes, Rejection
// status). Soft are those that speak of the way and not of the shopper.
var declines = provider.Declines{
	"300": provider.Soft(pay.CodeCardDeclined, "rejected", "the payment was declined"),
	"301": provider.Soft(pay.CodeCardDeclined, "do_not_honor", "the shopper's bank declined the payment"),
	"302": provider.Hard(pay.CodeInsufficientFunds, "insufficient_funds", "there are not enough funds"),
	"303": provider.Hard(pay.CodeFraudBlocked, "card_blocked", "the card is not accepted"),
	"304": provider.Hard(pay.CodeFraudBlocked, "risk_score", "the payment was refused for risk"),
	"305": provider.Hard(pay.CodeCardDeclined, "too_many_attempts", "the card was tried too often"),
	"306": provider.Hard(pay.CodeCardDeclined, "call_issuer", "the shopper has to call the card's bank"),
	"307": provider.Hard(pay.CodeCardDeclined, "duplicate", "the same payment was made before"),
	"308": provider.Hard(pay.CodeCardDeclined, "card_disabled", "the card is not active"),
	"309": provider.Hard(pay.CodeExpiredCard, "expired_card", "the card has expired"),
	"310": provider.Hard(pay.CodeCardDeclined, "lost_card", "the card was declined"),
	"311": provider.Hard(pay.CodeCardDeclined, "pick_up_card", "the card was declined"),
	"312": provider.Hard(pay.CodeCardDeclined, "restricted_card", "the card's bank does not allow this payment"),
	"313": provider.Hard(pay.CodeFraudBlocked, "stolen_card", "the card was declined"),
	"314": provider.Hard(pay.CodeCardDeclined, "invalid_number", "the card's number is not valid"),
	"315": provider.Hard(pay.CodeCardDeclined, "invalid_cvv", "the card's security code is not valid"),
	"316": provider.Soft(pay.CodeCardDeclined, "unsupported_operation", "the payment could not be processed"),
	"317": provider.Hard(pay.CodeFraudBlocked, "high_risk", "the payment was refused for risk"),
	"318": provider.Soft(pay.CodeCardDeclined, "invalid_transaction", "the payment could not be processed"),
	"319": provider.Hard(pay.CodeCardDeclined, "amount_limit", "the amount is above a limit of the card"),
	"320": provider.Soft(pay.CodeCardDeclined, "three_ds_required", "the card's bank wants to see the shopper"),
	"321": provider.Soft(pay.CodeCardDeclined, "processor_error", "the payment could not be processed"),
	"322": provider.Hard(pay.CodeCardDeclined, "wallet_disabled", "the wallet is not active"),
	"323": provider.Hard(pay.CodeCardDeclined, "invalid_account", "the shopper's account is not valid"),
	"324": provider.Hard(pay.CodeCardDeclined, "invalid_pin", "the PIN is not valid"),
	"325": provider.Hard(pay.CodeCardDeclined, "frequency_limit", "the shopper has paid too often"),
	"326": provider.Hard(pay.CodeCardDeclined, "account_disabled", "the shopper's account is not active"),
}
