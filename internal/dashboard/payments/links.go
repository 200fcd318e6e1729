package payments

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// linksView is the list of payment links.
type linksView struct {
	Links []linkRow
	Pager frame.Pager
}

// linkRow is a row of it.
type linkRow struct{ payments.Link }

// Status is what became of the link: open, closed, expired, or the status of its payment.
func (l linkRow) Status() string {
	switch {
	case l.Payment.ID != "":
		return statusOf(l.Payment)
	case l.Session.Payment != "": // being written, or erased
		return string(pay.Processing)
	case !l.Closed.IsZero():
		return "closed"
	case l.Over:
		return "expired"
	}
	return "open"
}

// Open reports whether a customer can pay with it.
func (l linkRow) Open() bool { return l.Status() == "open" }

// Tone is that of the status.
func (l linkRow) Tone() string {
	if l.Open() {
		return "waiting"
	}
	return ""
}

// Who is the customer, as far as known.
func (l linkRow) Who() string {
	if l.Payment.ID != "" {
		return row{Payment: l.Payment}.Who()
	}
	return l.Customer.Email
}

func (s *sales) links(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	after := clean(r.URL.Query().Get("cursor"))
	list, err := s.Uses.Sessions.Links(r.Context(), v.Scope, lists.Page{Limit: frame.Rows + 1, After: after})
	if shown, ok := problemOf(err); ok && shown.Param == lists.CursorParam {
		return problem.New(problem.NotFound, noPageOfList)
	}
	if err != nil {
		return err
	}
	var view linksView
	list, view.Pager.Next = frame.Cut(list, func(l payments.Link) string { return l.ID })
	for _, l := range list {
		view.Links = append(view.Links, linkRow{l})
	}
	return s.room.Show(w, r, v, "links", view)
}

func (s *sales) closeForm(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	l, err := s.Uses.Sessions.Link(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.room.Show(w, r, v, "close", linkRow{l})
}

func (s *sales) closeLink(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := s.Uses.Sessions.CloseLink(r.Context(), v.Scope, r.PathValue("id"), v.Actor()); err != nil {
		return err
	}
	s.Flash(w, "link_closed")
	s.Go(w, r, s.here(v)+"/payments/links")
	return nil
}
