package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
)

// tally is an invariant that sums over a whole table match another table. Parts are summed at different moments,
// so a difference is only a suspicion: rows may have changed between. It is reported only if it also shows
// in one snapshot.
type tally struct {
	name    string
	text    string // of a part: a key and sums
	counted string // the same from the other table
	width   int    // number of sums
	// again sums for one key in one snapshot, by an index: first from the other table, then from the rows. "": invariant
	// compares everything in one statement.
	again     string
	args      func(key []string) []any
	invariant invariant // that statement
	ready     string    // a statement with a row once the other table is complete; "": it always is
}

// newTally registers the tally's statements.
func newTally(t tally) tally {
	t.text = withoutEmptied(t.text)
	engine.Statement(t.text)
	engine.Statement(t.counted)
	for _, text := range []string{t.again, t.ready} {
		if text != "" {
			engine.Statement(text)
		}
	}
	return t
}

// counts are sums by key.
type counts map[string][]int64

func (c counts) plus(more counts) counts {
	if c == nil {
		return more
	}
	for key, sums := range more {
		if c[key] == nil {
			c[key] = sums
			continue
		}
		for i := range sums {
			c[key][i] += sums[i]
		}
	}
	return c
}

const keyBreak = "|"

// environmentOf is a row's environment in a key.
const environmentOf = `CASE WHEN live THEN 'production' ELSE 'sandbox' END`

var (
	paymentTally = newTally(tally{
		name: "counters count the payments, day by day", width: 1,
		text: `
SELECT p.shop || '|' || p.environment || '|' || p.day || '|' || p.rail || '|' || p.method || '|' || p.country || '|' || p.status, count(*) FROM (
  SELECT p.shop, ` + environmentOf + ` AS environment, p.created_at / 86400000000 AS day, p.rail, p.method, p.country, p.status FROM payments AS p
  WHERE {part p.id}) AS p
GROUP BY p.shop, p.environment, p.day, p.rail, p.method, p.country, p.status`,
		counted: `
SELECT c.shop || '|' || ` + environmentOf + ` || '|' || c.day || '|' || c.rail || '|' || c.method || '|' || c.country || '|' || c.status, c.n
FROM counters AS c WHERE c.day >= 0`,
		again: `
SELECT coalesce((SELECT sum(c.n) FROM counters AS c WHERE c.shop = $1 AND c.live = $2 AND c.day = $3
    AND c.rail = $4 AND c.method = $5 AND c.country = $6 AND c.status = $7 AND ` + merchants.NotEmptiedShop("c.shop", "c.live") + `), 0),
  (SELECT count(*) FROM payments AS p WHERE p.shop = $1 AND p.live = $2 AND p.created_at / 86400000000 = $3
    AND p.rail = $4 AND p.method = $5 AND p.country = $6 AND p.status = $7 AND p.id >= $8 AND p.id < $9 AND ` + merchants.NotEmptied("p.merchant", "p.live") + `)`,
		args: paymentKey,
	})
	analyticsTally = newTally(tally{
		name: "analytics have the amounts and the fees of the payments that ended", width: 2,
		text: `
SELECT p.shop || '|' || p.environment || '|' || p.day || '|' || p.outcome, CAST(sum(p.amount) AS BIGINT), CAST(sum(p.fees) AS BIGINT) FROM (
  SELECT p.shop, ` + environmentOf + ` AS environment, p.created_at / 86400000000 AS day, ` + outcomeOf + ` AS outcome, p.amount, ` + feesOf + ` AS fees
  FROM payments AS p WHERE {part p.id} AND p.status <> 'pending') AS p
GROUP BY p.shop, p.environment, p.day, p.outcome`,
		counted: `
SELECT c.shop || '|' || ` + environmentOf + ` || '|' || c.day || '|' || c.outcome, CAST(sum(c.amount) AS BIGINT), CAST(sum(c.fees) AS BIGINT)
FROM (` + analyticsOf + `) AS c GROUP BY c.shop, c.live, c.day, c.outcome`,
		again: `
SELECT coalesce((SELECT sum(c.amount) FROM (` + analyticsOf + `) AS c WHERE ` + analyticsKey("c") + `), 0),
  coalesce((SELECT sum(c.fees) FROM (` + analyticsOf + `) AS c WHERE ` + analyticsKey("c") + `), 0),
  coalesce((SELECT sum(p.amount) FROM payments AS p WHERE ` + analyticsPayments + `), 0),
  coalesce((SELECT sum(` + feesOf + `) FROM payments AS p WHERE ` + analyticsPayments + `), 0)`,
		args: analyticsArgs, ready: `SELECT b.id FROM recounts AS b WHERE b.id = 'rollups' AND b.next = ''`,
	})
	deliveryTally = newTally(tally{
		name: "counters count the deliveries", width: 1,
		text: `
SELECT d.subscription || '|' || d.status || '|' || d.type, count(*) FROM deliveries AS d
WHERE {part d.id} AND d.status <> 'pending' GROUP BY d.subscription, d.status, d.type`,
		counted: `SELECT c.subscription || '|' || c.status || '|' || c.type, c.n FROM delivery_counters AS c`,
		again: `
SELECT coalesce((SELECT sum(c.n) FROM delivery_counters AS c WHERE c.subscription = $1 AND c.status = $2 AND c.type = $3 AND ` + merchants.NotEmptiedEndpoint("c.subscription") + `), 0),
  (SELECT count(*) FROM deliveries AS d WHERE d.subscription = $1 AND d.status = $2 AND d.type = $3 AND ` + merchants.NotEmptied("d.merchant", "d.live") + `)`,
		args: func(key []string) []any { return []any{key[0], key[1], key[2]} },
	})
	lineTally = newTally(tally{
		name: "a settlement is the sum of its lines", width: 1 + len(settlementTotals),
		text: lineSums, counted: settlementsSay, invariant: invariant{"a settlement is the sum of its lines", settlementSums},
	})
	reserveTally = newTally(tally{
		name: "a day's reserve is what its payments hold", width: 1,
		text: `
SELECT l.merchant || '|' || l.environment || '|' || l.day, CAST(sum(l.reserve) AS BIGINT) FROM (
  SELECT l.merchant, ` + environmentOf + ` AS environment, l.day, l.reserve FROM settlement_lines AS l WHERE {part l.id} AND l.day > 0) AS l
GROUP BY l.merchant, l.environment, l.day`,
		counted:   `SELECT v.merchant || '|' || ` + environmentOf + ` || '|' || v.day, v.held FROM reserves AS v`,
		invariant: invariant{"a day's reserve is what its payments hold", reservesHeld},
	})
)

