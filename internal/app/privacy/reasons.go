package privacy

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	shopperNeedsMerchant = problem.Define("privacy.merchant_required")
	keptForNotification  = problem.Define1("privacy.notification_waits", "notification")
	shopperUnnamed       = problem.Define("privacy.shopper_unnamed")
)
