package check

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/settlements"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// paymentInvariants are the invariants of the rows of payments.
var paymentInvariants = ofTenants([]invariant{
	{"a completed payment is captured once, with its amount", `
SELECT p.id, p.status || ' of ' || p.amount || ' cents, captured ' || coalesce(t.postings, 'never')
FROM payments AS p LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(p.id, 5) || '-capture'
WHERE {part p.id} AND p.status IN ('completed', 'refunded', 'chargeback')
  AND (t.id IS NULL OR t.payment <> p.id OR CAST({json t.postings receivable} AS BIGINT) + ` + booked("rounding") + ` <> -p.amount
    OR t.amount_local <> p.amount_local OR t.currency_local <> p.currency_local)`},
	{"a capture settles when its payment's terms say", `
SELECT p.id, 'settles ' || (t.settles_at - t.at) / 1000000 || ' s after its capture' FROM payments AS p
JOIN transfers AS t ON t.id = 'tr_' || substr(p.id, 5) || '-capture'
WHERE {part p.id} AND p.status IN ('completed', 'refunded', 'chargeback')
  AND t.settles_at <> t.at + coalesce(CAST({json p.doc delay} AS BIGINT), 0) / 1000`},
	// Materialized, or the document is parsed again for each fee.
	{"a captured payment has the fees and the reserve that its capture booked", `
WITH f AS MATERIALIZED (
  SELECT p.id, {json p.doc fees} AS fees, coalesce(CAST({json p.doc reserve} AS BIGINT), 0) AS reserve, t.postings
  FROM payments AS p JOIN transfers AS t ON t.id = 'tr_' || substr(p.id, 5) || '-capture' WHERE {part p.id})
SELECT f.id, 'fees of ' || f.fees || ', a reserve of ' || f.reserve || '; booked ' || f.postings FROM f
WHERE ` + feeDiffers("platform", "platform_fees") + ` OR ` + feeDiffers("provider", "provider_fees") + ` OR ` + feeDiffers("flat", "flat_fees") +
		` OR ` + feeDiffers("network", "network_fees") + ` OR ` + feeDiffers("tax", "fee_taxes") + ` OR f.reserve <> coalesce(CAST({json f.postings reserve} AS BIGINT), 0)`},
	{"refunded is at most captured", `
SELECT p.id, p.refunded || ' of ' || p.amount_local FROM payments AS p WHERE {part p.id} AND (p.refunded < 0 OR p.refunded > p.amount_local)`},
	{invariantLooked, `SELECT p.id, p.status || ' due at ' || p.due_at FROM payments AS p WHERE {part p.id} AND ` + unlooked},
	{invariantPlace, `
SELECT p.id, CASE WHEN q.id IS NULL THEN p.status || ' in payments' ELSE 'in both' END FROM payments AS p LEFT JOIN processing AS q ON q.id = p.id
WHERE {part p.id} AND (p.status = 'processing' OR q.id IS NOT NULL)`},
	{invariantShop, `
SELECT p.id, p.merchant || ' is not the merchant of ' || p.shop FROM payments AS p LEFT JOIN shops AS s ON s.id = p.shop
WHERE {part p.id} AND (s.id IS NULL OR s.merchant <> p.merchant)`},
	{"a payment has all its events", `
SELECT p.id, p.sequence || ' events, found ' || count(e.id) FROM payments AS p
LEFT JOIN events AS e ON {named e.id evt_ p.id} AND NOT (e.object <> p.id) AND e.sequence > 0 WHERE {part p.id}
GROUP BY p.id, p.sequence HAVING p.sequence <> count(e.id) OR p.sequence <> coalesce(max(e.sequence), 0)`},
	{"a payment that ended has told so", `
SELECT p.id, p.status FROM payments AS p WHERE {part p.id} AND p.status NOT IN ('pending', 'processing') AND p.sequence = 0`},
	{"refunds that stand add up to what the payment says", `
SELECT p.id, p.refunded || ' refunded, claims of ' || coalesce(sum(c.amount_local), 0)
FROM payments AS p LEFT JOIN claims AS c ON c.payment = p.id AND c.kind = 'user_dispute' AND c.status NOT IN ('rejected', 'withdrawn') AND NOT ` + cameBack("c") + `
WHERE {part p.id} GROUP BY p.id, p.refunded HAVING p.refunded <> coalesce(sum(c.amount_local), 0)`},
	// The payment lists the ids of its open disputes, separated by commas.
	{invariantDisputes, `
SELECT p.id, {json p.doc dispute} || '; ' || count(c.id) || ' claims are open' FROM payments AS p
LEFT JOIN claims AS c ON c.payment = p.id AND c.kind = 'chargeback' AND c.status NOT IN ` + resolved + `
WHERE {part p.id} AND coalesce({json p.doc dispute}, '') <> '' GROUP BY p.id, p.doc
HAVING count(c.id) <> (length({json p.doc dispute}) - length(replace({json p.doc dispute}, 'CLM-', ''))) / 4`},
})

