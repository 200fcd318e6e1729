package payments

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// listView is the list of payments.
type listView struct {
	Rows       []row
	Pager      frame.Pager
	Names      names
	Found      string // the key of the text that says how the search was understood
	Query      string // what was searched
	Other      string // the end of a document that the search may also mean; "" for none
	Wrong      string // a sentence about a filter that cannot be read
	Filtered   bool
	Currencies []money.Currency
}

// readFilters reads the filters of a list from the query. wrong says what cannot be read.
func (s *sales) readFilters(r *http.Request, v *frame.Visit) (f lists.PaymentFilter, found, wrong string, err error) {
	value := func(name string) string { return clean(r.URL.Query().Get(name)) }
	f = lists.PaymentFilter{Status: pay.Status(value("status")), Method: value("method"), Country: value("country"), OrderID: value("order"), Email: value("email")}
	if f.Status != "" && !f.Status.Valid() {
		wrong = s.room.Text(v, "wrong_status")
	}
	if f.Span, err = frame.Days(r); err != nil {
		shown, ok := problemOf(err)
		if !ok {
			return f, "", "", err
		}
		wrong, err = frame.ErrorText(v.Language(), shown), nil
	}
	if text := value("document"); text != "" {
		end, ok := lists.DocumentEnd(text)
		if !ok {
			wrong = s.room.Text(v, "wrong_document")
		}
		f.Document = end
	}
	if text := value("amount"); text != "" {
		a, ok := amountOf(v.Language(), text, money.Currency(cmp.Or(value("currency"), string(money.USD))))
		if !ok {
			wrong = s.room.Text(v, "wrong_amount")
		}
		f.Amount = a
	}
	if text := value("q"); text != "" && wrong == "" {
		found, err = s.understand(r.Context(), v, text, &f)
	}
	return f, found, wrong, err
}

// understand adds to a filter what somebody typed into the search box. Only an e-mail is plain. Anything else is an
// order if the shop has that one, else an amount or the end of a document that it has.
func (s *sales) understand(ctx context.Context, v *frame.Visit, text string, f *lists.PaymentFilter) (found string, err error) {
	if strings.Contains(text, "@") {
		f.Email = text
		return "found_email", nil
	}
	readings := []reading{{"found_order", lists.PaymentFilter{OrderID: text}}}
	a, number := amountOf(v.Language(), text, money.USD)
	if number = number && f.Amount.IsZero(); number {
		readings = append(readings, reading{"found_amount", lists.PaymentFilter{Amount: a}})
	}
	if end, ok := lists.DocumentEnd(text); ok && f.Document == "" {
		readings = append(readings, reading{"found_document", lists.PaymentFilter{Document: end}})
	}
	means := readings[0]
	if number {
		means = readings[1]
	}
	for _, r := range readings {
		list, err := s.Uses.Payments.Few(ctx, v.Scope, r.filter(1))
		if err != nil {
			return "", err
		}
		if len(list) > 0 {
			means = r
			break
		}
	}
	f.OrderID = cmp.Or(means.f.OrderID, f.OrderID)
	f.Document = cmp.Or(means.f.Document, f.Document)
	if !means.f.Amount.IsZero() {
		f.Amount = means.f.Amount
	}
	return means.found, nil
}

// reading is one way to understand what was typed.
type reading struct {
	found string // the key of the text that says so
	f     lists.PaymentFilter
}

// filter selects at most so many payments.
func (r reading) filter(limit int) lists.PaymentFilter {
	f := r.f
	f.Limit = limit
	return f
}

