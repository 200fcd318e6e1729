// Package methods offers payment methods: the rails that are served, with amounts as shoppers pay them and the installments that
// they may choose. It makes no payment.
package methods

import (
	"slices"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider"
)

// Methods offers payment methods: the rails that are served, with amounts as shoppers pay them.
type Methods struct {
	*base.Base
	*apprates.Rates
	*appaccounts.Providers
	catalog *appaccounts.Catalog
}

// New returns the Methods of a service.
func New(b *base.Base, rates *apprates.Rates, providers *appaccounts.Providers, catalog *appaccounts.Catalog) *Methods {
	return &Methods{b, rates, providers, catalog}
}

// Filter selects rails of the catalog; empty fields select all.
type Filter struct {
	Country string // alpha-3
	Channel accounts.Channel
	Method  string
}

// ListedRail is a rail as a shop sees it.
type ListedRail struct {
	accounts.Rail
	Unroutable string // why it cannot be charged, "" if it can
	Refundable bool   // a provider that serves it refunds its payments
}

// RailList lists the rails that a shop sees, within the limits of its provider accounts. total is
// their number without the filter. A rail that no adapter serves is hidden in production, unless an account
// serves it: nobody could open an account for it. The sandbox has its test methods, and the rails that an account at a provider's
// own test environment serves (CAT-10).
func (ms *Methods) RailList(scope merchants.Scope, f Filter) (list []ListedRail, total int) {
	rails := ms.catalog.Live
	if !scope.Live {
		rails = slices.Concat(ms.catalog.Sandbox, rails)
	}
	for i, r := range rails {
		serving := ms.Serving(scope, r)
		own := scope.Live && ms.catalog.Adapted[r.Key] || !scope.Live && i < len(ms.catalog.Sandbox)
		if !own && len(serving) == 0 {
			continue
		}
		total++
		if (f.Country == "" || r.Country == f.Country) && (f.Channel == "" || r.Channel == f.Channel) && (f.Method == "" || r.Method == f.Method) {
			list = append(list, ListedRail{ms.worthwhile(scope.Live, serving.Narrow(r)), ms.unroutable(scope.Live, r, serving), ms.refundable(r, serving)})
		}
	}
	return list, total
}

// worthwhile returns a rail whose limits begin at its smallest worth, at the present rates (PAY-36).
func (ms *Methods) worthwhile(live bool, rail accounts.Rail) accounts.Rail {
	for _, l := range rail.Limits {
		rate, err := ms.Reading(live, l.Currency)
		if err != nil {
			continue // no account accepts a payment by this method now
		}
		if least, err := rate.Rate.Price(money.New(rail.Least, money.USD), l.Currency); err == nil {
			rail = rail.From(least)
		}
	}
	return rail
}

// refundable reports whether a payment over a rail can be refunded by a provider that serves it. Stand-ins refund all.
func (ms *Methods) refundable(r accounts.Rail, serving accounts.Accounts) bool {
	return len(serving) == 0 || slices.ContainsFunc(serving, func(account accounts.Account) bool {
		upstream, ok := ms.Upstream(account.ID)
		return ok && provider.Refunds(upstream, r.Key)
	})
}

// unroutable says why a rail cannot be charged now, "" if it can.
func (ms *Methods) unroutable(live bool, r accounts.Rail, serving accounts.Accounts) string {
	if len(serving) == 0 && (live || len(ms.StandInOrder) == 0) {
		return "no provider is configured for " + r.Name
	}
	if _, err := ms.Reading(live, r.Limits[0].Currency); err != nil {
		return "there is no current exchange rate of " + string(r.Limits[0].Currency)
	}
	return ""
}

