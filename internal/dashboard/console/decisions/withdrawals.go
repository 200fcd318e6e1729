package decisions

import (
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

type withdrawalView struct {
	desk.Form
	Withdrawal pay.Withdrawal
	Why        shape.PayoutExplanation
	Amount     money.Amount
	Fee        money.Amount
	Net        money.Amount
	Held       bool           // it waits for an approval
	Ends       []frame.Option // how it can end by the operator's word
	Left       money.Amount   // what of it can still come back; without a currency if nothing can
	Returned   money.Amount   // what came back
	Open       bool
	Pages      *desk.Accounts
	Shown      *payouts.ToPay // with its destination, which was asked for
}

func (p *pages) withdrawal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showWithdrawal(w, r, v, http.StatusOK, withdrawalView{})
}

func (p *pages) showWithdrawal(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view withdrawalView) error {
	e, err := p.Uses.Payouts.ExplainPayout(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	of := e.Withdrawal
	usd := func(cents int64) money.Amount { return money.New(cents, money.USD) }
	view.Withdrawal, view.Why, view.Amount, view.Fee, view.Net = of, shape.NewPayoutExplanation(e), usd(of.Amount), usd(of.Fee), usd(of.Net())
	view.Returned = usd(of.Returned)
	if of.Status == pay.WithdrawalDone {
		view.Left = of.LeftToReturn()
	} else if text := view.Wrong["amount"]; text != "" { // the form has no such field
		view.Error = text
	}
	view.Pages = desk.NewAccounts(r.Context(), p.Uses.Providers)
	view.Held, view.Open = of.Status == pay.WithdrawalPending && of.ApprovedBy == "", of.Open()
	for _, word := range []struct {
		word pay.Word
		text string
		fits bool
	}{
		{pay.WordPaid, "word_arrived", of.Status == pay.WithdrawalProcessing},
		{pay.WordNotPaid, "word_not_paid", of.Open()},
		{pay.WordReturned, "word_returned", of.Status == pay.WithdrawalDone},
	} {
		if word.fits {
			view.Ends = append(view.Ends, frame.Option{Value: string(word.word), Label: p.Room.Text(v, word.text)})
		}
	}
	return p.Room.ShowStatus(w, r, v, status, "withdrawal", view)
}

func (p *pages) withdrawalRefused(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error) error {
	view := withdrawalView{Form: desk.Typed(r, "outcome", "amount", "note", "reference")}
	status, fault := refused(v, &view.Form, err)
	if fault != nil {
		return fault
	}
	return p.showWithdrawal(w, r, v, status, view)
}

// approve lets a withdrawal pass the limits.
func (p *pages) approve(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	note, err := desk.ReadNote(r)
	if err == nil {
		_, err = p.Uses.Payouts.ApproveWithdrawal(r.Context(), v.Actor(), r.PathValue("id"), note)
	}
	if err != nil {
		return p.withdrawalRefused(w, r, v, err)
	}
	return p.Done(w, r, "withdrawals/"+r.PathValue("id"), "withdrawal_approved")
}

// resolveWithdrawal resolves a withdrawal whose payout provider does not report how it ended.
func (p *pages) resolveWithdrawal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	note, err := desk.ReadNote(r)
	word := pay.Word(r.FormValue("outcome"))
	switch {
	case err != nil:
	case word != pay.WordPaid && word != pay.WordNotPaid && word != pay.WordReturned:
		err = problem.Field(problem.InvalidRequest, "outcome", chooseWithdrawalEnd)
	default:
		err = p.endWithdrawal(r, v, word, note)
	}
	if err != nil {
		return p.withdrawalRefused(w, r, v, err)
	}
	return p.Done(w, r, "withdrawals/"+r.PathValue("id"), "decided")
}

// endWithdrawal records how a withdrawal ended, and which part of it came back.
func (p *pages) endWithdrawal(r *http.Request, v *frame.Visit, word pay.Word, note string) error {
	part, err := p.part(r, v)
	if err != nil {
		return err
	}
	_, _, err = p.Uses.Payouts.ResolveWithdrawal(r.Context(), v.Actor(), base.Resolution{ID: r.PathValue("id"), Word: word, Note: note,
		Force: r.FormValue("force") != "", Reference: r.FormValue("reference"), Amount: part})
	return err
}

// part reads the part of a payout that came back, as people of the visitor's language write it; "" is all that is left.
//
// Errors: store.ErrNotFound, invalid_request.
func (p *pages) part(r *http.Request, v *frame.Visit) (string, error) {
	text := strings.TrimSpace(r.FormValue("amount"))
	if text == "" {
		return "", nil
	}
	e, err := p.Uses.Payouts.ExplainPayout(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	left := e.Withdrawal.LeftToReturn()
	amount, ok := frame.Typed(v.Language(), text, left.Currency)
	if !ok {
		return "", problem.Field(problem.InvalidRequest, "amount", amountNotReturned.With(left.Decimal(), left.Currency))
	}
	return amount.Decimal(), nil
}

// reveal shows the destination, to pay it by hand. The audit log has that the operator saw it.
func (p *pages) reveal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	shown, err := p.Uses.Payouts.RevealWithdrawal(r.Context(), v.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.showWithdrawal(w, r, v, http.StatusOK, withdrawalView{Shown: &shown})
}
