package check

import (
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
)

// accountInvariants are the invariants of provider accounts (check.go).
var accountInvariants = invariants([]invariant{
	{"a removed provider account keeps no credentials, every other has some", `
SELECT id, status FROM provider_accounts WHERE (status = 'removed') <> (credentials = '') OR (status = 'removed' AND credentials_before <> '')`},
	{"a provider account for one merchant is of one that exists", `
SELECT a.id, a.merchant FROM provider_accounts AS a LEFT JOIN merchants AS m ON m.id = a.merchant WHERE a.merchant <> '' AND m.id IS NULL`},
})

// rateInvariants are the invariants of the rates (check.go).
var rateInvariants = invariants([]invariant{
	{"a rate has a history of all its versions", `
SELECT r.id, 'version ' || r.version || ', history of ' || count(h.id) FROM rates AS r LEFT JOIN rate_history AS h ON h.currency = r.id
GROUP BY r.id, r.version HAVING r.version <> count(h.id) OR r.version <> coalesce(max(h.version), 0)`},
	{"a rate in use is the one that was applied last", `
SELECT r.id, r.rate || ' of ' || r.source FROM rates AS r
LEFT JOIN rate_history AS h ON h.id = r.id || '-' || (
  SELECT max(l.version) FROM rate_history AS l WHERE l.currency = r.id AND l.verdict = 'applied')
WHERE r.rate <> coalesce(h.rate, '') OR r.source <> coalesce(h.source, '') OR r.observed_at <> coalesce(h.observed_at, 0)`},
})

// driftInvariants are the invariants of comparisons with providers' reports (check.go).
var driftInvariants = invariants([]invariant{
	{"a drift is of a comparison of its account and environment, and of a merchant", `
SELECT d.id, d.reconciliation FROM drifts AS d
LEFT JOIN reconciliations AS r ON r.id = d.reconciliation LEFT JOIN merchants AS m ON m.id = d.merchant
WHERE r.id IS NULL OR m.id IS NULL OR r.account <> d.account OR r.live <> d.live OR r.period_from <> d.period_from OR r.period_to <> d.period_to`},
	{"a drift is closed by a later comparison that covers its period", `
SELECT d.id, d.closed_by FROM drifts AS d LEFT JOIN reconciliations AS r ON r.id = d.closed_by
WHERE d.closed_at <> 0 AND (r.id IS NULL OR r.account <> d.account OR r.period_from > d.period_from OR r.period_to < d.period_to)`},
	{"the drifts of a comparison are at most its findings", `
SELECT r.id, r.findings || ' findings, drifts ' || sum(d.findings) FROM reconciliations AS r JOIN drifts AS d ON d.reconciliation = r.id
GROUP BY r.id, r.findings HAVING sum(d.findings) > r.findings`},
})

// operatorInvariants are the invariants of operators (check.go).
var operatorInvariants = invariants([]invariant{
	{"a removed operator has no token, every other has one", `SELECT id, preview FROM operators WHERE (removed_at > 0) <> (hash = '')`},
})

// routingInvariants are the invariants of the routing rules (check.go).
var routingInvariants = invariants([]invariant{
	{"the versions of the routing rules have no gap", `
SELECT r.id, 'the one before is missing' FROM routing_rules AS r
WHERE r.version <> 1 AND NOT EXISTS (SELECT 1 FROM routing_rules AS b WHERE b.version = r.version - 1)`},
})

// planInvariants are the invariants of the price plans (check.go).
var planInvariants = invariants([]invariant{
	{"the versions of a price plan have no gap", `
SELECT p.id, 'the one before is missing' FROM plans AS p
WHERE p.version <> 1 AND NOT EXISTS (SELECT 1 FROM plans AS b WHERE b.name = p.name AND b.version = p.version - 1)`},
})

