package checkout

import (
	"cmp"
	"errors"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	views "github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
)

// selectorView is the page on which a shopper chooses how to pay.
type selectorView struct {
	view
	purchase
	Order    string
	Amount   string // in the shop's currency
	Rate     string // one unit of the shop's currency in the country's currency
	Local    string // in the country's currency, once the country is known
	Country  string // alpha-3, "" until the shopper chooses
	Home     string // the country whose methods come first, alpha-3, or ""
	Guess    bool   // a script may correct the guess
	Fixed    bool   // the shop has set the country
	Places   []option
	Methods  []method
	Away     []method // of other countries, folded
	Open     bool     // the chosen method is among them
	AtField  bool     // Problem is about the document's number
	Odd      bool     // the number only looks irregular: the next press confirms it
	Chosen   string
	Document string // the number as typed, if it was wrong
	Problem  string
	Sandbox  bool
	Back     template.URL
	BackHost string
	Expires  template.HTML
	fee      func(accounts.Rail, money.Amount) money.Amount // a method's, in the currency that the shopper pays in; nil: the shop shows none
	granted  installment.Grants                             // the merchant's terms of installments
	Ended    string                                         // the method that was called off to choose again, or ""
}

// option is a country in the list, with the time zones by which a script recognizes it.
type option struct{ Code, Name, Zones string }

// method is a payment method as a card on the page.
type method struct {
	ID           string
	country      string
	Name         string
	Mark         template.HTML
	Flag         template.HTML
	Place        string // the country's name
	Channel      string
	Price        string // what the shopper pays
	Installments string // that the shopper may choose; "" for none
	Limits       string
	Fee          string
	Time         string
	Why          string // why it cannot be chosen; "" if it can
	Document     string // the document that it asks for, such as CPF, by its usual name; "" if none is missing
	kind         string // Document by the catalog's name
	Reason       string // why it asks for the document
	Keys         string // the keyboard for the number
	Mask         string // its format: see keysOf; "" if a script leaves it alone
	Example      string // an example of the number, in a test
}

// choose shows a session's methods. A session with a payment leads to that payment
// (CHK-12), or, if it was called off, to the new choice.
func (p *Pages) choose(w http.ResponseWriter, r *http.Request) error {
	first := r.PathValue("token")
	s, token, err := p.visit(r)
	if err != nil {
		return err
	}
	if s.Payment != "" {
		p.leave(w, r, s.Payment)
		return nil
	}
	if held, err := p.uses.Sessions.Holder(r.Context(), s); err != nil {
		return err
	} else if held != "" {
		p.leave(w, r, held)
		return nil
	}
	if token != first {
		p.see(w, r, "/checkout/"+token)
		return nil
	}
	v, shop, err := p.selectorView(r, s)
	if err != nil {
		return err
	}
	if m, wrong := p.mistakeOf(r, token); wrong {
		v.mistaken(m)
	}
	secure(w, leaving, shop.Brand)
	p.render(w, http.StatusOK, "selector", v)
	return nil
}

// visit reads the session of a request in which the shopper now chooses, with its token.
func (p *Pages) visit(r *http.Request) (pay.Session, string, error) {
	token, ip := r.PathValue("token"), web.ClientIP(r.Header, r.RemoteAddr)
	s, err := p.uses.Sessions.VisitSession(r.Context(), token, ip)
	if err != nil {
		return s, token, err
	}
	now, token, err := p.uses.Sessions.Follow(r.Context(), s, token)
	if err != nil || now.ID == s.ID {
		return now, token, err
	}
	now, err = p.uses.Sessions.VisitSession(r.Context(), token, ip)
	return now, token, err
}

// mistaken shows what was wrong with a choice.
func (v *selectorView) mistaken(m mistake) {
	v.Chosen, v.Document = m.Method, m.Typed
	of, found := v.find(m.Method)
	v.Open = slices.ContainsFunc(v.Away, func(of method) bool { return of.ID == m.Method })
	switch {
	case (m.Kind == wrongDocument || m.Kind == oddDocument) && of.Document != "":
		v.Problem, v.AtField, v.Odd = v.T(m.Kind, "document", of.Document), true, m.Kind == oddDocument
	case m.Kind == notPayable && found && of.Why != "":
		v.Problem = of.Why
	case m.Kind == notPayable || m.Kind == notTaken || m.Kind == noneNow:
		v.Problem = v.T(m.Kind)
	default:
		v.Problem = v.T(noChoice)
	}
}

