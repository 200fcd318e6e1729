package merchants

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// member is a user in the list.
type member struct {
	ID, Name, Email string
	Role            people.Role
	Factor          bool
	Since, Seen     time.Time
	You             bool
	Editable        bool // the visitor may change the role, or remove the member
}

// invitation is one that waits.
type invitation struct {
	ID, Email, By string // By is the name of who invited; "" for an operator
	Role          people.Role
	Created, Ends time.Time
	Editable      bool
}

// teamView is the page of the team.
type teamView struct {
	Members []member
	Invited []invitation
	Owners  int
}

// load reads the merchant's team.
func (p *shopPages) load(r *http.Request, v *frame.Visit) (t teamView, err error) {
	list, links, err := p.Uses.Team.List(r.Context(), v.Merchant.ID)
	if err != nil {
		return t, err
	}
	names := map[string]string{}
	for _, m := range list {
		names[m.ID] = m.Name
		if m.Role == people.Owner {
			t.Owners++
		}
		t.Members = append(t.Members, member{
			m.ID, m.Name, m.Email, m.Role, m.HasFactor(), m.Since, m.SeenAt, m.ID == v.User.ID, v.Role.MayGive(m.Role),
		})
	}
	for _, l := range links {
		t.Invited = append(t.Invited, invitation{l.ID, l.Email, names[l.By], l.Role, l.CreatedAt, l.EndsAt, v.Role.MayGive(l.Role)})
	}
	return t, nil
}

func (p *shopPages) team(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	t, err := p.load(r, v)
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "team", t)
}

// choices are the roles that the visitor may give, with what each may do. chosen is listed whatever it is.
func (p *shopPages) choices(v *frame.Visit, chosen people.Role) []frame.Option {
	var list []frame.Option
	for _, role := range people.Roles() {
		if v.Role.MayGive(role) || role == chosen {
			name := string(role)
			list = append(list, frame.Option{Value: name, Label: p.room.Text(v, "role_"+name), Hint: p.room.Text(v, "about_"+name)})
		}
	}
	return list
}

// roleView is a page with a form that gives a role.
type roleView struct {
	Wrong    map[string]string
	Member   member
	Email    string
	Role     string
	Language string
	Roles    []frame.Option
	Address  string // of the new invitation; it is shown once
	Ends     time.Time
}

func (p *shopPages) newInvitation(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.room.Show(w, r, v, "invite", roleView{Language: string(v.Language()), Role: string(people.Viewer), Roles: p.choices(v, "")})
}

// confirmed reports whether the visitor may give a role. A role that can move money out is a way to do so: as for a
// withdrawal itself, a user with a second factor must have given it just now (DASH-6).
func (p *shopPages) confirmed(w http.ResponseWriter, r *http.Request, v *frame.Visit, role people.Role, page string) bool {
	return !role.May(merchants.RightWithdrawals, true) || p.Confirmed(w, r, v, v.Home()+page)
}

func (p *shopPages) invite(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := roleView{Email: r.FormValue("email"), Role: r.FormValue("role"), Language: r.FormValue("language"), Roles: p.choices(v, "")}
	if !p.confirmed(w, r, v, people.Role(view.Role), "/team/invite") {
		return nil
	}
	language := merchants.Language(view.Language)
	if !slices.Contains(merchants.Languages(), language) {
		language = v.Language()
	}
	told, err := p.Uses.Links.Invite(r.Context(), v.Actor(), v.Role, users.Invitee{
		Email: view.Email, Merchant: v.Merchant.ID, Role: people.Role(view.Role), Language: language,
	})
	if err != nil {
		wrong, status := p.wrong(v, err)
		if wrong == nil {
			return err
		}
		view.Wrong = wrong
		return p.room.ShowStatus(w, r, v, status, "invite", view)
	}
	if told.Mailed {
		p.Flash(w, "invited_mailed", "email", told.Link.Email)
		p.to(w, r, v, "/team")
		return nil
	}
	view.Email, view.Address, view.Ends = told.Link.Email, told.Address, told.Link.EndsAt
	return p.room.Show(w, r, v, "invited", view)
}

func noSuch() error { return problem.New(problem.NotFound, base.NoPage) }

// findMember is the member or the invitation that a page is about.
func (p *shopPages) findMember(r *http.Request, v *frame.Visit) (member, error) {
	t, err := p.load(r, v)
	if err != nil {
		return member{}, err
	}
	i := slices.IndexFunc(t.Members, func(m member) bool { return m.ID == r.PathValue("user") })
	if i < 0 {
		return member{}, noSuch()
	}
	return t.Members[i], nil
}

// sureView is a page that asks before something is done, for browsers without scripts.
type sureView struct {
	Title, Text, Action, Button, Back string
	Wrong                             string
}