// mailInvariants are the invariants of e-mails (check.go).
var mailInvariants = invariants([]invariant{
	{"an e-mail that waits has a time, one that is over has neither a time nor an address", `
SELECT id, status || ' due at ' || due_at || CASE WHEN doc = '{}' THEN ', telling nothing' ELSE ', telling something' END FROM mails
WHERE (status = 'waiting') <> (due_at > 0) OR (status = 'waiting') <> (doc <> '{}')`},
	{"an e-mail is about a wallet of its merchant", `
SELECT m.id, m.object FROM mails AS m LEFT JOIN wallets AS w ON w.id = m.object
WHERE substr(m.object, 1, 4) NOT IN ('lnk_', 'TXN-', 'alr_') AND (w.id IS NULL OR w.merchant <> m.merchant OR w.shop <> m.shop OR w.live <> m.live) AND ` + merchants.NotEmptied("m.merchant", "m.live")},
	{"a receipt is of a payment of its shop", `
SELECT m.id, m.object FROM mails AS m LEFT JOIN payments AS p ON p.id = m.object
WHERE substr(m.object, 1, 4) = 'TXN-' AND (p.id IS NULL OR p.merchant <> m.merchant OR p.shop <> m.shop) AND ` + merchants.NotEmptied("m.merchant", "m.live")},
})

// rollupInvariants are the invariants of the totals of analytics. They hold once payments from before are counted.
var rollupInvariants = invariants([]invariant{
	{"analytics count each payment that ended, once", `
SELECT coalesce(c.shop, r.shop) || ' day ' || coalesce(c.day, r.day) || ' ' || coalesce(c.outcome, r.outcome),
  coalesce(c.n, 0) || ' payments ended, ' || coalesce(r.n, 0) || ' counted'
FROM (
  SELECT shop, live, day, outcome, sum(n) AS n FROM (
    SELECT shop, live, day, CASE status WHEN 'failed' THEN 'declined' WHEN 'expired' THEN 'expired' ELSE 'paid' END AS outcome, n
    FROM counters WHERE day >= 0 AND status <> 'pending') AS ended
  GROUP BY shop, live, day, outcome) AS c
FULL JOIN (
  SELECT shop, live, day, CASE outcome WHEN 'abandoned' THEN 'declined' ELSE outcome END AS outcome, sum(n) AS n FROM (
    SELECT shop, live, day, outcome, n FROM rollups WHERE dimension = 'all' AND shop <> ''
    UNION ALL
    SELECT {word line 6}, {word line 4} = '1', CAST({word line 5} AS BIGINT) / 24, {word line 3}, 1
    FROM facts AS f, {lines line f.doc} WHERE {word line 3} <> '-') AS counted
  GROUP BY shop, live, day, CASE outcome WHEN 'abandoned' THEN 'declined' ELSE outcome END
) AS r ON c.shop = r.shop AND c.live = r.live AND c.day = r.day AND c.outcome = r.outcome
WHERE coalesce(c.n, 0) <> coalesce(r.n, 0) AND ` + merchants.NotEmptiedShop("coalesce(c.shop, r.shop)", "coalesce(c.live, r.live)") + ` AND EXISTS (SELECT 1 FROM recounts AS b WHERE b.id = 'rollups' AND b.next = '')`},
	{"analytics of all shops are the sum of each shop's", `
SELECT coalesce(a.dimension, s.dimension) || ' ' || coalesce(a.value, s.value) || ' day ' || coalesce(a.day, s.day), coalesce(a.n, 0) || ' of all, ' || coalesce(s.n, 0) || ' of shops'
FROM (SELECT * FROM rollups WHERE shop = '') AS a FULL JOIN (
  SELECT live, dimension, day, value, outcome, sum(n) AS n, sum(amount) AS amount, sum(fees) AS fees FROM rollups WHERE shop <> ''
  GROUP BY live, dimension, day, value, outcome
) AS s ON a.live = s.live AND a.dimension = s.dimension AND a.day = s.day AND a.value = s.value AND a.outcome = s.outcome
WHERE coalesce(a.n, 0) <> coalesce(s.n, 0) OR coalesce(a.amount, 0) <> coalesce(s.amount, 0) OR coalesce(a.fees, 0) <> coalesce(s.fees, 0)`},
	{"analytics along each dimension add up to those of all payments", `
SELECT coalesce(a.shop, d.shop) || ' ' || coalesce(a.dimension, d.dimension) || ' day ' || coalesce(a.day, d.day) || ' ' || coalesce(a.outcome, d.outcome),
  coalesce(a.n, 0) || ' payments of ' || coalesce(a.amount, 0) || ' and fees of ' || coalesce(a.fees, 0) || ' of all, '
  || coalesce(d.n, 0) || ' of ' || coalesce(d.amount, 0) || ' and fees of ' || coalesce(d.fees, 0) || ' apart'
FROM (
  SELECT r.shop, r.live, r.day, r.outcome, r.n, r.amount, r.fees, name.dimension FROM rollups AS r CROSS JOIN (
    SELECT 'method' AS dimension UNION ALL SELECT 'country' UNION ALL SELECT 'rail' UNION ALL SELECT 'band' UNION ALL SELECT 'hour'
    UNION ALL SELECT 'tries' UNION ALL SELECT 'answer') AS name
  WHERE r.dimension = 'all' AND (name.dimension <> 'answer' OR r.outcome <> 'paid')) AS a
FULL JOIN (
  SELECT shop, live, day, outcome, dimension, sum(n) AS n, sum(amount) AS amount, sum(fees) AS fees FROM rollups
  WHERE dimension IN ('method', 'country', 'rail', 'band', 'hour', 'tries', 'answer') GROUP BY shop, live, day, outcome, dimension
) AS d ON a.shop = d.shop AND a.live = d.live AND a.day = d.day AND a.outcome = d.outcome AND a.dimension = d.dimension
WHERE (coalesce(a.n, 0) <> coalesce(d.n, 0) OR coalesce(a.amount, 0) <> coalesce(d.amount, 0) OR coalesce(a.fees, 0) <> coalesce(d.fees, 0))
  AND (coalesce(a.live, d.live) OR NOT EXISTS (` + merchants.SandboxesBeingEmptied + `))`},
})

