package store

import (
	"fmt"
	"strings"
)

// settlementRules are the invariants of settlements, reserves and movements.
var settlementRules = []rule{
	{"a settlement is the sum of its lines", settlementSums},
	{"a settlement's net is what its totals say", `
SELECT id, 'net ' || net FROM settlements
WHERE net <> gross - platform - provider - network - refunds - chargebacks - chargeback_fees - held + released + adjustments`},
	{"a settlement's line is its transfer", `
SELECT l.id, 'net ' || l.net || ' of ' || coalesce(t.net, 0) || ' in ' || l.settlement
FROM settlement_lines AS l LEFT JOIN settlements AS s ON s.id = l.settlement LEFT JOIN (
  SELECT t.id, t.merchant, t.live, t.payment, t.at,
    sum(CASE WHEN j.key IN ('pending', 'available', 'frozen') THEN CAST(j.value AS BIGINT) ELSE 0 END) AS net,
    sum(CASE WHEN j.key = 'pending' THEN CAST(j.value AS BIGINT) ELSE 0 END) AS pending,
    sum(CASE WHEN j.key = 'reserve' THEN CAST(j.value AS BIGINT) ELSE 0 END) AS reserve,
    sum(CASE WHEN j.key = 'receivable' THEN -CAST(j.value AS BIGINT) ELSE 0 END) AS gross
  FROM transfers AS t, {each t.postings} AS j GROUP BY t.id, t.merchant, t.live, t.payment, t.at) AS t ON t.id = l.id
WHERE t.id IS NULL OR s.id IS NULL OR t.merchant <> l.merchant OR t.live <> l.live OR s.merchant <> l.merchant OR s.live <> l.live
  OR t.payment <> l.payment OR t.at <> l.at OR t.net <> l.net OR t.pending <> l.pending OR t.reserve <> l.reserve OR t.gross <> l.gross`},
	{"a settlement moves its money once, when it closes", `
SELECT s.id, s.status || ' moved ' || s.moved || ', its transfer ' || coalesce(CAST({json t.postings available} AS BIGINT), 0)
FROM settlements AS s LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(s.id, 5) || '-settlement'
WHERE coalesce(CAST({json t.postings available} AS BIGINT), 0) <> s.moved OR s.moved < 0
  OR t.merchant <> s.merchant OR t.live <> s.live OR t.kind <> 'settlement'`},
	{"settlements follow each other and lose nothing of pending", `
SELECT n.id, 'carries ' || n.carry || ' after ' || coalesce(s.id, 'nothing')
FROM settlements AS n LEFT JOIN settlements AS s ON s.merchant = n.merchant AND s.live = n.live AND s.number = n.number - 1
WHERE n.carry <> coalesce(s.carry + s.pending - s.moved, 0) OR (n.number > 1 AND (s.id IS NULL OR s.status = 'open' OR s.period_end <> n.period_start))`},
	// The next one was opened when it closed; a shop made in that minute may have missed it.
	{"a closed settlement has told so", `
SELECT s.id, s.status || ', nothing for ' || h.id
FROM settlements AS s JOIN settlements AS n ON n.merchant = s.merchant AND n.live = s.live AND n.number = s.number + 1
JOIN shops AS h ON h.merchant = s.merchant AND h.created_at < n.created_at - 60000000
LEFT JOIN events AS e ON e.object = s.id AND e.type = 'settlement.closed' AND e.shop = h.id
WHERE e.id IS NULL`},
	{"a day's reserve is what its payments hold", `
SELECT v.id, v.held || ' held, lines of ' || coalesce(l.reserve, 0)
FROM reserves AS v FULL JOIN (
  SELECT merchant, live, day, sum(reserve) AS reserve FROM settlement_lines WHERE day > 0 GROUP BY merchant, live, day
) AS l ON l.merchant = v.merchant AND l.live = v.live AND l.day = v.day
WHERE coalesce(v.held, 0) <> coalesce(l.reserve, 0)`},
	{"a day's reserve is released once", `
SELECT v.id, v.released || ' released, transfers of ' || coalesce(t.released, 0)
FROM reserves AS v LEFT JOIN (
  SELECT substr(id, 4, 26) AS suffix, sum(CAST({json postings available} AS BIGINT)) AS released
  FROM transfers WHERE kind = 'reserve_release' GROUP BY substr(id, 4, 26)
) AS t ON t.suffix = substr(v.id, 5)
WHERE v.released <> coalesce(t.released, 0) OR v.released < 0 OR (v.held > v.released) <> (v.due_at > 0)`},
	{"a day's reserve is not released and given back too", `
SELECT v.id, v.released || ' released of ' || v.held || ' held, and ' || coalesce(u.held, 0) || ' that no settlement has claimed'
FROM reserves AS v LEFT JOIN (
  SELECT t.merchant, t.live, c.at - c.at % 86400000000 AS day, sum(CAST({json t.postings reserve} AS BIGINT)) AS held
  FROM transfers AS t JOIN transfers AS c ON c.id = 'tr_' || substr(t.payment, 5) || '-capture'
  WHERE t.payment <> '' AND NOT ` + claimed + ` GROUP BY t.merchant, t.live, c.at - c.at % 86400000000
) AS u ON u.merchant = v.merchant AND u.live = v.live AND u.day = v.day
WHERE v.released > v.held + coalesce(u.held, 0) OR v.released > 0 AND v.closed_at = 0`},
	{"the reserve is what is held and not released", `
SELECT b.merchant, 'reserve ' || b.reserve || ', held ' || coalesce(v.held, 0) || ' and ' || coalesce(u.held, 0)
FROM balances AS b
LEFT JOIN (SELECT merchant, live, sum(held - released) AS held FROM reserves GROUP BY merchant, live) AS v
  ON v.merchant = b.merchant AND v.live = b.live
LEFT JOIN (
  SELECT t.merchant, t.live, sum(CAST({json t.postings reserve} AS BIGINT)) AS held FROM transfers AS t
  WHERE t.kind <> 'reserve_release' AND NOT ` + claimed + ` GROUP BY t.merchant, t.live
) AS u ON u.merchant = b.merchant AND u.live = b.live
WHERE b.reserve <> coalesce(v.held, 0) + coalesce(u.held, 0)`},
	// A test clock may pass a transfer by that is on its way; production has none.
	{"a settlement leaves nothing behind", `
SELECT t.id, 'not in any settlement' FROM transfers AS t JOIN (
  SELECT merchant, live, max(period_end) AS until FROM settlements WHERE live AND status <> 'open' GROUP BY merchant, live
) AS s ON s.merchant = t.merchant AND s.live = t.live
WHERE t.live AND t.kind IN ('capture', ` + laterKinds + `) AND t.at < s.until - 86400000000 AND NOT ` + claimed},
	{"movements are counted", `
SELECT coalesce(b.merchant, m.merchant), coalesce(b.movements, 0) || ' counted, found ' || coalesce(m.n, 0)
FROM balances AS b FULL JOIN (
  SELECT merchant, live, sum(n) AS n FROM (
    SELECT t.merchant, t.live, CASE WHEN t.kind = 'capture'
      THEN 1 + max(CASE WHEN j.key LIKE '%fees' THEN 1 ELSE 0 END) + max(CASE WHEN j.key = 'reserve' THEN 2 ELSE 0 END)
      ELSE sum(CASE WHEN j.key IN ('pending', 'available', 'frozen', 'reserve') THEN 1 ELSE 0 END) END AS n
    FROM transfers AS t, {each t.postings} AS j GROUP BY t.id, t.merchant, t.live, t.kind) AS each_one GROUP BY merchant, live
) AS m ON m.merchant = b.merchant AND m.live = b.live
WHERE coalesce(b.movements, 0) <> coalesce(m.n, 0)`},
}

