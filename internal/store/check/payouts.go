package check

// withdrawalInvariants are the invariants of the rows of withdrawals.
var withdrawalInvariants = ofTenants([]invariant{
	{"a withdrawal took its amount from available once", `
SELECT w.id, w.status || ' of ' || w.amount || ' cents, taken ' || coalesce(t.postings, 'never')
FROM withdrawals AS w LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(w.id, 5) || '-out' AND t.kind = 'withdrawal'
WHERE {part w.id} AND (t.id IS NULL OR t.merchant <> w.merchant OR t.live <> w.live
  OR coalesce(CAST({json t.postings available} AS BIGINT), 0) <> -w.amount
  OR coalesce(CAST({json t.postings in_transit} AS BIGINT), 0) <> w.amount)`},
	{"a withdrawal pays what, where and at which rate its transfer says", `
SELECT w.id, ` + agreed + ` || ' for ' || t.memo FROM withdrawals AS w
JOIN transfers AS t ON t.id = 'tr_' || substr(w.id, 5) || '-out' LEFT JOIN wallets AS l ON l.id = w.wallet
WHERE {part w.id} AND t.memo <> ` + agreed},
	{"a withdrawal was paid out once if it is completed or came back, and never otherwise", `
SELECT w.id, w.status || ' of ' || w.amount || ' cents, paid ' || coalesce(t.postings, 'never')
FROM withdrawals AS w LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(w.id, 5) || '-paid' AND t.kind = 'withdrawal_paid'
LEFT JOIN transfers AS r ON r.id = 'tr_' || substr(w.id, 5) || '-return' AND r.kind = 'withdrawal_return'
WHERE {part w.id} AND ((w.status = 'completed' OR w.status = 'failed' AND r.id IS NOT NULL) <> (t.id IS NOT NULL)
  OR t.id IS NOT NULL AND (t.merchant <> w.merchant OR t.live <> w.live
    OR coalesce(CAST({json t.postings paid_out} AS BIGINT), 0) <> w.amount - w.fee
    OR coalesce(CAST({json t.postings withdrawal_fees} AS BIGINT), 0) <> w.fee - coalesce(CAST({json w.doc tax} AS BIGINT), 0)
    OR coalesce(CAST({json t.postings withdrawal_taxes} AS BIGINT), 0) <> coalesce(CAST({json w.doc tax} AS BIGINT), 0)))`},
	{"a withdrawal that failed or was cancelled gave everything back, and no other did", `
SELECT w.id, w.status || ' of ' || w.amount || ' cents, given back ' || coalesce(t.postings, 'never')
FROM withdrawals AS w LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(w.id, 5) || '-back' AND t.kind = 'withdrawal_reversal'
LEFT JOIN transfers AS r ON r.id = 'tr_' || substr(w.id, 5) || '-return' AND r.kind = 'withdrawal_return'
WHERE {part w.id} AND ((w.status IN ('failed', 'canceled') AND r.id IS NULL) <> (t.id IS NOT NULL)
  OR t.id IS NOT NULL AND (t.merchant <> w.merchant OR t.live <> w.live
    OR coalesce(CAST({json t.postings available} AS BIGINT), 0) <> w.amount))`},
	{"what came back of a withdrawal was given back, part by part", `
SELECT v.id, v.status || ' of ' || v.amount || ' cents, returned ' || v.returned || ', given back ' || v.back FROM (
  SELECT w.id, w.status, w.amount, w.fee, w.returned, (SELECT coalesce(sum(CAST({json r.postings available} AS BIGINT)), 0) FROM transfers AS r
    WHERE {named r.id tr_ w.id} AND r.kind = 'withdrawal_return' AND r.merchant = w.merchant AND r.live = w.live) AS back,
    (SELECT coalesce(sum(CAST({json r.postings paid_out} AS BIGINT)), 0) FROM transfers AS r
    WHERE {named r.id tr_ w.id} AND r.kind = 'withdrawal_return' AND r.merchant = w.merchant AND r.live = w.live) AS taken
  FROM withdrawals AS w WHERE {part w.id}) AS v
WHERE v.back + v.taken <> 0 OR v.back <> v.returned
  OR v.returned < 0 OR v.returned > v.amount - v.fee OR v.returned > 0 AND v.status NOT IN ('completed', 'failed')
  OR v.returned > 0 AND (v.returned = v.amount - v.fee) <> (v.status = 'failed')`},
	{"a withdrawal took its part of a float once, and gave it back or spent it", `
SELECT w.id, w.status || ' with ' || coalesce({json w.doc float}, '0') || ', committed ' || sum(coalesce(CAST({json t.postings float_committed} AS BIGINT), 0))
  || ', paid ' || sum(coalesce(CAST({json t.postings float_paid} AS BIGINT), 0))
FROM withdrawals AS w
JOIN transfers AS t ON t.id > 'tr_' || substr(w.id, 5) || '-float-' AND t.id < 'tr_' || substr(w.id, 5) || '-float.'
WHERE {part w.id}
GROUP BY w.id, w.status, w.doc
HAVING sum(coalesce(CAST({json t.postings float_committed} AS BIGINT), 0)) <> CASE w.status WHEN 'processing' THEN coalesce(CAST({json w.doc float} AS BIGINT), 0) ELSE 0 END
  OR sum(coalesce(CAST({json t.postings float_paid} AS BIGINT), 0)) <> CASE w.status WHEN 'completed' THEN coalesce(CAST({json w.doc float} AS BIGINT), 0) ELSE 0 END`},
	{"an open withdrawal is looked at again", `
SELECT w.id, status || ' due at ' || due_at FROM withdrawals AS w WHERE {part w.id} AND status IN ('pending', 'processing') AND due_at = 0`},
	{"a withdrawal costs less than its amount", `
SELECT w.id, fee || ' of ' || amount FROM withdrawals AS w WHERE {part w.id} AND (fee < 0 OR fee >= amount)`},
	{"a withdrawal stays with its wallet's shop and environment", `
SELECT d.id, d.merchant FROM withdrawals AS d LEFT JOIN wallets AS w ON w.id = d.wallet
WHERE {part d.id} AND (w.id IS NULL OR w.merchant <> d.merchant OR w.shop <> d.shop OR w.live <> d.live)`},
	{"a withdrawal that completed or failed has told so, and no other has", `
SELECT w.id, w.status || ' with ' || w.sequence || ' events, found ' || count(e.id) FROM withdrawals AS w
LEFT JOIN events AS e ON {named e.id evt_ w.id} AND NOT (e.object <> w.id) AND NOT (e.shop <> w.shop OR e.live <> w.live)
  AND e.type IN ('withdrawal.completed', 'withdrawal.failed', 'withdrawal.returned')
WHERE {part w.id}
GROUP BY w.id, w.status, w.sequence, w.returned
HAVING w.sequence <> count(e.id) OR (w.status IN ('completed', 'failed')) <> (w.sequence > 0)
  OR count(CASE WHEN e.type = 'withdrawal.completed' THEN 1 END) > 1 OR count(CASE WHEN e.type = 'withdrawal.failed' THEN 1 END) > 1
  OR w.sequence > 0 AND max(CASE WHEN e.sequence = w.sequence THEN e.type ELSE '' END)
    <> CASE WHEN w.status = 'completed' AND w.returned > 0 THEN 'withdrawal.returned' ELSE 'withdrawal.' || w.status END`},
	{"a withdrawal's batch is there", `
SELECT w.id, w.batch FROM withdrawals AS w LEFT JOIN payout_batches AS b ON b.id = w.batch WHERE {part w.id} AND (w.batch <> '' AND b.id IS NULL)`},
})

