package store

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// A version is given once, also to two operators at the same time. Its id has a
// letter that no other id has.
var rulesTable = table.Describe(table.Table[pay.RoutingRules]{
	Name: "routing_rules",
	Of:   func(c *pay.Change) []pay.RoutingRules { return c.Rules },
	ID:   rulesID,
	Met:  table.Stale,
	Fields: func(f *table.Fields, v *pay.RoutingRules) {
		f.Written("id!", rulesID(v))
		f.Number("version!", &v.Version)
		f.Converted("doc!", func() string { return string(v.Doc) }, func(text string) error {
			v.Doc = []byte(text)
			return nil
		})
		f.Time("at!", &v.At)
	},
})

func rulesID(v *pay.RoutingRules) string { return fmt.Sprintf("rules/%d", v.Version) }

var (
	selectRulesMark = engine.Statement(`SELECT coalesce(max(version), 0) FROM routing_rules`)
	selectRules     = engine.Statement(`SELECT ` + rulesTable.List + ` FROM routing_rules WHERE version = $1`)
	selectRulesList = engine.Statement(`SELECT ` + rulesTable.List + ` FROM routing_rules ORDER BY version DESC LIMIT $1`)
)

// Mark is the newest version of the routing rules, 0 where there never were any.
func (s *Rules) Mark(ctx context.Context) (int64, error) {
	return base.One(ctx, s.b, selectRulesMark, base.ScanInt)
}

// Get reads a version of the routing rules. ErrNotFound where there is none.
func (s *Rules) Get(ctx context.Context, version int64) (pay.RoutingRules, error) {
	return base.One(ctx, s.b, selectRules, rulesTable.Scan(s.b.Personal), version)
}

// List reads the newest versions, newest first.
func (s *Rules) List(ctx context.Context, limit int) ([]pay.RoutingRules, error) {
	return base.Many(ctx, s.b, selectRulesList, rulesTable.Scan(s.b.Personal), limit)
}

// rulesRules are the invariants of the routing rules (check.go).
var rulesRules = invariants([]rule{
	{"the versions of the routing rules have no gap", `
SELECT r.id, 'the one before is missing' FROM routing_rules AS r
WHERE r.version <> 1 AND NOT EXISTS (SELECT 1 FROM routing_rules AS b WHERE b.version = r.version - 1)`},
})
