package people

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// UsersTable is the table users. Of two new users with one e-mail address, one loses. A replaced user that
// takes another one's address or subject is an error of the database: use cases check first.
var UsersTable = table.Describe(table.Table[people.User]{
	Name:    "users",
	Hashed:  true,
	Lock:    340,
	Of:      func(c *pay.Change) []people.User { return c.Users },
	ID:      func(u *people.User) string { return u.ID },
	Version: func(u *people.User) int64 { return u.Version },
	Met:     table.StaleAnyhow,
	Fields: func(f *table.Fields, u *people.User) {
		f.Text("id!", &u.ID)
		f.Number("version", &u.Version)
		f.Text("email", &u.Email)
		f.Text("operator", (*string)(&u.Operator))
		f.Text("subject", &u.Subject)
		f.Time("created_at!", &u.CreatedAt)
		f.Time("removed_at", &u.RemovedAt)
		f.Converted("doc", func() string { return writeUser(f.Personal, u) }, func(text string) error { return readUser(f.Personal, text, u) })
	},
})

type userDoc struct {
	Name      string             `json:"name,omitempty"`
	Language  merchants.Language `json:"language,omitempty"`
	Password  string             `json:"password,omitempty"`
	Secret    string             `json:"totp,omitempty"`
	Step      int64              `json:"totpStep,omitempty"`
	Recovery  []string           `json:"recovery,omitempty"`
	Passkeys  []passkeyDoc       `json:"passkeys,omitempty"`
	Failures  int                `json:"failures,omitempty"`
	LockedTo  int64              `json:"lockedTo,omitempty"`
	Answered  int64              `json:"challenged,omitempty"`
	News      []newsDoc          `json:"news,omitempty"`
	Unproved  bool               `json:"unproved,omitempty"`
	By        string             `json:"invitedBy,omitempty"`
	Confirmed bool               `json:"confirmed,omitempty"`
	Since     int64              `json:"operatorAt,omitempty"`
}

type newsDoc struct {
	What     people.What `json:"what"`
	At       int64       `json:"at"`
	Address  string      `json:"address,omitempty"`
	Browser  string      `json:"browser,omitempty"`
	By       string      `json:"by,omitempty"`
	Merchant string      `json:"merchant,omitempty"`
	Role     people.Role `json:"role,omitempty"`
}

type passkeyDoc struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Credential []byte `json:"credential"`
	CreatedAt  int64  `json:"createdAt"`
	UsedAt     int64  `json:"usedAt,omitempty"`
}

func writeUser(p table.Personal, u *people.User) string {
	d := userDoc{
		Name:      u.Name,
		Language:  u.Language,
		Password:  u.Password,
		Secret:    u.TOTP.Secret,
		Step:      u.TOTP.Step,
		Recovery:  u.Recovery,
		Failures:  u.Failures,
		LockedTo:  table.Micros(u.LockedTo),
		Answered:  table.Micros(u.Challenged),
		Unproved:  u.Unproved,
		By:        u.InvitedBy,
		Since:     table.Micros(u.OperatorAt),
		Confirmed: u.Confirmed,
	}
	for _, k := range u.Passkeys {
		d.Passkeys = append(d.Passkeys, passkeyDoc{
			ID:         k.ID,
			Name:       k.Name,
			Credential: k.Credential,
			CreatedAt:  table.Micros(k.CreatedAt),
			UsedAt:     table.Micros(k.UsedAt),
		})
	}
	for _, n := range u.News {
		d.News = append(d.News, newsDoc{
			What:     n.What,
			At:       table.Micros(n.At),
			Address:  n.Address,
			Browser:  n.Browser,
			By:       n.By,
			Merchant: n.Merchant,
			Role:     n.Role,
		})
	}
	return p.Encrypt(table.UserDoc.About(u.ID), []byte(table.Encode(d)))
}

