package mercadopago

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
)

// A search is read in pages, up to a limit.
const (
	perPage  = 50
	maxPages = 4
)

// Query reads the payment, or whatever has our reference. On a page it was only one of several tries.
func (a *account) Query(ctx context.Context, r provider.Request) pay.Outcome {
	way, _ := railOf(r.Rail)
	if !isID(r.ProviderRef) {
		return queried(a.byReference(ctx, r))
	}
	p, lost := a.payment(ctx, r.ProviderRef)
	switch {
	case lost != nil:
		return queried(*lost)
	case p.ExternalReference != text(r.Reference):
		return pay.Outcome{Kind: pay.Unknown, Decline: "another_payment"}
	case way.hosted():
		return queried(a.byReference(ctx, r, p))
	}
	o := usable(a.outcome(p, r.PageURL))
	o.Tries = a.tries([]payment{p})
	return o
}

// payment reads one payment. The outcome is Missing if there is none.
func (a *account) payment(ctx context.Context, id string) (payment, *pay.Outcome) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/"+url.PathEscape(id), nil, "")
	if lost != nil {
		return payment{}, lost
	}
	if reply.Status == http.StatusNotFound {
		return payment{}, notFound(reply, noPayment)
	}
	p, lost := one(reply)
	if lost == nil && string(p.ID) != id {
		return payment{}, provider.Broken()
	}
	return p, lost
}

// noPage is the reason of an outcome if a payment was made on a page, and no search finds the page.
const noPage = "page_not_found"

// queried is the outcome of a query. A refused query proves nothing.
func queried(o pay.Outcome) pay.Outcome {
	return usable(o.AsQueried())
}

// The causes of a 404 that say what there is none of.
const (
	noPayment = "2000"
	noRefund  = "2032"
)

// notFound accepts a 404 as proof only if it says that there is no such object, with the cause that is documented for its call. The
// edge and the services answer 404 to other things too, with other words.
func notFound(reply provider.Reply, cause string) *pay.Outcome {
	if !slices.Contains(causes(reply.Body), cause) {
		return provider.Broken()
	}
	return &pay.Outcome{Kind: pay.Missing}
}

// byReference is the state of a charge by our reference: of what was paid, else of a payment that can still be paid, else of the
// page, else of the last try. known are payments of it that were just read. If the request has no price, it is the page's.
func (a *account) byReference(ctx context.Context, r provider.Request, known ...payment) pay.Outcome {
	list, lost := a.payments(ctx, r.Reference)
	if lost != nil {
		return *lost
	}
	list = merged(list, known)
	o := a.ofPayments(ctx, r, list)
	o.Tries = a.tries(list)
	return o
}

// tries are the payments that were refused, or that the shopper gave up: a page may have several.
func (a *account) tries(list []payment) (tries []decline.Try) {
	for _, p := range list {
		detail := string(p.StatusDetail)
		switch {
		case !isID(string(p.ID)):
		case p.Status == "rejected":
			tries = append(tries, provider.Try(string(p.ID), micros(p.DateCreated), a.Reason(declines, detail), detail))
		case p.Status == "cancelled" && detail == byPayer:
			tries = append(tries, provider.Try(string(p.ID), micros(p.DateCreated), decline.Canceled, detail))
		}
	}
	return tries
}

// byPayer is the detail of a payment that the shopper canceled.
const byPayer = "by_payer"

// micros is a time in microseconds UTC; 0 if it cannot be read.
func micros(date text) int64 {
	at, err := time.Parse(time.RFC3339Nano, string(date))
	if err != nil {
		return 0
	}
	return at.UnixMicro()
}

// ofPayments is byReference for the payments of the reference.
func (a *account) ofPayments(ctx context.Context, r provider.Request, list []payment) pay.Outcome {
	came := sorted(list, r.Local)
	if came.whole != nil {
		return a.several(came, r.PageURL)
	}
	page, lost := a.preference(ctx, r)
	if lost != nil && lost.Kind != pay.Missing {
		return *lost
	}
	none := lost != nil
	if r.Local.Currency == "" && !none {
		if came = sorted(list, page.price); came.whole != nil {
			return a.several(came, r.PageURL)
		}
	}
	last, found := decisive(list)
	open := found && !last.paid() && !last.dead()
	if none || !open && page.over(a.Now()) { // nothing can follow
		came.apart()
	}
	switch {
	case none && !found:
		return pay.Outcome{Kind: pay.Missing}
	case len(came.all()) > 0:
		return a.several(came, r.PageURL)
	case none && last.onPage(): // so there is a page, and it may be open
		return pay.Outcome{Kind: pay.Unknown, Decline: noPage}
	case none:
		return a.outcome(last, r.PageURL)
	case open:
		o := a.outcome(last, r.PageURL)
		o.ProviderRef = string(page.ID)
		if o.Kind == pay.Awaiting && o.FormURL == "" {
			o.FormURL = provider.Link(string(page.InitPoint))
		}
		return o
	case !page.over(a.Now()):
		return page.await()
	case found:
		return a.outcome(last, r.PageURL)
	}
	return pay.Outcome{Kind: pay.Lapsed, Decline: "expired", ProviderRef: string(page.ID)}
}

