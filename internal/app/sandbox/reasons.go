package sandbox

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	cannotSimulate         = problem.Define2("sandbox.action_not_possible", "action", "status")
	installmentsNotOffered = problem.Define("sandbox.installments_not_offered")
	noSimulatedBank        = problem.Define("sandbox.no_bank")
	onlyInSandbox          = problem.Define("sandbox.only")
	simulateElsewhere      = problem.Define("sandbox.simulate_elsewhere")
	unknownAction          = problem.Define("sandbox.unknown_action")
)
