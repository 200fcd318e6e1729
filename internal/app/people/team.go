package people

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Team is the users' roles at merchants, and the operators.
type Team struct {
	*base.Base
	people *People
}

// NewTeam returns the teams of a service's merchants.
func NewTeam(p *People) *Team {
	tm := &Team{p.Base, p}
	base.Applies(p.Base, "operator.role", func(ctx context.Context, by audit.Actor, n newRole) error {
		return tm.SetOperator(ctx, by, n.Email, n.Role)
	})
	return tm
}

// List lists the users of a merchant, oldest first, and the invitations that wait.
func (tm *Team) List(ctx context.Context, merchant string) ([]store.Member, []people.Link, error) {
	list, err := tm.Store.Users().Members(ctx, merchant)
	if err != nil {
		return nil, nil, err
	}
	invited, err := tm.Store.Links().Invitations(ctx, merchant, tm.Now())
	return list, invited, err
}

// Named reads users by their ids, also those who are not in a team any more. Unknown ones are left out.
func (tm *Team) Named(ctx context.Context, ids []string) (map[string]people.User, error) {
	named := map[string]people.User{}
	for _, id := range ids {
		u, err := tm.Store.Users().Get(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		named[id] = u
	}
	return named, nil
}

// Was reads somebody who is in a merchant's team, or was. A user who was removed altogether has no name left.
//
// Errors: store.ErrNotFound.
func (tm *Team) Was(ctx context.Context, merchant, user string) (people.User, error) {
	if _, err := tm.Store.Memberships().Get(ctx, user, merchant); err != nil {
		return people.User{}, err
	}
	return tm.Store.Users().Get(ctx, user)
}

// Operators lists the users of the operator's console, and the invitations that wait.
func (tm *Team) Operators(ctx context.Context) ([]people.User, []people.Link, error) {
	list, err := tm.Store.Users().Operators(ctx)
	if err != nil {
		return nil, nil, err
	}
	invited, err := tm.Store.Links().Invitations(ctx, "", tm.Now())
	return list, invited, err
}

// SetRole changes the role of a user at a merchant; "" removes the user from it. It applies from the
// user's next request on. giver is the role of the user who does it, "" for an operator.
//
// Errors: store.ErrNotFound, invalid_request, forbidden for a role with rights that the giver lacks,
// conflict_state for the last owner.
func (tm *Team) SetRole(ctx context.Context, by audit.Actor, giver people.Role, merchant, user string, role people.Role) error {
	if role != "" {
		if err := people.CheckRole(role); err != nil {
			return err
		}
	}
	if giver == "" && role != "" && by.Kind != audit.BySystem { // an operator could let himself in
		if err := tm.Dual.Check(ctx, by, operators.Keys); err != nil {
			return err
		}
	}
	err := base.Again(func() error {
		m, err := tm.Store.Memberships().Get(ctx, user, merchant)
		if err != nil || m.Role == "" {
			return base.OrRefuse(err, fmt.Errorf("user %s: %w", user, store.ErrNotFound))
		}
		if m.Role == role {
			return nil
		}
		if giver != "" && (!giver.MayGive(m.Role) || role != "" && !giver.MayGive(role)) {
			return tooMuch()
		}
		var change pay.Change
		name, err := tm.addRoleChange(ctx, &change, by, m, role)
		if err != nil {
			return err
		}
		if by.ID != m.User { // users who give up their own role know it
			n := people.News{What: people.RoleChanged, Merchant: name, Role: role}
			if role == "" {
				n.What = people.RoleEnded
			}
			if err := tm.people.tellByOthers(ctx, &change, by, m.User, n); err != nil {
				return err
			}
		}
		return tm.Store.Commit(ctx, change)
	})
	return err
}

// addRoleChange adds to a change that a member gets another role, or none. It returns the merchant's name. The merchant is
// written too: of two owners who remove each other at once, one must decide again.
func (tm *Team) addRoleChange(ctx context.Context, change *pay.Change, by audit.Actor, m people.Membership, role people.Role) (string, error) {
	merchant, err := tm.AnyMerchant(ctx, m.Merchant)
	if err != nil {
		return "", err
	}
	if m.Role == people.Owner && !merchant.Leaving.Erased() {
		if err := tm.leavesOwner(ctx, m.Merchant); err != nil {
			return "", err
		}
		change.Merchants = append(change.Merchants, merchant.Next())
	}
	act, details := audit.UserRoleChanged, map[string]string{"before": string(m.Role), "role": string(role)}
	if role == "" {
		act, details = audit.UserRemoved, map[string]string{"before": string(m.Role)}
	}
	change.Memberships = append(change.Memberships, m.Give(role, tm.Now()))
	change.Audit = append(change.Audit, tm.Audited(by, merchants.Scope{Merchant: m.Merchant, Live: true}, act, m.User, details)...)
	return merchant.Name, nil
}

// leavesOwner returns an error if a merchant has no other owner.
//
// Errors: conflict_state.
func (tm *Team) leavesOwner(ctx context.Context, merchant string) error {
	owners, err := tm.Store.Memberships().Owners(ctx, merchant)
	if err == nil && owners < 2 {
		err = problem.Conflict("last_owner", lastOwner)
	}
	return err
}

// Tenancies lists the merchants at which a user has a role, by name.
func (pl *People) Tenancies(ctx context.Context, user string) ([]store.Tenancy, error) {
	return pl.Store.Memberships().Tenancies(ctx, user)
}

// Place is a shop's pages in an environment, as a user may see them.
type Place struct {
	Role     people.Role // "" for an operator who looks at them
	Scope    merchants.Scope
	Rights   []merchants.Right
	Merchant merchants.Merchant
	Shop     merchants.Shop
	Shops    []merchants.Shop // of the merchant
	Others   []store.Tenancy  // the user's merchants, this one among them
}

// Enters finds a shop's pages for a user. An operator who visits the merchant may read.
//
// Errors: store.ErrNotFound, also if the user has no role there, or only one at a merchant that was erased: nobody learns which shops exist.
func (pl *People) Enters(ctx context.Context, u people.User, s people.SignIn, shop string, live bool) (p Place, err error) {
	if p.Shop, err = pl.Store.Merchants().Shop(ctx, shop); err != nil {
		return p, err
	}
	if p.Others, err = pl.Tenancies(ctx, u.ID); err != nil {
		return p, err
	}
	p.Scope = merchants.Scope{Merchant: p.Shop.Merchant, Shop: shop, Live: live}
	m, err := pl.Store.Memberships().Get(ctx, u.ID, p.Shop.Merchant)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return p, err
	}
	switch p.Role = m.Role; {
	case p.Role != "":
		p.Rights = p.Role.Rights(live)
	case u.Operator.May(operators.Merchants) && s.Visits == p.Shop.Merchant:
		p.Rights = []merchants.Right{merchants.RightRead}
	default:
		return Place{}, store.ErrNotFound
	}
	if p.Merchant, err = pl.AnyMerchant(ctx, p.Shop.Merchant); err != nil {
		return p, err
	}
	if p.Merchant.Leaving.Erased() && p.Role != "" { // its users' roles end, and nothing new of it begins meanwhile (LEAVE-6)
		return Place{}, store.ErrNotFound
	}
	p.Shops, err = pl.Store.Merchants().Shops(ctx, p.Shop.Merchant)
	return p, err
}

