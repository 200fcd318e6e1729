package routing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/store"
)

// Check validates rules, including whether their rails, accounts, merchants and shops exist.
//
// Errors: routing.Mistakes; those of the database.
func (ru *Rules) Check(ctx context.Context, rules routing.Rules) error {
	list, err := ru.Store.Accounts().List(ctx)
	if err != nil {
		return err
	}
	return ru.check(ctx, rules, list)
}

// check is Check with some accounts in place of the operator's.
func (ru *Rules) check(ctx context.Context, rules routing.Rules, list []accounts.Account) error {
	if err := rules.Check(); err != nil {
		return err
	}
	c := &checker{Rules: ru, all: ru.withRails(list)}
	for _, rail := range slices.Sorted(maps.Keys(rules.Rails)) {
		if ru.isRail(rail) {
			c.lists("rails."+rail, rail, rules.Rails[rail], []string{rail})
		} else {
			c.bad("rails."+rail, noRail.With(rail))
		}
	}
	for i, of := range rules.Conditional {
		if err := c.conditional(ctx, fmt.Sprintf("rules[%d]", i), of); err != nil {
			return err
		}
	}
	return errors.Join(c.wrong...)
}

// checker collects what rules name and nobody has.
type checker struct {
	*Rules
	all   accounts.Accounts // with their rails
	wrong []error
}

func (c *checker) bad(path string, err error) {
	c.wrong = append(c.wrong, routing.Mistake{Path: path, Err: err})
}

// conditional checks a rule with conditions. It returns errors of the database alone.
func (c *checker) conditional(ctx context.Context, path string, of routing.Conditional) error {
	name, known := "rule "+of.Name, true
	for n, rail := range of.When.Rails {
		if !c.isRail(rail) {
			known = false
			c.bad(fmt.Sprintf("%s.when.rail[%d]", path, n), fmt.Errorf("%s: %w", name, noRail.With(rail)))
		}
	}
	if known {
		c.lists(path, name, of.Rule, of.When.Rails)
	}
	merchant := func(ctx context.Context, id string) error {
		_, err := c.Store.Merchants().Get(ctx, id)
		return err
	}
	shop := func(ctx context.Context, id string) error {
		_, err := c.Store.Merchants().Shop(ctx, id)
		return err
	}
	return cmp.Or(c.exist(ctx, path+".when", name, "merchant", of.When.Merchants, merchant), c.exist(ctx, path+".when", name, "shop", of.When.Shops, shop))
}

// exist checks that ids exist. It returns errors of the database alone.
func (c *checker) exist(ctx context.Context, path, name, of string, ids []string, read func(context.Context, string) error) error {
	for n, id := range ids {
		err := store.ErrNotFound
		if base.Storable(id) {
			err = read(ctx, id)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			c.bad(fmt.Sprintf("%s.%s[%d]", path, of, n), fmt.Errorf("%s: there is no %s %s", name, of, id))
		case err != nil:
			return err
		}
	}
	return nil
}

// lists checks the accounts that a rule for some rails lists; for all if there are none.
func (c *checker) lists(path, name string, rule routing.Rule, rails []string) {
	for i, id := range rule.Accounts {
		if why := unlistable(c.all, id, rails); why != "" {
			c.bad(fmt.Sprintf("%s.accounts[%d]", path, i), fmt.Errorf("%s lists %s: %s", name, id, why))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rule.Weights)) {
		if why := unlistable(c.all, id, rails); why != "" {
			c.bad(path+".weights."+id, fmt.Errorf("%s lists %s: %s", name, id, why))
		}
	}
}

// unlistable says why an account cannot be in a list for payments by some rails, by any if there are none; "" if it can.
func unlistable(list accounts.Accounts, id string, rails []string) string {
	i := slices.IndexFunc(list, func(a accounts.Account) bool { return a.ID == id && a.Status != accounts.Removed })
	switch {
	case i < 0:
		return "there is no such account"
	case len(rails) > 0 && !slices.ContainsFunc(rails, func(rail string) bool { return slices.Contains(list[i].Rails, rail) }):
		return "it takes payments by " + cmp.Or(strings.Join(list[i].Rails, ", "), "nothing")
	}
	return ""
}

// isRail reports whether the catalog has a rail with this key.
func (ru *Rules) isRail(key string) bool {
	for _, r := range ru.providers.Catalog.ByID {
		if r.Key == key {
			return true
		}
	}
	return false
}

// withRails lists accounts with all their rails. One that cannot be opened has none.
func (ru *Rules) withRails(list []accounts.Account) accounts.Accounts {
	all := make(accounts.Accounts, 0, len(list))
	for _, account := range list {
		s := ru.providers.StatusOf(account)
		if account.Status != accounts.Removed {
			account.Rails = s.On
		}
		if s.Broken != "" {
			account.Status = accounts.Disabled
		}
		all = append(all, account)
	}
	return all
}
