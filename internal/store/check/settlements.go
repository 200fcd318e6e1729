package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/settlements"
)

// settlementInvariants are the invariants of the rows of settlements.
var settlementInvariants = ofTenants([]invariant{
	{"a settlement's net is what its totals say", `
SELECT s.id, 'net ' || s.net FROM settlements AS s
WHERE {part s.id} AND s.net <> s.gross - s.platform - s.provider - s.network - s.tax - s.refunds - s.chargebacks - s.chargeback_fees - s.held + s.released + s.adjustments`},
	{"a settlement moves its money once, when it closes", `
SELECT s.id, s.status || ' moved ' || s.moved || ', its transfer ' || coalesce(CAST({json t.postings available} AS BIGINT), 0)
FROM settlements AS s LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(s.id, 5) || '-settlement'
WHERE {part s.id} AND (coalesce(CAST({json t.postings available} AS BIGINT), 0) <> s.moved OR s.moved < 0
  OR t.merchant <> s.merchant OR t.live <> s.live OR t.kind <> 'settlement')`},
	{"settlements follow each other and lose nothing of pending", `
SELECT n.id, 'carries ' || n.carry || ' after ' || coalesce(s.id, 'nothing')
FROM settlements AS n LEFT JOIN settlements AS s ON s.merchant = n.merchant AND s.live = n.live AND s.number = n.number - 1
WHERE {part n.id} AND (n.carry <> coalesce(s.carry + s.pending - s.moved, 0)
  OR (n.number > 1 AND (s.id IS NULL OR s.status = 'open' OR s.period_end <> n.period_start)))`},
	{"a settlement has the receipt that was made of it", `
SELECT s.id, s.status || ', its receipt is ' || CASE WHEN d.id IS NULL THEN 'gone' ELSE 'of ' || d.merchant END
FROM settlements AS s LEFT JOIN documents AS d ON d.id = s.id
WHERE {part s.id} AND {json s.doc pdfAt} IS NOT NULL AND (d.id IS NULL OR d.merchant <> s.merchant OR d.live <> s.live)`},
	// The next settlement opened when this one closed; a shop made in that minute may have missed it.
	{"a closed settlement has told so", `
SELECT s.id, s.status || ', nothing for ' || h.id
FROM settlements AS s JOIN settlements AS n ON n.merchant = s.merchant AND n.live = s.live AND n.number = s.number + 1
JOIN shops AS h ON h.merchant = s.merchant AND h.created_at < n.created_at - 60000000
LEFT JOIN events AS e ON {named e.id evt_ s.id} AND NOT (e.object <> s.id) AND NOT (e.type <> 'settlement.closed' OR e.shop <> h.id)
WHERE {part s.id} AND e.id IS NULL`},
})

// lineInvariants are those of the lines of settlements.
var lineInvariants = ofTenants([]invariant{
	{"a settlement's line is its transfer", `
SELECT l.id, 'net ' || l.net || ' of ' || coalesce(t.net, 0) || ' in ' || l.settlement FROM (
  SELECT l.id, l.settlement, l.merchant, l.live, l.payment, l.at, l.net, l.pending, l.reserve, l.gross, l.claim, l.amount_local, l.currency_local, t.id AS transfer FROM settlement_lines AS l
  LEFT JOIN transfers AS t ON t.id = l.id WHERE {part l.id}) AS l
LEFT JOIN settlements AS s ON s.id = l.settlement LEFT JOIN (
  SELECT t.id, t.merchant, t.live, t.payment, t.claim, t.amount_local, t.currency_local, t.at,
    ` + booked("pending") + ` + ` + booked("available") + ` + ` + booked("frozen") + ` AS net,
    ` + booked("pending") + ` AS pending, ` + booked("reserve") + ` AS reserve, -` + booked("receivable") + ` - ` + booked("rounding") + ` AS gross
  FROM transfers AS t) AS t ON t.id = l.transfer
WHERE t.id IS NULL OR s.id IS NULL OR t.merchant <> l.merchant OR t.live <> l.live OR s.merchant <> l.merchant OR s.live <> l.live
  OR t.payment <> l.payment OR t.at <> l.at OR t.net <> l.net OR t.pending <> l.pending OR t.reserve <> l.reserve OR t.gross <> l.gross
  OR t.claim <> l.claim OR t.amount_local <> l.amount_local OR t.currency_local <> l.currency_local`},
	{"a settlement collects no payment before it is due", `
SELECT l.id, 'in ' || l.settlement FROM settlement_lines AS l JOIN transfers AS t ON t.id = l.id JOIN settlements AS s ON s.id = l.settlement
WHERE {part l.id} AND l.type = 'charge' AND t.settles_at > coalesce(CAST({json s.doc matured} AS BIGINT), 0)`},
})

