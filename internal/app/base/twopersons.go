package base

import (
	"context"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// TwoPersons (DASH-33) returns an error if two operators may be one person: one of them made the other an operator in the console, not long ago.
// Whoever invites a second identity of his own decides nothing with it for a while.
//
// Errors: conflict_state with the reason invited_operator.
func TwoPersons(ctx context.Context, b *Base, one, other string) error {
	for _, pair := range [][2]string{{one, other}, {other, one}} {
		if !strings.HasPrefix(pair[0], people.UserPrefix) || !strings.HasPrefix(pair[1], people.UserPrefix) {
			continue // a name of the command line or of a token: whoever has these needs no second identity
		}
		u, err := b.Store.Users().Get(ctx, pair[0])
		if Absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if u.Invited(pair[1], b.Now()) {
			return problem.Conflict("invited_operator", "for 30 days nobody approves what somebody made whom he invited as an operator, or who invited him: a third operator must")
		}
	}
	return nil
}
