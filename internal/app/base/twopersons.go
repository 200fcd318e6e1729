package base

import (
	"context"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// mostInvited bounds the walk from an operator to whoever invited him, and so on.
const mostInvited = 100

// TwoPersons (DASH-33) returns an error if two operators may be one person: not long ago one of them made the other an operator in the
// console; or one operator made both, also through others, and nobody confirmed it. Whoever invites further identities of his own decides
// nothing with them for a while. One who was removed since then counts too.
//
// Errors: conflict_state with the reason invited_operator.
func TwoPersons(ctx context.Context, b *Base, one, other string) error {
	if one == other { // that is the decision's to refuse
		return nil
	}
	first, err := inviters(ctx, b, one)
	if err != nil {
		return err
	}
	second, err := inviters(ctx, b, other)
	if err != nil {
		return err
	}
	if first.by == other || second.by == one || first.root == second.root {
		return problem.Conflict("invited_operator", invitedCountsAsOne)
	}
	return nil
}

// invited is from whom somebody has the rights of an operator: by directly, and root the first one of those whom nobody else confirmed.
type invited struct{ by, root string }

// inviters reads who invited an operator not long ago. Names of the command line and of tokens stand for themselves: whoever has these needs
// no second identity.
func inviters(ctx context.Context, b *Base, id string) (in invited, err error) {
	in.root = id
	for range mostInvited {
		if !strings.HasPrefix(in.root, people.UserPrefix) {
			break
		}
		u, err := b.Store.Users().Get(ctx, in.root)
		if err != nil {
			return in, OrRefuse(err, nil)
		}
		by := u.Inviter(b.Now())
		if !strings.HasPrefix(by, people.UserPrefix) {
			break
		}
		if in.root == id {
			in.by = by
		}
		if u.Confirmed {
			break
		}
		in.root = by
	}
	return in, nil
}
