package dashboard

import (
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// inside are addresses that are no page to go to, with the reason.
var inside = map[string]string{
	"/live": "a stream of another page", "/payments/export": "a file", "/shop/brand/contrast": "a part of a form", "/shop/brand/preview": "a part of another page",
	"/search": "the palette searches itself",
}

var paletteLink = regexp.MustCompile(`<a (?:hidden )?href="([^"]+)" data-(?:nav="[^"]*"|quick)`)

// The palette finds every page and action that a role may open, and none that it may not, in each environment; and its
// texts are in each language.
func TestPaletteFindsWhatTheRoleMayOpen(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	all := routes(t, s)
	for _, role := range people.Roles() {
		u := o.Staff(t, role)
		for _, u.Live = range []bool{false, true} {
			var found []string
			for _, m := range paletteLink.FindAllStringSubmatch(u.Ask(t, http.MethodGet, "/", nil).Body, -1) {
				found = append(found, html.UnescapeString(m[1]))
				if a := u.Ask(t, http.MethodGet, m[1], nil); a.Status != http.StatusOK && !(u.Live && a.Status == http.StatusSeeOther) {
					t.Errorf("%s finds %s, which gets %d", role, m[1], a.Status)
				}
			}
			for _, r := range all {
				if r.Kind != frame.OfShop || r.Method != http.MethodGet || strings.Contains(r.Path, "{") || strings.HasSuffix(r.Path, ".csv") || inside[r.Path] != "" || !role.May(r.Right, u.Live) {
					continue
				}
				if u.Live && (r.Path == "/sandbox" || r.Path == "/payments/test") {
					continue
				}
				if !slices.Contains(found, strings.TrimSuffix(u.At(r.Path), "/")) {
					t.Errorf("%s does not find %s (live: %t) among %v", role, r.Path, u.Live, found)
				}
			}
		}
	}
	owner := o.Staff(t, people.Owner)
	for lang, says := range map[string]string{"en": "Create a key", "es": "Crear una clave", "pt": "Criar uma chave"} {
		harness.Must(t, s.App.People.Introduce(ctx, owner.User.ID, "Ana", merchants.Language(lang)))
		if a := owner.Ask(t, http.MethodGet, "/", nil); !strings.Contains(a.Body, says+"<small>") {
			t.Errorf("in %s the palette does not say %q", lang, says)
		}
	}
}

var docsLink = regexp.MustCompile(`href="(/docs[^"]*)"`)

// Each link of a page to the docs leads to a place that the docs have.
func TestDocsLinksLeadToTheDocs(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	owner := o.Staff(t, people.Owner)
	empty := crawl(t, owner, owner.Home())
	busy(t, o)
	docs, links := map[string]string{}, map[string]string{}
	for _, path := range append(empty, crawl(t, owner, owner.Home())...) {
		for _, m := range docsLink.FindAllStringSubmatch(owner.Ask(t, http.MethodGet, path, nil).Body, -1) {
			links[html.UnescapeString(m[1])] = path
		}
	}
	for link, from := range links {
		page, anchor, _ := strings.Cut(link, "#")
		if _, read := docs[page]; !read {
			res, err := http.Get(owner.URL + page)
			harness.Must(t, err)
			body, err := io.ReadAll(res.Body)
			harness.Must(t, err)
			harness.Must(t, res.Body.Close())
			if res.StatusCode != http.StatusOK {
				t.Errorf("the link %s of %s gets %d", link, from, res.StatusCode)
			}
			docs[page] = string(body)
		}
		if anchor != "" && !strings.Contains(docs[page], `id="`+anchor+`"`) {
			t.Errorf("the link %s of %s leads to no place of the docs", link, from)
		}
	}
	if len(links) < 10 {
		t.Errorf("the pages have only %d links to the docs: %v", len(links), links)
	}
}
