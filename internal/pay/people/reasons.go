package people

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	linkUseless       = problem.Define("user.link_useless")
	nameLength        = problem.Define("user.name_length")
	nameUnreadable    = problem.Define("user.name_unreadable")
	NotAnAddress      = problem.Define("user.not_an_address")
	passkeyNameLength = problem.Define("user.passkey_name_length")
	passwordCommon    = problem.Define("user.password_common")
	passwordLong      = problem.Define("user.password_long")
	passwordPersonal  = problem.Define("user.password_personal")
	passwordRepeats   = problem.Define("user.password_repeats")
	passwordShort     = problem.Define("user.password_short")
	roleLacksRight    = problem.Define1("user.role_lacks_right", "right")
	unknownRole       = problem.Define1("user.unknown_role", "roles")
)
