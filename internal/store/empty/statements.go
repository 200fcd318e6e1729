package empty

import (
	"strings"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// Every statement that deletes is made here, and says NOT live: no statement of this package reaches a row of
// production, whatever ids it is given (SBX-16). The tests read them all.
var deletions []string

// Deletions are the statements that delete, for the tests.
func Deletions() []string { return deletions }

func deletion(text string) string {
	deletions = append(deletions, text)
	return engine.Standalone(text)
}

// emptied is true while the sandbox of the merchant is being emptied. A node that sleeps in a pass may wake up after
// another one has ended the reset: then it must delete nothing.
func emptied(merchant string) string {
	return merchant + ` IN (` + merchants.SandboxesBeingEmptied + `)`
}

// byID deletes the rows with the given ids that belong to the merchant's sandbox. Rows that another transaction is
// changing are left for the next pass, so that neither waits for the other.
func byID(table, more string) string {
	return deletion(`DELETE FROM ` + table + ` WHERE id IN (
  SELECT d.id FROM ` + table + ` AS d WHERE {given d.id} AND d.merchant = $2 AND NOT d.live {skip locked d}) AND merchant = $2 AND NOT live AND ` + emptied(`$2`) + more + ` RETURNING id`)
}

// byParent deletes the rows that belong to rows which are deleted with them: column names the parent.
func byParent(table, column string) string {
	return deletion(`DELETE FROM ` + table + ` WHERE {given ` + column + `} AND merchant = $2 AND NOT live AND ` + emptied(`$2`))
}

// byKey deletes at most $2 rows of a table without ids. where is the condition on t that selects the rows of a
// merchant's sandbox.
func byKey(table, key, where, returning string) string {
	return deletion(`DELETE FROM ` + table + ` WHERE (` + key + `) IN (
  SELECT t.` + strings.ReplaceAll(key, ", ", ", t.") + ` FROM ` + table + ` AS t WHERE ` + where + ` AND ` + emptied(`$1`) + ` LIMIT $2) RETURNING ` + returning)
}

// shops and endpoints are the ids of a merchant's shops and sandbox endpoints.
const (
	shops     = `(SELECT s.id FROM shops AS s WHERE s.merchant = $1)`
	endpoints = `(SELECT s.id FROM subscriptions AS s WHERE s.merchant = $1 AND NOT s.live)`
)

// If a table has an index for it, these conditions find the ids of a merchant's sandbox: $1 is the merchant, $2
// how many.
const (
	byShop     = `t.shop IN ` + shops + ` AND t.live = FALSE`
	byMerchant = `t.merchant = $1 AND t.live = FALSE`
	byEndpoint = `t.subscription IN ` + endpoints
)

// noun is a table whose rows have id, merchant and live.
type noun struct {
	table  string
	find   string // ids by an index
	bound  string // or, where no index finds them: where the next part begins, and the ids in a part
	part   string
	remove string
	with   []string // deletes what belongs to the rows, in the same transaction
}

// found is a noun that an index finds.
func found(table, where string, with ...string) noun {
	return noun{table: table, find: engine.Statement(`SELECT t.id FROM ` + table + ` AS t WHERE ` + where + ` LIMIT $2`), remove: byID(table, ""), with: with}
}

// walked is a noun whose table is read in parts.
func walked(table string, with ...string) noun {
	return noun{
		table: table,
		bound: engine.Statement(`SELECT t.id FROM ` + table + ` AS t WHERE t.id >= $1 ORDER BY t.id LIMIT 1 OFFSET CAST($2 AS INTEGER)`),
		part:  engine.Statement(`SELECT t.id FROM ` + table + ` AS t WHERE {part t.id} AND t.merchant = $3 AND NOT t.live`),
		// The condition is in the statement that deletes, too.
		remove: byID(table, ""), with: with,
	}
}

// notices name no merchant, only the payment or withdrawal that they are about: they go when that is gone.
var notices = deletion(`DELETE FROM receipts WHERE {given payment} AND payment <> '' AND ` + emptied(`$2`) + ` AND NOT EXISTS (SELECT 1 FROM payments AS p WHERE p.id = receipts.payment)
  AND NOT EXISTS (SELECT 1 FROM processing AS q WHERE q.id = receipts.payment) AND NOT EXISTS (SELECT 1 FROM withdrawals AS w WHERE w.id = receipts.payment)`)

// nouns are in the order in which they are deleted: first those from which others are made.
var nouns = []noun{
	walked("sessions"),
	walked("link_uses"),
	walked("payment_links"),
	found("payments", byShop, notices, byParent("misfits", "payment")),
	walked("processing", notices, byParent("misfits", "payment")),
	found("claims", byShop, byParent("files", "claim")),
	walked("files"),
	walked("replays"),
	found("fanouts", byMerchant),
	found("deliveries", byEndpoint),
	found("inbox", byEndpoint),
	found("events", byShop),
	{ // one that holds a part of a float or is in a batch leaves them first: both are the operator's
		table:  "withdrawals",
		find:   engine.Statement(`SELECT t.id FROM withdrawals AS t WHERE ` + byShop + ` LIMIT $2`),
		remove: byID("withdrawals", ` AND batch = '' AND {json doc float} IS NULL`), with: []string{notices},
	},
	found("wallets", byShop),
	{
		table:  "mails",
		find:   engine.Statement(`SELECT t.id FROM mails AS t WHERE ` + byMerchant + ` AND ` + aboutSandbox("t.") + ` LIMIT $2`),
		remove: byID("mails", ` AND `+aboutSandbox("")),
	},
	found("verifications", byMerchant),
	found("settlements", byMerchant, byParent("documents", "id")),
	walked("documents"),
	walked("reserves"),
	found("adjustments", byMerchant),
	found("transfers", byMerchant, byParent("settlement_lines", "id")),
	walked("settlement_lines"),
	walked("drifts"),
	found("misfits", byMerchant),
}

// aboutSandbox leaves out e-mails with links and alerts: they are of people, not of the sandbox.
func aboutSandbox(of string) string { return `substr(` + of + `object, 1, 4) NOT IN ('lnk_', 'alr_')` }

// sum is a table without ids: what it counts is gone.
type sum struct{ table, remove string }

var sums = []sum{
	{"counters", byKey("counters", payments.CounterKey, `t.shop IN `+shops+` AND NOT t.live`, "shop")},
	{"delivery_counters", byKey("delivery_counters", webhooks.DeliveryCounterKey, byEndpoint, "subscription")},
	{"balances", byKey("balances", "merchant, live", `t.merchant = $1 AND NOT t.live`, "merchant")},
	{"once", deletion(`DELETE FROM once WHERE id IN (
  SELECT o.id FROM shops AS s JOIN once AS o ON o.id > 'sandbox|' || s.id || '|' AND o.id < 'sandbox|' || s.id || '}' WHERE s.merchant = $1 AND ` + emptied(`$1`) + ` LIMIT $2) RETURNING id`)},
}

var (
	// Rollups are deleted while nobody else adds up, and are subtracted from the totals of all shops.
	removeRollups = byKey("rollups", payments.RollupKey, `t.shop IN `+shops+` AND NOT t.live`, "dimension, day, value, outcome, n, amount, fees")
	// A total of nothing is deleted too.
	removeZeros = deletion(`DELETE FROM rollups WHERE shop = '' AND NOT live AND n = 0 AND amount = 0 AND fees = 0`)

	unsealed  = engine.Statement(`SELECT count(*) FROM unsealed WHERE at <= $1 AND doc LIKE '%"' || $2 || '":%'`)
	uncounted = engine.Statement(`SELECT count(*) FROM facts AS f JOIN shops AS s ON s.merchant = $2 AND f.doc LIKE '%' || s.id || '%' WHERE f.at <= $1`)
	now       = engine.Statement(`SELECT {now}`)
	sealedTo  = engine.Statement(`SELECT coalesce(max(b.n), 0) FROM blocks AS b WHERE b.merchant = $1 AND b.live = FALSE`)
)
