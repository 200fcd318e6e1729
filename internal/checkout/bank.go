package checkout

import (
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/message"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	views "github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
)

// bankView is the page of a simulated bank.
type bankView struct {
	paymentView
	Actions []sandbox.BankAction
	Reasons []decline.Reason // for which a card's page can refuse the card
	Plans   []plan           // installments that the shopper may choose
	// Challenge: the shopper pressed Pay, and the issuer wants 3-D Secure. Count is the number of installments that was chosen, "" for none.
	Challenge bool
	Count     string
	PayURL    string
}

// bank shows the simulated bank of a sandbox payment. Payments at a real provider have
// none.
func (p *Pages) bank(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !shown.Simulated {
		return message.Refusal(problem.TransactionNotFound, "this payment has no simulated bank")
	}
	v := bankView{paymentView: p.paymentView(r, shown)}
	v.PayURL = p.along(r, "/pay/"+shown.ID)
	v.Title = v.T("bank_title")
	if v.Status == pay.Pending {
		v.Actions = []sandbox.BankAction{sandbox.BankPay, sandbox.BankDecline, sandbox.BankTimeout, sandbox.BankLate, sandbox.BankMismatch}
		if v.Reasons = sandbox.Refusals(shown.Payment); len(v.Reasons) > 0 {
			v.Actions = slices.DeleteFunc(v.Actions, func(a sandbox.BankAction) bool { return a == sandbox.BankDecline })
		}
		for _, of := range sandbox.Plans(shown.Payment) {
			v.Plans = append(v.Plans, plan{of.Count, v.planText(of)})
		}
		if v.Challenge = r.FormValue("challenge") != "" && sandbox.Challenges(shown.Payment); v.Challenge {
			v.Actions, v.Reasons, v.Plans = []sandbox.BankAction{sandbox.BankConfirm, sandbox.BankTimeout}, []decline.Reason{decline.NotAuthenticated}, nil
			v.Count = r.FormValue("installments")
		}
	}
	p.render(w, http.StatusOK, "bank", v)
	return nil
}

// decide applies the chosen result and goes back to the payment's page.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	cause := views.Cause{RequestID: web.RequestID(r.Context())}
	action, count := sandbox.BankAction(r.PostForm.Get("action")), r.PostForm.Get("installments")
	paid, err := p.uses.Sandbox.AtBank(r.Context(), id, action, count, cause)
	if err != nil && !conflicts(err) {
		return err
	}
	if err == nil && action == sandbox.BankPay && sandbox.Challenges(paid) {
		asked := []string{"challenge", "yes"}
		if count != "" {
			asked = append(asked, "installments", count)
		}
		p.see(w, r, "/sandbox/bank/"+id, asked...)
		return nil
	}
	p.see(w, r, "/pay/"+id) // the payment's page shows its status, even if another request was faster
	return nil
}