// Visit lets an operator look at a merchant's pages, without changing anything there; "" ends it.
//
// Errors: ErrSignedOut, forbidden for a user who is no operator, store.ErrNotFound for the merchant.
func (pl *People) Visit(ctx context.Context, from From, token, merchant string) error {
	return base.Again(func() error {
		s, u, err := pl.Known(ctx, token)
		if err != nil {
			return err
		}
		if u.Operator == "" || s.Waiting {
			return problem.New(problem.Forbidden, onlyOperatorsLook)
		}
		if s.Visits == merchant {
			return nil
		}
		change := pay.Change{SignIns: []people.SignIn{s.Visit(merchant)}}
		if merchant != "" {
			if _, err := pl.AnyMerchant(ctx, merchant); err != nil {
				return err
			}
			change.Audit = pl.Audited(from.User(u.ID), merchants.Scope{Merchant: merchant, Live: true}, audit.MerchantVisited, merchant, nil)
		}
		return pl.Store.Commit(ctx, change)
	})
}

// Remove removes a user from every merchant, and ends all sign-ins and invitations, in one commit. It is for operators: another one, or the
// command line.
//
// Errors: store.ErrNotFound, conflict_state for a merchant's last owner, ErrSignedOut if the operator was removed meanwhile.
func (tm *Team) Remove(ctx context.Context, by audit.Actor, email string) error {
	u, err := tm.people.byEmail(ctx, email)
	if err != nil {
		return err
	}
	return tm.remove(ctx, by, u.ID, func(people.User, []people.Membership) (bool, error) { return true, nil })
}

