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

func (c *pages) merchants(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return c.list(w, r, v, strings.TrimSpace(r.FormValue("q")), false)
}

// list shows merchants with a text in their name or address. An id leads to its page.
func (c *pages) list(w http.ResponseWriter, r *http.Request, v *frame.Visit, asked string, search bool) error {
	if strings.HasPrefix(asked, merchants.MerchantPrefix) && base.Storable(asked) {
		_, err := c.Uses.AnyMerchant(r.Context(), asked)
		if found, err := c.found(w, r, "merchants/"+asked, err); found || err != nil {
			return err
		}
	}
	view := merchantsView{Asked: asked, Search: search}
	if asked != "" || !search {
		list, err := c.Uses.Onboarding.FindMerchants(r.Context(), asked, r.FormValue("cursor"), frame.Rows+1)
		if err != nil {
			return err
		}
		view.Rows, view.Pager.Next = frame.Cut(list, func(m merchants.Merchant) string { return m.ID })
	}
	return c.Room.Show(w, r, v, "merchants", view)
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

func (c *pages) merchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return c.show(w, r, v, http.StatusOK, r.PathValue("id"), merchantView{})
}

// show shows a merchant, with what view has besides.
func (c *pages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, id string, view merchantView) error {
	ctx := r.Context()
	m, err := c.Uses.AnyMerchant(ctx, id)
	if err != nil {
		return err
	}
	if view.Terms, err = c.Uses.Plans.Terms(ctx, merchants.Scope{Merchant: id, Live: true}, m); err != nil {
		return err
	}
	if view.Tiers, err = c.tiers(ctx, v); err != nil {
		return err
	}
	view.Merchant, view.Version, view.Email, view.Industry, view.Language = shape.NewMerchant(m, view.Terms, c.Uses.Plans.Book()), m.Version, m.Email, m.Industry, m.Language
	view.Seconds = int(base.CacheTTL.Seconds())
	for _, role := range people.Roles() {
		view.Roles = append(view.Roles, frame.Option{Value: string(role), Label: c.Room.Text(v, "role_"+string(role))})
	}
	if view.Rest, view.Waits, view.Left, err = c.rest(ctx, m); err != nil {
		return err
	}
	view.Visiting = v.SignIn.Visits == m.ID
	now := map[string]string{"address": m.Email, "tier": string(m.Tier), "refundFees": string(m.RefundFees), "reason": m.Paused,
		"installments": strings.ReplaceAll(string(m.Installments), ",", "\n")}
	maps.Copy(now, view.Values)
	view.Values = now
	if view.Shops, err = c.Uses.Onboarding.Shops(ctx, id); err != nil {
		return err
	}
	if view.Team, view.Invited, err = c.Uses.Team.List(ctx, id); err != nil {
		return err
	}
	return c.Room.ShowStatus(w, r, v, status, "merchant", view)
}

// refused shows the merchant with what was wrong in one of its forms.
func (c *pages) refused(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error, typed desk.Form) error {
	view := merchantView{Form: typed}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return c.show(w, r, v, status, r.PathValue("id"), view)
}

// setEmail changes a merchant's address. An old page on which nobody typed another address changes nothing.
func (c *pages) setEmail(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "address")
	if typed.Value("address") == r.FormValue("addressBefore") {
		return c.Done(w, r, "merchants/"+r.PathValue("id"), "merchant_saved")
	}
	err := c.Uses.Onboarding.SetEmail(r.Context(), v.Actor(), r.PathValue("id"), typed.Value("address"))
	if err != nil {
		return c.refused(w, r, v, named(err, "address"), typed)
	}
	return c.Done(w, r, "merchants/"+r.PathValue("id"), "merchant_saved")
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
func (c *pages) invite(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "email", "role", "language")
	told, err := c.Uses.Links.Invite(r.Context(), v.Actor(), "", users.Invitee{
		Email: typed.Value("email"), Merchant: r.PathValue("id"), Role: people.Role(typed.Value("role")), Language: language(typed.Value("language")),
	})
	if err != nil {
		return c.refused(w, r, v, err, typed)
	}
	if told.Mailed { // a link that somebody else saw proves nothing
		return c.Done(w, r, "merchants/"+r.PathValue("id"), "invited_mailed", "email", told.Link.Email)
	}
	return c.show(w, r, v, http.StatusOK, r.PathValue("id"), merchantView{Link: told.Address, LinkTo: told.Link.Email})
}

