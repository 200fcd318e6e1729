package mercadopago

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// preference is the part of a preference that we read: a page. A search has no address, and of the items the titles alone.
type preference struct {
	ID                text `json:"id"`
	InitPoint         text `json:"init_point"`
	ExternalReference text `json:"external_reference"`
	Expires           bool `json:"expires"`
	ExpirationDateTo  text `json:"expiration_date_to"`

	price money.Amount // of its items; zero if it was not read or is not clear
}

// over reports whether the preference has expired.
func (p preference) over(now time.Time) bool {
	until, err := time.Parse(time.RFC3339, string(p.ExpirationDateTo))
	return p.Expires && err == nil && !now.Before(until)
}

// await is a preference that waits for the shopper.
func (p preference) await() pay.Outcome {
	form := provider.Link(string(p.InitPoint))
	if p.ID == "" || form == "" {
		return *provider.Broken()
	}
	return pay.Outcome{Kind: pay.Awaiting, ProviderRef: string(p.ID), FormURL: form}
}

// isPage reports whether an id of a charge is a preference's: a payment's has digits alone.
func isPage(id string) bool { return provider.Plain(id, 128) && !isID(id) }

// pages lists the preferences of a charge; two calls at one moment may have made two. If the shopper's is known, it is that one,
// whatever a search finds. The outcome is Missing if there is none.
func (a *account) pages(ctx context.Context, r provider.Request) ([]preference, *pay.Outcome) {
	if isPage(r.ProviderRef) {
		p, lost := a.wholePreference(ctx, text(r.ProviderRef))
		if lost == nil && p.ExternalReference != text(r.Reference) {
			lost = &pay.Outcome{Kind: pay.Unknown, Decline: "another_page"}
		}
		return []preference{p}, lost
	}
	query := url.Values{"external_reference": {r.Reference}, "limit": {fmt.Sprint(perPage)}}
	reply, lost := a.call(ctx, http.MethodGet, "/checkout/preferences/search?"+query.Encode(), nil, "")
	if lost != nil {
		return nil, lost
	}
	if reply.Status != http.StatusOK {
		return nil, refused(reply)
	}
	var found struct {
		Elements *[]preference `json:"elements"`
		Total    *int          `json:"total"`
	}
	if read(reply.Body, &found) != nil {
		return nil, provider.Broken()
	}
	if none := found.Total != nil && *found.Total == 0; found.Elements == nil && none { // null in the place of an empty list
		return nil, &pay.Outcome{Kind: pay.Missing}
	}
	if found.Elements == nil {
		return nil, provider.Broken()
	}
	for _, p := range *found.Elements {
		if p.ExternalReference != text(r.Reference) || p.ID == "" {
			return nil, provider.Broken()
		}
	}
	if len(*found.Elements) == 0 {
		return nil, &pay.Outcome{Kind: pay.Missing}
	}
	return *found.Elements, nil
}

// preference is the whole preference of a charge: one that is open, if any is. The outcome is Missing if there is none.
func (a *account) preference(ctx context.Context, r provider.Request) (preference, *pay.Outcome) {
	list, lost := a.pages(ctx, r)
	if lost != nil {
		return preference{}, lost
	}
	at := max(0, slices.IndexFunc(list, func(p preference) bool { return !p.over(a.Now()) }))
	if list[at].InitPoint != "" {
		return list[at], nil
	}
	return a.wholePreference(ctx, list[at].ID)
}

// wholePreference reads the fields that a search omits.
func (a *account) wholePreference(ctx context.Context, id text) (preference, *pay.Outcome) {
	var p struct {
		preference
		Items []struct {
			Quantity   json.Number `json:"quantity"`
			CurrencyID text        `json:"currency_id"`
			UnitPrice  json.Number `json:"unit_price"`
		} `json:"items"`
	}
	reply, lost := a.call(ctx, http.MethodGet, "/checkout/preferences/"+url.PathEscape(string(id)), nil, "")
	switch {
	case lost != nil:
		return p.preference, lost
	case reply.Status != http.StatusOK:
		return p.preference, refused(reply)
	case read(reply.Body, &p) != nil || p.ID != id:
		return p.preference, provider.Broken()
	}
	if len(p.Items) == 1 && p.Items[0].Quantity == "1" { // as we make them
		p.price, _ = provider.Major(p.Items[0].UnitPrice.String(), string(p.Items[0].CurrencyID))
	}
	return p.preference, nil
}

// close makes the preferences of a charge expire. nil if they have expired, Missing if none is found.
func (a *account) close(ctx context.Context, r provider.Request, way rail) *pay.Outcome {
	list, lost := a.pages(ctx, r)
	switch {
	case lost != nil && lost.Kind == pay.Missing:
		return lost
	case lost != nil:
		return &pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
	}
	for _, page := range list {
		if page.over(a.Now()) {
			continue
		}
		reply, lost := a.call(ctx, http.MethodPut, "/checkout/preferences/"+url.PathEscape(string(page.ID)), a.page(r, way, a.Now()), "")
		if lost != nil {
			return &pay.Outcome{Kind: pay.Unknown, Decline: lost.Decline}
		}
		var after preference
		if reply.Status != http.StatusOK || read(reply.Body, &after) != nil || !after.over(a.Now()) {
			return &pay.Outcome{Kind: pay.Unknown, Decline: "page_not_closed"}
		}
	}
	return nil
}
