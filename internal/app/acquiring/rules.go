package acquiring

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/routing"
)

// Ruling is what this node knows of the routing rules. It is never changed: another
// takes its place.
type Ruling struct {
	routing.Rules
	version int64
}

// RulesVersion is routing rules as they were applied, or taken back.
type RulesVersion struct {
	routing.Rules
	Version int64 // 0: there never were any
	Applied bool  // false: taken back, and Rules are those of the configuration
	At      time.Time
}

// ErrNoRules says that a version of the routing rules never was.
var ErrNoRules = errors.New("there is no such version of the routing rules")

// Read learns of the routing rules in the database, where they were changed.
func (ru *Rules) Read(ctx context.Context) error {
	ru.providers.renewing.Lock() // a slow read must not undo what a later one found
	defer ru.providers.renewing.Unlock()
	mark, err := ru.Store.Rules.Mark(ctx)
	known := ru.providers.Ruled.Load()
	if err != nil || known != nil && known.version == mark {
		return err
	}
	v, err := ru.rulesAt(ctx, mark)
	if err != nil {
		return err
	}
	ru.providers.Ruled.Store(&Ruling{v.Rules, v.Version})
	return nil
}

// rulesAt reads a version of the rules. Version 0 is that nobody applied any.
func (ru *Rules) rulesAt(ctx context.Context, version int64) (RulesVersion, error) {
	if version == 0 {
		return RulesVersion{Rules: routing.Rules{Order: ru.providers.Routing}}, nil
	}
	row, err := ru.Store.Rules.Get(ctx, version)
	if err != nil {
		return RulesVersion{}, fmt.Errorf("routing rules %d: %w", version, err)
	}
	return ru.rulesOf(row)
}

func (ru *Rules) rulesOf(row acquirer.RoutingRules) (RulesVersion, error) {
	v := RulesVersion{Rules: routing.Rules{Order: ru.providers.Routing}, Version: row.Version, At: row.At}
	if len(row.Doc) == 0 {
		return v, nil
	}
	v.Applied, v.Rules = true, routing.Rules{}
	if err := json.Unmarshal(row.Doc, &v.Rules); err != nil {
		return v, fmt.Errorf("routing rules %d: %w", row.Version, err)
	}
	return v, nil
}

// Current returns the routing rules that count now.
func (ru *Rules) Current(ctx context.Context) (RulesVersion, error) {
	mark, err := ru.Store.Rules.Mark(ctx)
	if err != nil {
		return RulesVersion{}, err
	}
	return ru.rulesAt(ctx, mark)
}

// History lists the newest versions of the rules, newest first.
func (ru *Rules) History(ctx context.Context, limit int) ([]RulesVersion, error) {
	rows, err := ru.Store.Rules.List(ctx, limit)
	if err != nil {
		return nil, err
	}
	list := make([]RulesVersion, len(rows))
	for i, row := range rows {
		if list[i], err = ru.rulesOf(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Apply puts rules in force on all nodes, within a second or two. The same ones
// again change nothing.
//
// Errors: what is wrong with them.
func (ru *Rules) Apply(ctx context.Context, by audit.Actor, rules routing.Rules) (v RulesVersion, changed bool, err error) {
	if err := ru.Check(ctx, rules); err != nil {
		return v, false, err
	}
	doc, err := json.Marshal(rules)
	if err != nil {
		return v, false, err
	}
	return ru.change(ctx, by, doc, audit.RoutingApplied, map[string]string{"rules": string(doc)})
}

// Reset takes the rules back: each node decides as it was configured to.
func (ru *Rules) Reset(ctx context.Context, by audit.Actor) (v RulesVersion, changed bool, err error) {
	return ru.change(ctx, by, nil, audit.RoutingReset, nil)
}

func (ru *Rules) change(ctx context.Context, by audit.Actor, doc []byte, act audit.Act, details map[string]string) (v RulesVersion, changed bool, err error) {
	err = base.Again(func() error {
		present := acquirer.RoutingRules{}
		mark, err := ru.Store.Rules.Mark(ctx)
		if err == nil && mark > 0 {
			present, err = ru.Store.Rules.Get(ctx, mark)
		}
		if err != nil {
			return err
		}
		if changed = string(present.Doc) != string(doc); !changed {
			v, err = ru.rulesAt(ctx, mark)
			return err
		}
		row := acquirer.RoutingRules{Version: mark + 1, Doc: doc, At: ru.Now()}
		told := maps.Clone(details)
		if told == nil {
			told = map[string]string{}
		}
		told["version"] = strconv.FormatInt(row.Version, 10)
		if v, err = ru.rulesOf(row); err != nil {
			return err
		}
		// They are about both environments.
		return ru.Store.Commit(ctx, pay.Change{
			Rules: []acquirer.RoutingRules{row}, Audit: ru.Audited(by, tenant.Scope{Live: true}, act, "routing", told),
		})
	})
	if err != nil {
		return v, false, err
	}
	ru.Reread(ctx, "routing rules", ru.Read)
	return v, changed, nil
}

// Check says what is wrong with rules: by themselves, or because there is no
// such rail or account.
func (ru *Rules) Check(ctx context.Context, rules routing.Rules) error {
	list, err := ru.Store.Accounts.List(ctx)
	if err != nil {
		return err
	}
	return ru.check(rules, list)
}

func (ru *Rules) check(rules routing.Rules, list []acquirer.Account) error {
	if err := rules.Check(); err != nil {
		return err
	}
	all := ru.withRails(list)
	var wrong []error
	for _, rail := range slices.Sorted(maps.Keys(rules.Rails)) {
		if !ru.isRail(rail) {
			wrong = append(wrong, fmt.Errorf("there is no rail %s: cascada provider adapters lists them", rail))
			continue
		}
		for _, id := range rules.Rails[rail].Accounts {
			if why := unlistable(all, id, rail); why != "" {
				wrong = append(wrong, fmt.Errorf("%s lists %s: %s", rail, id, why))
			}
		}
	}
	return errors.Join(wrong...)
}

// unlistable says why an account can have no place in a rail's list.
func unlistable(list acquirer.Accounts, id, rail string) string {
	i := slices.IndexFunc(list, func(a acquirer.Account) bool { return a.ID == id && a.Status != acquirer.AccountRemoved })
	switch {
	case i < 0:
		return "there is no such account"
	case !slices.Contains(list[i].Rails, rail):
		return "it takes payments by " + cmp.Or(strings.Join(list[i].Rails, ", "), "nothing")
	}
	return ""
}

// isRail reports whether the catalog has a rail of that key.
func (ru *Rules) isRail(key string) bool {
	for _, r := range ru.providers.catalog.ByID {
		if r.Key == key {
			return true
		}
	}
	return false
}

// withRails lists accounts with all their rails; one that cannot be opened serves
// nobody.
func (ru *Rules) withRails(list []acquirer.Account) acquirer.Accounts {
	all := make(acquirer.Accounts, 0, len(list))
	for _, account := range list {
		s := ru.providers.StatusOf(account)
		if account.Status != acquirer.AccountRemoved {
			account.Rails = s.On
		}
		if s.Broken != "" {
			account.Status = acquirer.AccountDisabled
		}
		all = append(all, account)
	}
	return all
}
