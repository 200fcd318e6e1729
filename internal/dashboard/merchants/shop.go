// Package merchants is the dashboard's pages about the merchant itself: the team and its roles, the audit log, the shop's
// settings, and its brand.
package merchants

import (
	"embed"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

// Preview writes the page on which shoppers choose a method, for a sample order: with the brand that the shop has in
// memory, and with logo if that is not stored yet. It sets its own headers: only our pages may frame it.
type Preview func(w http.ResponseWriter, r *http.Request, shop merchants.Shop, logo *merchants.Logo, lang merchants.Language) error

type shopPages struct {
	*frame.Site
	Uses    Uses
	room    *frame.Pages
	preview Preview
	pages   func() map[string]bool // the paths of all rooms' pages, with * for what varies
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses, preview Preview) error {
	own, err := site.NewPages(files, frame.Item{Key: "audit", Path: "audit", Group: "settings", Right: merchants.RightTeam})
	if err != nil {
		return err
	}
	a := &shopPages{site, uses, own, preview, sync.OnceValue(func() map[string]bool { return paths(site) })}
	site.Handle("GET /team", merchants.RightTeam, a.team)
	site.Handle("GET /team/roles", merchants.RightTeam, a.roles)
	site.Handle("GET /team/invite", merchants.RightTeam, a.newInvitation)
	site.Handle("POST /team/invite", merchants.RightTeam, a.invite)
	site.Handle("GET /team/invitations/{id}", merchants.RightTeam, a.invitation)
	site.Handle("POST /team/invitations/{id}/withdraw", merchants.RightTeam, a.withdraw)
	site.Handle("GET /team/members/{user}", merchants.RightTeam, a.member)
	site.Handle("POST /team/members/{user}", merchants.RightTeam, a.setRole)
	site.Handle("GET /team/members/{user}/remove", merchants.RightTeam, a.askRemove)
	site.Handle("POST /team/members/{user}/remove", merchants.RightTeam, a.remove)
	site.Handle("GET /team/members/{user}/keys", merchants.RightTeam, a.madeKeys)
	site.Handle("GET /audit", merchants.RightTeam, a.audit)
	site.Handle("GET /audit.csv", merchants.RightTeam, a.auditFile)
	site.Handle("GET /shop", merchants.RightRead, a.settings)
	site.Handle("GET /shop/new", merchants.RightShop, a.newShop)
	site.Handle("POST /shop/new", merchants.RightShop, a.openShop)
	site.Handle("POST /shop/name", merchants.RightShop, a.rename)
	site.Handle("POST /shop/schemes", merchants.RightShop, a.setSchemes)
	site.Handle("POST /shop/merchant", merchants.RightShop, a.setMerchant)
	site.Handle("POST /shop/export", merchants.RightTeam, a.export, frame.WhileEmptied())
	site.Handle("GET /shop/brand", merchants.RightRead, a.brand)
	site.Handle("POST /shop/brand", merchants.RightShop, a.rebrand)
	site.Handle("GET /shop/brand/contrast", merchants.RightRead, a.contrast)
	site.Handle("GET /shop/brand/preview", merchants.RightRead, a.show)
	site.Handle("POST /shop/brand/preview", merchants.RightShop, a.show)
	return nil
}

var hole = regexp.MustCompile(`\{[^}]*\}`)

// paths lists the pages of a shop, so that a page links only to those that exist.
func paths(site *frame.Site) map[string]bool {
	list := map[string]bool{}
	for _, r := range site.Routes() {
		if r.Method == http.MethodGet && r.Kind == frame.OfShop {
			list[hole.ReplaceAllString(r.Path, "*")] = true
		}
	}
	return list
}

// to leads a browser to another page of the shop.
func (p *shopPages) to(w http.ResponseWriter, r *http.Request, v *frame.Visit, path string) {
	p.Go(w, r, p.At(strings.TrimPrefix(v.Home(), frame.Base)+path))
}

// reasons are the fields, and the texts, of conflicts that a form shows.
var reasons = map[string][2]string{
	"is_member":        {"email", "wrong_member"},
	"last_owner":       {"role", "wrong_last_owner"},
	"many_invitations": {"email", "wrong_many_invitations"},
}

// mistakes are the texts of what is wrong with a field.
var mistakes = map[string]string{
	"email": "wrong_email", "role": "wrong_role", "name": "wrong_name", "language": "wrong_language",
	"color": "wrong_color", "schemes": "wrong_schemes", "frames": "wrong_frames", "logo": "wrong_logo",
}

// wrong says in the visitor's language what is wrong with each field of a form, and with which status the form is
// shown again. It is nil for an error that is about no field.
func (p *shopPages) wrong(v *frame.Visit, err error) (fields map[string]string, status int) {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return nil, 0
	}
	status = message.ShownOf(shown.Code).Status
	if known, ok := reasons[shown.Details.Reason]; ok {
		return map[string]string{known[0]: p.room.Text(v, known[1])}, status
	}
	fields = frame.FieldErrors(v.Language(), err)
	for name := range fields {
		switch text, known := mistakes[name]; {
		case shown.Code == problem.Forbidden:
			fields[name] = p.room.Text(v, "wrong_too_much")
		case known:
			fields[name] = p.room.Text(v, text)
		}
	}
	return fields, status
}
