package merchants

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	ownersExport    = problem.Define("page.owners_export")
	pictureTooLarge = problem.Define("page.picture_too_large")
	unknownActor    = problem.Define("page.unknown_actor")
)