func (s *sales) list(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := listView{Names: s.names(v), Query: clean(r.URL.Query().Get("q")), Currencies: s.Uses.Rates.Currencies()}
	if to, ok := s.object(r.Context(), v, view.Query); ok {
		s.Go(w, r, s.here(v)+to)
		return nil
	}
	for name, values := range r.URL.Query() {
		view.Filtered = view.Filtered || name != "cursor" && values[0] != ""
	}
	f, found, wrong, err := s.readFilters(r, v)
	if err != nil {
		return err
	}
	if end, ok := lists.DocumentEnd(view.Query); ok && found == "found_amount" {
		view.Other = end
	}
	if view.Found, view.Wrong = found, wrong; wrong != "" {
		return s.room.ShowStatus(w, r, v, http.StatusBadRequest, "list", view)
	}
	f.Page = lists.Page{Limit: frame.Rows + 1, After: clean(r.URL.Query().Get("cursor"))}
	list, total, err := s.Uses.Payments.List(r.Context(), v.Scope, f)
	if shown, ok := problemOf(err); ok && shown.Param == lists.CursorParam {
		return problem.New(problem.NotFound, noPageOfList)
	}
	if err != nil {
		return err
	}
	list, view.Pager.Next = frame.Cut(list, func(p pay.Payment) string { return p.ID })
	view.Rows, view.Pager.Total, view.Pager.More = view.Names.rows(list), int(total), total == lists.MostCounted && f.Capped()
	if f.After == "" && len(list) > 0 {
		view.Pager.From, view.Pager.To = 1, len(list)
	}
	return s.room.Fragment(w, r, v, "list", "rows", view)
}

// export writes the payments that the filters select as a file.
func (s *sales) export(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, _, wrong, err := s.readFilters(r, v)
	if wrong != "" {
		return message.Refusal(problem.InvalidRequest, wrong)
	}
	if err != nil {
		return err
	}
	file, err := s.file(w, r, v)
	if err != nil {
		return err
	}
	page, err := s.Uses.Payments.ListFrom(r.Context(), v.Scope, f)
	if err != nil {
		return err
	}
	for err == nil {
		for _, p := range page {
			if err = file.Row(s.cells(v, p)...); err != nil {
				break
			}
		}
		if err != nil || len(page) < payments.ExportPage {
			break
		}
		f.After = page[len(page)-1].ID
		page, err = s.Uses.Payments.ListFrom(r.Context(), v.Scope, f)
	}
	if err != nil {
		return err
	}
	return file.End()
}

// file begins a file of payments.
func (s *sales) file(w http.ResponseWriter, r *http.Request, v *frame.Visit) (*frame.CSV, error) {
	var heads []string
	for _, key := range []string{
		"payment", "status", "amount", "currency", "paid_amount", "paid_currency", "worth", "refunded_amount", "fees", "method", "country", "customer_email",
		"customer_name", "order", "created", "completed", "installments", "installments_total", "fees_tax", "tax_name", "tax_percent",
	} {
		heads = append(heads, s.room.Text(v, "col_"+key))
	}
	return s.NewCSV(w, r, v, "payments-"+string(v.Environment())+"-"+s.Uses.TimeOf(v.Scope).UTC().Format(time.DateOnly), heads...)
}

func (s *sales) cells(v *frame.Visit, p pay.Payment) []any {
	asked, local := p.Price.Requested(), p.Price.Local
	return []any{
		p.ID, s.word(v, statusOf(p)), asked, string(asked.Currency), local, string(local.Currency), p.Price.Amount, money.New(p.Refunds.Local, local.Currency),
		money.New(p.Terms.Fees.Total(), money.USD), p.Way.Method, p.Way.Country, p.Order.Buyer.Email, p.Order.Buyer.Name, p.Order.ID, p.Times.Created, p.Times.Completed,
		p.End.Plan.Count, p.End.Plan.Total, money.New(p.Terms.Fees.Tax, money.USD), p.Terms.Taxed.Name, p.Terms.Taxed.Percent(),
	}
}

// word is a status in the visitor's language.
func (s *sales) word(v *frame.Visit, status string) string { return s.room.Text(v, "status_"+status) }

// Statuses are the tabs of the list.
func (listView) Statuses() []pay.Status { return pay.Statuses() }

// File is the address of the file of what the list shows.
func (listView) File(p *frame.Page) string {
	query := []any{}
	for name, values := range p.Query {
		if name != "cursor" {
			query = append(query, name, values[0])
		}
	}
	return p.Link("payments/export", query...)
}
