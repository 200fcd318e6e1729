package check

import "github.com/cascadapay/cascada/internal/store/due"

const resolved = `('approved', 'rejected', 'expired', 'withdrawn')`

// heldInvariants compare balances with open claims.
var heldInvariants = invariants([]invariant{
	{"frozen is what open claims hold", `
SELECT coalesce(b.merchant, c.merchant), 'frozen ' || coalesce(b.frozen, 0) || ', claims hold ' || coalesce(c.frozen, 0)
FROM balances AS b
FULL JOIN (SELECT d.merchant, d.live, CAST(sum(d.frozen) AS BIGINT) AS frozen FROM claims AS d WHERE ` + due.IsOpen + ` GROUP BY d.merchant, d.live) AS c
  ON c.merchant = b.merchant AND c.live = b.live
WHERE coalesce(b.frozen, 0) <> coalesce(c.frozen, 0) AND ` + notEmptiedEither("b", "c")},
	{"suspense is what open inquiries are about", `
SELECT coalesce(b.merchant, c.merchant), 'suspense ' || coalesce(b.suspense, 0) || ', inquiries about ' || coalesce(c.amount, 0)
FROM balances AS b
FULL JOIN (SELECT d.merchant, d.live, CAST(sum(d.amount) AS BIGINT) AS amount FROM claims AS d
  WHERE d.kind = 'inquiry' AND ` + due.IsOpen + ` GROUP BY d.merchant, d.live) AS c
  ON c.merchant = b.merchant AND c.live = b.live
WHERE coalesce(b.suspense, 0) <> coalesce(c.amount, 0) AND ` + notEmptiedEither("b", "c")},
})

// claimBooked is what a claim's transfers, which are named after it, booked to an account.
func claimBooked(claim, account, kinds string) string {
	return "(SELECT coalesce(sum(coalesce(CAST({json t.postings " + account + "} AS BIGINT), 0)), 0) FROM transfers AS t WHERE {named t.id tr_ " +
		claim + "} AND NOT (t.claim <> " + claim + ") AND t.kind " + kinds + ")"
}

// cameBack says that a claim's refund failed after it had been confirmed: the claim that it names took
// the money back.
func cameBack(claim string) string {
	return "coalesce({json " + claim + ".doc returned}, '') <> ''"
}