// agreed is the memo of the transfer of withdrawal w to wallet l (pay.Withdrawal).
const agreed = `(w.fee || ' ' || coalesce({json w.doc local}, '0') || ' ' || coalesce({json w.doc currency}, '') || ' ' || coalesce({json w.doc rate}, '') || ' ' || w.wallet || ' ' || coalesce(l.fingerprint, ''))`

// payoutInvariants are the invariants of wallets, batches, floats and verifications, which are few.
var payoutInvariants = invariants([]invariant{
	{"in transit is the sum of the open withdrawals", `
SELECT coalesce(b.merchant, w.merchant), coalesce(b.in_transit, 0) || ' in transit, withdrawals of ' || coalesce(w.amount, 0)
FROM balances AS b FULL JOIN (
  SELECT merchant, live, sum(amount) AS amount FROM withdrawals WHERE status IN ('pending', 'processing') GROUP BY merchant, live
) AS w ON w.merchant = b.merchant AND w.live = b.live
WHERE coalesce(b.in_transit, 0) <> coalesce(w.amount, 0) AND ` + notEmptiedEither("b", "w")},
	{"a float has committed what is being paid out of it, and paid what was", `
SELECT coalesce(b.merchant, w.owner), 'committed ' || coalesce(b.float_committed, 0) || ', open ' || coalesce(w.open, 0)
  || '; paid ' || coalesce(b.float_paid, 0) || ', completed ' || coalesce(w.paid, 0)
FROM balances AS b FULL JOIN (
  SELECT 'float/' || provider || '/' || {json doc floatCurrency} AS owner, live,
    sum(CASE status WHEN 'processing' THEN CAST({json doc float} AS BIGINT) ELSE 0 END) AS open,
    sum(CASE status WHEN 'completed' THEN CAST({json doc float} AS BIGINT) ELSE 0 END) AS paid
  FROM withdrawals WHERE {json doc float} IS NOT NULL GROUP BY 1, live
) AS w ON w.owner = b.merchant AND w.live = b.live
WHERE coalesce(b.float_committed, 0) <> coalesce(w.open, 0) OR coalesce(b.float_paid, 0) <> coalesce(w.paid, 0)`},
	{"a batch of payouts is the sum of its withdrawals", `
SELECT b.id, b.status || ' of ' || b.lines || ' lines and ' || b.total || ' ' || b.currency || ', found ' || count(w.id) || ' and ' || coalesce(sum(CAST({json w.doc local} AS BIGINT)), 0)
FROM payout_batches AS b LEFT JOIN withdrawals AS w ON w.batch = b.id AND w.provider = b.account AND {json w.doc currency} = b.currency
GROUP BY b.id, b.status, b.lines, b.total, b.currency
HAVING count(w.id) <> CASE b.status WHEN 'dissolved' THEN 0 ELSE b.lines END
  OR b.status <> 'dissolved' AND coalesce(sum(CAST({json w.doc local} AS BIGINT)), 0) <> b.total`},
	{"a batch whose file has not left has only payouts that are open, and was approved by another operator", `
SELECT b.id, b.status || ', made by ' || b.made_by || ', approved by ' || b.approved_by || ', ' || w.id || ' is ' || w.status
FROM payout_batches AS b JOIN withdrawals AS w ON w.batch = b.id
WHERE b.status IN ('made', 'approved') AND w.status <> 'processing' OR b.approved_by <> '' AND b.approved_by = b.made_by`},
	{"a wallet belongs to its shop's merchant", `
SELECT w.id, w.merchant || ' is not the merchant of ' || w.shop FROM wallets AS w LEFT JOIN shops AS s ON s.id = w.shop
WHERE s.id IS NULL OR s.merchant <> w.merchant`},
	{"a wallet in its cool-down is looked at again, another one is not", `
SELECT id, status || ' due at ' || due_at FROM wallets WHERE (status = 'pending_verification') <> (due_at > 0)`},
	{"a disabled wallet is not the default", `
SELECT id, status FROM wallets WHERE is_default AND status = 'disabled'`},
	{"a verification that waits for input expires, another one does not", `
SELECT id, status || ' due at ' || due_at FROM verifications WHERE (status = 'requires_input') <> (due_at > 0)`},
	{"a verification belongs to a merchant", `
SELECT v.id, v.merchant FROM verifications AS v LEFT JOIN merchants AS m ON m.id = v.merchant WHERE m.id IS NULL`},
})
