package sandbox

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// Action is what the sandbox plays on demand (SBX-5, SBX-8).
type Action string

// Actions. SlowPayment is for the header only, Refunded for the simulate call only.
const (
	Paid        Action = "paid"
	Failed      Action = "failed"
	Expired     Action = "expired"
	Refunded    Action = "refunded"
	Chargeback  Action = "chargeback"
	SlowPayment Action = sandbox.SlowPayment
)

// HeaderActions lists what the header Sandbox-Simulate takes.
func HeaderActions() []Action {
	return []Action{Paid, Failed, Expired, Chargeback, SlowPayment}
}

// allows refuses the action on a payment that the simulation table does not allow it on now (SBX-6).
//
// Errors: conflict_state.
func (a Action) allows(p pay.Payment) error {
	from := pay.Pending
	if a == Refunded || a == Chargeback {
		from = pay.Completed
	}
	if p.Status == from && !(a == Chargeback && p.Disputes.Any) {
		return nil
	}
	return &problem.Error{
		Code:    problem.ConflictState,
		Message: fmt.Sprintf("cannot simulate %s: it needs a payment that is %s and has no open dispute", a, from),
		Details: problem.Details{From: string(p.Status), Action: string(a)},
	}
}

// unmoved allows the action on a payment that nobody has moved since somebody saw it: of two
// at a time one counts.
func (a Action) unmoved(seen pay.Payment) func(pay.Payment) error {
	return func(read pay.Payment) error {
		if read.Version == seen.Version {
			return nil
		}
		return a.allows(read)
	}
}