// feeDiffers is the condition that a fee of a payment's document is not what its capture booked.
func feeDiffers(fee, account string) string {
	return "coalesce(CAST({json f.fees " + fee + "} AS BIGINT), 0) <> coalesce(CAST({json f.postings " + account + "} AS BIGINT), 0)"
}

// Rules that more than one query reports.
const (
	invariantLooked   = "an open payment is looked at again; one that has ended is only where it ended unpaid, a month at most, or where its last attempt is followed, or a page that the shopper left"
	invariantPlace    = "a payment is in one place, by its status"
	invariantShop     = "a payment belongs to its shop's merchant"
	invariantMisfits  = "what does not fit its payment waits until the operator has closed it"
	invariantDisputes = "the disputes that are open on a payment are its open claims"
	unlooked          = `
  CASE WHEN p.status IN ('pending', 'processing') THEN p.due_at <= 0
  WHEN p.status IN ('failed', 'expired') THEN p.due_at > p.updated_at + 2678400000000
  ELSE p.due_at <> 0 AND (p.due_at > p.updated_at + 7776000000000
    OR NOT EXISTS (SELECT 1 FROM {items a p.doc attempts} WHERE {json a.value again} IS NOT NULL OR CAST({json a.value order} AS BIGINT) > CAST(coalesce({json p.doc captured}, '0') AS BIGINT))) END`
)

// flightInvariants are the invariants of payments in flight and of small tables.
var flightInvariants = invariants([]invariant{
	// A dispute's cost may become a debt; every other debit must be covered.
	{"nothing of a merchant's but available is below zero", `
SELECT merchant, 'pending ' || pending || ', frozen ' || frozen || ', reserve ' || reserve || ', suspense ' || suspense || ', in transit ' || in_transit
FROM balances WHERE pending < 0 OR frozen < 0 OR reserve < 0 OR suspense < 0 OR in_transit < 0`},
	{invariantMisfits, `
SELECT m.id, CASE WHEN r.id IS NULL OR c.id IS NOT NULL THEN 'waits for nothing' ELSE 'is kept as of ' || m.payment END
FROM misfits AS m LEFT JOIN receipts AS r ON r.id = m.id AND r.verdict = 'mismatched'
LEFT JOIN receipts AS c ON c.id = '` + payments.ClosedPrefix + `' || m.id
LEFT JOIN payments AS p ON p.id = m.payment LEFT JOIN processing AS q ON q.id = m.payment
WHERE r.id IS NULL OR c.id IS NOT NULL OR m.payment <> r.payment OR m.at <> r.at OR m.merchant <> coalesce(p.merchant, q.merchant, '')
  OR m.live <> coalesce(p.live, q.live, FALSE) OR m.amount <> coalesce(p.amount, q.amount, 0)`},
	{invariantLooked, `SELECT p.id, p.status || ' due at ' || p.due_at FROM processing AS p WHERE ` + unlooked},
	{invariantPlace, `SELECT id, status || ' in processing' FROM processing WHERE status <> 'processing'`},
	{invariantShop, `
SELECT p.id, p.merchant || ' is not the merchant of ' || p.shop FROM processing AS p LEFT JOIN shops AS s ON s.id = p.shop
WHERE s.id IS NULL OR s.merchant <> p.merchant`},
	{"a key belongs to its shop's merchant", `
SELECT k.id, k.merchant || ' is not the merchant of ' || k.shop FROM keys AS k LEFT JOIN shops AS s ON s.id = k.shop
WHERE k.shop <> '' AND (s.id IS NULL OR s.merchant <> k.merchant)`},
})