// claimInvariants are the invariants of refunds and claims.
var claimInvariants = ofTenants([]invariant{
	{"a claim stays with its payment's shop and environment", `
SELECT c.id, c.merchant FROM claims AS c LEFT JOIN payments AS p ON p.id = c.payment
WHERE {part c.id} AND (p.id IS NULL OR p.merchant <> c.merchant OR p.shop <> c.shop OR p.live <> c.live)`},
	{"late money needs attention as long as its inquiry is open", `
SELECT c.id, c.status || ', otherwise in ' || p.id FROM claims AS c JOIN payments AS p ON p.id = c.payment
WHERE {part c.id} AND c.kind = 'inquiry' AND (c.status NOT IN ` + resolved + `) <> (EXISTS (
  SELECT 1 FROM {items s p.doc strays} WHERE {json s.value claim} = c.id AND {json s.value end} IS NULL))`},
	{"a resolved claim holds nothing and waits for nothing", `
SELECT c.id, c.status || ', frozen ' || c.frozen || ', due at ' || c.due_at FROM claims AS c
WHERE {part c.id} AND c.status IN ` + resolved + ` AND (c.frozen <> 0 OR c.due_at <> 0)`},
	{"an open claim that something has to happen to is looked at again", `
SELECT c.id, c.kind || ' ' || c.status FROM claims AS c
WHERE {part c.id} AND c.due_at = 0 AND (c.status = 'needs_evidence' OR c.kind IN ('user_dispute', 'chargeback') AND c.status NOT IN ` + resolved + `)`},
	{"evidence is under way, or the operator's to submit, only while its dispute is open", `
SELECT c.id, c.kind || ' ' || c.status || ': ' || {json c.doc defense} FROM claims AS c
WHERE {part c.id} AND (c.kind <> 'chargeback' AND {json c.doc defense} IS NOT NULL
  OR c.status IN ` + resolved + ` AND (coalesce(CAST({json c.doc carry} AS BIGINT), 0) > 0
    OR {json c.doc defense.state} IN ('waiting', 'sending', 'unknown', 'delayed')))`},
	// A played refund sends only payment.refunded (SBX-5): its claim has no events unless it failed.
	{"a claim has told that it was opened, and once that it was resolved", `
SELECT c.id, c.kind || ' ' || c.status || ': opened told ' || c.opened || ' times, resolved ' || c.ended
FROM (
  SELECT d.id, d.kind, d.status, {json d.doc silent} IS NOT NULL AS silent, sum(CASE WHEN e.type = 'claim.opened' THEN 1 ELSE 0 END) AS opened,
    sum(CASE WHEN e.type = 'claim.resolved' THEN 1 ELSE 0 END) AS ended
  FROM claims AS d LEFT JOIN events AS e ON {named e.id evt_ d.id} AND NOT (e.object <> d.id)
  WHERE {part d.id} GROUP BY d.id, d.kind, d.status, d.doc) AS c
WHERE (c.opened <> 1 OR c.ended <> CASE WHEN c.status IN ` + resolved + ` THEN 1 ELSE 0 END)
  AND NOT (c.opened = 0 AND c.kind = 'user_dispute' AND c.silent)`},
	{"a claim has all its events", `
SELECT c.id, {json c.doc sequence} || ' events, found ' || count(e.id) FROM claims AS c LEFT JOIN events AS e ON {named e.id evt_ c.id} AND NOT (e.object <> c.id)
WHERE {part c.id}
GROUP BY c.id, c.doc HAVING CAST({json c.doc sequence} AS BIGINT) <> count(e.id) OR CAST({json c.doc sequence} AS BIGINT) <> coalesce(max(e.sequence), 0)`},
	// What a lost dispute gives back again, or a refund that failed later, belongs to the claim after it.
	{"an approved claim has paid the shopper what it says, another one nothing", `
SELECT c.id, c.kind || ' ' || c.status || ' of ' || c.amount || ' cents, paid ' || c.paid
FROM (
  SELECT d.id, d.kind, d.status, d.amount, ` + claimBooked("d.id", "refunds", "NOT IN ('refund_return', 'late_return')") + ` + ` +
		claimBooked("d.id", "chargebacks", "<> 'chargeback_reversal'") + ` AS paid
  FROM claims AS d WHERE {part d.id}) AS c
WHERE c.paid <> CASE WHEN c.status IN ('approved', 'expired') THEN c.amount ELSE 0 END
  AND NOT (c.kind = 'chargeback' AND c.status IN ('approved', 'expired') AND c.paid BETWEEN 0 AND c.amount)`},
	{"a lost dispute has taken what it says, or all that there was", `
SELECT c.id, 'of ' || c.amount || ' cents, took ' || c.paid || '; of ' || c.whole || ' cents ' || c.gone || ' are gone'
FROM (
  SELECT l.id, l.payment, l.amount, p.amount AS whole, ` + claimBooked("l.id", "chargebacks", "= 'chargeback'") + ` AS paid,
    (SELECT coalesce(sum(o.frozen), 0) FROM claims AS o WHERE o.payment = l.payment AND o.kind = 'chargeback')
    + (SELECT coalesce(sum(o.amount), 0) FROM claims AS o WHERE o.payment = l.payment AND o.kind = 'user_dispute' AND o.status NOT IN ('rejected', 'withdrawn') AND NOT ` + cameBack("o") + `)
    + (SELECT coalesce(sum(` + claimBooked("o.id", "chargebacks", "IN ('chargeback', 'chargeback_reversal')") + `), 0) FROM claims AS o WHERE o.payment = l.payment) AS gone
  FROM claims AS l JOIN payments AS p ON p.id = l.payment WHERE {part l.id} AND l.kind = 'chargeback' AND l.status IN ('approved', 'expired')
) AS c
WHERE c.paid < c.amount AND c.gone < c.whole
  AND NOT EXISTS (SELECT 1 FROM claims AS n WHERE n.payment = c.payment AND {json n.doc previous} = c.id)`},
	{"a shopper gets back at most what came in", `
SELECT payment, 'of ' || came || ' cents, paid back ' || went FROM (
  SELECT r.payment,
    -(SELECT coalesce(sum(` + booked("receivable") + ` + ` + booked("rounding") + `), 0) FROM transfers AS t WHERE {named t.id tr_ r.payment} AND NOT (t.payment <> r.payment))
    - (SELECT coalesce(sum(` + claimBooked("c.id", "receivable", "<> ''") + ` + ` + claimBooked("c.id", "rounding", "<> ''") + `), 0) FROM claims AS c WHERE c.payment = r.payment) AS came,
    (SELECT coalesce(sum(` + claimBooked("c.id", "refunds", "<> ''") + ` + ` + claimBooked("c.id", "chargebacks", "<> ''") + `), 0)
      FROM claims AS c WHERE c.payment = r.payment) AS went
  FROM (SELECT DISTINCT d.payment FROM claims AS d WHERE {part d.id}) AS r) AS s
WHERE went > came`},
	{"a claim holds what its transfers froze", `
SELECT c.id, c.status || ' holds ' || c.frozen || ', its transfers ' || c.booked
FROM (SELECT d.id, d.status, d.frozen, ` + claimBooked("d.id", "frozen", "<> ''") + ` AS booked FROM claims AS d WHERE {part d.id}) AS c
WHERE c.frozen <> c.booked`},
	{"what disputes gave back again had been taken by the claim before", `
SELECT c.id, 'takes back ' || CAST({json r.postings frozen} AS BIGINT) || ' that ' || coalesce(b.id, 'no claim') || ' took'
FROM claims AS c JOIN transfers AS r ON {named r.id tr_ c.id} AND NOT (r.claim <> c.id OR r.kind <> 'chargeback_reversal')
LEFT JOIN claims AS b ON b.id = {json c.doc previous} AND b.status IN ('approved', 'expired')
WHERE {part c.id} AND (b.id IS NULL OR CAST({json r.postings frozen} AS BIGINT) <> ` + claimBooked("b.id", "chargebacks", "= 'chargeback'") + `)`},
	{"what came back of a refund had been paid by the claim before, which names this one", `
SELECT c.id, 'takes back ' || CAST({json r.postings refunds} AS BIGINT) || ' of ' || coalesce(b.id, 'no claim')
FROM claims AS c JOIN transfers AS r ON {named r.id tr_ c.id} AND NOT (r.claim <> c.id OR r.kind NOT IN ('refund_return', 'late_return'))
LEFT JOIN claims AS b ON b.id = {json c.doc previous} AND b.status IN ('approved', 'expired') AND {json b.doc returned} = c.id
WHERE {part c.id} AND (b.id IS NULL OR CAST({json r.postings refunds} AS BIGINT) <> -` + claimBooked("b.id", "refunds", "NOT IN ('refund_return', 'late_return')") + `)
UNION ALL SELECT c.id, 'says that it came back with ' || {json c.doc returned} FROM claims AS c
LEFT JOIN claims AS n ON n.id = {json c.doc returned} AND {json n.doc previous} = c.id AND n.kind = c.kind
WHERE {part c.id} AND coalesce({json c.doc returned}, '') <> '' AND n.id IS NULL`},
	// A provider's own refund is booked once for each of its ids.
	{"a refund that was not asked for by the merchant has its id, and is the only one with it", `
SELECT c.id, c.dispute FROM claims AS c
WHERE {part c.id} AND c.kind = 'user_dispute' AND coalesce({json c.doc origin}, '') <> 'merchant' AND coalesce({json c.doc previous}, '') = ''
  AND c.dispute NOT LIKE 'refund/_%'`},
	{"a payment lists its disputes as their claims have them", `
SELECT c.id, c.status || ', otherwise in ' || p.id FROM claims AS c JOIN payments AS p ON p.id = c.payment
WHERE {part c.id} AND c.kind = 'chargeback' AND NOT EXISTS (
  SELECT 1 FROM {items d p.doc disputes} WHERE {json d.value claim} = c.id AND {json d.value status} = c.status)`},
	{"a claim follows one of the same kind that has ended, and is the only one that does", `
SELECT c.id, 'follows ' || {json c.doc previous} FROM claims AS c LEFT JOIN claims AS b ON b.id = {json c.doc previous}
WHERE {part c.id} AND coalesce({json c.doc previous}, '') <> '' AND (b.id IS NULL OR b.payment <> c.payment OR b.kind <> c.kind
  OR b.status NOT IN ` + resolved + `)
UNION ALL SELECT {json c.doc previous}, 'is followed by ' || c.id || ' and ' || n.id FROM claims AS c
JOIN claims AS n ON n.payment = c.payment AND n.id > c.id AND {json n.doc previous} = {json c.doc previous}
WHERE {part c.id} AND coalesce({json c.doc previous}, '') <> ''`},
	{"a refund leaves the fees where its payment's term says", `
SELECT p.id, coalesce({json p.doc refundFees}, '') || ': ' || s.kept || ' of ' || s.taken || ' cents of fees are left after refunds of ' || s.back
FROM (
  SELECT m.payment, sum(CASE WHEN (j.key LIKE '%\_fees' ESCAPE '\' OR j.key = 'fee_taxes') THEN CAST(j.value AS BIGINT) ELSE 0 END) AS kept,
    sum(CASE WHEN m.kind = 'capture' AND (j.key LIKE '%\_fees' ESCAPE '\' OR j.key = 'fee_taxes') THEN CAST(j.value AS BIGINT) ELSE 0 END) AS taken,
    sum(CASE WHEN j.key = 'refunds' THEN CAST(j.value AS BIGINT) ELSE 0 END) AS back
  FROM (
    SELECT r.payment, t.kind, t.postings FROM (` + refundedPayments + `) AS r JOIN transfers AS t ON t.id = 'tr_' || substr(r.payment, 5) || '-capture'
    UNION ALL SELECT r.payment, t.kind, t.postings FROM (` + refundedPayments + `) AS r
    JOIN claims AS c ON c.payment = r.payment JOIN transfers AS t ON {named t.id tr_ c.id} AND NOT (t.claim <> c.id OR t.kind NOT IN ('refund', 'refund_return'))
  ) AS m, {each m.postings} AS j GROUP BY m.payment) AS s
JOIN payments AS p ON p.id = s.payment
WHERE CASE {json p.doc refundFees} WHEN 'kept' THEN s.kept <> s.taken WHEN 'returned' THEN s.back = p.amount AND s.kept <> 0 ELSE TRUE END`},
	// Less what the operator gave the merchant of it before the rest was decided.
	{"an inquiry's money came in once", `
SELECT c.id, c.amount || ' cents, came in ' || c.came
FROM (SELECT d.id, d.amount, ` + claimBooked("d.id", "suspense", "IN ('late_kept', 'late_applied', 'late_return')") + `
  - ` + claimBooked("d.id", "receivable", "= 'late_capture'") + ` - ` + claimBooked("d.id", "rounding", "= 'late_capture'") + `
  - (SELECT coalesce(sum(` + booked("receivable") + ` + ` + booked("rounding") + `), 0) FROM transfers AS t
    WHERE {named t.id tr_ d.payment} AND NOT (t.claim <> d.id) AND t.kind = 'late_capture') AS came
  FROM claims AS d WHERE {part d.id} AND d.kind = 'inquiry') AS c
WHERE c.amount <> c.came`},
	{invariantDisputes, `
SELECT c.id, 'not known to ' || c.payment FROM claims AS c JOIN payments AS p ON p.id = c.payment
WHERE {part c.id} AND c.kind = 'chargeback' AND c.status NOT IN ` + resolved + ` AND ',' || coalesce({json p.doc dispute}, '') || ',' NOT LIKE '%,' || c.id || ',%'`},
})

const refundedPayments = `SELECT DISTINCT d.payment FROM claims AS d WHERE {part d.id} AND d.kind = 'user_dispute'`

var fileInvariants = ofTenants([]invariant{
	{"a file belongs to evidence of its shop's claim", `
SELECT f.id, f.claim FROM files AS f LEFT JOIN claims AS c ON c.id = f.claim
WHERE {part f.id} AND (c.id IS NULL OR c.merchant <> f.merchant OR c.shop <> f.shop OR c.live <> f.live OR c.doc NOT LIKE '%"' || f.id || '"%')`},
})
