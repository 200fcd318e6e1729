package checkout

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/pay"
)

// view is what every page has.
type view struct {
	Lang      string
	Title     string
	Root      string // before every path of ours
	CSS, JS   string
	Icon      string
	Shop      string
	Brand     string // address of the shop's own style, or ""
	Logo      string
	Languages []link
	text      text
}

// link is a way to the same page in another language.
type link struct{ Lang, Name, URL string }

var languageNames = map[string]string{"en": "English", "es": "Español", "pt": "Português"}

func (p *Pages) view(r *http.Request, country string) view {
	lang := languageOf(r, country)
	v := view{
		Lang: lang, Root: p.root, CSS: p.root + p.assets["checkout.css"].path, JS: p.root + p.assets["checkout.js"].path,
		Icon: p.root + p.assets["icon.svg"].path, text: p.texts[lang],
	}
	for _, other := range languages {
		if other != lang {
			v.Languages = append(v.Languages, link{other, languageNames[other], "?lang=" + other})
		}
	}
	return v
}

// brand makes the page look like the shop.
func (v *view) brand(p *Pages, s pay.Shop) {
	v.Shop = s.Name
	if s.Brand.Color != "" {
		v.Brand = p.root + "/checkout/brand/" + s.Brand.Color[1:] + ".css"
	}
	if s.Brand.Logo != "" {
		v.Logo = p.root + "/checkout/logos/" + s.Brand.Logo
	}
}

// T is a sentence in the page's language, with {name} replaced by each pair of
// name and value.
func (v view) T(key string, pairs ...string) string {
	sentence, known := v.text[key]
	if !known {
		return key // a test looks for these
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		sentence = strings.ReplaceAll(sentence, "{"+pairs[i]+"}", pairs[i+1])
	}
	return sentence
}

// paymentView is the page of a payment.
type paymentView struct {
	view
	ID       string
	Status   pay.Status
	State    string // waiting, processing, paid, refunded, disputed, failed, expired, canceled, and those of strayStates
	Watched  bool   // the page loads again when that changes
	Came     string // the money that came otherwise than was asked for, "" where none did
	Kind     string // of a waiting payment: pix, spei, voucher, redirect
	Order    string
	Method   string // as people call it
	Amount   string // in the shopper's currency
	USD      string // "" where the shopper pays in it
	Deadline string
	Left     int64 // seconds to the deadline
	Data     pay.PaymentData
	CLABE    string // in groups
	FormURL  string // of a redirect
	Sandbox  bool
	BankURL  string
	Back     string // the shop's address, with what became of the payment
	BackHost string
	Earlier  string // address of the payment of the same order that holds money, or ""
	AgainURL string // where the shopper chooses anew, "" where that is the shop's
	Declined string // why, in the shopper's language
	LiveURL  string
}

// form sends the shopper to where the payment is made (contract: Selector
// flow, 4). One that no provider took has its page only.
func (p *Pages) form(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.app.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	target := shown.FormURL
	if target == "" || !shown.Status.Open() || shown.Canceling() || shown.Holds() || shown.Earlier != "" {
		target = p.base + "/pay/" + shown.ID
	}
	http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	return nil
}

func (p *Pages) payment(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.app.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	secure(w, policy, shown.Shop.Brand)
	p.render(w, http.StatusOK, "payment", p.paymentView(r, shown))
	return nil
}

// again leads the shopper of a payment that came to nothing to the choice.
func (p *Pages) again(w http.ResponseWriter, r *http.Request) error {
	token, err := p.app.RetryPayment(r.Context(), r.PathValue("id"))
	if held := heldBy(err); held != "" { // its page tells why there is nothing to pay
		p.leave(w, r, held)
		return nil
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, p.root+"/checkout/"+token+"?lang="+p.view(r, "").Lang, http.StatusSeeOther)
	return nil
}

