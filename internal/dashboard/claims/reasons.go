package claims

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	noFormWithFiles = problem.Define("page.no_form_with_files")
	noList          = problem.Define("page.no_list")
)
