package people

import (
	"context"
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// UserPath names a user.
type UserPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"usr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

// TeamQuery names a team.
type TeamQuery struct {
	MerchantID string `query:"merchantId" maxLength:"64" doc:"Of this merchant; left out: of the operator's console"`
}

type usersIn struct {
	call.PageQuery
	TeamQuery
}

type usersOut struct {
	Body struct {
		Data       []shape.User `json:"data"`
		Pagination call.Cursor  `json:"pagination"`
	}
}

type userOut struct{ Body shape.User }

type userRoleIn struct {
	UserPath
	Body UserRoleBody
}

// UserRoleBody is a user's role at a merchant.
type UserRoleBody struct {
	_          struct{}    `additionalProperties:"false"`
	MerchantID string      `json:"merchantId" minLength:"1" maxLength:"64"`
	Role       people.Role `json:"role" enum:"owner,admin,developer,support,finance,viewer"`
}

type operatorRoleIn struct {
	UserPath
	Body OperatorRoleBody
}

// OperatorRoleBody is the role of an operator.
type OperatorRoleBody struct {
	_    struct{}       `additionalProperties:"false"`
	Role operators.Role `json:"role" enum:"admin,finance,risk,support,viewer"`
}

type removeUserIn struct {
	UserPath
	MerchantID string `query:"merchantId" maxLength:"64" doc:"Only from this merchant; left out: altogether"`
}

type removedUserOut struct {
	Body struct {
		ID   string      `json:"id"`
		Keys []shape.Key `json:"keys" doc:"The keys that the user made and that still work: programs may run with them"`
	}
}

type userLinkIn struct {
	UserPath
	Body UserLinkBody
}

// UserLinkBody says what a link is for.
type UserLinkBody struct {
	_    struct{} `additionalProperties:"false"`
	Kind string   `json:"kind" enum:"sign-in,password"`
}

type userLinkOut struct{ Body shape.UserLink }

// InvitationPath names an invitation.
type InvitationPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"lnk_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type invitationIn struct {
	InvitationPath
	TeamQuery
}

type invitationOut struct{ Body shape.UserInvitation }

type invitationsOut struct {
	Body struct {
		Data       []shape.UserInvitation `json:"data"`
		Pagination call.Cursor            `json:"pagination"`
	}
}

type inviteIn struct{ Body InvitationBody }

// InvitationBody invites a person.
type InvitationBody struct {
	_            struct{}           `additionalProperties:"false"`
	Email        string             `json:"email" maxLength:"254"`
	MerchantID   string             `json:"merchantId,omitempty" maxLength:"64" doc:"Left out: to the operator's console, which needs the right manage"`
	Role         people.Role        `json:"role,omitempty" enum:"owner,admin,developer,support,finance,viewer" doc:"At the merchant"`
	OperatorRole operators.Role     `json:"operatorRole,omitempty" enum:"admin,finance,risk,support,viewer" doc:"In the operator's console"`
	Language     merchants.Language `json:"language,omitempty" enum:"es,pt,en" doc:"Of the e-mail; en by default"`
}

type sentInvitationOut struct{ Body shape.SentInvitation }