// RollupTexts are the statements that find wrong totals of analytics: what, and how it is wrong.
func RollupTexts() (texts []string) {
	for _, r := range rollupInvariants {
		texts = append(texts, r.text)
	}
	return texts
}

// counterInvariants are the invariants of the counters.
var counterInvariants = invariants([]invariant{
	{"a total is of a shop that exists", `
SELECT n.shop, 'there is no such shop' FROM (SELECT c.shop FROM counters AS c UNION SELECT r.shop FROM rollups AS r WHERE r.shop <> '') AS n
LEFT JOIN shops AS s ON s.id = n.shop WHERE s.id IS NULL`},
	{"counters of all days have what was rolled up of each", `
SELECT coalesce(c.shop, d.shop) || ' ' || coalesce(c.rail, d.rail) || ' ' || coalesce(c.status, d.status),
  coalesce(c.n, 0) || ' in all days, ' || coalesce(d.n, 0) || ' rolled up'
FROM (SELECT * FROM counters WHERE day < 0) AS c FULL JOIN (
  SELECT shop, live, rail, method, country, status, sum(rolled) AS n FROM counters WHERE day >= 0 GROUP BY shop, live, rail, method, country, status
) AS d ON c.shop = d.shop AND c.live = d.live AND c.rail = d.rail AND c.method = d.method AND c.country = d.country AND c.status = d.status
WHERE coalesce(c.n, 0) <> coalesce(d.n, 0) AND ` + merchants.NotEmptiedShop("coalesce(c.shop, d.shop)", "coalesce(c.live, d.live)")},
	{"a day that no list adds up by itself is rolled up", fmt.Sprintf(`
SELECT shop || ' ' || day || ' ' || rail || ' ' || status, rolled || ' of ' || n || ' rolled up' FROM counters
WHERE day >= 0 AND n <> rolled AND day < (SELECT day - %d FROM watermarks WHERE id = 'counters')`, base.SlackDays)},
})

const invariantAddresses = "an address or a note is the one that its audit entry was written with"

// addressesOf proves that addresses or notes match the sealed entries.
func addressesOf(text string) func(*checker, engine.Asking, string, string) ([]Broken, error) {
	return func(_ *checker, ask engine.Asking, from, before string) (broken []Broken, err error) {
		err = ask(text, []any{from, before}, func(r engine.Row) error {
			var id, address, salt, commitment string
			if err := r.Scan(&id, &address, &salt, &commitment); err != nil {
				return err
			}
			if address == "" || pay.Commitment(address, salt) != commitment {
				broken = append(broken, Broken{invariantAddresses, id, "it is another one, or its entry is gone"})
			}
			return nil
		})
		if err != nil {
			return broken, fmt.Errorf("check addresses: %w", err)
		}
		return broken, nil
	}
}
