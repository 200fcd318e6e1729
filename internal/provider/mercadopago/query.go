package mercadopago

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// A search is read in pages, up to a limit.
const (
	perPage  = 50
	maxPages = 4
)

// Query reads the payment, or whatever has our reference.
func (a *account) Query(ctx context.Context, r provider.Request) pay.Outcome {
	way, _ := railOf(r.Rail)
	if !isID(r.ProviderRef) {
		return asked(a.byReference(ctx, r.Reference, r.PageURL))
	}
	p, lost := a.payment(ctx, r.ProviderRef)
	switch {
	case lost != nil:
		return asked(*lost)
	case p.ExternalReference != text(r.Reference):
		return pay.Outcome{Kind: pay.Unknown, Decline: "another_payment"}
	case way.hosted() && !p.paid():
		return asked(a.byReference(ctx, r.Reference, r.PageURL))
	}
	return usable(a.outcome(p, r.PageURL))
}

// payment reads one payment. The outcome is Missing if there is none.
func (a *account) payment(ctx context.Context, id string) (payment, *pay.Outcome) {
	reply, lost := a.call(ctx, http.MethodGet, "/v1/payments/"+url.PathEscape(id), nil, "")
	if lost != nil {
		return payment{}, lost
	}
	if reply.Status == http.StatusNotFound {
		return payment{}, notFound(reply)
	}
	p, lost := one(reply)
	if lost == nil && string(p.ID) != id {
		return payment{}, provider.Broken()
	}
	return p, lost
}

// asked is the outcome of a query. A refused query proves nothing.
func asked(o pay.Outcome) pay.Outcome {
	return usable(o.Asked())
}

// notFound accepts a 404 as proof only in the provider's own words, not a gateway's.
func notFound(reply provider.Reply) *pay.Outcome {
	var e struct {
		Status int  `json:"status"`
		Error  text `json:"error"`
	}
	if read(reply.Body, &e) != nil || e.Status != http.StatusNotFound || e.Error == "" {
		return provider.Broken()
	}
	return &pay.Outcome{Kind: pay.Missing}
}

// byReference is the state of a charge by our reference: of the paid payment, else of one
// that can still be paid, else of the page, else of the last try.
func (a *account) byReference(ctx context.Context, reference, pageURL string) pay.Outcome {
	list, lost := a.payments(ctx, reference)
	if lost != nil {
		return *lost
	}
	p, found := decisive(list)
	if found && p.paid() {
		return a.several(p, list, pageURL)
	}
	page, lost := a.preference(ctx, reference)
	switch {
	case lost != nil && lost.Kind != pay.Missing:
		return *lost
	case lost != nil && !found:
		return *lost
	case lost != nil:
		return a.outcome(p, pageURL)
	case found && !p.dead():
		o := a.outcome(p, pageURL)
		o.ProviderRef = string(page.ID)
		if o.Kind == pay.Awaiting && o.FormURL == "" {
			o.FormURL = provider.Link(string(page.InitPoint))
		}
		return o
	case !page.over(a.Now()):
		return page.await()
	case found:
		return a.outcome(p, pageURL)
	}
	return pay.Outcome{Kind: pay.Lapsed, Decline: "expired", ProviderRef: string(page.ID)}
}

// several is the outcome of a paid payment with the others of its reference that were paid: a
// preference can be paid more than once.
func (a *account) several(p payment, list []payment, pageURL string) pay.Outcome {
	o := a.outcome(p, pageURL)
	for _, other := range list {
		if other.ID == p.ID || !other.paid() || o.Kind != pay.Approved {
			continue
		}
		if more := a.outcome(other, pageURL); more.Kind == pay.Approved {
			o.Also = append(o.Also, pay.Money{Ref: more.MoneyRef, ProviderRef: more.ProviderRef, Local: more.Local})
		}
	}
	return o
}