func (a *api) userRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Users"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listUsers", http.MethodGet, "/users", "List the users of a merchant, or of the operator's console", "Oldest first."), []problem.Code{problem.NotFound}, a.users)
	call.Handle(a.API, operators.View, op("getUser", http.MethodGet, "/users/{id}", "Read a user", "With the roles at merchants."), nil, a.user)
	call.Handle(a.API, operators.Keys, op("changeUserRole", http.MethodPut, "/users/{id}/role", "Change the role of a user at a merchant", "It applies from the user's next request on."), []problem.Code{problem.NotFound, problem.ConflictState}, a.changeUserRole)
	call.Handle(a.API, operators.Manage, op("changeOperatorRole", http.MethodPut, "/users/{id}/operator-role", "Change the role of an operator of the console", "It applies from the operator's next request on."), []problem.Code{problem.NotFound, problem.ConflictState}, a.changeOperatorRole)
	call.Handle(a.API, operators.Manage, op("unlockUser", http.MethodPost, "/users/{id}/unlock", "Unlock a user, and remove all second factors", "For a user who lost them. The user hears of it."), []problem.Code{problem.ConflictState}, a.unlockUser)
	call.Handle(a.API, operators.Manage, op("signOutUser", http.MethodPost, "/users/{id}/sign-out", "End all sign-ins of a user", "Such as after a lost laptop."), nil, a.signOutUser)
	call.Handle(a.API, operators.Manage, call.Creates(op("createUserLink", http.MethodPost, "/users/{id}/links", "Make a link that signs a user in, or lets the user choose a password",
		"An earlier link of the kind is withdrawn. Not for operators of the console: theirs are made at the machine.")), []problem.Code{problem.ConflictState}, a.createUserLink)
	call.Handle(a.API, operators.Manage, op("removeUser", http.MethodDelete, "/users/{id}", "Remove a user from a merchant, or altogether", "Sign-ins of a user who is removed altogether end at once."), conflict, a.removeUser)
	call.Handle(a.API, operators.View, op("listInvitations", http.MethodGet, "/invitations", "List the invitations that nobody has accepted yet", "Of a merchant, or of the operator's console."), []problem.Code{problem.NotFound}, a.invitations)
	call.Handle(a.API, operators.Merchants, call.Creates(op("inviteUser", http.MethodPost, "/invitations", "Invite a person to a merchant, or to the operator's console",
		"The link works once, for seven days. It goes by e-mail if the service sends any, and else it is in the reply. An earlier invitation of the address to the same team is withdrawn.")),
		[]problem.Code{problem.NotFound, problem.ConflictState}, a.inviteUser)
	call.Handle(a.API, operators.View, op("getInvitation", http.MethodGet, "/invitations/{id}", "Read an invitation that nobody has accepted yet", "Name the merchant that it is for."), nil, a.invitation)
	call.Handle(a.API, operators.Merchants, op("withdrawInvitation", http.MethodDelete, "/invitations/{id}", "Withdraw an invitation", "Name the merchant that it is for; without one it needs the right manage."), nil, a.withdrawInvitation)
}

func (a *api) users(ctx context.Context, _ audit.Actor, in *usersIn) (*usersOut, error) {
	var list []shape.User
	now := a.Uses.Now()
	if in.MerchantID == "" {
		staff, _, err := a.Uses.Team.Operators(ctx)
		if err != nil {
			return nil, err
		}
		for _, u := range staff {
			list = append(list, shape.NewUser(u, "", now))
		}
	} else {
		if _, err := a.Uses.AnyMerchant(ctx, in.MerchantID); err != nil {
			return nil, err
		}
		members, _, err := a.Uses.Team.List(ctx, in.MerchantID)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			list = append(list, shape.NewUser(m.User, m.Role, now))
		}
	}
	id := func(u shape.User) string { return u.ID }
	list = call.Cut(in.PageQuery, list, id)
	out := &usersOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, func(u shape.User) shape.User { return u })
	return out, nil
}

// active reads a user who was not removed.
func (a *api) active(ctx context.Context, id string) (people.User, error) {
	u, err := a.Uses.People.User(ctx, id)
	if err == nil && !u.Active() {
		err = message.Refusal(problem.NotFound, "the user was removed")
	}
	return u, err
}

