package shape

import (
	"time"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/view"
)

// User is a person who signs in to the dashboard.
type User struct {
	ID           string           `json:"id" example:"usr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Email        string           `json:"email"`
	Name         string           `json:"name"`
	Role         *people.Role     `json:"role,omitempty" enum:"owner,admin,developer,support,finance,viewer" doc:"At the merchant whose users are listed"`
	OperatorRole *operators.Role  `json:"operatorRole,omitempty" enum:"admin,finance,risk,support,viewer" doc:"In the operator's console; absent: the user is no operator"`
	Factor       bool             `json:"secondFactor" doc:"The user has a second factor"`
	Locked       bool             `json:"locked" doc:"No password is accepted for now, after wrong ones"`
	CreatedAt    view.Time        `json:"createdAt"`
	Memberships  []UserMembership `json:"memberships,omitempty" doc:"The merchants at which the user has a role; not in lists"`
}

// UserMembership is a user's role at a merchant.
type UserMembership struct {
	MerchantID string      `json:"merchantId"`
	Role       people.Role `json:"role" enum:"owner,admin,developer,support,finance,viewer"`
}

// NewUser shows a user. role is that at the merchant whose users are listed, "" for none.
func NewUser(u people.User, role people.Role, now time.Time) User {
	shown := User{ID: u.ID, Email: u.Email, Name: u.Name, Factor: u.HasFactor(), Locked: u.Locked(now), CreatedAt: view.Time{Time: u.CreatedAt}}
	if role != "" {
		shown.Role = &role
	}
	if u.Operator != "" {
		shown.OperatorRole = &u.Operator
	}
	return shown
}

// UserInvitation is an invitation that nobody has accepted yet.
type UserInvitation struct {
	ID           string             `json:"id" example:"lnk_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Email        string             `json:"email"`
	MerchantID   *string            `json:"merchantId" doc:"null: it is for the operator's console"`
	Role         *people.Role       `json:"role,omitempty" enum:"owner,admin,developer,support,finance,viewer" doc:"At the merchant"`
	OperatorRole *operators.Role    `json:"operatorRole,omitempty" enum:"admin,finance,risk,support,viewer" doc:"In the operator's console"`
	Language     merchants.Language `json:"language" doc:"Of the e-mail; empty: English" example:"es"`
	Waits        bool               `json:"waits" doc:"Nobody has the link yet: another operator must confirm it"`
	InvitedBy    string             `json:"invitedBy" doc:"A user's id, or an operator as in the audit log"`
	CreatedAt    view.Time          `json:"createdAt"`
	EndsAt       view.Time          `json:"endsAt"`
}

// NewInvitation shows an invitation.
func NewInvitation(l people.Link) UserInvitation {
	shown := UserInvitation{ID: l.ID, Email: l.Email, Language: l.Language, Waits: l.Waits, InvitedBy: l.By, CreatedAt: view.Time{Time: l.CreatedAt}, EndsAt: view.Time{Time: l.EndsAt}}
	if l.Merchant != "" {
		shown.MerchantID = &l.Merchant
	}
	if l.Role != "" {
		shown.Role = &l.Role
	}
	if l.Operator != "" {
		shown.OperatorRole = &l.Operator
	}
	return shown
}

// SentInvitation is a new invitation.
type SentInvitation struct {
	Invitation UserInvitation `json:"invitation"`
	Address    string         `json:"address,omitempty" doc:"Of the page where it is accepted; it works once. Absent if it goes by e-mail, or waits"`
	Mailed     bool           `json:"mailed" doc:"An e-mail with it is on its way"`
}

// NewSentInvitation shows a new invitation. Its address is shown only if no e-mail has it.
func NewSentInvitation(n users.NewLink) SentInvitation {
	shown := SentInvitation{Invitation: NewInvitation(n.Link), Address: n.Address, Mailed: n.Mailed}
	if shown.Invitation.Waits = n.Waits; n.Mailed {
		shown.Address = ""
	}
	return shown
}

// UserLink is a link that signs a user in, or lets him choose a password.
type UserLink struct {
	Address string    `json:"address" doc:"It works once. Give it to nobody but the user"`
	EndsAt  view.Time `json:"endsAt"`
}

// NewUserLink shows a link.
func NewUserLink(n users.NewLink) UserLink {
	return UserLink{n.Address, view.Time{Time: n.Link.EndsAt}}
}

// Operator is a person or a program with a token of the admin API and the commands.
type Operator struct {
	Name      string         `json:"name" example:"ana" doc:"As the audit log shows it"`
	Role      operators.Role `json:"role" enum:"admin,finance,risk,support,viewer"`
	Person    string         `json:"person,omitempty" doc:"The user of the console whose token it is: it has no more rights than he has"`
	Preview   string         `json:"tokenPreview" doc:"The masked token"`
	CreatedAt view.Time      `json:"createdAt"`
	EndsAt    *view.Time     `json:"endsAt,omitempty" doc:"When the token ends; absent: never"`
	RemovedAt *view.Time     `json:"removedAt,omitempty"`
}

// NewOperator shows an operator.
func NewOperator(o operators.Operator) Operator {
	shown := Operator{Name: o.Name, Role: o.Role, Person: o.Person, Preview: o.Preview, CreatedAt: view.Time{Time: o.CreatedAt}}
	if !o.Active() {
		shown.RemovedAt = moment(o.RemovedAt)
	} else {
		shown.EndsAt = moment(o.EndsAt)
	}
	return shown
}

// AddedOperator is an operator with a new token.
type AddedOperator struct {
	Operator Operator `json:"operator"`
	Token    string   `json:"token" doc:"It cannot be read again" example:"op_…"`
}
