package frame

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	dayUnreadable   = problem.Define("page.day_unreadable")
	filesAtOnce     = problem.Define("page.files_at_once")
	FormIncomplete  = problem.Define("page.form_incomplete")
	formOfOtherSite = problem.Define("page.form_of_other_site")
	formTooLarge    = problem.Define("page.form_too_large")
	pagesWatch      = problem.Define("page.many_watch")
	pageOutOfReach  = problem.Define("page.out_of_reach")
	readsAtOnce     = problem.Define("page.reads_at_once")
	unknownFilter   = problem.Define("page.unknown_filter")
	UnknownLanguage = problem.Define("page.unknown_language")
	pageUsedWrongly = problem.Define("page.used_wrongly")
)
