package sandbox

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/view"
)

// BankAction is an action on the simulated bank's page.
type BankAction string

// The actions.
const (
	BankPay      BankAction = "pay"
	BankConfirm  BankAction = "confirm" // passes the challenge of a card, and pays
	BankDecline  BankAction = "decline"
	BankTimeout  BankAction = "timeout"      // the shopper lets the window end
	BankLate     BankAction = "late"         // pays after the window has ended
	BankMismatch BankAction = "wrong_amount" // pays a cent less
)

// AmountTable is the table of the test amounts of a card, in Markdown.
func AmountTable() string { return sandbox.AmountTable() }

// Plans are the installments that a shopper may choose on a simulated bank's page.
func Plans(p pay.Payment) []installment.Plan {
	if !p.Way.Sync || p.Status != pay.Pending {
		return nil
	}
	return sandbox.Plans(p.Price.Local, p.Terms.Installments)
}

// payIn pays in a number of installments.
//
// Errors: invalid_request for a number that is not offered.
func (sb *Sandbox) payIn(ctx context.Context, p pay.Payment, count string, cause view.Cause) (pay.Payment, error) {
	if err := Paid.allows(p); err != nil {
		return p, err
	}
	for _, plan := range Plans(p) {
		if strconv.Itoa(plan.Count) == count {
			next, _, err := sb.Notify(ctx, p, sandbox.Notification{
				Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency),
				Installments: plan.Count, Total: plan.Total.Decimal(), Interest: string(plan.By),
			}, Paid.unmoved(p), cause)
			return next, err
		}
	}
	return p, problem.Field(problem.InvalidRequest, "installments", installmentsNotOffered)
}

// AtBank simulates the end of a sandbox payment. count is the number of installments in which BankPay and BankConfirm pay, "" for none.
//
// Errors: transaction_not_found (also for a payment of a real provider, which has no simulated
// bank), invalid_request, conflict_state if the payment is not open any more.
func (sb *Sandbox) AtBank(ctx context.Context, id string, simulated BankAction, count string, cause view.Cause) (pay.Payment, error) {
	p, err := sb.cascade.AnyPayment(ctx, id)
	if err != nil {
		return p, err
	}
	if err := sb.Sandboxes.MayEnter(ctx, p.Scope); err != nil {
		return p, err
	}
	if !sb.providers.StoodIn(p) {
		return p, problem.New(problem.TransactionNotFound, noSimulatedBank)
	}
	if first := firstAnswer(p); simulated == BankPay && first != "" {
		if first == sandbox.Challenge { // the page asks for it: Challenges
			attempt, _ := p.Attempts.Current()
			return sb.challenge(ctx, p, p.Reference(attempt.Order))
		}
		return sb.refuseCard(ctx, p, first, cause)
	}
	plays := map[BankAction]SimulatedAction{
		BankPay: Paid, BankConfirm: Paid, BankDecline: Failed, BankTimeout: Expired, BankLate: Expired,
	}
	if simulated == BankMismatch {
		if err := Paid.allows(p); err != nil {
			return p, err
		}
		less := money.New(p.Price.Local.Minor-1, p.Price.Local.Currency)
		next, _, err := sb.Notify(ctx, p, sandbox.Notification{Status: "paid", Amount: less.Decimal(), Currency: string(less.Currency)}, nil, cause)
		return next, err
	}
	if count != "" && plays[simulated] == Paid {
		return sb.payIn(ctx, p, count, cause)
	}
	if reason, ok := strings.CutPrefix(string(simulated), string(BankDecline)+":"); ok || simulated == BankDecline && onPage(p) {
		return sb.refuseCard(ctx, p, decline.Reason(cmp.Or(reason, string(decline.DoNotHonor))), cause)
	}
	if (simulated == BankTimeout || simulated == BankLate) && onPage(p) {
		return sb.leave(ctx, p, simulated, cause)
	}
	play, known := plays[simulated]
	if !known {
		return p, problem.Field(problem.InvalidRequest, "action", unknownAction)
	}
	if p, _, err = sb.Move(ctx, p, play, cause); err != nil || simulated != BankLate {
		return p, err
	}
	p, _, err = sb.Notify(ctx, p, sandbox.Notification{Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)}, nil, cause)
	return p, err
}

