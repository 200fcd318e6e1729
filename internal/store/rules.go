package store

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A version is given once, also to two operators at the same time. Its id has a
// letter that no other id has.
var rulesTable = describe(table[acquirer.RoutingRules]{
	name: "routing_rules",
	of:   func(c *pay.Change) []acquirer.RoutingRules { return c.Rules },
	id:   rulesID,
	met:  stale,
	fields: func(f *fields, v *acquirer.RoutingRules) {
		f.written("id!", rulesID(v))
		f.number("version!", &v.Version)
		f.converted("doc!", func() string { return string(v.Doc) }, func(text string) error {
			v.Doc = []byte(text)
			return nil
		})
		f.time("at!", &v.At)
	},
})

func rulesID(v *acquirer.RoutingRules) string { return fmt.Sprintf("rules/%d", v.Version) }

var (
	selectRulesMark = engine.Statement(`SELECT coalesce(max(version), 0) FROM routing_rules`)
	selectRules     = engine.Statement(`SELECT ` + rulesTable.list + ` FROM routing_rules WHERE version = $1`)
	selectRulesList = engine.Statement(`SELECT ` + rulesTable.list + ` FROM routing_rules ORDER BY version DESC LIMIT $1`)
)

// Mark is the newest version of the routing rules, 0 where there never were any.
func (s *Rules) Mark(ctx context.Context) (int64, error) {
	return one(ctx, s, selectRulesMark, scanInt)
}

// Get reads a version of the routing rules. ErrNotFound where there is none.
func (s *Rules) Get(ctx context.Context, version int64) (acquirer.RoutingRules, error) {
	return one(ctx, s, selectRules, rulesTable.scan(s), version)
}

// List reads the newest versions, newest first.
func (s *Rules) List(ctx context.Context, limit int) ([]acquirer.RoutingRules, error) {
	return many(ctx, s, selectRulesList, rulesTable.scan(s), limit)
}

// rulesRules are the invariants of the routing rules (check.go).
var rulesRules = invariants([]rule{
	{"the versions of the routing rules have no gap", `
SELECT r.id, 'the one before is missing' FROM routing_rules AS r
WHERE r.version <> 1 AND NOT EXISTS (SELECT 1 FROM routing_rules AS b WHERE b.version = r.version - 1)`},
})
