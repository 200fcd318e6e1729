package frame

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Layout is what the layouts show around a page. Rooms do not need it.
type Layout struct {
	Name    string // of the layout: full or narrow-layout
	Title   string // of the window: the page's title as text
	Console bool   // a page of the operator's console
	Theme   string // light, dark or "" for the system's
	Build   string
	Blocks  map[string]bool // that the page defines
	Nav     []NavGroup
	Shops   []Choice // of the visit's merchant
	Others  []Choice // first shops of other merchants
	Sandbox string   // the address of the same page in the sandbox
	Live    string   // and in production
	Langs   []Choice // on a page of nobody: the same page in other languages
	Words   string   // for the script, in JSON
	Flash   *flash
	Version string
	More    []Choice // pages that only the palette finds
	Keys    []Choice // shortcuts: g and a letter lead to a page
}

// Choice is a line of a menu.
type Choice struct {
	Label, Detail, URL, Lang, Icon string
	Current                        bool
}

// letters are the shortcuts to pages, after g. The script has the same.
var letters = map[string]string{
	"home": "h", "payments": "p", "refunds": "r", "disputes": "d", "balance": "b", "keys": "k", "webhooks": "w",
}

// themeCookie is the cookie in which the script keeps the chosen theme.
const themeCookie = "cascada_theme"

// layout fills in what is around a page.
func (p *Page) layout(w http.ResponseWriter, r *http.Request, found *page) {
	f, l := p.room.frame, &p.Frame
	l.Name, l.Build, l.Blocks = "full", f.build, found.blocks
	if c, err := r.Cookie(themeCookie); err == nil && slices.Contains([]string{"light", "dark"}, c.Value) {
		l.Theme = c.Value
	}
	l.Words = p.words()
	l.Flash = p.localize(p.room.flash(w, r))
	if p.Visit == nil || found.blocks["narrow"] {
		l.Name = "narrow-layout"
	}
	if p.Visit == nil {
		for _, lang := range languages {
			l.Langs = append(l.Langs, Choice{Label: languageNames[lang], URL: p.With("lang", lang), Lang: lang, Current: lang == p.lang})
		}
		return
	}
	l.Nav, l.Version = p.nav(), f.Version
	l.More = p.more(l.Nav)
	for _, group := range l.Nav {
		for _, link := range group.Links {
			if letter, known := letters[link.Key]; known {
				l.Keys = append(l.Keys, Choice{Label: link.Label, Detail: letter})
			}
		}
	}
	v := p.Visit
	if v.Shop.ID == "" {
		return
	}
	same := f.section(strings.Trim(v.Path, "/"))
	at := func(shop string, e merchants.Environment) string {
		return p.To(strings.TrimSuffix("/dashboard/"+shop+"/"+string(e)+"/"+same, "/"))
	}
	if !v.NoSandbox { // else there is nothing to switch to
		l.Sandbox, l.Live = at(v.Shop.ID, merchants.Sandbox), at(v.Shop.ID, merchants.Production)
	}
	for _, shop := range v.Shops {
		l.Shops = append(l.Shops, Choice{Label: shop.Name, URL: at(shop.ID, v.Environment()), Current: shop.ID == v.Shop.ID})
	}
	for _, other := range v.Others {
		l.Others = append(l.Others, Choice{Label: other.Merchant.Name, Detail: other.Shop.Name, URL: p.To("/dashboard/" + other.Shop.ID + "/" + string(v.Environment()))})
	}
}

var languageNames = map[string]string{"en": "English", "es": "Español", "pt": "Português"}

// words are the sentences that the script says, in JSON.
func (p *Page) words() string {
	said := map[string]string{}
	for _, texts := range []texts{p.room.frame.texts[p.lang], p.room.texts[p.lang]} {
		for key, sentence := range texts {
			if name, found := strings.CutPrefix(key, "js_"); found {
				said[name] = sentence
			}
		}
	}
	text, _ := json.Marshal(said) // strings can always be written
	return string(text)
}