func booked(account string) string {
	return "coalesce(CAST({json t.postings " + account + "} AS BIGINT), 0)"
}

// reserveInvariants are the invariants of a rolling reserve's days.
var reserveInvariants = ofTenants([]invariant{
	{"a day's reserve is released once", `
SELECT v.id, v.released || ' released, transfers of ' || v.moved FROM (
  SELECT r.id, r.released, r.held, r.due_at, (
    SELECT coalesce(sum(CAST({json t.postings available} AS BIGINT)), 0) FROM transfers AS t
    WHERE {named t.id tr_ r.id} AND t.kind = 'reserve_release') AS moved
  FROM reserves AS r WHERE {part r.id}) AS v
WHERE v.released <> v.moved OR v.released < 0 OR (v.held > v.released) <> (v.due_at > 0)`},
})

// unclaimedInvariants compare reserves with uncollected transfers. They look at each merchant's transfers from a
// time on.
var unclaimedInvariants = invariants([]invariant{
	{"a day's reserve is not released and given back too", `
SELECT v.id, v.released || ' released of ' || v.held || ' held, and ' || coalesce(u.held, 0) || ' that no settlement has claimed'
FROM reserves AS v LEFT JOIN (
  SELECT t.merchant, t.live, ` + settlements.ReserveDay + ` AS day, sum(` + booked("reserve") + `) AS held
  FROM ` + recentTransfers + ` JOIN transfers AS c ON c.id = 'tr_' || substr(t.payment, 5) || '-capture'
  WHERE t.payment <> '' AND NOT ` + settlements.Collected + ` GROUP BY t.merchant, t.live, ` + settlements.ReserveDay + `
) AS u ON u.merchant = v.merchant AND u.live = v.live AND u.day = v.day
WHERE (v.released > v.held + coalesce(u.held, 0) OR v.released > 0 AND v.closed_at = 0) AND ` + merchants.NotEmptied("v.merchant", "v.live")},
	{"the reserve is what is held and not released", `
SELECT b.merchant, 'reserve ' || b.reserve || ', held ' || coalesce(v.held, 0) || ' and ' || coalesce(u.held, 0)
FROM balances AS b
LEFT JOIN (SELECT merchant, live, sum(held - released) AS held FROM reserves GROUP BY merchant, live) AS v
  ON v.merchant = b.merchant AND v.live = b.live
LEFT JOIN (
  SELECT t.merchant, t.live, sum(` + booked("reserve") + `) AS held FROM ` + recentTransfers + `
  WHERE t.kind <> 'reserve_release' AND NOT ` + settlements.Collected + ` GROUP BY t.merchant, t.live
) AS u ON u.merchant = b.merchant AND u.live = b.live
WHERE b.reserve <> coalesce(v.held, 0) + coalesce(u.held, 0) AND ` + merchants.NotEmptied("b.merchant", "b.live")},
})

// recentTransfers are each merchant's transfers from a time on, found by the index on kind and time.
var recentTransfers = func() string {
	var kinds []string
	for _, k := range ledger.Kinds() {
		kinds = append(kinds, "SELECT '"+string(k)+"' AS kind")
	}
	return `{rows: merchant TEXT, live BOOLEAN, at BIGINT} AS f CROSS JOIN (` + strings.Join(kinds, " UNION ALL ") + `) AS k
  JOIN transfers AS t ON t.merchant = f.merchant AND t.live = f.live AND t.kind = k.kind AND t.at >= f.at`
}()

