package store

const resolved = `('approved', 'rejected', 'expired', 'withdrawn')`

// claimRules are the invariants of refunds and claims.
var claimRules = []rule{
	{"frozen is what open claims hold", `
SELECT coalesce(b.merchant, c.merchant), 'frozen ' || coalesce(b.frozen, 0) || ', claims hold ' || coalesce(c.frozen, 0)
FROM balances AS b
FULL JOIN (SELECT merchant, live, CAST(sum(frozen) AS BIGINT) AS frozen FROM claims GROUP BY merchant, live) AS c
  ON c.merchant = b.merchant AND c.live = b.live
WHERE coalesce(b.frozen, 0) <> coalesce(c.frozen, 0)`},
	{"suspense is what open inquiries are about", `
SELECT coalesce(b.merchant, c.merchant), 'suspense ' || coalesce(b.suspense, 0) || ', inquiries about ' || coalesce(c.amount, 0)
FROM balances AS b
FULL JOIN (SELECT merchant, live, CAST(sum(amount) AS BIGINT) AS amount FROM claims
  WHERE kind = 'inquiry' AND status NOT IN ` + resolved + ` GROUP BY merchant, live) AS c
  ON c.merchant = b.merchant AND c.live = b.live
WHERE coalesce(b.suspense, 0) <> coalesce(c.amount, 0)`},
	// In its document a stray's claim is followed by how it ended, if it has.
	{"late money needs attention as long as its inquiry is open", `
SELECT c.id, c.status || ', otherwise in ' || p.id FROM claims AS c JOIN payments AS p ON p.id = c.payment
WHERE c.kind = 'inquiry' AND (c.status NOT IN ` + resolved + `) <> (p.doc LIKE '%"claim":"' || c.id || '"}%')`},
	{"a resolved claim holds nothing and waits for nothing", `
SELECT id, status || ', frozen ' || frozen || ', due at ' || due_at FROM claims WHERE status IN ` + resolved + ` AND (frozen <> 0 OR due_at <> 0)`},
	{"an open claim that something has to happen to is looked at again", `
SELECT id, kind || ' ' || status FROM claims
WHERE due_at = 0 AND (status = 'needs_evidence' OR kind IN ('user_dispute', 'chargeback') AND status NOT IN ` + resolved + `)`},
	// The simulator's refund tells payment.refunded alone (contract: Sandbox
	// simulation of transitions): its claim has no events, unless it failed.
	{"a claim has told that it was opened, and once that it was resolved", `
SELECT c.id, c.kind || ' ' || c.status || ': opened told ' || coalesce(e.opened, 0) || ' times, resolved ' || coalesce(e.resolved, 0)
FROM claims AS c LEFT JOIN (
  SELECT object, sum(CASE WHEN type = 'claim.opened' THEN 1 ELSE 0 END) AS opened,
    sum(CASE WHEN type = 'claim.resolved' THEN 1 ELSE 0 END) AS resolved
  FROM events GROUP BY object) AS e ON e.object = c.id
WHERE (coalesce(e.opened, 0) <> 1 OR coalesce(e.resolved, 0) <> CASE WHEN c.status IN ` + resolved + ` THEN 1 ELSE 0 END)
  AND NOT (coalesce(e.opened, 0) = 0 AND c.kind = 'user_dispute' AND NOT c.live)`},
	{"a claim has all its events", `
SELECT c.id, {json c.doc sequence} || ' events, found ' || count(e.id) FROM claims AS c LEFT JOIN events AS e ON e.object = c.id
GROUP BY c.id, c.doc HAVING CAST({json c.doc sequence} AS BIGINT) <> count(e.id) OR CAST({json c.doc sequence} AS BIGINT) <> coalesce(max(e.sequence), 0)`},
	{"an event stays with its claim's shop and environment", `
SELECT e.id, e.merchant FROM events AS e JOIN claims AS c ON c.id = e.object
WHERE c.merchant <> e.merchant OR c.shop <> e.shop OR c.live <> e.live`},
	{"refunds that stand add up to what the payment says", `
SELECT p.id, p.refunded || ' refunded, claims of ' || coalesce(sum(c.amount_local), 0)
FROM payments AS p LEFT JOIN claims AS c ON c.payment = p.id AND c.kind = 'user_dispute' AND c.status NOT IN ('rejected', 'withdrawn')
GROUP BY p.id, p.refunded HAVING p.refunded <> coalesce(sum(c.amount_local), 0)`},
	// What a lost dispute gives back again is the claim's after it.
	{"an approved claim has paid the shopper what it says, another one nothing", `
SELECT c.id, c.kind || ' ' || c.status || ' of ' || c.amount || ' cents, paid ' || coalesce(t.paid, 0)
FROM claims AS c LEFT JOIN (
  SELECT claim, sum(coalesce(CAST({json transfers.postings refunds} AS BIGINT), 0) + coalesce(CAST({json transfers.postings chargebacks} AS BIGINT), 0)) AS paid
  FROM transfers WHERE claim <> '' AND kind <> 'chargeback_reversal' GROUP BY claim) AS t ON t.claim = c.id
WHERE coalesce(t.paid, 0) <> CASE WHEN c.status IN ('approved', 'expired') THEN c.amount ELSE 0 END
  AND NOT (c.kind = 'chargeback' AND c.status IN ('approved', 'expired') AND coalesce(t.paid, 0) BETWEEN 0 AND c.amount)`},
	{"a lost dispute has taken what it says, or all that there was", `
SELECT c.id, 'of ' || c.amount || ' cents, took ' || t.paid || '; of ' || p.amount || ' cents ' || t.gone || ' are gone'
FROM claims AS c JOIN payments AS p ON p.id = c.payment JOIN (
  SELECT l.id,
    coalesce((SELECT sum(CAST({json t.postings chargebacks} AS BIGINT)) FROM transfers AS t WHERE t.claim = l.id AND t.kind = 'chargeback'), 0) AS paid,
    (SELECT coalesce(sum(o.frozen), 0) FROM claims AS o WHERE o.payment = l.payment AND o.kind = 'chargeback')
    + (SELECT coalesce(sum(o.amount), 0) FROM claims AS o WHERE o.payment = l.payment AND o.kind = 'user_dispute' AND o.status NOT IN ('rejected', 'withdrawn'))
    + (SELECT coalesce(sum(CAST({json t.postings chargebacks} AS BIGINT)), 0) FROM transfers AS t WHERE t.payment = l.payment AND t.kind IN ('chargeback', 'chargeback_reversal')) AS gone
  FROM claims AS l WHERE l.kind = 'chargeback' AND l.status IN ('approved', 'expired')
) AS t ON t.id = c.id
WHERE t.paid < c.amount AND t.gone < p.amount
  AND NOT EXISTS (SELECT 1 FROM claims AS n WHERE n.payment = c.payment AND {json n.doc previous} = c.id)`},
	{"a shopper gets back at most what came in", `
SELECT payment, 'of ' || came || ' cents, paid back ' || went FROM (
  SELECT payment, -sum(coalesce(CAST({json transfers.postings receivable} AS BIGINT), 0)) AS came,
    sum(coalesce(CAST({json transfers.postings refunds} AS BIGINT), 0) + coalesce(CAST({json transfers.postings chargebacks} AS BIGINT), 0)) AS went
  FROM transfers WHERE payment <> '' GROUP BY payment) AS t
WHERE went > came`},
	{"a claim holds what its transfers froze", `
SELECT c.id, c.status || ' holds ' || c.frozen || ', its transfers ' || coalesce(t.frozen, 0)
FROM claims AS c LEFT JOIN (
  SELECT claim, sum(coalesce(CAST({json transfers.postings frozen} AS BIGINT), 0)) AS frozen FROM transfers WHERE claim <> '' GROUP BY claim
) AS t ON t.claim = c.id
WHERE c.frozen <> coalesce(t.frozen, 0)`},
	{"what disputes gave back again had been taken by the claim before", `
SELECT c.id, 'takes back ' || CAST({json t.postings frozen} AS BIGINT) || ' that ' || coalesce(b.id, 'no claim') || ' took'
FROM transfers AS t JOIN claims AS c ON c.id = t.claim LEFT JOIN claims AS b ON b.id = {json c.doc previous} AND b.status IN ('approved', 'expired')
WHERE t.kind = 'chargeback_reversal' AND (b.id IS NULL OR CAST({json t.postings frozen} AS BIGINT) <> (
  SELECT coalesce(sum(CAST({json o.postings chargebacks} AS BIGINT)), 0) FROM transfers AS o WHERE o.claim = b.id AND o.kind = 'chargeback'))`},
	{"a claim follows one of the same dispute that has ended, and is the only one that does", `
SELECT c.id, 'follows ' || {json c.doc previous} FROM claims AS c LEFT JOIN claims AS b ON b.id = {json c.doc previous}
WHERE coalesce({json c.doc previous}, '') <> '' AND (b.id IS NULL OR b.payment <> c.payment OR b.kind <> 'chargeback' OR c.kind <> 'chargeback'
  OR b.status NOT IN ` + resolved + `)
UNION ALL SELECT {json c.doc previous}, 'is followed by ' || count(*) FROM claims AS c
WHERE coalesce({json c.doc previous}, '') <> '' GROUP BY {json c.doc previous} HAVING count(*) > 1`},
	// Payments that are older than the term have none: their fees are returned.
	{"a refund leaves the fees where its payment's term says", `
SELECT p.id, coalesce({json p.doc refundFees}, 'returned') || ': ' || t.kept || ' of ' || t.taken || ' cents of fees are left after refunds of ' || t.back
FROM payments AS p JOIN (
  SELECT t.payment, sum(CASE WHEN j.key LIKE '%\_fees' ESCAPE '\' THEN CAST(j.value AS BIGINT) ELSE 0 END) AS kept,
    sum(CASE WHEN t.kind = 'capture' AND j.key LIKE '%\_fees' ESCAPE '\' THEN CAST(j.value AS BIGINT) ELSE 0 END) AS taken,
    sum(CASE WHEN j.key = 'refunds' THEN CAST(j.value AS BIGINT) ELSE 0 END) AS back
  FROM transfers AS t, {each t.postings} AS j WHERE t.kind IN ('capture', 'refund') GROUP BY t.payment) AS t ON t.payment = p.id
WHERE CASE WHEN {json p.doc refundFees} = 'kept' THEN t.kept <> t.taken ELSE t.back = p.amount AND t.kept <> 0 END`},
	{"an inquiry's money came in once", `
SELECT c.id, c.amount || ' cents, came in ' || coalesce(-sum(CAST({json t.postings receivable} AS BIGINT)), 0)
FROM claims AS c LEFT JOIN transfers AS t ON t.claim = c.id AND t.kind = 'late_capture'
WHERE c.kind = 'inquiry' GROUP BY c.id, c.amount HAVING c.amount <> coalesce(-sum(CAST({json t.postings receivable} AS BIGINT)), 0)`},
	// The payment lists the ids of its open disputes, parted by commas.
	{"the disputes that are open on a payment are its open claims", `
SELECT c.id, 'not known to ' || c.payment FROM claims AS c JOIN payments AS p ON p.id = c.payment
WHERE c.kind = 'chargeback' AND c.status NOT IN ` + resolved + ` AND ',' || coalesce({json p.doc dispute}, '') || ',' NOT LIKE '%,' || c.id || ',%'
UNION ALL SELECT p.id, {json p.doc dispute} || '; ' || count(c.id) || ' claims are open' FROM payments AS p
LEFT JOIN claims AS c ON c.payment = p.id AND c.kind = 'chargeback' AND c.status NOT IN ` + resolved + `
WHERE coalesce({json p.doc dispute}, '') <> '' GROUP BY p.id, p.doc
HAVING count(c.id) <> (length({json p.doc dispute}) - length(replace({json p.doc dispute}, 'CLM-', ''))) / 4`},
	{"a file belongs to evidence of its shop's claim", `
SELECT f.id, f.claim FROM files AS f LEFT JOIN claims AS c ON c.id = f.claim
WHERE c.id IS NULL OR c.merchant <> f.merchant OR c.shop <> f.shop OR c.live <> f.live OR c.doc NOT LIKE '%"' || f.id || '"%'`},
}
