package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/leaving"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

type merchantsView struct {
	Rows   []merchants.Merchant
	Pager  frame.Pager
	Asked  string
	Search bool // the page of the search, and not the list of merchants
}

func (pg *pages) merchants(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.list(w, r, v, strings.TrimSpace(r.FormValue("q")), false)
}

// list shows merchants with a text in their name or address. An id leads to its page.
func (pg *pages) list(w http.ResponseWriter, r *http.Request, v *frame.Visit, asked string, search bool) error {
	if strings.HasPrefix(asked, merchants.MerchantPrefix) && base.Storable(asked) {
		_, err := pg.Uses.AnyMerchant(r.Context(), asked)
		if found, err := pg.found(w, r, "merchants/"+asked, err); found || err != nil {
			return err
		}
	}
	view := merchantsView{Asked: asked, Search: search}
	if asked != "" || !search {
		list, err := pg.Uses.Onboarding.FindMerchants(r.Context(), asked, r.FormValue("cursor"), frame.Rows+1)
		if err != nil {
			return err
		}
		view.Rows, view.Pager.Next = frame.Cut(list, func(m merchants.Merchant) string { return m.ID })
	}
	return pg.Room.Show(w, r, v, "merchants", view)
}

// merchantView is the page of a merchant.
type merchantView struct {
	desk.Form
	shape.Merchant
	Terms    merchants.Terms
	Version  int64
	Email    string
	Industry string
	Language merchants.Language
	Tiers    []frame.Option
	Roles    []frame.Option
	Seconds  int // until every node obeys
	Shops    []merchants.Shop
	Team     []store.Member
	Invited  []people.Link
	Link     string // of a new invitation, shown once
	LinkTo   string // to whom it is
	Visiting bool
	Rest     leaving.Rest // of production, of a merchant that leaves
	Waits    string       // the end of the key of the text that says why its balance is not paid out
	Left     []remainder
	Opened   *appmerchants.Onboarded // keys of a new merchant, shown once
}

func (pg *pages) merchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.show(w, r, v, http.StatusOK, r.PathValue("id"), merchantView{})
}

// show shows a merchant, with what view has besides.
func (pg *pages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, id string, view merchantView) error {
	ctx := r.Context()
	m, err := pg.Uses.AnyMerchant(ctx, id)
	if err != nil {
		return err
	}
	if view.Terms, err = pg.Uses.Plans.Terms(ctx, merchants.Scope{Merchant: id, Live: true}, m); err != nil {
		return err
	}
	if view.Tiers, err = pg.tiers(ctx, v); err != nil {
		return err
	}
	view.Merchant, view.Version, view.Email, view.Industry, view.Language = shape.NewMerchant(m, view.Terms, pg.Uses.Plans.Book()), m.Version, m.Email, m.Industry, m.Language
	view.Seconds = int(base.CacheTTL.Seconds())
	for _, role := range people.Roles() {
		view.Roles = append(view.Roles, frame.Option{Value: string(role), Label: pg.Room.Text(v, "role_"+string(role))})
	}
	if view.Rest, view.Waits, view.Left, err = pg.rest(ctx, m); err != nil {
		return err
	}
	view.Visiting = v.SignIn.Visits == m.ID
	now := map[string]string{"address": m.Email, "tier": string(m.Tier), "refundFees": string(m.RefundFees), "reason": m.Paused,
		"installments": strings.ReplaceAll(string(m.Installments), ",", "\n")}
	maps.Copy(now, view.Values)
	view.Values = now
	if view.Shops, err = pg.Uses.Onboarding.Shops(ctx, id); err != nil {
		return err
	}
	if view.Team, view.Invited, err = pg.Uses.Team.List(ctx, id); err != nil {
		return err
	}
	return pg.Room.ShowStatus(w, r, v, status, "merchant", view)
}

// refused shows the merchant with what was wrong in one of its forms.
func (pg *pages) refused(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error, typed desk.Form) error {
	view := merchantView{Form: typed}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.show(w, r, v, status, r.PathValue("id"), view)
}

// setEmail changes a merchant's address. An old page on which nobody typed another address changes nothing.
func (pg *pages) setEmail(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "address")
	if typed.Value("address") == r.FormValue("addressBefore") {
		return pg.Done(w, r, "merchants/"+r.PathValue("id"), "merchant_saved")
	}
	err := pg.Uses.Onboarding.SetEmail(r.Context(), v.Actor(), r.PathValue("id"), typed.Value("address"))
	if err != nil {
		return pg.refused(w, r, v, named(err, "address"), typed)
	}
	return pg.Done(w, r, "merchants/"+r.PathValue("id"), "merchant_saved")
}

// named puts an error beside a field that has another name on the page, because the page has other addresses
// too.
func named(err error, field string) error {
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Param == "email" {
		return problem.Field(shown.Code, field, shown.Reason)
	}
	return err
}

