package check

// adjustmentInvariants are the invariants of what operators book by hand.
var adjustmentInvariants = ofTenants([]invariant{
	{"an adjustment moves what it says once it is applied, and nothing before", `
SELECT a.id, a.status || ' of ' || a.amount || ' cents, moved ' || coalesce(t.postings, 'nothing')
FROM adjustments AS a LEFT JOIN transfers AS t ON t.id = 'tr_' || substr(a.id, 5) || '-adjustment'
WHERE {part a.id} AND CASE WHEN a.status = 'applied'
  THEN t.id IS NULL OR t.kind <> 'adjustment' OR t.merchant <> a.merchant OR t.live <> a.live OR ` + booked("available") + ` <> a.amount OR ` + booked("adjustments") + ` <> -a.amount
  ELSE t.id IS NOT NULL END`},
	{"an adjustment is reversed at most once, by its exact opposite", `
SELECT r.id, r.amount || ' cents for ' || coalesce(a.amount || ' of ' || a.id, 'nothing') || CASE WHEN o.id IS NULL THEN '' ELSE ', as ' || o.id END
FROM adjustments AS r LEFT JOIN adjustments AS a ON a.id = r.reverses
LEFT JOIN adjustments AS o ON o.reverses = r.reverses AND o.merchant = r.merchant AND o.id <> r.id AND r.status <> 'rejected' AND o.status <> 'rejected'
WHERE {part r.id} AND r.reverses <> '' AND (a.id IS NULL OR a.status <> 'applied' OR a.amount <> -r.amount OR a.merchant <> r.merchant OR a.live <> r.live
  OR a.reverses <> '' OR r.reason <> 'reversal' OR o.id IS NOT NULL)`},
	// A shop that was made in that minute may have missed it.
	{"an adjustment that is applied has told so", `
SELECT a.id, 'nothing for ' || h.id FROM adjustments AS a
JOIN shops AS h ON h.merchant = a.merchant AND h.created_at < a.updated_at - 60000000
LEFT JOIN events AS e ON {named e.id evt_ a.id} AND NOT (e.object <> a.id) AND NOT (e.type <> 'balance.adjusted' OR e.shop <> h.id)
WHERE {part a.id} AND a.status = 'applied' AND e.id IS NULL`},
})
