package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
)

// Broken is an invariant that does not hold.
type Broken struct {
	Rule string
	ID   string // of the row, or the merchant
	Note string
}

func (b Broken) String() string { return fmt.Sprintf("%s: %s: %s", b.Rule, b.ID, b.Note) }

// rule is an invariant as a query that returns what breaks it: an id and a
// note.
type rule struct{ name, text string }

// rules are the invariants that one query can tell (design: Ledger, check).
var rules = []rule{
	{"a transfer sums to zero", `
SELECT t.id, 'off by ' || sum(CAST(j.value AS BIGINT)) || ' cents' FROM transfers AS t, {each t.postings} AS j
GROUP BY t.id HAVING sum(CAST(j.value AS BIGINT)) <> 0`},
	{"a balance is the sum of its postings", `
SELECT coalesce(b.merchant, s.merchant) || ' ' || coalesce(b.account, s.account),
  'balance ' || coalesce(b.amount, 0) || ', postings ' || coalesce(s.amount, 0)
FROM (` + balancesAsRows + `) AS b
FULL JOIN (
  SELECT t.merchant, t.live, j.key AS account, sum(CAST(j.value AS BIGINT)) AS amount
  FROM transfers AS t, {each t.postings} AS j GROUP BY t.merchant, t.live, j.key
) AS s ON s.merchant = b.merchant AND s.live = b.live AND s.account = b.account
WHERE coalesce(b.amount, 0) <> coalesce(s.amount, 0)`},
	// What a dispute costs is owed; all else that is taken has to be there.
	{"nothing of a merchant's but available is below zero", `
SELECT merchant, 'pending ' || pending || ', frozen ' || frozen || ', reserve ' || reserve || ', suspense ' || suspense || ', in transit ' || in_transit
FROM balances WHERE pending < 0 OR frozen < 0 OR reserve < 0 OR suspense < 0 OR in_transit < 0`},
	{"what does not fit its payment waits until the operator has closed it", `
SELECT coalesce(m.id, r.id), CASE WHEN m.id IS NULL THEN 'waits for nobody' WHEN r.id IS NULL THEN 'waits for nothing' ELSE 'is kept as of ' || m.payment END
FROM misfits AS m FULL JOIN (
  SELECT id, payment, at FROM receipts AS o
  WHERE o.verdict = 'mismatched' AND NOT EXISTS (SELECT 1 FROM receipts AS c WHERE c.id = '` + closedPrefix + `' || o.id)
) AS r ON r.id = m.id
LEFT JOIN (SELECT id, merchant, live, amount FROM payments UNION ALL SELECT id, merchant, live, amount FROM processing) AS p ON p.id = m.payment
WHERE m.id IS NULL OR r.id IS NULL OR m.payment <> r.payment OR m.at <> r.at
  OR m.merchant <> coalesce(p.merchant, '') OR m.live <> coalesce(p.live, FALSE) OR m.amount <> coalesce(p.amount, 0)`},
	{"a completed payment is captured once, with its amount", `
SELECT p.id, p.status || ' of ' || p.amount || ' cents, captured ' || coalesce(t.postings, 'never')
FROM payments AS p LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(p.id, 5) || '-capture'
WHERE p.status IN ('completed', 'refunded', 'chargeback')
  AND (t.id IS NULL OR t.payment <> p.id OR CAST({json t.postings receivable} AS BIGINT) <> -p.amount)`},
	{"only a completed payment is captured", `
SELECT p.id, p.status FROM transfers AS t JOIN payments AS p ON p.id = t.payment
WHERE t.kind = 'capture' AND p.status NOT IN ('completed', 'refunded', 'chargeback')`},
	{"refunded is at most captured", `
SELECT id, refunded || ' of ' || amount_local FROM payments WHERE refunded < 0 OR refunded > amount_local`},
	{"an open payment is looked at again; one that has ended is only where it ended unpaid, and a month at most", `
SELECT id, status || ' due at ' || due_at FROM (
  SELECT id, status, due_at, updated_at FROM payments UNION ALL SELECT id, status, due_at, updated_at FROM processing) AS p
WHERE CASE WHEN status IN ('pending', 'processing') THEN due_at <= 0
  WHEN status IN ('failed', 'expired') THEN due_at > updated_at + 2678400000000 ELSE due_at <> 0 END`},
	{"a payment is in one place, by its status", `
SELECT id, status || ' in payments' FROM payments WHERE status = 'processing'
UNION ALL SELECT id, status || ' in processing' FROM processing WHERE status <> 'processing'
UNION ALL SELECT p.id, 'in both' FROM payments AS p JOIN processing AS q ON q.id = p.id`},
	{"a payment belongs to its shop's merchant", `
SELECT p.id, p.merchant || ' is not the merchant of ' || p.shop 
FROM (SELECT id, merchant, shop FROM payments UNION ALL SELECT id, merchant, shop FROM processing) AS p LEFT JOIN shops AS s ON s.id = p.shop
WHERE s.id IS NULL OR s.merchant <> p.merchant`},
	{"a key belongs to its shop's merchant", `
SELECT k.id, k.merchant || ' is not the merchant of ' || k.shop FROM keys AS k LEFT JOIN shops AS s ON s.id = k.shop
WHERE k.shop <> '' AND (s.id IS NULL OR s.merchant <> k.merchant)`},
	{"a transfer stays with its payment's merchant and environment", `
SELECT t.id, t.merchant FROM transfers AS t LEFT JOIN payments AS p ON p.id = t.payment
WHERE t.payment <> '' AND (p.id IS NULL OR p.merchant <> t.merchant OR p.live <> t.live)`},
	{"a claim stays with its payment's shop and environment", `
SELECT c.id, c.merchant FROM claims AS c LEFT JOIN payments AS p ON p.id = c.payment
WHERE p.id IS NULL OR p.merchant <> c.merchant OR p.shop <> c.shop OR p.live <> c.live`},
	{"an event stays with its payment's shop and environment", `
SELECT e.id, e.merchant FROM events AS e JOIN payments AS p ON p.id = e.object
WHERE p.merchant <> e.merchant OR p.shop <> e.shop OR p.live <> e.live`},
	{"a payment has all its events", `
SELECT p.id, p.sequence || ' events, found ' || count(e.id) FROM payments AS p LEFT JOIN events AS e ON e.object = p.id
GROUP BY p.id, p.sequence HAVING p.sequence <> count(e.id) OR p.sequence <> coalesce(max(e.sequence), 0)`},
	{"a payment that ended has told so", `
SELECT p.id, p.status FROM payments AS p WHERE p.status NOT IN ('pending', 'processing') AND p.sequence = 0`},
	{"a delivery stays with its event's shop and environment", `
SELECT d.id, d.merchant FROM deliveries AS d LEFT JOIN events AS e ON e.id = d.event LEFT JOIN subscriptions AS s ON s.id = d.subscription
WHERE e.id IS NULL OR s.id IS NULL OR e.shop <> d.shop OR e.live <> d.live OR s.shop <> d.shop OR s.live <> d.live
  OR s.merchant <> d.merchant OR e.merchant <> d.merchant`},
	// A subscription that was made or changed in the same second may have missed
	// the event.
	{"an event has a delivery for each endpoint that wants it", `
SELECT e.id, 'nothing for ' || s.id FROM events AS e
JOIN subscriptions AS s ON s.shop = e.shop AND s.live = e.live AND s.status = 'enabled' AND s.updated_at < e.at - 1000000
  AND (s.events = ',*,' OR s.events LIKE '%,' || e.type || ',%')
LEFT JOIN deliveries AS d ON d.id = ` + deliveryID + `
WHERE d.id IS NULL`},
	{"a completed session has its payment, in its own shop and environment, of its amount", `
SELECT s.id, coalesce(p.id, 'no payment ' || s.payment) FROM sessions AS s LEFT JOIN (
  SELECT id, merchant, shop, live, amount FROM payments UNION ALL SELECT id, merchant, shop, live, amount FROM processing
) AS p ON p.id = s.payment
WHERE s.payment <> '' AND (p.id IS NULL OR p.merchant <> s.merchant OR p.shop <> s.shop OR p.live <> s.live OR p.amount <> s.amount)`},
	{"a payment has at most one session", `
SELECT payment, 'of ' || count(*) || ' sessions' FROM sessions WHERE payment <> '' GROUP BY payment HAVING count(*) > 1`},
	{"a session belongs to its shop's merchant", `
SELECT e.id, e.merchant || ' is not the merchant of ' || e.shop FROM sessions AS e LEFT JOIN shops AS s ON s.id = e.shop
WHERE s.id IS NULL OR s.merchant <> e.merchant`},
	{"a delivery that waits has a time or is parked, another has neither", `
SELECT id, status || ' due at ' || due_at FROM deliveries
WHERE (status IN ('pending', 'failed')) <> (due_at > 0) OR parked AND status NOT IN ('pending', 'failed')`},
	{"counters count the deliveries", `
SELECT coalesce(c.subscription, d.subscription) || ' ' || coalesce(c.status, d.status) || ' ' || coalesce(c.type, d.type),
  coalesce(c.n, 0) || ' counted, found ' || coalesce(d.n, 0)
FROM delivery_counters AS c FULL JOIN (
  SELECT subscription, status, type, count(*) AS n FROM deliveries WHERE status <> 'pending' GROUP BY subscription, status, type
) AS d ON c.subscription = d.subscription AND c.status = d.status AND c.type = d.type
WHERE coalesce(c.n, 0) <> coalesce(d.n, 0)`},
	{"what an inbox got stays with its subscription's shop and environment", `
SELECT i.id, i.merchant FROM inbox AS i LEFT JOIN subscriptions AS s ON s.id = i.subscription
WHERE s.id IS NULL OR s.merchant <> i.merchant OR s.shop <> i.shop OR s.live <> i.live`},
}

