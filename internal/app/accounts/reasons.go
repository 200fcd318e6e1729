package accounts

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	accountIsSimulated       = problem.Define1("account.id_simulated", "account")
	accountIDTaken           = problem.Define1("account.id_taken", "account")
	merchantOfAccountUnknown = problem.Define1("account.merchant_unknown", "merchant")
	noCredentialGiven        = problem.Define("account.no_credential")
	payoutLimitNotUSD        = problem.Define1("account.payout_limit_not_usd", "currency")
	railNotServed            = problem.Define3("account.rail_not_served", "provider", "rail", "rails")
	settingWrong             = problem.Define1("account.setting_wrong", "detail")
	manyUnknownNotifications = problem.Define("notification.many_unknown")
	notificationNotLookedUp  = problem.Define("notification.not_looked_up")
	notificationUnsigned     = problem.Define("notification.unsigned")
)