// receiptInvariants are the invariants of notifications, which name no merchant: they go with what they are about.
var receiptInvariants = invariants([]invariant{
	{"a notification is as the service wrote it", `
SELECT t.id, 'somebody wrote its text, which is not encrypted for its row' FROM receipts AS t
WHERE {part t.id} AND t.row_hash <> '' AND t.body <> '' AND ` + table.Unmarked("body")},
	{invariantMisfits, `
SELECT r.id, 'waits for nobody' FROM receipts AS r
WHERE {part r.id} AND r.verdict = 'mismatched' AND NOT EXISTS (SELECT 1 FROM receipts AS c WHERE c.id = '` + payments.ClosedPrefix + `' || r.id)
  AND NOT EXISTS (SELECT 1 FROM misfits AS m WHERE m.id = r.id)`},
})

// transferInvariants are the invariants of the ledger's rows.
var transferInvariants = ofTenants([]invariant{
	{"a transfer sums to zero", `
SELECT t.id, 'off by ' || sum(CAST(j.value AS BIGINT)) || ' cents' FROM transfers AS t, {each t.postings} AS j
WHERE {part t.id} GROUP BY t.id HAVING sum(CAST(j.value AS BIGINT)) <> 0`},
	{"only a completed payment is captured", `
SELECT p.id, p.status FROM transfers AS t JOIN payments AS p ON p.id = t.payment
WHERE {part t.id} AND t.kind = 'capture' AND p.status NOT IN ('completed', 'refunded', 'chargeback')`},
	{"a transfer stays with its payment's merchant and environment", `
SELECT t.id, t.merchant FROM transfers AS t LEFT JOIN payments AS p ON p.id = t.payment
WHERE {part t.id} AND t.payment <> '' AND (p.id IS NULL OR p.merchant <> t.merchant OR p.live <> t.live)`},
	// Transfers of a payment or a claim are found by name.
	{"a transfer is named after what it is of", `
SELECT t.id, t.kind || ' of ' || t.payment || ' ' || t.claim FROM transfers AS t
WHERE {part t.id} AND (t.kind = 'capture' AND t.id <> 'tr_' || substr(t.payment, 5) || '-capture'
  OR t.kind = 'late_capture' AND NOT ({named t.id tr_ t.payment}) AND NOT ({named t.id tr_ t.claim})
  OR t.claim <> '' AND t.kind <> 'late_capture' AND NOT ({named t.id tr_ t.claim})
  OR t.claim = '' AND t.payment <> '' AND t.kind <> 'capture')`},
	{"a transfer's claim is one of its payment", `
SELECT t.id, t.claim || ' of ' || coalesce(c.payment, 'nothing') FROM transfers AS t LEFT JOIN claims AS c ON c.id = t.claim
WHERE {part t.id} AND t.claim <> '' AND (c.id IS NULL OR c.payment <> t.payment)`},
	{"a transfer of a withdrawal has its withdrawal", `
SELECT t.id, t.kind FROM transfers AS t
LEFT JOIN withdrawals AS w ON w.id = 'wdr_' || substr(t.id, 4, length(t.id) - CASE t.kind WHEN 'withdrawal' THEN 7 WHEN 'withdrawal_return' THEN CASE WHEN t.id LIKE '%-return' THEN 10 ELSE 12 END ELSE 8 END)
WHERE {part t.id} AND t.kind IN ('withdrawal', 'withdrawal_paid', 'withdrawal_reversal', 'withdrawal_return') AND w.id IS NULL`},
	{"a transfer of an adjustment has its adjustment", `
SELECT t.id, t.kind FROM transfers AS t LEFT JOIN adjustments AS a ON a.id = 'adj_' || replace(substr(t.id, 4), '-adjustment', '')
WHERE {part t.id} AND t.kind = 'adjustment' AND (a.id IS NULL OR a.status <> 'applied')`},
	// A test clock may overtake a transfer in progress; production has no test clock.
	{"a settlement leaves nothing behind", `
SELECT t.id, 'not in any settlement' FROM transfers AS t
WHERE {part t.id} AND t.live AND t.kind IN ('capture', ` + settlements.LaterKinds + `) AND NOT ` + settlements.Collected + ` AND t.at < -86400000000 + coalesce((
  SELECT s.period_end FROM settlements AS s WHERE s.merchant = t.merchant AND s.live = t.live AND s.status <> 'open' ORDER BY s.number DESC LIMIT 1), 0)`},
})

