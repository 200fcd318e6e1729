package accounts

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	typeTheAccountsID     = problem.Define1("console.account_confirm", "account")
	accountVersionMissing = problem.Define("console.account_version_missing")
	chooseProvider        = problem.Define("console.choose_provider")
	chooseRails           = problem.Define("console.choose_rails")
	noProvider            = problem.Define("console.no_provider")
	priorityUnreadable    = problem.Define("console.priority_unreadable")
)
