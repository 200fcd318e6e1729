package books

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	chooseFile          = problem.Define("console.choose_file")
	chooseReportAccount = problem.Define("console.choose_report_account")
	noCheckRuns         = problem.Define("console.no_check_runs")
	noCurrency          = problem.Define("console.no_currency")
	rateUnreadable      = problem.Define("console.rate_unreadable")
	ratesJump           = problem.Define2("console.rates_jump", "rates", "most")
)
