package checkout

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/document"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/web"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// selectorView is the page on which a shopper chooses how to pay.
type selectorView struct {
	view
	Order    string
	Amount   string // as the shop asked it
	Local    string // in the country's currency, once a country is known
	Country  string // alpha-3, "" while the shopper has not said
	Fixed    bool   // the shop has said the country
	Places   []option
	Methods  []method
	Chosen   string
	Document string // what was typed, where it was not right
	Problem  string
	Sandbox  bool
	Back     string
	BackHost string
	Expires  string
}

// option is a country in the list.
type option struct{ Code, Name string }

// method is a way to pay as a card.
type method struct {
	ID       string
	country  string
	Name     string
	Mark     template.HTML
	Flag     template.HTML
	Place    string // the country's name
	Channel  string
	Price    string // what the shopper pays
	Limits   string
	Fee      string
	Time     string
	Why      string // it cannot be chosen; "" when it can
	Document string // what it asks for, such as CPF; "" when nothing is missing
	Example  string // of such a number, in a test
}

// choose shows a session's methods. A session that has its payment leads there
// (contract: Checkout session states).
func (p *Pages) choose(w http.ResponseWriter, r *http.Request) error {
	s, err := p.app.VisitSession(r.Context(), r.PathValue("token"), web.ClientIP(r.Header, r.RemoteAddr))
	if err != nil {
		return err
	}
	if s.Payment != "" {
		p.leave(w, r, s.Payment)
		return nil
	}
	if held, err := p.app.Holder(r.Context(), s); err != nil {
		return err
	} else if held != "" {
		p.leave(w, r, held)
		return nil
	}
	v, shop, err := p.selectorView(r, s)
	if err != nil {
		return err
	}
	secure(w, leaving, shop.Brand)
	p.render(w, http.StatusOK, "selector", v)
	return nil
}

// take is the shopper's choice. What is wrong with it is told on the page.
func (p *Pages) take(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	if err := r.ParseForm(); err != nil {
		return pay.NewError(pay.CodeInvalidRequest, "the form cannot be read")
	}
	token, ip := r.PathValue("token"), web.ClientIP(r.Header, r.RemoteAddr)
	s, err := p.app.VisitSession(r.Context(), token, ip)
	if err != nil {
		return err
	}
	if s.Payment != "" { // the button was pressed twice
		p.leave(w, r, s.Payment)
		return nil
	}
	chosen := r.PostForm.Get("method")
	typed := strings.TrimSpace(strings.Map(func(r rune) rune {
		if pay.Unprintable(r) { // what comes along with a copied number
			return -1
		}
		return r
	}, r.PostForm.Get("document-"+chosen)))
	v, shop, err := p.selectorView(r, s)
	if err != nil {
		return err
	}
	v.Chosen, v.Document = chosen, typed
	status := http.StatusUnprocessableEntity
	number := ""
	switch i := slices.IndexFunc(v.Methods, func(m method) bool { return m.ID == chosen }); {
	case i < 0:
		v.Problem = v.T("choose_one")
	case v.Methods[i].Why != "":
		v.Problem = v.Methods[i].Why
	default:
		m, good := v.Methods[i], true
		if m.Document != "" {
			number, good = document.Check(p.country(s, chosen), m.Document, typed)
			if !good {
				v.Problem = v.T("document_wrong", "document", m.Document)
			}
		}
		if good {
			payment, problem, err := p.pick(r, token, chosen, pay.Buyer{Document: number, IP: ip}, v)
			if err != nil {
				return err
			}
			if payment != "" {
				p.leave(w, r, payment)
				return nil
			}
			v.Problem = problem
		}
	}
	secure(w, leaving, shop.Brand)
	p.render(w, status, "selector", v)
	return nil
}

