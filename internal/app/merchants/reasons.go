package merchants

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	merchantChanged    = problem.Define("merchant.changed")
	emailNotOneAddress = problem.Define1("merchant.email_not_one_address", "address")
	manyShops          = problem.Define1("merchant.many_shops", "shops")
	nameRequired       = problem.Define("merchant.name_required")
	nameMisleads       = problem.Define1("merchant.name_unreadable", "field")
	refundFeesUnknown  = problem.Define1("merchant.refund_fees_unknown", "word")
	logoNoPicture      = problem.Define("shop.logo_no_picture")
	logoRefused        = problem.Define1("shop.logo_refused", "why")
	logoTooLarge       = problem.Define1("shop.logo_too_large", "bytes")
	logoTooWide        = problem.Define2("shop.logo_too_wide", "width", "height")
	scoreWithoutReason = problem.Define("merchant.score_without_reason")
	shopNameTaken      = problem.Define("shop.name_taken")
	noPicture          = problem.Define("shop.no_picture")
)
