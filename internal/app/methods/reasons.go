package methods

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	countryUnreadable  = problem.Define("method.country_unreadable")
	filterIsID         = problem.Define2("method.filter_is_id", "methods", "method")
	filterMeant        = problem.Define2("method.filter_meant", "methods", "method")
	filterUnknown      = problem.Define1("method.filter_unknown", "methods")
	idForName          = problem.Define1("method.id_for_name", "method")
	nameForID          = problem.Define1("method.name_for_id", "method")
	slugNotThere       = problem.Define2("method.name_not_in_country", "method", "country")
	nameUnknown        = problem.Define("method.name_unknown")
	nameUnknownMeant   = problem.Define1("method.name_unknown_meant", "method")
	methodNotThere     = problem.Define3("method.not_in_country", "method", "country", "code")
	methodOfSandbox    = problem.Define1("method.of_sandbox", "method")
	methodRequired     = problem.Define("method.required")
	methodUnknown      = problem.Define("method.unknown")
	methodUnknownMeant = problem.Define1("method.unknown_meant", "method")
)