// Disband ends the roles of all users of a merchant that was erased (LEAVE-6). Who has a role nowhere else, is no operator and is invited
// nowhere is removed altogether: nothing is left to sign in to. A repeat goes on where it stopped.
func (tm *Team) Disband(ctx context.Context, by audit.Actor, merchant string) error {
	members, err := tm.Store.Users().Members(ctx, merchant)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := tm.remove(ctx, by, m.ID, func(u people.User, roles []people.Membership) (bool, error) {
			invited, err := tm.Store.Links().To(ctx, u.Email, tm.Now())
			return len(roles) == 1 && roles[0].Merchant == merchant && u.Operator == "" && len(invited) == 0, err
		}); err != nil {
			return err
		}
		if err := tm.SetRole(ctx, by, "", merchant, m.ID, ""); err != nil && !errors.Is(err, store.ErrNotFound) { // or it ended with the user
			return err
		}
	}
	return nil
}

// remove removes a user from every merchant, and ends all sign-ins and invitations, if may agrees with what the user has at that time.
func (tm *Team) remove(ctx context.Context, by audit.Actor, user string, may func(people.User, []people.Membership) (bool, error)) error {
	return base.Again(func() error {
		// The remover is written too: operators who remove each other at the same time would otherwise leave
		// none.
		remover, err := tm.operating(ctx, by)
		if err != nil {
			return err
		}
		// Read before the roles: accepting an invitation meanwhile writes the user, so this write is stale.
		present, err := tm.Store.Users().Get(ctx, user)
		if err != nil || !present.Active() {
			return err
		}
		list, err := tm.Store.Memberships().Of(ctx, user)
		if err != nil {
			return err
		}
		if ok, err := may(present, list); err != nil || !ok {
			return err
		}
		signIns, err := tm.people.SignIns(ctx, user)
		if err != nil {
			return err
		}
		change, err := tm.people.ended(ctx, by, signIns)
		if err != nil {
			return err
		}
		for _, m := range list {
			if _, err := tm.addRoleChange(ctx, &change, by, m, ""); err != nil {
				return fmt.Errorf("merchant %s: %w", m.Merchant, err)
			}
		}
		if err := tm.people.tellByOthers(ctx, &change, by, user, people.News{What: people.AccountRemoved}); err != nil {
			return err
		}
		if err := tm.people.uninvite(ctx, &change, present.Email, func(people.Link) bool { return true }); err != nil {
			return err
		}
		change.Users = append(remover, present.Remove(tm.Now())) // the user's news goes with the rest
		change.Audit = append(change.Audit, tm.Audited(by, merchants.Scope{Live: true}, audit.UserRemoved, user, nil)...)
		return tm.Store.Commit(ctx, change)
	})
}

// newRole is a role of an operator in the console.
type newRole struct {
	Email string
	Role  operators.Role
}

