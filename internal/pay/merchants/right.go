package merchants

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Right is something that a key may do (AUTH-15).
type Right string

// The rights. A secret key has all of them except RightWithdrawals. That one belongs to keys of the
// whole merchant, keys of the merchant's first shop, and keys to which it was given. A restricted
// key has the rights that it was given.
const (
	RightRead        Right = "read"        // read everything that the key covers
	RightPayments    Right = "payments"    // create and cancel payments and checkout sessions
	RightRefunds     Right = "refunds"     // give payments back
	RightClaims      Right = "claims"      // answer claims
	RightWebhooks    Right = "webhooks"    // change webhooks, and send deliveries again
	RightWithdrawals Right = "withdrawals" // add and remove wallets, withdraw, begin verifications
	RightSandbox     Right = "sandbox"     // move the sandbox's clock, and simulate providers and banks
)

// Rights lists them all.
func Rights() []Right {
	return []Right{RightRead, RightPayments, RightRefunds, RightClaims, RightWebhooks, RightWithdrawals, RightSandbox}
}

// Rights that only people have, by their role; no key has them.
const (
	RightKeys Right = "keys" // create, rotate and revoke keys
	RightShop Right = "shop" // change shops, their look and their settings
	RightTeam Right = "team" // invite and remove users, change their roles, read the audit log
)

// PeopleRights lists the rights that a role can have.
func PeopleRights() []Right { return append(Rights(), RightKeys, RightShop, RightTeam) }

// ParseRights reads rights that are separated by commas. It returns them in the order of Rights.
//
// Errors: invalid_request.
func ParseRights(text string) (rights []Right, err error) {
	given := map[Right]bool{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if !slices.Contains(Rights(), Right(word)) {
			return nil, problem.Field(problem.InvalidRequest, "rights", unknownRight.With(word, WriteRights(Rights())))
		}
		given[Right(word)] = true
	}
	for _, r := range Rights() {
		if given[r] {
			rights = append(rights, r)
		}
	}
	return rights, nil
}

// WriteRights writes rights in the form that ParseRights reads.
func WriteRights(rights []Right) string {
	words := make([]string, len(rights))
	for i, r := range rights {
		words[i] = string(r)
	}
	return strings.Join(words, ",")
}

// May reports whether a key has a right.
func (k Key) May(r Right) bool {
	switch {
	case k.Kind == Publishable:
		return false
	case k.Kind == Secret && r != RightWithdrawals:
		return true
	}
	return slices.Contains(k.Rights, r)
}

// NoRight is the error for an action that the key may not do.
func NoRight(r Right) error {
	return &problem.Error{Code: problem.Forbidden, Reason: keyLacksRight.With(r), Details: problem.Details{Right: string(r)}}
}
