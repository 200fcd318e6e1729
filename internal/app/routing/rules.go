// Package routing has the operator's routing rules: it applies them, explains a payment's cascade by them, and replays past
// payments under others. It calls no provider.
package routing

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/cascadapay/cascada/internal/work"
	"maps"
	"strconv"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// Rules are the operator's routing rules.
type Rules struct {
	*base.Base
	providers *appaccounts.Providers
	reading   work.Latch // held while the rules are read
	known     *int64     // the version that providers have; nil before the first
}

// NewRules returns the Rules of a service. providers learns of changes.
func NewRules(providers *appaccounts.Providers) *Rules {
	return &Rules{Base: providers.Base, providers: providers, reading: work.NewLatch()}
}

// RulesVersion is a version of the routing rules, applied or withdrawn.
type RulesVersion struct {
	routing.Rules
	Version int64 // 0: there never were any
	Applied bool  // false: withdrawn, and Rules are those of the configuration
	At      time.Time
}

// Read reads the routing rules from the database if they were changed.
func (ru *Rules) Read(ctx context.Context) error {
	ru.reading.Lock() // a slow read must not undo a later one
	defer ru.reading.Unlock()
	mark, err := ru.Store.Rules().Mark(ctx)
	if err != nil || ru.known != nil && *ru.known == mark {
		return err
	}
	v, err := ru.rulesAt(ctx, mark)
	if err != nil {
		return err
	}
	ru.providers.Rules.Store(&v.Rules)
	ru.known = &mark
	return nil
}

// rulesAt reads a version of the rules. Version 0 means that none were applied.
func (ru *Rules) rulesAt(ctx context.Context, version int64) (RulesVersion, error) {
	if version == 0 {
		return RulesVersion{Rules: routing.Rules{Order: ru.providers.Routing}}, nil
	}
	row, err := ru.Store.Rules().Get(ctx, version)
	if err != nil {
		return RulesVersion{}, fmt.Errorf("routing rules %d: %w", version, err)
	}
	return ru.rulesOf(row)
}

func (ru *Rules) rulesOf(row accounts.RoutingRules) (RulesVersion, error) {
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

// Current returns the routing rules in force.
func (ru *Rules) Current(ctx context.Context) (RulesVersion, error) {
	mark, err := ru.Store.Rules().Mark(ctx)
	if err != nil {
		return RulesVersion{}, err
	}
	return ru.rulesAt(ctx, mark)
}

// History lists the newest versions of the rules, newest first.
func (ru *Rules) History(ctx context.Context, limit int) ([]RulesVersion, error) {
	rows, err := ru.Store.Rules().List(ctx, limit)
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

// Apply puts rules in force on all nodes, within a second or two. Applying the same rules again
// changes nothing.
//
// It returns an error if the rules are invalid.
func (ru *Rules) Apply(ctx context.Context, by audit.Actor, rules routing.Rules) (v RulesVersion, changed bool, err error) {
	if err := ru.Check(ctx, rules); err != nil {
		return v, false, err
	}
	doc, err := json.Marshal(rules)
	if err != nil {
		return v, false, err
	}
	return ru.change(ctx, by, anyVersion, doc, audit.RoutingApplied, map[string]string{"rules": string(doc)})
}

// anyVersion says that a change may be made whatever rules are in force.
const anyVersion = -1

// ApplyOver is Apply for somebody who has read a version of the rules: two operators who edit them at once
// must not undo each other's work.
//
// Errors: those of Apply; conflict_state if another version is in force.
func (ru *Rules) ApplyOver(ctx context.Context, by audit.Actor, seen int64, rules routing.Rules) (v RulesVersion, changed bool, err error) {
	if err := ru.Check(ctx, rules); err != nil {
		return v, false, err
	}
	doc, err := json.Marshal(rules)
	if err != nil {
		return v, false, err
	}
	return ru.change(ctx, by, seen, doc, audit.RoutingApplied, map[string]string{"rules": string(doc)})
}

// Reset withdraws the rules: each node uses its configuration.
func (ru *Rules) Reset(ctx context.Context, by audit.Actor) (v RulesVersion, changed bool, err error) {
	return ru.ResetOver(ctx, by, anyVersion)
}

// ResetOver is Reset for somebody who has read a version of the rules; below zero: whatever is in force.
//
// Errors: conflict_state if another version is in force.
func (ru *Rules) ResetOver(ctx context.Context, by audit.Actor, seen int64) (v RulesVersion, changed bool, err error) {
	return ru.change(ctx, by, max(seen, anyVersion), nil, audit.RoutingReset, nil)
}

func (ru *Rules) change(ctx context.Context, by audit.Actor, seen int64, doc []byte, act audit.Act, details map[string]string) (v RulesVersion, changed bool, err error) {
	err = base.Again(func() error {
		present := accounts.RoutingRules{}
		mark, err := ru.Store.Rules().Mark(ctx)
		if err == nil && mark > 0 {
			present, err = ru.Store.Rules().Get(ctx, mark)
		}
		if err != nil {
			return err
		}
		if seen != anyVersion && seen != mark {
			return problem.Conflict("version", rulesChanged.With(mark, seen))
		}
		if changed = string(present.Doc) != string(doc); !changed {
			v, err = ru.rulesAt(ctx, mark)
			return err
		}
		row := accounts.RoutingRules{Version: mark + 1, Doc: doc, At: ru.Now()}
		told := maps.Clone(details)
		if told == nil {
			told = map[string]string{}
		}
		told["version"] = strconv.FormatInt(row.Version, 10)
		if v, err = ru.rulesOf(row); err != nil {
			return err
		}
		// Rules apply to both environments.
		return ru.Store.Commit(ctx, pay.Change{
			Rules: []accounts.RoutingRules{row}, Audit: ru.Audited(by, merchants.Scope{Live: true}, act, "routing", told),
		})
	})
	if err != nil {
		return v, false, err
	}
	ru.Reread(ctx, "routing rules", ru.Read)
	return v, changed, nil
}