// SetOperator gives an operator of the console another role, on every node at once. Nobody changes his own.
//
// Errors: store.ErrNotFound, invalid_request for the role, conflict_state for oneself and for a user who is no operator; those of
// base.DualControls.Require.
func (tm *Team) SetOperator(ctx context.Context, by audit.Actor, email string, role operators.Role) error {
	if err := operators.CheckRole(role); err != nil {
		return err
	}
	u, err := tm.people.byEmail(ctx, email)
	if err != nil {
		return err
	}
	if by.ID == u.ID {
		return problem.Conflict("self", ownRole)
	}
	if err := tm.Dual.Require(ctx, by, base.Ask{
		Right: operators.Manage, Kind: "operator.role", Subject: u.ID, Details: map[string]string{"email": u.Email, "role": string(role)}, Body: newRole{u.Email, role},
	}); err != nil {
		return err
	}
	return base.Again(func() error {
		actor, err := tm.operating(ctx, by)
		if err != nil {
			return err
		}
		present, err := tm.Store.Users().Get(ctx, u.ID)
		switch {
		case err != nil:
			return err
		case !present.Active() || present.Operator == "":
			return problem.Conflict("not_operator", notOperator)
		case present.Operator == role:
			return nil
		}
		return tm.Store.Commit(ctx, pay.Change{
			Users: append(actor, present.Operate(role)),
			Audit: tm.Audited(by, merchants.Scope{Live: true}, audit.OperatorChanged, u.ID, map[string]string{"role": string(role), "before": string(present.Operator)}),
		})
	})
}

// operating returns the operator who acts, to be written with what that operator decides; nobody for the command line and
// for the service itself.
//
// Errors: ErrSignedOut if the actor is no operator any more.
func (tm *Team) operating(ctx context.Context, by audit.Actor) ([]people.User, error) {
	if by.Kind != audit.ByUser {
		return nil, nil
	}
	u, err := tm.Store.Users().Get(ctx, by.ID)
	if err != nil {
		return nil, err
	}
	if !u.Active() || u.Operator == "" {
		return nil, ErrSignedOut
	}
	return []people.User{u.Next()}, nil
}

// Unlock ends a user's lock and removes all second factors. Operators use it for users who lost theirs.
//
// Errors: store.ErrNotFound.
func (tm *Team) Unlock(ctx context.Context, by audit.Actor, email string) error {
	u, err := tm.people.byEmail(ctx, email)
	if err != nil {
		return err
	}
	if err := tm.Dual.AboutOperator(ctx, by, u, "operator.unlock"); err != nil {
		return err
	}
	return base.Again(func() error {
		present, err := tm.Store.Users().Get(ctx, u.ID)
		if err != nil {
			return err
		}
		entries, err := tm.people.ofMerchants(ctx, by, u.ID, audit.UserFactorRemoved, u.ID)
		if err != nil {
			return err
		}
		change := pay.Change{Users: []people.User{present.Unlock()}, Audit: entries}
		if err := tm.people.tellByOthers(ctx, &change, by, u.ID, people.News{What: people.FactorsRemoved}); err != nil {
			return err
		}
		return tm.Store.Commit(ctx, change)
	})
}

// byEmail reads a user by an e-mail address.
//
// Errors: invalid_request, store.ErrNotFound.
func (pl *People) byEmail(ctx context.Context, email string) (people.User, error) {
	address, err := people.ParseEmail(email)
	if err != nil {
		return people.User{}, err
	}
	u, err := pl.Store.Users().ByEmail(ctx, address)
	if err != nil {
		err = fmt.Errorf("user %s: %w", address, err)
	}
	return u, err
}

// Find reads a user by an e-mail address. It is for operators.
//
// Errors: invalid_request, store.ErrNotFound.
func (tm *Team) Find(ctx context.Context, email string) (people.User, error) {
	return tm.people.byEmail(ctx, email)
}

// Ever lists the merchants in whose teams a user is, or was.
func (tm *Team) Ever(ctx context.Context, user string) (merchants []string, err error) {
	list, err := tm.Store.Memberships().Ever(ctx, user)
	for _, m := range list {
		merchants = append(merchants, m.Merchant)
	}
	return merchants, err
}

// SetRoleOf is SetRole by an e-mail address, for operators.
func (tm *Team) SetRoleOf(ctx context.Context, by audit.Actor, merchant, email string, role people.Role) error {
	u, err := tm.people.byEmail(ctx, email)
	if err != nil {
		return err
	}
	return tm.SetRole(ctx, by, "", merchant, u.ID, role)
}