// pick makes the payment. What the shopper can mend comes back as a sentence;
// a payment that exists, whoever made it and however it stands, as its id.
func (p *Pages) pick(r *http.Request, token, chosen string, typed pay.Buyer, v selectorView) (payment, problem string, err error) {
	_, made, err := p.app.SelectMethod(r.Context(), token, app.Choice{
		PaymentMethodID: chosen, Typed: typed, RequestID: web.RequestID(r.Context()),
	})
	if err == nil {
		return made.ID, "", nil
	}
	if held := heldBy(err); held != "" {
		return held, "", nil
	}
	var shown *pay.Error
	if !errors.As(err, &shown) {
		return "", "", err
	}
	switch shown.Code {
	case pay.CodeCheckoutSessionAlreadyCompleted:
		return shown.Details.ExistingTxID, "", nil
	case pay.CodeAmountOutOfLimits, pay.CodeUnsupportedMethod, pay.CodeUnsupportedCurrency, pay.CodeUnsupportedCountry:
		return "", v.T("not_now"), nil
	case pay.CodeMissingField, pay.CodeInvalidRequest:
		return "", v.T("problem_bad_text"), nil
	}
	return "", "", err
}

// heldBy is the payment that holds money of the order, where that is why another one is
// refused; else "".
func heldBy(err error) string {
	if shown, ok := errors.AsType[*pay.Error](err); ok && shown.Details.Reason == pay.PaymentReceived {
		return shown.Details.ExistingTxID
	}
	return ""
}

// leave sends the shopper to the payment.
func (p *Pages) leave(w http.ResponseWriter, r *http.Request, payment string) {
	http.Redirect(w, r, p.root+"/c/"+payment, http.StatusSeeOther)
}

// country is where a method of a session is paid.
func (p *Pages) country(s pay.Session, id string) string {
	for _, rail := range p.app.SessionMethods(s) {
		if rail.ID == id {
			return rail.Country
		}
	}
	return s.Country
}

func (p *Pages) selectorView(r *http.Request, s pay.Session) (selectorView, pay.Shop, error) {
	_, shop, err := p.app.Tenant(r.Context(), app.Principal{Scope: s.Scope})
	if err != nil {
		return selectorView{}, shop, err
	}
	rails := p.app.SessionMethods(s)
	home, country := s.Country, s.Country
	if country == "" {
		home, country = guess(r, rails)
	}
	v := selectorView{view: p.view(r, home), Order: s.OrderID, Country: country, Fixed: s.Country != "", Sandbox: !s.Live}
	v.brand(p, shop)
	v.Title = v.T("choose_title") + " · " + shop.Name
	v.Amount = amount(s.Asked, countryOf(s.Asked.Currency, home))
	v.Expires = moment(s.ExpiresAt(), v.Lang, home)
	v.Back, v.BackHost = abandoned(s)
	names := display.Regions(language.Make(v.Lang))
	name := func(alpha3 string) string {
		c, _ := geo.Parse(alpha3)
		return names.Name(language.MustParseRegion(c.Alpha2))
	}
	v.Places = placesOf(rails, name)
	for _, rail := range rails {
		if country != "" && rail.Country != country && !p.elsewhere(s, rails, country) {
			continue
		}
		v.Methods = append(v.Methods, p.method(v, s, rail, name(rail.Country)))
		if local, _ := p.app.SessionAmount(s, rail); v.Local == "" && rail.Country == home && local.Currency != s.Asked.Currency && local.Currency != "" {
			v.Local = amount(local, home)
		}
	}
	// What can be chosen comes first, then what is at home, in the catalog's order.
	slices.SortStableFunc(v.Methods, func(a, b method) int {
		return cmp.Or(second(a.Why != "", b.Why != ""), second(a.country != home, b.country != home))
	})
	for i := range v.Languages {
		if !v.Fixed && country != "" {
			v.Languages[i].URL += "&country=" + country
		}
	}
	return v, shop, nil
}

