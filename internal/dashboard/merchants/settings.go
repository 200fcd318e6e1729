package merchants

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// settingsView is the page of the shop's settings.
type settingsView struct {
	Wrong         map[string]string
	Name          string // as typed, if it was wrong
	Schemes       string // one in each line
	Email         string
	Language      string
	Tier          merchants.Tier
	Terms         merchants.Terms
	DelayHours    int64
	WithdrawalFee money.Amount
	ChargebackFee money.Amount
	Payouts       merchants.Payouts
	Least         money.Amount // of automatic payouts
	Days          string       // of automatic payouts; "" for all
}

func (p *shopPages) newSettings(ctx context.Context, v *frame.Visit) (settingsView, error) {
	terms, err := p.Uses.Plans.Terms(ctx, v.Scope, v.Merchant)
	if err != nil {
		return settingsView{}, err
	}
	agreed, err := payouts.Agreed(ctx, p.Uses.Payouts, v.Scope)
	return settingsView{
		Payouts: agreed, Least: money.New(agreed.Minimum, money.USD), Days: p.payoutDays(v, agreed.Days),
		Name: v.Shop.Name, Schemes: strings.Join(v.Shop.Schemes, "\n"), Email: v.Merchant.Email, Language: string(v.Merchant.Language), Tier: v.Merchant.Tier, Terms: terms,
		DelayHours:    int64(terms.Delay / time.Hour),
		WithdrawalFee: money.New(terms.WithdrawalFee, money.USD), ChargebackFee: money.New(terms.ChargebackFee, money.USD),
	}, err
}

// payoutDays are the days of automatic payouts for people, "" for all.
func (p *shopPages) payoutDays(v *frame.Visit, d merchants.PayoutDays) string {
	var days []string
	for _, word := range d.Weekdays.Words() {
		days = append(days, p.room.Text(v, "weekday_"+word))
	}
	if len(days) > 0 {
		return p.room.Text(v, "payouts_weekdays", "days", strings.Join(days, ", "))
	}
	for _, day := range d.Monthdays.List() {
		days = append(days, strconv.Itoa(day))
	}
	if len(days) == 0 {
		return ""
	}
	return p.room.Text(v, "payouts_monthdays", "days", strings.Join(days, ", "))
}

func (p *shopPages) settings(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := p.newSettings(r.Context(), v)
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "settings", view)
}

// saved leads back to the settings, or shows them again with what was wrong.
func (p *shopPages) saved(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error, typed settingsView) error {
	if err != nil {
		wrong, status := p.wrong(v, err)
		if wrong == nil {
			return err
		}
		typed.Wrong = wrong
		return p.room.ShowStatus(w, r, v, status, "settings", typed)
	}
	p.Flash(w, "settings_saved")
	p.to(w, r, v, "/shop")
	return nil
}

func (p *shopPages) rename(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed, err := p.newSettings(r.Context(), v)
	if err != nil {
		return err
	}
	typed.Name = r.FormValue("name")
	return p.saved(w, r, v, p.Uses.Onboarding.Rename(r.Context(), v.Actor(), v.Shop.ID, typed.Name), typed)
}

// setSchemes replaces the schemes of the shop's apps.
func (p *shopPages) setSchemes(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed, err := p.newSettings(r.Context(), v)
	if err != nil {
		return err
	}
	typed.Schemes = r.FormValue("schemes")
	_, err = p.Uses.Onboarding.SetSchemes(r.Context(), v.Actor(), v.Shop.ID, strings.Fields(typed.Schemes))
	return p.saved(w, r, v, err, typed)
}

// setMerchant changes only what somebody changed in the form: an old page does not bring back what a colleague
// replaced. The address gets the warnings about new wallets, so it is confirmed as they are (DASH-6).
func (p *shopPages) setMerchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed, err := p.newSettings(r.Context(), v)
	if err != nil {
		return err
	}
	typed.Email, typed.Language = r.FormValue("email"), r.FormValue("language")
	if typed.Email != r.FormValue("emailBefore") {
		if !p.Confirmed(w, r, v, v.Home()+"/shop") {
			return nil
		}
		err = p.Uses.Onboarding.SetEmail(r.Context(), v.Actor(), v.Merchant.ID, typed.Email)
	}
	if err == nil && typed.Language != r.FormValue("languageBefore") {
		err = p.Uses.Onboarding.SetLanguage(r.Context(), v.Actor(), v.Merchant.ID, merchants.Language(typed.Language))
	}
	return p.saved(w, r, v, err, typed)
}

// newShopView is the form of another shop.
type newShopView struct{ Name, Wrong, Error string }

func (p *shopPages) newShop(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.room.Show(w, r, v, "newshop", newShopView{})
}

func (p *shopPages) openShop(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	name := r.FormValue("name")
	shop, err := p.Uses.Onboarding.OpenShop(r.Context(), v.Actor(), v.Merchant.ID, name)
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		view := newShopView{Name: name, Wrong: frame.FieldErrors(v.Language(), err)["name"]}
		if view.Wrong == "" {
			view.Error = frame.ErrorText(v.Language(), shown)
		}
		return p.room.ShowStatus(w, r, v, message.ShownOf(shown.Code).Status, "newshop", view)
	}
	if err != nil {
		return err
	}
	p.Flash(w, "shop_opened")
	p.Go(w, r, p.At("/"+shop.ID+"/sandbox/keys")) // it has no keys yet
	return nil
}