// invite invites somebody to the merchant's team. Without e-mails the link is the answer itself: it is shown once.
func (pg *pages) invite(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "email", "role", "language")
	told, err := pg.Uses.Links.Invite(r.Context(), v.Actor(), "", users.Invitee{
		Email: typed.Value("email"), Merchant: r.PathValue("id"), Role: people.Role(typed.Value("role")), Language: language(typed.Value("language")),
	})
	if err != nil {
		return pg.refused(w, r, v, err, typed)
	}
	if told.Mailed { // a link that somebody else saw proves nothing
		return pg.Done(w, r, "merchants/"+r.PathValue("id"), "invited_mailed", "email", told.Link.Email)
	}
	return pg.show(w, r, v, http.StatusOK, r.PathValue("id"), merchantView{Link: told.Address, LinkTo: told.Link.Email})
}

// language is one of ours, English for others.
func language(text string) merchants.Language {
	if l := merchants.Language(text); slices.Contains(merchants.Languages(), l) {
		return l
	}
	return merchants.English
}

func (pg *pages) withdraw(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := pg.Uses.Links.Withdraw(r.Context(), v.Actor(), "", r.PathValue("id"), r.FormValue("invitation")); err != nil {
		return err
	}
	return pg.Done(w, r, "merchants/"+r.PathValue("id"), "invitation_withdrawn")
}

// visit lets the operator look at the merchant's pages. The audit log has it.
func (pg *pages) visit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	shops, err := pg.Uses.Onboarding.Shops(r.Context(), id)
	if err != nil {
		return err
	}
	if len(shops) == 0 {
		return problem.New(problem.NotFound, noShopToLookAt)
	}
	if err := pg.Uses.People.Visit(r.Context(), v.From(r), pg.Token(r), id); err != nil {
		return err
	}
	shop := shops[0].ID
	for _, s := range shops {
		if s.ID == r.FormValue("shop") {
			shop = s.ID
		}
	}
	environment := merchants.Production
	if r.FormValue("environment") == string(merchants.Sandbox) {
		environment = merchants.Sandbox
	}
	pg.Site.Go(w, r, pg.At("/"+shop+"/"+string(environment)))
	return nil
}

// leave ends a visit.
func (pg *pages) leave(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	visited := v.SignIn.Visits
	if err := pg.Uses.People.Visit(r.Context(), v.From(r), pg.Token(r), ""); err != nil {
		return err
	}
	path := "merchants"
	if visited != "" {
		path += "/" + visited
	}
	return pg.Done(w, r, path, "visit_ended")
}

func (pg *pages) newMerchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.Room.Show(w, r, v, "newmerchant", desk.Form{Values: map[string]string{
		"key": pg.formKey(), "tier": string(merchants.Starter), "language": string(v.Language()), "refundFees": string(merchants.FeesKept),
	}})
}

// formKey is the key of a new form: clicks at the same time make one merchant.
func (pg *pages) formKey() string { return pg.Uses.NewID("form_", pg.Uses.Now()) }

// createMerchant makes a merchant. Its keys are in the answer itself: they are shown once. Whoever sends the form again
// is led to the merchant, and told where the keys are.
func (pg *pages) createMerchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "name", "email", "industry", "tier", "language", "refundFees")
	typed.Values["key"] = r.FormValue("key")
	made, err := pg.create(r.Context(), v, typed)
	switch {
	case err == nil && made.Repeated:
		return pg.Done(w, r, "merchants/"+made.Merchant.ID, "merchant_repeated", "merchant", made.Merchant.Name)
	case err == nil:
		return pg.show(w, r, v, http.StatusOK, made.Merchant.ID, merchantView{Opened: &made})
	}
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Code == problem.IdempotencyConflict {
		typed.Values["key"], typed.Error = pg.formKey(), pg.Room.Text(v, "form_used")
	}
	return pg.Room.ShowStatus(w, r, v, status, "newmerchant", typed)
}

func (pg *pages) create(ctx context.Context, v *frame.Visit, typed desk.Form) (appmerchants.Onboarded, error) {
	tier := merchants.Tier(typed.Value("tier"))
	if !slices.Contains(merchants.Tiers(), tier) {
		return appmerchants.Onboarded{}, problem.Field(problem.InvalidRequest, "tier", chooseTier)
	}
	n := appmerchants.NewMerchant{
		Name: typed.Value("name"), Email: typed.Value("email"), Industry: typed.Value("industry"), Tier: tier,
		Language: language(typed.Value("language")), RefundFees: merchants.RefundFees(typed.Value("refundFees")),
	}
	if key := typed.Value("key"); key != "" {
		n.Idempotency = base.Idempotency{Route: "form of POST /console/merchants", Key: key, Hash: hashOf(n)}
	}
	if err := n.Check(); err != nil {
		return appmerchants.Onboarded{}, err
	}
	return pg.Uses.Onboarding.CreateMerchant(ctx, v.Actor(), n)
}

// hashOf is the hash of what a form asks for, so that its key cannot stand for another merchant.
func hashOf(n appmerchants.NewMerchant) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{n.Name, n.Email, n.Industry, string(n.Tier), string(n.Language), string(n.RefundFees)}, "\n")))
	return hex.EncodeToString(sum[:])
}
