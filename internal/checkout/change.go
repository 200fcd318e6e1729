package checkout

import (
	"errors"
	"net/http"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	views "github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
)

// Notes in a page's address about what the shopper has just done.
const (
	noteTaken    = "taken"     // another method was chosen before, perhaps in another tab
	noteNotEnded = "not_ended" // the payment could not be called off
	notePageOpen = "page_open" // it is not known whether the page on which a card was refused has ended
)

// change calls a payment off and leads its shopper to the choice. If it was paid meanwhile,
// or changed in another way, its page shows its status.
func (p *Pages) change(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	_, token, err := p.app.Sessions.ChangeWay(r.Context(), id, views.Cause{RequestID: web.RequestID(r.Context())})
	var refused *problem.Error
	switch {
	case err == nil && token != "":
		p.see(w, r, "/checkout/"+token)
	case err == nil || conflicts(err) || paused(err):
		p.see(w, r, "/pay/"+id)
	case errors.As(err, &refused) && refused.Details.Reason == pay.NotEnded:
		p.see(w, r, "/pay/"+id, "note", noteNotEnded)
	default:
		return err
	}
	return nil
}

// conflicts reports whether a request was refused because of a payment's status, which the
// payment's own page shows.
func conflicts(err error) bool {
	refused, ok := errors.AsType[*problem.Error](err)
	return ok && refused.Code == problem.ConflictState
}
