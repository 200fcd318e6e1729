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
	one, other, err := persons(ctx, b, one, other)
	if err != nil {
		return err
	}
	if one == other {
		return problem.Conflict("same_operator", samePerson)
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

// persons replaces the names of tokens by the users whose tokens they are.
func persons(ctx context.Context, b *Base, one, other string) (first, second string, err error) {
	if first, err = person(ctx, b, one); err == nil {
		second, err = person(ctx, b, other)
	}
	return first, second, err
}

// person is the user whose token a name is of, or the operator himself.
func person(ctx context.Context, b *Base, id string) (string, error) {
	if strings.HasPrefix(id, people.UserPrefix) || strings.Contains(id, "@") {
		return id, nil
	}
	o, err := b.Store.Operators().Get(ctx, id)
	if err != nil || o.Person == "" {
		return id, OrRefuse(err, nil)
	}
	return o.Person, nil
}

// inviters reads who made somebody an operator not long ago. Names of the command line stand for themselves: whoever has the machine needs
// no second identity.
func inviters(ctx context.Context, b *Base, id string) (in invited, err error) {
	in.root = id
	for range mostInvited {
		by, confirmed, err := inviter(ctx, b, in.root)
		if err != nil || by == "" {
			return in, err
		}
		if in.root == id {
			in.by = by
		}
		if confirmed {
			break
		}
		in.root = by
	}
	return in, nil
}

// inviter reads who invited a user, or made a token that is nobody's of the console, not long ago; "" for nobody, and for whoever has the
// machine. confirmed: another operator confirmed it.
func inviter(ctx context.Context, b *Base, id string) (by string, confirmed bool, err error) {
	switch {
	case strings.HasPrefix(id, people.UserPrefix):
		u, err := b.Store.Users().Get(ctx, id)
		if err != nil {
			return "", false, OrRefuse(err, nil)
		}
		by, confirmed = u.Inviter(b.Now()), u.Confirmed
	case !strings.Contains(id, "@"):
		o, err := b.Store.Operators().Get(ctx, id)
		if err != nil {
			return "", false, OrRefuse(err, nil)
		}
		by = o.Maker(b.Now())
	}
	if strings.Contains(by, "@") {
		return "", false, nil
	}
	by, err = person(ctx, b, by)
	return by, confirmed, err
}