// decisive is the payment that decides the charge: the first paid one, else one that can
// still be paid, else the last failed one. The list begins with the newest.
func decisive(list []payment) (payment, bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].paid() {
			return list[i], true
		}
	}
	for _, p := range list {
		if !p.dead() {
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

// preference finds the one with our reference. The outcome is Missing if there is none.
func (a *account) preference(ctx context.Context, reference string) (preference, *pay.Outcome) {
	query := url.Values{"external_reference": {reference}, "limit": {fmt.Sprint(perPage)}}
	reply, lost := a.call(ctx, http.MethodGet, "/checkout/preferences/search?"+query.Encode(), nil, "")
	if lost != nil {
		return preference{}, lost
	}
	if reply.Status != http.StatusOK {
		return preference{}, refused(reply)
	}
	var found struct {
		Elements *[]preference `json:"elements"`
		Total    *int          `json:"total"`
	}
	if read(reply.Body, &found) != nil {
		return preference{}, provider.Broken()
	}
	if none := found.Total != nil && *found.Total == 0; found.Elements == nil && none { // null in the place of an empty list
		return preference{}, &pay.Outcome{Kind: pay.Missing}
	}
	if found.Elements == nil {
		return preference{}, provider.Broken()
	}
	for _, p := range *found.Elements {
		if p.ExternalReference != text(reference) || p.ID == "" {
			return preference{}, provider.Broken()
		}
	}
	if len(*found.Elements) == 0 {
		return preference{}, &pay.Outcome{Kind: pay.Missing}
	}
	if p := (*found.Elements)[0]; p.InitPoint != "" {
		return p, nil
	}
	return a.wholePreference(ctx, (*found.Elements)[0].ID)
}

// wholePreference reads the fields that a search omits.
func (a *account) wholePreference(ctx context.Context, id text) (preference, *pay.Outcome) {
	var p preference
	reply, lost := a.call(ctx, http.MethodGet, "/checkout/preferences/"+url.PathEscape(string(id)), nil, "")
	switch {
	case lost != nil:
		return p, lost
	case reply.Status != http.StatusOK:
		return p, refused(reply)
	case read(reply.Body, &p) != nil || p.ID != id:
		return p, provider.Broken()
	}
	return p, nil
}

// Cancel ends a payment, or the page and the payments begun on it.
func (a *account) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	way, _ := railOf(r.Rail)
	if way.hosted() {
		if o := a.close(ctx, r, way); o != nil {
			return *o
		}
	}
	list, lost := a.payments(ctx, r.Reference)
	if lost != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	}
	p, found := decisive(list)
	switch {
	case !found:
		return pay.Outcome{Kind: pay.Lapsed, Decline: "canceled"}
	case p.paid():
		return a.several(p, list, r.PageURL)
	case p.dead():
		return pay.Outcome{Kind: pay.Lapsed, Decline: "canceled", ProviderRef: string(p.ID)}
	}
	return a.cancelPayment(ctx, string(p.ID), r)
}

// close makes a preference expire. nil if it has expired or never existed.
func (a *account) close(ctx context.Context, r provider.Request, way rail) *pay.Outcome {
	page, lost := a.preference(ctx, r.Reference)
	switch {
	case lost != nil && lost.Kind == pay.Missing, lost == nil && page.over(a.Now()):
		return nil
	case lost != nil:
		return &pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	}
	reply, lost := a.call(ctx, http.MethodPut, "/checkout/preferences/"+url.PathEscape(string(page.ID)), a.page(r, way, a.Now()), "")
	if lost != nil {
		return &pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	}
	var after preference
	if reply.Status != http.StatusOK || read(reply.Body, &after) != nil || !after.over(a.Now()) {
		return &pay.Outcome{Kind: pay.Unknown, Decline: "page_not_closed"}
	}
	return nil
}

func (a *account) cancelPayment(ctx context.Context, id string, r provider.Request) pay.Outcome {
	body := struct {
		Status string `json:"status"`
	}{"cancelled"}
	if !isID(id) {
		return *provider.Broken()
	}
	reply, lost := a.call(ctx, http.MethodPut, "/v1/payments/"+id, body, "cancel/"+r.Reference)
	if lost != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	}
	p, lost := one(reply)
	refused := lost != nil && lost.Kind == pay.Errored
	if lost != nil { // it may be paid by now, and then cannot be canceled
		if p, lost = a.payment(ctx, id); lost != nil {
			return pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
		}
	}
	switch {
	case p.paid():
		return a.outcome(p, r.PageURL)
	case p.dead() && string(p.ID) == id:
		return pay.Outcome{Kind: pay.Lapsed, Decline: "canceled", ProviderRef: id}
	}
	if refused {
		return pay.Outcome{Kind: pay.Awaiting, Decline: "cannot_be_canceled", ProviderRef: id}
	}
	return pay.Outcome{Kind: pay.Unknown, Decline: "not_canceled", ProviderRef: id}
}