func (p *Pages) paymentView(r *http.Request, s app.Shown) paymentView {
	v := paymentView{
		view: p.view(r, s.Country), ID: s.ID, Status: s.Status, State: standing(s), Order: s.OrderID, Method: s.Rail.Label,
		Amount: amount(s.Local, s.Country), Data: s.Data, Sandbox: !s.Live,
	}
	v.Watched = mayChange(s)
	v.LiveURL = p.root + "/pay/" + s.ID + "/live?status=" + string(s.Status) + "&state=" + v.State
	if stray, ok := strayOf(s.Payment); ok {
		v.Came = came(stray, s.Payment)
	}
	if s.Earlier != "" {
		v.Earlier = p.root + "/pay/" + s.Earlier + "?lang=" + v.Lang
	}
	v.brand(p, s.Shop)
	v.Title = v.T("state_"+v.State) + " · " + s.Shop.Name
	if s.Local.Currency != s.Amount.Currency {
		v.USD = amount(s.Amount, "USA")
	}
	if s.Simulated {
		v.BankURL = p.root + "/sandbox/bank/" + s.ID + "?lang=" + v.Lang
	}
	if v.State == "waiting" {
		v.Kind = kindOf(s.Payment)
		v.CLABE = grouped(s.Data.CLABE)
		if !s.Times.Expires.IsZero() {
			v.Deadline = moment(s.Times.Expires, v.Lang, s.Country)
			v.Left = max(0, int64(s.Times.Expires.Sub(s.Now)/time.Second))
		}
		if v.Kind == "redirect" {
			v.FormURL = v.BankURL
			if s.FormURL != "" && !strings.HasPrefix(s.FormURL, p.base+"/pay/") {
				v.FormURL = s.FormURL
			}
		}
	}
	if s.Failure != nil && v.State == "failed" {
		v.Declined = v.T(declineKey(s.Failure.Code))
	}
	v.Back, v.BackHost = back(s.Payment)
	if s.Retriable() && s.Earlier == "" {
		v.AgainURL = p.root + "/pay/" + s.ID + "/again?lang=" + v.Lang
	}
	return v
}

func stateOf(s pay.Status) string {
	switch s {
	case pay.Pending:
		return "waiting"
	case pay.Completed:
		return "paid"
	case pay.Chargeback:
		return "disputed"
	}
	return string(s) // processing, failed, expired, refunded
}

// kindOf is what the shopper has to do.
func kindOf(p pay.Payment) string {
	switch {
	case p.Data.QRCode != "":
		return "pix"
	case p.Data.CLABE != "":
		return "spei"
	case p.Data.Barcode != "" || p.Data.Reference != "":
		return "voucher"
	}
	return "redirect"
}

// declineKey is the sentence for a failure; what we have no sentence for is
// told in general.
func declineKey(code string) string {
	switch code {
	case "expired", "abandoned":
		return "declined_unpaid"
	}
	switch pay.Code(code) {
	case pay.CodeInsufficientFunds, pay.CodeExpiredCard, pay.CodeFraudBlocked, pay.CodeThreeDSFailed, pay.CodeCascadeExhausted:
		return "declined_" + code
	}
	return "declined_other"
}

// grouped writes a long number so that it can be read aloud and typed.
func grouped(digits string) string {
	var parts []string
	for len(digits) > 4 {
		parts, digits = append(parts, digits[:4]), digits[4:]
	}
	return strings.Join(append(parts, digits), " ")
}

// back is the shop's own address with what became of the payment, and its host
// for the shopper to see. Empty where the shop gave none, or none that a
// browser should follow.
func back(p pay.Payment) (address, host string) {
	u, err := url.Parse(p.ReturnURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", ""
	}
	q := u.Query()
	q.Set("transactionId", p.ID)
	q.Set("status", string(p.Status))
	u.RawQuery = q.Encode()
	return u.String(), u.Host
}

// field is a value to copy.
type field struct{ ID, Label, Value, Copy, Done string }

func newField(v paymentView, id, label, value string) field {
	return field{id, v.T(label), value, v.T("copy"), v.T("copied")}
}
