package routing

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// RulesTable is the table routing_rules. A version is used once, even if two operators write at the same
// time. Its id has a letter that no other id has.
var RulesTable = table.Describe(table.Table[accounts.RoutingRules]{
	Name:   "routing_rules",
	Hashed: true,
	Lock:   220,
	Of:     func(c *pay.Change) []accounts.RoutingRules { return c.Rules },
	ID:     rulesID,
	Met:    table.Stale,
	Fields: func(f *table.Fields, v *accounts.RoutingRules) {
		f.Written("id!", rulesID(v))
		f.Number("version!", &v.Version)
		f.Converted("doc!", func() string { return string(v.Doc) }, func(text string) error {
			v.Doc = []byte(text)
			return nil
		})
		f.Time("at!", &v.At)
	},
})

func rulesID(v *accounts.RoutingRules) string { return fmt.Sprintf("rules/%d", v.Version) }

var (
	selectRulesMark = engine.Statement(`SELECT coalesce(max(version), 0) FROM routing_rules`)
	selectRules     = engine.Statement(`SELECT ` + RulesTable.List + ` FROM routing_rules WHERE version = $1`)
	selectRulesList = engine.Statement(`SELECT ` + RulesTable.List + ` FROM routing_rules ORDER BY version DESC LIMIT $1`)
)

// Mark is the newest version of the routing rules, 0 for none.
func (r Rules) Mark(ctx context.Context) (int64, error) {
	return base.One(ctx, r.b, selectRulesMark, base.ScanInt)
}

// Get reads a version of the routing rules. Errors: ErrNotFound.
func (r Rules) Get(ctx context.Context, version int64) (accounts.RoutingRules, error) {
	return base.One(ctx, r.b, selectRules, RulesTable.Scan(r.b.Personal), version)
}

// List reads the newest versions, newest first.
func (r Rules) List(ctx context.Context, limit int) ([]accounts.RoutingRules, error) {
	return base.Many(ctx, r.b, selectRulesList, RulesTable.Scan(r.b.Personal), limit)
}

// Rules are the versions of the routing rules.
type Rules struct{ b *base.Base }

// Rules returns the database's Rules.
func (o OfRouting) Rules() Rules { return Rules(o) }
