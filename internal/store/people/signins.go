package people

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// SignInsTable is the table signins.
var SignInsTable = table.Describe(table.Table[people.SignIn]{
	Name:    "signins",
	Hashed:  true,
	Lock:    360,
	Of:      func(c *pay.Change) []people.SignIn { return c.SignIns },
	ID:      func(v *people.SignIn) string { return v.ID },
	Version: func(v *people.SignIn) int64 { return v.Version },
	Fields: func(f *table.Fields, v *people.SignIn) {
		f.Text("id!", &v.ID)
		f.Number("version", &v.Version)
		f.Text("user_id!", &v.User)
		f.Text("hash", &v.Hash)
		f.Text("address!", &v.Address)
		f.Text("agent!", &v.Agent)
		f.Flag("waiting", &v.Waiting)
		f.Time("proven_at", &v.ProvenAt)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("seen_at", &v.SeenAt)
		f.Time("ends_at", &v.EndsAt)
		f.Time("ended_at", &v.EndedAt)
		f.Text("visits", &v.Visits)
	},
})

var (
	selectSignInByHash = engine.Statement(`SELECT ` + SignInsTable.List + ` FROM signins WHERE hash = $1`)
	listSignIns        = engine.Statement(`SELECT ` + SignInsTable.List + ` FROM signins WHERE user_id = $1 AND ended_at = 0 AND ends_at > $2 AND seen_at > $3 ORDER BY id DESC`)
	rememberedSignIns  = engine.Statement(`SELECT ` + SignInsTable.List + ` FROM signins WHERE user_id = $1 AND NOT waiting ORDER BY id DESC LIMIT $2`)
	purgeSignIns       = engine.Standalone(`
DELETE FROM signins WHERE id IN (SELECT id FROM signins WHERE id < $1 ORDER BY id LIMIT $2 {for update})
RETURNING id`)
)

// ByHash reads the sign-in of a cookie's token, by the token's keyed hash.
func (s SignIns) ByHash(ctx context.Context, hash string) (people.SignIn, error) {
	return base.One(ctx, s.b, selectSignInByHash, SignInsTable.Scan(s.b.Personal), hash)
}

// Of lists the valid sign-ins of a user, newest first.
func (s SignIns) Of(ctx context.Context, user string, now time.Time) ([]people.SignIn, error) {
	return base.Many(ctx, s.b, listSignIns, SignInsTable.Scan(s.b.Personal), user, table.Micros(now), table.Micros(now.Add(-people.SignInIdle)))
}

// Remembered lists the last sign-ins of a user that were completed, also ended ones, newest first.
func (s SignIns) Remembered(ctx context.Context, user string, limit int) ([]people.SignIn, error) {
	return base.Many(ctx, s.b, rememberedSignIns, SignInsTable.Scan(s.b.Personal), user, limit)
}

// Purge deletes at most limit sign-ins with ids below the smallest id of a moment, and returns their number.
func (s SignIns) Purge(ctx context.Context, below string, limit int) (int, error) {
	return purge(ctx, s.b, purgeSignIns, below, limit)
}

func purge(ctx context.Context, b *base.Base, text, below string, limit int) (n int, err error) {
	err = b.DB.Lease(ctx, b.Text(text), []any{below, limit}, func(r engine.Row) error {
		n++
		var id string
		return r.Scan(&id)
	})
	return n, err
}

// SignIns are the browsers in which users are signed in.
type SignIns struct{ b *base.Base }

// SignIns returns the database's SignIns.
func (o OfPeople) SignIns() SignIns { return SignIns(o) }

// LinksTable is the table links.
var LinksTable = table.Describe(table.Table[people.Link]{
	Name:    "links",
	Hashed:  true,
	Lock:    370,
	Of:      func(c *pay.Change) []people.Link { return c.Links },
	ID:      func(l *people.Link) string { return l.ID },
	Version: func(l *people.Link) int64 { return l.Version },
	Fields: func(f *table.Fields, l *people.Link) {
		f.Text("id!", &l.ID)
		f.Number("version", &l.Version)
		table.Word(f, "kind!", &l.Kind)
		f.Text("hash", &l.Hash)
		f.Text("user_id!", &l.User)
		f.Text("email!", &l.Email)
		f.Text("merchant!", &l.Merchant)
		table.Word(f, "role!", &l.Role)
		f.Text("operator!", (*string)(&l.Operator))
		f.Flag("proves!", &l.Proves)
		f.Flag("waits", &l.Waits)
		f.Text("confirmed_by", &l.ConfirmedBy)
		table.Word(f, "language!", &l.Language)
		f.Text("made_by!", &l.By)
		f.Time("created_at!", &l.CreatedAt)
		f.Time("ends_at", &l.EndsAt)
		f.Time("used_at", &l.UsedAt)
	},
})

var (
	selectLinkByHash = engine.Statement(`SELECT ` + LinksTable.List + ` FROM links WHERE hash = $1 AND hash <> ''`)
	listInvitations  = engine.Statement(`SELECT ` + LinksTable.List + ` FROM links WHERE merchant = $1 AND hash <> '' AND kind = 'invitation' AND ends_at > $2 ORDER BY id`)
	listLinksTo      = engine.Statement(`SELECT ` + LinksTable.List + ` FROM links WHERE email = $1 AND email <> '' AND hash <> '' AND kind = 'invitation' AND ends_at > $2 ORDER BY id`)
	listLinksOf      = engine.Statement(`SELECT ` + LinksTable.List + ` FROM links WHERE user_id = $1 AND user_id <> '' AND hash <> '' ORDER BY id`)
	purgeLinks       = engine.Standalone(`
DELETE FROM links WHERE id IN (SELECT id FROM links WHERE id < $1 ORDER BY id LIMIT $2 {for update})
RETURNING id`)
)

// ByHash reads the link of a token, by the token's keyed hash.
func (l Links) ByHash(ctx context.Context, hash string) (people.Link, error) {
	return base.One(ctx, l.b, selectLinkByHash, LinksTable.Scan(l.b.Personal), hash)
}

// Invitations lists the invitations to a merchant that can be accepted, oldest first; "" is the operator's
// console.
func (l Links) Invitations(ctx context.Context, merchant string, now time.Time) ([]people.Link, error) {
	return base.Many(ctx, l.b, listInvitations, LinksTable.Scan(l.b.Personal), merchant, table.Micros(now))
}

// To lists the invitations of an e-mail address that can be accepted, to all merchants and to the console, oldest first.
func (l Links) To(ctx context.Context, email string, now time.Time) ([]people.Link, error) {
	return base.Many(ctx, l.b, listLinksTo, LinksTable.Scan(l.b.Personal), email, table.Micros(now))
}

// Of lists the links of a user that were not used.
func (l Links) Of(ctx context.Context, user string) ([]people.Link, error) {
	return base.Many(ctx, l.b, listLinksOf, LinksTable.Scan(l.b.Personal), user)
}

// Purge is SignIns.Purge for links.
func (l Links) Purge(ctx context.Context, below string, limit int) (int, error) {
	return purge(ctx, l.b, purgeLinks, below, limit)
}

// Links are one-time links.
type Links struct{ b *base.Base }

// Links returns the database's Links.
func (o OfPeople) Links() Links { return Links(o) }
