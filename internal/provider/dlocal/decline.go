package dlocal

import (
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
)

// declines are the rejections (reference: Payment status codes, Rejection status). Soft
// ones have a reason that lies with the provider, not with the shopper.
var declines = provider.Declines{
	"300": provider.Soft(problem.CardDeclined, "rejected", "the payment was declined"),
	"301": provider.Soft(problem.CardDeclined, "do_not_honor", "the shopper's bank declined the payment"),
	"302": provider.Hard(problem.InsufficientFunds, "insufficient_funds", "there are not enough funds"),
	"303": provider.Hard(problem.FraudBlocked, "card_blocked", "the card is not accepted"),
	"304": provider.Hard(problem.FraudBlocked, "risk_score", "the payment was refused as a risk"),
	"305": provider.Hard(problem.CardDeclined, "too_many_attempts", "the card was tried too often"),
	"306": provider.Hard(problem.CardDeclined, "call_issuer", "the shopper has to call the card's bank"),
	"307": provider.Hard(problem.CardDeclined, "duplicate", "the same payment was made before"),
	"308": provider.Hard(problem.CardDeclined, "card_disabled", "the card is not active"),
	"309": provider.Hard(problem.ExpiredCard, "expired_card", "the card has expired"),
	"310": provider.Hard(problem.CardDeclined, "lost_card", "the card was declined"),
	"311": provider.Hard(problem.CardDeclined, "pick_up_card", "the card was declined"),
	"312": provider.Hard(problem.CardDeclined, "restricted_card", "the card's bank does not allow this payment"),
	"313": provider.Hard(problem.FraudBlocked, "stolen_card", "the card was declined"),
	"314": provider.Hard(problem.CardDeclined, "invalid_number", "the card's number is not valid"),
	"315": provider.Hard(problem.CardDeclined, "invalid_cvv", "the card's security code is not valid"),
	"316": provider.Soft(problem.CardDeclined, "unsupported_operation", "the payment could not be processed"),
	"317": provider.Hard(problem.FraudBlocked, "high_risk", "the payment was refused as a risk"),
	"318": provider.Soft(problem.CardDeclined, "invalid_transaction", "the payment could not be processed"),
	"319": provider.Hard(problem.CardDeclined, "amount_limit", "the amount is above a limit of the card"),
	"320": provider.Soft(problem.CardDeclined, "three_ds_required", "the card's bank requires the shopper's authentication"),
	"321": provider.Soft(problem.CardDeclined, "processor_error", "the payment could not be processed"),
	"322": provider.Hard(problem.CardDeclined, "wallet_disabled", "the wallet is not active"),
	"323": provider.Hard(problem.CardDeclined, "invalid_account", "the shopper's account is not valid"),
	"324": provider.Hard(problem.CardDeclined, "invalid_pin", "the PIN is not valid"),
	"325": provider.Hard(problem.CardDeclined, "frequency_limit", "the shopper has paid too often"),
	"326": provider.Hard(problem.CardDeclined, "account_disabled", "the shopper's account is not active"),
}