// find is the method with an id.
func (v *selectorView) find(id string) (method, bool) {
	for _, list := range [][]method{v.Methods, v.Away} {
		if i := slices.IndexFunc(list, func(m method) bool { return m.ID == id }); i >= 0 {
			return list[i], true
		}
	}
	return method{}, false
}

// selectMethod handles the shopper's choice. It redirects to a page that shows any mistake.
func (p *Pages) selectMethod(w http.ResponseWriter, r *http.Request) error {
	s, token, err := p.visit(r)
	if refused, ok := errors.AsType[*problem.Error](err); ok && refused.Code == problem.CheckoutSessionNotFound {
		p.see(w, r, "/checkout/"+url.PathEscape(r.PathValue("token"))) // its page shows the mistake
		return nil
	}
	if err != nil {
		return err
	}
	chosen := r.PostForm.Get("method")
	if s.Payment != "" { // the button was pressed twice, or in two tabs
		return p.chosenBefore(w, r, s.Payment, chosen)
	}
	typed := document.Clean(strings.Map(printed, r.PostForm.Get("document-"+chosen)))
	v, _, err := p.selectorView(r, s)
	if err != nil {
		return err
	}
	m := mistake{Method: chosen, Typed: typed}
	of, found := v.find(chosen)
	if !found {
		return p.tellMistake(w, r, token, mistake{Kind: noChoice})
	}
	if of.Why != "" {
		m.Kind = notPayable
		return p.tellMistake(w, r, token, m)
	}
	number := ""
	if kind := of.kind; kind != "" {
		var looks document.Verdict
		number, looks = document.Normalize(of.country, kind, typed)
		sure, _ := document.Normalize(of.country, kind, r.PostForm.Get("sure-"+chosen))
		switch {
		case looks == document.Impossible:
			m.Kind = wrongDocument
			return p.tellMistake(w, r, token, m)
		case looks == document.Irregular && sure != number: // the second press on the same number says that it is right
			m.Kind = oddDocument
			return p.tellMistake(w, r, token, m)
		}
	}
	payment, problem, err := p.pick(r, token, chosen, pay.Buyer{Document: number, IP: web.ClientIP(r.Header, r.RemoteAddr)})
	if s.Link != "" && ofLink(err) {
		p.see(w, r, "/l/"+s.Link) // its page says why
		return nil
	}
	if err != nil {
		return err
	}
	if payment == "" {
		m.Kind = problem
		return p.tellMistake(w, r, token, m)
	}
	return p.chosenBefore(w, r, payment, chosen)
}

// chosenBefore leads to the payment of a session, with a note if it uses another method
// than the one just chosen.
func (p *Pages) chosenBefore(w http.ResponseWriter, r *http.Request, payment, chosen string) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), payment)
	if err != nil {
		return err
	}
	if chosen == "" || shown.Way.RailID == chosen {
		p.leave(w, r, payment)
		return nil
	}
	p.see(w, r, "/pay/"+payment, "note", noteTaken, views.PageKeyParam, p.key(payment))
	return nil
}

// pick makes the payment. A mistake that the shopper can fix is returned as its kind; an
// existing payment, whatever its origin and status, as its id.
func (p *Pages) pick(r *http.Request, token, chosen string, typed pay.Buyer) (payment, wrong string, err error) {
	_, made, err := p.uses.Sessions.SelectMethod(r.Context(), token, payments.Choice{
		PaymentMethodID: chosen, Typed: typed, Lang: addressLanguage(r), RequestID: web.RequestID(r.Context()),
	})
	if err == nil {
		return made.ID, "", nil
	}
	if held := heldBy(err); held != "" {
		return held, "", nil
	}
	var shown *problem.Error
	if !errors.As(err, &shown) {
		return "", "", err
	}
	switch shown.Code {
	case problem.CheckoutSessionAlreadyCompleted:
		return shown.Details.ExistingTxID, "", nil
	case problem.AmountOutOfLimits, problem.UnsupportedMethod, problem.UnsupportedCurrency, problem.UnsupportedCountry:
		return "", notPayable, nil
	case problem.MissingField, problem.InvalidRequest:
		return "", notTaken, nil
	case problem.Forbidden:
		if paused(err) {
			return "", noneNow, nil
		}
	}
	return "", "", err
}