// selectUnclaimed returns the time of a merchant's oldest uncollected transfer with a reserve.
var selectUnclaimed = engine.Statement(`
SELECT t.merchant, t.live, min(t.at) FROM transfers AS t
WHERE {part t.id} AND t.kind <> 'reserve_release' AND t.postings LIKE '%"reserve":%' AND NOT ` + settlements.Collected + ` GROUP BY t.merchant, t.live`)

var selectOwners = engine.Statement(`SELECT merchant, live FROM balances ORDER BY merchant, live`)

// reservesHeld compares each day's reserve with the lines of its payments.
var reservesHeld = engine.Statement(`
SELECT coalesce(v.id, l.merchant), coalesce(v.held, 0) || ' held, lines of ' || coalesce(l.reserve, 0)
FROM reserves AS v FULL JOIN (
  SELECT merchant, live, day, sum(reserve) AS reserve FROM settlement_lines WHERE day > 0 GROUP BY merchant, live, day
) AS l ON l.merchant = v.merchant AND l.live = v.live AND l.day = v.day
WHERE coalesce(v.held, 0) <> coalesce(l.reserve, 0) AND ` + notEmptiedEither("v", "l"))

// settlementTotals are a settlement's totals, each with its column of a line.
var settlementTotals = []struct{ name, of string }{
	{"lines", listed("1")}, {"gross", listed("gross")}, {"platform", listed("platform")}, {"provider", listed("provider")},
	{"network", listed("network")}, {"tax", listed("tax")}, {"refunds", listed("refund")}, {"chargebacks", listed("chargeback")},
	{"chargeback_fees", listed("chargeback_fee")}, {"adjustments", listed("adjustment")}, {"net", listed("net")},
	{"held", listed("CASE WHEN reserve > 0 THEN reserve ELSE 0 END")},
	{"released", listed("CASE WHEN reserve < 0 THEN -reserve ELSE 0 END")}, {"pending", "sum(pending)"},
}

func listed(amount string) string { return "sum(CASE WHEN number > 0 THEN " + amount + " ELSE 0 END)" }

// settlementSums compares each total with the sum of its lines' column.
var settlementSums = engine.Statement(func() string {
	sums, differ := []string{"max(number) AS last"}, []string{"s.lines <> coalesce(l.last, 0)"}
	for _, total := range settlementTotals {
		sums = append(sums, total.of+" AS "+total.name)
		differ = append(differ, fmt.Sprintf("s.%[1]s <> coalesce(l.%[1]s, 0)", total.name))
	}
	return "SELECT s.id, s.lines || ' lines of ' || s.net || ' cents, found ' || coalesce(l.lines, 0) || ' of ' || coalesce(l.net, 0)" +
		" FROM settlements AS s LEFT JOIN (SELECT settlement, " + strings.Join(sums, ", ") +
		" FROM settlement_lines GROUP BY settlement) AS l ON l.settlement = s.id WHERE (" + strings.Join(differ, " OR ") + ") AND " + merchants.NotEmptied("s.merchant", "s.live")
}())

// lineSums sums a part of the lines; settlementsSay reads the same sums from the settlements. The numbers
// of n distinct lines are 1 to n if their count and sum match.
var (
	lineSums = func() string {
		of := []string{listed("number")}
		for _, total := range settlementTotals {
			of = append(of, total.of)
		}
		for i := range of {
			of[i] = "CAST(" + of[i] + " AS BIGINT)"
		}
		return "SELECT l.settlement, " + strings.Join(of, ", ") + " FROM settlement_lines AS l WHERE {part l.id} GROUP BY l.settlement"
	}()
	settlementsSay = func() string {
		names := []string{}
		for _, total := range settlementTotals {
			names = append(names, "s."+total.name)
		}
		return "SELECT s.id, s.lines * (s.lines + 1) / 2, " + strings.Join(slices.Clip(names), ", ") + " FROM settlements AS s"
	}()
)
