package mails

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	manyInvitations = problem.Define("mail.many_invitations")
	manyReceipts    = problem.Define("mail.many_receipts")
	noMailServer    = problem.Define("mail.no_server")
)