// paused reports whether a payment is refused because its merchant is paused, or leaves.
func paused(err error) bool {
	refused, ok := errors.AsType[*problem.Error](err)
	return ok && (refused.Details.Reason == merchants.ReasonPaused || refused.Details.Reason == merchants.ReasonClosed)
}

// ofLink reports whether a payment is refused because its payment link has ended or has no use left.
func ofLink(err error) bool {
	refused, ok := errors.AsType[*problem.Error](err)
	return ok && (refused.Details.Reason == pay.UsesHeld || refused.Details.Reason == pay.LinkEnded)
}

// heldBy is the payment that holds money of the order, if that is why another payment is
// refused; else "".
func heldBy(err error) string {
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Details.Reason == pay.PaymentReceived {
		return shown.Details.ExistingTxID
	}
	return ""
}

// leave redirects the shopper to the payment, with the key of its page.
func (p *Pages) leave(w http.ResponseWriter, r *http.Request, payment string) {
	p.see(w, r, "/c/"+payment, views.PageKeyParam, p.key(payment))
}

func (p *Pages) selectorView(r *http.Request, s pay.Session) (selectorView, merchants.Shop, error) {
	merchant, shop, err := p.uses.Tenant(r.Context(), base.Principal{Scope: s.Scope})
	if err != nil {
		return selectorView{}, shop, err
	}
	v := p.selector(r, s, shop, merchant)
	v.Ended, err = p.ended(r, s, v.view)
	return v, shop, err
}

// selector is the page of a session of a shop.
func (p *Pages) selector(r *http.Request, s pay.Session, shop merchants.Shop, merchant merchants.Merchant) selectorView {
	rails := p.uses.Sessions.SessionMethods(s)
	home, country := s.Country, s.Country
	if country == "" {
		home, country = guess(r, rails)
	}
	v := selectorView{view: p.view(r, home), Order: s.OrderID, Country: country, Home: home, Fixed: s.Country != "", Sandbox: !s.Live}
	v.brand(p, shop)
	v.purchase = v.bought(s.Purchase)
	v.granted = merchant.Installments
	if shop.Brand.PassFee {
		v.fee = func(rail accounts.Rail, local money.Amount) money.Amount {
			return p.uses.Sessions.SessionFee(r.Context(), s, merchant, rail, local)
		}
	}
	v.Title = v.T("choose_title") + " · " + shop.Name
	v.Amount = v.money(s.Asked)
	v.Expires = v.when(s.ExpiresAt(), home)
	v.Back, v.BackHost = abandoned(s, shop)
	name := func(alpha3 string) string { return countryName(v.Lang, alpha3) }
	v.Places = placesOf(rails, name)
	for _, rail := range rails {
		if country != "" && rail.Country != country && !p.elsewhere(s, rails, country) {
			continue
		}
		v.Methods = append(v.Methods, p.method(v, s, rail, name(rail.Country)))
		if local, _ := p.uses.Sessions.SessionAmount(s, rail); v.Local == "" && rail.Country == home && local.Currency != s.Asked.Currency && local.Currency != "" {
			v.Local = v.money(local)
			v.Rate = v.rate(s.Asked, local)
		}
	}
	// Available methods come first, then those of the shopper's country, in the catalog's
	// order.
	slices.SortStableFunc(v.Methods, func(a, b method) int {
		return cmp.Or(second(a.Why != "", b.Why != ""), second(a.country != home, b.country != home))
	})
	// If the shopper's country is known, only its methods are shown; the others are folded.
	// American English is the setting of many browsers elsewhere too, so it folds nothing.
	if country == "" && home != "" && home != abroad {
		i := slices.IndexFunc(v.Methods, func(m method) bool { return m.Why == "" && m.country == home })
		if i >= 0 {
			away := func(m method) bool { return m.country != home }
			for _, m := range v.Methods {
				if away(m) {
					v.Away = append(v.Away, m)
				}
			}
			v.Methods = slices.DeleteFunc(v.Methods, away)
		}
	}
	v.Chosen, v.Guess = only(v.Methods), home == "" || home == abroad
	for i := range v.Languages {
		if !v.Fixed && country != "" {
			v.Languages[i].URL += "&country=" + country
		}
	}
	return v
}

// abroad is the country whose method is for shoppers from outside the region.
const abroad = "USA"

