package payouts

import (
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// held is a float with its amounts.
type held struct {
	payouts.FloatStatus
	Has, Promised, Sent, Put money.Amount
}

type floatsView struct {
	desk.Form
	Rows     []held
	Accounts []frame.Option // that pay out
	Insist   bool           // the form may be sent again, to do it anyway
}

func (p *pages) floats(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showFloats(w, r, v, http.StatusOK, floatsView{})
}

func (p *pages) showFloats(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view floatsView) error {
	list, err := p.Uses.Floats.List(r.Context())
	if err != nil {
		return err
	}
	for _, f := range list {
		in := func(minor int64) money.Amount { return money.New(minor, f.Currency) }
		view.Rows = append(view.Rows, held{f, in(f.Free), in(f.Committed), in(f.Paid), in(f.Funded)})
	}
	accounts, err := p.Uses.Providers.Accounts(r.Context(), false)
	if err != nil {
		return err
	}
	for _, s := range accounts {
		if s.PaysOut {
			view.Accounts = append(view.Accounts, frame.Option{Value: s.ID, Label: s.ID})
		}
	}
	return p.Room.ShowStatus(w, r, v, status, "floats", view)
}

// topUp books money that the operator put into a payout account, or took out of it.
func (p *pages) topUp(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, page("/floats")) { // more may leave (DASH-6)
		return nil
	}
	view := floatsView{Form: desk.Typed(r, "account", "way", "amount", "currency", "reference", "note")}
	err := p.enter(r, v, view.Form)
	if err == nil {
		return p.Done(w, r, "payouts/floats", "float_entered")
	}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	view.Insist = view.Wrong["amount"] != "" && status == message.ShownOf(problem.BalanceInsufficient).Status || view.Wrong["currency"] != ""
	return p.showFloats(w, r, v, status, view)
}

func (p *pages) enter(r *http.Request, v *frame.Visit, typed desk.Form) error {
	currency, err := money.ParseCurrency(strings.ToUpper(typed.Value("currency")))
	if err != nil {
		return problem.Field(problem.InvalidRequest, "currency", floatCurrencyMissing)
	}
	amount, ok := frame.Typed(v.Language(), typed.Value("amount"), currency)
	if !ok {
		return problem.Field(problem.InvalidRequest, "amount", floatAmountMissing)
	}
	switch typed.Value("way") {
	case "in":
	case "out":
		amount = amount.Neg()
	default:
		return problem.Field(problem.InvalidRequest, "way", floatWayMissing)
	}
	if typed.Value("account") == "" {
		return problem.Field(problem.InvalidRequest, "account", floatAccountMissing)
	}
	note, err := desk.ReadNote(r)
	if err != nil {
		return err
	}
	return p.Uses.Floats.Enter(r.Context(), v.Actor(), typed.Value("account"), amount, typed.Value("reference"), note, r.FormValue("force") != "")
}