func (p *shopPages) invitation(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	t, err := p.load(r, v)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(t.Invited, func(l invitation) bool { return l.ID == r.PathValue("id") })
	if i < 0 {
		return noSuch()
	}
	return p.room.Show(w, r, v, "sure", sureView{
		Title: p.room.Text(v, "withdraw_title"), Text: p.room.Text(v, "withdraw_about", "email", t.Invited[i].Email),
		Action: "team/invitations/" + t.Invited[i].ID + "/withdraw", Button: p.room.Text(v, "withdraw"), Back: "team",
	})
}

func (p *shopPages) withdraw(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := p.Uses.Links.Withdraw(r.Context(), v.Actor(), v.Role, v.Merchant.ID, r.PathValue("id")); err != nil {
		return err
	}
	p.Flash(w, "withdrawn")
	p.to(w, r, v, "/team")
	return nil
}

func (p *shopPages) member(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := p.findMember(r, v)
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "member", roleView{Member: m, Role: string(m.Role), Roles: p.choices(v, m.Role)})
}

func (p *shopPages) setRole(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := p.findMember(r, v)
	if err != nil {
		return err
	}
	wanted := people.Role(r.FormValue("role"))
	if !p.confirmed(w, r, v, wanted, "/team/members/"+m.ID) {
		return nil
	}
	if err = people.CheckRole(wanted); err == nil { // an empty one would remove the member
		err = p.Uses.Team.SetRole(r.Context(), v.Actor(), v.Role, v.Merchant.ID, m.ID, wanted)
	}
	if err != nil {
		wrong, status := p.wrong(v, err)
		if wrong == nil {
			return err
		}
		return p.room.ShowStatus(w, r, v, status, "member", roleView{Member: m, Role: string(wanted), Roles: p.choices(v, m.Role), Wrong: wrong})
	}
	p.Flash(w, "role_changed", "name", m.Name, "role", p.room.Text(v, "role_"+string(wanted)))
	if m.You && !wanted.May(merchants.RightTeam, v.Live) {
		p.to(w, r, v, "")
		return nil
	}
	p.to(w, r, v, "/team")
	return nil
}

// sureToRemove is the page that asks before a member is removed.
func (p *shopPages) sureToRemove(v *frame.Visit, m member) sureView {
	about := "remove_about"
	if m.You {
		about = "leave_about"
	}
	return sureView{
		Title: p.room.Text(v, "remove_title", "name", m.Name), Text: p.room.Text(v, about, "merchant", v.Merchant.Name),
		Action: "team/members/" + m.ID + "/remove", Button: p.room.Text(v, "remove"), Back: "team/members/" + m.ID,
	}
}

func (p *shopPages) askRemove(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := p.findMember(r, v)
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "sure", p.sureToRemove(v, m))
}

func (p *shopPages) remove(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	m, err := p.findMember(r, v)
	if err != nil {
		return err
	}
	if err := p.Uses.Team.SetRole(r.Context(), v.Actor(), v.Role, v.Merchant.ID, m.ID, ""); err != nil {
		wrong, status := p.wrong(v, err)
		if wrong == nil {
			return err
		}
		return p.room.ShowStatus(w, r, v, status, "member", roleView{Member: m, Role: string(m.Role), Roles: p.choices(v, m.Role), Wrong: wrong})
	}
	if m.You {
		p.Go(w, r, p.At(""))
		return nil
	}
	p.Flash(w, "removed", "name", m.Name)
	left, err := p.Uses.Keys.MadeBy(r.Context(), v.Merchant.ID, m.ID)
	if err != nil { // the member is removed; what is left can be read on the page of keys
		left = nil
	}
	if len(left) > 0 {
		p.to(w, r, v, "/team/members/"+m.ID+"/keys")
		return nil
	}
	p.to(w, r, v, "/team")
	return nil
}

// madeView is the page of the keys that somebody made and that still work.
type madeView struct {
	Name string
	Keys []madeKey
}

type madeKey struct {
	merchants.Key
	Page string // of the key, below the dashboard
}

// madeKeys lists the keys that a member, or a former one, made. They keep working when their maker is
// removed.
func (p *shopPages) madeKeys(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	u, err := p.Uses.Team.Was(r.Context(), v.Merchant.ID, r.PathValue("user"))
	if err != nil {
		return err
	}
	list, err := p.Uses.Keys.MadeBy(r.Context(), v.Merchant.ID, u.ID)
	if err != nil {
		return err
	}
	view := madeView{Name: cmp.Or(u.Name, u.ID)}
	for _, k := range list {
		shop := cmp.Or(k.Shop, v.Shop.ID)
		view.Keys = append(view.Keys, madeKey{k, frame.Base + "/" + shop + "/" + string(k.Environment()) + "/keys/" + k.ID})
	}
	return p.room.Show(w, r, v, "madekeys", view)
}