func (a *api) user(ctx context.Context, _ audit.Actor, in *UserPath) (*userOut, error) {
	u, err := a.active(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := a.Uses.People.Tenancies(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	shown := shape.NewUser(u, "", a.Uses.Now())
	for _, t := range list {
		shown.Memberships = append(shown.Memberships, shape.UserMembership{MerchantID: t.Merchant.ID, Role: t.Role})
	}
	return &userOut{shown}, nil
}

func (a *api) changeUserRole(ctx context.Context, by audit.Actor, in *userRoleIn) (*userOut, error) {
	if err := a.Uses.Team.SetRole(ctx, by, "", in.Body.MerchantID, in.ID, in.Body.Role); err != nil {
		return nil, err
	}
	return a.user(ctx, by, &in.UserPath)
}

func (a *api) changeOperatorRole(ctx context.Context, by audit.Actor, in *operatorRoleIn) (*userOut, error) {
	u, err := a.active(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := a.Uses.Team.SetOperator(ctx, by, u.Email, in.Body.Role); err != nil {
		return nil, err
	}
	return a.user(ctx, by, &in.UserPath)
}

func (a *api) unlockUser(ctx context.Context, by audit.Actor, in *UserPath) (*userOut, error) {
	u, err := a.active(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := a.Uses.Team.Unlock(ctx, by, u.Email); err != nil {
		return nil, err
	}
	return a.user(ctx, by, in)
}

func (a *api) signOutUser(ctx context.Context, by audit.Actor, in *UserPath) (*userOut, error) {
	u, err := a.active(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := a.Uses.People.SignOut(ctx, by, u.Email); err != nil {
		return nil, err
	}
	return a.user(ctx, by, in)
}

func (a *api) createUserLink(ctx context.Context, by audit.Actor, in *userLinkIn) (*userLinkOut, error) {
	u, err := a.active(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if u.Operator != "" { // or a token could sign in as another operator, who approves what the token proposes
		return nil, problem.Conflict("operator", message.Literal("links for operators of the console are made at the machine: cascada user link"))
	}
	kind := people.SignInLink
	if in.Body.Kind == "password" {
		kind = people.PasswordReset
	}
	made, err := a.Uses.Links.LinkTo(ctx, by, u.Email, kind)
	if err != nil {
		return nil, err
	}
	return &userLinkOut{shape.NewUserLink(made)}, nil
}

func (a *api) removeUser(ctx context.Context, by audit.Actor, in *removeUserIn) (*removedUserOut, error) {
	u, err := a.active(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	of := []string{in.MerchantID}
	if in.MerchantID != "" {
		err = a.Uses.Team.SetRole(ctx, by, "", in.MerchantID, in.ID, "")
	} else if of, err = a.Uses.Team.Ever(ctx, in.ID); err == nil {
		err = a.Uses.Team.Remove(ctx, by, u.Email)
	}
	if err != nil {
		return nil, err
	}
	out := &removedUserOut{}
	out.Body.ID, out.Body.Keys = in.ID, []shape.Key{}
	for _, merchant := range of {
		list, err := a.Uses.Keys.MadeBy(ctx, merchant, in.ID)
		if err != nil {
			return nil, err
		}
		for _, k := range list {
			out.Body.Keys = append(out.Body.Keys, shape.NewKey(k, k.RevokedAt, 0, a.Uses.Now()))
		}
	}
	return out, nil
}

// invited lists the invitations of a team that wait, oldest first.
func (a *api) invited(ctx context.Context, merchant string) (list []people.Link, err error) {
	if merchant == "" {
		_, list, err = a.Uses.Team.Operators(ctx)
		return list, err
	}
	if _, err := a.Uses.AnyMerchant(ctx, merchant); err != nil {
		return nil, err
	}
	_, list, err = a.Uses.Team.List(ctx, merchant)
	return list, err
}

func (a *api) invitations(ctx context.Context, _ audit.Actor, in *usersIn) (*invitationsOut, error) {
	list, err := a.invited(ctx, in.MerchantID)
	if err != nil {
		return nil, err
	}
	id := func(l people.Link) string { return l.ID }
	list = call.Cut(in.PageQuery, list, id)
	out := &invitationsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, shape.NewInvitation)
	return out, nil
}

func (a *api) invitation(ctx context.Context, _ audit.Actor, in *invitationIn) (*invitationOut, error) {
	list, err := a.invited(ctx, in.MerchantID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(l people.Link) bool { return l.ID == in.ID })
	if i < 0 {
		return nil, message.Refusal(problem.NotFound, "there is no such invitation, or it was accepted, withdrawn or has ended")
	}
	return &invitationOut{shape.NewInvitation(list[i])}, nil
}

func (a *api) inviteUser(ctx context.Context, by audit.Actor, in *inviteIn) (*sentInvitationOut, error) {
	b := in.Body
	switch {
	case b.MerchantID == "" && (b.OperatorRole == "" || b.Role != ""):
		return nil, message.FieldRefusal(problem.InvalidRequest, "operatorRole", "an invitation to the operator's console has an operatorRole, and no role; one to a merchant names its merchantId")
	case b.MerchantID != "" && (b.Role == "" || b.OperatorRole != ""):
		return nil, message.FieldRefusal(problem.InvalidRequest, "role", "an invitation to a merchant has a role, and no operatorRole")
	}
	made, err := a.Uses.Links.Invite(ctx, by, "", users.Invitee{Email: b.Email, Merchant: b.MerchantID, Role: b.Role, Operator: b.OperatorRole, Language: b.Language})
	if err != nil {
		return nil, err
	}
	return &sentInvitationOut{shape.NewSentInvitation(made)}, nil
}

func (a *api) withdrawInvitation(ctx context.Context, by audit.Actor, in *invitationIn) (*invitationOut, error) {
	if in.MerchantID == "" {
		if err := a.may(ctx, by, operators.Manage); err != nil {
			return nil, err
		}
	}
	withdrawn, err := a.invitation(ctx, by, in)
	if err != nil {
		return nil, err
	}
	return withdrawn, a.Uses.Links.Withdraw(ctx, by, "", in.MerchantID, in.ID)
}

// may returns an error if the caller's role lacks a right that only some requests of an operation need.
//
// Errors: forbidden.
func (a *api) may(ctx context.Context, by audit.Actor, right operators.Right) error {
	role, err := a.Uses.Dual.RoleOf(ctx, by)
	if err != nil {
		return err
	}
	return role.Check(right)
}
