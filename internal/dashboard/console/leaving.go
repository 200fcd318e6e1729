package console

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// remainder is a part of the balance of a merchant that leaves.
type remainder struct {
	Label  string
	Amount money.Amount
}

// rest reads what a merchant that leaves still has in production.
func (pg *pages) rest(ctx context.Context, m merchants.Merchant) (r leaving.Rest, waits string, parts []remainder, err error) {
	if !m.Leaving.Closed() {
		return r, "", nil, nil
	}
	if r, err = pg.Uses.Leaving.Rest(ctx, m, true); err != nil {
		return r, "", nil, err
	}
	for _, part := range r.Parts() {
		parts = append(parts, remainder{"rest_" + part.Account, part.Amount})
	}
	if waits = r.Waits; waits == leaving.WaitsReserve { // the word is the balance's label
		waits = "reserve_until"
	}
	return r, waits, parts, nil
}

// close closes a merchant's account. A second click is refused: it is closed.
func (pg *pages) close(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "closing")
	m, err := pg.Uses.Leaving.Close(r.Context(), v.Actor(), r.PathValue("id"), typed.Value("closing"))
	if err != nil {
		return pg.refused(w, r, v, err, typed)
	}
	return pg.Done(w, r, "merchants/"+m.ID, "merchant_closed", "merchant", m.Name)
}

// reopen opens a closed account again.
func (pg *pages) reopen(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := pg.Uses.Onboarding.Reopen(r.Context(), v.Actor(), r.PathValue("id"))
	if err != nil {
		return pg.refused(w, r, v, err, desk.Form{})
	}
	return pg.Done(w, r, "merchants/"+m.ID, "merchant_reopened", "merchant", m.Name)
}

// switchSandbox switches a merchant's sandbox on or off.
func (pg *pages) switchSandbox(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := pg.Uses.Onboarding.SwitchSandbox(r.Context(), v.Actor(), r.PathValue("id"), r.FormValue("state") != "off")
	if err != nil {
		return pg.refused(w, r, v, err, desk.Form{})
	}
	return pg.Done(w, r, "merchants/"+m.ID, "sandbox_switched")
}
