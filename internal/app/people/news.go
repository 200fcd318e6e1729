package people

import (
	"context"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// rememberedSignIns is how many of a user's last sign-ins tell which browsers and networks were used before.
const rememberedSignIns = 100

// news is something that the user of a request did to their own account.
func (f From) news(what people.What) people.News {
	return people.News{What: what, Address: f.Address, Browser: people.BrowserOf(f.agent())}
}

// addNews adds news for a user to a change (DASH-18): the profile shows it, and an e-mail says it if this node sends e-mails.
// u is the user as the change writes it, or as it was read if the change does not write the user yet.
func (pl *People) addNews(ctx context.Context, change *pay.Change, u people.User, n people.News) error {
	n.At = pl.Now()
	at := slices.IndexFunc(change.Users, func(o people.User) bool { return o.ID == u.ID })
	if at < 0 {
		at, change.Users = len(change.Users), append(change.Users, u.Next())
	}
	change.Users[at] = change.Users[at].WithNews(n)
	return pl.mails.AddAlert(ctx, change, u, n)
}

// tellByOthers sends a user news of what another person did to the user's account: a colleague, who is named, or an operator.
func (pl *People) tellByOthers(ctx context.Context, change *pay.Change, by audit.Actor, user string, n people.News) error {
	u, err := pl.Store.Users().Get(ctx, user)
	if err != nil {
		return err
	}
	if by.Kind == audit.ByUser {
		other, err := pl.Store.Users().Get(ctx, by.ID)
		if err != nil {
			return err
		}
		if other.Operator == "" {
			n.By = other.Email
		}
	}
	return pl.addNews(ctx, change, u, n)
}

// tellOfSignIn adds news of a sign-in to the change that begins it, if its browser or its network is not among those of the
// remembered sign-ins. A sign-in that waits for the second factor counts too: somebody has the password. The very first
// sign-in is not news.
func (pl *People) tellOfSignIn(ctx context.Context, change *pay.Change, from From, u people.User, s people.SignIn) error {
	earlier, err := pl.Store.SignIns().Remembered(ctx, u.ID, rememberedSignIns)
	if err != nil {
		return err
	}
	first := len(earlier) == 0 && u.CreatedAt.After(s.CreatedAt.Add(-people.SignInsKept))
	if first || people.Familiar(earlier, s.Address, s.Agent) {
		return nil
	}
	what := people.NewSignIn
	if s.Waiting {
		what = people.HalfSignIn
	}
	return pl.addNews(ctx, change, u, from.news(what))
}
