package base

import (
	"context"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// TwoPersons (DASH-33) returns an error if two operators may be one person: one of them made the other an operator in the console, not long
// ago, or made the one who did, or one operator made both. Whoever invites identities of his own decides nothing with them for a while. One
// who was removed since then counts too.
//
// Errors: conflict_state with the reason invited_operator.
func TwoPersons(ctx context.Context, b *Base, one, other string) error {
	if one == other { // that is the decision's to refuse
		return nil
	}
	above, err := inviters(ctx, b, one)
	if err != nil {
		return err
	}
	others, err := inviters(ctx, b, other)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(id string) bool { return slices.Contains(above, id) }) {
		return problem.Conflict("invited_operator", "for 30 days an operator and those whom he invited in the console count as one person: an operator whom somebody else invited must approve this, or one whom whoever runs the machine invites")
	}
	return nil
}

// inviters returns an operator, who invited him not long ago, who invited that one, and so on. A name of the command line or of a token
// is none: whoever has these needs no second identity.
func inviters(ctx context.Context, b *Base, operator string) (list []string, err error) {
	for id := operator; strings.HasPrefix(id, people.UserPrefix) && !slices.Contains(list, id); {
		list = append(list, id)
		u, err := b.Store.Users().Get(ctx, id)
		if Absent(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		id = u.Inviter(b.Now())
	}
	return list, nil
}
