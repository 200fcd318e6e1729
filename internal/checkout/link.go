package checkout

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// linkView is the page of a payment link, on which a shopper begins to pay.
type linkView struct {
	view
	purchase
	Amount   string // "" if the shopper types it
	Currency money.Currency
	Bounds   string // of the typed amount
	Typed    map[string]string
	Wrong    map[string]string // what is wrong with a field
	Order    string
	Over     string // why nobody can pay with it now; "" if somebody can
	Ended    bool   // and never again, unless the shop opens it
	Problem  string // what is wrong with no field
	Sandbox  bool
	Expires  template.HTML
	Back     template.URL
	BackHost string
}

// purchase is what the shop says that is bought.
type purchase struct {
	Description string
	Items       []boughtItem
}

// boughtItem is an item of a purchase: its quantity, if that is not one, and its price.
type boughtItem struct{ Name, Quantity, Price string }

// bought shows a purchase in the format of the page.
func (v view) bought(p pay.Purchase) purchase {
	shown := purchase{Description: p.Description}
	for _, i := range p.Items {
		item := boughtItem{Name: i.Name, Price: v.money(i.Unit)}
		if i.Told != nil { // numbers of the shop's own
			item.Price = i.Told.Unit
		}
		if n := i.Numbers().Quantity; n != "1" {
			item.Quantity = n
		}
		shown.Items = append(shown.Items, item)
	}
	return shown
}

// entry is a field that the shopper of a payment link types.
type entry struct {
	View                                       linkView
	Name, Keys, Fill, Unit, Value, Wrong, Hint string
}

func newEntry(v linkView, name, keys, fill string, unit any) entry {
	e := entry{View: v, Name: name, Keys: keys, Fill: fill, Unit: fmt.Sprint(unit), Value: v.Typed[name], Wrong: v.Wrong[name]}
	if name == "amount" {
		e.Hint = v.Bounds
	}
	return e
}

// link shows a payment link. If its only use is held, it leads to the payment, without the key of its page: whoever has the link may pay, and not
// call off what another one began.
func (p *Pages) link(w http.ResponseWriter, r *http.Request) error {
	l, err := p.uses.PaymentLinks.Visit(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if l.Payment != "" {
		p.see(w, r, "/pay/"+l.Payment)
		return nil
	}
	p.showLink(w, r, l, nil, nil)
	return nil
}

func (p *Pages) showLink(w http.ResponseWriter, r *http.Request, l payments.Visited, typed, wrong map[string]string) {
	v := linkView{view: p.view(r, l.Country), Order: l.OrderID, Currency: l.Currency(), Sandbox: !l.Live, Typed: typed, Wrong: wrong}
	v.brand(p, l.Shop)
	v.purchase = v.bought(l.Purchase)
	v.Title = v.T("link_title", "shop", l.Shop.Name)
	v.Expires = v.when(l.Expires, l.Country)
	v.Back, v.BackHost = back(pay.Payment{Page: pay.PaymentPage{ReturnURL: l.ReturnURL}}, l.Shop)
	if l.Free() {
		v.Bounds = v.T("link_bounds", "low", v.money(l.Least), "high", v.money(l.Most))
	} else {
		v.Amount = v.money(l.Amount)
	}
	status := http.StatusOK
	switch {
	case l.Status != pay.LinkOpen:
		v.Over, v.Ended, status = v.T("link_"+string(l.Status)), true, http.StatusGone
	case l.Paused:
		v.Over = v.T("no_methods")
	case l.Held >= l.Uses:
		v.Over = v.T("link_full")
	case len(wrong) > 0:
		v.Problem = wrong[""]
		status = http.StatusUnprocessableEntity
	}
	secure(w, policy, l.Shop.Brand)
	p.render(w, status, "link", v)
}

// begin opens the checkout of a shopper of a payment link.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request) error {
	l, err := p.uses.PaymentLinks.Visit(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if l.Payment != "" || l.Status != pay.LinkOpen || l.Held >= l.Uses || l.Paused { // its page says so
		p.see(w, r, "/l/"+l.ID)
		return nil
	}
	v, typed, wrong := p.view(r, l.Country), map[string]string{}, map[string]string{}
	for _, field := range []string{"name", "email", "amount"} {
		typed[field] = strings.TrimSpace(strings.Map(printed, r.PostForm.Get(field)))
	}
	first, last, _ := strings.Cut(typed["name"], " ")
	customer := pay.Customer{FirstName: first, LastName: strings.TrimSpace(last), Email: typed["email"]}
	if n := utf8.RuneCountInString(typed["name"]); n == 0 || n > pay.MaxBuyerName || utf8.RuneCountInString(first) > pay.MaxFirstName || utf8.RuneCountInString(customer.LastName) > pay.MaxLastName {
		wrong["name"] = v.T("link_name_wrong")
	}
	if at, err := mail.ParseAddress(customer.Email); err != nil || at.Address != customer.Email || utf8.RuneCountInString(customer.Email) > pay.MaxEmail {
		wrong["email"] = v.T("link_email_wrong")
	}
	var amount money.Amount
	if l.Free() {
		thousands, _ := marks(v.country)
		var ok bool
		if amount, ok = money.Typed(thousands, typed["amount"], l.Currency()); !ok {
			wrong["amount"] = v.T("link_amount_wrong")
		} else if _, err := l.Asks(amount); err != nil {
			wrong["amount"] = v.T("link_bounds", "low", v.money(l.Least), "high", v.money(l.Most))
		}
	}
	if len(wrong) > 0 {
		p.showLink(w, r, l, typed, wrong)
		return nil
	}
	token, err := p.uses.PaymentLinks.Begin(r.Context(), l.ID, customer, amount)
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		switch shown.Code {
		case problem.ConflictState: // the last use was had meanwhile
			p.see(w, r, "/l/"+l.ID)
			return nil
		case problem.AmountOutOfLimits, problem.CascadeExhausted, problem.AmountInvalid, problem.AmountAboveMaximum:
			p.showLink(w, r, l, typed, map[string]string{"": v.T("link_not_now")})
			return nil
		}
	}
	if err != nil {
		return err
	}
	p.see(w, r, "/checkout/"+token)
	return nil
}

// printed leaves control characters out of what a shopper typed.
func printed(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// linkQR draws the address of a payment link, for posters and receipts.
func (p *Pages) linkQR(w http.ResponseWriter, r *http.Request) error {
	l, err := p.uses.PaymentLinks.Visit(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return drawQR(w, p.base+"/l/"+l.ID)
}