// merged are the payments of a search, with those that were read just now: a search may lag.
func merged(list, known []payment) []payment {
	for _, p := range known {
		at := slices.IndexFunc(list, func(found payment) bool { return found.ID == p.ID })
		if at < 0 {
			list = append(list, p)
			continue
		}
		list[at] = p
	}
	return list
}

// decisive is the payment that decides a charge of which not all was paid: one that can still be paid, else the last one. The list
// begins with the newest.
func decisive(list []payment) (payment, bool) {
	for _, p := range list {
		if !p.paid() && !p.dead() {
			return p, true
		}
	}
	if len(list) == 0 {
		return payment{}, false
	}
	return list[0], true
}

type paging struct {
	Total int `json:"total"`
}

// payments lists those with our reference, newest first.
func (a *account) payments(ctx context.Context, reference string) ([]payment, *pay.Outcome) {
	var list []payment
	for n := range maxPages {
		query := url.Values{
			"sort": {"date_created"}, "criteria": {"desc"}, "external_reference": {reference},
			"limit": {fmt.Sprint(perPage)}, "offset": {fmt.Sprint(n * perPage)},
		}
		reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/search?"+query.Encode(), nil, "")
		if lost != nil {
			return nil, lost
		}
		if reply.Status != http.StatusOK {
			return nil, refused(reply)
		}
		var found struct {
			Paging  paging     `json:"paging"`
			Results *[]payment `json:"results"`
		}
		if read(reply.Body, &found) != nil || found.Results == nil {
			return nil, provider.Broken()
		}
		for _, p := range *found.Results {
			if p.ExternalReference != text(reference) { // it did not search for our reference
				return nil, provider.Broken()
			}
			list = append(list, p)
		}
		if len(*found.Results) == 0 || found.Paging.Total <= len(list) {
			return list, nil
		}
	}
	return nil, &pay.Outcome{Kind: pay.Unknown, Decline: "too_many_payments"}
}

// Cancel ends a payment, or the page and the payments begun on it.
func (a *account) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	way, _ := railOf(r.Rail)
	unclear := func(lost *pay.Outcome) pay.Outcome { return pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline} }
	none := false
	if way.hosted() {
		o := a.close(ctx, r, way)
		if none = o != nil && o.Kind == pay.Missing; o != nil && !none {
			return *o
		}
	}
	list, lost := a.payments(ctx, r.Reference)
	if lost != nil {
		return unclear(lost)
	}
	if isID(r.ProviderRef) {
		p, lost := a.payment(ctx, r.ProviderRef)
		if lost != nil && lost.Kind != pay.Missing {
			return unclear(lost)
		}
		if lost == nil && p.ExternalReference == text(r.Reference) {
			list = merged(list, []payment{p})
		}
	}
	if none && slices.ContainsFunc(list, payment.onPage) {
		return pay.Outcome{Kind: pay.Unknown, Decline: noPage}
	}
	came := sorted(list, r.Local)
	for i, p := range list {
		if came.whole != nil || p.paid() || p.dead() {
			continue
		}
		ended, o := a.cancelPayment(ctx, string(p.ID), r)
		if o != nil {
			return *o
		}
		list[i] = ended
	}
	came = sorted(list, r.Local)
	o := pay.Outcome{Kind: pay.Lapsed, Decline: "canceled"}
	if came.apart(); len(came.all()) > 0 {
		o = a.several(came, r.PageURL)
	} else if len(list) > 0 {
		o.ProviderRef = string(list[0].ID)
	}
	o.Tries = a.tries(list)
	return o
}

// cancelPayment ends a payment, and returns it as it is then: canceled, or paid just before. The outcome is set if it did not end.
func (a *account) cancelPayment(ctx context.Context, id string, r provider.Request) (payment, *pay.Outcome) {
	body := struct {
		Status string `json:"status"`
	}{"cancelled"}
	if !isID(id) {
		return payment{}, provider.Broken()
	}
	reply, lost := a.call(ctx, http.MethodPut, "/v1/payments/"+id, body, "cancel/"+r.Reference)
	if lost != nil {
		return payment{}, &pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	}
	p, lost := one(reply)
	refused := lost != nil && lost.Kind == pay.Errored
	if lost != nil { // it may be paid by now, and then cannot be canceled
		if p, lost = a.payment(ctx, id); lost != nil {
			return payment{}, &pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
		}
	}
	switch {
	case string(p.ID) == id && (p.paid() || p.dead()):
		return p, nil
	case refused:
		return p, &pay.Outcome{Kind: pay.Awaiting, Decline: "cannot_be_canceled", ProviderRef: id}
	}
	return p, &pay.Outcome{Kind: pay.Unknown, Decline: "not_canceled", ProviderRef: id}
}