func readUser(p table.Personal, text string, u *people.User) error {
	plain, err := p.Decrypt(table.UserDoc.About(u.ID), text)
	if err != nil {
		return err
	}
	var d userDoc
	if err := json.Unmarshal(plain, &d); err != nil {
		return err
	}
	u.Name = d.Name
	u.Language = d.Language
	u.Password = d.Password
	u.TOTP = people.TOTP{Secret: d.Secret, Step: d.Step}
	u.Recovery = d.Recovery
	u.Unproved = d.Unproved
	u.InvitedBy = d.By
	u.OperatorAt = table.FromMicros(d.Since)
	u.Confirmed = d.Confirmed
	u.Passkeys = nil
	u.Failures = d.Failures
	u.LockedTo = table.FromMicros(d.LockedTo)
	u.Challenged = table.FromMicros(d.Answered)
	for _, k := range d.Passkeys {
		u.Passkeys = append(u.Passkeys, people.Passkey{ID: k.ID, Name: k.Name, Credential: k.Credential, CreatedAt: table.FromMicros(k.CreatedAt), UsedAt: table.FromMicros(k.UsedAt)})
	}
	u.News = nil
	for _, n := range d.News {
		u.News = append(u.News, people.News{
			What:     n.What,
			At:       table.FromMicros(n.At),
			Address:  n.Address,
			Browser:  n.Browser,
			By:       n.By,
			Merchant: n.Merchant,
			Role:     n.Role,
		})
	}
	return nil
}

var (
	selectUser          = engine.Statement(`SELECT ` + UsersTable.List + ` FROM users WHERE id = $1`)
	selectUserByEmail   = engine.Statement(`SELECT ` + UsersTable.List + ` FROM users WHERE email = $1 AND email <> ''`)
	selectUserBySubject = engine.Statement(`SELECT ` + UsersTable.List + ` FROM users WHERE subject = $1 AND subject <> ''`)
	listOperatorUsers   = engine.Statement(`SELECT ` + UsersTable.List + ` FROM users WHERE operator <> '' ORDER BY id`)
	listMembers         = engine.Statement(`
SELECT ` + UsersTable.ListOf("u") + `, m.role, m.created_at, (SELECT coalesce(max(s.seen_at), 0) FROM signins AS s WHERE s.user_id = u.id AND NOT s.waiting)
FROM memberships AS m JOIN users AS u ON u.id = m.user_id
WHERE m.merchant = $1 AND m.role <> '' AND u.removed_at = 0 ORDER BY m.id`)
)

// Get reads a user.
func (u Users) Get(ctx context.Context, id string) (people.User, error) {
	return base.One(ctx, u.b, selectUser, UsersTable.Scan(u.b.Personal), id)
}

// ByEmail reads the user with an e-mail address, in lower case.
func (u Users) ByEmail(ctx context.Context, email string) (people.User, error) {
	return base.One(ctx, u.b, selectUserByEmail, UsersTable.Scan(u.b.Personal), email)
}

// BySubject reads the user of a subject at the identity provider, by its keyed hash.
func (u Users) BySubject(ctx context.Context, hash string) (people.User, error) {
	return base.One(ctx, u.b, selectUserBySubject, UsersTable.Scan(u.b.Personal), hash)
}

// Operators lists the users of the operator's console, oldest first.
func (u Users) Operators(ctx context.Context) ([]people.User, error) {
	return base.Many(ctx, u.b, listOperatorUsers, UsersTable.Scan(u.b.Personal))
}

// Member is a user with the role at a merchant.
type Member struct {
	people.User
	Role   people.Role
	Since  time.Time // when the user first got a role there
	SeenAt time.Time // last use of the newest sign-ins, to some minutes; zero: none is kept
}

// Members lists the users of a merchant, oldest first.
func (u Users) Members(ctx context.Context, merchant string) ([]Member, error) {
	scan := UsersTable.Scan(u.b.Personal)
	return base.Many(ctx, u.b, listMembers, func(r engine.Row) (m Member, err error) {
		var since, seen int64
		m.User, err = scan(table.With(table.With(table.With(r, &seen), &since), &m.Role))
		m.Since, m.SeenAt = table.FromMicros(since), table.FromMicros(seen)
		return m, err
	}, merchant)
}

