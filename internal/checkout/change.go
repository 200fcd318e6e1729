package checkout

import (
	"errors"
	"net/http"

	"github.com/cascadapay/cascada/internal/app/base"
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
	if err := p.mayAct(r, id); err != nil {
		return err
	}
	_, token, err := p.uses.Sessions.ChangeWay(r.Context(), id, views.Cause{RequestID: web.RequestID(r.Context())})
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

// key is the key of a payment's page.
func (p *Pages) key(payment string) string { return base.PageKey(p.uses.Vault, payment) }

// keyed reports whether a request has the key of a payment's page.
func (p *Pages) keyed(r *http.Request, payment string) bool {
	return base.PageKeyFits(p.uses.Vault, payment, r.URL.Query().Get(views.PageKeyParam))
}

// errNoKey means that a page was opened by its payment's id alone: it shows and pays, and does nothing else. Ids are seen by
// the shop's staff and by keys that may only read.
var errNoKey = errors.New("the page's key is missing")

// mayAct returns an error unless a request comes from the shopper's own link.
//
// Errors: errNoKey, transaction_not_found.
func (p *Pages) mayAct(r *http.Request, payment string) error {
	if p.keyed(r, payment) {
		return nil
	}
	if _, err := p.uses.Sessions.Shown(r.Context(), payment); err != nil {
		return err
	}
	return errNoKey
}

// conflicts reports whether a request was refused because of a payment's status, which the
// payment's own page shows.
func conflicts(err error) bool {
	refused, ok := errors.AsType[*problem.Error](err)
	return ok && refused.Code == problem.ConflictState
}
