package sandbox

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// SimulatedAction is a simulated action (SBX-5, SBX-8).
type SimulatedAction string

// The actions. SlowPayment is only for the header, Refunded only for the simulate call.
const (
	Paid        SimulatedAction = "paid"
	Failed      SimulatedAction = "failed"
	Expired     SimulatedAction = "expired"
	Refunded    SimulatedAction = "refunded"
	Chargeback  SimulatedAction = "chargeback"
	SlowPayment SimulatedAction = sandbox.SlowPayment
)

// HeaderActions lists the values of the header Sandbox-Simulate.
func HeaderActions() []SimulatedAction {
	return []SimulatedAction{Paid, Failed, Expired, Chargeback, SlowPayment}
}

// allows returns an error if the simulation table does not allow the action on the payment now
// (SBX-6).
//
// Errors: conflict_state.
func (a SimulatedAction) allows(p pay.Payment) error {
	from := pay.Pending
	if a == Refunded || a == Chargeback {
		from = pay.Completed
	}
	if p.Status == from && !(a == Chargeback && p.Disputes.Any) {
		return nil
	}
	return &problem.Error{
		Code:    problem.ConflictState,
		Reason:  cannotSimulate.With(a, from),
		Details: problem.Details{From: string(p.Status), Action: string(a)},
	}
}

// unmoved allows the action only on a payment that has not changed since it was seen: of two at the
// same time, one succeeds.
func (a SimulatedAction) unmoved(seen pay.Payment) func(pay.Payment) error {
	return func(read pay.Payment) error {
		if read.Version == seen.Version {
			return nil
		}
		return a.allows(read)
	}
}