const (
	// outcomeOf is how a payment ended, as analytics call it; those that analytics call abandoned have failed too.
	outcomeOf = `CASE p.status WHEN 'failed' THEN 'declined' WHEN 'expired' THEN 'expired' ELSE 'paid' END`
	// feesOf are the fees of a paid payment, from its capture.
	feesOf = `CASE WHEN p.status IN ('completed', 'refunded', 'chargeback') THEN coalesce((
    SELECT sum(CAST(j.value AS BIGINT)) FROM transfers AS t, {each t.postings} AS j
    WHERE t.id = 'tr_' || substr(p.id, 5) || '-capture' AND (j.key LIKE '%\_fees' ESCAPE '\' OR j.key = 'fee_taxes')), 0) ELSE 0 END`
	// analyticsOf are the totals of all payments, and what is not added to them yet.
	analyticsOf = `
    SELECT shop, live, day, CASE outcome WHEN 'abandoned' THEN 'declined' ELSE outcome END AS outcome, amount, fees FROM rollups WHERE dimension = 'all' AND shop <> ''
    UNION ALL
    SELECT {word line 6}, {word line 4} = '1', CAST({word line 5} AS BIGINT) / 24, CASE {word line 3} WHEN 'abandoned' THEN 'declined' ELSE {word line 3} END, CAST({word line 1} AS BIGINT), CAST({word line 2} AS BIGINT)
    FROM facts AS f, {lines line f.doc} WHERE {word line 3} <> '-'`
)

