package sandbox

import (
	"context"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// BankAction is an action on the simulated bank's page.
type BankAction string

// The actions.
const (
	BankPay      BankAction = "pay"
	BankDecline  BankAction = "decline"
	BankTimeout  BankAction = "timeout"      // the shopper lets the window end
	BankLate     BankAction = "late"         // pays after the window has ended
	BankMismatch BankAction = "wrong_amount" // pays a cent less
)

// AtBank simulates the end of a sandbox payment.
//
// Errors: transaction_not_found (also for a payment of a real provider, which has no simulated
// bank), invalid_request, conflict_state if the payment is not open any more.
func (sb *Sandbox) AtBank(ctx context.Context, id string, action BankAction, cause view.Cause) (pay.Payment, error) {
	p, err := sb.cascade.AnyPayment(ctx, id)
	if err != nil {
		return p, err
	}
	if err := sb.Sandboxes.MayEnter(ctx, p.Scope); err != nil {
		return p, err
	}
	if !sb.providers.StoodIn(p) {
		return p, problem.New(problem.TransactionNotFound, "this payment has no simulated bank")
	}
	plays := map[BankAction]Action{
		BankPay: Paid, BankDecline: Failed, BankTimeout: Expired, BankLate: Expired,
	}
	if action == BankMismatch {
		if err := Paid.allows(p); err != nil {
			return p, err
		}
		less := money.New(p.Price.Local.Minor-1, p.Price.Local.Currency)
		next, _, err := sb.Tell(ctx, p, sandbox.Notification{Status: "paid", Amount: less.Decimal(), Currency: string(less.Currency)}, nil, cause)
		return next, err
	}
	play, known := plays[action]
	if !known {
		return p, problem.Field(problem.InvalidRequest, "action", "there is no such action")
	}
	if p, _, err = sb.Move(ctx, p, play, cause); err != nil || action != BankLate {
		return p, err
	}
	p, _, err = sb.Tell(ctx, p, sandbox.Notification{Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)}, nil, cause)
	return p, err
}
