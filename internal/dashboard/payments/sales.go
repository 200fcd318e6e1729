// Package payments is the dashboard's home and its pages about payments: the list, the search, one payment with its
// whole story, test payments and payment links.
package payments

import (
	"embed"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

type sales struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files)
	if err != nil {
		return err
	}
	s := &sales{Site: site, Uses: uses, room: room.TimedBy(site)}
	site.Handle("GET /", merchants.RightRead, s.home)
	site.Handle("GET /live", merchants.RightRead, s.live)
	site.Handle("GET /search", merchants.RightRead, s.search)
	site.Handle("GET /payments", merchants.RightRead, s.list)
	site.Handle("GET /payments/export", merchants.RightRead, s.export)
	site.Handle("GET /payments/test", merchants.RightPayments, s.newTest)
	site.Handle("POST /payments/test", merchants.RightPayments, s.makeTest)
	site.Handle("GET /payments/link", merchants.RightPayments, s.newLink)
	site.Handle("POST /payments/link", merchants.RightPayments, s.makeLink)
	site.Handle("GET /payments/links", merchants.RightRead, s.links)
	site.Handle("GET /payments/links/{id}/show", merchants.RightPayments, s.oneLink)
	site.Handle("GET /payments/links/{id}/close", merchants.RightPayments, s.closeForm)
	site.Handle("POST /payments/links/{id}/close", merchants.RightPayments, s.closeLink)
	site.Handle("POST /payments/links/{id}/open", merchants.RightPayments, s.reopenLink)
	site.Handle("GET /payments/{id}", merchants.RightRead, s.payment)
	site.Handle("GET /payments/{id}/refund", merchants.RightRefunds, s.refundForm)
	site.Handle("POST /payments/{id}/refund", merchants.RightRefunds, s.refund)
	site.Handle("GET /payments/{id}/receipt", merchants.RightPayments, s.receiptForm)
	site.Handle("POST /payments/{id}/receipt", merchants.RightPayments, s.receipt)
	site.Handle("GET /payments/{id}/cancel", merchants.RightPayments, s.cancelForm)
	site.Handle("POST /payments/{id}/cancel", merchants.RightPayments, s.cancel)
	site.Handle("POST /payments/{id}/simulate", merchants.RightSandbox, s.simulate)
	return nil
}

// operator reports whether the visitor is an operator who looks at a merchant's pages: only operators see the
// names of provider accounts (SVC-7).
func operator(v *frame.Visit) bool { return v.User.Operator != "" && v.Role == "" }

// here is the address of the shop's pages, with the root before it.
func (s *sales) here(v *frame.Visit) string { return s.At(strings.TrimPrefix(v.Home(), frame.Base)) }

// form is what a page with a form shows.
type form struct {
	Key   string            // makes a second click harmless
	Typed map[string]string // by field
	Wrong map[string]string // what is wrong, by field
	Error string            // of the whole form
	// Unsure: nobody knows whether it was done. The form has the same key: to send it again does it once.
	Unsure bool
}

// typed reads the fields of a form.
func typed(r *http.Request, fields ...string) form {
	f := form{Key: clean(r.FormValue("key")), Typed: map[string]string{}, Wrong: map[string]string{}}
	for _, name := range fields {
		f.Typed[name] = clean(r.FormValue(name))
	}
	return f
}

// fresh is an empty form with a key of its own.
func (s *sales) fresh(pairs ...string) form {
	f := form{Key: s.Uses.NewID("form_", s.Uses.Now()), Typed: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Typed[pairs[i]] = pairs[i+1]
	}
	return f
}

// refused notes what was wrong with a form. A form whose key was used for something else gets a new one: the visitor
// is told, and may want this too. The results are those of form.refused.
func (s *sales) refused(v *frame.Visit, f *form, err error, names map[string]string) (int, error) {
	status, fault := f.refused(v, err, names)
	if shown, ok := problemOf(err); ok && shown.Code == problem.IdempotencyConflict {
		f.Key, f.Error = s.fresh().Key, s.room.Text(v, "form_used")
	}
	return status, fault
}

// refused notes what was wrong with a form. It returns the status to answer with, or the error if it is not the
// visitor's. names are the form's names of fields that a use case calls otherwise.
func (f *form) refused(v *frame.Visit, err error, names map[string]string) (int, error) {
	shown, ok := problemOf(err)
	if !ok || message.ShownOf(shown.Code).Status == http.StatusNotFound {
		return 0, err
	}
	f.Wrong, f.Unsure = map[string]string{}, base.Unsure(err)
	for field, message := range frame.FieldErrors(v.Language(), err) {
		if name, other := names[field]; other {
			field = name
		}
		if _, has := f.Typed[field]; has {
			f.Wrong[field] = message
		}
	}
	if len(f.Wrong) == 0 {
		f.Error = frame.ErrorText(v.Language(), shown)
	}
	return message.ShownOf(shown.Code).Status, nil
}