// sessionInvariants are the invariants of hosted checkouts.
var sessionInvariants = ofTenants([]invariant{
	{"a completed session has its payment, in its own shop and environment, of its amount", `
SELECT s.id, coalesce(p.id, q.id, 'no payment ' || s.payment) FROM sessions AS s
LEFT JOIN payments AS p ON p.id = s.payment LEFT JOIN processing AS q ON q.id = s.payment
WHERE {part s.id} AND s.payment <> '' AND (coalesce(p.merchant, q.merchant, '') <> s.merchant OR coalesce(p.shop, q.shop, '') <> s.shop
  OR coalesce(p.live, q.live) <> s.live OR coalesce(p.amount, q.amount) <> s.amount)`},
	{"a payment has at most one session", `
SELECT s.payment, 'of ' || s.id || ' and ' || o.id FROM sessions AS s JOIN sessions AS o ON o.payment = s.payment AND o.payment <> '' AND o.id > s.id
WHERE {part s.id} AND s.payment <> ''`},
	{"a session belongs to its shop's merchant", `
SELECT e.id, e.merchant || ' is not the merchant of ' || e.shop FROM sessions AS e LEFT JOIN shops AS s ON s.id = e.shop
WHERE {part e.id} AND (s.id IS NULL OR s.merchant <> e.merchant)`},
})

// linkInvariants are the invariants of payment links.
var linkInvariants = ofTenants([]invariant{
	{"a payment link has counted its paid payments, and has no more than its uses", `
SELECT l.id, l.paid || ' counted of ' || count(CASE WHEN u.status = 'paid' AND u.version = 3 THEN 1 END) || ' paid and ' || count(u.id) || ' held, uses ' || l.uses
FROM payment_links AS l LEFT JOIN link_uses AS u ON u.link = l.id AND u.status <> 'free'
WHERE {part l.id} GROUP BY l.id, l.paid, l.uses
HAVING l.paid <> count(CASE WHEN u.status = 'paid' AND u.version = 3 THEN 1 END) OR count(u.id) > l.uses`},
	{"a payment link has told what became of it", `
SELECT l.id, l.sequence || ' events, found ' || count(e.id) FROM payment_links AS l
LEFT JOIN events AS e ON {named e.id evt_ l.id} AND NOT (e.object <> l.id) AND NOT (e.shop <> l.shop OR e.live <> l.live) AND e.type LIKE 'payment_link.%'
WHERE {part l.id} GROUP BY l.id, l.sequence, l.paid
HAVING l.sequence <> count(e.id) OR l.paid <> count(CASE WHEN e.type = 'payment_link.paid' THEN 1 END)`},
	{"a payment link belongs to its shop's merchant", `
SELECT l.id, l.merchant || ' is not the merchant of ' || l.shop FROM payment_links AS l LEFT JOIN shops AS s ON s.id = l.shop
WHERE {part l.id} AND (s.id IS NULL OR s.merchant <> l.merchant)`},
})

// useInvariants are the invariants of the payments of payment links.
var useInvariants = ofTenants([]invariant{
	{"a use of a payment link is as its payment is, of the same shop", `
SELECT u.id, u.status || ', the payment is ' || coalesce(p.status, CASE WHEN q.id IS NULL THEN 'gone' ELSE 'processing' END) FROM link_uses AS u
LEFT JOIN payments AS p ON p.id = 'TXN-' || substr(u.id, 5) LEFT JOIN processing AS q ON q.id = 'TXN-' || substr(u.id, 5) LEFT JOIN payment_links AS l ON l.id = u.link
WHERE {part u.id} AND (coalesce(p.shop, q.shop, '') <> u.shop OR coalesce(p.live, q.live) <> u.live OR coalesce(l.shop, '') <> u.shop OR coalesce(l.live, NOT u.live) <> u.live
  OR coalesce({json p.doc link}, {json q.doc link}, '') <> u.link
  OR u.status <> CASE WHEN q.id IS NOT NULL OR p.status = 'pending' THEN 'held' WHEN p.status IN ('failed', 'expired') THEN 'free' ELSE 'paid' END)`},
})

