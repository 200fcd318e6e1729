package checkout

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	views "github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/web"
)

// view is the common part of every page.
type view struct {
	Lang      string
	Tag       string // Lang in the variant of the shopper's country, such as es-AR
	Halves    bool   // a script writes times with a.m. and p.m.
	Title     string
	Root      string // the prefix of all our paths
	CSS, JS   string
	Bare      string // stylesheet for browsers without scripts
	Icon      string
	Shop      string
	Brand     string // address of the shop's own style, or ""
	Frames    string // the origins that may embed the page, with FrameJS, the script for it
	FrameJS   string
	Payment   string // the payment's id and status, for the page around a frame; or ""
	Standing  pay.Status
	Logo      template.URL
	Languages []link
	Region    string // alpha-2, whose format a script uses for times; or ""
	Refresh   int    // after how many seconds a browser without scripts reloads the page; 0: never
	country   string // alpha-3, whose format the page uses for amounts and times
	text      text
}

// link leads to the same page in another language.
type link struct{ Lang, Name, URL string }

var languageNames = map[string]string{"en": "English", "es": "Español", "pt": "Português"}

// view is the frame of a page for a shopper in a country; asked is the language that the
// shopper asked for before, or "".
func (p *Pages) view(r *http.Request, country string, asked ...string) view {
	lang := languageOf(r, country, asked...)
	v := view{
		country: writingOf(r, country, lang), Tag: variantOf(r, lang, country),
		Lang: lang, Root: p.root, CSS: p.root + p.assets["checkout.css"].path, JS: p.root + p.assets["checkout.js"].path, Bare: p.root + p.assets["noscript.css"].path,
		Icon: p.root + p.assets["icon.svg"].path, text: p.texts[lang],
	}
	if t, ok := p.texts[v.Tag]; ok {
		v.text = t
	}
	v.Halves = slices.Contains(halves, v.country) && lang != "pt"
	if c, ok := geo.Parse(v.country); ok {
		v.Region = c.Alpha2
	}
	for _, other := range languages {
		if other != lang {
			v.Languages = append(v.Languages, link{other, languageNames[other], "?" + withLang(r.URL.Query(), other)})
		}
	}
	return v
}