// language is one of ours, English for others.
func language(text string) merchants.Language {
	if l := merchants.Language(text); slices.Contains(merchants.Languages(), l) {
		return l
	}
	return merchants.English
}

func (c *pages) withdraw(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := c.Uses.Links.Withdraw(r.Context(), v.Actor(), "", r.PathValue("id"), r.FormValue("invitation")); err != nil {
		return err
	}
	return c.Done(w, r, "merchants/"+r.PathValue("id"), "invitation_withdrawn")
}

// visit lets the operator look at the merchant's pages. The audit log has it.
func (c *pages) visit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	id := r.PathValue("id")
	shops, err := c.Uses.Onboarding.Shops(r.Context(), id)
	if err != nil {
		return err
	}
	if len(shops) == 0 {
		return problem.New(problem.NotFound, noShopToLookAt)
	}
	if err := c.Uses.People.Visit(r.Context(), v.From(r), c.Token(r), id); err != nil {
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
	c.Site.Go(w, r, c.At("/"+shop+"/"+string(environment)))
	return nil
}

// leave ends a visit.
func (c *pages) leave(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	visited := v.SignIn.Visits
	if err := c.Uses.People.Visit(r.Context(), v.From(r), c.Token(r), ""); err != nil {
		return err
	}
	path := "merchants"
	if visited != "" {
		path += "/" + visited
	}
	return c.Done(w, r, path, "visit_ended")
}

func (c *pages) newMerchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return c.Room.Show(w, r, v, "newmerchant", desk.Form{Values: map[string]string{
		"key": c.formKey(), "tier": string(merchants.Starter), "language": string(v.Language()), "refundFees": string(merchants.FeesKept),
	}})
}

// formKey is the key of a new form: clicks at the same time make one merchant.
func (c *pages) formKey() string { return c.Uses.NewID("form_", c.Uses.Now()) }

// createMerchant makes a merchant. Its keys are in the answer itself: they are shown once. Whoever sends the form again
// is led to the merchant, and told where the keys are.
func (c *pages) createMerchant(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "name", "email", "industry", "tier", "language", "refundFees")
	typed.Values["key"] = r.FormValue("key")
	made, err := c.create(r.Context(), v, typed)
	switch {
	case err == nil && made.Repeated:
		return c.Done(w, r, "merchants/"+made.Merchant.ID, "merchant_repeated", "merchant", made.Merchant.Name)
	case err == nil:
		return c.show(w, r, v, http.StatusOK, made.Merchant.ID, merchantView{Opened: &made})
	}
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	if shown, ok := errors.AsType[*problem.Error](err); ok && shown.Code == problem.IdempotencyConflict {
		typed.Values["key"], typed.Error = c.formKey(), c.Room.Text(v, "form_used")
	}
	return c.Room.ShowStatus(w, r, v, status, "newmerchant", typed)
}

func (c *pages) create(ctx context.Context, v *frame.Visit, typed desk.Form) (appmerchants.Onboarded, error) {
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
	return c.Uses.Onboarding.CreateMerchant(ctx, v.Actor(), n)
}

// hashOf is the hash of what a form asks for, so that its key cannot stand for another merchant.
func hashOf(n appmerchants.NewMerchant) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{n.Name, n.Email, n.Industry, string(n.Tier), string(n.Language), string(n.RefundFees)}, "\n")))
	return hex.EncodeToString(sum[:])
}
