package store

import (
	"context"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

// A version is given once, also to two operators at the same time. Its id has a
// letter that no other id has.
var rulesTable = newTable("routing_rules", "id TEXT!, version BIGINT!, doc TEXT!, at BIGINT!",
	rulesID, nil, func(r *rows, v *pay.RoutingRules) {
		r.text(rulesID(v)).number(v.Version).text(string(v.Doc)).number(micros(v.At))
	}).onceOnly()

func rulesID(v *pay.RoutingRules) string { return fmt.Sprintf("rules/%d", v.Version) }

func routingRules(c *pay.Change) []pay.RoutingRules { return c.Rules }

const (
	selectRulesMark = `SELECT coalesce(max(version), 0) FROM routing_rules`
	selectRules     = `SELECT version, doc, at FROM routing_rules WHERE version = $1`
	selectRulesList = `SELECT version, doc, at FROM routing_rules ORDER BY version DESC LIMIT $1`
)

// RulesMark is the newest version of the routing rules, 0 where there never were any.
func (s *Store) RulesMark(ctx context.Context) (int64, error) {
	return one(ctx, s, selectRulesMark, scanInt)
}

// Rules reads a version of the routing rules. ErrNotFound where there is none.
func (s *Store) Rules(ctx context.Context, version int64) (pay.RoutingRules, error) {
	return one(ctx, s, selectRules, scanRules, version)
}

// RulesList reads the newest versions, newest first.
func (s *Store) RulesList(ctx context.Context, limit int) ([]pay.RoutingRules, error) {
	return many(ctx, s, selectRulesList, scanRules, limit)
}

func scanRules(r row) (v pay.RoutingRules, err error) {
	var doc string
	var at int64
	err = r.Scan(&v.Version, &doc, &at)
	v.Doc, v.At = []byte(doc), fromMicros(at)
	return v, err
}

func rulesQueries() []string {
	return []string{rulesTable.insert, selectRulesMark, selectRules, selectRulesList}
}

// rulesRules are the invariants of the routing rules (check.go).
var rulesRules = []rule{
	{"the versions of the routing rules have no gap", `
SELECT r.id, 'the one before is missing' FROM routing_rules AS r
WHERE r.version <> 1 AND NOT EXISTS (SELECT 1 FROM routing_rules AS b WHERE b.version = r.version - 1)`},
}