// analyticsKey is the condition for a row of analyticsOf with a key.
func analyticsKey(row string) string {
	return strings.ReplaceAll("%.shop = $1 AND %.live = $2 AND %.day = $3 AND %.outcome = $4 AND ", "%", row) + merchants.NotEmptiedShop(row+".shop", row+".live")
}

// analyticsPayments are the payments of a key.
var analyticsPayments = `p.shop = $1 AND p.live = $2 AND p.created_at / 86400000000 = $3 AND p.status <> 'pending' AND ` + outcomeOf +
	` = $4 AND p.id >= $5 AND p.id < $6 AND ` + merchants.NotEmptied("p.merchant", "p.live")

// analyticsArgs returns the arguments for a key of analyticsTally.
func analyticsArgs(key []string) []any {
	like := paymentKey([]string{key[0], key[1], key[2], "", "", "", ""})
	return []any{like[0], like[1], like[2], key[3], like[7], like[8]}
}

// paymentKey returns the arguments for a kind of payments on a day. A production payment's id has its
// creation time; a test clock may differ.
func paymentKey(key []string) []any {
	var day int64
	_, _ = fmt.Sscan(key[2], &day) // our own
	live, first, last := key[1] == "production", "", base.BehindAll
	if live {
		start := time.Unix(day*86400, 0).UTC()
		first, last = id.From(pay.PaymentPrefix, start.AddDate(0, 0, -2)), id.From(pay.PaymentPrefix, start.AddDate(0, 0, 3))
	}
	return []any{key[0], live, day, key[3], key[4], key[5], key[6], first, last}
}

// read reads sums by key.
func (t tally) read(ask engine.Asking, text string, args ...any) (counts, error) {
	sums := counts{}
	err := ask(text, args, func(r engine.Row) error {
		var key string
		values := make([]int64, t.width)
		into := []any{&key}
		for i := range values {
			into = append(into, &values[i])
		}
		err := r.Scan(into...)
		sums.plus(counts{key: values})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check that %s: %w", t.name, err)
	}
	return sums, nil
}

// compare reports sums that differ from the other table.
func (t tally) compare(ctx context.Context, c *checker) error {
	found := c.tallies[t.name]
	var said counts
	ready := t.ready == ""
	err := c.read(ctx, engine.ByAnyPlan, func(ask engine.Asking) (err error) {
		if !ready {
			if err := ask(t.ready, nil, func(engine.Row) error { ready = true; return nil }); err != nil || !ready {
				return err
			}
		}
		said, err = t.read(ask, t.counted)
		return err
	})
	if err != nil || !ready {
		return err
	}
	var differ []string
	zero := make([]int64, t.width)
	for key, sums := range said {
		if other := found[key]; !slices.Equal(sums, other) && !(other == nil && slices.Equal(sums, zero)) {
			differ = append(differ, key)
		}
	}
	for key, sums := range found {
		if said[key] == nil && !slices.Equal(sums, zero) {
			differ = append(differ, key)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	if t.again == "" {
		return c.invariant(ctx, t.invariant, engine.ByAnyPlan)
	}
	slices.Sort(differ)
	for _, key := range differ {
		if err := t.countAgain(ctx, c, key); err != nil {
			return err
		}
	}
	return nil
}

func (t tally) countAgain(ctx context.Context, c *checker, key string) error {
	words := strings.Split(key, keyBreak)
	sums := make([]int64, 2*t.width)
	into := make([]any, len(sums))
	for i := range sums {
		into[i] = &sums[i]
	}
	err := c.read(ctx, engine.ByIndex, func(ask engine.Asking) error {
		return ask(t.again, t.args(words), func(r engine.Row) error { return r.Scan(into...) })
	})
	if err != nil {
		return fmt.Errorf("check that %s: %w", t.name, err)
	}
	if said, is := sums[:t.width], sums[t.width:]; !slices.Equal(said, is) {
		c.add(t.name, strings.Join(words, " "), fmt.Sprintf("%s counted, found %s", numbers(said), numbers(is)))
	}
	return nil
}

// numbers lists sums for a finding.
func numbers(list []int64) string { return strings.Trim(fmt.Sprint(list), "[]") }