// eventInvariants are the invariants of events.
var eventInvariants = ofTenants([]invariant{
	{"an event stays with its payment's shop and environment", `
SELECT e.id, e.merchant FROM events AS e JOIN payments AS p ON p.id = e.object
WHERE {part e.id} AND (p.merchant <> e.merchant OR p.shop <> e.shop OR p.live <> e.live)`},
	{"an event stays with its claim's shop and environment", `
SELECT e.id, e.merchant FROM events AS e JOIN claims AS c ON c.id = e.object
WHERE {part e.id} AND (c.merchant <> e.merchant OR c.shop <> e.shop OR c.live <> e.live)`},
	{"an event is named after what it tells of", `
SELECT e.id, e.type || ' of ' || e.object FROM events AS e WHERE {part e.id} AND NOT ({named e.id evt_ e.object})`},
	// A subscription made or changed in the same second may have missed the event.
	{"an event has a delivery for each endpoint that wants it", `
SELECT e.id, 'nothing for ' || s.id FROM events AS e
JOIN subscriptions AS s ON s.shop = e.shop AND s.live = e.live AND s.status <> 'deleted' AND s.status = 'enabled' AND s.updated_at < e.at - 1000000
  AND ` + webhooks.Wanted("e") + `
LEFT JOIN deliveries AS d ON d.id = ` + webhooks.DeliveryID + `
WHERE {part e.id} AND d.id IS NULL AND NOT EXISTS (SELECT 1 FROM fanouts AS f WHERE f.id = e.id)`},
})

// deliveryInvariants are the invariants of deliveries.
var deliveryInvariants = ofTenants([]invariant{
	{"a delivery stays with its event's shop and environment", `
SELECT d.id, d.merchant FROM deliveries AS d LEFT JOIN events AS e ON e.id = d.event LEFT JOIN subscriptions AS s ON s.id = d.subscription
WHERE {part d.id} AND (e.id IS NULL OR s.id IS NULL OR e.shop <> d.shop OR e.live <> d.live OR s.shop <> d.shop OR s.live <> d.live
  OR s.merchant <> d.merchant OR e.merchant <> d.merchant)`},
	{"a delivery is named after its event and its endpoint, and is of the event's type", `
SELECT d.id, d.type || ' of ' || d.event || ' to ' || d.subscription FROM deliveries AS d
LEFT JOIN events AS e ON e.id = d.event LEFT JOIN subscriptions AS s ON s.id = d.subscription
WHERE {part d.id} AND e.id IS NOT NULL AND s.id IS NOT NULL AND (d.id <> ` + webhooks.DeliveryID + ` OR d.type <> e.type)`},
	{"a delivery that waits has a time or is parked, another has neither", `
SELECT d.id, d.status || ' due at ' || d.due_at FROM deliveries AS d
WHERE {part d.id} AND ((d.status IN ('pending', 'failed')) <> (d.due_at > 0) OR d.parked AND d.status NOT IN ('pending', 'failed'))`},
})

var inboxInvariants = ofTenants([]invariant{
	{"what an inbox got stays with its subscription's shop and environment", `
SELECT i.id, i.merchant FROM inbox AS i LEFT JOIN subscriptions AS s ON s.id = i.subscription
WHERE {part i.id} AND (s.id IS NULL OR s.merchant <> i.merchant OR s.shop <> i.shop OR s.live <> i.live)`},
})

// balancesAsRows has a row for each account of each balance, and one for the movements.
var balancesAsRows = func() string {
	var parts []string
	for _, account := range append(ledger.Accounts(), movementsCounted) {
		parts = append(parts, fmt.Sprintf("SELECT merchant, live, '%[1]s' AS account, %[1]s AS amount FROM balances", account))
	}
	return strings.Join(parts, " UNION ALL ")
}()

// quarantineInvariants name the rows that cannot be read. They come first: other invariants may fail on such a row.
var quarantineInvariants = invariants([]invariant{
	{"a row of due work can be read", `SELECT u.work || ' ' || u.id, u.reason FROM (` + due.SelectQuarantined + `) AS u`},
})
