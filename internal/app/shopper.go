package app

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Shown is a payment as its shopper sees it.
type Shown struct {
	pay.Payment
	Shop pay.Shop
	Rail pay.Rail
	Now  time.Time // in the payment's clock
	// Simulated: it has a simulated bank.
	Simulated bool
	// Earlier is the payment of the same order that holds money, so that this one is
	// not to be paid; "" where none does.
	Earlier string
}

// Shown reads the payment behind a link. The link is all that a shopper has,
// so no credentials are asked for.
//
// Errors: transaction_not_found.
func (a *App) Shown(ctx context.Context, id string) (Shown, error) {
	unknown := pay.NewError(pay.CodeTransactionNotFound, "there is no such payment")
	if !base.Storable(id) {
		return Shown{}, unknown
	}
	p, err := a.Store.AnyPayment(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return Shown{}, unknown
	}
	if err != nil {
		return Shown{}, err
	}
	_, shop, err := a.Tenant(ctx, base.Principal{Scope: p.Scope})
	if err != nil {
		return Shown{}, err
	}
	shown := Shown{Payment: p, Shop: shop, Rail: a.catalog.ByID[p.RailID], Now: a.TimeOf(p.Scope), Simulated: a.IsSimulated(p)}
	if earlier, held, err := a.holder(ctx, p.After); err != nil {
		return Shown{}, err
	} else if held {
		shown.Earlier = earlier.ID
	}
	return shown, nil
}

// Versions tells how often payments were written: who watches one sees by it that it changed.
func (a *App) Versions(ctx context.Context, payments []string) (map[string]int64, error) {
	return a.Store.Versions(ctx, payments)
}

// BankAction is what a person does on the simulated bank's page.
type BankAction string

// What can be done there.
const (
	BankPay      BankAction = "pay"
	BankDecline  BankAction = "decline"
	BankTimeout  BankAction = "timeout"      // the shopper lets the window pass
	BankLate     BankAction = "late"         // pays when it has passed
	BankMismatch BankAction = "wrong_amount" // pays a cent less
)

// AtBank plays an ending of a sandbox payment.
//
// Errors: transaction_not_found (also for a payment of a real provider: it has no
// simulated bank), invalid_request, conflict_state when the payment is not open
// any more.
func (a *App) AtBank(ctx context.Context, id string, action BankAction, cause view.Cause) (pay.Payment, error) {
	shown, err := a.Shown(ctx, id)
	if err != nil {
		return pay.Payment{}, err
	}
	p := shown.Payment
	if !shown.Simulated {
		return p, pay.NewError(pay.CodeTransactionNotFound, "this payment has no simulated bank")
	}
	plays := map[BankAction]pay.Action{
		BankPay: pay.SimulatePaid, BankDecline: pay.SimulateFailed, BankTimeout: pay.SimulateExpired, BankLate: pay.SimulateExpired,
	}
	if action == BankMismatch {
		if err := p.CheckSimulate(pay.SimulatePaid); err != nil {
			return p, err
		}
		less := money.New(p.Local.Minor-1, p.Local.Currency)
		next, _, err := a.Tell(ctx, p, sandbox.Notification{Status: "paid", Amount: less.Decimal(), Currency: string(less.Currency)}, cause)
		return next, err
	}
	play, known := plays[action]
	if !known {
		return p, pay.FieldError(pay.CodeInvalidRequest, "action", "there is no such action")
	}
	if p, _, err = a.Move(ctx, p, play, cause); err != nil || action != BankLate {
		return p, err
	}
	p, _, err = a.Tell(ctx, p, sandbox.Notification{Status: "paid", Amount: p.Local.Decimal(), Currency: string(p.Local.Currency)}, cause)
	return p, err
}
