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
	firsts, err := persons(ctx, b, one)
	if err != nil {
		return err
	}
	seconds, err := persons(ctx, b, other)
	if err != nil {
		return err
	}
	for _, one := range firsts {
		for _, other := range seconds {
			if one == other {
				return problem.Conflict("same_operator", samePerson)
			}
			if err := strangers(ctx, b, one, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// strangers returns an error if one of two persons made the other an operator not long ago, or somebody made both.
//
// Errors: conflict_state with the reason invited_operator.
func strangers(ctx context.Context, b *Base, one, other string) error {
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

// persons are who may stand behind an operator: the user whose token it is, and whoever made that token not long ago and has seen it.
func persons(ctx context.Context, b *Base, id string) ([]string, error) {
	whose, err := person(ctx, b, id)
	if err != nil || whose == id {
		return []string{id}, err
	}
	o, err := b.Store.Operators().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	maker := o.Maker(b.Now())
	if maker == "" || strings.Contains(maker, "@") {
		return []string{whose}, nil
	}
	maker, err = person(ctx, b, maker)
	return []string{whose, maker}, err
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