// settlementSums compares each total with the sum of its column of the lines.
var settlementSums = func() string {
	listed := func(amount string) string { return "sum(CASE WHEN number > 0 THEN " + amount + " ELSE 0 END)" }
	sums, differ := []string{"max(number) AS last"}, []string{"s.lines <> coalesce(l.last, 0)"}
	for _, total := range []struct{ name, of string }{
		{"lines", listed("1")}, {"gross", listed("gross")}, {"platform", listed("platform")}, {"provider", listed("provider")},
		{"network", listed("network")}, {"refunds", listed("refund")}, {"chargebacks", listed("chargeback")},
		{"chargeback_fees", listed("chargeback_fee")}, {"adjustments", listed("adjustment")}, {"net", listed("net")},
		{"held", listed("CASE WHEN reserve > 0 THEN reserve ELSE 0 END")},
		{"released", listed("CASE WHEN reserve < 0 THEN -reserve ELSE 0 END")}, {"pending", "sum(pending)"},
	} {
		sums = append(sums, total.of+" AS "+total.name)
		differ = append(differ, fmt.Sprintf("s.%[1]s <> coalesce(l.%[1]s, 0)", total.name))
	}
	return "SELECT s.id, s.lines || ' lines of ' || s.net || ' cents, found ' || coalesce(l.lines, 0) || ' of ' || coalesce(l.net, 0)" +
		" FROM settlements AS s LEFT JOIN (SELECT settlement, " + strings.Join(sums, ", ") +
		" FROM settlement_lines GROUP BY settlement) AS l ON l.settlement = s.id WHERE " + strings.Join(differ, " OR ")
}()