// choose finds the rail and country of an order (PAY-15, PAY-16).
//
// In a strict sandbox a rail works only in its own country, as in production.
//
// Errors: missing_field, unsupported_method, unsupported_country.
func (ms *Methods) choose(scope merchants.Scope, w Wanted) (accounts.Rail, geo.Country, error) {
	var where geo.Country
	if w.Country != "" {
		var ok bool
		if where, ok = geo.Parse(w.Country); !ok {
			return accounts.Rail{}, where, problem.Field(problem.InvalidRequest, "country", countryUnreadable)
		}
	}
	rail, err := ms.rail(scope, w.Strict, w.MethodID, w.Method, where)
	if err != nil {
		return accounts.Rail{}, where, err
	}
	if w.Country == "" {
		where, _ = geo.Parse(rail.Country)
	}
	if (scope.Live || w.Strict) && where.Alpha3 != rail.Country {
		return accounts.Rail{}, where, problem.Field(problem.UnsupportedCountry, "country",
			methodNotThere.With(rail.Name, where.Name, where.Alpha3))
	}
	return rail, where, nil
}

func (ms *Methods) rail(scope merchants.Scope, strict bool, id, slug string, where geo.Country) (accounts.Rail, error) {
	live := scope.Live
	if id != "" {
		rail, ok := ms.catalog.ByID[id]
		test := slices.ContainsFunc(ms.catalog.Sandbox, func(r accounts.Rail) bool { return r.ID == id })
		if !ok || live && test {
			return accounts.Rail{}, problem.Field(problem.UnsupportedMethod, "paymentMethodId",
				wrongRail(id, ms.catalog, live))
		}
		return rail, nil
	}
	if slug == "" {
		return accounts.Rail{}, problem.Field(problem.MissingField, "paymentMethodId", methodRequired)
	}
	if where.Alpha3 == "" {
		where, _ = geo.Parse("USA") // PAY-16
	}
	bySlug := func(r accounts.Rail) bool { return r.Method == slug }
	here := func(r accounts.Rail) bool { return r.Method == slug && r.Country == where.Alpha3 }
	if strict {
		for _, rails := range [][]accounts.Rail{ms.catalog.Sandbox, ms.catalog.Live} {
			if i := slices.IndexFunc(rails, here); i >= 0 {
				return rails[i], nil
			}
		}
		live = true // in a strict sandbox, production's rules for countries apply
	}
	if !live {
		// Any country and method work in the sandbox. The rail of the country comes first.
		for _, try := range []struct {
			rails []accounts.Rail
			match func(accounts.Rail) bool
		}{{ms.catalog.Sandbox, bySlug}, {ms.catalog.Live, here}, {ms.catalog.Live, bySlug}} {
			if i := slices.IndexFunc(try.rails, try.match); i >= 0 {
				return try.rails[i], nil
			}
		}
	}
	if i := slices.IndexFunc(ms.catalog.Live, here); live && i >= 0 {
		served := func(r accounts.Rail) bool { return here(r) && len(ms.Serving(scope, r)) > 0 }
		if j := slices.IndexFunc(ms.catalog.Live, served); j >= 0 {
			i = j // a country may have rails of the method that no account serves
		}
		return ms.catalog.Live[i], nil
	}
	if live && slices.ContainsFunc(ms.catalog.Live, bySlug) {
		return accounts.Rail{}, problem.Field(problem.UnsupportedCountry, "country", slugNotThere.With(slug, where.Name))
	}
	return accounts.Rail{}, problem.Field(problem.UnsupportedMethod, "paymentMethod", wrongSlug(slug, ms.catalog))
}

// payable is a converted amount as the shopper is asked for it: in whole units of the currency, if
// an account that serves the rail takes no cents.
func (ms *Methods) payable(serving accounts.Accounts, rail accounts.Rail, local money.Amount) money.Amount {
	whole := local.WholeUnits()
	for _, account := range serving {
		upstream, ok := ms.Upstream(account.ID)
		if ok && !provider.Accepts(upstream, rail.Key, local) && provider.Accepts(upstream, rail.Key, whole) {
			return whole
		}
	}
	return local
}