// Users are the people who sign in to the dashboard.
type Users struct{ b *base.Base }

// Users returns the database's Users.
func (o OfPeople) Users() Users { return Users(o) }

// MembershipsTable is the table memberships. Of two new memberships of one user at one merchant, one loses.
var MembershipsTable = table.Describe(table.Table[people.Membership]{
	Name:    "memberships",
	Hashed:  true,
	Lock:    350,
	Of:      func(c *pay.Change) []people.Membership { return c.Memberships },
	ID:      func(m *people.Membership) string { return people.MembershipID(m.User, m.Merchant) },
	Version: func(m *people.Membership) int64 { return m.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, m *people.Membership) {
		f.Written("id!", people.MembershipID(m.User, m.Merchant))
		f.Number("version", &m.Version)
		f.Text("user_id!", &m.User)
		f.Text("merchant!", &m.Merchant)
		table.Word(f, "role", &m.Role)
		f.Time("created_at!", &m.CreatedAt)
		f.Time("updated_at", &m.UpdatedAt)
	},
})

var (
	selectMembership = engine.Statement(`SELECT ` + MembershipsTable.List + ` FROM memberships WHERE id = $1`)
	listMemberships  = engine.Statement(`SELECT ` + MembershipsTable.List + ` FROM memberships WHERE user_id = $1 AND role <> '' ORDER BY created_at, id`)
	listTenancies    = engine.Statement(`
SELECT m.role, t.id, t.name, s.id, s.name FROM memberships AS m JOIN merchants AS t ON t.id = m.merchant
JOIN shops AS s ON s.id = (SELECT f.id FROM shops AS f WHERE f.merchant = m.merchant ORDER BY f.id LIMIT 1)
WHERE m.user_id = $1 AND m.role <> '' ORDER BY t.name, t.id LIMIT 200`)
	everMemberships = engine.Statement(`SELECT ` + MembershipsTable.List + ` FROM memberships WHERE user_id = $1 ORDER BY created_at, id`)
	countOwners     = engine.Statement(`SELECT count(*) FROM memberships WHERE merchant = $1 AND role = 'owner'`)
)

// Get reads the membership of a user at a merchant, also a former one.
func (m Memberships) Get(ctx context.Context, user, merchant string) (people.Membership, error) {
	return base.One(ctx, m.b, selectMembership, MembershipsTable.Scan(m.b.Personal), people.MembershipID(user, merchant))
}

// Of lists the memberships of a user, oldest first, without former ones.
func (m Memberships) Of(ctx context.Context, user string) ([]people.Membership, error) {
	return base.Many(ctx, m.b, listMemberships, MembershipsTable.Scan(m.b.Personal), user)
}

// Ever is Of, with the merchants from which the user was removed.
func (m Memberships) Ever(ctx context.Context, user string) ([]people.Membership, error) {
	return base.Many(ctx, m.b, everMemberships, MembershipsTable.Scan(m.b.Personal), user)
}

// Tenancy is a merchant at which a user has a role.
type Tenancy struct {
	Role     people.Role
	Merchant merchants.Merchant // its id and name
	Shop     merchants.Shop     // id and name of its first shop
}

// Tenancies lists the merchants of a user by name, at most 200.
func (m Memberships) Tenancies(ctx context.Context, user string) ([]Tenancy, error) {
	return base.Many(ctx, m.b, listTenancies, func(r engine.Row) (t Tenancy, err error) {
		err = r.Scan(&t.Role, &t.Merchant.ID, &t.Merchant.Name, &t.Shop.ID, &t.Shop.Name)
		t.Shop.Merchant = t.Merchant.ID
		return t, err
	}, user)
}

// Owners counts the owners of a merchant.
func (m Memberships) Owners(ctx context.Context, merchant string) (int64, error) {
	return base.One(ctx, m.b, countOwners, base.ScanInt, merchant)
}

// Memberships are the roles of users at merchants.
type Memberships struct{ b *base.Base }

// Memberships returns the database's Memberships.
func (o OfPeople) Memberships() Memberships { return Memberships(o) }
