// Package plans reads price plans, and describes their table. What a plan means is in internal/pay/plans.
package plans

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// OfPlans has the nouns of the package. A Store embeds this type.
type OfPlans struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfPlans { return OfPlans{b} }

// Plans are the versions of the operator's price plans.
type Plans struct{ b *base.Base }

// Plans returns the database's Plans.
func (o OfPlans) Plans() Plans { return Plans(o) }

// Table is the table plans. A version of a plan is used once, even if two operators write at the same time. Its id has a
// character that no other id has.
var Table = table.Describe(table.Table[plans.Version]{
	Name:   "plans",
	Hashed: true,
	Lock:   225,
	Of:     func(c *pay.Change) []plans.Version { return c.Plans },
	ID:     planID,
	Met:    table.Stale,
	Fields: func(f *table.Fields, v *plans.Version) {
		f.Written("id!", planID(v))
		f.Text("name!", &v.Name)
		f.Number("version!", &v.Number)
		f.Time("from_at!", &v.From)
		f.Converted("doc!", func() string { return v.Plan.Text() }, func(text string) error {
			return json.Unmarshal([]byte(text), &v.Plan)
		})
		f.Time("at!", &v.At)
	},
})

func planID(v *plans.Version) string { return fmt.Sprintf("plan/%s/%d", v.Name, v.Number) }

var (
	countPlans  = engine.Statement(`SELECT count(*) FROM plans`)
	selectPlans = engine.Statement(`SELECT ` + Table.List + ` FROM plans ORDER BY name, version`)
)

// Count is the number of versions of all plans. It grows with each change.
func (p Plans) Count(ctx context.Context) (int64, error) {
	return base.One(ctx, p.b, countPlans, base.ScanInt)
}

// All reads the versions of all plans, by name and version.
func (p Plans) All(ctx context.Context) ([]plans.Version, error) {
	return base.Many(ctx, p.b, selectPlans, Table.Scan(p.b.Personal))
}