// balancesAsRows has a row for each account of each balance.
var balancesAsRows = func() string {
	var parts []string
	for _, account := range ledger.Accounts() {
		parts = append(parts, fmt.Sprintf("SELECT merchant, live, '%[1]s' AS account, %[1]s AS amount FROM balances", account))
	}
	return strings.Join(parts, " UNION ALL ")
}()

// allRules gathers the rules of all parts.
func allRules() []rule {
	return slices.Concat(quarantineRules, rules, counterRules, sealRules, payoutRules, claimRules, rateRules, settlementRules, accountRules, driftRules, operatorRules, rulesRules, mailRules)
}

func checkQueries() []string {
	var list []string
	for _, r := range allRules() {
		list = append(list, r.text)
	}
	return list
}

// Check proves the invariants of a live database and returns what is broken,
// at most a hundred of each rule. It only reads. Each rule is one statement,
// and so sees one moment of a database that is written to meanwhile.
//
// The seals come first, as they name the row whatever was done to it; a rule may
// fail on a document that is none any more. With an error what was found until
// then is returned.
func (s *Store) Check(ctx context.Context) ([]Broken, error) {
	ctx, cancel := long(ctx)
	defer cancel()
	broken, err := s.checkSeals(ctx)
	if err != nil {
		return broken, err
	}
	addresses, err := s.checkAddresses(ctx)
	broken = append(broken, addresses...)
	if err != nil {
		return broken, fmt.Errorf("check addresses: %w", err)
	}
	for _, r := range allRules() {
		var f findings
		err := s.query(ctx, r.text, nil, func(line row) error {
			var id, note string
			err := line.Scan(&id, &note)
			f.add(r.name, id, note)
			return err
		})
		broken = append(broken, f.broken...)
		if err != nil {
			return broken, fmt.Errorf("check that %s: %w", r.name, err)
		}
	}
	return broken, nil
}

// findings are what is broken, at most a hundred of each rule.
type findings struct {
	broken []Broken
	count  map[string]int
}

func (f *findings) add(rule, id, note string) {
	if f.count == nil {
		f.count = map[string]int{}
	}
	if f.count[rule]++; f.count[rule] <= 100 {
		f.broken = append(f.broken, Broken{rule, id, note})
	}
}
