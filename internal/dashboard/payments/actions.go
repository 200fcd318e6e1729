package payments

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
)

// refundOf is the form of a refund, for all that is left.
func (s *sales) refundOf(v *frame.Visit, p paymentView) form {
	return s.fresh("amount", plain(v.Language(), p.Left), "reason", "requested_by_customer")
}

// plain is an amount as somebody would type it in a language.
func plain(lang merchants.Language, a money.Amount) string {
	whole, rest, _ := strings.Cut(a.Decimal(), ".")
	places := a.Currency.Exponent()
	if places == 0 {
		return whole
	}
	mark := ","
	if lang == merchants.English {
		mark = "."
	}
	return whole + mark + rest + strings.Repeat("0", places-len(rest))
}

func (s *sales) refundForm(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := s.paymentOf(r, v)
	if err != nil {
		return err
	}
	view.Form = s.refundOf(v, view)
	return s.room.Show(w, r, v, "refund", view)
}

// refund gives a payment back, in full or in part. The form's key stands for one refund, however often it is sent.
func (s *sales) refund(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f := typed(r, "amount", "reason", "note")
	page, err := s.paymentOf(r, v)
	if err != nil {
		return err
	}
	reason := f.Typed["reason"]
	if reason == "other" && f.Typed["note"] != "" {
		reason = f.Typed["note"]
	}
	n := claims.NewRefund{Payment: page.ID, Reason: reason, By: v.Actor()}
	// Without an amount a refund is of all that is left. Nobody means that by an empty field.
	amount, ok := frame.Typed(v.Language(), f.Typed["amount"], page.Price.Local.Currency)
	switch {
	case !ok:
		err = message.FieldRefusal(problem.AmountInvalid, "amount", s.room.Text(v, "wrong_amount"))
	case utf8.RuneCountInString(reason) > pay.MaxRefundReason:
		err = message.FieldRefusal(problem.InvalidRequest, "reason", s.room.Text(v, "wrong_length", "most", pay.MaxRefundReason))
	default:
		n.Amount = amount.Decimal()
	}
	if f.Key != "" {
		n.Idempotency = base.Idempotency{Route: "form of POST /payments/" + page.ID + "/refund", Key: f.Key, Hash: hash(n.Amount, reason)}
	}
	var done pay.Refund
	told, again := "refund_opened", false
	if err == nil {
		done, again, err = s.Uses.Claims.Refund(context.WithoutCancel(r.Context()), v.Scope, n)
	}
	if err != nil {
		status, err := s.refused(v, &f, err, nil)
		if err != nil {
			return err
		}
		if f.Key == "" {
			f.Key = s.fresh().Key
		}
		page.Form = f
		return s.room.ShowStatus(w, r, v, status, "refund", page)
	}
	if again {
		told = "refund_before"
	}
	s.Flash(w, told, "amount", plain(v.Language(), done.Local)+" "+string(done.Local.Currency))
	s.back(w, r, v, page.ID)
	return nil
}

// back leads to the page of a payment.
func (s *sales) back(w http.ResponseWriter, r *http.Request, v *frame.Visit, id string) {
	s.Go(w, r, s.here(v)+"/payments/"+id)
}

func (s *sales) cancelForm(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := s.paymentOf(r, v)
	if err != nil {
		return err
	}
	return s.room.Show(w, r, v, "cancel", view)
}

func (s *sales) cancel(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	p, err := s.Uses.Payments.CancelBy(r.Context(), v.Scope, r.PathValue("id"), v.Actor())
	if err != nil {
		return err
	}
	s.Flash(w, "canceled")
	s.back(w, r, v, p.ID)
	return nil
}

func (s *sales) receiptForm(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := s.paymentOf(r, v)
	if err != nil {
		return err
	}
	return s.room.Show(w, r, v, "receipt", view)
}

// receipt sends the payment's receipt to its customer.
func (s *sales) receipt(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	to, err := s.Uses.Mails.SendReceipt(r.Context(), v.Scope, id, v.User.Email, v.Actor())
	if err != nil {
		return err
	}
	s.Flash(w, "receipt_sent", "email", to)
	s.back(w, r, v, id)
	return nil
}

func (s *sales) simulate(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	p, _, err := s.Uses.Sandbox.Simulate(r.Context(), v.Scope, r.PathValue("id"), sandbox.SimulatedAction(clean(r.FormValue("action"))), view.Cause{RequestID: v.RequestID})
	if err != nil {
		return err
	}
	s.Flash(w, "simulated")
	s.back(w, r, v, p.ID)
	return nil
}
