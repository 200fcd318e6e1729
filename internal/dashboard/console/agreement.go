package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// tiers are the choices of a tier, each with what follows from it.
func (pg *pages) tiers(ctx context.Context, v *frame.Visit) (list []frame.Option, err error) {
	for _, tier := range merchants.Tiers() {
		terms, err := pg.Uses.Plans.Terms(ctx, merchants.Scope{Live: true}, merchants.Merchant{Tier: tier})
		if err != nil {
			return nil, err
		}
		list = append(list, frame.Option{Value: string(tier), Label: pg.Room.Text(v, "tier_option", "tier", pg.Room.Text(v, "tier_"+string(tier)),
			"fee", frame.Share(v.Language(), terms.Price.Bps), "reserve", frame.Share(v.Language(), terms.ReserveBps), "delay", fmt.Sprintf("%.0f h", terms.Delay.Hours()))})
	}
	return list, nil
}

// agree changes the tier and the terms of a merchant. The form names the merchant's version, so that two operators do
// not undo each other's change without knowing.
func (pg *pages) agree(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "tier", "refundFees", "installments")
	version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
	if err != nil || version == 0 {
		version = -1 // of no merchant
	}
	granted := typed.Value("installments")
	m, err := pg.Uses.Onboarding.Agree(r.Context(), v.Actor(), r.PathValue("id"), appmerchants.Agreement{
		Version: version, Tier: merchants.Tier(typed.Value("tier")), RefundFees: merchants.RefundFees(typed.Value("refundFees")), Installments: &granted,
	})
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Code == problem.ConflictState {
		typed.Values = nil // the page shows what the other operator agreed: to save once more must not undo it
	}
	if err != nil {
		return pg.refused(w, r, v, err, typed)
	}
	return pg.Done(w, r, "merchants/"+m.ID, "merchant_saved")
}

// pauseView asks for the reason of a pause.
type pauseView struct {
	desk.Form
	merchants.Merchant
	Seconds int // until every node obeys
}

// pausing is the page that asks, where no script opens the dialog of the merchant's page.
func (pg *pages) pausing(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.askPause(w, r, v, http.StatusOK, desk.Form{})
}

func (pg *pages) askPause(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	m, err := pg.Uses.AnyMerchant(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if typed.Values == nil {
		typed.Values = map[string]string{"reason": m.Paused}
	}
	return pg.Room.ShowStatus(w, r, v, status, "pause", pauseView{typed, m, int(base.CacheTTL.Seconds())})
}

func (pg *pages) pause(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "reason")
	m, err := pg.Uses.Onboarding.Pause(r.Context(), v.Actor(), r.PathValue("id"), typed.Value("reason"))
	if err != nil {
		status, fault := typed.Refused(v, err)
		if fault != nil {
			return fault
		}
		return pg.askPause(w, r, v, status, typed)
	}
	return pg.Done(w, r, "merchants/"+m.ID, "merchant_paused", "merchant", m.Name)
}

// resume ends a pause. The form names the reason that the operator saw: an old page does not end a pause that
// another operator began for another reason.
func (pg *pages) resume(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := pg.Uses.Onboarding.Resume(r.Context(), v.Actor(), r.PathValue("id"), r.FormValue("seen"))
	if err != nil {
		return pg.refused(w, r, v, err, desk.Form{})
	}
	return pg.Done(w, r, "merchants/"+m.ID, "merchant_resumed", "merchant", m.Name)
}
