package engine

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	storeBusy        = problem.Define("store.busy")
	storeDown        = problem.Define("store.down")
	restoreBrokenOff = problem.Define2("store.restore_broken_off", "path", "left")
)