// only is the one method that can be chosen, "" if there are several or none.
func only(list []method) (id string) {
	for _, m := range list {
		if m.Why == "" && id != "" {
			return ""
		}
		if m.Why == "" {
			id = m.ID
		}
	}
	return id
}

// rate is one unit of the asked currency in another currency; "" if that is too small to
// write, such as a peso in dollars.
func (v view) rate(asked, local money.Amount) string {
	one := int64(1)
	for range asked.Currency.Exponent() {
		one *= 10
	}
	if asked.Minor < 1 || local.Minor > math.MaxInt64/one {
		return ""
	}
	in := (local.Minor*one + asked.Minor/2) / asked.Minor
	if in < 100 { // with three digits the rounded rate is accurate enough
		return ""
	}
	return v.T("rate", "one", v.money(money.New(one, asked.Currency)), "local", v.money(money.New(in, local.Currency)))
}

// ended names the method that was called off to choose another one, so that the shopper no
// longer pays it.
func (p *Pages) ended(r *http.Request, s pay.Session, v view) (string, error) {
	if s.After == "" {
		return "", nil
	}
	before, err := p.uses.Sessions.Shown(r.Context(), s.After)
	if err != nil || !before.End.WayChanged() {
		return "", err
	}
	return v.T("ended", "method", v.called(before.Rail)), nil
}

// second puts items with a flaw last.
func second(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// elsewhere reports whether a country has no method of its own: then the sandbox offers all
// methods.
func (p *Pages) elsewhere(s pay.Session, rails []accounts.Rail, country string) bool {
	here := func(r accounts.Rail) bool { return r.Country == country }
	return !s.Live && !slices.ContainsFunc(rails, here)
}

func (p *Pages) method(v selectorView, s pay.Session, rail accounts.Rail, place string) method {
	local, allowed := p.uses.Sessions.SessionAmount(s, rail)
	m := method{
		ID: rail.ID, country: rail.Country, Name: v.called(rail), Mark: markOf(rail), Flag: flags[rail.Country], Place: place,
		Channel: v.T(channel(rail)), Price: v.money(local),
		Time: v.T(speed(rail), "days", strconv.Itoa(int(rail.Window/(24*time.Hour)))),
	}
	m.Fee = v.T("fee_none")
	if v.fee != nil {
		m.Fee = v.T("fee", "fee", v.money(v.fee(rail, local)))
	}
	if limit, ok := rail.LimitIn(local.Currency); ok {
		m.Limits = v.T("limits", "low", bound(money.New(limit.Min, limit.Currency), v.country), "high", bound(money.New(limit.Max, limit.Currency), v.country))
	}
	if _, offer := p.uses.Sessions.SessionInstallments(s, v.granted, rail); allowed {
		m.Installments = v.installmentsText(offer, local)
	}
	if !allowed {
		m.Why = v.T("not_now")
		if m.Limits != "" {
			m.Why = v.T("out_of_limits", "limits", m.Limits)
		}
	}
	if document.Lacks(rail.Country, rail.Document, s.Customer.Document) {
		m.kind, m.Document, m.Reason = rail.Document, v.document(rail.Document), v.T("document_why")
		m.Keys, m.Mask = keysOf(rail.Country, rail.Document)
		if rail.Method == "boleto" { // Resolução BCB 443/2024: every boleto names its payer by number
			m.Reason = v.T("document_rule")
		}
		if !s.Live {
			m.Example = document.Example(rail.Country, rail.Document)
		}
	}
	return m
}

// placesOf are the countries that have a method, by name.
func placesOf(rails []accounts.Rail, name func(string) string) []option {
	var list []option
	for _, rail := range rails {
		if !slices.ContainsFunc(list, func(o option) bool { return o.Code == rail.Country }) {
			list = append(list, option{rail.Country, name(rail.Country), zones[rail.Country]})
		}
	}
	slices.SortFunc(list, func(a, b option) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// abandoned is the shop's address for a shopper who does not want to pay.
func abandoned(s pay.Session, shop merchants.Shop) (address template.URL, name string) {
	return back(pay.Payment{Page: pay.PaymentPage{ReturnURL: s.ReturnURL}}, shop)
}

// listed is a part of the methods, for the template that shows them.
type listed struct {
	View   selectorView
	List   []method
	Abroad bool // it includes methods of other countries, and shows each method's country
}

func newList(v selectorView, list []method) listed {
	return listed{v, list, slices.ContainsFunc(list, func(m method) bool { return m.country != v.Home })}
}