// withLang is a page's query for another language. It drops invalid input.
func withLang(q url.Values, lang string) string {
	kept := url.Values{"lang": {lang}}
	for _, name := range []string{"note", views.PageKeyParam} {
		if value := q.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	return kept.Encode()
}

// addressLanguage is the language in a page's address, which is passed on to the next page; "" if
// there is none.
func addressLanguage(r *http.Request) string {
	if wanted := r.URL.Query().Get("lang"); slices.Contains(languages, wanted) {
		return wanted
	}
	return ""
}

// along is a path of ours with the chosen language, and pairs of names and values. The key of a payment's page goes along
// to other pages of the same payment.
func (p *Pages) along(r *http.Request, path string, pairs ...string) string {
	q := url.Values{}
	if lang := addressLanguage(r); lang != "" {
		q.Set("lang", lang)
	}
	if key, id := r.URL.Query().Get(views.PageKeyParam), r.PathValue("id"); key != "" && id != "" && slices.Contains(strings.Split(path, "/"), id) {
		q.Set(views.PageKeyParam, key)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return p.root + path
}

// see redirects a browser to another page of ours, so that a reload posts nothing.
func (p *Pages) see(w http.ResponseWriter, r *http.Request, path string, pairs ...string) {
	http.Redirect(w, r, p.along(r, path, pairs...), http.StatusSeeOther)
}

// money writes an amount in the format of the page.
func (v view) money(a money.Amount) string { return amount(a, v.country) }

// Long reports whether an amount is too long for large letters on a narrow screen.
func (view) Long(amount string) bool { return utf8.RuneCountInString(amount) > 14 }

// when is a time in a country's zone, which a script may change to the shopper's.
func (v view) when(t time.Time, country string) template.HTML {
	return v.timed(t, country, false)
}

// dated is like when, with the year.
func (v view) dated(t time.Time, country string) template.HTML { return v.timed(t, country, true) }

func (v view) timed(t time.Time, country string, dated bool) template.HTML {
	zone, year := "UTC", ""
	if place, known := places[country]; known {
		zone = place.zone
	}
	if dated {
		year = " data-dated"
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" data-zone="` + zone + `"` + year + `>` + //nolint:gosec // all of it is ours
		template.HTMLEscapeString(moment(t, v.Lang, country, dated)) + `</time>`)
}

// At is a sentence in which {time} is a moment.
func (v view) At(key string, when template.HTML) template.HTML {
	before, after, _ := strings.Cut(v.T(key), "{time}")
	if strings.HasSuffix(string(when), ".</time>") { // "p.m." already ends the sentence
		after = strings.TrimPrefix(after, ".")
	}
	return template.HTML(template.HTMLEscapeString(before)) + when + template.HTML(template.HTMLEscapeString(after)) //nolint:gosec // escaped
}

// brand gives the page the look of the shop.
func (v *view) brand(p *Pages, s merchants.Shop) {
	v.Shop = s.Name
	if len(s.Brand.Frames) > 0 {
		v.Frames, v.FrameJS = strings.Join(s.Brand.Frames, " "), p.root+p.assets["frame.js"].path
	}
	if s.Brand.Color != "" {
		v.Brand = p.root + "/checkout/brand/" + s.Brand.Color[1:] + ".css"
	}
	if s.Brand.Logo != "" {
		v.Logo = template.URL(p.root + "/checkout/logos/" + s.Brand.Logo) //nolint:gosec // an id of ours
	}
}

// T is a sentence in the page's language, with each {name} replaced by its value.
func (v view) T(key string, pairs ...string) string {
	sentence, known := v.text[key]
	if !known {
		return key // a test looks for missing keys
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		sentence = strings.ReplaceAll(sentence, "{"+pairs[i]+"}", pairs[i+1])
	}
	return sentence
}

// paymentView is the page of a payment.
type paymentView struct {
	view
	purchase
	ID           string
	Status       pay.Status
	State        string // waiting, processing, paid, refunded, part_refunded, disputed, failed, expired, refused (a card, on a page that waits), reversed, changed, canceled, and those of strayStates
	Watched      bool   // the page loads again when the status changes
	Came         string // the received money that differs from the request, "" if there is none
	Heading      string // what the shopper has to do, or the status of the payment
	Kind         string // of a waiting payment: pix, spei, boleto, voucher, redirect
	Note         string // the result of what the shopper has just done, or ""
	Refunded     string // the refunded part of a payment, if it is not all
	Order        string
	Method       string // its usual name
	Rail         string // its kind, such as card or wallet
	Amount       string // in the shopper's currency
	Plain        string // Amount as a bank's app accepts it
	USD          string // "" if the shopper pays in USD
	Rate         string // one US dollar in the shopper's currency
	Installments string // that the shopper may choose, or chose; "" for none
	PaidAt       template.HTML
	Network      string // who accepts a voucher
	Places       string // how many places it has, "" if we do not know
	Deadline     template.HTML
	Left         int64 // seconds to the deadline
	Data         pay.PaymentData
	CLABE        string // in groups of digits
	FormURL      string // of a redirect
	Outside      bool   // FormURL is a page of another company, or of the simulated bank, which plays one: it never opens in a frame
	RetryURL     string // of a refused card: the same or the next page for cards
	ChangeURL    string // calls the payment off to choose another method; "" if that is not possible
	Sandbox      bool
	BankURL      string
	Back         template.URL // the shop's address, with the result of the payment
	BackHost     string
	Earlier      string // address of the paid payment of the same order, or ""
	Here         string // the query of this page, to load it again
	AgainURL     string // where the shopper chooses again, "" if that is at the shop
	Declined     string // why, in the shopper's language
	LiveURL      string
	StateURL     string // what a page without a stream polls
}

// form redirects the shopper to where the payment is made (CHK-13). A payment that no
// provider accepted has only its page.
func (p *Pages) form(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	target := shown.Page.FormURL
	own := p.base + "/pay/" + shown.ID
	if target == "" || !shown.Status.Open() || refusedOnPage(shown.Payment) || shown.Canceling() || shown.Holds() || shown.Earlier != "" ||
		strings.Contains(r.Header.Get("Sec-Fetch-Dest"), "frame") { // a provider's page does not allow frames
		target = own
	}
	if note := r.URL.Query().Get("note"); target == own {
		target = strings.TrimSuffix(p.base, p.root) + p.along(r, "/pay/"+shown.ID)
		if note != "" {
			target = strings.TrimSuffix(p.base, p.root) + p.along(r, "/pay/"+shown.ID, "note", note)
		}
	}
	http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	return nil
}

func (p *Pages) payment(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v, mine := p.paymentView(r, shown), p.keyed(r, shown.ID)
	v.Here = "?" + withLang(r.URL.Query(), v.Lang)
	if mine { // whoever has but the payment's id does not see what is bought
		v.purchase = v.bought(shown.Order.Purchase)
	}
	if v.State == "waiting" || v.State == "refused" {
		may, err := p.uses.Sessions.Changeable(r.Context(), shown.Payment)
		if err != nil {
			return err
		}
		if may && mine {
			v.ChangeURL = p.along(r, "/pay/"+shown.ID+"/change")
		}
		if note := r.URL.Query().Get("note"); note == noteTaken && may || note == noteNotEnded || note == notePageOpen {
			v.Note = v.T("note_" + note)
		}
	}
	allowed, again := policy, v.State == "refused" && pay.CheckRetry(shown.Payment) == nil
	switch {
	case again && mine: // the button leads to a provider's page
		v.RetryURL, allowed = p.along(r, "/pay/"+shown.ID+"/retry"), leaving
	case v.State == "refused" && !again:
		v.FormURL = ""
	}
	secure(w, allowed, shown.Shop.Brand)
	p.render(w, http.StatusOK, "payment", v)
	return nil
}

// retry leads a shopper whose card was refused to a page for another try: the next provider's, or the same one.
func (p *Pages) retry(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.mayAct(r, id); err != nil {
		return err
	}
	next, err := p.uses.Sessions.TryAgain(r.Context(), id, views.Cause{RequestID: web.RequestID(r.Context())})
	var refused *problem.Error
	switch {
	case err == nil && next.Status == pay.Pending && next.Page.FormURL != "":
		target := next.Page.FormURL
		if strings.HasPrefix(target, p.base+"/pay/") { // the sandbox's page for cards
			target = p.along(r, "/sandbox/bank/"+id)
		}
		http.Redirect(w, r, target, http.StatusSeeOther)
	case err == nil || conflicts(err):
		p.see(w, r, "/pay/"+id)
	case errors.As(err, &refused) && refused.Details.Reason == pay.NotEnded:
		p.see(w, r, "/pay/"+id, "note", notePageOpen)
	default:
		return err
	}
	return nil
}

// again leads the shopper of a failed or expired payment back to the choice.
func (p *Pages) again(w http.ResponseWriter, r *http.Request) error {
	if err := p.mayAct(r, r.PathValue("id")); err != nil {
		return err
	}
	token, err := p.uses.Sessions.RetryPayment(r.Context(), r.PathValue("id"))
	if held := heldBy(err); held != "" { // its page says why there is nothing to pay
		p.leave(w, r, held)
		return nil
	}
	if conflicts(err) || paused(err) { // its status has changed, or nothing can be tried again: its page leads on
		p.see(w, r, "/pay/"+r.PathValue("id"))
		return nil
	}
	if err != nil {
		return err
	}
	p.see(w, r, "/checkout/"+token)
	return nil
}

func (p *Pages) paymentView(r *http.Request, s payments.Shown) paymentView {
	v := paymentView{
		view: p.view(r, s.Way.Country, s.Page.Lang), ID: s.ID, Status: s.Status, State: standing(s), Order: s.Order.ID,
		Rail:  s.Rail.Method,
		Plain: s.Price.Local.Decimal(), Data: s.Page.Data, Sandbox: !s.Live,
	}
	v.Method, v.Amount, v.Installments = v.called(s.Rail), v.money(s.Price.Local), v.installments(s, v.State)
	if v.Watched = mayChange(s); v.Watched {
		v.Refresh = refreshEvery
	}
	if v.State == "part_refunded" {
		v.Refunded = v.money(money.New(s.Refunds.Local, s.Price.Local.Currency))
	}
	seen := "?status=" + string(s.Status) + "&state=" + v.State
	v.LiveURL, v.StateURL = p.root+"/pay/"+s.ID+"/live"+seen, p.root+"/pay/"+s.ID+"/state"+seen
	if stray, ok := strayOf(s.Payment); ok {
		v.Came = v.money(stray.Local)
	}
	if s.Earlier != "" {
		v.Earlier = p.earlier(r, s)
	}
	v.brand(p, s.Shop)
	v.Payment, v.Standing = s.ID, s.Status
	if s.Price.Local.Currency != s.Price.Amount.Currency {
		v.USD = v.money(s.Price.Amount)
		v.Rate = v.rate(s.Price.Amount, s.Price.Local)
	}
	if s.Simulated {
		v.BankURL = p.along(r, "/sandbox/bank/"+s.ID)
	}
	if v.State == "waiting" || v.State == "refused" {
		v.Kind = kindOf(s.Payment)
		v.CLABE = grouped(s.Page.Data.CLABE)
		if !s.Times.Expires.IsZero() {
			v.Deadline = v.when(s.Times.Expires, s.Way.Country)
			v.Left = max(0, int64(s.Times.Expires.Sub(s.Now)/time.Second))
		}
		if v.Kind == "redirect" {
			v.FormURL, v.Outside = v.BankURL, v.BankURL != ""
			if s.Page.FormURL != "" && !strings.HasPrefix(s.Page.FormURL, p.base+"/pay/") {
				v.FormURL, v.Outside = s.Page.FormURL, true
			}
		}
		if v.Kind == "voucher" || v.Kind == "boleto" {
			v.Network = v.network(s.Rail)
			if n := atLeast[s.Rail.Key]; n > 0 {
				v.Places = v.T("places", "places", v.count(n))
			}
		}
	}
	if v.State == "paid" && !s.Times.Completed.IsZero() {
		v.PaidAt = v.dated(s.Times.Completed, s.Way.Country)
	}
	v.Heading = v.T("state_" + v.State)
	if v.State == "waiting" {
		v.Heading = v.action(s.Rail)
	}
	v.Title = v.Heading + " · " + s.Shop.Name
	if tries := s.Attempts.Tries(); v.State == "refused" && len(tries) > 0 {
		v.Declined = v.T(declineKey(s.Way.Refused(tries[len(tries)-1]), s.Rail))
	}
	if s.End.Failure != nil && v.State == "failed" {
		v.Declined = v.T(declineKey(*s.End.Failure, s.Rail))
	}
	v.Back, v.BackHost = back(s.Payment, s.Shop)
	if s.Retriable() && s.Earlier == "" && !s.Closed && p.keyed(r, s.ID) {
		v.AgainURL = p.along(r, "/pay/"+s.ID+"/again")
	}
	return v
}

// earlier is the page of the payment that has paid for the order: the shopper's own, as this one.
func (p *Pages) earlier(r *http.Request, s payments.Shown) string {
	if p.keyed(r, s.ID) {
		return p.along(r, "/pay/"+s.Earlier, views.PageKeyParam, p.key(s.Earlier))
	}
	return p.along(r, "/pay/"+s.Earlier)
}

// refreshEvery is after how many seconds a browser without scripts reloads a page that
// waits.
const refreshEvery = 20

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
	case p.Page.Data.QRCode != "":
		return "pix"
	case p.Page.Data.CLABE != "":
		return "spei"
	case p.Way.Method == "boleto" && p.Page.Data.Reference != "":
		return "boleto"
	case p.Page.Data.Barcode != "" || p.Page.Data.Reference != "":
		return "voucher"
	}
	return "redirect"
}

