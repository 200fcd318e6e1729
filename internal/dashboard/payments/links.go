package payments

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
)

// linksView is the list of payment links.
type linksView struct {
	Links []linkRow
	Pager frame.Pager
}

// linkRow is a payment link, with its newest payment that is paid or may still be.
type linkRow struct {
	pay.PaymentLink
	Status  pay.LinkStatus
	URL     string
	Payment string
}

// Called is what the team knows the link by.
func (l linkRow) Called() string { return cmp.Or(l.Purchase.Description, l.OrderID, "–") }

// Open reports whether a customer can pay with it.
func (l linkRow) Open() bool { return l.Status == pay.LinkOpen }

// Reopens reports whether the team can open it again.
func (l linkRow) Reopens() bool { return l.Status == pay.LinkClosed || l.Status == pay.LinkExpired }

// Tone is that of the status.
func (l linkRow) Tone() string {
	switch l.Status {
	case pay.LinkOpen:
		return "waiting"
	case pay.LinkUsed:
		return "good"
	}
	return ""
}

// Times is how many payments were paid, of how many.
func (l linkRow) Times(p *frame.Page) string {
	return words(p, "link_times", "paid", strconv.Itoa(l.Paid), "uses", strconv.Itoa(l.Uses))
}

func (s *sales) row(l pay.PaymentLink, payment string) linkRow {
	return linkRow{l, l.Status(s.Uses.PaymentLinks.TimeOf(l.Scope)), view.PaymentLinkURL(s.Uses.CheckoutURL, l.ID), payment}
}

func (s *sales) links(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	after := clean(r.URL.Query().Get("cursor"))
	list, _, err := s.Uses.PaymentLinks.List(r.Context(), v.Scope, "", lists.Page{Limit: frame.Rows + 1, After: after})
	if shown, ok := problemOf(err); ok && shown.Param == lists.CursorParam {
		return problem.New(problem.NotFound, noPageOfList)
	}
	if err != nil {
		return err
	}
	var page linksView
	list, page.Pager.Next = frame.Cut(list, func(l pay.PaymentLink) string { return l.ID })
	newest, err := s.Uses.PaymentLinks.Newest(r.Context(), list)
	if err != nil {
		return err
	}
	for _, l := range list {
		page.Links = append(page.Links, s.row(l, newest[l.ID]))
	}
	return s.room.Show(w, r, v, "links", page)
}

// oneLink shows a link with its address, which lets whoever has it pay.
func (s *sales) oneLink(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	l, err := s.Uses.PaymentLinks.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.room.Show(w, r, v, "linked", s.row(l, ""))
}

func (s *sales) closeForm(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	l, err := s.Uses.PaymentLinks.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.room.Show(w, r, v, "close", s.row(l, ""))
}

func (s *sales) closeLink(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return s.changeLink(w, r, v, payments.LinkChange{Status: pay.LinkClosed}, "link_closed")
}

// reopenLink lets customers pay again: until the link's end, or for the usual time if that is over.
func (s *sales) reopenLink(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	l, err := s.Uses.PaymentLinks.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	change := payments.LinkChange{Status: pay.LinkOpen}
	if now := s.Uses.PaymentLinks.TimeOf(v.Scope); !now.Before(l.Expires) {
		change.Expires = now.Add(pay.UsualLinkLife)
	}
	return s.changeLink(w, r, v, change, "link_reopened")
}

func (s *sales) changeLink(w http.ResponseWriter, r *http.Request, v *frame.Visit, c payments.LinkChange, done string) error {
	if _, err := s.Uses.PaymentLinks.Update(r.Context(), v.Actor(), v.Scope, r.PathValue("id"), c); err != nil {
		return err
	}
	s.Flash(w, done)
	s.Go(w, r, s.here(v)+"/payments/links")
	return nil
}

// linkFields are the fields of the form of a new payment link.
var linkFields = []string{"amount", "amount_currency", "least", "most", "description", "order", "uses", "until", "installments"}

func (s *sales) newLink(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return s.room.Show(w, r, v, "link", s.newView(v, s.fresh("amount", "", "amount_currency", "USD", "least", "", "most", "", "description", "", "order", "", "uses", "1", "until", "", "installments", "")))
}

// makeLink makes a payment link and shows its address.
func (s *sales) makeLink(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f := typed(r, linkFields...)
	n, err := s.readLink(v, f)
	var made pay.PaymentLink
	if err == nil {
		n.Idempotency = onceOf("POST /payments/link", f, linkFields...)
		made, _, err = s.Uses.PaymentLinks.Create(context.WithoutCancel(r.Context()), v.Principal, n)
	}
	page := s.newView(v, f)
	if err != nil {
		status, err := s.refused(v, &page.form, err, map[string]string{"currency": "amount", "installments.max": "installments", "expiresAt": "until"})
		if err != nil {
			return err
		}
		return s.room.ShowStatus(w, r, v, status, "link", page)
	}
	return s.room.Show(w, r, v, "linked", s.row(made, ""))
}

// readLink reads the form of a new payment link.
func (s *sales) readLink(v *frame.Visit, f form) (n payments.NewPaymentLink, err error) {
	wrong := func(field, text string, args ...any) error {
		return message.FieldRefusal(problem.InvalidRequest, field, s.room.Text(v, text, args...))
	}
	for field, most := range map[string]int{"order": pay.MaxOrderID, "description": pay.MaxDescription} {
		if utf8.RuneCountInString(f.Typed[field]) > most {
			return n, wrong(field, "wrong_length", "most", most)
		}
	}
	n = payments.NewPaymentLink{OrderID: f.Typed["order"], Purchase: pay.Purchase{Description: f.Typed["description"]}}
	if f.Typed["amount"] != "" && f.Typed["least"]+f.Typed["most"] != "" {
		return n, wrong("least", "wrong_bounds")
	}
	if f.Typed["amount"] != "" || f.Typed["least"] == "" && f.Typed["most"] == "" {
		n.Amount, err = s.price(v, f, "amount")
	} else if n.Least, err = s.price(v, f, "least"); err == nil {
		n.Most, err = s.price(v, f, "most")
	}
	if err != nil {
		return n, err
	}
	if n.Least.Minor > n.Most.Minor {
		return n, wrong("most", "wrong_amount")
	}
	if n.Uses, err = strconv.Atoi(cmp.Or(f.Typed["uses"], "1")); err != nil || n.Uses < 1 || n.Uses > pay.MaxLinkUses {
		return n, wrong("uses", "wrong_uses", "most", pay.MaxLinkUses)
	}
	if text := f.Typed["until"]; text != "" {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return n, wrong("until", "wrong_day")
		}
		n.Expires = day.AddDate(0, 0, 1) // the day is included
	}
	if most := f.Typed["installments"]; most != "" {
		if n.Installments.Max, err = strconv.Atoi(most); err != nil || n.Installments.Max < 1 || n.Installments.Max > installment.Most {
			return n, wrong("installments", "wrong_installments", "most", installment.Most)
		}
	}
	return n, nil
}