// second orders what has a flaw behind what has not.
func second(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// elsewhere reports whether a country has no method of its own: the sandbox
// offers all of them then.
func (p *Pages) elsewhere(s pay.Session, rails []pay.Rail, country string) bool {
	here := func(r pay.Rail) bool { return r.Country == country }
	return !s.Live && !slices.ContainsFunc(rails, here)
}

func (p *Pages) method(v selectorView, s pay.Session, rail pay.Rail, place string) method {
	local, allowed := p.app.SessionAmount(s, rail)
	m := method{
		ID: rail.ID, country: rail.Country, Name: called(rail), Mark: markOf(rail), Flag: flags[rail.Country], Place: place,
		Channel: v.T("channel_" + strings.ToLower(string(rail.Channel))), Price: amount(local, rail.Country),
		Fee: v.T("fee", "fee", price(rail.Fee, v.Lang)), Time: v.T(speed(rail), "days", strconv.Itoa(int(rail.Window/(24*time.Hour)))),
	}
	if limit, ok := rail.LimitIn(local.Currency); ok {
		m.Limits = v.T("limits", "low", amount(money.New(limit.Min, limit.Currency), rail.Country), "high", amount(money.New(limit.Max, limit.Currency), rail.Country))
	}
	if !allowed {
		m.Why = v.T("not_now")
		if m.Limits != "" {
			m.Why = v.T("out_of_limits", "limits", m.Limits)
		}
	}
	if rail.Document != "" && s.Customer.Document == "" {
		m.Document = rail.Document
		if !s.Live {
			m.Example = document.Example(rail.Country, rail.Document)
		}
	}
	return m
}

// called is what people call a rail: its kind and its network, where the network
// does not say the kind.
func called(r pay.Rail) string {
	if strings.HasPrefix(r.Name, r.Label) || r.Channel == pay.CreditCard {
		return r.Name
	}
	return r.Label + " · " + r.Name
}

// speed is the sentence for how soon a method's payment is known.
func speed(r pay.Rail) string {
	switch r.Channel {
	case pay.CreditCard:
		return "time_instant"
	case pay.Cash:
		return "time_days"
	}
	return "time_minutes"
}

// price writes a rail's fee.
func price(f pay.Fee, lang string) string {
	var parts []string
	if f.Bps > 0 || f.Flat == 0 {
		parts = append(parts, strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%02d", f.Bps/100, f.Bps%100), "0"), ".")+"\u00a0%")
	}
	if f.Flat > 0 {
		parts = append(parts, amount(money.New(f.Flat, money.USD), "USA"))
	}
	text := strings.Join(parts, " + ")
	if lang != "en" && len(parts) > 0 && f.Bps > 0 {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}

// guess is the country that a shopper seems to come from, whose methods stand
// first, and the one the shopper asks for, whose methods alone are shown. Each is
// "" where there is no method for it.
func guess(r *http.Request, rails []pay.Rail) (home, asked string) {
	here := func(alpha3 string) bool {
		return slices.ContainsFunc(rails, func(r pay.Rail) bool { return r.Country == alpha3 })
	}
	if c, ok := geo.Parse(r.URL.Query().Get("country")); ok && here(c.Alpha3) {
		return c.Alpha3, c.Alpha3
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return "", ""
	}
	for _, tag := range tags {
		region, sure := tag.Region()
		if c, ok := geo.Parse(region.String()); ok && sure == language.Exact && here(c.Alpha3) {
			return c.Alpha3, ""
		}
	}
	return "", ""
}

// placesOf are the countries that have a method, by name.
func placesOf(rails []pay.Rail, name func(string) string) []option {
	var list []option
	for _, rail := range rails {
		if !slices.ContainsFunc(list, func(o option) bool { return o.Code == rail.Country }) {
			list = append(list, option{rail.Country, name(rail.Country)})
		}
	}
	slices.SortFunc(list, func(a, b option) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// countryOf is how a currency is written: as in the shopper's country, but
// dollars as in their own.
func countryOf(c money.Currency, country string) string {
	if c == money.USD {
		return "USA"
	}
	return country
}

// abandoned is the shop's address for a shopper who does not want to pay.
func abandoned(s pay.Session) (address, host string) {
	return back(pay.Payment{ReturnURL: s.ReturnURL})
}
