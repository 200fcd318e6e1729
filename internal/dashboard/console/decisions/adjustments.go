package decisions

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// adjusted is an adjustment with its amount.
type adjusted struct {
	pay.Adjustment
	USD money.Amount
}

// adjustedTable is a table of adjustments.
type adjustedTable struct {
	Rows  []adjusted
	Names *desk.Names
}

func (t *adjustedTable) add(list []pay.Adjustment) {
	for _, a := range list {
		t.Rows = append(t.Rows, adjusted{a, money.New(a.Amount, money.USD)})
	}
}

type adjustmentsView struct {
	adjustedTable
	Statuses []frame.Option
	Most     int
}

// adjustments lists what operators booked by hand, of every merchant or of one. Those that wait come first.
func (p *pages) adjustments(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	ctx, merchant := r.Context(), strings.TrimSpace(r.FormValue("merchant"))
	var list []pay.Adjustment
	var err error
	if status := pay.AdjustmentStatus(r.FormValue("status")); slices.Contains(pay.AdjustmentStatuses(), status) {
		list, err = p.Uses.Adjustments.List(ctx, merchant, status, desk.Most)
	} else {
		list, err = p.waitingFirst(ctx, merchant)
	}
	if err != nil {
		return err
	}
	view := adjustmentsView{adjustedTable: adjustedTable{Names: p.Names(ctx)}, Most: desk.Most}
	view.add(list)
	for _, status := range pay.AdjustmentStatuses() {
		view.Statuses = append(view.Statuses, frame.Option{Value: string(status), Label: p.Room.Text(v, "status_"+string(status))})
	}
	return p.Room.Show(w, r, v, "adjustments", view)
}

// waitingFirst lists adjustments that wait for a second operator, and then the others, newest first.
func (p *pages) waitingFirst(ctx context.Context, merchant string) ([]pay.Adjustment, error) {
	list, err := p.Uses.Adjustments.List(ctx, merchant, pay.AdjustmentPending, desk.Most)
	if err != nil {
		return nil, err
	}
	all, err := p.Uses.Adjustments.List(ctx, merchant, "", desk.Most+len(list))
	for _, a := range all {
		if !slices.ContainsFunc(list, func(first pay.Adjustment) bool { return first.ID == a.ID }) {
			list = append(list, a)
		}
	}
	return list, err
}

type newAdjustmentView struct {
	desk.Form
	Reasons []frame.Option
}

// newAdjustment shows the form. Its address may fill fields in.
func (p *pages) newAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := typedAdjustment(r)
	if typed.Values["environment"] == "" {
		typed.Values["environment"] = string(merchants.Production)
	}
	return p.showNewAdjustment(w, r, v, http.StatusOK, typed)
}

func typedAdjustment(r *http.Request) desk.Form {
	typed := desk.Typed(r, "merchant", "environment", "amount", "reason", "note", "about", "reference", "allowNegative")
	typed.Values["note"] = lines(typed.Value("note"))
	return typed
}

// lines is a text of a form with the line ends of the API.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func (p *pages) showNewAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	view := newAdjustmentView{Form: typed}
	for _, reason := range pay.AdjustmentReasons() {
		view.Reasons = append(view.Reasons, frame.Option{Value: string(reason), Label: p.Room.Text(v, "adjust_"+string(reason))})
	}
	return p.Room.ShowStatus(w, r, v, status, "newadjustment", view)
}

// createAdjustment books an adjustment, or keeps it for a second operator. The form sent twice leads to the same one: its
// reference is booked once.
func (p *pages) createAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, frame.Base+"/console/adjustments/new") { // the merchant may withdraw it (DASH-6)
		return nil
	}
	typed := typedAdjustment(r)
	made, err := p.orderAdjustment(r.Context(), v, typed)
	if err == nil {
		return p.Done(w, r, "adjustments/"+made.ID, "adjustment_"+string(made.Status)+"_done")
	}
	status, fault := typed.Refused(v, beside(err, problem.MerchantNotFound, "merchant"))
	if fault != nil {
		return fault
	}
	return p.showNewAdjustment(w, r, v, status, typed)
}

func (p *pages) orderAdjustment(ctx context.Context, v *frame.Visit, typed desk.Form) (made pay.Adjustment, err error) {
	environment := merchants.Environment(typed.Value("environment"))
	if environment != merchants.Production && environment != merchants.Sandbox {
		return made, problem.Field(problem.InvalidRequest, "environment", chooseEnvironment)
	}
	amount, err := signed(v.Language(), typed.Value("amount"))
	if err == nil {
		err = short(typed)
	}
	if err != nil {
		return made, err
	}
	return p.Uses.Adjustments.Make(ctx, v.Actor(), settlements.NewAdjustment{
		Merchant: typed.Value("merchant"), Live: environment == merchants.Production, Amount: amount, Reason: pay.AdjustmentReason(typed.Value("reason")),
		Note: typed.Value("note"), About: typed.Value("about"), Reference: typed.Value("reference"), Negative: typed.Value("allowNegative") != "",
	})
}