// challenge notes on which charge's page the shopper typed a card and has 3-D Secure to pass: to leave it now is a try. "" notes that
// the challenge is over.
//
// Errors: conflict_state.
func (sb *Sandbox) challenge(ctx context.Context, p pay.Payment, reference string) (pay.Payment, error) {
	return base.Decide(func() (pay.Payment, error) {
		p, err := sb.cascade.AnyPayment(ctx, p.ID)
		if err != nil || p.Script.Challenge == reference {
			return p, err
		}
		if err := Paid.allows(p); err != nil {
			return p, err
		}
		script := p.Script
		script.Challenge = reference
		next, change := script.Plays(p, sb.TimeOf(p.Scope))
		return next, sb.Commit(ctx, change, view.Cause{})
	})
}

// leave is a shopper who lets the time of a card's page end, as in production, and with BankLate pays afterwards.
func (sb *Sandbox) leave(ctx context.Context, p pay.Payment, simulated BankAction, cause view.Cause) (pay.Payment, error) {
	if err := Expired.allows(p); err != nil {
		return p, err
	}
	n := sandbox.Notification{Status: "left"}
	if attempt, _ := p.Attempts.Current(); p.Script.Challenge == p.Reference(attempt.Order) {
		n.Reason = string(decline.Abandoned)
	}
	next, _, err := sb.Notify(ctx, p, n, Expired.unmoved(p), cause)
	if err != nil || simulated != BankLate {
		return next, err
	}
	next, _, err = sb.Notify(ctx, next, sandbox.Notification{Status: "paid", Amount: p.Price.Local.Decimal(), Currency: string(p.Price.Local.Currency)}, nil, cause)
	return next, err
}

// onPage reports whether a payment waits on a card's page, where a refusal is a try, and the shopper may try again.
func onPage(p pay.Payment) bool { return p.Way.Sync && p.Script.Strict && !p.Page.Challenged }

// firstAnswer is what a card's page answers to the first try, by the payment's amount (SBX-17); "" if it pays. A later try is another
// card, which pays.
func firstAnswer(p pay.Payment) decline.Reason {
	if !onPage(p) || len(p.Attempts.Tries()) > 0 {
		return ""
	}
	return sandbox.OnPage(p.Price.Amount)
}

// Challenges reports whether a card's page asks the shopper to pass 3-D Secure before it pays.
func Challenges(p pay.Payment) bool { return firstAnswer(p) == sandbox.Challenge }

// Refusals are the reasons for which the page of a card can refuse it.
func Refusals(p pay.Payment) []decline.Reason {
	if !onPage(p) {
		return nil
	}
	return []decline.Reason{decline.DoNotHonor, decline.InsufficientFunds, decline.ExpiredCard, decline.FraudSuspected, decline.NotAuthenticated, decline.ProcessingError}
}

// refuseCard refuses a card on its page, which stays open.
func (sb *Sandbox) refuseCard(ctx context.Context, p pay.Payment, reason decline.Reason, cause view.Cause) (pay.Payment, error) {
	if !onPage(p) || !reason.Known() {
		return p, problem.Field(problem.InvalidRequest, "action", unknownAction)
	}
	if err := Failed.allows(p); err != nil {
		return p, err
	}
	if p.Script.Challenge != "" { // the challenge is answered
		var err error
		if p, err = sb.challenge(ctx, p, ""); err != nil {
			return p, err
		}
	}
	next, _, err := sb.Notify(ctx, p, sandbox.Notification{Status: "tried", Reason: string(reason)}, nil, cause)
	return next, err
}