// declineKey is the sentence for a failure on a rail, or a general one.
func declineKey(f pay.Failure, r accounts.Rail) string {
	switch f.Code {
	case "expired", "abandoned":
		return "declined_unpaid"
	}
	if f.Decline == "document_irregular" { // whatever its code: the shopper is not blocked
		return "declined_document"
	}
	switch problem.Code(f.Code) {
	case problem.InsufficientFunds, problem.ExpiredCard, problem.FraudBlocked, problem.ThreeDSFailed, problem.CascadeExhausted:
		return "declined_" + f.Code
	}
	if decline.Reason(f.Decline).Meaning().Outcome == decline.Faulty { // nobody declined it
		return "declined_error"
	}
	if r.Channel == accounts.Cash || r.Method == "wallet" { // no bank takes part in it
		return "declined_any"
	}
	return "declined_other"
}

// grouped splits a long number into groups, to be read aloud and typed.
func grouped(digits string) string {
	var parts []string
	for len(digits) > 4 {
		parts, digits = append(parts, digits[:4]), digits[4:]
	}
	return strings.Join(append(parts, digits), " ")
}

// field is a value to copy.
type field struct{ ID, Label, Value, Copied, Copy, Done string }

// newField is a field; copied is the text to copy, if it differs from the value.
func newField(v paymentView, id, label, value string, copied ...string) field {
	f := field{ID: id, Label: v.T(label), Value: value, Copy: v.T("copy"), Done: v.T("copied")}
	if len(copied) > 0 {
		f.Copied = copied[0]
	}
	return f
}
