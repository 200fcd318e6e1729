package people

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store"
)

// demoUser is the user of the demo merchant.
const demoUser = "demo@example.com"

// Demo returns a sign-in link for the user of the demo merchant, who is an operator too. It makes the user if there
// is none yet. The link from before does not work any more.
func (ls *Links) Demo(ctx context.Context, merchant string) (address string, err error) {
	by := audit.Actor{Kind: audit.BySystem}
	if _, err := ls.people.byEmail(ctx, demoUser); errors.Is(err, store.ErrNotFound) {
		now := ls.Now()
		u := people.User{ID: ls.NewID(people.UserPrefix, now), Version: 1, Email: demoUser, Name: "Demo", Operator: operators.Admin, CreatedAt: now}
		m := people.Membership{User: u.ID, Merchant: merchant}.Give(people.Owner, now)
		err := ls.Store.Commit(ctx, pay.Change{
			Users: []people.User{u}, Memberships: []people.Membership{m},
			Audit: ls.Audited(by, merchants.Scope{Merchant: merchant, Live: true}, audit.UserCreated, u.ID, map[string]string{"role": string(people.Owner)}),
		})
		if err != nil && !errors.Is(err, store.ErrStale) { // another node made it
			return "", err
		}
	}
	told, err := ls.LinkTo(ctx, by, demoUser, people.SignInLink)
	return told.Address, err
}