// Accepts reports whether an account accepts the amount of a quote: within the operator's limits and
// by the adapter's own rules. A stand-in accepts every amount.
func (ms *Methods) Accepts(q Quote) bool {
	if len(q.serving) == 0 {
		return true
	}
	within, _ := q.serving.Accepting(q.Rail, q.Local)
	return slices.ContainsFunc(within, func(account accounts.Account) bool {
		upstream, ok := ms.Upstream(account.ID)
		return ok && provider.Accepts(upstream, q.Rail.Key, q.Local)
	})
}

// convert returns the local amount of an order, the rate, and the rail with limits in that
// currency.
//
// Errors: service_unavailable if there is no reliable rate.
func (ms *Methods) convert(live bool, rail accounts.Rail, where geo.Country, usd money.Amount) (money.Amount, rates.Reading, accounts.Rail, error) {
	currency := ms.Currency(live, rail, where)
	rate, err := ms.Reading(live, currency)
	if err != nil {
		return money.Amount{}, rate, rail, err
	}
	if _, ok := rail.LimitIn(currency); !ok {
		// The sandbox's range: from one cent to the largest payment.
		low, high, err := rate.Rate.Around(money.New(1, money.USD), money.New(accounts.MaxAmount, money.USD), currency)
		if err != nil {
			return money.Amount{}, rate, rail, err
		}
		rail.Limits = append(slices.Clip(rail.Limits), accounts.Limit{Currency: currency, Min: max(low.Minor, 1), Max: high.Minor})
	}
	local, err := rate.Rate.Price(usd, currency)
	return local, rate, rail, err
}

// wrongRail says why a paymentMethodId is unknown: where to read the ids, and which one was
// probably meant.
func wrongRail(id string, c *appaccounts.Catalog, live bool) problem.Reason {
	var ids []string
	for known := range c.ByID {
		test := slices.ContainsFunc(c.Sandbox, func(r accounts.Rail) bool { return r.ID == known })
		if test && known == id {
			return methodOfSandbox.With(id)
		}
		if test && !live {
			ids = append(ids, known)
		}
	}
	slices.Sort(ids)
	if c.HasMethod(id) {
		return nameForID.With(id)
	}
	if meant := near.Typo(id, ids); meant != "" {
		return methodUnknownMeant.With(meant)
	}
	return methodUnknown
}

// wrongSlug says why the name of a method is unknown, with the one that was probably meant.
func wrongSlug(slug string, c *appaccounts.Catalog) problem.Reason {
	if _, isID := c.ByID[slug]; isID {
		return idForName.With(slug)
	}
	if meant := near.Meant(slug, c.Slugs); meant != "" {
		return nameUnknownMeant.With(meant)
	}
	return nameUnknown
}

// CheckSlug returns an error for a filter that names no method.
//
// Errors: invalid_request.
func (ms *Methods) CheckSlug(slug string) error {
	slugs := ms.catalog.Slugs
	if slices.Contains(slugs, slug) {
		return nil
	}
	why := filterUnknown.With(slugs)
	if _, isID := ms.catalog.ByID[slug]; isID {
		why = filterIsID.With(slugs, slug)
	} else if meant := near.Meant(slug, slugs); meant != "" {
		why = filterMeant.With(slugs, meant)
	}
	return problem.Field(problem.InvalidRequest, "method", why)
}

// local is what the shopper pays over a rail for a shop's amount, which is worth usd at a rate. A
// shopper who pays in the shop's currency pays exactly the shop's amount, not that amount converted
// to USD and back. Others pay an amount that the accounts on the rail accept.
func (ms *Methods) local(live bool, serving accounts.Accounts, rail accounts.Rail, where geo.Country, usd, asked money.Amount, at rates.Reading) (money.Amount, rates.Reading, accounts.Rail, error) {
	local, rate, rail, err := ms.convert(live, rail, where, usd)
	if err == nil && local.Currency == asked.Currency {
		return asked, at, rail, nil
	}
	if err != nil {
		return local, rate, rail, err
	}
	return ms.payable(serving, rail, local), rate, rail, nil
}