// signed reads an amount of US dollars, which may be below zero, as people of a language write it.
//
// Errors: amount_invalid.
func signed(language merchants.Language, text string) (money.Amount, error) {
	size, below := strings.CutPrefix(strings.Replace(text, "−", "-", 1), "-")
	amount, ok := frame.Typed(language, size, money.USD)
	if !ok {
		return amount, problem.Field(problem.AmountInvalid, "amount", settlements.AdjustmentNotUSD)
	}
	if below {
		amount = amount.Neg()
	}
	return amount, nil
}

// short returns an error for a text of a form that is too long.
//
// Errors: invalid_request.
func short(typed desk.Form) error {
	return problem.Fit(problem.Text{Param: "note", Text: typed.Value("note"), Most: pay.MaxNote}, problem.Text{Param: "about", Text: typed.Value("about"), Most: pay.MaxAbout},
		problem.Text{Param: "reference", Text: typed.Value("reference"), Most: pay.MaxReference})
}

// beside puts an error with a code beside a field.
func beside(err error, code problem.Code, field string) error {
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Code == code {
		return problem.Field(code, field, shown.Reason)
	}
	return err
}

type adjustmentView struct {
	desk.Form
	adjusted
	Maker, Decider string         // their names
	Own            bool           // this operator made it
	Reversal       pay.Adjustment // that takes it back, or waits to; its id is "" if there is none
	Reversible     bool
	At             string // the page of what it is about, "" if the console has none
}

func (p *pages) adjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showAdjustment(w, r, v, http.StatusOK, desk.Form{})
}

func (p *pages) showAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	ctx := r.Context()
	a, err := p.Uses.Adjustments.Any(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	view := adjustmentView{Form: typed, adjusted: adjusted{a, money.New(a.Amount, money.USD)}, Own: a.MadeBy == v.User.ID, At: pageOf(a.About)}
	names := map[string]string{}
	if view.Maker, err = p.Who(ctx, names, a.MadeBy); err != nil {
		return err
	}
	if view.Decider, err = p.Who(ctx, names, a.DecidedBy); err != nil {
		return err
	}
	if view.Reversal, err = p.Uses.Adjustments.Reversal(ctx, a); err != nil {
		return err
	}
	_, never := a.Reversal("", v.User.ID, false, 0)
	view.Reversible = never == nil && view.Reversal.ID == ""
	return p.Room.ShowStatus(w, r, v, status, "adjustment", view)
}

// pageOf is the console's page of what an adjustment is about. Settlements have none.
func pageOf(about string) string {
	for prefix, path := range map[string]string{pay.PaymentPrefix: "payments/", pay.ClaimPrefix: "claims/", pay.WithdrawalPrefix: "withdrawals/"} {
		if strings.HasPrefix(about, prefix) {
			return path + about
		}
	}
	return ""
}

// adjustmentDone leads on to an adjustment, or shows what was wrong. An error about a field that its forms do not have is shown
// above them.
func (p *pages) adjustmentDone(w http.ResponseWriter, r *http.Request, v *frame.Visit, id, done string, err error) error {
	if err == nil {
		return p.Done(w, r, "adjustments/"+id, done)
	}
	typed := desk.Typed(r, "note", "allowNegative")
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	for field, text := range typed.Wrong {
		if field != "note" && field != "allowNegative" {
			typed.Error = text
		}
	}
	return p.showAdjustment(w, r, v, status, typed)
}

// approveAdjustment moves the money of an adjustment that waits for a second operator.
func (p *pages) approveAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	if !p.Confirmed(w, r, v, frame.Base+"/console/adjustments/"+id) { // the merchant may withdraw it (DASH-6)
		return nil
	}
	_, err := p.Uses.Adjustments.Approve(r.Context(), v.Actor(), id)
	return p.adjustmentDone(w, r, v, id, "adjustment_applied_done", err)
}

// rejectAdjustment ends an adjustment that waits for a second operator. The audit log keeps the note.
func (p *pages) rejectAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id, note := r.PathValue("id"), typedAdjustment(r)
	err := short(note)
	if err == nil {
		_, err = p.Uses.Adjustments.Reject(r.Context(), v.Actor(), id, note.Value("note"))
	}
	return p.adjustmentDone(w, r, v, id, "adjustment_rejected_done", err)
}

// reverseAdjustment takes an adjustment back, by another one, and leads on to that.
func (p *pages) reverseAdjustment(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id, typed := r.PathValue("id"), typedAdjustment(r)
	if !p.Confirmed(w, r, v, frame.Base+"/console/adjustments/"+id) { // the merchant may withdraw it (DASH-6)
		return nil
	}
	err := short(typed)
	if err != nil {
		return p.adjustmentDone(w, r, v, id, "", err)
	}
	made, err := p.Uses.Adjustments.Reverse(r.Context(), v.Actor(), id, typed.Value("note"), typed.Value("allowNegative") != "")
	return p.adjustmentDone(w, r, v, made.ID, "adjustment_"+string(made.Status)+"_done", beside(err, problem.BalanceInsufficient, "allowNegative"))
}
